// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// transposeForward is the memory order of Transpose(x, perm) when x stays
// where it is: input dimension perm[i] is output dimension i.
func transposeForward(in, perm []int) []int {
	if in == nil {
		in = ir.Identity(len(perm))
	}
	inv := make([]int, len(perm))
	for i, p := range perm {
		inv[p] = i
	}
	return lists.Each(in, func(d int) int { return inv[d] })
}

// transposeBack is the input order from which Transpose gives order out.
func transposeBack(out, perm []int) []int {
	if out == nil {
		out = ir.Identity(len(perm))
	}
	return lists.Each(out, func(d int) int { return perm[d] })
}

// reshapeOrder is the memory order of a value that stays where it is while its
// shape becomes shape. Both shapes fall apart into the smallest groups of
// neighbouring dimensions with equal products:
//
//	[1,6,4,5] -> [1,2,3,20]    groups {6}->{2,3} and {4,5}->{20}
//
// and the order exists when every group lies in memory in one piece, its
// dimensions in logical order: here for the orders 0123 and 0231 (the result
// is 0123 and 0312), not for 0132. Dimensions of size 1 are nowhere.
func reshapeOrder(t ir.Type, shape []int) ([]int, bool) {
	if t.SameMemory(nil) {
		return nil, true
	}
	from, to := tensor.Strides(t.Shape), tensor.Strides(shape)
	type run struct{ step, size int } // elements in a row in memory, so far apart in logical order
	var runs []run
	for _, d := range t.OrderOrIdentity() {
		if k := len(runs) - 1; k >= 0 && runs[k].step == from[d]*t.Shape[d] {
			runs[k] = run{from[d], runs[k].size * t.Shape[d]}
		} else if t.Shape[d] > 1 {
			runs = append(runs, run{from[d], t.Shape[d]})
		}
	}
	order := lists.Where(len(shape), func(i int) bool { return shape[i] == 1 }) // their place does not matter
	for _, r := range runs {
		end := r.step * r.size
		for d, size := range shape {
			if size > 1 && to[d] >= r.step && to[d]*size == end {
				order, end = append(order, d), to[d]
			}
		}
		if end != r.step {
			return nil, false
		}
	}
	return order, true
}
