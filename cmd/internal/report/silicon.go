// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

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
	steps := o.Lowered.Program.Steps
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
	for i := range v.Layers {
		x := &v.Layers[i]
		x.MeasuredCycles = l.Steps[i].Cycles
		total += *x.MeasuredCycles
		if x.LayerCycles != nil && x.Cycles > 0 {
			x.MeasuredRatio = float64(*x.MeasuredCycles) / float64(x.Cycles)
		}
	}
	v.MeasuredCycles, v.MeasuredClock = &total, l.Clock
	if v.Cycles > 0 {
		v.MeasuredRatio = float64(total) / float64(v.Cycles)
	}
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
