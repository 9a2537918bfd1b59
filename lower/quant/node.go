package quant

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// integer replaces n by the same operator on integers where every operand
// allows it. false: n stays float.
func (c *converter) integer(n *ir.Node) (bool, error) {
	if n.Op.Quant == ir.QNone || len(n.Body) > 0 || len(n.Out) == 0 {
		return false, nil
	}
	if weightAxis(n) >= 0 {
		return c.mac(n)
	}
	if n.Op == op.LSTM {
		return c.lstm(n)
	}
	if n.Op == op.ArgMax || n.Op == op.ArgMin {
		if f, ok := c.intForm(n.In[0]); ok && f.t.DType == tensor.I8 {
			return true, c.replace(n, []*ir.Value{f.v}, nil)
		}
		return false, nil
	}
	if !n.Out[0].Type.DType.IsFloat() {
		return false, nil
	}
	switch {
	case passesQuant(n) && n.Op.DataIn == nil:
		return c.moves(n)
	case n.Op.Quant == ir.QMove || n.Op == op.Min || n.Op == op.Max:
		return c.shared(n)
	}
	return c.free(n)
}

// intForm is the int8 or int16 form of an activation.
func (c *converter) intForm(v *ir.Value) (form, bool) {
	f, ok := c.have[v]
	return f, ok && f.v != nil && computable(f.t.DType, f.t.Quant) && !f.t.Quant.PerAxis()
}

// moves: one data input, outputs keep its quantisation.
func (c *converter) moves(n *ir.Node) (bool, error) {
	f, ok := c.intForm(n.In[0])
	if !ok {
		return false, nil
	}
	in := append([]*ir.Value{f.v}, n.In[1:]...)
	outs := make([]ir.Type, len(n.Out))
	for i, v := range n.Out {
		if !v.Type.DType.IsFloat() {
			return false, nil
		}
		outs[i] = v.Type.WithQuant(f.t.DType, f.t.Quant)
	}
	return true, c.replace(n, in, outs)
}

// shared: all data inputs and the output have one quantisation (Concat, Min,
// Max): the wanted one, or the inputs' own when they agree.
func (c *converter) shared(n *ir.Node) (bool, error) {
	data := n.Op.DataInputs(n)
	if n.Op == op.Min || n.Op == op.Max {
		data = ir.Identity(len(n.In))
	}
	t, wanted := c.want[n.Out[0]]
	in := append([]*ir.Value(nil), n.In...)
	for _, i := range data {
		v := n.In[i]
		if v == nil {
			continue
		}
		if f, ok := c.intForm(v); ok {
			if !wanted {
				t, wanted = f.t, true
			} else if _, w := c.want[n.Out[0]]; !w && (f.t.DType != t.DType || !f.t.Quant.Equal(t.Quant)) {
				return false, nil
			}
			in[i] = f.v
		} else if v.Const == nil {
			return false, nil
		}
	}
	if !wanted {
		return false, nil
	}
	for _, i := range data {
		v := in[i]
		switch {
		case v == nil:
		case v.Const != nil && v.Type.Quant == nil:
			q := v.Type.WithQuant(t.DType, t.Quant)
			in[i] = c.g.AddConst(v.Name, ir.QuantiseAway(v.Const, q))
			in[i].Type.Quant = t.Quant
		case v.Type.DType != t.DType || !v.Type.Quant.Equal(t.Quant):
			w, err := c.requantize(n, v, v.Type.WithQuant(t.DType, t.Quant))
			if err != nil {
				return false, err
			}
			in[i] = w
		}
	}
	return true, c.replace(n, in, []ir.Type{n.Out[0].Type.WithQuant(t.DType, t.Quant)})
}

// free: every operand has a quantisation of its own. Float constants that
// are parameters (LayerNormalization's scale, Clip's bounds) stay float; a
// constant operand of an integer kernel becomes int8 when that is exact.
func (c *converter) free(n *ir.Node) (bool, error) {
	t, ok := c.want[n.Out[0]]
	if !ok || len(n.Out) != 1 {
		return false, nil
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
				return false, nil
			}
		case n.Op.Quant == ir.QInt && v.Type.DType.IsFloat():
			k, ok := exactInt8(v.Const)
			if !ok {
				return false, nil
			}
			w := c.g.AddConst(v.Name, k.d)
			w.Type.Quant = k.q
			in[i] = w
		}
	}
	if !quantised {
		return false, nil
	}
	return c.finish(n, in, t)
}

type int8Const struct {
	d *tensor.Dense
	q *ir.Quant
}

// exactInt8 represents a constant that holds one value (and zeros) without
// error: scale |value|, elements 0 and ±1.
func exactInt8(d *tensor.Dense) (int8Const, bool) {
	s := 0.0
	for i, n := 0, d.Len(); i < n; i++ {
		switch a := math.Abs(d.Float(i)); {
		case a == 0:
		case s == 0:
			s = a
		case s != a:
			return int8Const{}, false
		}
	}
	if s == 0 {
		s = 1
	}
	if float64(float32(s)) != s || math.IsInf(s, 0) || s != s {
		return int8Const{}, false
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
	return int8Const{out, ir.PerTensor(float32(s), 0)}, true
}

// replace makes the integer node and notes the forms of its outputs. outs nil
// keeps the output types.
func (c *converter) replace(n *ir.Node, in []*ir.Value, outs []ir.Type) error {
	m, err := c.g.InsertBefore(n, n.Op, n.Name, n.Attrs.Clone(), len(n.Out), in...)
	if err != nil {
		return err
	}
	m.Origin = n.Origin
	for i, v := range n.Out {
		w := m.Out[i]
		if outs == nil {
			c.g.ReplaceUses(v, w)
			continue
		}
		w.Type = outs[i]
		c.have[v] = form{w, w.Type}
		if c.g.IsOutput(v) {
			d, err := c.dequantized(n, c.have[v])
			if err != nil {
				return err
			}
			c.g.ReplaceUses(v, d)
		}
	}
	return nil
}
