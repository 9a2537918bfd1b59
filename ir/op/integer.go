// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// ConvInteger is the convolution of 8-bit integers with int32 results; data of
// int16, which ONNX does not have here, has int64 ones. Inputs 2 and 3 are the
// zero points of data (one) and weights (one, or one for each output channel);
// padding counts as the data's zero point.
var ConvInteger = def(ir.OpDef{
	Name: "ConvInteger", Doc: "convolution of integers with integer results",
	Attrs: ir.Declare[struct {
		AutoPad     string `default:"NOTSET"`
		Dilations   []int
		Group       int `default:"1"`
		KernelShape []int
		Pads        []int
		Strides     []int
	}](),
	MinIn: 2, MaxIn: 4,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		g := fail.Must(integerConv(n))
		zeroPoints(n, 0, 2, 1)
		zeroPoints(n, 1, 3, g.COut)
		return one(ir.T(sumType(n), append([]int{g.N, g.COut}, g.Out...)...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := fail.Must(integerConv(n))
		if sumType(n) == tensor.I64 {
			return outs(convIntegers[int64](g, in))
		}
		return outs(convIntegers[int32](g, in))
	},
	Pattern: ir.OutFusable, Quant: ir.QNone,
	MACs: func(n *ir.Node) int64 {
		g := fail.Must(integerConv(n))
		return int64(g.N) * int64(product(g.Out)) * int64(g.COut) * int64(g.CIn/g.Group) * int64(g.Taps())
	},
})

func convIntegers[T int32 | int64](g *ConvGeom, in []*tensor.Dense) *tensor.Dense {
	x := centred[T](in[0], opt(in, 2), in[0].Len(), 1)
	w := centred[T](in[1], opt(in, 3), in[1].Len()/max(g.COut, 1), g.COut)
	y := make([]T, g.N*g.COut*product(g.Out))
	convSum(g, x, w, nil, y)
	return tensor.Of(append([]int{g.N, g.COut}, g.Out...), y)
}

// MatMulInteger is MatMul of 8-bit integers with int32 results; data of int16,
// which ONNX does not have here, has int64 ones. Inputs 2 and 3 are zero
// points: of the left matrix one, or one a row; of the right one, or one a
// column.
var MatMulInteger = def(ir.OpDef{
	Name: "MatMulInteger", Doc: "matrix product of integers with integer results", MinIn: 2, MaxIn: 4,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		g := fail.Must(MatMulGeometry(n))
		zeroPoints(n, 0, 2, g.M)
		zeroPoints(n, 1, 3, g.N)
		return one(ir.T(sumType(n), g.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := fail.Must(MatMulGeometry(n))
		if sumType(n) == tensor.I64 {
			return outs(matMulIntegers[int64](g, in))
		}
		return outs(matMulIntegers[int32](g, in))
	},
	Pattern: ir.OutFusable, Quant: ir.QNone, MACs: matmulMACs,
})

func matMulIntegers[T int32 | int64](g *MatGeom, in []*tensor.Dense) *tensor.Dense {
	a := centred[T](in[0], opt(in, 2), g.K, g.M)
	b := centred[T](in[1], opt(in, 3), 1, g.N)
	y := make([]T, len(g.A)*g.M*g.N)
	parallel(len(g.A), func(i int) {
		gemm(false, false, g.M, g.N, g.K, 1, a[g.A[i]*g.M*g.K:], g.K, b[g.B[i]*g.K*g.N:], g.N, 0, y[i*g.M*g.N:], g.N)
	})
	return tensor.Of(g.Shape, y)
}

// sumType is the type of sums of products: int64 of int16 data.
func sumType(n *ir.Node) tensor.DType {
	if n.In[0].Type.DType == tensor.I16 {
		return tensor.I64
	}
	return tensor.I32
}

// integerConv is ConvGeometry without the bias input, whose place a zero
// point has here.
func integerConv(n *ir.Node) (*ConvGeom, error) {
	bare := n.Bare()
	bare.In = n.In[:2]
	return ConvGeometry(bare)
}

// zeroPoints checks 8-bit data in input i, int16 too in input 0, and their zero
// points in input z: one, or count of them.
func zeroPoints(n *ir.Node, i, z, count int) {
	dt := n.In[i].Type.DType
	refuse(n, dt != tensor.I8 && dt != tensor.U8 && (dt != tensor.I16 || i > 0), "dtype",
		"input %d (%s) is of type %s, want int8 or uint8", i, n.In[i], dt)
	v := n.Input(z)
	if v == nil {
		return
	}
	refuse(n, v.Type.DType != dt, "dtype", "the zero point %s is of type %s, its data of type %s", v, v.Type.DType, dt)
	k := v.Type.Elems()
	refuse(n, k != 1 && k != count, "shape", "the zero point %s has shape %v, want one element or %d", v, v.Type.Shape,
		count)
}

// centred is d minus its zero points, which change every run elements and
// start again after count runs.
func centred[T int32 | int64](d, zero *tensor.Dense, run, count int) []T {
	y := make([]T, d.Len())
	for i := range y {
		y[i] = T(d.Int(i))
		switch {
		case zero == nil:
		case zero.Len() == 1:
			y[i] -= T(zero.Int(0))
		default:
			y[i] -= T(zero.Int(i / run % count))
		}
	}
	return y
}
