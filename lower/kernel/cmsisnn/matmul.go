// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/qref/cmsis"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// fullyConnected is arm_fully_connected_wrapper_s8.
var fullyConnected = &kernel.Kernel{
	Name: "arm_fully_connected_wrapper_s8", Library: Library, Was: "CMSIS-FC",
	Doc: "int8 fully connected layer, per tensor or per channel",
	Ops: []*ir.OpDef{op.Gemm, op.MatMul}, Lower: lowerFC,
	Rules: append(quantised.ProductRules(nil),
		fcRoute.Exists("KNOWN-DEFECT", "zero points that the library computes rightly: with Helium 0 for weights "+
			"with scales per channel")),
}

// fcRoute is the library's kernel for a product. What it gets wrong is not asked
// of it.
var fcRoute = kernel.NewFact(func(n *kernel.Node) (routed, string) {
	f, why := quantised.Products.Of(n)
	if why != "" || len(f.Params.FilterOff) > 1 {
		return routed{}, kernel.Unread
	}
	return route(fcQuery(f, n.Core), "arm_fully_connected_wrapper_s8")
})

// fcQuery is what the knowledge base is asked about the product.
func fcQuery(f *quantised.Product, core kernel.Core) *cmsis.Query {
	p := f.Params
	return &cmsis.Query{Build: CoreISA(core), In: cmsis.Dims{N: f.Rows, H: 1, W: 1, C: f.Depth},
		Filter: cmsis.Dims{N: f.Depth, H: 1, W: 1, C: f.Cols},
		Out:    cmsis.Dims{N: f.Rows, H: 1, W: 1, C: f.Cols}, InOff: int(p.InOff), FilterOff: int(p.FilterOff[0]),
		OutOff: int(p.OutOff), PerChannel: len(p.Mult) > 1, HasBias: true}
}

func lowerFC(n *kernel.Node) *call.Lowered {
	f, r := quantised.Products.Must(n), fcRoute.Must(n)
	p, w := f.Params, f.Weights(n)
	var bias call.Arg = call.Null{}
	if n.Input(2) != nil {
		bias = biasArg(n.Node, f.Cols)
	}
	ctx := context(0, 0)
	per := 0
	if len(p.Mult) > 1 {
		per = 1
	}
	if CoreISA(n.Core) == MVE {
		// The Helium kernels want bias plus weight sums times the input offset in
		// the context: constants of the model (arm_vector_sum_s8).
		sums := qref.KernelSums(f.Cols, f.Depth, tensor.As[int8](w), p.InOff, p.FilterOff[0],
			kernel.Bias(n.Node, f.Cols))
		ctx = &call.Struct{Type: "cmsis_nn_context", Fields: []call.Field{
			call.F("buf", i32Blob("sums", sums)), call.FI("size", r.Scratch)}}
	}
	params := &call.Struct{Type: "cmsis_nn_fc_params", Fields: []call.Field{
		call.FT("input_offset", p.InOff), call.FT("filter_offset", p.FilterOff[0]),
		call.FT("output_offset", p.OutOff),
		call.F("activation", activation(p.ActMin, p.ActMax))}}
	quant := &call.Struct{Type: "cmsis_nn_quant_params", Fields: []call.Field{
		call.F("multiplier", i32Blob("multiplier", p.Mult)), call.F("shift", i32Blob("shift", p.Shift)),
		call.FI("is_per_channel", per)}}
	weights := &call.Blob{Hint: "weights", CType: "int8_t", Data: w.Bytes(), Align: 4, Pad: 16, NoCast: true}
	return calls(&call.Lowered{Route: r.Inner, RouteReason: r.Why, Unused: []int{1, 2}},
		call.Call{Func: "arm_fully_connected_wrapper_s8", Status: call.CMSISStatus,
			Args: []call.Arg{ctx, params, quant, Dims{f.Rows, 1, 1, f.Depth}.arg(), i8In(0),
				Dims{f.Depth, 1, 1, f.Cols}.arg(), weights,
				Dims{1, 1, 1, f.Cols}.arg(), bias, Dims{f.Rows, 1, 1, f.Cols}.arg(), i8Out(0)}})
}

// batchMatMul is arm_batch_matmul_s8, which wants the right side transposed:
// the step does that into scratch first.
var batchMatMul = &kernel.Kernel{
	Name: "arm_batch_matmul_s8", Library: Library, Was: "CMSIS-BMM", Doc: "int8 product of two activations",
	Ops: []*ir.OpDef{op.MatMul}, Lower: lowerBatchMatMul,
	Rules: kernel.Rules{
		quantised.Int8(0, 1), matrixRanks, quantised.MatMulParams.Exists("FIXED-POINT", "fixed-point scale"),
	},
}

var matrixRanks = cond.New("MATRICES", "matrices with up to two leading dimensions of equal size or 1",
	func(n *kernel.Node) string {
		a, b := n.In[0].Type.Shape, n.In[1].Type.Shape
		if len(a) < 2 || len(b) < 2 || len(a) > 4 || len(b) > 4 {
			return fmt.Sprintf("shapes %v and %v, want rank 2 to 4", a, b)
		}
		return ""
	})

// matDims are a matrix operand's dimensions as CMSIS-NN counts them.
func matDims(s []int) Dims {
	d := Dims{1, 1, s[len(s)-2], s[len(s)-1]}
	if len(s) > 2 {
		d.H = s[len(s)-3]
	}
	if len(s) > 3 {
		d.N = s[0]
	}
	return d
}

func lowerBatchMatMul(n *kernel.Node) *call.Lowered {
	g, p := kernel.MatMul.Must(n), quantised.MatMulParams.Must(n)
	left, right := matDims(n.In[0].Type.Shape), matDims(n.In[1].Type.Shape)
	out := Dims{max(left.N, right.N), max(left.H, right.H), g.M, g.N}
	transposed := Dims{right.N, right.H, right.C, right.W}
	bytes := roundUp(right.N*right.H*right.W*right.C, 16)
	sums := cmsis.Size("arm_batch_matmul_s8", &cmsis.Query{Build: CoreISA(n.Core), Filter: cmsis.Dims{C: g.N}})
	lo := &call.Struct{Type: "cmsis_nn_fc_params", Fields: []call.Field{
		call.FT("input_offset", p.InOff), call.FT("filter_offset", p.FilterOff[0]),
		call.FT("output_offset", p.OutOff),
		call.F("activation", activation(p.ActMin, p.ActMax))}}
	bmm := &call.Struct{Type: "cmsis_nn_bmm_params", Fields: []call.Field{
		call.FI("adj_x", 0), call.FI("adj_y", 0), call.F("fc_params", call.Nested{Fields: lo.Fields})}}
	quant := &call.Struct{Type: "cmsis_nn_per_tensor_quant_params", Fields: []call.Field{
		call.FT("multiplier", p.Mult[0]), call.FT("shift", p.Shift[0])}}
	return calls(&call.Lowered{Kernel: "arm_batch_matmul_s8", Scratch: bytes + sums},
		transpose(CoreISA(n.Core), i8In(1), call.Scratch{CType: "int8_t"}, []int{right.N * right.H, right.W, right.C},
			[]int{0, 2, 1}),
		call.Call{Func: "arm_batch_matmul_s8", Status: call.CMSISStatus,
			Args: []call.Arg{context(bytes, sums), bmm, quant, left.arg(), i8In(0), transposed.arg(),
				call.Scratch{CType: "int8_t"}, out.arg(), i8Out(0)}})
}
