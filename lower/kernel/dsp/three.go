// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"fmt"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// three is a depthwise layer for nncc_dsp_depthwise_3x3_s8.
type three struct {
	stride int
	relu   bool // no negative sum survives the clamp
	words  []int32
	group  int // words of four channels
}

// three is nil where the layer is no work for the kernel.
func (c *convolution) three(n *kernel.Node) *three {
	size, dense, s := quantised.Tile{H: 3, W: 3}, quantised.Tile{H: 1, W: 1}, c.Stride.W
	if !n.Core.DSP || n.Generic || c.Kernel != size || c.Dilation != dense || c.Stride.H != s || s > 2 ||
		c.G.COut != c.G.CIn || c.G.CIn < 4 || c.Out.W < 2 {
		return nil
	}
	t := &three{stride: s, relu: c.l.Params.ActMin >= c.l.Params.OutOff}
	for first := range fours(c.G.CIn) {
		before := len(t.words)
		for i := first; i < first+4; i++ {
			if !t.add(&c.l, i) {
				return nil
			}
		}
		t.group = len(t.words) - before
	}
	return t
}

// add packs a channel; false: its requantisation has no such form.
func (t *three) add(l *layer, i int) bool {
	x, why := l.channel(i, 0)
	if why != "" {
		return false
	}
	_, mult, shift := l.Channel(i)
	u, why := pack.UpperHalf(mult, shift, x.lo, x.hi, l.Params.OutOff)
	if why != "" {
		return false
	}
	// Inputs are 256 times as large, the weights make up the rest of the shift.
	pair := func(a, b int8) int32 {
		j := uint(u.K - 8)
		return int32(a)<<j&0xffff | int32(b)<<j<<16
	}
	w := x.row
	if t.stride == 1 {
		for k := range 3 {
			t.words = append(t.words, pair(w[k], w[3+k]), pair(w[3+k], w[6+k]))
		}
	} else {
		t.words = append(t.words, pair(w[0], w[3]), pair(w[1], w[4]), pair(w[2], w[5]), pair(w[6], w[7]), pair(w[8], 0))
	}
	t.words = append(t.words, int32(x.start<<uint(u.K)), u.M, u.C)
	if !t.relu {
		t.words = append(t.words, u.D)
	}
	return true
}

func (t *three) lower(c *convolution) *call.Lowered {
	inner := func(slot string) call.Func {
		name := fmt.Sprintf("nncc_dsp_depthwise_3x3_stride%d_%s", t.stride, slot)
		if t.relu {
			name += "_relu"
		}
		return call.Func(name + "_s8")
	}
	return own(&call.Lowered{Scratch: 32 * (t.stride*(c.Out.W-1) + 3), Unused: []int{1, 2}},
		call.Call{Func: "nncc_dsp_depthwise_3x3_s8",
			Args: []call.Arg{c.depthwiseParams(0, t.group), inner("even"), inner("odd"), i8In(0), packed(t.words),
				i8Out(0),
				scratch32(0)}})
}
