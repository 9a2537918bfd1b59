// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// phaseFunc computes a phase.
const phaseFunc = "nncc_helium_transpose_conv_phase_s8"

// phases is any transposed convolution as one convolution for each phase of the
// strides.
var phases = &kernel.Kernel{
	Name: phaseFunc, Library: Library,
	Doc: "int8 transposed convolution by phases, depthwise, too, with groups and dilation, packed weights",
	Ops: []*ir.OpDef{op.ConvTranspose}, Layout: kernel.SpatialLayout, Lower: lowerPhases,
	Was: "HELIUM-PHASE", Rules: kernel.All(cond.Helium, quantised.TransposedRules(quantised.Everywhere),
		quantised.Phases.Rule("RIGHT-SHIFT", "requantisation shifts to the right",
			func(_ *kernel.Node, list []*quantised.Phase) string { return (&layer{Layer: list[0].Layer}).shifts() }),
		quantised.PhaseRule),
}

func lowerPhases(n *kernel.Node) *call.Lowered { return phaseCalls(n, quantised.Phases.Must(n)) }

// phases16 is phases on int16 data: what is copied is bytes.
var phases16 = &kernel.Kernel{
	Name: "nncc_helium_transpose_conv_phase_s16", Library: Library,
	Doc: "int16 transposed convolution by phases, depthwise, too, with groups and dilation, packed int8 weights",
	Ops: []*ir.OpDef{op.ConvTranspose}, Layout: kernel.SpatialLayout,
	Lower: func(n *kernel.Node) *call.Lowered { return phaseCalls(n, quantised.Phases16.Must(n)) },
	Was:   "HELIUM-PHASE16", Rules: kernel.All(cond.Helium,
		quantised.PhaseRules16(func(l *quantised.Layer) string { return l.Shifts16(0) })),
}

// phaseCalls is a call for each phase.
func phaseCalls(n *kernel.Node, phases []*quantised.Phase) *call.Lowered {
	l := &call.Lowered{Unused: []int{1, 2}}
	var list []call.Call
	for _, f := range phases {
		c := &convolution{Convolution: &f.Convolution, l: layerOf(n, f.Layer, f.G.Group), phase: true}
		if f.Depthwise() {
			if c.l.form == sixteen {
				list = append(list, c.blocks(f))
			} else {
				list = append(list, c.windows(n, l, f))
			}
			continue
		}
		conv := c.call(call.I32(f.Pitch), n.Generic, false, call.Null{})
		l.Scratch, l.Rows = max(l.Scratch, conv.scratch), []call.Rows{conv.rows}
		l.Route = conv.tile.String()
		conv.Func = phaseFunc
		conv.Args[0] = &call.Struct{Type: "nncc_helium_phase_params", Fields: []call.Field{
			call.F("conv", call.Nested{Fields: conv.Args[0].(*call.Struct).Fields}), call.FI("row", f.Row),
			call.FI("image", f.Image)}}
		conv.Args[4] = call.Out{I: 0, Off: f.Offset, CType: "int8_t"}
		list = append(list, conv.Call)
	}
	l = own(l, list[0])
	l.Calls = list
	return l
}
