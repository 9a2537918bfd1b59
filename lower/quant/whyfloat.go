// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// WhyFloat says why Integer left a node of a quantised model on reals, and what would
// have to be otherwise; "" where nothing around the node is in the way: its operator
// has no integer form.
func WhyFloat(g *ir.Graph, n *ir.Node) string {
	if why := WhyRecurrentInFloat(n); why != "" {
		return why
	}
	var why []string
	for i, v := range n.In {
		if v == nil || !v.Type.DType.IsFloat() || i > 0 && weightAxis(n) >= 0 && i > 1 {
			continue
		}
		if s := whyInput(n, i, v); s != "" {
			why = append(why, s)
		}
	}
	for _, v := range n.Out {
		if s := whyOutput(g, v); s != "" {
			why = append(why, s)
		}
	}
	return strings.Join(why, ", ")
}

// WhyCurve says by how much the table of int16 values that n would be, between DequantizeLinear and QuantizeLinear,
// misses it; "" where that is little enough, and for other nodes.
func WhyCurve(n *ir.Node) string {
	if n.Op.Scalar == nil || n.In[0].Def == nil || n.In[0].Def.Op != op.DequantizeLinear || len(n.Out) != 1 ||
		len(n.Out[0].Uses()) == 0 || n.Out[0].Uses()[0].Node.Op != op.QuantizeLinear {
		return ""
	}
	typed := func(by *ir.Node, of *ir.Value) *ir.Value {
		t, q, ok := params(by)
		if !ok {
			return nil
		}
		return &ir.Value{Name: n.Name, Type: ir.Type{DType: t, Shape: of.Type.Shape, Quant: q}}
	}
	in, out := n.In[0].Def, n.Out[0].Uses()[0].Node
	x, y := typed(in, in.In[0]), typed(out, out.Out[0])
	if x == nil || y == nil {
		return ""
	}
	trial := &ir.Node{Name: n.Name, Op: n.Op, Attrs: n.Attrs, In: slices.Clone(n.In), Out: []*ir.Value{y}}
	trial.In[0] = x
	off := ir.InterpolationError(trial)
	if off < curveError {
		return ""
	}
	return fmt.Sprintf("a table of int16 values would miss it by %.0f steps of its result (want less than %g; "+
		"another range of it in --calib or the model, or int8)", off, curveError)
}

// whyInput is about one input, "" where it is quantised as integer kernels want it.
func whyInput(n *ir.Node, i int, v *ir.Value) string {
	weights := weightAxis(n) >= 0 && i == 1
	if v.Const != nil {
		if weights {
			return fmt.Sprintf("its weights %s are not quantised", v)
		}
		return ""
	}
	if v.Def == nil || v.Def.Op != op.DequantizeLinear {
		return fmt.Sprintf("its input %s is not quantised (want QuantizeLinear and DequantizeLinear in front)", v)
	}
	t, q, ok := params(v.Def)
	switch x := v.Def.In[0]; {
	case !ok:
		return fmt.Sprintf("the scale or zero point of %s is computed at run time, or there is one for each block "+
			"(want constants, one or one for each channel)", x)
	case x.Const != nil && weights && q.PerAxis() && q.Axis != weightAxis(n):
		return fmt.Sprintf("the scales of its weights %s lie along axis %d (want axis %d, the output channels)", x,
			q.Axis, weightAxis(n))
	case x.Const != nil:
		return ""
	case q.PerAxis():
		return fmt.Sprintf("its input %s has a scale for each place along axis %d (want one for all: integer kernels "+
			"have one scale for activations)", x, q.Axis)
	default:
		return whyType(x, t, q)
	}
}

// whyType is about the element type and zero point of activations.
func whyType(x *ir.Value, t tensor.DType, q *ir.Quant) string {
	st, sq := signed(t, q)
	if computable(st, sq) {
		return ""
	}
	if st != tensor.I16 {
		return fmt.Sprintf("%s is %s (want int8, uint8, int16 or uint16)", x, t)
	}
	return fmt.Sprintf("%s is %s with zero point %d (want %d: integer kernels have no zero points of 16 bits)", x, t,
		q.Zero[0], q.Zero[0]-sq.Zero[0])
}

// whyOutput is about what reads a result.
func whyOutput(g *ir.Graph, v *ir.Value) string {
	if g.IsOutput(v) {
		return fmt.Sprintf("its result %s is an output of the model in float", v)
	}
	for _, u := range v.Uses() {
		n := u.Node
		if n.Op != op.QuantizeLinear || u.Index != 0 {
			return fmt.Sprintf("its result %s is read by %s before it is quantised", v, n)
		}
		t, q, ok := params(n)
		switch {
		case !ok:
			return fmt.Sprintf("the scale or zero point of %s, which quantises its result, is computed at run time", n)
		case q.PerAxis():
			return fmt.Sprintf("%s gives its result a scale for each place along axis %d (want one for all)", n, q.Axis)
		}
		if s := whyType(n.Out[0], t, q); s != "" {
			return s
		}
		if s := whyReach(v.Def, n.Out[0], q); s != "" {
			return s
		}
		if s := WhyCurve(v.Def); s != "" {
			return s
		}
	}
	return ""
}
