// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"math"

	"github.com/nncc/nncc/lower/kernel/pack"
)

// upper is in the names of kernels whose results are the upper halves of words
// (pack.Folded).
const upper = "_upper"

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

// upperForm ends the names of the kernels.
func (l *layer) upperForm() string {
	if l.Params.OutOff == math.MinInt8 {
		return upper + "_relu_s8"
	}
	return upper + "_s8"
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

// upperRecords packs the rows for the kernels nncc_helium_matmul_k*_upper*
// (nncc_helium.h).
func (l *layer) upperRecords(vectors int) []byte {
	var b []byte
	n := len(l.Rows)
	for at := 0; at < n; at += 4 {
		first := record(at, n)
		f, _ := l.folded(first, 4) // upper has seen it
		b = l.upperHead(b, f)
		for v := range vectors {
			b = l.vector(b, first, v*vector)
		}
	}
	return b
}

// upperHead appends what stands in front of the weights.
func (l *layer) upperHead(b []byte, f *pack.Folded) []byte {
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
