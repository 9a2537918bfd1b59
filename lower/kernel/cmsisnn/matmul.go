// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/qref/cmsis"
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
		Out:    cmsis.Dims{N: f.Rows, H: 1, W: 1, C: f.Cols}, InOffset: int(p.InOff), FilterOffset: int(p.FilterOff[0]),
		OutOffset: int(p.OutOff), PerChannel: len(p.Mult) > 1, HasBias: true}
}

func lowerFC(n *kernel.Node) *call.Lowered {
	f, r := quantised.Products.Must(n), fcRoute.Must(n)
	p, w := f.Params, arranged(n.In[1], f.Perm)
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
		sums := qref.KernelSums(f.Cols, f.Depth, w, p.InOff, p.FilterOff[0],
			kernel.Bias(n.Node, f.Cols))
		ctx = &call.Struct{Type: "cmsis_nn_context", Fields: call.Ints("buf", i32Blob("sums", sums), "size", r.Scratch)}
	}
	params := productParams(p, call.T(p.InOff), call.T(p.FilterOff[0]), call.T(p.OutOff))
	quant := &call.Struct{Type: "cmsis_nn_quant_params", Fields: call.Ints("multiplier",
		i32Blob("multiplier", p.Mult), "shift", i32Blob("shift", p.Shift), "is_per_channel", per)}
	return calls(&call.Lowered{Route: r.Inner, RouteReason: r.Why, Unused: []int{1, 2}},
		call.Call{Func: "arm_fully_connected_wrapper_s8", Status: call.CMSISStatus,
			Args: []call.Arg{ctx, params, quant, Dims{f.Rows, 1, 1, f.Depth}.arg(), i8In(0),
				Dims{f.Depth, 1, 1, f.Cols}.arg(), weights8(w),
				Dims{1, 1, 1, f.Cols}.arg(), bias, Dims{f.Rows, 1, 1, f.Cols}.arg(), i8Out(0)}})
}

// batchMatMul and batchMatMul16 want the right side transposed: the step does that into scratch first.
var (
	batchMatMul = &kernel.Kernel{
		Name: "arm_batch_matmul_s8", Library: Library, Was: "CMSIS-BMM", Doc: "int8 product of two activations",
		Ops: []*ir.OpDef{op.MatMul},
		Rules: kernel.Rules{quantised.Int8(0, 1), matrixRanks,
			quantised.MACParams.Exists("FIXED-POINT", "fixed-point scale")},
		Lower: func(n *kernel.Node) *call.Lowered {
			right, p := matDims(n.In[1].Type.Shape), quantised.MACParams.Must(n)
			bytes := roundUp(right.N*right.H*right.W*right.C, 16)
			sums := cmsis.Size("arm_batch_matmul_s8", &cmsis.Query{Build: CoreISA(n.Core),
				Filter: cmsis.Dims{C: right.C}})
			return batchProduct(n, "arm_batch_matmul_s8", "int8_t", p, bytes+sums, context(bytes, sums),
				productParams(p, call.T(p.InOff), call.T(p.FilterOff[0]), call.T(p.OutOff)),
				transpose(CoreISA(n.Core), i8In(1), call.Scratch{CType: "int8_t"},
					[]int{right.N * right.H, right.W, right.C}, []int{0, 2, 1}))
		},
	}
	batchMatMul16 = &kernel.Kernel{
		Name: "arm_batch_matmul_s16", Library: Library, Was: "CMSIS-BMM16", Doc: "int16 product of two activations",
		Ops:    []*ir.OpDef{op.MatMul},
		Layout: func(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Natural} },
		Rules: kernel.Rules{quantised.Int16(0, 1), matrixRanks,
			quantised.MAC16Params.Exists("FIXED-POINT", "fixed-point scale")},
		Lower: func(n *kernel.Node) *call.Lowered {
			right, p := matDims(n.In[1].Type.Shape), quantised.MAC16Params.Must(n)
			k := right.W * right.C
			return batchProduct(n, "arm_batch_matmul_s16", "int16_t", p, 2*roundUp(right.N*right.H*k, 8), context(0, 0),
				productParams(p, call.I32(0), call.I32(0), call.I32(0)),
				copyND(2, 0, 0, []int{right.N * right.H, right.C, right.W}, []int{k, 1, right.C}, []int{k, right.W, 1},
					call.In{I: 1, CType: "uint8_t"}, call.Scratch{CType: "uint8_t"}))
		},
	}
)

var matrixRanks = cond.New("MATRICES", "matrices with up to two leading dimensions of equal size or 1",
	func(n *kernel.Node) string {
		a, b := n.In[0].Type.Shape, n.In[1].Type.Shape
		return cond.If(len(a) < 2 || len(b) < 2 || len(a) > 4 || len(b) > 4, "shapes %v and %v, want rank 2 to 4", a, b)
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

// batchProduct calls a function behind the one that transposes the right side.
func batchProduct(n *kernel.Node, fn, ctype string, p *op.MACParams, scratch int, ctx call.Arg, params *call.Struct,
	turn call.Call) *call.Lowered {
	left, right := matDims(n.In[0].Type.Shape), matDims(n.In[1].Type.Shape)
	out := Dims{max(left.N, right.N), max(left.H, right.H), left.W, right.C}
	bmm := &call.Struct{Type: "cmsis_nn_bmm_params", Fields: call.Ints("adj_x", 0, "adj_y", 0, "fc_params",
		call.Nested{Fields: params.Fields})}
	return calls(&call.Lowered{Kernel: fn, Scratch: scratch}, turn, call.Call{Func: fn, Status: call.CMSISStatus,
		Args: []call.Arg{ctx, bmm, perTensor(p), left.arg(), call.In{I: 0, CType: ctype},
			Dims{right.N, right.H, right.C, right.W}.arg(), call.Scratch{CType: ctype}, out.arg(),
			call.Out{I: 0, CType: ctype}}})
}
