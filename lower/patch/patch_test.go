// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"math"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/patch"
)

func macs(g *ir.Graph) (n int64) {
	for _, x := range g.Nodes {
		if x.Op.MACs != nil {
			n += x.Op.MACs(x)
		}
	}
	return n
}

// flat are prices by which a call costs something.
var flat = patch.Prices{Rows: func(_, rows int) float64 { return 100 + 10*float64(rows) },
	Copy: func(n int) float64 { return float64(20 + n) }, Turn: func(_, n int) float64 { return float64(n) },
	Most: math.Inf(1)}

// TestRandom computes random networks a few rows at a time, all stretches in the ways
// that the search would take and some that it would not: the same bits, and never
// more products.
func TestRandom(t *testing.T) {
	plans, inner, several, rings := 0, 0, 0, 0
	for seed := range uint64(250) {
		g := irtest.Gen(seed, tensor.F64)
		in := irtest.Inputs(g, seed)
		want := irtest.Run(t, g, in)
		list := patch.Candidates(g, seed%2 == 0, flat, 1<<30)
		if len(list) > 0 {
			list = append(list, patch.Variants(g, seed%2 == 0, flat, list[len(list)/2])...)
		}
		for _, p := range append(list, patch.All(g, int(seed%3+1))...) {
			h := g.Clone()
			err := patch.Apply(h, p, seed%2 == 0)
			testenv.Require(t, err == nil, "seed %d, %+v: %v\n%s", seed, p.Chains, err, g)
			irtest.Verify(t, h)
			got := irtest.Run(t, h, in)
			for k := range want {
				testenv.Require(t, tensor.Equal(want[k], got[k]), "seed %d, %+v: output %d changed\n%s\n%s", seed,
					p.Chains, k, g, h)
			}
			twice := slices.ContainsFunc(p.Chains, func(c patch.Chain) bool { return c.Rows == 0 })
			a, b := macs(g), macs(h)
			testenv.Check(t, b <= a || twice, "seed %d, %+v: %d products, %d as whole layers", seed, p.Chains, b, a)
			plans++
			if len(p.Chains) > 0 && p.Chains[0].From > 0 {
				inner++
			}
			if len(p.Chains) > 1 {
				several++
			}
			if slices.ContainsFunc(h.Nodes, func(n *ir.Node) bool { return n.Op == op.Crop }) {
				rings++
			}
		}
	}
	if min(plans, inner, rings, 4*several) < 400 {
		t.Errorf("%d plans, %d that begin in the middle, %d of several chains, %d with rings: the test shows little",
			plans,
			inner, several, rings)
	}
}
