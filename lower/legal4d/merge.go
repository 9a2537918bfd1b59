// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

// maxUnroll bounds the slices that one operator may cause.
const maxUnroll = 4096

// digit is a position of the mixed-radix number that is the index along a
// dimension: the part has count(atoms) of its values, from start on.
type digit struct {
	step, start int
	atoms       []atom
}

func (d digit) end() int { return d.start + count(d.atoms) }

// digits are those of a dimension between cuts, the innermost first.
func (p *part) digits(dim int, cuts []int) []digit {
	return lists.Make(len(cuts), func(j int) digit {
		top := p.shape[dim]
		if j+1 < len(cuts) {
			top = cuts[j+1]
		}
		return digit{cuts[j], p.start[dim] % top / cuts[j], lists.Filter(p.atomsOf(dim), func(a atom) bool {
			return a.step >= cuts[j] && a.step < top
		})}
	})
}

// alignDigits gives the steps of the digits of a dimension that all parts have in
// common, and cuts their atoms there; false where ranges run across. Parts of which the
// dimension is 1 (broadcast) do not count.
func alignDigits(parts []*part, dim int) (cuts []int, ok bool) {
	cuts = []int{1}
	for _, p := range parts {
		cuts = append(cuts, p.units(dim)...)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for _, p := range parts {
		for _, step := range cuts {
			if p.shape[dim] > 1 && (!p.cut(dim, step) || !p.inRow(dim, step)) {
				return nil, false
			}
		}
	}
	return cuts, true
}

// inRow reports that within each step of a dimension the part has the same indices.
func (p *part) inRow(dim, step int) bool {
	last := p.start[dim] % step
	for _, a := range p.atomsOf(dim) {
		if a.step < step {
			last += a.step * (a.size - 1)
		}
	}
	return last < step
}

// refine cuts the atoms as of p and those of q, bs, which cover the same
// range, so that they are the same.
func refine(p, q *part, as, bs []atom) bool {
	like := func(p *part, as []atom) bool {
		return !slices.ContainsFunc(as, func(a atom) bool {
			return !p.cut(a.dim, a.step) || !p.cut(a.dim, a.step*a.size)
		})
	}
	return like(p, bs) && like(q, as)
}

// narrow restricts neighbouring atoms of a dimension, which are [0, count), to [lo, hi).
// Slices that are not contiguous on their axis are unrolled: the result may be
// several parts.
func (b *builder) narrow(p *part, as []atom, lo, hi int) []*part {
	if lo == 0 && hi == count(as) {
		return []*part{p}
	}
	bug.If(len(as) == 0 || lo >= hi, "narrowing %v to [%d, %d)", as, lo, hi)
	inner := count(as[1:])
	row, end := lo/inner, (lo+inner-1)/inner*inner
	switch {
	case lo%inner == 0 && hi%inner == 0:
		return b.narrowAtom(p, as[0], row, hi/inner)
	case row == (hi-1)/inner:
		var out []*part
		for _, q := range b.narrowAtom(p, as[0], row, row+1) {
			out = append(out, b.narrow(q, as[1:], lo-row*inner, hi-row*inner)...)
		}
		return out
	}
	// several rows: the pieces before, within and behind whole rows
	var out []*part
	for _, r := range [][2]int{{lo, min(hi, end)}, {end, hi / inner * inner}, {max(hi/inner*inner, end), hi}} {
		if r[0] < r[1] {
			out = append(out, b.narrow(p.clone(), as, r[0], r[1])...)
		}
	}
	return out
}

// narrowAtom restricts an atom.
func (b *builder) narrowAtom(p *part, a atom, lo, hi int) []*part {
	if lo == 0 && hi == a.size {
		return []*part{p}
	}
	x, pos := p.axisOf(a)
	outer, inner := p.axes[x][:pos], count(p.axes[x][pos+1:])
	switch {
	case len(outer) > 0 && !p.covers(outer):
		return b.narrowAtom(b.apart(p, x, pos), a, lo, hi)
	case len(outer) > 0: // cut the part along what lies further out on the same axis first
		var out []*part
		for _, q := range b.unroll(p, outer[0]) {
			refuseIf(outer[0].dim == a.dim && outer[0].step < a.step, "a slice of dimension %d runs across its layout",
				a.dim)
			out = append(out, b.narrowAtom(q, a, lo, hi)...)
			refuseIf(len(out) > maxUnroll, "more than %d slices", maxUnroll)
		}
		return out
	}
	q := p.clone()
	q.val = b.slice(p.val, x, lo*inner, hi*inner, 1)
	q.start[a.dim] += lo * a.step
	q.axes[x] = slices.Delete(q.axes[x], pos, pos+1)
	if hi-lo > 1 {
		q.axes[x] = slices.Insert(q.axes[x], pos, atom{a.dim, a.step, hi - lo})
	}
	return []*part{q}
}

// covers reports that the part is all of the dimensions to which atoms belong.
// Slices of a piece would be every k-th index of a range, which nobody can put
// side by side again.
func (p *part) covers(atoms []atom) bool {
	return !slices.ContainsFunc(atoms, func(a atom) bool { return !p.whole(a.dim) })
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

// unroll makes one part of every index of an atom.
func (b *builder) unroll(p *part, a atom) []*part {
	var out []*part
	for i := range a.size {
		out = append(out, b.narrowAtom(p, a, i, i+1)...)
		refuseIf(len(out) > maxUnroll, "more than %d slices", maxUnroll)
	}
	return out
}

// place is a digit of a dimension, of parts with these cuts of all dimensions.
type place struct {
	cuts   [][]int
	dim, j int
}

func (at place) of(p *part) digit { return p.digits(at.dim, at.cuts[at.dim])[at.j] }

// others calls f for all other digits.
func (at place) others(p *part, f func(d digit)) {
	for k, cuts := range at.cuts {
		for j, d := range p.digits(k, cuts) {
			if k != at.dim || j != at.j {
				f(d)
			}
		}
	}
}

// mergeAlong joins parts that differ along one dimension only, by Concat on
// the axis where the dimension lies; prefer is that axis where it lies nowhere
// or on several.
func (b *builder) mergeAlong(parts []*part, dim, prefer int) []*part {
	if len(parts) == 1 {
		return parts
	}
	ps := clones(parts)
	at := place{cuts: make([][]int, len(ps[0].shape)), dim: dim}
	for k := range at.cuts {
		cuts, ok := alignDigits(ps, k)
		refuseIf(!ok, "the pieces of dimension %d do not fit together", k)
		at.cuts[k] = cuts
	}
	for at.j = range at.cuts[dim] {
		groups := map[string][]*part{}
		var order []string
		for _, p := range ps {
			s := "" // what the part covers, but for the digit
			at.others(p, func(d digit) { s += fmt.Sprint(d.start, "+", count(d.atoms), " ") })
			if groups[s] == nil {
				order = append(order, s)
			}
			groups[s] = append(groups[s], p)
		}
		ps = nil
		for _, s := range order {
			ps = append(ps, b.mergeDigit(groups[s], at, prefer)...)
		}
	}
	for _, p := range ps {
		p.normalise()
	}
	return ps
}

// mergeDigit joins parts that differ in one digit only, where their ranges
// follow each other.
func (b *builder) mergeDigit(ps []*part, at place, prefer int) []*part {
	if len(ps) == 1 {
		return ps
	}
	slices.SortStableFunc(ps, func(p, q *part) int { return at.of(p).start - at.of(q).start })
	base := ps[0] // the largest decides on the layout
	for i, p := range ps {
		if i > 0 && at.of(ps[i-1]).end() != at.of(p).start {
			return ps
		}
		if p.val.Type.Elems() > base.val.Type.Elems() {
			base = p
		}
	}
	x := mergeAxis(ps, at, prefer)
	var vals []*ir.Value
	m := base.clone()
	for _, p := range ps {
		rest, own := at.likeBase(p, base), at.of(p).atoms
		if p == base {
			m.axes = rest
		}
		rest[x] = slices.Concat(own, rest[x])
		vals = append(vals, b.relayout(p, rest).val)
	}
	first := at.of(ps[0])
	m.val = b.concat(x, vals)
	m.axes[x] = slices.Concat([]atom{{at.dim, first.step, at.of(ps[len(ps)-1]).end() - first.start}}, m.axes[x])
	m.start[at.dim] = ps[0].start[at.dim]
	return []*part{m}
}

// mergeAxis is the axis on which parts are joined.
func mergeAxis(ps []*part, at place, prefer int) int {
	axis := -1
	for _, p := range ps {
		for _, a := range at.of(p).atoms {
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

// likeBase gives the axes of base, without the atoms of the digit, in the
// atoms of p.
func (at place) likeBase(p, base *part) axes {
	if p != base {
		base = base.clone()
		var as, bs []atom
		at.others(p, func(d digit) { as = append(as, d.atoms...) })
		at.others(base, func(d digit) { bs = append(bs, d.atoms...) })
		refuseIf(!refine(p, base, as, bs), "the pieces of dimension %d have different layouts", at.dim)
	}
	return base.axes.without(at.of(base).atoms)
}

// mergeAll tries to make one part of a tensor.
func (b *builder) mergeAll(parts []*part, prefer func(dim int) int) []*part {
	for d := range parts[0].shape {
		parts = b.tryMerge(parts, d, prefer(d))
	}
	return parts
}

// tryMerge is mergeAlong where that can be, else the parts as they are.
func (b *builder) tryMerge(parts []*part, dim, prefer int) []*part {
	attempt(func() { parts = b.mergeAlong(parts, dim, prefer) })
	return parts
}
