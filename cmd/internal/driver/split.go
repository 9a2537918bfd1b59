// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/lower"
)

// arenaItems are the arena, or its parts where it is in parts; moved are the bytes of it
// that an inference reads and writes.
func (f *Firmware) arenaItems(moved float64) []boards.Item {
	p := f.Models[0].Lowered.Program
	if len(p.Parts) == 0 {
		return []boards.Item{{What: "arena", Bytes: uint64(f.arenaBytes()), Traffic: moved}}
	}
	var out []boards.Item
	for i, n := range p.PartTraffic() {
		out = append(out, boards.Item{What: "arena", Bytes: uint64(p.Parts[i].Bytes), Traffic: float64(n),
			Region: p.Parts[i].Name})
	}
	return out
}

// others are items without the arena.
func others(items []boards.Item) []boards.Item {
	return slices.DeleteFunc(slices.Clone(items), func(i boards.Item) bool { return i.What == "arena" })
}

// split divides the arena over the board's memories where none holds all of it, and
// writes C again. Where that cannot be a warning says why, beside those of the bytes that
// are missing.
func (f *Firmware) split() error {
	memory := f.board().Memory
	if len(memory.Holding("arena")) < 2 {
		return nil
	}
	items := f.items(nil, f.linkedBytes())
	whole, rest := memory.Place(items...), memory.Place(others(items)...)
	if whole.Missing() <= rest.Missing() {
		return nil
	}
	o := f.Models[0]
	if why := f.notSplit(); why != "" {
		f.whole = why
		return nil
	}
	ram, err := parseBytes("max-ram", f.config().MaxRAM)
	if err != nil {
		return err
	}
	if ram >= 0 {
		ram = max(ram-f.stateBytes(), 1)
	}
	best, bound, err := o.Lowered.Split(rooms(memory, others(items)), max(ram, 0))
	if no := new(lower.NoRoomError); errors.As(err, &no) {
		f.whole = no.Why
		return nil
	}
	if err != nil {
		return err
	}
	f.waitBound = bound
	one := f.arenaBytes()
	o.Lowered.Schedule, o.Lowered.Program = best, best.Program
	o.Config.Diags.Add(diag.List{diag.Notef("split-arena", "", "no memory region of %s holds the arena of %d bytes: "+
		"it is in %d parts, %d bytes together, and %s_run_in takes a pointer to each", o.Board.Name, one,
		len(best.Program.Parts), best.Program.ArenaBytes, f.prefixes[0])}.From("memory")...)
	return f.generate()
}

// rooms are what the ways to place items leave of the memories for the arena.
func rooms(memory boards.Regions, items []boards.Item) (out []lower.Room) {
	held := memory.Holding("arena")
	for _, w := range memory.Rooms("arena", items...) {
		room := lower.Room{Cycles: w.Cycles}
		for k, r := range held {
			room.Pools = append(room.Pools, lower.Pool{Name: r.Name, Bytes: int(w.Free[k]),
				Cost: r.Wait.PerByteCycles()})
		}
		out = append(out, room)
	}
	return out
}

// notSplit is why the arena has to be in one piece, if there is a reason.
func (f *Firmware) notSplit() string {
	switch {
	case f.Several():
		return "several models share it in one piece; compile those that are too large one by one"
	case len(f.board().Accelerators) > 0:
		return fmt.Sprintf("programs for the accelerator %s address one arena", f.board().Accelerators[0].Name)
	}
	return ""
}

// saysWhole warns that the arena is not divided.
func (f *Firmware) saysWhole(o *Compiled) {
	o.Config.warn("memory", doesNotFit, "arena", "no memory region of %s has room for the arena of %d bytes, and it "+
		"is not split: %s", o.Board.Name, f.arenaBytes(), f.whole)
}

// place puts items into the board's memories. What no placement is below is known for an
// arena in parts from the search for them.
func (f *Firmware) place(built *run.Sizes, weights uint64) boards.Placement {
	p := f.board().Memory.Place(f.items(built, weights)...)
	if f.waitBound > 0 {
		p.CyclesBound = min(p.Cycles, f.waitBound)
	}
	return p
}
