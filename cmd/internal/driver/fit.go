// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower/board"
)

// Fit places the firmware into the board's memories: what it takes of them, and
// what is missing. Without sizes of a build, code and constants beside the
// weights are estimated. A board without memories (a host) has room for all.
func (f *Firmware) Fit(built *run.Sizes) boards.Placement {
	return f.fitWeights(built, f.linkedBytes())
}

// linkedBytes are the constants that are linked.
func (f *Firmware) linkedBytes() uint64 {
	if !f.bound() {
		return f.weightBytes()
	}
	n := 0
	for _, o := range f.Models {
		n += o.imageBytes()
	}
	return uint64(n)
}

// weightBytes are the constants of all models.
func (f *Firmware) weightBytes() uint64 {
	n := 0
	for _, o := range f.Models {
		n += o.imageBytes() + o.Info.WeightBytes
	}
	return uint64(n)
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
	n := 0
	for _, path := range o.Info.Images {
		n += o.FileBytes(path)
	}
	return n
}

// arenaBytes are those of the arena that the models share: of the largest.
func (f *Firmware) arenaBytes() int {
	n := 0
	for _, o := range f.Models {
		n = max(n, o.Lowered.Program.ArenaBytes)
	}
	return n
}

// stateBytes are those of all models: each keeps its own.
func (f *Firmware) stateBytes() int {
	n := 0
	for _, o := range f.Models {
		n += o.Lowered.Program.StateBytes
	}
	return n
}

// stagedBytes are those of all models.
func (f *Firmware) stagedBytes() int {
	n := 0
	for _, o := range f.Models {
		n += o.Lowered.Program.StagedBytes
	}
	return n
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
	var infos []*codegen.Info
	for _, o := range f.Models {
		infos = append(infos, o.Info)
	}
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

// strictly is the error of --strict where there are warnings.
func (c *Config) strictly() error { return c.strict(c.Diags.Texts(diag.Warning)) }

// strict is the error of --strict for warnings, a line each.
func (c *Config) strict(warnings []string) error {
	if !c.Strict {
		return nil
	}
	all := make([]error, len(warnings))
	for i, w := range warnings {
		all[i] = text.Errorf("--strict: %s", w)
	}
	return asInput(errors.Join(all...))
}
