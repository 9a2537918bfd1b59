// SPDX-License-Identifier: Apache-2.0

package ir

// Sort restores topological order, keeping the present order where it is
// free; false when there is a cycle.
func (g *Graph) Sort() bool {
	pos := make(map[*Node]int, len(g.Nodes))
	missing := make(map[*Node]int, len(g.Nodes))
	for i, n := range g.Nodes {
		pos[n] = i
	}
	var ready nodeHeap
	for i, n := range g.Nodes {
		for _, v := range n.In {
			if v != nil && v.Def != nil {
				missing[n]++
			}
		}
		if missing[n] == 0 {
			ready.push(i)
		}
	}
	out := make([]*Node, 0, len(g.Nodes))
	for len(ready) > 0 {
		n := g.Nodes[ready.pop()]
		out = append(out, n)
		for _, v := range n.Out {
			for _, u := range v.uses {
				if missing[u.Node]--; missing[u.Node] == 0 {
					ready.push(pos[u.Node])
				}
			}
		}
	}
	if len(out) != len(g.Nodes) {
		return false
	}
	g.Nodes = out
	return true
}

// nodeHeap is a minimal binary heap of positions.
type nodeHeap []int

func (h *nodeHeap) push(x int) {
	*h = append(*h, x)
	s := *h
	for i := len(s) - 1; i > 0; {
		p := (i - 1) / 2
		if s[p] <= s[i] {
			break
		}
		s[p], s[i] = s[i], s[p]
		i = p
	}
}

func (h *nodeHeap) pop() int {
	s := *h
	top, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && s[c+1] < s[c] {
			c++
		}
		if s[i] <= s[c] {
			break
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
	*h = s
	return top
}
