// SPDX-License-Identifier: Apache-2.0

package program

import (
	"cmp"
	"slices"
)

// stay is a value in its place while it is needed.
type stay struct {
	lifetime
	extent
	buffer int
}

// verifyShared: values that steps or the caller write share no byte while both
// are needed. A value written over one that its step reads last is the
// business of verifySteps.
func (p *Program) verifyShared(live []lifetime) error {
	var begin []*stay
	for b, l := range live {
		if e := p.extent(b); l.written(b) && e.bytes > 0 {
			begin = append(begin, &stay{l, e, b})
		}
	}
	slices.SortFunc(begin, func(a, b *stay) int { return cmp.Or(a.first-b.first, a.buffer-b.buffer) })
	end := slices.Clone(begin)
	slices.SortFunc(end, func(a, b *stay) int { return cmp.Or(a.last-b.last, a.first-b.first) })
	var now places
	for _, v := range begin {
		// At the same step w is read and v written: no conflict beyond what
		// verifySteps finds, unless the step writes both.
		for len(end) > 0 && (end[0].last < v.first || end[0].last == v.first && end[0].first < v.first) {
			now.remove(end[0])
			end = end[1:]
		}
		if w := now.meets(v); w != nil {
			return fault("%s at %d (steps %d to %d) and %s at %d (steps %d to %d) share bytes",
				p.name(w.buffer), w.at, w.first, w.last, p.name(v.buffer), v.at, v.first, v.last)
		}
		now.add(v)
	}
	return nil
}

// places are values that share no byte: those without gaps by address, and
// those in rows, which can lie between each other's.
type places struct{ solid, rows []*stay }

func byAddress(a, b *stay) int { return cmp.Or(a.at-b.at, a.buffer-b.buffer) }

func (p *places) list(v *stay) *[]*stay {
	if v.pitch > 0 {
		return &p.rows
	}
	return &p.solid
}

func (p *places) add(v *stay) {
	l := p.list(v)
	i, _ := slices.BinarySearchFunc(*l, v, byAddress)
	*l = slices.Insert(*l, i, v)
}

func (p *places) remove(v *stay) {
	l := p.list(v)
	if i, ok := slices.BinarySearchFunc(*l, v, byAddress); ok {
		*l = slices.Delete(*l, i, i+1)
	}
}

// meets is a value that has a byte in common with v, or nil.
func (p *places) meets(v *stay) *stay {
	i, _ := slices.BinarySearchFunc(p.solid, v, byAddress)
	if i > 0 && p.solid[i-1].meets(v.extent) { // those before it end before it begins
		return p.solid[i-1]
	}
	for ; i < len(p.solid) && p.solid[i].at < v.end(); i++ {
		if p.solid[i].meets(v.extent) {
			return p.solid[i]
		}
	}
	for _, w := range p.rows {
		if w.meets(v.extent) {
			return w
		}
	}
	return nil
}
