// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref/cmsis"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// transposeConv is arm_transpose_conv_wrapper_s8.
var transposeConv = &kernel.Kernel{
	Name: "arm_transpose_conv_wrapper_s8", Library: Library, Doc: "int8 transposed convolution",
	Ops: []*ir.OpDef{op.ConvTranspose}, Layout: kernel.SpatialLayout, Lower: lowerTransposeConv,
	Was: "CMSIS-TCONV", Rules: append(quantised.TransposedRules(nil),
		kernel.Conv.Rule("GROUPS", "one group, no dilation", func(_ *kernel.Node, g *op.ConvGeom) string {
			switch {
			case g.Group != 1:
				return fmt.Sprintf("group is %d, want 1", g.Group)
			case param.Spatial(g.Dilations, 1) != Tile{H: 1, W: 1}:
				return fmt.Sprintf("dilations are %v, want 1", g.Dilations)
			}
			return ""
		}),
		noDefect(transposedRoute)),
}

// transposed is a way to compute a transposed convolution by the library: cut
// rows at the top of the result are dropped.
type transposed struct {
	window
	routed
	asked *cmsis.Query
	cut   int
}

// transposedRoute is the library's kernel for the layer, or the reasons against
// it. Where older revisions misplace rows because the vertical padding is no
// multiple of the stride, less padding and a higher result avoid that.
var transposedRoute = kernel.NewFact(func(n *kernel.Node) (*transposed, string) {
	g, why := kernel.Conv.Of(n)
	if why != "" || len(g.In) > 2 || g.Group != 1 {
		return nil, kernel.Unread
	}
	t := &transposed{window: window{in: feature(g.N, g.CIn, g.In), out: feature(g.N, g.COut, g.Out),
		filter: feature(g.COut, g.CIn, g.Kernel),
		stride: param.Spatial(g.Strides, 1), pad: param.Spatial(g.PadBegin, 0), dil: Tile{H: 1, W: 1}}}
	ask := func() (why string) {
		t.asked = t.query(n.Core)
		t.routed, why = route(t.asked, "arm_transpose_conv_wrapper_s8")
		return why
	}
	why = ask()
	if rest := t.pad.H % t.stride.H; why != "" && rest != 0 {
		t.cut, t.pad.H, t.out.H = rest, t.pad.H-rest, t.out.H+rest
		first := why
		if why = ask(); why == "" {
			t.Why = fmt.Sprintf("%d rows more are computed and dropped: %s", rest, first)
		}
	}
	return t, why
})

func lowerTransposeConv(n *kernel.Node) *call.Lowered {
	g, p, t := kernel.Conv.Must(n), quantised.MACParams.Must(n), transposedRoute.Must(n)
	low := &call.Lowered{Kernel: "arm_transpose_conv_wrapper_s8", Route: t.Inner, RouteReason: t.Why,
		Unused: []int{1, 2}}
	reversed := cmsis.Size("arm_transpose_conv_s8_get_reverse_conv_buffer_size", t.asked)
	off := roundUp(t.Scratch, 16)
	low.Scratch = off + reversed
	params := &call.Struct{Type: "cmsis_nn_transpose_conv_params", Fields: call.Ints("input_offset", call.T(p.InOff),
		"output_offset", call.T(p.OutOff), "stride", tileArg(t.stride), "padding", tileArg(t.pad), "padding_offsets",
		tileArg(Tile{}), "dilation", tileArg(t.dil), "activation", activation(p.ActMin, p.ActMax))}
	bias, biasDims := biasArg(n.Node, g.COut), Dims{1, 1, 1, g.COut}.arg()
	perm := []int{1} // IO(H)W -> O(H)WI
	for d := range g.In {
		perm = append(perm, 2+d)
	}
	weights := weights8(arranged(n.In[1], append(perm, 0)))
	out := call.Arg(i8Out(0))
	var list []call.Call
	if t.cut > 0 {
		row := t.out.W * t.out.C
		image := call.Scratch{Off: roundUp(low.Scratch, 16), CType: "int8_t"}
		low.Scratch = image.Off + t.out.N*t.out.H*row
		out = image
		list = append(list, rowsBelow(t.out.N, t.cut*row, t.out.H*row, image, i8Out(0)))
	}
	list = append([]call.Call{{Func: "arm_transpose_conv_wrapper_s8", Status: call.CMSISStatus,
		Args: []call.Arg{context(0, t.Scratch), context(off, reversed), params, perChannel(p), t.in.arg(), i8In(0),
			t.filter.arg(), weights, biasDims, bias, t.out.arg(), out}}}, list...)
	return calls(low, list...)
}

// rowsBelow copies what lies from cut on in each of n blocks of the given size.
func rowsBelow(n, cut, size int, x, y call.Arg) call.Call {
	return copyND(1, cut, 0, []int{n, size - cut}, []int{size, 1}, []int{size - cut, 1}, x, y)
}

// upscaledConv is ConvTranspose by its definition, for what the library's own
// kernel does not take or gets wrong: groups, dilation, output padding beyond
// the last window, padding of the kernel's size and above. The input is spread
// over scratch memory full of its zero point, strides apart, and convolved by
// arm_convolve_s8 with the filter turned round at compile time.
var upscaledConv = &kernel.Kernel{
	Name: "arm_convolve_s8", Library: Library, Doc: "int8 transposed convolution with groups and dilation, as a " +
		"convolution of the spread input",
	Ops: []*ir.OpDef{op.ConvTranspose}, Layout: kernel.SpatialLayout, Lower: lowerUpscaledConv,
	Was: "CMSIS-UPCONV", Rules: append(quantised.TransposedRules(nil),
		spreads.Exists("COUNTED", "dimensions that the library can count")),
}

// spreads is the convolution of the spread input.
var spreads = convolutions(func(*op.ConvGeom) bool { return true }, spreadWindow, "arm_convolve_s8")

// spreadWindow is the convolution over the spread input: output o reads
// positions o, o+d, ... o+d*(k-1).
func spreadWindow(g *op.ConvGeom) *window {
	w := &window{out: feature(g.N, g.COut, g.Out), filter: feature(g.COut, g.CIn/g.Group, g.Kernel),
		stride: Tile{H: 1, W: 1}, dil: param.Spatial(g.Dilations, 1)}
	w.in = Dims{g.N, w.out.H + w.dil.H*(w.filter.H-1), w.out.W + w.dil.W*(w.filter.W-1), g.CIn}
	return w
}

func lowerUpscaledConv(n *kernel.Node) *call.Lowered {
	g, p, w := kernel.Conv.Must(n), quantised.MACParams.Must(n), spreads.Must(n)
	in, filter, spread := feature(g.N, g.CIn, g.In), w.filter, w.in
	stride, pad, dil := param.Spatial(g.Strides, 1), param.Spatial(g.PadBegin, 0), w.dil
	// Input element i lies at i*s + d*(k-1) - pad.
	y0, rows := inputSpan(in.H, stride.H, dil.H*(filter.H-1)-pad.H, spread.H)
	x0, cols := inputSpan(in.W, stride.W, dil.W*(filter.W-1)-pad.W, spread.W)
	size := w.Scratch
	off := roundUp(size, 16)
	image := call.Scratch{Off: off, CType: "int8_t"}
	area := spread.N * spread.H * spread.W * spread.C
	list := []call.Call{{Func: "nncc_fill", Args: []call.Arg{
		&call.Struct{Type: "nncc_fill_params", Fields: []call.Field{call.FI("elem", 1), call.FI("count", area)}},
		&call.Blob{Hint: "zero", CType: "int8_t", Data: []byte{byte(-p.InOff)}, NoCast: true}, image}}}
	if rows > 0 && cols > 0 {
		at := func(d Dims, y, x int) int { return (y*d.W + x) * d.C }
		list = append(list, copyND(1, at(in, y0, x0),
			at(spread, y0*stride.H+dil.H*(filter.H-1)-pad.H, x0*stride.W+dil.W*(filter.W-1)-pad.W),
			[]int{in.N, rows, cols, in.C}, []int{in.H * in.W * in.C, in.W * in.C, in.C, 1},
			[]int{spread.H * spread.W * spread.C, stride.H * spread.W * spread.C, stride.W * spread.C, 1},
			i8In(0), image))
	}
	conv := w.call("arm_convolve_s8", size, p, "int8_t", weights8(g.Turned(n.In[1].Const)),
		biasArg(n.Node, g.COut))
	conv.Args[4] = image
	list = append(list, conv)
	return calls(&call.Lowered{Kernel: "arm_convolve_s8", Scratch: off + area, Unused: []int{1, 2}}, list...)
}

// inputSpan is the first input element and the number of elements that lie
// within size positions, where element i lies at i*stride + lead.
func inputSpan(in, stride, lead, size int) (first, count int) {
	for first < in && first*stride+lead < 0 {
		first++
	}
	for first+count < in && (first+count)*stride+lead < size {
		count++
	}
	return first, count
}
