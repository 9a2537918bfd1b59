// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"cmp"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// A logical tensor of any rank is held as parts: four-dimensional NCHW values
// of the new graph, each with a map of where its elements lie in the logical
// tensor. Reshape, Transpose, Concat, Slice and Split change the map only.

// atom is a stretch of an axis along which the index in one logical dimension
// grows: size indices, step apart. No two atoms of a part have the same
// dimension and step.
type atom struct{ dim, step, size int }

// axes are the atoms on N, C, H, W, outermost first.
type axes [4][]atom

// part is a 4-D value that holds a box of a logical tensor.
//
//	logical [1, 2, 16, 5], part of head 1 as [1, 16, 1, 5]:
//	shape = 1, 2, 16, 5; start = 0, 1, 0, 0; axes = {}, {dim 2, step 1, size 16}, {}, {dim 3, step 1, size 5}
type part struct {
	shape []int // of the logical tensor
	start []int // the first index along each of its dimensions
	axes  axes  // no atom has size 1
	val   *ir.Value
}

// The axes of a part.
const (
	axN = iota
	axC
	axH
	axW
)

func (p *part) clone() *part {
	q := &part{shape: slices.Clone(p.shape), start: slices.Clone(p.start), val: p.val}
	for x, as := range p.axes {
		q.axes[x] = slices.Clone(as)
	}
	return q
}

func clones(parts []*part) []*part {
	return lists.Map(parts, func(p *part) *part { return p.clone() })
}

// each changes every atom.
func (p *part) each(f func(a *atom)) {
	for _, as := range p.axes {
		for i := range as {
			f(&as[i])
		}
	}
}

func count(as []atom) int {
	k := 1
	for _, a := range as {
		k *= a.size
	}
	return k
}

// all are the atoms of all axes.
func (x axes) all() []atom { return slices.Concat(x[:]...) }

func (x axes) shape() []int {
	return lists.Make(4, func(i int) int { return count(x[i]) })
}

// without are the axes but for some atoms.
func (x axes) without(drop []atom) axes {
	for i := range x {
		x[i] = without(x[i], drop)
	}
	return x
}

func without(as, drop []atom) []atom {
	return lists.Filter(as, func(a atom) bool { return !slices.Contains(drop, a) })
}

// atomsOf are all atoms of dimensions in logical order.
func (p *part) atomsOf(dims ...int) (out []atom) {
	for _, dim := range dims {
		of := lists.Filter(p.axes.all(), func(a atom) bool { return a.dim == dim })
		slices.SortFunc(of, func(a, b atom) int { return cmp.Compare(b.step, a.step) })
		out = append(out, of...)
	}
	return out
}

// whole reports that the part covers all of the dimension.
func (p *part) whole(dim int) bool { return count(p.atomsOf(dim)) == p.shape[dim] }

// units are the steps at which stretches of indices that follow one another begin.
func (p *part) units(dim int) (out []int) {
	as := p.atomsOf(dim)
	for i, a := range as {
		if i+1 == len(as) || a.step != as[i+1].step*as[i+1].size {
			out = append(out, a.step)
		}
	}
	return out
}

// neighbours reports that the part has indices of the dimension that follow one another.
func (p *part) neighbours(dim int) bool {
	u := p.units(dim)
	return len(u) == 0 || u[0] == 1
}

// lies reports that all of what the part has of a dimension is on one axis.
func (p *part) lies(dim, axis int) bool { return len(without(p.atomsOf(dim), p.axes[axis])) == 0 }

// freeAxis is the first of some axes that has size 1; -1: none has.
func (p *part) freeAxis(of ...int) int {
	for _, x := range of {
		if len(p.axes[x]) == 0 {
			return x
		}
	}
	return -1
}

// axisOf says where an atom lies.
func (p *part) axisOf(a atom) (axis, pos int) {
	for x, as := range p.axes {
		if i := slices.Index(as, a); i >= 0 {
			return x, i
		}
	}
	return -1, -1
}

// cut makes two atoms of the one of a dimension that crosses a step; false where that falls between its indices.
func (p *part) cut(dim, step int) bool {
	for x, as := range p.axes {
		for i, a := range as {
			if a.dim != dim || a.step >= step || a.step*a.size <= step {
				continue
			}
			inner := step / a.step
			if step%a.step != 0 || a.size%inner != 0 {
				return false
			}
			p.axes[x] = slices.Concat(as[:i], []atom{{dim, step, a.size / inner}, {dim, a.step, inner}}, as[i+1:])
			return true
		}
	}
	return true
}

// normalise joins atoms that are neighbours both in their dimension and on an axis.
func (p *part) normalise() {
	for x, as := range p.axes {
		var out []atom
		for _, a := range as {
			if a.size == 1 {
				continue
			}
			if k := len(out) - 1; k >= 0 && out[k].dim == a.dim && out[k].step == a.step*a.size {
				out[k] = atom{a.dim, a.step, out[k].size * a.size}
				continue
			}
			out = append(out, a)
		}
		p.axes[x] = out
	}
}

// normal is a copy, normalised.
func (p *part) normal() *part {
	q := p.clone()
	q.normalise()
	return q
}

// reshaped is the part seen under another logical shape; false where the dimensions
// do not factor, or its range is no box there.
func (p *part) reshaped(shape []int) (*part, bool) {
	q, from, to := &part{shape: slices.Clone(shape), val: p.val}, tensor.Strides(p.shape), tensor.Strides(shape)
	base := 0
	for k, i := range p.start {
		base += i * from[k]
		if slices.ContainsFunc(to, func(t int) bool { return from[k]%t != 0 && t%from[k] != 0 }) {
			return nil, false
		}
	}
	q.start = lists.Each(ir.Identity(len(shape)), func(k int) int { return base / to[k] % shape[k] })
	last := slices.Clone(q.start)
	for x, as := range p.axes {
		for _, a := range as {
			list, ok := within(shape, to, a.step*from[a.dim], a.size)
			if !ok {
				return nil, false
			}
			for _, b := range list {
				last[b.dim] += b.step * (b.size - 1)
			}
			q.axes[x] = append(q.axes[x], list...)
		}
	}
	for k, i := range last {
		if i >= shape[k] || slices.ContainsFunc(q.units(k), func(step int) bool { return shape[k]%step != 0 }) {
			return nil, false
		}
	}
	q.normalise()
	return q, true
}

// within are the atoms of size elements of a shape with the given strides, step apart; false where they are none.
func within(shape, strides []int, step, size int) (out []atom, ok bool) {
	for k := len(shape) - 1; k >= 0 && size > 1; k-- {
		end := strides[k] * shape[k]
		switch {
		case shape[k] == 1 || step >= end:
		case step%strides[k] != 0:
			return nil, false
		case step*(size-1) < end:
			return append([]atom{{k, step / strides[k], size}}, out...), true
		case end%step != 0 || size%(end/step) != 0:
			return nil, false
		default:
			out = append([]atom{{k, step / strides[k], end / step}}, out...)
			step, size = end, size/(end/step)
		}
	}
	return out, size == 1
}

func (p *part) transposed(perm []int) *part {
	q := p.clone()
	for i, d := range perm {
		q.shape[i], q.start[i] = p.shape[d], p.start[d]
	}
	q.each(func(a *atom) { a.dim = slices.Index(perm, a.dim) })
	return q
}

// lifted has dimensions of size 1 in front, up to a rank.
func (p *part) lifted(rank int) *part {
	lead := rank - len(p.shape)
	q := p.clone()
	q.shape, q.start = append(slices.Repeat([]int{1}, lead), q.shape...), append(make([]int, lead), q.start...)
	q.each(func(a *atom) { a.dim += lead })
	return q
}

// fill gives a dimension of size 1 another one, and its indices to an axis.
func (p *part) fill(dim, size, axis int) {
	if p.shape[dim], p.start[dim] = size, 0; size > 1 {
		p.axes[axis] = append([]atom{{dim, 1, size}}, p.axes[axis]...)
	}
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
	p := &part{shape: slices.Clone(shape), start: make([]int, len(shape))}
	for k, n := range slices.Backward(shape) {
		p.fill(k, n, axisOf(k))
	}
	return p
}
