// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"slices"
	"testing"

	"math/rand/v2"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// counting is a tensor whose elements are their own logical index.
func counting(shape []int) *tensor.Dense {
	n := tensor.Count(shape)
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(i)
	}
	return tensor.Of(shape, v)
}

// memory is the sequence of elements as they lie in memory.
func memory(d *tensor.Dense, order []int) []int {
	if order != nil {
		d = d.Transpose(order)
	}
	out := make([]int, d.Len())
	for i := range out {
		out[i] = int(d.Int(i))
	}
	return out
}

func perms(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var out [][]int
	for _, p := range perms(n - 1) {
		for k := 0; k <= len(p); k++ {
			out = append(out, slices.Insert(slices.Clone(p), k, n-1))
		}
	}
	return out
}

// TestReshapeOrder: an order is found exactly when there is one, and it leaves
// every element where it is.
func TestReshapeOrder(t *testing.T) {
	shapes := [][][]int{
		{{6, 4, 5}, {2, 3, 20}, {6, 20}, {24, 5}, {6, 2, 2, 5}, {120}, {1, 6, 1, 20}, {2, 3, 4, 5}},
		{{1, 8, 1, 1}, {8}, {8, 1}, {2, 4}, {1, 1, 8}},
		{{2, 3, 4, 5}, {2, 3, 20}, {6, 4, 5}, {2, 12, 5}, {1, 2, 3, 1, 4, 5}, {2, 60}, {3, 2, 4, 5}},
		{{4, 2, 2}, {2, 2, 2, 2}, {2, 4, 2}, {8, 2}, {4, 4}},
		{{1, 1}, {}, {1}},
		{{2, 0, 3}, {0, 6}, {0}},
	}
	for _, group := range shapes {
		for _, from := range group {
			for _, order := range perms(len(from)) {
				for _, to := range group {
					d := counting(from)
					mem := memory(d, order)
					exists := false
					for _, q := range perms(len(to)) {
						exists = exists || slices.Equal(memory(d.Reshaped(to), q), mem)
					}
					got, ok := reshapeOrder(ir.T(tensor.I32, from...).WithOrder(order), to)
					testenv.Check(t, !ok || slices.Equal(memory(d.Reshaped(to), got), mem),
						"%v@%v to %v: order %v moves elements", from, order, to, got)
					testenv.Check(t, ok == exists, "%v@%v to %v: found %v, exists %v", from, order, to, ok, exists)
				}
			}
		}
	}
}

// TestTransposeOrders: a transposition that is a view leaves every element
// where it is, forwards and backwards.
func TestTransposeOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		rank := 1 + r.IntN(5)
		shape := make([]int, rank)
		for i := range shape {
			shape[i] = 1 + r.IntN(3)
		}
		d, order, perm := counting(shape), r.Perm(rank), r.Perm(rank)
		if r.IntN(4) == 0 {
			order = nil
		}
		fwd := transposeForward(order, perm)
		testenv.Require(t, slices.Equal(memory(d, order), memory(d.Transpose(perm), fwd)),
			"%v@%v by %v: order %v moves elements", shape, order, perm, fwd)
		back := transposeBack(fwd, perm)
		testenv.Require(t, ir.T(tensor.F32, shape...).WithOrder(order).SameMemory(back), "%v@%v by %v and back: %v",
			shape, order, perm, back)
	}
}
