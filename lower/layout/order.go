// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
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
	groupOf := make([]int, len(t.Shape)) // of an input dimension; -1: of size 1
	var outs [][]int                     // per group: its output dimensions
	var size []int                       // per group: how many input dimensions
	for i, j := 0, 0; ; {
		for i < len(t.Shape) && t.Shape[i] == 1 {
			groupOf[i] = -1
			i++
		}
		for j < len(shape) && shape[j] == 1 {
			j++
		}
		if i == len(t.Shape) || j == len(shape) {
			break
		}
		g := len(outs)
		outs, size = append(outs, nil), append(size, 0)
		for a, b := 1, 1; a != b || size[g] == 0; {
			if a <= b {
				if i == len(t.Shape) {
					return nil, false
				}
				groupOf[i] = g
				if t.Shape[i] == 1 {
					groupOf[i] = -1
				} else {
					size[g]++
				}
				a *= t.Shape[i]
				i++
			} else {
				if j == len(shape) {
					return nil, false
				}
				if shape[j] != 1 {
					outs[g] = append(outs[g], j)
				}
				b *= shape[j]
				j++
			}
		}
	}
	order := lists.Where(len(shape), func(i int) bool { return shape[i] == 1 }) // their place does not matter
	group, left, last := -1, 0, -1
	for _, d := range t.OrderOrIdentity() {
		g := groupOf[d]
		if g < 0 {
			continue
		}
		switch {
		case left == 0:
			group, left = g, size[g]
			order = append(order, outs[g]...)
		case g != group || d < last:
			return nil, false
		}
		left, last = left-1, d
	}
	return order, len(order) == len(shape)
}

// sameMemory reports whether two orders (nil: logical) put every element of a
// value of the given shape in the same place. It is Type.SameMemory without
// allocations.
func sameMemory(shape, a, b []int) bool {
	at := func(o []int, i int) int {
		if o == nil {
			return i
		}
		return o[i]
	}
	n := len(shape)
	if slices.Contains(shape, 0) {
		return true
	}
	for i, j := 0, 0; ; i, j = i+1, j+1 {
		for i < n && shape[at(a, i)] == 1 {
			i++
		}
		for j < n && shape[at(b, j)] == 1 {
			j++
		}
		if i == n || j == n {
			return i == n && j == n
		}
		if at(a, i) != at(b, j) {
			return false
		}
	}
}
