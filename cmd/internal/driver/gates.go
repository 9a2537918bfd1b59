package driver

import (
	"fmt"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/frontend/files"
)

// Gates checks --max-segments and the other limits; nil when all hold, else a GateError.
func (o *Compiled) Gates() error {
	c := o.Config
	var why []string
	if c.MaxSegments >= 0 && len(o.Report.Segments) > c.MaxSegments {
		why = append(why, fmt.Sprintf("--max-segments %d: %s", c.MaxSegments, o.Report.SegmentsText()))
	}
	if n := o.Report.ComputeFallback(); c.MaxFallback >= 0 && n > c.MaxFallback {
		why = append(why, fmt.Sprintf("--max-fallback %d: %d nodes run outside the accelerator: %s", c.MaxFallback, n,
			o.Report.Cuts()))
	}
	ram, err := parseBytes("max-ram", c.MaxRAM)
	if err != nil {
		return err
	}
	if ram >= 0 && o.Lowered.Program.ArenaBytes > ram {
		why = append(why, fmt.Sprintf("--max-ram %d: the arena needs %d bytes, %d too many; the largest step is %s; %s",
			ram, o.Lowered.Program.ArenaBytes, o.Lowered.Program.ArenaBytes-ram, o.peakStep(), o.smallest()))
	}
	flash, err := parseBytes("max-flash", c.MaxFlash)
	if err != nil {
		return err
	}
	if flash >= 0 {
		if n, err := o.flashBytes(); err != nil {
			return err
		} else if n > flash {
			why = append(why, fmt.Sprintf("--max-flash %d: code, constants and weights need %d bytes, %d too many; "+
				"weights are %d", flash, n, n-flash, o.Info.WeightBytes))
		}
	}
	if len(why) > 0 {
		return &GateError{why}
	}
	return nil
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
