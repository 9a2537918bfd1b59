// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// int16 data with int8 weights.

// shifts16 says why sums have no requantisation on int16 data: by one rounding
// product, or by one that is shifted.
func shifts16(l *quantised.Layer) string {
	if (&layer{*l}).multiplied() {
		return ""
	}
	return l.Shifts16(1)
}

// multiplied reports that a rounding product, which leaves 32 bits out, is all of
// the requantisation.
func (l *layer) multiplied() bool {
	for c := range l.Rows {
		if _, s := l.Scale16(c); s < -17 || s > -1 {
			return false
		}
	}
	return true
}

var conv16 = &kernel.Kernel{
	Name: "nncc_dsp_convolve_s16", Library: Library,
	Doc: "int16 convolution with groups and dilation, packed int8 weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout, Lower: lowerConv16,
	Was: "DSP-CONV16", Rules: kernel.All(cond.NoHelium, quantised.ConvRules16(quantised.ConvOf16),
		quantised.DepthwiseRule(false), quantised.ConvOf16.Rule("ONE-MULTIPLICATION", "a requantisation by one product",
			func(_ *kernel.Node, c *quantised.Convolution) string { return shifts16(&c.Layer) }),
		kernel.Conv.Rule("SHARED-INPUTS", "one group, or several outputs of each, which share its inputs",
			func(_ *kernel.Node, g *op.ConvGeom) string {
				return cond.If(g.Group > 1 && g.Group == g.COut, "%d groups of one output", g.Group)
			})),
}

var fullyConnected16 = &kernel.Kernel{
	Name: "nncc_dsp_fully_connected_s16", Library: Library,
	Doc: "int16 fully connected layer, packed int8 weights",
	Ops: []*ir.OpDef{op.Gemm, op.MatMul}, Lower: lowerConv16,
	Was: "DSP-FC16", Rules: kernel.All(cond.NoHelium, quantised.ProductRules16(), rightShift16),
}

// rightShift16 is the condition of kernels without a rounding product.
var rightShift16 = quantised.ConvOf16.Rule("RIGHT-SHIFT", "sums are requantised by a shift to the right",
	func(_ *kernel.Node, c *quantised.Convolution) string { return c.Shifts16(1) })

// words16 packs channels by four at a time, or by two, of which a single one has two pairs of inputs in the place of
// two channels; a rest in front. Each: start values, for every two inputs of the order words of two channels' weights,
// multipliers or, shifted, {m, c, s}. Returns the number of words of the last ones, too.
func (l *layer) words16(by int, order []int, shifted bool) (b []int32, group int) {
	n := len(l.Rows)
	for at := 0; at < n; {
		count := by
		if at == 0 && n%by != 0 {
			count = n % by
		}
		lanes := by
		if by == 2 && count == 1 {
			lanes = 1
		}
		part := func(none []int32, value func(c int) []int32) {
			for i := range lanes {
				v := none
				if i < count {
					v = value(at + i)
				}
				b = append(b, v...)
			}
		}
		before := len(b)
		part([]int32{0}, func(c int) []int32 { return []int32{l.Bias[c]} })
		b = append(b, weights16(l.Rows[at:at+count], lanes, order)...)
		if shifted {
			part([]int32{0, 0, 1}, func(c int) []int32 {
				m, s := l.Shifted16(c, 1)
				return []int32{m, 1 << (s - 1), s}
			})
		} else {
			part([]int32{0}, func(c int) []int32 {
				m, s := l.Scale16(c)
				return []int32{m << (17 + s)}
			})
		}
		at, group = at+count, len(b)-before
	}
	return b, group
}

// weights16 are the words of so many channels' weights, of which those behind rows are zeros.
func weights16(rows [][]int8, lanes int, order []int) (b []int32) {
	weight := func(c, k, place int) int32 {
		if k < 0 || order[k] < 0 || c >= len(rows) {
			return 0
		}
		return int32(uint8(rows[c][order[k]])) << (8 * place)
	}
	if lanes == 1 {
		for k := -len(order) % 4; k < len(order); k += 4 {
			b = append(b, weight(0, k, 0)|weight(0, k+2, 1)|weight(0, k+1, 2)|weight(0, k+3, 3))
		}
		return b
	}
	for k := 0; k < len(order); k += 2 {
		for c := 0; c < lanes; c += 2 {
			b = append(b, weight(c, k, 0)|weight(c+1, k, 1)|weight(c, k+1, 2)|weight(c+1, k+1, 3))
		}
	}
	return b
}

// behind16 are words behind those of four pixels, which are read as start values of more channels.
func behind16(words []int32) []int32 { return append(words, 0, 0) }

// mat16 names the product of four pixels.
func mat16(shifted bool) call.Func {
	if shifted {
		return "nncc_dsp_matmul_4rows_shift_s16"
	}
	return "nncc_dsp_matmul_4rows_s16"
}

// threes16 names the product of three pixels, for rows that are no multiple of four, of which as many go by threes as
// leave one; null: there are none, too few rows, or code is to be small.
func threes16(n *kernel.Node, shifted bool, rows, channels int) call.Arg {
	threes := (4 - rows%4) % 4
	switch {
	case n.Generic || !n.Core.DSP || threes == 0 || 3*threes > rows || channels < 2:
		return call.Null{}
	case shifted:
		return call.Func("nncc_dsp_matmul_3rows_shift_s16")
	}
	return call.Func("nncc_dsp_matmul_3rows_s16")
}

// rows4 is the number of rows from which on four at a time are fewer instructions
// than each by itself.
const rows4 = 3

// lowerRows16 multiplies rows of inputs, four at a time or each by itself.
func lowerRows16(n *kernel.Node, l *layer, at grid) *call.Lowered {
	at = at.even()
	depth, channels, rows := len(l.Rows[0]), len(l.Rows), at.lines*at.rows
	fn, by := "nncc_dsp_convolve_1x1_s16", 2
	order := bytesOrder(0, depth)
	if rows < rows4 && l.Shifts16(1) == "" {
		fn, by = "nncc_dsp_fully_connected_s16", 4
		for len(order)%4 != 0 {
			order = append(order, -1)
		}
	}
	shifted := by == 4 || !l.multiplied()
	words, group := l.words16(by, order, shifted)
	low := &call.Lowered{Unused: []int{1, 2}, Scratch: 2 * len(order)}
	f := fields("rows", rows, "in_c", depth, "out_c", channels, "pairs", len(order)/2, "group_words", group, "act_min",
		call.T(l.Params.ActMin), "act_max", call.T(l.Params.ActMax))
	f = append(f, pitches(low, 2*depth*at.step, 2*channels, at.lines == 1 && at.step == 1)...)
	line, skip := 0, 0
	if at.lines > 1 {
		line, skip = at.rows, 2*depth*(at.line-at.rows*at.step)
	}
	f = append(f, fields("line", line, "skip", skip)...)
	args := []call.Arg{&call.Struct{Type: "nncc_dsp_fully_connected16_params", Fields: f}}
	if by == 2 {
		low.Scratch, words = 8*len(order), behind16(words)
		args = append(args, mat16(shifted), threes16(n, shifted, rows, channels))
	}
	return own(low, call.Call{Func: fn, Args: append(args, i8In(0), packed(words), i8Out(0), scratch32(0))})
}

func lowerConv16(n *kernel.Node) *call.Lowered {
	return lowerConvolution16(n, quantised.ConvOf16.Must(n))
}

func lowerConvolution16(n *kernel.Node, c *quantised.Convolution) *call.Lowered {
	if at, why := (&convolution{Convolution: c, l: layer{c.Layer}}).grid(); why == "" {
		return lowerRows16(n, &layer{c.Layer}, at)
	}
	low := &call.Lowered{Unused: []int{1, 2}}
	return own(low, convCall16(n, low, c, nil))
}

// convCall16 is the kernel's call; pixels of the result are pitch bytes apart, in rows of their own, or, where it is
// null, as the memory plan says.
func convCall16(n *kernel.Node, low *call.Lowered, c *quantised.Convolution, pitch call.Arg) call.Call {
	g, l := c.G, &layer{c.Layer}
	depth, per := c.Depth(), g.COut/g.Group
	merged := g.Group == 1 && c.Dilation.W == 1 && depth%2 == 1
	run := depth
	if merged {
		run *= c.Kernel.W
	}
	var order []int
	for at := 0; at < len(l.Rows[0]); at += run {
		order = append(order, bytesOrder(at, run)...)
	}
	var words []int32
	shifted, group := !l.multiplied(), 0
	for k := range g.Group {
		var w []int32
		w, _ = (&layer{l.Pick(k*per, 1, per)}).words16(2, order, shifted)
		words, group = append(words, w...), len(w)
	}
	low.Scratch = max(low.Scratch, 8*len(order)+border16(c, run, merged))
	f := param.Fields(&param.DspConvolve16{Batches: g.N, OutC: g.COut, Groups: g.Group, Depth: depth,
		Merged: quantised.Flag(merged), Pairs: len(order) / 2, GroupWords: group, ActMin: call.T(c.Params.ActMin),
		ActMax: call.T(c.Params.ActMax)}, &c.Window)
	pixels := c.Out.W
	if pitch == nil {
		pixels *= c.Out.H
		f = append(f, pitches(low, 2*g.CIn, 2*g.COut, !merged)...)
	} else {
		f = append(f, call.FI("in_pitch", 2*g.CIn), call.F("out_pitch", pitch))
	}
	return call.Call{Func: "nncc_dsp_convolve_s16", Args: []call.Arg{
		&call.Struct{Type: "nncc_dsp_convolve16_params", Fields: f}, mat16(shifted),
		threes16(n, shifted, pixels, per), i8In(0), packed(behind16(words)), i8Out(0), scratch32(0)}}
}

// border16 are the bytes for runs of inputs that stick out: zeros, and, where runs have several taps, one of each
// pixel.
func border16(c *quantised.Convolution, run int, merged bool) int {
	switch {
	case !c.Padded():
		return 0
	case merged:
		return 5 * 2 * run
	}
	return 2 * run
}

// phases16 is a transposed convolution as one convolution for each phase of the
// strides.
var phases16 = &kernel.Kernel{
	Name: "nncc_dsp_transpose_conv_phase_s16", Library: Library,
	Doc: "int16 transposed convolution by phases, depthwise, too, with groups and dilation, packed int8 weights",
	Ops: []*ir.OpDef{op.ConvTranspose}, Layout: kernel.SpatialLayout, Lower: lowerPhases16,
	Was: "DSP-PHASE16", Rules: kernel.All(cond.NoHelium, quantised.PhaseRules16(shifts16)),
}

func lowerPhases16(n *kernel.Node) *call.Lowered {
	low := &call.Lowered{Unused: []int{1, 2}}
	var list []call.Call
	for _, p := range quantised.Phases16.Must(n) {
		if p.Depthwise() && hasFours(&p.Convolution) && p.Shifts16(1) == "" {
			list = append(list, pixels16(p))
			continue
		}
		conv := convCall16(n, low, &p.Convolution, call.I32(p.Pitch))
		conv.Func = "nncc_dsp_transpose_conv_phase_s16"
		conv.Args[0] = &call.Struct{Type: "nncc_dsp_phase16_params", Fields: []call.Field{
			call.F("conv", call.Nested{Fields: conv.Args[0].(*call.Struct).Fields}), call.FI("row", p.Row),
			call.FI("image", p.Image)}}
		conv.Args[5] = call.Out{I: 0, Off: p.Offset, CType: "int8_t"}
		list = append(list, conv)
	}
	if route, ok := list[0].Args[1].(call.Func); ok {
		low.Route = string(route)
	}
	return own(low, list...)
}

var depthwise16 = &kernel.Kernel{
	Name: "nncc_dsp_depthwise_s16", Library: Library,
	Doc: "int16 depthwise convolution with any window and a channel multiplier, packed int8 weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout, Lower: lowerDepthwise16,
	Was: "DSP-DW16", Rules: kernel.All(cond.NoHelium, quantised.ConvRules16(quantised.ConvOf16),
		quantised.DepthwiseRule(true), rightShift16,
		quantised.ConvOf16.Rule("OUTPUTS", "at least 4 outputs, or no padding, or the DSP extension",
			func(n *kernel.Node, c *quantised.Convolution) string {
				return cond.If(!hasFours(c) && c.Padded() && !n.Core.DSP,
					"%d outputs, padding and no DSP extension, want at least 4", c.G.COut)
			})),
}

// hasFours: there are outputs for a group; fewer are cheaper as a convolution of one group, with weights of zero.
func hasFours(c *quantised.Convolution) bool { return c.G.COut >= 4 }

// bytes16 packs channels by fours, the last ones again: with several outputs an
// input where their inputs are, then start values, a byte of each a tap, {m, c, s}.
func (l *layer) bytes16(multiplier int) []int32 {
	var b []int32
	for first := range fours(len(l.Rows)) {
		if multiplier > 1 {
			b = append(b, int32(2*(first/multiplier)), int32(min(4, multiplier-first%multiplier)))
		}
		b = append(b, l.Bias[first:first+4]...)
		for tap := range l.Rows[0] {
			w := int32(0)
			for i := range 4 {
				w |= int32(uint8(l.Rows[first+i][tap])) << (8 * i)
			}
			b = append(b, w)
		}
		for c := first; c < first+4; c++ {
			m, s := l.Shifted16(c, 1)
			b = append(b, m, 1<<(s-1), s)
		}
	}
	return b
}

func lowerDepthwise16(n *kernel.Node) *call.Lowered {
	if c := quantised.ConvOf16.Must(n); !hasFours(c) {
		return lowerConvolution16(n, c.Dense())
	}
	return own(&call.Lowered{Unused: []int{1, 2}}, pixels16(quantised.ConvOf16.Must(n).Whole16()))
}

// pixels16 is the call for a phase of a depthwise convolution.
func pixels16(to *quantised.Phase) call.Call {
	c, multiplier := &to.Convolution, to.G.COut/to.G.CIn
	params := param.Struct(&param.DspDepthwise16{Batches: c.G.N, InC: c.G.CIn, Channels: c.G.COut,
		ActMin: call.T(c.Params.ActMin), ActMax: call.T(c.Params.ActMax),
		OutPitch: to.Pitch, OutRow: to.Row, OutImage: to.Image}, &c.Window)
	fn := "nncc_dsp_depthwise_s16"
	if multiplier > 1 {
		fn = "nncc_dsp_depthwise_multiplier_s16"
	}
	return call.Call{Func: fn, Args: []call.Arg{params, i8In(0),
		packed((&layer{c.Layer}).bytes16(multiplier)), call.Out{I: 0, Off: to.Offset, CType: "int8_t"}}}
}
