// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
)

// ratioLayers are the kinds of layers on Cortex-M55.
var ratioLayers = filepath.Join("testdata", "ratios_layers.txt")

// chosen guards layers with the kernels that costs choose for a board.
func chosen(t *testing.T, spec *boards.Spec) func(g *ir.Graph) *kerneltest.Guarded {
	return func(g *ir.Graph) *kerneltest.Guarded {
		options := kernel.Options{Core: coreOf(spec), Memo: map[any]any{}}
		table, err := lower.Kernels(spec.Kernels, options)
		testenv.OK(t, err)
		layers := kerneltest.Guard(t, g, table, options, 1)
		layers.Near, layers.Within = true, 256.0/(1<<24) // as verify allows
		return layers
	}
}

// pixels writes a 1x1 convolution of a square map of few channels to eight.
func pixels(b *kerneltest.Writer, channels, size int, c kerneltest.ConvCase) {
	c.Batch, c.CIn, c.COut, c.Group = 1, channels, 8, 1
	c.Size, c.Kernel, c.Stride, c.Dil = []int{size, size}, []int{1, 1}, []int{1, 1}, []int{1, 1}
	c.Pads = make([]int, 4)
	b.Conv(c)
}

// rowsOfVectors are lengths of rows in vectors that have kernels of their own.
var rowsOfVectors = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 18}

// vectors is a kind of products by rows of 1 to 18 vectors, the last one whole, of all but three
// elements, or of one.
func vectors(name string, c kerneltest.ConvCase) kerneltest.Kind {
	unit, times := 16, 1
	if c.Wide {
		unit, times = 8, 2
	}
	return kerneltest.Kind{Name: name, Build: func(b *kerneltest.Writer) {
		for _, n := range rowsOfVectors {
			for i := range 6 * times {
				b.Symmetric = i%2 == 0
				pixels(b, unit*n-[]int{0, 3, unit - 1}[i/2%3], 3+i%2, c)
			}
			b.Symmetric = false
		}
	}}
}

// depthwiseOf is a kind of depthwise convolutions of channels and windows that have kernels of their own.
func depthwiseOf(name string, c kerneltest.ConvCase) kerneltest.Kind {
	return kerneltest.Kind{Name: name, Build: func(b *kerneltest.Writer) {
		for _, channels := range []int{3, 5, 8, 10, 12, 16, 20, 24} {
			for _, kernel := range []int{2, 3, 4, 5, 7} {
				for stride := 1; stride <= 2; stride++ {
					c := c
					c.Batch, c.CIn, c.COut, c.Group, c.Size = 1, channels, channels, channels, []int{9, 9}
					c.Kernel, c.Stride, c.Dil = []int{kernel, kernel}, []int{stride, stride}, []int{1, 1}
					c.Pads = []int{kernel / 2, kernel / 2, kernel / 2, kernel / 2}
					b.Conv(c)
				}
			}
		}
	}}
}

// fewInputs is a kind of 1x1 convolutions on int16 of some vectors, and up to two inputs behind them.
func fewInputs(name string, from, to int, attrs string) kerneltest.Kind {
	return kerneltest.Kind{Name: name, Build: func(b *kerneltest.Writer) {
		for vectors := from; vectors <= to; vectors++ {
			for more := range 3 {
				n := 8*vectors + more
				out := 16 + more
				b.Text(fmt.Sprintf("in %%x# : i16[1,%d,3,3] q(0.0002:0)\nconst %%w# : i8[%d,%d,1,1] q(0.004:0) = "+
					"rand 1\n%%y# : i16[1,%d,3,3] q(0.001:0) = Conv(%%x#, %%w#)%s", n, out, n, out, attrs), "y#")
			}
		}
	}}
}

// ratioKinds are those of Cortex-M55.
func ratioKinds(t *testing.T) []kerneltest.Kind {
	return append(kerneltest.ReadKinds(t, ratioLayers),
		vectors("rows of vectors", kerneltest.ConvCase{Signed: true}),
		vectors("rows of vectors relu", kerneltest.ConvCase{Plain: true}),
		kerneltest.Kind{Name: "rows of vectors of 4 bits", Build: func(b *kerneltest.Writer) {
			for _, n := range rowsOfVectors {
				b.Text(fmt.Sprintf("in %%x# : i8[1,%d,3,3] q(0.05:-3)\nconst %%w# : i4[32,%d,1,1] q(0.06:0) = "+
					"splat 3\n%%y# : i8[1,32,3,3] q(0.3:5) = Conv(%%x#, %%w#)", 16*n, 16*n), "y#")
			}
		}},
		vectors("rows of vectors int16 signed", kerneltest.ConvCase{Wide: true, Signed: true}),
		vectors("rows of vectors int16", kerneltest.ConvCase{Wide: true}),
		fewInputs("few inputs int16", 1, 3, ""),
		fewInputs("few inputs int16 relu", 1, 3, " {act_min=0.0}"),
		vectors("rows of vectors and a table", kerneltest.ConvCase{Then: "Sigmoid"}),
		depthwiseOf("windows", kerneltest.ConvCase{Signed: true}),
		depthwiseOf("windows relu", kerneltest.ConvCase{Plain: true}),
		fewInputs("inputs of four and five vectors int16", 4, 5, ""),
		fewInputs("inputs of four and five vectors int16 relu", 4, 5, " {act_min=0.0}"))
}

// TestRatios holds the instructions of a layer of every kind on Cortex-M55: with assembly, and without it by GCC and
// clang.
func TestRatios(t *testing.T) {
	spec, err := boards.Load("cortex-m55")
	testenv.OK(t, err)
	kerneltest.Ratios(t, spec.Name, filepath.Join("testdata", "ratios_m55.csv"), ratioKinds(t), chosen(t, spec))
}

// TestRatiosReach: the kinds reach every source with assembly.
func TestRatiosReach(t *testing.T) {
	spec, err := boards.Load("cortex-m55")
	testenv.OK(t, err)
	kerneltest.Reached(t, spec.Name, filepath.Join("testdata", "unreached.csv"),
		kerneltest.Sources(t, ratioKinds(t), chosen(t, spec)))
}
