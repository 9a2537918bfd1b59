// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"math"
	"slices"

	"github.com/nncc/nncc/lower/accel/ethosu/npu"
)

// Cascades: layers in a row are computed some rows of the last one's result at a time, and of the maps between them
// only those rows are in memory that somebody still reads, in rings. What a run of layers needs beside what lives
// anyway does not depend on the others: so the best runs for a budget are a shortest path.

const (
	mostRun     = 20 // layers of a cascade
	mostStripe  = 16 // rows of the last one's result
	mostBudgets = 8  // that are tried, because areas leave gaps
)

// stretch is layers from one up to another.
type stretch struct {
	from, to int
	rows     int   // of the last one's result in a stripe; 0: one layer, as a whole
	need     int64 // bytes that live at a time
	cycles   float64
}

// stripe is rows of a layer's result.
type stripe struct{ layer, from, to int }

// cascade is how a run goes.
type cascade struct {
	layers  []*layer
	writer  map[*area]int
	readers map[*area][]int
	done    []int // rows of each layer's result
	list    []stripe
	rings   map[*area]int // rows of maps that nobody outside reads
}

// lives is when areas hold something, by the order of layers.
type lives struct {
	layers      []*layer
	cfg         *npu.Config
	areas       []*area
	first, last map[*area]int
	plain       map[*area]bool // one layer writes it, all see it as it is
	cost        map[stripe]float64
}

func (l *layer) operands() []*fmap {
	if l.in2 == nil {
		return []*fmap{l.in}
	}
	return []*fmap{l.in, l.in2}
}

// sees are the rows of an operand that rows of the result need.
func (l *layer) sees(m *fmap, from, to int) (int, int) {
	switch k := &l.Window; {
	case l.Kind != npu.Elementwise:
		return max(0, from*k.StrideY-k.Top), min(m.H, (to-1)*k.StrideY+(k.H-1)*k.DilateY+1-k.Top)
	case m.H < l.out.H:
		return 0, m.H
	}
	return from, to
}

// band is some rows of a map; of one row it is that.
func (m *fmap) band(from, n int) *fmap {
	r := *m
	switch {
	case m.ring > 0:
		r.H, r.row = n, from
	case m.H > 1:
		r.H, r.from = n, m.from+int64(from)*m.StrideY
	}
	return &r
}

// piece is some rows of a layer, on maps that stand for its own.
func (l *layer) piece(from, to int, stands func(m *fmap) *fmap) *layer {
	c, k := *l, &l.Window
	c.over, c.striped, c.out = false, true, stands(l.out).band(from, to-from)
	a, z := l.sees(l.in, from, to)
	if c.in = stands(l.in).band(a, z-a); l.in2 != nil {
		a, z = l.sees(l.in2, from, to)
		c.in2 = stands(l.in2).band(a, z-a)
	}
	if l.Kind != npu.Elementwise {
		c.Window.Top = max(0, k.Top-from*k.StrideY)
		c.Window.Bottom = max(0, (to-1)*k.StrideY+(k.H-1)*k.DilateY+1-k.Top-l.in.H)
	}
	return &c
}

// demand appends what it takes until a layer has some of its rows.
func (c *cascade) demand(i, to int) {
	l, from := c.layers[i], c.done[i]
	if to <= from {
		return
	}
	for _, m := range l.operands() {
		if p, ok := c.writer[m.area]; ok {
			_, last := l.sees(m, from, to)
			c.demand(p, last)
		}
	}
	c.done[i] = to
	c.list = append(c.list, stripe{i, from, to})
	n, ok := c.rings[l.out.area]
	if !ok {
		return
	}
	first := from
	for _, k := range c.readers[l.out.area] {
		for _, m := range c.layers[k].operands() {
			if m.area == l.out.area && c.done[k] < c.layers[k].out.H {
				a, _ := c.layers[k].sees(m, c.done[k], c.done[k]+1)
				first = min(first, a)
			}
		}
	}
	c.rings[l.out.area] = max(n, to-first)
}

// life looks at layers that have their order. held are the areas of inputs and results.
func (b *builder) life(held []*area, inputs int) *lives {
	v := &lives{b.layers, b.cfg, nil, map[*area]int{}, map[*area]int{}, map[*area]bool{}, map[stripe]float64{}}
	over, writes := b.covered(held[:inputs]), map[*area]int{}
	see := func(a *area, i int) {
		if a, _ = a.root(); a.region != working && a != over {
			return
		}
		if _, ok := v.first[a]; !ok {
			v.first[a] = i
			v.areas = append(v.areas, a)
		}
		v.last[a] = i
	}
	for _, a := range held[:inputs] {
		see(a, 0)
	}
	for i, l := range b.layers {
		for _, m := range append(l.operands(), l.out) {
			see(m.area, i)
		}
		root, _ := l.out.area.root()
		writes[root]++
	}
	for _, a := range held[inputs:] {
		see(a, len(b.layers))
	}
	for _, a := range v.areas {
		v.plain[a] = !b.fixed[a] && !a.parts && writes[a] == 1 && a.alike()
	}
	return v
}

// link finds who reads what, and which maps may be rings.
func (c *cascade) link(v *lives, from int) bool {
	written := map[*area]bool{}
	for i, l := range c.layers {
		for _, m := range l.operands() {
			if a, _ := m.area.root(); written[a] && !v.plain[a] {
				return false
			}
			c.readers[m.area] = append(c.readers[m.area], i)
		}
		root, _ := l.out.area.root()
		written[root] = true
		if c.writer[l.out.area] = i; v.plain[root] && v.last[root] < from+len(c.layers) && v.last[root] > from+i {
			c.rings[root] = 0
		}
	}
	return true
}

// cascade is a run of layers in stripes; nil: they do not go so.
func (v *lives) cascade(from, to, rows int) *cascade {
	c := &cascade{v.layers[from:to], map[*area]int{}, map[*area][]int{}, make([]int, to-from), nil, map[*area]int{}}
	end := len(c.layers) - 1
	if !c.link(v, from) || len(c.rings) == 0 || rows >= c.layers[end].out.H {
		return nil
	}
	for n := rows; n < c.layers[end].out.H+rows; n += rows {
		c.demand(end, min(n, c.layers[end].out.H))
	}
	for i, l := range c.layers {
		if _, ok := c.rings[l.out.area]; !ok {
			c.demand(i, l.out.H)
		}
	}
	if slices.ContainsFunc(c.list, c.blind) {
		return nil
	}
	return c
}

// blind says that a stripe sees nothing but padding.
func (c *cascade) blind(s stripe) bool {
	l := c.layers[s.layer]
	a, z := l.sees(l.in, s.from, s.to)
	return l.Kind != npu.Elementwise && z <= a
}

// run is a cascade with its price, or a whole layer.
func (v *lives) run(from, to int, c *cascade, rows int) stretch {
	r := stretch{from: from, to: to, rows: rows}
	for _, a := range v.areas {
		if v.first[a] >= to || v.last[a] < from {
			continue
		}
		bytes := a.bytes
		if c != nil {
			if n, ok := c.rings[a]; ok {
				bytes = min(bytes, int64(n)*a.maps[0].StrideY)
			}
		}
		r.need += (bytes + align - 1) &^ (align - 1)
	}
	if c == nil {
		l := v.layers[from]
		r.cycles = v.rows(from, 0, l.out.H)
		for _, m := range l.operands() { // one takes the place of the other
			if root, _ := l.out.area.root(); l.over && m.alike(l.out) && v.last[m.area] == from &&
				v.first[m.area] < from && root == l.out.area && root.region == working {
				r.need -= (root.bytes + align - 1) &^ (align - 1)
				break
			}
		}
		return r
	}
	for _, s := range c.list {
		r.cycles += v.rows(from+s.layer, s.from, s.to)
	}
	return r
}

// rows is what some rows of a layer take.
func (v *lives) rows(i, from, to int) float64 {
	k, l := stripe{i, 0, to - from}, v.layers[i]
	n, ok := v.cost[k]
	if !ok {
		if to-from < l.out.H {
			l = l.piece(from, to, func(m *fmap) *fmap { return m })
			if l.place(); !l.Choose(v.cfg, float64(len(l.packed))) {
				return math.Inf(1)
			}
		}
		n = v.cfg.Cycles([]*npu.Op{&l.Op})
		v.cost[k] = n
	}
	return n
}

// runs are all that may be part of a program, by where they end.
func (v *lives) runs() [][]stretch {
	all := make([][]stretch, len(v.layers)+1)
	for i := range v.layers {
		all[i+1] = append(all[i+1], v.run(i, i+1, nil, 0))
		for to := i + 2; to <= min(i+mostRun, len(v.layers)) && v.layers[to-1].Window.Upscale == 0 &&
			v.layers[i].Window.Upscale == 0; to++ {
			for rows := 1; rows <= mostStripe; rows *= 2 {
				if c := v.cascade(i, to, rows); c != nil {
					all[to] = append(all[to], v.run(i, to, c, rows))
				}
			}
		}
	}
	return all
}

// best are the runs with the fewest cycles of those that need no more than most; nil: there are none. least is what
// those need that need least.
func best(all [][]stretch, most int64) (list []stretch, least int64) {
	cycles, needs, by := make([]float64, len(all)), make([]int64, len(all)), make([]stretch, len(all))
	for to := 1; to < len(all); to++ {
		cycles[to], needs[to] = math.Inf(1), math.MaxInt64
		for _, r := range all[to] {
			needs[to] = min(needs[to], max(needs[r.from], r.need))
			if n := cycles[r.from] + r.cycles; r.need <= most && n < cycles[to] {
				cycles[to], by[to] = n, r
			}
		}
	}
	least = needs[len(all)-1]
	for to := len(all) - 1; to > 0; to = by[to].from {
		if by[to].to != to {
			return nil, least
		}
		list = append(list, by[to])
	}
	slices.Reverse(list)
	return list, least
}

// take makes the layers of runs; nil: blocks do not fit.
func (v *lives) take(list []stretch) (out []*layer) {
	for _, r := range list {
		if r.rows == 0 {
			out = append(out, v.layers[r.from])
			continue
		}
		c, rings := v.cascade(r.from, r.to, r.rows), map[*area]*area{}
		stands := func(m *fmap) *fmap {
			n, ok := c.rings[m.area]
			if !ok || n >= m.H {
				m.area.parts = true // it keeps its form
				return m
			}
			a := rings[m.area]
			if a == nil {
				a = &area{region: working, bytes: int64(n) * m.StrideY, parts: true}
				rings[m.area] = a
			}
			x := *m
			x.area, x.ring = a, n
			a.maps = append(a.maps, &x)
			return &x
		}
		whole := make([]*layer, len(c.layers))
		for _, s := range c.list {
			l := c.layers[s.layer]
			if whole[s.layer] == nil { // the first stripe is the highest, and decides blocks for all
				p := l.piece(s.from, s.to, stands)
				if !p.block(v.cfg) {
					return nil
				}
				w := *l
				w.Op, w.packed = p.Op, p.packed
				w.Window.Top, w.Window.Bottom = l.Window.Top, l.Window.Bottom
				whole[s.layer] = &w
			}
			p := whole[s.layer].piece(s.from, s.to, stands)
			if p.place(); !p.Arrange(v.cfg) {
				return nil
			}
			out = append(out, p)
		}
	}
	return out
}

// within makes cascades where layers need more than most bytes of the working memory and the input that it lies over.
func (bin *result) within(b *builder, held []*area, inputs int, most int64) {
	first := b.covered(held[:inputs])
	if most <= 0 || bin.bytes(first) <= most {
		return
	}
	v := b.life(held, inputs)
	all := v.runs()
	_, least := best(all, 0)
	for budget, i := max(most, least), 0; i < mostBudgets; i++ {
		list, _ := best(all, budget)
		layers := v.take(list)
		if layers == nil {
			return
		}
		b.layers = layers
		bin.plan(b, held, inputs, true)
		over := bin.bytes(first) - most
		if over <= 0 || budget == least {
			return
		}
		budget = max(least, budget-over)
	}
}

// bytes are those of the working memory with the input that it lies over.
func (bin *result) bytes(a *area) int64 {
	n := int64(bin.working)
	if a != nil && bin.over.Scratch {
		n = min(max(n, int64(bin.over.Ahead)+a.bytes), max(a.bytes, int64(bin.over.Behind)+n))
	} else if a != nil {
		n += a.bytes
	}
	return n
}
