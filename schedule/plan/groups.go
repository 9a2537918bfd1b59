// SPDX-License-Identifier: Apache-2.0

package plan

// groups is the outcome of uniting buffers with their aliases.
type groups struct {
	storages []Storage
	of       []int   // per buffer: index in storages
	rel      []int64 // per buffer: distance from the start of its storage, >= 0
}

// makeGroups checks the buffers and unites aliases. Storages appear in the
// order of their root buffers.
func makeGroups(bufs []Buffer, align int64) (groups, error) {
	if err := wellFormed(bufs); err != nil {
		return groups{}, err
	}
	roots, err := resolve(len(bufs),
		func(i int) alias { return alias{bufs[i].AliasOf, bufs[i].Delta} },
		func(i int) string { return bufs[i].String() })
	if err != nil {
		return groups{}, err
	}
	g := groups{of: make([]int, len(bufs)), rel: make([]int64, len(bufs))}
	for i, b := range bufs {
		if roots[i].row == i {
			g.of[i] = len(g.storages)
			g.storages = append(g.storages, Storage{Root: i, Bytes: b.Bytes, Align: max(align, b.Align), First: b.First,
				Last: b.Last})
		}
	}
	// Unite; low is where a storage starts, relative to its root: 0 or, where a
	// member begins before the root, negative.
	low := make([]int64, len(g.storages))
	for i, b := range bufs {
		if roots[i].row == i {
			continue
		}
		k := g.of[roots[i].row]
		g.of[i] = k
		s := &g.storages[k]
		s.Align = max(s.Align, b.Align)
		s.First, s.Last = min(s.First, b.First), max(s.Last, b.Last)
		s.Bytes = max(s.Bytes, roots[i].delta+b.Bytes) // here still the end, relative to the root
		low[k] = min(low[k], roots[i].delta)
	}
	total := int64(0)
	for k := range g.storages {
		s := &g.storages[k]
		low[k] = roundDown(low[k], s.Align) // keeps the root aligned
		s.Bytes -= low[k]
		if total = addSat(total, addSat(s.Bytes, 2*s.Align)); total > maxTotal {
			return groups{}, errorf("the buffers need more than %d bytes together; %v brings the sum there",
				int64(maxTotal), bufs[s.Root])
		}
	}
	for i, b := range bufs {
		g.rel[i] = roots[i].delta - low[g.of[i]]
		if b.Align > 0 && roots[i].delta&(b.Align-1) != 0 {
			return groups{}, errorf("%v wants alignment %d but lies %d bytes from the start of %v, whose storage it "+
				"shares", b, b.Align, roots[i].delta, bufs[roots[i].row])
		}
	}
	return g, nil
}

func wellFormed(bufs []Buffer) error {
	for _, b := range bufs {
		switch {
		case b.Bytes < 0 || b.Bytes > maxTotal:
			return errorf("%v has %d bytes; wanted 0 to %d", b, b.Bytes, int64(maxTotal))
		case b.Last < b.First:
			return errorf("%v is live from step %d to step %d; the last must not be before the first", b,
				b.First, b.Last)
		case b.Align != 0 && (!isPow2(b.Align) || b.Align > maxAlign):
			return errorf("%v has alignment %d; wanted a power of two up to %d", b, b.Align, int64(maxAlign))
		}
	}
	return nil
}
