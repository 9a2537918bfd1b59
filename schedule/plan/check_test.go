// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
)

// check verifies a plan whatever found it: alignments, aliases at their distances, nothing outside the arena, no
// byte of two storages that are live at the same step, totals that are what they say.
func check(bufs []Buffer, res Result) error {
	root := func(i int) int {
		for bufs[i].AliasOf >= 0 {
			i = bufs[i].AliasOf
		}
		return i
	}
	type block struct {
		off, end    int64
		first, last int
	}
	blocks := map[int]*block{} // by root
	for i, b := range bufs {
		off := res.Offsets[i]
		if off < 0 || off+b.Bytes > res.Total || b.AliasOf < 0 && off%Align != 0 ||
			b.AliasOf >= 0 && off != res.Offsets[b.AliasOf]+b.Delta {
			return fmt.Errorf("%v cannot be at %d of %d", b, off, res.Total)
		}
		x := blocks[root(i)]
		if x == nil {
			x = &block{off, off, b.First, b.Last}
			blocks[root(i)] = x
		}
		if b.Bytes > 0 {
			if x.end == x.off {
				x.off = off
			}
			x.off, x.end = min(x.off, off), max(x.end, off+b.Bytes)
		}
		x.first, x.last = min(x.first, b.First), max(x.last, b.Last)
	}
	at := map[int][]*block{} // by step
	most := int64(0)
	for _, x := range blocks {
		for s := x.first; s <= x.last && x.end > x.off; s++ {
			at[s] = append(at[s], x)
		}
	}
	for s, list := range at {
		load := int64(0)
		for _, x := range list {
			load += roundUp(x.end - x.off)
			if x.first < s {
				continue // was compared at its first step
			}
			for _, y := range list {
				if x != y && x.off < y.end && y.off < x.end {
					return fmt.Errorf("bytes %d to %d and %d to %d are live together", x.off, x.end, y.off, y.end)
				}
			}
		}
		most = max(most, load)
	}
	if res.LowerBound < most || res.Total < res.LowerBound || res.Total%Align != 0 {
		return fmt.Errorf("total %d, lower bound %d (at least %d): not in order", res.Total, res.LowerBound, most)
	}
	return nil
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
