// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"slices"
	"sort"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// interval is a range of numbers, of an element or a channel over the samples, or a limit: what the
// readers of a value can tell apart. Elements below lo are to them as lo is, elements above hi as hi.
// Attention masks (-inf, -1e4) act through limits only, as do the arguments of functions that level off.
type interval struct{ lo, hi float64 }

var (
	nothing   = interval{math.Inf(1), math.Inf(-1)}
	unlimited = interval{math.Inf(-1), math.Inf(1)}
)

func (l interval) none() bool { return l == unlimited }

func (l interval) width() float64 { return l.hi - l.lo }

// peak is the largest magnitude.
func (l interval) peak() float64 { return max(math.Abs(l.lo), math.Abs(l.hi)) }

// with holds f, too.
func (l interval) with(f float64) interval { return interval{min(l.lo, f), max(l.hi, f)} }

// union holds what any of them do: as a limit, what two readers can tell apart together.
func (l interval) union(all ...interval) interval {
	for _, m := range all {
		l = interval{min(l.lo, m.lo), max(l.hi, m.hi)}
	}
	return l
}

// scaled is the interval of x where k*x has this one.
func (l interval) scaled(k float64) interval { return nothing.with(l.lo / k).with(l.hi / k) }

// clip is the element that f is to the readers.
func (l interval) clip(f float64) float64 {
	if f < l.lo {
		f = l.lo
	}
	if f > l.hi {
		f = l.hi
	}
	return f
}

// readable is what readers can tell apart of v, which is an output or not.
func (c *calibrator) readable(v *ir.Value, out bool) interval {
	_, quantised := c.rules[v.Def]
	quantised = quantised || v.Def == nil // then every reader gets the quantised value
	if out && quantised {
		return unlimited
	}
	l := nothing
	for _, u := range v.Uses() {
		if r, ok := c.reads(u); ok {
			l = l.union(c.seen(u.Node, r, u.Index))
		} else if r.in != nil || quantised {
			return unlimited
		}
	}
	return l
}

// narrow takes from the ranges what no reader can tell apart: it must not set
// the scale. Values are visited from the outputs back, since a limit behind an
// operator is one in front of it, too.
func (c *calibrator) narrow() {
	c.limits = map[int]interval{}
	visit := func(v *ir.Value) {
		l := c.readable(v, c.g.IsOutput(v))
		if !(l.lo <= l.hi) || l.none() {
			return
		}
		c.limits[v.ID] = l
		s := c.stats[v.ID]
		if s == nil {
			return
		}
		// Infinite elements saturate, so that the range reaches down to the limit.
		lo, hi := s.lo, s.hi
		if lo < l.lo || s.negInf && l.lo > math.Inf(-1) {
			lo, s.cutLo = l.lo, true
		}
		if hi > l.hi || s.posInf && l.hi < math.Inf(1) {
			hi, s.cutHi = l.hi, true
		}
		s.lo, s.hi = min(lo, l.hi), max(hi, l.lo)
	}
	for _, n := range slices.Backward(c.g.Nodes) {
		for _, v := range n.Out {
			visit(v)
		}
	}
	for _, v := range c.g.In {
		visit(v)
	}
}

// seen is what node n can tell apart of its input i, by what its own readers
// can of its output.
func (c *calibrator) seen(n *ir.Node, r rule, i int) interval {
	if rows := c.rows[n.ID]; rows != nil {
		return rows.limit()
	}
	if len(n.Out) != 1 && !r.selects {
		return unlimited
	}
	l := nothing
	for _, v := range n.Out {
		if m, ok := c.limits[v.ID]; ok {
			l = l.union(m)
		} else if len(v.Uses()) > 0 || c.g.IsOutput(v) {
			l = unlimited
		}
	}
	switch {
	case r.selects:
		return l
	case n.Op.Scalar != nil && i == 0:
		return c.levels(n, r, l)
	case l.none():
		return unlimited
	}
	return c.operand(n, i, l)
}

// operand is what l of the result of a function of two elements leaves of an input.
func (c *calibrator) operand(n *ir.Node, i int, l interval) interval {
	switch {
	case n.Op == op.Add:
		b := c.extent(n.In[1-i])
		return interval{l.lo - b.hi, l.hi - b.lo}
	case n.Op == op.Sub && i == 0:
		b := c.extent(n.In[1])
		return interval{l.lo + b.lo, l.hi + b.hi}
	case n.Op == op.Sub:
		a := c.extent(n.In[0])
		return interval{a.lo - l.hi, a.hi - l.lo}
	case n.Op == op.Mul && n.In[i].Const != nil:
		return c.factor(n.In[1-i], l)
	case n.Op == op.Mul && n.In[1-i].Const != nil:
		return c.product(n.In[i], n.In[1-i].Const, l, false)
	case n.Op == op.Div && i == 0 && n.In[1].Const != nil:
		return c.product(n.In[0], n.In[1].Const, l, true)
	}
	return unlimited
}

// extent is the range of the elements of a value, infinite ones included.
func (c *calibrator) extent(v *ir.Value) interval {
	l := nothing
	if v.Const != nil {
		for i := range v.Const.Len() {
			l = l.with(v.Const.Float(i))
		}
		return l
	}
	s := c.stats[v.ID]
	if s == nil {
		return unlimited
	}
	l = interval{s.lo, s.hi}.with(0) // what saturation makes of them
	if s.negInf && !s.cutLo {
		l.lo = math.Inf(-1)
	}
	if s.posInf && !s.cutHi {
		l.hi = math.Inf(1)
	}
	return l
}

// step is about the distance of two codes of a value.
func (c *calibrator) step(v *ir.Value, t tensor.DType) float64 {
	s := c.stats[v.ID]
	if s == nil {
		return 0
	}
	w := max(s.hi, 0) - min(s.lo, 0)
	if t == tensor.I16 {
		return w / math.MaxUint16
	}
	return w / math.MaxUint8
}

// factor limits a constant that multiplies x, whose product has limit l: a
// factor that takes the smallest code of x beyond the limit might as well be
// infinite. That is a mask (1 - m) * -1e9.
func (c *calibrator) factor(x *ir.Value, l interval) interval {
	s, step := c.stats[x.ID], c.step(x, c.dataType(x))
	switch {
	case s == nil || !(step > 0):
		return unlimited
	case s.lo >= 0:
		return l.with(0).scaled(step)
	case s.hi <= 0:
		return l.with(0).scaled(-step)
	}
	return unlimited
}

// product limits x, which a constant multiplies (or divides, inverse). Where
// every code of x but zero leaves the limit, x is a switch and has its own range.
func (c *calibrator) product(x *ir.Value, k *tensor.Dense, l interval, inverse bool) interval {
	m := nothing
	for i := range k.Len() {
		f := k.Float(i)
		if inverse {
			f = 1 / f
		}
		if f == 0 || f-f != 0 {
			return unlimited
		}
		m = m.union(l.scaled(f))
	}
	if step := c.step(x, c.dataType(x)); m.hi-m.lo < 2*step || m.lo > -step || m.hi < step {
		return unlimited
	}
	return m
}

// levels limits the argument of a function of one number where its results
// level off: below (above) the limit they differ by less than a quarter of a step
// of the output.
func (c *calibrator) levels(n *ir.Node, r rule, l interval) interval {
	x, y := c.stats[n.In[0].ID], c.stats[n.Out[0].ID]
	if x == nil || y == nil {
		return unlimited
	}
	step := c.step(n.Out[0], c.layer[n].Data)
	if r.fixed != nil {
		step = float64(r.fixed.Scale[0])
	}
	if !(step > 0) {
		return unlimited
	}
	at := []float64{x.lo, x.hi}
	for e := 12 * levelPoints; e >= -8*levelPoints; e-- { // from 4096 down to 1/256
		f := math.Exp2(float64(e) / levelPoints)
		at = append(at, f, -f)
	}
	at = append(at, 0)
	at = slices.DeleteFunc(at, func(f float64) bool { return f < x.lo || f > x.hi })
	sort.Float64s(at)
	flat := func(list []float64) float64 {
		edge, least, most := math.Inf(-1), math.Inf(1), math.Inf(-1)
		for i, f := range list {
			g := l.clip(n.Op.Scalar(n, f))
			if g != g {
				return math.Inf(-1)
			}
			if least, most = min(least, g), max(most, g); most-least > step/4 {
				return edge
			}
			if i > 0 {
				edge = f
			}
		}
		return math.Inf(-1) // all the same: nothing to choose
	}
	out := unlimited
	if lo := flat(at); !math.IsInf(lo, 0) {
		out.lo = lo
	}
	slices.Reverse(at)
	if hi := flat(at); !math.IsInf(hi, 0) {
		out.hi = hi
	}
	if out.lo > out.hi {
		return unlimited
	}
	return out
}

// levelPoints is how many arguments an octave are tried.
const levelPoints = 16

// rowStats are the rows along which a node normalises (Softmax): of each its
// largest element, and its smallest that has a part in the results.
type rowStats struct {
	of    *ir.Node
	axis  int
	depth float64
	rows  []row
}

type row struct{ low, top float32 }

// maxRows bounds how many rows are kept, of all samples together.
const maxRows = 1 << 14

// watchRows makes the rows of the nodes that normalise.
func (c *calibrator) watchRows() map[int]*rowStats {
	m := map[int]*rowStats{}
	c.each(func(n *ir.Node, r rule) {
		if n.Op != op.Softmax && n.Op != op.LogSoftmax || n.In[0].Const != nil {
			return
		}
		axis := op.AxisOf(n, n.In[0].Type.Rank())
		// A row of n elements this far below the largest adds less than half a step.
		step := 1.0 / 256
		if c.layer[n].Data == tensor.I16 {
			step = 1.0 / 32768
		}
		depth := math.Log(float64(n.In[0].Type.Shape[axis])) + math.Log(2/step)
		if r.fixed != nil && r.fixed.Zero[0] > 0 { // logarithms: down to the end of the range
			depth = max(depth, float64(r.fixed.Scale[0])*255+1)
		}
		m[n.ID] = &rowStats{of: n, axis: axis, depth: depth}
	})
	return m
}

// collect gives the rows of one sample, not more than most of them.
func (s *rowStats) collect(d *tensor.Dense, most int) []row {
	x := tensor.As[float32](d)
	dim, inner := d.Shape[s.axis], tensor.Strides(d.Shape)[s.axis]
	if dim == 0 || len(x) == 0 {
		return nil
	}
	count := len(x) / dim
	by := (count + most - 1) / most
	var out []row
	for k := 0; k < count; k += by {
		at := k/inner*inner*dim + k%inner
		top := float32(math.Inf(-1))
		for i := range dim {
			top = max(top, x[at+i*inner])
		}
		if f := float64(top); f-f != 0 {
			continue
		}
		low, cut := top, top-float32(s.depth)
		for i := range dim {
			if f := x[at+i*inner]; f < cut {
				low = min(low, cut) // it acts as any other so low
			} else {
				low = min(low, f)
			}
		}
		out = append(out, row{low, top})
	}
	return out
}

// emptyRatio is by how much rows in which everything is masked would widen the
// range before they are left out: they would cost the others three bits.
const emptyRatio = 8

// limit is what the node can tell apart: from the smallest element that counts
// in its row, with room for rows that were not seen.
func (s *rowStats) limit() interval {
	if len(s.rows) == 0 {
		return unlimited
	}
	rows := slices.Clone(s.rows)
	sort.Slice(rows, func(a, b int) bool {
		return rows[a].top > rows[b].top || rows[a].top == rows[b].top && rows[a].low > rows[b].low
	})
	hi, lo, n := float64(rows[0].top), math.Inf(1), 0
	for _, r := range rows {
		if gap := lo - float64(r.top); gap > 0 && hi-float64(r.low) > emptyRatio*max(hi-lo, s.depth) &&
			10*n >= len(rows) {
			break // nothing but masked elements
		}
		lo = min(lo, float64(r.low))
		n++
	}
	room := (hi - float64(rows[n-1].top)) / 2
	if n < 64 {
		room = hi - lo
	}
	return interval{lo - room, math.Inf(1)}
}

// clipped is the constant operand i of n without what no reader of the result
// can tell apart.
func (c *calibrator) clipped(n *ir.Node, i int) *tensor.Dense {
	d := n.In[i].Const
	r, ok := c.rules[n]
	if !ok || c.stats == nil {
		return d
	}
	l := c.seen(n, r, i)
	if l.none() {
		return d
	}
	out := d
	for k := range d.Len() {
		f := d.Float(k)
		g := l.clip(f)
		if f == g || f != f {
			continue
		}
		if out == d {
			out = d.Clone()
		}
		out.SetFloat(k, g)
	}
	return out
}
