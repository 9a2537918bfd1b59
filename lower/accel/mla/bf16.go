// SPDX-License-Identifier: Apache-2.0

package mla

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"slices"
)

// ONNX numbers of element types.
const (
	onnxF32  = 1
	onnxBF16 = 16
)

// TakesBF16 reports whether the MLA would compute a float node in bfloat16:
// what it takes at all (CheckLegality), where there is an operation for it. Data
// movement is among these.
func TakesBF16(n *ir.Node, lim Limits) bool {
	if lim.BF16 == 0 || len(n.In) == 0 || n.In[0] == nil || len(CheckLegality(n, lim)) > 0 {
		return false
	}
	values := n.Out
	for _, i := range dataIndices(n) {
		values = append(values, n.In[i])
	}
	if slices.ContainsFunc(values, func(v *ir.Value) bool {
		return v.Type.Quant != nil || v.Type.DType != tensor.F32 && v.Type.DType != tensor.BF16
	}) {
		return false
	}
	if dataMovement(n) {
		return n.Op != op.Resize || ir.AttrsOf[op.ModeAttr](n).Mode == "nearest"
	}
	return computesBF16(n.Op) && noBF16Form(n) == ""
}

// computesBF16 reports the operators that compute in bfloat16.
func computesBF16(d *ir.OpDef) bool {
	return d.Window == ir.Convolved || d == op.MaxPool || isPairBF16(d) || isScalar(d)
}

// dataMovement reports operators that bring elements to other places as they
// are.
func dataMovement(n *ir.Node) bool {
	return n.Op == op.Resize || n.Op.Quant == ir.QMove && n.Op != op.QuantizeLinear && n.Op != op.DequantizeLinear
}

// dataIndices are the inputs that hold data.
func dataIndices(n *ir.Node) []int {
	if n.Op.Window == ir.Convolved || isPairBF16(n.Op) {
		return []int{0, 1} // a bias stays float32
	}
	if n.Op == op.Pad && n.Input(2) != nil {
		return []int{0, 2} // and what it writes
	}
	if n.Op.Quant == ir.QMove {
		return n.Op.DataInputs(n)
	}
	return []int{0}
}

// bridges reports the conversions between the formats of a segment: to and from
// bfloat16, and what lies between that and int8.
func bridges(n *ir.Node, lim Limits) bool {
	if lim.BF16 == 0 || len(n.Out) != 1 || n.Out[0].Type.Rank() != 4 || n.Out[0].Type.Elems() == 0 {
		return false
	}
	x, y := n.In[0].Type, n.Out[0].Type
	switch n.Op {
	case op.Cast:
		return casts(n, tensor.F32, tensor.BF16) || casts(n, tensor.BF16, tensor.F32)
	case op.DequantizeLinear:
		return x.DType == tensor.I8 && oneScale(n) && onlyNarrowed(n.Out[0])
	case op.QuantizeLinear:
		return casts(n.In[0].Def, tensor.BF16, tensor.F32) && y.DType == tensor.I8 && oneScale(n) &&
			!op.RoundsAway(n)
	}
	return false
}

// casts reports a Cast between two types; n may be nil.
func casts(n *ir.Node, from, to tensor.DType) bool {
	return n != nil && n.Op == op.Cast && n.In[0].Type.DType == from && n.Out[0].Type.DType == to
}

// oneScale reports a conversion with one constant scale.
func oneScale(n *ir.Node) bool { return n.ConstIn(1) != nil && n.ConstIn(1).Len() == 1 }

// onlyNarrowed reports a value whose readers, at least one, make it bfloat16.
func onlyNarrowed(v *ir.Value) bool {
	return len(v.Uses()) > 0 &&
		!slices.ContainsFunc(v.Uses(), func(u ir.Use) bool { return !casts(u.Node, tensor.F32, tensor.BF16) })
}

// Bfloat16 turns the float nodes that take chooses, all of which TakesBF16, into
// nodes on bfloat16, with conversions where others meet them.
func Bfloat16(g *ir.Graph, take func(n *ir.Node) bool) (err error) {
	defer fail.Catch(&err)
	chosen := map[*ir.Node]bool{}
	for _, n := range g.Nodes {
		chosen[n] = take(n)
	}
	narrow := map[*ir.Value]*ir.Value{} // float32 to bfloat16
	for _, n := range append([]*ir.Node(nil), g.Nodes...) {
		if !chosen[n] {
			continue
		}
		for _, i := range dataIndices(n) {
			v := n.In[i]
			if v.Def != nil && chosen[v.Def] {
				continue
			}
			w := narrow[v]
			if w == nil {
				if v.Const != nil {
					w = g.AddConst(v.Name+".bf16", v.Const.Cast(tensor.BF16))
				} else {
					w = g.Insert(n, n, op.Cast, v.Name+".bf16", ir.Attrs{"to": ir.Int(onnxBF16)}, v)
				}
				narrow[v] = w
			}
			g.SetInput(n, i, w)
		}
		for _, v := range n.Out {
			v.Type.DType = tensor.BF16
		}
	}
	for _, n := range append([]*ir.Node(nil), g.Nodes...) {
		if !chosen[n] {
			continue
		}
		for _, v := range n.Out {
			widen(g, n, v, chosen)
		}
	}
	return nil
}

// widen gives the readers of v that are not chosen, and the caller, its float32
// form.
func widen(g *ir.Graph, n *ir.Node, v *ir.Value, chosen map[*ir.Node]bool) {
	others := lists.Filter(v.Uses(), func(u ir.Use) bool { return !chosen[u.Node] })
	if len(others) == 0 && !g.IsOutput(v) {
		return
	}
	w := g.Insert(g.Next(n), n, op.Cast, v.Name+".f32", ir.Attrs{"to": ir.Int(onnxF32)}, v)
	for _, u := range others {
		g.SetInput(u.Node, u.Index, w)
	}
	g.ReplaceOutput(v, w)
}
