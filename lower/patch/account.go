// SPDX-License-Identifier: Apache-2.0

package patch

// account is what a chain comes to: bytes of memory, and what it takes more than its
// nodes at once.
type account struct {
	peak, calls, copied int
	extra               float64
}

func (a *account) fits(p *Prices) bool { return a.calls <= maxCalls && a.extra <= p.Most }

// samples are how many times two stripes are looked at.
const samples = 6

// rows are those of a value of a chain, by stripe.
type rows struct {
	v, p   int // p < 0: it enters
	last   int // node of the chain that reads it last
	leaves bool
	keep   []int // the first one that is read in the stripe or later; one stripe more than there are
	have   []int // up to which they have been computed, or brought into rows, after the stripe
	lo     []int // the first one that is there once its node has run
	stripe       // that is looked at
}

// stripe is what rows are in one of them.
type stripe struct {
	before, now  int  // how many there are, once its node runs, and has run
	kept, onward bool // rows of before the stripe are read in it or later and stay, and those of now are behind it
}

// all are the rows of the values that the chain reads and writes.
func (f *flow) all() []rows {
	var out []rows
	add := func(v, p int) {
		r, n, list := rows{v: v, p: p, leaves: f.leaves(v)}, len(f.fresh), f.readers(v)
		all := make([]int, 3*n+1)
		r.keep, r.have, r.lo = all[:n+1], all[n+1:n+1], all[2*n+1:2*n+1]
		for s := range r.keep {
			r.keep[s] = f.keep(s, v)
		}
		for s := range f.fresh {
			at := span{r.keep[s], 0}
			if p < 0 {
				at.hi = f.brought(s, v)
			} else if at.hi = f.fresh[s][p].hi; f.again() {
				at.lo = f.fresh[s][p].lo
			}
			r.lo, r.have = append(r.lo, at.lo), append(r.have, at.hi)
		}
		if len(list) > 0 {
			r.last = list[len(list)-1] - f.from
		}
		out = append(out, r)
	}
	seen, reader := map[int]bool{}, map[int]int{} // by value, and by storage that enters: who reads it last
	for i := f.from; i < f.to; i++ {
		for _, v := range f.w.nodes[i].in {
			reader[f.w.values[v].storage] = v
		}
	}
	for i := f.from; i < f.to; i++ {
		for _, v := range f.w.nodes[i].in {
			if f.enters(v) && !seen[v] && reader[f.w.values[v].storage] == v {
				seen[v] = true
				add(v, -1)
			}
		}
		add(f.w.nodes[i].out[0], i-f.from)
	}
	return out
}

// at looks at stripe s.
func (r *rows) at(f *flow, s int) {
	r.stripe = stripe{now: max(r.have[s]-r.lo[s], 0), kept: !f.again() && s > 0 && r.keep[s] < r.have[s-1],
		onward: !f.again() && r.keep[s+1] < r.have[s]}
	if r.kept {
		r.before = r.have[s-1] - r.keep[s-1]
	}
}

// window is how many rows that do not leave the chain are there while node i runs in
// the stripe.
func (r *rows) window(i int) int {
	now := r.now
	if i > r.last && !r.onward {
		now = 0
	}
	switch {
	case r.p > i:
		return r.before
	case r.p == i: // one lies over the other
		return max(r.before, now)
	}
	return now
}

// copied is the bytes that are copied in a stripe: rows that are read again, and what
// leaves besides.
func (r *rows) copied(f *flow, s int) int {
	x := &f.w.values[r.v]
	if r.at(f, s); r.p < 0 && !x.turned || !r.kept || r.have[s] == r.have[s-1] {
		return 0
	}
	n := r.have[s-1] - r.keep[s]
	if r.keep[s] == r.keep[s-1] { // the new rows lie behind those that are there
		n = 0
	}
	if r.p >= 0 && r.leaves {
		n += r.have[s] - r.have[s-1]
	}
	return n * x.row
}

// account adds up a flow; the peak of one that is too much work does not matter, nor by how much it is above most.
func (f *flow) account(prices *Prices, most int) account {
	a, list := account{}, f.all()
	for i := range f.total {
		x := &f.w.values[f.w.nodes[f.from+i].out[0]]
		a.extra -= prices.Rows(f.from+i, x.axis, x.rows, x.rows)
		for s := range f.fresh {
			if n := f.fresh[s][i].len(); n > 0 {
				if !f.w.view(f.from + i) {
					a.calls++
				}
				a.extra += prices.Rows(f.from+i, x.axis, n, x.rows)
			}
		}
	}
	a.copied, a.extra = f.columns(list, prices, a.extra)
	for k := range list {
		if x := &f.w.values[list[k].v]; x.turned && !list[k].leaves {
			a.extra -= prices.Copy(x.bytes) // at once
		}
		for s := range f.fresh {
			if r := &list[k]; r.p < 0 && f.w.values[r.v].turned {
				done := 0
				if s > 0 {
					done = r.have[s-1]
				}
				a.extra += prices.Copy((r.have[s] - max(r.keep[s], done)) * f.w.values[r.v].row)
			}
			if n := list[k].copied(f, s); n > 0 {
				a.calls++
				a.copied += n
				a.extra += prices.Copy(n)
			}
		}
	}
	if a.fits(prices) {
		a.peak = f.peak(list, most)
	}
	return a
}

// columns is the bytes that are copied where heads enter, which lie in columns, and the work with it.
func (f *flow) columns(list []rows, prices *Prices, work float64) (int, float64) {
	copied := 0
	for k := range list {
		if x := &f.w.values[list[k].v]; list[k].p < 0 && f.w.heads && x.rows > 1 {
			copied += x.bytes
			work += prices.Copy(x.row) * float64(x.rows)
		}
	}
	return copied, work
}

// peak is the most bytes that are there while a node runs, in some of the stripes where
// there are many, until they are above bound.
func (f *flow) peak(list []rows, bound int) int {
	most, through := 0, f.w.through(f.from, f.to-1)
	for s := range f.fresh {
		if far := len(f.fresh) / samples; far > 1 && s%(far+1) > 1 && s < len(f.fresh)-2 {
			continue
		}
		for k := range list {
			list[k].at(f, s)
		}
		for i, x := range f.fresh[s] {
			if x.len() > 0 && most+through < bound {
				most = max(most, f.alive(list, s, i))
			}
		}
	}
	return most + through
}

// there is how many rows of a value have memory while node i runs in stripe s.
func (r *rows) there(f *flow, s, i int) int {
	x := &f.w.values[r.v]
	rows, window := r.window(i), 0
	if r.kept {
		window = rows
	}
	switch {
	case r.p < 0 && r.leaves: // all of it goes through
		if !x.turned {
			rows = 0
		}
	case r.p < 0 && x.turned: // as it came, besides what is in rows
		rows += x.rows
	case r.p < 0:
		rows = x.rows - r.keep[s]
	case r.leaves:
		if rows = window + r.have[s]; r.p > i {
			rows -= f.fresh[s][r.p].len()
		}
	}
	return rows
}

// alive is the bytes of the values of the chain while node i runs in stripe s: rows
// that were read are free, and results may lie over them.
func (f *flow) alive(list []rows, s, i int) (bytes int) {
	n, over := &f.w.nodes[f.from+i], 0
	out := f.fresh[s][i].len() * f.w.values[n.out[0]].row
	for k := range list {
		r := &list[k]
		x := &f.w.values[r.v]
		bytes += r.there(f, s, i) * x.row
		if r.last == i && !r.leaves && (n.kernel == nil || n.kernel.Rolls || n.inPlace) {
			gone := min(r.keep[s+1], max(r.have[s], r.keep[s])) - r.keep[s]
			over = max(over, n.over(gone*x.row, out, x.row))
		}
	}
	return bytes - over + n.scratch()
}
