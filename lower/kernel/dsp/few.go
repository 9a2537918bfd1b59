// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel/param"
)

// few is a depthwise layer of two or three taps, which are read where they lie.
type few struct {
	*quads
	span  int // outputs of a row at a time, at most
	bytes int // of padding that they read, or some
}

// fewScratch is about how much padding a layer may have in scratch.
const fewScratch = 1024

// few is nil where the layer has more taps, or several outputs of a channel.
func (q *quads) few() *few {
	c := q.c
	if c.Kernel.H*c.Kernel.W > 3 || c.G.COut != c.G.CIn {
		return nil
	}
	f := &few{quads: q, span: c.Out.W, bytes: 4}
	if span := c.Span(); c.Pad.H > 0 || c.Pad.W > 0 || (c.Out.H-1)*c.Stride.H+span.H > c.In.H ||
		(c.Out.W-1)*c.Stride.W+span.W > c.In.W {
		step := c.Stride.W * c.G.CIn
		f.span = min(f.span, max(1, fewScratch/step))
		f.bytes = (f.span-1)*step + c.G.CIn
	}
	return f
}

// estimate is about how many instructions all channels take.
func (f *few) estimate() int {
	c, each := f.c, 40
	if !f.relu {
		each = 50
	}
	runs := c.Out.H * ((c.Out.W+f.span-1)/f.span + 2*(c.Kernel.W-1))
	return (c.G.CIn+3)/4*(c.Out.H*c.Out.W*each+runs*45) + runs*150 + f.bytes/4
}

func (f *few) lower() *call.Lowered {
	c := f.c
	var w []int32
	for first := range fours(c.G.CIn) {
		w = f.packFour(w, f.upper[first:first+4])
	}
	fields := param.Fields(&param.DspDepthwiseFew{Batches: c.G.N, Channels: c.G.CIn, Pad: call.T(-c.l.Params.InOff),
		Span: f.span, PadBytes: f.bytes, GroupWords: len(w) / ((c.G.CIn + 3) / 4)}, &c.Window)
	inner := call.Func("nncc_dsp_depthwise_few_row_s8")
	if f.relu {
		inner = "nncc_dsp_depthwise_few_row_relu_s8"
	}
	k := c.inRows()
	k.Last = 0
	return own(&call.Lowered{Scratch: f.bytes, Unused: []int{1, 2}, Overlap: k.Overlap(&c.Window)},
		call.Call{Func: "nncc_dsp_depthwise_few_s8", Args: []call.Arg{&call.Struct{
			Type: "nncc_dsp_depthwise_few_params", Fields: append(fields, clampOf(c.l.Params).bounds()...)}, inner,
			i8In(0), packed(w), i8Out(0), call.Scratch{CType: "int8_t"}}})
}

// packFour appends four channels: start values, two taps, a third one, scales.
func (f *few) packFour(w []int32, x []upper) []int32 {
	third := make([]int32, 4)
	for i := range x {
		w = append(w, x[i].start)
		if len(x[i].row) > 2 {
			third[i] = x[i].half(x[i].row[2])
		}
	}
	for i := range x {
		w = append(w, x[i].pair(x[i].row[0], x[i].row[1]))
	}
	return f.scales(append(w, third[0]&0xffff|third[2]<<16, third[1]&0xffff|third[3]<<16), x)
}
