// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/quant"
)

// Quantisation is a float model with QuantizeLinear and DequantizeLinear nodes.
type Quantisation struct {
	Graph       *ir.Graph
	Rewrites    []pass.Rewrite // before it was quantised
	Calibration *quant.Report
	Precision   string    // of its layers, as Findings.Precision
	Diags       diag.List // also where there is an error
}

// Quantise legalises and quantises a float model, which it consumes, and keeps the
// types of its inputs and outputs.
func Quantise(g *ir.Graph, q quant.Options, legalize bool) (r *Quantisation, err error) {
	defer fail.Catch(&err)
	r = &Quantisation{}
	// Halves are rounded away from zero in fixed point; QuantizeLinear would
	// round them to even, so the model spells the rounding out.
	q.SpellRounding = q.FixedActivations != nil
	single := r.prepare(g, &q, legalize)
	r.Graph, r.Calibration = fail.Must2(quant.Calibrate(g, q))
	r.Diags.Add(r.Calibration.Diagnostics().From("quantize")...)
	integers := r.Graph.Clone() // as it will be
	fail.Check(quant.Integer(integers, quant.IntegerOptions{}))
	r.Precision, _ = precisionOf(integers)
	if single != nil { // the model's interface stays
		return r, single.Border(r.Graph, nil)
	}
	return r, nil
}

// prepare brings a model to float32, with its calibration data, and legalises it; nil
// where it is float32 already.
func (r *Quantisation) prepare(g *ir.Graph, q *quant.Options, legalize bool) *Single {
	s := fail.Must(ToSingle(g))
	if s != nil {
		q.Samples = s.Samples(q.Samples)
		r.Diags.Add(s.Notes.From("single")...)
	}
	if q.Calibrated() {
		r.Diags.Add(staticScales(&pass.Ctx{}, g).From("static-scales")...)
	}
	r.Rewrites = fail.Must(Legalise(g, legalize))
	fail.Check(quant.ScaleBorders(g, *q))
	return s
}

// Sensitivity ranks the layers of a float model by what their quantisation costs.
type Sensitivity struct {
	Samples int               `json:"samples"`
	Layers  []quant.LayerCost `json:"layers"`
	// All is the signal-to-noise ratio with every layer quantised, in dB.
	All float64 `json:"all_sqnr_db"`
}

// RankLayers quantises one layer of a float model, which it consumes, at a time; note,
// which may be nil, hears how many of all are done. The diagnostics are those of an
// error, too.
func RankLayers(g *ir.Graph, q quant.Options, legalize bool, note func(done, all int)) (s *Sensitivity, said diag.List,
	err error) {
	r := &Quantisation{}
	defer func() { said = r.Diags }()
	defer fail.Catch(&err)
	r.prepare(g, &q, legalize)
	layers := fail.Must(quant.Sensitivity(g, q, note))
	_, c := fail.Must2(quant.Calibrate(g, q))
	r.Diags.Add(c.Diagnostics().From("quantize")...)
	return &Sensitivity{Samples: len(q.Samples), Layers: layers, All: c.SQNR}, nil, nil
}

// staticScales is the stage static-scales on g.
func staticScales(c *pass.Ctx, g *ir.Graph) diag.List {
	names := legal.StaticScales(c, g)
	if len(names) == 0 {
		return nil
	}
	return diag.List{diag.Notef("static-scales", names[0], "%d tensors that the model quantises at run time get fixed "+
		"scales from --calib, which takes fewer instructions; --precision float32 keeps the model's way",
		len(names))}
}

func (s *State) staticScales() {
	s.Diags.Add(staticScales(s.ctx, s.Graph)...)
}
