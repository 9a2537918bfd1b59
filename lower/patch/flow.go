// SPDX-License-Identifier: Apache-2.0

package patch

// chain is an interval of the nodes of a network, all of which work row by row, and
// how they run.
type chain struct {
	w        *network
	from, to int
	// rows that the first nodes compute in a stripe; the others run as soon as their
	// inputs have as many rows as make least of their own. 0: stripes.
	rows, least int
	// stripes of what leaves the chain, each with all that it is computed from: rows
	// that two of them need are computed twice.
	stripes int
}

// flow is which rows of which results are computed in every stripe.
type flow struct {
	chain
	total []int    // by node: rows of its result that anybody needs
	fresh [][]span // by stripe and node
}

// enters reports whether a value is computed before the chain; leaves, whether it is
// read behind it.
func (c *chain) enters(v int) bool { return c.w.values[v].first < c.from }
func (c *chain) leaves(v int) bool {
	x := &c.w.values[v]
	if c.enters(v) { // all of it goes on
		return c.w.values[x.storage].last >= c.to
	}
	return len(x.readers) > 0 && x.readers[len(x.readers)-1] >= c.to
}

// again reports that rows are computed twice rather than kept.
func (c *chain) again() bool { return c.rows == 0 }

// readers are the nodes of the chain that read a value.
func (c *chain) readers(v int) []int {
	list := c.w.values[v].readers
	for len(list) > 0 && list[0] < c.from {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1] >= c.to {
		list = list[:len(list)-1]
	}
	return list
}

// flow follows the rows through the chain; nil where a result that leaves it has fewer
// rows than there are stripes, or a node reads all of what another one computes.
func (c *chain) flow() *flow {
	f := &flow{chain: *c}
	for i := c.from; i < c.to; i++ {
		if c.w.waits(c.from, i) {
			return nil
		}
	}
	whole := func(rows int) span { return span{0, rows} }
	for _, s := range f.needed(whole) {
		f.total = append(f.total, s.hi)
	}
	for s := 0; c.again() && s < c.stripes; s++ {
		f.fresh = append(f.fresh, f.needed(func(rows int) span { return f.share(s, rows) }))
		for i, x := range f.fresh[s] {
			v := f.w.nodes[f.from+i].out[0]
			if x.len() > 0 && f.w.values[v].rows < c.stripes && f.leaves(v) {
				return nil
			}
		}
	}
	was := make([]span, len(f.total))
	for s := 0; !c.again() && !f.finished(was); s++ {
		now := make([]span, len(was))
		for i := range now {
			have := f.available(i, s, now)
			if have < f.total[i] && have-was[i].hi < f.least {
				have = 0 // wait for more
			}
			now[i] = span{was[i].hi, max(have, was[i].hi)}
		}
		f.fresh = append(f.fresh, now)
		was = now
	}
	return f
}

func (f *flow) finished(done []span) bool {
	for i, d := range done {
		if d.hi < f.total[i] {
			return false
		}
	}
	return true
}

// share is the rows of a stripe, of a result that leaves the chain.
func (c *chain) share(s, rows int) span {
	return span{s * rows / c.stripes, (s + 1) * rows / c.stripes}
}

// needed is the rows of each result that are computed for those that leave.
func (f *flow) needed(leaving func(rows int) span) []span {
	need := make([]span, f.to-f.from)
	for i := f.to - 1; i >= f.from; i-- {
		n, x := &f.w.nodes[i], &need[i-f.from]
		if rows := f.w.values[n.out[0]].rows; f.leaves(n.out[0]) {
			*x = leaving(rows).union(*x)
		}
		up := n.window.up
		*x = span{x.lo / up * up, (x.hi + up - 1) / up * up}
		for _, v := range n.in {
			if p := f.w.values[v].first - f.from; p >= 0 && x.len() > 0 {
				in, _, _ := n.reads(v, *x, f.w.values[v].rows)
				need[p] = in.union(need[p])
			}
		}
	}
	return need
}

// available is up to which row node i of the chain can compute in stripe s, when its
// operands are as far as done. Nodes that only read what enters share the pace.
func (f *flow) available(i, s int, done []span) int {
	n := &f.w.nodes[f.from+i]
	have, waits, up := f.total[i], false, n.window.up
	for _, v := range n.in {
		p := f.w.values[v].first - f.from
		if p < 0 {
			continue
		}
		waits = true
		if done[p].hi < f.total[p] {
			have = min(have, n.window.out(done[p].hi))
		}
	}
	if !waits {
		all, first := f.w.values[n.out[0]].rows, f.w.values[f.w.nodes[f.from].out[0]].rows
		have = min(have, ((s+1)*f.rows*all+first*up-1)/(first*up)*up)
	}
	return have / up * up
}

// keep is the first row of a value that the chain reads in stripe s or later; all of
// its rows have been read otherwise.
func (f *flow) keep(s, v int) int {
	x := &f.w.values[v]
	lo := x.rows
	for _, i := range f.readers(v) {
		if s == len(f.fresh) {
			break
		}
		if at := f.fresh[s][i-f.from]; at.lo < f.total[i-f.from] && (at.len() > 0 || !f.again()) {
			in, _, _ := f.w.nodes[i].reads(v, span{at.lo, at.lo + 1}, x.rows)
			lo = min(lo, in.lo)
		}
	}
	return lo
}

// kept reports that rows of a value that were computed before stripe s, up to row hi,
// are read again in it or later, and stay.
func (f *flow) kept(s, v, hi int) bool { return !f.again() && s > 0 && f.keep(s, v) < hi }

// brought is up to which row a value that enters has been read after a stripe.
func (f *flow) brought(s, v int) int {
	x, hi := &f.w.values[v], 0
	for _, i := range f.readers(v) {
		if n := f.fresh[s][i-f.from]; n.hi > 0 {
			in, _, _ := f.w.nodes[i].reads(v, span{0, n.hi}, x.rows)
			hi = max(hi, in.hi)
		}
	}
	return hi
}
