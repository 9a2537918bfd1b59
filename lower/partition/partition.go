// SPDX-License-Identifier: Apache-2.0

// Package partition cuts a graph between an accelerator and the CPU: the
// fewest segments such that each runs as one, without the CPU in between.
package partition

import "github.com/nncc/nncc/ir/lists"

// Node is a node of the graph to be cut: the indices of the nodes it reads
// (all smaller than its own), whether the accelerator takes it, and its work.
type Node struct {
	Preds []int
	Accel bool
	Work  int64 // MACs, or anything that grows with the gain of accelerating
}

// Options of Cut.
type Options struct {
	// MinWork keeps segments with less work off the accelerator where that
	// leaves fewer segments; a transfer costs more than it gains. 0: none.
	MinWork int64
}

// None marks nodes that run on the CPU.
const None = -1

// Cut gives the segment of every node, or None, and the number of segments.
//
// Segments are convex: no path leaves one and comes back, so that the program
// is a sequence of segments and CPU parts. Their number is the smallest
// possible: a path that changes from the CPU to the accelerator k times needs k
// of them, and the cut by the largest such count over all paths to a node
// reaches that. Nodes of one segment need not be connected.
func Cut(nodes []Node, opt Options) (segment []int, count int) {
	accel := lists.Map(nodes, func(n Node) bool { return n.Accel })
	segment, count = cut(nodes, accel)
	for opt.MinWork > 0 && count > 0 {
		next, ok := dropIsland(nodes, accel, segment, count, opt.MinWork)
		if !ok {
			break
		}
		accel = next
		segment, count = cut(nodes, accel)
	}
	return segment, count
}

// cut is Cut for given sides: every node goes into the first segment that its
// predecessors allow.
func cut(nodes []Node, accel []bool) ([]int, int) {
	level := make([]int, len(nodes)) // accelerator: its segment; CPU: segments before it
	count := 0
	for i, n := range nodes {
		l := 0
		for _, p := range n.Preds {
			k := level[p]
			if accel[p] && !accel[i] {
				k++ // all of segment level[p] runs before
			}
			l = max(l, k)
		}
		level[i] = l
		if accel[i] {
			count = max(count, l+1)
		}
	}
	segment := make([]int, len(nodes))
	for i := range nodes {
		segment[i] = None
		if accel[i] {
			segment[i] = level[i]
		}
	}
	return segment, count
}

// dropIsland finds a segment with too little work whose nodes, given to the
// CPU, leave fewer segments.
func dropIsland(nodes []Node, accel []bool, segment []int, count int, minWork int64) ([]bool, bool) {
	work := make([]int64, count)
	for i, s := range segment {
		if s != None {
			work[s] += nodes[i].Work
		}
	}
	for s, w := range work {
		if w >= minWork || count == 1 {
			continue
		}
		next := append([]bool(nil), accel...)
		for i, x := range segment {
			if x == s {
				next[i] = false
			}
		}
		if _, n := cut(nodes, next); n < count {
			return next, true
		}
	}
	return nil, false
}
