// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// inputWeights are the weights of a layer by the channels that they see.
type inputWeights struct {
	n           *ir.Node
	count       int // channels
	inner       int // elements of a channel, one behind the other
	outs, group int // output channels; those that see the same input channels
	padded      bool
	at          func(o, k, tap int) int // place of a weight of output channel o; k counts channels of its group
	taps        int
}

// channel is that of an element of the input.
func (w *inputWeights) channel(e int) int { return e / w.inner % w.count }

// each calls f for the weights of output channel o, with the input channel that each sees.
func (w *inputWeights) each(o int, f func(at, channel int)) {
	groups := w.outs / w.group
	for k := range w.count / groups {
		for t := range w.taps {
			f(w.at(o, k, t), o/w.group*(w.count/groups)+k)
		}
	}
}

// weights are those of a reader that can take a factor for each channel; nil for others.
func (r *region) weights(c cut) *inputWeights {
	if c.n == nil || c.i != 0 {
		return nil
	}
	n := c.n
	if n.Op == op.ConvTranspose || !r.weighted(n) || r.data(n) != tensor.I8 {
		return nil
	}
	w := &inputWeights{n: n, inner: 1, taps: 1, padded: n.Op == op.MatMul, outs: channels(n, weightAxis(n))}
	shape := n.In[0].Type.Shape
	if n.Op == op.Conv {
		g, err := op.ConvGeometry(n)
		if err != nil {
			return nil
		}
		per := g.CIn / g.Group
		w.count, w.inner, w.taps, w.group = g.CIn, tensor.Count(shape[2:]), tensor.Count(g.Kernel), g.COut/g.Group
		w.at = func(o, k, tap int) int { return (o*per+k)*w.taps + tap }
		w.padded = slices.ContainsFunc(g.PadBegin, positive) || slices.ContainsFunc(g.PadEnd, positive)
		return w
	}
	p := productOf(n)
	if p == nil {
		return nil
	}
	w.count, w.group = p.depth, w.outs
	w.at = func(o, k, _ int) int { return p.weight(0, o, k) }
	return w
}

// weighted reports a layer with constant weights that becomes integers.
func (r *region) weighted(n *ir.Node) bool {
	rule, ok := ruleFor(n)
	return ok && rule.weight == 1 && n.ConstIn(1) != nil && r.data(n) != Float.Data &&
		(r.opt.Keep == nil || !r.opt.Keep(n))
}

// data is the element type that a node gets.
func (r *region) data(n *ir.Node) tensor.DType {
	if r.opt.Layer == nil {
		return tensor.I8
	}
	return r.opt.Layer(n).Data
}

func positive(n int) bool { return n > 0 }

// rewrite puts a ChannelAffine behind every source of a component, and lets the weights of readers
// take up what they can.
func (r *region) rewrite(p *component) (err error) {
	defer fail.Catch(&err)
	now := map[*ir.Value]*ir.Value{}
	for _, s := range p.sources {
		v := fail.Must(r.affine(s))
		now[s.v] = v
	}
	for _, n := range r.nodes {
		fail.Check(r.again(n, now))
	}
	for _, c := range p.cuts {
		if w := r.weights(c); w != nil {
			fail.Check(r.takeUp(w, r.trails[c.v]))
		}
		if c.n == nil {
			r.g.ReplaceOutput(c.v, now[c.v])
			continue
		}
		r.g.SetInput(c.n, c.i, now[c.v])
	}
	r.g.RemoveDead()
	return nil
}

// affine is the ChannelAffine behind a source.
func (r *region) affine(s *source) (*ir.Value, error) {
	scale, offset := make([]float64, len(s.gain)), make([]float64, len(s.gain))
	for c := range scale {
		scale[c] = s.gain[c] / s.div[c]
		offset[c] = (s.shift[c] - s.sub[c]) / s.div[c]
	}
	return r.affineOf(s.v, s.axis, scale, offset)
}

// affineOf is the ChannelAffine of a value.
func (r *region) affineOf(v *ir.Value, axis int, scale, offset []float64) (*ir.Value, error) {
	at, name, size := r.g.Nodes[0], v.Name+".channels", []int{len(scale)}
	if v.Def != nil {
		at = r.g.Next(v.Def)
	}
	n, err := r.g.InsertBefore(at, op.ChannelAffine, name, ir.Attrs{"axis": ir.Int(axis)}, 1, v,
		r.g.AddConst(name+".scale", tensor.FromFloats(tensor.F32, size, scale)),
		r.g.AddConst(name+".offset", tensor.FromFloats(tensor.F32, size, offset)))
	if err != nil {
		return nil, err
	}
	if v.Def != nil {
		n.Origin = v.Def.Origin
	}
	return n.Out[0], nil
}

// again makes what a region's node gives of the new values: what multiplied and added is gone.
func (r *region) again(n *ir.Node, now map[*ir.Value]*ir.Value) error {
	in, at := slices.Clone(n.In), -1
	for i, v := range in {
		if now[v] != nil {
			in[i], at = now[v], i
		}
	}
	switch {
	case at < 0:
		return nil
	case n.Op.Quant != ir.QMove:
		now[n.Out[0]] = in[at]
		return nil
	}
	m, err := r.g.InsertBefore(n, n.Op, n.Name, n.Attrs, len(n.Out), in...)
	if err != nil {
		return err
	}
	m.Origin, m.Series = n.Origin, n.Series
	for i, v := range m.Out {
		now[n.Out[i]] = v
	}
	return nil
}

// takeUp multiplies the weights of a reader by what its operand was divided by, and adds to the
// bias what was taken away.
func (r *region) takeUp(w *inputWeights, t *trail) error {
	div, sub := filled(w.count, 1), make([]float64, w.count)
	shifts := false
	for e, f := range t.from {
		s, k := r.of(f), w.channel(e)
		ch := s.channel(f)
		div[k], sub[k] = s.div[ch], s.sub[ch]
		shifts = shifts || sub[k] != 0
	}
	d := tensor.New(tensor.F32, w.n.In[1].Type.Shape)
	add := make([]float64, w.outs)
	for o := range w.outs {
		w.each(o, func(at, ch int) {
			x := w.n.ConstIn(1).Float(at)
			d.SetFloat(at, x*div[ch])
			add[o] += float64(x * sub[ch])
		})
	}
	r.g.SetInput(w.n, 1, r.g.AddConst(w.n.In[1].Name, d))
	if !shifts {
		return nil
	}
	w.addBias(r.g, add)
	return nil
}

// addBias adds numbers to the biases of the output channels.
func (w *inputWeights) addBias(g *ir.Graph, add []float64) {
	b := tensor.New(tensor.F32, []int{w.outs})
	old := w.n.ConstIn(2)
	for o, x := range add {
		if old != nil {
			x += old.Float(o % old.Len())
		}
		b.SetFloat(o, x)
	}
	g.SetInput(w.n, 2, g.AddConst(w.n.Name+".bias", b))
}
