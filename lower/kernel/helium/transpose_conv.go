// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// transposedConv is a transposed convolution whose kernel is as large as its strides, so
// that every result has one tap: a pixel gives kernel_w pixels of each of
// kernel_h rows, which are products of it with as many times the channels.
var transposedConv = &kernel.Kernel{
	Name: "nncc_helium_transpose_conv_s8", Library: Library,
	Doc: "int8 transposed convolution with a kernel of the size of its strides, packed weights",
	Ops: []*ir.OpDef{op.ConvTranspose}, Layout: kernel.SpatialLayout, Lower: lowerTransposedConv,
	Was: "HELIUM-UP", Rules: kernel.All(cond.Helium, quantised.TransposedRules(quantised.Everywhere),
		upscales.Rule("RIGHT-SHIFT", "requantisation shifts to the right", func(_ *kernel.Node, u *upscale) string {
			for _, l := range u.rows {
				if why := l.shifts(); why != "" {
					return why
				}
			}
			return ""
		}),
		upscales.Rule("STRIDE-KERNEL", "a kernel of the size of its strides, one group, no padding",
			func(_ *kernel.Node, u *upscale) string {
				if g := u.g; g.Group != 1 || !slices.Equal(g.Kernel, g.Strides) ||
					u.out != (quantised.Tile{H: u.in.H * u.kernel.H, W: u.in.W * u.kernel.W}) ||
					slices.Max(g.PadBegin) > 0 || slices.Max(g.Dilations) > 1 {
					return fmt.Sprintf("kernel %v with strides %v, dilations %v, padding %v and %d groups from %v to "+
						"%v, want a kernel like the strides, no padding, one group",
						g.Kernel, g.Strides, g.Dilations, g.PadBegin, g.Group, g.In, g.Out)
				}
				return ""
			})),
}

// upscale is such a convolution: a layer for every row of taps, its channels
// in the order [kernel_w][channels].
type upscale struct {
	g               *op.ConvGeom
	in, out, kernel quantised.Tile
	rows            []*layer
}

var upscales = kernel.NewFact(func(n *kernel.Node) (*upscale, string) {
	p, why := quantised.MACParams.Of(n)
	if why != "" || !quantised.KnownWeights(n.Node) {
		return nil, kernel.Unread
	}
	g := kernel.Conv.Must(n)
	u := &upscale{g: g, in: param.Spatial(g.In, 1), out: param.Spatial(g.Out, 1), kernel: param.Spatial(g.Kernel, 1)}
	if g.Group != 1 {
		return u, ""
	}
	var perm []int // IO(H)W to (H)WOI
	for d := range g.In {
		perm = append(perm, 2+d)
	}
	weights := tensor.As[int8](n.In[1].Const.Transpose(append(perm, 1, 0)))
	wide := *p
	if len(p.Mult) > 1 {
		wide.Mult, wide.Shift = slices.Repeat(p.Mult, u.kernel.W), slices.Repeat(p.Shift, u.kernel.W)
	}
	bias := slices.Repeat(kernel.Bias(n.Node, g.COut), u.kernel.W)
	for range u.kernel.H {
		l := &layer{Layer: quantised.Layer{Params: &wide, Bias: bias}, options: n.Options}
		for range u.kernel.W * g.COut {
			l.Rows = append(l.Rows, weights[:g.CIn])
			weights = weights[g.CIn:]
		}
		u.rows = append(u.rows, l)
	}
	return u, ""
})

func lowerTransposedConv(n *kernel.Node) *call.Lowered {
	u := upscales.Must(n)
	channels, depth := u.kernel.W*u.g.COut, u.g.CIn
	vectors := roundUp(depth, vector) / vector
	t, want := u.rows[0].tile(vectors, channels, false, false)
	if want != vectors {
		t = tile{body: oneRow}
	}
	var b []byte
	for _, l := range u.rows {
		b = append(b, l.weights(t, vectors)...)
	}
	in, inR := inRows(depth)
	params := param.Struct(&param.HeliumTransposeConv{
		Mac:  u.rows[0].mac(call.I32(channels), channels, depth, depth, vectors, in),
		Rows: u.g.N * u.in.H, Width: u.in.W, KernelH: u.kernel.H, RowBytes: len(b) / u.kernel.H})
	return own(&call.Lowered{Route: t.String(), Unused: []int{1, 2}, Rows: []call.Rows{inR}},
		call.Call{Func: "nncc_helium_transpose_conv_s8", Args: []call.Arg{
			params, i8In(0), packed(b), i8Out(0), t.fn()}})
}

// phaseFunc computes a phase.
const phaseFunc = "nncc_helium_transpose_conv_phase_s8"

// phaseFunc16 stands for it in tables of costs where data are int16.
const phaseFunc16 = "nncc_helium_transpose_conv_phase_s16"

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

func lowerPhases(n *kernel.Node) *call.Lowered {
	return phaseCalls(n, quantised.Phases.Must(n), phaseFunc)
}

// phases16 is phases on int16 data: what is copied is bytes.
var phases16 = &kernel.Kernel{
	Name: phaseFunc16, Library: Library,
	Doc: "int16 transposed convolution by phases, depthwise, too, with groups and dilation, packed int8 weights",
	Ops: []*ir.OpDef{op.ConvTranspose}, Layout: kernel.SpatialLayout,
	Lower: func(n *kernel.Node) *call.Lowered { return phaseCalls(n, quantised.Phases16.Must(n), phaseFunc16) },
	Was:   "HELIUM-PHASE16", Rules: kernel.All(cond.Helium,
		quantised.PhaseRules16(func(l *quantised.Layer) string { return l.Shifts16(0) })),
}

// phaseCalls is a call for each phase. One price is for all products that these run.
func phaseCalls(n *kernel.Node, phases []*quantised.Phase, variant string) *call.Lowered {
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
		l.Route, l.Variant = conv.tile.String(), variant
		conv.Func = phaseFunc
		conv.Args[0] = &call.Struct{Type: "nncc_helium_phase_params", Fields: []call.Field{
			call.F("conv", call.Nested{Fields: conv.Args[0].(*call.Struct).Fields}), call.FI("row", f.Row),
			call.FI("image", f.Image)}}
		conv.Args[4] = call.Out{I: 0, Off: f.Offset, CType: "int8_t"}
		list = append(list, conv.Call)
	}
	return own(l, list...)
}
