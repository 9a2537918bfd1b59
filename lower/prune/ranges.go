// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"cmp"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Range is the interval of codes that a channel can have.
type Range struct{ Lo, Hi int32 }

func (r Range) constant() bool { return r.Lo == r.Hi }

func (r Range) union(o Range) Range { return Range{min(r.Lo, o.Lo), max(r.Hi, o.Hi)} }

// ranges is the interval of every channel (index of dimension 1) of every
// value of 8 or 16 bits and rank 2 and more that a node computes or that enters.
func ranges(g *ir.Graph) map[*ir.Value][]Range {
	r := map[*ir.Value][]Range{}
	for _, v := range g.In {
		r[v] = anything(v.Type)
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			r[v] = anything(v.Type)
		}
		if len(n.Out) != 1 || r[n.Out[0]] == nil {
			continue
		}
		if y := outputs(n, r); y != nil {
			r[n.Out[0]] = y
		}
	}
	return r
}

// anything is the full interval for every channel; nil for values that are
// not analysed.
func anything(t ir.Type) []Range {
	var all Range
	switch t.DType {
	case tensor.I8:
		all = Range{math.MinInt8, math.MaxInt8}
	case tensor.U8:
		all = Range{0, math.MaxUint8}
	case tensor.I16:
		all = Range{math.MinInt16, math.MaxInt16}
	default:
		return nil
	}
	if !t.Quantised() || t.Quant.PerAxis() || channels(t) == 0 || t.Elems() == 0 {
		return nil
	}
	return slices.Repeat([]Range{all}, channels(t))
}

// outputs follows one node; nil when nothing is known.
func outputs(n *ir.Node, r map[*ir.Value][]Range) []Range {
	if f := productOf(n); f != nil {
		if x := r[n.In[0]]; x != nil {
			return f.outputs(x)
		}
		return nil
	}
	switch {
	case moves(n):
		return moved(n, r)
	case !channelwise(n):
		return nil
	case table(n) != nil:
		return tabulated(n, r[n.In[0]])
	}
	return corners(n, r)
}

// source is a channel of a value.
type source struct {
	v *ir.Value
	c int
}

// sources are, for each channel of the result, the channels that it is computed from and that
// go with it; nil for nodes that mix channels, or cannot be rewritten for fewer. f is
// the product that n is, if any.
func sources(n *ir.Node, f *product) [][]source {
	if len(n.Out) != 1 || !n.Quantised() {
		return nil
	}
	x, y := n.Input(0), n.Out[0].Type
	switch {
	case f != nil:
		if f.depthwise() {
			return lists.Make(f.out, func(c int) []source { return []source{{x, c / (f.out / f.in)}} })
		}
	case n.Op.View == ir.Reshaped:
		if k, ok := block(x.Type, y); ok {
			return lists.Make(channels(y), func(c int) []source { return []source{{x, c / k}} })
		}
	case moves(n):
		var out [][]source
		for _, v := range n.In {
			out = append(out, lists.Make(channels(v.Type), func(c int) []source { return []source{{v, c}} })...)
		}
		return out
	case channelwise(n):
		return lists.Make(channels(y), func(c int) []source {
			return lists.Map(dataInputs(n), func(i int) source { return source{n.In[i], c} })
		})
	}
	return nil
}

// moves reports nodes that put channels elsewhere as they are.
func moves(n *ir.Node) bool {
	return n.Op.View == ir.Reshaped || n.Op == op.Concat && ir.AttrsOf[op.AxisAttr](n).Axis == 1
}

// moved is what those give.
func moved(n *ir.Node, r map[*ir.Value][]Range) (y []Range) {
	for _, list := range sources(n, nil) {
		s := list[0]
		if r[s.v] == nil || !s.v.Type.Quant.Equal(n.Out[0].Type.Quant) {
			return nil
		}
		y = append(y, r[s.v][s.c])
	}
	return y
}

// block says how dimension 1 of a reshaped value follows from that of its
// source: every source channel becomes so many of the result.
func block(x, y ir.Type) (int, bool) {
	if channels(x) == 0 || channels(y) == 0 || x.Shape[0] != y.Shape[0] || y.Shape[1]%x.Shape[1] != 0 {
		return 0, false
	}
	return y.Shape[1] / x.Shape[1], true
}

// dataInputs are the inputs that are not constant.
func dataInputs(n *ir.Node) []int {
	return lists.Where(len(n.In), func(i int) bool { return n.In[i] != nil && n.In[i].Const == nil })
}

// channelwise reports operators that compute channel c of the result from
// channel c of their inputs alone. Those that are no table of one input grow
// or fall with each input, so that extremes lie at the corners. Inputs have the
// result's rank and channels, or are constants.
func channelwise(n *ir.Node) bool {
	if len(n.Out) != 1 || !n.Quantised() || !growsByChannel(n.Op) && table(n) == nil {
		return false
	}
	y := n.Out[0].Type
	for i, v := range n.In {
		switch {
		case v == nil:
		case v.Const != nil:
			if i == 0 || v.Type.Rank() > y.Rank() {
				return false
			}
		case v.Type.Rank() != y.Rank() || channels(v.Type) != channels(y):
			return false
		}
	}
	return len(dataInputs(n)) == 1 || len(dataInputs(n)) == 2 && len(n.In) == 2
}

// growsByChannel reports operators that grow or fall with each element of a channel.
func growsByChannel(d *ir.OpDef) bool {
	return d.Monotone && (d.Pattern == ir.Broadcast || d.Window.Pools())
}

// table is the result for each of the 256 codes of a function of one value.
func table(n *ir.Node) []int64 {
	t, _ := ir.Table(n)
	return t
}

// tabulated looks up every code of the intervals.
func tabulated(n *ir.Node, x []Range) []Range {
	if x == nil {
		return nil
	}
	t := table(n)
	first := anything(n.In[0].Type)[0].Lo
	y := make([]Range, len(x))
	for c, in := range x {
		for code := in.Lo; code <= in.Hi; code++ {
			v := int32(t[code-first])
			if code == in.Lo {
				y[c] = Range{v, v}
			}
			y[c] = y[c].union(Range{v, v})
		}
	}
	return y
}

// maxElems bounds the tensors that are evaluated or become constants.
const maxElems = 1 << 20

// corners evaluates the node with its inputs at the ends of their intervals,
// in all combinations.
func corners(n *ir.Node, r map[*ir.Value][]Range) []Range {
	data := dataInputs(n)
	for _, i := range data {
		if r[n.In[i]] == nil || n.In[i].Type.Elems() > maxElems {
			return nil
		}
	}
	t := n.Out[0].Type
	y := make([]Range, channels(t))
	for bits := range 1 << len(data) {
		in := make([]*tensor.Dense, len(n.In))
		for k, i := range data {
			in[i] = filled(n.In[i].Type, r[n.In[i]], bits>>k&1 == 1)
		}
		out := evaluate(n, in)
		if out == nil || out.Len() != t.Elems() {
			return nil
		}
		each(t, func(i, c int) {
			v := int32(out.Int(i))
			if bits == 0 && i < t.Elems()/t.Shape[0] && i%inner(t) == 0 {
				y[c] = Range{v, v}
			}
			y[c] = y[c].union(Range{v, v})
		})
	}
	return y
}

// inner is the number of elements of a channel.
func inner(t ir.Type) int { return tensor.Count(t.Shape[2:]) }

// each calls f for every element with its index and channel.
func each(t ir.Type, f func(i, c int)) {
	k := inner(t)
	for i := range t.Elems() {
		f(i, i/k%t.Shape[1])
	}
}

// filled is a tensor with every channel at one end of its interval.
func filled(t ir.Type, r []Range, high bool) *tensor.Dense {
	d := tensor.New(t.DType, t.Shape)
	each(t, func(i, c int) {
		v := r[c].Lo
		if high {
			v = r[c].Hi
		}
		d.SetInt(i, int64(v))
	})
	return d
}

// evaluate runs a node on the given data inputs; nil when it cannot.
func evaluate(n *ir.Node, in []*tensor.Dense) *tensor.Dense {
	full := lists.Make(len(n.In), n.ConstIn)
	for i, d := range in {
		full[i] = cmp.Or(full[i], d)
	}
	out, err := ir.EvalNode(n, full)
	if err != nil || len(out) != 1 {
		return nil
	}
	return out[0]
}
