// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"slices"

	"github.com/nncc/nncc/ir/call"
)

// cut lets a layer whose channels are packed by fours be computed in parts of its output
// channels. Each part gathers its inputs anew. A four that is not whole is the first one
// (nncc_dsp_channels).
func cut(l *call.Lowered, channels int) {
	fours := (channels + 3) / 4
	first := func(four int) int { return max(0, 4*(four-fours)+channels) }
	l.Cut = func(parts int) []call.CutCall {
		if parts < 1 || parts > fours {
			return nil
		}
		var list []call.CutCall
		for i := range parts {
			from, to := fours*i/parts, fours*(i+1)/parts
			some := first(to) - first(from)
			x := part(&l.Calls[0], first(from), some)
			weights(&x, func(b []byte) []byte { return b[len(b)/fours*from : len(b)/fours*to] })
			list = append(list, call.CutCall{Call: x, Channels: some})
		}
		return list
	}
}

// part is a call for some channels of a layer, with the weights of all.
func part(c *call.Call, from, channels int) call.Call {
	p := *c
	p.Args = slices.Clone(c.Args)
	for i, a := range p.Args {
		switch a := a.(type) {
		case *call.Struct:
			if _, ok := find(a.Fields, "out_c"); ok {
				p.Args[i] = partParams(a, channels)
			}
		case call.Out:
			a.Off += from
			p.Args[i] = a
		case call.In:
			if a.I != 0 { // what is added
				a.Off += from
				p.Args[i] = a
			}
		}
	}
	return p
}

// weights gives a call some of its packed weights.
func weights(c *call.Call, some func(all []byte) []byte) {
	for i, a := range c.Args {
		if b, ok := a.(*call.Blob); ok && b.Hint == packedHint {
			x := *b
			x.Data = some(b.Data)
			c.Args[i] = &x
		}
	}
}

// partParams are a layer's parameters with fewer output channels: results that wait for an
// addition lie side by side, others as far apart as before.
func partParams(s *call.Struct, channels int) *call.Struct {
	x := *s
	x.Fields = slices.Clone(s.Fields)
	at, _ := find(x.Fields, "out_c")
	x.Fields[at].Value = call.I32(channels)
	if at, ok := find(x.Fields, "out_pitch"); ok {
		if _, waits := x.Fields[at].Value.(call.Lit); waits {
			x.Fields[at].Value = call.I32(channels)
		}
	}
	return &x
}

func find(f []call.Field, name string) (int, bool) {
	i := slices.IndexFunc(f, func(x call.Field) bool { return x.Name == name })
	return i, i >= 0
}
