// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

func feature(n, c int, spatial []int) Dims {
	t := param.Spatial(spatial, 1)
	return Dims{n, t.H, t.W, c}
}

// convolution is a convolution by one of the library's functions.
type convolution struct {
	*window
	routed
}

// convolutions is the fact of the first of the named functions that the knowledge
// base has nothing against, for a kind of convolutions.
func convolutions(kind func(g *op.ConvGeom) bool, window func(g *op.ConvGeom) *window,
	names ...string) *kernel.Fact[*convolution] {
	return kernel.NewFact(func(n *kernel.Node) (*convolution, string) {
		g, why := kernel.Conv.Of(n)
		if why != "" || len(g.In) > 2 || !kind(g) {
			return nil, kernel.Unread
		}
		w := window(g)
		r, why := route(w.query(n.Core), names...)
		return &convolution{w, r}, why
	})
}

// Kinds of convolutions.
func anyGroups(g *op.ConvGeom) bool { return !op.IsDepthwise(g) }
func oneGroup(g *op.ConvGeom) bool  { return g.Group == 1 }

// data is how a convolution's operands reach the library.
type data struct {
	ctype   string // of activations
	params  *kernel.Fact[*op.MACParams]
	weights func(w []int8) *call.Blob
	bias    func(n *ir.Node, channels int) call.Arg
}

var (
	data8   = data{"int8_t", quantised.MACParams, weights8, biasArg}
	data4   = data{"int8_t", quantised.MACParams, weights4, biasArg}
	data16  = data{"int16_t", quantised.MAC16Params, weights8, biasData}
	dwise16 = data{"int16_t", quantised.MAC16Params, weights8, bias64}
)

// convRow is the row of a function for convolutions.
func convRow(name, was, doc string, d data, by *kernel.Fact[*convolution], rules ...kernel.Rule) *kernel.Kernel {
	return &kernel.Kernel{
		Name: name, Library: Library, Doc: doc, Ops: []*ir.OpDef{op.Conv}, Was: was, Rules: rules,
		Layout: kernel.SpatialLayout,
		Lower:  func(n *kernel.Node) *call.Lowered { return by.Must(n).lower(n, d, d.params.Must(n)) },
	}
}

func (c *convolution) lower(n *kernel.Node, d data, p *op.MACParams) *call.Lowered {
	return calls(&call.Lowered{Route: c.Inner, RouteReason: c.Why, Scratch: c.Scratch, Unused: []int{1, 2}},
		c.call(c.Func, c.Scratch, p, d.ctype, d.weights(arranged(n.In[1], c.perm)), d.bias(n.Node, c.out.C)))
}

// noDefect is the condition that the library has a function that computes a layer rightly.
func noDefect[T any](by *kernel.Fact[T]) kernel.Rule {
	return by.Exists("KNOWN-DEFECT", "a geometry that the library computes rightly")
}

var (
	// arm_convolve_s8 runs where the knowledge base has something against the
	// kernel that the wrapper would run, and so on.
	convolutions8 = convolutions(anyGroups, convWindow, "arm_convolve_wrapper_s8", "arm_convolve_s8")
	depthwises8   = convolutions(op.IsDepthwise, depthwiseWindow, "arm_depthwise_conv_wrapper_s8",
		"arm_depthwise_conv_s8")
	convolutions4  = convolutions(oneGroup, convWindow, "arm_convolve_wrapper_s4", "arm_convolve_s4")
	depthwises4    = convolutions(op.IsDepthwise, depthwiseWindow, "arm_depthwise_conv_wrapper_s4")
	convolutions16 = convolutions(oneGroup, convWindow, "arm_convolve_wrapper_s16")
	depthwises16   = convolutions(op.IsDepthwise, depthwiseWindow, "arm_depthwise_conv_wrapper_s16",
		"arm_depthwise_conv_s16")

	convolve = convRow("arm_convolve_wrapper_s8", "CMSIS-CONV", "int8 convolution with groups and dilation", data8,
		convolutions8, append(quantised.ConvRules(false, nil), noDefect(convolutions8))...)
	depthwise = convRow("arm_depthwise_conv_wrapper_s8", "CMSIS-DW", "int8 depthwise convolution with multiplier",
		data8,
		depthwises8,
		append(quantised.ConvRules(true, nil), noDefect(depthwises8))...)
)

// perChannel are the multipliers and shifts, padded for over-reading kernels.
func perChannel(p *op.MACParams) *call.Struct {
	return &call.Struct{Type: "cmsis_nn_per_channel_quant_params", Fields: []call.Field{
		call.F("multiplier", i32Blob("multiplier", p.Mult)), call.F("shift", i32Blob("shift", p.Shift))}}
}

// biasArg is the bias. Zeros replace an absent bias:
// grouped convolutions, and the MVE depthwise kernel above 124 channels, step
// through the pointer even where it is NULL (X-C8-4 and X-D8-2 of the knowledge base).
func biasArg(n *ir.Node, channels int) call.Arg {
	v := kernel.Bias(n, channels)
	if v == nil {
		v = make([]int32, channels)
	}
	x := i32Blob("bias", v)
	x.NoCast = true
	return x
}
