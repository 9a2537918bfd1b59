// SPDX-License-Identifier: Apache-2.0

package tflite_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// sparse stores a constant of a shape by drawn levels, with lists along some. lists are the bytes of their
// elements by the format's number.
func sparse(r *rand.Rand, shape []int32, dense []float32) (*tflitetest.Sparse, []byte) {
	n := len(shape)
	s, block, stride := &tflitetest.Sparse{}, make([]int32, n), make([]int, n)
	for d, next := n-1, 1; d >= 0; d-- {
		block[d], stride[d], next = 1, next, next*int(shape[d])
	}
	for _, d := range r.Perm(n) {
		s.Order = append(s.Order, int32(d))
	}
	for _, d := range r.Perm(n)[:r.IntN(n+1)] {
		s.Order = append(s.Order, int32(n+len(s.Blocks)))
		s.Blocks = append(s.Blocks, int32(d))
		block[d] = []int32{1, shape[d]}[r.IntN(2)]
		if shape[d]%2 == 0 {
			block[d] = 2
		}
	}
	used := func(from int, order []int32) bool {
		return slices.ContainsFunc(under(s, shape, block, stride, from, order),
			func(p int) bool { return dense[p] != 0 })
	}
	at := []int{0}
	for l, d := range s.Order {
		size, weight := block[d%int32(n)], 0
		if int(d) < n {
			size, weight = shape[d]/block[d], stride[d]*int(block[d])
		} else {
			size, weight = block[s.Blocks[int(d)-n]], stride[s.Blocks[int(d)-n]]
		}
		level := tflitetest.SparseLevel{Size: size, Kind: byte(r.IntN(4)), Segments: []int32{0}}
		var next []int
		for _, p := range at {
			for i := range size {
				if q := p + int(i)*weight; level.Kind == 0 || used(q, s.Order[l+1:]) {
					next, level.Indices = append(next, q), append(level.Indices, i)
				}
			}
			level.Segments = append(level.Segments, int32(len(level.Indices)))
		}
		at, s.Levels = next, append(s.Levels, level)
	}
	var data []byte
	for _, p := range at {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(dense[p]))
	}
	return s, data
}

// under are the positions that the remaining levels reach from one.
func under(s *tflitetest.Sparse, shape, block []int32, stride []int, from int, order []int32) []int {
	at := []int{from}
	for _, d := range order {
		size, weight := int32(0), 0
		if n := len(shape); int(d) < n {
			size, weight = shape[d]/block[d], stride[d]*int(block[d])
		} else {
			size, weight = block[s.Blocks[int(d)-n]], stride[s.Blocks[int(d)-n]]
		}
		var next []int
		for _, p := range at {
			for i := range size {
				next = append(next, p+int(i)*weight)
			}
		}
		at = next
	}
	return at
}

// TestSparse: constants stored by drawn levels are the dense ones, and damaged ones are refused.
func TestSparse(t *testing.T) {
	const densify = 124
	for seed := range 100 {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		shape, n := make([]int32, 1+r.IntN(3)), 1
		for i := range shape {
			shape[i] = int32(1 + r.IntN(6))
			n *= int(shape[i])
		}
		dense := make([]float32, n)
		for i := range dense {
			if r.IntN(3) == 0 {
				dense[i] = float32(i + 1)
			}
		}
		w := tflitetest.Tensor{Name: "w", Shape: shape}
		if w.Sparse, w.Data = sparse(r, shape, dense); len(w.Data) == 0 {
			continue
		}
		g := func() []byte {
			return tflitetest.Graph{Tensors: []tflitetest.Tensor{{Name: "x", Shape: shape}, w, {Name: "d",
				Shape: shape},
				{Name: "y", Shape: shape}}, Inputs: []int32{0}, Outputs: []int32{3},
				Ops: []tflitetest.Op{{Code: densify, In: []int32{1}, Out: []int32{2}},
					{Code: 0, In: []int32{0, 2}, Out: []int32{3}}}}.Bytes()
		}
		dims := lists.Each(shape, func(d int32) int { return int(d) })
		got := run(t, g(), tensor.New(tensor.F32, dims))[0].Data.([]float32)
		testenv.Same(t, got, dense, seed, *w.Sparse)
		s := w.Sparse
		l := &s.Levels[r.IntN(len(s.Levels))]
		switch l.Size++; {
		case l.Kind == 0:
		case r.IntN(2) == 0:
			l.Indices[r.IntN(len(l.Indices))] = l.Size
		default:
			l.Segments[len(l.Segments)-1]++
		}
		testenv.Refused(t, testenv.Err(tflite.Parse(g(), onnx.Limits{})), "sparse data")
	}
}
