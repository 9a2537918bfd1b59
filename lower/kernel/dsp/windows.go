// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// sweep is how nncc_dsp_depthwise_window_s8 brings the input into scratch: two
// rows of the output at a time, whose windows share pairs of rows.
type sweep struct {
	c        *convolution
	phases   quantised.Tile // outputs so far apart read rows, or columns, that lie a dilation apart
	down     int            // rows of the window from an output to the one below it
	pairs    int            // words of a column
	span     int            // columns of the output at a time
	width    int            // columns of a residue by the dilation
	rounds   int            // of two words of a window
	channels []scaled
}

// mostWindowScratch is about how much scratch a depthwise layer may take.
const mostWindowScratch = 4096

// sweep is nil where the layer is no work for the kernel: windows of one row, a
// single row of outputs, or what the kernel for single pixels takes less for.
func (c *convolution) sweep(n *kernel.Node) *sweep {
	d := c.Dilation
	s := &sweep{c: c, phases: param.Phases(d, c.Stride)}
	s.down = c.Stride.H * s.phases.H / d.H
	if !n.Core.DSP || n.Generic || c.Kernel.H < 2 || c.Out.H <= s.phases.H || c.Out.W < 2 {
		return nil
	}
	s.pairs = (c.Kernel.H + s.down + 1) / 2
	s.rounds = (s.pairs*c.Kernel.W + 1) / 2
	columns := mostWindowScratch / (4 * s.lanes() * s.pairs)
	s.span, s.width = c.strip(columns, 2*s.phases.W)
	for i := range c.l.Rows {
		x, why := c.l.channel(i, 0)
		if why != "" {
			return nil
		}
		s.channels = append(s.channels, x)
	}
	if s.estimate() >= c.pixelEstimate() {
		return nil
	}
	return s
}

// strip is how many columns of the output, a multiple of unit or all, go through scratch that holds so many of the
// input, and the columns of a residue by the dilation.
func (c *convolution) strip(columns, unit int) (span, width int) {
	d := c.Dilation.W
	span = c.Out.W
	if most := (columns-(c.Kernel.W-1)*d-1)/c.Stride.W + 1; most < span {
		most = max(most/unit, 1) * unit
		spans := (span + most - 1) / most
		span = min(span, ((span+spans-1)/spans+unit-1)/unit*unit)
	}
	return span, ((span-1)*c.Stride.W + (c.Kernel.W-1)*d + d) / d
}

// estimate is about what four channels take, or all of fewer.
func (s *sweep) estimate() int {
	c, d := s.c, s.c.Dilation
	rows := 0 // pairs of them
	for k := range s.phases.H {
		rows += (c.Out.H - k + 2*s.phases.H - 1) / (2 * s.phases.H)
	}
	spans := (c.Out.W + s.span - 1) / s.span
	columns := (min(s.width*d.W, c.In.W) + d.W - 1) / d.W
	four := 43 + 12*s.rounds + (s.rounds+3)/4*2
	outputs := (s.span + 2*s.phases.W - 1) / (2 * s.phases.W)
	each := 30 + s.lanes()*c.G.COut/c.G.CIn*(45+outputs*four)
	column := 17
	if s.lanes() < 4 {
		column = 10 + 8*s.lanes()
	}
	bring := d.W * (20 + s.pairs*(45+column*columns))
	if spans > 1 {
		bring += s.plane() / 2
	}
	return rows * spans * (60 + bring + s.phases.W*each)
}

// total is about what all channels take.
func (s *sweep) total() int { return s.estimate() * ((s.c.G.CIn + 3) / 4) }

// pixelTotal is about what nncc_dsp_depthwise_s8 takes for all channels.
func (c *convolution) pixelTotal() int { return c.pixelEstimate() * ((c.G.CIn + 3) / 4) }

// pixelEstimate is about what nncc_dsp_depthwise_s8 takes for as many.
func (c *convolution) pixelEstimate() int {
	taps := c.Kernel.H * c.Kernel.W
	inside := func(out, stride, span, pad, in int) int {
		n := 0
		for o := range out {
			if at := o*stride - pad; at >= 0 && at+span <= in {
				n++
			}
		}
		return n
	}
	span, pixels, times := c.Span(), c.Out.H*c.Out.W, c.G.COut/c.G.CIn
	border := pixels - inside(c.Out.H, c.Stride.H, span.H, c.Pad.H, c.In.H)*
		inside(c.Out.W, c.Stride.W, span.W, c.Pad.W, c.In.W)
	four := 45 + taps/2*14 + taps%2*9
	if times > 1 || c.G.CIn < 4 {
		four += 35
	}
	return pixels*times*four + (30*pixels+border*(20+12*taps))*min(4, c.G.CIn)/c.G.CIn
}

// lanes are the channels that go through scratch at a time.
func (s *sweep) lanes() int { return min(s.c.G.CIn, 4) }

// plane is the bytes of a channel in scratch.
func (s *sweep) plane() int { return 4 * s.pairs * s.width * s.c.Dilation.W }

// words packs the channels in the order of the groups of four.
func (s *sweep) words() []int32 {
	var w []int32
	times := s.c.G.COut / s.c.G.CIn
	for first := range fours(s.c.G.CIn) {
		for i := first * times; i < (first+s.lanes())*times; i++ {
			w = s.pack(w, &s.channels[i])
		}
	}
	return w
}

// pack appends a channel: start value and scale, then two words of the upper
// output's weights and two of the lower one's, and so on.
func (s *sweep) pack(w []int32, x *scaled) []int32 {
	w = append(w, int32(2*x.start), x.s.M, x.s.C, x.s.S)
	k := s.c.Kernel
	weight := func(slot, column int) int32 {
		if slot < 0 || slot >= k.H || column >= k.W {
			return 0
		}
		return 2 * int32(x.row[slot*k.W+column])
	}
	word := func(i, down int) int32 {
		slot, column := i%s.pairs*2-down, i/s.pairs
		return weight(slot, column)&0xffff | weight(slot+1, column)<<16
	}
	for i := 0; i < 2*s.rounds; i += 2 {
		w = append(w, word(i, 0), word(i+1, 0), word(i, s.down), word(i+1, s.down))
	}
	return w
}

func (s *sweep) lower() *call.Lowered {
	c := s.c
	inner := call.Func("nncc_dsp_depthwise_window_rows_s8")
	if c.relu() {
		inner = "nncc_dsp_depthwise_window_rows_relu_s8"
	}
	f := param.Fields(&param.DspDepthwiseWindow{Batches: c.G.N, InC: c.G.CIn, Channels: c.G.COut,
		Times: c.G.COut / c.G.CIn, Lanes: s.lanes(), Pad: call.T(-c.l.Params.InOff), PhasesH: s.phases.H,
		PhasesW: s.phases.W, Span: s.span, Pairs: s.pairs, Width: s.width, Plane: s.plane(), Rounds: s.rounds},
		&c.Window)
	f = append(f, clampOf(c.l.Params).bounds()...)
	// Windows of an odd last column have a neighbour behind them that is dropped, and a last word without weight.
	scratch := 4 + s.lanes()*s.plane() + 4*s.pairs*c.Stride.W*s.phases.W + 4
	return own(&call.Lowered{Scratch: scratch, Unused: []int{1, 2}}, call.Call{Func: "nncc_dsp_depthwise_window_s8",
		Args: []call.Arg{&call.Struct{Type: "nncc_dsp_depthwise_window_params", Fields: f}, inner, i8In(0),
			packed(s.words()), i8Out(0), scratch32(0)}})
}
