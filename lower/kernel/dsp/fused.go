// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
)

// residual is a convolution whose result, or a function of it, is added to
// another tensor a few pixels later. The sum may be stored over that tensor.
var residual = &kernel.Kernel{
	Name: "nncc_dsp_convolve_add_s8", Library: Library,
	Doc: "int8 convolution, its result or a function of it added to another tensor a few pixels at a time",
	Ops: []*ir.OpDef{op.Fused}, Layout: kernel.ResidualLayout, Lower: lowerResidual,
	Was: "DSP-RESIDUAL", Rules: kernel.All(cond.DSP, cond.Residual(conv, add,
		func(c *kernel.Chain) string {
			o := c.Main.Out[0].Type
			return cond.If(o.Elems() == o.Shape[1], "%d channels of a single pixel, want several pixels", o.Shape[1])
		})),
}

// residualScratchBytes is about how many bytes of results wait for their addition.
const residualScratchBytes = 512

func lowerResidual(n *kernel.Node) *call.Lowered {
	c := kernel.ChainOf.Must(n)
	v := convOf.Must(c.Main)
	l := lowerConv(c.Main, c.Table)
	channels := v.G.COut
	conv := &l.Calls[0]
	// Pixels are computed by twos: no row ends in the middle of two.
	part, bytes := max(2, residualScratchBytes/channels&^1), channels
	l.Route = conv.Func
	if conv.Func == "nncc_dsp_convolve_s8" {
		bytes = v.Out.W * channels
		part = max(1+v.Out.W%2, min(v.Out.H, residualScratchBytes/bytes)&^(v.Out.W%2))
		conv.Func = "nncc_dsp_convolve_add_s8"
		l.Overlap = param.Walk{Images: v.G.N, From: v.G.CIn, To: channels, Rows: part}.Overlap(&v.Window)
	} else {
		conv.Func = "nncc_dsp_convolve_1x1_add_s8"
		pixels := param.Line(v.G.N * v.Out.H * v.Out.W)
		l.Overlap = param.Walk{Images: 1, From: len(v.l.Rows[0]), To: channels, Pixels: part}.Overlap(&pixels)
	}
	return addResidual(c, l, part, bytes)
}

// addResidual completes the call of a convolution whose results wait, so many of
// bytes each, for an addition.
func addResidual(c *kernel.Chain, l *call.Lowered, part, bytes int) *call.Lowered {
	sum, channels := sums.Must(c.Add), convOf.Must(c.Main).G.COut
	a, b := sum.a, sum.b
	if c.Swapped {
		a, b = b, a
	}
	conv := &l.Calls[0]
	params := conv.Args[0].(*call.Struct)
	for i := range params.Fields {
		if params.Fields[i].Name == "out_pitch" {
			params.Fields[i].Value = call.I32(channels) // results lie side by side while they wait
		}
	}
	wait := (l.Scratch + 3) &^ 3
	l.Scratch = wait + part*bytes
	conv.Args = append(conv.Args, &call.Struct{Type: "nncc_dsp_residual_params", Fields: []call.Field{
		call.F("sum", call.Nested{Fields: append(fields("count", 0), sum.fields...)}),
		call.F("pitch", call.Pitch{Output: true, Row: channels}),
		call.F("other_pitch", call.Pitch{I: c.AddIn, Row: channels}), call.FI("wait", wait), call.FI("part", part)}},
		i8In(c.AddIn), table(a), table(b))
	l.Unused = nil    // weights are the body's own
	if c.AddIn != 0 { // which the convolution reads
		l.Rows = append(l.Rows, call.Rows{I: c.AddIn, Bytes: channels})
		l.Overlap = append(l.Overlap, call.InOrder(c.AddIn)...)
	} else {
		l.Cut = nil
	}
	return own(l, *conv)
}

// mapped is a convolution with a function of each value behind it, by a table
// where its results are stored.
var mapped = &kernel.Kernel{
	Name: "nncc_dsp_convolve_lut_s8", Library: Library,
	Doc: "int8 convolution with a function of each result, by a table in the store loop",
	Ops: []*ir.OpDef{op.Fused}, Layout: kernel.SpatialLayout, Lower: lowerMapped,
	Was: "DSP-MAPPED", Rules: kernel.All(cond.NoHelium, cond.Mapped(conv)),
}

func lowerMapped(n *kernel.Node) *call.Lowered {
	c := kernel.ChainOf.Must(n)
	var l *call.Lowered
	if d, why := dotsFact.Of(c.Main); why == "" {
		l = d.lower(c.Main, c.Table)
	} else {
		l = lowerConv(c.Main, c.Table)
	}
	l.Unused = nil // weights are the body's own
	return l
}

// above is a table of results by the bit pattern of the layer's outputs as the
// kernels read it: by outputs that count from the lower bound of the clamp and
// know no upper one. Null: no table.
func (l *layer) above(table []byte) call.Arg {
	if table == nil {
		return call.Null{}
	}
	t := make([]byte, len(table))
	for i := range t {
		t[i] = table[uint8(min(l.Params.ActMin+int32(i), l.Params.ActMax))]
	}
	return call.Lookup(t)
}
