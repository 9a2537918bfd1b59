// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// operand is an input as a kernel with broadcasting reads it.
type operand = kernel.Operand

// broadcast is input i under broadcasting to the type of the output.
func (l *lowering) broadcast(i int, out ir.Type) operand { return kernel.Broadcast(l.n, i, out) }

// bcast is the iteration space of operands a and b over the output.
func bcast(out ir.Type, a, b operand) call.Nested { return kernel.BroadcastFields(out, a, b) }

func bcastParams(out ir.Type, a, b operand) *call.Struct {
	return params("nncc_bcast_params", bcast(out, a, b).Fields...)
}

// mayOverwrite allows the output to use the storage of inputs that lie like the output.
func (l *lowering) mayOverwrite(ops ...operand) {
	l.low.Overlap = append(l.low.Overlap, kernel.MayOverwrite(l.n, ops...)...)
}

// clampF32 applies the absorbed activation of a float32 node to output 0.
func (l *lowering) clampF32() {
	lo, hi := op.ActBounds(l.n)
	if math.IsInf(lo, -1) && math.IsInf(hi, 1) {
		return
	}
	l.clip(float32(lo), float32(hi), l.out(0))
}

// hasAct: the operator can absorb an activation.
func hasAct(n *ir.Node) bool {
	return slices.ContainsFunc(n.Op.Attrs, func(a ir.AttrSpec) bool { return a.Name == "act_min" })
}

// outputOperand is output 0 as an operand of a further call.
func (l *lowering) outputOperand() operand {
	t := l.n.Out[0].Type
	return operand{Arg: l.out(0), Strides: tensor.Strides(t.Phys()), Whole: true}
}

// binaryF32 is the row of a float32 operator of which vectors take rows; the others are written by loops.
func binaryF32(fn, was, doc string, ops ...*ir.OpDef) *kernel.Kernel {
	return row(fn, was, doc, same, kernel.Rules{cond.Float32(), cond.NotEmpty, cond.Rank, longRows},
		func(l *lowering, n *kernel.Node) {
			out := n.Out[0].Type
			a, b := l.broadcast(0, out), l.broadcast(1, out)
			l.call(fn, bcastParams(out, a, b), a.Arg, b.Arg, l.out(0))
			l.mayOverwrite(a, b)
			if hasAct(n.Node) {
				l.clampF32()
			}
		}, ops...)
}

// longRows: vectors take rows of few elements no faster than a loop, and a Sum may have any number of operands.
var longRows = cond.New("OPERANDS", "two operands, of 16 elements or the result's size", func(n *kernel.Node) string {
	for _, v := range n.In {
		if size := v.Type.Elems(); len(n.In) != 2 || size < min(16, n.Out[0].Type.Elems()) {
			return fmt.Sprintf("%d operands, among them %s of %d elements, want 2 of at least 16", len(n.In), v, size)
		}
	}
	return ""
})

// plain: all inputs have type d and are not quantised.
func plain(d tensor.DType) kernel.Rule {
	return cond.Inputs("INPUT-TYPE", "inputs are "+d.ONNXName(), func(v *ir.Value) string {
		if v.Type.DType != d || v.Type.Quant != nil {
			return fmt.Sprintf("is %s, want %s", cond.Short(v.Type), d.ONNXName())
		}
		return ""
	})
}

func binaryKernels() []*kernel.Kernel {
	return []*kernel.Kernel{
		binaryF32("nncc_add_f32", "NNCC-ADD-F32", "sum with broadcasting", op.Add, op.Sum),
		binaryF32("nncc_sub_f32", "NNCC-SUB-F32", "difference with broadcasting", op.Sub),
		binaryF32("nncc_mul_f32", "NNCC-MUL-F32", "product with broadcasting", op.Mul),
		whereRow,
	}
}

// whereRow chooses between two tensors of any type.
var whereRow = row("nncc_where", "NNCC-WHERE", "choice between two tensors, any element type", same,
	kernel.Rules{cond.SameType, cond.NotEmpty, cond.Rank}, func(l *lowering, n *kernel.Node) {
		out := n.Out[0].Type
		c, a, b := l.broadcast(0, out), l.broadcast(1, out), l.broadcast(2, out)
		dims, st := merge(out.Phys(), c.Strides, a.Strides, b.Strides)
		f := append(ints("elem", out.DType.Size(), "rank", len(dims)), list("dims", dims),
			list("c_stride", st[0]), list("a_stride", st[1]), list("b_stride", st[2]))
		l.call("nncc_where", params("nncc_where_params", f...), c.Arg, bytesOf(a.Arg), bytesOf(b.Arg),
			bytesOf(l.out(0)))
	}, op.Where)
