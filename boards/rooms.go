// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"cmp"
	"slices"
)

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
	for _, it := range items {
		var may []int
		for i, r := range rs {
			if it.Region == r.Name || it.Region == "" && rs.mayHold(r, it.What) {
				may = append(may, i)
			}
		}
		s.may = append(s.may, may)
	}
	s.try(0, 0)
	slices.SortStableFunc(s.list, func(a, b Room) int { return cmp.Compare(a.Cycles, b.Cycles) })
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
	for _, i := range s.asked {
		x.Free = append(x.Free, Size(s.free[i]))
	}
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
