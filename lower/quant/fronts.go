// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// What a model computes of its inputs before the first layers with weights may be such that integers
// with one scale lose it: squares and roots of channels in units of their own, deviations in windows. It
// stays float there, and those layers read integers with a factor for each channel.

// leastFront is the signal-to-noise ratio in dB that the first layers have to have of integers.
const leastFront = 20

// mostTried is how many samples tell of it.
const mostTried = 8

// front is a layer with what stands before it and stays float, and the layer.
type front struct {
	layer *ir.Node
	made  map[*ir.Node]bool
}

func (r *region) fronts() (found []front) {
	if !r.opt.Calibrated() {
		return nil
	}
	kept := keptOf(r.g, r.opt)
	for _, n := range r.g.Nodes {
		made := map[*ir.Node]bool{n: true}
		if rule, ok := ruleFor(n); !ok || kept[n.ID] || rule.weight < 0 && rule.params == nil ||
			!madeBefore(n.In[0], made, kept) || !worthTrying(n, made) {
			continue
		}
		if db, err := r.ofIntegers(n, made, n.In[0], mostTried); err == nil && !(db >= leastFront) {
			found = append(found, front{n, made})
		}
	}
	return found
}

// worthTrying reports that something is computed before n, and not too much.
func worthTrying(n *ir.Node, made map[*ir.Node]bool) (computes bool) {
	work := int64(0)
	for m := range made {
		work += ir.Work(m)
		computes = computes || m != n && m.Op.Quant != ir.QMove && m.Op != op.ChannelAffine
	}
	return computes && work <= mostProbed
}

// floatFronts are the nodes before first layers that stay float, by number.
func (o *Options) floatFronts(g *ir.Graph) map[int]bool {
	float := map[int]bool{}
	for _, f := range emptyRegion(g, o).fronts() {
		for n := range f.made {
			float[n.ID] = float[n.ID] || n != f.layer
		}
	}
	return float
}

// scaleFronts puts a ChannelAffine behind what stays float, as behind inputs.
func scaleFronts(g *ir.Graph, opt *Options) {
	r := emptyRegion(g, opt)
	for _, f := range r.fronts() {
		if v := f.layer.In[0]; v.Def != nil && v.Def.Op != op.ChannelAffine && r.trails[v] == nil {
			r.begin(v)
		}
	}
	if len(r.sources) == 0 {
		return
	}
	r.scale(r.ranges())
}

// keptOf are the nodes that compute with each channel of inputs alone, by number.
func keptOf(g *ir.Graph, opt *Options) map[int]bool {
	kept := map[int]bool{}
	r := emptyRegion(g.Clone(), opt)
	for _, v := range r.g.In {
		if v.Type.DType == tensor.F32 {
			r.begin(v)
		}
	}
	fail.Caught(func() { // what cannot be followed is not kept
		if r.alongUnits(r.ranges()) {
			r.trace()
			for n := range r.kepts {
				kept[n.ID] = true
			}
		}
	})
	return kept
}

// madeBefore adds the nodes that make v of inputs; false where one of them has weights for several
// channels, or is none of these for another reason.
func madeBefore(v *ir.Value, made map[*ir.Node]bool, kept map[int]bool) bool {
	if v == nil || v.Def == nil || made[v.Def] {
		return true
	}
	n := v.Def
	mixes := weightAxis(n) >= 0 && (n.Op != op.Conv || n.In[1].Type.Shape[1] > 1) || recurrentGates[n.Op] != nil
	if mixes && !kept[n.ID] || n.Op.Spectral || n.Op.Impure || len(n.Body) > 0 || n.Op.Eval == nil {
		return false
	}
	made[n] = true
	return !slices.ContainsFunc(n.In, func(x *ir.Value) bool { return !madeBefore(x, made, kept) })
}

// ofIntegers is the signal-to-noise ratio in dB of a node's result where the values that it is made of,
// but one that is excepted, are quantised.
func (r *region) ofIntegers(n *ir.Node, made map[*ir.Node]bool, except *ir.Value, most int) (db float64, err error) {
	defer fail.Catch(&err)
	ranges := map[*ir.Value]interval{}
	result := func(in Sample, each func(v *ir.Value, d *tensor.Dense) *tensor.Dense) []float64 {
		values := map[*ir.Value]*tensor.Dense{}
		for i, v := range r.g.In {
			values[v] = each(v, in[i].Reshaped(v.Type.Shape))
		}
		for _, m := range r.g.Nodes {
			if made[m] {
				out := fail.Must(ir.EvalOn(m, func(v *ir.Value) *tensor.Dense { return values[v] }))
				for i, v := range m.Out {
					values[v] = each(v, out[i])
				}
			}
		}
		return values[n.Out[0]].Floats()
	}
	note := func(v *ir.Value, d *tensor.Dense) *tensor.Dense {
		if v != except && v != n.Out[0] && d.DType == tensor.F32 && !evened(v) {
			e, ok := ranges[v]
			if !ok {
				e = nothing
			}
			one := rangeOf(tensor.As[float32](d))
			ranges[v] = e.union(interval{one.lo, one.hi})
		}
		return d
	}
	coarse := func(v *ir.Value, d *tensor.Dense) *tensor.Dense {
		e, ok := ranges[v]
		if !ok {
			return d
		}
		t := v.Type.WithQuant(tensor.I8, affineOf(e.lo, e.hi).quant())
		if r.data(n) == tensor.I16 {
			t = v.Type.WithQuant(tensor.I16, symmetric16(e.lo, e.hi).quant())
		}
		return ir.Dequantise(ir.QuantiseEven(d, t), t.Quant).Cast(tensor.F32)
	}
	var want, got []float64
	samples := r.opt.Samples[:min(len(r.opt.Samples), most)]
	for _, s := range samples {
		want = append(want, result(s, note)...)
	}
	for _, s := range samples {
		got = append(got, result(s, coarse)...)
	}
	return ratioOf(want, got), nil
}

// ratioOf is a signal-to-noise ratio in dB.
func ratioOf(want, got []float64) float64 {
	mean, signal, noise := 0.0, 0.0, 0.0
	for _, x := range want {
		mean += x / float64(len(want))
	}
	for i, x := range want {
		signal, noise = signal+(x-mean)*(x-mean), noise+(x-got[i])*(x-got[i])
	}
	return 10 * math.Log10(signal/noise)
}
