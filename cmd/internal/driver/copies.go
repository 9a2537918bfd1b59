// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"math"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/board"
)

// candidate is a constant of one of the models that can have a copy.
type candidate struct {
	model *Compiled
	at    int // in its program
	boards.Constant
}

// stageWeights gives constants of the models copies in faster memory (--stage-weights),
// where that saves an inference estimated cycles and there is room, and writes the C
// anew. What the stage fetch found room for in the arena is fetched or staged.
func (f *Firmware) stageWeights() (err error) {
	defer fail.Catch(&err)
	c := f.config()
	if !c.StageWeights {
		return nil
	}
	at := f.Fit(nil)
	from := at.At("weights")
	if f.bound() { // as if they were linked: the file is where weights go
		from = f.fitWeights(nil, f.weightBytes()).At("weights")
	}
	if why := f.noCopies(at, from); why != "" {
		f.sayCopies("nothing is staged: %s", why)
		return nil
	}
	off := fail.Must(c.stagesOff())
	candidates := f.candidates(!off[lower.FetchStage])
	limit := uint64(math.MaxInt64)
	if ram, err := parseBytes("max-ram", c.MaxRAM); err != nil {
		return err
	} else if ram >= 0 {
		limit = uint64(max(0, ram-f.arenaBytes()-f.stateBytes()))
	}
	var constants []boards.Constant
	for _, x := range candidates {
		constants = append(constants, x.Constant)
	}
	choice := at.Copies(constants, from, board.Copying(f.board()).PerByte, limit)
	if choice.Saved == 0 {
		f.sayCopies("nothing is staged: no copy that has room saves waiting cycles, of which constants take an "+
			"estimated %.0f an inference in region %s", choice.Waits, from)
		return nil
	}
	for _, o := range f.Models {
		of := func(taken []bool) (at []int) {
			for i, x := range candidates {
				if x.model == o && taken[i] {
					at = append(at, x.at)
				}
			}
			return at
		}
		fail.Check(o.Lowered.Copy(of(choice.Staged), of(choice.Fetched)))
		o.Copies = &report.Copying{From: from, Choice: choice}
	}
	f.memoryVerdict(nil)
	return f.generate()
}

// noCopies says why no constant can have a copy, "" where some can.
func (f *Firmware) noCopies(at boards.Placement, from string) string {
	switch {
	case len(f.board().Memory) == 0:
		return "the board " + f.board().Name + " has no memory regions"
	case from == "":
		return "no constants are linked"
	case !at.Fits():
		return "the program does not fit the memory of " + f.board().Name
	}
	return ""
}

// sayCopies is a note of every model.
func (f *Firmware) sayCopies(format string, args ...any) {
	for _, o := range f.Models {
		o.Config.Diags.Add(diag.List{diag.Notef("copies", "--stage-weights", format, args...)}.From("memory")...)
	}
}

// candidates are the constants that steps read, of all models.
func (f *Firmware) candidates(fetching bool) []candidate {
	var list []candidate
	arena := f.arenaBytes()
	for _, o := range f.Models {
		for _, x := range o.Lowered.Copyable() {
			growth := max(0, (x.ArenaEnd+arenaGrain-1)/arenaGrain*arenaGrain-arena)
			list = append(list, candidate{o, x.Const, boards.Constant{Bytes: uint64(x.Bytes), Reads: x.Reads,
				Steps: x.Steps, Growth: uint64(growth), Kept: x.Kept || !fetching}})
		}
	}
	return list
}

// arenaGrain is what the size of an arena is a multiple of.
const arenaGrain = 16
