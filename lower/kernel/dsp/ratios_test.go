// SPDX-License-Identifier: Apache-2.0

package dsp_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/dsp"
	"github.com/nncc/nncc/lower/kernel/loops"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

var (
	table = kernel.NewTable(dsp.Kernels, cmsisnn.Kernels, reference.Kernels, loops.Kernels)
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
	return kernel.NewTable(first, dsp.Kernels, cmsisnn.Kernels, reference.Kernels, loops.Kernels)
}()

// kindsOf are those of a file of layers; without names all, else the named ones.
func kindsOf(t *testing.T, file string, names ...string) []kerneltest.Kind {
	t.Helper()
	return slices.DeleteFunc(kerneltest.ReadKinds(t, filepath.Join("testdata", "ratios", file)),
		func(k kerneltest.Kind) bool { return len(names) > 0 && !slices.Contains(names, k.Name) })
}

// floatKinds are those of Cortex-M55 that are on floats.
func floatKinds(t *testing.T) []kerneltest.Kind {
	return slices.DeleteFunc(kerneltest.ReadKinds(t, filepath.Join("..", "..", "kerneltest", "testdata",
		"ratios_layers.txt")), func(k kerneltest.Kind) bool { return !strings.Contains(k.Name, "float") })
}

// ratioLists are all kinds, by the name of their table of instructions: what networks consist of, and all that has
// assembly.
func ratioLists(t *testing.T) []ratioList {
	lists := []ratioList{{"cortex-m4", "behind", inFront, core, kindsOf(t, "behind.txt")},
		{"cortex-m4", "float", table, kernel.Options{Core: kernel.Core{DSP: true, FPU: true}}, floatKinds(t)},
		// Kinds that have assembly without the DSP extension; those of small.txt have some on Thumb-1, too.
		{"cortex-m3", "m3", table, plain, slices.Concat(kindsOf(t, "small.txt"), kindsOf(t, "element.txt",
			"broadcast int8", "broadcast int16", "lines per channel", "factors per channel", "sum by two tables",
			"resize of many steps", "resize of few channels", "lines int16"),
			kindsOf(t, "product.txt", "lstm int8", "lstm int16", "gru int8", "gru int16"), kindsOf(t, "m3.txt"))},
		{"cortex-m0plus", "m0plus", table, kernel.Options{Core: kernel.Core{Armv6M: true}}, kindsOf(t, "small.txt")}}
	for _, name := range []string{"convolution", "depthwise", "product", "element"} {
		lists = append(lists, ratioList{"cortex-m4", name, table, core, kindsOf(t, name+".txt")})
	}
	return lists
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
