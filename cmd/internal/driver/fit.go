// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/board"
)

// Fit places the firmware into the board's memories: what it takes of them, and
// what is missing. Without sizes of a build, code and constants beside the
// weights are estimated. A board without memories (a host) has room for all.
func (f *Firmware) Fit(built *run.Sizes) boards.Placement {
	return f.fitWeights(built, f.linkedBytes())
}

func (f *Firmware) linkedBytes() uint64 {
	if !f.bound() {
		return f.weightBytes()
	}
	return uint64(f.sum((*Compiled).imageBytes))
}

func (f *Firmware) weightBytes() uint64 {
	return uint64(f.sum(func(o *Compiled) int { return o.imageBytes() + o.Info.WeightBytes }))
}

// fitWeights is fit with so many bytes of constants.
func (f *Firmware) fitWeights(built *run.Sizes, weights uint64) boards.Placement {
	if len(f.board().Memory) == 0 {
		return boards.Placement{}
	}
	return f.place(built, weights)
}

// items are what the firmware puts into the board's memories, with so many bytes of constants.
func (f *Firmware) items(built *run.Sizes, weights uint64) []boards.Item {
	spec := f.board()
	code := board.EstimateCode(spec, f.Models[0].Optimize, f.sources())
	var rodata, data boards.Item
	var moved, read, hot float64
	for _, o := range f.Models {
		hot += float64(o.Lowered.StagedTraffic())
		for i, n := range o.Info.StepBlobs {
			read += float64(n)
			moved += float64(report.MovedBytes(o.Lowered.Program, i))
		}
	}
	if built != nil {
		libc := built.By[run.Libc]
		code = boards.Item{Bytes: built.Code() + libc.Text, Library: libc.Text}
		rodata = boards.Item{Bytes: built.ROData() + libc.ROData + libc.Data, Library: libc.ROData + libc.Data}
		data.Bytes = built.Data() + libc.Data + libc.BSS
		if !f.bound() { // else the harness alone has a copy
			weights = built.Weights()
		}
	}
	code.What, rodata.What, data.What = "code", "rodata", "data"
	items := []boards.Item{code, {What: "stack", Bytes: uint64(spec.Stack)}, data, rodata}
	items = append(items, f.arenaItems(moved)...)
	items = append(items, boards.Item{What: "state", Bytes: uint64(f.stateBytes())},
		boards.Item{What: "staged", Bytes: uint64(f.stagedBytes()), Traffic: hot},
		boards.Item{What: "weights", Bytes: weights, Traffic: read})
	return slices.DeleteFunc(items, func(i boards.Item) bool { return i.Bytes == 0 })
}

// bound reports that the constants are bound at run time.
func (f *Firmware) bound() bool { return f.Models[0].Info.WeightsFile != "" }

// imageBytes are files that are linked as they are: accelerator programs.
func (o *Compiled) imageBytes() int {
	return lists.Sum(o.Info.Images, func(path string) int { return o.FileBytes(path) })
}

func (f *Firmware) arenaBytes() int {
	n := 0
	for _, o := range f.Models {
		n = max(n, o.Lowered.Program.ArenaBytes)
	}
	return n
}

// sum adds up what each model takes of its own.
func (f *Firmware) sum(of func(o *Compiled) int) int { return lists.Sum(f.Models, of) }

func (f *Firmware) stateBytes() int {
	return f.sum(func(o *Compiled) int { return o.Lowered.Program.StateBytes })
}

func (f *Firmware) stagedBytes() int {
	return f.sum(func(o *Compiled) int { return o.Lowered.Program.StagedBytes })
}

// sources are the files that the code is compiled from: the models and their kernels.
func (f *Firmware) sources() map[string][]byte {
	m := map[string][]byte{}
	for _, x := range f.Files {
		if strings.HasPrefix(x.Path, "nncc/") || slices.ContainsFunc(f.prefixes, func(p string) bool {
			return x.Path == p+".c"
		}) {
			m[x.Path] = x.Data
		}
	}
	return m
}

// doesNotFit is the code of warnings about the board's memories.
const doesNotFit = "memory"

// said brings report and verdict (which may be nil) up to date with what there is
// to say.
func (o *Compiled) said(v *report.Verdict) {
	d := o.Config.Diags
	if v != nil {
		v.Warnings = d.Texts(diag.Warning)
	}
	r := o.Report
	r.Diagnostics, r.Warnings, r.Notes = append(diag.List{}, d...), d.Texts(diag.Warning), d.Texts(diag.Note)
}

// memoryVerdict says region by region what does not fit, in place of what was
// said before: with built, from measured sizes.
func (f *Firmware) memoryVerdict(built *run.Sizes) {
	at := f.Fit(built)
	for _, o := range f.Models {
		o.Placement = at
		o.Config.Diags = slices.DeleteFunc(o.Config.Diags, func(d *diag.Diag) bool { return d.Code == doesNotFit })
		if f.whole != "" && !at.Fits() {
			f.saysWhole(o)
		}
		for _, r := range at.Regions {
			if r.Missing() > 0 {
				o.Config.warn("memory", doesNotFit, r.Name, "the program does not fit the memory of %s: %s",
					o.Board.Name, r)
			}
		}
		for _, i := range at.Homeless {
			o.Config.warn("memory", doesNotFit, i.What, "%s has no memory region that holds %s: %d bytes are missing",
				o.Board.Name, i.What, i.Bytes)
		}
		if o.Report != nil {
			o.Report.Memory.Place(at)
		}
	}
	if f.Report != nil {
		f.said()
		f.Report.Memory.Place(at)
	}
}

// sections puts the constants into the section of the region where they are placed.
func (f *Firmware) sections() (err error) {
	defer fail.Catch(&err)
	infos := lists.Map(f.Models, func(o *Compiled) *codegen.Info { return o.Info })
	files := fail.Must(codegen.SectionFiles(infos, Version, f.Models[0].Placement.At("weights")))
	for _, x := range files {
		if i := slices.IndexFunc(f.Files, func(y codegen.File) bool { return y.Path == x.Path }); i >= 0 {
			f.Files[i] = x
		} else {
			f.Files = append(f.Files, x)
		}
	}
	f.Files = fail.Must(codegen.Repacked(f.Files))
	for _, o := range f.Models {
		o.Files = f.Files
	}
	return nil
}

// stackVerdict compares the stack that the program can use with what the board
// declares.
func (o *Compiled) stackVerdict(v *report.Verdict) error {
	most, declared := max(v.AtMost(), v.StackBytes), uint64(o.Board.Stack)
	if len(o.Board.Memory) == 0 || uint64(most) <= declared {
		return nil
	}
	o.Config.warn("memory", "stack", "", "the stack of %s has %d bytes, the program can use %d: %d bytes are "+
		"missing (stack: in the board's file)", o.Board.Name, declared, most, uint64(most)-declared)
	o.said(v)
	return o.Config.strictly()
}

func (c *Config) strictly() error { return c.strict(c.Diags.Texts(diag.Warning)) }

// strict is the error of --strict for warnings, a line each.
func (c *Config) strict(warnings []string) error {
	if !c.Strict {
		return nil
	}
	all := lists.Each(warnings, func(w string) error { return text.Errorf("--strict: %s", w) })
	return asInput(errors.Join(all...))
}

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
	ram := f.config().maxRAM()
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

// candidate is a constant of one of the models that can have a copy.
type candidate struct {
	model *Compiled
	at    int // in its program
	boards.Constant
}

// stageWeights gives constants of the models copies in faster memory (--stage-weights),
// where that saves an inference estimated cycles and there is room, and writes the C
// anew. What the stage fetch found room for in the arena is fetched or staged.
func (f *Firmware) stageWeights() {
	c := f.config()
	if !c.StageWeights {
		return
	}
	at := f.Fit(nil)
	from := at.At("weights")
	if f.bound() { // as if they were linked: the file is where weights go
		from = f.fitWeights(nil, f.weightBytes()).At("weights")
	}
	if why := f.noCopies(at, from); why != "" {
		f.sayCopies("nothing is staged: %s", why)
		return
	}
	off := fail.Must(c.stagesOff())
	candidates := f.candidates(!off[lower.FetchStage])
	limit := uint64(math.MaxInt64)
	if ram := c.maxRAM(); ram >= 0 {
		limit = uint64(max(0, ram-f.arenaBytes()-f.stateBytes()))
	}
	constants := lists.Map(candidates, func(x candidate) boards.Constant { return x.Constant })
	choice := at.Copies(constants, from, board.Copying(f.board()).PerByte, limit)
	if choice.Saved == 0 {
		f.sayCopies("nothing is staged: no copy that has room saves waiting cycles, of which constants take an "+
			"estimated %.0f an inference in region %s", choice.Waits, from)
		return
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
	fail.Check(f.generate())
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
