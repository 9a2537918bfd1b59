// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"slices"

	"github.com/nncc/nncc/ir/program"
)

// Gap is the first place in the arena where step k can have so many bytes more of
// memory of its own, whatever its size now is.
func Gap(p *program.Program, k, bytes int) int {
	type span struct{ at, end int }
	var busy []span
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if b.AliasOf < 0 && !b.Kept && b.First <= k && k <= b.Last && b.Bytes > 0 {
			busy = append(busy, span{b.Offset, b.Offset + max(b.Bytes, b.Span())})
		}
	}
	slices.SortFunc(busy, func(x, y span) int { return cmp.Compare(x.at, y.at) })
	at := 0
	for _, x := range busy {
		if at+bytes <= x.at {
			break
		}
		at = max(at, aligned(x.end))
	}
	return at
}

// liveAt are the bytes that are needed at step k.
func liveAt(p *program.Program, k int) int {
	n := 0
	for i := range p.Buffers {
		if b := &p.Buffers[i]; b.AliasOf < 0 && !b.Kept && b.First <= k && k <= b.Last {
			n += aligned(b.Bytes)
		}
	}
	return n
}

func aligned(n int) int { return (n + program.Align - 1) / program.Align * program.Align }

// Stage gives constants of a program copies in faster memory: those that are staged in
// memory of their own, before the first run; those that are fetched in the arena, which
// grows where it has no gap, before each step that reads them. Steps, orders and places
// of all else stay as they are.
func Stage(p *program.Program, staged, fetched []int) error {
	for _, i := range staged {
		c := &p.Consts[i]
		c.Staged, c.At = true, p.StagedBytes
		p.StagedBytes += aligned(c.Bytes())
	}
	for k, s := range p.Steps {
		for _, i := range s.Constants() {
			if !slices.Contains(fetched, i) {
				continue
			}
			n := p.Consts[i].Bytes()
			b := program.Buffer{Name: p.Consts[i].Hint + " of " + s.Name, Offset: Gap(p, k, n), Bytes: n, First: k,
				Last: k, AliasOf: -1}
			s.Fetches = append(s.Fetches, program.Fetch{Const: i, Buffer: len(p.Buffers)})
			p.Buffers = append(p.Buffers, b)
			p.ArenaBytes = max(p.ArenaBytes, aligned(b.Offset+n))
			p.LowerBound = max(p.LowerBound, liveAt(p, k))
		}
	}
	return p.Verify()
}
