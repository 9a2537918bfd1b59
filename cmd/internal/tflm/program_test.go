// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/conform"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/state"
)

// sampled is the share of the drawn layers that is run on a core by default.
const sampled = 12

// TestPrograms: firmware of drawn layers computes what the reference interpreter does, bit
// for bit: on the host, and a sample on a core; with NNCC_LONG some hundreds on three.
func TestPrograms(t *testing.T) {
	testenv.Tool(t, "cc", "gcc")
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	targets, every, n := []string{"host", "cortex-m55"}, sampled, 1
	if testenv.Long() {
		targets, every, n = append(targets, "cortex-m4", "cortex-m0plus"), 1, 3
	}
	if testenv.Get("NNCC_BOARDS") != "" {
		every = 1
	}
	from, count := testenv.Range(t, n)
	var all []*tflitetest.Layer
	var drawn []*layer
	for _, d := range stateless {
		for _, typ := range d.typesOf() {
			if typ == "f32" {
				continue
			}
			for seed := from; seed < from+count; seed++ {
				l := draw(d, typ, uint64(seed))
				drawn = append(drawn, l)
				all = append(all, &tflitetest.Layer{Op: l.op, Type: typ, Graph: l.Graph, Given: l.inputs()})
			}
		}
	}
	for _, target := range testenv.Boards(targets...) {
		spec := testenv.Must(boards.Load(target))(t)
		stride := every
		if target == "host" {
			stride = 1
		}
		var some []*tflitetest.Layer
		for i := 0; i < len(all); i += stride {
			some = append(some, all[i])
		}
		testenv.OK(t, conform.RunLayers(context.Background(), some, spec, func(i int, err error) {
			if err != nil {
				t.Errorf("%s: %v\n%s", target, err, drawn[i*stride])
			}
		}))
		t.Logf("%s: %d layers", target, len(some))
	}
}

// TestSameFirmware: a network as a TensorFlow Lite file and as an ONNX file is the same
// firmware, but for names, once the latter takes its input channels-last, too.
func TestSameFirmware(t *testing.T) {
	for lite, onnx := range map[string]string{"kws_ref_model": "kws_int8", "pretrainedResnet_quant": "ic_int8",
		"vww_96_int8": "vww_int8"} {
		a := sharedata.Need(t, "tflite", lite+".tflite")
		b := sharedata.Need(t, "models", onnx+".onnx")
		for _, board := range []string{"cortex-m4", "cortex-m55", "cortex-m0plus"} {
			have, want := sources(t, a, board), sources(t, b, board)
			n := len(want["net.c"])
			testenv.Check(t, n >= 2000, "%s for %s: only %d bytes of the model's source are compared", lite, board, n)
			for name, text := range want {
				if have[name] != text {
					t.Errorf("%s for %s: %s is not that of %s:\n%s", lite, board, name, onnx,
						cmp.Diff(text, have[name]))
				}
			}
			testenv.Check(t, len(have) == len(want) && len(have) >= 8, "%s for %s: %d files, of %s %d", lite, board,
				len(have), onnx, len(want))
		}
	}
}

var (
	comment = regexp.MustCompile(`(?s)/\*.*?\*/|(?m:^#[^\n]*$)`)
	text    = regexp.MustCompile(`(?:"(?:[^"\\\n]|\\.)*"\s*)+`) // pieces that C joins
	broken  = regexp.MustCompile(`([(,])\s*`)                   // lines break by the length of names
	place   = regexp.MustCompile(`(NET_AT_\w+) = (\d+),\s*`)
	name    = regexp.MustCompile(`\b(?:net|NET)_\w+`)
)

// sources are what computes in a model's firmware: without comments and texts, places as
// their offsets, and what is named after nodes and tensors as its number, in the order
// in which names appear.
func sources(t *testing.T, model, board string) map[string]string {
	t.Helper()
	c := driver.Defaults()
	c.Model, c.Board, c.Name, c.IOLayout = model, board, "net", option.NativeLayout
	o := testenv.Must(c.Compile())(t)
	out, places, names := map[string]string{}, map[string]string{}, map[string]string{}
	slices.SortFunc(o.Files, func(a, b codegen.File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range o.Files {
		dir, file := filepath.Split(f.Path)
		switch {
		case strings.HasPrefix(file, "report.") || dir != "" && !strings.HasPrefix(dir, "nncc"):
			continue
		case dir == "" && file != "net.c" && !strings.HasPrefix(file, "net_weights"):
			continue
		}
		bare := text.ReplaceAllString(comment.ReplaceAllString(string(f.Data), ""), `""`)
		bare = broken.ReplaceAllString(bare, "$1 ")
		for _, m := range place.FindAllStringSubmatch(bare, -1) {
			places[m[1]] = m[2]
		}
		out[f.Path] = name.ReplaceAllStringFunc(place.ReplaceAllString(bare, ""), func(n string) string {
			if at, ok := places[n]; ok {
				return at
			}
			if names[n] == "" {
				names[n] = fmt.Sprintf("net_%d", len(names))
			}
			return names[n]
		})
	}
	return out
}

// tables are the functions of int8 values that are written as their results.
var tables = []string{"ABS", "ELU", "HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "RELU", "RELU6", "RSQRT", "TANH"}

// TestTablesAreIntegers: what reads a function that was written as its table computes on
// integers, too.
func TestTablesAreIntegers(t *testing.T) {
	for _, d := range functions {
		if !slices.Contains(tables, d.op) {
			continue
		}
		l := draw(d, "i8", 1)
		y := l.Outputs[0]
		l.op, l.Outputs = "ADD", nil
		l.do(11, []any{int8(0)}, []int32{y, y}, l.output("i8", 2*l.limit(y), l.Tensors[y].Shape...))
		o, err := compiled(t, l)
		if err != nil {
			t.Errorf("%s: %v", d.op, err)
			continue
		}
		for _, n := range o.Lowered.Reference.Nodes {
			testenv.Check(t, !n.Out[0].Type.DType.IsFloat(), "%s: %s computes %s", d.op, n, n.Out[0].Type)
		}
	}
}

// compiled is a layer compiled for the host.
func compiled(t *testing.T, l *layer) (*driver.Compiled, error) {
	path := filepath.Join(t.TempDir(), "net.tflite")
	testenv.OK(t, os.WriteFile(path, l.Bytes(), 0o666))
	c := driver.Defaults()
	c.Model, c.Board, c.Name = path, "host", "net"
	return c.Compile()
}

// TestReaders: what is computed in steps on integers may be read by several layers, in any
// order.
func TestReaders(t *testing.T) {
	for _, op := range []string{"PRELU", "SQUARED_DIFFERENCE", "DIV", "L2_NORMALIZATION", "QUANTIZE", "SUB", "CUMSUM"} {
		for _, order := range [][]string{{"CONV_2D", "ADD"}, {"ADD", "CONV_2D"}} {
			l := &layer{op: op, typ: "i8", rng: rand.New(rand.NewPCG(uint64(len(op)), 3))}
			shape := []int32{1, 5, 5, 4}
			x := l.in(shape...)
			in := []int32{x}
			switch op {
			case "PRELU":
				in = append(in, l.fill(l.quantised(l.tensor("i8", 1, 1, 4), 0.01, 3)))
			case "SQUARED_DIFFERENCE", "DIV", "SUB":
				in = append(in, l.in(shape...))
			case "CUMSUM":
				in = append(in, l.scalar(1))
			}
			y := l.quantised(l.tensor("i8", shape...), 0.0371, 5)
			l.do(0, nil, in, y)
			w := l.fill(l.quantised(l.tensor("i8", 4, 1, 1, 4), 0.01, 0))
			conv, sum := l.output("i8", 4, shape...), l.output("i8", 4, shape...)
			readers := map[string]func(){
				"CONV_2D": func() { l.do(1, []any{int8(0), int32(1), int32(1)}, []int32{y, w, -1}, conv) },
				"ADD":     func() { l.do(11, []any{int8(0)}, []int32{y, y}, sum) },
			}
			for _, l.op = range order {
				readers[l.op]()
			}
			_, err := compiled(t, l)
			testenv.Check(t, err == nil, "%s, read by %v: %v", op, order, err)
		}
	}
}

// runs is how often a model is run, one after the other.
const runs = 3

// TestLayers: programs give what TensorFlow Lite Micro's reference kernels give, integers
// bit for bit, floats within 1e-4. NNCC_TFLM_RUN names the program that runs them.
func TestLayers(t *testing.T) {
	program := testenv.Get("NNCC_TFLM_RUN")
	testenv.SkipIf(t, program == "", "NNCC_TFLM_RUN names no program that runs TensorFlow Lite Micro")
	from, count := testenv.Range(t, 6)
	for i, d := range drawers {
		for _, typ := range d.typesOf() {
			t.Run(fmt.Sprintf("%s/%s/%d", d.op, typ, i), func(t *testing.T) {
				t.Parallel()
				accepted := 0
				for seed := from; seed < from+count; seed++ {
					if compare(t, program, draw(d, typ, uint64(seed)), seed) {
						accepted++
					}
				}
				t.Logf("%d of %d models compared", accepted, count)
				testenv.Check(t, accepted != 0, "TensorFlow Lite Micro refuses all models")
			})
		}
	}
}

// referenceOf writes a model and is what TensorFlow Lite Micro gives for inputs drawn for it.
func referenceOf(t *testing.T, program string, model []byte, draw func() [][]byte) (path string, in [][][]byte,
	want []byte, err error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "net.tflite")
	testenv.OK(t, os.WriteFile(path, model, 0o666))
	var stream, msg bytes.Buffer
	for range runs {
		x := draw()
		in = append(in, x)
		stream.Write(bytes.Join(x, nil))
	}
	cmd := exec.Command(program, path, fmt.Sprint(runs))
	cmd.Stdin, cmd.Stderr = &stream, &msg
	if want, err = cmd.Output(); err != nil {
		err = fmt.Errorf("%w %s", err, bytes.TrimSpace(msg.Bytes()))
	}
	return path, in, want, err
}

// compare runs a model both ways; false where TensorFlow Lite Micro refuses it.
func compare(t *testing.T, program string, l *layer, seed int) bool {
	t.Helper()
	path, in, want, err := referenceOf(t, program, l.Bytes(), l.inputs)
	if err != nil {
		t.Logf("seed %d: refused by TensorFlow Lite Micro: %v", seed, err)
		return false
	}
	have, err := program1(path, in)
	if err != nil {
		t.Errorf("seed %d: %s\n%s", seed, err, l)
		return true
	}
	why := differ(have, want)
	testenv.Check(t, why == "", "seed %d: %s\n%s", seed, why, l)
	return true
}

// program1 is what nncc's program of a model gives: of each run, each output.
func program1(path string, in [][][]byte) (out [][]*tensor.Dense, err error) {
	c := driver.Defaults()
	c.Model, c.Board, c.Name, c.OwnIO = path, "host", "net", true
	o, err := c.Compile()
	if err != nil {
		return nil, err
	}
	r := state.New(o.Lowered.Reference, o.Lowered.StateBindings)
	for _, given := range in {
		var x []*tensor.Dense
		for i, v := range r.Inputs() {
			d, err := tensor.FromBytes(v.Type.DType, v.Type.Shape, given[i])
			if err != nil {
				return nil, err
			}
			x = append(x, d)
		}
		y, err := r.Step(x)
		if err != nil {
			return nil, err
		}
		seen := lists.Map(r.Outputs(), func(i int) *tensor.Dense { return y[i] })
		out = append(out, seen)
	}
	return out, nil
}

// differ says where results differ, "" where they do not.
func differ(have [][]*tensor.Dense, want []byte) string {
	for run, outs := range have {
		for i, d := range outs {
			n := len(d.Bytes())
			if n > len(want) {
				return fmt.Sprintf("result %d has %d bytes too many", i, n-len(want))
			}
			ref, err := tensor.FromBytes(d.DType, d.Shape, want[:n])
			if err != nil {
				return err.Error()
			}
			want = want[n:]
			if !d.DType.IsFloat() {
				if !bytes.Equal(d.Bytes(), ref.Bytes()) {
					return integersDiffer(run, i, d, ref)
				}
				continue
			}
			most := 0.0
			for k := range ref.Len() {
				if v := math.Abs(ref.Float(k)); !math.IsInf(v, 0) {
					most = max(most, v)
				}
			}
			for k := range ref.Len() {
				a, b := d.Float(k), ref.Float(k)
				if a != b && !(math.Abs(a-b) <= 1e-4*most) && !(math.IsNaN(a) && math.IsNaN(b)) {
					return fmt.Sprintf("run %d, result %d, element %d: %g, want %g", run, i, k, a, b)
				}
			}
		}
	}
	if len(want) > 0 {
		return fmt.Sprintf("results lack %d bytes", len(want))
	}
	return ""
}

func integersDiffer(run, i int, have, want *tensor.Dense) string {
	n, first, most := 0, -1, int64(0)
	for k := range want.Len() {
		if d := have.Int(k) - want.Int(k); d != 0 {
			if n++; first < 0 {
				first = k
			}
			most = max(most, d, -d)
		}
	}
	return fmt.Sprintf("run %d, result %d: %d of %d elements differ, by at most %d; the first, %d, is %d, want %d", run,
		i, n, want.Len(), most, first, have.Int(first), want.Int(first))
}

// String is the layer for messages.
func (l *layer) String() string {
	var b strings.Builder
	for _, o := range l.Ops {
		fmt.Fprintf(&b, "%s %v -> %v", l.op, o.In, o.Out)
	}
	for i, t := range l.Tensors {
		s := t.Scale
		if len(s) > 3 {
			s = s[:3]
		}
		kind := ""
		if t.Data != nil {
			kind = " const"
			if l.kinds[i] == "i32" && len(t.Data) <= 32 && len(s) == 0 {
				kind = fmt.Sprint(" const ", t.Data)
			}
		}
		fmt.Fprintf(&b, "\n  %d %s%v scale %v zero %v%s", i, l.kinds[i], t.Shape, s,
			slices.Compact(slices.Clone(t.Zero)), kind)
	}
	return b.String()
}
