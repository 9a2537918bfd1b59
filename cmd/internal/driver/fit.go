package driver

import (
	"bytes"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/option"
)

// fit places the program into the board's memories: what it takes of them, and
// what is missing. Without sizes of a build, code and constants beside the
// weights are estimated. A board without memories (a host) has room for all.
func (o *Compiled) fit(built *run.Sizes) boards.Placement {
	if len(o.Board.Memory) == 0 {
		return boards.Placement{}
	}
	code, rodata, data := o.estimated()
	weights := uint64(o.Info.WeightBytes + o.imageBytes())
	if built != nil {
		libc := built.By[run.Libc]
		code = boards.Item{Bytes: built.Code() + libc.Text, Library: libc.Text}
		rodata = boards.Item{Bytes: built.ROData() + libc.ROData + libc.Data, Library: libc.ROData + libc.Data}
		data.Bytes = libc.Data + libc.BSS
		weights = built.Weights()
	}
	code.What, rodata.What, data.What = "code", "rodata", "data"
	items := []boards.Item{code, {What: "stack", Bytes: uint64(o.Board.Stack)}, data, rodata,
		{What: "arena", Bytes: uint64(o.Program.ArenaBytes)}, {What: "weights", Bytes: weights}}
	items = slices.DeleteFunc(items, func(i boards.Item) bool { return i.Bytes == 0 })
	return o.Board.Memory.Place(items...)
}

// imageBytes are files that are linked as they are: accelerator programs.
func (o *Compiled) imageBytes() int {
	n := 0
	for _, f := range o.Files {
		if slices.Contains(o.Info.Images, f.Path) {
			n += len(f.Data)
		}
	}
	return n
}

// sourcePerByte is what emitted C becomes, as it was measured on networks of 3 to
// 105 steps on four cores: a byte of code or constants for eight of the source's.
const sourcePerByte = 8

// library is about the most that kernels were seen to take of newlib, beside
// what copies and divides: arithmetic in float or double, by the floating point
// unit, and mathematical functions.
var (
	libraryBytes = 1 << 10
	floatLibrary = map[string]int{"dp": 1 << 10, "sp": 3 << 10, "none": 9 << 10}
	mathLibrary  = 4 << 10
	floatHeader  = []byte(`#include "nncc_fp.h"`) // of kernels that compute in float
	mathHeader   = []byte("#include <math.h>")
)

// estimated are code and constants before there is a build: kernels by the
// table of their sizes (lower/cost), which were compiled one by one.
func (o *Compiled) estimated() (code, rodata, data boards.Item) {
	target := cost.Target{ISA: o.ISA(), Size: o.Config.Optimize == option.Size}
	size := target.SourceBytes()
	sum, library, float, math := 0, libraryBytes, false, false
	for _, f := range o.Files {
		kernel := strings.HasPrefix(f.Path, "nncc/")
		float = float || kernel && bytes.Contains(f.Data, floatHeader)
		math = math || kernel && bytes.Contains(f.Data, mathHeader)
		if !kernel && f.Path != o.Info.Prefix+".c" || !strings.HasSuffix(f.Path, ".c") {
			continue
		}
		n, known := size[strings.TrimPrefix(f.Path, "nncc/")]
		if !known {
			n = len(f.Data) / sourcePerByte
		}
		sum += n
	}
	if float {
		library += floatLibrary[o.Board.ISA.FPU]
	}
	if math {
		library += mathLibrary
	}
	return boards.Item{Bytes: uint64(sum + library), Library: uint64(library), Estimated: true}, boards.Item{},
		boards.Item{}
}

// doesNotFit is the code of warnings about the board's memories.
const doesNotFit = "memory"

// said brings report and verdict (which may be nil) up to date with what there is
// to say.
func (o *Compiled) said(v *Verdict) {
	d := o.Config.Diags
	if v != nil {
		v.Warnings = d.Texts(diag.Warning)
	}
	r := o.Report
	r.Diagnostics, r.Warnings, r.Notes = append(diag.List{}, d...), d.Texts(diag.Warning), d.Texts(diag.Note)
}

// memoryVerdict says region by region what does not fit, in place of what was
// said before: with built, from measured sizes.
func (o *Compiled) memoryVerdict(built *run.Sizes) {
	o.Placement = o.fit(built)
	c := o.Config
	c.Diags = slices.DeleteFunc(c.Diags, func(d *diag.Diag) bool { return d.Code == doesNotFit })
	for _, r := range o.Placement.Regions {
		if r.Missing() > 0 {
			c.warn("memory", doesNotFit, r.Name, "the program does not fit the memory of %s: %s", o.Board.Name, r)
		}
	}
	for _, i := range o.Placement.Homeless {
		c.warn("memory", doesNotFit, i.What, "%s has no memory region that holds %s: %d bytes are missing",
			o.Board.Name, i.What, i.Bytes)
	}
	if o.Report != nil {
		o.said(nil)
		o.Report.Memory.regions(o)
	}
}

// stackVerdict compares the stack that the program can use with what the board
// declares.
func (o *Compiled) stackVerdict(v *Verdict) error {
	most, declared := max(v.Bound, v.StackBytes), uint64(o.Board.Stack)
	if len(o.Board.Memory) == 0 || uint64(most) <= declared {
		return nil
	}
	o.Config.warn("memory", "stack", "", "the stack of %s has %d bytes, the program can use %d: %d bytes are "+
		"missing (stack: in the board's file)", o.Board.Name, declared, most, uint64(most)-declared)
	o.said(v)
	return o.Config.strictly()
}

// strictly is the error of --strict where there are warnings.
func (c *Config) strictly() error {
	w := c.Diags.Texts(diag.Warning)
	if !c.Strict || len(w) == 0 {
		return nil
	}
	return badInput("--strict: %s", strings.Join(w, "\n--strict: "))
}

// regions says what lies in the board's memories.
func (m *ReportMemory) regions(o *Compiled) {
	m.Regions = []ReportRegion{}
	for _, r := range o.Placement.Regions {
		x := ReportRegion{Name: r.Name, Bytes: uint64(r.Size), Holds: r.Holds, Used: r.Used(), Missing: r.Missing(),
			Items: []ReportItem{}}
		for _, i := range r.Items {
			x.Items = append(x.Items, ReportItem{i.What, i.Bytes, i.Library, i.Estimated})
		}
		m.Regions = append(m.Regions, x)
	}
}
