// SPDX-License-Identifier: Apache-2.0

// Package align pads channel counts to what kernels like, without changing what
// the network computes: which dimensions have to grow together, which cannot,
// which padding is feasible as a whole, and whether it pays. It knows operators
// and their shapes, no kernel library: needs and prices come from outside.
package align

import (
	"slices"

	"github.com/nncc/nncc/ir/lists"
)

// dim is a run of indices that every axis built from it shares: padding it by
// one adds one index to each of them. A union-find node: a dim that was found
// equal to another has a parent; one that was found to consist of others has
// parts. Its size stays what it was.
type dim struct {
	id     int
	size   int
	parent *dim
	parts  axis
	held   *Lock // the lock that says most, of those that hold it; nil: it can grow
	pad    int   // the plan
}

// Lock is why a dimension cannot grow.
type Lock struct {
	Code string // stable: graph-input, graph-output, reshape, shuffle, ...
	Node string // ONNX node or tensor that fixes it
	Text string // for the user
}

// token is a dim inside an axis; each of its indices spans inner elements.
type token struct {
	d     *dim
	inner int
}

// axis is one axis of a tensor, from its first element to its last. The channel
// axis of a Concat has a token for each operand; the result of Flatten has
// tokens whose inner is the number of pixels.
type axis []token

// maxTokens bounds how finely an axis may be cut up: reshapes that interleave
// channels with many pixels repeat a token for each of these.
const maxTokens = 4096

// space makes dims and keeps them equal.
type space struct{ n int }

func (s *space) dim(size int) *dim {
	s.n++
	return &dim{id: s.n, size: size}
}

func (s *space) axis(size int) axis { return axis{{s.dim(size), 1}} }

func (d *dim) root() *dim {
	for d.parent != nil {
		if d.parent.parent != nil {
			d.parent = d.parent.parent
		}
		d = d.parent
	}
	return d
}

// leaves replaces every dim by the ones that it consists of by now.
func (a axis) leaves() axis {
	return slices.AppendSeq(make(axis, 0, len(a)), a.each)
}

// each goes over the leaves.
func (a axis) each(yield func(t token) bool) { a.spanning(1, yield) }

// spanning is each with inner elements for one of the axis.
func (a axis) spanning(inner int, f func(t token) bool) bool {
	for _, t := range a {
		d := t.d.root()
		if d.parts == nil {
			if !f(token{d, t.inner * inner}) {
				return false
			}
		} else if !d.parts.spanning(t.inner*inner, f) {
			return false
		}
	}
	return true
}

// size is the number of elements, padded size with the plan's padding.
func (a axis) size() int {
	return lists.Sum(a, func(t token) int { return t.d.size * t.inner })
}

func (a axis) padded() int {
	n := a.size()
	for t := range a.each {
		n += t.d.pad * t.inner
	}
	return n
}

func (a axis) times(k int) axis {
	return lists.Each(a, func(t token) token { return token{t.d, t.inner * k} })
}

// repeat is the axis k times in a row; nil when that is too fine.
func (a axis) repeat(k int) axis {
	if len(a)*k > maxTokens {
		return nil
	}
	return slices.Repeat(a, k)
}

func (a axis) lock(l Lock) {
	for t := range a.each {
		t.d.lock(&l)
	}
}

// locked fixes axes.
func locked(l Lock, axes ...axis) {
	for _, x := range axes {
		x.lock(l)
	}
}

// lock keeps the lock that says most, the first of these: a dim that thousands
// of nodes share has as many locks.
func (d *dim) lock(l *Lock) {
	if l != nil && (d.held == nil || rank(l.Code) < rank(d.held.Code)) {
		d.held = l
	}
}

func (a axis) free() bool {
	for t := range a.each {
		if t.d.held == nil {
			return true
		}
	}
	return false
}

// walk goes through the leaves of an axis while its dims are cut: what is ahead,
// last first.
type walk struct{ ahead axis }

func newWalk(a axis) *walk {
	w := &walk{ahead: make(axis, 0, len(a))}
	w.push(a, 1)
	return w
}

func (w *walk) push(a axis, inner int) {
	for _, t := range slices.Backward(a) {
		w.ahead = append(w.ahead, token{t.d, t.inner * inner})
	}
}

// front is the next leaf, false at the end.
func (w *walk) front() (token, bool) {
	for k := len(w.ahead) - 1; k >= 0; k = len(w.ahead) - 1 {
		t := w.ahead[k]
		d := t.d.root()
		if d.parts == nil {
			w.ahead[k].d = d
			return w.ahead[k], true
		}
		w.ahead = w.ahead[:k]
		w.push(d.parts, t.inner)
	}
	return token{}, false
}

func (w *walk) drop() { w.ahead = w.ahead[:len(w.ahead)-1] }

func (w *walk) lock(l Lock) { w.ahead.lock(l) }

// unify makes two axes of the same size one: each index of the one belongs to
// the same dim as that of the other. Dims are cut where the other axis has a
// border. What does not fit together is locked with l.
func (s *space) unify(a, b axis, l Lock) {
	if a.size() != b.size() {
		locked(l, a, b)
		return
	}
	if s.link(a, b) || s.link(b, a) {
		return
	}
	s.align(newWalk(a), newWalk(b), l)
}

// link makes a part of b as a whole, without a look at what b consists of, where
// a is one dim that nothing is known of: a result far down a chain is the same
// thousand dims as the concatenation that the chain starts at.
func (s *space) link(a, b axis) bool {
	if len(a) != 1 || len(b) != 1 || a[0].inner != b[0].inner {
		return false
	}
	x, y := a[0].d.root(), b[0].d.root()
	switch {
	case x == y:
	case x.parts != nil || y.parts == nil || x.size != y.size:
		return false
	default:
		if x.held != nil {
			b.lock(*x.held)
		}
		x.parent, x.held = y, nil
	}
	return true
}

// align unifies what is ahead of two walks until b ends; a may go on.
func (s *space) align(a, b *walk, l Lock) {
	for {
		x, more := b.front()
		y, ok := a.front()
		if !ok || !more {
			return
		}
		switch none := x.d.size == 0; {
		case x == y:
			a.drop()
			b.drop()
			continue
		case none != (y.d.size == 0): // no elements: nothing to cut for
			if none {
				b.drop()
			} else {
				a.drop()
			}
			continue
		}
		if len(a.ahead) > maxTokens || len(b.ahead) > maxTokens || !s.meet(y, x) {
			a.lock(l)
			b.lock(l)
			return
		}
	}
}

// within unifies b with the elements of a from the given one on.
func (s *space) within(a axis, from int, b axis, l Lock) {
	w := newWalk(a)
	for passed := 0; from > 0; passed++ {
		t, ok := w.front()
		if !ok {
			break
		}
		if k := t.d.size * t.inner; k <= from {
			from -= k
			w.drop()
			continue
		}
		if from%t.inner != 0 || passed > maxTokens {
			w.lock(l)
			b.lock(l)
			return
		}
		s.cut(t.d, from/t.inner)
	}
	s.align(w, newWalk(b), l)
}

// meet makes progress with two different leaves at the same place of two axes;
// false when neither can be expressed by the other.
func (s *space) meet(x, y token) bool {
	if x.inner > y.inner {
		x, y = y, x
	}
	if x.d == y.d || y.inner%x.inner != 0 {
		return false
	}
	m := y.inner / x.inner // indices of x for one of y
	switch {
	case x.d.size < y.d.size*m:
		if x.d.size%m != 0 {
			return false
		}
		s.cut(y.d, x.d.size/m)
	case x.d.size > y.d.size*m:
		s.cut(x.d, y.d.size*m)
	case m == 1:
		s.union(x.d, y.d)
	default:
		x.d.become(axis{{y.d, m}})
	}
	return true
}

// cut makes two dims of one: the first k indices and the rest.
func (s *space) cut(d *dim, k int) { d.become(axis{{s.dim(k), 1}, {s.dim(d.size - k), 1}}) }

func (d *dim) become(parts axis) {
	d.parts = parts
	for _, t := range parts {
		t.d.lock(d.held)
	}
	d.held = nil
}

func (s *space) union(a, b *dim) {
	if a.id > b.id {
		a, b = b, a
	}
	b.parent = a
	a.lock(b.held)
	b.held = nil
}

// source maps every element of the padded axis to the element of the original
// one that it comes from; for new elements it is -1.
func (a axis) source() []int {
	out := make([]int, 0, a.padded())
	at := 0
	for _, t := range a.leaves() {
		for range t.d.size * t.inner {
			out = append(out, at)
			at++
		}
		for range t.d.pad * t.inner {
			out = append(out, -1)
		}
	}
	return out
}
