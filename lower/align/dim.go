// Package align pads channel counts to what kernels like, without changing what
// the network computes: which dimensions have to grow together, which cannot,
// which padding is feasible as a whole, and whether it pays. It knows operators
// and their shapes, no kernel library: needs and prices come from outside.
package align

import "slices"

// dim is a run of indices that every axis built from it shares: padding it by
// one adds one index to each of them. A union-find node: a dim that was found
// equal to another has a parent; one that was found to consist of others has
// parts.
type dim struct {
	id     int
	size   int
	parent *dim
	parts  axis
	locks  []Lock
	pad    int // the plan
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
	out := make(axis, 0, len(a))
	for _, t := range a {
		out = t.leaves(out)
	}
	return out
}

func (t token) leaves(out axis) axis {
	d := t.d.root()
	if d.parts == nil {
		return append(out, token{d, t.inner})
	}
	for _, p := range d.parts {
		out = token{p.d, p.inner * t.inner}.leaves(out)
	}
	return out
}

// size is the number of elements, padded size with the plan's padding.
func (a axis) size() int {
	n := 0
	for _, t := range a.leaves() {
		n += t.d.size * t.inner
	}
	return n
}

func (a axis) padded() int {
	n := 0
	for _, t := range a.leaves() {
		n += (t.d.size + t.d.pad) * t.inner
	}
	return n
}

// times makes every index span k times as many elements.
func (a axis) times(k int) axis {
	out := make(axis, len(a))
	for i, t := range a {
		out[i] = token{t.d, t.inner * k}
	}
	return out
}

// repeat is the axis k times in a row; nil when that is too fine.
func (a axis) repeat(k int) axis {
	if len(a)*k > maxTokens {
		return nil
	}
	return slices.Repeat(a, k)
}

// lock fixes every dim of the axis.
func (a axis) lock(l Lock) {
	for _, t := range a.leaves() {
		t.d.lock(l)
	}
}

func (d *dim) lock(l Lock) {
	if !slices.Contains(d.locks, l) {
		d.locks = append(d.locks, l)
	}
}

// free reports an axis that can grow somewhere.
func (a axis) free() bool {
	return slices.ContainsFunc(a.leaves(), func(t token) bool { return len(t.d.locks) == 0 })
}

// unify makes two axes of the same size one: each index of the one belongs to
// the same dim as that of the other. Dims are cut where the other axis has a
// border. What does not fit together is locked with l.
func (s *space) unify(a, b axis, l Lock) {
	if a.size() != b.size() {
		a.lock(l)
		b.lock(l)
		return
	}
	for {
		a, b = a.leaves(), b.leaves()
		i := 0
		for i < len(a) && i < len(b) && a[i] == b[i] {
			i++
		}
		a, b = a[i:], b[i:]
		if len(a) == 0 || len(b) == 0 {
			return
		}
		if len(a) > maxTokens || len(b) > maxTokens || !s.meet(a[0], b[0]) {
			a.lock(l)
			b.lock(l)
			return
		}
	}
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
		for _, l := range d.locks {
			t.d.lock(l)
		}
	}
	d.locks = nil
}

func (s *space) union(a, b *dim) {
	if a.id > b.id {
		a, b = b, a
	}
	b.parent = a
	for _, l := range b.locks {
		a.lock(l)
	}
	b.locks = nil
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
