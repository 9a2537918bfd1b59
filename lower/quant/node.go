// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// integer replaces n by the same operator on integers where every operand
// allows it. false: n stays float.
func (c *converter) integer(n *ir.Node) bool {
	switch {
	case n.Op.Quant == ir.QNone, len(n.Body) > 0, len(n.Out) == 0:
		return false
	case n.Op.Spectral, n.Op == op.ArgMax, n.Op == op.ArgMin:
		return c.ofIntegers(n)
	case n.Op.Exact:
		return c.exact(n)
	case weightAxis(n) >= 0:
		return c.mac(n)
	case recurrentGates[n.Op] != nil:
		return c.recurrent(n)
	case !n.Out[0].Type.DType.IsFloat():
		return false
	case passesQuant(n) && n.Op.DataIn == nil:
		return c.moves(n)
	case n.Op.Quant == ir.QMove, n.Op == op.Min, n.Op == op.Max:
		return c.shared(n)
	}
	return c.free(n)
}

// ofIntegers lets n, whose results are no integers of its input's kind, read integers:
// real numbers of a spectrum, indices.
func (c *converter) ofIntegers(n *ir.Node) bool {
	f, ok := c.intForm(n.In[0])
	switch {
	case !ok, !n.Op.Spectral && f.t.DType != tensor.I8:
		return false
	case n.Op.Spectral:
		c.g.SetInput(n, 0, f.v)
		fail.Check(c.g.Reinfer(n))
		return true
	}
	c.replace(n, []*ir.Value{f.v}, nil)
	return true
}

// intForm is the int8 or int16 form of an activation.
func (c *converter) intForm(v *ir.Value) (form, bool) {
	f, ok := c.have[v]
	return f, ok && f.v != nil && computable(f.t.DType, f.t.Quant) && !f.t.Quant.PerAxis()
}

// moves: one data input, outputs keep its quantisation.
func (c *converter) moves(n *ir.Node) bool {
	f, ok := c.intForm(n.In[0])
	if !ok {
		return false
	}
	for _, v := range n.Out {
		if !v.Type.DType.IsFloat() {
			return false
		}
	}
	in := append([]*ir.Value{f.v}, n.In[1:]...)
	t := f.t
	if i := n.Op.Fill; i > 0 && n.Input(i) != nil {
		if in[i], t, ok = c.fill(n, in[i], t); !ok {
			return false
		}
		in[0] = c.inType(n, f.v, t)
	}
	if e := clampError(n, t); e > 0 {
		want, ok := c.want[n.Out[0]]
		if !ok {
			return false
		}
		if e > float64(want.Quant.Scale[0])/2 {
			in[0] = c.inType(n, in[0], want)
			t = want
		}
	}
	c.replace(n, in, lists.Map(n.Out, func(v *ir.Value) ir.Type { return v.Type.WithQuant(t.DType, t.Quant) }))
	return true
}

// clampError is by how much the bounds of an absorbed activation are missed
// where the result has type t: an upper bound below all that t holds, or one
// between two of its steps. 0 where t holds them as good as exactly.
func clampError(n *ir.Node, t ir.Type) float64 {
	lo, hi := t.DType.IntRange()
	s, z := float64(t.Quant.Scale[0]), int64(t.Quant.Zero[0])
	least, most := float64(lo-z)*s, float64(hi-z)*s
	worst := 0.0
	for _, name := range []string{"act_min", "act_max"} {
		a, ok := n.Attrs[name]
		v := float64(a.Float)
		if !ok || name == "act_min" && v <= least || name == "act_max" && v >= most {
			continue // no bound, or none that this type reaches
		}
		if e := math.Abs(min(max(math.Round(v/s)*s, least), most) - v); !(e <= part*s) {
			worst = max(worst, e)
		}
	}
	return worst
}

// fill is the operand and the quantisation with which n, whose data are of
// type t, puts the real v beside them: t itself where it holds v, else the one
// that the result is wanted in. ok is false where neither does.
func (c *converter) fill(n *ir.Node, v *ir.Value, t ir.Type) (_ *ir.Value, _ ir.Type, ok bool) {
	k := constData(v)
	if k == nil {
		f, ok := c.intForm(v)
		return f.v, t, ok && f.t.DType == t.DType && f.t.Quant.Equal(t.Quant)
	}
	d := k.reals()
	if !holds(t, d) {
		if t, ok = c.want[n.Out[0]]; !ok {
			return nil, t, false
		}
	}
	return c.g.AddConst(v.Name+".fill", d.Cast(n.In[0].Type.DType)), t, true
}

// inType is v in the element type and quantisation of t.
func (c *converter) inType(at *ir.Node, v *ir.Value, t ir.Type) *ir.Value {
	if v.Type.DType == t.DType && v.Type.Quant.Equal(t.Quant) {
		return v
	}
	return c.requantize(at, v, v.Type.WithQuant(t.DType, t.Quant))
}

// part of a step is no error: float32 is no better.
const part = 1.0 / (1 << 20)

// holds reports that t stands for every element of d as good as exactly. A
// constant that it does not hold may not take it in the middle of a stretch:
// what was cut off (a mask of -1e4) or rounded is lost for the operators behind,
// however finely the stretch ends.
func holds(t ir.Type, d *tensor.Dense) bool {
	reals := ir.Dequantise(ir.QuantiseAway(d, t.WithShape(d.Shape)), t.Quant)
	for i, k := 0, d.Len(); i < k; i++ {
		if !(math.Abs(reals.Float(i)-d.Float(i)) <= part*float64(t.Quant.Scale[0])) {
			return false
		}
	}
	return true
}

// shared: all data inputs and the output have one quantisation (Concat, Min,
// Max): the wanted one, or the inputs' own when they agree and hold the
// constants.
func (c *converter) shared(n *ir.Node) bool {
	data := n.Op.DataInputs(n)
	if n.Op == op.Min || n.Op == op.Max {
		data = ir.Identity(len(n.In))
	}
	t, wanted := c.want[n.Out[0]]
	known := wanted
	in := append([]*ir.Value(nil), n.In...)
	consts := map[int]*tensor.Dense{}
	for _, i := range data {
		v := n.In[i]
		if v == nil {
			continue
		}
		if k := constData(v); k != nil {
			consts[i] = k.reals()
			continue
		}
		f, ok := c.intForm(v)
		switch {
		case !ok:
			return false
		case !known:
			t, known = f.t, true
		case !wanted && (f.t.DType != t.DType || !f.t.Quant.Equal(t.Quant)):
			return false
		}
		in[i] = f.v
	}
	if !known || !wanted && clampError(n, t) > 0 {
		return false
	}
	for _, d := range consts {
		if !wanted && !holds(t, d) {
			return false
		}
	}
	for _, i := range data {
		if in[i] == nil {
			continue
		}
		if d := consts[i]; d != nil {
			in[i] = c.g.AddQuantConst(n.In[i].Name, ir.QuantiseAway(d, n.In[i].Type.WithQuant(t.DType, t.Quant)),
				t.Quant)
			continue
		}
		in[i] = c.inType(n, in[i], t)
	}
	c.replace(n, in, []ir.Type{n.Out[0].Type.WithQuant(t.DType, t.Quant)})
	return true
}

// free: every operand has a quantisation of its own. Float constants that
// are parameters (LayerNormalization's scale, Clip's bounds) stay float; a
// constant operand of an integer kernel becomes int8 when that is exact.
func (c *converter) free(n *ir.Node) bool {
	t, ok := c.want[n.Out[0]]
	if !ok || len(n.Out) != 1 {
		return false
	}
	in := append([]*ir.Value(nil), n.In...)
	quantised := false
	for i, v := range n.In {
		if v == nil || i > 0 && n.Op == op.Resize { // region, scales and sizes say where to sample
			continue
		}
		if f, ok := c.intForm(v); ok {
			in[i], quantised = f.v, true
			continue
		}
		switch {
		case v.Const == nil:
			if v.Type.DType.IsFloat() {
				return false
			}
		case n.Op.Quant == ir.QInt && v.Type.DType.IsFloat():
			d, q := exactInt8(v.Const)
			if d == nil {
				return false
			}
			in[i] = c.g.AddQuantConst(v.Name, d, q)
		}
	}
	if !quantised {
		return false
	}
	return c.finish(n, in, t)
}

// exactInt8 represents a constant that holds one value (and zeros) without
// error: scale |value|, elements 0 and ±1; nil for others.
func exactInt8(d *tensor.Dense) (*tensor.Dense, *ir.Quant) {
	s := 0.0
	for i, n := 0, d.Len(); i < n; i++ {
		switch a := math.Abs(d.Float(i)); {
		case a == 0:
		case s == 0:
			s = a
		case s != a:
			return nil, nil
		}
	}
	if s == 0 {
		s = 1
	}
	if float64(float32(s)) != s || math.IsInf(s, 0) || s != s {
		return nil, nil
	}
	out := tensor.New(tensor.I8, d.Shape)
	for i, n := 0, d.Len(); i < n; i++ {
		switch v := d.Float(i); {
		case v > 0:
			out.SetInt(i, 1)
		case v < 0:
			out.SetInt(i, -1)
		}
	}
	return out, ir.PerTensor(float32(s), 0)
}

// replace makes the integer node and notes the forms of its outputs. outs nil
// keeps the output types.
func (c *converter) replace(n *ir.Node, in []*ir.Value, outs []ir.Type) {
	m := c.g.Again(n, in...)
	for i, v := range n.Out {
		w := m.Out[i]
		if outs == nil {
			c.g.ReplaceUses(v, w)
			continue
		}
		w.Type = outs[i]
		c.have[v] = form{w, w.Type}
		if c.g.IsOutput(v) {
			c.g.ReplaceUses(v, c.dequantized(n, c.have[v]))
		}
	}
}

// exact converts an operator whose integer arithmetic is its definition, where a model
// that is quantised has it: every operand is dequantised, every result quantised. Its
// constants keep their element types, int32 ones, too.
func (c *converter) exact(n *ir.Node) bool {
	in := make([]*ir.Value, len(n.In))
	for i, v := range n.In {
		if v == nil {
			continue
		}
		if f, ok := c.intForm(v); ok {
			in[i] = f.v
			continue
		}
		if in[i] = c.integers(v); in[i] == nil {
			return false
		}
	}
	outs := make([]ir.Type, len(n.Out))
	for i, v := range n.Out {
		t, ok := c.want[v]
		if !ok {
			return false
		}
		outs[i] = t
	}
	c.replace(n, in, outs)
	return true
}

// integers are the constants that a value is dequantised from, signed ones.
func (c *converter) integers(v *ir.Value) *ir.Value {
	if v.Def == nil || v.Def.Op != op.DequantizeLinear || v.Def.In[0].Const == nil {
		return nil
	}
	t, q, ok := params(v.Def)
	if !ok || t != tensor.I8 && t != tensor.I16 && t != tensor.I32 {
		return nil
	}
	x := v.Def.In[0]
	w := c.g.AddConst(x.Name, x.Const)
	w.Type = w.Type.WithQuant(t, q)
	return w
}
