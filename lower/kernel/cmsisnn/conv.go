package cmsisnn

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref/cmsis"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
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
func macRules(code string, params func(n *ir.Node) (*op.MACParams, string)) []kernel.Rule {
	return []kernel.Rule{
		needsInt8(code+"-01", []int{0}),
		{Code: code + "-02", Doc: "weights are constant int8", Check: func(n *ir.Node, _ *kernel.Options) string {
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
		{Code: code + "-03", Doc: "scales have a fixed-point form, the bias counts their product", Check: func(n *ir.Node, _ *kernel.Options) string {
			if n.In[0].Type.Quant == nil || n.In[1].Type.Quant == nil || n.Out[0].Type.Quant == nil {
				return kernel.Unread
			}
			_, why := params(n)
			return why
		}},
		{Code: code + "-04", Doc: "weights are symmetric: zero points 0", Check: func(n *ir.Node, _ *kernel.Options) string {
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

func spatialRule(code string, geometry func(n *ir.Node) ([]int, error)) kernel.Rule {
	return kernel.Rule{Code: code, Doc: "one or two spatial dimensions", Check: func(n *ir.Node, _ *kernel.Options) string {
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

func convRules(code string, depthwise bool) []kernel.Rule {
	r := append(macRules(code, op.ConvQuantParams), spatialRule(code+"-05", convSpatial))
	want := "an ordinary or grouped"
	if depthwise {
		want = "a depthwise"
	}
	return append(r, kernel.Rule{Code: code + "-06", Doc: want + " convolution", Check: func(n *ir.Node, _ *kernel.Options) string {
		g, err := op.ConvGeometry(n)
		if err == nil && op.IsDepthwise(g) != depthwise {
			return fmt.Sprintf("group %d of %d input and %d output channels: not %s convolution", g.Group, g.CIn, g.COut, want)
		}
		return ""
	}})
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
	Ops: []*ir.OpDef{op.Conv}, Rules: append(convRules("CMSIS-CONV", false), rightly("CMSIS-CONV-07", false)), Layout: kernel.SpatialLayout, Lower: lowerConv,
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

// weightPerm turns OI(H)W into O(H)WI.
func weightPerm(spatial int) []int {
	p := []int{0}
	for d := 0; d < spatial; d++ {
		p = append(p, 2+d)
	}
	return append(p, 1)
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
	Ops: []*ir.OpDef{op.Conv}, Rules: append(convRules("CMSIS-DW", true), rightly("CMSIS-DW-07", true)), Layout: kernel.SpatialLayout, Lower: lowerDepthwise,
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
