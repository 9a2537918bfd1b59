// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
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
func Calibrate(g *ir.Graph, opt Options) (*ir.Graph, *Report, error) {
	n := len(opt.Samples)
	opt.memory = &memories{}
	plain := opt
	if opt.Try.Method {
		plain.Method = option.MinMax
	}
	plain.BiasCorrection = opt.BiasCorrection && !opt.Try.Bias
	if opt.Try.Rounding {
		plain.Rounding = option.Nearest
	}
	asTold := opt.Source == SyntheticSource || opt.FixedWeights != nil || opt.FixedActivations != nil
	if plain.Method == option.PerLayer && n < fewSamples {
		plain.Method = option.MinMax
	}
	if asTold || n < 2 {
		if !asTold {
			opt = plain
		}
		if opt.Method == option.PerLayer {
			opt.Method = option.MSE
		}
		out := g.Clone()
		r, err := Insert(out, opt)
		if err == nil {
			r.InSample, r.fit = true, opt.Samples
			r.judge(opt.oddData(g, nil))
		}
		return out, r, err
	}
	t := &trials{g: g}
	t.holdOut(opt)
	if plain.Method == option.PerLayer || t.triesMethods(opt) {
		o := plain
		o.Method = option.PerLayer
		if err := t.chooseMethods(o); err != nil {
			return nil, nil, err
		}
	}
	best, err := t.try(plain)
	if err == nil && n >= fewSamples {
		best, err = t.steps(best, opt)
	}
	if err != nil {
		return nil, nil, err
	}
	odd, empty := opt.oddData(g, t.folds[0].seen.held)
	for _, f := range t.folds {
		f.seen.held, f.seen.all.looks = nil, nil
	}
	first := best.parts[0]
	r, err := first.c.report(first.before)
	if err != nil {
		return nil, nil, err
	}
	out := first.g
	r.fit = t.folds[0].fit
	o := best.opt
	if t.mayRefit() && (len(t.folds) > 1 || n < rangesBelow || o.Finish == nil &&
		(o.BiasCorrection || o.Rounding == option.Adaptive)) {
		o.Samples, o.seen = opt.Samples, t.whole
		c, before, err := insert(g.Clone(), o)
		if err != nil {
			return nil, nil, err
		}
		final, err := c.report(before)
		if err != nil {
			return nil, nil, err
		}
		final.figures(r) // of the program that did not see these samples
		r, out = final, c.g
		r.Refitted, r.fit = true, opt.Samples
	}
	r.Samples, r.Tried, r.SQNR, r.InSample = n, t.tried, best.worst, false
	for _, f := range t.folds {
		r.HeldOut += len(f.held)
	}
	r.judge(odd, empty)
	return out, r, nil
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

// mayRefit reports that the program may be made anew from all samples.
func (t *trials) mayRefit() bool {
	n := len(t.whole.all.samples)
	return len(t.folds) > 1 || n < refitBelow || n < 2*refitBelow && work(t.g, n) <= refitWork
}

// cheap reports that calibrating g several times costs little.
func cheap(g *ir.Graph, n int) bool { return work(g, n) <= cheapWork }

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
	db := map[string]float64{}
	for _, l := range of.Layers {
		db[l.Name] = l.SQNR
	}
	for i, l := range r.Layers {
		if x, ok := db[l.Name]; ok {
			r.Layers[i].SQNR = x
		}
	}
}
