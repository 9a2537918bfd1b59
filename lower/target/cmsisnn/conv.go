package cmsisnn

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/target"
)

// geom2 gives 1-D geometry as 2-D with height 1; 3-D is refused by rule.
func geom2(s []int, v int) Tile {
	if len(s) == 1 {
		return Tile{v, s[0]}
	}
	return Tile{s[0], s[1]}
}

func feature(n, c int, spatial []int) Dims {
	t := geom2(spatial, 1)
	return Dims{n, t.H, t.W, c}
}

// macRules are shared by the convolutions.
func macRules(code string, params func(n *ir.Node) (*op.MACParams, string)) []target.Rule {
	return []target.Rule{
		needsInt8(code+"-01", []int{0}),
		{Code: code + "-02", Doc: "weights are constant int8", Check: func(n *ir.Node, _ *target.Options) string {
			w := n.In[1]
			if w.Const == nil {
				return fmt.Sprintf("the weights %s are computed at run time, want a constant", w)
			}
			if w.Type.DType != tensor.I8 && w.Type.DType != tensor.I4 || w.Type.Quant == nil {
				return fmt.Sprintf("the weights %s are %s, want quantised int8", w, w.Type.DType)
			}
			if b := n.Input(2); b != nil && b.Const == nil {
				return fmt.Sprintf("the bias %s is computed at run time, want a constant", b)
			}
			return ""
		}},
		{Code: code + "-03", Doc: "scales have a fixed-point form, the bias counts their product", Check: func(n *ir.Node, _ *target.Options) string {
			if n.In[0].Type.Quant == nil || n.In[1].Type.Quant == nil || n.Out[0].Type.Quant == nil {
				return ""
			}
			_, why := params(n)
			return why
		}},
		{Code: code + "-04", Doc: "weights are symmetric: zero points 0", Check: func(n *ir.Node, _ *target.Options) string {
			if q := n.In[1].Type.Quant; q != nil {
				for c, z := range q.Zero {
					if z != 0 {
						return fmt.Sprintf("the weights %s have zero point %d in channel %d, want 0", n.In[1], z, c)
					}
				}
			}
			return ""
		}},
	}
}

func spatialRule(code string, geometry func(n *ir.Node) ([]int, error)) target.Rule {
	return target.Rule{Code: code, Doc: "one or two spatial dimensions", Check: func(n *ir.Node, _ *target.Options) string {
		s, err := geometry(n)
		if err != nil {
			return err.Error()
		}
		if len(s) > 2 {
			return fmt.Sprintf("%d spatial dimensions, want 1 or 2", len(s))
		}
		return ""
	}}
}

func convSpatial(n *ir.Node) ([]int, error) {
	g, err := op.ConvGeometry(n)
	if err != nil {
		return nil, err
	}
	return g.In, nil
}

func convRules(code string, depthwise bool) []target.Rule {
	r := append(macRules(code, op.ConvQuantParams), spatialRule(code+"-05", convSpatial))
	want := "an ordinary or grouped"
	if depthwise {
		want = "a depthwise"
	}
	return append(r, target.Rule{Code: code + "-06", Doc: want + " convolution", Check: func(n *ir.Node, _ *target.Options) string {
		g, err := op.ConvGeometry(n)
		if err == nil && op.IsDepthwise(g) != depthwise {
			return fmt.Sprintf("group %d of %d input and %d output channels: not %s convolution", g.Group, g.CIn, g.COut, want)
		}
		return ""
	}})
}

// convolve is arm_convolve_wrapper_s8, or arm_convolve_s8 where the wrapper's
// 1xN route computes wrongly on Helium.
var convolve = &target.Kernel{
	Name: "arm_convolve_wrapper_s8", Library: Library, Doc: "int8 convolution with groups and dilation",
	Ops: []*ir.OpDef{op.Conv}, Rules: convRules("CMSIS-CONV", false), Layout: target.SpatialLayout, Lower: lowerConv,
}

func lowerConv(n *ir.Node, o *target.Options) (*target.Lowered, error) {
	g, err := op.ConvGeometry(n)
	if err != nil {
		return nil, err
	}
	p, why := op.ConvQuantParams(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	isa := CoreISA(o.Core)
	in, out := feature(g.N, g.CIn, g.In), feature(g.N, g.COut, g.Out)
	filter := feature(g.COut, g.CIn/g.Group, g.Kernel)
	stride, pad, dil := geom2(g.Strides, 1), geom2(g.PadBegin, 0), geom2(g.Dilations, 1)
	params := &target.Struct{Type: "cmsis_nn_conv_params", Fields: []target.Field{
		target.FI("input_offset", int(p.InOff)), target.FI("output_offset", int(p.OutOff)),
		target.F("stride", stride.arg()), target.F("padding", pad.arg()), target.F("dilation", dil.arg()), target.F("activation", activation(p.ActMin, p.ActMax))}}
	ref := &qref.ConvParams{In: qref.Dims{N: in.N, H: in.H, W: in.W, C: in.C}, Filter: qref.Dims{N: filter.N, H: filter.H, W: filter.W, C: filter.C},
		Out: qref.Dims{N: out.N, H: out.H, W: out.W, C: out.C}, Stride: qref.Tile(stride), Pad: qref.Tile(pad), Dilation: qref.Tile(dil)}
	route := convRoute(isa, in, filter, stride, pad, dil)
	fn, size := "arm_convolve_wrapper_s8", ConvScratch(isa, in, filter, out, stride, pad, dil)
	if ref.MVELimit() != "" && isa == MVE {
		fn, route, size = "arm_convolve_s8", "arm_convolve_s8", ConvGenericScratch(isa, in, filter)
	}
	bias, biasDims := biasArg(n, g.COut)
	weights := &target.Blob{Hint: "weights", CType: "int8_t", Data: constBytes(n.In[1], weightPerm(len(g.In))), Align: 4, Pad: 16, NoCast: true}
	args := []target.Arg{context(0, size), params, perChannel(p), in.arg(), i8In(0), filter.arg(), weights, biasDims, bias}
	if fn == "arm_convolve_s8" {
		args = append(args, target.Null{}) // no upscaling
	}
	if s := ref.LibraryLimit(true); s != "" {
		panic("BUG: " + s)
	}
	args = append(args, out.arg(), i8Out(0))
	return calls(&target.Lowered{Kernel: fn, Route: route, Scratch: size, Unused: []int{1, 2}}, target.Call{Func: fn, Args: args, Status: target.CMSISStatus})
}

// weightPerm turns OI(H)W into O(H)WI.
func weightPerm(spatial int) []int {
	p := []int{0}
	for d := 0; d < spatial; d++ {
		p = append(p, 2+d)
	}
	return append(p, 1)
}

// perChannel are the multipliers and shifts, padded for over-reading kernels.
func perChannel(p *op.MACParams) *target.Struct {
	return &target.Struct{Type: "cmsis_nn_per_channel_quant_params", Fields: []target.Field{
		target.F("multiplier", i32Blob("multiplier", p.Mult)), target.F("shift", i32Blob("shift", p.Shift))}}
}

// biasArg is the bias and its dimensions. Zeros stand in for an absent bias:
// grouped convolutions, and the MVE depthwise kernel above 124 channels, step
// through the pointer even where it is NULL (qref's LibraryLimit of both).
func biasArg(n *ir.Node, channels int) (target.Arg, *target.Struct) {
	v := make([]int32, channels)
	if b := n.Input(2); b != nil {
		for i := range v {
			v[i] = int32(b.Const.Int(i % b.Const.Len()))
		}
	}
	x := i32Blob("bias", v)
	x.NoCast = true
	return x, Dims{1, 1, 1, channels}.arg()
}

// convRoute is the inner function that arm_convolve_wrapper_s8 calls
// (arm_convolve_wrapper_s8.c, arm_nn_is_convolve_* in arm_nnsupportfunctions.h).
func convRoute(isa ISA, in, filter Dims, stride, pad, dil Tile) string {
	switch {
	case pad == Tile{} && filter.H == 1 && filter.W == 1 && dil == Tile{1, 1} && in.C == filter.C:
		if stride == (Tile{1, 1}) {
			return "arm_convolve_1x1_s8_fast"
		}
		return "arm_convolve_1x1_s8"
	case isa == MVE && in.H == 1 && filter.H == 1 && dil.W == 1 && stride.W*in.C%4 == 0 && in.C == filter.C:
		return "arm_convolve_1_x_n_s8"
	}
	return "arm_convolve_s8"
}

// depthwise is arm_depthwise_conv_wrapper_s8, or arm_depthwise_conv_s8 where
// the wrapper's kernel for 3x3 windows reads too far.
var depthwise = &target.Kernel{
	Name: "arm_depthwise_conv_wrapper_s8", Library: Library, Doc: "int8 depthwise convolution with multiplier",
	Ops: []*ir.OpDef{op.Conv}, Rules: convRules("CMSIS-DW", true), Layout: target.SpatialLayout, Lower: lowerDepthwise,
}

func lowerDepthwise(n *ir.Node, o *target.Options) (*target.Lowered, error) {
	g, err := op.ConvGeometry(n)
	if err != nil {
		return nil, err
	}
	p, why := op.ConvQuantParams(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	isa := CoreISA(o.Core)
	in, out := feature(g.N, g.CIn, g.In), feature(g.N, g.COut, g.Out)
	filter := feature(1, g.COut, g.Kernel)
	stride, pad, dil := geom2(g.Strides, 1), geom2(g.PadBegin, 0), geom2(g.Dilations, 1)
	size := DepthwiseScratch(isa, in, filter, out, stride, pad, dil)
	params := &target.Struct{Type: "cmsis_nn_dw_conv_params", Fields: []target.Field{
		target.FI("input_offset", int(p.InOff)), target.FI("output_offset", int(p.OutOff)), target.FI("ch_mult", g.COut/g.CIn),
		target.F("stride", stride.arg()), target.F("padding", pad.arg()), target.F("dilation", dil.arg()), target.F("activation", activation(p.ActMin, p.ActMax))}}
	bias, biasDims := biasArg(n, g.COut)
	perm := []int{1} // [C*m][1](H)W -> [1](H)W[C*m]
	for d := range g.In {
		perm = append(perm, 2+d)
	}
	weights := &target.Blob{Hint: "weights", CType: "int8_t", Data: constBytes(n.In[1], append(perm, 0)), Align: 4, Pad: 16, NoCast: true}
	fn, route := "arm_depthwise_conv_wrapper_s8", depthwiseRoute(isa, g, in, filter, pad, dil)
	ref := &qref.DepthwiseParams{In: qref.Dims(in), Filter: qref.Dims(filter), Out: qref.Dims(out), ChMult: g.COut / g.CIn,
		Stride: qref.Tile(stride), Pad: qref.Tile(pad), Dilation: qref.Tile(dil)}
	if isa != MVE && ref.LibraryLimit(true) != "" {
		fn, route, size = "arm_depthwise_conv_s8", "arm_depthwise_conv_s8", 0
	}
	return calls(&target.Lowered{Route: route, Scratch: size, Unused: []int{1, 2}},
		target.Call{Func: fn, Status: target.CMSISStatus,
			Args: []target.Arg{context(0, size), params, perChannel(p), in.arg(), i8In(0), filter.arg(), weights, biasDims, bias, out.arg(), i8Out(0)}})
}

// depthwiseRoute is the inner function of arm_depthwise_conv_wrapper_s8.
func depthwiseRoute(isa ISA, g *op.ConvGeom, in, filter Dims, pad, dil Tile) string {
	if g.COut == g.CIn && in.N == 1 && dil == (Tile{1, 1}) {
		if isa != MVE && filter.W == 3 && filter.H == 3 && pad.H <= 1 && pad.W <= 1 {
			return "arm_depthwise_conv_3x3_s8"
		}
		return "arm_depthwise_conv_s8_opt"
	}
	return "arm_depthwise_conv_s8"
}
