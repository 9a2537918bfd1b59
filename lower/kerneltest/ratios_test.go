// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"path/filepath"
	"strings"
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

// rowsOfVectors are lengths of rows in vectors that have kernels of their own.
var rowsOfVectors = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 18}

// convKind is what a kind's convolutions have in common: data of int16 or int8, a Relu, an operator of each result.
type convKind struct {
	wide, relu bool
	then       string
}

// conv is one of square maps from so many channels and pixels to so many.
func (l convKind) conv(in, out [2]int, weights, attrs string) string {
	data, x, y := "i8", "q(0.05:-3)", "q(0.1:5)"
	switch {
	case l.wide:
		data, x, y = "i16", "q(0.0002:0)", "q(0.001:0)"
	case l.relu:
		x, y = "q(0.05:-128)", "q(0.1:-128)"
	}
	if l.relu {
		attrs += "act_min=0.0"
	}
	text := fmt.Sprintf("in %%x# : %s[1,%d,%d,%d] %s\n", data, in[0], in[1], in[1], x)
	typ := fmt.Sprintf("%s[1,%d,%d,%d]", data, out[0], out[1], out[1])
	layer := fmt.Sprintf("const %%w# : %s\n%%c# : %s %s = Conv(%%x#, %%w#) {%s}\n", weights, typ, y, attrs)
	if l.then == "" {
		return text + strings.ReplaceAll(layer, "%c#", "%y#")
	}
	result := "%y# : " + typ + " q(0.02:-10) = "
	return text + result + "nncc.Fused(%x#) body \"b\" {\n" + text + layer + result + l.then +
		"(%c#)\nout \"y\" = %y#\n}"
}

// weightScales are those of so many channels, one of which, where it is small, shifts further than kernels prove.
func weightScales(channels int, small bool) string {
	last := ""
	if small {
		last, channels = ",3e-9:0", channels-1
	}
	return "q(axis=0" + strings.Repeat(",0.004:0", channels) + last + ")"
}

// vectors is a kind of products by rows of 1 to 18 vectors, the last one whole, of all but three
// elements, or of one.
func (l convKind) vectors(name string) kerneltest.Kind {
	unit, layers, k := 16, 6, kerneltest.Kind{Name: name}
	if l.wide {
		unit, layers = 8, 12
	}
	for _, n := range rowsOfVectors {
		for i := range layers {
			channels, size, data := unit*n-[]int{0, 3, unit - 1}[i/2%3], 3+i%2, "rand 1"
			if i%2 == 0 || l.then != "" {
				data = fmt.Sprintf("narrow %d", 8*channels)
			}
			k.Layers = append(k.Layers, l.conv([2]int{channels, size}, [2]int{8, size},
				fmt.Sprintf("i8[8,%d,1,1] %s = %s", channels, weightScales(8, i/2%3 == 1), data), ""))
		}
	}
	return k
}

// depthwise is a kind of depthwise convolutions of channels and windows that have kernels of their own: squares, or
// lines.
func (l convKind) depthwise(name string, lines bool) kerneltest.Kind {
	k := kerneltest.Kind{Name: name}
	for i, channels := range []int{3, 5, 8, 10, 12, 16, 20, 24} {
		for j, window := range []int{2, 3, 4, 5, 7} {
			for stride := 1; stride <= 2; stride++ {
				w, h := window, window
				if lines && (i/2+j)%2 > 0 {
					h = 1
				} else if lines {
					w = 1
				}
				weights := fmt.Sprintf("i8[%d,1,%d,%d] %s = rand 1", channels, h, w, weightScales(channels, i%2 > 0))
				k.Layers = append(k.Layers, l.conv([2]int{channels, 9}, [2]int{channels, 8/stride + 1}, weights,
					fmt.Sprintf("group=%d, strides=[%d,%d], pads=[%d,%d,%d,%d], ", channels, stride, stride, h/2, w/2,
						h-1-h/2, w-1-w/2)))
			}
		}
	}
	return k
}

// fewInputs is a kind of 1x1 convolutions on int16 of some vectors, and up to two inputs behind them.
func (l convKind) fewInputs(name string, from, to int) kerneltest.Kind {
	k := kerneltest.Kind{Name: name}
	for n := 8 * from; n <= 8*to; n += 8 {
		for more := range 3 {
			k.Layers = append(k.Layers, l.conv([2]int{n + more, 3}, [2]int{16 + more, 3},
				fmt.Sprintf("i8[%d,%d,1,1] q(0.004:0) = rand 1", 16+more, n+more), ""))
		}
	}
	return k
}

// fourBits is a kind of products by rows of vectors of int4.
func (l convKind) fourBits(name string) kerneltest.Kind {
	k := kerneltest.Kind{Name: name}
	for _, n := range rowsOfVectors {
		k.Layers = append(k.Layers, l.conv([2]int{16 * n, 3}, [2]int{32, 3},
			fmt.Sprintf("i4[32,%d,1,1] q(0.06:0) = splat 3", 16*n), ""))
	}
	return k
}

// ratioKinds are those of Cortex-M55.
func ratioKinds(t *testing.T) []kerneltest.Kind {
	plain, relu, wide, wideRelu := convKind{}, convKind{relu: true}, convKind{wide: true}, convKind{true, true, ""}
	return append(kerneltest.ReadKinds(t, ratioLayers),
		plain.vectors("rows of vectors"), relu.vectors("rows of vectors relu"),
		plain.fourBits("rows of vectors of 4 bits"), wide.vectors("rows of vectors int16 signed"),
		wideRelu.vectors("rows of vectors int16"), wide.fewInputs("few inputs int16", 1, 3),
		wideRelu.fewInputs("few inputs int16 relu", 1, 3),
		convKind{then: "Sigmoid"}.vectors("rows of vectors and a table"),
		plain.depthwise("windows", false), relu.depthwise("windows relu", false),
		plain.depthwise("lines", true), relu.depthwise("lines relu", true),
		wide.fewInputs("inputs of four and five vectors int16", 4, 5),
		wideRelu.fewInputs("inputs of four and five vectors int16 relu", 4, 5))
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
