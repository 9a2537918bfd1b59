// SPDX-License-Identifier: Apache-2.0

package fidelity

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// draws is how often a stretch is evaluated with its values moved: once all up,
// once all down, so that what lies on an edge gets to both sides of it, and then
// at random.
const draws = 24

// shift is by how much of the most a float is moved in a draw, -1 to 1.
func shift(draw int, r *rand.Rand) float64 {
	switch draw {
	case 0:
		return 1
	case 1:
		return -1
	}
	return 2*r.Float64() - 1
}

// roundings is by how many units in the last place floats are moved: as much as
// another order of summation gives.
const roundings = 4

// spread is how far each element at the end of a stretch moves when the values
// on the way do as they legitimately may: floats by roundings, quantised tensors
// that the program does not have by Steps. It is next to nothing but where a
// comparison, a rounding or an index jumps, and where errors are amplified.
func (c *Checker) spread(s *Stretch, want *tensor.Dense, fed map[*ir.Value]*tensor.Dense) []float64 {
	out := make([]float64, want.Len())
	r := rand.New(rand.NewPCG(uint64(len(out)), 12))
	for k := range draws {
		env := map[*ir.Value]*tensor.Dense{}
		get := func(v *ir.Value) *tensor.Dense {
			switch {
			case env[v] != nil:
				return env[v]
			case fed[v] != nil:
				return fed[v]
			}
			return c.model.fixed[v]
		}
		for _, n := range s.nodes {
			res := fail.Must(ir.EvalOn(n, rounded(k, r, n, get)))
			for i, v := range n.Out {
				if env[v] = res[i]; v != s.value {
					env[v] = moved(k, r, n, res[i], Steps)
				}
			}
		}
		end := s.end(get(s.value))
		for i := range out {
			out[i] = max(out[i], Distance(want, end, i))
		}
	}
	return out
}

// Spread is how far values of a graph move when its floats are rounded otherwise:
// per element, for those values of which of has the unmoved ones. Where a float
// result of the firmware is farther from the interpreter's than rounding is, it
// tells numbers that the network amplifies from wrong ones. steps, where given, is
// by how many of its steps the result of a QuantizeLinear moves as well.
func Spread(g *ir.Graph, in []*tensor.Dense, of map[*ir.Value]*tensor.Dense, steps func(*ir.Node) int64) (
	_ map[*ir.Value][]float64, err error) {
	defer fail.Catch(&err)
	out := make(map[*ir.Value][]float64, len(of))
	for v, d := range of {
		out[v] = make([]float64, d.Len())
	}
	r := rand.New(rand.NewPCG(uint64(len(g.Nodes)), 13))
	for draw := range draws {
		env := make(map[*ir.Value]*tensor.Dense, len(g.Nodes))
		for i, v := range g.In {
			env[v] = in[i]
		}
		for _, n := range g.Nodes {
			res := fail.Must(ir.EvalOn(n, rounded(draw, r, n, func(v *ir.Value) *tensor.Dense { return env[v] })))
			by := int64(0)
			if steps != nil {
				by = steps(n)
			}
			for i, v := range n.Out {
				env[v] = moved(draw, r, n, res[i], by)
				for k, s := range out[v] {
					out[v][k] = max(s, Distance(of[v], env[v], k))
				}
			}
		}
	}
	return out, nil
}

// sums reports operators that add many terms up: in another order, a sum is
// rounded otherwise, by as much as if its terms had been. Opaque ones that give
// nothing but floats do (the normalisations); one that sorts also gives indices.
func sums(n *ir.Node) bool {
	if n.Op.Pattern == ir.Reduce || n.Op.MACs != nil && n.Op.MACs(n) > 0 {
		return true
	}
	ints := slices.ContainsFunc(n.Out, func(v *ir.Value) bool { return !v.Type.DType.IsFloat() })
	return n.Op.Pattern == ir.Opaque && n.Op.Quant != ir.QMove && !ints
}

// rounded gives a node that sums its float operands moved by roundings: a mean
// of large values that is off by one of theirs is far off beside their
// differences. Others have exact operands: what jumps at an edge is to jump there.
func rounded(draw int, r *rand.Rand, n *ir.Node, get func(v *ir.Value) *tensor.Dense) func(v *ir.Value) *tensor.Dense {
	if !sums(n) {
		return get
	}
	return func(v *ir.Value) *tensor.Dense {
		d := get(v)
		if v == nil || v.Const != nil || d == nil || !d.DType.IsFloat() {
			return d
		}
		return shifted(draw, r, d, 0)
	}
}

// shifted are floats moved by roundings, each of at least a unit of the last
// place of the largest one where unit says how much that is.
func shifted(draw int, r *rand.Rand, d *tensor.Dense, unit float64) *tensor.Dense {
	out := tensor.New(d.DType, d.Shape)
	for i := range d.Len() {
		if x := d.Float(i); x != 0 { // 0 is what masks and clamps give
			most := roundings * max(math.Abs(x)*d.DType.Epsilon(), unit)
			out.SetFloat(i, x+math.Copysign(most, x)*shift(draw, r))
		}
	}
	return out
}

// moved is a result of a node, moved: floats by roundings, what QuantizeLinear
// gives by so many steps.
func moved(draw int, r *rand.Rand, n *ir.Node, d *tensor.Dense, steps int64) *tensor.Dense {
	switch {
	case n.Op == op.DequantizeLinear || n.Op.Quant == ir.QMove:
	case d.DType.IsFloat() && sums(n):
		return shifted(draw, r, d, ulp(d)) // terms of a sum may be larger than it
	case d.DType.IsFloat():
		return shifted(draw, r, d, 0)
	case n.Op == op.QuantizeLinear && steps > 0:
		out := tensor.New(d.DType, d.Shape)
		lo, hi := d.DType.IntRange()
		for i := range d.Len() {
			out.SetInt(i, min(max(d.Int(i)+r.Int64N(2*steps+1)-steps, lo), hi))
		}
		return out
	}
	return d
}
