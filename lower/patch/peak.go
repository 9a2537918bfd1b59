// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"slices"

	"github.com/nncc/nncc/ir"
)

// peak is the most bytes that the values of some nodes take at once when they
// run in the order given: a simple account, without views and scratch memory,
// to tell which plans are worth a real schedule. Readers outside of inside do
// not count (nil: all do).
func peak(nodes []*ir.Node, bytes func(v *ir.Value) int, inside map[*ir.Node]bool) int {
	left := map[*ir.Value]int{} // readers to come
	live, most := 0, 0
	start := func(v *ir.Value) {
		if _, ok := left[v]; ok {
			return
		}
		for _, u := range v.Uses() {
			if inside == nil || inside[u.Node] {
				left[v]++
			}
		}
		live += bytes(v)
	}
	for _, n := range nodes { // what was computed before
		for _, v := range operands(n) {
			if v.Def == nil || !slices.Contains(nodes, v.Def) {
				start(v)
			}
		}
	}
	for _, n := range nodes {
		over := 0 // a dying operand of an element-wise node is overwritten
		for _, v := range n.Out {
			start(v)
		}
		for _, v := range operands(n) {
			if left[v] == 1 && (n.Op.Pattern <= ir.Broadcast || n.Op.View.Whole()) {
				over = max(over, min(bytes(v), bytes(n.Out[0])))
			}
		}
		most = max(most, live-over)
		for _, v := range operands(n) {
			if left[v]--; left[v] == 0 {
				live -= bytes(v)
			}
		}
	}
	return most
}

// operands are the inputs that are computed at run time.
func operands(n *ir.Node) []*ir.Value {
	return slices.DeleteFunc(slices.Clone(n.In), func(v *ir.Value) bool { return v == nil || v.Const != nil })
}
