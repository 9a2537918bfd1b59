package cmsisnn

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref/cmsis"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

func feature(n, c int, spatial []int) Dims {
	t := quantised.Spatial(spatial, 1)
	return Dims{n, t.H, t.W, c}
}

// rightly is the rule that the library computes a convolution rightly.
func rightly(code string, depthwise bool) kernel.Rule {
	return kernel.Rule{Code: code, Doc: "a geometry that the library computes rightly", Check: func(n *ir.Node, o *kernel.Options) string {
		g, err := op.ConvGeometry(n)
		if err != nil || len(g.In) > 2 || op.IsDepthwise(g) != depthwise {
			return kernel.Unread
		}
		names, q := convQuery(g, o.Core)
		_, why := route(q, names...)
		return why
	}}
}

// convQuery is what to ask about a convolution, and the functions that
// compute it, best first.
func convQuery(g *op.ConvGeom, core kernel.Core) ([]string, *cmsis.Query) {
	if op.IsDepthwise(g) {
		return []string{"arm_depthwise_conv_wrapper_s8", "arm_depthwise_conv_s8"}, depthwiseWindow(g).query(core)
	}
	return []string{"arm_convolve_wrapper_s8", "arm_convolve_s8"}, convWindow(g).query(core)
}

// convolve is arm_convolve_wrapper_s8, or arm_convolve_s8 where the knowledge
// base has something against the kernel that the wrapper would run.
var convolve = &kernel.Kernel{
	Name: "arm_convolve_wrapper_s8", Library: Library, Doc: "int8 convolution with groups and dilation",
	Ops: []*ir.OpDef{op.Conv}, Rules: append(quantised.ConvRules("CMSIS-CONV", false, nil), rightly("CMSIS-CONV-07", false)), Layout: kernel.SpatialLayout, Lower: lowerConv,
}

func lowerConv(n *ir.Node, o *kernel.Options) (*call.Lowered, error) {
	g, err := op.ConvGeometry(n)
	if err != nil {
		return nil, err
	}
	p, why := op.ConvQuantParams(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	names, q := convQuery(g, o.Core)
	r, why := route(q, names...)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	w := convWindow(g)
	bias, biasDims := biasArg(n, g.COut)
	weights := &call.Blob{Hint: "weights", CType: "int8_t", Data: constBytes(n.In[1], w.perm), Align: 4, Pad: 16, NoCast: true}
	args := []call.Arg{context(0, r.Scratch), w.params(p), perChannel(p), w.in.arg(), i8In(0), w.filter.arg(), weights, biasDims, bias}
	if r.Func == "arm_convolve_s8" {
		args = append(args, call.Null{}) // no upscaling
	}
	args = append(args, w.out.arg(), i8Out(0))
	return calls(&call.Lowered{Kernel: r.Func, Route: r.Inner, RouteReason: r.Why, Scratch: r.Scratch, Unused: []int{1, 2}},
		call.Call{Func: r.Func, Args: args, Status: call.CMSISStatus})
}

// perChannel are the multipliers and shifts, padded for over-reading kernels.
func perChannel(p *op.MACParams) *call.Struct {
	return &call.Struct{Type: "cmsis_nn_per_channel_quant_params", Fields: []call.Field{
		call.F("multiplier", i32Blob("multiplier", p.Mult)), call.F("shift", i32Blob("shift", p.Shift))}}
}

// biasArg is the bias and its dimensions. Zeros stand in for an absent bias:
// grouped convolutions, and the MVE depthwise kernel above 124 channels, step
// through the pointer even where it is NULL (X-C8-4 and X-D8-2 of the knowledge base).
func biasArg(n *ir.Node, channels int) (call.Arg, *call.Struct) {
	v := kernel.Bias(n, channels)
	if v == nil {
		v = make([]int32, channels)
	}
	x := i32Blob("bias", v)
	x.NoCast = true
	return x, Dims{1, 1, 1, channels}.arg()
}

// depthwise is arm_depthwise_conv_wrapper_s8, or arm_depthwise_conv_s8, likewise.
var depthwise = &kernel.Kernel{
	Name: "arm_depthwise_conv_wrapper_s8", Library: Library, Doc: "int8 depthwise convolution with multiplier",
	Ops: []*ir.OpDef{op.Conv}, Rules: append(quantised.ConvRules("CMSIS-DW", true, nil), rightly("CMSIS-DW-07", true)), Layout: kernel.SpatialLayout, Lower: lowerDepthwise,
}

func lowerDepthwise(n *ir.Node, o *kernel.Options) (*call.Lowered, error) {
	g, err := op.ConvGeometry(n)
	if err != nil {
		return nil, err
	}
	p, why := op.ConvQuantParams(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	names, q := convQuery(g, o.Core)
	r, why := route(q, names...)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	w := depthwiseWindow(g)
	bias, biasDims := biasArg(n, g.COut)
	weights := &call.Blob{Hint: "weights", CType: "int8_t", Data: constBytes(n.In[1], w.perm), Align: 4, Pad: 16, NoCast: true}
	return calls(&call.Lowered{Route: r.Inner, RouteReason: r.Why, Scratch: r.Scratch, Unused: []int{1, 2}},
		call.Call{Func: r.Func, Status: call.CMSISStatus, Args: []call.Arg{context(0, r.Scratch), w.params(p), perChannel(p), w.in.arg(), i8In(0),
			w.filter.arg(), weights, biasDims, bias, w.out.arg(), i8Out(0)}})
}
