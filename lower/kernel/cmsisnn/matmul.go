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
)

// fcShape is a Gemm or MatMul with constant right side as a fully connected
// layer: rows x depth times depth x cols.
type fcShape struct {
	rows, depth, cols int
	perm              []int // weights to [cols][depth]
	params            *op.MACParams
}

func fcOf(n *ir.Node) (*fcShape, string) { return fcWith(n, op.GemmQuantParams, op.MatMulQuantParams) }

// fcWith is the shape of a layer with the parameters that the functions give.
func fcWith(n *ir.Node, gemm, matmul func(n *ir.Node) (*op.MACParams, string)) (*fcShape, string) {
	if n.Op == op.Gemm {
		g, err := op.GemmGeometry(n)
		if err != nil {
			return nil, err.Error()
		}
		p, why := gemm(n)
		f := &fcShape{g.M, g.K, g.N, []int{1, 0}, p}
		if n.Int("transB") != 0 {
			f.perm = nil
		}
		return f, why
	}
	g, err := op.MatMulGeometry(n)
	if err != nil {
		return nil, err.Error()
	}
	if r := n.In[1].Type.Rank(); r != 2 {
		return nil, fmt.Sprintf("the right side %s has rank %d, want 2", n.In[1], r)
	}
	rows := g.M
	for _, d := range g.Batch {
		rows *= d
	}
	p, why := matmul(n)
	return &fcShape{rows, g.K, g.N, []int{1, 0}, p}, why
}

// fullyConnected is arm_fully_connected_wrapper_s8.
var fullyConnected = &kernel.Kernel{
	Name: "arm_fully_connected_wrapper_s8", Library: Library, Doc: "int8 fully connected layer, per tensor or per channel",
	Ops: []*ir.OpDef{op.Gemm, op.MatMul}, Lower: lowerFC,
	Layout: func(*ir.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Natural} },
	Rules:  append(fcRules("CMSIS-FC"), fcPerChannel),
}

// fcRules are the conditions on a fully connected layer.
func fcRules(code string) []kernel.Rule {
	return []kernel.Rule{
		needsInt8(code+"-01", []int{0}),
		{Code: code + "-02", Doc: "weights are constant int8", Check: func(n *ir.Node, _ *kernel.Options) string {
			if w := n.In[1]; w.Const == nil {
				return fmt.Sprintf("the right side %s is computed at run time, want a constant", w)
			} else if w.Type.DType != tensor.I8 && w.Type.DType != tensor.I4 || w.Type.Quant == nil {
				return fmt.Sprintf("the weights %s are %s, want quantised int8", w, w.Type.DType)
			}
			return ""
		}},
		{Code: code + "-03", Doc: "a plain product with fixed-point scales", Check: func(n *ir.Node, _ *kernel.Options) string {
			if n.In[0].Type.Quant == nil || n.In[1].Type.Quant == nil || n.Out[0].Type.Quant == nil {
				return kernel.Unread
			}
			_, why := fcOf(n)
			return why
		}},
		{Code: code + "-04", Doc: "one zero point for all weights", Check: func(n *ir.Node, _ *kernel.Options) string {
			if n.In[0].Type.Quant == nil || n.In[1].Type.Quant == nil || n.Out[0].Type.Quant == nil {
				return kernel.Unread
			}
			f, why := fcOf(n)
			if why != "" {
				return kernel.Unread
			}
			if len(f.params.FilterOff) > 1 {
				return fmt.Sprintf("the weights %s have a zero point for each channel, want one", n.In[1])
			}
			return ""
		}},
	}
}

// fcPerChannel: what the library's kernel gets wrong is not asked of it.
var fcPerChannel = kernel.Rule{Code: "CMSIS-FC-05", Doc: "zero points that the library computes rightly: with Helium 0 for weights with scales per channel", Check: func(n *ir.Node, o *kernel.Options) string {
	if n.In[0].Type.Quant == nil || n.In[1].Type.Quant == nil || n.Out[0].Type.Quant == nil {
		return kernel.Unread
	}
	f, why := fcOf(n)
	if why != "" || len(f.params.FilterOff) > 1 {
		return kernel.Unread
	}
	_, why = route(f.query(o.Core), "arm_fully_connected_wrapper_s8")
	return why
}}

// query is what the knowledge base is asked about the product.
func (f *fcShape) query(core kernel.Core) *cmsis.Query {
	p := f.params
	return &cmsis.Query{Build: CoreISA(core), In: cmsis.Dims{N: f.rows, H: 1, W: 1, C: f.depth}, Filter: cmsis.Dims{N: f.depth, H: 1, W: 1, C: f.cols},
		Out: cmsis.Dims{N: f.rows, H: 1, W: 1, C: f.cols}, InOff: int(p.InOff), FilterOff: int(p.FilterOff[0]), OutOff: int(p.OutOff), PerChannel: len(p.Mult) > 1, HasBias: true}
}

func lowerFC(n *ir.Node, o *kernel.Options) (*call.Lowered, error) {
	f, why := fcOf(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	p := f.params
	w := n.In[1].Const
	if f.perm != nil {
		w = w.Transpose(f.perm)
	}
	bias, biasDims := biasArg(n, f.cols)
	if n.Input(2) == nil {
		bias = call.Null{}
	}
	ctx := context(0, 0)
	q := f.query(o.Core)
	r, why := route(q, "arm_fully_connected_wrapper_s8")
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	per := 0
	if q.PerChannel {
		per = 1
	}
	if CoreISA(o.Core) == MVE {
		// The Helium kernels want bias plus weight sums times the input offset in
		// the context: constants of the model (arm_vector_sum_s8).
		sums := qref.KernelSums(f.cols, f.depth, tensor.As[int8](w), p.InOff, p.FilterOff[0], kernel.Bias(n, f.cols))
		ctx = &call.Struct{Type: "cmsis_nn_context", Fields: []call.Field{
			call.F("buf", i32Blob("sums", sums)), call.FI("size", r.Scratch)}}
	}
	params := &call.Struct{Type: "cmsis_nn_fc_params", Fields: []call.Field{
		call.FI("input_offset", int(p.InOff)), call.FI("filter_offset", int(p.FilterOff[0])), call.FI("output_offset", int(p.OutOff)),
		call.F("activation", activation(p.ActMin, p.ActMax))}}
	quant := &call.Struct{Type: "cmsis_nn_quant_params", Fields: []call.Field{
		call.F("multiplier", i32Blob("multiplier", p.Mult)), call.F("shift", i32Blob("shift", p.Shift)), call.FI("is_per_channel", per)}}
	weights := &call.Blob{Hint: "weights", CType: "int8_t", Data: w.Bytes(), Align: 4, Pad: 16, NoCast: true}
	return calls(&call.Lowered{Route: r.Inner, RouteReason: r.Why, Unused: []int{1, 2}}, call.Call{Func: "arm_fully_connected_wrapper_s8", Status: call.CMSISStatus,
		Args: []call.Arg{ctx, params, quant, Dims{f.rows, 1, 1, f.depth}.arg(), i8In(0), Dims{f.depth, 1, 1, f.cols}.arg(), weights,
			biasDims, bias, Dims{f.rows, 1, 1, f.cols}.arg(), i8Out(0)}})
}

// batchMatMul is arm_batch_matmul_s8, which wants the right side transposed:
// the step does that into scratch first.
var batchMatMul = &kernel.Kernel{
	Name: "arm_batch_matmul_s8", Library: Library, Doc: "int8 product of two activations",
	Ops: []*ir.OpDef{op.MatMul}, Lower: lowerBatchMatMul,
	Layout: func(*ir.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Natural} },
	Rules: []kernel.Rule{
		needsInt8("CMSIS-BMM-01", []int{0, 1}),
		matrixRanks("CMSIS-BMM-02"),
		{Code: "CMSIS-BMM-03", Doc: "fixed-point scale", Check: func(n *ir.Node, _ *kernel.Options) string {
			for _, v := range []*ir.Value{n.In[0], n.In[1], n.Out[0]} {
				if v.Type.Quant == nil {
					return kernel.Unread
				}
			}
			_, why := op.MatMulQuantParams(n)
			return why
		}},
	},
}

func matrixRanks(code string) kernel.Rule {
	return kernel.Rule{Code: code, Doc: "matrices with up to two leading dimensions of equal size or 1", Check: func(n *ir.Node, _ *kernel.Options) string {
		a, b := n.In[0].Type.Shape, n.In[1].Type.Shape
		if len(a) < 2 || len(b) < 2 || len(a) > 4 || len(b) > 4 {
			return fmt.Sprintf("shapes %v and %v, want rank 2 to 4", a, b)
		}
		return ""
	}}
}

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

func lowerBatchMatMul(n *ir.Node, o *kernel.Options) (*call.Lowered, error) {
	g, err := op.MatMulGeometry(n)
	if err != nil {
		return nil, err
	}
	p, why := op.MatMulQuantParams(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	left, right := matDims(n.In[0].Type.Shape), matDims(n.In[1].Type.Shape)
	out := Dims{max(left.N, right.N), max(left.H, right.H), g.M, g.N}
	transposed := Dims{right.N, right.H, right.C, right.W}
	bytes := roundUp(right.N*right.H*right.W*right.C, 16)
	sums := cmsis.Size("arm_batch_matmul_s8", &cmsis.Query{Build: CoreISA(o.Core), Filter: cmsis.Dims{C: g.N}})
	lo := &call.Struct{Type: "cmsis_nn_fc_params", Fields: []call.Field{
		call.FI("input_offset", int(p.InOff)), call.FI("filter_offset", int(p.FilterOff[0])), call.FI("output_offset", int(p.OutOff)),
		call.F("activation", activation(p.ActMin, p.ActMax))}}
	bmm := &call.Struct{Type: "cmsis_nn_bmm_params", Fields: []call.Field{
		call.FI("adj_x", 0), call.FI("adj_y", 0), call.F("fc_params", call.Nested{Fields: lo.Fields})}}
	quant := &call.Struct{Type: "cmsis_nn_per_tensor_quant_params", Fields: []call.Field{
		call.FI("multiplier", int(p.Mult[0])), call.FI("shift", int(p.Shift[0]))}}
	return calls(&call.Lowered{Kernel: "arm_batch_matmul_s8", Scratch: bytes + sums},
		transpose(CoreISA(o.Core), i8In(1), call.Scratch{CType: "int8_t"}, []int{right.N * right.H, right.W, right.C}, []int{0, 2, 1}),
		call.Call{Func: "arm_batch_matmul_s8", Status: call.CMSISStatus,
			Args: []call.Arg{context(bytes, sums), bmm, quant, left.arg(), i8In(0), transposed.arg(), call.Scratch{CType: "int8_t"}, out.arg(), i8Out(0)}})
}
