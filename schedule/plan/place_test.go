// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// randomBufs makes buffers without the shape of a network.
func randomBufs(r *rng, n, steps int, size int64) []Buffer {
	bufs := make([]Buffer, n)
	for i := range bufs {
		a, b := r.below(steps), r.below(steps)
		bufs[i] = Buffer{Bytes: int64(r.next() % uint64(size)), First: min(a, b), Last: max(a, b), AliasOf: -1}
	}
	return bufs
}

// bruteForce is the smallest arena: each plan from which nothing can be moved
// down is first fit in some order.
func bruteForce(bufs []Buffer) int64 {
	best := int64(math.MaxInt64)
	off := make([]int64, len(bufs))
	var rec func(placed []int, top int64)
	rec = func(placed []int, top int64) {
		if top >= best {
			return
		}
		if len(placed) == len(bufs) {
			best = top
			return
		}
		for i, b := range bufs {
			if slices.Contains(placed, i) {
				continue
			}
			size := roundUp(b.Bytes)
			at := int64(0)
			for free := false; !free; {
				free = true
				for _, j := range placed {
					c := bufs[j]
					if b.First <= c.Last && c.First <= b.Last && at < off[j]+roundUp(c.Bytes) && off[j] < at+size {
						at, free = off[j]+roundUp(c.Bytes), false
					}
				}
			}
			off[i] = at
			rec(append(placed, i), max(top, at+size))
		}
	}
	rec(make([]int, 0, len(bufs)), 0)
	return best
}

func TestPlaceAgainstBruteForce(t *testing.T) {
	r := rng{1}
	for range 1500 {
		bufs := randomBufs(&r, 1+r.below(7), 1+r.below(7), 100)
		res := Place(bufs, 1<<20)
		err := check(bufs, res)
		testenv.Require(t, err == nil, "%v\n%+v", err, bufs)
		want := bruteForce(bufs)
		testenv.Require(t, res.Total == want, "total %d, wanted %d\n%+v", res.Total, want, bufs)
	}
}

// everywhere is the smallest arena of all, with storages at all multiples of Align below most.
func everywhere(bufs []Buffer, storages []Storage, of []int, most int64) int64 {
	top := int(most / Align)
	free := map[[3]int]bool{} // two storages, and how far they are apart
	for i := range storages {
		for j := range i {
			two := slices.Clone(bufs)
			for k := range two {
				if of[k] != i && of[k] != j {
					two[k].Bytes, two[k].Pieces = 0, nil
				}
			}
			res, deltas := newResult(two)
			res.Total = 1 << 40
			for d := -top; d <= top; d++ {
				res.Storages[i].Offset, res.Storages[j].Offset = int64(top+d)*Align, int64(top)*Align
				res.offsets(deltas)
				_, err := needed(two, res)
				free[[3]int{i, j, d}] = err == nil
			}
		}
	}
	best := top
	at := make([]int, len(storages))
	var rec func(i, high int)
	rec = func(i, high int) {
		if high >= best {
			return
		}
		if i == len(storages) {
			best = high
			return
		}
	next:
		for at[i] = 0; at[i] < best; at[i]++ {
			for j := range i {
				if !free[[3]int{i, j, at[i] - at[j]}] {
					continue next
				}
			}
			rec(i+1, max(high, at[i]+int(roundUp(storages[i].Bytes)/Align)))
		}
	}
	rec(0, 0)
	return int64(best) * Align
}

// TestPlaceOverlaps: small programs with pieces and overlaps get the smallest arena, all but few.
func TestPlaceOverlaps(t *testing.T) {
	nets, missed, below := 0, 0, 0
	for seed := 1; seed < 1200; seed += 2 {
		n := randomNet(seed, 1+seed%5)
		bufs := Buffers(n.nodes, n.values, identity(len(n.nodes)))
		res := Place(bufs, 1<<18)
		err := check(bufs, res)
		testenv.Require(t, err == nil, "seed %d: %v\n%+v", seed, err, bufs)
		if len(res.Storages) > 6 {
			continue
		}
		nets++
		switch want := everywhere(bufs, res.Storages, res.StorageOf, res.Total); {
		case res.Total > want:
			missed++
		case res.Total < res.LowerBound:
			below++
		}
	}
	t.Logf("%d of %d arenas are not the smallest, %d are below the sum of storages", missed, nets, below)
	testenv.Check(t, nets >= 100 && missed <= nets/50 && below >= nets/10,
		"arenas should be the smallest, and many of them below the sum of storages")
}

// TestPlaceLarger checks plans that brute force cannot reach, with aliases.
func TestPlaceLarger(t *testing.T) {
	r := rng{2}
	for range 150 {
		bufs := randomBufs(&r, 10+r.below(120), 4+r.below(60), 5000)
		for i := range bufs {
			j := r.below(len(bufs))
			if r.below(6) == 0 && j != i && bufs[j].AliasOf < 0 && !aliased(bufs, i) && bufs[j].Bytes >= bufs[i].Bytes {
				bufs[i].AliasOf = j // inside another one
				bufs[i].Delta = int64(r.next() % uint64(bufs[j].Bytes-bufs[i].Bytes+1))
			}
		}
		const opt = 1 << 18
		res := Place(bufs, opt)
		err := check(bufs, res)
		testenv.Require(t, err == nil, "%v\n%+v", err, bufs)
		again := Place(bufs, opt)
		testenv.Require(t, slices.Equal(res.Offsets, again.Offsets), "two calls, two plans")
		for i, b := range bufs {
			if b.AliasOf >= 0 && (res.Offsets[i] < res.Offsets[b.AliasOf] || res.Offsets[i]+
				b.Bytes > res.Offsets[b.AliasOf]+bufs[b.AliasOf].Bytes) {
				t.Fatalf("%v is not inside %v", b, bufs[b.AliasOf])
			}
		}
	}
}

func aliased(bufs []Buffer, i int) bool {
	return slices.ContainsFunc(bufs, func(b Buffer) bool { return b.AliasOf == i })
}

// TestPlaceChains: on chains, with and without scratch, the bound is reached.
func TestPlaceChains(t *testing.T) {
	for seed := range 200 {
		r := rng{uint64(seed)}
		bufs := []Buffer{}
		for i := range 2 + r.below(300) {
			bufs = append(bufs, Buffer{Bytes: int64(1 + r.below(100000)), First: i, Last: i + 1, AliasOf: -1})
			if r.below(3) == 0 {
				bufs = append(bufs, Buffer{Bytes: int64(1 + r.below(20000)), First: i, Last: i, AliasOf: -1})
			}
		}
		res := Place(bufs, DefaultBudget)
		testenv.OK(t, check(bufs, res))
		testenv.Check(t, res.Total == res.OverlapBound, "seed %d, %d buffers: %d, bound %d", seed, len(bufs),
			res.Total, res.OverlapBound)
	}
}

// TestPlaceNetworks: arenas of network-shaped programs stay within 1.02 of the
// bound.
func TestPlaceNetworks(t *testing.T) {
	for _, shape := range shapes {
		worst, reached, count := 1.0, 0, 60
		for seed := range count {
			n := makeNet(shape.build, seed)
			bufs := Buffers(n.nodes, n.values, identity(len(n.nodes)))
			res := Place(bufs, DefaultBudget)
			err := check(bufs, res)
			testenv.Require(t, err == nil, "%s seed %d: %v", shape.name, seed, err)
			if res.Total == res.OverlapBound {
				reached++
			}
			ratio := float64(res.Total) / float64(res.OverlapBound)
			worst = max(worst, ratio)
			testenv.Check(t, !(ratio > 1.02), "%s seed %d, %d buffers: %d, bound %d, ratio %.4f", shape.name, seed,
				len(bufs), res.Total, res.OverlapBound, ratio)
		}
		t.Logf("%-10s bound reached %d of %d, worst ratio %.4f", shape.name, reached, count, worst)
	}
}

func TestPlaceAliases(t *testing.T) {
	bufs := []Buffer{
		{Name: "concat", Bytes: 96, First: 4, Last: 5, AliasOf: -1},
		{Name: "left", Bytes: 48, First: 1, Last: 4, AliasOf: 0},
		{Name: "right", Bytes: 48, First: 3, Last: 4, AliasOf: 0, Delta: 48},
		{Name: "part of right", Bytes: 10, First: 6, Last: 7, AliasOf: 2, Delta: 5},
		{Name: "other", Bytes: 10, First: 7, Last: 7, AliasOf: -1},
		{Name: "later", Bytes: 200, First: 8, Last: 9, AliasOf: -1},
	}
	res := Place(bufs, DefaultBudget)
	testenv.OK(t, check(bufs, res))
	s := res.Storages[0]
	testenv.Check(t, s.First == 1 && s.Last == 7 && s.Bytes == 96, "storage of the concat: %+v", s)
	testenv.Check(t, res.LowerBound == 208 && res.Total == 208 && res.StorageOf[3] == 0, "%+v", res)
	// A view that ends behind its root.
	res = Place([]Buffer{{Bytes: 16, Last: 1, AliasOf: -1}, {Bytes: 4, Last: 3, AliasOf: 0, Delta: 30}}, DefaultBudget)
	testenv.Check(t, res.Total == 48, "%+v", res)
	if res := Place(nil, DefaultBudget); res.Total != 0 {
		t.Errorf("no buffers: %+v", res)
	}
}

// TestPlaceManyBuffers: what large models and hostile ones bring must end soon.
func TestPlaceManyBuffers(t *testing.T) {
	r := rng{5}
	chain, residual, dense := []Buffer{}, []Buffer{}, []Buffer{}
	for i := range 10000 {
		chain = append(chain, Buffer{Bytes: int64(1 + r.below(100000)), First: i, Last: i + 1, AliasOf: -1})
		residual = append(residual, Buffer{Bytes: int64(1 + r.below(100000)), First: i, Last: i + 1 + 3*(i&3/3),
			AliasOf: -1})
	}
	for range 7000 {
		first := r.below(6000)
		dense = append(dense, Buffer{Bytes: int64(1 + r.below(1000)), First: first, Last: first + 3000 +
			r.below(3000), AliasOf: -1})
	}
	for _, c := range []struct {
		name  string
		bufs  []Buffer
		ratio float64
	}{{"chain", chain, 1}, {"residual", residual, 1.02}, {"dense", dense, 1.05}} {
		res := Place(c.bufs, DefaultBudget)
		testenv.OK(t, check(c.bufs, res))
		ratio := float64(res.Total) / float64(res.OverlapBound)
		t.Logf("%s: ratio %.4f", c.name, ratio)
		testenv.Check(t, !(ratio > c.ratio), "%s: %d, bound %d, ratio %.4f", c.name, res.Total, res.OverlapBound,
			ratio)
	}
}
