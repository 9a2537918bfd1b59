// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// cubes is a random graph over values of shape [1,4,4,4], so that any order
// can meet any other: nodes with fixed orders, without preferences, and views.
func cubes(r *rand.Rand) (*ir.Graph, map[*ir.Node]kernel.Layout, int) {
	g := ir.New("cubes")
	demand := map[*ir.Node]kernel.Layout{}
	vals := []*ir.Value{g.AddInput("x", ir.T(tensor.F32, 1, 4, 4, 4))}
	free := 0
	pick := func() *ir.Value { return vals[max(0, len(vals)-1-r.IntN(3))] }
	node := func(d *ir.OpDef, attrs ir.Attrs, l kernel.Layout, in ...*ir.Value) {
		n := bug.Must(g.Add(d, "n", attrs, 1, in...))
		demand[n] = l
		vals = append(vals, n.Out[0])
	}
	order := func() []int {
		o := []int{0}
		for _, d := range r.Perm(3) {
			o = append(o, d+1)
		}
		return o
	}
	for range 4 + r.IntN(6) {
		switch k := r.IntN(8); {
		case k < 2:
			o := ir.NHWC(4)
			if r.IntN(4) == 0 {
				o = order()
			}
			node(op.Tanh, nil, kernel.Layout{Kind: kernel.Fixed, In: [][]int{o}, Out: [][]int{o}}, pick())
		case k == 2:
			node(op.Softmax, nil, kernel.Layout{Kind: kernel.Natural}, pick())
		case k == 3 && free < 5:
			free++
			node(op.Relu, nil, kernel.Layout{Kind: kernel.Same}, pick())
		case k < 6 && free < 5:
			free++
			node(op.Add, nil, kernel.Layout{Kind: kernel.Same}, pick(), pick())
		default:
			p := order()
			node(op.Transpose, ir.Attrs{"perm": ir.Ints(p...)}, kernel.Layout{Kind: kernel.ViewTranspose, Perm: p},
				pick())
		}
	}
	for i, v := range vals[1:] {
		if len(v.Uses()) == 0 || i == len(vals)-2 {
			g.AddOutput("y", v)
		}
	}
	return g, demand, free
}

// best tries every combination of orders.
func best(p *plan, k int, orders [][]int) int {
	for ; k < len(p.nodes); k++ {
		if p.nodes[k].l.Kind == kernel.Same {
			least := -1
			for _, o := range orders {
				p.picks[k] = pick{true, o}
				if c := best(p, k+1, orders); least < 0 || c < least {
					least = c
				}
			}
			return least
		}
	}
	return p.eval()
}

// TestImprove compares the search with all combinations on small graphs. It is
// a local search: a rare miss by one copy is let pass.
func TestImprove(t *testing.T) {
	orders := lists.Map(perms(3), func(q []int) []int { return []int{0, q[0] + 1, q[1] + 1, q[2] + 1} })
	const copied = 256 + copyCost
	missed, runs := 0, 0
	for seed := range uint64(150) {
		g, demand, free := cubes(rand.New(rand.NewPCG(seed, 7)))
		irtest.Verify(t, g)
		if free > 4 {
			continue
		}
		p := newPlan(g, demand, Options{})
		p.start()
		first := p.eval()
		p.improve()
		got := p.eval()
		want := best(p, 0, orders)
		runs++
		testenv.Check(t, got <= first, "seed %d: %d made worse, %d", seed, first, got)
		if got != want {
			missed++
			testenv.Check(t, got <= want+copied, "seed %d: cost %d, want %d (first %d)\n%s", seed, got, want, first,
				g)
		}
	}
	t.Logf("%d of %d graphs above the minimum", missed, runs)
	testenv.Check(t, missed*50 <= runs, "%d of %d graphs above the minimum, want at most 2 %%", missed, runs)
}
