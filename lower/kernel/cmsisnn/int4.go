package cmsisnn

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// int8 data and int4 weights, two a byte. Where these rows refuse, the int8
// rows take the weights a byte each.

func conv8Why(n *ir.Node, _ *kernel.Options) string {
	p, why := op.ConvQuantParams(n)
	if why == "" && !p.Symmetric() {
		why = "the weights have zero points, want 0"
	}
	return why
}

// convolve4 is arm_convolve_wrapper_s4, or arm_convolve_s4 where the wrapper's
// 1xN route fails with Helium.
var convolve4 = &kernel.Kernel{
	Name: "arm_convolve_wrapper_s4", Library: Library, Doc: "int8 convolution with packed int4 weights and dilation",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout,
	Rules: []kernel.Rule{quantised.Int8("CMSIS-CONV4-01", 0), constWeights("CMSIS-CONV4-02", tensor.I4),
		quantised.Agrees("CMSIS-CONV4-03", "symmetric weights, scales with a fixed-point form, a bias that counts their product", conv8Why),
		quantised.SpatialRule("CMSIS-CONV4-04", quantised.ConvSizes),
		{Code: "CMSIS-CONV4-05", Doc: "no groups", Check: convolve16.Rules[4].Check},
		{Code: "CMSIS-CONV4-06", Doc: "a geometry that the library computes rightly", Check: func(n *ir.Node, o *kernel.Options) string {
			g, err := op.ConvGeometry(n)
			if err != nil || len(g.In) > 2 || g.Group != 1 {
				return kernel.Unread
			}
			_, why := route(convWindow(g).query(o.Core), "arm_convolve_wrapper_s4", "arm_convolve_s4")
			return why
		}}},
	Lower: func(n *ir.Node, o *kernel.Options) (*call.Lowered, error) {
		g, err := op.ConvGeometry(n)
		if err != nil {
			return nil, err
		}
		p, why := op.ConvQuantParams(n)
		if why != "" {
			return nil, ir.Errf(n, "kernel", "%s", why)
		}
		return lowerConv4(n, convWindow(g), p, o.Core)
	},
}

func lowerConv4(n *ir.Node, w *window, p *op.MACParams, core kernel.Core) (*call.Lowered, error) {
	r, why := route(w.query(core), "arm_convolve_wrapper_s4", "arm_convolve_s4")
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	bias, _ := biasArg(n, w.out.C)
	return calls(&call.Lowered{Kernel: r.Func, Route: r.Inner, RouteReason: r.Why, Scratch: r.Scratch, Unused: []int{1, 2}},
		w.call(r.Func, r.Scratch, p, "int8_t", weights4(arranged(n.In[1], w.perm)), bias))
}

// depthwise4 is arm_depthwise_conv_wrapper_s4 where the library computes it right.
var depthwise4 = &kernel.Kernel{
	Name: "arm_depthwise_conv_wrapper_s4", Library: Library, Doc: "int8 depthwise convolution with packed int4 weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout,
	Rules: []kernel.Rule{quantised.Int8("CMSIS-DW4-01", 0), constWeights("CMSIS-DW4-02", tensor.I4),
		quantised.Agrees("CMSIS-DW4-03", "symmetric weights, scales with a fixed-point form, a bias that counts their product", conv8Why),
		quantised.SpatialRule("CMSIS-DW4-04", quantised.ConvSizes), onlyDepthwise("CMSIS-DW4-05"),
		{Code: "CMSIS-DW4-06", Doc: "a case that the library's kernels compute right", Check: func(n *ir.Node, o *kernel.Options) string {
			g, err := op.ConvGeometry(n)
			if err != nil || len(g.In) > 2 || !op.IsDepthwise(g) {
				return kernel.Unread
			}
			_, why := route(depthwiseWindow(g).query(o.Core), "arm_depthwise_conv_wrapper_s4")
			return why
		}}},
	Lower: func(n *ir.Node, o *kernel.Options) (*call.Lowered, error) {
		g, err := op.ConvGeometry(n)
		if err != nil {
			return nil, err
		}
		p, why := op.ConvQuantParams(n)
		if why != "" {
			return nil, ir.Errf(n, "kernel", "%s", why)
		}
		w := depthwiseWindow(g)
		r, why := route(w.query(o.Core), "arm_depthwise_conv_wrapper_s4")
		if why != "" {
			return nil, ir.Errf(n, "kernel", "%s", why)
		}
		bias, _ := biasArg(n, w.out.C)
		return calls(&call.Lowered{Route: r.Inner, RouteReason: r.Why, Scratch: r.Scratch, Unused: []int{1, 2}},
			w.call(r.Func, r.Scratch, p, "int8_t", weights4(arranged(n.In[1], w.perm)), bias))
	},
}

// fullyConnected4 is arm_fully_connected_s4 with one scale, else
// arm_convolve_wrapper_s4 on a map of one column.
var fullyConnected4 = &kernel.Kernel{
	Name: "arm_fully_connected_s4", Library: Library, Doc: "int8 fully connected layer with packed int4 weights; with a scale an output channel, as a convolution of one pixel",
	Ops: []*ir.OpDef{op.Gemm, op.MatMul}, Layout: func(*ir.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Natural} },
	Rules: []kernel.Rule{quantised.Int8("CMSIS-FC4-01", 0), constWeights("CMSIS-FC4-02", tensor.I4),
		quantised.Agrees("CMSIS-FC4-03", "a plain product with fixed-point scales and symmetric weights", func(n *ir.Node, _ *kernel.Options) string {
			f, why := quantised.ProductOf(n)
			if why == "" && !f.Params.Symmetric() {
				why = "the weights have zero points, want 0"
			}
			return why
		})},
	Lower: func(n *ir.Node, o *kernel.Options) (*call.Lowered, error) {
		f, why := quantised.ProductOf(n)
		if why != "" {
			return nil, ir.Errf(n, "kernel", "%s", why)
		}
		if len(f.Params.Mult) > 1 {
			return lowerConv4(n, rowsWindow(f), f.Params, o.Core)
		}
		bias, _ := biasArg(n, f.Cols)
		return calls(&call.Lowered{Unused: []int{1, 2}}, fcCall(f, "arm_fully_connected_s4", "int8_t", weights4(arranged(n.In[1], f.Perm)), bias))
	},
}
