package layout

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

func constInts(v []int) *tensor.Dense { return tensor.Ints(v...) }

// transposeForward is the memory order of Transpose(x, perm) when x stays
// where it is: input dimension perm[i] is output dimension i.
func transposeForward(in, perm []int) []int {
	inv := make([]int, len(perm))
	for i, p := range perm {
		inv[p] = i
	}
	out := make([]int, len(in))
	for k, d := range in {
		out[k] = inv[d]
	}
	return out
}

// transposeBack is the input order from which Transpose gives order out.
func transposeBack(out, perm []int) []int {
	if out == nil {
		out = ir.Identity(len(perm))
	}
	in := make([]int, len(out))
	for k, d := range out {
		in[k] = perm[d]
	}
	return in
}

// reshapeOrder is the memory order of a reshaped value that stays where it
// is. It exists when memory is in logical order (then the result's is, too),
// or when only dimensions of size 1 come or go.
func reshapeOrder(t ir.Type, shape []int) ([]int, bool) {
	if t.SameMemory(nil) {
		return nil, true
	}
	var from, to []int // dimensions larger than 1
	for i, d := range t.Shape {
		if d != 1 {
			from = append(from, i)
		}
	}
	for i, d := range shape {
		if d != 1 {
			to = append(to, i)
		}
	}
	if len(from) != len(to) {
		return nil, false
	}
	m := map[int]int{}
	for k := range from {
		if t.Shape[from[k]] != shape[to[k]] {
			return nil, false
		}
		m[from[k]] = to[k]
	}
	var order []int
	for i, d := range shape { // unit dimensions first: their place does not matter
		if d == 1 {
			order = append(order, i)
		}
	}
	for _, d := range t.OrderOrIdentity() {
		if t.Shape[d] != 1 {
			order = append(order, m[d])
		}
	}
	return order, true
}
