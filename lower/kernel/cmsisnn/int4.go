// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// int8 data and int4 weights, two a byte. Where these rows refuse, the int8
// rows take the weights a byte each.

// symmetric is the rule that the arithmetic exists and knows no zero points of
// weights.
func symmetric[T any](code, doc string, f *kernel.Fact[T], params func(x T) *op.MACParams) kernel.Rule {
	return cond.New(code, doc, func(n *kernel.Node) string {
		x, why := f.Of(n)
		if why == "" && !params(x).Symmetric() {
			why = "the weights have zero points, want 0"
		}
		return why
	})
}

func conv4Rules(kind kernel.Rule, by *kernel.Fact[*convolution]) kernel.Rules {
	return kernel.Rules{quantised.Int8(0), constWeights(tensor.I4), symmetric("SYMMETRIC-FIXED-POINT",
		"symmetric weights, scales with a fixed-point form, a bias that counts their product",
		quantised.MACParams,
		func(p *op.MACParams) *op.MACParams { return p }),
		quantised.ConvSpatialRule, kind, noDefect(by)}
}

var (
	convolve4 = convRow("arm_convolve_wrapper_s4", "CMSIS-CONV4",
		"int8 convolution with packed int4 weights and dilation", data4,
		convolutions4,
		conv4Rules(noGroups, convolutions4)...)
	depthwise4 = convRow("arm_depthwise_conv_wrapper_s4", "CMSIS-DW4",
		"int8 depthwise convolution with packed int4 weights", data4,
		depthwises4,
		conv4Rules(quantised.DepthwiseRule(true), depthwises4)...)
)

// fullyConnected4 is arm_fully_connected_s4 with one scale, else
// arm_convolve_wrapper_s4 on a map of one column.
var fullyConnected4 = &kernel.Kernel{
	Name: "arm_fully_connected_s4", Library: Library, Was: "CMSIS-FC4",
	Doc: "int8 fully connected layer with packed int4 weights; with a scale an output channel, as a convolution " +
		"of one pixel",
	Ops: []*ir.OpDef{op.Gemm, op.MatMul},
	Rules: kernel.Rules{quantised.Int8(0), constWeights(tensor.I4),
		symmetric("SYMMETRIC-PRODUCT", "a plain product with fixed-point scales and symmetric weights",
			quantised.Products,
			func(f *quantised.Product) *op.MACParams { return f.Params })},
	Lower: func(n *kernel.Node) *call.Lowered {
		return lowerProduct(n, quantised.Products.Must(n), data4, "arm_fully_connected_s4", biasArg,
			"arm_convolve_wrapper_s4", "arm_convolve_s4")
	},
}

// asConvolution is a fully connected layer with a scale an output channel, by one
// of the named functions.
func asConvolution(n *kernel.Node, f *quantised.Product, d data, names ...string) *call.Lowered {
	w := rowsWindow(f)
	r, why := route(w.query(n.Core), names...)
	bug.If(why != "", "a convolution of one column: %s", why)
	return (&convolution{w, r}).lower(n, d, f.Params)
}
