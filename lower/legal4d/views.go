// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

func same(b *builder, n *ir.Node) []*rep {
	out := make([]*rep, len(n.Out))
	out[0] = b.of(n.In[0])
	for _, v := range n.Out[1:] {
		refuseIf(len(v.Uses()) > 0 || b.old.IsOutput(v), "its mask is read")
	}
	return out
}

func reshapes(b *builder, n *ir.Node) []*rep {
	return b.view(n, func(p *part) (*part, bool) { return p.reshaped(n.Out[0].Type.Shape) })
}

func transposes(b *builder, n *ir.Node) []*rep {
	perm := fail.Must(op.Perm(n))
	return b.view(n, func(p *part) (*part, bool) { return p.transposed(perm), true })
}

func (b *builder) view(n *ir.Node, f func(*part) (*part, bool)) []*rep {
	ps := b.parts(n.In[0])
	for try := range 2 {
		var out []*part
		for _, p := range ps {
			if q, ok := f(p); ok {
				out = append(out, q)
			}
		}
		if len(out) == len(ps) {
			return result(n, out)
		}
		if try == 0 && len(ps) > 1 {
			ps = b.mergeAll(ps, func(int) int { return axW })
		}
	}
	refuseIf(len(ps) > 1, "the reshape from %v to %v cuts across pieces", n.In[0].Type.Shape, n.Out[0].Type.Shape)
	// The dimensions do not factor: bring the data to their logical order and
	// see them under the new shape.
	p := ps[0]
	q := b.relayout(p, axes{axC: p.atomsOf(ir.Identity(len(p.shape))...)})
	o := onChannels(n.Out[0].Type.Shape)
	o.val = b.reshape(q.val, o.axes.shape())
	return result(n, []*part{o})
}

// concats puts the parts of all inputs side by side; nothing is moved unless
// the whole tensor is needed soon.
func concats(b *builder, n *ir.Node) []*rep {
	axis := op.AxisOf(n, len(n.Out[0].Type.Shape))
	total := n.Out[0].Type.Shape[axis]
	var all []*part
	at := 0
	for _, v := range n.In {
		if v.Type.Shape[axis] == 0 {
			continue
		}
		ps := b.parts(v)
		one := func(ps []*part) (out []*part, ok bool) {
			for _, p := range ps {
				q := p.clone()
				q.shape[axis], q.start[axis] = total, at+q.start[axis]
				out = append(out, q)
				if !q.neighbours(axis) {
					return nil, false
				}
			}
			return out, true
		}
		out, ok := one(ps)
		if !ok {
			out, ok = one(b.mergeAlong(ps, axis, axW))
			refuseIf(!ok, "the pieces of dimension %d are interleaved", axis)
		}
		all = append(all, out...)
		at += v.Type.Shape[axis]
	}
	r := made(n.Out[0], all)
	steps := total == len(n.In) && b.computed[n.Out[0]] // one piece costs less than an operator for each
	if b.mixing[n.Out[0]] || steps {
		prefer := axC
		if len(r.shape) == 4 && axis > 0 {
			prefer = axis
		} else if axis > 1 {
			prefer = axW
		}
		r.parts = b.tryMerge(r.parts, axis, prefer)
	}
	return []*rep{r}
}

// take is [lo, hi) of one dimension of a tensor. A slice that is scattered over
// its axis is cut into contiguous pieces; tidy brings the dimension together
// first instead, for tensors that are needed whole later.
func (b *builder) take(ps []*part, dim, lo, hi int, tidy bool) []*part {
	var out []*part
	for _, p := range ps {
		q := p.normal()
		if q.shape[dim] == 1 {
			out = append(out, q)
			continue
		}
		refuseIf(!q.neighbours(dim), "the pieces of dimension %d are interleaved", dim)
		as, start := q.atomsOf(dim), q.start[dim]
		a, z := max(lo, start)-start, min(hi, start+count(as))-start
		if a >= z {
			continue
		}
		var rs []*part
		why := attempt(func() { rs = b.narrow(q, as, a, z) })
		if tidy && (why != "" || len(rs) > 1) {
			q = b.gather(q, dim)
			q.normalise()
			rs = b.narrow(q, q.atomsOf(dim), a, z)
		} else if why != "" {
			fail.Check(why)
		}
		for _, r := range rs {
			r = r.clone()
			refuseIf(!r.neighbours(dim), "a slice of dimension %d leaves interleaved pieces", dim)
			r.shape[dim], r.start[dim] = hi-lo, r.start[dim]-lo
			r.normalise()
			out = append(out, r)
		}
	}
	return out
}

// gather brings the atoms of a dimension together: on C where some lie there,
// else on H; what shares space with it goes to W.
func (b *builder) gather(p *part, dim int) *part {
	own := p.atomsOf(dim)
	onC := len(without(p.axes[axC], own)) < len(p.axes[axC])
	want := axes{axN: without(p.axes[axN], own)}
	for _, a := range p.atomsOf(ir.Identity(len(p.shape))...) {
		switch x, _ := p.axisOf(a); {
		case a.dim == dim || x == axN:
		case x == axC && !onC:
			want[axC] = append(want[axC], a)
		default:
			want[axW] = append(want[axW], a)
		}
	}
	if onC {
		want[axC] = own
	} else {
		want[axH] = own
	}
	return b.relayout(p, want)
}

// takeOf is take of a value; where its pieces are interleaved it joins them.
func (b *builder) takeOf(v *ir.Value, dim, lo, hi int, tidy bool) []*part {
	ps := b.parts(v)
	if len(ps) == 1 {
		return b.take(ps, dim, lo, hi, tidy)
	}
	var out []*part
	if attempt(func() { out = b.take(ps, dim, lo, hi, tidy) }) == "" {
		return out
	}
	return b.take(b.mergeAlong(ps, dim, axW), dim, lo, hi, tidy)
}

func slicesOf(b *builder, n *ir.Node) []*rep {
	g := fail.Must(op.SliceGeometry(n))
	refuseIf(tensor.Count(g.Shape) == 0, "the slice is empty")
	ps := b.parts(n.In[0])
	tidy := b.mixing[n.Out[0]]
	for d, k := range g.Shape {
		switch {
		case g.Step[d] == 1 || k == 1:
			if d == 0 {
				ps = b.takeOf(n.In[0], d, g.Start[d], g.Start[d]+k, tidy)
			} else {
				ps = b.take(ps, d, g.Start[d], g.Start[d]+k, tidy)
			}
		case g.Step[d] > 1:
			ps = b.strided(ps, d, g.Start[d], g.Step[d], k, tidy)
		default:
			refuse("the slice steps backwards")
		}
	}
	return result(n, ps)
}

// strided is every step-th index of a dimension. Where step divides it, it is
// one index of the inner of two dimensions, [n/step, step]; else the dimension
// is brought to an axis of its own.
func (b *builder) strided(ps []*part, dim, start, step, count int, tidy bool) []*part {
	if shape := ps[0].shape; shape[dim]%step == 0 {
		two := slices.Concat(shape[:dim], []int{shape[dim] / step, step}, shape[dim+1:])
		var out []*part
		for _, p := range ps {
			if q, ok := p.reshaped(two); ok {
				out = append(out, q)
			}
		}
		if len(out) == len(ps) {
			if attempt(func() { out = b.take(out, dim+1, start%step, start%step+1, tidy) }) == "" {
				two = slices.Delete(two, dim+1, dim+2)
				out = lists.Map(out, func(p *part) *part {
					q, _ := p.reshaped(two)
					return q
				})
				return b.take(out, dim, start/step, start/step+count, tidy)
			}
		}
	}
	ps = b.mergeAll(ps, func(int) int { return axW })
	refuseIf(len(ps) != 1 || !ps[0].whole(dim), "a strided slice of pieces")
	p := ps[0].clone()
	as := p.atomsOf(dim)
	refuseIf(len(as) == 0, "a strided slice of nothing")
	x, _ := p.axisOf(as[0])
	if !slices.Equal(p.axes[x], as) {
		p, x = b.alone(p, as), axW
	}
	p.val = b.slice(p.val, x, start, start+step*(count-1)+1, step)
	p.axes[x] = nil
	p.fill(dim, count, x)
	return []*part{p}
}

func splits(b *builder, n *ir.Node) []*rep {
	axis, sizes := fail.Must2(op.SplitSizes(n))
	out := make([]*rep, len(sizes))
	at := 0
	for i, k := range sizes {
		refuseIf(k == 0, "a piece is empty")
		if v := n.Out[i]; len(v.Uses()) > 0 || b.old.IsOutput(v) {
			out[i] = made(v, b.takeOf(n.In[0], axis, at, at+k, b.mixing[v]))
		}
		at += k
	}
	return out
}

// expands repeats data along axes of which nothing else makes use.
func expands(b *builder, n *ir.Node) []*rep {
	x, shape := n.In[0].Type.Shape, n.Out[0].Type.Shape
	if tensor.Count(x) == tensor.Count(shape) {
		return reshapes(b, n)
	}
	ps := b.parts(n.In[0])
	refuseIf(tensor.Count(shape) == 0, "the result is empty")
	var out []*part
	for _, p := range ps {
		q := p.lifted(len(shape))
		for d, k := range shape {
			if k == q.shape[d] {
				continue
			}
			axis := q.freeAxis(axW, axH, axC)
			refuseIf(axis < 0, "there is no free axis to repeat along")
			q.fill(d, k, axis)
		}
		q.val = b.emitAs(q.val.Type, op.Expand, "", nil, q.val, b.ints(q.axes.shape()))
		out = append(out, q)
	}
	return result(n, out)
}
