// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// sampled is a layer as networks have it: inputs, then constants.
type sampled struct {
	name   string
	op     *ir.OpDef
	in     [][]int
	consts [][]int
	attrs  ir.Attrs
	ints   []int // a constant of integers behind the inputs: pads, axes
}

// convLayer is a convolution from c to oc channels with Relu's range left open.
func convLayer(c, oc, groups, h, w, kh, kw, stride, dilation int, padded bool) sampled {
	ph, pw := 0, 0
	if padded {
		ph, pw = dilation*(kh-1)/2, dilation*(kw-1)/2
	}
	return sampled{fmt.Sprintf("conv %dx%dx%d to %d, %dx%d, stride %d, dilation %d, %d groups, pads %d %d", h, w, c, oc,
		kh, kw, stride, dilation, groups, ph, pw), op.Conv, [][]int{{1, c, h, w}},
		[][]int{{oc, c / groups, kh, kw}, {oc}}, ir.Attrs{"group": ir.Int(groups), "strides": ir.Ints(stride, stride),
			"dilations": ir.Ints(dilation, dilation), "pads": ir.Ints(ph, pw, ph, pw)}, nil}
}

func poolLayer(d *ir.OpDef, c, h, w, k, stride int) sampled {
	return sampled{fmt.Sprintf("%s %dx%dx%d, %d, stride %d", d.Name, h, w, c, k, stride), d, [][]int{{1, c, h, w}}, nil,
		ir.Attrs{"kernel_shape": ir.Ints(k, k), "strides": ir.Ints(stride, stride)}, nil}
}

func productLayer(rows, inputs, outputs int) sampled {
	return sampled{fmt.Sprintf("gemm %dx%d to %d", rows, inputs, outputs), op.Gemm, [][]int{{rows, inputs}},
		[][]int{{outputs, inputs}, {outputs}}, ir.Attrs{"transB": ir.Int(1)}, nil}
}

func binaryLayer(d *ir.OpDef, a, b []int) sampled {
	return sampled{fmt.Sprintf("%s %v %v", d.Name, a, b), d, [][]int{a, b}, nil, nil, nil}
}

// samples are layers that a linked CMSIS-NN has kernels for; some of each were slower once.
var samples = []sampled{
	convLayer(1, 16, 1, 24, 10, 10, 4, 2, 1, true), convLayer(3, 16, 1, 24, 24, 3, 3, 2, 1, true),
	convLayer(16, 16, 1, 12, 12, 3, 3, 1, 1, true), convLayer(7, 13, 1, 9, 9, 3, 3, 1, 1, false),
	convLayer(33, 3, 1, 12, 9, 3, 3, 2, 2, true), convLayer(20, 2, 1, 5, 14, 5, 5, 1, 2, true),
	convLayer(8, 8, 1, 1, 50, 1, 9, 1, 1, false), convLayer(16, 3, 1, 1, 60, 1, 3, 1, 1, true),
	convLayer(32, 32, 1, 8, 8, 1, 1, 1, 1, false), convLayer(17, 23, 1, 9, 9, 1, 1, 1, 1, false),
	convLayer(64, 12, 1, 1, 1, 1, 1, 1, 1, false), convLayer(16, 32, 1, 16, 16, 1, 1, 2, 1, false),
	convLayer(24, 4, 1, 12, 10, 1, 1, 1, 1, false), convLayer(88, 8, 1, 8, 8, 1, 1, 1, 1, false),
	convLayer(24, 3, 1, 10, 10, 1, 1, 1, 1, false), convLayer(88, 1, 1, 8, 8, 1, 1, 1, 1, false),
	convLayer(24, 2, 1, 9, 11, 1, 1, 1, 1, false), convLayer(24, 1, 1, 12, 11, 1, 1, 1, 1, false),
	convLayer(8, 1, 1, 24, 24, 1, 1, 1, 1, false), convLayer(7, 1, 1, 14, 13, 1, 1, 1, 1, false),
	convLayer(68, 1, 1, 14, 6, 1, 1, 2, 1, false),
	convLayer(32, 16, 1, 1, 40, 1, 1, 2, 1, false), convLayer(23, 12, 1, 9, 2, 1, 1, 2, 1, false),
	convLayer(33, 33, 33, 9, 8, 1, 1, 2, 2, false), convLayer(23, 3, 1, 3, 2, 1, 1, 2, 2, false),
	convLayer(1, 8, 1, 14, 13, 1, 1, 1, 1, false), convLayer(3, 1, 1, 14, 13, 1, 1, 1, 1, false),
	convLayer(16, 1, 1, 14, 13, 3, 3, 1, 1, true), convLayer(16, 2, 1, 11, 10, 3, 3, 2, 1, true),
	convLayer(5, 1, 1, 11, 10, 3, 3, 1, 1, true), convLayer(1, 1, 1, 20, 17, 3, 3, 1, 1, true),
	convLayer(16, 16, 4, 8, 8, 3, 3, 1, 1, true),
	convLayer(16, 16, 16, 12, 12, 3, 3, 1, 1, true), convLayer(8, 8, 8, 24, 24, 3, 3, 2, 1, true),
	convLayer(24, 24, 24, 12, 12, 5, 5, 1, 1, true), convLayer(12, 24, 12, 10, 10, 3, 3, 1, 1, true),
	convLayer(32, 32, 32, 1, 64, 1, 3, 1, 1, true),
	{"tconv 6x6x16 to 8", op.ConvTranspose, [][]int{{1, 16, 6, 6}}, [][]int{{16, 8, 3, 3}, {8}},
		ir.Attrs{"strides": ir.Ints(2, 2), "pads": ir.Ints(1, 1, 1, 1)}, nil},
	transposedLayer(32, 25, 8, 1, 3, 1, 1), transposedLayer(16, 12, 7, 9, 3, 1, 1),
	transposedLayer(5, 8, 6, 5, 4, 1, 0), transposedLayer(20, 3, 9, 6, 2, 1, 1),
	transposedLayer(1, 16, 5, 8, 3, 1, 0), transposedLayer(8, 1, 9, 9, 3, 1, 1),
	transposedLayer(8, 1, 9, 9, 3, 2, 1), transposedLayer(4, 1, 7, 9, 4, 2, 1), transposedLayer(3, 1, 8, 8, 3, 2, 0),
	transposedLayer(5, 1, 8, 8, 5, 2, 2), transposedLayer(6, 2, 7, 9, 4, 2, 1),
	productLayer(1, 64, 1), productLayer(1, 30, 2), productLayer(1, 513, 2),
	productLayer(1, 512, 3), productLayer(20, 50, 1),
	productLayer(1, 1, 1), productLayer(1, 7, 1), productLayer(1, 3, 40),
	productLayer(1, 640, 128), productLayer(1, 64, 10), productLayer(1, 16, 16), productLayer(8, 64, 64),
	poolLayer(op.AveragePool, 16, 16, 16, 2, 2), poolLayer(op.AveragePool, 48, 11, 12, 3, 2),
	poolLayer(op.AveragePool, 64, 7, 4, 4, 4), poolLayer(op.MaxPool, 16, 16, 16, 2, 2),
	poolLayer(op.MaxPool, 5, 12, 12, 3, 2),
	{"GlobalAveragePool", op.GlobalAveragePool, [][]int{{1, 64, 12, 5}}, nil, nil, nil},
	binaryLayer(op.Add, []int{1, 16, 12, 12}, []int{1, 16, 12, 12}), binaryLayer(op.Add, []int{1, 100}, []int{1, 100}),
	binaryLayer(op.Mul, []int{1, 1000}, []int{1, 1000}), binaryLayer(op.Mul, []int{1, 16, 12, 12}, []int{1, 16, 1, 1}),
	binaryLayer(op.Add, []int{64, 64}, []int{64, 1}), binaryLayer(op.Add, []int{256, 7}, []int{256, 1}),
	binaryLayer(op.Add, []int{64, 64}, []int{1}), binaryLayer(op.Mul, []int{256, 7}, []int{256, 1}),
	binaryLayer(op.Add, []int{16, 16}, []int{16, 1}), binaryLayer(op.Add, []int{20, 2, 3}, []int{20, 1, 3}),
	binaryLayer(op.Add, []int{40, 3, 10}, []int{40, 1, 10}), binaryLayer(op.Mul, []int{3, 3, 4, 2}, []int{3, 1, 4, 1}),
	binaryLayer(op.Mul, []int{4, 5, 4, 3}, []int{4, 1, 1, 3}), binaryLayer(op.Mul, []int{3, 2}, []int{1, 2}),
	binaryLayer(op.Max, []int{2, 3}, []int{2, 1}), binaryLayer(op.Min, []int{4, 3}, []int{1, 3}),
	{"softmax 12", op.Softmax, [][]int{{1, 12}}, nil, nil, nil},
	{"softmax 8x100", op.Softmax, [][]int{{8, 100}}, nil, nil, nil},
	{"batch matmul", op.MatMul, [][]int{{2, 16, 24}, {2, 24, 20}}, nil, nil, nil},
	{"batch matmul, deep", op.MatMul, [][]int{{3, 17, 64}, {3, 64, 17}}, nil, nil, nil},
	{"batch matmul, shallow", op.MatMul, [][]int{{4, 32, 2}, {4, 2, 32}}, nil, nil, nil},
	{"batch matmul, wide", op.MatMul, [][]int{{4, 64, 16}, {4, 16, 64}}, nil, nil, nil},
	{"batch matmul, two rows", op.MatMul, [][]int{{1, 2, 17}, {1, 17, 4}}, nil, nil, nil},
	{"batch matmul, two long rows", op.MatMul, [][]int{{2, 2, 32}, {2, 32, 20}}, nil, nil, nil},
	matmulLayer(2, 1, 2, 16), matmulLayer(3, 1, 7, 32), matmulLayer(2, 1, 1, 40), matmulLayer(2, 4, 16, 2),
	matmulLayer(2, 16, 32, 1), matmulLayer(3, 7, 9, 1), matmulLayer(1, 1, 8, 1), matmulLayer(2, 16, 32, 3),
	{"batch matmul, one row", op.MatMul, [][]int{{4, 1, 32}, {4, 32, 20}}, nil, nil, nil},
	binaryLayer(op.Min, []int{1, 16, 12, 12}, []int{1, 1, 1, 1}), binaryLayer(op.Max, []int{1, 1000}, []int{1, 1}),
	binaryLayer(op.Max, []int{1, 16, 12, 12}, []int{1, 16, 12, 12}), binaryLayer(op.Min, []int{1, 37}, []int{1, 37}),
	binaryLayer(op.Max, []int{12, 100}, []int{12, 1}), binaryLayer(op.Min, []int{40, 16}, []int{40, 1}),
	binaryLayer(op.Max, []int{40, 8}, []int{40, 1}), binaryLayer(op.Min, []int{20, 33}, []int{20, 1}),
	binaryLayer(op.Max, []int{6, 300}, []int{6, 1}), binaryLayer(op.Min, []int{5, 16}, []int{1, 1}),
	binaryLayer(op.Min, []int{10, 8, 5}, []int{10, 1, 5}), binaryLayer(op.Max, []int{16, 5, 2}, []int{16, 1, 2}),
	binaryLayer(op.Min, []int{4, 20, 3}, []int{4, 1, 3}), binaryLayer(op.Min, []int{9, 2, 64}, []int{9, 1, 64}),
	binaryLayer(op.Min, []int{9, 2, 40}, []int{9, 1, 40}), binaryLayer(op.Max, []int{7, 5, 48}, []int{7, 1, 48}),
	transposeLayer([]int{2, 2, 1, 2}, 1, 0, 2, 3), transposeLayer([]int{3, 5, 4}, 2, 1, 0),
	transposeLayer([]int{9, 13, 16, 3}, 3, 1, 0, 2), transposeLayer([]int{2, 3, 4, 5}, 3, 1, 0, 2),
	transposeLayer([]int{6, 2, 31, 6}, 2, 1, 3, 0), transposeLayer([]int{5, 2, 7, 6}, 1, 3, 0, 2),
	transposeLayer([]int{13, 7, 4, 5}, 0, 2, 1, 3), transposeLayer([]int{10, 12, 8}, 1, 0, 2),
	transposeLayer([]int{3, 3, 1, 3}, 3, 1, 2, 0), transposeLayer([]int{12, 12, 40, 3}, 0, 2, 1, 3),
	lstmLayer(1, 10, 12), lstmLayer(2, 7, 1), lstmLayer(5, 16, 3), lstmLayer(4, 28, 32),
	{"pad rows", op.Pad, [][]int{{1, 20, 14, 12}}, nil, nil, []int{0, 0, 0, 2, 0, 0, 2, 2}},
	{"pad channels", op.Pad, [][]int{{1, 16, 7, 11}}, nil, nil, []int{0, 0, 0, 0, 0, 8, 0, 0}},
	convLayer(64, 1, 1, 8, 8, 1, 1, 2, 1, false), convLayer(3, 1, 1, 9, 8, 1, 1, 2, 1, false),
	convLayer(83, 2, 1, 10, 9, 1, 1, 2, 1, false),
	convLayer(3, 1, 1, 2, 2, 2, 2, 1, 1, false), convLayer(40, 16, 1, 4, 4, 4, 4, 1, 1, false),
	convLayer(16, 4, 1, 9, 9, 1, 1, 2, 1, false), convLayer(20, 6, 1, 7, 10, 1, 1, 2, 1, false),
}

// matmulLayer is a product of two activations, batch times.
func matmulLayer(batch, m, k, n int) sampled {
	return sampled{fmt.Sprintf("batch matmul %d, %dx%d to %d", batch, m, k, n), op.MatMul,
		[][]int{{batch, m, k}, {batch, k, n}}, nil, nil, nil}
}

func softmaxLayer(rows, n int) sampled {
	return sampled{fmt.Sprintf("softmax %dx%d", rows, n), op.Softmax, [][]int{{rows, n}}, nil, nil, nil}
}

// wideSamples are the same on int16.
var wideSamples = []sampled{
	matmulLayer(3, 11, 29, 36), matmulLayer(3, 4, 12, 21), matmulLayer(1, 11, 2, 17), matmulLayer(4, 32, 64, 32),
	matmulLayer(2, 5, 100, 7), matmulLayer(1, 1, 40, 5), matmulLayer(2, 9, 7, 1),
	productLayer(1, 104, 1), productLayer(1, 215, 2), productLayer(3, 33, 1),
	productLayer(26, 1, 1), productLayer(1, 4, 3), productLayer(2, 17, 2), productLayer(10, 8, 18),
	productLayer(1, 5, 5), productLayer(2, 10, 6), productLayer(1, 24, 5),
	convLayer(8, 2, 1, 2, 5, 1, 1, 1, 1, false), convLayer(22, 1, 1, 1, 39, 1, 1, 2, 1, false),
	convLayer(1, 1, 1, 6, 6, 3, 3, 2, 1, false), convLayer(2, 32, 1, 10, 10, 5, 5, 1, 1, false),
	convLayer(10, 23, 1, 1, 7, 1, 4, 2, 1, false), convLayer(32, 24, 1, 6, 9, 1, 1, 1, 1, false),
	convLayer(25, 5, 5, 9, 10, 3, 3, 1, 1, true),
	convLayer(2, 2, 2, 9, 9, 1, 1, 1, 1, false), convLayer(3, 3, 3, 12, 12, 1, 1, 2, 1, false),
	convLayer(3, 3, 3, 9, 9, 3, 3, 1, 1, true), convLayer(2, 2, 2, 1, 40, 1, 9, 1, 1, true),
	convLayer(16, 1, 1, 3, 3, 3, 3, 1, 1, false), convLayer(16, 4, 1, 3, 3, 3, 3, 1, 1, false),
	convLayer(32, 3, 1, 1, 4, 1, 4, 1, 1, false), convLayer(3, 1, 1, 2, 2, 2, 2, 1, 1, false),
	softmaxLayer(8, 100), softmaxLayer(1, 12), softmaxLayer(3, 33), softmaxLayer(20, 3),
	poolLayer(op.AveragePool, 16, 16, 16, 2, 2), poolLayer(op.AveragePool, 48, 11, 12, 3, 2),
	poolLayer(op.AveragePool, 5, 7, 8, 3, 1), poolLayer(op.AveragePool, 21, 6, 16, 2, 3),
	poolLayer(op.AveragePool, 16, 9, 8, 1, 2), poolLayer(op.AveragePool, 3, 9, 8, 5, 2),
	poolLayer(op.MaxPool, 16, 16, 16, 2, 2), poolLayer(op.MaxPool, 16, 9, 9, 1, 3),
	poolLayer(op.MaxPool, 5, 12, 12, 3, 2), poolLayer(op.MaxPool, 5, 12, 12, 1, 2),
	poolLayer(op.MaxPool, 3, 16, 16, 2, 2),
	binaryLayer(op.Mul, []int{3, 3, 4, 2}, []int{3, 1, 4, 1}),
	binaryLayer(op.Add, []int{40, 3, 10}, []int{40, 1, 10}), binaryLayer(op.Mul, []int{4, 5, 4, 3}, []int{4, 1, 1, 3}),
	binaryLayer(op.Add, []int{20, 2, 3}, []int{20, 1, 3}), binaryLayer(op.Mul, []int{64, 7}, []int{64, 1}),
}

// fourSamples are with weights of 4 bits.
var fourSamples = []sampled{
	convLayer(16, 1, 1, 12, 10, 1, 1, 1, 1, false), convLayer(24, 3, 1, 10, 10, 1, 1, 1, 1, false),
	convLayer(88, 2, 1, 8, 8, 1, 1, 1, 1, false), convLayer(7, 1, 1, 14, 13, 1, 1, 1, 1, false),
	convLayer(94, 4, 1, 7, 9, 1, 1, 2, 1, false), convLayer(3, 1, 1, 2, 2, 2, 2, 1, 1, false),
	convLayer(16, 38, 1, 4, 40, 1, 4, 1, 1, false), convLayer(4, 3, 1, 11, 4, 4, 4, 2, 1, false),
	productLayer(1, 164, 5), productLayer(1, 64, 10), productLayer(9, 33, 12),
}

// add puts a layer into a graph, with an addition behind layers that would not be
// quantised alone.
func (s sampled) add(t *testing.T, g *ir.Graph, i int) {
	t.Helper()
	var in []*ir.Value
	for k, shape := range s.in {
		name := fmt.Sprintf("x%d_%d", i, k)
		if s.op == op.Transpose {
			x := g.AddInput(name, ir.T(tensor.F32, tensor.Count(shape)))
			n, err := g.Add(op.Reshape, name+" in rows", nil, 1, x, g.AddConst(name+"_shape", tensor.Ints(shape...)))
			testenv.Require(t, err == nil, "%s: %v", s.name, err)
			in = append(in, n.Out[0])
			continue
		}
		in = append(in, g.AddInput(name, ir.T(tensor.F32, shape...)))
	}
	for k, shape := range s.consts {
		in = append(in, g.AddConst(fmt.Sprintf("c%d_%d", i, k), ir.Rand(uint64(7*i+k), tensor.F32, shape)))
	}
	if s.ints != nil {
		in = append(in, g.AddConst(fmt.Sprintf("i%d", i), tensor.Ints(s.ints...)))
	}
	behind := func(n *ir.Node, d *ir.OpDef, more ...*ir.Value) *ir.Node {
		n, err := g.Add(d, s.name+" "+d.Name, nil, 1, append([]*ir.Value{n.Out[0]}, more...)...)
		testenv.Require(t, err == nil, "%s: %v", s.name, err)
		return n
	}
	n, err := g.Add(s.op, s.name, s.attrs, 1, in...)
	testenv.Require(t, err == nil, "%s: %v", s.name, err)
	n.Origin = []string{n.Name}
	switch s.op {
	case op.Pad:
		n = behind(n, op.Sigmoid)
	case op.Transpose: // the order is that of the numbers in a row
		n = behind(behind(n, op.Sigmoid), op.Reshape, g.AddConst(fmt.Sprintf("flat%d", i), tensor.Ints(-1)))
	}
	g.AddOutput(fmt.Sprintf("y%d", i), n.Out[0])
}

// sameCalls is by what the same calls differ in two programs: loads of addresses.
const sameCalls = 4

// compared are the cores of which a build of CMSIS-NN may be named.
var compared = []string{"m55", "m4", "m3", "m0plus"}

// fasterThanLibrary compiles layers, int8 unless the function says otherwise, for
// a core with default flags and with an installed CMSIS-NN: none takes more
// instructions, copies between memory orders included.
func fasterThanLibrary(t *testing.T, core string, layers []sampled, set func(*driver.Config)) {
	t.Helper()
	knob := "CMSIS_NN_LIB_" + strings.ToUpper(core)
	inc, lib := testenv.Get("CMSIS_NN_INCLUDE"), testenv.Get(knob)
	testenv.SkipIf(t, inc == "" || lib == "", "set CMSIS_NN_INCLUDE and %s to compare with a build of CMSIS-NN", knob)
	g := ir.New("layers")
	for i, s := range layers {
		s.add(t, g, i)
	}
	c := driver.Defaults()
	c.Model, c.Board, c.Cases = graphFile(t, g), "cortex-"+core, 1
	c.IOLayout = option.NativeLayout
	if set != nil {
		set(&c)
	}
	ours := layerCounts(t, c)
	c.Kernels, c.CMSISInclude, c.CMSISLib = option.CMSISNN, inc, lib
	theirs := layerCounts(t, c)
	for _, s := range layers {
		a, b := ours[s.name].instructions, theirs[s.name].instructions
		kernels := ours[s.name].kernels + " and " + theirs[s.name].kernels
		if a == 0 || b == 0 {
			t.Errorf("%s: %d instructions, %d with CMSIS-NN: it is not in both programs", s.name, a, b)
		} else if a > b+sameCalls {
			t.Errorf("%s: %d instructions, want at most CMSIS-NN's %d (%.2f; %s)", s.name, a, b, float64(a)/float64(b),
				kernels)
		} else {
			t.Logf("%-70s %8d of %8d  %.2f", s.name, a, b, float64(a)/float64(b))
		}
	}
}

// TestFasterThanLibrary: no layer of the samples takes more instructions than with
// CMSIS-NN. CMSIS_NN_INCLUDE and CMSIS_NN_LIB_M55, _M4, _M3, _M0PLUS name it.
func TestFasterThanLibrary(t *testing.T) {
	for _, core := range compared {
		t.Run(core, func(t *testing.T) { fasterThanLibrary(t, core, samples, nil) })
		t.Run(core+" int16x8", func(t *testing.T) {
			fasterThanLibrary(t, core, wideSamples, func(c *driver.Config) { c.Precision = option.Int16x8 })
		})
		t.Run(core+" int4", func(t *testing.T) {
			fasterThanLibrary(t, core, fourSamples, func(c *driver.Config) { c.Weights = option.Int4Weights })
		})
	}
}

// TestFourBits: layers with weights of 4 bits take at most 1.3 times the instructions of
// those with 8, also where they have few outputs; those with 8 in kernels that do not
// keep several bytes for a weight.
func TestFourBits(t *testing.T) {
	var points, windows []sampled
	for _, n := range []int{1, 2, 3} {
		points = append(points, convLayer(17, n, 1, 9, 9, 1, 1, 1, 1, false), productLayer(8, 64, n))
	}
	for _, n := range []int{1, 3, 5, 9, 16} {
		windows = append(windows, convLayer(32, n, 1, 9, 9, 3, 3, 1, 1, true), convLayer(64, 4+n, 1, 9, 9, 1, 1, 1, 1,
			false), productLayer(1, 128, n))
	}
	for _, core := range []string{"m55", "m4", "m0plus"} {
		layers := points
		if core != "m0plus" {
			layers = append(layers, windows...)
		}
		g := ir.New("layers")
		for i, s := range layers {
			s.add(t, g, i)
		}
		c := driver.Defaults()
		c.Model, c.Board, c.Cases, c.IOLayout = graphFile(t, g), "cortex-"+core, 1, option.NativeLayout
		c.Without = []string{"nncc_dsp_convolve_3x3_s8", "nncc_dsp_dots_s8", "nncc_dsp_fully_connected_dots_s8"}
		bytes := layerCounts(t, c)
		c.Weights, c.Without = option.Int4Weights, nil
		nibbles := layerCounts(t, c)
		for _, s := range layers {
			a, b := nibbles[s.name], bytes[s.name]
			if a.instructions == 0 || 10*a.instructions > 13*b.instructions {
				t.Errorf("%s, %s: %d instructions (%s), %d with weights of 8 bits (%s)", core, s.name, a.instructions,
					a.kernels, b.instructions, b.kernels)
			}
		}
	}
}

// ran is what a layer executed.
type ran struct {
	instructions uint64
	kernels      string
}

// layerCounts is what a program ran, by the node that layers come from.
func layerCounts(t *testing.T, c driver.Config) map[string]ran {
	t.Helper()
	v := mustVerify(t, &c)
	testenv.Require(t, v.Mismatches <= 0, "--kernels %s: %d mismatches: %s", c.Kernels, v.Mismatches, v.Failure)
	out := map[string]ran{}
	for _, l := range v.Layers {
		r := out[l.Name]
		out[l.Name] = ran{r.instructions + l.Instructions, strings.TrimPrefix(r.kernels+"+"+l.Kernel, "+")}
	}
	return out
}

// drawnLayers is how many layers a program of drawn ones has.
const drawnLayers = 24

// TestDrawnFasterThanLibrary: no drawn layer takes more instructions than with
// CMSIS-NN. NNCC_RANDOM=FROM+N draws N programs for each core; of four seeds two are
// int8, one is int16x8 and one has weights of 4 bits.
func TestDrawnFasterThanLibrary(t *testing.T) {
	testenv.SkipIf(t, testenv.Get("NNCC_RANDOM") == "", "NNCC_RANDOM says which programs are drawn")
	from, count := testenv.Range(t, 0)
	for _, core := range compared {
		for seed := from; seed < from+count; seed++ {
			t.Run(fmt.Sprintf("%s/%d", core, seed), func(t *testing.T) {
				set := []func(*driver.Config){nil, nil, func(c *driver.Config) { c.Precision = option.Int16x8 },
					func(c *driver.Config) { c.Weights = option.Int4Weights }}[seed%4]
				fasterThanLibrary(t, core, drawLayers(seed), set)
			})
		}
	}
}

// loopNets are element-wise networks of several inputs (gates, rows, residuals, pieces
// of normalisations) and convolutions with functions and sums behind them.
var loopNets = []string{
	`  in %a : f32[1,512]
  in %b : f32[1,512]
  in %c : f32[1,512]
  const %one : f32[1] = {1}
  %s = Sigmoid(%a)
  %i = Sub(%one, %s)
  %p = Mul(%s, %b)
  %q = Mul(%i, %c)
  %y = Add(%p, %q)`,
	`  in %x : f32[1,16,12,12]
  const %w : f32[16,16,3,3] = rand 1
  const %v : f32[16,16,1,1] = rand 2
  const %u : f32[16,16,3,3] = rand 3
  %a = Conv(%x, %w) {pads=[1,1,1,1]}
  %b = Tanh(%a)
  %c = Conv(%b, %v)
  %d = Sigmoid(%c)
  %e = Mul(%c, %d)
  %f = Conv(%e, %u) {pads=[1,1,1,1]}
  %y = Add(%f, %b)`,
	`  in %x : f32[1,64,32]
  in %z : f32[1,64,32]
  const %g : f32[32] = rand 1
  const %h : f32[32] = rand 2
  %m = Mul(%x, %g)
  %n = Add(%m, %h)
  %t = Tanh(%n)
  %u = Add(%t, %z)
  %y = Max(%u, %x)`,
	`  in %x : f32[1,8,16,16]
  in %z : f32[1,8,16,16]
  %t = Tanh(%x)
  %m = Mul(%t, %z)
  %a = Add(%m, %x)
  %b = Abs(%a)
  %y = Mul(%b, %m)`,
	`  in %x : f32[1,8,24]
  in %z : f32[1,8,24]
  const %ax : i64[1] = {1}
  %d = Sub(%x, %z)
  %q = Mul(%d, %d)
  %v = ReduceMean(%q, %ax)
  %r = Sqrt(%v)
  %y = Div(%d, %r)`,
}

// TestRoomForSpeed: a budget of RAM that the program has without it changes nothing.
func TestRoomForSpeed(t *testing.T) {
	compiled := func(ram string) *driver.Compiled {
		c := driver.Defaults()
		c.Board, c.Precision, c.MaxRAM = "cortex-m4", option.Int8, ram
		return compileNet(t, irtest.Parse(t, "graph \"g\" {\n"+loopNets[1]+"\n  out \"y\" = %y\n}"), &c)
	}
	kernels := func(o *driver.Compiled) []string {
		return lists.Map(o.Report.Layers, func(l report.Layer) string { return l.Kernel })
	}
	free := compiled("")
	testenv.Same(t, kernels(compiled(fmt.Sprint(free.Lowered.Program.RAMBytes()))), kernels(free), "just enough RAM")
}

// TestFusionPays: under QEMU no network takes more instructions with fusion than
// without, whatever lower/cost predicts. NNCC_LONG tries every network and core;
// the default is a sample.
func TestFusionPays(t *testing.T) {
	// The part by which a loop may be behind: the costs of float32 kernels by rows are off by up to half (lower/cost).
	slack := map[option.Precision]uint64{option.Float32: 10, option.Int8: 100, option.Int16x8: 100}
	all := testenv.Long()
	loops := 0
	for k, text := range loopNets {
		for j, board := range []string{"cortex-m4", "cortex-m55", "cortex-m0plus"} {
			for i, precision := range []option.Precision{option.Float32, option.Int8, option.Int16x8} {
				if !all && (k+j+2*i)%6 != 3 {
					continue
				}
				count := func(fuse bool) uint64 {
					c := driver.Defaults()
					c.Board, c.Precision, c.Fuse, c.Name, c.Cases = board, precision, fuse, "net", 1
					o := compileNet(t, irtest.Parse(t, "graph \"g\" {\n"+text+"\n  out \"y\" = %y\n}"), &c)
					for _, n := range o.Lowered.Graph.Nodes {
						if n.Op == op.Fused {
							loops++
						}
					}
					v := mustVerify(t, o)
					if v.Failure != "" || v.Mismatches > 0 {
						t.Errorf("net %d, %s, %s: %s", k, board, precision, v.Text())
					}
					return v.Instructions
				}
				with, without := count(true), count(false)
				what := fmt.Sprintf("net %d (%s), %s, %s: %d instructions with fusion, %d without", k,
					strings.Fields(text)[1], board, precision, with, without)
				if with > without+without/slack[precision] {
					t.Error(what)
				}
				t.Log(what)
			}
		}
	}
	testenv.Check(t, loops != 0, "no loop was tried")
}
