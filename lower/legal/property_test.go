// SPDX-License-Identifier: Apache-2.0

package legal_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/legal"
)

// TestRandomNetworks runs the pipeline on random networks, with the
// interpreter before and after every pass.
func TestRandomNetworks(t *testing.T) {
	n := uint64(600)
	if testing.Short() {
		n = 50
	}
	for seed := range n {
		g := irtest.Gen(seed, tensor.F64)
		irtest.Verify(t, g)
		irtest.Passes(t, g, legal.Passes, 1, 2)
		k := irtest.Count(g, "BatchNormalization")
		testenv.Check(t, k <= 0, "seed %d: %d BatchNormalization left in\n%s", seed, k, g)
	}
}

// TestEinsum draws equations of one to four factors, some with letters of size 1 and broadcast dimensions.
func TestEinsum(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var terms []string
		text, result := "graph \"g\" {\n", "..."
		for i := range 1 + r.IntN(4) {
			term, shape := "", []string{}
			for _, k := range r.Perm(5)[:r.IntN(4)] {
				size := []int{3, 1, 2, 4, 2}[k]
				if r.IntN(8) == 0 {
					size = 1
				}
				term += "abcde"[k : k+1]
				shape = append(shape, fmt.Sprint(size))
				if letter := "abcde"[k : k+1]; r.IntN(2) == 0 && !strings.Contains(result, letter) {
					result += letter
				}
			}
			if r.IntN(4) == 0 {
				term, shape = term+"...", append(shape, "2", "1")
			}
			terms = append(terms, term)
			text += fmt.Sprintf("in %%x%d : f64[%s]\n", i, strings.Join(shape, ","))
		}
		text += fmt.Sprintf("%%y = Einsum(%s) {equation=%q}\nout \"y\" = %%y\n}",
			strings.Join(strings.Fields("%x0 %x1 %x2 %x3")[:len(terms)], ", "), strings.Join(terms, ",")+"->"+result)
		g := irtest.Parse(t, text)
		only(t, g, "einsum")
		testenv.Check(t, irtest.Count(g, "Einsum") == 0, "seed %d: %s stays", seed, terms)
	}
}

// FuzzPipeline runs the pipeline, and each pass alone, on the random network
// of a seed.
func FuzzPipeline(f *testing.F) {
	f.Add(uint64(1), uint8(255))
	f.Add(uint64(2), uint8(0))
	f.Fuzz(func(t *testing.T, seed uint64, which uint8) {
		passes := legal.Passes
		if int(which) < len(passes) {
			passes = passes[which : which+1]
		}
		irtest.Passes(t, irtest.Gen(seed, tensor.F64), passes, seed)
	})
}

func TestGolden(t *testing.T) { irtest.Golden(t, "../testdata/legal/*.txtar", legal.Passes) }
