// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"math"

	"github.com/nncc/nncc/lower/kernel/pack"
)

// record is the place of four channels of n, the last ones again where n is no
// multiple of four.
func record(at, n int) int { return min(at, max(n-4, 0)) }

// full reports that nothing is clamped but by int8.
func (l *layer) full() bool {
	return l.form == eights && l.Params.ActMin == math.MinInt8 && l.Params.ActMax == math.MaxInt8
}

// upper reports that all results of groups of so many channels can be upper
// halves.
func (l *layer) upper(channels int) bool {
	if channels < 4 || !l.full() {
		return false
	}
	for first := 0; first < len(l.Rows); first += channels {
		for at := 0; at < channels; at += 4 {
			if _, why := l.folded(first+record(at, channels), 4); why != "" {
				return false
			}
		}
	}
	return true
}

// folded is the requantisation of n channels from one on, as far as there are
// so many.
func (l *layer) folded(first, n int) (*pack.Folded, string) {
	sums := make([]pack.Sum, 0, n)
	for c := first; c < min(first+n, len(l.Rows)); c++ {
		s := pack.Sum{}
		var start int32
		start, s.Mult, s.Shift = l.channel(c)
		s.Start = int64(start)
		s.Lo, s.Hi = pack.Reach(l.Rows[c])
		sums = append(sums, s)
	}
	return pack.Fold(sums, l.Params.OutOff)
}

// foldedHead is head where upper has seen that four channels fold.
func (l *layer) foldedHead(b []byte, first int) []byte {
	f, _ := l.folded(first, 4)
	var bias, mult, below [4]int32
	for i, c := range f.Channels {
		bias[i], mult[i], below[i] = c.B, c.M, c.D
	}
	b = words(words(b, bias[:]...), mult[:]...)
	if l.Params.OutOff != math.MinInt8 {
		b = words(b, below[:]...)
	}
	return words(b, 1<<f.K, f.C, 0, 0)
}
