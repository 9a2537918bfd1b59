// SPDX-License-Identifier: Apache-2.0

package dsp_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/dsp"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

var (
	table = kernel.NewTable(dsp.Kernels, cmsisnn.Kernels, reference.Kernels)
	core  = kernel.Options{Core: kernel.Core{DSP: true}}
	plain = kernel.Options{}
)

// behind are the rows that only costs choose, or fusion, where another one takes the layer.
var behind = []string{"nncc_dsp_convolve_3x3_s8", "nncc_dsp_convolve_3x3_add_s8", "nncc_dsp_fully_connected_octets_s8",
	"nncc_dsp_add_s8"}

// inFront is the table with the rows behind in front.
var inFront = func() kernel.Table {
	var first []*kernel.Kernel
	for _, k := range dsp.Kernels {
		if slices.Contains(behind, k.Name) {
			first = append(first, k)
		}
	}
	return kernel.NewTable(first, dsp.Kernels, cmsisnn.Kernels, reference.Kernels)
}()

func add(b *kerneltest.Writer) { b.Add(1, 1, 33, b.In(32, 40)) }

func relayout(b *kerneltest.Writer) {
	b.Relayout([]int{b.One(1, 2), b.In(1, 13), b.In(1, 9), b.In(1, 9)}, []int{0, 2, 3, 1})
}

// several builds layers of one kind.
func several(name string, l ...measured) kerneltest.Kind {
	return kerneltest.Kind{Name: name, Build: func(b *kerneltest.Writer) {
		for _, x := range l {
			x.build(b)
		}
	}}
}

// drawn builds so many layers of a generator.
func drawn(name string, n int, build func(b *kerneltest.Writer)) kerneltest.Kind {
	return kerneltest.Kind{Name: name, Build: func(b *kerneltest.Writer) {
		for range n {
			build(b)
		}
	}}
}

// separated is a depthwise convolution: of a square map, or of a line.
func separated(channels int, size, kernel []int, stride, dilation int, relu bool) measured {
	return measured{build: func(b *kerneltest.Writer) {
		c := kerneltest.ConvCase{Batch: 1, CIn: channels, COut: channels, Group: channels, Size: size, Kernel: kernel,
			Plain: relu}
		for _, k := range kernel {
			c.Stride, c.Dil = append(c.Stride, stride), append(c.Dil, dilation)
			c.Pads = append(c.Pads, k/2*dilation)
		}
		c.Pads = append(c.Pads, c.Pads...)
		b.Conv(c)
	}}
}

// with describes a convolution of a square map by more than convolved has: c has what differs.
func with(ci, co, size, kernel int, c kerneltest.ConvCase) measured {
	return measured{build: func(b *kerneltest.Writer) {
		c := c
		c.Batch, c.CIn, c.COut, c.Group, c.Size, c.Kernel = 1, ci, co, max(c.Group, 1), square(size), square(kernel)
		c.Dil = square(1)
		if c.Stride == nil {
			c.Stride = square(1)
		}
		c.Pads = []int{kernel / 2, kernel / 2, kernel / 2, kernel / 2}
		b.Conv(c)
	}}
}

// fine are layers whose results have up to 2^bits smaller steps.
func fine(bits int, l measured) func(b *kerneltest.Writer) {
	return func(b *kerneltest.Writer) {
		b.Fine = bits
		l.build(b)
		b.Fine = 0
	}
}

// fours are layers with weights of 4 bits.
func fours(l ...measured) func(b *kerneltest.Writer) {
	return func(b *kerneltest.Writer) {
		for _, x := range l { // one layer in three has them
			for range 3 {
				b.Int4 = true
				x.build(b)
				b.Int4 = false
			}
		}
	}
}

// normalised writes a normalisation of rows of channels.
func normalised(what string, constants string, rows, channels int) func(b *kerneltest.Writer) {
	return func(b *kerneltest.Writer) {
		text := fmt.Sprintf("in %%x# : i8[1,%d,%d] q(0.05:3)\n", rows, channels)
		args := ""
		for _, c := range constants {
			args += fmt.Sprintf(", %%%c#", c)
			text += fmt.Sprintf("const %%%c# : f32[%d] = rand #\n", c, channels)
		}
		b.Text(fmt.Sprintf("%s%%y# : i8[1,%d,%d] q(0.02:-5) = %s(%%x#%s)", text, rows, channels, what, args), "y#")
	}
}

// convolutionKinds, and those below, are what networks consist of, and all that has assembly.
var convolutionKinds = []kerneltest.Kind{
	several("convolution 3x3", convolved(regular, 16, 32, 1, square(12), square(3), square(1)),
		convolved(regular, 16, 32, 1, square(16), square(3), square(2)),
		convolved(regular, 7, 13, 1, square(9), square(3), square(1))),
	several("convolution first layer", convolved(regular, 1, 64, 1, []int{49, 10}, []int{10, 4}, square(2)),
		convolved(regular, 3, 8, 1, square(32), square(3), square(2))),
	several("convolution signed", with(16, 32, 9, 3, kerneltest.ConvCase{}), with(24, 15, 9, 1, kerneltest.ConvCase{})),
	several("convolution with a table", with(16, 16, 9, 3, kerneltest.ConvCase{Then: "Sigmoid"})),
	several("convolution and addition", with(16, 16, 12, 3, kerneltest.ConvCase{Plus: true})),
	several("convolution grouped", with(16, 16, 9, 3, kerneltest.ConvCase{Group: 4, Plain: true})),
	several("convolution 1x1", convolved(pixelwise, 64, 64, 1, []int{25, 5}, square(1), square(1)),
		convolved(pixelwise, 8, 16, 1, square(24), square(1), square(1)),
		convolved(pixelwise, 17, 23, 1, square(9), square(1), square(1))),
	several("convolution few channels", convolved(tiny, 64, 2, 1, square(9), square(1), square(1)),
		convolved(tiny, 32, 1, 1, square(9), square(1), square(1))),
	{Name: "convolution int4", Build: fours(with(16, 16, 9, 3, kerneltest.ConvCase{}), multiplied(1, 128, 64))},
	several("convolution int16", with(16, 16, 9, 3, kerneltest.ConvCase{Wide: true}),
		with(32, 16, 9, 1, kerneltest.ConvCase{Wide: true})),
	several("convolution of one channel", with(1, 8, 12, 3, kerneltest.ConvCase{Plain: true}),
		with(1, 8, 12, 3, kerneltest.ConvCase{})),
	several("convolution 5x5 of one channel", with(1, 8, 12, 5, kerneltest.ConvCase{Plain: true})),
	several("convolution grouped signed", with(16, 32, 9, 3, kerneltest.ConvCase{Group: 4})),
	{Name: "convolution int4 with a table", Build: fours(with(16, 16, 9, 3, kerneltest.ConvCase{Then: "Sigmoid"}))},
	several("convolution of many inputs with a table", with(160, 8, 4, 3, kerneltest.ConvCase{Then: "Sigmoid"})),
	drawn("convolution of fine results", 12, fine(5, with(16, 16, 7, 1, kerneltest.ConvCase{Plain: true}))),
	several("convolution int16 of one pixel", with(64, 16, 1, 1, kerneltest.ConvCase{Wide: true})),
	{Name: "convolution int16 of small results", Build: func(b *kerneltest.Writer) { // sums that are shifted
		b.Text("in %x# : i16[1,17,5,5] q(0.0001:0)\nconst %w# : i8[17,17,1,1] q(0.0001:0) = rand 1\n"+
			"%y# : i16[1,17,3,3] q(0.01:0) = Conv(%x#, %w#) {strides=[2,2]}", "y#")
	}},
	{Name: "convolution grouped of narrow weights", Build: func(b *kerneltest.Writer) {
		b.Symmetric = true
		with(16, 16, 9, 3, kerneltest.ConvCase{Group: 4}).build(b)
		with(16, 16, 9, 3, kerneltest.ConvCase{Group: 4, Plain: true}).build(b)
		b.Symmetric = false
	}},
	several("convolution of an odd number of pixels", with(32, 16, 3, 3, kerneltest.ConvCase{})),
	drawn("convolution of finer results", 24, fine(3, with(16, 8, 3, 3, kerneltest.ConvCase{Plain: true}))),
	several("convolution of windows by few channels", convolved(tiny, 16, 1, 1, square(12), square(3), square(1)),
		convolved(tiny, 7, 2, 1, square(12), square(3), square(1))),
}

var depthwiseKinds = []kerneltest.Kind{
	several("depthwise 3x3 relu", separated(64, []int{25, 5}, square(3), 1, 1, true),
		separated(16, square(24), square(3), 1, 1, true)),
	several("depthwise 3x3 signed", separated(16, square(15), square(3), 1, 1, false)),
	several("depthwise 3x3 stride 2 relu", separated(16, square(24), square(3), 2, 1, true)),
	several("depthwise 3x3 stride 2 signed", separated(16, square(24), square(3), 2, 1, false)),
	several("depthwise windows relu", separated(24, square(12), square(5), 1, 1, true),
		separated(8, square(14), square(7), 1, 1, true)),
	several("depthwise windows signed", separated(24, square(12), square(5), 1, 1, false)),
	several("depthwise pairs relu", separated(24, square(12), square(5), 2, 1, true),
		separated(16, square(16), square(3), 1, 2, true)),
	several("depthwise pairs signed", separated(24, square(12), square(5), 2, 1, false)),
	several("depthwise lines", separated(32, []int{64}, []int{9}, 1, 1, true), separated(10, []int{40}, []int{3}, 1, 1,
		true)),
	several("depthwise few channels", separated(3, square(12), square(3), 1, 1, true)),
	several("depthwise 1x1", separated(32, square(9), square(1), 1, 1, true)),
	several("depthwise int16", with(16, 16, 9, 3, kerneltest.ConvCase{Group: 16, Wide: true})),
	several("depthwise 2x2 stride 2", separated(16, square(16), square(2), 2, 1, true), separated(16, square(16),
		square(2), 2, 1, false)),
	several("depthwise 2x2", separated(16, square(12), square(2), 1, 1, true),
		separated(16, square(12), square(2), 1, 1, false)),
	several("depthwise 4x4 stride 2", separated(16, square(16), square(4), 2, 1, true), separated(16, square(16),
		square(4), 2, 1, false)),
	several("depthwise 4x4", separated(16, square(12), square(4), 1, 1, true),
		separated(16, square(12), square(4), 1, 1, false)),
	several("depthwise of a column", separated(16, []int{24, 8}, []int{13, 1}, 1, 1, true), separated(16, []int{24, 8},
		[]int{13, 1}, 1, 1, false)),
	several("depthwise of a row", separated(16, []int{8, 24}, []int{1, 13}, 1, 1, true), separated(16, []int{64},
		[]int{29}, 1, 1, false)),
	several("depthwise of two outputs", with(8, 16, 9, 3, kerneltest.ConvCase{Group: 8}), with(8, 16, 9, 5,
		kerneltest.ConvCase{Group: 8})),
	several("depthwise of two outputs relu", with(8, 16, 9, 3, kerneltest.ConvCase{Group: 8, Plain: true}),
		with(8, 16, 9, 5, kerneltest.ConvCase{Group: 8, Plain: true})),
	several("depthwise of eight outputs", with(4, 32, 12, 3, kerneltest.ConvCase{Group: 4, Plain: true})),
	several("depthwise int16 of two outputs", with(8, 16, 9, 3, kerneltest.ConvCase{Group: 8, Wide: true})),
	several("depthwise of two outputs signed", with(8, 16, 9, 5, kerneltest.ConvCase{Group: 8, Signed: true}),
		with(8, 16, 12, 5, kerneltest.ConvCase{Group: 8, Signed: true, Stride: square(2)})),
	several("depthwise windows of few channels", with(3, 3, 12, 5, kerneltest.ConvCase{Group: 3, Plain: true}),
		with(3, 3, 12, 5, kerneltest.ConvCase{Group: 3, Signed: true}),
		with(2, 2, 12, 7, kerneltest.ConvCase{Group: 2, Signed: true})),
}

var productKinds = []kerneltest.Kind{
	drawn("transposed convolution", 12, (*kerneltest.Writer).ConvTranspose),
	drawn("transposed convolution int16", 12, (*kerneltest.Writer).ConvTranspose16),
	several("fully connected", multiplied(1, 640, 128), multiplied(1, 77, 13), multiplied(8, 64, 64)),
	several("fully connected few channels", multiplied(1, 256, 2), multiplied(1, 90, 1)),
	drawn("fully connected int16", 3, func(b *kerneltest.Writer) { b.Gemm16(4, 128, 32) }),
	drawn("batch matmul", 12, (*kerneltest.Writer).BatchMatMul),
	drawn("lstm int8", 3, func(b *kerneltest.Writer) { b.RecurrentOf(false, false, 4, 1, 40, 32) }),
	drawn("lstm int16", 3, func(b *kerneltest.Writer) { b.RecurrentOf(false, true, 4, 1, 40, 32) }),
	drawn("gru int8", 3, func(b *kerneltest.Writer) { b.RecurrentOf(true, false, 4, 1, 40, 32) }),
	drawn("gru int16", 3, func(b *kerneltest.Writer) { b.RecurrentOf(true, true, 4, 1, 40, 32) }),
	drawn("batch matmul int16", 12, (*kerneltest.Writer).BatchMatMul16),
	drawn("fully connected int16 of one row", 3, func(b *kerneltest.Writer) { b.Gemm16(1, 128, 32) }),
	{Name: "fully connected of narrow weights", Build: func(b *kerneltest.Writer) {
		b.Symmetric = true
		b.Gemm(1, 300, 32)
		b.Symmetric = false
	}},
}

var elementKinds = []kerneltest.Kind{
	several("softmax short", exponential(16, 20), exponential(8, 12)),
	several("softmax long", exponential(8, 256)),
	{Name: "layer norm", Build: normalised("LayerNormalization", "gb", 16, 96)},
	{Name: "rms norm", Build: normalised("RMSNormalization", "g", 16, 96)},
	{Name: "instance norm", Build: func(b *kerneltest.Writer) {
		b.Text("in %x# : i8[1,8,16,12] q(0.05:3)\nconst %g# : f32[8] = rand #\nconst %b# : f32[8] = rand 5\n"+
			"%y# : i8[1,8,16,12] q(0.02:-5) = InstanceNormalization(%x#, %g#, %b#)", "y#")
	}},
	several("add", elementwise("Add", (*kerneltest.Writer).Add, 1000)),
	several("mul", elementwise("Mul", (*kerneltest.Writer).Mul, 1000)),
	drawn("broadcast int8", 24, (*kerneltest.Writer).Pair),
	drawn("broadcast int16", 24, (*kerneltest.Writer).WidePair),
	drawn("lines per channel", 6, (*kerneltest.Writer).Line),
	drawn("clamp", 3, func(b *kerneltest.Writer) { b.Limit(4, 301) }),
	several("average pool", pooled("AveragePool", 64, []int{25, 5}, []int{25, 5}, square(1)),
		pooled("AveragePool", 16, square(16), square(2), square(2)),
		pooled("AveragePool", 16, square(12), square(3), square(1))),
	several("max pool", pooled("MaxPool", 16, square(16), square(2), square(2)),
		pooled("MaxPool", 16, square(12), square(3), square(1))),
	drawn("transpose", 6, relayout),
	drawn("resize", 1, func(b *kerneltest.Writer) {
		b.Text("in %x# : i8[1,12,7,7] q(0.05:3)\nconst %s# : f32[4] = {1,1,2,2}\n"+
			"%y# : i8[1,12,14,14] q(0.05:3) = Resize(%x#, -, %s#) {mode=\"linear\"}", "y#")
	}),
	manySteps, fewChannels,
	drawn("small sums", 24, (*kerneltest.Writer).Sum),
	several("max pool of large windows", pooled("MaxPool", 16, square(8), square(8),
		square(1))),
	drawn("lines int16", 6, (*kerneltest.Writer).WideLine),
	drawn("pools and tables int16", 6, func(b *kerneltest.Writer) {
		for _, k := range kerneltest.WideKinds[2:] {
			k.Build(b)
		}
	}),
	twoTables,
	drawn("sums and means", 1, func(b *kerneltest.Writer) {
		for _, f := range []string{"Sum(%x#, %a#)", "Mean(%x#, %a#)"} {
			b.Text("in %x# : i8[1,8,16,12] q(0.05:3)\nconst %a# : i64[1] = {1}\n"+
				"%y# : i8[1,1,16,12] q(0.2:-5) = Reduce"+f, "y#")
		}
	}),
	drawn("average pool that rescales", 1, func(b *kerneltest.Writer) {
		b.Text("in %x# : i8[1,8,12,12] q(0.05:3)\n"+
			"%y# : i8[1,8,6,6] q(0.04:-5) = AveragePool(%x#) {kernel_shape=[2,2], strides=[2,2]}", "y#")
		b.Text("in %x# : i8[1,8,12,12] q(0.05:3)\n"+
			"%y# : i8[1,8,12,12] q(0.04:-5) = AveragePool(%x#) {kernel_shape=[3,3], pads=[1,1,1,1]}", "y#")
	}),
	factors,
	drawn("arguments", 1, func(b *kerneltest.Writer) {
		for _, what := range []string{"ArgMax", "ArgMin"} {
			b.Text("in %x# : i8[1,16,16,21] q(0.05:3)\n%y# : i64[1,16,16] = "+what+"(%x#) {axis=3, keepdims=0}", "y#")
		}
	}),
}

// behindKinds are the rows that only costs choose, or fusion.
var behindKinds = []kerneltest.Kind{
	several("3x3 by tiles", with(16, 16, 12, 3, kerneltest.ConvCase{Plain: true}), with(12, 10, 9, 3,
		kerneltest.ConvCase{})),
	several("3x3 by tiles and addition", with(16, 16, 12, 3, kerneltest.ConvCase{Plus: true})),
	drawn("add by tables", 1, add),
	{Name: "fully connected by octets", Build: func(b *kerneltest.Writer) {
		b.Symmetric = true
		b.Gemm(1, 640, 128)
		b.Gemm(1, 77, 13)
	}},
}

// Kinds that several lists have.
var factors = drawn("factors per channel", 6, func(b *kerneltest.Writer) {
	b.Conv(kerneltest.ConvCase{Batch: 1, CIn: 16, COut: 16, Group: 16, Size: square(9), Kernel: square(1),
		Stride: square(1), Dil: square(1), Pads: []int{0, 0, 0, 0}})
})

var twoTables = drawn("sum by two tables", 1, func(b *kerneltest.Writer) {
	b.Text("in %x# : i8[1,8,16,16] q(0.05:-3)\nin %v# : i8[1,8,1,1] q(0.043659035:29)\n"+
		"%y# : i8[1,8,16,16] q(0.082673245:13) = Add(%x#, %v#)", "y#")
})

var manySteps = drawn("resize of many steps", 1, func(b *kerneltest.Writer) {
	b.Text("in %x# : i8[1,12,7,7] q(0.05:3)\nconst %s# : f32[4] = {1,1,1.7,1.7}\n"+
		"%y# : i8[1,12,11,11] q(0.05:3) = Resize(%x#, -, %s#) {mode=\"linear\"}", "y#")
})

var fewChannels = drawn("resize of few channels", 1, func(b *kerneltest.Writer) {
	b.Text("in %x# : i8[1,3,16,16] q(0.05:3)\nconst %s# : f32[4] = {1,1,1.7,1.7}\n"+
		"%y# : i8[1,3,27,27] q(0.05:3) = Resize(%x#, -, %s#) {mode=\"linear\"}", "y#")
})

// plainKinds are those that have assembly without the DSP extension; what is left behind smallKinds has none on
// Thumb-1.
var plainKinds = slices.Concat(smallKinds, []kerneltest.Kind{
	drawn("broadcast int8", 24, (*kerneltest.Writer).Pair),
	drawn("broadcast int16", 24, (*kerneltest.Writer).WidePair),
	drawn("lines per channel", 6, (*kerneltest.Writer).Line),
	factors, twoTables, manySteps, fewChannels,
	drawn("lines int16", 6, (*kerneltest.Writer).WideLine),
	drawn("convolution of fine results", 6, fine(14, with(8, 8, 5, 3, kerneltest.ConvCase{Plain: true}))),
})

var smallKinds = []kerneltest.Kind{
	several("convolution", with(16, 32, 9, 3, kerneltest.ConvCase{}),
		with(7, 13, 9, 3, kerneltest.ConvCase{Plain: true})),
	several("convolution 1x1", with(32, 32, 9, 1, kerneltest.ConvCase{Plain: true})),
	several("convolution with a table", with(16, 16, 9, 3, kerneltest.ConvCase{Then: "Sigmoid"})),
	several("convolution few channels", with(64, 2, 9, 1, kerneltest.ConvCase{Plain: true}),
		with(32, 1, 9, 1, kerneltest.ConvCase{})),
	{Name: "convolution int4", Build: fours(with(16, 16, 9, 3, kerneltest.ConvCase{}))},
	{Name: "convolution int4 with a table", Build: fours(with(16, 16, 9, 3, kerneltest.ConvCase{Then: "Sigmoid"}))},
	several("fully connected", multiplied(1, 128, 32), multiplied(8, 64, 16)),
	{Name: "fully connected int4", Build: fours(multiplied(1, 128, 32))},
	several("depthwise", separated(16, square(12), square(3), 1, 1, true), separated(7, square(12), square(3), 2, 1,
		false), separated(16, square(12), square(5), 1, 1, false)),
}

// floatKinds are those of Cortex-M55 that are on floats.
func floatKinds(t *testing.T) []kerneltest.Kind {
	return slices.DeleteFunc(kerneltest.ReadKinds(t, filepath.Join("..", "..", "kerneltest", "testdata",
		"ratios_layers.txt")), func(k kerneltest.Kind) bool { return !strings.Contains(k.Name, "float") })
}

// ratioLists are all kinds, by the name of their table of instructions.
func ratioLists(t *testing.T) []ratioList {
	floats := kernel.Options{Core: kernel.Core{DSP: true, FPU: true}}
	return []ratioList{
		{"cortex-m4", "convolution", table, core, convolutionKinds},
		{"cortex-m4", "depthwise", table, core, depthwiseKinds},
		{"cortex-m4", "product", table, core, productKinds}, {"cortex-m4", "element", table, core, elementKinds},
		{"cortex-m4", "behind", inFront, core, behindKinds}, {"cortex-m4", "float", table, floats, floatKinds(t)},
		{"cortex-m3", "m3", table, plain, plainKinds},
		{"cortex-m0plus", "m0plus", table, kernel.Options{Core: kernel.Core{Armv6M: true}}, smallKinds},
	}
}

type ratioList struct {
	board, name string
	table       kernel.Table
	options     kernel.Options
	kinds       []kerneltest.Kind
}

func (l *ratioList) guard(t *testing.T) func(g *ir.Graph) *kerneltest.Guarded {
	return func(g *ir.Graph) *kerneltest.Guarded {
		m := kerneltest.Guard(t, g, l.table, l.options, 7)
		m.Near, m.Within = l.options.Core.FPU, 256.0/(1<<24) // as verify allows
		return m
	}
}

// TestRatios holds the instructions of kinds of layers with assembly, and without it by GCC and clang.
func TestRatios(t *testing.T) {
	for _, l := range ratioLists(t) {
		t.Run(l.name, func(t *testing.T) {
			kerneltest.Ratios(t, l.board, filepath.Join("testdata", "ratios", l.name+".csv"), l.kinds, l.guard(t))
		})
	}
}

// TestRatiosReach: the kinds of a board reach every source that has assembly there.
func TestRatiosReach(t *testing.T) {
	sources := map[string][]string{}
	for _, l := range ratioLists(t) {
		sources[l.board] = append(sources[l.board], kerneltest.Sources(t, l.kinds, l.guard(t))...)
	}
	for board, paths := range sources {
		kerneltest.Reached(t, board, filepath.Join("..", "..", "kerneltest", "testdata", "unreached.csv"), paths)
	}
}
