// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/schedule"
)

// TestStage gives random constants of random networks copies, staged or fetched: the
// program is verified, its text says it, and replay with poison in all that is fetched
// gives what the interpreter does. A copy that is moved onto something that is needed is
// found.
func TestStage(t *testing.T) {
	fetches, grown, found := 0, 0, 0
	random(t, func(g *ir.Graph, r *schedule.Result, rng *rand.Rand, seed uint64) {
		p, before := r.Program, r.Program.ArenaBytes
		var staged, fetched []int
		for i := range p.Consts {
			switch rng.IntN(3) {
			case 0:
				staged = append(staged, i)
			case 1:
				fetched = append(fetched, i)
			}
		}
		err := schedule.Stage(p, staged, fetched)
		testenv.Require(t, err == nil, "seed %d: %v", seed, err)
		copied(t, g, r, seed)
		if p.ArenaBytes > before {
			grown++
		}
		n, m := movedCopies(t, p, seed)
		fetches, found = fetches+n, found+m
	})
	if t.Logf("%d fetches, %d arenas grown, %d overlaps found", fetches, grown, found); fetches < 40 || grown == 0 {
		t.Errorf("%d fetches, %d arenas grown: nothing was tested", fetches, grown)
	}
}

// TestFetch has steps of random networks fetch constants in a random order, as far as the
// arena has room: it does not grow, though values move, and what is behind Stage holds.
// Some of what is fetched is staged then, and not fetched any more.
func TestFetch(t *testing.T) {
	fetches, moved, staged := 0, 0, 0
	random(t, func(g *ir.Graph, r *schedule.Result, rng *rand.Rand, seed uint64) {
		p, before := r.Program, *r.Program
		before.Buffers = slices.Clone(before.Buffers)
		err := schedule.Fetch(p, rng.Perm(len(p.Consts)))
		testenv.Require(t, err == nil, "seed %d: %v", seed, err)
		copied(t, g, r, seed)
		testenv.Check(t, p.ArenaBytes == before.ArenaBytes, "seed %d: an arena of %d bytes, %d before", seed,
			p.ArenaBytes, before.ArenaBytes)
		if slices.ContainsFunc(before.Buffers, func(b program.Buffer) bool {
			return !slices.ContainsFunc(p.Buffers, func(x program.Buffer) bool {
				return x.Name == b.Name && x.Offset == b.Offset
			})
		}) {
			moved++
		}
		n, _ := movedCopies(t, p, seed)
		fetches += n
		var list []int
		for _, s := range p.Steps {
			for _, f := range s.Fetches {
				if rng.IntN(2) == 0 && !slices.Contains(list, f.Const) {
					list = append(list, f.Const)
				}
			}
		}
		testenv.OK(t, schedule.Stage(p, list, nil), "seed %d", seed)
		copied(t, g, r, seed)
		staged += len(list)
	})
	if t.Logf("%d fetches, %d arenas with values that moved, %d staged", fetches, moved, staged); fetches < 40 ||
		moved == 0 || staged == 0 {
		t.Errorf("%d fetches, %d arenas with values that moved, %d staged: nothing was tested", fetches, moved, staged)
	}
}

// random builds random networks, in float and on integers.
func random(t *testing.T, test func(g *ir.Graph, r *schedule.Result, rng *rand.Rand, seed uint64)) {
	t.Helper()
	for seed := range uint64(40) {
		g := irtest.Gen(seed, tensor.F32)
		o := lower.Options{Precision: []option.Precision{option.Float32, option.Int8}[seed%2]}
		c, err := compile(g, o)
		if err != nil {
			continue
		}
		test(c.Graph, built(t, c.Graph, c.Low), rand.New(rand.NewPCG(seed, 3)), seed)
	}
}

// copied looks at a program with copies.
func copied(t *testing.T, g *ir.Graph, r *schedule.Result, seed uint64) {
	t.Helper()
	p := r.Program
	testenv.Equal(t, bound(p), p.LowerBound, "seed %d: the buffers add up to live bytes, the lower bound is", seed)
	if err := replayed(g, r, seed); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
}

// movedCopies moves what is fetched onto all else that is needed then, and counts the
// copies, and the overlaps that are found.
func movedCopies(t *testing.T, p *program.Program, seed uint64) (fetches, found int) {
	t.Helper()
	for k, s := range p.Steps {
		for _, f := range s.Fetches {
			fetches++
			b := &p.Buffers[f.Buffer]
			was := b.Offset
			for i := range p.Buffers {
				x := &p.Buffers[i]
				if i == f.Buffer || x.AliasOf >= 0 || x.Kept || x.Bytes == 0 || x.First > k || k > x.Last {
					continue
				}
				b.Offset = x.Offset
				p.ArenaBytes += b.Bytes
				testenv.Check(t, p.Verify() != nil, "seed %d, step %d: nobody objects to a copy on %s", seed, k,
					x.Name)
				p.ArenaBytes -= b.Bytes
				found++
			}
			b.Offset = was
		}
	}
	return fetches, found
}
