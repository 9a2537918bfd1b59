// SPDX-License-Identifier: Apache-2.0

package op

import (
	"cmp"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// ArgOpAttrs are the attributes of ArgOp.
type ArgOpAttrs struct {
	Axis            int `default:"0"`
	Keepdims        int `default:"1"`
	SelectLastIndex int `default:"0"`
}

// argOp defines ArgMax (sign 1) or ArgMin (sign -1). Quantised inputs are
// compared as integers, which order as the reals do.
func argOp(name, doc string, sign int) *ir.OpDef {
	eval := func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0]
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape)))
		l := lanesOf(x.Shape, axis)
		y := make([]int64, l.outer*l.step)
		last := ir.AttrsOf[ArgOpAttrs](n).SelectLastIndex != 0
		switch s := x.Data.(type) {
		case []float32:
			argLanes(l, s, y, sign, last)
		case []int8:
			argLanes(l, s, y, sign, last)
		case []uint64:
			argLanes(l, s, y, sign, last)
		default:
			if x.DType.IsFloat() {
				argLanes(l, floatsOf(x), y, sign, last)
			} else {
				argLanes(l, x.Int64s(), y, sign, last)
			}
		}
		return outs(tensor.Of(reducedShape(x.Shape, []int{axis}, ir.AttrsOf[KeepdimsAttr](n).Keepdims != 0), y))
	}
	return def(ir.OpDef{
		Name: name, Doc: doc, MinIn: 1, Pattern: ir.Opaque, Quant: ir.QInt, Finite: true, Eval: eval, EvalQ: eval,
		Attrs: ir.Declare[ArgOpAttrs](),
		Infer: func(n *ir.Node) ([]ir.Type, error) {
			fail.Check(wantType(n, 0, numTypes))
			t := n.In[0].Type
			axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, t.Rank()))
			refuse(n, t.Shape[axis] == 0, "shape", "dimension %d of %v is empty: it has no extremum", axis, t.Shape)
			refuse(n, t.Quant.PerAxis(), "quant", "input 0 (%s) is quantised per axis, want one scale", n.In[0])
			return one(ir.T(tensor.I64, reducedShape(t.Shape, []int{axis},
				ir.AttrsOf[KeepdimsAttr](n).Keepdims != 0)...))
		},
	})
}

// argLanes compares as TFLite does: nothing is better than what is no number, nor that than anything.
func argLanes[T cmp.Ordered](l lanes, x []T, y []int64, sign int, last bool) {
	k := 0
	l.each(func(at int) {
		best := 0
		for i := 1; i < l.n; i++ {
			v, w := x[at+i*l.step], x[at+best*l.step]
			if sign < 0 {
				v, w = w, v
			}
			if v > w || last && v == w {
				best = i
			}
		}
		y[k] = int64(best)
		k++
	})
}

// ArgMax and ArgMin are the positions of extrema along one axis.
var (
	ArgMax = argOp("ArgMax", "position of the first (or last) maximum along axis", 1)
	ArgMin = argOp("ArgMin", "position of the first (or last) minimum along axis", -1)
)

// ScanOpAttrs are the attributes of ScanOp.
type ScanOpAttrs struct {
	Exclusive int `default:"0"`
	Reverse   int `default:"0"`
}

// scanOp defines CumSum and CumProd: running totals along the axis that the
// second input names. Floats accumulate in float64; integers wrap.
func scanOp(name, doc string, unit int64, float func(a, b float64) float64, whole func(a, b int64) int64) *ir.OpDef {
	return def(ir.OpDef{
		Name: name, Doc: doc, Attrs: ir.Declare[ScanOpAttrs](), MinIn: 2, Pattern: ir.Opaque,
		Infer: func(n *ir.Node) ([]ir.Type, error) {
			fail.Check(wantType(n, 0, numTypes))
			axis := fail.Must(ConstInts(n, 1, "the axis"))
			refuse(n, len(axis) != 1, "shape", "the axis (input 1, %s) has %d elements, want one", n.In[1], len(axis))
			fail.Must(Axis(n, axis[0], n.In[0].Type.Rank()))
			return one(like(n, 0))
		},
		Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
			x := in[0]
			axis := fail.Must(Axis(n, int(in[1].Int(0)), len(x.Shape)))
			l := lanesOf(x.Shape, axis)
			exclusive, reverse := ir.AttrsOf[ScanOpAttrs](n).Exclusive != 0, ir.AttrsOf[ScanOpAttrs](n).Reverse != 0
			if x.DType.IsFloat() {
				y := x.Floats()
				scan(l, y, float64(unit), exclusive, reverse, float)
				return outs(fromFloats(x.DType, x.Shape, y))
			}
			y := x.Int64s()
			scan(l, y, unit, exclusive, reverse, whole)
			return outs(tensor.Of(x.Shape, y).Cast(x.DType))
		},
	})
}

func scan[T any](l lanes, y []T, unit T, exclusive, reverse bool, f func(a, b T) T) {
	if len(y) == 0 {
		return
	}
	l.each(func(at int) {
		step := l.step
		if reverse {
			at, step = at+(l.n-1)*step, -step
		}
		acc := unit
		for range l.n {
			next := f(acc, y[at])
			if exclusive {
				y[at] = acc
			} else {
				y[at] = next
			}
			acc = next
			at += step
		}
	})
}

// CumSum and CumProd are running totals along one axis.
var (
	CumSum = scanOp("CumSum", "running sum along an axis", 0,
		func(a, b float64) float64 { return a + b }, func(a, b int64) int64 { return a + b })
	CumProd = scanOp("CumProd", "running product along an axis", 1,
		func(a, b float64) float64 { return a * b }, func(a, b int64) int64 { return a * b })
)
