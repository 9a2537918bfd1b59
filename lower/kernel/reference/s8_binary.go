// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// constRow computes a function of one 8-bit tensor and a constant with at most
// 256 different values, of any type and shape.
var constRow = row("nncc_lut2_s8", "NNCC-CONST-S8",
	"8-bit functions of a tensor and a constant, by a table for each "+
		"value of the constant", same, kernel.Rules{cond.NotEmpty, cond.Rank, byteEnds,
		cond.New("CONSTANT-VALUES", "one constant of at most 256 different values", func(n *kernel.Node) string {
			if len(n.In) != 2 {
				return fmt.Sprintf("%d inputs, want 2", len(n.In))
			}
			if _, why := kernel.RunInput(n.Node); why != "" {
				return why
			}
			if byteEnds.Check(n) != "" {
				return kernel.Unread
			}
			t, why := constTables.Of(n)
			if why == "" && len(t.rows) > 256 {
				why = fmt.Sprintf("the constant %s has %d different values, want at most 256", n.In[1-t.x], len(t.rows))
			}
			return why
		})}, lowerConst, constOps...)

func lowerConst(l *lowering, n *kernel.Node) {
	t := constTables.Must(n)
	k := t.x
	out := n.Out[0].Type
	x, c := l.broadcast(k, out), l.broadcast(1-k, out)
	// the rows of the constant's elements, in the memory order of the output
	shape := n.In[1-k].Type.Shape
	laid := arrange(tensor.Of(shape, rowNumbers(t.index)), padLeft(shape, out.Rank()), out.OrderOrIdentity())
	l.table2(bcastParams(out, x, c), x.Arg, array("row", laid.Bytes()), t.rows)
	if x.Whole {
		l.inPlace(k)
	}
}

// pairOps are operators on two int8 tensors: a remainder is no function of 64 KB.
var pairOps = kernel.Where(func(d *ir.OpDef) bool { return isPair(d) && d != op.Mod })

// isPair reports operators on two tensors of quantised reals.
func isPair(d *ir.OpDef) bool { return d.Pair != nil && d.Quant != ir.QNone }

// binaryOps are the functions of nncc_binary_s8 and nncc_binary_s16.
var binaryOps = map[*ir.OpDef]qref.BinaryOp{op.Add: qref.BinaryAdd, op.Sub: qref.BinarySub, op.Mul: qref.BinaryMul,
	op.Div: qref.BinaryDiv, op.Min: qref.BinaryMin, op.Max: qref.BinaryMax, op.PRelu: qref.BinaryPRelu}

// pairRow computes two int8 tensors with broadcasting by the cheapest kernel
// that is proven right for all pairs of values.
var pairRow = row("nncc_binary_s8", "NNCC-PAIR-S8", "two int8 tensors with broadcasting: sums and quotients by "+
	"tables, others in double or by a table of pairs", same, kernel.Rules{cond.NotEmpty, cond.Rank,
	cond.New("INT8-DATA", "int8 data with one scale", func(n *kernel.Node) string {
		for i, v := range n.In {
			if !cond.IsInt8(v.Type) {
				return fmt.Sprintf("input %d is %s, want int8 with one scale", i, cond.Short(v.Type))
			}
		}
		t := n.Out[0].Type
		if is, err := ir.InferNode(n.Node); err == nil && t.DType == tensor.Bool && is[0].DType == tensor.Bool {
			return ""
		}
		if !cond.IsInt8(t) {
			return fmt.Sprintf("the output is %s, want int8 with one scale", cond.Short(t))
		}
		return ""
	}), cond.New("INPUTS", "two inputs, or any number of one scale for Min and Max", func(n *kernel.Node) string {
		if len(n.In) == 2 || len(n.In) > 2 && (n.Op == op.Min || n.Op == op.Max) && op.MinMaxKernel(n.Node) {
			return ""
		}
		return fmt.Sprintf("%d inputs, want 2", len(n.In))
	})}, lowerPair, pairOps...)

func qp(t ir.Type) qref.QP { return qref.QP{Scale: t.Quant.Scale[0], Zero: t.Quant.Zero[0]} }

// fewValues: up to so many tables of a constant's values are smaller than the
// tables of a sum.
const fewValues = 8

func lowerPair(l *lowering, n *kernel.Node) {
	if len(n.In) > 2 {
		l.minMaxChain()
		return
	}
	if (n.Op == op.Add || n.Op == op.Mul) && op.BinaryKernelS8(n.Node) {
		l.expanded()
		return
	}
	_, why := kernel.RunInput(n.Node)
	isConst := why == ""
	if isConst {
		if t, why := constTables.Of(n); why == "" && len(t.rows) <= fewValues {
			lowerConst(l, n)
			return
		}
	}
	if pairs := kernel.Known(kernel.Pairs(n.Node)).Bytes(); !l.provenPair(n, pairs, !isConst) {
		l.low.Overlap = nil
		lowerConst(l, n)
	}
}

// provenPair emits the cheapest kernel that gives all pairs; the table of them, which always does, only if that is
// wanted: false, if nothing was emitted.
func (l *lowering) provenPair(n *kernel.Node, pairs []byte, table bool) bool {
	out := n.Out[0].Type
	a, b := l.broadcast(0, out), l.broadcast(1, out)
	l.mayOverwrite(a, b)
	y := bytesOf(l.out(0)).(call.Out)
	y.CType = "int8_t"
	space := call.F("bcast", bcast(out, a, b))
	lo, hi := int32(0), int32(1)
	if out.Quant != nil {
		lo, hi = op.ActRange(n.Node, out)
	}
	clamp := ints("act_min", call.T(lo), "act_max", call.T(hi))
	if t := quantised.SumTables(n.Node, lo, hi, signed(pairs)); t != nil {
		l.low.Kernel = "nncc_sum_s8"
		p := params("nncc_sum_s8_params", append([]call.Field{space, call.FT("shift", t.Shift)}, clamp...)...)
		l.call("nncc_sum_s8", p, a.Arg, b.Arg, array("table", t.A[:]), array("table", t.B[:]), y)
		return true
	}
	if r := quotients(n.Node, pairs, lo, hi); r != nil {
		l.low.Kernel = "nncc_div_s8"
		p := params("nncc_div_s8_params",
			append([]call.Field{space, call.FT("a_zero", zeroIn(n.Node)), call.FT("out_zero", zeroOut(n.Node))},
				clamp...)...)
		l.call("nncc_div_s8", p, a.Arg, b.Arg, blob("reciprocal", tensor.Of([]int{256}, r[:])), y)
		return true
	}
	// sums and products have kernels and tables of their own
	if f, ok := binaryOps[n.Op]; ok && n.Op != op.Add && n.Op != op.Mul && sameBinary(n.Node, f, pairs, lo, hi) {
		l.binary(f, space, clamp, a.Arg, b.Arg, y)
		return true
	}
	if table {
		l.table2(bcastParams(out, a, b), a.Arg, b.Arg, rowsOf(pairs))
	}
	return table
}

// rowsOf are the results of all pairs, a row for each value of the second operand.
func rowsOf(pairs []byte) [][]byte {
	rows := make([][]byte, 256)
	for q := range rows {
		rows[q] = make([]byte, 256)
		for v := range rows[q] {
			rows[q][v] = pairs[v<<8|q]
		}
	}
	return rows
}

// binary emits the definition in double.
func (l *lowering) binary(o qref.BinaryOp, space call.Field, clamp []call.Field, a, b, y call.Arg) {
	l.binaryBy("nncc_binary_s8", o, space, clamp, a, b, y)
}

func (l *lowering) binaryBy(fn string, o qref.BinaryOp, space call.Field, clamp []call.Field, a, b, y call.Arg) {
	names := []string{"NNCC_BINARY_ADD", "NNCC_BINARY_SUB", "NNCC_BINARY_MUL", "NNCC_BINARY_DIV", "NNCC_BINARY_MIN",
		"NNCC_BINARY_MAX", "NNCC_BINARY_PRELU"}
	n := l.n
	f := append(scaleFields(n)[1:], call.F("a_scale", f64(float64(n.In[0].Type.Quant.Scale[0]))),
		call.F("b_scale", f64(float64(n.In[1].Type.Quant.Scale[0]))))
	f = append(f, call.FT("a_zero", zeroIn(n)), call.FT("b_zero", n.In[1].Type.Quant.Zero[0]),
		call.FT("out_zero", zeroOut(n)))
	f = append(append(f, clamp...), call.F("op", call.Lit(names[o])), space)
	l.call(fn, params("nncc_binary_s8_params", f...), a, b, y)
}

// minMaxChain folds any number of inputs of one quantisation.
func (l *lowering) minMaxChain() {
	out := l.n.Out[0].Type
	acc := l.broadcast(0, out)
	f := call.Func("nncc_pair_max_s8")
	if l.n.Op == op.Min {
		f = "nncc_pair_min_s8"
	}
	for i := 1; i < len(l.n.In); i++ {
		b := l.broadcast(i, out)
		l.call("nncc_pairs_s8", bcastParams(out, acc, b), call.Null{}, f, acc.Arg, b.Arg, l.out(0))
		acc = l.outputOperand()
	}
}

// signed are the results of all pairs by value.
func signed(pairs []byte) *pack.Pairs {
	p := new(pack.Pairs)
	for i, v := range pairs {
		p[int(int8(i>>8))+128][int(int8(i))+128] = int8(v)
	}
	return p
}

// everyPair reports that a function gives the interpreter's results of all pairs of bit patterns.
func everyPair(pairs []byte, f func(a, b int8) int8) bool {
	for i, want := range pairs {
		if byte(f(int8(i>>8), int8(i))) != want {
			return false
		}
	}
	return true
}

// quotients are the reciprocals that give every pair of a division, or nil.
func quotients(n *ir.Node, pairs []byte, lo, hi int32) *qref.Reciprocals {
	if n.Op != op.Div {
		return nil
	}
	r, ok := qref.BuildDiv(qp(n.In[0].Type), qp(n.In[1].Type), qp(n.Out[0].Type), lo, hi)
	p := &qref.DivParams{AZero: int32(zeroIn(n)), OutZero: int32(zeroOut(n)), ActMin: lo, ActMax: hi}
	if !ok || !everyPair(pairs, func(a, b int8) int8 { return p.Div(r, a, b) }) {
		return nil
	}
	return r
}

// sameBinary reports that nncc_binary_s8 gives every pair.
func sameBinary(n *ir.Node, o qref.BinaryOp, pairs []byte, lo, hi int32) bool {
	x, y, z := qp(n.In[0].Type), qp(n.In[1].Type), qp(n.Out[0].Type)
	return everyPair(pairs, func(a, b int8) int8 {
		return int8(z.Quantise(o.Eval(x.Real(int32(a)), y.Real(int32(b))), lo, hi))
	})
}

// expanded is CMSIS-NN's Add or Mul with operands brought to the shape of the
// output first: constants at compile time, others in scratch memory.
func (l *lowering) expanded() {
	n := l.n
	out := n.Out[0].Type
	args := make([]call.Arg, 2)
	for i := range args {
		o := l.broadcast(i, out)
		dims := out.Phys()
		m := move{elem: out.DType.Size(), dims: dims, x: o.Strides, y: tensor.Strides(dims)}
		switch {
		case n.In[i].Const != nil:
			order := out.OrderOrIdentity()
			c := broadcastConst(n.In[i].Const, out.Shape)
			args[i] = blob("const", arrange(c, out.Shape, order))
		case o.Whole:
			args[i] = o.Arg
			l.inPlace(i)
		default:
			s := l.scratch(out.DType, out.Elems())
			l.move(m, o.Arg, s)
			args[i] = s
		}
	}
	suffix := "_" + quantTypes[out.DType]
	if n.Op == op.Add {
		p := op.AddParamsS8(n)
		if out.DType == tensor.I16 {
			p = op.AddParams16(n)
		}
		s := p.Scales
		l.cmsis("arm_elementwise_add"+suffix, args[0], args[1], i32(p.Offset1), i32(s.Mult1), i32(s.Shift1),
			i32(p.Offset2), i32(s.Mult2), i32(s.Shift2), i32(s.LeftShift), l.out(0), i32(p.OutputOffset),
			i32(s.OutMult), i32(s.OutShift), i32(p.ActMin), i32(p.ActMax), call.I32(out.Elems()))
		return
	}
	p := op.MulParams(n)
	l.cmsis("arm_elementwise_mul"+suffix, args[0], args[1], i32(p.Offset1), i32(p.Offset2), l.out(0),
		i32(p.OutputOffset), i32(p.Mult), i32(p.Shift), i32(p.ActMin), i32(p.ActMax), call.I32(out.Elems()))
}

func i32(v int32) call.Trained { return call.T(v) }

// cmsis adds a call of a CMSIS-NN function.
func (l *lowering) cmsis(fn string, args ...call.Arg) {
	l.low.Kernel = fn
	l.low.Calls = append(l.low.Calls, call.Call{Func: fn, Args: args, Status: call.CMSISStatus})
}
