// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// progression are indices start, start+step, ... of a Gather: a slice. They are
// those at the place at of the indices' dimensions, and on along one of them.
type progression struct {
	start, step, count int
	at                 []int
	along              int // -1: one index, and nothing to go along
}

// progressions cuts indices into the fewest along one of their dimensions.
func progressions(idx, shape []int) []progression {
	var best []progression
	for d, k := range shape {
		if k == 1 {
			continue
		}
		if ps := progressionsAlong(idx, shape, d); best == nil || len(ps) < len(best) {
			best = ps
		}
	}
	if best == nil {
		best = []progression{{idx[0], 1, 1, make([]int, len(shape)), -1}}
	}
	return best
}

func progressionsAlong(idx, shape []int, d int) []progression {
	inner := 1
	for _, k := range shape[d+1:] {
		inner *= k
	}
	var out []progression
	for line := range len(idx) / shape[d] {
		first := line/inner*inner*shape[d] + line%inner
		get := func(i int) int { return idx[first+i*inner] }
		for i := 0; i < shape[d]; {
			p := progression{start: get(i), step: 1, count: 1, at: make([]int, len(shape)), along: d}
			if i+1 < shape[d] && get(i+1) > get(i) {
				p.step = get(i+1) - get(i)
				for i+p.count < shape[d] && get(i+p.count) == p.start+p.step*p.count {
					p.count++
				}
			}
			for k, rest := len(shape)-1, first+i*inner; k >= 0; k-- {
				p.at[k], rest = rest%shape[k], rest/shape[k]
			}
			out = append(out, p)
			i += p.count
		}
	}
	return out
}

// gathers takes constant indices of any rank: slices side by side.
func gathers(b *builder, n *ir.Node) []*rep {
	idx := n.ConstIn(1)
	x := n.In[0].Type.Shape
	axis := op.AxisOf(n, len(x))
	refuseIf(idx == nil || n.In[0].Const != nil || idx.Len() == 0,
		"the indices of the Gather are not constant, or there are none")
	at := make([]int, idx.Len())
	for i := range at {
		if at[i] = int(idx.Int(i)); at[i] < 0 {
			at[i] += x[axis]
		}
		refuseIf(at[i] < 0 || at[i] >= x[axis], "an index of the Gather is outside of the dimension")
	}
	var all []*part
	for _, g := range progressions(at, idx.Shape) {
		for _, p := range b.progression(n, axis, g) {
			refuseIf(!p.neighbours(axis), "a slice of dimension %d leaves interleaved pieces", axis)
			all = append(all, p.gathered(axis, g, n.Out[0].Type.Shape))
			refuseIf(len(all) > maxUnroll, "the indices are more than %d slices", maxUnroll)
		}
	}
	return result(n, all)
}

// progression is the slice of a Gather's data.
func (b *builder) progression(n *ir.Node, axis int, g progression) []*part {
	tidy := b.mixing[n.Out[0]]
	if g.step == 1 {
		return b.takeOf(n.In[0], axis, g.start, g.start+g.count, tidy)
	}
	return b.strided(b.parts(n.In[0]), axis, g.start, g.step, g.count, tidy)
}

// gathered has the dimensions of the indices in the place of axis.
func (p *part) gathered(axis int, g progression, shape []int) *part {
	q, more := p.clone(), len(g.at)-1
	own := q.start[axis]
	q.shape, q.start = slices.Clone(shape), slices.Concat(q.start[:axis], g.at, q.start[axis+1:])
	if g.along >= 0 {
		q.start[axis+g.along] += own
	}
	q.each(func(a *atom) {
		switch {
		case a.dim == axis:
			a.dim += g.along
		case a.dim > axis:
			a.dim += more
		}
	})
	return q
}
