// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// flatRight: one right matrix, so that the product is a fully connected layer.
// A right matrix computed at run time must be [N, K] already.
var flatRight = cond.New("RIGHT-MATRIX", "one right matrix, constant (or transposed) for all products",
	func(n *kernel.Node) string {
		b := n.In[1]
		if n.Op == op.Gemm {
			switch {
			case ir.AttrsOf[op.GemmAttrs](n).TransA != 0:
				return "transA is 1, want 0"
			case b.Const == nil && ir.AttrsOf[op.GemmAttrs](n).TransB == 0:
				return fmt.Sprintf("the right matrix %s is computed at run time, want a constant", b)
			case ir.AttrsOf[op.AlphaAttr](n).Alpha != 1 && b.Const == nil:
				return fmt.Sprintf("alpha is %v with a right matrix computed at run time, want 1",
					ir.AttrsOf[op.AlphaAttr](n).Alpha)
			}
			return addendWhy(n.Node)
		}
		g, err := op.MatMulGeometry(n.Node)
		switch {
		case err != nil:
			return err.Error()
		case b.Const == nil:
			return fmt.Sprintf("the right matrix %s is computed at run time, want a constant", b)
		case b.Type.Elems() != g.K*g.N:
			return fmt.Sprintf("the right operand has shape %v, want one matrix", b.Type.Shape)
		case !g.Flat():
			return "the left matrices are broadcast, want each used once"
		}
		return ""
	})

// addendWhy is why Gemm's addend is no bias with one value a column.
func addendWhy(n *ir.Node) string {
	c := n.Input(2)
	if c == nil {
		return ""
	}
	s := c.Type.Shape
	switch {
	case len(s) == 2 && s[0] != 1:
		return fmt.Sprintf("the addend has shape %v, want one value a column", s)
	case c.Const != nil:
		return ""
	case c.Type.Elems() != n.Out[0].Type.Shape[1]:
		return fmt.Sprintf("the addend computed at run time has shape %v, want one value a column", s)
	case ir.AttrsOf[op.BetaAttr](n).Beta != 1:
		return fmt.Sprintf("beta is %v with an addend computed at run time, want 1", ir.AttrsOf[op.BetaAttr](n).Beta)
	}
	return ""
}

// fullyConnectedRow computes Gemm and MatMul with one right matrix.
var fullyConnectedRow = row("nncc_fully_connected_f32", "NNCC-FC-F32",
	"matrix product with one right matrix, bias and clamp", natural,
	kernel.Rules{cond.Float32(), cond.NotEmpty, flatRight}, func(l *lowering, n *kernel.Node) {
		var rows, k, cols int
		var bias call.Arg = call.Null{}
		w := call.Arg(nil)
		if n.Op == op.Gemm {
			g := kernel.Gemm.Must(n)
			rows, k, cols = g.M, g.K, g.N
			bias = l.gemmBias(cols)
			w = l.gemmWeights()
		} else {
			g := kernel.MatMul.Must(n)
			rows, k, cols = len(g.A)*g.M, g.K, g.N
			w = l.arranged(1, []int{k, cols}, []int{1, 0})
		}
		f := append(ints("batch", rows, "in_n", k, "out_n", cols), actFields(n.Node)...)
		l.call("nncc_fully_connected_f32", params("nncc_fully_connected_params", f...), l.in(0), w, bias, l.out(0))
	}, op.Gemm, op.MatMul)

// gemmWeights is Gemm's right matrix as [N, K], alpha folded in.
func (l *lowering) gemmWeights() call.Arg {
	if l.n.In[1].Const == nil {
		return l.in(1)
	}
	return blob("weights", gemmRight(l.n))
}

// gemmRight is Gemm's constant right matrix as [N, K], alpha folded in.
func gemmRight(n *ir.Node) *tensor.Dense {
	c := n.In[1].Const
	if ir.AttrsOf[op.GemmAttrs](n).TransB == 0 {
		c = c.Transpose([]int{1, 0})
	}
	return scaled(c, ir.AttrsOf[op.AlphaAttr](n).Alpha)
}

// gemmBias is Gemm's addend as one value a column, beta folded in.
func (l *lowering) gemmBias(cols int) call.Arg {
	v := l.n.Input(2)
	if v == nil || v.Const == nil {
		return l.in(2)
	}
	return blob("bias", gemmAddend(l.n, cols))
}

// gemmAddend is Gemm's constant addend as one value a column, beta folded in.
func gemmAddend(n *ir.Node, cols int) *tensor.Dense {
	d := scaled(n.Input(2).Const, ir.AttrsOf[op.BetaAttr](n).Beta)
	if d.Len() == 1 && cols > 1 {
		d = tensor.Of([]int{cols}, slices.Repeat(tensor.As[float32](d), cols))
	}
	return d
}

// scaled is d times a factor, in float32.
func scaled(d *tensor.Dense, k float32) *tensor.Dense {
	if k == 1 {
		return d
	}
	v := slices.Clone(tensor.As[float32](d))
	for i := range v {
		v[i] *= k
	}
	return tensor.Of(d.Shape, v)
}

// matrixParams are the parameters of nncc_batch_matmul_f32.
func matrixParams(m, k, n, aRow, aCol, bRow, bCol int, batch call.Nested) *call.Struct {
	f := ints("m", m, "k", k, "n", n, "a_row", aRow, "a_col", aCol, "b_row", bRow, "b_col", bCol)
	return params("nncc_batch_matmul_params", append(f, call.F("batch", batch))...)
}

// batchMatMulRow computes MatMul of two run-time operands, or with broadcasting.
var batchMatMulRow = row("nncc_batch_matmul_f32", "NNCC-MATMUL-F32",
	"products of run-time matrices with broadcast batch dimensions", natural,
	kernel.Rules{cond.Float32(), cond.NotEmpty, cond.Rank}, func(l *lowering, n *kernel.Node) {
		g := kernel.MatMul.Must(n)
		l.call("nncc_batch_matmul_f32", matrixParams(g.M, g.K, g.N, g.K, 1, g.N, 1, matBatch(n.Node, g)), l.in(0),
			l.in(1), l.out(0))
		l.clampF32()
	}, op.MatMul)

// matBatch are the batch dimensions with the distance, in elements, of the
// matrices of both operands.
func matBatch(n *ir.Node, g *op.MatGeom) call.Nested {
	st := func(v *ir.Value, size int) []int {
		s := v.Type.Shape
		if len(s) < 2 {
			s = nil
		} else {
			s = s[:len(s)-2]
		}
		s = padLeft(s, len(g.Batch))
		out := tensor.Strides(s)
		for i := range out {
			out[i] *= size
			if s[i] == 1 {
				out[i] = 0
			}
		}
		return out
	}
	dims, s := merge(g.Batch, st(n.In[0], g.M*g.K), st(n.In[1], g.K*g.N))
	if product(g.Batch) == 1 {
		dims, s = nil, [][]int{nil, nil}
	}
	if len(dims) == 0 {
		return call.Nested{Fields: ints("rank", 0)}
	}
	return call.Nested{Fields: append(ints("rank", len(dims)), list("dims", dims), list("a_stride", s[0]),
		list("b_stride", s[1]))}
}

// gemmRow computes every other Gemm: product, then alpha, then beta*C.
var gemmRow = row("nncc_batch_matmul_f32", "NNCC-GEMM-F32", "product of two run-time matrices, scaled, with addend",
	natural, kernel.Rules{cond.Float32(), cond.NotEmpty}, func(l *lowering, n *kernel.Node) {
		g := kernel.Gemm.Must(n)
		aRow, aCol, bRow, bCol := g.K, 1, g.N, 1
		if ir.AttrsOf[op.GemmAttrs](n).TransA != 0 {
			aRow, aCol = 1, g.M
		}
		if ir.AttrsOf[op.GemmAttrs](n).TransB != 0 {
			bRow, bCol = 1, g.K
		}
		out := n.Out[0].Type
		l.call("nncc_batch_matmul_f32", matrixParams(g.M, g.K, g.N, aRow, aCol, bRow, bCol,
			call.Nested{Fields: ints("rank", 0)}), l.in(0), l.in(1), l.out(0))
		if a := ir.AttrsOf[op.AlphaAttr](n).Alpha; a != 1 {
			l.scale(out, l.outputOperand(), a, l.out(0))
		}
		if n.Input(2) != nil && ir.AttrsOf[op.BetaAttr](n).Beta != 0 {
			c := l.broadcast(2, out)
			if b := ir.AttrsOf[op.BetaAttr](n).Beta; b != 1 {
				s := l.scratch(tensor.F32, out.Elems())
				l.scale(out, c, b, s)
				c = operand{Arg: s, Strides: tensor.Strides(out.Shape)}
			}
			y := l.outputOperand()
			l.call("nncc_add_f32", bcastParams(out, y, c), y.Arg, c.Arg, y.Arg)
		}
		l.clampF32()
	}, op.Gemm)

// scale is y = x * k over the output's space.
func (l *lowering) scale(out ir.Type, x operand, k float32, y call.Arg) {
	c := operand{Arg: f32Blob("const", []float32{k}), Strides: make([]int, out.Rank())}
	l.call("nncc_mul_f32", bcastParams(out, x, c), x.Arg, c.Arg, y)
}
