// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards/cycles"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/program"
)

// ProfileText is one profile, or two beside each other.
func ProfileText(vs []*Verdict) string {
	s := ProfilesText(vs)
	if len(vs) != 2 || vs[0].Instructions == 0 {
		return s
	}
	vs = text.Lines(vs)
	a, c := float64(vs[0].Instructions), float64(vs[1].Instructions)
	return s + beforeAfter(vs[0], vs[1]) + fmt.Sprintf("after / before: %.3f instructions (%+.0f)\n", c/a, c-a)
}

// ProfilesText are profiles one below the other.
func ProfilesText(vs []*Verdict) string {
	vs = text.Lines(vs)
	var b strings.Builder
	for _, v := range vs {
		fmt.Fprintf(&b, "%s on %s\n", v.Model, v.Board)
		b.WriteString(v.profileTable())
		b.WriteString(v.libraryText())
		if v.Instructions > 0 {
			fmt.Fprintf(&b, "total %d instructions, %d of them between the layers, ", v.Instructions, v.Outside)
		} else {
			b.WriteString("instructions are not counted on this board, ")
		}
		fmt.Fprintf(&b, "%s, code %d bytes, constants %d bytes, %d mismatches\n", v.ramText(), v.TextBytes,
			v.RODataBytes, v.Mismatches)
		b.WriteString(v.boundText() + v.cyclesText() + v.measuredText() + "\n")
	}
	return b.String()
}

// profileTable has a row for every layer; columns for cycles and for the linked library
// where these are known.
func (v *Verdict) profileTable() string {
	timed, lines := v.Cycles > 0, v.lines()
	rows := append([][]string{{"#"}}, lists.Map(lines, func(l LayerVerdict) []string { return []string{l.number} })...)
	for _, group := range []struct {
		shown  bool
		titles []string
		cells  func(l *LayerVerdict) []string
	}{
		{true, []string{"layer", "kernel", "MACs"}, func(l *LayerVerdict) []string {
			return []string{l.Name, l.inner(), fmt.Sprint(l.MACs)}
		}},
		{true, []string{"instructions", "per MAC"}, v.counted},
		{true, []string{"bytes moved", "weights"}, func(l *LayerVerdict) []string {
			return []string{fmt.Sprint(l.MovedBytes), fmt.Sprint(l.WeightBytes)}
		}},
		{v.MostInstructions != nil || v.NoMost != "", []string{"by data", "at most"}, (*LayerVerdict).boundCells},
		{timed, []string{"est. cycles"}, (*LayerVerdict).cyclesCell},
		{slices.ContainsFunc(v.Layers, func(l LayerVerdict) bool { return l.AcceleratorCycles > 0 }),
			[]string{"accelerator", "bound by", "used"}, (*LayerVerdict).elsewhereCells},
		{v.MeasuredCycles != nil, []string{"measured", "ratio"}, (*LayerVerdict).measuredCells},
		{v.Library != nil, []string{"CMSIS-NN", "ratio"}, func(l *LayerVerdict) []string {
			return beside(l.Library, l.Instructions)
		}},
		{timed && v.LibraryCycles > 0, []string{"its cycles", "ratio"}, (*LayerVerdict).libraryCells},
	} {
		if !group.shown {
			continue
		}
		rows[0] = append(rows[0], group.titles...)
		for i := range lines {
			rows[1+i] = append(rows[1+i], group.cells(&lines[i])...)
		}
	}
	return text.Table(rows)
}

// counted are the instructions of a layer, whole and for one MAC, where the board counts them.
func (v *Verdict) counted(l *LayerVerdict) []string {
	if v.Instructions == 0 {
		return []string{"-", "-"}
	}
	return []string{fmt.Sprint(l.Instructions), l.perMAC()}
}

func (l *LayerVerdict) perMAC() string {
	if l.MACs == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", l.PerMAC)
}

func (l *LayerVerdict) cyclesCell() []string {
	if l.LayerCycles == nil {
		return []string{"-"}
	}
	return []string{fmt.Sprint(l.LayerCycles.Cycles)}
}

// libraryCells are the library's cycles for a layer, and the ratio to them.
func (l *LayerVerdict) libraryCells() []string {
	if l.LayerCycles == nil {
		return []string{"-", "-"}
	}
	return beside(l.LibraryCycles, l.LayerCycles.Cycles)
}

// beside is what the library takes, and how many times that is n.
func beside[T int | uint64](library *T, n T) []string {
	if library == nil {
		return []string{"-", "-"}
	}
	return []string{fmt.Sprint(*library), ratio(uint64(n), uint64(*library))}
}

func (v *Verdict) libraryText() string {
	if v.Library == nil {
		return ""
	}
	s := fmt.Sprintf("CMSIS-NN linked, for the same layers: %d instructions, ratio %s\n", *v.Library,
		ratio(v.Instructions, *v.Library))
	if v.Cycles > 0 && v.LibraryCycles > 0 {
		s += fmt.Sprintf("and %d cycles, estimated, ratio %s\n", v.LibraryCycles,
			ratio(uint64(v.Cycles), uint64(v.LibraryCycles)))
	}
	return s
}

// milliseconds is a time with three digits, in seconds where it is long.
func milliseconds(ms float64) string {
	switch {
	case ms < 999.5:
		return fmt.Sprintf("%.3g ms", ms)
	case ms < 999500:
		return fmt.Sprintf("%.3g s", ms/1000)
	}
	return fmt.Sprintf("%.0f s", ms/1000)
}

// cyclesText says how long the program takes, or why that is not known.
func (v *Verdict) cyclesText() string {
	switch {
	case v.Cycles > 0:
		s := fmt.Sprintf("about %d cycles, give or take %.0f %%", v.Cycles, 100*v.CyclesError)
		if v.Milliseconds > 0 {
			s += ", " + milliseconds(v.Milliseconds)
		}
		return s + fmt.Sprintf("\n  %s\n  error: %s\n", v.CyclesBasis, v.CyclesErrorBasis)
	case v.CyclesMissing != "":
		return fmt.Sprintf("no estimate of cycles: %s\n", v.CyclesMissing)
	}
	return ""
}

func ratio(a, b uint64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}

// Beside puts the instructions of another program beside those of the layers
// of the same name: what the linked library takes for them.
func (v *Verdict) Beside(library *Verdict) {
	v.Library, v.LibraryCycles = &library.Instructions, library.Cycles
	next := library.byName()
	for i := range v.Layers {
		if m := next(v.Layers[i].Name); m != nil {
			v.Layers[i].Library = &m.Instructions
			if c := m.LayerCycles; c != nil {
				v.Layers[i].LibraryCycles = &c.Cycles
			}
		}
	}
}

// byName gives the layers of a name one after the other, then nil; with "" the first that was not given yet.
func (v *Verdict) byName() func(name string) *LayerVerdict {
	used := make([]bool, len(v.Layers))
	return func(name string) *LayerVerdict {
		for k := range v.Layers {
			if l := &v.Layers[k]; !used[k] && (name == "" || l.Name == name) {
				used[k] = true
				return l
			}
		}
		return nil
	}
}

// beforeAfter has a row for every layer of two programs, matched by the names of
// the nodes that they come from.
func beforeAfter(x, y *Verdict) string {
	rows, next := [][]string{{"node", "before", "after", "delta", "kernel"}}, y.byName()
	for i := range x.Layers {
		l := &x.Layers[i]
		row := []string{l.Name, fmt.Sprint(l.Instructions), "-", fmt.Sprintf("%+d", -int64(l.Instructions)), l.inner()}
		if m := next(l.Name); m != nil {
			row[2], row[3] = fmt.Sprint(m.Instructions), fmt.Sprintf("%+d", int64(m.Instructions)-int64(l.Instructions))
			if m.inner() != l.inner() {
				row[4] += " -> " + m.inner()
			}
		}
		rows = append(rows, row)
	}
	for m := next(""); m != nil; m = next("") {
		rows = append(rows, []string{m.Name, "-", fmt.Sprint(m.Instructions), fmt.Sprintf("%+d", int64(m.Instructions)),
			m.inner()})
	}
	return text.Table(rows)
}

// CycleLog is what a real core took for every step of a model: the JSON that
// harness/nncc_trace_dwt.c prints.
type CycleLog struct {
	Model  string      `json:"model"` // C prefix
	SHA256 string      `json:"sha256"`
	NNCC   string      `json:"nncc"`
	Board  string      `json:"board"`
	Clock  string      `json:"clock"` // what counted
	Steps  []StepCycle `json:"steps"`
}

// StepCycle is one step.
type StepCycle struct {
	Name   string  `json:"name"` // "" where the firmware has no names
	Cycles *uint64 `json:"cycles"`
}

// ParseCycleLog reads a log, which may stand among other lines of a console; of
// several it is the last.
func ParseCycleLog(text []byte) (*CycleLog, error) {
	const begin = `{"model":`
	at := bytes.LastIndex(text, []byte(begin))
	if at < 0 {
		return nil, fmt.Errorf("no line begins with %s; want what nncc_trace_json of harness/nncc_trace_dwt.c prints",
			begin)
	}
	l := &CycleLog{}
	if err := json.NewDecoder(bytes.NewReader(text[at:])).Decode(l); err != nil {
		return nil, fmt.Errorf("the log is cut short or damaged: %w", err)
	}
	return l, nil
}

// Fits reports why a log is not one of this program.
func (l *CycleLog) Fits(o *Subject) error {
	steps := o.steps()
	if want := hex.EncodeToString(o.Model.SHA256[:]); l.SHA256 != want {
		return fmt.Errorf("it was measured on another model (%s, sha256 %.12s...); %s has %.12s", l.Model, l.SHA256,
			o.Name, want)
	}
	if l.Board != o.Board.Name {
		return fmt.Errorf("it was measured on firmware for %s; want %s: profile with --board %s", l.Board, o.Board.Name,
			l.Board)
	}
	if len(l.Steps) != len(steps) {
		return fmt.Errorf("it has %d steps, the program has %d: measure firmware that was compiled with the same "+
			"flags and version (it was nncc %s); above 256 steps define NNCC_TRACE_STEPS", len(l.Steps), len(steps),
			l.NNCC)
	}
	for i, s := range l.Steps {
		if s.Name != "" && s.Name != steps[i].Name {
			return fmt.Errorf("step %d is %q, in the program %q: measure firmware that was compiled with the same "+
				"flags", i, s.Name, steps[i].Name)
		}
		if s.Cycles == nil {
			return fmt.Errorf("step %d has no cycles", i)
		}
	}
	if len(steps) > 0 && !slices.ContainsFunc(l.Steps, func(s StepCycle) bool { return *s.Cycles > 0 }) {
		return errors.New("every step took 0 cycles: the counter stands still (QEMU has none; a debugger may have to " +
			"switch it on); define NNCC_TRACE_CLOCK")
	}
	return nil
}

// Measure lays a log beside the estimate.
func (v *Verdict) Measure(l *CycleLog) {
	total := uint64(0)
	for i := range v.Steps {
		s := &v.Steps[i]
		s.MeasuredCycles = l.Steps[i].Cycles
		total += *s.MeasuredCycles
		if x := &v.Layers[s.Calls[0]]; !s.chain() {
			x.MeasuredCycles, x.MeasuredRatio = s.MeasuredCycles, v.ratioTo(s)
		}
	}
	v.MeasuredCycles, v.MeasuredClock = &total, l.Clock
	if v.Cycles > 0 {
		v.MeasuredRatio = float64(total) / float64(v.Cycles)
	}
}

// ratioTo is the ratio of what was measured of a step to the estimate.
func (v *Verdict) ratioTo(s *Step) float64 {
	x := v.sum(s.Calls)
	if s.MeasuredCycles == nil || x.LayerCycles == nil || x.Cycles == 0 {
		return 0
	}
	return float64(*s.MeasuredCycles) / float64(x.Cycles)
}

// measuredCells are the cycles measured of a layer, and their ratio to the estimate.
func (l *LayerVerdict) measuredCells() []string {
	if l.MeasuredCycles == nil {
		return []string{"-", ""}
	}
	return []string{fmt.Sprint(*l.MeasuredCycles), ratioText(l.MeasuredRatio)}
}

// ratioText is a ratio; "" where there is none.
func ratioText(r float64) string {
	if r == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", r)
}

// measuredText is the sum of what was measured.
func (v *Verdict) measuredText() string {
	if v.MeasuredCycles == nil {
		return ""
	}
	s := fmt.Sprintf("measured: %d cycles in the layers (clock %s)", *v.MeasuredCycles, v.MeasuredClock)
	if v.MeasuredRatio > 0 {
		s += fmt.Sprintf(", %.2f of the estimate", v.MeasuredRatio)
	}
	return s + "\n"
}

// Estimate adds the cycles of the steps, of which the instructions were followed.
func (v *Verdict) Estimate(o *Subject, steps []cycles.Count) error {
	model, err := cycles.For(o.Board)
	if err != nil {
		return err
	}
	code, constants := o.Board.Memory.Wait("code"), o.constantsWait()
	v.CyclesBasis = "estimated from executed instructions. " + model.Source
	if code.States > 0 || constants.PerByteCycles() > 0 {
		v.CyclesBasis += " Memory: " + code.Source
	} else {
		v.CyclesBasis += " Memory without wait states."
	}
	v.CyclesError, v.CyclesErrorBasis = o.Board.CyclesError(), model.Basis
	for i := range min(len(steps), len(v.Layers)) {
		s := &steps[i]
		inPlace, exact := o.constantWaits(i)
		waits := round(exact)
		v.Layers[i].LayerCycles = &LayerCycles{Cycles: s.Cycles + waits, LoadedBytes: s.Loaded,
			StoredBytes: s.Stored, Classes: s.ByClass(), CodeWaits: s.Waits, ConstantWaits: waits}
		if o.Lowered.Program.HasCopies() {
			v.Layers[i].InPlaceWaits = round(inPlace)
		}
		v.Cycles += s.Cycles + waits
	}
	if hz := o.Board.ClockHz; hz > 0 {
		v.Milliseconds = float64(v.Cycles) / float64(hz) * 1e3
	}
	return nil
}

// Describe adds shapes and MACs of the layers.
func (v *Verdict) Describe(o *Subject, r *Report) {
	for i := range v.Layers {
		v.Layers[i].MACs = r.Layers[i].MACs
		if m := v.Layers[i].MACs; m > 0 {
			v.Layers[i].PerMAC = float64(v.Layers[i].Instructions) / float64(m)
		}
		v.Layers[i].WeightBytes = r.Layers[i].WeightBytes
		v.Layers[i].MovedBytes = MovedBytes(o.Lowered.Program, i)
	}
	v.Model = o.Name
}

// MovedBytes are the activations that a step reads and writes.
func MovedBytes(p *program.Program, i int) int {
	n := 0
	s := p.Steps[i]
	for _, x := range s.In {
		if x.Buffer >= 0 {
			n += p.Buffers[x.Buffer].Type.Bytes()
		}
	}
	n += lists.Sum(s.Out, func(b int) int { return p.Buffers[b].Type.Bytes() })
	return n
}
