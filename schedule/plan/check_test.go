// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
)

// block is bytes of a plan and the steps between which they are needed.
type block struct {
	root, buffer int
	off, end     int64
	first, last  int
}

// check verifies a plan whatever found it: alignments, aliases at their distances, nothing outside the arena, no
// byte of two storages that are needed at the same step, but where one may lie over the other, totals that are what
// they say.
func check(bufs []Buffer, res Result) error {
	most, err := needed(bufs, res)
	if err == nil && (res.LowerBound != most || res.Total < res.OverlapBound || res.OverlapBound > most ||
		res.Total%Align != 0) {
		return fmt.Errorf("total %d, bounds %d (%d wanted) and %d: not in order", res.Total, res.LowerBound, most,
			res.OverlapBound)
	}
	return err
}

// needed is the largest sum of the storages live at a step; an error says what the plan puts where it cannot be.
func needed(bufs []Buffer, res Result) (int64, error) {
	root := func(i int) int {
		for bufs[i].AliasOf >= 0 {
			i = bufs[i].AliasOf
		}
		return i
	}
	hulls, pieces := map[int]*block{}, map[int][]*block{} // by root
	for i, b := range bufs {
		off, r := res.Offsets[i], root(i)
		if off < 0 || off+b.Bytes > res.Total || b.AliasOf < 0 && off%Align != 0 ||
			b.AliasOf >= 0 && off != res.Offsets[b.AliasOf]+b.Delta {
			return 0, fmt.Errorf("%v cannot be at %d of %d", b, off, res.Total)
		}
		x := hulls[r]
		if x == nil {
			x = &block{r, i, res.Offsets[r], res.Offsets[r], b.First, b.Last}
			hulls[r] = x
		}
		x.end = max(x.end, off+b.Bytes)
		x.first, x.last = min(x.first, b.First), max(x.last, b.Last)
		for _, p := range b.Pieces {
			pieces[r] = append(pieces[r], &block{r, i, off + p.Off, off + p.End, p.First, p.Last})
		}
	}
	loads, needs := map[int]int64{}, map[int][]*block{} // by step
	for r, x := range hulls {
		for s := x.first; s <= x.last; s++ {
			loads[s] += roundUp(x.end - x.off)
		}
		if len(pieces[r]) == 0 {
			pieces[r] = []*block{x}
		}
		for _, y := range pieces[r] {
			for s := y.first; s <= y.last && y.end > y.off; s++ {
				needs[s] = append(needs[s], y)
			}
		}
	}
	for s, list := range needs {
		for _, x := range list {
			if x.first < s {
				continue // was compared at its first step
			}
			for _, y := range list {
				if x.root != y.root && x.off < y.end && y.off < x.end && !over(bufs, res, x, y) {
					return 0, fmt.Errorf("bytes %d to %d and %d to %d are needed together", x.off, x.end, y.off, y.end)
				}
			}
		}
	}
	most := int64(0)
	for _, n := range loads {
		most = max(most, n)
	}
	return most, nil
}

// over reports bytes that an output, at its first step, may have in common with others, which are needed no longer.
func over(bufs []Buffer, res Result, x, y *block) bool {
	inside := func(x *block, i int) bool {
		return roundDown(res.Offsets[i]) <= x.off && x.end <= roundUp(res.Offsets[i]+bufs[i].Bytes)
	}
	for i, b := range bufs {
		for _, o := range b.Over {
			if b.First == x.first && x.first == y.last && inside(x, i) && inside(y, o.In) &&
				res.Offsets[i]+o.Ahead <= res.Offsets[o.In] {
				return true
			}
		}
	}
	return false
}

// peakOf is the bytes that are live at the busiest step of an order, as Order counts them; an error
// where the order does not run every node once, after what it needs.
func peakOf(nodes []Node, values []Value, order []int) (int64, error) {
	p, done := newProgram(nodes, values), newSet(len(nodes))
	if len(order) != len(nodes) {
		return 0, fmt.Errorf("%d steps for %d nodes", len(order), len(nodes))
	}
	for _, i := range order {
		if done.has(int32(i)) || slices.ContainsFunc(p.prev[i], func(j int32) bool { return !done.has(j) }) {
			return 0, fmt.Errorf("node %d runs twice, or too early", i)
		}
		done.add(int32(i))
	}
	return p.peak(order), nil
}
