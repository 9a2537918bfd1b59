// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/frontend/files"
)

// Gate is a limit that the user set.
type Gate struct {
	Flag, Limit string
	Exceeded    string // by how much, and because of what; "": it holds
}

// exceeded says so.
func (g *Gate) exceeded(format string, args ...any) {
	g.Exceeded = "--" + g.Flag + " " + g.Limit + ": " + fmt.Sprintf(format, args...)
}

// Gates checks --max-segments and the other limits; nil when all hold, else a
// GateError. Config.Gates has those that were looked at, the report those that are
// exceeded.
func (o *Compiled) Gates() error {
	o.Config.Gates = nil
	for _, check := range []func() (*Gate, error){o.segmentsGate, o.fallbackGate, o.ramGate, o.flashGate} {
		g, err := check()
		if err != nil {
			return err
		}
		if g != nil {
			o.Config.Gates = append(o.Config.Gates, *g)
		}
	}
	err := Exceeded(o.Config.Gates)
	if gate := new(GateError); errors.As(err, &gate) {
		o.Report.Gates = gate.Reasons
	}
	return err
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
		g.exceeded("%d nodes run outside the accelerator: %s", n, o.Report.Cuts())
	}
	return g, nil
}

func (o *Compiled) ramGate() (*Gate, error) {
	ram, err := parseBytes("max-ram", o.Config.MaxRAM)
	if err != nil || ram < 0 {
		return nil, err
	}
	g := &Gate{Flag: "max-ram", Limit: fmt.Sprint(ram)}
	p := o.Lowered.Program
	if n := p.RAMBytes(); n > ram {
		needs := fmt.Sprintf("the arena needs %d bytes", n)
		if p.StateBytes > 0 {
			needs = fmt.Sprintf("the arena needs %d bytes and the state %d", p.ArenaBytes, p.StateBytes)
		}
		g.exceeded("%s, %d too many; the largest step is %s; %s", needs, n-ram, o.peakStep(), o.smallest())
	}
	return g, nil
}

func (o *Compiled) flashGate() (*Gate, error) {
	flash, err := parseBytes("max-flash", o.Config.MaxFlash)
	if err != nil || flash < 0 {
		return nil, err
	}
	n, err := o.flashBytes()
	if err != nil {
		return nil, err
	}
	g := &Gate{Flag: "max-flash", Limit: fmt.Sprint(flash)}
	if n > flash {
		g.exceeded("code, constants and weights need %d bytes, %d too many; weights are %d", n, n-flash,
			o.Info.WeightBytes)
	}
	return g, nil
}

// smallest says how the arena came to be the smallest that was found.
func (o *Compiled) smallest() string {
	of := fmt.Sprintf("of %d programs that were tried this is the smallest", o.Lowered.Tried)
	switch p := o.Lowered.Tiled; {
	case len(o.Board.Accelerators) > 0:
		return "on a board with an accelerator layers are not computed in stripes"
	case p != nil:
		return fmt.Sprintf("%s: %d layers from %s to %s in %d stripes (%d bytes without stripes)", of, len(p.Nodes),
			p.Nodes[0], p.Nodes[len(p.Nodes)-1], p.Stripes, p.WholeBytes)
	case o.Lowered.Tried > 1:
		return of + ": stripes make none smaller"
	}
	return "no layers at the inputs can be computed in stripes"
}

// peakStep names the step with the most live bytes.
func (o *Compiled) peakStep() string {
	steps := o.Lowered.Program.Steps
	if len(steps) == 0 {
		return "none (0 bytes live)"
	}
	change := make([]int, len(steps)+1) // in live bytes, before each step
	for _, b := range o.Lowered.Program.Buffers {
		if first, last := max(b.First, 0), min(b.Last, len(steps)-1); b.AliasOf < 0 && first <= last {
			n := (b.Bytes + 15) &^ 15
			change[first] += n
			change[last+1] -= n
		}
	}
	live, most, at := 0, -1, 0
	for i := range steps {
		if live += change[i]; live > most {
			most, at = live, i
		}
	}
	return fmt.Sprintf("%s (%d bytes live)", steps[at].Name, most)
}

// flashBytes builds the program and gives code, constants and weights.
func (o *Compiled) flashBytes() (int, error) {
	dir, err := files.TempDir("", "nncc-build-")
	if err != nil {
		return 0, err
	}
	defer files.RemoveTemp(dir)
	if err := writeFiles(dir, o.Files); err != nil {
		return 0, err
	}
	im, err := run.Build(o.Config.context(), o.Board, dir, run.BuildOptions{CMSISInclude: o.Config.CMSISInclude,
		CMSISLib: o.Config.CMSISLib, Opt: o.Config.buildOpt()})
	if err != nil {
		return 0, err
	}
	defer im.Close()
	return int(im.Sizes.Flash()), nil
}
