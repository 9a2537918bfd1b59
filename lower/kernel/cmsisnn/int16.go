// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref/cmsis"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// int16 data and int8 weights: convolution, depthwise convolution, products.

// constWeights is the rule that weights of the given types and the bias are constant.
func constWeights(types ...tensor.DType) kernel.Rule {
	return cond.New("WEIGHTS", fmt.Sprintf("weights are constant %v", types), func(n *kernel.Node) string {
		w := n.In[1]
		if w.Const == nil {
			return fmt.Sprintf("the weights %s are computed at run time, want a constant", w)
		}
		if b := n.Input(2); b != nil && b.Const == nil {
			return fmt.Sprintf("the bias %s is computed at run time, want a constant", b)
		}
		for _, t := range types {
			if w.Type.DType == t && w.Type.Quant != nil {
				return ""
			}
		}
		return fmt.Sprintf("the weights %s are %s, want quantised %v", w, w.Type.DType, types)
	})
}

// bias64 is the int64 bias array; NULL where there is none.
func bias64(n *ir.Node, channels int) call.Arg {
	b := n.Input(2)
	if b == nil {
		return call.Null{}
	}
	v := lists.Make(channels, func(i int) int64 { return b.Const.Int(i % b.Const.Len()) })
	return &call.Blob{Hint: "bias", CType: "int64_t", Data: tensor.Of([]int{channels}, v).Bytes(), Align: 8, Pad: 24,
		NoCast: true}
}

// biasData is cmsis_nn_bias_data over 64-bit values.
func biasData(n *ir.Node, channels int) call.Arg {
	return &call.Struct{Type: "cmsis_nn_bias_data", Fields: []call.Field{call.F("data", bias64(n, channels)),
		call.FI("is_int32_bias", 0)}}
}

var (
	convolve16 = convRow("arm_convolve_wrapper_s16", "CMSIS-CONV16", "int16 convolution with int8 weights and dilation",
		data16,
		convolutions16,
		quantised.Int16(0), constWeights(tensor.I8, tensor.I4), quantised.FixedPoint16, quantised.ConvSpatialRule,
		noGroups,
		quantised.Agrees("CORE-SUMS", "sums that the kernels of all cores hold", func(n *kernel.Node) string {
			g, why := kernel.Conv.Of(n)
			if why != "" || g.Group != 1 || len(g.In) > 2 || n.In[1].Const == nil {
				return ""
			}
			w, ok := n.In[1].Const.Data.([]int8)
			if !ok {
				return ""
			}
			return convWindow(g).limit16(w, n.Core.MVE)
		}))
	depthwise16 = convRow("arm_depthwise_conv_wrapper_s16", "CMSIS-DW16",
		"int16 depthwise convolution with int8 weights and multiplier", dwise16, depthwises16,
		quantised.Int16(0), constWeights(tensor.I8, tensor.I4), quantised.FixedPoint16, quantised.ConvSpatialRule,
		quantised.DepthwiseRule(true))
)

var noGroups = kernel.Conv.Rule("GROUPS", "no groups", func(_ *kernel.Node, g *op.ConvGeom) string {
	return cond.If(g.Group != 1, "%d groups, want 1", g.Group)
})

// fullyConnected16 is arm_fully_connected_s16 with one scale, else
// arm_convolve_wrapper_s16 on a map of one column.
var fullyConnected16 = &kernel.Kernel{
	Name: "arm_fully_connected_s16", Library: Library, Was: "CMSIS-FC16",
	Doc: "int16 fully connected layer with int8 weights; with a scale an output channel, as a convolution of " +
		"one pixel",
	Ops: []*ir.OpDef{op.Gemm, op.MatMul},
	Rules: kernel.Rules{quantised.Int16(0), constWeights(tensor.I8, tensor.I4), quantised.Product16,
		quantised.Products16.Rule("CORE-SUMS", "sums that the kernels of all cores hold",
			func(n *kernel.Node, f *quantised.Product) string {
				if !quantised.KnownWeights(n.Node) {
					return kernel.Unread
				}
				w := arranged(n.In[1], f.Perm)
				if len(f.Params.Mult) > 1 {
					return rowsWindow(f).limit16(w, n.Core.MVE)
				}
				return cmsis.FC16Limit(w, f.Depth)
			})},
	Lower: func(n *kernel.Node) *call.Lowered {
		return lowerProduct(n, quantised.Products16.Must(n), data16, "arm_fully_connected_s16", bias64,
			"arm_convolve_wrapper_s16")
	},
}

// lowerProduct is a fully connected layer by a function for one scale, else as a convolution by one of those named.
func lowerProduct(n *kernel.Node, f *quantised.Product, d data, fn string,
	bias func(n *ir.Node, channels int) call.Arg, convolutions ...string) *call.Lowered {
	if len(f.Params.Mult) > 1 {
		return asConvolution(n, f, d, convolutions...)
	}
	return calls(&call.Lowered{Unused: []int{1, 2}}, fcCall(f, fn, d.ctype, d.weights(arranged(n.In[1], f.Perm)),
		bias(n.Node, f.Cols)))
}

// fcCall is a fully connected layer with one multiplier.
func fcCall(f *quantised.Product, fn, ctype string, weights, bias call.Arg) call.Call {
	p := f.Params
	params := productParams(p, call.T(p.InOff), call.I32(0), call.T(p.OutOff))
	return call.Call{Func: fn, Status: call.CMSISStatus, Args: []call.Arg{context(0, 0), params, perTensor(p),
		Dims{f.Rows, 1, 1, f.Depth}.arg(), call.In{I: 0, CType: ctype}, Dims{f.Depth, 1, 1, f.Cols}.arg(), weights,
		Dims{1, 1, 1, f.Cols}.arg(), bias, Dims{f.Rows, 1, 1, f.Cols}.arg(), call.Out{I: 0, CType: ctype}}}
}

func perTensor(p *op.MACParams) *call.Struct {
	return &call.Struct{Type: "cmsis_nn_per_tensor_quant_params", Fields: []call.Field{
		call.FT("multiplier", p.Mult[0]), call.FT("shift", p.Shift[0])}}
}
