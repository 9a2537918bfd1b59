// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// depthwise is a depthwise convolution: 3x3 windows with stride 1 or 2 have a
// kernel of their own (three.go).
var depthwise = &kernel.Kernel{
	Name: "nncc_dsp_depthwise_s8", Library: Library, Doc: "int8 depthwise convolution, packed weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout, Lower: lowerDepthwise,
	Was: "DSP-DW", Rules: kernel.All(cond.NoHelium, quantised.ConvRules(true, nil),
		kernel.Conv.Rule("TWO-CHANNELS", "at least two output channels", func(_ *kernel.Node, g *op.ConvGeom) string {
			return cond.If(g.COut < 2, "%d channels, want at least 2", g.COut)
		}),
		exact(provenChannels)),
}

// provenChannels are the channels of a depthwise convolution.
var provenChannels = kernel.FactFrom(convOf, func(n *kernel.Node, c *convolution) ([]scaled, string) {
	return c.l.provenTaps(n)
})

// provenTaps are the channels of a depthwise layer.
func (l *layer) provenTaps(n *kernel.Node) ([]scaled, string) {
	out := make([]scaled, len(l.Rows))
	for i := range out {
		var why string
		out[i], why = l.channel(i, l.Params.ActMin)
		if why == "" && !n.Core.DSP {
			why = out[i].reach()
		}
		if why != "" {
			return nil, why
		}
	}
	return out, ""
}

func lowerDepthwise(n *kernel.Node) *call.Lowered {
	c, channels := convOf.Must(n), provenChannels.Must(n)
	if l := c.wide(n); l != nil {
		return l
	}
	k := c.inRows()
	k.Pixels = 1
	l := &call.Lowered{Unused: []int{1, 2}, Overlap: k.Overlap(&c.Window)}
	return own(l, c.pixels(n, l, channels, c.Whole()))
}

// inRows is the walk of a depthwise layer over a row at a time, four channels after the other.
func (c *convolution) inRows() param.Walk {
	k := param.Walk{Images: c.G.N, From: c.G.CIn, To: c.G.COut, Rows: 1, Reads: param.Mixed}
	if c.G.COut == c.G.CIn {
		k.Last = param.Channelwise(c.G.CIn, 4)
	}
	return k
}

// pixels is the call for a phase that goes pixel by pixel.
func (c *convolution) pixels(n *kernel.Node, l *call.Lowered, channels []scaled, f *quantised.Phase) call.Call {
	if n.Core.DSP && c.Kernel.H*c.Kernel.W == 1 {
		c, channels = c.twice(channels)
	}
	taps := c.Kernel.H * c.Kernel.W
	padBytes := max(4, (c.G.CIn+3)&^3)
	size, pack := 8*taps+padBytes, packTaps
	if c.G.COut > c.G.CIn || c.G.CIn < 4 {
		size += padBytes
	}
	if c.G.CIn < 4 {
		size += taps*c.G.CIn + 3
	}
	inner := call.Func("nncc_dsp_depthwise_pixel_s8")
	if !n.Core.DSP {
		inner, pack = "nncc_plain_depthwise_pixel_s8", packPlainTaps
	}
	var w []int32
	group := 0
	times := c.G.COut / c.G.CIn
	for k := range times {
		var every []scaled // the outputs number k of all inputs
		for i := range c.G.CIn {
			every = append(every, channels[k+i*times])
		}
		for at := range fours(c.G.CIn) {
			x := pack(every[at:min(at+4, len(every))])
			w = append(w, x...)
			group = len(x)
		}
	}
	l.Scratch = max(l.Scratch, size)
	return call.Call{Func: "nncc_dsp_depthwise_s8", Args: []call.Arg{c.depthwiseParams(padBytes, group, f), inner,
		i8In(0), packed(w), call.Out{I: 0, Off: f.Offset, CType: "int8_t"}, scratch32(0)}}
}

// wide calls a kernel that rearranges inputs for several outputs; nil: pixel by
// pixel is less.
func (c *convolution) wide(n *kernel.Node) *call.Lowered {
	if t := c.three(n); t != nil {
		return t.lower(c)
	}
	least := c.pixelTotal()
	var lower func() *call.Lowered
	if s := c.sweep(n); s != nil {
		least, lower = s.total(), s.lower
	}
	if q := c.quads(n); q != nil {
		if e := q.estimate(); e < least {
			least, lower = e, q.lower
		}
		if f := q.few(); f != nil && f.estimate() < least {
			lower = f.lower
		}
	}
	if lower == nil {
		return nil
	}
	return lower()
}

// depthwiseParams is the nncc_dsp_depthwise_params.
func (c *convolution) depthwiseParams(padBytes, group int, to *quantised.Phase) *call.Struct {
	f := param.Fields(&param.DspDepthwise{Batches: c.G.N, InC: c.G.CIn, Channels: c.G.COut,
		Pad: call.T(-c.l.Params.InOff), PadBytes: padBytes, GroupWords: group, OutPitch: to.Pitch,
		OutRow: to.Row, OutImage: to.Image}, &c.Window)
	return &call.Struct{Type: "nncc_dsp_depthwise_params", Fields: append(f, clampOf(c.l.Params).bounds()...)}
}

// fours are the first channels of the groups of four that cover n channels;
// the last two overlap where n is no multiple of 4. The only one of fewer
// channels is filled up with nothing.
func fours(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for c := 0; c < n; c += 4 {
			if !yield(max(0, min(c, n-4))) {
				return
			}
		}
	}
}

func halves(lo, hi int8) int32 { return 2*int32(lo)&0xffff | 2*int32(hi)<<16 }

// four are channels ready for a kernel whose outputs count from the clamp's
// lower bound, nothing behind the last one; head are their start values,
// doubled or not, and tail their scales.
func four(channels []scaled, times int64) (g []scaled, head, tail []int32) {
	g = make([]scaled, 4)
	copy(g, channels)
	for i := range g {
		head = append(head, int32(times*g[i].start))
		tail = append(tail, g[i].s.M, g[i].s.C, g[i].s.S)
	}
	return g, head, tail
}

// packTaps packs four channels for nncc_dsp_depthwise_pixel_s8: an odd tap, then two at a time.
func packTaps(channels []scaled) []int32 {
	g, words, scale := four(channels, 2)
	w := func(i, t int) int8 { return int8(at(&g[i], t)) }
	n := len(g[0].row)
	if n%2 != 0 {
		words = append(words, halves(w(0, 0), w(2, 0)), halves(w(1, 0), w(3, 0)))
	}
	for t := n % 2; t < n; t += 2 {
		for i := range g {
			words = append(words, halves(w(i, t), w(i, t+1)))
		}
	}
	return append(words, scale...)
}

// twice has windows of one element as two at the same place, the second of
// which counts nothing.
func (c *convolution) twice(channels []scaled) (*convolution, []scaled) {
	inner := *c.Convolution
	inner.Kernel.W, inner.Dilation.W = 2, 0
	channels = slices.Clone(channels)
	for i := range channels {
		channels[i].row = []int8{channels[i].row[0], 0}
	}
	return &convolution{Convolution: &inner, l: c.l, bound: c.bound}, channels
}

// packPlainTaps packs four channels for nncc_plain_depthwise_pixel_s8.
func packPlainTaps(channels []scaled) []int32 {
	g, words, scale := four(channels, 1)
	for t := range g[0].row {
		words = append(words, byteWord(g, t))
	}
	return append(words, scale...)
}
