// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"math"
	"math/rand/v2"
	"testing"
)

// memories are regions with an arena in one of them, as random as they may be.
func memories(r *rand.Rand) Placement {
	wait := func() Wait {
		return Wait{PerByte: Ratio(r.IntN(4)) / 2, Line: 4, Cache: Size(r.IntN(2) * 64)}
	}
	slow := wait()
	slow.PerByte += 1
	p := Placement{Regions: []Placed{{Region: Region{Name: "flash", Size: 1 << 20, Holds: []string{"weights", "rodata"},
		Wait: slow}}}}
	for i, name := range []string{"tcm", "sram", "far"}[:1+r.IntN(3)] {
		x := Placed{Region: Region{Name: name, Size: Size(16 * (4 + r.IntN(40))), Holds: []string{"data", "arena"},
			Wait: wait()}}
		if i == 0 {
			x.Items = []Item{{What: "arena", Bytes: 32}}
		}
		p.Regions = append(p.Regions, x)
	}
	return p
}

// TestCopies compares the choice with brute force on small cases: every constant in
// place, staged in one region or fetched.
func TestCopies(t *testing.T) {
	staged, fetched, both := 0, 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 5))
		p := memories(r)
		var cs []Constant
		for range 1 + r.IntN(6) {
			cs = append(cs, Constant{Bytes: uint64(1 + r.IntN(500)), Reads: 1 + r.IntN(20)*r.IntN(2),
				Steps: 1 + r.IntN(2), Growth: uint64(16 * r.IntN(8)), Kept: r.IntN(3) == 0})
		}
		limit := uint64(16 * r.IntN(60))
		const perByte = 0.75
		got := p.Copies(cs, "flash", perByte, limit)
		want := bruteForce(p, cs, perByte, limit)
		if math.Abs(got.Saved-want) > 1 || got.Bound < got.Saved-1e-9 || got.Bound > got.Saved+1 {
			t.Errorf("seed %d: %.2f saved (bound %.2f), brute force %.2f", seed, got.Saved, got.Bound, want)
		}
		if s := savedBy(p, cs, got, perByte, limit); math.Abs(s-got.Saved) > 1e-6 {
			t.Errorf("seed %d: the choice saves %.2f and says %.2f", seed, s, got.Saved)
		}
		if got.Bytes > 0 {
			staged++
		}
		if got.Growth > 0 {
			fetched++
		}
		if got.Bytes > 0 && got.Growth > 0 {
			both++
		}
	}
	if t.Logf("%d staged, %d fetched, %d both", staged, fetched, both); staged < 50 || fetched < 20 || both < 5 {
		t.Errorf("%d staged, %d fetched, %d both: nothing was tested", staged, fetched, both)
	}
}

// savedBy is what a choice saves by definition, -1 where it is not allowed.
func savedBy(p Placement, cs []Constant, x Copies, perByte float64, limit uint64) float64 {
	flash, arena := p.Regions[0], p.Regions[1]
	var in Placed
	for _, r := range p.Regions {
		if r.Name == x.Region {
			in = r
		}
	}
	read := func(w Wait, n uint64, times int) float64 {
		if n <= uint64(w.Cache) && times > 1 {
			times = 1
		}
		return float64(w.PerByte) * float64(n) * float64(times)
	}
	saved := 0.0
	var bytes, growth uint64
	for i, c := range cs {
		was := read(flash.Wait, c.Bytes, c.Reads)
		switch {
		case x.Staged[i]:
			bytes += (c.Bytes + 15) / 16 * 16
			saved += was - read(in.Wait, c.Bytes, c.Reads)
		case x.Fetched[i]:
			if c.Kept {
				return -1
			}
			growth = max(growth, c.Growth)
			saved += was - read(arena.Wait, c.Bytes, c.Reads) - float64(c.Steps)*float64(c.Bytes)*
				(float64(flash.Wait.PerByte)+perByte+float64(arena.Wait.PerByte))
		}
	}
	inArena := growth
	if in.Name == arena.Name {
		inArena += bytes
	} else if bytes > uint64(in.Size)-in.Used() {
		return -1
	}
	if inArena > uint64(arena.Size)-arena.Used() || bytes+growth > limit {
		return -1
	}
	return saved
}

func bruteForce(p Placement, cs []Constant, perByte float64, limit uint64) float64 {
	best := 0.0
	ways := 1
	for range cs {
		ways *= 3
	}
	for _, r := range p.Regions[1:] {
		for way := range ways {
			x := Copies{Region: r.Name, Staged: make([]bool, len(cs)), Fetched: make([]bool, len(cs))}
			for i, w := 0, way; i < len(cs); i, w = i+1, w/3 {
				x.Staged[i], x.Fetched[i] = w%3 == 1, w%3 == 2
			}
			best = max(best, savedBy(p, cs, x, perByte, limit))
		}
	}
	return best
}

// TestCopiesOfMany: a choice among hundreds ends, within its bound.
func TestCopiesOfMany(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := Placement{Regions: []Placed{
		{Region: Region{Name: "flash", Size: 1 << 24, Holds: []string{"weights"}, Wait: Wait{PerByte: 2, Line: 8}}},
		{Region: Region{Name: "ram", Size: 200_000, Holds: []string{"data", "arena"}},
			Items: []Item{{What: "arena", Bytes: 32}}}}}
	var cs []Constant
	for range 400 {
		cs = append(cs, Constant{Bytes: uint64(1 + r.IntN(4000)), Reads: 1 + r.IntN(9), Steps: 1,
			Growth: uint64(16 * r.IntN(100))})
	}
	x := p.Copies(cs, "flash", 0.75, math.MaxUint64)
	if x.Saved <= 0 || x.Saved > x.Bound || x.Bound > 1.01*x.Saved || x.Bytes+x.Growth > 200_000 {
		t.Errorf("%.0f saved, bound %.0f, %d bytes and %d of the arena", x.Saved, x.Bound, x.Bytes, x.Growth)
	}
}
