// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
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
}

// channel is that of an element of the input.
func (w *inputWeights) channel(e int) int { return e / w.inner % w.count }

// each calls f for the weights, with the input channel that each sees and its output channel.
func (w *inputWeights) each(f func(at, in, out int)) {
	in, out := op.WeightChannels(w.n, w.n.In[1].Type.Shape)
	for i := range w.n.In[1].Type.Elems() {
		f(i, in(i), out(i))
	}
}

// weights are those of a reader that can take a factor for each channel; nil for others.
func (r *region) weights(c cut) *inputWeights {
	if c.n == nil || c.i != 0 {
		return nil
	}
	n := c.n
	if n.Op == op.ConvTranspose || !r.weighted(n) {
		return nil
	}
	if n.Op == op.Conv {
		g := bug.Must(op.ConvGeometry(n))
		return &inputWeights{n: n, count: g.CIn, inner: tensor.Count(g.In), outs: g.COut, group: g.COut / g.Group,
			padded: slices.Max(append(g.PadBegin, g.PadEnd...)) > 0}
	}
	p := productOf(n)
	if p == nil {
		return nil
	}
	return &inputWeights{n: n, count: p.depth, inner: 1, outs: p.outs, group: p.outs, padded: n.Op == op.MatMul}
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

// rewrite puts a ChannelAffine behind every source of a component, and lets the weights of readers
// take up what they can.
func (r *region) rewrite(p *component) {
	now := map[*ir.Value]*ir.Value{}
	for _, s := range p.sources {
		now[s.v] = r.affine(s)
	}
	for _, n := range r.nodes {
		r.again(n, now)
	}
	for _, c := range p.cuts {
		v := now[c.v]
		factors, rests := r.becomes(r.trails[c.v])
		if w := r.weights(c); w != nil {
			factors, rests = r.takeUp(w, factors, rests)
		}
		v = r.restored(v, factors, rests)
		if c.n == nil {
			r.g.ReplaceOutput(c.v, v)
			continue
		}
		r.g.SetInput(c.n, c.i, v)
	}
	r.g.RemoveDead()
}

// affine is the ChannelAffine behind a source.
func (r *region) affine(s *source) *ir.Value {
	scale, offset := make([]float64, len(s.gain)), make([]float64, len(s.gain))
	for c := range scale {
		scale[c] = s.gain[c] / s.div[c]
		offset[c] = (s.shift[c] - s.sub[c]) / s.div[c]
	}
	return r.affineOf(s.v, s.axis, scale, offset)
}

// affineOf is the ChannelAffine of a value.
func (r *region) affineOf(v *ir.Value, axis int, scale, offset []float64) *ir.Value {
	at, name, size := r.g.Nodes[0], v.Name+".channels", []int{len(scale)}
	if v.Def != nil {
		at = r.g.Next(v.Def)
	}
	return r.g.Insert(at, v.Def, op.ChannelAffine, name, ir.Attrs{"axis": ir.Int(axis)}, v,
		r.g.AddConst(name+".scale", tensor.FromFloats(tensor.F32, size, scale)),
		r.g.AddConst(name+".offset", tensor.FromFloats(tensor.F32, size, offset)))
}

// again makes what a region's node gives of the new values: what multiplied and added is gone.
func (r *region) again(n *ir.Node, now map[*ir.Value]*ir.Value) {
	in, at := slices.Clone(n.In), -1
	mul, kept := r.kepts[n]
	for i, v := range in {
		if now[v] != nil {
			in[i], at = now[v], i
		}
	}
	switch {
	case at < 0:
		return
	case n.Op.Quant != ir.QMove && !kept:
		now[n.Out[0]] = in[at]
		return
	case kept && biased(n):
		in = in[:2]
	}
	m := r.g.Again(n, in...)
	m.Series = n.Series
	if mul != nil {
		r.rescale(&piece{layer: m, dim: len(mul)}, mul, nil)
	}
	for i, v := range m.Out {
		now[n.Out[i]] = v
	}
}

// becomes says what elements were, of what they are now: so many times that, plus a rest.
func (r *region) becomes(t trail) (factors, rests []float64) {
	factors, rests = make([]float64, len(t)), make([]float64, len(t))
	for e, m := range t {
		if factors[e], rests[e] = m.gain, m.shift; m.from < 0 {
			continue
		}
		s := r.of(m.from)
		ch, ratio := s.channel(m.from), 1.0
		if !near(m.gain, s.gain[ch]) {
			ratio = m.gain / s.gain[ch]
		}
		share := ratio * m.share
		factors[e], rests[e] = ratio*s.div[ch], share*s.sub[ch]
		if !near(m.shift, share*s.shift[ch]) {
			rests[e] += m.shift - share*s.shift[ch]
		}
	}
	return factors, rests
}

// takeUp multiplies the weights of a reader by factors of its operand, and adds to the bias what the
// rests make. It gives what they cannot take: nil for all factors that are 1, for all rests that are 0.
func (r *region) takeUp(w *inputWeights, factors, rests []float64) (_, _ []float64) {
	div, sub := make([]float64, w.count), make([]float64, w.count)
	for e, x := range factors {
		k := w.channel(e)
		if div[k] != 0 && !near(div[k], x) {
			return factors, rests
		}
		div[k], sub[k] = x, rests[e]
	}
	for e, x := range rests {
		if k := w.channel(e); w.padded && x != 0 || !near(sub[k], x) {
			rests = slices.Clone(rests)
			for e := range rests {
				rests[e] /= factors[e]
			}
			clear(sub)
			r.multiply(w, div, sub)
			return nil, rests
		}
	}
	r.multiply(w, div, sub)
	return nil, nil
}

// multiply multiplies the weights of a reader by div for each of its input channels, and adds what sub
// of these makes.
func (r *region) multiply(w *inputWeights, div, sub []float64) {
	d := tensor.New(tensor.F32, w.n.In[1].Type.Shape)
	add := make([]float64, w.outs)
	w.each(func(at, in, out int) {
		x := w.n.ConstIn(1).Float(at)
		d.SetFloat(at, x*div[in])
		add[out] += float64(x * sub[in])
	})
	r.g.SetInput(w.n, 1, r.g.AddConst(w.n.In[1].Name, d))
	if slices.ContainsFunc(sub, func(x float64) bool { return x != 0 }) {
		w.addBias(r.g, add)
	}
}

// restored multiplies elements of v by factors and adds rests.
func (r *region) restored(v *ir.Value, factors, rests []float64) *ir.Value {
	for _, step := range []struct {
		op      *ir.OpDef
		by      []float64
		neutral float64
	}{{op.Mul, factors, 1}, {op.Add, rests, 0}} {
		if !slices.ContainsFunc(step.by, func(x float64) bool { return x != step.neutral }) {
			continue
		}
		by := narrowest(tensor.FromFloats(tensor.F32, v.Type.Shape, step.by))
		name := v.Name + ".unit"
		v = r.g.Insert(r.g.Next(v.Def), v.Def, step.op, name, nil, v, r.g.AddConst(name, by))
	}
	return v
}

// narrowest has one element of every dimension along which a tensor does not change.
func narrowest(d *tensor.Dense) *tensor.Dense {
	for axis, n := range d.Shape {
		if one := d.Slice(axis, 0, 1); tensor.Equal(one.Take(axis, make([]int, n)), d) {
			d = one
		}
	}
	return d
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
