// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/pack"
)

// tile is a kernel of dot products: what it computes at a time, of which operands,
// with which steps behind the sums. Its name is made from it.
type tile struct {
	body    body
	vectors int  // of a row, or of a turn of the loop
	more    int  // resident: inputs behind the whole vectors of a row
	form    form // types of inputs and weights
	folded  bool // results are the upper halves of words (pack.Folded)
	relu    bool // nothing below the zero point survives
}

// body is the part of the input and of the weights that a tile has in registers.
type body uint8

const (
	oneRow   body = iota // a row by four channels
	fourRows             // four rows by a channel, with any shift
	fixed                // two rows by four channels, rows of so many vectors
	loop                 // two rows by four channels, so many vectors a turn
	resident             // two rows that stay in registers while the weights go by
)

var bodyNames = [...]string{"1row", "4rows", "k", "unroll", "kept_k"}

// String is the function's name.
func (t tile) String() string {
	s := "nncc_helium_matmul_" + bodyNames[t.body]
	if t.vectors > 0 {
		s += fmt.Sprint(t.vectors)
	}
	if t.more > 0 {
		s += fmt.Sprint("p", t.more)
	}
	return s + steps(t.folded, t.relu) + t.form.String()
}

// fn is the function as an argument.
func (t tile) fn() call.Func { return call.Func(t.String()) }

// steps are what names of kernels say of the steps behind the sums.
func steps(folded, relu bool) string {
	s := ""
	if folded {
		s = "_upper"
	}
	if relu {
		s += "_relu"
	}
	return s
}

// unrolled is the longest row in vectors that a tile takes without a loop.
const unrolled = 9

// fewest are the channels from which on four of them at a time take less than four rows.
const fewest = 4

// tile is that for rows of at least the given number of vectors and groups of so many
// channels, and how many vectors it wants; proven: the layer's requantisation
// folds. Generic tiles clamp anyhow, and longer rows than three vectors go through
// one loop, which takes at least six.
func (l *layer) tile(vectors, channels int, generic, proven bool) (t tile, want int) {
	t = tile{form: l.form, folded: proven, relu: proven && l.fromZero()}
	switch {
	case l.form == eights && (channels < fewest || l.left()):
		return tile{body: fourRows}, vectors
	case generic && vectors > 3:
		t.body, t.vectors, want = loop, 3, roundUp(max(vectors, 6), 3)
	case vectors <= unrolled:
		t.body, t.vectors, want = fixed, vectors, vectors
		t.relu = t.relu || !proven && !generic && l.form == eights && l.relu()
	default:
		t.body, t.vectors = loop, 5
		for _, n := range []int{4, 3} {
			if roundUp(vectors, n) < roundUp(vectors, t.vectors) {
				t.vectors = n
			}
		}
		want = roundUp(vectors, t.vectors)
	}
	return t, want
}

// residentVectors are those of the longest rows that tiles keep in registers.
const residentVectors = 5

// resident is the tile that keeps rows of inputs in registers while the weights of all
// channels go by, or else t: longer rows, few channels, scales that shift further,
// and clamps other than int16's and Relu's.
func (l *layer) resident(t tile, channels int, generic bool) tile {
	vectors, more := residentShape(len(l.Rows[0]))
	p := l.Params
	if l.form != sixteen || vectors > residentVectors || generic || channels < fewest || p.ActMax != math.MaxInt16 ||
		p.ActMin != math.MinInt16 && p.ActMin != 0 {
		return t
	}
	for c := range l.Rows {
		if mult, shift := l.Shifted16(c, 0); mult != 0 && shift > 16 {
			return t
		}
	}
	return tile{body: resident, vectors: vectors, more: more, form: sixteen, relu: p.ActMin == 0}
}

// weights packs the rows for a tile.
func (l *layer) weights(t tile, vectors int) []byte {
	switch {
	case t.folded:
		return l.records(vectors, l.foldedHead)
	case t.body == resident:
		return l.residentRecords(endless, 0)
	case t.body != fourRows:
		return l.records(vectors, l.head)
	}
	var b []byte
	for c := range l.Rows {
		start, mult, shift := l.channel(c)
		b = words(b, start, mult, max(shift, 0), min(shift, 0))
		for k := range vectors * vector {
			b = append(b, byte(l.weight(c, k)))
		}
	}
	return b
}

// records packs the rows in records of four channels and rows of the given number of
// vectors; head appends what stands in front of a record's weights.
func (l *layer) records(vectors int, head func(b []byte, first int) []byte) []byte {
	var b []byte
	for at := 0; at < len(l.Rows); at += 4 {
		first := record(at, len(l.Rows))
		b = head(b, first)
		for v := range vectors {
			b = l.vector(b, first, v*vector/l.bytes())
		}
	}
	return b
}

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

// folding is all that a folded requantisation of n channels depends on.
type folding struct {
	sums [vector]pack.Sum
	n    int
	zero int32
}

// found is a folded requantisation, or why there is none.
type found struct {
	f   *pack.Folded
	why string
}

// folded is the requantisation of n channels from one on, as far as there are
// so many.
func (l *layer) folded(first, n int) (*pack.Folded, string) {
	k := folding{n: max(0, min(n, len(l.Rows)-first)), zero: l.Params.OutOff}
	for i := range k.n {
		var start int32
		s := &k.sums[i]
		start, s.Mult, s.Shift = l.channel(first + i)
		s.Start = int64(start)
		s.Lo, s.Hi = pack.Reach(l.Rows[first+i])
	}
	x := kernel.Memo(l.options, k, func(k folding) found {
		f, why := pack.Fold(k.sums[:k.n], k.zero)
		return found{f, why}
	})
	return x.f, x.why
}

// foldedHead is head where upper has seen that four channels fold.
func (l *layer) foldedHead(b []byte, first int) []byte {
	f, _ := l.folded(first, 4)
	var bias, mult, below [4]int32
	for i, c := range f.Channels {
		bias[i], mult[i], below[i] = c.B, c.M, c.D
	}
	b = words(words(b, bias[:]...), mult[:]...)
	if !l.fromZero() {
		b = words(b, below[:]...)
	}
	return words(b, 1<<f.K, f.C, 0, 0)
}
