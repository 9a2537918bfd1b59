// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Act are the bounds of an activation absorbed into an operator, in real
// units and for float and quantised nodes alike: the result is clamped to
// [ActMin, ActMax] (either may be absent). Quantised kernels derive their integer
// clamp with ActRange. They have no counterpart in ONNX; export writes a Clip
// behind the node.
type Act struct {
	ActMin *float32
	ActMax *float32
}

// ActBounds are the absorbed activation's bounds, infinite where absent.
func ActBounds(n *ir.Node) (lo, hi float64) {
	lo, hi = negInf, posInf
	a := ir.AttrsOf[Act](n)
	if a.ActMin != nil {
		lo = float64(*a.ActMin)
	}
	if a.ActMax != nil {
		hi = float64(*a.ActMax)
	}
	return lo, hi
}

// HasAct reports an absorbed activation.
func HasAct(n *ir.Node) bool {
	a := ir.AttrsOf[Act](n)
	return a.ActMin != nil || a.ActMax != nil
}

// ClampAct applies the absorbed activation to a float tensor in place.
func ClampAct(n *ir.Node, d *tensor.Dense) *tensor.Dense {
	if !HasAct(n) {
		return d
	}
	lo, hi := ActBounds(n)
	switch s := d.Data.(type) {
	case []float32:
		l, h := float32(lo), float32(hi)
		for i, v := range s {
			s[i] = min(max(v, l), h)
		}
	default:
		for i, k := 0, d.Len(); i < k; i++ {
			d.SetFloat(i, min(max(d.Float(i), lo), hi))
		}
	}
	return d
}

// AxisOf is the attribute axis of n, of an operand of that rank, counted from the front.
func AxisOf(n *ir.Node, rank int) int {
	axis := ir.AttrsOf[AxisAttr](n).Axis
	if axis < 0 {
		axis += rank
	}
	return axis
}

// Axis normalises a possibly negative axis of a value of the given rank.
func Axis(n *ir.Node, axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, ir.Errf(n, "axis", "axis %d is out of range for rank %d", axis, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

// Broadcast is the NumPy broadcast of shapes.
func Broadcast(n *ir.Node, shapes ...[]int) ([]int, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := make([]int, rank)
	for i := range out {
		out[i] = 1
	}
	for _, s := range shapes {
		for i, d := range s {
			o := rank - len(s) + i
			switch {
			case out[o] == d || d == 1:
			case out[o] == 1:
				out[o] = d
			default:
				return nil, ir.Errf(n, "broadcast", "shapes %v do not broadcast: dimension %d is %d and %d", shapes, o,
					out[o], d)
			}
		}
	}
	return out, nil
}

// ConstInts is input i as integers when it is constant; what names it in the
// error for one that is only known at run time.
func ConstInts(n *ir.Node, i int, what string) ([]int, error) {
	v := n.Input(i)
	if v == nil {
		return nil, nil
	}
	if v.Const == nil {
		return nil, ir.Dynamicf(n, v, "%s (input %d, %s) must be known at compile time, but is computed at run "+
			"time", what, i, v)
	}
	x := v.Const.Int64s()
	out := make([]int, len(x))
	for k, e := range x {
		if e > 1<<40 {
			e = 1 << 40 // "to the end" markers such as MaxInt64
		} else if e < -1<<40 {
			e = -1 << 40
		}
		out[k] = int(e)
	}
	return out, nil
}

// refuse ends the inference or the evaluation of n where bad holds.
func refuse(n *ir.Node, bad bool, code, format string, args ...any) {
	if bad {
		fail.Check(ir.Errf(n, code, format, args...))
	}
}

func one(t ir.Type) ([]ir.Type, error) { return []ir.Type{t}, nil }

func outs(d ...*tensor.Dense) ([]*tensor.Dense, error) { return d, nil }

func wantRank(n *ir.Node, i, rank int) error {
	if r := n.In[i].Type.Rank(); r != rank {
		return ir.Errf(n, "rank", "input %d (%s) has shape %v, want rank %d", i, n.In[i], n.In[i].Type.Shape, rank)
	}
	return nil
}

func sameShape(a, b []int) bool { return slices.Equal(a, b) }

var negInf, posInf = math.Inf(-1), math.Inf(1)
