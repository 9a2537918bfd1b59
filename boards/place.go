// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/lists"
)

// Item is something that takes memory: it lies in one region, whole.
type Item struct {
	// What it is, of Content: only a region that holds that may have it.
	What  string
	Bytes uint64
	// Estimated bytes are not measured yet.
	Estimated bool
	// Library is how many of the bytes are the C library's.
	Library uint64
	// Region is the one that has the item, "": any that may hold it.
	Region string
	// Traffic are the bytes of it that an inference reads and writes.
	Traffic float64
}

// String says what it is and what it takes.
func (i Item) String() string {
	s := fmt.Sprintf("%s %d", i.What, i.Bytes)
	if i.Estimated {
		s = fmt.Sprintf("%s about %d", i.What, i.Bytes)
	}
	if i.Library > 0 {
		s += fmt.Sprintf(" (C library %d)", i.Library)
	}
	return s
}

// Wait is how long reads of a kind of content take: from the first region that
// may hold it.
func (rs Regions) Wait(what string) Wait {
	for _, r := range rs {
		if r.Can(what) {
			return r.Wait
		}
	}
	return Wait{}
}

// grain is what the start of every item is rounded up to.
const grain = 16

// room is what an item takes in a region.
func (i Item) room() uint64 { return (i.Bytes + grain - 1) &^ (grain - 1) }

// Placed is a region with what lies in it.
type Placed struct {
	Region
	Items []Item
}

// Used is what the items take, each rounded up to 16 bytes.
func (p Placed) Used() uint64 {
	var n uint64
	for _, i := range p.Items {
		n += i.room()
	}
	return n
}

// Missing is by how much the items exceed the region.
func (p Placed) Missing() uint64 { return p.Used() - min(p.Used(), uint64(p.Size)) }

// Estimated reports whether any of the items is not measured yet.
func (p Placed) Estimated() bool {
	return slices.ContainsFunc(p.Items, func(i Item) bool { return i.Estimated })
}

// String says what lies in the region, what it has, and what is missing.
func (p Placed) String() string {
	s := lists.Map(p.Items, Item.String)
	text := fmt.Sprintf("region %s has %d bytes for %s", p.Name, p.Size, strings.Join(s, " + "))
	switch n := p.Missing(); {
	case n == 0:
		return text
	case p.Estimated():
		return text + fmt.Sprintf(": about %d bytes are missing", n)
	default:
		return text + fmt.Sprintf(": %d bytes are missing", n)
	}
}

// Placement is where items lie.
type Placement struct {
	Regions  []Placed // in the board's order
	Homeless []Item   // no region may hold them
	// Cycles are those that an inference waits for the items, by their traffic, and
	// CyclesBound what no way to place them is below: the same for all but the largest
	// boards. 0 where not everything fits.
	Cycles, CyclesBound float64
}

// Fits reports whether everything has room.
func (p Placement) Fits() bool {
	return len(p.Homeless) == 0 && !slices.ContainsFunc(p.Regions, func(r Placed) bool { return r.Missing() > 0 })
}

// Missing are the bytes for which there is no room, in all regions and in none.
func (p Placement) Missing() uint64 {
	n := uint64(0)
	for _, r := range p.Regions {
		n += r.Missing()
	}
	for _, i := range p.Homeless {
		n += i.Bytes
	}
	return n
}

// At is the region of what; "" where none may hold it.
func (p Placement) At(what string) string {
	for _, r := range p.Regions {
		if slices.ContainsFunc(r.Items, func(i Item) bool { return i.What == what }) {
			return r.Name
		}
	}
	return ""
}

// mayHold reports whether the region may have the item: weights are read-only
// data where no region is for weights, state is data, copies of constants go where data or
// an arena may be.
func (rs Regions) mayHold(r Region, what string) bool {
	if what == "weights" && !slices.ContainsFunc(rs, func(r Region) bool { return r.Can("weights") }) {
		what = "rodata"
	}
	switch what {
	case "state":
		what = "data"
	case "staged": // copies of constants
		return r.Can("data") || r.Can("arena")
	}
	return r.Can(what)
}

// Place finds a region for every item, so that the core waits fewest cycles for the
// traffic of all. Among ways that cost the same, each item gets the first region that
// may hold it and has room, in the order of both; where that does not end well but
// another way does, that one is taken; and where there is none, one with the fewest
// missing bytes in all.
func (rs Regions) Place(items ...Item) Placement {
	s := search{regions: rs, items: items, used: make([]uint64, len(rs)), at: make([]int, len(items))}
	s.allow()
	all := slices.Clone(s.may)
	if !s.greedy() {
		for k, may := range s.may {
			s.may[k] = slices.Clone(may)
		}
		// An item can leave a region for a larger one that has none, so that
		// as many of the largest as there are items are enough.
		for k, may := range s.may {
			slices.SortStableFunc(may, func(a, b int) int { return cmp.Compare(rs[b].Size, rs[a].Size) })
			s.may[k] = may[:min(len(may), len(items))]
			slices.Sort(s.may[k])
		}
		s.least = -1
		s.try(0, 0)
	}
	var p Placement
	if s.fits() {
		p.Cycles, p.CyclesBound = s.improve(all)
	}
	p.Regions = lists.Map(rs, func(r Region) Placed { return Placed{Region: r} })
	for k, it := range items {
		if s.best[k] < 0 {
			p.Homeless = append(p.Homeless, it)
			continue
		}
		r := &p.Regions[s.best[k]]
		r.Items = append(r.Items, it)
	}
	return p
}

// fits reports whether the best way has room for everything.
func (s *search) fits() bool {
	used := make([]uint64, len(s.regions))
	for k, r := range s.best {
		if r < 0 {
			return false
		}
		if used[r] += s.items[k].room(); used[r] > uint64(s.regions[r].Size) {
			return false
		}
	}
	return true
}

// search looks for the regions of items.
type search struct {
	regions Regions
	items   []Item
	may     [][]int  // regions that may hold an item
	used    []uint64 // of each region
	at      []int    // the region of each item; -1: none may hold it
	best    []int    // at, of the best way so far
	least   int64    // its missing bytes; negative: no way yet
}

// allow finds the regions that may hold each item.
func (s *search) allow() {
	for _, it := range s.items {
		var may []int
		for i, r := range s.regions {
			if it.Region == r.Name || it.Region == "" && s.regions.mayHold(r, it.What) {
				may = append(may, i)
			}
		}
		s.may = append(s.may, may)
	}
}

// missing is by how much region r is exceeded.
func (s *search) missing(r int) int64 {
	size := uint64(s.regions[r].Size)
	return int64(s.used[r] - min(s.used[r], size))
}

// greedy takes the first region with room for every item.
func (s *search) greedy() bool {
	free := lists.Map(s.regions, func(r Region) uint64 { return uint64(r.Size) })
	s.best = make([]int, len(s.items))
	for k, it := range s.items {
		i := slices.IndexFunc(s.may[k], func(r int) bool { return free[r] >= it.room() })
		if i < 0 {
			return false
		}
		s.best[k] = s.may[k][i]
		free[s.best[k]] -= it.room()
	}
	return true
}

// try places items from k on; over is what is missing by those before.
func (s *search) try(k int, over int64) {
	switch {
	case s.least >= 0 && over >= s.least:
		return
	case k == len(s.items):
		s.best, s.least = slices.Clone(s.at), over
		return
	case len(s.may[k]) == 0:
		s.at[k] = -1
		s.try(k+1, over)
		return
	}
	for _, r := range s.may[k] {
		before := s.missing(r)
		s.used[r] += s.items[k].room()
		s.at[k] = r
		s.try(k+1, over+s.missing(r)-before)
		s.used[r] -= s.items[k].room()
	}
}

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
	c.free = lists.Map(s.regions, func(r Region) uint64 { return uint64(r.Size) })
	for k, it := range s.items {
		costs := lists.Map(s.regions, func(r Region) float64 { return it.Traffic * r.Wait.PerByteCycles() })
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

// Room is what a way to place items leaves free.
type Room struct {
	Free   []Size  // of each region that may hold what is asked for, in the board's order
	Cycles float64 // that an inference waits for the items
}

// Holding are the regions that may hold something.
func (rs Regions) Holding(what string) Regions {
	return slices.DeleteFunc(slices.Clone(rs), func(r Region) bool { return !rs.mayHold(r, what) })
}

// mostRooms bounds the ways that Rooms gives.
const mostRooms = 16

// Rooms are the ways to place items that leave different room for what, those for which the
// core waits least first. One that has no more room anywhere than a cheaper one is left
// out. Where not everything fits there is one: that with the fewest missing bytes.
func (rs Regions) Rooms(what string, items ...Item) []Room {
	p := rs.Place(items...)
	s := rooms{search: search{regions: rs, items: items}}
	for i, r := range rs {
		s.free = append(s.free, uint64(r.Size))
		if rs.mayHold(r, what) {
			s.asked = append(s.asked, i)
		}
	}
	if !p.Fits() {
		for i, r := range p.Regions {
			s.free[i] -= min(s.free[i], r.Used())
		}
		s.leave(0)
		return s.list
	}
	s.allow()
	s.try(0, 0)
	lists.Sort(s.list, func(a, b Room) int { return cmp.Compare(a.Cycles, b.Cycles) })
	var out []Room
	for _, x := range s.list {
		if !slices.ContainsFunc(out, func(y Room) bool { return y.covers(x) }) {
			out = append(out, x)
		}
	}
	return out[:min(len(out), mostRooms)]
}

// covers reports that no region has less room than in x.
func (r Room) covers(x Room) bool {
	for i, n := range r.Free {
		if n < x.Free[i] {
			return false
		}
	}
	return true
}

// rooms is a search for all ways to place items.
type rooms struct {
	search
	free  []uint64
	asked []int // regions
	list  []Room
	ways  int
}

func (s *rooms) leave(cycles float64) {
	x := Room{Cycles: cycles}
	x.Free = lists.Map(s.asked, func(i int) Size { return Size(s.free[i]) })
	s.list = append(s.list, x)
}

func (s *rooms) try(k int, cycles float64) {
	if s.ways++; s.ways > 1<<14 {
		return
	}
	if k == len(s.items) {
		s.leave(cycles)
		return
	}
	it := s.items[k]
	for _, r := range s.may[k] {
		if s.free[r] < it.room() {
			continue
		}
		s.free[r] -= it.room()
		s.try(k+1, cycles+it.Traffic*s.regions[r].Wait.PerByteCycles())
		s.free[r] += it.room()
	}
}
