// SPDX-License-Identifier: Apache-2.0

package tflite_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// Types by the format's numbers.
const (
	f32, i32, u8, i64, i16, i8 = 0, 2, 3, 4, 7, 9
)

// strideTwoRelu are options of a convolution, its padding SAME.
func strideTwoRelu(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	fb.Conv2DOptionsStart(b)
	fb.Conv2DOptionsAddStrideW(b, 2)
	fb.Conv2DOptionsAddStrideH(b, 2)
	fb.Conv2DOptionsAddActivation(b, 1)
	return fb.Conv2DOptionsEnd(b)
}

// network is a convolution with padding SAME, a sigmoid and a fully connected layer.
func network() tflitetest.Graph {
	rng := rand.New(rand.NewPCG(1, 1))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.IntN(256))
		}
		return b
	}
	act := func(shape ...int32) tflitetest.Tensor {
		return tflitetest.Tensor{Type: i8, Shape: shape, Scale: []float32{0.05}, Zero: []int64{3}}
	}
	scales := func(n int) (s []float32, z []int64) {
		for i := range n {
			s, z = append(s, 0.01+0.001*float32(i)), append(z, 0)
		}
		return s, z
	}
	x, y, s, p := act(1, 5, 6, 3), act(1, 3, 3, 4), act(1, 3, 3, 4), act(1, 2)
	x.Name, y.Name, s.Name, p.Name = "x", "conv", "sigmoid", "y"
	s.Scale, s.Zero = []float32{1. / 256}, []int64{-128}
	w := tflitetest.Tensor{Name: "w", Type: i8, Shape: []int32{4, 3, 3, 3}, Data: random(4 * 27)}
	w.Scale, w.Zero = scales(4)
	b := tflitetest.Tensor{Name: "b", Type: i32, Shape: []int32{4}, Data: bytes.Repeat([]byte{7, 1, 0, 0}, 4)}
	b.Scale, b.Zero = scales(4)
	v := tflitetest.Tensor{Name: "v", Type: i8, Shape: []int32{2, 36}, Data: random(72), Scale: []float32{0.02},
		Zero: []int64{0}}
	return tflitetest.Graph{Tensors: []tflitetest.Tensor{x, w, b, y, s, v, p}, Inputs: []int32{0}, Outputs: []int32{6},
		Ops: []tflitetest.Op{
			{Code: 3, In: []int32{0, 1, 2}, Out: []int32{3}, Options: strideTwoRelu},
			{Code: 14, In: []int32{3}, Out: []int32{4}},
			{Code: 9, In: []int32{4, 5, -1}, Out: []int32{6}},
		}}
}

// run reads a model and interprets it.
func run(t *testing.T, b []byte, in ...*tensor.Dense) []*tensor.Dense {
	t.Helper()
	m := testenv.Must(tflite.Parse(b, onnx.Limits{}))(t)
	g := testenv.Must(onnx.OpenModel(m, onnx.ImportOptions{}))(t)
	out := testenv.Must(interp.Run(g, in, nil))(t)
	return out
}

// TestNetwork compares a network with the sums that define its layers, in float64; a
// result may be a step off for each layer that rounds (exact are cmd/internal/driver's TestTFLite).
func TestNetwork(t *testing.T) {
	net := network()
	x := tensor.New(tensor.I8, []int{1, 5, 6, 3})
	for i := range x.Len() {
		x.SetInt(i, int64(i*37%256-128))
	}
	have := run(t, net.Bytes(), x)[0]
	w, v := net.Tensors[1], net.Tensors[5]
	var conv [36]float64
	for o := range 36 {
		oc, ow, oh := o%4, o/4%3, o/12
		sum := 0.0
		for ky := range 3 {
			for kx := range 3 {
				iy, ix := oh*2+ky-1, ow*2+kx-0 // pads: one row in front, no column
				if iy < 0 || iy >= 5 || ix >= 6 {
					continue
				}
				for c := range 3 {
					q := float64(int8(w.Data[((oc*3+ky)*3+kx)*3+c]))
					sum += 0.05 * float64(x.Int((iy*6+ix)*3+c)-3) * q * float64(w.Scale[oc])
				}
			}
		}
		sum += 263 * 0.05 * float64(w.Scale[oc])
		sum = min(max(sum, 0), 124*0.05)
		conv[o] = math.Round(1/(1+math.Exp(-math.Round(sum/0.05)*0.05))*256) / 256
	}
	for o := range 2 {
		sum := 0.0
		for i, c := range conv {
			sum += min(c, 255./256) * float64(int8(v.Data[o*36+i])) * 0.02
		}
		want := min(max(math.Round(sum/0.05)+3, -128), 127)
		testenv.Check(t, !(math.Abs(float64(have.Int(o))-want) > 1), "result %d is %d, want %g", o, have.Int(o), want)
	}
}

// TestInt4: weights of four bits, two to a byte, are those of eight.
func TestInt4(t *testing.T) {
	net := network()
	w := &net.Tensors[1]
	packed := make([]byte, len(w.Data)/2)
	for i, v := range w.Data {
		w.Data[i] = byte(int8(v<<4) >> 4)
		packed[i/2] |= v & 15 << (i % 2 * 4)
	}
	x := tensor.New(tensor.I8, []int{1, 5, 6, 3})
	for i := range x.Len() {
		x.SetInt(i, int64(i*37%256-128))
	}
	want := run(t, net.Bytes(), x)[0]
	w.Type, w.Data = 17, packed
	have := run(t, net.Bytes(), x)[0]
	testenv.Check(t, bytes.Equal(have.Bytes(), want.Bytes()), "%v, of int8 weights %v", have.Bytes(), want.Bytes())
}

// TestMutated: damaged files are refused, or are models; nothing panics, and nothing
// takes more than the limits.
func TestMutated(t *testing.T) {
	files := [][]byte{network().Bytes()}
	for _, l := range tflitetest.Layers() {
		files = append(files, l.Bytes())
	}
	for _, p := range sharedata.Glob("tflite", "*.tflite") {
		if b, err := os.ReadFile(p); err == nil && (len(b) < 8<<10 || testenv.Long()) {
			files = append(files, b)
		}
	}
	rng := rand.New(rand.NewPCG(5, 5))
	rounds := 2000
	if testenv.Long() {
		rounds = 50000
	}
	accepted := 0
	for range rounds {
		b := tflitetest.Damage(rng, files[rng.IntN(len(files))])
		m, err := tflite.Parse(b, onnx.Limits{})
		if err != nil {
			continue
		}
		if _, err := onnx.OpenModel(m, onnx.ImportOptions{}); err == nil {
			accepted++
		}
	}
	testenv.Check(t, accepted != 0 && accepted != rounds, "%d of %d damaged files are models", accepted, rounds)
}

// TestUnread: what runtimes do not read of scales and zero points changes nothing.
func TestUnread(t *testing.T) {
	x := tensor.New(tensor.I8, []int{1, 5, 6, 3})
	for i := range x.Len() {
		x.SetInt(i, int64(i*37%256-128))
	}
	want := run(t, network().Bytes(), x)[0].Int64s()
	for what, change := range map[string]func(g *tflitetest.Graph){
		"zero points without end": func(g *tflitetest.Graph) { g.Tensors[0].Zero = []int64{3, 2, 1} },
		"no dimension":            func(g *tflitetest.Graph) { g.Tensors[1].Axis = -1 },
		"another dimension":       func(g *tflitetest.Graph) { g.Tensors[1].Axis = 1 },
		"a far dimension":         func(g *tflitetest.Graph) { g.Tensors[1].Axis = math.MaxInt32 },
		"a bias's dimension":      func(g *tflitetest.Graph) { g.Tensors[2].Axis = 3 },
	} {
		g := network()
		change(&g)
		testenv.Same(t, run(t, g.Bytes(), x)[0].Int64s(), want, what)
	}
}

// TestRefused: what a file may not say is named.
func TestRefused(t *testing.T) {
	edit := map[string]func(g *tflitetest.Graph){
		"byte 4":            nil,
		"tensor 99":         func(g *tflitetest.Graph) { g.Ops[0].In[1] = 99 },
		"bytes":             func(g *tflitetest.Graph) { g.Tensors[1].Data = g.Tensors[1].Data[1:] },
		"positive scale":    func(g *tflitetest.Graph) { g.Tensors[0].Scale[0] = -1 },
		"no operator":       func(g *tflitetest.Graph) { g.Ops[1].Code = 10 },
		"want a constant":   func(g *tflitetest.Graph) { g.Tensors[2].Data = nil },
		"stride":            func(g *tflitetest.Graph) { g.Ops[0].Options = nil },
		"complex64":         func(g *tflitetest.Graph) { g.Tensors[0].Type = 8 },
		"at least 2 and 1":  func(g *tflitetest.Graph) { g.Ops[2].In = g.Ops[2].In[:1] },
		"[outputs, inputs]": func(g *tflitetest.Graph) { g.Tensors[5].Shape = []int32{8, 9} },
	}
	for name, want := range map[string]string{"FlexErf": "TFLITE_BUILTINS", "LceBconv2d": "Larq",
		"XC_conv2d": "from before", "edgetpu-custom-op": "before edgetpu_compiler", "NeutronGraph": "from before",
		"Other": "compute it outside"} {
		edit[want+" ("+name] = func(g *tflitetest.Graph) { g.Ops[1].Custom = name }
	}
	for want, change := range edit {
		want, _, _ = strings.Cut(want, " (")
		g := network()
		b := []byte("\x1c\x00\x00\x00TFL4")
		if change != nil {
			change(&g)
			b = g.Bytes()
		}
		_, _, err := opened(b)
		testenv.Check(t, err != nil && strings.Contains(err.Error(), want), "%s: %v", want, err)
	}
}
