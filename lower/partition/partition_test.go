// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// random is a seeded DAG of n nodes.
func random(r *rand.Rand, n int) []Node {
	g := make([]Node, n)
	for i := range g {
		g[i].Accel = r.IntN(3) > 0
		g[i].Work = r.Int64N(1000)
		for p := 0; p < i; p++ {
			if r.IntN(4) == 0 || p == i-1 && r.IntN(2) == 0 {
				g[i].Preds = append(g[i].Preds, p)
			}
		}
	}
	return g
}

// acyclic is the definition of a valid cut, told otherwise than Convex does:
// with each segment drawn together into one node, the graph has no cycle.
func acyclic(g []Node, seg []int) bool {
	name := func(i int) int { // segments are -1, -2, ...
		if seg[i] == None {
			return i
		}
		return -1 - seg[i]
	}
	edges := map[[2]int]bool{}
	left := map[int]bool{}
	for i, n := range g {
		left[name(i)] = true
		for _, p := range n.Preds {
			if a, b := name(p), name(i); a != b {
				edges[[2]int{a, b}] = true
			}
		}
	}
	for len(left) > 0 {
		free := -1 << 30
		for v := range left {
			ok := true
			for e := range edges {
				ok = ok && (e[1] != v || !left[e[0]])
			}
			if ok {
				free = v
			}
		}
		if free == -1<<30 {
			return false
		}
		delete(left, free)
	}
	return true
}

// fewest tries every assignment of the accelerator's nodes to k segments.
func fewest(g []Node) int {
	var on []int
	for i, n := range g {
		if n.Accel {
			on = append(on, i)
		}
	}
	if len(on) == 0 {
		return 0
	}
	for k := 1; ; k++ {
		seg := make([]int, len(g))
		for i := range seg {
			seg[i] = None
		}
		var try func(j int) bool
		try = func(j int) bool {
			if j == len(on) {
				return acyclic(g, seg)
			}
			for s := 0; s < k; s++ {
				seg[on[j]] = s
				if try(j + 1) {
					return true
				}
			}
			return false
		}
		if try(0) {
			return k
		}
	}
}

// TestMinimalAgainstBruteForce: convex, complete and of the smallest number.
func TestMinimalAgainstBruteForce(t *testing.T) {
	for seed := uint64(0); seed < 300; seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		g := random(r, 2+r.IntN(8))
		seg, n := Cut(g, Options{})
		for i, s := range seg {
			testenv.Require(t, (s != None) == g[i].Accel && s < n, "seed %d: node %d is in segment %d of %d", seed, i,
				s, n)
		}
		testenv.Require(t, convex(g, seg) && acyclic(g, seg), "seed %d: not convex: %v in %+v", seed, seg, g)
		// Whatever else Convex accepts has no cycle either.
		for range 20 {
			other := make([]int, len(g))
			for i := range other {
				if other[i] = None; g[i].Accel {
					other[i] = r.IntN(3)
				}
			}
			testenv.Require(t, !convex(g, other) || acyclic(g, other), "seed %d: %v passes for convex in %+v", seed,
				other, g)
		}
		want := fewest(g)
		testenv.Require(t, n == want, "seed %d: %d segments, want %d", seed, n, want)
	}
}

// TestConvexOnLargeGraphs: validity where brute force cannot go.
func TestConvexOnLargeGraphs(t *testing.T) {
	for seed := uint64(0); seed < 50; seed++ {
		r := rand.New(rand.NewPCG(seed, 2))
		g := random(r, 200)
		seg, _ := Cut(g, Options{MinWork: r.Int64N(3000)})
		testenv.Require(t, convex(g, seg), "seed %d: not convex", seed)
	}
}

// TestGreedyWouldBeWrong: growing the first segment along everything that
// touches it closes a cycle through the CPU.
//
//	0 (MLA) -> 1 (CPU) -> 2 (MLA)
//	0 ------------------> 2
func TestGreedyWouldBeWrong(t *testing.T) {
	g := []Node{{Accel: true}, {Preds: []int{0}}, {Preds: []int{0, 1}, Accel: true}}
	testenv.Check(t, !convex(g, []int{0, None, 0}), "a segment around a CPU node passes for convex")
	seg, n := Cut(g, Options{})
	testenv.Check(t, n == 2 && seg[0] != seg[2], "segments %v", seg)
	// Two branches with a CPU node each share two segments, not four.
	g = []Node{
		{Accel: true}, {Preds: []int{0}}, {Preds: []int{1}, Accel: true},
		{Accel: true}, {Preds: []int{3}}, {Preds: []int{4}, Accel: true},
	}
	if seg, n := Cut(g, Options{}); n != 2 {
		t.Errorf("segments %v", seg)
	}
}

// TestIslands: a segment that is not worth its transfers goes to the CPU where
// that saves one; the only segment stays.
func TestIslands(t *testing.T) {
	g := []Node{{Accel: true, Work: 1000}, {Preds: []int{0}}, {Preds: []int{1}, Accel: true, Work: 3}}
	seg, n := Cut(g, Options{MinWork: 10})
	testenv.Check(t, n == 1 && seg[2] == None && seg[0] == 0, "segments %v", seg)
	if _, n := Cut(g, Options{MinWork: 2}); n != 2 {
		t.Errorf("%d segments, want 2", n)
	}
	if _, n := Cut([]Node{{Accel: true, Work: 1}}, Options{MinWork: 10}); n != 1 {
		t.Error("the only segment was dropped")
	}
}

// convex reports whether a cut is valid: no path leaves a segment and comes
// back, and the segments can run in the order of their numbers.
func convex(nodes []Node, segment []int) bool {
	// late[i] is the largest number of segments that must have ended before
	// node i, seen along any path.
	late := make([]int, len(nodes))
	for i, n := range nodes {
		for _, p := range n.Preds {
			k := late[p]
			if segment[p] != None && segment[p] != segment[i] {
				k = max(k, segment[p]+1)
			}
			late[i] = max(late[i], k)
		}
		if segment[i] != None {
			if late[i] > segment[i] {
				return false
			}
			late[i] = max(late[i], segment[i])
		}
	}
	return true
}
