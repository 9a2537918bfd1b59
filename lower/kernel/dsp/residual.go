package dsp

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
)

// residual is a convolution whose result, or a function of it, is added to
// another tensor a few pixels later. The sum may take the place of that tensor.
var residual = &kernel.Kernel{
	Name: "nncc_dsp_convolve_add_s8", Library: Library, Doc: "int8 convolution, its result or a function of it added to another tensor a few pixels at a time",
	Ops: []*ir.OpDef{op.Fused}, Layout: kernel.ResidualLayout, Lower: lowerResidual,
	Rules: join(onDSP("DSP-RESIDUAL-00"), kernel.ResidualRule("DSP-RESIDUAL-01", conv, add, func(c *kernel.Chain, _ *kernel.Options) string {
		if o := c.Main.Out[0].Type; o.Elems() == o.Shape[1] {
			return fmt.Sprintf("%d channels of a single pixel, want several pixels", o.Shape[1])
		}
		return ""
	})),
}

// waiting is about how many bytes of results wait for their addition.
const waiting = 512

func lowerResidual(n *ir.Node, o *kernel.Options) (*call.Lowered, error) {
	c := kernel.ChainOf(n)
	v, why := convOf(c.Main)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	tables := [2][]int32{}
	var f []call.Field
	tables[0], tables[1], f, why = addForm(c.Add)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	if c.Swapped {
		tables[0], tables[1] = tables[1], tables[0]
	}
	l, err := lowerConvBy(c.Main, o, c.Table)
	if err != nil {
		return nil, err
	}
	channels := v.g.COut
	conv := &l.Calls[0]
	params := conv.Args[0].(*call.Struct)
	for i := range params.Fields {
		if params.Fields[i].Name == "out_pitch" {
			params.Fields[i].Value = call.I32(channels) // results lie side by side while they wait
		}
	}
	// Pixels are computed by twos: no row ends in the middle of two.
	part, bytes := max(2, waiting/channels&^1), channels
	l.Route = conv.Func
	if conv.Func == "nncc_dsp_convolve_s8" {
		bytes = v.out.W * channels
		part = max(1+v.out.W%2, min(v.out.H, waiting/bytes)&^(v.out.W%2))
		conv.Func = "nncc_dsp_convolve_add_s8"
	} else {
		conv.Func = "nncc_dsp_convolve_1x1_add_s8"
	}
	wait := (l.Scratch + 3) &^ 3
	l.Scratch = wait + part*bytes
	conv.Args = append(conv.Args, &call.Struct{Type: "nncc_dsp_residual_params", Fields: []call.Field{
		call.F("sum", call.Nested{Fields: append(fields("count", 0), f...)}), call.F("pitch", call.Pitch{Output: true, Row: channels}),
		call.F("other_pitch", call.Pitch{I: c.AddIn, Row: channels}), call.FI("wait", wait), call.FI("part", part)}},
		i8In(c.AddIn), table(tables[0]), table(tables[1]))
	l.Unused = nil    // weights are the body's own
	if c.AddIn != 0 { // which the convolution reads
		l.Rows = append(l.Rows, call.Rows{I: c.AddIn, Bytes: channels})
		l.InPlace = []int{c.AddIn}
	}
	return own(l, *conv), nil
}
