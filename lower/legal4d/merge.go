// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
)

// maxUnroll bounds the slices that one operator may cause.
const maxUnroll = 4096

// alignDigits splits the digits of a dimension so that all parts have the same
// radices there, as far as their ranges allow; parts whose dimension has no
// digits (broadcast) do not count.
func alignDigits(parts []*part, dim int) bool {
	var cuts []int
	for _, p := range parts {
		w := 1
		for i := len(p.dims[dim]) - 1; i > 0; i-- {
			w *= p.dims[dim][i].n
			if !slices.Contains(cuts, w) {
				cuts = append(cuts, w)
			}
		}
	}
	slices.Sort(cuts)
	for _, p := range parts {
		for _, c := range cuts {
			w := 1
			for i := len(p.dims[dim]) - 1; i >= 0; i-- {
				if w*p.dims[dim][i].n > c {
					if c%w != 0 {
						return false
					}
					ds, ok := p.splitDigit(p.dims[dim], i, c/w)
					if !ok {
						return false
					}
					p.dims[dim] = ds
					break
				}
				w *= p.dims[dim][i].n
				if w == c {
					break
				}
			}
		}
	}
	return true
}

// refine splits the atoms of a digit of p and one of q, which cover the same
// range, so that they correspond one to one.
func refine(p *part, pd *digit, q *part, qd *digit) bool {
	i, j := len(pd.atoms)-1, len(qd.atoms)-1
	for i >= 0 && j >= 0 {
		a, c := pd.atoms[i], qd.atoms[j]
		switch sa, sc := p.size[a], q.size[c]; {
		case sa == sc:
		case sa > sc && sa%sc == 0:
			p.split(a, sc)
			i++ // the inner of the two
			continue
		case sc > sa && sc%sa == 0:
			q.split(c, sa)
			j++
			continue
		default:
			return false
		}
		i--
		j--
	}
	return i < 0 && j < 0
}

// narrow restricts digit j of a dimension to [lo, hi) of the part's range
// there. Slices that are not contiguous on their axis are unrolled: the result
// may be several parts.
func (b *builder) narrow(p *part, dim, j, lo, hi int) []*part {
	d := p.dims[dim][j]
	if lo == 0 && hi == p.len(d) {
		return []*part{p}
	}
	bug.If(len(d.atoms) == 0 || lo >= hi, "narrowing %v to [%d, %d)", d, lo, hi)
	first := d.atoms[0]
	inner := p.count(d.atoms[1:])
	switch {
	case lo%inner == 0 && hi%inner == 0:
		return b.narrowAtom(p, dim, j, first, lo/inner, hi/inner)
	case lo/inner == (hi-1)/inner:
		row := lo / inner
		ps := b.narrowAtom(p, dim, j, first, row, row+1)
		var out []*part
		for _, q := range ps {
			k := findDigit(q, dim, d.start+row*inner, inner)
			refuseIf(k < 0, "a slice of dimension %d does not fit its layout", dim)
			out = append(out, b.narrow(q, dim, k, lo-row*inner, hi-row*inner)...)
		}
		return out
	}
	// several rows: the pieces before, within and behind whole rows
	var out []*part
	for _, r := range [][2]int{{lo, min(hi, (lo+inner-1)/inner*inner)}, {(lo + inner - 1) / inner * inner,
		hi / inner * inner}, {max(hi/inner*inner, (lo+inner-1)/inner*inner), hi}} {
		if r[0] >= r[1] {
			continue
		}
		out = append(out, b.narrow(p.clone(), dim, j, r[0], r[1])...)
	}
	return out
}

func findDigit(p *part, dim, start, length int) int {
	for k, d := range p.dims[dim] {
		if d.start == start && p.len(d) == length {
			return k
		}
	}
	return -1
}

// narrowAtom restricts the first atom of a digit.
func (b *builder) narrowAtom(p *part, dim, j, atom, lo, hi int) []*part {
	if lo == 0 && hi == p.size[atom] {
		return []*part{p}
	}
	x, pos := p.axisOf(atom)
	outer, inner := p.count(p.axes[x][:pos]), p.count(p.axes[x][pos+1:])
	if outer > 1 {
		if !p.covers(p.axes[x][:pos]) {
			return b.narrowAtom(b.apart(p, x, pos), dim, j, atom, lo, hi)
		}
		return b.unrollThen(p, p.axes[x][0], dim, j, atom, lo, hi)
	}
	v := b.slice(p.val, x, lo*inner, hi*inner, 1)
	q := p.clone()
	q.val = v
	d := &q.dims[dim][j]
	d.start += lo * q.count(d.atoms[1:])
	if hi-lo == 1 {
		d.atoms = d.atoms[1:]
		q.axes[x] = slices.Delete(q.axes[x], pos, pos+1)
	} else {
		q.size[atom] = hi - lo
	}
	return []*part{q}
}

// covers reports that the part is all of the dimensions to which atoms belong.
// Slices of a piece would be every k-th index of a range, which no map says and
// which nobody can put side by side again.
func (p *part) covers(atoms []int) bool {
	for d := range p.dims {
		own := p.atomsOf(d)
		if !p.whole(d) && len(without(own, atoms)) < len(own) {
			return false
		}
	}
	return true
}

// apart moves the first pos atoms of an axis away from the others on it: those
// of C behind H and W, which in a channels-last memory moves nothing.
func (b *builder) apart(p *part, x, pos int) *part {
	want, away, rest := p.axes, p.axes[x][:pos], p.axes[x][pos:]
	switch x {
	case axC:
		want[axH], want[axW] = slices.Concat(p.axes[axH], p.axes[axW]), away
	case axH:
		want[axC] = slices.Concat(p.axes[axC], away)
	default:
		want[axH] = slices.Concat(p.axes[axH], away)
	}
	want[x] = rest
	return b.relayout(p, want)
}

// unrollThen cuts the part along another atom first, which lies further out on
// the same axis.
func (b *builder) unrollThen(p *part, outer int, dim, j, atom, lo, hi int) []*part {
	ps := b.unroll(p, outer)
	var out []*part
	inner := p.count(p.dims[dim][j].atoms[1:])
	for _, q := range ps {
		// digits may have been cut by unrolling: find the one that begins with atom
		k := slices.IndexFunc(q.dims[dim], func(d digit) bool { return len(d.atoms) > 0 && d.atoms[0] == atom })
		refuseIf(k < 0 || q.count(q.dims[dim][k].atoms[1:]) != inner, "a slice of dimension %d runs across its layout",
			dim)
		out = append(out, b.narrowAtom(q, dim, k, atom, lo, hi)...)
		refuseIf(len(out) > maxUnroll, "more than %d slices", maxUnroll)
	}
	return out
}

// unroll makes one part of every index of an atom; atom numbers stay. The
// digits of the results are not normalised.
func (b *builder) unroll(p *part, atom int) []*part {
	p = p.clone()
	dim, j := -1, -1
	for k := range p.dims {
		for i := range p.dims[k] {
			at := slices.Index(p.dims[k][i].atoms, atom)
			if at < 0 {
				continue
			}
			dim, j = k, i
			if at > 0 { // make it the first atom of its digit
				ds, ok := p.splitDigit(p.dims[k], i, p.count(p.dims[k][i].atoms[at:]))
				refuseIf(!ok, "dimension %d cannot be cut into slices", k)
				p.dims[k] = ds
				j = i + 1
			}
		}
	}
	bug.If(dim < 0, "unrolling an atom that is not there")
	// one digit for the atom alone, so that fixing it leaves a range
	if d := p.dims[dim][j]; len(d.atoms) > 1 && p.full(d) {
		ds, ok := p.splitDigit(p.dims[dim], j, p.count(d.atoms[1:]))
		refuseIf(!ok, "dimension %d cannot be cut into slices", dim)
		p.dims[dim] = ds
	}
	var out []*part
	for i := range p.size[atom] {
		out = append(out, b.narrowAtom(p, dim, j, atom, i, i+1)...)
		refuseIf(len(out) > maxUnroll, "more than %d slices", maxUnroll)
	}
	return out
}

// signature names what a part covers, but for one digit.
func signature(p *part, dim, j int) string {
	s := ""
	for k, ds := range p.dims {
		for i, d := range ds {
			if k == dim && i == j {
				s += fmt.Sprint(k, ":", i, ":", d.n, ":any ")
			} else {
				s += fmt.Sprint(k, ":", i, ":", d.n, ":", d.start, "+", p.len(d), " ")
			}
		}
	}
	return s
}

// mergeAlong joins parts that differ along one dimension only, by Concat on
// the axis where the dimension lies; prefer is that axis where it lies nowhere
// or on several.
func (b *builder) mergeAlong(parts []*part, dim, prefer int) []*part {
	if len(parts) == 1 {
		return parts
	}
	ps := clones(parts)
	for k := range ps[0].dims {
		refuseIf(!alignDigits(ps, k), "the pieces of dimension %d do not fit together", k)
	}
	for j := len(ps[0].dims[dim]) - 1; j >= 0; j-- {
		groups := map[string][]*part{}
		var order []string
		for _, p := range ps {
			s := signature(p, dim, j)
			if groups[s] == nil {
				order = append(order, s)
			}
			groups[s] = append(groups[s], p)
		}
		var out []*part
		for _, s := range order {
			out = append(out, b.mergeDigit(groups[s], dim, j, prefer)...)
		}
		ps = out
	}
	for _, p := range ps {
		p.normalise()
	}
	return ps
}

// mergeDigit joins parts that differ in one digit only, where their ranges
// follow each other.
func (b *builder) mergeDigit(ps []*part, dim, j, prefer int) []*part {
	if len(ps) == 1 {
		return ps
	}
	slices.SortStableFunc(ps, func(p, q *part) int { return p.dims[dim][j].start - q.dims[dim][j].start })
	for i := 1; i < len(ps); i++ {
		if d := ps[i-1].dims[dim][j]; d.start+ps[i-1].len(d) != ps[i].dims[dim][j].start {
			return ps
		}
	}
	base := ps[0]
	for _, p := range ps { // the largest decides on the layout
		if p.val.Type.Elems() > base.val.Type.Elems() {
			base = p
		}
	}
	x := mergeAxis(ps, dim, j, prefer)
	total := 0
	var vals []*ir.Value
	var first *part
	for _, p := range ps {
		want := likeBase(p, base, dim, j)
		want[x] = slices.Concat(p.dims[dim][j].atoms, want[x])
		q := b.relayout(p, want)
		vals = append(vals, q.val)
		total += p.len(p.dims[dim][j])
		if p == base {
			first = q
		}
	}
	v := b.concat(x, vals)
	m := first.clone()
	d := &m.dims[dim][j]
	k := len(d.atoms)
	a := m.newAtom(total)
	m.axes[x] = slices.Concat([]int{a}, m.axes[x][k:])
	d.atoms, d.start = []int{a}, ps[0].dims[dim][j].start
	m.val = v
	return []*part{m}
}

// mergeAxis is the axis on which parts are joined.
func mergeAxis(ps []*part, dim, j, prefer int) int {
	axis := -1
	for _, p := range ps {
		for _, a := range p.dims[dim][j].atoms {
			switch x, _ := p.axisOf(a); {
			case axis < 0:
				axis = x
			case axis != x && axis != axC && x != axC: // on H and W
				axis = axW
			case axis != x:
				return prefer
			}
		}
	}
	if axis < 0 {
		return prefer
	}
	return axis
}

// likeBase gives the axes of base, without the atoms of one digit, in the
// atoms of p.
func likeBase(p, base *part, dim, j int) (want [4][]int) {
	if p == base {
		for x := range p.axes {
			want[x] = without(p.axes[x], p.dims[dim][j].atoms)
		}
		return want
	}
	bq := base.clone()
	to := map[int]int{}
	for k := range p.dims {
		for i := range p.dims[k] {
			if k == dim && i == j {
				continue
			}
			refuseIf(!refine(p, &p.dims[k][i], bq, &bq.dims[k][i]), "the pieces of dimension %d have different layouts",
				dim)
			for n, a := range p.dims[k][i].atoms {
				to[bq.dims[k][i].atoms[n]] = a
			}
		}
	}
	for x := range bq.axes {
		for _, a := range bq.axes[x] {
			if t, ok := to[a]; ok {
				want[x] = append(want[x], t)
			}
		}
	}
	return want
}

// mergeAll tries to make one part of a tensor.
func (b *builder) mergeAll(parts []*part, prefer func(dim int) int) []*part {
	for d := range parts[0].dims {
		parts = b.tryMerge(parts, d, prefer(d))
	}
	return parts
}

// tryMerge is mergeAlong where that can be, else the parts as they are.
func (b *builder) tryMerge(parts []*part, dim, prefer int) []*part {
	attempt(func() { parts = b.mergeAlong(parts, dim, prefer) })
	return parts
}
