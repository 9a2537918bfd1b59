// SPDX-License-Identifier: Apache-2.0

package npu

import "fmt"

// layout is how an operation divides a core's memory, in banks.
type layout struct {
	ifm             Block // read for one block of the result
	in, second, acc int
	last            int // bank behind those it may use
	accBits         int
}

// granule is the unit of a buffer.
func (c *Config) granule(bits int) int { return c.Granules[map[int]int{8: 0, 16: 1, 32: 2}[bits]] }

// inputDepth is how many channels of the input are read at once.
func (o *Op) inputDepth() int {
	switch {
	case o.Kind != Conv && o.Kind != Sum:
		return o.Block.C
	case o.IFM.Bits == 16:
		return up(min(o.IFM.C, 16), 4)
	case o.Window.PartFirst:
		return up(min(o.IFM.C, 16), inUnit)
	}
	return up(min(o.IFM.C, 32), inUnit)
}

// reach is how much of the input a block needs along one dimension.
func (o *Op) reach(block, stride, kernel, dilate, unit int) int {
	n := (block-1)*stride + min((kernel-1)*dilate+1, 8)
	switch o.Window.Upscale {
	case Nearest:
		n = cut(n+1, 2)
	case ZeroAfter:
		n = cut(n, 2)
	}
	return up(n, unit)
}

// layout follows from block, input and kernel.
func (o *Op) layout(c *Config) layout {
	k, b, l := o.Window, o.Block, layout{last: c.Banks - 2, accBits: 32}
	if o.Kind == Elementwise {
		k = Window{H: 1, W: 1, StrideX: 1, StrideY: 1, DilateX: 1, DilateY: 1}
	}
	if c.SharesTables() && o.Function != table {
		l.last = c.Banks
	}
	l.ifm = Block{o.reach(b.H, k.StrideY, k.H, k.DilateY, c.Unit.H), o.reach(b.W, k.StrideX, k.W, k.DilateX, c.Unit.W),
		o.inputDepth()}
	bytes := l.ifm.H * l.ifm.W * up(l.ifm.C*o.IFM.Bits/8, 8)
	l.in = up(2*cut(bytes, bankBytes), c.granule(o.IFM.Bits))
	if o.Kind == Elementwise {
		if o.TwoMaps() {
			l.second = l.in
		}
		return l
	}
	unit := c.Granules[3]
	if o.AccFormat == 1 {
		unit, l.accBits = c.Granules[4], 40
	}
	if o.OFM.H == 1 && k.H == 1 && c.Unit.H == 2 {
		b.H = 1 // units lie side by side
	}
	l.acc = up(2*cut(b.H*b.W*up(b.C, 8)*l.accBits/8, bankBytes), unit)
	return l
}

// check compares what is set with what the operation needs.
func (l layout) check(o *Op, c *Config) error {
	b, u := o.Block, c.Unit
	for _, d := range []struct {
		name       string
		n, unit, m int
	}{{"high", b.H, u.H, blockMost.H}, {"wide", b.W, u.W, blockMost.W}, {"deep", b.C, u.C, blockMost.C}} {
		if d.n%d.unit != 0 || d.n > d.m {
			return fmt.Errorf("blocks are %d %s, want a multiple of %d up to %d", d.n, d.name, d.unit, d.m)
		}
	}
	end := outBanks + l.in
	if o.TwoMaps() {
		if o.IB2 < end {
			return fmt.Errorf("the second input begins in bank %d, the first needs %d to %d", o.IB2, outBanks, end)
		}
		end = o.IB2 + l.second
	}
	switch {
	case end > o.IBEnd:
		return fmt.Errorf("a block reads %d×%d×%d elements, which need the banks up to %d; the input's end at %d",
			l.ifm.H, l.ifm.W, l.ifm.C, end, o.IBEnd)
	case o.IBEnd > o.ABStart:
		return fmt.Errorf("the input's banks end at %d, the sums begin at %d", o.IBEnd, o.ABStart)
	case o.ABStart+l.acc > l.last:
		return fmt.Errorf("sums of blocks of %d×%d×%d need %d banks from %d on, there are %d", b.H, b.W, b.C, l.acc,
			o.ABStart, l.last)
	}
	return nil
}
