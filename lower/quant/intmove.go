// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// integerMoves brings operators that work directly on quantised integers (a
// Reshape or MaxPool between two QLinear operators) into the QDQ form: the
// same operator on reals between DequantizeLinear and QuantizeLinear of the
// integers' own quantisation, which is exact since they only move data, or cut
// it at constants (Clip).
func (c *converter) integerMoves() {
	known := c.integerQuants()
	for _, n := range append([]*ir.Node(nil), c.g.Nodes...) {
		if !movesIntegers(n) {
			continue
		}
		q := known[n.In[0]]
		for _, i := range movedInputs(n) {
			if v := n.Input(i); v == nil || known[v].Quant == nil || !known[v].Quant.Equal(q.Quant) {
				q.Quant = nil
			}
		}
		if q.Quant == nil {
			continue
		}
		in := append([]*ir.Value(nil), n.In...)
		if n.Op == op.Clip {
			c.realBounds(in, q.Quant)
		}
		for _, i := range movedInputs(n) {
			in[i] = Linear(c.g, n, op.DequantizeLinear, in[i], q)
		}
		m := c.g.Again(n, in...)
		for i, v := range n.Out {
			y := Linear(c.g, n, op.QuantizeLinear, m.Out[i], q)
			known[y] = q
			c.g.ReplaceUses(v, y)
		}
		c.g.Remove(n)
	}
}

// MovesOnReals runs that rewrite alone, for programs that stay float.
func MovesOnReals(g *ir.Graph) error {
	return fail.Caught((&converter{g: g}).integerMoves)
}

// movesIntegers reports a data-moving operator on quantised data.
func movesIntegers(n *ir.Node) bool {
	t := n.In
	if len(t) == 0 || t[0] == nil || n.Op == op.QuantizeLinear || n.Op == op.DequantizeLinear {
		return false
	}
	d := t[0].Type.DType
	return (passesQuant(n) || n.Op == op.Clip && constantBounds(n)) && storable(d) && t[0].Const == nil
}

// movedInputs are the inputs whose integers the node hands on.
func movedInputs(n *ir.Node) []int {
	if n.Op == op.Clip {
		return []int{0}
	}
	return n.Op.DataInputs(n)
}

func constantBounds(n *ir.Node) bool {
	return !slices.ContainsFunc(n.In[1:], func(v *ir.Value) bool { return v != nil && v.Const == nil })
}

// realBounds replaces the integer bounds of a Clip by what they stand for.
func (c *converter) realBounds(in []*ir.Value, q *ir.Quant) {
	for i := 1; i < len(in); i++ {
		if in[i] == nil {
			continue
		}
		d := in[i].Const
		r := tensor.New(tensor.F32, d.Shape)
		for k := range d.Len() {
			r.SetFloat(k, float64(d.Int(k)-int64(q.Zero[0]))*float64(q.Scale[0]))
		}
		in[i] = c.g.AddConst(in[i].Name, r)
	}
}

// integerQuants is the quantisation of every int8 or uint8 value: from the
// QuantizeLinear that makes it or the DequantizeLinear that reads it, through
// operators that move data.
func (c *converter) integerQuants() map[*ir.Value]ir.Type {
	known := map[*ir.Value]ir.Type{}
	note := func(v *ir.Value, t ir.Type, ok bool) {
		if _, is := known[v]; ok && !is && v != nil {
			known[v] = t
		}
	}
	for _, n := range c.g.Nodes {
		if n.Op == op.QuantizeLinear {
			t, ok := Params(n)
			note(n.Out[0], t, ok)
		} else if movesIntegers(n) {
			t, ok := known[n.In[0]]
			for _, v := range n.Out {
				note(v, t, ok)
			}
		}
	}
	for _, n := range slices.Backward(c.g.Nodes) { // towards integer graph inputs
		if n.Op == op.DequantizeLinear {
			t, ok := Params(n)
			note(n.In[0], t, ok && n.In[0].Const == nil)
		} else if movesIntegers(n) {
			t, ok := known[n.Out[0]]
			for _, k := range movedInputs(n) {
				note(n.Input(k), t, ok)
			}
		}
	}
	return known
}

// linearPair is v quantised as t and dequantised again, before node at.
func linearPair(g *ir.Graph, at *ir.Node, v *ir.Value, t ir.Type) *ir.Value {
	return Linear(g, at, op.DequantizeLinear, Linear(g, at, op.QuantizeLinear, v, t), t)
}

// Linear inserts a QuantizeLinear or DequantizeLinear (o) of v before node at
// (nil: at the end), with the element type and quantisation of t. An error ends the caller (ir/fail).
func Linear(g *ir.Graph, at *ir.Node, o *ir.OpDef, v *ir.Value, t ir.Type) *ir.Value {
	s, z, attrs := linearParams(t)
	suffix := ".quantized"
	if o == op.DequantizeLinear {
		suffix = ".dequantized"
	}
	return g.Insert(at, v.Def, o, v.Name+suffix, attrs, v, g.AddConst(v.Name+".scale", s),
		g.AddConst(v.Name+".zero_point", z))
}

// linearParams are scale, zero point and attributes of a Q/DQ node.
func linearParams(t ir.Type) (s, z *tensor.Dense, a ir.Attrs) {
	q := t.Quant
	if !q.PerAxis() {
		z = tensor.New(t.DType, nil)
		z.SetInt(0, int64(q.Zero[0]))
		return tensor.Scalar(q.Scale[0]), z, nil
	}
	z = tensor.New(t.DType, []int{len(q.Zero)})
	for i, v := range q.Zero {
		z.SetInt(i, int64(v))
	}
	return tensor.Of([]int{len(q.Scale)}, append([]float32(nil), q.Scale...)), z, ir.Attrs{"axis": ir.Int(q.Axis)}
}

// ToFloat undoes Integer for one node that no kernel computes on integers: the
// same operator on reals, between DequantizeLinear of its inputs and
// QuantizeLinear of its outputs. It returns the float node.
func ToFloat(g *ir.Graph, n *ir.Node) (_ *ir.Node, err error) {
	defer fail.Catch(&err)
	in := append([]*ir.Value(nil), n.In...)
	for i, v := range n.In {
		if v == nil || v.Type.Quant == nil {
			continue
		}
		if v.Const != nil {
			in[i] = g.AddConst(v.Name+".real", ir.Dequantise(v.Const, v.Type.Quant).Cast(tensor.F32))
			continue
		}
		in[i] = sharedDequantize(g, n, v)
	}
	if n.Op == op.Requantize { // between the two, nothing
		y := n.Out[0]
		w := Linear(g, n, op.QuantizeLinear, in[0], y.Type)
		w.Type = w.Type.WithQuant(y.Type.DType, y.Type.Quant)
		w.Def.Origin = n.Origin
		g.ReplaceUses(y, w)
		g.Remove(n)
		return w.Def, nil
	}
	m := g.Again(n, in...)
	m.Body = n.Body
	for i, v := range n.Out {
		w := m.Out[i]
		if v.Type.Quant != nil {
			w = Linear(g, n, op.QuantizeLinear, w, v.Type)
			w.Type = w.Type.WithQuant(v.Type.DType, v.Type.Quant)
		}
		g.ReplaceUses(v, w)
	}
	g.Remove(n)
	return m, nil
}

// sharedDequantize is the DequantizeLinear of v, the one that is there already
// where an earlier node has it.
func sharedDequantize(g *ir.Graph, at *ir.Node, v *ir.Value) *ir.Value {
	for _, u := range v.Uses() {
		if u.Node.Op == op.DequantizeLinear && u.Index == 0 && g.Index(u.Node) < g.Index(at) {
			if _, q, ok := params(u.Node); ok && q.Equal(v.Type.Quant) {
				return u.Node.Out[0]
			}
		}
	}
	return Linear(g, at, op.DequantizeLinear, v, v.Type)
}

// FoldConstants makes reals of the quantised constants that only float
// operators read: dequantised at run time they would take RAM, which is scarcer
// than the flash they take now; those that are outputs of the graph only if so asked.
func FoldConstants(g *ir.Graph, outputs bool) (err error) {
	defer fail.Catch(&err)
	for _, n := range slices.Clone(g.Nodes) {
		if n.Op != op.DequantizeLinear || !allConst(n) || !outputs && g.IsOutput(n.Out[0]) {
			continue
		}
		g.ReplaceUses(n.Out[0], g.AddConst(n.Out[0].Name, evalIn(n, nil)[0]))
		g.Remove(n)
	}
	return nil
}

// FreeWeights makes a float graph of one in which constants alone are quantised:
// what they stand for takes their place. It leaves any other.
func FreeWeights(g *ir.Graph) (err error) {
	defer fail.Catch(&err)
	for _, n := range quantisedWeights(g) {
		g.ReplaceUses(n.Out[0], g.AddConst(n.Out[0].Name, evalIn(n, nil)[0]))
		g.Remove(n)
	}
	return nil
}

// WeightsOnly reports a graph that quantises constants and nothing that it computes.
func WeightsOnly(g *ir.Graph) bool { return len(quantisedWeights(g)) > 0 }

// quantisedWeights are the nodes that quantise constants and dequantise them; nil where
// others quantise what is computed.
func quantisedWeights(g *ir.Graph) (nodes []*ir.Node) {
	constant := map[*ir.Value]bool{}
	for _, n := range g.Nodes {
		if n.Op != op.QuantizeLinear && n.Op != op.DequantizeLinear {
			continue
		}
		for _, v := range n.In {
			if v != nil && v.Const == nil && !constant[v] {
				return nil
			}
		}
		constant[n.Out[0]] = true
		nodes = append(nodes, n)
	}
	return nodes
}

// plainIntegers separates integers that stand for reals from those that nodes compute
// with as numbers (a Cast, a comparison, arithmetic on int32): a BitCast, which is no
// code, stands where one becomes the other. Behind it nothing has a quantisation, and
// what computes such a value does not know what it will stand for.
func (c *converter) plainIntegers() {
	known := c.integerQuants()
	values := append([]*ir.Value(nil), c.g.In...)
	for _, n := range c.g.Nodes {
		values = append(values, n.Out...)
	}
	for _, v := range values {
		if t, ok := known[v]; !ok || t.Quant == nil || t.DType != v.Type.DType || !storable(t.DType) {
			continue
		}
		c.separate(v, numeric)
		if v.Def != nil && v.Def.Op != op.QuantizeLinear && !v.Def.Op.Coded {
			c.separate(v, dequantizes) // computed as a number
		}
	}
}

// numeric reports a reader for which integers are numbers: it neither knows what they
// stand for, nor is defined by their bits.
func numeric(u ir.Use) bool {
	o := u.Node.Op
	return o != op.DequantizeLinear && o != op.QuantizeLinear && !o.Coded
}

// separate puts a BitCast between a value and those of its readers that are told: before
// the first of them in the graph, which need not be the first of the list.
func (c *converter) separate(v *ir.Value, told func(u ir.Use) bool) {
	readers := slices.DeleteFunc(slices.Clone(v.Uses()), func(u ir.Use) bool { return !told(u) })
	if len(readers) == 0 {
		return
	}
	first := slices.MinFunc(readers, func(a, b ir.Use) int { return c.g.Index(a.Node) - c.g.Index(b.Node) })
	n := c.bits(first.Node, v.Name+".bits", v)
	for _, u := range readers {
		c.g.SetInput(u.Node, u.Index, n.Out[0])
	}
}

func dequantizes(u ir.Use) bool { return u.Node.Op == op.DequantizeLinear }

// bits is a BitCast to the type that v has, before a node.
func (c *converter) bits(at *ir.Node, name string, v *ir.Value) *ir.Node {
	to := ir.Attrs{"to": ir.Int(v.Type.DType.ONNXCode())}
	return fail.Must(c.g.InsertBefore(at, op.BitCast, name, to, 1, v))
}

// idleBits takes away what plainIntegers has put between values that have no quantisation.
func (c *converter) idleBits() {
	for _, n := range append([]*ir.Node(nil), c.g.Nodes...) {
		if n.Op != op.BitCast {
			continue
		}
		if x, y := n.In[0], n.Out[0]; x.Type.DType == y.Type.DType && x.Type.Quant.Equal(y.Type.Quant) {
			c.g.ReplaceUses(y, x)
			c.g.Remove(n)
		}
	}
}
