// SPDX-License-Identifier: Apache-2.0

package paths

import "slices"

// graph are the instructions of a function and what can follow them.
type graph struct {
	f *function
	// weight is what an instruction counts, with all that it calls.
	weight func(i int) (uint64, error)
	// turns is how often an instruction is executed that a loop, or the function, is
	// entered at.
	turns func(entry int) (uint64, error)
	stop  uint32
}

// next are the instructions that can follow one, inside of the function.
func (g *graph) next(i int) []int {
	x := &g.f.insns[i]
	if x.calls && g.stop != 0 && x.to[0] == g.stop {
		return nil
	}
	var out []int
	if !x.ends && i+1 < len(g.f.insns) {
		out = append(out, i+1)
	}
	if !x.calls {
		for _, to := range x.to {
			if k, ok := g.f.index[to]; ok {
				out = append(out, k)
			}
		}
	}
	return out
}

// reached adds the instructions that can follow one to those inside, and reports whether
// it can follow itself.
func (g *graph) reached(entry int, inside map[int]bool) (again bool) {
	for list := []int{entry}; len(list) > 0; {
		i := list[len(list)-1]
		list = list[:len(list)-1]
		if !inside[i] {
			inside[i] = true
			next := g.next(i)
			again = again || slices.Contains(next, entry)
			list = append(list, next...)
		}
	}
	return again
}

// most is the longest way from the entries to anywhere, as often as these are executed,
// and the same for the loops inside. A way is cut wherever it comes to an entry: no piece is
// longer than the longest way that comes to no entry again.
func (g *graph) most(inside map[int]bool, entries []int) (uint64, error) {
	next := func(i int) []int {
		return slices.DeleteFunc(g.next(i), func(k int) bool { return !inside[k] || slices.Contains(entries, k) })
	}
	c := components{next: next, number: map[int]int{}, low: map[int]int{}, of: map[int]int{}}
	for _, e := range entries {
		c.visit(e)
	}
	longest, sum := make([]uint64, len(c.list)), uint64(0)
	for k, nodes := range c.list { // what follows comes first
		for _, i := range nodes {
			for _, j := range next(i) {
				if c.of[j] != k {
					longest[k] = max(longest[k], longest[c.of[j]])
				}
			}
		}
		if len(nodes) == 1 && !slices.Contains(next(nodes[0]), nodes[0]) {
			w, err := g.weight(nodes[0])
			if err != nil {
				return 0, err
			}
			longest[k] += w
			continue
		}
		n, err := g.most(set(nodes), c.entries(k, next))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	for _, e := range entries {
		n, err := g.turns(e)
		if err != nil {
			return 0, err
		}
		sum += n * longest[c.of[e]]
	}
	return sum, nil
}

func set(list []int) map[int]bool {
	m := map[int]bool{}
	for _, i := range list {
		m[i] = true
	}
	return m
}

// components are the strongly connected components of a graph, by Tarjan's algorithm: a
// component stands in front of those that lead to it.
type components struct {
	next        func(i int) []int
	number, low map[int]int
	stack       []int
	of          map[int]int // component of a node
	list        [][]int
}

func (c *components) visit(i int) {
	if c.number[i] != 0 {
		return
	}
	c.number[i] = len(c.number) + 1
	c.low[i] = c.number[i]
	c.stack = append(c.stack, i)
	for _, k := range c.next(i) {
		if c.number[k] == 0 {
			c.visit(k)
			c.low[i] = min(c.low[i], c.low[k])
		} else if _, done := c.of[k]; !done {
			c.low[i] = min(c.low[i], c.number[k])
		}
	}
	if c.low[i] != c.number[i] {
		return
	}
	at := slices.Index(c.stack, i)
	nodes := slices.Clone(c.stack[at:])
	c.stack = c.stack[:at]
	for _, k := range nodes {
		c.of[k] = len(c.list)
	}
	c.list = append(c.list, nodes)
}

// entries are the nodes of a component that others lead to.
func (c *components) entries(k int, next func(i int) []int) []int {
	var out []int
	for i, of := range c.of {
		if of == k {
			continue
		}
		for _, j := range next(i) {
			if c.of[j] == k && !slices.Contains(out, j) {
				out = append(out, j)
			}
		}
	}
	slices.Sort(out)
	return out
}
