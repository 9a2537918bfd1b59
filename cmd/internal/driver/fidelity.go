package driver

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/fidelity"
	"github.com/nncc/nncc/lower/quant"
)

// costliest is how many layers a warning about lost signal names.
const costliest = 3

// FidelityVerdict compares one output of the program, and what leads to it, with
// the model's own semantics.
type FidelityVerdict struct {
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
	Differs []FidelityDifference `json:"differs,omitempty"`
	// ByRatio are layers within which errors add up (recurrent ones): they are
	// compared by their signal-to-noise ratio, which must reach LeastDB.
	ByRatio []FidelityRatio `json:"by_ratio,omitempty"`
	// Costs are the layers that take most of the signal, where too little is left.
	Costs []FidelityCost `json:"costs,omitempty"`
	Note  string         `json:"note,omitempty"`
}

// FidelityDifference is a layer of the model that the program gets wrong.
type FidelityDifference struct {
	Layer    string  `json:"layer"`
	Tensor   string  `json:"tensor"`
	Elements int     `json:"elements"`
	Wrong    int     `json:"wrong"`
	Max      float64 `json:"max"`
	Allowed  float64 `json:"allowed"`
	Unit     string  `json:"unit"` // steps, ulp, or dB where Max is a ratio and Allowed the least
}

// FidelityRatio is a layer that is compared by its signal-to-noise ratio in dB.
type FidelityRatio struct {
	Layer  string   `json:"layer"`
	Tensor string   `json:"tensor"`
	SQNR   *float64 `json:"sqnr_db"` // null without a signal
	Least  float64  `json:"least_db"`
}

// FidelityCost is a layer with the ratios before and behind it, in dB, on the
// calibration data.
type FidelityCost struct {
	Layer  string  `json:"layer"`
	Before float64 `json:"before_db"`
	After  float64 `json:"after_db"`
}

// Differs reports a verdict that is not what nncc promises: the firmware is not
// the program, the program not the model, a layer not the interpreter's.
func (v *Verdict) Differs() bool {
	return v.Mismatches > 0 || v.FirstWrong != nil || v.unfaithful() > 0
}

// unfaithful counts the layers that the program gets wrong.
func (v *Verdict) unfaithful() int {
	n := 0
	for _, f := range v.Fidelity {
		n += len(f.Differs)
	}
	return n
}

// fidelity compares the program with the model on the cases.
func (o *Compiled) fidelity(v *Verdict, cases []inputCase) error {
	res := o.Lowered
	check, err := fidelity.New(res.Model, res.Whole, fidelity.Options{Slack: res.Slack()})
	if err != nil {
		return err
	}
	model := check.Model() // constants dequantised once
	if res.Model == res.QDQ {
		if model, err = fidelity.NewModel(o.Float); err != nil {
			return err
		}
	}
	program := res.Windows(res.Whole)
	program.Eval = check.Case
	if res.Whole != res.Reference {
		program.Eval = func(in []*tensor.Dense) ([]*tensor.Dense, error) { return o.sameForms(v, check, in) }
	}
	float := res.Windows(model.Graph())
	float.Eval = model.Run
	ratios := make([]fidelity.Ratio, len(float.Graph.Out))
	measured := false
	synthetic := res.Calibration != nil && res.Calibration.Source == quant.SyntheticSource
	given := res.Interface().Inputs()
	for _, k := range cases {
		ours, err := brought(k.inputs, given, program.Inputs())
		if err != nil {
			return err
		}
		got, err := program.Step(ours)
		if err != nil {
			return err
		}
		in, err := brought(k.inputs, given, float.Inputs())
		if err != nil {
			return err
		}
		want, err := float.Step(in)
		if err != nil {
			return err
		}
		if k.seeded && res.Calibration != nil && !synthetic {
			continue // no input that the program was calibrated for
		}
		measured = true
		for i := range want {
			if t := float.Graph.Out[i].Type; t.DType.IsFloat() {
				d, err := fidelity.Real(got[i], program.Graph.Out[i].Type, t)
				if err != nil {
					return err
				}
				ratios[i].Add(want[i], d)
			}
		}
	}
	for i, r := range check.Rows(o.Float.OutNames) {
		if slices.Contains(float.Out, i) {
			continue // state
		}
		f := newFidelityVerdict(r)
		if db, ok := ratios[i].DB(); ok && measured {
			f.SQNR = &db
		}
		switch {
		case synthetic:
			f.Note = "calibrated with synthetic inputs: the ratio says nothing about real ones"
		case res.Calibration != nil && f.SQNR != nil && *f.SQNR < fidelity.LeastDB:
			f.costs(check, res.Calibration)
			o.Config.warn("verify", "fidelity", f.Output, "%s", f.warning())
		}
		v.Fidelity = append(v.Fidelity, f)
	}
	o.said(v)
	if v.Differs() {
		return nil // which weighs more
	}
	return o.Config.strictly()
}

// brought are inputs of one graph as inputs of another.
func brought(in []*tensor.Dense, from, to []*ir.Value) ([]*tensor.Dense, error) {
	out := make([]*tensor.Dense, len(in))
	var err error
	for i, d := range in {
		if out[i], err = fidelity.Real(d, from[i].Type, to[i].Type); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sameForms runs the program as it was before it was brought to an
// accelerator's form, and that form, which must give the same.
func (o *Compiled) sameForms(v *Verdict, check *fidelity.Checker, in []*tensor.Dense) ([]*tensor.Dense, error) {
	outs, err := check.Case(in)
	if err != nil {
		return nil, err
	}
	whole, ref := o.Lowered.Whole, o.Lowered.Reference
	in, err = brought(in, whole.In, ref.In)
	if err != nil {
		return nil, err
	}
	final, err := interp.Run(ref, in, nil)
	if err != nil {
		return nil, err
	}
	for i, d := range final {
		check.Same(i, outs[i], d, ref.Out[i])
	}
	return outs, nil
}

func newFidelityVerdict(r fidelity.Row) FidelityVerdict {
	f := FidelityVerdict{Output: r.Output, Compared: len(r.Stretches)}
	if s := r.Worst; s != nil {
		f.MaxSteps, f.Allowed = finite(s.Off), finite(s.Allowed)
		if s.Off > 0 {
			f.Layer, f.Tensor = s.Layer(), s.Tensor
		}
	}
	if s := r.Float; s != nil {
		f.MaxUlp, f.AllowedUlp = finite(s.Off), finite(s.Allowed)
	}
	for _, s := range r.Within {
		x := FidelityRatio{Layer: s.Layer(), Tensor: s.Tensor, Least: fidelity.LeastDB}
		if db, ok := s.Ratio.DB(); ok {
			x.SQNR = &db
		}
		f.ByRatio = append(f.ByRatio, x)
	}
	for _, s := range r.Wrong {
		d := FidelityDifference{s.Layer(), s.Tensor, s.Elements, s.Wrong, finite(s.Off), finite(s.Allowed), "steps"}
		switch {
		case s.Float:
			d.Unit = "ulp"
		case s.Within:
			d.Unit, d.Allowed = "dB", fidelity.LeastDB
			d.Max, _ = s.Ratio.DB()
		}
		f.Differs = append(f.Differs, d)
	}
	return f
}

// finite is x, or the largest number: JSON has no infinity, which is how far a
// number is from what is none.
func finite(x float64) float64 { return max(min(x, math.MaxFloat64), -math.MaxFloat64) }

// costs adds the layers that take most of the signal.
func (f *FidelityVerdict) costs(check *fidelity.Checker, r *quant.Report) {
	db := map[string]float64{}
	for _, l := range r.Layers {
		db[l.Name] = l.SQNR
	}
	for i, c := range check.Costs(db) {
		if i == costliest || c.Before-c.After < 1 {
			break
		}
		f.Costs = append(f.Costs, FidelityCost{c.Layer, c.Before, c.After})
	}
}

// warning says how little of the signal is left.
func (f *FidelityVerdict) warning() string {
	s := fmt.Sprintf("output %s has %.1f dB of signal to quantisation noise, want %d", f.Output, *f.SQNR,
		fidelity.LeastDB)
	var most []string
	for _, c := range f.Costs {
		most = append(most, fmt.Sprintf("%s (%.1f dB before it, %.1f behind)", c.Layer, c.Before, c.After))
	}
	if len(most) > 0 {
		s += "; most is lost in " + strings.Join(most, ", ")
	}
	return s + "; nncc --sensitivity ranks the layers, --layers-config FILE gives single ones another precision"
}

// fidelityText is the comparison with the model for people.
func (v *Verdict) fidelityText() string {
	if len(v.Fidelity) == 0 {
		return ""
	}
	var b strings.Builder
	rows := [][]string{{"against the model", "compared", "max steps", "allowed", "signal to noise"}}
	for _, f := range v.Fidelity {
		steps, allowed := fmt.Sprint(f.MaxSteps), fmt.Sprint(f.Allowed)
		if f.AllowedUlp > 0 && f.Allowed == 0 {
			steps, allowed = fmt.Sprintf("%.3g ulp", f.MaxUlp), fmt.Sprintf("%g ulp", f.AllowedUlp)
		}
		db := "-"
		if f.SQNR != nil {
			db = fmt.Sprintf("%.1f dB", *f.SQNR)
		}
		rows = append(rows, []string{f.Output, fmt.Sprint(f.Compared), steps, allowed, db})
	}
	b.WriteString(table(rows))
	said := map[string]bool{}
	for _, f := range v.Fidelity {
		for _, d := range f.Differs {
			if said[d.Tensor] {
				continue
			}
			said[d.Tensor] = true
			if d.Unit == "dB" {
				fmt.Fprintf(&b, "not what the model says: %s: %s has %.1f dB of signal to noise, want %g\n", d.Layer,
					d.Tensor, d.Max, d.Allowed)
				continue
			}
			fmt.Fprintf(&b, "not what the model says: %s: %d of %d elements of %s, by up to %.4g %s, allowed %.4g\n",
				d.Layer, d.Wrong, d.Elements, d.Tensor, d.Max, d.Unit, d.Allowed)
		}
	}
	for _, f := range v.Fidelity {
		if f.Note != "" && !said[f.Note] {
			said[f.Note] = true
			fmt.Fprintf(&b, "note: %s\n", f.Note)
		}
	}
	return b.String()
}
