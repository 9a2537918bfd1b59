// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/schedule"
)

// drawOverlaps gives kernels drawn distances: how far results have to begin before inputs, over which they may lie
// then.
func drawOverlaps(r *rand.Rand, g *ir.Graph, low map[*ir.Node]*call.Lowered) {
	for _, n := range g.Nodes {
		for i, v := range n.In {
			stated := slices.ContainsFunc(low[n].Overlap, func(o call.Overlap) bool { return o.I == i })
			if v != nil && v.Const == nil && !stated && r.IntN(4) > 0 {
				low[n].Overlap = append(low[n].Overlap, call.Overlap{I: i, Ahead: r.IntN(n.Out[0].Type.Bytes() + 1)})
			}
		}
	}
}

// TestOverlaps: with distances the arenas of random graphs are smaller, in one piece and in several, and replay gives
// the same bits. A distance one byte larger, one that is not there and an operand that is read later are found out.
func TestOverlaps(t *testing.T) {
	n := uint64(150)
	if testing.Short() {
		n = 40
	}
	smaller, larger, shared, divides := 0, 0, 0, 0
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 11))
		src := tangle(r).String()
		g, low := lowered(t, src[strings.Index(src, "{")+1:strings.LastIndex(src, "}")])
		apart := testenv.Must(schedule.Build(g, low))(t)
		drawOverlaps(r, g, low)
		x := built(t, g, low)
		p := x.Program
		switch was := apart.Program.ArenaBytes; {
		case p.ArenaBytes > was:
			larger++ // which views are taken is decided one by one
		case p.ArenaBytes < was:
			smaller++
		}
		if y := divided(t, g, low, randomPools(r, p.ArenaBytes)); y != nil {
			divides++
		}
		for k, s := range p.Steps {
			for i := range s.Overlap {
				if o := s.Overlap[i]; !o.Exact && slices.Contains(p.Sharing(s.Out[0]), s.In[o.I].Buffer) {
					shared++
					damage(t, p, k, i)
				}
			}
		}
		testenv.Require(t, !t.Failed(), "seed %d\n%s", seed, p)
	}
	t.Logf("%d arenas of %d are smaller, %d larger, %d operands lie under results, %d arenas in parts", smaller, n,
		larger,
		shared, divides)
	testenv.Check(t, smaller >= int(n)/20 && larger <= 2 && shared >= int(n)/4 && divides >= int(n)/2,
		"the arenas of more random graphs should be smaller")
}

// damage changes what step k says of overlap i, over which its result lies, and what later steps read.
func damage(t *testing.T, p *program.Program, k, i int) {
	t.Helper()
	s := p.Steps[k]
	was, in := s.Overlap, s.In[s.Overlap[i].I].Buffer
	found := func(what string) {
		t.Helper()
		testenv.Check(t, p.Verify() != nil, "step %d, %s: Verify does not see %s", k, s, what)
	}
	s.Overlap = slices.Clone(was)
	s.Overlap[i].Ahead = p.Address(in) - p.Address(s.Out[0]) + 1
	found("a distance one byte too small")
	s.Overlap = slices.Delete(slices.Clone(was), i, i+1)
	found("an operand without leave")
	s.Overlap = was
	for _, later := range p.Steps[k+1:] {
		later.In = append(later.In, program.Operand{Buffer: in})
		found("an operand that is read later")
		later.In = later.In[:len(later.In)-1]
	}
}
