package dsp

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// depthwise is a depthwise convolution: 3x3 windows with stride 1 or 2 have a
// kernel of their own (three.go).
var depthwise = &kernel.Kernel{
	Name: "nncc_dsp_depthwise_s8", Library: Library, Doc: "int8 depthwise convolution, packed weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout, Lower: lowerDepthwise,
	Rules: join(noHelium("DSP-DW-00"), quantised.ConvRules("DSP-DW", true, quantised.ExceptHelium),
		kernel.Conv.Rule("DSP-DW-07", "at least two output channels", func(_ *kernel.Node, g *op.ConvGeom) string {
			if g.COut < 2 {
				return fmt.Sprintf("%d channels, want at least 2", g.COut)
			}
			return ""
		}),
		depthwiseExact("DSP-DW-08")),
}

// depthwiseExact is exact for kernels that take every channel by itself.
func depthwiseExact(code string) kernel.Rule {
	r := convOf.Rule(code, "every channel is requantised exactly by one multiplication", func(n *kernel.Node, c *convolution) string {
		for i := range c.l.Rows {
			x, why := c.l.channel(i, c.l.Params.ActMin)
			if why == "" && !n.Core.DSP {
				why = x.reach()
			}
			if why != "" {
				return why
			}
		}
		return ""
	})
	r.Proof = true
	return r
}

func lowerDepthwise(n *kernel.Node) *call.Lowered {
	c := convOf.Must(n)
	if n.Core.DSP && c.Kernel.H*c.Kernel.W == 1 {
		c = c.twice()
	}
	taps := c.Kernel.H * c.Kernel.W
	padBytes := max(4, (c.G.CIn+3)&^3)
	size, pack := 8*taps+padBytes, (*layer).taps
	if c.G.COut > c.G.CIn || c.G.CIn < 4 {
		size += padBytes
	}
	if c.G.CIn < 4 {
		size += taps*c.G.CIn + 3
	}
	inner := call.Func("nncc_dsp_depthwise_pixel_s8")
	if !n.Core.DSP {
		inner, pack = "nncc_plain_depthwise_pixel_s8", (*layer).plainTaps
	}
	if t := c.three(n); t != nil {
		return t.lower(c)
	}
	var w []int32
	group := 0
	times := c.G.COut / c.G.CIn
	for k := range times {
		l := c.l.every(k, times, c.G.CIn)
		for at := range fours(c.G.CIn) {
			x := pack(l, at)
			w = append(w, x...)
			group = len(x)
		}
	}
	return own(&call.Lowered{Scratch: size, Unused: []int{1, 2}}, call.Call{Func: "nncc_dsp_depthwise_s8",
		Args: []call.Arg{c.depthwiseParams(padBytes, group), inner, i8In(0), packed(w), i8Out(0), scratch32(0)}})
}

// depthwiseParams is the nncc_dsp_depthwise_params of both kernels.
func (c *convolution) depthwiseParams(padBytes, group int) *call.Struct {
	f := fields("batches", c.G.N, "in_h", c.In.H, "in_w", c.In.W, "in_c", c.G.CIn, "channels", c.G.COut, "out_h", c.Out.H, "out_w", c.Out.W,
		"kernel_h", c.Kernel.H, "kernel_w", c.Kernel.W, "stride_h", c.Stride.H, "stride_w", c.Stride.W, "pad_h", c.Pad.H, "pad_w", c.Pad.W,
		"dil_h", c.Dilation.H, "dil_w", c.Dilation.W, "pad", -int(c.l.Params.InOff), "pad_bytes", padBytes, "group_words", group)
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
func (l *layer) four(first int, times int64) (g [4]scaled, head, tail []int32) {
	for i := range g {
		if first+i < len(l.Rows) {
			g[i], _ = l.channel(first+i, l.Params.ActMin) // proven
		}
		head = append(head, int32(times*g[i].start))
		tail = append(tail, g[i].s.M, g[i].s.C, g[i].s.S)
	}
	return g, head, tail
}

// taps packs four channels for nncc_dsp_depthwise_pixel_s8: an odd tap, then two at a time.
func (l *layer) taps(first int) []int32 {
	g, words, scale := l.four(first, 2)
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
func (c *convolution) twice() *convolution {
	inner := *c.Convolution
	x := convolution{&inner, c.l}
	x.Kernel.W, x.Dilation.W = 2, 0
	x.l.Rows = make([][]int8, len(c.l.Rows))
	for i, w := range c.l.Rows {
		x.l.Rows[i] = []int8{w[0], 0}
	}
	return &x
}

// plainTaps packs four channels for nncc_plain_depthwise_pixel_s8.
func (l *layer) plainTaps(first int) []int32 {
	g, words, scale := l.four(first, 1)
	for t := range g[0].row {
		words = append(words, byteWord(&g, t))
	}
	return append(words, scale...)
}
