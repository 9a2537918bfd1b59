// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// rule tells which operands of a node are quantised and how.
type rule struct {
	// in are the inputs that carry activations: int8 with one scale each.
	in []int
	// params are further constant inputs quantised by gateQuant (LSTM, GRU).
	// hidden is the input that is quantised as the first output is, 0 for none.
	params []int
	hidden int
	// weight and bias are the inputs of a multiply-accumulate operator that are
	// constant parameters; -1 where there is none.
	weight, bias int
	// share: all inputs in `in` and all outputs have one quantisation.
	share bool
	// selects: every element of the output is one of an input.
	selects bool
	// narrows: as share, unless the output's range is much narrower (averages).
	narrows bool
	// join: as share, but an input may be requantised instead (Concat).
	join bool
	// fixed is the output quantisation that the kernel or TFLite prescribes.
	fixed *ir.Quant
	// passive operators move data: they are quantised for the sake of their
	// neighbours only.
	passive bool
}

// ruleFor tells how n is quantised; ok is false for operators that stay float.
// Integer turns exactly these nodes into integer operators, given Q/DQ pairs on
// the operands that the rule names.
func ruleFor(n *ir.Node) (r rule, ok bool) {
	r = rule{weight: -1, bias: -1}
	if n.Op.Quant == ir.QNone || n.Op.Impure || len(n.Body) > 0 || len(n.Out) == 0 || n.Quantised() {
		return r, false
	}
	if slices.ContainsFunc(n.Out, func(v *ir.Value) bool { return v.Type.DType != tensor.F32 || v.Type.Elems() == 0 }) {
		return r, false
	}
	switch {
	case recurrentGates[n.Op] != nil:
		ok = recurrentRule(n, &r)
	case weightAxis(n) >= 0:
		ok = macRule(n, &r)
	case n.Op.Quant == ir.QMove:
		r.share, r.passive, r.selects = true, true, true
		ok = moveRule(n, &r)
	default:
		ok = computeRule(n, &r)
	}
	return r, ok && computed(n, r.in)
}

// computed reports inputs that are all float32, some of them made at run time.
func computed(n *ir.Node, in []int) (live bool) {
	for _, i := range in {
		v := n.Input(i)
		if v == nil || v.Type.DType != tensor.F32 {
			return false
		}
		live = live || v.Const == nil
	}
	return live
}

// recurrentRule covers GRU and LSTM with constant weights and biases.
func recurrentRule(n *ir.Node, r *rule) bool {
	r.in, r.params = []int{0}, []int{1, 2}
	if n.Op == op.LSTM && !zeroState(n.Input(5)) {
		r.in, r.hidden = append(r.in, 5), 5
	}
	return n.ConstIn(1) != nil && n.ConstIn(2) != nil && (n.Input(3) == nil || n.ConstIn(3) != nil) &&
		integerRecurrent(n)
}

// macRule covers Conv, ConvTranspose, Gemm and MatMul in the forms that have
// integer kernels: constant weights, or a MatMul of two run-time matrices.
func macRule(n *ir.Node, r *rule) bool {
	r.in = []int{0}
	axis := weightAxis(n)
	w, b := n.In[1], n.Input(2)
	switch {
	case w.Type.DType != tensor.F32:
		return false
	case w.Const != nil:
		r.weight = 1
	case n.Op == op.MatMul:
		r.in = []int{0, 1}
		return true
	default:
		return false
	}
	if !plainGemm(n) || (n.Op == op.Conv || n.Op == op.ConvTranspose) && n.In[0].Type.Rank() > 4 {
		return false
	}
	if b == nil {
		return true
	}
	if b.Const == nil || b.Type.DType != tensor.F32 {
		return false
	}
	for i, d := range b.Type.Shape {
		if d != 1 && i != len(b.Type.Shape)-1 {
			return false
		}
	}
	r.bias = 2
	k := b.Const.Len()
	return k == 1 || k == channels(n, axis)
}

// moveRule covers operators through which integers pass unchanged.
func moveRule(n *ir.Node, r *rule) bool {
	switch n.Op {
	case op.OneHot, op.Relayout:
		return false
	}
	r.join = n.Op == op.Concat
	for _, i := range n.Op.DataInputs(n) {
		v := n.Input(i)
		if v == nil {
			continue
		}
		if v.Const != nil && n.Op.DataIn != nil {
			continue // Integer gives it the quantisation of the others
		}
		r.in = append(r.in, i)
	}
	return len(r.in) > 0
}

// normalisations keep their parameters in float.
var normalisations = []*ir.OpDef{op.LayerNormalization, op.InstanceNormalization, op.GroupNormalization,
	op.RMSNormalization, op.BatchNormalization}

// computeRule covers the other operators with an integer form.
func computeRule(n *ir.Node, r *rule) bool {
	r.fixed = n.Op.OutQuant[tensor.I8]
	one := len(n.Out) == 1
	if n.Op.Window.Pools() && n.Op.Spread != ir.AnySpread {
		r.in, r.share = []int{0}, true
		r.narrows, r.selects = n.Op.Spread == ir.Averages, n.Op.Spread == ir.Selects
		return one && n.In[0].Type.Rank() <= 4
	}
	switch n.Op {
	case op.Min, op.Max:
		r.share, r.selects = true, true
		for i, v := range n.In {
			if v.Const == nil {
				r.in = append(r.in, i)
			}
		}
	case op.PRelu, op.Pow:
		r.in = []int{0}
		return n.In[1].Const != nil
	case op.Resize:
		r.in = []int{0}
		r.share = ir.AttrsOf[op.ModeAttr](n).Mode != "cubic"
	case op.Get("", "ReduceMean"), op.Get("", "ReduceSum"):
		r.in = []int{0}
	case op.Get("", "ReduceMax"), op.Get("", "ReduceMin"):
		r.in, r.share, r.selects = []int{0}, true, true
	case op.Mod: // jumps: a step of an operand may be the whole range
		return false
	default:
		return one && elementRule(n, r)
	}
	return one
}

// elementRule covers functions of two elements, and those of one with constant parameters.
func elementRule(n *ir.Node, r *rule) bool {
	if n.Op.Pair != nil && n.Op.MaxIn == 2 {
		r.in = []int{0, 1}
		return true
	}
	r.in = []int{0}
	if r.fixed == nil && !slices.Contains(normalisations, n.Op) && (n.Op.Scalar == nil || n.Op.Quant != ir.QFloat) {
		return false
	}
	return !slices.ContainsFunc(n.In[1:], func(v *ir.Value) bool { return v != nil && v.Const == nil })
}

// padFill is the constant that a Pad writes, 0 where it has none.
func padFill(n *ir.Node) float64 {
	if n.Op != op.Pad || n.ConstIn(2) == nil || n.ConstIn(2).Len() != 1 {
		return 0
	}
	if f := n.ConstIn(2).Float(0); math.Abs(f) < 1e30 {
		return f
	}
	return 0
}
