// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref/cmsis"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/accel/kinds"
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/spf13/pflag"
)

func (c *cli) table(v any, rows [][]string) { c.show(v, func() string { return text.Table(rows) }) }

func noArgs(args []string) {
	if len(args) > 0 {
		wrong("unexpected argument %s; the verb's -h shows what it takes", args[0])
	}
}

type opRow struct {
	Name    string   `json:"name"`
	Domain  string   `json:"domain"`
	Doc     string   `json:"doc"`
	Pattern string   `json:"pattern"`
	Quant   string   `json:"quantised"`
	Attrs   []string `json:"attributes"`
}

var patternNames = map[ir.Pattern]string{ir.Elementwise: "element-wise", ir.Broadcast: "broadcast",
	ir.Injective: "injective", ir.Reduce: "reduction", ir.OutFusable: "out-fusable", ir.Opaque: "opaque"}
var quantNames = map[ir.QuantKind]string{ir.QFloat: "float64 rule", ir.QMove: "moves integers",
	ir.QInt: "integer kernel", ir.QNone: "-"}

func (c *cli) ops([]string) {
	var all []opRow
	rows := [][]string{{"operator", "domain", "fusion", "on int8", "about"}}
	for _, d := range op.All() {
		r := opRow{Name: d.Name, Domain: d.Domain, Doc: d.Doc, Pattern: patternNames[d.Pattern],
			Quant: quantNames[d.Quant],
			Attrs: lists.Each(d.Attrs, func(a ir.AttrSpec) string { return a.Name })}
		if r.Domain == "" {
			r.Domain = "ai.onnx"
		}
		all = append(all, r)
		rows = append(rows, []string{r.Name, r.Domain, r.Pattern, r.Quant, r.Doc})
	}
	c.table(all, rows)
}

// stageRow is a row of `nncc passes`.
type stageRow struct {
	Name        string   `json:"name"`
	Doc         string   `json:"doc"`
	Numerics    string   `json:"numerics"`
	LeastSQNR   float64  `json:"least_sqnr_db,omitempty"` // that a lossy stage has to leave
	When        []string `json:"when"`                    // all have to hold
	Requires    []string `json:"requires"`                // invariants, explained in invariants
	Establishes []string `json:"establishes"`
	After       []string `json:"after"`              // stages that have to stand before
	Required    string   `json:"required,omitempty"` // why it cannot be switched off
}

func newStageRow(t *lower.Stage) stageRow {
	return stageRow{Name: t.Name, Doc: t.Doc, Numerics: t.Numerics.String(), LeastSQNR: t.LeastSQNR,
		Required:    t.Required,
		When:        lists.Each(t.When, func(c lower.Condition) string { return c.Name }),
		Requires:    lists.Each(t.Requires, func(i *lower.Invariant) string { return i.Name }),
		Establishes: lists.Each(t.Establishes, func(i *lower.Invariant) string { return i.Name }),
		After:       lists.Each(t.After, func(o lower.Order) string { return o.Stage })}
}

func (c *cli) passes([]string) {
	var all []stageRow
	rows := [][]string{{"stage", "numerics", "off", "requires", "establishes", "about"}}
	for _, t := range lower.Table {
		r := newStageRow(t)
		all = append(all, r)
		off := "no"
		if t.Required == "" {
			off = "yes"
		}
		about := t.Doc
		if len(r.When) > 0 {
			about += " [" + strings.Join(r.When, "; ") + "]"
		}
		rows = append(rows, []string{r.Name, r.Numerics, off, orDash(r.Requires), orDash(r.Establishes), about})
	}
	c.table(all, rows)
}

func orDash(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ", ")
}

// wrap breaks text at spaces into lines of at most n characters.
func wrap(text string, n int) []string {
	var out []string
	for _, w := range strings.Fields(text) {
		if k := len(out) - 1; k >= 0 && len(out[k])+1+len(w) <= n {
			out[k] += " " + w
		} else {
			out = append(out, w)
		}
	}
	return out
}

// kernelRow is a kernel, or a function of CMSIS-NN that kernels reach.
type kernelRow struct {
	Name    string     `json:"name"`
	Library string     `json:"library"`
	Doc     string     `json:"doc"`
	Ops     []string   `json:"ops"`
	Rules   []ruleRow  `json:"rules"`
	Facts   []kernFact `json:"facts,omitempty"`
}

type ruleRow struct {
	Code string `json:"code"`
	Doc  string `json:"doc"`
}

// kernFact is a row of the knowledge base.
type kernFact struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Builds string `json:"builds"` // mve, dsp, c
	When   string `json:"when,omitempty"`
	Value  string `json:"value,omitempty"`
	Until  string `json:"until,omitempty"` // first revision without the defect
	Says   string `json:"says,omitempty"`
	Source string `json:"source"` // of CMSIS-NN at revision
	Rev    string `json:"revision"`
}

func (c *cli) kernels([]string) {
	facts := map[string][]kernFact{}
	var order []string
	for _, r := range cmsis.Rows() {
		if facts[r.Function] == nil {
			order = append(order, r.Function)
		}
		facts[r.Function] = append(facts[r.Function], kernFact{r.ID, r.Kind.String(), r.Builds.String(), r.WhenText,
			r.Value, r.Until, r.Says, r.Source, cmsis.Revision})
	}
	all := []kernelRow{}
	taken := map[string]bool{}
	for _, k := range lower.AllKernels() {
		r := kernelRow{Name: k.Name, Library: k.Library, Doc: k.Doc, Rules: []ruleRow{},
			Ops: lists.Each(k.Ops, func(o *ir.OpDef) string { return o.Name })}
		for _, x := range k.Rules {
			r.Rules = append(r.Rules, ruleRow{x.Code, x.Doc})
		}
		if k.Library == cmsisnn.Library && !taken[k.Name] {
			r.Facts, taken[k.Name] = facts[k.Name], true
		}
		all = append(all, r)
	}
	for _, name := range order {
		if !taken[name] {
			all = append(all, kernelRow{Name: name, Library: cmsisnn.Library, Doc: "function of the library",
				Ops: []string{}, Rules: []ruleRow{}, Facts: facts[name]})
		}
	}
	c.show(all, func() string {
		return strings.Join(append(lists.Map(all, kernelRow.String), "What CMSIS-NN does is that of revision "+
			cmsis.Revision+"; builds are mve (Helium), dsp and c.\n"), "\n")
	})
}

// String is a block: some take fifty operators.
func (r kernelRow) String() string {
	lines := []string{fmt.Sprintf("%s (%s): %s", r.Name, r.Library, r.Doc)}
	if len(r.Ops) > 0 {
		lines = append(lines, wrap("for "+strings.Join(r.Ops, ", "), 110)...)
	}
	lines = append(lines, lists.Map(r.Rules, func(x ruleRow) string { return x.Code + ": " + x.Doc })...)
	lines = append(lines, lists.Map(r.Facts, kernFact.String)...)
	return strings.Join(lines, "\n  ") + "\n"
}

// String is the fact on one line.
func (f kernFact) String() string {
	s := fmt.Sprintf("%s %s", f.ID, f.Kind)
	if f.Builds != cmsis.All.String() {
		s += " (" + f.Builds + ")"
	}
	if f.Value != "" {
		s += " " + f.Value
	}
	if f.When != "" {
		s += " if " + f.When
	}
	if f.Says != "" {
		s += ": " + f.Says
	}
	if f.Until != "" {
		s += " (until " + f.Until + ")"
	}
	return s + " [" + f.Source + "]"
}

func boardsFlags(c *cli, fs *pflag.FlagSet) {
	tableFlags(c, fs)
	fs.StringVar(&c.chip, "for", "", "boards for a `CHIP`: a part number or a development board, such as STM32F411CEU6")
}

// boards lists the boards, shows one, or finds those for a chip.
func (c *cli) boards(args []string) {
	switch {
	case len(args) > 1:
		noArgs(args[1:])
	case c.chip != "" && len(args) > 0:
		wrong("boards: either NAME or --for CHIP (names with blanks go into quotes)")
	case c.chip != "":
		c.findBoard(c.chip)
	case len(args) == 1:
		c.oneBoard(args[0])
	default:
		c.everyBoard()
	}
}

func (c *cli) everyBoard() {
	var all []*boards.Spec
	rows := [][]string{{"board", "core", "flash", "RAM", "MHz", "machine", "about"}}
	for _, n := range boards.List() {
		s := fail.Must(boards.Load(n))
		all = append(all, s)
		rows = append(rows, boardRow(s))
	}
	c.show(all, func() string {
		return text.Table(rows) + "* another machine stands in; nncc boards NAME says which, and where every value " +
			"is from.\nnncc boards --for CHIP finds the board for a chip, a part number or a development board.\n"
	})
}

// boardRow is a row of the table: memories of a chip, none of a core alone.
func boardRow(s *boards.Spec) []string {
	machine := s.Runner.Machine
	if s.Runner.StandsIn != "" {
		machine += " *"
	}
	flash, ram, clock := "-", "-", "-"
	if s.IsChip() {
		flash, ram = size(s.Memory.Only("code", "rodata", "weights")), size(s.Memory.Capacity("data", "arena", "stack"))
	}
	if s.ClockHz > 0 {
		clock = strconv.Itoa(s.ClockHz / 1e6)
	}
	return []string{s.Name, s.Core, flash, ram, clock, machine, subject(s.Doc)}
}

// subject is what a description begins with, up to what the columns say.
func subject(doc string) string {
	open := 0
	for i, r := range doc {
		switch r {
		case '(':
			open++
		case ')':
			open--
		case ',', ';':
			if open == 0 {
				return doc[:i]
			}
		}
	}
	return strings.TrimSuffix(doc, ".")
}

// size is a number of bytes in K or M, as board files have it.
func size(n uint64) string {
	switch {
	case n == 0:
		return "0"
	case n%(1<<20) == 0:
		return strconv.FormatUint(n>>20, 10) + "M"
	}
	return strconv.FormatUint(n>>10, 10) + "K"
}

// oneBoard shows every value of a board with its file and line.
func (c *cli) oneBoard(name string) {
	s := input(boards.Load(name))
	input(board.Accelerator(s))
	rows := [][]string{{"key", "from", "value"}} // values may be long
	for _, o := range s.Why() {
		rows = append(rows, []string{o.Key, fmt.Sprintf("%s:%d", o.File, o.Line), o.Value})
	}
	c.table(s, rows)
}

// findBoard shows the boards for a chip; none is an error that says what there is.
func (c *cli) findBoard(chip string) {
	f := boards.Find(chip)
	rows := [][]string{{"board", "core", "flash", "RAM", "MHz", "found by"}}
	for _, m := range f.Matches {
		s := fail.Must(boards.Load(m.Board))
		rows = append(rows, append(boardRow(s)[:5], m.Why))
	}
	if c.cfg.JSON || len(f.Matches) > 0 {
		c.table(f, rows)
	}
	if len(f.Matches) == 0 {
		what := "no board is known for it"
		if f.Not != "" {
			what = f.Not
		}
		badInput(text.Errorf("%s: %s. nncc compiles for Arm's Cortex-M: %s. A chip with one of these cores is a board "+
			"file of a few lines (nncc help bring-up)", text.Short(chip, 80), what, coreList()))
	}
}

// coreList names the cores that have a board of their own.
func coreList() string {
	var all []string
	for _, n := range boards.List() {
		if s, err := boards.Load(n); err == nil && s.Name == s.Core && !s.IsHost() {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// printers are the verbs that print program files: the extensions of these.
func printers() []string {
	var names []string
	for _, a := range kinds.Table {
		if f := a.Format(); f != nil {
			names = append(names, f.Ext)
		}
	}
	return names
}

func printer(f *accel.Format) *verb {
	run := func(c *cli, args []string) {
		if len(args) != 1 {
			wrong("one %s expected, got %d arguments; usage: nncc %s [--json] FILE.%s", f.What, len(args), f.Ext, f.Ext)
		}
		p, err := f.Decode(input(files.Read(args[0], f.MaxBytes)))
		if err != nil {
			badInput(text.Errorf("%s: %w", args[0], err))
		}
		c.show(p, p.String)
	}
	return &verb{"FILE." + f.Ext, f.Doc, "nncc " + f.Ext + " model_segment_0." + f.Ext, tableFlags, run}
}

// Set by the linker in releases and by make; otherwise read from what go build and
// go install leave in the binary.
var commit, date string

// build is what a binary was made from.
type build struct {
	Version  string `json:"version"` // which emitted files and reports carry
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (c *cli) version([]string) {
	info, _ := debug.ReadBuildInfo()
	b := buildOf(info)
	c.show(b, func() string { return b.String() + "\n" })
}

// pseudo is a version of Go for a commit: its date and the beginning of its hash.
var pseudo = regexp.MustCompile(`[-.](\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)-([0-9a-f]{12})(\+|$)`)

func buildOf(info *debug.BuildInfo) build {
	b := build{Version: driver.Version, Commit: commit, Date: date, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil || commit != "" {
		return b
	}
	if m := pseudo.FindStringSubmatch(info.Main.Version); m != nil {
		b.Commit = m[7]
		b.Date = fmt.Sprintf("%s-%s-%sT%s:%s:%sZ", m[1], m[2], m[3], m[4], m[5], m[6])
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	s := "nncc " + b.Version
	if b.Commit != "" {
		s += ", commit " + b.Commit
		if b.Modified {
			s += " with changes"
		}
	}
	if b.Date != "" {
		s += " of " + b.Date
	}
	return s + ", " + b.Go + " " + b.Platform
}
