// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/fidelity"
	"github.com/nncc/nncc/lower/quant"
)

// reassociated bounds max|a-b| / max|b| of a float output before and after a
// stage that only takes sums in another order.
const reassociated = 1e-4

// Comparison is what a stage did to the outputs.
type Comparison struct {
	Step       string   `json:"stage"`
	Stage      string   `json:"-"`
	Numerics   string   `json:"numerics"`
	Allowed    string   `json:"allowed"`           // in words
	Difference float64  `json:"max_diff"`          // largest max|a-b| / max|b| of an output
	SQNR       *float64 `json:"sqnr_db,omitempty"` // least signal-to-noise ratio of an output in dB; nil: none differs
	Output     string   `json:"output,omitempty"`  // the output with the largest difference; "" where none differs
	Skipped    string   `json:"skipped,omitempty"` // why nothing was compared
	Error      string   `json:"error,omitempty"`   // why the graph could not be interpreted
	Beyond     bool     `json:"beyond"`            // the stage did more than its numerics allow
}

// Bisector interprets the graph after every stage and compares it with the
// graph before. Its method Observe is for Options.Observe.
type Bisector struct {
	// Samples are inputs of the model as it was imported, by name: each has all.
	Samples []map[string]*tensor.Dense
	Stages  []Comparison
	before  [][]result
}

// Guilty is the first stage that did more than its numerics allow; nil: none
// did.
func (b *Bisector) Guilty() *Comparison {
	for i := range b.Stages {
		if b.Stages[i].Beyond {
			return &b.Stages[i]
		}
	}
	return nil
}

// Observe compares the outputs after a stage with those before. Where the graph
// cannot be interpreted, the stage is guilty, and later ones are compared among
// themselves.
func (b *Bisector) Observe(s Step) error {
	c := Comparison{Step: s.Name(), Stage: s.Stage.Name, Numerics: s.Stage.Numerics.String(),
		Allowed: s.Stage.allowed()}
	var after [][]result
	for _, in := range b.Samples {
		out, err := results(s.State, in)
		if err != nil {
			c.Error, c.Beyond, after = err.Error(), true, nil
			break
		}
		after = append(after, out)
	}
	switch {
	case c.Error != "":
	case b.before == nil:
		c.Skipped = "nothing stands before it"
	case !sameOutputs(b.before, after):
		c.Skipped = "the outputs are others from here on"
	default:
		c.compare(s.Stage, b.before, after)
	}
	b.before = after
	b.Stages = append(b.Stages, c)
	return nil
}

func (t *Stage) allowed() string {
	switch t.Numerics {
	case pass.Exact:
		return "nothing"
	case pass.Reassoc:
		return fmt.Sprintf("%g of the largest value", reassociated)
	}
	return fmt.Sprintf("noise %g dB below the signal", t.LeastSQNR)
}

// result is an output as real numbers.
type result struct {
	name string
	real bool // it stands for real numbers: it is no index and no truth value
	data *tensor.Dense
}

// results runs the graph of a state on inputs of the model, as it is fed in the
// firmware, and gives the outputs of the model.
func results(s *State, sample map[string]*tensor.Dense) (_ []result, err error) {
	defer fail.Catch(&err)
	in := lists.Map(s.Graph.In, func(v *ir.Value) *tensor.Dense { return fed(sample[v.Name], v.Type) })
	out := fail.Must(interp.Run(s.Graph, in, nil))
	named := func(g *ir.Graph, out []*tensor.Dense) []result {
		var list []result
		for i, v := range g.Out {
			r := result{g.OutNames[i], v.Type.DType.IsFloat() || v.Type.Quant != nil, out[i]}
			if v.Type.Quant != nil {
				r.data = ir.Dequantise(out[i], v.Type.Quant).Cast(tensor.F32)
			}
			list = append(list, r)
		}
		return list
	}
	native := named(s.Graph, out)
	if s.reconstruction == nil {
		return native, nil
	}
	in = in[:0]
	for _, v := range s.reconstruction.In {
		i := slices.IndexFunc(native, func(r result) bool { return r.name == v.Name })
		fail.If(i < 0, "the graph has no output %s, which is needed to rebuild the model's", v.Name)
		d := out[i]
		if v.Type.DType.IsFloat() { // it moves real numbers, whatever stands for them
			d = native[i].data.Cast(v.Type.DType)
		}
		in = append(in, d)
	}
	out = fail.Must(interp.Run(s.reconstruction, in, nil))
	return named(s.reconstruction, out), nil
}

// fed is a model's input as a graph takes it: quantised, in its type, and with
// zeros or without the rest where the graph takes another shape (padded channels,
// a few frames, state, which begins with zeros).
func fed(d *tensor.Dense, t ir.Type) *tensor.Dense {
	if d == nil || !slices.Equal(d.Shape, t.Shape) {
		d = resized(d, t)
	}
	switch {
	case d.DType == t.DType:
		return d
	case t.Quant != nil && d.DType.IsFloat():
		return ir.QuantiseEven(d.Cast(tensor.F32), t)
	}
	return d.Cast(t.DType)
}

// resized has the elements of d that have a place in the shape of t.
func resized(d *tensor.Dense, t ir.Type) *tensor.Dense {
	if d == nil {
		return tensor.New(t.DType, t.Shape)
	}
	if len(d.Shape) != len(t.Shape) {
		if d.Len() == t.Elems() {
			return d.Reshaped(t.Shape)
		}
		return tensor.New(t.DType, t.Shape)
	}
	return framed(d, t.Shape, func(*tensor.Dense, int) {})
}

func sameOutputs(a, b [][]result) bool {
	return slices.EqualFunc(a, b, func(a, b []result) bool {
		return slices.EqualFunc(a, b, func(x, y result) bool {
			return x.name == y.name &&
				x.data.Len() == y.data.Len()
		})
	})
}

func (c *Comparison) compare(t *Stage, before, after [][]result) {
	least := math.Inf(1)
	for k := range before {
		for i, was := range before[k] {
			is := after[k][i]
			d := interp.Diff(is.data, was.data)
			if d > c.Difference {
				c.Difference, c.Output = d, was.name
			}
			snr := interp.SQNR(is.data, was.data)
			least = min(least, snr)
			switch {
			case t.Numerics == pass.Exact:
				c.Beyond = c.Beyond || d > 0
			case t.Numerics == pass.Reassoc:
				c.Beyond = c.Beyond || d > reassociated
			default:
				c.Beyond = c.Beyond || was.real && snr < t.LeastSQNR
			}
		}
	}
	if c.Difference > 0 {
		c.SQNR = &least
	}
}

// Difference compares one output over the inputs tried.
type Difference struct {
	Output string  `json:"output"`
	Min    float64 `json:"min"` // of rewritten minus original
	Max    float64 `json:"max"`
	MaxAbs float64 `json:"max_abs"`
	// Relative is the largest magnitude of the difference over that of the output.
	Relative float64 `json:"relative"`
	// Equal: all elements have the same bits, up to the sign of zeros.
	Equal bool `json:"equal"`
}

func (d Difference) String() string {
	if d.Equal {
		return fmt.Sprintf("output %s: equal to the original", d.Output)
	}
	return fmt.Sprintf("output %s: difference to the original min %.3g, max %.3g, max |diff| %.3g, %.2g of the "+
		"largest value", d.Output, d.Min, d.Max, d.MaxAbs, d.Relative)
}

// RoundingOfSums is what sums taken in another order may differ by, of the
// largest value of an output.
const RoundingOfSums = 1e-5

// Differ says which outputs of a rewritten float model are further apart than
// rounding explains, or apart at all where exact says that only data was moved.
func Differ(ds []Difference, exact bool) error {
	var bad []string
	for _, d := range ds {
		switch {
		case d.Equal:
		case exact:
			bad = append(bad, d.String()+"; only data was moved, so it must be equal")
		case !(d.Relative <= RoundingOfSums):
			bad = append(bad, fmt.Sprintf("%s; at most %g is rounding", d, RoundingOfSums))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("the rewritten model differs: %s", strings.Join(bad, "\n"))
	}
	return nil
}

// Differences runs two float graphs with the same outputs on cases of inputs.
// Inputs of b that are wider than those of a get values in what is behind.
func Differences(a, b *ir.Graph, cases [][]*tensor.Dense) (_ []Difference, err error) {
	defer fail.Catch(&err)
	out := make([]Difference, len(a.Out))
	top := make([]float64, len(a.Out))
	for i := range out {
		out[i] = Difference{Output: a.OutNames[i], Min: math.Inf(1), Max: math.Inf(-1), Equal: true}
	}
	for _, in := range cases {
		x := fail.Must(interp.Run(a, in, nil))
		y := fail.Must(interp.Run(b, Widened(in, b.In), nil))
		for i := range x {
			top[i] = max(top[i], out[i].add(x[i], y[i]))
		}
	}
	for i := range out {
		out[i].finish(top[i])
	}
	return out, nil
}

// add compares y with x, and gives the largest magnitude in x.
func (d *Difference) add(x, y *tensor.Dense) float64 {
	top := 0.0
	for e, n := 0, x.Len(); e < n; e++ {
		u, v := x.Float(e), y.Float(e)
		if u == v || u != u && v != v {
			d.Min, d.Max = min(d.Min, 0), max(d.Max, 0)
		} else {
			d.Min, d.Max, d.Equal = min(d.Min, v-u), max(d.Max, v-u), false
		}
		if !math.IsInf(u, 0) && u == u {
			top = max(top, math.Abs(u))
		}
	}
	return top
}

// finish follows from the elements compared; top is their largest magnitude.
func (d *Difference) finish(top float64) {
	if d.Min > d.Max { // no elements
		d.Min, d.Max = 0, 0
	}
	d.MaxAbs = max(-d.Min, d.Max)
	if !d.Equal {
		d.Relative = d.MaxAbs / max(top, math.SmallestNonzeroFloat32)
	}
	for _, f := range []*float64{&d.Min, &d.Max, &d.MaxAbs, &d.Relative} {
		if *f != *f || math.IsInf(*f, 0) { // JSON has no such numbers
			*f = math.Copysign(math.MaxFloat64, *f)
		}
	}
}

// Widened are inputs of the model as the program takes them: where --pad-input
// added channels, these get values that would show if they mattered.
func Widened(in []*tensor.Dense, as []*ir.Value) []*tensor.Dense {
	out := slices.Clone(in)
	for i, d := range in {
		to := as[i].Type.Shape
		if slices.Equal(d.Shape, to) {
			continue
		}
		out[i] = framed(d, to, func(x *tensor.Dense, e int) {
			if d.DType.IsFloat() {
				x.SetFloat(e, float64(e%7)-3)
			} else {
				x.SetInt(e, int64(e*37%100))
			}
		})
	}
	return out
}

// framed are the elements of d that have a place in another shape of its rank; outside gives the others.
func framed(d *tensor.Dense, shape []int, outside func(x *tensor.Dense, e int)) *tensor.Dense {
	x := tensor.New(d.DType, shape)
	from, to := tensor.Strides(d.Shape), tensor.Strides(shape)
	for e := range x.Len() {
		at, inside := 0, true
		for k, n := range shape {
			c := e / to[k] % n
			inside = inside && c < d.Shape[k]
			at += c * from[k]
		}
		if inside {
			x.CopyElem(e, d, at)
		} else {
			outside(x, e)
		}
	}
	return x
}

// heldOut are samples that calibration does not see, with what the float model makes
// of them.
type heldOut struct {
	float   *ir.Graph
	samples []quant.Sample
	want    [][]*tensor.Dense
}

// leastHeld are the samples from which on every second one is held out: fewer are used
// for both.
const leastHeld = 8

// holdOut takes every second sample away from the calibration of s.
func holdOut(s *State) *heldOut {
	q := &s.facts.Quant
	h := &heldOut{float: s.Graph.Clone(), samples: q.Samples}
	if len(q.Samples) >= leastHeld {
		var fit []quant.Sample
		h.samples = nil
		for i, x := range q.Samples {
			if i%2 == 0 {
				fit = append(fit, x)
			} else {
				h.samples = append(h.samples, x)
			}
		}
		q.Samples = fit
	}
	h.want = make([][]*tensor.Dense, len(h.samples))
	quant.ParallelEach(len(h.samples), func(i int) { h.want[i] = fail.Must(interp.Run(h.float, h.samples[i], nil)) })
	return h
}

// worst is the ratio of the worst output of a graph in dB.
func (h *heldOut) worst(g *ir.Graph) float64 {
	got := make([][]*tensor.Dense, len(h.samples))
	quant.ParallelEach(len(h.samples), func(i int) {
		in := fail.Must(Converted(h.samples[i], h.float.In, g.In))
		got[i] = fail.Must(Converted(fail.Must(interp.Run(g, in, nil)), g.Out, h.float.Out))
	})
	worst := math.Inf(1)
	for o := range h.float.Out {
		var r interp.Ratio
		for i := range got {
			r.Add(h.want[i][o], got[i][o])
		}
		if db, ok := r.DB(); ok {
			worst = min(worst, db)
		}
	}
	return worst
}

// Converted are values of one graph in the types of another's.
func Converted(list []*tensor.Dense, from, to []*ir.Value) (_ []*tensor.Dense, err error) {
	defer fail.Catch(&err)
	return lists.Make(len(list), func(i int) *tensor.Dense {
		d, t := list[i], to[i].Type
		if t.Quant != nil && d.DType.IsFloat() {
			return ir.QuantiseEven(d, t).Reshaped(t.Shape)
		}
		return fail.Must(fidelity.Real(d, from[i].Type, t))
	}), nil
}
