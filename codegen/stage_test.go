// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/schedule"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// copyConstants gives the constants of a program copies, staged and fetched in turn.
func copyConstants(t testing.TB, p *program.Program) {
	t.Helper()
	var used, staged, fetched []int
	for _, s := range p.Steps {
		used = append(used, s.Constants()...)
	}
	for i := range p.Consts {
		switch {
		case p.Consts[i].Ext != "" || !slices.Contains(used, i):
		case i%2 == 0 || len(p.Parts) > 0: // nothing is fetched into an arena in parts
			staged = append(staged, i)
		default:
			fetched = append(fetched, i)
		}
	}
	testenv.OK(t, schedule.Stage(p, staged, fetched))
}

// copied are models whose constants have copies.
func copied(ms []*model) []*model {
	for _, m := range ms {
		m.copies = true
	}
	return ms
}

// TestCopies: every form of C with constants that are read from copies, linked and
// bound, without warnings, and with the results of the interpreter; nothing runs before
// the copies are there.
func TestCopies(t *testing.T) {
	some := copied(models())
	for i := range some {
		bound(some[i/2*2 : i/2*2+1])
	}
	t.Run("run", func(t *testing.T) { runAll(t, 1e-6, some) })
	some = copied(models())
	t.Run("warnings", func(t *testing.T) { warningFree(t, slices.Concat(some[:2], bound(some[2:4]))) })
	staged, fetched := 0, 0
	for _, m := range copied(models()) {
		m.generate(t)
		staged += len(m.prog.Staged())
		for _, s := range m.prog.Steps {
			fetched += len(s.Fetches)
		}
	}
	testenv.Check(t, staged >= 5 && fetched >= 5, "%d constants are staged, %d fetched: nothing was tested", staged,
		fetched)
}
