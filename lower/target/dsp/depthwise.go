package dsp

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/target"
	"github.com/nncc/nncc/lower/target/cmsisnn"
)

// depthwise is a depthwise convolution without multiplier: 3x3 windows side by
// side have a kernel of their own.
var depthwise = &target.Kernel{
	Name: "nncc_dsp_depthwise_s8", Library: Library, Doc: "int8 depthwise convolution, packed weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: target.SpatialLayout, Lower: lowerDepthwise,
	Rules: join(noHelium("DSP-DW-00"), cmsisnn.ConvRules("DSP-DW", true),
		target.Rule{Code: "DSP-DW-07", Doc: "one output channel an input channel, at least four", Check: func(n *ir.Node, _ *target.Options) string {
			g, err := op.ConvGeometry(n)
			switch {
			case err != nil:
			case g.COut != g.CIn:
				return fmt.Sprintf("%d output channels from %d, want as many", g.COut, g.CIn)
			case g.CIn < 4:
				return fmt.Sprintf("%d channels, want at least 4", g.CIn)
			}
			return ""
		}},
		exact("DSP-DW-08", func(n *ir.Node, _ target.Core) string {
			c, why := convOf(n)
			if why != "" {
				return why
			}
			for i := range c.l.rows {
				if _, why := c.l.channel(i, c.l.p.ActMin); why != "" {
					return why
				}
			}
			return ""
		})),
}

// adjacent reports the geometry of nncc_dsp_depthwise_3x3_s8.
func (c *convolution) adjacent() bool {
	three, one := cmsisnn.Tile{H: 3, W: 3}, cmsisnn.Tile{H: 1, W: 1}
	return c.kernel == three && c.stride == one && c.dil == one
}

func lowerDepthwise(n *ir.Node, o *target.Options) (*target.Lowered, error) {
	c, why := convOf(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	taps := c.kernel.H * c.kernel.W
	fn, size, pack := "nncc_dsp_depthwise_s8", 8*taps+taps*c.g.CIn, (*layer).taps
	inner := []target.Arg{target.Func("nncc_dsp_taps_s8")}
	switch {
	case !o.Core.DSP:
		inner, pack = []target.Arg{target.Func("nncc_plain_taps_s8")}, (*layer).plainTaps
	case c.adjacent():
		fn, size, pack, inner = "nncc_dsp_depthwise_3x3_s8", 32*(c.out.W+2), (*layer).columns3, nil
	}
	var w []int32
	group := 0
	for at := range fours(c.g.CIn) {
		x, why := pack(&c.l, at)
		if why != "" {
			return nil, ir.Errf(n, "kernel", "%s", why)
		}
		w = append(w, x...)
		group = len(x)
	}
	f := fields("batches", c.g.N, "in_h", c.in.H, "in_w", c.in.W, "channels", c.g.CIn, "out_h", c.out.H, "out_w", c.out.W,
		"kernel_h", c.kernel.H, "kernel_w", c.kernel.W, "stride_h", c.stride.H, "stride_w", c.stride.W, "pad_h", c.pad.H, "pad_w", c.pad.W,
		"dil_h", c.dil.H, "dil_w", c.dil.W, "pad", -int(c.l.p.InOff), "group_words", group)
	f = append(f, clampOf(c.l.p).fields()...)
	args := append([]target.Arg{&target.Struct{Type: "nncc_dsp_depthwise_params", Fields: f}}, inner...)
	return own(&target.Lowered{Scratch: size, Unused: []int{1, 2}}, target.Call{Func: fn,
		Args: append(args, i8In(0), packed(w), i8Out(0), scratch32(0))}), nil
}

// fours are the first channels of the groups of four that cover n channels;
// the last two overlap where n is no multiple of 4.
func fours(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for c := 0; c < n; c += 4 {
			if !yield(min(c, n-4)) {
				return
			}
		}
	}
}

func halves(lo, hi int8) int32 { return 2*int32(lo)&0xffff | 2*int32(hi)<<16 }

// taps packs four channels for nncc_dsp_taps_s8.
func (l *layer) taps(first int) ([]int32, string) {
	var start, words, scale []int32
	for c := first; c < first+4; c++ {
		x, why := l.channel(c, l.p.ActMin)
		if why != "" {
			return nil, why
		}
		start = append(start, int32(2*x.start))
		scale = append(scale, x.s.M, x.s.C, x.s.S)
	}
	w := l.rows[first:]
	for t := range w[0] {
		words = append(words, halves(w[0][t], w[2][t]), halves(w[1][t], w[3][t]))
	}
	return append(append(start, words...), scale...), ""
}

// plainTaps packs four channels for nncc_plain_taps_s8.
func (l *layer) plainTaps(first int) ([]int32, string) {
	var start, words, scale []int32
	var g [4]scaled
	for i := range g {
		var why string
		if g[i], why = l.channel(first+i, l.p.ActMin); why != "" {
			return nil, why
		}
		start = append(start, int32(g[i].start))
		scale = append(scale, g[i].s.M, g[i].s.C, g[i].s.S)
	}
	for t := range g[0].row {
		words = append(words, byteWord(&g, t))
	}
	return append(append(start, words...), scale...), ""
}

// columns3 packs four channels for nncc_dsp_rows3_*_s8.
func (l *layer) columns3(first int) ([]int32, string) {
	var out []int32
	for c := first; c < first+4; c++ {
		x, why := l.channel(c, 0)
		if why != "" {
			return nil, why
		}
		w := l.rows[c]
		for k := range 3 {
			out = append(out, halves(w[k], w[3+k]), halves(w[3+k], w[6+k]))
		}
		out = append(out, int32(2*x.start), x.s.M, x.s.C, x.s.S)
	}
	return out, ""
}
