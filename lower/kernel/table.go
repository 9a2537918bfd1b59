// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// TableOps are the operators that can be a table, by TableOf: element-wise
// ones that compute. With several inputs, all but one must be constants that
// hold a single value.
func TableOps() []*ir.OpDef {
	return Where(func(d *ir.OpDef) bool {
		return d.Pattern <= ir.Broadcast && d.Quant != ir.QMove && d.View == ir.NoView && !d.Boundary
	})
}

// ByteType says that elements are one byte.
func ByteType(d tensor.DType) bool { return d == tensor.I8 || d == tensor.U8 || d == tensor.Bool }

// RunInput is the one input computed at run time.
func RunInput(n *ir.Node) (int, string) {
	k := -1
	for i, v := range n.In {
		switch {
		case v == nil:
		case v.Const == nil && k >= 0:
			return 0, fmt.Sprintf("inputs %d and %d are both computed at run time, want one", k, i)
		case v.Const == nil:
			k = i
		}
	}
	if k < 0 {
		return 0, "every input is constant, want one computed at run time"
	}
	return k, ""
}

// TableOf is the node evaluated on all values of its one run-time input, in the
// order of their bit patterns.
var TableOf = NewFact(func(x *Node) ([]byte, string) { return Table256(x.Node) })

// Table256 is TableOf, or the reason why that is impossible.
func Table256(n *ir.Node) ([]byte, string) {
	k, why := RunInput(n)
	if why != "" {
		return nil, why
	}
	x, y := n.In[k].Type, n.Out[0].Type
	switch {
	case !ByteType(x.DType) || x.Quant.PerAxis():
		return nil, fmt.Sprintf("input %d is %s, want one byte an element and one scale", k, x.DType.ONNXName())
	case !ByteType(y.DType) || y.Quant.PerAxis():
		return nil, fmt.Sprintf("the output is %s, want one byte an element and one scale", y.DType.ONNXName())
	}
	if n.Op == op.Lookup {
		return n.In[1].Const.Bytes(), ""
	}
	in := make([]*tensor.Dense, len(n.In))
	for i, v := range n.In {
		switch {
		case v == nil:
		case i == k:
			in[i] = AllBytes(x.DType, 1)
		default:
			c, ok := v.Const.Uniform()
			if !ok {
				return nil, fmt.Sprintf("constant %s holds different values, want one for all elements", v)
			}
			in[i] = c
		}
	}
	out, err := Probe(n, in, []int{256})
	if err != nil {
		return nil, err.Error()
	}
	return out.Bytes(), ""
}

// AllBytes are n repetitions of the 256 bit patterns as elements of type d.
func AllBytes(d tensor.DType, n int) *tensor.Dense {
	b := make([]byte, 256*n)
	for i := range b {
		b[i] = byte(i)
		if d == tensor.Bool {
			b[i] &= 1
		}
	}
	t := bug.Must(tensor.FromBytes(d, []int{len(b)}, b))
	return t
}

// Probe evaluates n on other data: in holds one tensor an input, of the
// element types of the node's inputs; parameters are those of constants.
func Probe(n *ir.Node, in []*tensor.Dense, shape []int) (*tensor.Dense, error) {
	p := &ir.Node{Name: n.Name, Op: n.Op, Attrs: n.Attrs, In: make([]*ir.Value, len(n.In)), Origin: n.Origin}
	for i, v := range n.In {
		if v == nil {
			continue
		}
		p.In[i] = &ir.Value{Name: v.Name, Type: v.Type.WithShape(in[i].Shape)}
		if v.Const != nil {
			p.In[i].Const = in[i]
		}
	}
	p.Out = []*ir.Value{{Name: n.Out[0].Name, Type: n.Out[0].Type.WithShape(shape), Def: p}}
	out, err := ir.EvalNode(p, in)
	if err != nil {
		return nil, err
	}
	if out[0].Len() != tensor.Count(shape) || out[0].DType != n.Out[0].Type.DType {
		return nil, fmt.Errorf("the result is no element-wise function of the inputs")
	}
	return out[0], nil
}

// Pairs are the results of a function of two 8-bit inputs: that for the bit patterns a and b is at a<<8|b.
func Pairs(n *ir.Node) (*tensor.Dense, error) {
	const size = 1 << 16
	in := lists.Make(2, func(i int) *tensor.Dense {
		bits := lists.Make(size, func(at int) byte { return byte(at >> (8 - 8*i)) })
		return Known(tensor.FromBytes(n.In[i].Type.DType, []int{size}, bits))
	})
	return Probe(n, in, []int{size})
}

// CurveOf are the points of an interpolated function of one int16 value: of a
// InterpolatedLUT its own, of other nodes those that define them (ir.InterpolatedLUT).
func CurveOf(n *ir.Node) (c *fixp.InterpolatedLUT16, ok bool) {
	if n.Op == op.InterpolatedLUT {
		points := fixp.InterpolatedLUT16(n.In[1].Const.Data.([]int16))
		return &points, true
	}
	return ir.InterpolatedLUT(n)
}

// StraightLines are the Lines of a straight function between int16 values, or
// between int16 and int8, with one scale each.
var StraightLines = NewFact(func(n *Node) (*qref.PiecewiseLinear, string) {
	x, y := n.In[0].Type, n.Out[0].Type
	if !lineType(x) || !lineType(y) || x.DType == tensor.I8 && y.DType == tensor.I8 {
		return nil, Unread
	}
	return Lines(n.Node)
})

func lineType(t ir.Type) bool {
	return t.Quant != nil && !t.Quant.PerAxis() && (t.DType == tensor.I16 || t.DType == tensor.I8)
}

// Lines are the constants by which a straight function of one int16 or int8
// value (Relu, LeakyRelu, a change of scale) is two lines, proven for every
// input; or why there are none.
func Lines(n *ir.Node) (*qref.PiecewiseLinear, string) {
	x, y := n.In[0].Type, n.Out[0].Type
	lo, hi := x.DType.IntRange()
	all := tensor.New(x.DType, []int{int(hi - lo + 1)})
	for i := range all.Len() {
		all.SetInt(i, lo+int64(i))
	}
	in := make([]*tensor.Dense, len(n.In))
	in[0] = all
	for i, v := range n.In[1:] {
		switch {
		case v == nil:
		case v.Const == nil:
			return nil, fmt.Sprintf("input %d (%s) is computed at run time, want a constant", i+1, v)
		default:
			in[i+1] = v.Const
		}
	}
	out, err := Probe(n, in, all.Shape)
	if err != nil {
		return nil, err.Error()
	}
	want := lists.Make(out.Len(), func(i int) int32 { return int32(out.Int(i)) })
	sx, sy, zero := float64(x.Quant.Scale[0]), float64(y.Quant.Scale[0]), x.Quant.Zero[0]
	p, ok := qref.FitPiecewiseLinear(int32(lo), zero, y.Quant.Zero[0], want, func(d int32) float64 {
		return n.Op.Scalar(n, float64(d)*sx) / sy
	})
	if !ok {
		return nil, "no two straight lines give the defined results for all inputs"
	}
	return p, ""
}
