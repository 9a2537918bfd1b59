// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// A quantisation for each channel of an output, as inputs.go has it for inputs: a regression of °C and
// Pa, boxes in pixels beside scores. The weights of the last layers take up factors and offsets, so
// that all channels have one range; a ChannelAffine behind them undoes that, and Integer takes it
// into the quantisation of the output.

// mixedRange is how many times as wide as a channel all of them are where that has too little of one
// scale: less than 5 of 8 bits. Of classes the largest integer is looked for: where channels may be
// classes, all of one has to be that near zero, and more.
const mixedRange, mixedClasses = 8, 32

// mostLooked is how many samples say which range an output has.
const mostLooked = 32

// head is an output of the graph with what its elements are made of.
type head struct {
	*region
	v             *ir.Value
	axis          int
	pieces        map[*source]*piece
	elements      []interval // their ranges
	channels      []interval // of every index of the axis
	scale, offset []float64  // the output is scale*x + offset of what one range suits
}

// piece is a value that an output is made of. Its channels are those of a layer, or of the output.
type piece struct {
	layer       *ir.Node // whose weights take factors; nil: there is none
	still       bool     // and no offset
	dim, inner  int      // channels of the layer, elements of a channel one behind the other
	at          []int    // index of the output's axis by channel; -1: unused
	gain, shift []float64
	seen        interval // its range
	by          float64  // by which it is multiplied, where it is no layer's
}

// scaleOutputs puts a ChannelAffine behind outputs of which one scale for all channels leaves
// too little of one.
func scaleOutputs(g *ir.Graph, opt *Options) {
	if opt.OneScale {
		return
	}
	heads := headsOf(g, opt)
	if len(heads) == 0 {
		return
	}
	lookAt(heads)
	for _, h := range heads {
		even := func(axis int) bool {
			return (opt.Follows == nil || opt.Follows(slices.Index(g.Out, h.v), axis)) && h.takes(axis) && h.mixed() &&
				h.even()
		}
		if g.IsOutput(h.v) && slices.ContainsFunc(axesBySize(h.v.Type.Shape), even) {
			h.rewrite()
		}
	}
	g.RemoveDead()
}

// headsOf are the outputs that can have a quantisation for each channel, with what multiplies and
// adds, and without.
func headsOf(g *ir.Graph, opt *Options) (heads []*head) {
	for i, v := range g.Out {
		state := slices.ContainsFunc(opt.StateBindings, func(b StateBinding) bool { return b.Out == i })
		if v.Def == nil || v.Type.DType != tensor.F32 || state || len(v.Uses()) > 0 || v.Type.Rank() == 0 {
			continue
		}
		for _, scaled := range []bool{true, false} {
			h := &head{region: emptyRegion(g, opt), v: v}
			h.back(v, scaled)
			if h.trails[v] != nil && slices.ContainsFunc(axesBySize(v.Type.Shape), h.takes) {
				heads = append(heads, h)
			}
		}
	}
	return heads
}

func emptyRegion(g *ir.Graph, opt *Options) *region {
	return &region{g: g, opt: opt, index: map[*ir.Value]*source{}, trails: map[*ir.Value]trail{},
		clipped: map[*ir.Node]*ir.Node{}, kepts: map[*ir.Node][]float64{}}
}

// back follows the elements of v from where they are made: what moves them, and with scaled what
// multiplies them by constants and adds constants.
func (r *region) back(v *ir.Value, scaled bool) {
	if n := v.Def; r.trails[v] == nil && n != nil && v.Type.DType == tensor.F32 && r.once(v) &&
		(n.Op.Quant == ir.QMove || scaled && n.Op.Pattern <= ir.Broadcast) {
		for _, x := range n.In {
			if varies(x) {
				r.back(x, scaled)
			}
		}
		done := r.moved(n)
		if !done && scaled && slices.ContainsFunc(n.In, func(x *ir.Value) bool { return r.trails[x] != nil }) {
			done = r.scaled(n)
		}
		if done {
			r.nodes = append(r.nodes, n)
		}
	}
	if r.trails[v] == nil {
		r.begin(v)
	}
}

// once reports a value that has one reader, or is an output and nothing else.
func (r *region) once(v *ir.Value) bool {
	return len(v.Uses()) == 1 != r.g.IsOutput(v) && len(v.Uses()) < 2
}

// channel is the index along the axis of element e of the output.
func (h *head) channel(e int) int {
	shape := h.v.Type.Shape
	return e / tensor.Count(shape[h.axis+1:]) % shape[h.axis]
}

// takes notes what every channel of what the output is made of becomes, along an axis; false where
// elements of one become different things, or nothing could even them out.
func (h *head) takes(axis int) bool {
	h.axis = axis
	h.pieces = map[*source]*piece{}
	for e, m := range h.trails[h.v] {
		s, c := h.of(m.from), h.channel(e)
		p := h.pieces[s]
		if p == nil {
			if s.v.Def == nil {
				return false
			}
			p = h.piece(s)
			h.pieces[s] = p
		}
		k := c
		if p.layer != nil {
			k = (m.from - s.at) / p.inner % p.dim
		}
		if p.at[k] < 0 {
			p.at[k], p.gain[k], p.shift[k] = c, m.gain, m.shift
		}
		if p.at[k] != c || !near(p.gain[k], m.gain) || !near(p.shift[k], m.shift) || m.gain == 0 ||
			m.gain < 0 && (p.layer == nil || p.still) {
			return false
		}
	}
	return len(h.pieces) > 1 || h.told() || slices.ContainsFunc(h.list(), func(p *piece) bool { return p.layer != nil })
}

// list are the pieces in the order of their sources.
func (h *head) list() (l []*piece) {
	for _, s := range h.sources {
		if p := h.pieces[s]; p != nil {
			l = append(l, p)
		}
	}
	return l
}

// told reports that the model multiplies channels by different numbers: it has units.
func (h *head) told() bool {
	first := 0.0
	for _, p := range h.list() {
		for k, g := range p.gain {
			if p.at[k] < 0 {
				continue
			}
			if first == 0 {
				first = g
			}
			if !near(first, g) {
				return true
			}
		}
	}
	return false
}

// piece is what a source is.
func (h *head) piece(s *source) *piece {
	p := &piece{by: 1, seen: nothing, dim: h.v.Type.Shape[h.axis], inner: 1}
	if n := s.v.Def; h.once(s.v) && h.weighted(n) {
		lo, hi := math.Inf(-1), math.Inf(1)
		if canAct(n.Op) {
			lo, hi = op.ActBounds(n)
		}
		if math.IsInf(hi, 1) && (lo == 0 || math.IsInf(lo, -1)) && takesFactors(n) {
			p.layer, p.still = n, n.Op == op.MatMul || lo == 0
			axis := s.v.Type.Rank() - 1
			if n.Op == op.Conv || n.Op == op.ConvTranspose {
				axis = 1
			}
			p.dim, p.inner = s.v.Type.Shape[axis], tensor.Count(s.v.Type.Shape[axis+1:])
		}
	}
	p.at, p.gain, p.shift = filled(p.dim, -1), make([]float64, p.dim), make([]float64, p.dim)
	return p
}

// takesFactors reports a layer with weights and a bias for each channel that it gives.
func takesFactors(n *ir.Node) bool {
	bias := n.Input(2)
	return plainGemm(n) && (n.Op != op.ConvTranspose || ir.AttrsOf[op.GroupAttr](n).Group == 1) &&
		(bias == nil || bias.Const != nil && slices.Contains([]int{1, channels(n, weightAxis(n))}, bias.Type.Elems()))
}

// lookAt finds the ranges of outputs on some of the samples.
func lookAt(heads []*head) {
	opt, g := heads[0].opt, heads[0].g
	for _, h := range heads {
		h.elements = filled(h.v.Type.Elems(), nothing)
	}
	e := newEvaluator(g, keepsNone, nil)
	every := (len(opt.Samples) + mostLooked - 1) / mostLooked
	for i := 0; i < len(opt.Samples); i += every {
		out := e.run(opt.Samples[i], nil)
		for _, h := range heads {
			for k, x := range tensor.As[float32](out[slices.Index(g.Out, h.v)]) {
				if x-x == 0 {
					h.elements[k] = h.elements[k].with(float64(x))
				}
			}
		}
		e.release(out)
	}
	e.plans = nil
}

// mixed reports that one scale leaves too little of a channel, which may be a class where the model
// tells of no units.
func (h *head) mixed() bool {
	n := h.v.Type.Shape[h.axis]
	h.channels = filled(n, nothing)
	for e, x := range h.elements {
		c := h.channel(e)
		h.channels[c] = h.channels[c].union(x)
	}
	wide := interval{}.union(h.channels...).width()
	if math.IsInf(wide, 0) {
		return false
	}
	room := 1.0 // more in 16 bits
	for s := range h.pieces {
		if h.data(s.v.Def) == tensor.I16 {
			room = 1 << 8
		}
	}
	units := n == 1 || h.told()
	for _, c := range h.channels {
		own := c.width() * mixedRange
		if !units {
			own = c.peak() * mixedClasses
		}
		if c.hi > c.lo && wide > own*room {
			return true
		}
	}
	return false
}

// even chooses scales and offsets so that all channels have one range: that of what is no layer's,
// of which the largest stays as it is. False where pieces of a channel disagree.
func (h *head) even() bool {
	all := interval{-1, 1}
	if fixed := h.fixed(); len(fixed) > 0 {
		all = nothing
		for _, p := range fixed {
			all = all.union(interval{p.seen.lo * p.by, p.seen.hi * p.by})
		}
	}
	if !(all.hi > all.lo) {
		return false
	}
	n := len(h.channels)
	h.scale, h.offset = make([]float64, n), make([]float64, n)
	widest := nothing.union(h.channels...).width()
	if !h.given(max(all.hi, -all.lo), 1e-9*widest) {
		return false
	}
	for c, s := range h.scale {
		if s != 0 {
			continue
		}
		e := h.channels[c]
		if h.scale[c] = e.width() / all.width(); h.scale[c] <= 1e-9*widest { // one value in all samples
			h.scale[c] = max(math.Abs(e.hi), 1e-9*widest)
		}
		h.offset[c] = e.lo - all.lo*h.scale[c]
	}
	return true
}

// given are the scales and offsets of channels that no layer's weights can choose; peak is of the
// range, a scale is tiny at the least. False where pieces of a channel disagree.
func (h *head) given(peak, tiny float64) bool {
	for _, p := range h.list() {
		for k, c := range p.at {
			if c < 0 || p.layer != nil && !p.still {
				continue
			}
			scale := p.gain[k] / p.by
			if p.still {
				scale = max(h.channels[c].hi-p.shift[k], p.shift[k]-h.channels[c].lo, tiny) / peak
			}
			if h.scale[c] != 0 && (!near(h.scale[c], scale) || !near(h.offset[c], p.shift[k])) {
				return false
			}
			h.scale[c], h.offset[c] = scale, p.shift[k]
		}
	}
	return true
}

// fixed are the pieces that are no layer's, with their ranges, and what brings these to one.
func (h *head) fixed() (list []*piece) {
	size := map[*piece]int{}
	for e, m := range h.trails[h.v] {
		if p := h.pieces[h.of(m.from)]; p.layer == nil {
			x := h.elements[e]
			p.seen = p.seen.union(interval{(x.lo - m.shift) / m.gain, (x.hi - m.shift) / m.gain})
			size[p]++
		}
	}
	peak := func(p *piece) float64 { return max(p.seen.peak(), 1e-30) }
	most := 0
	var whole *piece
	for _, p := range h.list() {
		if p.layer == nil {
			if list = append(list, p); size[p] > most {
				most, whole = size[p], p
			}
		}
	}
	for _, p := range list {
		if f := peak(whole) / peak(p); f > 2 || f < 0.5 {
			p.by = f
		}
	}
	return list
}

// rewrite lets weights take up what they can, and puts the ChannelAffine behind the output.
func (h *head) rewrite() {
	now := map[*ir.Value]*ir.Value{}
	for _, s := range h.sources {
		p := h.pieces[s]
		if p == nil {
			continue
		}
		if now[s.v] = s.v; p.layer == nil && p.by != 1 {
			now[s.v] = h.g.Insert(h.g.Next(s.v.Def), s.v.Def, op.Mul, s.v.Name+".part", nil, s.v,
				h.g.AddConst(s.v.Name+".factor", tensor.Scalar(float32(p.by))))
		}
		if p.layer == nil {
			continue
		}
		mul, add := filled(p.dim, 1.0), make([]float64, p.dim)
		for k, c := range p.at {
			if c >= 0 {
				mul[k], add[k] = p.gain[k]/h.scale[c], (p.shift[k]-h.offset[c])/h.scale[c]
			}
		}
		h.rescale(p, mul, add)
	}
	for _, n := range h.nodes {
		h.again(n, now)
	}
	h.g.ReplaceOutput(h.v, h.affineOf(now[h.v], h.axis, h.scale, h.offset))
}

// rescale multiplies what a layer gives, channel by channel, nil for by 1, and adds to it.
func (r *region) rescale(p *piece, mul, add []float64) {
	n := p.layer
	if mul == nil {
		mul = filled(p.dim, 1.0)
	} else {
		w, axis := n.ConstIn(1), weightAxis(n)
		d, inner := tensor.New(tensor.F32, w.Shape), tensor.Count(w.Shape[axis+1:])
		for i := range w.Len() {
			d.SetFloat(i, w.Float(i)*mul[i/inner%p.dim])
		}
		r.g.SetInput(n, 1, r.g.AddConst(n.In[1].Name, d))
	}
	if n.Input(2) == nil && (p.still || !slices.ContainsFunc(add, func(x float64) bool { return x != 0 })) {
		return
	}
	b := tensor.New(tensor.F32, []int{p.dim})
	for k := range b.Len() {
		x := 0.0
		if old := n.ConstIn(2); old != nil {
			x = old.Float(k%old.Len()) * mul[k]
		}
		if !p.still {
			x += add[k]
		}
		b.SetFloat(k, x)
	}
	r.g.SetInput(n, 2, r.g.AddConst(n.Name+".bias", b))
}

// offOutputs takes off the biases of layers what the output of a ChannelAffine is too large by.
func (c *calibrator) offOutputs(n *ir.Node, delta []float64) {
	h := &head{region: emptyRegion(c.g, &c.opt), v: n.In[0]}
	if h.back(h.v, false); !h.takes(ir.AttrsOf[op.AxisAttr](n).Axis) {
		return
	}
	for _, p := range h.list() {
		rule, ok := c.rules[p.layer]
		if !ok || p.still {
			continue
		}
		add := make([]float64, p.dim)
		for k, at := range p.at {
			if at >= 0 {
				add[k] = -delta[at] / n.ConstIn(1).Float(at)
			}
		}
		h.rescale(p, nil, add)
		rule.bias = 2
		c.rules[p.layer] = rule
	}
}

// takeOut makes the Mul and Add of an output part of its quantisation: what they read, as integers
// of that; nil where there is no such quantisation.
func (c *converter) takeOut(v *ir.Value) *ir.Value {
	a := constantStep(v, op.Add)
	if a == nil {
		return nil
	}
	m := constantStep(a.In[0], op.Mul)
	if m == nil || m.In[0].Def == nil || m.In[0].Def.Op != op.DequantizeLinear || len(v.Uses()) > 0 {
		return nil
	}
	x := m.In[0].Def.In[0]
	_, p, ok := params(m.In[0].Def)
	if !ok || x.Const != nil || x.Type.Quant == nil || p.PerAxis() || !p.Equal(x.Type.Quant) {
		return nil
	}
	q := borderAffine(x.Type, m, a, true)
	if q == nil {
		return nil
	}
	b := c.bits(a, v.Name+".codes", x)
	b.Origin, b.Out[0].Type = a.Origin, x.Type.WithQuant(x.Type.DType, q)
	b.Out[0].Hold(v.Holds...)
	return b.Out[0]
}

// constantStep is the node that makes v where that is an operator with a constant; nil for others.
func constantStep(v *ir.Value, o *ir.OpDef) *ir.Node {
	if n := v.Def; n != nil && n.Op == o && n.In[0].Const == nil && n.ConstIn(1) != nil {
		return n
	}
	return nil
}
