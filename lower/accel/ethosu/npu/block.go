// SPDX-License-Identifier: Apache-2.0

package npu

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// deepUnit is what parts of a result's channels are a multiple of.
const deepUnit = 16

// Channel is what becomes of the sums of one channel: bias, scale, shift.
type Channel struct {
	Bias  int64
	Scale uint32
	Shift int
}

// Pack compresses the weights of an operation, [out][y][x][in], for every core, by its blocks.
func (o *Op) Pack(c *Config, w []int16) [][]byte {
	o.Cores = c.Cores
	k, in := &o.Window, o.depth()
	var out [][]byte
	for core := range min(o.Cores, o.OFM.C) {
		var list []int16
		o.order(c, core).visit(func(oc, y, x, i int) {
			v := int16(0)
			if oc >= 0 {
				v = w[((oc*o.Cores+core)*k.H+y)*k.W*in+x*in+i]
			}
			list = append(list, v)
		})
		out = append(out, c.encode(list))
	}
	return out
}

// encode is EncodeWeights, once for each list where the configuration keeps them.
func (c *Config) encode(list []int16) []byte {
	if c.encoded == nil {
		return EncodeWeights(list)
	}
	var text []byte
	for _, w := range list {
		text = binary.LittleEndian.AppendUint16(text, uint16(w))
	}
	k := sha256.Sum256(text)
	b, ok := c.encoded.Load(k)
	if !ok {
		b = EncodeWeights(list)
		c.encoded.Store(k, b)
	}
	return b.([]byte)
}

// PackScales is biases and scales for every core.
func PackScales(c *Config, channels []Channel) [][]byte {
	var out [][]byte
	for core := range min(c.Cores, len(channels)) {
		var b []byte
		for i := core; i < len(channels); i += c.Cores {
			x := channels[i]
			b = binary.LittleEndian.AppendUint64(b, uint64(x.Bias)&(1<<40-1)|uint64(x.Scale)<<40)
			b = append(b, byte(x.Scale>>24), byte(x.Shift))
		}
		for len(b)%16 != 0 {
			b = append(b, 0)
		}
		out = append(out, b)
	}
	return out
}

// sides are the smallest blocks for every number of blocks along a dimension.
func sides(n, unit, most int) []int {
	var out []int
	for b := unit; b <= most; b += unit {
		if k := cut(n, b); len(out) == 0 || k < cut(n, out[len(out)-1]) {
			out = append(out, b)
		}
		if b >= n {
			break
		}
	}
	return out
}

// Choose gives an operation the blocks with which it takes the fewest cycles; false: none fits.
func (o *Op) Choose(c *Config, weightBytes float64) bool {
	best, found := *o, false
	least := math.Inf(1)
	x := *o
	x.Cores, x.Window.PartFirst = c.Cores, o.Kind == Conv && o.partFirst()
	for _, h := range sides(o.OFM.H, c.Unit.H, blockMost.H) {
		for _, w := range sides(o.OFM.W, c.Unit.W, blockMost.W) {
			for d := c.Unit.C; d <= blockMost.C; d += c.Unit.C {
				if d < o.OFM.C && d%deepUnit != 0 {
					continue
				}
				if x.Block = (Block{h, w, d}); x.Arrange(c) {
					e, _ := c.estimate(&group{Op: &x, parts: 1, weightBytes: weightBytes}, 0)
					if n := e.Cycles + c.cycles(&x)/1024; n < least { // of equal ones that with the fewest of its own
						best, least, found = x, n, true
					}
				}
				if d >= o.OFM.C {
					break
				}
			}
		}
	}
	*o = best
	return found
}

// partFirst says that multipliers are busier with a part of a kernel at a time than with channels.
func (o *Op) partFirst() bool {
	deep, taps, n := 32, 4, o.Window.H*o.Window.W
	if o.IFM.Bits == 16 {
		deep, taps = 16, 2
	}
	return o.IFM.C <= inUnit || n*up(o.IFM.C, deep) > up(o.IFM.C, inUnit)*up(n, taps)
}

// Arrange divides the shared memory for the blocks that it has; false: they do not fit.
func (o *Op) Arrange(c *Config) bool {
	l := o.layout(c)
	o.IB2 = outBanks + l.in
	o.IBEnd = o.IB2 + l.second
	if o.ABStart = l.last - l.acc; o.Kind == Elementwise {
		o.ABStart = l.last
	}
	return l.check(o, c) == nil
}
