// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/fidelity"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
)

// Output is the comparison of one output over all cases.
type Output struct {
	Name       string  `json:"name"`
	Elements   int     `json:"elements"`
	Mismatches int     `json:"mismatches"`
	MaxAbsDiff float64 `json:"max_abs_diff"`
	// UlpBound is how far a float output may be from the reference interpreter, in
	// units in the last place of its largest magnitude.
	UlpBound float64 `json:"ulp_bound"`
	// StepBound is 1 for integers that are quantised from a float layer: a
	// value on the edge between two steps may fall to either side.
	StepBound int `json:"step_bound,omitempty"`
	// Amplified is the most that was allowed beyond that, because the interpreter's
	// own results move by half as much when its floats are rounded otherwise.
	Amplified float64 `json:"amplified,omitempty"`
	Tolerance float64 `json:"tolerance,omitempty"`
}

// Firmware compares what a firmware gave, case by case, with what the interpreter
// gives.
type Firmware struct {
	Outputs []Output // in the order of the firmware's interface
	Golden  []Output // against stored outputs; nil until a case has some

	lowered   *lower.Result
	reference *state.Runner
	tolerance float64         // of stored outputs
	full      []*tensor.Dense // inputs of the reference in the case
}

// NewFirmware prepares the comparison of a program with the graph that says what it
// computes.
func NewFirmware(r *lower.Result, reference *ir.Graph, tolerance float64) *Firmware {
	f := &Firmware{lowered: r, reference: r.Windows(reference), tolerance: tolerance, Outputs: []Output{}}
	f.reference.Eval = func(in []*tensor.Dense) ([]*tensor.Dense, error) {
		f.full = in
		return interp.Run(reference, in, nil)
	}
	for _, i := range r.Ports().Outputs() {
		v, o := r.Graph.Out[i], Output{Name: r.Graph.OutNames[i]}
		if v.Type.DType.IsFloat() {
			o.UlpBound = fidelity.Ulps(v.Type.DType)
		} else if FromFloat(v) {
			o.StepBound = 1
		}
		f.Outputs = append(f.Outputs, o)
	}
	return f
}

// Case compares the bytes of the outputs that the firmware gave for a case. It
// counts the elements that are wrong, and those that differ from stored outputs.
func (f *Firmware) Case(k Case, outputs [][]byte) (wrong, golden int, err error) {
	defer fail.Catch(&err)
	want := fail.Must(f.reference.Step(k.Inputs))
	g := f.reference.Graph
	moves := &movement{g: g, in: f.full, of: map[*ir.Value]*tensor.Dense{}}
	for i, v := range g.Out {
		moves.of[v] = want[i]
	}
	theirs := f.reference.Outputs()
	for i, at := range f.lowered.Ports().Outputs() {
		t := f.lowered.Graph.Out[at].Type
		got := fail.Must(FromMemory(outputs[i], t))
		o := &f.Outputs[i]
		n, diff, more := moves.differ(got, g.Out[theirs[i]], o.StepBound)
		o.Amplified = max(o.Amplified, more)
		o.Elements += got.Len()
		o.Mismatches += n
		o.MaxAbsDiff = max(o.MaxAbsDiff, diff)
		wrong += n
		if k.Golden != nil {
			golden += f.compareGolden(i, got, t, k.Golden)
		}
	}
	return wrong, golden, nil
}

// compareGolden compares an output with the stored one, and counts what differs.
func (f *Firmware) compareGolden(i int, got *tensor.Dense, t ir.Type, gold []*tensor.Dense) int {
	if f.Golden == nil {
		for _, o := range f.Outputs {
			f.Golden = append(f.Golden, Output{Name: o.Name, Tolerance: f.tolerance})
		}
	}
	if i >= len(gold) || gold[i] == nil {
		return 0
	}
	o, want, wrong := &f.Golden[i], gold[i], 0
	if want.DType.IsFloat() {
		got = Dequantised(got, t)
	}
	if want.Len() != got.Len() {
		o.Mismatches += want.Len()
		return want.Len()
	}
	for k := range want.Len() {
		d := math.Abs(got.Float(k) - want.Float(k))
		o.MaxAbsDiff = max(o.MaxAbsDiff, d)
		if !(d <= f.tolerance) {
			wrong++
		}
	}
	o.Mismatches += wrong
	o.Elements += want.Len()
	return wrong
}

// Reals takes a step and gives the outputs that the caller sees, integers that stand
// for reals dequantised.
func Reals(r *state.Runner, in []*tensor.Dense) ([]*tensor.Dense, error) {
	outs, err := r.Step(in)
	if err != nil {
		return nil, err
	}
	all := lists.Map(r.Outputs(), func(i int) *tensor.Dense { return Dequantised(outs[i], RealType(r.Graph.Out[i])) })
	return all, nil
}

// RealType is the type of a value with its quantisation, which in a model that has its
// own stands in the QuantizeLinear that makes it, before whatever moves data.
func RealType(v *ir.Value) ir.Type {
	for x := v; x.Type.Quant == nil && x.Def != nil; x = x.Def.In[0] {
		if x.Def.Op == op.QuantizeLinear {
			if t, ok := quant.Params(x.Def); ok {
				return v.Type.WithQuant(v.Type.DType, t.Quant)
			}
			break
		}
		if x.Def.Op.Quant != ir.QMove || len(x.Def.In) == 0 || x.Def.In[0] == nil {
			break
		}
	}
	return v.Type
}
