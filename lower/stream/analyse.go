// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// builder makes the streaming graph h of g.
type builder struct {
	g, h    *ir.Graph
	o       Options
	flows   map[*ir.Value]*flow // of values that shift
	need    map[*ir.Value]*span // rows that somebody reads
	zero    map[*ir.Value]*tensor.Dense
	pieces  map[*ir.Value][]piece
	windows map[*ir.Value][]piece   // put together from pieces
	whole   map[*ir.Value]*ir.Value // values of g as values of h
	kept    []piece                 // rows of values of g that the next step finds
	states  []State                 // the same as inputs and outputs
	fresh   map[*ir.Value]*ir.Value // constants
}

// span is what is read of a value: rows 0 to head, and tail to the end.
type span struct{ head, tail int }

func newBuilder(g *ir.Graph, o Options) *builder {
	return &builder{g: g, h: ir.New(g.Name), o: o, flows: map[*ir.Value]*flow{}, need: map[*ir.Value]*span{},
		pieces: map[*ir.Value][]piece{}, windows: map[*ir.Value][]piece{},
		whole: map[*ir.Value]*ir.Value{}, fresh: map[*ir.Value]*ir.Value{}}
}

// analyse finds the values that shift with the window. Without a hop it takes
// the smallest at which every layer gets whole rows.
func (b *builder) analyse() {
	x := b.g.In[b.o.Input]
	if b.o.Hop == 0 {
		b.o.Hop = 1
		for range 64 {
			b.flow()
			bad, have, stride := b.misaligned()
			if bad == nil {
				break
			}
			b.o.Hop = b.o.Hop / have * stride
			if b.o.Hop >= x.Type.Shape[b.o.Axis] {
				fail.Errorf("--stream: the strides along dimension %d of %s need steps of at least %d frames, "+
					"the window has %d", b.o.Axis, x.Name, b.o.Hop, x.Type.Shape[b.o.Axis])
			}
		}
	}
	b.flow()
	if bad, have, stride := b.misaligned(); bad != nil {
		fail.Check(ir.Errf(bad, "stream-hop", "a step of %d frames is %d rows here, the stride is %d; want a step "+
			"that is a multiple of %d frames", b.o.Hop, have, stride, b.o.Hop/have*stride))
	}
}

// misaligned is the first node whose stride does not divide the step.
func (b *builder) misaligned() (n *ir.Node, have, stride int) {
	for _, n := range b.g.Nodes {
		if f := b.flows[n.Input(0)]; f != nil && windowed(n) {
			if _, s, _, _, ok := taps(n, f.axis); ok && f.hop%s != 0 {
				return n, f.hop, s
			}
		}
	}
	return nil, 0, 0
}

// flow follows the window through the graph.
func (b *builder) flow() {
	clear(b.flows)
	x := b.g.In[b.o.Input]
	b.flows[x] = flowOf(x.Type, b.o.Axis, 0, x.Type.Shape[b.o.Axis], b.o.Hop)
	for _, n := range b.g.Nodes {
		if len(n.Out) == 1 {
			if f := b.through(n); f != nil {
				b.flows[n.Out[0]] = f
			}
		}
	}
}

// through is the flow of a node's result; nil where nothing shifts.
func (b *builder) through(n *ir.Node) *flow {
	x := n.Input(0)
	f := b.flows[x]
	y := n.Out[0].Type
	if f == nil && n.Op.Pattern > ir.Broadcast && n.Op != op.Concat {
		return nil
	}
	switch {
	case windowed(n):
		kernel, stride, pad, reach, ok := taps(n, f.axis)
		if !ok || f.hop%stride != 0 || kernel < 1 {
			return nil
		}
		from := max(0, (f.from+pad+stride-1)/stride)
		for from > 0 && (from-1)*stride-pad+reach < 0 { // the last row in front reads something
			from++
		}
		to := (f.to-1-reach+pad)/stride + 1
		if f.to-1-reach+pad < 0 {
			return nil
		}
		return flowOf(y, f.axis, from, min(to, y.Shape[f.axis]), f.hop/stride)
	case n.Op.View == ir.Reshaped:
		axis, ok := reshapedAxis(x.Type.Shape, y.Shape, f.axis)
		if !ok {
			return nil
		}
		return flowOf(y, axis, f.from, f.to, f.hop)
	case f != nil && byRows(n, f.axis):
		return flowOf(y, f.axis, f.from, f.to, f.hop)
	case n.Op == op.Transpose:
		perm := bug.Must(op.Perm(n))
		return flowOf(y, slices.Index(perm, f.axis), f.from, f.to, f.hop)
	case n.Op == op.Concat || n.Op.Pattern <= ir.Broadcast && !n.Op.Impure:
		return b.joined(n)
	}
	return nil
}

// joined is the flow of an element-wise node or a Concat: all operands shift
// alike, constants are the same for all rows.
func (b *builder) joined(n *ir.Node) *flow {
	y := n.Out[0].Type
	var f *flow
	for _, v := range n.In {
		switch {
		case v == nil || v.Const != nil:
			continue
		case b.flows[v] == nil || v.Type.Rank() != y.Rank():
			return nil
		}
		x := b.flows[v]
		if f == nil {
			c := *x
			f = &c
			continue
		}
		if x.axis != f.axis || x.rows != f.rows || x.hop != f.hop {
			return nil
		}
		f.from, f.to = max(f.from, x.from), min(f.to, x.to)
	}
	if f == nil || y.Shape[f.axis] != f.rows || n.Op == op.Concat && op.AxisOf(n, n.Out[0].Type.Rank()) == f.axis {
		return nil
	}
	perChannel := n.Op == op.BatchNormalization // along dimension 1, whatever lies behind it
	if perChannel && f.axis == 1 {
		return nil
	}
	for _, v := range n.In {
		if v != nil && v.Const != nil && !perChannel {
			if n.Op == op.Concat {
				return nil
			}
			if d := f.axis - (y.Rank() - v.Type.Rank()); d >= 0 && v.Type.Shape[d] != 1 {
				return nil
			}
		}
	}
	return flowOf(y, f.axis, f.from, f.to, f.hop)
}

// reshapedAxis is where a dimension went that a reshape leaves whole.
func reshapedAxis(x, y []int, axis int) (int, bool) {
	before := tensor.Count(x[:axis])
	for i, d := range y {
		if d == x[axis] && tensor.Count(y[:i]) == before && (d != 1 || i == axis) {
			return i, true
		}
	}
	return 0, false
}

func windowed(n *ir.Node) bool {
	return n.Op == op.Conv || n.Op == op.MaxPool || n.Op == op.AveragePool || n.Op == op.Spectrum
}

// byRows reports a product with a constant matrix that takes each row along axis by
// itself.
func byRows(n *ir.Node, axis int) bool {
	if n.Op != op.Gemm && n.Op != op.MatMul || n.In[1].Const == nil || n.In[1].Type.Rank() != 2 ||
		axis >= n.In[0].Type.Rank()-1 {
		return false
	}
	if b := n.Input(2); b != nil && (b.Const == nil || b.Type.Rank() == 2 && b.Type.Shape[0] != 1) {
		return false
	}
	return n.Op == op.MatMul || ir.AttrsOf[op.GemmAttrs](n).TransA == 0
}

// taps are the window of a convolution or pool along a dimension: kernel,
// stride, padding in front, and the distance from the first to the last tap.
func taps(n *ir.Node, axis int) (kernel, stride, pad, reach int, ok bool) {
	if n.Op == op.Spectrum { // negative padding begins within the signal
		a, window := ir.AttrsOf[op.SpectrumAttrs](n), n.In[1].Type.Elems()
		return window, a.Step, a.Pad - a.Lead, window - 1, axis == 1
	}
	d := axis - 2
	if d < 0 {
		return 0, 0, 0, 0, false
	}
	g := op.WindowsOf(n)
	if n.Op == op.Conv {
		ok = n.In[1].Const != nil && (n.Input(2) == nil || n.In[2].Const != nil)
	} else {
		ok = g.Exact() && ir.AttrsOf[op.PoolWindow](n).CeilMode == 0
	}
	return g.Kernel[d], g.Strides[d], g.PadBegin[d], g.Reach(d) - 1, ok
}

// rowsOf are the rows of input v that rows lo to hi of the node's result are
// computed from, and the padding above and below them.
func rowsOf(n *ir.Node, f *flow, lo, hi int) (from, to, above, below int) {
	if !windowed(n) {
		return lo, hi, 0, 0
	}
	_, stride, pad, reach, _ := taps(n, f.axis)
	first, last := lo*stride-pad, (hi-1)*stride-pad+reach+1
	from, to = min(max(first, 0), f.rows-1), max(min(last, f.rows), 1)
	if n.Op == op.Spectrum && ir.AttrsOf[op.SpectrumAttrs](n).Mode == "reflect" { // reads what is mirrored
		to = max(to, min(-first+1, f.rows))
		from = min(from, max(2*f.rows-last-1, 0))
	}
	return from, to, from - first, last - to
}

// needs says which rows of the values that shift are read: by the two ends of
// what is computed anew, or all of them.
func (b *builder) needs() {
	of := func(v *ir.Value) *span {
		if b.need[v] == nil {
			b.need[v] = &span{0, b.flows[v].rows}
		}
		return b.need[v]
	}
	for _, v := range b.g.Out {
		if b.flows[v] != nil {
			of(v).tail = 0
		}
	}
	for _, n := range b.g.Nodes {
		for _, v := range n.In {
			x := b.flows[v]
			if v == nil || x == nil {
				continue
			}
			y := (*flow)(nil)
			if len(n.Out) == 1 {
				y = b.flows[n.Out[0]]
			}
			if y == nil {
				of(v).tail = 0
				continue
			}
			for i, r := range y.anew() {
				from, to, _, _ := rowsOf(n, x, r[0], r[1])
				if i == len(y.anew())-1 {
					of(v).tail = min(of(v).tail, from)
				} else {
					of(v).head = max(of(v).head, to)
				}
			}
		}
	}
}

// anew are the rows that every step computes.
func (f *flow) anew() [][2]int {
	if f.from == 0 {
		return [][2]int{{f.to - f.hop, f.rows}}
	}
	return [][2]int{{0, f.from}, {f.to - f.hop, f.rows}}
}

// keeps are the rows of a value that come from the step before; none when both
// are equal.
func (b *builder) keeps(v *ir.Value) (lo, hi int) {
	f, s := b.flows[v], b.need[v]
	if s == nil || f == nil {
		return 0, 0
	}
	hi = f.to - f.hop
	lo = min(max(s.tail, f.from), hi)
	if s.head > f.from { // rows in front are read: they wait all along the window
		lo = f.from
	}
	return lo, hi
}

// Zero is a tensor of a type that stands for zeros.
func Zero(t ir.Type) *tensor.Dense {
	d := tensor.New(t.DType, t.Shape)
	if t.Quant != nil {
		for i := range d.Len() {
			d.SetInt(i, int64(t.Quant.ZeroAt(0)))
		}
	}
	return d
}

// initial finds what the states hold while the window is all zero.
func (b *builder) initial() {
	b.zero = map[*ir.Value]*tensor.Dense{}
	in := lists.Map(b.g.In, func(v *ir.Value) *tensor.Dense { return Zero(v.Type) })
	fail.Must(interp.Run(b.g, in, func(v *ir.Value, d *tensor.Dense) {
		if b.flows[v] != nil {
			b.zero[v] = d
		}
	}))
}
