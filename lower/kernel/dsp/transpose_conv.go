// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// phaseFunc computes a phase.
const phaseFunc = "nncc_dsp_transpose_conv_phase_s8"

// transposedConv is any transposed convolution as one convolution for each
// phase of the strides.
var transposedConv = &kernel.Kernel{
	Name: phaseFunc, Library: Library,
	Doc: "int8 transposed convolution by phases, depthwise, too, with groups and dilation, packed weights",
	Ops: []*ir.OpDef{op.ConvTranspose}, Layout: kernel.SpatialLayout, Lower: lowerPhases,
	Was: "DSP-PHASE", Rules: kernel.All(cond.NoHelium, quantised.TransposedRules(quantised.Everywhere),
		quantised.PhaseRule,
		quantised.CheapestPhases.Rule("FIRST-COLUMN", "columns that are copied begin inside the image",
			func(_ *kernel.Node, list []*quantised.Phase) string {
				for _, f := range list {
					if !f.Depthwise() && f.Padded() && f.Depth()%4 != 0 && f.Pad.W < 0 {
						return fmt.Sprintf("with %d input channels a group a phase begins at column %d, want a "+
							"multiple of 4 channels or less padding", f.Depth(), -f.Pad.W)
					}
				}
				return ""
			}),
		exact(provenPhases)),
}

// phase is a phase with its proven channels: w or, of a depthwise one, taps.
type phase struct {
	*quantised.Phase
	c    *convolution
	w    *proven
	taps []scaled
}

var provenPhases = kernel.FactFrom(quantised.CheapestPhases, func(n *kernel.Node, list []*quantised.Phase) (
	out []phase, why string) {
	for _, p := range list {
		c := &convolution{&p.Convolution, layer{p.Layer}, true, n.Bound}
		x := phase{Phase: p, c: c}
		if p.Depthwise() {
			x.taps, why = c.l.provenTaps(n)
		} else {
			f := formFor(n, len(c.l.Rows)/c.G.Group)
			x.w, why = c.l.prove(n.Options, c.G.Group, c.order(f), f)
		}
		if why != "" {
			return nil, why
		}
		out = append(out, x)
	}
	return out, ""
})

func lowerPhases(n *kernel.Node) *call.Lowered {
	l := &call.Lowered{Unused: []int{1, 2}}
	var list []call.Call
	for _, f := range provenPhases.Must(n) {
		if f.taps != nil {
			list = append(list, f.c.pixels(n, l, f.taps, f.Phase))
			continue
		}
		part := &call.Lowered{Rows: l.Rows}
		pitch := f.Pitch
		if f.Scattered() {
			pitch = f.c.G.COut
		}
		conv := f.c.call(part, f.w.least(nil), call.I32(pitch), f.c.Depth()%4 == 0, nil)
		stores, bytes := f.Stores(part.Scratch)
		l.Rows, l.Pixels, l.Scratch = part.Rows, part.Pixels, max(l.Scratch, part.Scratch+bytes)
		conv.Func = phaseFunc
		conv.Args[0] = &call.Struct{Type: "nncc_dsp_phase_params", Fields: append([]call.Field{
			call.F("conv", call.Nested{Fields: conv.Args[0].(*call.Struct).Fields})}, stores...)}
		conv.Args[5] = call.Out{I: 0, Off: f.Offset, CType: "int8_t"}
		list = append(list, conv)
	}
	if route, ok := list[0].Args[2].(call.Func); ok {
		l.Route = string(route)
	}
	return own(l, list...)
}
