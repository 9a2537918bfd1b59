// SPDX-License-Identifier: Apache-2.0

package npu

import (
	"fmt"
	mathbits "math/bits"
)

// bits reads a compressed stream, the lowest bit of a byte first.
type bits struct {
	b     []byte
	pos   int
	short bool
}

func (b *bits) take(n int) int {
	v := 0
	for i := range n {
		if b.pos>>3 >= len(b.b) {
			b.short = true
			return 0
		}
		v |= int(b.b[b.pos>>3]>>(b.pos&7)&1) << i
		b.pos++
	}
	return v
}

// modes of the numbers of a slice.
const (
	zerosApart = 6 // and below: runs of zeros between the weights
	endOfPart  = 7
	plain      = 7 // weights without a prefix
)

// palette is how the numbers of a slice become weights; slices keep it until one has another.
type palette struct {
	entries []int
	width   int // of the entries in bits
	direct  int // what numbers behind the entries begin with
	zeros   bool
}

func (p *palette) read(b *bits) {
	p.direct = b.take(5)
	n := b.take(5)
	if n > 0 {
		n++
	}
	p.width = b.take(3) + 2
	p.entries = p.entries[:0]
	for range n {
		p.entries = append(p.entries, b.take(p.width))
	}
}

// weight is a number's weight: its sign in the lowest bit.
func (p *palette) weight(n int) int16 {
	v := n - len(p.entries) + p.direct
	if n < len(p.entries) {
		v = p.entries[n]
	}
	if v&1 != 0 {
		return int16(-(v >> 1))
	}
	return int16(v >> 1)
}

// plainBits is the width of numbers without a prefix.
func (p *palette) plainBits() int {
	if len(p.entries) == 0 {
		return p.width
	}
	n := 0
	for 1<<n < len(p.entries) {
		n++
	}
	return n
}

// DecodeWeights expands a stream of weights; most is how many there may be.
func DecodeWeights(data []byte, most int) ([]int16, error) {
	b, p := &bits{b: data}, &palette{}
	var out []int16
	for first := true; ; {
		zdiv := b.take(3)
		for zdiv == endOfPart {
			b.pos = (b.pos + 7) &^ 7
			if first = true; b.pos>>3 >= len(data) {
				return out, nil
			}
			zdiv = b.take(3)
		}
		if b.pos>>3 >= len(data) || b.short {
			return nil, fmt.Errorf("cut short: %d bytes of weights without an end", len(data))
		}
		s := b.slice(zdiv)
		err := s.check(p, first)
		if err == nil {
			out, err = s.decode(b, p, out, most)
		}
		if err != nil {
			return nil, err
		}
		first = false
	}
}

// slice is how up to 32768 numbers are coded.
type slice struct {
	n, div, zeroDiv     int
	trunc, fresh, zeros bool
}

func (b *bits) slice(zeroDiv int) slice {
	return slice{n: b.take(15) + 1, div: b.take(3), trunc: b.take(1) == 1, fresh: b.take(1) == 1, zeroDiv: zeroDiv,
		zeros: zeroDiv != zerosApart}
}

func (s *slice) check(p *palette, first bool) error {
	switch {
	case s.zeroDiv > 3 && s.zeros:
		return fmt.Errorf("a slice of weights has runs of zeros of kind %d, want 0 to 3", s.zeroDiv)
	case first && !s.fresh:
		return fmt.Errorf("the first slice of weights has no palette")
	case !s.fresh && s.zeros != p.zeros:
		return fmt.Errorf("a slice of weights goes on with a palette for another kind of zeros")
	case s.div == 6:
		return fmt.Errorf("a slice of weights is divided by 2^6, want at most 2^5")
	}
	return nil
}

// series are the numbers of a slice, and the runs of zeros around them: one more where the palette is new.
func (s *slice) series(p *palette) (w, z *golomb) {
	w = &golomb{n: s.n, div: s.div, trunc: s.trunc, symbols: 12}
	if s.div == plain {
		if w.plain, w.div = true, p.plainBits(); w.div > 5 {
			w.symbols = 8
		}
	}
	z = &golomb{div: s.zeroDiv, symbols: 12}
	if s.zeroDiv >= 3 {
		z.symbols = 8
	}
	if s.zeros {
		if z.n = s.n; s.fresh {
			z.n++
		}
	}
	return w, z
}

// decode appends the weights of a slice.
func (s *slice) decode(b *bits, p *palette, out []int16, most int) ([]int16, error) {
	if p.zeros = s.zeros; s.fresh {
		p.read(b)
	}
	w, z := s.series(p)
	chunks(b, w, z, s.zeros)
	if b.short {
		return nil, fmt.Errorf("cut short: a slice of %d weights in %d bytes", s.n, len(b.b))
	}
	lead := z.n - s.n // 1: zeros come first
	run := func(i int) {
		for k := 0; s.zeros && k < z.out[i] && len(out) <= most; k++ {
			out = append(out, 0)
		}
	}
	if lead == 1 {
		run(0)
	}
	for i, v := range w.out {
		if v > 511 {
			return nil, fmt.Errorf("weight %d is number %d, want at most 511", len(out), v)
		}
		if out = append(out, p.weight(v)); len(out) > most {
			return nil, fmt.Errorf("more than the %d weights that the operation has", most)
		}
		if s.zeros {
			run(i + lead)
		}
	}
	if len(out) > most {
		return nil, fmt.Errorf("more than the %d weights that the operation has", most)
	}
	return out, nil
}

// golomb is a series of numbers: prefixes in ones, and remainders of div bits one chunk later.
type golomb struct {
	n, div, symbols int
	trunc           bool // no prefix is above two
	plain           bool // there are no prefixes
	carry, seen     int
	prefixes        []int // of the last chunk
	out             []int
}

// prefix ends one, or adds to it.
func (g *golomb) prefix(code int, more bool) {
	if g.carry += code; !more {
		g.prefixes = append(g.prefixes, g.carry)
		g.carry = 0
		g.seen++
	}
}

// pairs are prefixes of one bit, and of a second one where that is set.
func (g *golomb) pairs(b *bits, low int) {
	high := b.take(mathbits.OnesCount(uint(low & (1<<g.symbols - 1))))
	for i := range g.symbols {
		code := low >> i & 1
		if code == 1 {
			code += high & 1
			high >>= 1
		}
		g.prefix(code, code == 2 && !g.trunc)
	}
}

func (g *golomb) remainders(b *bits, prefixes []int) {
	for _, q := range prefixes {
		if len(g.out) < g.n {
			g.out = append(g.out, q<<g.div+b.take(g.div))
		}
	}
}

// chunks reads weights and runs of zeros, which take turns so that neither runs ahead.
func chunks(b *bits, w, z *golomb, zeros bool) {
	for more := true; more && !b.short; {
		ahead := 0
		if zeros {
			ahead = w.seen - z.seen
		}
		on, zeroOn := ahead < 8 && w.seen < w.n, ahead >= 0 && zeros && z.seen < z.n
		lastW, lastZ := w.prefixes, z.prefixes
		w.prefixes, z.prefixes = nil, nil
		low := 0
		if on && !w.plain {
			low = b.take(12)
		}
		if zeroOn {
			ones := b.take(z.symbols)
			for i := range z.symbols {
				z.prefix(ones>>i&1, ones>>i&1 == 1)
			}
		}
		if on {
			w.pairs(b, low)
		}
		w.remainders(b, lastW)
		z.remainders(b, lastZ)
		more = on || zeroOn
	}
}

// order is how the weights of a core lie in its stream.
type order struct {
	out, in, kh, kw int // of the core's channels
	unit            int // channels of a result that are computed at once
	block           int // channels of a block
	depthwise       bool
	part            bool
	wide            bool // elements of 16 bits
	splitH, splitW  int
}

const inUnit = 8 // channels that are read at once

// visit gives the place of every weight of a stream in turn; negative for padding.
func (r *order) visit(put func(o, y, x, i int)) {
	deep, taps := 32, 4
	if r.part || r.wide {
		deep = 16
	}
	if r.wide && r.part {
		taps = 2
	}
	in := r.in
	if r.depthwise {
		in = 1
	}
	for ob := 0; ob < r.out; ob += r.block {
		for ib := 0; ib < in; ib += deep {
			depth := deep
			switch {
			case r.depthwise:
				depth = inUnit
			case r.part:
				depth = min(deep, r.in-ib)
			}
			for sy := 0; sy < r.kh; sy += r.splitH {
				for sx := 0; sx < r.kw; sx += r.splitW {
					s := piece{ob: ob, block: min(r.block, r.out-ob), ib: ib, depth: depth, y: sy, x: sx,
						h: min(r.kh-sy, r.splitH), w: min(r.kw-sx, r.splitW)}
					if s.taps = s.h * s.w; r.part || r.depthwise {
						s.taps = up(s.taps, taps)
					}
					r.piece(s, put)
				}
			}
		}
	}
}

// piece is a part of a kernel for a block of channels.
type piece struct{ ob, block, ib, depth, y, x, h, w, taps int }

func (r *order) piece(s piece, put func(o, y, x, i int)) {
	outer, inner := 1, s.depth
	if r.part {
		outer, inner = s.depth, 1
	}
	each := inUnit
	if r.depthwise {
		each = 1
	}
	for io := 0; io < outer; io += inUnit {
		for ou := 0; ou < s.block; ou += r.unit {
			for t := range s.taps {
				y, x := t/s.w, t%s.w
				for ii := 0; ii < inner; ii += inUnit {
					for oz := range r.unit {
						for iz := range each {
							o, i := s.ob+ou+oz, s.ib+io+ii+iz
							if i >= r.in || o >= r.out || y >= s.h {
								o = -1
							}
							put(o, s.y+y, s.x+x, i)
						}
					}
				}
			}
		}
	}
}

func up(n, to int) int { return (n + to - 1) / to * to }

func cut(n, by int) int { return (n + by - 1) / by }
