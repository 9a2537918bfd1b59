// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
)

// TestOffloadKeepsResults: whatever set of nodes goes to the accelerator, the
// graph stays valid and computes the same bits.
func TestOffloadKeepsResults(t *testing.T) {
	for seed := uint64(1); seed <= 200; seed++ {
		g := irtest.Gen(seed, tensor.F32)
		in := irtest.Inputs(g, seed)
		want := testenv.Must(interp.Run(g, in, nil))(t)
		k := uint64(0)
		segs := testenv.Must(lower.Offload(g, "mla", func(n *ir.Node) bool { k++; return (k*seed)%4 != 0 }, 0))(t)
		irtest.Verify(t, g)
		for i, s := range segs {
			irtest.Verify(t, s.Body[0])
			testenv.Equal(t, ir.AttrsOf[op.SegmentAttrs](s).Id, i, "seed %d: segment is called", seed)
		}
		got := testenv.Must(interp.Run(g, in, nil))(t)
		for i := range want {
			testenv.Require(t, tensor.Equal(want[i], got[i]), "seed %d: output %d differs", seed, i)
		}
	}
}
