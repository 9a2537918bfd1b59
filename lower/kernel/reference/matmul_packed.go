// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// rightProduct is a Gemm or MatMul with one constant right matrix.
type rightProduct struct {
	rows, in, out int
	w             []float32 // [out, in]
	bias          []float32 // nil: none
}

// rightMatrix is the product without its addend.
func rightMatrix(n *kernel.Node) *rightProduct {
	if n.Op == op.Gemm {
		g := kernel.Gemm.Must(n)
		return &rightProduct{rows: g.M, in: g.K, out: g.N, w: tensor.As[float32](gemmRight(n.Node))}
	}
	g := kernel.MatMul.Must(n)
	return &rightProduct{rows: len(g.A) * g.M, in: g.K, out: g.N,
		w: tensor.As[float32](n.In[1].Const.Reshaped([]int{g.K, g.N}).Transpose([]int{1, 0}))}
}

var products = kernel.NewFact(func(n *kernel.Node) (*rightProduct, string) {
	for _, why := range []string{flatRight.Check(n), cond.Constant(1, 2).Check(n)} {
		if why != "" {
			return nil, why
		}
	}
	for i, what := range []string{"", "right matrix", "addend"} {
		if v := n.Input(i); i > 0 && v != nil && v.Const.DType != tensor.F32 {
			return nil, fmt.Sprintf("the %s is %s, want float32", what, v.Const.DType.ONNXName())
		}
	}
	p := rightMatrix(n)
	if n.Op == op.Gemm && n.Input(2) != nil {
		p.bias = tensor.As[float32](gemmAddend(n.Node, p.out))
	}
	if p.out < 2 {
		return nil, "the product has one column, want two or more: records of packed weights have at least 4"
	}
	return p, ""
})

// packedProductRow is a matrix product as a convolution of 1x1 over the rows.
var packedProductRow = row("nncc_conv2d_packed_f32", "",
	"matrix product with one constant right matrix, 8 columns of some rows at a time", natural,
	kernel.Rules{floatUnit, ownKernels,
		products.Exists("RIGHT-MATRIX", "one constant right matrix of two columns or more"),
		cond.Float32(), cond.NotEmpty}, func(l *lowering, n *kernel.Node) {
		l.low.Unused = unusedTail(n.Node)
		p := products.Must(n)
		one := []int{1}
		g := &op.ConvGeom{N: 1, CIn: p.in, COut: p.out, In: []int{p.rows}, Out: []int{p.rows}, Kernel: one,
			Strides: one, Dilations: one, PadBegin: []int{0}}
		channels := ints("in_c", p.in, "out_c", p.out, "groups", 1)
		l.call(l.low.Kernel, packedParams(n.Node, convPacked, g, channels), l.in(0), p.pack(), l.out(0))
	}, op.Gemm, op.MatMul)

// pack is the records of all columns.
func (p *rightProduct) pack() *call.Blob {
	bias := func(c int) float32 {
		if p.bias == nil {
			return 0
		}
		return p.bias[c%len(p.bias)]
	}
	return packedBlob(records(nil, p.out, p.in, bias, func(c, i int) float32 { return p.w[c*p.in+i] }))
}
