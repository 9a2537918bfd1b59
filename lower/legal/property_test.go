// SPDX-License-Identifier: Apache-2.0

package legal_test

import (
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
