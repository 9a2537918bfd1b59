package dsp

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel/pack"
)

// layer is a product of weights with constant bias: a matrix of rows
// (output channels), inputs in the order in which the kernel reads them.
type layer struct {
	rows [][]int8
	bias []int32
	p    *op.MACParams
}

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
	return append([]call.Field{call.FI("positive", flag(c.positive))}, c.bounds()...)
}

func (c clamp) bounds() []call.Field {
	return []call.Field{word("low", c.low), word("cap", c.cap)}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func word(name string, v uint32) call.Field {
	return call.F(name, call.Lit(fmt.Sprintf("%du", v)))
}

// scaled is an output channel ready for a kernel: the start value of its sum
// and its requantisation, with the output relative to base.
type scaled struct {
	start    int64
	lo, hi   int64 // what the sum can reach
	s        pack.Scale
	row      []int8
	existing bool
}

// channel folds and scales channel c; base is what outputs are counted from.
func (l *layer) channel(c int, base int32) (scaled, string) {
	var bias int32
	if len(l.bias) > 0 {
		bias = l.bias[c]
	}
	q := l.scale(c)
	x := scaled{start: pack.Bias(l.rows[c], l.p.InOff, bias), row: l.rows[c], existing: true}
	lo, hi := pack.Reach(x.row)
	x.lo, x.hi = lo+x.start, hi+x.start
	if x.start < math.MinInt32 || x.start > math.MaxInt32 {
		return x, fmt.Sprintf("channel %d: the bias with the input's zero point is %d, beyond 32 bits", c, x.start)
	}
	var why string
	x.s, why = pack.OneMultiply(l.p.Mult[q], l.p.Shift[q], x.lo, x.hi, l.p.OutOff-base)
	if why != "" {
		return x, fmt.Sprintf("channel %d: %s", c, why)
	}
	return x, ""
}

// scale is the index of channel c's multiplier and shift.
func (l *layer) scale(c int) int {
	if len(l.p.Mult) == 1 {
		return 0
	}
	return c
}

// oddLimit: narrow sums of odd channels are differences divided by 256.
const oddLimit = 1 << 23

// matrix are packed weights and the kernel that takes them.
type matrix struct {
	words []int32
	form  form
	group int // words of four channels
}

// matrix packs the rows of the layer for nncc_dsp_matmul_*: order gives the input
// of every half word, -1 for none, two a pair. Narrow weights take half the
// flash; where a sum or a pair of weights does not fit, they are wide.
func (l *layer) matrix(order []int, f form) (matrix, string) {
	var groups [][4]scaled
	m := matrix{form: f}
	n := len(l.rows)
	for first := 0; first < n; {
		var g [4]scaled
		for i := range g {
			if first+i >= n {
				continue
			}
			var why string
			if g[i], why = l.channel(first+i, l.p.ActMin); why != "" {
				return m, why
			}
		}
		if f == narrow && !(share(&g[0], &g[1]) && share(&g[2], &g[3])) {
			m.form = wide
		}
		for i := range g {
			if why := g[i].bytes(order); f == plain && why != "" {
				return m, fmt.Sprintf("channel %d: %s", first+i, why)
			}
		}
		groups = append(groups, g)
		if first == 0 && n%4 != 0 {
			first = n % 4
			if n < 4 {
				break
			}
		} else {
			first += 4
		}
	}
	m.pack(groups, order)
	return m, ""
}

// reach says why the channel's sums cannot be scaled by parts of 16 bits.
func (c *scaled) reach() string {
	if c.lo < -1<<29 || c.hi >= 1<<29 {
		return fmt.Sprintf("sums reach from %d to %d, want 30 bits", c.lo, c.hi)
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

func (m *matrix) pack(groups [][4]scaled, order []int) {
	for _, g := range groups {
		for i := range g {
			v := g[i].start
			switch {
			case m.form == wide:
				v *= 2
			case m.form == narrow && i%2 == 1:
				v = 256*v + g[i-1].start
			}
			m.words = append(m.words, int32(v))
		}
		for k := 0; k < len(order); k++ {
			switch {
			case m.form == plain:
				m.words = append(m.words, byteWord(&g, order[k]))
			case k%2 == 1: // with the input before it
			case m.form == wide:
				for i := range g {
					m.words = append(m.words, 2*at(&g[i], order[k])&0xffff|2*at(&g[i], order[k+1])<<16)
				}
			default:
				m.words = append(m.words, pairWord(&g[0], &g[1], order[k:]), pairWord(&g[2], &g[3], order[k:]))
			}
		}
		for i := range g {
			m.words = append(m.words, g[i].s.M, g[i].s.C, g[i].s.S)
		}
	}
	m.group = len(m.words) / len(groups)
}

// pairWord holds the weights of two channels for two inputs.
func pairWord(even, odd *scaled, order []int) int32 {
	half := func(k int) int32 { return 256*at(odd, k) + at(even, k) }
	return half(order[0])&0xffff | half(order[1])<<16
}

// byteWord holds the weights of four channels for one input.
func byteWord(g *[4]scaled, k int) int32 {
	w := int32(0)
	for i := range g {
		w |= at(&g[i], k) & 0xff << (8 * i)
	}
	return w
}

func at(c *scaled, k int) int32 {
	if k < 0 || !c.existing {
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

// packed is the constant array of packed weights.
func packed(w []int32) *call.Blob {
	return &call.Blob{Hint: "packed", CType: "int32_t", Data: pack.Words(w), Align: 4, NoCast: true}
}
