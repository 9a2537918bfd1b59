// SPDX-License-Identifier: Apache-2.0

// Package quant brings graphs to fixed point. Quantised models come in one
// form: float operators between DequantizeLinear and QuantizeLinear (QDQ).
// Float models get these nodes from calibration (Insert), imported ones bring
// them along; Integer then replaces each float operator whose inputs and
// outputs are quantised by the same operator on integers.
package quant

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// form is the integer value that stands for a float value.
type form struct {
	v *ir.Value // int8 with Quant; nil while only the quantisation is known
	t ir.Type   // element type, shape and quantisation
}

type converter struct {
	g *ir.Graph
	// have: float values whose integer form exists (outputs of
	// DequantizeLinear and of converted nodes).
	have map[*ir.Value]form
	// want: float values that are quantised by their only readers.
	want map[*ir.Value]ir.Type
	// dq are DequantizeLinear nodes made for float readers of converted values.
	dq map[*ir.Value]*ir.Value
	// border: DequantizeLinear nodes that read uint8 in the model: at the
	// border of the program their input is uint8 again.
	border map[*ir.Node]ir.Type
}

// Integer rewrites a QDQ graph to integer operators. What cannot be computed
// on integers stays float between explicit QuantizeLinear and
// DequantizeLinear nodes.
func Integer(g *ir.Graph, opt IntegerOptions) (err error) {
	defer fail.Catch(&err)
	c := &converter{g: g, have: map[*ir.Value]form{}, want: map[*ir.Value]ir.Type{}, dq: map[*ir.Value]*ir.Value{},
		border: map[*ir.Node]ir.Type{}}
	c.quantisedInputs(opt)
	c.quantisedTables()
	c.integerMoves()
	c.plainIntegers()
	c.wants()
	for _, n := range append([]*ir.Node(nil), g.Nodes...) {
		c.node(n)
	}
	c.quantisedOutputs(opt)
	c.idleBits()
	g.RemoveDead()
	return FoldConstants(g, false)
}

// IntegerOptions of Integer.
type IntegerOptions struct {
	// FloatIO makes inputs and outputs that stand for reals float, with the
	// conversion inside; otherwise the QuantizeLinear and DequantizeLinear nodes at the
	// border disappear and the firmware's inputs and outputs are integers.
	FloatIO bool
	// State is never float for FloatIO: nobody writes or reads it.
	State []StateBinding
}

// keepsIn reports an input that stays as it is for FloatIO, keepsOut an output.
func (o IntegerOptions) keepsIn(i int) bool {
	return o.FloatIO && !slices.ContainsFunc(o.State, func(b StateBinding) bool { return b.In == i })
}

func (o IntegerOptions) keepsOut(i int) bool {
	return o.FloatIO && !slices.ContainsFunc(o.State, func(b StateBinding) bool { return b.Out == i })
}

// FloatBorders makes those inputs and outputs float that a model itself has as integers for reals: in a graph, and
// alike in earlier forms of it.
func FloatBorders(opt IntegerOptions, g *ir.Graph, earlier ...*ir.Graph) (err error) {
	defer fail.Catch(&err)
	all := append(earlier, g)
	for i := range g.In {
		if t := op.Meant(g.In[i]); t.Quantised() && opt.keepsIn(i) {
			for _, x := range all {
				floatInput(x, i, t)
			}
		}
	}
	for i, v := range g.Out {
		if t := written(v); t.Quantised() && opt.keepsOut(i) {
			for _, x := range all {
				x.SetOutput(i, Linear(x, nil, op.DequantizeLinear, x.Out[i], t))
			}
		}
	}
	return nil
}

// written is the type of a value with the quantisation that it was written with, and then moved perhaps.
func written(v *ir.Value) ir.Type {
	n := v.Def
	switch {
	case v.Type.Quant != nil || n == nil:
	case n.Op == op.QuantizeLinear:
		if p, ok := storedParams(n); ok {
			return v.Type.WithQuant(p.DType, p.Quant)
		}
	case n.Op.Quant == ir.QMove && n.Op.DataIn == nil:
		if t := written(n.In[0]); t.Quantised() {
			return v.Type.WithQuant(t.DType, t.Quant)
		}
	}
	return v.Type
}

// floatInput makes input i float; its integers of type t are computed of it.
func floatInput(g *ir.Graph, i int, t ir.Type) {
	v, x := g.In[i], g.AddInput("", ir.Type{DType: tensor.F32, Shape: t.Shape})
	v.Name, x.Name = x.Name, v.Name
	g.In[i], g.In = x, g.In[:len(g.In)-1]
	var reader *ir.Node
	if at := slices.IndexFunc(g.Nodes, func(n *ir.Node) bool { return slices.Contains(n.In, v) }); at >= 0 {
		reader = g.Nodes[at]
	}
	q := Linear(g, reader, op.QuantizeLinear, x, t)
	q.Type = v.Type
	g.ReplaceUses(v, q)
}

// quantisedOutputs lets the integers out where an output is a DequantizeLinear.
func (c *converter) quantisedOutputs(opt IntegerOptions) {
	for i, v := range c.g.Out {
		if opt.keepsOut(i) {
			continue
		}
		if y := c.takeOut(v); y != nil {
			c.g.SetOutput(i, y)
			continue
		}
		if v.Def == nil || v.Def.Op != op.DequantizeLinear {
			continue
		}
		x := v.Def.In[0]
		if x.Type.Quant == nil || x.Const != nil {
			continue
		}
		if _, q, ok := params(v.Def); !ok || !q.Equal(x.Type.Quant) {
			continue // read with another scale than it was written with: real as the model has it
		}
		if t, ok := c.border[v.Def]; ok {
			x = c.requantize(nil, x, t)
		}
		c.g.SetOutput(i, x)
	}
}

func params(n *ir.Node) (t tensor.DType, q *ir.Quant, ok bool) { return op.LinearParams(n) }

// Params are the element type and quantisation that a QuantizeLinear or
// DequantizeLinear node gives its integers; false where they are not constant,
// or there is a scale for each of many.
func Params(n *ir.Node) (ir.Type, bool) {
	t, q, ok := params(n)
	if !ok || q.PerAxis() {
		return ir.Type{}, false
	}
	return ir.Type{DType: t, Quant: q}, true
}

// signedOf are the signed types that stand for unsigned ones, and what is taken off
// every number and zero point.
var signedOf = map[tensor.DType]struct {
	t   tensor.DType
	off int32
}{tensor.U4: {tensor.I4, 1 << 3}, tensor.U8: {tensor.I8, 1 << 7}, tensor.U16: {tensor.I16, 1 << 15}}

// signed maps unsigned quantisation to signed: uint8 to int8, q-128 with zero point
// z-128.
func signed(t tensor.DType, q *ir.Quant) (tensor.DType, *ir.Quant) {
	s, ok := signedOf[t]
	if !ok {
		return t, q
	}
	z := lists.Make(len(q.Zero), func(i int) int32 { return q.Zero[i] - s.off })
	return s.t, &ir.Quant{Axis: q.Axis, Scale: q.Scale, Zero: z}
}

// computable reports quantisations that the integer operators take for
// activations, after signed: int8, and int16 with zero point 0.
func computable(t tensor.DType, q *ir.Quant) bool {
	return t == tensor.I8 || t == tensor.I16 && !q.PerAxis() && q.Zero[0] == 0
}

// storable reports element types of quantised activations that programs hold.
func storable(t tensor.DType) bool { return t == tensor.I8 || t == tensor.U8 || t == tensor.I16 }

// wants finds the float values that are read by QuantizeLinear alone, all of
// the same quantisation: their producers may compute on integers.
func (c *converter) wants() {
	for _, n := range c.g.Nodes {
		if n.Op != op.QuantizeLinear || n.In[0].Const != nil {
			continue
		}
		if t, ok := readQuantised(c.g, n.In[0], false, signedParams); ok {
			c.want[n.In[0]] = t
		}
	}
	// Backwards through operators that move data or are monotone: Conv,
	// MaxPool, QuantizeLinear is Conv, QuantizeLinear, MaxPool.
	for _, n := range slices.Backward(c.g.Nodes) {
		if !passesQuant(n) || len(n.Out) != 1 || n.Op.DataIn != nil {
			continue
		}
		v := n.In[0]
		t, ok := c.want[n.Out[0]]
		_, known := c.want[v]
		if ok && !known && v.Def != nil && v.Def.Op != op.DequantizeLinear && c.g.SoleUse(v) == n {
			c.want[v] = v.Type.WithQuant(t.DType, t.Quant)
		}
	}
}

// signedParams are Params of activations on integers.
func signedParams(n *ir.Node) (ir.Type, bool) {
	p, ok := Params(n)
	if ok {
		p.DType, p.Quant = signed(p.DType, p.Quant)
	}
	return p, ok && computable(p.DType, p.Quant)
}

// storedParams are Params of what programs hold.
func storedParams(n *ir.Node) (ir.Type, bool) {
	p, ok := Params(n)
	return p, ok && storable(p.DType)
}

// passesQuant are operators whose output may simply keep the quantisation of
// input 0.
func passesQuant(n *ir.Node) bool {
	if n.Op == op.MaxPool && len(n.Out) == 1 {
		return true
	}
	return n.Op.Quant == ir.QMove && n.Op != op.QuantizeLinear && n.Op != op.DequantizeLinear
}

// quantisedInputs lets float inputs that are only quantised come in as integers.
func (c *converter) quantisedInputs(opt IntegerOptions) {
	for i, v := range c.g.In {
		if !v.Type.DType.IsFloat() || opt.keepsIn(i) {
			continue
		}
		c.takeIn(v)
		c.hoistQuant(v)
		if t, ok := c.soleQuant(v); ok {
			c.replaceInput(v, t)
		}
	}
}

// quantisedTables quantises constants from which nodes choose at run time and whose
// choice is quantised: an embedding is a table of integers, a fourth of its bytes.
func (c *converter) quantisedTables() {
	for _, n := range slices.Clone(c.g.Nodes) {
		if n.Op != op.Gather || n.In[0].Const == nil || !n.In[0].Type.DType.IsFloat() {
			continue
		}
		v := n.In[0]
		c.hoistQuant(v)
		for _, u := range slices.Clone(v.Uses()) {
			if q := u.Node; q.Op == op.QuantizeLinear && u.Index == 0 {
				c.g.ReplaceUses(q.Out[0], c.g.AddConst(q.Out[0].Name, evalIn(q, nil)[0]))
				c.g.Remove(q)
			}
		}
	}
}

// hoistQuant quantises a float input, or constant, before nodes that only move its values,
// where all that come after them quantise alike: the same integers are moved.
// What was quantised after the moves stays so, and finds nothing to do.
func (c *converter) hoistQuant(v *ir.Value) {
	t, alike := readQuantised(c.g, v, true, storedParams)
	moves := slices.DeleteFunc(slices.Clone(v.Uses()), func(u ir.Use) bool { return u.Node.Op == op.QuantizeLinear })
	if !alike || len(moves) == 0 {
		return
	}
	first := slices.IndexFunc(c.g.Nodes, func(n *ir.Node) bool {
		return slices.ContainsFunc(v.Uses(), func(u ir.Use) bool { return u.Node == n })
	})
	d := linearPair(c.g, c.g.Nodes[first], v, t)
	for _, u := range moves {
		c.g.SetInput(u.Node, u.Index, d)
	}
}

// readQuantised is v as all QuantizeLinear make it that read it, or, with moved, what only moves its
// values; false where something else does, where they do not agree, or params says so of one.
func readQuantised(g *ir.Graph, v *ir.Value, moved bool, params func(n *ir.Node) (ir.Type, bool)) (t ir.Type, ok bool) {
	leaves := 0
	var walk func(x *ir.Value) bool
	walk = func(x *ir.Value) bool {
		if len(x.Uses()) == 0 || g.IsOutput(x) {
			return false
		}
		for _, u := range x.Uses() {
			n := u.Node
			if n.Op == op.QuantizeLinear && u.Index == 0 {
				p, ok := params(n)
				if !ok || leaves > 0 && (p.DType != t.DType || !p.Quant.Equal(t.Quant)) {
					return false
				}
				t, leaves = v.Type.WithQuant(p.DType, p.Quant), leaves+1
			} else if !moved || u.Index != 0 || !movesFloat(n) || !walk(n.Out[0]) {
				return false
			}
		}
		return true
	}
	ok = walk(v)
	return t, ok
}

// movesFloat reports a node that only moves the real numbers of its first input.
func movesFloat(n *ir.Node) bool {
	return n.Op.Quant == ir.QMove && len(n.Out) == 1 && len(n.Body) == 0 &&
		slices.Equal(n.Op.DataInputs(n), []int{0}) &&
		n.Out[0].Type.DType.IsFloat()
}

// soleQuant is the quantised type of a float input whose readers are all the
// same QuantizeLinear.
func (c *converter) soleQuant(v *ir.Value) (ir.Type, bool) {
	return readQuantised(c.g, v, false, func(n *ir.Node) (ir.Type, bool) {
		p, ok := storedParams(n)
		return p, ok && c.onlyReal(n.Out[0])
	})
}

func (c *converter) replaceInput(v *ir.Value, t ir.Type) {
	uses := append([]ir.Use(nil), v.Uses()...)
	v.Type = t
	for _, u := range uses {
		y := u.Node.Out[0]
		y.Type = t
		c.g.ReplaceUses(y, v)
		c.g.Remove(u.Node)
	}
}

// node converts one node, or makes float copies of its integer inputs.
func (c *converter) node(n *ir.Node) {
	switch n.Op {
	case op.DequantizeLinear:
		c.dequantize(n)
		return
	case op.QuantizeLinear:
		c.quantize(n)
		return
	case op.BitCast:
		return // of bits, whatever they stand for
	}
	if !c.integer(n) {
		c.floatInputs(n)
	}
}

// codes reports what is integers in the graph's own right: its inputs, and results of what codes.
func codes(x *ir.Value) bool {
	return x.Def == nil || x.Def.Op == op.QuantizeLinear || x.Def.Op.Coded
}

// constantForm notes the integer form of v, which a constant is the integers of.
func (c *converter) constantForm(v, x *ir.Value, t tensor.DType, q *ir.Quant) {
	st, sq := signed(t, q)
	if st == tensor.I4 && !c.packs(v, sq) {
		st = tensor.I8 // a byte each
	}
	switch st {
	case tensor.I32:
		c.have[v] = form{nil, ir.Type{DType: t, Shape: x.Type.Shape, Quant: q}}
	case tensor.I4, tensor.I8, tensor.I16:
		c.have[v] = form{c.constant(x, st, sq), ir.Type{DType: st, Shape: x.Type.Shape, Quant: sq}}
	}
}

// dequantize notes the integer form of its output: its own input, as int8.
func (c *converter) dequantize(n *ir.Node) {
	t, q, ok := params(n)
	x := n.In[0]
	if !ok || n.Out[0].Type.DType != tensor.F32 && n.Out[0].Type.DType != tensor.F64 {
		return
	}
	if x.Type.Quant != nil && t == x.Type.DType && !x.Type.Quant.Equal(q) {
		return // reinterpreted: computed as written
	}
	if x.Const != nil {
		c.constantForm(n.Out[0], x, t, q)
		return
	}
	if q.PerAxis() {
		return
	}
	if x.Type.Quant == nil { // an integer that the graph computes or receives: give it its meaning
		if !storable(t) || !codes(x) {
			return
		}
		x.Type = x.Type.WithQuant(t, q)
	}
	if t == tensor.U8 {
		st, sq := signed(t, q)
		y := c.requantize(n, x, ir.Type{DType: st, Shape: x.Type.Shape, Quant: sq})
		x, t, q = y, st, sq
	}
	if computable(t, q) {
		c.have[n.Out[0]] = form{x, x.Type}
	}
}

// packs reports that v is read as weights alone, by operators that take int4.
func (c *converter) packs(v *ir.Value, q *ir.Quant) bool {
	return !slices.ContainsFunc(q.Zero, func(z int32) bool { return z != 0 }) &&
		!slices.ContainsFunc(v.Uses(), func(u ir.Use) bool {
			return u.Node.Op.WeightAxis == nil || u.Node.Op == op.ConvTranspose || u.Index != 1
		})
}

// constant is the signed form of a quantised constant, made once.
func (c *converter) constant(x *ir.Value, t tensor.DType, q *ir.Quant) *ir.Value {
	d := x.Const
	if d.DType != t {
		s := tensor.New(t, d.Shape)
		off := int64(signedOf[d.DType].off)
		for i, n := 0, d.Len(); i < n; i++ {
			s.SetInt(i, d.Int(i)-off)
		}
		d = s
	}
	return c.g.AddQuantConst(x.Name, d, q)
}

// requantize inserts a Requantize of x to type t before node at.
func (c *converter) requantize(at *ir.Node, x *ir.Value, t ir.Type) *ir.Value {
	for _, u := range x.Uses() { // one for all readers
		if u.Node.Op == op.Requantize && u.Node.Out[0].Type.DType == t.DType &&
			u.Node.Out[0].Type.Quant.Equal(t.Quant) {
			return u.Node.Out[0]
		}
	}
	y := c.g.Insert(at, at, op.Requantize, x.Name+".requant", nil, x)
	y.Type = y.Type.WithQuant(t.DType, t.Quant)
	return y
}

// quantize disappears when its input has an integer form; the form is
// requantised where the two differ.
func (c *converter) quantize(n *ir.Node) {
	t, q, ok := params(n)
	if !ok {
		return
	}
	y := n.Out[0]
	f := c.have[n.In[0]]
	if q.PerAxis() {
		return
	}
	if f.v == nil { // or an int32 constant
		if storable(t) && c.onlyReal(y) {
			y.Type = y.Type.WithQuant(t, q)
		}
		return
	}
	want := ir.Type{DType: t, Shape: y.Type.Shape, Quant: q}
	v := f.v
	if v.Type.DType == t && v.Type.Quant.Equal(q) {
		c.g.ReplaceUses(y, v)
		return
	}
	if t == tensor.U8 {
		if v = c.asSigned(n, v, want); len(y.Uses()) == 0 && !c.g.IsOutput(y) {
			return
		}
	}
	if storable(t) {
		c.g.ReplaceUses(y, c.requantize(n, v, want))
	}
}

// asSigned gives the readers of a uint8 value inside the graph int8; only what is
// visible outside, or read as it is, becomes uint8.
func (c *converter) asSigned(n *ir.Node, v *ir.Value, want ir.Type) *ir.Value {
	st, sq := signed(want.DType, want.Quant)
	if st != tensor.I8 {
		return v
	}
	if !(v.Type.DType == st && v.Type.Quant.Equal(sq)) {
		v = c.requantize(n, v, ir.Type{DType: st, Shape: want.Shape, Quant: sq})
	}
	for _, u := range slices.Clone(n.Out[0].Uses()) {
		if u.Node.Op != op.DequantizeLinear || u.Index != 0 {
			continue
		}
		if _, dq, ok := params(u.Node); ok && dq.Equal(want.Quant) {
			v.Hold(n.Out[0].Holds...)
			c.have[u.Node.Out[0]] = form{v, v.Type}
			c.border[u.Node] = want
			c.detachDQ(u.Node, v, sq)
		}
	}
	return v
}

// onlyReal reports that nothing computes on the integers of y as such: a Cast
// or ConvInteger reads numbers, not what they stand for.
func (c *converter) onlyReal(y *ir.Value) bool {
	return !slices.ContainsFunc(y.Uses(), func(u ir.Use) bool {
		return u.Node.Op != op.DequantizeLinear && !movesIntegers(u.Node)
	})
}

// detachDQ makes a DequantizeLinear of a uint8 value read its int8 form with
// the shifted zero point.
func (c *converter) detachDQ(n *ir.Node, v *ir.Value, q *ir.Quant) {
	c.g.SetInput(n, 0, v)
	c.g.SetInput(n, 2, c.g.AddConst(v.Name+".zero", tensor.Scalar(int8(q.Zero[0]))))
}

// floatInputs gives a node that stays float DequantizeLinear versions of
// inputs that exist only as integers.
func (c *converter) floatInputs(n *ir.Node) {
	for i, v := range n.In {
		if v == nil {
			continue
		}
		f, ok := c.have[v]
		if !ok || f.v == nil || v.Def != nil && v.Def.Op == op.DequantizeLinear {
			continue // a DequantizeLinear that is still there
		}
		c.g.SetInput(n, i, c.dequantized(n, f))
	}
}

func (c *converter) dequantized(at *ir.Node, f form) *ir.Value {
	if w := c.dq[f.v]; w != nil {
		return w
	}
	s, z, attrs := linearParams(f.t)
	c.dq[f.v] = c.g.Insert(at, f.v.Def, op.DequantizeLinear, f.v.Name+".real", attrs, f.v,
		c.g.AddConst(f.v.Name+".scale", s), c.g.AddConst(f.v.Name+".zero", z))
	return c.dq[f.v]
}
