// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
)

// box is a part on its way to the logical tensor: every digit is a dimension.
type box struct {
	v           *ir.Value
	start, size []int // by digit
}

// assembler joins boxes.
type assembler struct {
	b      *builder
	digits []int // logical dimension of every digit
	rank   int
	plain  bool // one digit a dimension: boxes have the logical rank
}

// assemble rebuilds a tensor in its logical shape from parts by data movement
// of any rank: this is what the restoring graph does.
func assemble(b *builder, parts []*part, shape []int) *ir.Value {
	ps, all := clones(parts), make([][]int, len(shape))
	a := &assembler{b: b, rank: len(shape), plain: true}
	for k, size := range shape {
		cuts, ok := alignDigits(ps, k)
		refuseIf(!ok, "the pieces of dimension %d do not fit together", k)
		if size == 1 {
			cuts = nil
		}
		a.digits = append(a.digits, slices.Repeat([]int{k}, len(cuts))...)
		a.plain = a.plain && len(cuts) <= 1
		all[k] = cuts
	}
	return b.reshape(a.join(lists.Map(ps, func(p *part) box { return b.boxed(p, all) })).v, shape)
}

// boxed brings the data of a part into the order of its digits.
func (b *builder) boxed(p *part, cuts [][]int) box {
	x, atoms := box{v: p.val}, p.atomsOf(ir.Identity(len(cuts))...)
	for k := range cuts {
		for _, d := range slices.Backward(p.digits(k, cuts[k])) {
			x.start, x.size = append(x.start, d.start), append(x.size, count(d.atoms))
		}
	}
	runs := runsOf(p.axes.all(), atoms)
	perm := ir.Identity(len(runs))
	slices.SortFunc(perm, func(x, y int) int {
		return slices.Index(atoms, runs[x][0]) - slices.Index(atoms, runs[y][0])
	})
	if !slices.IsSorted(perm) {
		x.v = b.transpose(b.reshape(x.v, lists.Map(runs, count)), perm)
	}
	return x
}

// join puts boxes side by side along the first digit where they fall into groups.
func (a *assembler) join(boxes []box) box {
	if len(boxes) == 1 {
		x := boxes[0]
		size := x.size
		if a.plain {
			size = slices.Repeat([]int{1}, a.rank)
			for i, n := range x.size {
				size[a.digits[i]] = n
			}
		}
		x.v = a.b.reshape(x.v, size)
		return x
	}
	for i, axis := range a.digits {
		groups := cutGroups(boxes, i)
		if len(groups) < 2 {
			continue
		}
		if !a.plain {
			axis = i
		}
		var vs []*ir.Value
		var x box
		sum := 0
		for _, g := range groups {
			x = a.join(g)
			vs, sum = append(vs, x.v), sum+x.size[i]
		}
		x.v, x.size = a.b.concat(axis, vs), slices.Clone(x.size)
		x.size[i] = sum
		return x
	}
	refuse("the pieces do not fit together")
	return box{}
}

// cutGroups sorts boxes by digit i into groups between whose ranges none crosses.
func cutGroups(boxes []box, i int) [][]box {
	boxes = slices.Clone(boxes)
	lists.Sort(boxes, func(x, y box) int { return x.start[i] - y.start[i] })
	var groups [][]box
	end := -1
	for _, x := range boxes {
		if x.start[i] >= end {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], x)
		end = max(end, x.start[i]+x.size[i])
	}
	return groups
}
