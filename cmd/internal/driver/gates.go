// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower"
)

// Gate is a limit that the user set.
type Gate struct {
	Flag, Limit string
	Exceeded    string // by how much, and because of what; "": it holds
	whole       bool   // about the firmware, not one of its models
	over        int    // bytes
}

func (g *Gate) exceeded(format string, args ...any) {
	g.Exceeded = "--" + g.Flag + " " + g.Limit + ": " + fmt.Sprintf(format, args...)
}

// Gates checks --max-segments and the other limits; nil when all hold, else a
// GateError. Config.Gates has those that were looked at (those of the whole firmware with
// every model), the reports those that are exceeded.
func (f *Firmware) Gates() (err error) {
	defer fail.Catch(&err)
	shared := looked(f.ramGate, f.flashGate)
	for i, o := range f.Models {
		own := looked(o.segmentsGate, o.fallbackGate, o.sqnrGate)
		for k := range own {
			if f.Several() && own[k].Exceeded != "" {
				own[k].Exceeded = f.prefixes[i] + ": " + own[k].Exceeded
			}
		}
		o.Config.Gates = append(own, shared...)
		o.Report.Gates = reasons(Exceeded(o.Config.Gates))
	}
	err = Exceeded(f.Looked())
	f.Report.Gates = reasons(err)
	return err
}

// Looked are the gates that were looked at, each once: those of the models first.
func (f *Firmware) Looked() []Gate {
	var own, shared []Gate
	for _, o := range f.Models {
		shared = nil
		for _, g := range o.Config.Gates {
			if g.whole {
				shared = append(shared, g)
			} else {
				own = append(own, g)
			}
		}
	}
	return append(own, shared...)
}

// Gates are those of the firmware that the model is part of.
func (o *Compiled) Gates() error { return o.Firmware.Gates() }

// looked are the gates that the user set.
func looked(checks ...func() (*Gate, error)) []Gate {
	var out []Gate
	for _, check := range checks {
		g := fail.Must(check())
		if g != nil {
			out = append(out, *g)
		}
	}
	return out
}

func reasons(err error) []string {
	if gate := new(GateError); errors.As(err, &gate) {
		return gate.Reasons
	}
	return nil
}

// Exceeded is a GateError about the gates that do not hold; nil where all do.
func Exceeded(gates []Gate) error {
	var why []string
	for _, g := range gates {
		if g.Exceeded != "" {
			why = append(why, g.Exceeded)
		}
	}
	if len(why) > 0 {
		return &GateError{why}
	}
	return nil
}

func (o *Compiled) segmentsGate() (*Gate, error) {
	most := o.Config.MaxSegments
	if most < 0 {
		return nil, nil
	}
	g := &Gate{Flag: "max-segments", Limit: fmt.Sprint(most)}
	if len(o.Report.Segments) > most {
		g.exceeded("%s", o.Report.SegmentsText())
	}
	return g, nil
}

func (o *Compiled) fallbackGate() (*Gate, error) {
	most := o.Config.MaxFallback
	if most < 0 {
		return nil, nil
	}
	g := &Gate{Flag: "max-fallback", Limit: fmt.Sprint(most)}
	if n := o.Report.ComputeFallback(); n > most {
		nodes := "nodes run"
		if n == 1 {
			nodes = "node runs"
		}
		g.exceeded("%d %s outside the accelerator: %s", n, nodes, o.Report.Cuts())
	}
	return g, nil
}

// sqnrGate is about what calibration measured. What was not quantised here has lost
// nothing, and what came quantised has no figure.
func (o *Compiled) sqnrGate() (*Gate, error) {
	_, least, err := o.Config.evalGates()
	if e := &o.Config.Eval; err != nil || least != least || e.Propose != "" || e.Data != "" {
		return nil, err
	}
	g := &Gate{Flag: "min-sqnr", Limit: o.Config.Eval.MinSQNR}
	switch r := o.Lowered.Calibration; {
	case r == nil && lower.Quantised(o.Float):
		return nil, usage("--min-sqnr %s: %s brings its own quantisation; nncc eval --data measures it", g.Limit,
			filepath.Base(o.Config.Model))
	case r == nil:
	case r.Unknown:
		g.exceeded("the calibration data say nothing about accuracy")
	case r.SQNR < least:
		g.exceeded("%s", r.Lost(least))
	}
	return g, nil
}

func (f *Firmware) ramGate() (*Gate, error) {
	ram := f.config().maxRAM()
	if ram < 0 {
		return nil, nil
	}
	g := &Gate{Flag: "max-ram", Limit: fmt.Sprint(ram), whole: true}
	o := f.Models[0] // with the largest arena
	for _, x := range f.Models {
		if x.Lowered.Program.ArenaBytes > o.Lowered.Program.ArenaBytes {
			o = x
		}
	}
	arena, state := o.Lowered.Program.ArenaBytes, f.stateBytes()
	if n := arena + state + f.stagedBytes(); n > ram {
		needs := fmt.Sprintf("the arena needs %d bytes", arena)
		if state > 0 {
			needs += fmt.Sprintf(" and the state %d", state)
		}
		g.over = n - ram
		g.exceeded("%s%s, %d too many; the largest step is %s; %s%s", f.of(o), needs, g.over, o.peakStep(),
			o.smallest(), f.least)
	}
	return g, nil
}

// of names a model of several, in front of what is said.
func (f *Firmware) of(o *Compiled) string {
	if !f.Several() {
		return ""
	}
	return o.Info.Prefix + ": "
}

func (f *Firmware) flashGate() (*Gate, error) {
	flash, err := parseBytes("max-flash", f.config().MaxFlash)
	if err != nil || flash < 0 {
		return nil, err
	}
	n, err := f.flashBytes()
	if err != nil {
		return nil, err
	}
	g := &Gate{Flag: "max-flash", Limit: fmt.Sprint(flash), whole: true}
	if n > flash {
		weights := f.sum(func(o *Compiled) int {
			if o.Info.WeightsFile != "" {
				return 0
			}
			return o.Info.WeightBytes
		})
		g.over = n - flash
		g.exceeded("code, constants and weights need %d bytes, %d too many; weights are %d%s", n, g.over, weights,
			f.least)
	}
	return g, nil
}

// smallest says how the arena came to be the smallest that was found.
func (o *Compiled) smallest() string {
	of := fmt.Sprintf("of %d programs that were tried this is the smallest", o.Lowered.Tried)
	switch p := o.Lowered.Tiled; {
	case len(o.Board.Accelerators) > 0 && o.Lowered.Tried > 0:
		return of + ": layers that the accelerator computes a few rows at a time need no less"
	case p != nil && len(p.Chains) == 0:
		return fmt.Sprintf("%s: inputs become channels last where they lie (%d bytes with copies)", of, p.WholeBytes)
	case p != nil:
		n := lists.Sum(p.Chains, func(c lower.Chain) int { return len(c.Nodes) })
		return fmt.Sprintf("%s: %d layers run a few rows at a time, in %d calls (%d bytes with whole layers)", of, n,
			p.Calls, p.WholeBytes)
	case o.Lowered.Tried > 1:
		return of + ": rows instead of layers make none smaller"
	}
	return "no layers can be computed by rows"
}

// peakStep names the step with the most live bytes.
func (o *Compiled) peakStep() string {
	steps := o.Lowered.Program.Steps
	if len(steps) == 0 {
		return "none (0 bytes live)"
	}
	most, at := -1, 0
	for i, l := range o.Lowered.Program.Needed() {
		if live := l.Bytes(); live > most {
			most, at = live, i
		}
	}
	return fmt.Sprintf("%s (%d bytes live)", steps[at].Name, most)
}

// flashBytes builds the firmware and gives code, constants and weights.
func (f *Firmware) flashBytes() (_ int, err error) {
	defer fail.Catch(&err)
	if f.flash > 0 {
		return f.flash, nil
	}
	dir, remove := fail.Must2(f.inTemp("nncc-build-"))
	defer remove()
	c := f.config()
	im := fail.Must(run.Build(c.context(), f.board(), dir, run.BuildOptions{CMSISInclude: c.CMSISInclude,
		CMSISLib: c.CMSISLib, Opt: c.buildOpt()}))
	defer im.Close()
	n := im.Sizes.Flash()
	if f.bound() { // the harness alone has the weights file
		n -= im.Sizes.By[run.ModelCode].Weights
	}
	f.flash = int(n)
	return f.flash, nil
}
