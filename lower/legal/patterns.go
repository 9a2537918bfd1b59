// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
)

// patterns recognises operators that exporters spell out:
//
//	x * sigmoid(k*x)                                   Swish (SiLU; QuickGelu with k = 1.702)
//	x/2 * (1 + erf(x/sqrt 2))                          Gelu
//	x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715*x^3)))  Gelu, approximate
//	x * clip(x+3, 0, 6) / 6, x * HardSigmoid(x)        HardSwish
//	clip(x+3, 0, 6) / 6                                HardSigmoid
//	x * tanh(softplus(x))                              Mish
//	(x-m) / sqrt(mean((x-m)^2) + eps) * g + b          LayerNormalization, m = mean(x) over the last dimensions
//	x / sqrt(mean(x^2) + eps) * g                      RMSNormalization
//	Reshape(InstanceNormalization(Reshape(x))) * g + b GroupNormalization
//
// Factors may come in any order and grouping, a division may be written for a
// multiplication and x*x for x^2. The parts stay where something else reads
// them.
func patterns(c *pass.Ctx, g *ir.Graph) {
	list := append([]*ir.Node(nil), g.Nodes...)
	for i := len(list) - 1; i >= 0; i-- { // from the end, so that the largest match comes first
		n := list[i]
		if n.Quantised() || len(n.Out) != 1 || len(n.Out[0].Uses()) == 0 && !g.IsOutput(n.Out[0]) ||
			!n.Out[0].Type.DType.IsFloat() {
			continue
		}
		if !is(n, "Mul", "Div") || op.HasAct(n) {
			continue
		}
		c.At(n)
		m, root := activation(c, g, n), n
		if m == nil {
			m, root = layerNorm(c, g, n)
		}
		if m != nil {
			m.Inherit(g.RemoveUnread(root.In...)...) // the parts
		}
	}
	c.At(nil)
	pass.Each(groupNorm)(c, g)
}

// near compares constants that exporters round differently.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-4*math.Abs(b) }

// term is a product: k times the values.
type term struct {
	k float64
	v []*ir.Value
}

// The patterns multiply at most maxFactors values, in products of at most
// maxProducts nodes on top of each other: what has more is none of them, however
// long the chain is that it stands in.
const maxFactors, maxProducts = 3, 16

// factors multiplies out v over Mul, Div by a constant, Neg, and Pow by 2 or 3;
// below v only where nothing else reads the product or, with a stop
// value, down to that. Of more than maxFactors values it gives some.
func factors(g *ir.Graph, v, stop *ir.Value) term {
	return multiplier{g, stop}.of(v, true, maxProducts)
}

type multiplier struct {
	g    *ir.Graph
	stop *ir.Value
}

func (p multiplier) of(v *ir.Value, root bool, depth int) term {
	n := v.Def
	if n == nil || v == p.stop || depth == 0 || op.HasAct(n) || !root && p.stop == nil && p.g.SoleUse(v) == nil {
		return term{1, []*ir.Value{v}}
	}
	times := func(a term, b func() term) term {
		if len(a.v) > maxFactors {
			return a
		}
		t := b()
		return term{a.k * t.k, append(slices.Clip(a.v), t.v...)}
	}
	sub := func(x *ir.Value) term {
		if k, ok := scalarConst(x); ok {
			return term{k, nil}
		}
		return p.of(x, false, depth-1)
	}
	switch {
	case is(n, "Mul"):
		return times(sub(n.In[0]), func() term { return sub(n.In[1]) })
	case is(n, "Neg"):
		return times(term{-1, nil}, func() term { return sub(n.In[0]) })
	case is(n, "Div"):
		if k, ok := scalarConst(n.In[1]); ok && k != 0 {
			return times(term{1 / k, nil}, func() term { return sub(n.In[0]) })
		}
	case is(n, "Pow"):
		if k, ok := scalarConst(n.In[1]); ok && (k == 2 || k == 3) {
			t := sub(n.In[0])
			p := t
			for i := 1.0; i < k; i++ {
				p = times(p, func() term { return t })
			}
			return p
		}
	}
	return term{1, []*ir.Value{v}}
}

// multiple reads v as k*x.
func multiple(g *ir.Graph, v, x *ir.Value) (k float64, ok bool) {
	t := factors(g, v, x)
	return t.k, len(t.v) == 1 && t.v[0] == x
}

// plus reads v as x + k.
func plus(v *ir.Value) (x *ir.Value, k float64, ok bool) {
	n := v.Def
	if n == nil || op.HasAct(n) || !is(n, "Add", "Sub") {
		return nil, 0, false
	}
	if k, ok := scalarConst(n.In[1]); ok {
		if is(n, "Sub") {
			k = -k
		}
		return n.In[0], k, true
	}
	if k, ok := scalarConst(n.In[0]); ok && is(n, "Add") {
		return n.In[1], k, true
	}
	return nil, 0, false
}

// activation matches the element-wise patterns with root n and gives the node
// that replaces them.
func activation(c *pass.Ctx, g *ir.Graph, n *ir.Node) *ir.Node {
	t := factors(g, n.Out[0], nil)
	emit := func(d *ir.OpDef, attrs ir.Attrs, x *ir.Value) *ir.Node {
		if !slices.Equal(x.Type.Shape, n.Out[0].Type.Shape) {
			return nil
		}
		y := insert(g, n, d, n.Name, attrs, x)
		swap(c, g, n, y, "is "+d.Name)
		return y.Def
	}
	if len(t.v) == 1 && near(t.k, 1.0/6) {
		if x, ok := relu6Plus3(t.v[0]); ok {
			return emit(op.HardSigmoid, ir.Attrs{"alpha": ir.Float(1.0 / 6), "beta": ir.Float(0.5)}, x)
		}
	}
	if len(t.v) != 2 {
		return nil
	}
	for i, x := range t.v {
		if d, attrs := gate(g, t.k, x, t.v[1-i]); d != nil {
			return emit(d, attrs, x)
		}
	}
	return nil
}

// gate is the operator that k*x*u is, as a function of x; nil where it is none.
func gate(g *ir.Graph, k float64, x, u *ir.Value) (*ir.OpDef, ir.Attrs) {
	d := u.Def
	if d == nil || op.HasAct(d) {
		return nil, nil
	}
	switch {
	case is(d, "Sigmoid") && k == 1:
		if k, ok := multiple(g, d.In[0], x); ok {
			return op.Swish, ir.Attrs{"alpha": ir.Float(float32(k))}
		}
	case is(d, "HardSigmoid") && k == 1 && d.In[0] == x && near(float64(ir.AttrsOf[op.AlphaAttr](d).Alpha),
		1.0/6) && ir.AttrsOf[op.BetaAttr](d).Beta == 0.5:
		return op.HardSwish, nil
	case is(d, "Tanh") && k == 1 && is(d.In[0].Def, "Softplus") && d.In[0].Def.In[0] == x:
		return op.Mish, nil
	case near(k, 1.0/6):
		if y, ok := relu6Plus3(u); ok && x == y {
			return op.HardSwish, nil
		}
	case near(k, 0.5):
		if e, one, ok := plus(u); ok && one == 1 && e.Def != nil {
			if how := geluArg(g, e.Def, x); how != "" {
				return op.Gelu, ir.Attrs{"approximate": ir.Str(how)}
			}
		}
	}
	return nil, nil
}

// relu6Plus3 reads v as clip(x+3, 0, 6).
func relu6Plus3(v *ir.Value) (*ir.Value, bool) {
	if v.Def == nil {
		return nil, false
	}
	y, lo, hi, ok := clipBounds(v.Def)
	if !ok || lo != 0 || hi != 6 {
		return nil, false
	}
	x, k, ok := plus(y)
	return x, ok && k == 3
}

// geluArg says which Gelu has e as its function of x: erf(x/sqrt 2) is "none",
// tanh(sqrt(2/pi)*(x + 0.044715*x^3)) is "tanh".
func geluArg(g *ir.Graph, e *ir.Node, x *ir.Value) string {
	switch {
	case is(e, "Erf"):
		if k, ok := multiple(g, e.In[0], x); ok && near(k, math.Sqrt2/2) {
			return "none"
		}
	case is(e, "Tanh"):
		t := factors(g, e.In[0], x)
		if len(t.v) != 1 || !near(t.k, math.Sqrt(2/math.Pi)) || !is(t.v[0].Def, "Add") {
			return ""
		}
		for i, a := range t.v[0].Def.In {
			if a != x {
				continue
			}
			p := factors(g, t.v[0].Def.In[1-i], x)
			if len(p.v) == 3 && p.v[0] == x && p.v[1] == x && p.v[2] == x && near(p.k, 0.044715) {
				return "tanh"
			}
		}
	}
	return ""
}
