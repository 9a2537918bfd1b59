// SPDX-License-Identifier: Apache-2.0

package fuse

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Interpolate turns parts of the graph that compute one int16 value from one other,
// element by element, into one interpolated function each (nncc.InterpolatedLUT), as
// functions of one int16 value are defined (ir.InterpolatedLUT).
//
// Unlike a table of all results, the interpolation differs from the separate nodes:
// they interpolate and round one after the other, it does once. It is used only
// where it is as good: over four fifths of the 65,536 inputs, its largest distance from the
// exact function of the part must not exceed that of the nodes by more than
// slack, and no result may be more than apartMost steps from what the nodes give: they are
// what a quantised model says. So this belongs to what an int16 program computes, like the interpolation of
// single nodes, and happens before the graph is kept as the reference; whether later
// passes run changes no bit.
func Interpolate(g *ir.Graph) (_ []Fusion, err error) {
	defer fail.Catch(&err)
	c := newCollapser(g)
	c.end = func(v *ir.Value) bool { return ir.Int16Zero(v.Type) && oneScale(v) }
	errors := map[*ir.Node][2]float64{}
	c.make = func(n *ir.Node, part []*ir.Node, x *ir.Value) *ir.Node {
		points, one, nodes := interpolated(part, x, n.Out[0])
		if points == nil {
			return nil
		}
		m := g.Insert(n, nil, op.InterpolatedLUT, n.Name, nil, x,
			g.AddConst(n.Name+".curve", tensor.Of([]int{len(points)}, points[:]))).Def
		errors[m] = [2]float64{one, nodes}
		return m
	}
	c.run()
	return c.made(func(n *ir.Node, f *Fusion) { f.Kind, f.Error, f.Apart = "curve", errors[n][0], errors[n][1] }), nil
}

// apartMost is by how many steps results may differ from what the nodes give: as those of any layer.
const apartMost = 2

// kinkMost is the same for the outermost fifth of the codes, which the calibration of int16 leaves as room:
// where values in between reach the ends of their types there, a line passes beside the kink.
const kinkMost = 16

// slack is how much farther an interpolation may be from the exact function than the
// nodes that it replaces, in steps of the result: one rounding.
const slack = 0.5

// interpolated is the interpolation of a part with its largest error and that of the
// nodes, in steps of the result; nil where the nodes are clearly nearer to the exact
// function, or more than apartMost steps from the interpolation.
func interpolated(part []*ir.Node, x, y *ir.Value) (points *fixp.InterpolatedLUT16, one, nodes float64) {
	const size = 1 << 16
	codes, reals := tensor.New(tensor.I16, []int{size}), make([]float64, size+1)
	step := float64(x.Type.Quant.Scale[0])
	for i := range reals { // one more than there are codes: where the last line ends
		v := i - size/2
		if i < size {
			codes.SetInt(i, int64(v))
		}
		reals[i] = float64(v) * step
	}
	apart, err := evaluate(part, x, y, codes)
	if err != nil {
		return nil, 0, 0
	}
	exact := exactly(part, x, y, reals)
	if exact == nil {
		return nil, 0, 0
	}
	out := float64(y.Type.Quant.Scale[0])
	for i := range exact {
		exact[i] /= out
	}
	points = fixp.NewInterpolatedLUT16(func(v float64) float64 { return exact[int(v)+size/2] })
	for i := range size {
		e := min(max(exact[i], math.MinInt16), math.MaxInt16)
		p := float64(points.At(int16(i - size/2)))
		off := math.Abs(p - float64(apart.Int(i)))
		if within := math.Abs(float64(i-size/2)) <= size/2*0.8; off > kinkMost || within && off > apartMost {
			return nil, 0, 0
		} else if !within {
			continue
		}
		one = max(one, math.Abs(e-p))
		nodes = max(nodes, math.Abs(e-float64(apart.Int(i))))
	}
	if !(one <= nodes+slack) {
		return nil, 0, 0
	}
	return points, one, nodes
}

// exactly computes the nodes on reals in float64, without rounding: a value in
// between has no steps, but the ends of its type. nil where an operator cannot.
func exactly(part []*ir.Node, x, y *ir.Value, reals []float64) []float64 {
	env := map[*ir.Value]*tensor.Dense{x: tensor.Of([]int{len(reals), 1}, reals)}
	for _, n := range part {
		in := make([]*tensor.Dense, len(n.In))
		for i, v := range n.In {
			switch {
			case v == nil:
			case v.Const == nil:
				in[i] = env[v]
			case v.Type.Quant != nil:
				in[i] = ir.Dequantise(scalarConst(n, v), v.Type.Quant)
			case v.Type.DType.IsFloat():
				in[i] = scalarConst(n, v).Cast(tensor.F64)
			default:
				in[i] = scalarConst(n, v)
			}
		}
		t := n.Out[0].Type
		var out *tensor.Dense
		switch {
		case n.Op == op.QuantizeLinear && keepsReal(n, t) || n.Op == op.DequantizeLinear &&
			keepsReal(n, n.In[0].Type) || n.Op == op.Requantize:
			out = in[0]
		case n.Op == op.QuantizeLinear || n.Op == op.DequantizeLinear || n.Op == op.InterpolatedLUT ||
			n.Op.Eval == nil || t.Quant == nil && !t.DType.IsFloat():
			return nil
		default:
			r, err := n.Op.Eval(n, in)
			if err != nil || len(r) != 1 || r[0].DType != tensor.F64 {
				return nil
			}
			out = r[0]
		}
		if t.Quant != nil {
			lo, hi := t.DType.IntRange()
			out = limited(out, float64(lo-int64(t.Quant.Zero[0]))*float64(t.Quant.Scale[0]),
				float64(hi-int64(t.Quant.Zero[0]))*float64(t.Quant.Scale[0]))
		}
		env[n.Out[0]] = out
	}
	return env[y].Floats()
}

// keepsReal reports that a QuantizeLinear or DequantizeLinear converts with the
// quantisation of its integers, t: what these stand for is then what it reads or
// gives. A model may read integers with another scale than it wrote.
func keepsReal(n *ir.Node, t ir.Type) bool {
	s, z := n.ConstIn(1), n.ConstIn(2)
	if t.Quant == nil || t.Quant.PerAxis() || s == nil || s.Len() != 1 || n.Input(2) != nil && z == nil {
		return false
	}
	zero := int64(0)
	if z != nil {
		zero = z.Int(0)
	}
	return float32(s.Float(0)) == t.Quant.Scale[0] && zero == int64(t.Quant.Zero[0])
}

func limited(d *tensor.Dense, lo, hi float64) *tensor.Dense {
	v := d.Floats()
	out := make([]float64, len(v))
	for i, x := range v {
		if x == x { // not a number stays that, and becomes 0 in the end
			x = min(max(x, lo), hi)
		}
		out[i] = x
	}
	return tensor.Of(d.Shape, out)
}
