// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/fidelity"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
)

// Fidelity compares one output of the program, and what leads to it, with
// the model's own semantics.
type Fidelity struct {
	Output string `json:"output"`
	// MaxSteps is the largest difference between two quantised tensors of the
	// model, in steps of the second, where the first is what the program gave;
	// Allowed what it may be at that place.
	MaxSteps float64 `json:"max_steps"`
	Allowed  float64 `json:"allowed"`
	// Layer and Tensor are where that is.
	Layer  string `json:"layer,omitempty"`
	Tensor string `json:"tensor,omitempty"`
	// MaxUlp is the same for what is float in the program, too, in units in the
	// last place of the largest magnitude.
	MaxUlp     float64 `json:"max_ulp,omitempty"`
	AllowedUlp float64 `json:"allowed_ulp,omitempty"`
	// SQNR is the signal-to-noise ratio of the output in dB, with the errors of
	// all layers; null for an output of indices or truth values, and without a
	// signal.
	SQNR *float64 `json:"sqnr_db"`
	// Compared counts the tensors that were compared on the way.
	Compared int `json:"compared"`
	// Differs are the layers that are farther off than allowed.
	Differs []Difference `json:"differs,omitempty"`
	// ByRatio are layers within which errors add up (recurrent ones): they are
	// compared by their signal-to-noise ratio, which must reach LeastDB.
	ByRatio []Ratio `json:"by_ratio,omitempty"`
	// Costs are the layers that take most of the signal, where too little is left.
	Costs []quant.Loss `json:"costs,omitempty"`
	Note  string       `json:"note,omitempty"`
	// Warning says how little of the signal is left; "": enough is, or calibration has said so.
	Warning string `json:"-"`
}

// Difference is a layer of the model that the program gets wrong.
type Difference struct {
	Layer    string  `json:"layer"`
	Tensor   string  `json:"tensor"`
	Elements int     `json:"elements"`
	Wrong    int     `json:"wrong"`
	Max      float64 `json:"max"`
	Allowed  float64 `json:"allowed"`
	Unit     string  `json:"unit"` // steps, ulp, or dB where Max is a ratio and Allowed the least
}

// Text is the difference on one line.
func (d Difference) Text() string {
	if d.Unit == "dB" {
		return fmt.Sprintf("%s: %s has an SQNR of %.1f dB, want %g", d.Layer, d.Tensor, d.Max, d.Allowed)
	}
	return fmt.Sprintf("%s: %d of %d elements of %s, by up to %.4g %s, allowed %.4g", d.Layer, d.Wrong, d.Elements,
		d.Tensor, d.Max, d.Unit, d.Allowed)
}

// Ratio is a layer that is compared by its signal-to-noise ratio in dB.
type Ratio struct {
	Layer  string   `json:"layer"`
	Tensor string   `json:"tensor"`
	SQNR   *float64 `json:"sqnr_db"` // null without a signal
	Least  float64  `json:"least_db"`
}

// Model compares the program with the model, as it was imported (float), on the
// cases: a row for every output that is no state.
func Model(r *lower.Result, float *ir.Graph, cases []Case) (_ []Fidelity, err error) {
	defer fail.Catch(&err)
	c := newModelCheck(r, float)
	for _, k := range cases {
		c.run(k)
	}
	return c.rows(float.OutNames), nil
}

// modelCheck runs a program and its model side by side.
type modelCheck struct {
	lowered        *lower.Result
	check          *fidelity.Checker
	program, model *state.Runner
	ratios         []interp.Ratio // of the outputs
	measured       bool           // a case has counted for them
	synthetic      bool           // no real input is known
}

func newModelCheck(r *lower.Result, float *ir.Graph) *modelCheck {
	check := fail.Must(fidelity.New(r.Model, r.Whole, r.Slack()))
	model := check.Model() // constants dequantised once
	if r.Model == r.QDQ {
		model = fail.Must(fidelity.NewModel(float))
	}
	c := &modelCheck{lowered: r, check: check, program: r.Windows(r.Whole), model: r.Windows(model.Graph()),
		ratios:    make([]interp.Ratio, len(model.Graph().Out)),
		synthetic: r.Calibration != nil && r.Calibration.Source == quant.SyntheticSource}
	c.program.Eval, c.model.Eval = check.Case, model.Run
	if r.Whole != r.Reference {
		c.program.Eval = c.bothForms
	}
	return c
}

// run compares one case.
func (c *modelCheck) run(k Case) {
	given := c.lowered.Interface().Inputs()
	got := step(c.program, k.Inputs, given)
	want := step(c.model, k.Inputs, given)
	if k.Seeded && c.lowered.Calibration != nil && !c.synthetic {
		return // no input that the program was calibrated for
	}
	c.measured = true
	for i := range want {
		if t := c.model.Graph.Out[i].Type; t.DType.IsFloat() {
			c.ratios[i].Add(want[i], fail.Must(fidelity.Real(got[i], c.program.Graph.Out[i].Type, t)))
		}
	}
}

// rows are the results.
func (c *modelCheck) rows(names []string) []Fidelity {
	var out []Fidelity
	for i, r := range c.check.Rows(names) {
		if slices.Contains(c.model.Out, i) {
			continue // state
		}
		f := newFidelity(r)
		if db, ok := c.ratios[i].DB(); ok && c.measured {
			f.SQNR = &db
		}
		switch {
		case c.synthetic:
			f.Note = "calibrated with synthetic inputs: the ratio says nothing about real ones"
		case c.lowered.Calibration != nil && f.SQNR != nil && *f.SQNR < quant.LeastDB:
			f.Costs = c.lowered.Calibration.Costs
			if !c.lowered.Calibration.Warned(f.Output) {
				f.Warning = quant.Lost(f.Output, *f.SQNR, quant.LeastDB, f.Costs)
			}
		}
		out = append(out, f)
	}
	return out
}

// step runs one step on inputs of another graph.
func step(r *state.Runner, in []*tensor.Dense, from []*ir.Value) []*tensor.Dense {
	in = fail.Must(lower.Converted(in, from, r.Inputs()))
	return fail.Must(r.Step(in))
}

// bothForms runs the program as it was before it was rearranged for an accelerator,
// and the rearranged form, which must give the same.
func (c *modelCheck) bothForms(in []*tensor.Dense) (_ []*tensor.Dense, err error) {
	defer fail.Catch(&err)
	outs := fail.Must(c.check.Case(in))
	ref := c.lowered.Reference
	if in, err = lower.Converted(in, c.lowered.Whole.In, ref.In); err != nil {
		return nil, err
	}
	final := fail.Must(interp.Run(ref, in, nil))
	values := map[*ir.Value]*tensor.Dense{}
	for i, v := range ref.Out {
		values[v] = final[i]
	}
	spread := sync.OnceValues(func() (map[*ir.Value][]float64, error) {
		return fidelity.Spread(ref, in, values, c.lowered.FloatSteps)
	})
	for i, d := range final {
		v := ref.Out[i]
		if err := c.check.Same(i, outs[i], d, v, func() ([]float64, error) {
			s, err := spread()
			return realBounds(s[v], d, v.Type), err
		}); err != nil {
			return nil, err
		}
	}
	return outs, nil
}

// realBounds is how far elements may be off that move by spread, as reals: those that
// floats lead to, where another order rounds otherwise.
func realBounds(spread []float64, d *tensor.Dense, t ir.Type) []float64 {
	out := make([]float64, d.Len())
	limit, step := 0.0, func(int) float64 { return 1 }
	switch {
	case d.DType.IsFloat():
		limit = fidelity.Limit(d)
	case t.Quant != nil:
		c := ir.ChannelOf(d.Shape, t.Quant)
		step = func(i int) float64 { return float64(t.Quant.ScaleAt(c(i))) }
	}
	for i := range out {
		out[i] = limit
		if spread != nil {
			out[i] += 2 * spread[i] * step(i)
		}
	}
	return out
}

func newFidelity(r fidelity.Row) Fidelity {
	f := Fidelity{Output: r.Output, Compared: len(r.Stretches)}
	if s := r.Worst; s != nil {
		f.MaxSteps, f.Allowed = Finite(s.Off), Finite(s.Allowed)
		if s.Off > 0 {
			f.Layer, f.Tensor = s.Layer(), s.Tensor
		}
	}
	if s := r.Float; s != nil {
		f.MaxUlp, f.AllowedUlp = Finite(s.Off), Finite(s.Allowed)
	}
	for _, s := range r.Within {
		x := Ratio{Layer: s.Layer(), Tensor: s.Tensor, Least: quant.LeastDB}
		if db, ok := s.Ratio.DB(); ok {
			x.SQNR = &db
		}
		f.ByRatio = append(f.ByRatio, x)
	}
	for _, s := range r.Wrong {
		d := Difference{s.Layer(), s.Tensor, s.Elements, s.Wrong, Finite(s.Off), Finite(s.Allowed), "steps"}
		switch {
		case s.Float:
			d.Unit = "ulp"
		case s.Within:
			d.Unit, d.Allowed = "dB", quant.LeastDB
			d.Max, _ = s.Ratio.DB()
		}
		f.Differs = append(f.Differs, d)
	}
	return f
}

// Finite is x, or the largest number of its sign: JSON has no infinity.
func Finite(x float64) float64 { return max(min(x, math.MaxFloat64), -math.MaxFloat64) }

// triedInputs is how many seeded inputs two models are compared on, behind those
// given.
const triedInputs = 3

// Rewritten runs a model and its rewritten form on the inputs given, which may be nil,
// and on seeded ones. differs says which outputs are further apart than rounding
// explains, or apart at all where exact says that only data was moved; failed, why the
// model does not run: not every one takes seeded inputs, which is no fault of the
// rewrites.
func Rewritten(a, b *ir.Graph, given []*tensor.Dense, exact bool) (ds []lower.Difference, differs, failed, err error) {
	var cases [][]*tensor.Dense
	if given != nil {
		cases = append(cases, given)
	}
	for k := range triedInputs {
		cases = append(cases, Seeded(state.New(a, nil), k, 4))
	}
	if _, err := interp.Run(a, cases[0], nil); err != nil {
		return nil, nil, err, nil
	}
	if ds, err = lower.Differences(a, b, cases); err != nil {
		return nil, nil, nil, err
	}
	if lower.Quantised(a) {
		return ds, nil, nil, nil // rounding upstream of a QuantizeLinear becomes a step: no bound holds
	}
	return ds, lower.Differ(ds, exact), nil, nil
}
