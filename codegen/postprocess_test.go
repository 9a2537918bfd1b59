// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/postprocess"
	"github.com/nncc/nncc/ir/postprocess/posttest"
	"github.com/nncc/nncc/ir/tensor"
)

// seen is a model with outputs that were drawn, and what has to be found in them.
type seen struct {
	*model
	r      *rand.Rand
	values [][]float32 // of the outputs, in logical order
	given  []byte      // their memory, one behind the other
	want   bytes.Buffer
}

// element is a type of outputs as the graph's text has it; scores that the model has made
// lie between 0 and 1.
func element(r *rand.Rand, ready bool) string {
	zero, narrow := r.IntN(40)-20, []string{"0.03125", "0.05"}[r.IntN(2)]
	if ready {
		zero, narrow = -128, "0.00390625"
	}
	return []string{"f32[%s]", fmt.Sprintf("i8[%%s] q(%s:%d)", narrow, zero),
		fmt.Sprintf("u8[%%s] q(%s:%d)", narrow, zero+128), "i16[%s] q(0.00012207031:0)"}[r.IntN(4)]
}

// outputs makes a model with outputs of shapes y0, y1, ...
func outputs(t *testing.T, r *rand.Rand, prefix string, shapes [][]int, ready bool, p *codegen.Postprocess) *seen {
	s := &seen{r: r, model: &model{prefix: prefix, native: r.IntN(4) == 0 && len(shapes[0]) == 4}}
	kind := element(r, ready)
	for i, shape := range shapes {
		dims := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ","), "[]")
		if s.native { // what is free to lie otherwise does so behind a convolution
			s.src += fmt.Sprintf("\n in %%x%d : f32[1,1,%d,%d]\n const %%w%d : f32[%d,1,1,1] = rand 1\n"+
				" %%y%d = Conv(%%x%d, %%w%d)", i, shape[2], shape[3], i, shape[1], i, i, i)
		} else {
			k := fmt.Sprintf(kind, dims)
			s.src += fmt.Sprintf("\n in %%x%d : %s\n %%y%d : %s = Identity(%%x%d)", i, k, i, k, i)
		}
		p.Outputs = append(p.Outputs, fmt.Sprintf("y%d", i))
	}
	for i := range shapes {
		s.src += fmt.Sprintf("\n out \"y%d\" = %%y%d", i, i)
	}
	s.unit.Postprocess = p
	s.generate(t)
	return s
}

// draw gives the outputs values.
func (s *seen) draw() {
	s.values, s.given = nil, nil
	for _, x := range s.info.Outputs {
		d := tensor.New(x.Type.DType, x.Type.Shape)
		values := make([]float32, d.Len())
		lo, hi := int64(0), int64(0)
		if x.Type.Quant != nil {
			lo, hi = x.Type.DType.IntRange()
		}
		for i := range values {
			if x.Type.Quant != nil {
				q := min(max(int64(float64(lo+hi)/2+s.r.NormFloat64()*float64(hi-lo)/6), lo), hi)
				d.SetInt(i, q)
				values[i] = float32(q-int64(x.Type.Quant.ZeroAt(0))) * x.Type.Quant.ScaleAt(0)
				continue
			}
			v := s.r.NormFloat64()
			if s.r.IntN(50) == 0 {
				v = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30}[s.r.IntN(4)]
			}
			d.SetFloat(i, v)
			values[i] = float32(v)
		}
		s.values = append(s.values, values)
		s.given = append(s.given, d.Transpose(x.Type.OrderOrIdentity()).Bytes()...)
	}
}

func (s *seen) say(list ...any) {
	for _, x := range list {
		_ = binary.Write(&s.want, binary.LittleEndian, x)
	}
}

// takes is C that writes the outputs.
func (s *seen) takes() string {
	var b strings.Builder
	for _, x := range s.info.Outputs {
		fmt.Fprintf(&b, "    take((uint8_t *)(uintptr_t)%s_%s(arena), %d);\n", s.prefix, x.CName, x.Bytes)
	}
	return b.String()
}

// seesBoxes is a detector.
func seesBoxes(t *testing.T, r *rand.Rand, prefix string) (*seen, string) {
	b, shapes := posttest.Boxes(r)
	s := outputs(t, r, prefix, shapes, b.Scores == postprocess.None, &codegen.Postprocess{Boxes: b})
	s.draw()
	got := b.Of(s.values)
	s.say(int32(1), int32(1), int32(2), int32(0), int32(len(got)))
	for _, x := range got {
		s.say(x.X0, x.Y0, x.X1, x.Y1, x.Score, int32(x.Label), int32(x.Cell))
	}
	fn := prefix + "_postprocess_boxes"
	return s, s.takes() + fmt.Sprintf(`    static %s_postprocess_box_list r;
    say(%s(NULL, &r)); say(%s(arena, NULL)); say(%s(arena + 1, &r)); say(%s(arena, &r));
    give(&r.count, 4);
    give(r.box, (size_t)r.count * 28u);
`, prefix, fn, fn, fn, fn)
}

// seesClasses are classes and keywords, in three runs.
func seesClasses(t *testing.T, r *rand.Rand, prefix string) (*seen, string) {
	n := 1 + r.IntN(12)
	act := postprocess.Activation(r.IntN(3))
	c := &postprocess.Classes{Count: n, Scores: act, Top: 1 + r.IntN(n), Threshold: []float32{0.2}}
	k := &postprocess.Keywords{Count: n, Scores: act, Window: 1 + r.IntN(2), Threshold: []float32{0.3},
		Quiet: r.IntN(2)}
	if r.IntN(2) == 0 {
		k.Ignore = []int{r.IntN(n)}
	}
	if r.IntN(2) == 0 {
		c.Threshold = make([]float32, n)
		for i := range c.Threshold {
			c.Threshold[i] = r.Float32() / 2
		}
		k.Threshold = c.Threshold
	}
	s := outputs(t, r, prefix, [][]int{{1, n}}, act == postprocess.None, &codegen.Postprocess{Classes: c, Keywords: k})
	heard := k.NewHeard()
	var calls strings.Builder
	fmt.Fprintf(&calls, "    static %s_postprocess_class_list r;\n    static %s_postprocess_said said;\n"+
		"    nncc_class word;\n", prefix, prefix)
	fmt.Fprintf(&calls, "    say(%s_postprocess_reset(NULL)); say(%s_postprocess_reset(&said));\n"+
		"    say(%s_postprocess_keywords(arena, &said, NULL));\n", prefix, prefix, prefix)
	s.say(int32(1), int32(0), int32(1))
	var given []byte
	for range 3 {
		s.draw()
		given = append(given, s.given...)
		best := c.Of(s.values[0])
		s.say(int32(0), int32(len(best)))
		for _, x := range best {
			s.say(int32(x.Label), x.Score)
		}
		word := heard.Add(s.values[0])
		s.say(int32(0), int32(word.Label), word.Score)
		calls.WriteString(s.takes())
		fmt.Fprintf(&calls, "    say(%s_postprocess_classes(arena, &r));\n    give(&r.count, 4);\n"+
			"    give(r.best, (size_t)r.count * 8u);\n    say(%s_postprocess_keywords(arena, &said, &word));\n"+
			"    give(&word, 8);\n", prefix, prefix)
	}
	s.given = given
	return s, calls.String()
}

// drawSeen writes n models into one program, as drawDevices does.
func drawSeen(t *testing.T, n int) *devices {
	r := rand.New(rand.NewPCG(21, 22))
	p := &devices{dir: t.TempDir()}
	var calls, all strings.Builder
	most := 0
	for i := range n {
		draw := seesBoxes
		if i%4 == 3 {
			draw = seesClasses
		}
		s, body := draw(t, r, fmt.Sprintf("m%d", i))
		for k, f := range s.files { // all in one translation unit
			if strings.HasSuffix(f.Path, ".c") && !strings.Contains(f.Path, "/") {
				s.files[k].Path += ".inc"
				fmt.Fprintf(&p.src, "#include \"%s.inc\"\n", f.Path)
			}
		}
		s.write(t, p.dir)
		fmt.Fprintf(&calls, "static int call_%d(void)\n{\n%s    return 0;\n}\n", i, body)
		fmt.Fprintf(&all, "    if (call_%d() != 0) {\n        return 3;\n    }\n", i)
		p.in.Write(s.given)
		p.want.Write(s.want.Bytes())
		most = max(most, s.prog.ArenaBytes)
	}
	p.src.WriteString(preprocessIO(most+32, p.in.Len()) + calls.String() +
		"int32_t pre_run(void *a)\n{\n    (void)given;\n    io = a;\n    from = 0;\n    to = 0;\n" + all.String() +
		"    return 0;\n}\n")
	return p
}

// TestPostprocess: boxes, classes and keywords of drawn outputs, of all types, memory orders and
// codings, NaN and infinities among them, are in C under the sanitizers and on a Cortex-M4
// what the definition in Go makes of them, bit for bit.
func TestPostprocess(t *testing.T) {
	n := 32
	if testenv.Long() {
		n = 1000
	}
	p := drawSeen(t, testenv.Count(t, n))
	t.Run("host", p.onHost)
	t.Run("cortex-m4", p.onM4)
}
