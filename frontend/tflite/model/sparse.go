// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/binary"
	"fmt"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// vectors are the kinds of lists of indices, and the bytes of their elements.
var vectors = []struct {
	name  string
	bytes int
}{1: {"Int32Vector", 4}, 2: {"Uint16Vector", 2}, 3: {"Uint8Vector", 1}}

// dense puts the elements of a sparse constant of size bytes each where they belong; all others are zeros.
func (p *parser) dense(s *fb.Sparsity, shape []int, data []byte, size int) (_ []byte, err error) {
	defer fail.Catch(&err)
	elems := tensor.Count(shape)
	at := fail.Must(p.places(s, shape, elems))
	fail.If(len(data) != len(at)*size, "it has %d values of %d bytes in a buffer of %d", len(at), size, len(data))
	out := make([]byte, elems*size)
	for i, pos := range at {
		copy(out[pos*size:], data[i*size:][:size])
	}
	return out, nil
}

// places are the positions of values among the elements. A level has all of its indices for each place of the
// level before, or a list of its own for each.
func (p *parser) places(s *fb.Sparsity, shape []int, elems int) (_ []int, err error) {
	defer fail.Catch(&err)
	n, count := len(shape), s.LevelsLength()
	order := make([]int, count)
	for l := range order {
		if l < s.TraversalOrderLength() {
			order[l] = int(s.TraversalOrder(l))
		}
	}
	fail.If(count < n || count != n+s.BlockMapLength() || !isPermutation(order),
		"%d levels in the order %v and %d blocks for %d dimensions, want each dimension and block once", count, order,
		s.BlockMapLength(), n)
	block := fail.Must(blocks(s, shape, order))
	stride, level := make([]int, n), fb.SparseLevel{}
	for d, next := n-1, 1; d >= 0; d-- {
		stride[d] = next
		next *= shape[d]
	}
	at := []int{0}
	for l, d := range order {
		s.Levels(&level, l)
		weight, size := 1, 0
		if d < n {
			weight, size = stride[d]*block[d], shape[d]/block[d]
		} else {
			d = int(s.BlockMap(d - n))
			weight, size = stride[d], block[d]
		}
		next, err := p.level(&level, at, weight, size, elems)
		fail.If(err != nil, "level %d: %w", l, err)
		at = next
	}
	return at, nil
}

// blocks are the lengths of the blocks along each dimension, 1 where there are none.
func blocks(s *fb.Sparsity, shape, order []int) ([]int, error) {
	n, level := len(shape), fb.SparseLevel{}
	block := slices.Repeat([]int{1}, n)
	for l, d := range order {
		if d < n {
			continue
		}
		of := int(s.BlockMap(d - n))
		s.Levels(&level, l)
		size := int(level.DenseSize())
		if of < 0 || of >= n || block[of] != 1 || size < 1 || shape[of]%size != 0 {
			return nil, fmt.Errorf("blocks of %d along dimension %d of %v, want one that divides it", size, of, shape)
		}
		block[of] = size
	}
	return block, nil
}

func isPermutation(v []int) bool {
	v = slices.Sorted(slices.Values(v))
	for i, x := range v {
		if i != x {
			return false
		}
	}
	return true
}

// level adds the indices of a level, below size, to each of the places so far.
func (p *parser) level(s *fb.SparseLevel, at []int, weight, size, elems int) (next []int, err error) {
	switch s.Format() {
	case 0:
		if int(s.DenseSize()) != size || len(at)*size > elems {
			return nil, fmt.Errorf("%d indices, want %d", s.DenseSize(), size)
		}
		for _, v := range at {
			for i := range size {
				next = append(next, v+i*weight)
			}
		}
		return next, nil
	case 1:
		return p.lists(s, at, weight, size, elems)
	}
	return nil, fmt.Errorf("format %d, want all indices (0) or lists (1)", s.Format())
}

// lists are level's, of a list of indices for each of the places.
func (p *parser) lists(s *fb.SparseLevel, at []int, weight, size, elems int) (next []int, err error) {
	defer fail.Catch(&err)
	from := p.vector(s.SegmentsType(), s.Segments(nil))
	indices := p.vector(s.IndicesType(), s.Indices(nil))
	fail.If(len(from) != len(at)+1 || from[0] != 0 || from[len(at)] != len(indices) || len(indices) > elems ||
		!slices.IsSorted(from), "%d indices in lists that begin at %v, want %d lists that follow each other",
		len(indices), from[:min(len(from), 8)], len(at))
	for k, v := range at {
		for _, i := range indices[from[k]:from[k+1]] {
			fail.If(i < 0 || i >= size, "an index is %d, want 0 to %d", i, size-1)
			next = append(next, v+i*weight)
		}
	}
	return next, nil
}

func (p *parser) vector(kind byte, u *fb.Unread) []int {
	fail.If(u == nil || kind == 0 || int(kind) >= len(vectors), "a list of kind %d, want 1 to %d", kind, len(vectors)-1)
	t, v := u.Table(), vectors[kind]
	fail.Check(fb.VerifyTable(p.b, v.name, uint32(t.Pos)))
	field := flatbuffers.UOffsetT(t.Offset(4))
	if field == 0 {
		return nil
	}
	from, out := int(t.Vector(field)), make([]int, t.VectorLen(field))
	for i := range out {
		var b [4]byte
		copy(b[:], p.b[from+i*v.bytes:][:v.bytes])
		out[i] = int(int32(binary.LittleEndian.Uint32(b[:])))
	}
	return out
}
