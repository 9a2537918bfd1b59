// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

// goal is what kernels are chosen by, and from: other goals give other programs of the same numbers.
type goal struct {
	optimize option.Optimize
	kernels  option.Kernels
}

func (g goal) String() string {
	if g.kernels == option.AllKernels {
		return "--optimize " + g.optimize.String()
	}
	return fmt.Sprintf("--optimize %v --kernels %v", g.optimize, g.kernels)
}

// goals are those beside the one that is asked for. One that says which kernels keeps them; of other kernels
// the smallest program is looked at.
func (c *Config) goals() (out []goal) {
	for _, o := range []option.Optimize{option.Balanced, option.Size, option.Speed} {
		out = append(out, goal{o, c.Kernels})
	}
	if c.Kernels == option.AllKernels {
		for _, k := range []option.Kernels{option.CMSISNN, option.OwnKernels, option.ReferenceKernels} {
			out = append(out, goal{option.Size, k})
		}
	}
	return slices.DeleteFunc(out, func(g goal) bool { return g == goal{c.Optimize, c.Kernels} })
}

// meet looks for a goal whose program misses no budget, where the one that is asked for does: --max-ram, --max-flash,
// the board's memory. Where all do, the one stays that misses least, but for the reference kernels, which take many
// times as long. said is what there was to say before.
func (f *Firmware) meet(said []diag.List) {
	asked := goal{f.config().Optimize, f.config().Kernels}
	most := f.over()
	best, at, least := f, asked, most
	points := make([][]lower.Point, len(f.Models)) // of all goals
	gather := func(x *Firmware) {
		for i, o := range x.Models {
			points[i] = append(points[i], o.Lowered.Frontier...)
		}
	}
	gather(f)
	for _, g := range f.config().goals() {
		if least == 0 {
			break
		}
		x, err := f.with(g, said)
		if err != nil {
			continue // these kernels do not take every layer
		}
		fail.Check(x.arrange())
		gather(x)
		n, dear := x.over(), x.dear()
		better := n < least
		if dear != best.dear() {
			better = !dear
		}
		if n == 0 || better && g.kernels != option.ReferenceKernels {
			best, at, least = x, g, n
		}
	}
	if most == 0 {
		return
	}
	text := fmt.Sprintf("%v misses the budgets of memory by %d bytes", asked, most)
	switch {
	case best == f:
		text += ", other goals and kernels miss them by as many or more, or take far more instructions"
		f.least = "; other goals and kernels take no less, or far more instructions"
	case least == 0:
		text += ": this is the program of " + at.String()
	case f.config().MaxRAM+f.config().MaxFlash == "": // a program that does not fit stays a fast one
		text += fmt.Sprintf(", of other goals and kernels %v least, by %d", at, least)
		best = f
	default:
		text += fmt.Sprintf(": this is the program of %v, which of all goals and kernels but the reference "+
			"misses them least", at)
		f.least = "; this is with " + at.String() + ", the least of all goals and kernels but the reference"
	}
	f.become(best)
	for i, o := range f.Models {
		f.least += below(o.Lowered, points[i], asked)
		o.Lowered.Frontier = lower.Frontier(points[i])
		o.Config.Diags.Add(diag.List{diag.Notef("goal", "--optimize", "%s", text)}.From("memory")...)
	}
}

// dear reports a program that takes more instructions than its memory is worth.
func (f *Firmware) dear() bool {
	return slices.ContainsFunc(f.Models, func(o *Compiled) bool { return !o.Lowered.Worth() })
}

// below says which of the points needs least memory, where that is less than the program's, and at what price.
func below(r *lower.Result, points []lower.Point, asked goal) string {
	least := lower.Point{RAMBytes: r.Program.RAMBytes()}
	for _, p := range points {
		if p.RAMBytes < least.RAMBytes && (p.Kernels == asked.kernels || p.Kernels != option.ReferenceKernels) {
			least = p
		}
	}
	if least.Work == 0 || r.Fastest == 0 {
		return ""
	}
	return fmt.Sprintf("; %d bytes can be reached at %.2f times the instructions of the fastest program "+
		"(%v --max-ram %d), %d at %.2f times", least.RAMBytes, least.Work/r.Fastest,
		goal{least.Optimize, least.Kernels}, least.RAMBytes, r.Program.RAMBytes(), r.Predicted()/r.Fastest)
}

// over are the bytes by which budgets are missed.
func (f *Firmware) over() int {
	n := lists.Sum(looked(f.ramGate, f.flashGate), func(g Gate) int { return g.over })
	return max(n, int(f.Models[0].Placement.Missing()))
}

// with is the firmware with another goal.
func (f *Firmware) with(g goal, said []diag.List) (*Firmware, error) {
	var models []*Compiled
	for i, o := range f.Models {
		r, err := o.Lowered.Again(g.optimize, g.kernels)
		if err != nil {
			return nil, err
		}
		x, c := *o, *o.Config
		x.Config, x.Lowered, x.reference, x.Optimize = &c, r, r.Reference, g.optimize
		x.Copies, x.Placement = nil, boards.Placement{}
		c.Optimize, c.Kernels = g.optimize, g.kernels
		c.Diags = slices.DeleteFunc(slices.Clone(said[i]),
			func(d *diag.Diag) bool { return slices.Contains(o.Lowered.Diags, d) })
		c.Diags.Add(r.Diags...)
		models = append(models, &x)
	}
	return newFirmware(models, f.prefixes), nil
}

// become takes over what x is. A dump has the stages of that goal, too.
func (f *Firmware) become(x *Firmware) {
	if x == f {
		return
	}
	f.Files, f.flash, f.waitBound, f.whole = x.Files, x.flash, x.waitBound, x.whole
	for i, o := range x.Models {
		c := f.Models[i].Config
		*c = *o.Config
		o.Config, o.Firmware = c, f
		f.Models[i] = o
		if c.DumpIR != "" {
			fail.Check(f.again(i))
		}
	}
	if f.config().DumpIR != "" {
		fail.Check(f.arrange())
		return
	}
}
