// SPDX-License-Identifier: Apache-2.0

package plan

// check verifies a plan whatever found it: alignments, aliases at their distances, nothing outside the arena, no
// byte of two storages that are live at the same step, totals that are what they say.
func check(bufs []Buffer, opt Options, res Result) error {
	opt, err := opt.resolved()
	if err != nil {
		return err
	}
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
		off, align := res.Offsets[i], b.Align
		if b.AliasOf < 0 {
			align = max(align, opt.Align)
		}
		if off < 0 || off+b.Bytes > res.Total || align > 0 && off%align != 0 ||
			b.AliasOf >= 0 && off != res.Offsets[b.AliasOf]+b.Delta {
			return errorf("%v cannot be at %d of %d", b, off, res.Total)
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
			load += roundUp(x.end-x.off, opt.Align)
			if x.first < s {
				continue // was compared at its first step
			}
			for _, y := range list {
				if x != y && x.off < y.end && y.off < x.end {
					return errorf("bytes %d to %d and %d to %d are live together", x.off, x.end, y.off, y.end)
				}
			}
		}
		most = max(most, load)
	}
	// A member before its root may cost padding that blocks do not know of.
	if res.LowerBound < most || res.Total < res.LowerBound || res.Total > res.NoReuse || res.Total%opt.Align != 0 {
		return errorf("total %d, lower bound %d (at least %d), without reuse %d: not in order", res.Total,
			res.LowerBound, most, res.NoReuse)
	}
	return nil
}

// peakOf is the bytes that are live at the busiest step of an order, as Order counts them.
func peakOf(nodes []Node, values []Value, order []int, opt Options) (int64, error) {
	opt, err := opt.resolved()
	if err != nil {
		return 0, err
	}
	p, err := newProgram(nodes, values, opt.Align)
	if err == nil {
		err = p.check(order)
	}
	if err != nil {
		return 0, err
	}
	return p.peak(order), nil
}
