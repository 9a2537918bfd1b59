// SPDX-License-Identifier: Apache-2.0

package patch

import "github.com/nncc/nncc/ir"

// All are plans of one chain each, and one of two after each other: every stretch of
// nodes that work row by row, some rows at a time.
func All(g *ir.Graph, rows int) (out []Plan) {
	w := newNetwork(g, false)
	for from := range w.nodes {
		for to := from + 1; to <= len(w.nodes) && w.nodes[to-1].rowwise; to++ {
			out = append(out, Plan{Chains: []Chain{{From: from, To: to, Rows: rows, Least: 1 + (from+to)%rows}},
				Nodes: g.Nodes[from:to]})
			if mid := (from + to) / 2; mid > from && (from+to)%2 == 0 {
				two := Plan{Chains: []Chain{{From: from, To: mid, Rows: rows, Least: 1}, {From: mid, To: to, Rows: 1,
					Least: 1}},
					Nodes: g.Nodes[from:to]}
				out = append(out, two)
			}
		}
	}
	return out
}
