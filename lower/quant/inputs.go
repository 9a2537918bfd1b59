// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"cmp"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// A quantisation for each channel of an input. Sensors have units of their own (g beside
// deg/s; °C, %, Pa), and one scale for all of them leaves nothing of the small ones. What
// models do to inputs, channel by channel and before anything mixes channels, stands behind
// the input as one ChannelAffine, whose results have one scale. Integer takes it into the
// quantisation of the input, which then has a scale and a zero point for each channel.

// most is how much noise one scale may add, as a power: 3 dB.
const mostNoise = 2

// mostTraced bounds the elements of inputs that are followed: their numbers are float32.
const mostTraced = 1 << 22

// trail says of every element of a value which element of a source it is, times a gain, plus
// a shift.
type trail struct {
	from        []int // counted over all sources
	gain, shift []float64
}

// source is a value that a region begins with: an input of the graph, or what is joined with one.
type source struct {
	v    *ir.Value
	at   int // number of its first element
	axis int
	// by index along the axis: what is made of it, its range, and what becomes of that: divided
	// by div, after sub was taken away
	gain, shift, lo, hi []float64
	sub, div            []float64
	wide                float64 // the range of all channels together, with zero
	fixed, padded       bool    // a reader takes no factor, or no shift
}

// cut is where a region ends: at operand i of n, or at an output (n is nil).
type cut struct {
	v *ir.Value
	n *ir.Node
	i int
}

// region is what is made of inputs before anything mixes their elements: moves, and what
// multiplies elements by constants and adds constants.
type region struct {
	g       *ir.Graph
	opt     *Options
	sources []*source
	index   map[*ir.Value]*source
	trails  map[*ir.Value]*trail
	nodes   []*ir.Node
	cuts    []cut
	total   int
}

// ScaleInputs puts a ChannelAffine behind inputs of which one scale for all channels would
// lose more than 3 dB: in a channel, or of what the first layer makes of them. Where that
// layer has constant weights, they take up factors that even the channels out. The graph
// computes the same up to rounding.
func ScaleInputs(g *ir.Graph, opt Options) error {
	if opt.FixedWeights != nil || opt.FixedActivations != nil || opt.Source == SyntheticSource ||
		len(opt.Samples) == 0 {
		return nil
	}
	if err := checkSamples(g.In, opt.Samples); err != nil {
		return err
	}
	r := newRegion(g, &opt)
	if err := r.trace(); err != nil || len(r.cuts) == 0 {
		return err
	}
	ranges, err := r.ranges()
	if err != nil {
		return err
	}
	for _, part := range r.parts() {
		if r.plan(part, ranges) && r.loses(part) {
			if err := r.rewrite(part); err != nil {
				return err
			}
		}
	}
	return nil
}

func newRegion(g *ir.Graph, opt *Options) *region {
	r := &region{g: g, opt: opt, index: map[*ir.Value]*source{}, trails: map[*ir.Value]*trail{}}
	for i, v := range g.In {
		state := slices.ContainsFunc(opt.StateBindings, func(b StateBinding) bool { return b.In == i })
		if v.Type.DType == tensor.F32 && !state && len(v.Uses()) > 0 {
			r.begin(v)
		}
	}
	for _, n := range g.Nodes {
		if len(n.Out) == 1 && n.Out[0].Type.DType == tensor.F32 && slices.ContainsFunc(n.In, varies) &&
			ofIntegers(n.Out[0]) {
			r.begin(n.Out[0])
		}
	}
	return r
}

// begin makes a value a source, unless it is too large or has no dimension.
func (r *region) begin(v *ir.Value) bool {
	n := v.Type.Elems()
	if n == 0 || r.total+n > mostTraced || v.Type.Rank() == 0 {
		return false
	}
	s := &source{v: v, at: r.total}
	t := &trail{make([]int, n), filled(n, 1), make([]float64, n)}
	for i := range t.from {
		t.from[i] = s.at + i
	}
	r.sources, r.total, r.trails[v], r.index[v] = append(r.sources, s), r.total+n, t, s
	return true
}

func filled(n int, x float64) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = x
	}
	return s
}

// trace follows the elements of the sources through the graph.
func (r *region) trace() error {
	for _, n := range r.g.Nodes {
		if !slices.ContainsFunc(n.In, func(v *ir.Value) bool { return r.trails[v] != nil }) {
			continue
		}
		done, err := r.moved(n)
		if !done && err == nil {
			done, err = r.scaled(n)
		}
		if err != nil {
			return err
		}
		if done {
			r.nodes = append(r.nodes, n)
			continue
		}
		for i, v := range n.In {
			if r.trails[v] != nil {
				r.cuts = append(r.cuts, cut{v, n, i})
			}
		}
	}
	for _, v := range r.g.Out {
		if r.trails[v] != nil {
			r.cuts = append(r.cuts, cut{v: v})
		}
	}
	return nil
}

// moved follows an operator that moves elements: what it makes of their numbers says which.
func (r *region) moved(n *ir.Node) (bool, error) {
	if n.Op.Quant != ir.QMove || n.Op.Fill > 0 || len(n.Body) > 0 || n.Op == op.Relayout {
		return false, nil
	}
	in, all := r.numbered(n)
	if in == nil {
		return false, nil
	}
	out, err := ir.EvalNode(n, in)
	if err != nil {
		return false, err
	}
	for i, d := range out {
		t := &trail{}
		for k := range d.Len() {
			f := int(d.Float(k))
			t.from, t.gain = append(t.from, all.from[f]), append(t.gain, all.gain[f])
			t.shift = append(t.shift, all.shift[f])
		}
		r.trails[n.Out[i]] = t
	}
	return true, nil
}

// numbered are operands of a node with the numbers of their elements in all; nil where not all of
// them can be followed.
func (r *region) numbered(n *ir.Node) (in []*tensor.Dense, all *trail) {
	data := n.Op.DataInputs(n)
	in, all = make([]*tensor.Dense, len(n.In)), &trail{}
	for i, v := range n.In {
		switch {
		case v == nil:
		case !slices.Contains(data, i):
			if in[i] = v.Const; v.Const == nil {
				return nil, nil
			}
		case v.Const != nil || v.Type.DType != tensor.F32 || r.trails[v] == nil:
			return nil, nil
		default:
			numbers, t := make([]float32, v.Type.Elems()), r.trails[v]
			for k := range numbers {
				numbers[k] = float32(len(all.from) + k)
			}
			in[i] = tensor.Of(v.Type.Shape, numbers)
			all.from, all.gain = append(all.from, t.from...), append(all.gain, t.gain...)
			all.shift = append(all.shift, t.shift...)
		}
	}
	return in, all
}

// ofIntegers reports reals that are made of integers: classes, truth values.
func ofIntegers(v *ir.Value) bool {
	return v.Def != nil && !slices.ContainsFunc(v.Def.In, func(x *ir.Value) bool {
		return x != nil && x.Const == nil && x.Type.DType.IsFloat()
	})
}

// lineAt are where scaled looks: a straight line through the ends goes through all.
var lineAt = []float32{-1.25e6, -0.375, 0, 0.375, 1.25e6}

// scaled follows an operator that multiplies each element by a constant and adds one, whichever
// it is: its results at a few numbers tell.
func (r *region) scaled(n *ir.Node) (bool, error) {
	at := slices.IndexFunc(n.In, varies)
	if slices.ContainsFunc(n.In[at+1:], varies) || n.Op.Pattern > ir.Broadcast || n.Op.Impure || n.Op.Eval == nil ||
		len(n.Out) != 1 || len(n.Body) > 0 || n.Out[0].Type.DType != tensor.F32 ||
		!slices.Equal(n.Out[0].Type.Shape, n.In[at].Type.Shape) {
		return false, nil
	}
	y := make([][]float64, len(lineAt))
	var err error
	for k, x := range lineAt {
		if y[k], err = resultAt(n, at, x); err != nil {
			return false, err
		}
	}
	was := r.trails[n.In[at]]
	t := &trail{from: was.from}
	for i := range was.from {
		gain, shift, ok := line(y, i)
		if !ok {
			return false, nil
		}
		t.gain, t.shift = append(t.gain, was.gain[i]*gain), append(t.shift, was.shift[i]*gain+shift)
	}
	r.trails[n.Out[0]] = t
	return true, nil
}

// resultAt is what n gives where all elements of operand at are x, the others being constant.
func resultAt(n *ir.Node, at int, x float32) ([]float64, error) {
	in := make([]*tensor.Dense, len(n.In))
	for i, v := range n.In {
		if v != nil {
			in[i] = v.Const
		}
	}
	in[at] = tensor.New(tensor.F32, n.In[at].Type.Shape)
	for i, s := 0, tensor.As[float32](in[at]); i < len(s); i++ {
		s[i] = x
	}
	out, err := ir.EvalNode(n, in)
	if err != nil {
		return nil, err
	}
	return out[0].Floats(), nil
}

func varies(v *ir.Value) bool { return v != nil && v.Const == nil }

// line is the straight line through results of element i; false where there is none.
func line(y [][]float64, i int) (gain, shift float64, ok bool) {
	last := len(lineAt) - 1
	shift = y[2][i]
	gain = (y[last][i] - y[0][i]) / float64(lineAt[last]-lineAt[0])
	for k, x := range lineAt {
		part := gain * float64(x)
		if !(math.Abs(y[k][i]-part-shift) <= 1e-5*(math.Abs(part)+math.Abs(shift))) {
			return 0, 0, false
		}
	}
	return gain, shift, true
}

// extent is the range of an element over the samples.
type extent struct{ lo, hi float64 }

// ranges are those of the elements of all sources.
func (r *region) ranges() ([]extent, error) {
	out := make([]extent, r.total)
	for i := range out {
		out[i] = extent{math.Inf(1), math.Inf(-1)}
	}
	note := func(v *ir.Value, d *tensor.Dense) {
		s := r.index[v]
		if s == nil {
			return
		}
		for i, x := range tensor.As[float32](d) {
			if x-x == 0 { // NaN may stand for what is missing
				e := &out[s.at+i]
				e.lo, e.hi = min(e.lo, float64(x)), max(e.hi, float64(x))
			}
		}
	}
	inner := slices.ContainsFunc(r.sources, func(s *source) bool { return s.v.Def != nil })
	for _, s := range r.opt.Samples {
		for i, v := range r.g.In {
			if r.index[v] != nil {
				note(v, s[i].Reshaped(v.Type.Shape))
			}
		}
		if inner {
			if _, err := interp.Run(r.g, s, note); err != nil {
				return nil, err
			}
		}
	}
	for i, e := range out {
		if e.lo > e.hi {
			out[i] = extent{}
		}
	}
	return out, nil
}

// of is the source of an element.
func (r *region) of(element int) *source {
	i, found := slices.BinarySearchFunc(r.sources, element, func(s *source, e int) int { return cmp.Compare(s.at, e) })
	if !found {
		i--
	}
	return r.sources[i]
}

// component are sources whose elements are joined somewhere, and where they are read.
type component struct {
	sources []*source
	cuts    []cut
}

// parts are the sources that have to do with each other.
func (r *region) parts() []*component {
	of := map[*source]*component{}
	for _, s := range r.sources {
		of[s] = &component{sources: []*source{s}}
	}
	for _, c := range r.cuts {
		p := of[r.of(r.trails[c.v].from[0])]
		for _, f := range r.trails[c.v].from {
			if o := of[r.of(f)]; o != p {
				p.sources, p.cuts = append(p.sources, o.sources...), append(p.cuts, o.cuts...)
				for _, s := range o.sources {
					of[s] = p
				}
			}
		}
		p.cuts = append(p.cuts, c)
	}
	var out []*component
	for _, s := range r.sources {
		if p := of[s]; len(p.cuts) > 0 && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// plan finds the axis of every source of a component, along which its channels lie; false where
// there is none.
func (r *region) plan(p *component, ranges []extent) bool {
	for _, s := range p.sources {
		var best *source
		order := s.v.Type.Shape
		axes := make([]int, len(order))
		for i := range axes {
			axes[i] = len(axes) - 1 - i
		}
		slices.SortStableFunc(axes, func(a, b int) int { return cmp.Compare(order[a], order[b]) })
		for _, a := range axes {
			if a == 0 && order[0] == 1 && len(order) > 1 {
				continue // a batch
			}
			t := &source{v: s.v, at: s.at, axis: a}
			if r.along(t, p, ranges) && (best == nil || !t.fixed && t.octaves() < best.octaves()-1.5) {
				best = t
			}
		}
		if best == nil {
			return false
		}
		*s = *best
	}
	return true
}

// octaves is the mean logarithm of the ranges of channels.
func (s *source) octaves() float64 {
	sum := 0.0
	for i := range s.lo {
		sum += math.Log2(max((s.hi[i]-s.lo[i])*math.Abs(s.gain[i]), 1e-30))
	}
	return sum / float64(len(s.lo))
}

// along fills in what becomes of the channels of s along its axis; false where elements of a
// channel are treated differently, or one weight sees several channels.
func (r *region) along(s *source, p *component, ranges []extent) bool {
	dim := s.v.Type.Shape[s.axis]
	s.gain, s.shift = make([]float64, dim), make([]float64, dim)
	s.lo, s.hi = filled(dim, math.Inf(1)), filled(dim, math.Inf(-1))
	for i := range s.v.Type.Elems() {
		e, c := ranges[s.at+i], s.channel(s.at+i)
		s.lo[c], s.hi[c] = min(s.lo[c], e.lo), max(s.hi[c], e.hi)
	}
	s.wide = max(slices.Max(s.hi), 0) - min(slices.Min(s.lo), 0)
	seen := make([]bool, dim)
	for _, c := range p.cuts {
		if !r.alike(s, c, seen) {
			return false
		}
	}
	for c, ok := range seen {
		if !ok { // unused
			s.gain[c] = 1
		}
	}
	return true
}

// alike notes what a reader sees of the channels of s, seen those of which that is known; false
// where it sees another thing.
func (r *region) alike(s *source, c cut, seen []bool) bool {
	t, w := r.trails[c.v], r.weights(c)
	owner := map[int]int{}
	for e, f := range t.from {
		if f < s.at || f >= s.at+s.v.Type.Elems() {
			continue
		}
		ch := s.channel(f)
		if !seen[ch] {
			seen[ch], s.gain[ch], s.shift[ch] = true, t.gain[e], t.shift[e]
		}
		if !near(s.gain[ch], t.gain[e]) || !near(s.shift[ch], t.shift[e]) || t.gain[e] == 0 {
			return false
		}
		if w == nil {
			s.fixed = true
			continue
		}
		s.padded = s.padded || w.padded
		if k, ok := owner[w.channel(e)]; ok && k != ch {
			return false
		}
		owner[w.channel(e)] = ch
	}
	return true
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b)) }

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
	rule, ok := ruleFor(n)
	if !ok || rule.weight != 1 || n.Op == op.ConvTranspose || n.ConstIn(1) == nil ||
		r.opt.Layer != nil && r.opt.Layer(n).Data != tensor.I8 || r.opt.Keep != nil && r.opt.Keep(n) {
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

func positive(n int) bool { return n > 0 }

// even chooses what is taken away from each channel and by what it is divided, so that all
// channels have the same range; nothing where a reader cannot take that.
func (s *source) even() {
	dim := len(s.gain)
	s.sub, s.div = make([]float64, dim), filled(dim, 1)
	if s.fixed {
		return
	}
	widest := 0.0
	for c := range s.div {
		lo, hi := s.made(c)
		if s.div[c] = max(math.Abs(lo), math.Abs(hi)); !s.padded {
			s.sub[c], s.div[c] = (lo+hi)/2, (hi-lo)/2
		}
		widest = max(widest, s.div[c])
	}
	for c := range s.div {
		if s.div[c] <= widest*1e-9 {
			s.constant(c, widest)
		}
		if s.gain[c] < 0 {
			s.div[c] = -s.div[c]
		}
	}
}

// constant is even for a channel that had one value in all samples: a flag that was never set, or
// always, has its other value at 0; others get what the widest channel has.
func (s *source) constant(c int, widest float64) {
	s.div[c] = max(widest, 1e-30)
	if v, _ := s.made(c); !s.padded && v != 0 && math.Abs(v) <= 2*widest {
		s.sub[c], s.div[c] = v/2, math.Abs(v)/2
	}
}

// made is the range of channel c where the region ends.
func (s *source) made(c int) (lo, hi float64) {
	a, b := s.gain[c]*s.lo[c]+s.shift[c], s.gain[c]*s.hi[c]+s.shift[c]
	return min(a, b), max(a, b)
}

// loses reports that one scale for each source would lose more than 3 dB of what a reader
// sees, and chooses better ones.
func (r *region) loses(p *component) bool {
	loses := false
	for _, s := range p.sources {
		s.even()
		for _, g := range s.gain {
			if s.fixed && g < 0 {
				return false
			}
		}
	}
	for _, c := range p.cuts {
		loses = r.loss(c) > mostNoise || loses
	}
	return loses
}

// channelNoise is that of a channel where a region ends, as a power: with one scale for the
// source and one for the end, and with one for each channel.
type channelNoise struct{ one, own float64 }

func (a channelNoise) times(f float64) channelNoise { return channelNoise{a.one * f, a.own * f} }
func (a channelNoise) ratio() float64               { return a.one / max(a.own, 1e-300) }

// loss is by how much one scale raises the noise that a reader sees: that of the worst channel, or
// of the worst group of channels that a layer adds up.
func (r *region) loss(c cut) float64 {
	noise, w := r.noise(c), r.weights(c)
	worst := 0.0
	if w == nil {
		for _, x := range noise {
			worst = max(worst, x.ratio())
		}
		return worst
	}
	d := w.n.ConstIn(1)
	for g := 0; g < w.outs; g += w.group {
		var sum channelNoise
		for o := g; o < g+w.group; o++ {
			w.each(o, func(at, ch int) {
				x := noise[ch].times(d.Float(at) * d.Float(at))
				sum.one += x.one
				sum.own += x.own
			})
		}
		worst = max(worst, sum.ratio())
	}
	return worst
}

// noise is that of the channels that a reader with weights sees, of the elements for another one.
func (r *region) noise(c cut) map[int]channelNoise {
	t, w := r.trails[c.v], r.weights(c)
	var whole, after extent // with zero
	for _, f := range t.from {
		s := r.of(f)
		ch := s.channel(f)
		lo, hi := s.made(ch)
		whole.lo, whole.hi = min(whole.lo, lo), max(whole.hi, hi)
		a, b := (lo-s.sub[ch])/s.div[ch], (hi-s.sub[ch])/s.div[ch]
		after.lo, after.hi = min(after.lo, a, b), max(after.hi, a, b)
	}
	noise := map[int]channelNoise{}
	for e, f := range t.from {
		k := e
		if w != nil {
			k = w.channel(e)
		}
		if _, ok := noise[k]; ok {
			continue
		}
		s := r.of(f)
		ch := s.channel(f)
		one, own := max(math.Abs(s.gain[ch])*s.wide, whole.hi-whole.lo), (after.hi-after.lo)*s.div[ch]
		noise[k] = channelNoise{one * one, own * own}
	}
	return noise
}

// channel is the index along the axis of an element, counted over all sources.
func (s *source) channel(element int) int {
	shape := s.v.Type.Shape
	return (element - s.at) / tensor.Count(shape[s.axis+1:]) % shape[s.axis]
}

// rewrite puts a ChannelAffine behind every source of a component, and lets the weights of readers
// take up what they can.
func (r *region) rewrite(p *component) error {
	now := map[*ir.Value]*ir.Value{}
	for _, s := range p.sources {
		v, err := r.affine(s)
		if err != nil {
			return err
		}
		now[s.v] = v
	}
	for _, n := range r.nodes {
		if err := r.again(n, now); err != nil {
			return err
		}
	}
	for _, c := range p.cuts {
		if w := r.weights(c); w != nil {
			if err := r.takeUp(w, r.trails[c.v]); err != nil {
				return err
			}
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
	scale, offset := make([]float32, len(s.gain)), make([]float32, len(s.gain))
	for c := range scale {
		scale[c] = float32(s.gain[c] / s.div[c])
		offset[c] = float32((s.shift[c] - s.sub[c]) / s.div[c])
	}
	at := r.g.Nodes[0]
	if s.v.Def != nil {
		at = r.g.Next(s.v.Def)
	}
	size := []int{len(scale)}
	n, err := r.g.InsertBefore(at, op.ChannelAffine, s.v.Name+".channels", ir.Attrs{"axis": ir.Int(s.axis)}, 1, s.v,
		r.g.AddConst(s.v.Name+".channels.scale", tensor.Of(size, scale)),
		r.g.AddConst(s.v.Name+".channels.offset", tensor.Of(size, offset)))
	if err != nil {
		return nil, err
	}
	if s.v.Def != nil {
		n.Origin = s.v.Def.Origin
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

// integerOffsets changes the offset of every ChannelAffine to a whole number of steps of its
// result, so that zero points are integers. What layers behind it see of the difference, their
// biases make up for.
func (c *calibrator) integerOffsets() error {
	for _, n := range c.affines() {
		a, ok := c.params[n.Out[0]]
		if !ok {
			continue
		}
		q := a.quant()
		step := float64(q.Scale[0])
		offset := tensor.New(tensor.F32, n.In[2].Type.Shape)
		delta := make([]float64, offset.Len())
		for i := range delta {
			b := n.ConstIn(2).Float(i)
			offset.SetFloat(i, step*math.RoundToEven(b/step))
			delta[i] = offset.Float(i) - b
		}
		if slices.Equal(offset.Floats(), n.ConstIn(2).Floats()) {
			continue
		}
		c.g.SetInput(n, 2, c.g.AddConst(n.In[2].Name, offset))
		if err := c.offBiases(n, delta); err != nil {
			return err
		}
	}
	return nil
}

func (c *calibrator) affines() []*ir.Node {
	return slices.DeleteFunc(slices.Clone(c.g.Nodes), func(n *ir.Node) bool { return n.Op != op.ChannelAffine })
}

// offBiases takes off the biases of layers what their input is too large by, in each channel of n.
func (c *calibrator) offBiases(n *ir.Node, delta []float64) error {
	r := &region{g: c.g, opt: &c.opt, index: map[*ir.Value]*source{}, trails: map[*ir.Value]*trail{}}
	if !r.begin(n.Out[0]) {
		return nil
	}
	if err := r.trace(); err != nil {
		return err
	}
	y := r.sources[0]
	y.axis = ir.AttrsOf[op.AxisAttr](n).Axis
	for _, cut := range r.cuts {
		w := r.weights(cut)
		rule, ok := c.rules[cut.n]
		if w == nil || !ok || cut.n.Op == op.MatMul {
			continue
		}
		t, off := r.trails[cut.v], make([]float64, w.count)
		for e, f := range t.from {
			if r.of(f) == y {
				off[w.channel(e)] = t.gain[e] * delta[y.channel(f)]
			}
		}
		add := make([]float64, w.outs)
		for o := range add {
			w.each(o, func(at, ch int) { add[o] -= float64(cut.n.ConstIn(1).Float(at) * off[ch]) })
		}
		w.addBias(c.g, add)
		rule.bias = 2
		c.rules[cut.n] = rule
	}
	return nil
}

// spellAffines makes a Mul and an Add of every ChannelAffine.
func (c *calibrator) spellAffines() error {
	for _, n := range c.affines() {
		axis := ir.AttrsOf[op.AxisAttr](n).Axis
		along := filledInts(n.In[0].Type.Rank()-axis, 1)
		along[0] = n.In[0].Type.Shape[axis]
		scale, offset := n.In[1], n.In[2]
		m, err := c.g.InsertBefore(n, op.Mul, n.Name+".scaled", nil, 1, n.In[0],
			c.g.AddConst(scale.Name, scale.Const.Reshaped(along)))
		if err != nil {
			return err
		}
		m.Origin = n.Origin
		c.g.SetInput(n, 2, nil)
		c.g.SetInput(n, 1, c.g.AddConst(offset.Name, offset.Const.Reshaped(along)))
		c.g.SetInput(n, 0, m.Out[0])
		n.Op, n.Attrs = op.Add, nil
	}
	return nil
}

func filledInts(n, x int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = x
	}
	return s
}

// takeIn makes the Mul and Add of an input part of its quantisation, where what they give is
// quantised alike everywhere and zero points are integers.
func (c *converter) takeIn(v *ir.Value) error {
	m := c.constantStep(v, op.Mul)
	if m == nil {
		return nil
	}
	a := c.constantStep(m.Out[0], op.Add)
	if a == nil {
		return nil
	}
	y := a.Out[0]
	if err := c.hoistQuant(y); err != nil {
		return err
	}
	t, ok := c.soleQuant(y)
	if !ok {
		return nil
	}
	q := throughAffine(t, m.ConstIn(1), a.ConstIn(1))
	if q == nil {
		return nil
	}
	v.Type = v.Type.WithQuant(t.DType, q)
	b, err := c.g.InsertBefore(m, op.BitCast, v.Name+".codes", ir.Attrs{"to": ir.Int(t.DType.ONNXCode())}, 1, v)
	if err != nil {
		return err
	}
	b.Origin, b.Out[0].Type = a.Origin, t
	for _, u := range slices.Clone(y.Uses()) {
		c.g.ReplaceUses(u.Node.Out[0], b.Out[0])
		c.g.Remove(u.Node)
	}
	c.g.Remove(a)
	c.g.Remove(m)
	return nil
}

// constantStep is the one reader of v where that is an operator with v and a constant; nil for others.
func (c *converter) constantStep(v *ir.Value, o *ir.OpDef) *ir.Node {
	if n := c.g.SoleUse(v); n != nil && n.Op == o && n.In[0] == v && n.ConstIn(1) != nil {
		return n
	}
	return nil
}

// throughAffine is the quantisation of x of which scale*x + offset has the type t: for each index
// of the axis along which these lie, or one with a zero point outside the type. nil where a zero
// point would be no integer, and where an integer operator does the same.
func throughAffine(t ir.Type, scale, offset *tensor.Dense) *ir.Quant {
	q, axis := t.Quant, axisOf(scale.Shape, len(t.Shape))
	if len(scale.Shape) > len(t.Shape) || !slices.Equal(scale.Shape, offset.Shape) || axis < -1 ||
		axis >= 0 && t.Shape[axis] != scale.Len() {
		return nil
	}
	out := &ir.Quant{Axis: axis, Scale: make([]float32, scale.Len()), Zero: make([]int32, scale.Len())}
	for i := range out.Scale {
		s := float64(q.Scale[0]) / scale.Float(i)
		z := float64(q.Zero[0]) + offset.Float(i)/float64(q.Scale[0])
		if out.Scale[i] = float32(s); !(s > 0) || math.IsInf(s, 0) || float64(out.Scale[i]) < minScale ||
			!(math.Abs(z) < 1<<30) || math.Abs(z-math.Round(z)) > 1.0/8 {
			return nil
		}
		out.Zero[i] = int32(math.Round(z))
	}
	if lo, hi := t.DType.IntRange(); !out.PerAxis() && int64(out.Zero[0]) >= lo && int64(out.Zero[0]) <= hi {
		return nil
	}
	return out
}

// axisOf is the dimension of a tensor of a rank along which a constant of a shape lies: -1 for
// one number, -2 for several dimensions.
func axisOf(shape []int, rank int) int {
	axis := -1
	for i, n := range shape {
		switch {
		case n == 1:
		case axis >= 0:
			return -2
		default:
			axis = rank - len(shape) + i
		}
	}
	return axis
}
