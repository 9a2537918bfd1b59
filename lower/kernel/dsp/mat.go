// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// layer is a product of weights with constant bias, inputs in the order in which
// the kernel reads them.
type layer struct{ quantised.Layer }

// clamp is the activation as the kernels take it.
type clamp struct {
	low, cap uint32 // in each byte
	positive bool   // no sum below the zero point survives the clamp
}

func clampOf(p *op.MACParams) clamp {
	c := clamp{low: uint32(uint8(p.ActMin)) * 0x01010101, cap: uint32(255-(p.ActMax-p.ActMin)) * 0x01010101}
	c.positive = c.cap == 0 && p.OutOff == p.ActMin
	return c
}

func (c clamp) fields() []call.Field {
	return append([]call.Field{call.FT("positive", quantised.Flag(c.positive))}, c.bounds()...)
}

func (c clamp) bounds() []call.Field {
	return []call.Field{word("low", c.low), word("cap", c.cap)}
}

func word(name string, v uint32) call.Field {
	return call.F(name, call.Trained(fmt.Sprintf("%du", v)))
}

// scaled is an output channel ready for a kernel: the start value of its sum
// and its requantisation, with the output relative to base.
type scaled struct {
	start  int64
	lo, hi int64 // what the sum can reach
	s      pack.Scale
	floor  pack.Floor // in relu form
	row    []int8
	real   bool // false: fills up the last four
}

// channel folds and scales channel c; base is what outputs are counted from.
func (l *layer) channel(c int, base int32) (scaled, string) {
	bias, mult, shift := l.Channel(c)
	x := scaled{start: pack.Bias(l.Rows[c], l.Params.InOff, bias), row: l.Rows[c], real: true}
	lo, hi := pack.Reach(x.row)
	x.lo, x.hi = lo+x.start, hi+x.start
	if x.start < math.MinInt32 || x.start > math.MaxInt32 {
		return x, fmt.Sprintf("channel %d: the bias with the input's zero point is %d, beyond 32 bits", c, x.start)
	}
	var why string
	x.s, why = pack.OneMultiply(mult, shift, x.lo, x.hi, l.Params.OutOff-base)
	if why != "" {
		return x, fmt.Sprintf("channel %d: %s", c, why)
	}
	return x, ""
}

// oddLimit: narrow sums of odd channels are differences divided by 256.
const oddLimit = 1 << 23

// proven are the channels of a layer by fours, and the form of weights that the
// kernels nncc_dsp_matmul_* give exact results with.
type proven struct {
	groups  [][][]scaled // of every group of channels
	form    form
	up      uint    // inputs are 2^up times as large, and from 0 on where that is not 1
	relu    *proven // the same channels for a kernel that takes less; nil: there is none
	options *kernel.Options
}

// prove scales all channels: order gives the input of every half word, -1 for
// none, two a pair. Narrow weights take half the flash; where a sum or a pair of
// weights does not fit, all are wide.
func (l *layer) prove(o *kernel.Options, groups int, order []int, f form) (*proven, string) {
	p := &proven{form: f, options: o}
	per := len(l.Rows) / groups
	for k := range groups {
		fours, why := p.fours(l, k*per, per, order)
		if why != "" {
			return nil, why
		}
		p.groups = append(p.groups, fours)
	}
	p.relu = p.floors(l)
	return p, ""
}

// fours are n channels from one on; an odd rest comes first.
func (p *proven) fours(l *layer, from, n int, order []int) ([][]scaled, string) {
	var out [][]scaled
	for first := 0; first < n; {
		g := make([]scaled, 4)
		for i := range g {
			if first+i >= n {
				continue
			}
			var why string
			if g[i], why = l.channel(from+first+i, l.Params.ActMin); why != "" {
				return nil, why
			}
		}
		if p.form == narrow && !(share(&g[0], &g[1]) && share(&g[2], &g[3])) {
			p.form = wide
		}
		for i := range g {
			if why := g[i].fits(p.form, i, order); why != "" {
				return nil, fmt.Sprintf("channel %d: %s", from+first+i, why)
			}
		}
		out = append(out, g)
		if first == 0 && n%4 != 0 {
			if first = n % 4; n < 4 {
				break
			}
		} else {
			first += 4
		}
	}
	return out, ""
}

// fits says why the channel cannot be number i of four in a form.
func (c *scaled) fits(f form, i int, order []int) string {
	switch f {
	case plain:
		return c.bytes(order)
	case plainNibbles:
		return c.reach()
	case nibbles:
		return c.field(i)
	}
	return ""
}

// reach says why the channel's sums cannot be scaled by parts of 16 bits.
func (c *scaled) reach() string {
	if c.lo < -1<<29 || c.hi >= 1<<29 {
		return fmt.Sprintf("sums reach from %d to %d, want 30 bits", c.lo, c.hi)
	}
	return ""
}

// field says why the channel cannot be number i of four whose weights share half a
// word: its sum comes out 16^i times as large.
func (c *scaled) field(i int) string {
	if most := int64(1) << (31 - 4*i); c.lo < -most || c.hi >= most {
		return fmt.Sprintf("sums reach from %d to %d, want %d bits", c.lo, c.hi, 32-4*i)
	}
	return ""
}

// bytes says why the channel's weights cannot be multiplied two inputs at a
// time in 32 bits, as the Thumb-1 kernel does.
func (c *scaled) bytes(order []int) string {
	if why := c.reach(); why != "" {
		return why
	}
	for k := 0; k+1 < len(order); k += 2 {
		if at(c, order[k]) == math.MinInt8 && at(c, order[k+1]) == math.MinInt8 {
			return "two weights in a row are -128, their products do not fit 16 bits"
		}
	}
	return ""
}

// share reports whether two channels can share words: the second sum in 24
// bits, 256*w1 + w0 in 16.
func share(even, odd *scaled) bool {
	if odd.lo < -oddLimit || odd.hi >= oddLimit {
		return false
	}
	for k, w := range odd.row {
		if w == math.MinInt8 && even.row[k] < 0 {
			return false
		}
	}
	return true
}

// pack are the words of all weights, and how many of them four channels have.
func (p *proven) pack(order []int) (words []int32, group int) {
	for _, fours := range p.groups {
		before := len(words)
		for i := range fours {
			words = p.append(words, fours[i], order)
		}
		group = (len(words) - before) / len(fours)
	}
	return words, group
}

// append packs four channels, or, narrow, any even number: start values, weights, scales.
func (p *proven) append(words []int32, g []scaled, order []int) []int32 {
	if p.form == relu {
		return p.appendRelu(words, g, order)
	}
	below := int64(0) // start values of the fields below
	for i := range g {
		v := g[i].start
		switch {
		case p.form == wide:
			v *= 2
		case p.form == narrow && i%2 == 1:
			v = 256*v + g[i-1].start
		case p.form == nibbles:
			v = v<<(4*i) + below
			below = v
		}
		words = append(words, int32(v))
	}
	words = p.weights(words, g, order)
	for i := range g {
		words = append(words, g[i].s.M, g[i].s.C, g[i].s.S)
	}
	return words
}

// weights packs those of the channels.
func (p *proven) weights(words []int32, g []scaled, order []int) []int32 {
	for k := 0; k < len(order); k++ {
		switch {
		case p.form == plain:
			words = append(words, byteWord(g, order[k]))
		case k%2 == 1: // with the input before it
		case p.form == plainNibbles:
			words = append(words, nibblesWord(g, order[k:]))
		case p.form == nibbles:
			words = append(words, foursHalf(g, order[k])|foursHalf(g, order[k+1])<<16)
		case p.form == wide:
			for i := range g {
				words = append(words, 2*at(&g[i], order[k])&0xffff|2*at(&g[i], order[k+1])<<16)
			}
		default:
			for i := 0; i < len(g); i += 2 {
				words = append(words, pairWord(&g[i], &g[i+1], order[k:]))
			}
		}
	}
	return words
}

// pairWord holds the weights of two channels for two inputs.
func pairWord(even, odd *scaled, order []int) int32 {
	half := func(k int) int32 { return 256*at(odd, k) + at(even, k) }
	return half(order[0])&0xffff | half(order[1])<<16
}

// foursHalf holds the weights of four channels for one input, those of the first
// three 8 larger.
func foursHalf(g []scaled, k int) int32 {
	return (at(&g[0], k) + 8 + (at(&g[1], k)+8)<<4 + (at(&g[2], k)+8)<<8 + at(&g[3], k)<<12) & 0xffff
}

// nibblesWord holds the weights of four channels for two inputs or the last one.
func nibblesWord(g []scaled, order []int) int32 {
	w := int32(0)
	for k, v := range order[:min(2, len(order))] {
		for i := range g {
			w |= at(&g[i], v) & 15 << (16*k + 4*i)
		}
	}
	return w
}

// byteWord holds the weights of four channels for one input.
func byteWord(g []scaled, k int) int32 {
	w := int32(0)
	for i := range g {
		w |= at(&g[i], k) & 0xff << (8 * i)
	}
	return w
}

func at(c *scaled, k int) int32 {
	if k < 0 || !c.real {
		return 0
	}
	return int32(c.row[k])
}

// runOrder is the order in which n bytes from at on are widened, two inputs a
// pair: see nncc_dsp_widen_2rows_s8.
func runOrder(at, n int) []int {
	var o []int
	for ; n >= 4; n, at = n-4, at+4 {
		o = append(o, at, at+2, at+1, at+3)
	}
	switch n {
	case 1:
		o = append(o, at, -1)
	case 2:
		o = append(o, at, at+1)
	case 3:
		o = append(o, at, at+2, at+1, -1)
	}
	return o
}

// bytesOrder is runOrder for nncc_plain_widen_2rows_s8.
func bytesOrder(at, n int) []int {
	var o []int
	for i := range n {
		o = append(o, at+i)
	}
	if n%2 == 1 {
		o = append(o, -1)
	}
	return o
}

// packedHint is what constant arrays of packed weights are called.
const packedHint = "packed"

// packed is the constant array of packed weights.
func packed(w []int32) *call.Blob {
	return &call.Blob{Hint: packedHint, CType: "int32_t", Data: pack.Words(w), Align: 4, NoCast: true}
}
