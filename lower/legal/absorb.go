// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// absorb moves Pad into the windowed operator that reads it and activations
// into the operator that feeds them, so that neither needs a loop of its own.
//
//	%p = Pad(%x, {0,0,1,1,0,0,1,1})
//	%c = Conv(%p, %w, %b)              =>  %c = Conv(%x, %w, %b) {act_max=6.0, act_min=0.0, pads=[1,1,1,1]}
//	%r = Clip(%c, 0, 6)
//
// Pad (mode constant, spatial dimensions only, nothing cropped) goes
//   - with fill 0 into Conv, whose own padding is 0;
//   - with fill 0 into AveragePool, which then counts its padding
//     (count_include_pad): Pad's zeros were counted as elements. Only where the
//     pool had no padding of its own or counted it already, and no window hangs
//     over the end;
//   - into MaxPool, whose padding never wins, with fill -inf, or with fill 0
//     where no element is negative, as long as each window sees an element.
//
// Relu, Clip with constant bounds, and Min and Max with a constant become
// act_min and act_max of Conv, ConvTranspose, Gemm, MatMul, Add, Sub, Mul, Div
// and the pools, when nothing else reads these; Reshape and Transpose may stand
// between. A second activation narrows the first.
var absorb = pass.Each(sinkPad, absorbPad, absorbAct)

// sinkPad moves a Pad behind what alone reads it and treats all elements alike, or moves them: fewer
// of them are computed, and the next operator may take the Pad. QuantizeLinear and
// DequantizeLinear stay next to their operators.
func sinkPad(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if len(n.In) == 0 || n.In[0] == nil || is(n, "QuantizeLinear", "DequantizeLinear") {
		return
	}
	p := n.In[0].Def
	if !is(p, "Pad") || !elementwise(n) && !is(n, "Transpose") || n.Op.Impure {
		return
	}
	fill, ok := padFill(p)
	pg, err := op.PadGeometry(p)
	if err != nil || !ok || g.SoleUse(p.Out[0]) != n || pg.Mode != "constant" || !keepsScale(p) {
		return
	}
	y, err := ir.EvalOn(n, func(v *ir.Value) *tensor.Dense {
		if v != p.Out[0] {
			return nil
		}
		return fill.Reshaped(slices.Repeat([]int{1}, v.Type.Rank()))
	})
	if err != nil {
		return
	}
	out := n.Out[0]
	g.SetInput(n, 0, p.In[0])
	reinfer(g, n)
	value := g.AddQuantConst(p.Name+".fill", y[0].Reshaped(nil), out.Type.Quant)
	pads := ints1(g, p.In[1].Name, padsBehind(n, pg))
	m := bug.Must(g.InsertBefore(g.Next(n), op.Pad, p.Name, p.Attrs.Clone(), 1, out, pads, value))
	m.Out[0].Type = m.Out[0].Type.WithQuant(out.Type.DType, out.Type.Quant)
	m.Inherit(p)
	m.Out[0].Hold(out.Holds...)
	out.Holds = nil
	readBehind(g, out, m.Out[0])
	g.Remove(p)
	c.Did(n, "computed in front of %s", m)
}

// padsBehind are the pads of a Pad behind n that does what one in front of it did.
func padsBehind(n *ir.Node, pg *op.PadGeom) []int {
	order := ir.Identity(len(pg.Begin))
	if is(n, "Transpose") {
		order = perm(n)
	}
	return append(lists.Map(order, func(k int) int { return pg.Begin[k] }),
		lists.Map(order, func(k int) int { return pg.End[k] })...)
}

// absorbPad moves a Pad into all its readers, if each can take it.
func absorbPad(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if !is(n, "Pad") {
		return
	}
	pg, err := op.PadGeometry(n)
	y := n.Out[0]
	if err != nil || pg.Mode != "constant" || !keepsScale(n) || y.Type.Rank() < 3 || g.IsOutput(y) ||
		len(y.Uses()) == 0 {
		return
	}
	if slices.Min(pg.Begin) < 0 || slices.Min(pg.End) < 0 || !allZero(pg.Begin[:2]) || !allZero(pg.End[:2]) {
		return
	}
	d, ok := padFill(n)
	if !ok {
		return
	}
	if q := y.Type.Quant; q != nil {
		d = ir.Dequantise(d, q)
	}
	type edit struct {
		n     *ir.Node
		attrs ir.Attrs
	}
	var edits []edit
	for _, u := range y.Uses() {
		if u.Index != 0 {
			return
		}
		a := padInto(u.Node, n.In[0], pg, d.Float(0))
		if a == nil {
			return
		}
		edits = append(edits, edit{u.Node, a})
	}
	for _, e := range edits {
		e.n.SetAttrs(e.attrs)
		g.SetInput(e.n, 0, n.In[0])
		e.n.Inherit(n)
		c.Did(e.n, "absorbed %s", n)
		reinfer(g, e.n)
	}
	g.Remove(n)
}

// keepsScale reports a node whose result is real, or stands for reals as its first
// input does: what bounds or moves reals bounds or moves the integers alike.
func keepsScale(n *ir.Node) bool {
	q := n.Out[0].Type.Quant
	return len(n.Out) == 1 && !q.PerAxis() && q.Equal(n.In[0].Type.Quant)
}

// padFill is the element with which a Pad fills, false where that is known at run time only.
func padFill(n *ir.Node) (*tensor.Dense, bool) {
	if v := n.Input(2); v != nil && v.Const == nil {
		return nil, false
	}
	d, err := op.PadFill(n, n.ConstIn(2))
	return d, err == nil
}

// padInto gives the attributes with which m computes on x what it computes on
// the padded x, nil where that is impossible.
func padInto(m *ir.Node, x *ir.Value, pg *op.PadGeom, fill float64) ir.Attrs {
	attrs := m.Attrs.Clone()
	begin, end, step := ownPads(m, x, fill, attrs)
	pads := slices.Concat(begin, end)
	for i := range pads {
		k := i % len(begin)
		more := pg.Begin
		if i >= len(begin) {
			more = pg.End
		}
		pads[i] += step[k] * more[2+k]
	}
	if len(pads) == 0 || slices.Min(pads) < 0 {
		return nil
	}
	delete(attrs, "auto_pad")
	delete(attrs, "output_shape")
	attrs["pads"] = ir.Ints(pads...)
	// The edited node must be legal and give the same shape.
	try := m.Bare()
	try.SetAttrs(attrs)
	try.In = append([]*ir.Value{x}, m.In[1:]...)
	types, err := ir.InferNode(try)
	if err != nil || !slices.Equal(types[0].Shape, m.Out[0].Type.Shape) {
		return nil
	}
	return attrs
}

// ownPads are the pads that m has, beside which it can take a Pad of x with the given
// fill, and by how much an element of that changes them; nil where it cannot. attrs get
// what else it needs for that.
func ownPads(m *ir.Node, x *ir.Value, fill float64, attrs ir.Attrs) (begin, end, step []int) {
	if is(m, "Conv", "ConvTranspose") && fill == 0 {
		g := bug.Must(op.ConvGeometry(m))
		step = slices.Repeat([]int{1}, len(g.In))
		for i := range step {
			if g.Transposed { // which cuts what the zeros give
				step[i] = -g.Strides[i]
			}
		}
		return g.PadBegin, g.PadEnd, step
	}
	if is(m, "AveragePool", "MaxPool") {
		if g := bug.Must(op.PoolGeometry(m)); g.Exact() && poolTakes(m, g, x, fill, attrs) {
			delete(attrs, "ceil_mode")
			return g.PadBegin, g.PadEnd, slices.Repeat([]int{1}, len(g.In))
		}
	}
	return nil, nil, nil
}

// poolTakes reports that the padding of a pool does what a Pad of x with the given fill does.
func poolTakes(m *ir.Node, g *op.PoolGeom, x *ir.Value, fill float64, attrs ir.Attrs) bool {
	if is(m, "MaxPool") {
		return len(m.Out) == 1 && (fill <= least(x.Type) || fill == 0 && neverNegative(x, 8))
	}
	attrs["count_include_pad"] = ir.Int(1)
	// On integers, an average of zeros rounds otherwise.
	return fill == 0 && !m.Quantised() && (!g.Padded() || g.CountPad)
}

// least is the lowest real that a value of type t holds.
func least(t ir.Type) float64 {
	if t.Quant == nil {
		return -math.MaxFloat32
	}
	lo, _ := held(t, math.Inf(-1), 0)
	return lo
}

// held are lo and hi as a quantised value of type t holds them.
func held(t ir.Type, lo, hi float64) (float64, float64) {
	d := tensor.Of([]int{2}, []float64{lo, hi})
	d = ir.Dequantise(ir.QuantiseAway(d, t.WithShape(d.Shape)), t.Quant)
	return d.Float(0), d.Float(1)
}

// neverNegative reports that no element of v can be below 0, looking at most
// depth operators back.
func neverNegative(v *ir.Value, depth int) bool {
	d := v.Def
	if d == nil || depth == 0 || d.Op.Domain != "" {
		return false
	}
	if op.HasAct(d) {
		lo, hi := op.ActBounds(d)
		return lo >= 0 && hi >= 0
	}
	if d.Op.View != ir.NoView && d.Op.View != ir.Recast && d.Op.DataIn == nil { // elements of input 0
		return neverNegative(d.In[0], depth-1)
	}
	switch {
	case d.Op.NonNegative:
		return true
	case is(d, "Clip"):
		lo, ok := scalarConst(d.Input(1))
		hi, has := scalarConst(d.Input(2))
		return ok && lo >= 0 && (d.Input(2) == nil || has && hi >= 0)
	case d.Op.Window.Pools() && d.Op.Spread != ir.AnySpread, d.Op.Copies(),
		is(d, "QuantizeLinear") && v.Type.Quant != nil:
		return neverNegative(d.In[0], depth-1)
	case is(d, "Add", "Mul"), d.Op.View == ir.Partial: // Concat
		for _, x := range d.In {
			if k := floatConst(x); k != nil {
				for i, n := 0, k.Len(); i < n; i++ {
					if !(k.Float(i) >= 0) {
						return false
					}
				}
			} else if !neverNegative(x, depth-1) {
				return false
			}
		}
		return true
	}
	return false
}

// clipBounds reads n as a clamp of x to [lo, hi], infinite where open.
func clipBounds(n *ir.Node) (x *ir.Value, lo, hi float64, ok bool) {
	lo, hi = math.Inf(-1), math.Inf(1)
	t := n.Out[0].Type
	if len(n.In) == 0 || n.In[0] == nil || !keepsScale(n) || t.Quant == nil && !t.DType.IsFloat() {
		return nil, 0, 0, false
	}
	switch {
	case is(n, "Relu"):
		return n.In[0], 0, hi, true
	case is(n, "Clip"):
		lo, hi, ok = op.ClipBounds(n)
		return n.In[0], lo, hi, ok && !math.IsInf(lo, 1) && !math.IsInf(hi, -1) // one of those is the only result
	case is(n, "Min", "Max") && len(n.In) == 2:
		return oneBound(n)
	}
	return nil, 0, 0, false
}

// oneBound reads a Min or Max of two operands as clipBounds does.
func oneBound(n *ir.Node) (x *ir.Value, lo, hi float64, ok bool) {
	for i, x := range n.In {
		k, isConst := scalarConst(n.In[1-i])
		if !isConst || k != k || !slices.Equal(x.Type.Shape, n.Out[0].Type.Shape) {
			continue
		}
		if is(n, "Min") {
			return x, math.Inf(-1), k, !math.IsInf(k, -1)
		}
		return x, k, math.Inf(1), !math.IsInf(k, 1)
	}
	return nil, 0, 0, false
}

// absorbAct removes an activation that lets all through, or makes it the bounds of what feeds it.
func absorbAct(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	x, lo, hi, ok := clipBounds(n)
	if !ok || x.Const != nil || !x.Type.Quant.Equal(n.Out[0].Type.Quant) {
		return
	}
	if t := n.Out[0].Type; t.Quant != nil {
		lo, hi = bounding(t, lo, hi)
	}
	if lo <= 0 && neverNegative(x, 8) {
		lo = math.Inf(-1)
	}
	what := n.String()
	if math.IsInf(lo, -1) && math.IsInf(hi, 1) && elide(g, n, x) {
		c.Did(x.Def, "removed %s, which lets all through", what)
		return
	}
	if float64(float32(lo)) != lo || float64(float32(hi)) != hi {
		return // bounds are float32 attributes; a double model may need more
	}
	v, sole := fedBy(g, n, x)
	if p := v.Def; p != nil && p.Op.Declares("act_min") && v.Index == 0 && v.Type.Quant.Equal(x.Type.Quant) &&
		narrow(p, v, x, lo, hi, sole) && elide(g, n, x) {
		p.Inherit(n)
		c.Did(p, "absorbed %s", what)
	}
}

// fedBy is the value whose elements x holds, through Reshape and Transpose, and whether nobody but n
// reads any of them.
func fedBy(g *ir.Graph, n *ir.Node, x *ir.Value) (v *ir.Value, sole bool) {
	sole = g.SoleUse(x) == n
	for v = x; v.Def != nil && (isReshape(v.Def) || is(v.Def, "Transpose")); {
		n, v = v.Def, v.Def.In[0]
		sole = sole && g.SoleUse(v) == n
	}
	return v, sole
}

// narrow makes p, which gives v and through moves x, keep within lo and hi as well; false where
// that changes what others read.
func narrow(p *ir.Node, v, x *ir.Value, lo, hi float64, sole bool) bool {
	oldLo, oldHi := op.ActBounds(p)
	// clamp to [oldLo, oldHi], then to [lo, hi]
	newLo, newHi := min(max(oldLo, lo), hi), max(min(oldHi, hi), lo)
	if newLo == oldLo && newHi == oldHi || !sole {
		return newLo == oldLo && newHi == oldHi
	}
	// min and max of one kernel: keep the order of the bounds
	setBound(p, "act_min", min(newLo, newHi))
	setBound(p, "act_max", newHi)
	v.Holds = nil // tensors of the model before the cut
	for w := x; w != v; w = w.Def.In[0] {
		w.Holds = nil
	}
	return true
}

// bounding are the float32 bounds with which a value of the quantised type t is kept
// within lo and hi, infinite where all that t holds is.
func bounding(t ir.Type, lo, hi float64) (float64, float64) {
	least, most := held(t, math.Inf(-1), math.Inf(1))
	if lo, hi = held(t, lo, hi); lo == least {
		lo = math.Inf(-1)
	}
	if hi == most {
		hi = math.Inf(1)
	}
	return float64(float32(lo)), float64(float32(hi))
}

func setBound(n *ir.Node, name string, v float64) {
	if !math.IsInf(v, 0) {
		n.SetAttr(name, ir.Float(float32(v)))
	}
}
