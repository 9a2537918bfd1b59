// SPDX-License-Identifier: Apache-2.0

package mla_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/mla"
	"github.com/nncc/nncc/lower/legal"
)

// TestBfloat16: whatever nodes become bfloat16, the graph stays valid, only they
// and conversions see bfloat16, and the results stay close.
func TestBfloat16(t *testing.T) {
	lim := mla.Defaults()
	lim.BF16 = 1
	changed := 0
	for seed := range uint64(80) {
		g := irtest.Gen(seed, tensor.F32)
		testenv.OK(t, (&pass.Manager{Passes: legal.Passes}).Run(&pass.Ctx{}, g))
		r := rand.New(rand.NewPCG(seed, 5))
		chosen := map[int]bool{}
		for _, n := range g.Nodes {
			if mla.TakesBF16(n, lim) {
				chosen[n.ID] = r.IntN(4) > 0
			}
		}
		h := g.Clone()
		testenv.OK(t, mla.Bfloat16(h, func(n *ir.Node) bool { return chosen[n.ID] }))
		irtest.Verify(t, h)
		for _, n := range h.Nodes {
			if half := n.Out[0].Type.DType == tensor.BF16; n.Op != op.Cast && half != chosen[n.ID] {
				t.Errorf("seed %d: %s is bfloat16: %v, was chosen: %v", seed, n, half, chosen[n.ID])
			} else if half {
				changed++
			}
		}
		in := irtest.Inputs(g, seed)
		want, got := irtest.Run(t, g, in), irtest.Run(t, h, in)
		for i := range want {
			if d := irtest.Diff(got[i], want[i]); d > 0.06 {
				t.Errorf("seed %d: output %d differs by %g of its largest element\n%s", seed, i, d, h)
			}
		}
	}
	testenv.Check(t, changed >= 150, "only %d nodes became bfloat16", changed)
}

// TestBfloat16Networks: networks in bfloat16 from end to end, on the simulator.
func TestBfloat16Networks(t *testing.T) {
	lim := mla.Defaults()
	lim.BF16 = 1
	var cases []*kase
	for seed := range uint64(120) {
		g := irtest.Gen(seed, tensor.F32)
		testenv.OK(t, (&pass.Manager{Passes: legal.Passes}).Run(&pass.Ctx{}, g))
		testenv.OK(t, mla.Bfloat16(g, func(n *ir.Node) bool { return mla.TakesBF16(n, lim) }))
		whole := len(g.Nodes) > 0
		for _, n := range g.Nodes {
			whole = whole && len(mla.CheckQuantised(n, lim)) == 0
		}
		if whole {
			cases = append(cases, compiled(t, fmt.Sprint("network ", seed), g, seed))
		}
	}
	testenv.Check(t, len(cases) >= 12, "only %d networks are bfloat16 from end to end", len(cases))
	compare(t, cases)
}

// TestBfloat16Off: a board without bfloat16 takes none, and refuses it by name.
func TestBfloat16Off(t *testing.T) {
	g := parse(t, "in %x : bf16[1,4,6,6]\n%o : bf16[1,4,6,6] = Relu(%x)\nout \"o\" = %o")
	n := g.Nodes[0]
	testenv.Check(t, !mla.TakesBF16(n, mla.Defaults()), "bfloat16 is taken")
	r := mla.CheckQuantised(n, mla.Defaults())
	testenv.Check(t, len(r) != 0 && r[0].Code == "MLA-DTYPE", "reasons %v", r)
	lim := mla.Defaults()
	lim.BF16 = 1
	if r := mla.CheckQuantised(n, lim); len(r) != 0 {
		t.Errorf("reasons %v", r)
	}
}
