// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/option"
)

const (
	// fewSamples is how many samples it takes for steps to be tried: with fewer,
	// nothing tells a gain from chance.
	fewSamples = 4
	// With fewer samples than rangesBelow the program is made anew from all of
	// them, once it is known how; with fewer than refitBelow where weights or biases
	// depend on them.
	rangesBelow, refitBelow = 8, 16
)

// Trial says which steps may be undone: those that nobody asked for.
type Trial struct{ Method, Bias, Rounding bool }

// Tried is a step of calibration that was tried on samples that it did not see.
type Tried struct {
	What string `json:"what"`
	// without the step: the mean over outputs (what stands before a Softmax or Sigmoid) and the last layers
	Before float64 `json:"db_before"`
	After  float64 `json:"db_after"`
	Kept   bool    `json:"kept"`
}

// Calibrate is Insert on a copy of g with samples held out: what Options.Try
// names is kept unless it loses on them, and the report's figures are theirs.
// Where that costs little, every sample is held out once, and the program is made
// from all of them in the end. With one sample nothing is tried, and the figures
// are of it; synthetic samples and fixed-point formats are taken as they are.
func Calibrate(g *ir.Graph, opt Options) (_ *ir.Graph, _ *Report, err error) {
	defer fail.Catch(&err)
	n := len(opt.Samples)
	opt.memory, opt.front = &memories{}, opt.floatFronts(g)
	plain := opt.untried()
	asIs := opt.Source == SyntheticSource || opt.FixedWeights != nil || opt.FixedActivations != nil
	if asIs {
		plain = opt
	}
	if asIs || n < 2 {
		out, r := taken(g, plain)
		return out, r, nil
	}
	t := &trials{g: g}
	t.holdOut(opt)
	if plain.Method == option.PerLayer || t.triesMethods(opt) {
		o := plain
		o.Method = option.PerLayer
		t.chooseMethods(o)
	}
	best := t.try(plain)
	if n >= fewSamples {
		best = t.steps(best, opt)
	}
	odd, empty := opt.oddData(g, t.folds[0].found.held)
	for _, f := range t.folds {
		f.found.held = nil
		for _, n := range f.found.all.noted {
			n.look = nil
		}
	}
	first := best.parts[0]
	r := first.report()
	out := first.g
	r.fit = t.folds[0].fit
	if t.refits(best.opt, n) {
		out, r = t.refit(best.opt, opt.Samples, r)
	}
	r.Samples, r.Tried, r.SQNR, r.InSample = n, t.tried, best.worst, false
	r.HeldOut += lists.Sum(t.folds, func(f *fold) int { return len(f.held) })
	r.judge(odd, empty)
	return out, r, nil
}

// untried are the options without what is to be tried.
func (o Options) untried() Options {
	if o.Try.Method || o.Method == option.PerLayer && len(o.Samples) < fewSamples {
		o.Method = option.MinMax
	}
	o.BiasCorrection = o.BiasCorrection && !o.Try.Bias
	if o.Try.Rounding {
		o.Rounding = option.Nearest
	}
	return o
}

// taken is the program as the options say, with figures of the samples that made it.
func taken(g *ir.Graph, o Options) (*ir.Graph, *Report) {
	if o.Method == option.PerLayer {
		o.Method = option.MSE
	}
	out := g.Clone()
	r := fail.Must(Insert(out, o))
	r.InSample, r.fit = true, o.Samples
	r.judge(o.oddData(g, nil))
	return out, r
}

// refits reports that the program is made from all n samples in the end.
func (t *trials) refits(o Options, n int) bool {
	return t.mayRefit(n) && (len(t.folds) > 1 || n < rangesBelow ||
		o.Finish == nil && (o.BiasCorrection || o.Rounding == option.Adaptive))
}

// refit makes the program from all samples; its figures stay those of held, which did not see some.
func (t *trials) refit(o Options, all []Sample, held *Report) (_ *ir.Graph, _ *Report) {
	o.Samples, o.found = all, t.whole
	c := insert(t.g.Clone(), o)
	r := c.report()
	r.figures(held)
	r.Refitted, r.fit = true, all
	return c.g, r
}

// judge adds what is odd about the samples; figures of data without any content
// are none.
func (r *Report) judge(warnings diag.List, empty bool) {
	r.Warnings = append(r.Warnings, warnings...)
	if empty {
		r.Unknown, r.SQNR = true, 0
	}
}

// cheapWork and refitWork are multiplications: what calibrating several times may
// cost, and doing so twice with a few more samples.
const cheapWork, refitWork = 1 << 26, 3 << 26

// mayRefit reports that the program may be made anew from all n samples.
func (t *trials) mayRefit(n int) bool {
	return len(t.folds) > 1 || n < refitBelow || n < 2*refitBelow && work(t.g, n) <= refitWork
}

// work is about how many multiplications it takes to calibrate g on n samples.
func work(g *ir.Graph, n int) float64 {
	work := 0.0
	for _, x := range g.Nodes {
		if x.Op.MACs != nil {
			work += float64(x.Op.MACs(x)) * float64(n)
		}
		if p := productOf(x); p != nil && p.depth <= maxDepth {
			d := float64(p.depth)
			work += float64(p.groups) * d * d * (d + max(minRows, rowsPerWeight*d)) / 4
		}
	}
	return work
}

// figures takes the signal-to-noise ratios of another report of the same values.
func (r *Report) figures(of *Report) {
	r.worst, r.Costs = of.worst, of.Costs
	layers := lists.By(of.Layers, func(l LayerReport) string { return l.Name })
	for i, l := range r.Layers {
		if x, ok := layers[l.Name]; ok {
			r.Layers[i].SQNR = x.SQNR
		}
	}
}
