// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

// Lookup is a function of one 8-bit value written out: entry i of the constant
// input 1 is the result for the bit pattern i. Element-wise operators on
// quantised values that follow one another become one Lookup.
var Lookup = def(ir.OpDef{
	Name: "Lookup", Domain: "nncc", Doc: "a function of one 8-bit value as 256 results", MinIn: 2,
	Pattern: ir.Elementwise, Quant: ir.QInt, Coded: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, t := n.In[0].Type, n.In[1]
		refuse(n, x.DType.Size() != 1 || x.DType.Bits() != 8, "dtype", "the input %s is %s, want 8 bits an element",
			n.In[0], x.DType)
		if t.Const == nil || t.Type.Elems() != 256 || t.Type.DType.Size() != 1 {
			return nil, ir.Errf(n, "table", "the table %s is %s, want 256 constants of one byte", t, t.Type)
		}
		return []ir.Type{ir.T(t.Type.DType, x.Shape...)}, nil
	},
	Eval: evalLookup, EvalQ: evalLookup,
})

func evalLookup(_ *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	table, x := in[1].Bytes(), in[0].Bytes()
	y := make([]byte, len(x))
	for i, v := range x {
		y[i] = table[v]
	}
	d, err := tensor.FromBytes(in[1].DType, in[0].Shape, y)
	return []*tensor.Dense{d}, err
}

// InterpolatedLUT is a function of one int16 value as straight lines between the 513
// points of the constant input 1 (fixp.InterpolatedLUT16). Element-wise operators on
// int16 values that follow one another become one InterpolatedLUT.
var InterpolatedLUT = def(ir.OpDef{
	Name: "InterpolatedLUT", Domain: "nncc", Doc: "a function of one int16 value, interpolated between 513 points",
	MinIn:   2,
	Pattern: ir.Elementwise, Quant: ir.QInt, Coded: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, p := n.In[0].Type, n.In[1]
		refuse(n, x.DType != tensor.I16, "dtype", "the input %s is %s, want int16", n.In[0], x.DType)
		if p.Const == nil || p.Type.Elems() != fixp.LUT16Len || p.Type.DType != tensor.I16 {
			return nil, ir.Errf(n, "points", "the points %s are %s, want %d int16 constants", p, p.Type, fixp.LUT16Len)
		}
		return []ir.Type{ir.T(tensor.I16, x.Shape...)}, nil
	},
	Eval: evalPoints, EvalQ: evalPoints,
})

func evalPoints(_ *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	c := fixp.InterpolatedLUT16(in[1].Data.([]int16))
	y := tensor.New(tensor.I16, in[0].Shape)
	ys := y.Data.([]int16)
	for i, v := range in[0].Data.([]int16) {
		ys[i] = c.At(v)
	}
	return []*tensor.Dense{y}, nil
}
