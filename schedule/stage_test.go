// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/irtest"
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
	for seed := range uint64(40) {
		g := irtest.Gen(seed, tensor.F32)
		o := lower.Options{Precision: []option.Precision{option.Float32, option.Int8}[seed%2]}
		c, err := compile(g, o)
		if err != nil {
			continue
		}
		r := built(t, c.Graph, c.Low)
		p, before := r.Program, r.Program.ArenaBytes
		rng := rand.New(rand.NewPCG(seed, 3))
		var staged, fetched []int
		for i := range p.Consts {
			switch rng.IntN(3) {
			case 0:
				staged = append(staged, i)
			case 1:
				fetched = append(fetched, i)
			}
		}
		if err := schedule.Stage(p, staged, fetched); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if b := bound(p); b != p.LowerBound {
			t.Errorf("seed %d: the buffers add up to %d live bytes, the lower bound is %d", seed, b, p.LowerBound)
		}
		back, err := program.Parse(p.String())
		if err != nil || back.String() != p.String() {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := replayed(c.Graph, r, seed); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if p.ArenaBytes > before {
			grown++
		}
		n, m := movedCopies(t, p, seed)
		fetches, found = fetches+n, found+m
	}
	if t.Logf("%d fetches, %d arenas grown, %d overlaps found", fetches, grown, found); fetches < 40 || grown == 0 {
		t.Errorf("%d fetches, %d arenas grown: nothing was tested", fetches, grown)
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
				if p.Verify() == nil {
					t.Errorf("seed %d, step %d: nobody objects to a copy on %s", seed, k, x.Name)
				}
				p.ArenaBytes -= b.Bytes
				found++
			}
			b.Offset = was
		}
	}
	return fetches, found
}
