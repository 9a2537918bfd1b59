// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
)

// Check verifies a plan independently of how it was found: alignments, aliases
// at their distances, nothing outside the arena, no byte shared by storages
// that are live at the same step, and totals that are what they say. A nil
// error means that the plan holds.
func Check(bufs []Buffer, opt Options, res Result) error {
	opt, err := opt.resolved()
	if err != nil {
		return err
	}
	if len(res.Offsets) != len(bufs) {
		return errorf("%d offsets for %d buffers", len(res.Offsets), len(bufs))
	}
	type block struct {
		off, end    int64
		first, last int
	}
	root := func(i int) int {
		for bufs[i].AliasOf >= 0 {
			i = bufs[i].AliasOf
		}
		return i
	}
	blocks, seen := make([]block, len(bufs)), make([]bool, len(bufs)) // by root
	for i, b := range bufs {
		off, align := res.Offsets[i], b.Align
		if b.AliasOf < 0 {
			align = max(align, opt.Align)
		}
		switch {
		case off < 0 || off+b.Bytes > res.Total:
			return errorf("%v at %d to %d leaves the arena of %d bytes", b, off, off+b.Bytes, res.Total)
		case align > 0 && off%align != 0:
			return errorf("%v at %d is not aligned to %d", b, off, align)
		case b.AliasOf >= 0 && off != res.Offsets[b.AliasOf]+b.Delta:
			return errorf("%v at %d is not %d bytes from %v at %d", b, off, b.Delta, bufs[b.AliasOf],
				res.Offsets[b.AliasOf])
		}
		r := &blocks[root(i)]
		if !seen[root(i)] {
			seen[root(i)] = true
			r.first, r.last = b.First, b.Last
		}
		if r.end == r.off {
			r.off, r.end = off, off+b.Bytes
		} else if b.Bytes > 0 {
			r.off, r.end = min(r.off, off), max(r.end, off+b.Bytes)
		}
		r.first, r.last = min(r.first, b.First), max(r.last, b.Last)
	}
	blocks = slices.DeleteFunc(blocks, func(b block) bool { return b.end == b.off })
	slices.SortFunc(blocks, func(a, b block) int { return cmp.Compare(a.first, b.first) })
	var live []block
	most := int64(0)
	for _, b := range blocks {
		live = slices.DeleteFunc(live, func(l block) bool { return l.last < b.first })
		load := int64(0)
		for _, l := range live {
			if l.off < b.end && b.off < l.end {
				return errorf("bytes %d to %d (steps %d to %d) and %d to %d (steps %d to %d) are live together",
					b.off, b.end, b.first, b.last, l.off, l.end, l.first, l.last)
			}
			load += roundUp(l.end-l.off, opt.Align)
		}
		live = append(live, b)
		most = max(most, load+roundUp(b.end-b.off, opt.Align))
	}
	// A member before its root may cost padding that blocks does not know of,
	// so the bound can only be larger.
	if res.LowerBound < most || res.Total < res.LowerBound || res.Total > res.NoReuse || res.Total%opt.Align != 0 {
		return errorf("total %d, lower bound %d (at least %d), without reuse %d: not in order", res.Total,
			res.LowerBound, most, res.NoReuse)
	}
	return nil
}
