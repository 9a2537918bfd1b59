// SPDX-License-Identifier: Apache-2.0

package boards

import "slices"

// PerByteCycles is how long the core waits for a byte of data that it reads or writes in
// sequence: what the file says of it, else the wait states of a line over its bytes.
func (w Wait) PerByteCycles() float64 {
	if w.PerByte > 0 || w.Line == 0 {
		return float64(w.PerByte)
	}
	return float64(w.States) / float64(w.Line)
}

// mostWays bounds the ways that a search for the cheapest placement looks at: far more
// than boards with a handful of regions have.
const mostWays = 1 << 20

// cheapest looks for the way to place all items for which the core waits fewest cycles.
type cheapest struct {
	search
	may   [][]int
	cost  [][]float64 // of item k in region r
	rest  []float64   // the least that items from k on can cost
	free  []uint64
	least float64 // of the best way so far
	ways  int
}

// improve takes a way that fits to the cheapest one. The result are its cycles and the
// least that any way can have: the same where all ways were looked at. Of ways that cost
// the same the one that it began with stays.
func (s *search) improve(may [][]int) (cycles, bound float64) {
	c := cheapest{search: *s, may: may, rest: make([]float64, len(s.items)+1)}
	for _, r := range s.regions {
		c.free = append(c.free, uint64(r.Size))
	}
	for k, it := range s.items {
		costs := make([]float64, len(s.regions))
		for i, r := range s.regions {
			costs[i] = it.Traffic * r.Wait.PerByteCycles()
		}
		c.cost = append(c.cost, costs)
		c.least += costs[s.best[k]]
	}
	for k := len(s.items) - 1; k >= 0; k-- {
		least := c.cost[k][may[k][0]]
		for _, r := range may[k] {
			least = min(least, c.cost[k][r])
		}
		c.rest[k] = least + c.rest[k+1]
	}
	c.best = slices.Clone(s.best)
	c.try(0, 0)
	s.best = c.best
	if c.ways > mostWays {
		return c.least, c.rest[0]
	}
	return c.least, c.least
}

// try places items from k on, behind those before that cost so much.
func (c *cheapest) try(k int, before float64) {
	if c.ways++; before+c.rest[k] >= c.least || c.ways > mostWays {
		return
	}
	if k == len(c.items) {
		c.least = before
		copy(c.best, c.at)
		return
	}
	room := c.items[k].room()
	for _, r := range c.may[k] {
		if c.free[r] < room {
			continue
		}
		c.free[r] -= room
		c.at[k] = r
		c.try(k+1, before+c.cost[k][r])
		c.free[r] += room
	}
}
