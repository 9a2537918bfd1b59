// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"math"
	"slices"
)

// How far two storages have to be from each other. Whatever pieces they consist of, whichever of
// these die in a step and where kernels write over what they have read: two numbers say it.

// lap is an output in a storage that may lie over an input in another one at a step: where this
// storage begins at least shift bytes before the other, or at least after bytes behind it.
type lap struct {
	in      int // root of the other storage
	step    int
	shift   int64
	after   int64
	out, at span // the output in its storage, the input in its own
}

// tidy makes pieces of a storage that have no byte and step in common.
func (s *Storage) tidy() {
	if len(s.pieces) == 0 {
		s.pieces = []Piece{{0, roundUp(s.Bytes), s.First, s.Last}}
	}
	if len(s.pieces) == 1 {
		return
	}
	var cuts []int64
	for _, x := range s.pieces {
		cuts = append(cuts, x.Off, x.End)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	slices.SortFunc(s.pieces, func(a, b Piece) int { return cmp.Compare(a.First, b.First) })
	var list []Piece
	for i, off := range cuts[:len(cuts)-1] {
		from := len(list)
		for _, x := range s.pieces {
			if off < x.Off || off >= x.End {
				continue
			}
			if n := len(list) - 1; n >= from && x.First <= list[n].Last+1 {
				list[n].Last = max(list[n].Last, x.Last)
			} else {
				list = append(list, Piece{off, cuts[i+1], x.First, x.Last})
			}
		}
	}
	s.pieces = list
}

// overlaps hands to storages what their buffers may lie over.
func (r *Result) overlaps(bufs []Buffer, deltas []int64) {
	place := func(i int) span { return span{roundDown(deltas[i]), roundUp(deltas[i] + bufs[i].Bytes)} }
	for i, b := range bufs {
		for _, o := range b.Over {
			if k := r.StorageOf[o.In]; k != r.StorageOf[i] && b.Bytes > 0 && bufs[o.In].Bytes > 0 {
				s, far := &r.Storages[r.StorageOf[i]], deltas[i]-deltas[o.In]
				l := lap{r.Storages[k].Root, b.First, roundUp(o.Ahead + far), never, place(i), place(o.In)}
				if o.Behind > 0 {
					l.after = roundUp(o.Behind - far)
				}
				s.laps = append(s.laps, l)
			}
		}
	}
}

// common are the bytes of a span in another one that lies shift bytes higher.
func (a span) common(b span, shift int64) int64 {
	return max(min(a.end, b.end+shift)-max(a.off, b.off+shift), 0)
}

func (a span) holds(x *Piece) bool { return a.off <= x.Off && x.End <= a.end }

// simple reports a storage that is needed as a whole.
func (s *Storage) simple() bool {
	return len(s.laps) == 0 && len(s.pieces) == 1 && s.pieces[0].Off == 0 && s.pieces[0].End == roundUp(s.Bytes)
}

// never is further than any storages lie from each other.
const never = math.MaxInt64 / 4

// over is how far below another storage this one has to begin, or behind it, for a piece of each, as
// kernels allow it; false: apart.
func (s *Storage) over(x *Piece, in int, y *Piece) (shift, after int64, ok bool) {
	shift, after = -never, -never
	for _, l := range s.laps {
		if l.in == in && x.First == l.step && y.Last == l.step && l.out.holds(x) && l.at.holds(y) {
			shift, after, ok = max(shift, l.shift), max(after, l.after), true
		}
	}
	return shift, after, ok
}

// below is how far storage s has to begin before t at least, where it begins before it.
func (s *Storage) below(t *Storage) int64 {
	far := int64(-never)
	for i := range s.pieces {
		x := &s.pieces[i]
		for j := range t.pieces {
			y := &t.pieces[j]
			if x.Last < y.First || y.Last < x.First {
				continue
			}
			n := x.End - y.Off
			if x.First == y.Last {
				if shift, _, ok := s.over(x, t.Root, y); ok {
					n = min(n, shift)
				}
			}
			if y.First == x.Last {
				if _, after, ok := t.over(y, s.Root, x); ok {
					n = min(n, after)
				}
			}
			far = max(far, n)
		}
	}
	return far
}

// load is the bytes that are needed from a step on.
type load struct {
	step  int
	bytes int64
}

// loads are what storages need at each step where that changes, in their order, without what
// lies over something else.
func loads(storages []*Storage) []load {
	var list []load
	at := func(first, last int, bytes int64) { list = append(list, load{first, bytes}, load{last + 1, -bytes}) }
	byRoot := map[int]*Storage{}
	for _, s := range storages {
		for _, x := range s.pieces {
			at(x.First, x.Last, x.End-x.Off)
		}
		byRoot[s.Root] = s
	}
	for _, s := range storages {
		for i, l := range s.laps {
			if n := s.saved(i, byRoot); n > 0 {
				at(l.step, l.step, -n)
			}
		}
	}
	slices.SortFunc(list, func(a, b load) int { return cmp.Compare(a.step, b.step) })
	sum := int64(0)
	out := list[:0]
	for _, x := range list {
		sum += x.bytes
		if n := len(out) - 1; n >= 0 && out[n].step == x.step {
			out[n].bytes = sum
		} else {
			out = append(out, load{x.step, sum})
		}
	}
	return out
}

// saved are the bytes in which an output can lie over inputs, for the first of its laps; no more
// than it has.
func (s *Storage) saved(i int, byRoot map[int]*Storage) (sum int64) {
	l := s.laps[i]
	same := func(x lap) bool { return x.step == l.step && x.out == l.out }
	if slices.ContainsFunc(s.laps[:i], same) {
		return 0
	}
	size := int64(0)
	for _, x := range s.pieces {
		if x.First == l.step && l.out.holds(&x) {
			size += x.End - x.Off
		}
	}
	seen := map[*Piece]bool{}
	for _, o := range s.laps[i:] {
		in := byRoot[o.in]
		if in == nil || !same(o) {
			continue
		}
		for j := range in.pieces {
			if y := &in.pieces[j]; y.Last == o.step && o.at.holds(y) && !seen[y] {
				seen[y] = true
				sum += s.covered(o, y)
			}
		}
	}
	return min(sum, size)
}

// covered are the bytes of a piece of an input that lie under the output where they are as near
// as they can be.
func (s *Storage) covered(l lap, y *Piece) (n int64) {
	for i := range s.pieces {
		if x := &s.pieces[i]; x.First == l.step && l.out.holds(x) {
			if shift, after, ok := s.over(x, l.in, y); ok {
				out, in := span{x.Off, x.End}, span{y.Off, y.End}
				n += max(out.common(in, shift), out.common(in, -after))
			}
		}
	}
	return n
}
