// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"cmp"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/lists"
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
// a shift; behind an operator that computes with all elements of a channel, one of these.
type trail []mark

type mark struct {
	from               int     // counted over all sources; -1: of none
	gain, shift, share float64 // share: of a number that is added to all elements of the channel, what is added to this
}

// source is a value that a region begins with: an input of the graph, or what is joined with one.
type source struct {
	v     *ir.Value
	at    int // number of its first element
	axis  int
	first int // number of its first channel, where axes are known
	// by index along the axis: what is made of it, its range, and what becomes of that: divided
	// by div, after sub was taken away
	gain, shift, sub, div []float64
	ranges                []interval
	wide                  float64   // the range of all channels together, with zero
	peak                  []float64 // the largest weight that reads a channel
	fixed, padded         bool      // a reader takes no factor, or no shift
	free                  []bool    // no reader sees what is taken away from a channel
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
	trails  map[*ir.Value]trail
	nodes   []*ir.Node
	cuts    []cut
	clipped map[*ir.Node]*ir.Node // a node and, with its bounds apart, the Clip that gives the same
	total   int
	through bool                   // axes are known, and operators that keep channels apart are followed
	kepts   map[*ir.Node][]float64 // these, with factors of their weights
}

// ScaleBorders puts a ChannelAffine behind inputs of which one scale for all channels would
// lose more than 3 dB: in a channel, or of what the first layer makes of them. Where that
// layer has constant weights, they take up factors that even the channels out. Outputs are treated
// alike. The graph computes the same up to rounding.
func ScaleBorders(g *ir.Graph, opt Options) (err error) {
	defer fail.Catch(&err)
	if opt.FixedWeights != nil || opt.FixedActivations != nil || opt.Source == SyntheticSource ||
		len(opt.Samples) == 0 {
		return nil
	}
	checkSamples(g.In, opt.Samples)
	var ranges map[*ir.Value][]interval
	for _, through := range []bool{true, false} {
		r := newRegion(g, &opt)
		if ranges == nil {
			ranges = r.ranges()
		}
		if through && !r.alongUnits(ranges) {
			continue
		}
		r.scale(ranges)
	}
	scaleFronts(g, &opt)
	scaleOutputs(g, &opt)
	return nil
}

// scale follows the elements of the sources, and rewrites what loses.
func (r *region) scale(ranges map[*ir.Value][]interval) {
	r.trace()
	for _, part := range r.parts() {
		if (!r.through || len(r.kepts) > 0) && r.plan(part, ranges) && r.loses(part) {
			r.rewrite(part)
		}
	}
	r.join()
}

func newRegion(g *ir.Graph, opt *Options) *region {
	r := emptyRegion(g, opt)
	for i, v := range g.In {
		state := slices.ContainsFunc(opt.StateBindings, func(b StateBinding) bool { return b.In == i })
		if v.Type.DType == tensor.F32 && !state && len(v.Uses()) > 0 && !evened(v) && !op.AsksForNaN(v) {
			r.begin(v)
		}
	}
	for _, n := range g.Nodes {
		if len(n.Out) == 1 && n.Out[0].Type.DType == tensor.F32 && slices.ContainsFunc(n.In, varies) &&
			(ofIntegers(n.Out[0]) || imputes(n)) && !evened(n.Out[0]) {
			r.begin(n.Out[0])
		}
	}
	return r
}

// evened reports a value that has a ChannelAffine already.
func evened(v *ir.Value) bool {
	return slices.ContainsFunc(v.Uses(), func(u ir.Use) bool { return u.Node.Op == op.ChannelAffine })
}

// begin makes a value a source, unless it is too large or has no dimension.
func (r *region) begin(v *ir.Value) bool {
	n := v.Type.Elems()
	if n == 0 || r.total+n > mostTraced || v.Type.Rank() == 0 {
		return false
	}
	s := &source{v: v, at: r.total}
	t := lists.Make(n, func(i int) mark { return mark{from: s.at + i, gain: 1, share: 1} })
	r.sources, r.total, r.trails[v], r.index[v] = append(r.sources, s), r.total+n, t, s
	return true
}

func filled[T any](n int, x T) []T { return slices.Repeat([]T{x}, n) }

// trace follows the elements of the sources through the graph.
func (r *region) trace() {
	for _, n := range slices.Clone(r.g.Nodes) {
		if !slices.ContainsFunc(n.In, func(v *ir.Value) bool { return r.trails[v] != nil }) {
			continue
		}
		if canAct(n.Op) && op.HasAct(n) && n.Op.Pattern <= ir.Broadcast {
			n = r.apart(n)
		}
		if r.moved(n) || r.scaled(n) || r.kept(n) {
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
}

// apart writes n as one without bounds and a Clip: a region ends between them. It gives the node to follow.
func (r *region) apart(n *ir.Node) *ir.Node {
	lo, hi := op.ActBounds(n)
	attrs := n.Attrs.Clone()
	delete(attrs, "act_min")
	delete(attrs, "act_max")
	m := fail.Must(r.g.InsertBefore(n, n.Op, n.Name+".line", attrs, 1, n.In...))
	if !r.scaled(m) {
		r.g.Remove(m)
		return n
	}
	bound := func(name string, x float64) *ir.Value {
		return r.g.AddConst(n.Name+name, tensor.Scalar(float32(x)))
	}
	in := []*ir.Value{m.Out[0], bound(".min", lo), bound(".max", hi)}
	c := fail.Must(r.g.InsertBefore(n, op.Clip, n.Name+".bounds", nil, 1, in...))
	m.Origin, c.Origin, r.nodes = n.Origin, n.Origin, append(r.nodes, m)
	r.clipped[n] = c
	r.g.ReplaceUses(n.Out[0], c.Out[0])
	return c
}

// join takes back what apart did where nothing was rewritten in front of the Clip.
func (r *region) join() {
	for n, c := range r.clipped {
		if r.trails[c.In[0]] != nil {
			r.g.ReplaceUses(c.Out[0], n.Out[0])
		}
	}
	r.g.RemoveDead()
}

// moved follows an operator that moves elements: what it makes of their numbers says which.
func (r *region) moved(n *ir.Node) bool {
	if n.Op.Quant != ir.QMove || n.Op.Fill > 0 || len(n.Body) > 0 || n.Op == op.Relayout {
		return false
	}
	in, all := r.numbered(n)
	if in == nil {
		return false
	}
	for i, d := range fail.Must(ir.EvalNode(n, in)) {
		r.trails[n.Out[i]] = lists.Make(d.Len(), func(k int) mark { return all[int(d.Float(k))] })
	}
	return true
}

// numbered are operands of a node with the numbers of their elements in all; nil where not all of
// them can be followed.
func (r *region) numbered(n *ir.Node) (in []*tensor.Dense, all trail) {
	data := n.Op.DataInputs(n)
	in = make([]*tensor.Dense, len(n.In))
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
			numbers := lists.Make(v.Type.Elems(), func(k int) float32 { return float32(len(all) + k) })
			in[i], all = tensor.Of(v.Type.Shape, numbers), append(all, r.trails[v]...)
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
func (r *region) scaled(n *ir.Node) bool {
	at := slices.IndexFunc(n.In, varies)
	if slices.ContainsFunc(n.In[at+1:], varies) || n.Op.Pattern > ir.Broadcast || n.Op.Impure || n.Op.Eval == nil ||
		len(n.Out) != 1 || len(n.Body) > 0 || n.Out[0].Type.DType != tensor.F32 ||
		!slices.Equal(n.Out[0].Type.Shape, n.In[at].Type.Shape) {
		return false
	}
	y := lists.Each(lineAt, func(x float32) []float64 { return resultAt(n, x) })
	t := slices.Clone(r.trails[n.In[at]])
	for i := range t {
		gain, shift, ok := line(y, i)
		if !ok {
			return false
		}
		t[i].gain, t[i].shift = t[i].gain*gain, float64(t[i].shift*gain)+shift
	}
	r.trails[n.Out[0]] = t
	return true
}

// resultAt is what n gives where all elements of its operand are x, the others being constant.
func resultAt(n *ir.Node, x float32) []float64 {
	return fail.Must(ir.EvalOn(n, func(v *ir.Value) *tensor.Dense {
		return tensor.Of(v.Type.Shape, slices.Repeat([]float32{x}, v.Type.Elems()))
	}))[0].Floats()
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

// ranges are those of the elements of all sources.
func (r *region) ranges() map[*ir.Value][]interval {
	all := filled(r.total, nothing)
	out := map[*ir.Value][]interval{}
	for _, s := range r.sources {
		out[s.v] = all[s.at:][:s.v.Type.Elems()]
	}
	note := func(v *ir.Value, d *tensor.Dense) {
		s := r.index[v]
		if s == nil {
			return
		}
		for i, x := range tensor.As[float32](d) {
			if x-x == 0 { // NaN may stand for what is missing
				all[s.at+i] = all[s.at+i].with(float64(x))
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
			fail.Must(interp.Run(r.g, s, note))
		}
	}
	for i, e := range all {
		if e.lo > e.hi {
			all[i] = interval{}
		}
	}
	return out
}

// of is the source of an element.
func (r *region) of(element int) *source {
	i, found := slices.BinarySearchFunc(r.sources, element, func(s *source, e int) int { return cmp.Compare(s.at, e) })
	if !found {
		i--
	}
	return r.sources[i]
}
