// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
)

// assemble rebuilds a tensor in its logical shape from parts by data movement
// of any rank: this is what the restoring graph does.
func assemble(b *builder, parts []*part, shape []int) (*ir.Value, error) {
	ps := make([]*part, len(parts))
	for i, p := range parts {
		ps[i] = p.clone()
	}
	for k := range shape {
		if !alignDigits(ps, k) {
			return nil, no("the pieces of dimension %d do not fit together", k)
		}
	}
	// every digit becomes a dimension
	type box struct {
		v     *ir.Value
		start []int
		shape []int
	}
	var boxes []box
	for _, p := range ps {
		var atoms, src, lo, size []int
		for _, ds := range p.dims {
			for _, d := range ds {
				atoms = append(atoms, d.atoms...)
				lo, size = append(lo, d.start), append(size, p.len(d))
			}
		}
		src = slices.Concat(p.axes[:]...)
		runs := runsOf(src, atoms)
		order := slices.Clone(runs)
		slices.SortFunc(order, func(x, y []int) int { return slices.Index(atoms, x[0]) - slices.Index(atoms, y[0]) })
		var rs, perm []int
		for _, r := range runs {
			rs = append(rs, p.count(r))
		}
		for _, r := range order {
			perm = append(perm, slices.IndexFunc(runs, func(x []int) bool { return x[0] == r[0] }))
		}
		v := p.val
		var err error
		if !slices.Equal(perm, ir.Identity(len(perm))) {
			if v, err = b.reshape(v, rs); err != nil {
				return nil, err
			}
			if v, err = b.transpose(v, perm); err != nil {
				return nil, err
			}
		}
		boxes = append(boxes, box{v, lo, size})
	}
	var digits []int // logical dimension of every digit
	for k, ds := range ps[0].dims {
		for range ds {
			digits = append(digits, k)
		}
	}
	logicalShape := func(size []int) ([]int, bool) {
		s := make([]int, len(shape))
		for k := range s {
			s[k] = 1
		}
		for i, n := range size {
			s[digits[i]] *= n
		}
		return s, true
	}
	ndigits := make([]int, len(shape))
	for _, k := range digits {
		ndigits[k]++
	}
	plain := slices.Max(append(ndigits, 0)) <= 1 // one digit a dimension: boxes have the logical rank
	axisOf := func(i int) int {
		if plain {
			return digits[i]
		}
		return i
	}
	shaped := func(x box) (*ir.Value, error) {
		if plain {
			s, _ := logicalShape(x.shape)
			return b.reshape(x.v, s)
		}
		return b.reshape(x.v, x.shape)
	}
	var join func(bs []box, from int) (*ir.Value, []int, error)
	join = func(bs []box, from int) (*ir.Value, []int, error) {
		if len(bs) == 1 {
			v, err := shaped(bs[0])
			return v, bs[0].shape, err
		}
		for i := range digits {
			groups := cutGroups(len(bs), func(k int) (int, int) {
				return bs[k].start[i], bs[k].start[i] +
					bs[k].shape[i]
			})
			if len(groups) < 2 {
				continue
			}
			var vs []*ir.Value
			var size []int
			sum := 0
			for _, g := range groups {
				var sub []box
				for _, k := range g {
					sub = append(sub, bs[k])
				}
				v, s, err := join(sub, i)
				if err != nil {
					return nil, nil, err
				}
				vs = append(vs, v)
				size = slices.Clone(s)
				sum += s[i]
			}
			size[i] = sum
			v, err := b.concat(axisOf(i), vs)
			return v, size, err
		}
		return nil, nil, no("the pieces do not fit together")
	}
	v, _, err := join(boxes, 0)
	if err != nil {
		return nil, err
	}
	return b.reshape(v, shape)
}

// cutGroups sorts intervals into groups between which none crosses.
func cutGroups(n int, at func(k int) (lo, hi int)) [][]int {
	idx := ir.Identity(n)
	slices.SortStableFunc(idx, func(x, y int) int { a, _ := at(x); c, _ := at(y); return a - c })
	var groups [][]int
	end := -1
	for _, k := range idx {
		lo, hi := at(k)
		if lo >= end {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], k)
		end = max(end, hi)
	}
	return groups
}
