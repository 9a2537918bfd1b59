// SPDX-License-Identifier: Apache-2.0

package npu

import (
	"cmp"
	mathbits "math/bits"
	"slices"
)

// packer writes bits, the lowest bit of a byte first.
type packer struct {
	b []byte
	n int
}

func (p *packer) put(v, width int) {
	for i := range width {
		if p.n&7 == 0 {
			p.b = append(p.b, 0)
		}
		p.b[p.n>>3] |= byte(v>>i&1) << (p.n & 7)
		p.n++
	}
}

func (p *packer) all(v []int, width int) {
	for _, x := range v {
		p.put(x, width)
	}
}

const (
	sliceMost   = 1 << 15
	paletteMost = 32
	directMost  = 31
)

// number is what stands for a weight: its sign in the lowest bit.
func number(w int16) int {
	if w < 0 {
		return int(-w)<<1 | 1
	}
	return int(w) << 1
}

// coding is the numbers of a run of weights with a palette, and what they take.
type coding struct {
	palette
	slice
	values, runs []int
	cost         int
}

// numbers divides weights into numbers and the runs of zeros around them.
func numbers(w []int16, zeros bool) (values, runs []int) {
	run := 0
	for _, x := range w {
		if zeros && x == 0 {
			run++
			continue
		}
		values, runs = append(values, number(x)), append(runs, run)
		run = 0
	}
	return values, append(runs, run)
}

// choose fills a palette with the numbers that come most often, which then have the smallest codes.
func (c *coding) choose(size int) {
	var count [1 << 10]int
	for _, v := range c.values {
		count[v]++
	}
	var order []int
	for v, n := range count {
		if n > 0 {
			order = append(order, v)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(count[b], count[a]) })
	most := slices.Max(order)
	if c.entries = order[:min(size, len(order))]; len(c.entries) == 1 {
		c.entries = append(slices.Clone(c.entries), c.entries[0])
	}
	c.width = 2
	for _, v := range c.entries {
		c.width = max(c.width, mathbits.Len(uint(v)))
	}
	if rest := order[min(len(c.entries), len(order)):]; len(rest) > 0 {
		c.direct = min(slices.Min(rest), directMost)
	}
	if len(c.entries) == 0 {
		c.width = max(2, mathbits.Len(uint(most)))
	}
	index := map[int]int{}
	for i := len(c.entries) - 1; i >= 0; i-- {
		index[c.entries[i]] = i
	}
	out := make([]int, len(c.values))
	for i, v := range c.values {
		if k, ok := index[v]; ok {
			out[i] = k
		} else {
			out[i] = len(c.entries) + v - c.direct
		}
	}
	c.values = out
}

// histogram counts numbers.
func histogram(v []int) []int {
	h := make([]int, slices.Max(v)+1)
	for _, x := range v {
		h[x]++
	}
	return h
}

const never = 1 << 60

// prefixed is the bits of numbers with a division: pairs of a prefix, or at most two.
func prefixed(h []int, div int, trunc bool) (sum int) {
	for v, n := range h {
		q := v >> div
		b := q>>1*2 + 1 + q&1 + div
		if trunc {
			b = 1 + min(q, 1) + div
		}
		sum += b * n
	}
	return sum
}

// divide finds the division that takes the fewest bits.
func (c *coding) divide() {
	best, h, most := never, histogram(c.values), slices.Max(c.values)
	for div := range 6 {
		for _, trunc := range []bool{false, true} {
			if n := prefixed(h, div, trunc); n < best && (!trunc || most>>div <= 2) {
				best, c.div, c.trunc = n, div, trunc
			}
		}
	}
	wide := c.plainBits()
	if len(c.entries) == 0 && most < 1<<wide || most < len(c.entries) {
		if len(c.values)*wide < best {
			best, c.div, c.trunc = len(c.values)*wide, plain, false
		}
	}
	c.cost = best + len(c.entries)*c.width
	if c.zeroDiv = zerosApart; !c.zeros() {
		return
	}
	best = never
	for div := range 4 {
		n := 0
		for _, v := range c.runs {
			n += v>>div + 1 + div
		}
		if n < best {
			best, c.zeroDiv = n, div
		}
	}
	c.cost += best
}

func (c *coding) zeros() bool { return c.slice.zeros }

// EncodeWeights compresses weights, whose numbers are at most 511.
func EncodeWeights(w []int16) []byte {
	var best *coding
	for _, zeros := range []bool{false, true} {
		values, runs := numbers(w, zeros)
		if len(values) == 0 {
			continue
		}
		for _, size := range []int{0, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 28, paletteMost} {
			c := &coding{values: values, runs: runs}
			c.slice.zeros = zeros
			if c.choose(size); slices.Max(c.values) > 511 {
				continue
			}
			if c.divide(); best == nil || c.cost < best.cost {
				best = c
			}
		}
	}
	p := &packer{}
	if best != nil {
		best.write(p)
	}
	p.put(endOfPart, 3)
	for p.n&7 != 0 {
		p.put(1, 1)
	}
	for len(p.b)&15 != 0 {
		p.b = append(p.b, 0xFF)
	}
	return p.b
}

// write writes slices of up to 32768 numbers, of which the first one has the palette.
func (c *coding) write(p *packer) {
	fresh := true
	for at := 0; at < len(c.values); at += sliceMost {
		n := min(sliceMost, len(c.values)-at)
		p.put(c.zeroDiv, 3)
		p.put(n-1, 15)
		p.put(c.div, 3)
		p.put(int(flag(c.trunc, 0)), 1)
		p.put(int(flag(fresh, 0)), 1)
		if fresh {
			p.put(c.direct, 5)
			p.put(max(0, len(c.entries)-1), 5)
			p.put(c.width-2, 3)
			for _, v := range c.entries {
				p.put(v, c.width)
			}
		}
		s := c.slice
		s.n, s.fresh = n, fresh
		first := at
		if !fresh {
			first++ // the run behind a weight is the next one's
		}
		w, z := s.series(&c.palette)
		runs := c.runs
		if s.zeros {
			runs = c.runs[first : at+n+1]
		}
		emit(p, w, z, c.values[at:at+n], runs, s.zeros)
		fresh = false
	}
}

// symbols are prefixes of numbers in turn.
type symbols struct {
	g      *golomb
	values []int
	at     int // value
	left   int // of its prefix
	begun  bool
	done   []int // values whose prefixes are out
}

// next is the next symbol: of weights 0, 1 or 2 that goes on, of runs 0 or 1 that goes on.
func (s *symbols) next(pairs bool) int {
	if s.at >= len(s.values) {
		s.g.seen++
		return 0
	}
	v := s.values[s.at]
	if !s.begun {
		s.begun, s.left = true, v>>s.g.div
		if s.g.plain {
			s.left = 0
		}
	}
	step := 1
	if pairs {
		step = 2
	}
	if s.left >= step && !(pairs && s.g.trunc) {
		s.left -= step
		return step
	}
	code := s.left
	s.begun = false
	s.at++
	s.g.seen++
	s.done = append(s.done, v&(1<<s.g.div-1))
	return code
}

// chunk is as many symbols as come at once.
func (s *symbols) chunk(pairs bool) []int {
	out := make([]int, s.g.symbols)
	for i := range out {
		out[i] = s.next(pairs)
	}
	return out
}

// emit writes numbers and runs of zeros in the turns in which chunks reads them.
func emit(p *packer, w, z *golomb, values, runs []int, zeros bool) {
	a, b := &symbols{g: w, values: values}, &symbols{g: z, values: runs}
	for more := true; more; {
		ahead := 0
		if zeros {
			ahead = w.seen - z.seen
		}
		on, zeroOn := ahead < 8 && w.seen < w.n, ahead >= 0 && zeros && z.seen < z.n
		lastW, lastZ := a.done, b.done
		a.done, b.done = nil, nil
		var codes []int
		if on {
			if codes = a.chunk(true); w.plain {
				codes = nil
			}
		}
		for _, c := range codes {
			p.put(min(c, 1), 1)
		}
		if zeroOn {
			p.all(b.chunk(false), 1)
		}
		for _, c := range codes {
			p.put(c-1, min(c, 1))
		}
		p.all(lastW, w.div)
		p.all(lastZ, z.div)
		more = on || zeroOn
	}
}
