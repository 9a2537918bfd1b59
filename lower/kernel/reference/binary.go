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

// fold chains a kernel over all inputs: y = f(in 0, in 1), y = f(y, in 2), ...
func (l *lowering) fold(fn string) {
	out := l.n.Out[0].Type
	acc := l.broadcast(0, out)
	if len(l.n.In) == 1 {
		dims, st := out.Phys(), acc.Strides
		l.move(move{elem: out.DType.Size(), dims: dims, x: st, y: tensor.Strides(dims)}, acc.Arg, l.out(0))
		return
	}
	for i := 1; i < len(l.n.In); i++ {
		b := l.broadcast(i, out)
		l.call(fn, bcastParams(out, acc, b), acc.Arg, b.Arg, l.out(0))
		if len(l.n.In) == 2 {
			l.mayOverwrite(acc, b)
		}
		acc = l.outputOperand()
	}
}

// binaryF32 is a row for float32 operators with two (or any number of) inputs
// that broadcast.
func binaryF32(fn, was, doc string, conds kernel.Rules, ops ...*ir.OpDef) *kernel.Kernel {
	return row(fn, was, doc, same, kernel.All(cond.Float32(), cond.NotEmpty, cond.Rank, conds),
		func(l *lowering, n *kernel.Node) {
			l.fold(fn)
			if n.Op == op.Mean {
				y, k := l.outputOperand(), operand{Arg: f32Blob("const", []float32{float32(len(n.In))}),
					Strides: make([]int, n.Out[0].Type.Rank())}
				l.call("nncc_div_f32", bcastParams(n.Out[0].Type, y, k), y.Arg, k.Arg, l.out(0))
			}
			if hasAct(n.Node) {
				l.clampF32()
			}
		}, ops...)
}

// compareRow is a row for comparisons and logic: bool out.
func compareRow(fn, was, doc string, d tensor.DType, ops ...*ir.OpDef) *kernel.Kernel {
	return row(fn, was, doc, same, kernel.Rules{plain(d), cond.NotEmpty, cond.Rank}, func(l *lowering, n *kernel.Node) {
		out := n.Out[0].Type
		a, b := l.broadcast(0, out), l.broadcast(1, out)
		l.call(fn, bcastParams(out, a, b), a.Arg, b.Arg, l.out(0))
		l.mayOverwrite(a, b)
	}, ops...)
}

// plain: all inputs have type d and are not quantised.
func plain(d tensor.DType) kernel.Rule {
	return cond.Inputs("INPUT-TYPE", "inputs are "+d.ONNXName(), func(v *ir.Value) string {
		if v.Type.DType != d || v.Type.Quant != nil {
			return fmt.Sprintf("is %s, want %s", cond.Short(v.Type), d.ONNXName())
		}
		return ""
	})
}

// fmodOnly: Mod in C's sense, the sign of the dividend.
var fmodOnly = cond.New("FMOD", "fmod is 1", func(n *kernel.Node) string {
	if ir.AttrsOf[op.ModAttrs](n).Fmod != 1 {
		return "fmod is 0, want 1"
	}
	return ""
})

func binaryKernels() []*kernel.Kernel {
	return []*kernel.Kernel{
		binaryF32("nncc_add_f32", "NNCC-ADD-F32", "sum with broadcasting", nil, op.Add, op.Sum, op.Mean),
		binaryF32("nncc_sub_f32", "NNCC-SUB-F32", "difference with broadcasting", nil, op.Sub),
		binaryF32("nncc_mul_f32", "NNCC-MUL-F32", "product with broadcasting", nil, op.Mul),
		binaryF32("nncc_div_f32", "NNCC-DIV-F32", "quotient with broadcasting", nil, op.Div),
		binaryF32("nncc_min_f32", "NNCC-MIN-F32", "minimum with broadcasting", nil, op.Min),
		binaryF32("nncc_max_f32", "NNCC-MAX-F32", "maximum with broadcasting", nil, op.Max),
		binaryF32("nncc_pow_f32", "NNCC-POW-F32", "power with broadcasting", nil, op.Pow),
		binaryF32("nncc_prelu_f32", "NNCC-PRELU-F32", "x, below 0 times slope", nil, op.PRelu),
		binaryF32("nncc_mod_f32", "NNCC-MOD-F32", "remainder as C's fmod", kernel.Rules{fmodOnly}, op.Mod),
		compareRow("nncc_equal_f32", "NNCC-EQUAL-F32", "a = b", tensor.F32, op.Equal),
		compareRow("nncc_greater_f32", "NNCC-GREATER-F32", "a > b", tensor.F32, op.Greater),
		compareRow("nncc_greater_or_equal_f32", "NNCC-GREATEREQ-F32", "a >= b", tensor.F32, op.GreaterOrEqual),
		compareRow("nncc_less_f32", "NNCC-LESS-F32", "a < b", tensor.F32, op.Less),
		compareRow("nncc_less_or_equal_f32", "NNCC-LESSEQ-F32", "a <= b", tensor.F32, op.LessOrEqual),
		compareRow("nncc_and_bool", "NNCC-AND", "logical and", tensor.Bool, op.And),
		compareRow("nncc_or_bool", "NNCC-OR", "logical or", tensor.Bool, op.Or),
		compareRow("nncc_xor_bool", "NNCC-XOR", "logical exclusive or", tensor.Bool, op.Xor),
		compareRow("nncc_equal_s64", "NNCC-EQUAL-S64", "a = b of int64", tensor.I64, op.Equal),
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
