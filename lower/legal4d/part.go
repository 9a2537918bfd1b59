// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

// A logical tensor of any rank is held as parts: four-dimensional NCHW values
// of the new graph, each with a map of where its elements lie in the logical
// tensor. Reshape, Transpose, Concat, Slice and Split change the map only.

// digit is one position of the mixed-radix number that is the index along a
// logical dimension: n is the radix, the part covers [start, start+len), and
// the offset within that range is the mixed-radix number of atoms, outermost
// first.
type digit struct {
	n, start int
	atoms    []int
}

// part is a 4-D value that holds a box of a logical tensor.
//
//	logical [1, 2, 16, 5], part of head 1 as [1, 16, 1, 5]:
//	dims = {}, {n=2 start=1}, {n=16 atoms a}, {n=5 atoms b}; axes = {}, {a}, {}, {b}
type part struct {
	size []int     // sizes of the atoms, none is 1
	dims [][]digit // by logical dimension, outermost digit first; none for a dimension of size 1
	axes [4][]int  // atoms on N, C, H, W, outermost first
	val  *ir.Value // the shape follows from axes; may be a constant
}

// The axes of a part.
const (
	axN = iota
	axC
	axH
	axW
)

func (p *part) clone() *part {
	q := &part{size: slices.Clone(p.size), val: p.val}
	for _, ds := range p.dims {
		q.dims = append(q.dims, cloneDigits(ds))
	}
	for i, a := range p.axes {
		q.axes[i] = slices.Clone(a)
	}
	return q
}

func clones(parts []*part) []*part {
	return lists.Map(parts, func(p *part) *part { return p.clone() })
}

func cloneDigits(ds []digit) []digit {
	return lists.Map(ds, func(d digit) digit { return digit{d.n, d.start, slices.Clone(d.atoms)} })
}

func (p *part) count(atoms []int) int {
	k := 1
	for _, a := range atoms {
		k *= p.size[a]
	}
	return k
}

func (p *part) len(d digit) int   { return p.count(d.atoms) }
func (p *part) full(d digit) bool { return d.start == 0 && p.len(d) == d.n }

func (p *part) shape() []int { return p.shapeOf(p.axes) }

func (p *part) shapeOf(axes [4][]int) []int {
	return lists.Make(4, func(i int) int { return p.count(axes[i]) })
}

func (p *part) newAtom(size int) int {
	p.size = append(p.size, size)
	return len(p.size) - 1
}

// atomsOf are all atoms of dimensions in logical order.
func (p *part) atomsOf(dims ...int) (out []int) {
	for _, dim := range dims {
		for _, d := range p.dims[dim] {
			out = append(out, d.atoms...)
		}
	}
	return out
}

// whole reports that the part covers all of the dimension.
func (p *part) whole(dim int) bool {
	return !slices.ContainsFunc(p.dims[dim], func(d digit) bool { return !p.full(d) })
}

// lies reports that all of what the part has of a dimension is on one axis.
func (p *part) lies(dim, axis int) bool {
	return !slices.ContainsFunc(p.atomsOf(dim), func(a int) bool { return !slices.Contains(p.axes[axis], a) })
}

// freeAxis is an axis of size 1, in space where there is one; -1: there is none.
func (p *part) freeAxis() int {
	for _, x := range []int{axW, axH, axC, axN} {
		if len(p.axes[x]) == 0 {
			return x
		}
	}
	return -1
}

// axisOf says where an atom lies.
func (p *part) axisOf(atom int) (axis, pos int) {
	for x, as := range p.axes {
		if i := slices.Index(as, atom); i >= 0 {
			return x, i
		}
	}
	panic(bug.Errorf("atom %d lies on no axis", atom))
}

// replace puts atoms in the place of one, in the digits and on the axes.
func (p *part) replace(atom int, by ...int) {
	swap := func(as []int) []int {
		i := slices.Index(as, atom)
		if i < 0 {
			return as
		}
		return slices.Concat(as[:i], by, as[i+1:])
	}
	for _, ds := range p.dims {
		for i := range ds {
			ds[i].atoms = swap(ds[i].atoms)
		}
	}
	for x := range p.axes {
		p.axes[x] = swap(p.axes[x])
	}
}

// split makes two atoms of one, the inner of the given size.
func (p *part) split(atom, inner int) {
	p.replace(atom, p.newAtom(p.size[atom]/inner), p.newAtom(inner))
}

// splitAtoms cuts the atoms of a digit so that the trailing ones have the
// product inner; false where no cut of an atom does it.
func (p *part) splitAtoms(d *digit, inner int) (cut int, ok bool) {
	prod := 1
	for i := len(d.atoms) - 1; i >= 0; i-- {
		if prod == inner {
			return i + 1, true
		}
		a := d.atoms[i]
		if s := p.size[a]; inner%(prod*s) == 0 {
			prod *= s
			continue
		}
		if inner%prod != 0 || p.size[a]%(inner/prod) != 0 {
			return 0, false
		}
		hi, lo := p.newAtom(p.size[a]/(inner/prod)), p.newAtom(inner/prod)
		for x := range p.axes {
			if k := slices.Index(p.axes[x], a); k >= 0 {
				p.axes[x] = slices.Concat(p.axes[x][:k], []int{hi, lo}, p.axes[x][k+1:])
			}
		}
		d.atoms = slices.Concat(d.atoms[:i], []int{hi, lo}, d.atoms[i+1:])
		return i + 1, true
	}
	return 0, prod == inner
}

// splitDigit makes two digits of one, the inner with radix inner; false where
// the part's range does not allow it.
func (p *part) splitDigit(ds []digit, i, inner int) ([]digit, bool) {
	d := &ds[i]
	if inner == 1 || d.n == inner {
		return ds, true
	}
	if d.n%inner != 0 {
		return ds, false
	}
	l := p.len(*d)
	var hi, lo digit
	switch {
	case d.start%inner == 0 && l%inner == 0:
		cut, ok := p.splitAtoms(d, inner)
		if !ok {
			return ds, false
		}
		hi = digit{d.n / inner, d.start / inner, slices.Clone(d.atoms[:cut])}
		lo = digit{inner, 0, slices.Clone(d.atoms[cut:])}
	case d.start/inner == (d.start+l-1)/inner:
		hi = digit{d.n / inner, d.start / inner, nil}
		lo = digit{inner, d.start % inner, slices.Clone(d.atoms)}
	default:
		return ds, false
	}
	return slices.Concat(ds[:i], []digit{hi, lo}, ds[i+1:]), true
}

// normalise joins atoms that are neighbours both in a digit and on an axis,
// and digits that together are one range.
func (p *part) normalise() {
	for k := range p.dims {
		var out []digit
		for _, d := range p.dims[k] {
			if d.n == 1 {
				continue
			}
			if len(out) > 0 {
				last := &out[len(out)-1]
				if p.full(d) {
					*last = digit{last.n * d.n, last.start * d.n, slices.Concat(last.atoms, d.atoms)}
					continue
				}
				if len(last.atoms) == 0 {
					*last = digit{last.n * d.n, last.start*d.n + d.start, d.atoms}
					continue
				}
			}
			out = append(out, d)
		}
		p.dims[k] = out
	}
	for k := range p.dims {
		for i := range p.dims[k] {
			for again := true; again; {
				again = false
				as := p.dims[k][i].atoms
				for j := 0; j+1 < len(as); j++ {
					x, pos := p.axisOf(as[j])
					if on := p.axes[x]; pos+1 < len(on) && on[pos+1] == as[j+1] {
						a, b := as[j], as[j+1]
						m := p.newAtom(p.size[a] * p.size[b])
						p.replace(b)
						p.replace(a, m)
						again = true
						break
					}
				}
			}
		}
	}
	p.compact()
}

// compact numbers the atoms anew, without those no longer in use.
func (p *part) compact() {
	num := map[int]int{}
	var size []int
	for _, as := range p.axes {
		for _, a := range as {
			num[a] = len(size)
			size = append(size, p.size[a])
		}
	}
	ren := func(as []int) {
		for i, a := range as {
			n, ok := num[a]
			bug.If(!ok, "an atom lies on no axis")
			as[i] = n
		}
	}
	for x := range p.axes {
		p.axes[x] = slices.Clone(p.axes[x])
		ren(p.axes[x])
	}
	for k := range p.dims {
		for i := range p.dims[k] {
			p.dims[k][i].atoms = slices.Clone(p.dims[k][i].atoms)
			ren(p.dims[k][i].atoms)
		}
	}
	p.size = size
}

// reshaped is the part seen under another logical shape; false where its range
// is no box there.
func (p *part) reshaped(shape []int) (*part, bool) {
	q := p.clone()
	var all []digit
	for _, ds := range q.dims {
		all = append(all, ds...)
	}
	q.dims = nil
	dims := make([][]digit, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		for prod := 1; prod < shape[k]; {
			if len(all) == 0 {
				return nil, false
			}
			i := len(all) - 1
			if want := shape[k] / prod; shape[k]%prod != 0 {
				return nil, false
			} else if all[i].n > want {
				var ok bool
				if all, ok = q.splitDigit(all, i, want); !ok {
					return nil, false
				}
				i++
			}
			prod *= all[i].n
			dims[k] = append([]digit{all[i]}, dims[k]...)
			all = all[:i]
		}
	}
	if len(all) > 0 {
		return nil, false
	}
	q.dims = dims
	q.normalise()
	return q, true
}

func (p *part) transposed(perm []int) *part {
	q := p.clone()
	for i, d := range perm {
		q.dims[i] = cloneDigits(p.dims[d])
	}
	return q
}

// initial is the first embedding of a whole tensor: rank 4 as it is, [N, K] as
// [N, K, 1, 1], [N, C, L] as [N, C, 1, L], a higher rank with its middle
// dimensions on H. val must have the shape that this gives.
func initial(shape []int) *part {
	return embedded(shape, func(k int) int {
		switch {
		case len(shape) == 1:
			return axC
		case len(shape) == 4:
			return k
		case len(shape) == 3 && k == 2, len(shape) > 4 && k == len(shape)-1:
			return axW
		}
		return min(k, axH)
	})
}

// onChannels is the embedding of a whole tensor without a batch: the last two
// dimensions on H and W, all others on C.
func onChannels(shape []int) *part {
	return embedded(shape, func(k int) int { return max(axC, 4-len(shape)+k) })
}

// embedded has dimension k of a whole tensor on the axis axisOf(k).
func embedded(shape []int, axisOf func(k int) int) *part {
	p := &part{dims: make([][]digit, len(shape))}
	for k, n := range shape {
		if n == 1 {
			continue
		}
		a := p.newAtom(n)
		p.dims[k] = []digit{{n, 0, []int{a}}}
		x := axisOf(k)
		p.axes[x] = append(p.axes[x], a)
	}
	return p
}

// strides gives, for every atom, by how much its index moves a row-major
// tensor whose dimension k has the stride st[k], and the offset of the part.
func (p *part) strides(st []int) (atom []int, base int) {
	atom = make([]int, len(p.size))
	for k, ds := range p.dims {
		w := st[k]
		for i := len(ds) - 1; i >= 0; i-- {
			base += ds[i].start * w
			in := w
			for j := len(ds[i].atoms) - 1; j >= 0; j-- {
				a := ds[i].atoms[j]
				atom[a] = in
				in *= p.size[a]
			}
			w *= ds[i].n
		}
	}
	return atom, base
}
