// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// is reports a node of one of the named ONNX operators.
func is(n *ir.Node, names ...string) bool {
	return n != nil && n.Op.Domain == "" && slices.Contains(names, n.Op.Name)
}

// insert adds a node with one output in front of at and gives that output.
// The rewrite guarantees that the node is well-typed.
func insert(g *ir.Graph, at *ir.Node, d *ir.OpDef, name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	n := bug.Must(g.InsertBefore(at, d, name, attrs, 1, in...))
	if at != nil {
		n.Inherit(at)
	}
	return n.Out[0]
}

// reinfer updates the output types of a node that was edited.
func reinfer(g *ir.Graph, n *ir.Node) {
	err := g.Reinfer(n)
	bug.If(err != nil, "%w", err)
}

// numbers is a constant of the type of x.
func numbers(g *ir.Graph, x *ir.Value, name string, v []float64, shape ...int) *ir.Value {
	return g.AddConst(name, tensor.FromFloats(x.Type.DType, shape, v))
}

// constLike is a constant with the data d and the quantisation of old.
func constLike(g *ir.Graph, old *ir.Value, d *tensor.Dense) *ir.Value {
	return g.AddQuantConst(old.Name, d, old.Type.Quant)
}

func reshape(g *ir.Graph, at *ir.Node, v *ir.Value, shape []int, name string) *ir.Value {
	attrs := ir.Attrs{}
	if slices.Contains(shape, 0) {
		attrs["allowzero"] = ir.Int(1)
	}
	out := insert(g, at, op.Reshape, name, attrs, v, g.AddConst(name+"/shape", tensor.Ints(shape...)))
	keepQuant(out, v)
	return out
}

func transpose(g *ir.Graph, at *ir.Node, v *ir.Value, perm []int, name string) *ir.Value {
	out := insert(g, at, op.Transpose, name, ir.Attrs{"perm": ir.Ints(perm...)}, v)
	keepQuant(out, v)
	return out
}

// keepQuant copies a per-tensor quantisation through data movement.
func keepQuant(out, v *ir.Value) {
	if q := v.Type.Quant; q != nil {
		bug.If(q.PerAxis(), "moving per-axis quantised %s", v)
		out.Type = out.Type.WithQuant(v.Type.DType, q)
	}
}

// reduces reports a reduction over the dimensions that ReduceAxes gives.
func reduces(n *ir.Node) bool {
	return n.Op.Pattern == ir.Reduce && len(n.Op.Attrs) > 0 && n.Op.Attrs[0].Name == "keepdims"
}

// displaced are the attributes of n, and by input the parameters that change, where
// dimension i of its data is dimension to[i] of rank; false where these are not known, and
// for other operators.
func displaced(g *ir.Graph, n *ir.Node, to []int, rank int) (attrs ir.Attrs, params map[int]*ir.Value, ok bool) {
	attrs, params = n.Attrs.Clone(), map[int]*ir.Value{}
	switch {
	case is(n, "Concat", "Split"), n.Op.Lanes, is(n, "QuantizeLinear", "DequantizeLinear") && n.In[1].Type.Elems() != 1:
		attrs["axis"] = ir.Int(to[op.AxisOf(n, len(to))])
	case reduces(n):
		axes, err := op.ReduceAxes(n)
		if err != nil {
			return attrs, params, false
		}
		if len(axes) > 0 {
			params[1] = ints1(g, n.Name+"/axes", lists.Map(axes, func(a int) int { return to[a] }))
		}
	case is(n, "Pad"):
		pg, err := op.PadGeometry(n)
		if err != nil {
			return attrs, params, false
		}
		pads := make([]int, 2*rank)
		for i, d := range to {
			pads[d], pads[rank+d] = pg.Begin[i], pg.End[i]
		}
		params[1], params[3] = ints1(g, n.In[1].Name, pads), nil
	case is(n, "Slice"):
		axes := n.Input(3)
		if axes == nil {
			axes = ints1(g, n.Name+"/axes", ir.Identity(n.In[1].Type.Elems()))
		}
		if axes.Const == nil {
			return attrs, params, false
		}
		params[3] = ints1(g, axes.Name, lists.Map(axes.Const.Int64s(), func(a int64) int {
			return to[(int(a)+len(to))%len(to)]
		}))
	default:
		return attrs, params, false
	}
	return attrs, params, true
}

// edit gives n other attributes, and some inputs; nil for those that go.
func edit(g *ir.Graph, n *ir.Node, attrs ir.Attrs, in map[int]*ir.Value) {
	n.SetAttrs(attrs)
	for i := range max(len(n.In), 5) {
		if v, ok := in[i]; ok && (v != nil || i < len(n.In)) {
			g.SetInput(n, i, v)
		}
	}
}

// readBehind lets all who read y, but for the node that makes it from y, read v.
func readBehind(g *ir.Graph, y, v *ir.Value) {
	for _, u := range slices.Clone(y.Uses()) {
		if u.Node != v.Def {
			g.SetInput(u.Node, u.Index, v)
		}
	}
	g.ReplaceOutput(y, v)
}

// elide removes n, whose output 0 is equal to v. A graph output that would
// become an input, a constant or another output keeps the node, which then is
// the copy that such an output needs anyway; elide then reports false.
func elide(g *ir.Graph, n *ir.Node, v *ir.Value) bool {
	out := n.Out[0]
	if g.IsOutput(out) && (v.Def == nil || g.IsOutput(v)) {
		return false
	}
	if slices.ContainsFunc(n.Out[1:], func(o *ir.Value) bool { return len(o.Uses()) > 0 || g.IsOutput(o) }) {
		return false
	}
	g.ReplaceUses(out, v)
	if v.Def != nil {
		v.Def.Inherit(n)
	}
	g.Remove(n)
	return true
}

// floatConst is the data of a constant of a float type without quantisation.
func floatConst(v *ir.Value) *tensor.Dense {
	if v == nil || v.Const == nil || v.Type.Quant != nil || !v.Const.DType.IsFloat() {
		return nil
	}
	return v.Const
}

// scalarConst is the real that a constant of one element is or stands for.
func scalarConst(v *ir.Value) (float64, bool) {
	if v == nil || v.Const == nil || v.Const.Len() != 1 {
		return 0, false
	}
	if q := v.Type.Quant; q != nil {
		return ir.Dequantise(v.Const, q).Float(0), true
	}
	return v.Const.Float(0), v.Const.DType.IsFloat()
}

// isReshape reports the operators that change nothing but the shape.
func isReshape(n *ir.Node) bool { return n != nil && n.Op.View == ir.Reshaped }

func perm(n *ir.Node) []int {
	return bug.Must(op.Perm(n))
}

func ints1(g *ir.Graph, name string, v []int) *ir.Value { return g.AddConst(name, tensor.Ints(v...)) }
