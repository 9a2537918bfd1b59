// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
)

// TestRatios holds the instructions of a layer of every kind on Cortex-M55, with the kernels that costs choose: with
// assembly, and without it by GCC and clang.
func TestRatios(t *testing.T) {
	spec, err := boards.Load("cortex-m55")
	if err != nil {
		t.Fatal(err)
	}
	kerneltest.Ratios(t, spec.Name, filepath.Join("testdata", "ratios_m55.csv"), ratioLayers(t),
		func(g *ir.Graph) *kerneltest.Guarded {
			options := kernel.Options{Core: coreOf(spec), Memo: map[any]any{}}
			table, err := lower.Kernels(spec.Kernels, options)
			if err != nil {
				t.Fatal(err)
			}
			layers := kerneltest.Guard(t, g, table, options, 1)
			layers.Near, layers.Within = true, 256.0/(1<<24) // as verify allows
			return layers
		})
}

// ratioLayers reads the kinds of layers.
func ratioLayers(t *testing.T) []kerneltest.Kind {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "ratios_layers.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []kerneltest.Kind
	for _, part := range strings.Split(string(b), "\n# ")[1:] {
		name, layer, _ := strings.Cut(part, "\n")
		kinds = append(kinds, kerneltest.Kind{Name: name, Build: func(w *kerneltest.Writer) { w.Text(layer, "y#") }})
	}
	return kinds
}
