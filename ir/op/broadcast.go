// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// runs is the loop nest of a binary operator under broadcasting: along each
// run of n result elements an operand advances by one or stays.
type runs struct {
	n        int   // elements of one run
	sa, sb   int   // 0 or 1: step of each operand within a run
	dims     []int // outer dimensions
	da, db   []int // strides of the operands along them
	nonEmpty bool
}

// newRuns plans the broadcast of shapes a and b to out, merging dimensions
// that both operands walk through alike.
func newRuns(out, a, b []int) runs {
	ta, tb := broadcastStrides(a, out), broadcastStrides(b, out)
	var dims, da, db []int
	r := runs{nonEmpty: tensor.Count(out) > 0}
	for i, d := range out {
		if d == 1 {
			continue
		}
		if k := len(dims) - 1; k >= 0 && da[k] == ta[i]*d && db[k] == tb[i]*d {
			dims[k], da[k], db[k] = dims[k]*d, ta[i], tb[i]
			continue
		}
		dims, da, db = append(dims, d), append(da, ta[i]), append(db, tb[i])
	}
	if len(dims) == 0 {
		r.n = 1
		return r
	}
	k := len(dims) - 1
	r.n, r.sa, r.sb = dims[k], da[k], db[k]
	r.dims, r.da, r.db = dims[:k], da[:k], db[:k]
	return r
}

// each calls f with the offsets of every run in the result and the operands.
func (r *runs) each(f func(y, a, b int)) {
	if !r.nonEmpty {
		return
	}
	idx := make([]int, len(r.dims))
	for y, a, b := 0, 0, 0; ; y += r.n {
		f(y, a, b)
		d := len(idx) - 1
		for ; d >= 0; d-- {
			idx[d]++
			a, b = a+r.da[d], b+r.db[d]
			if idx[d] < r.dims[d] {
				break
			}
			a, b = a-idx[d]*r.da[d], b-idx[d]*r.db[d]
			idx[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// runSlice is an operand of a run: a piece of s, or its one element repeated.
type runSlice[T any] struct {
	s   []T
	buf []T
	at  int
}

func newRunSlice[T any](s []T, step, n int) *runSlice[T] {
	r := &runSlice[T]{s: s, at: -1}
	if step == 0 {
		r.buf = make([]T, n)
	}
	return r
}

func (r *runSlice[T]) piece(at, n int) []T {
	if r.buf == nil {
		return r.s[at : at+n]
	}
	if r.at != at {
		r.at = at
		v := r.s[at]
		for i := range r.buf {
			r.buf[i] = v
		}
	}
	return r.buf
}

// zip applies a loop over equally long slices to every run of the broadcast.
func zip[T, R any](out, sa, sb []int, y []R, a, b []T, loop func(y []R, a, b []T)) {
	r := newRuns(out, sa, sb)
	pa, pb := newRunSlice(a, r.sa, r.n), newRunSlice(b, r.sb, r.n)
	r.each(func(iy, ia, ib int) { loop(y[iy:iy+r.n], pa.piece(ia, r.n), pb.piece(ib, r.n)) })
}

// inferBinary is the inference of a broadcast operator whose result has the
// type of its operands.
func inferBinary(s typeSet) func(n *ir.Node) ([]ir.Type, error) {
	return func(n *ir.Node) ([]ir.Type, error) {
		shapes := make([][]int, len(n.In))
		idx := make([]int, len(n.In))
		for i, v := range n.In {
			if v == nil {
				return nil, ir.Errf(n, "arity", "input %d is missing", i)
			}
			fail.Check(wantType(n, i, s))
			shapes[i], idx[i] = v.Type.Shape, i
		}
		fail.Check(wantSameTypes(n, idx...))
		shape := fail.Must(Broadcast(n, shapes...))
		return one(ir.T(n.In[0].Type.DType, shape...))
	}
}
