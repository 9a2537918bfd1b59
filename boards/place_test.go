// SPDX-License-Identifier: Apache-2.0

package boards_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
)

// TestPlace: over random regions and items, Place says that all fits exactly
// where some way of placing fits, and otherwise that the fewest bytes are
// missing that can be.
func TestPlace(t *testing.T) {
	what := []string{"code", "rodata", "weights", "data", "arena", "stack"}
	fits, not, homeless := 0, 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		var rs boards.Regions
		for i := range 1 + r.IntN(5) {
			x := boards.Region{Name: fmt.Sprintf("r%d", i), Size: boards.Size(64 * (1 + r.IntN(20)))}
			for _, w := range what {
				if r.IntN(3) > 0 {
					x.Holds = append(x.Holds, w)
				}
			}
			rs = append(rs, x)
		}
		var items []boards.Item
		for _, w := range what {
			if r.IntN(4) > 0 {
				items = append(items, boards.Item{What: w, Bytes: uint64(r.IntN(700))})
			}
		}
		p := rs.Place(items...)
		least, lost := fewest(rs, items)
		var missing uint64
		for _, x := range p.Regions {
			missing += x.Missing()
			for _, it := range x.Items {
				testenv.Require(t, x.Can(it.What) || it.What == "weights" && x.Can("rodata"),
					"seed %d: %s lies in %+v", seed, it.What, x.Region)
			}
		}
		if missing != least || len(p.Homeless) != lost || p.Fits() != (least == 0 && lost == 0) {
			t.Fatalf("seed %d: %+v in %+v: %d bytes missing, %d homeless, fits=%t; want %d and %d", seed, items, rs,
				missing, len(p.Homeless), p.Fits(), least, lost)
		}
		switch {
		case lost > 0:
			homeless++
		case least == 0:
			fits++
		default:
			not++
		}
	}
	testenv.Check(t, fits >= 100 && not >= 100 && homeless >= 100,
		"%d boards fit, %d do not, %d have no region for something: want more of each", fits, not, homeless)
}

// fewest tries all ways to place the items: the fewest missing bytes, and how
// many items no region may hold.
func fewest(rs boards.Regions, items []boards.Item) (least uint64, lost int) {
	weights := false
	for _, r := range rs {
		weights = weights || r.Can("weights")
	}
	least = 1 << 40
	at := make([]int, len(items))
	for {
		used := make([]uint64, len(rs))
		legal, alone := true, 0
		for k, it := range items {
			w := it.What
			if w == "weights" && !weights {
				w = "rodata"
			}
			some := false
			for _, r := range rs {
				some = some || r.Can(w)
			}
			switch {
			case !some:
				alone++
			case !rs[at[k]].Can(w):
				legal = false
			default:
				used[at[k]] += (it.Bytes + 15) / 16 * 16
			}
		}
		if legal {
			var over uint64
			for i, r := range rs {
				over += used[i] - min(used[i], uint64(r.Size))
			}
			least, lost = min(least, over), alone
		}
		k := 0
		for ; k < len(at); k++ {
			if at[k]++; at[k] < len(rs) {
				break
			}
			at[k] = 0
		}
		if k == len(at) {
			return least, lost
		}
	}
}

// TestPlaceOrder: the first region with room is taken, one after another; a
// larger item is not shut out by a smaller one that could lie elsewhere; and
// many regions take no longer.
func TestPlaceOrder(t *testing.T) {
	all := []string{"arena", "stack", "data"}
	rs := boards.Regions{{Name: "dtcm", Size: 64 << 10, Holds: all}, {Name: "sram", Size: 16 << 10, Holds: all}}
	p := rs.Place(boards.Item{What: "stack", Bytes: 8 << 10}, boards.Item{What: "arena", Bytes: 20 << 10})
	testenv.Check(t, p.At("stack") == "dtcm" && p.At("arena") == "dtcm" && p.Fits(), "%+v", p)
	p = rs.Place(boards.Item{What: "stack", Bytes: 8 << 10}, boards.Item{What: "arena", Bytes: 60 << 10})
	testenv.Check(t, p.At("stack") == "sram" && p.At("arena") == "dtcm" && p.Fits(), "%+v", p)
	p = rs.Place(boards.Item{What: "stack", Bytes: 8 << 10}, boards.Item{What: "arena", Bytes: 70 << 10})
	testenv.Check(t, !p.Fits() && p.Regions[0].Missing() == 6<<10, "%+v", p)
	var many boards.Regions
	for i := range 60 {
		many = append(many, boards.Region{Name: fmt.Sprint(i), Size: boards.Size(1000 + i), Holds: boards.Content})
	}
	items := lists.Map(boards.Content, func(w string) boards.Item { return boards.Item{What: w, Bytes: 5000} })
	if p := many.Place(items...); p.Fits() || p.Regions[59].Missing() == 0 {
		t.Errorf("%+v", p)
	}
}

// TestPlaceByCost compares the cycles of placements with those of all ways, over random
// boards with waits; without waits nothing leaves the first region that has room.
func TestPlaceByCost(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	better := 0
	for range 3000 {
		var rs boards.Regions
		for i := range 1 + r.IntN(5) {
			x := boards.Region{Name: fmt.Sprint(i), Size: boards.Size(16 * r.IntN(60))}
			for _, w := range boards.Content {
				if r.IntN(3) > 0 {
					x.Holds = append(x.Holds, w)
				}
			}
			x.Wait = boards.Wait{States: r.IntN(6), Line: 16}
			if r.IntN(3) == 0 {
				x.Wait.PerByte = boards.Ratio(r.Float64())
			}
			rs = append(rs, x)
		}
		var items []boards.Item
		plain := []boards.Item{}
		for _, w := range []string{"code", "stack", "arena", "weights"} {
			it := boards.Item{What: w, Bytes: uint64(r.IntN(400))}
			plain = append(plain, it)
			it.Traffic = float64(r.IntN(3) * r.IntN(1000))
			items = append(items, it)
		}
		p, first := rs.Place(items...), rs.Place(plain...)
		testenv.Require(t, p.Fits() == first.Fits(), "with traffic %+v\nwithout %+v", p, first)
		if !p.Fits() {
			continue
		}
		want := cheapestOf(rs, items)
		testenv.Require(t, !(p.Cycles > want+1e-9) && !(p.Cycles < want-1e-9) && p.CyclesBound == p.Cycles,
			"%g cycles, at least %g; want %g: %+v", p.Cycles, p.CyclesBound, want, p)
		testenv.Check(t, first.Cycles == 0, "%g cycles without traffic", first.Cycles)
		for i := range p.Regions {
			if len(p.Regions[i].Items) != len(first.Regions[i].Items) {
				better++
				break
			}
		}
	}
	testenv.Check(t, better >= 100, "%d placements differ from the first with room, want more", better)
}

// cheapestOf is the fewest cycles of all ways to place items.
func cheapestOf(rs boards.Regions, items []boards.Item) float64 {
	may := func(r boards.Region, what string) bool { // weights can be read-only data
		return r.Can(what) || what == "weights" && r.Can("rodata") && !slices.ContainsFunc(rs,
			func(r boards.Region) bool { return r.Can("weights") })
	}
	least := 1e18
	var try func(k int, used []uint64, cost float64)
	try = func(k int, used []uint64, cost float64) {
		if k == len(items) {
			least = min(least, cost)
			return
		}
		for i, r := range rs {
			room := (items[k].Bytes + 15) / 16 * 16
			if !may(r, items[k].What) || used[i]+room > uint64(r.Size) {
				continue
			}
			next := slices.Clone(used)
			next[i] += room
			try(k+1, next, cost+items[k].Traffic*r.Wait.PerByteCycles())
		}
	}
	try(0, make([]uint64, len(rs)), 0)
	return least
}
