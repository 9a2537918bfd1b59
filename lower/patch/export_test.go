// SPDX-License-Identifier: Apache-2.0

package patch

import "github.com/nncc/nncc/ir"

// All are plans of one chain each, and one of two after each other: every stretch of
// nodes that work row by row, or head by head, some rows at a time.
func All(g *ir.Graph, rows int) (out []Plan) {
	for k, w := range newNetworks(g, false) {
		for from := 0; w != nil && from < len(w.nodes); from++ {
			for to := from + 1; to <= len(w.nodes) && w.nodes[to-1].rowwise && !w.waits(from, to-1); to++ {
				out = append(out, Plan{Chains: []Chain{{From: from, To: to, Rows: rows, Least: 1 + (from+to)%rows,
					Heads: k > 0}}})
				if mid := (from + to) / 2; mid > from && (from+to)%2 == 0 {
					two := Plan{Chains: []Chain{{From: from, To: mid, Rows: rows, Least: 1, Heads: k > 0},
						{From: mid, To: to, Rows: 1, Least: 1, Heads: k > 0}}}
					out = append(out, two)
				}
			}
		}
	}
	return out
}
