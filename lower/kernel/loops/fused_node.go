// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/pack"
)

// node writes one operator of a fused body: its result becomes a variable.
func (w *fuser) node(n *ir.Node) {
	fail.If(n.Op.Pattern > ir.Broadcast, "the operator is not element-wise")
	quantised := n.Out[0].Type.Quant != nil
	floats := true
	for _, v := range n.In {
		if v == nil {
			continue
		}
		quantised = quantised || v.Type.Quant != nil
		floats = floats && v.Type.DType == tensor.F32
	}
	switch {
	case n.Op == op.Where:
		w.choice(n)
	case n.Op == op.QuantizeLinear || n.Op == op.DequantizeLinear:
		w.boundary(n)
	case quantised:
		w.quantised(n)
	case floats && w.float32(n):
	default:
		w.plain(n)
	}
}

// operands are the variables of all inputs, which must be there.
func (w *fuser) operands(n *ir.Node) []string {
	return lists.Make(len(n.In), func(i int) string {
		fail.If(n.In[i] == nil, "input %d is missing", i)
		return w.operand(n.In[i]).name
	})
}

// choice is Where, on elements of any type that stay as they are.
func (w *fuser) choice(n *ir.Node) {
	a, b, y := n.In[1].Type, n.In[2].Type, n.Out[0].Type
	fail.If(a.DType != y.DType || b.DType != y.DType || !a.Quant.Equal(y.Quant) || !b.Quant.Equal(y.Quant),
		"the operands have other types or scales than the result")
	x := w.operands(n)
	w.set(n, "%s != 0 ? %s : %s", x[0], x[1], x[2])
}

// boundary is QuantizeLinear or DequantizeLinear with one scale, as
// nncc_quantize_f32_* and nncc_dequantize_*_f32 compute it.
func (w *fuser) boundary(n *ir.Node) {
	x, y := n.In[0].Type, n.Out[0].Type
	fail.If(!oneScale(n), "want one constant float32 scale")
	zero := int64(0)
	if z := n.ConstIn(2); z != nil {
		zero = z.Int(0)
	}
	v, scale := w.operand(n.In[0]), literal(n.In[1].Const)
	small := []tensor.DType{tensor.I8, tensor.U8, tensor.I16}
	switch {
	case n.Op == op.DequantizeLinear && slices.Contains(small, x.DType) && y.DType == tensor.F32:
		w.set(n, "(float)(%s - %s) * %s", v.name, integer(zero), scale)
	case n.Op == op.QuantizeLinear && x.DType == tensor.F32 && slices.Contains(small, y.DType):
		lo, hi := y.DType.IntRange()
		round := "nncc_round_even"
		if op.RoundsAway(n) {
			round = "nncc_round_outward"
		}
		w.set(n, "%s(%s / %s, %s, %s, %s)", round, v.name, scale, integer(zero), integer(lo), integer(hi))
	default:
		fail.Errorf("from %s to %s, want between float32 and int8, uint8 or int16", x.DType.ONNXName(),
			y.DType.ONNXName())
	}
}

// oneScale reports one constant float32 scale, and a zero point that is none or constant.
func oneScale(n *ir.Node) bool {
	t := n.In[1].Type
	return n.In[1].Const != nil && t.Elems() == 1 && t.DType == tensor.F32 && (n.Input(2) == nil ||
		n.In[2].Const != nil) && ir.AttrsOf[op.ScaleAttrs](n).BlockSize == 0
}

// float32 writes an operator on float32 numbers; false where it has no form of
// its own for them.
func (w *fuser) float32(n *ir.Node) bool {
	if n.Op == op.Clip {
		w.clip32(n)
		return true
	}
	if n.Op.C == nil && n.Op.Pair == nil && n.Op != op.IsNaN || slices.Contains(n.In, nil) {
		return false
	}
	x := w.operands(n)
	attr := func(name string) string { return num32(n.Float(name)) }
	if n.Op.C != nil && n.Op.Scalar != nil {
		w.set(n, "%s", kernel.Written(kernel.Float32(n.Op.C(n)), attr, x[0]))
		return true
	}
	if n.Op == op.IsNaN {
		w.set(n, "%s == %s ? 0 : 1", x[0], x[0])
		return true
	}
	return w.folded32(n, x, attr)
}

// folded32 writes a function of two float32 numbers on any number of operands: the first two, the result with the
// third, ...; false where it has no form for them.
func (w *fuser) folded32(n *ir.Node, x []string, attr func(name string) string) bool {
	if n.Op.Pair == nil {
		return false
	}
	form := kernel.Float32(n.Op.Pair(n))
	if form == "" {
		return false
	}
	e := x[0]
	for i, b := range x[1:] {
		if i > 0 {
			e = "(" + e + ")"
		}
		e = kernel.Written(form, attr, e, b)
	}
	if n.Op == op.Mean {
		e = fmt.Sprintf("(%s) / %d.0f", e, len(x))
	}
	if lo, hi := op.ActBounds(n); op.HasAct(n) && (!math.IsInf(lo, -1) || !math.IsInf(hi, 1)) {
		e = fmt.Sprintf("nncc_el_clip_f32(%s, %s, %s)", e, num32(float32(lo)), num32(float32(hi)))
	}
	w.set(n, "%s", e)
	return true
}

// clip32 is Clip with constant bounds by nncc_clip_f32, with others by maximum
// and minimum, as the rows of single nodes do it.
func (w *fuser) clip32(n *ir.Node) {
	e := w.operand(n.In[0]).name
	bound := [3]string{1: "-(float)INFINITY", 2: "(float)INFINITY"}
	for i := range 2 {
		if v := n.Input(1 + i); v != nil {
			bound[1+i] = w.operand(v).name
		}
	}
	if lo, hi, ok := op.ClipBounds(n); ok {
		if lo == hi { // or the lower bound is above the upper one
			bound[1] = bound[2]
		}
		w.set(n, "nncc_el_clip_f32(%s, %s, %s)", e, bound[1], bound[2])
		return
	}
	if n.Input(1) != nil {
		e = fmt.Sprintf("nncc_el_max_f32(%s, %s)", e, bound[1])
	}
	if n.Input(2) != nil {
		e = fmt.Sprintf("nncc_el_min_f32(%s, %s)", e, bound[2])
	}
	w.set(n, "%s", e)
}

// quantised writes an operator on quantised integers.
func (w *fuser) quantised(n *ir.Node) {
	fail.If(op.Rounding(n) != fixp.DoubleRounding, "the linked CMSIS-NN rounds once, and this loop twice")
	if table, why := kernel.Table256(n); why == "" {
		w.looked(n, table)
		return
	}
	if len(n.In) > 0 && n.In[0].Type.DType == tensor.I16 && n.Out[0].Type.DType == tensor.I16 && w.interpolated(n) {
		return
	}
	fail.If(len(n.In) != 2, "%d inputs, want 2", len(n.In))
	w.quantisedPair(n, w.operands(n))
}

// quantisedPair writes an operator on two quantised operands.
func (w *fuser) quantisedPair(n *ir.Node, x []string) {
	wide := n.Out[0].Type.DType == tensor.I16
	kernel := !wide && op.BinaryKernelS8(n) || wide && op.BinaryKernel16(n)
	switch {
	case n.Op == op.Add && kernel:
		w.sum(n, x, wide)
	case n.Op == op.Mul && kernel:
		w.product(n, x, wide)
	case (n.Op == op.Min || n.Op == op.Max) && op.MinMaxKernel(n):
		c := map[*ir.OpDef]string{op.Min: "<", op.Max: ">"}[n.Op]
		w.set(n, "%s %s %s ? %s : %s", x[0], c, x[1], x[0], x[1])
	default:
		fail.Errorf("two computed operands without integer arithmetic for single elements")
	}
}

// offset is v less its zero point.
func (w *fuser) offset(v string, offset int32) string {
	if offset == 0 {
		return v
	}
	return v + " + " + w.param(offset)
}

// sum is arm_elementwise_add_s8 or _s16 for one element.
func (w *fuser) sum(n *ir.Node, x []string, wide bool) {
	p := op.AddParamsS8(n)
	if wide {
		p = op.AddParams16(n)
	}
	s := p.Scales
	scaled := func(v string, offset, mult, shift int32) (e string, reach int64) {
		lo, hi := int64(math.MinInt8)+int64(offset), int64(math.MaxInt8)+int64(offset)
		if wide {
			lo, hi = math.MinInt16, math.MaxInt16
		}
		for _, q := range []int64{lo, hi} {
			r := int64(fixp.Requantize(int32(q<<uint(s.LeftShift)), mult, shift))
			reach = max(reach, r, -r)
		}
		return w.requantised(fmt.Sprintf("(%s) * %d", w.offset(v, offset), 1<<uint(s.LeftShift)), mult, shift), reach
	}
	a, ra := scaled(x[0], p.Offset1, s.Mult1, s.Shift1)
	b, rb := scaled(x[1], p.Offset2, s.Mult2, s.Shift2)
	w.result(n, a+" + "+b, ra+rb, s.OutMult, s.OutShift, p.OutputOffset, p.ActMin, p.ActMax)
}

// product is arm_elementwise_mul_s8 or _s16 for one element.
func (w *fuser) product(n *ir.Node, x []string, wide bool) {
	p := op.MulParams(n)
	reach := int64(255 * 255)
	if wide {
		reach = 1 << 30
	}
	w.result(n, fmt.Sprintf("(%s) * (%s)", w.offset(x[0], p.Offset1), w.offset(x[1], p.Offset2)), reach, p.Mult,
		p.Shift, p.OutputOffset, p.ActMin, p.ActMax)
}

// requantised is v by a multiplier and a shift.
func (w *fuser) requantised(v string, mult, shift int32) string {
	if shift >= 0 {
		return fmt.Sprintf("nncc_el_up(%s, %s, %s)", v, w.param(mult), w.param(shift))
	}
	return fmt.Sprintf("nncc_el_down(%s, %s, %s)", v, w.param(mult), w.param(-shift))
}

// result is the end of a kernel: an accumulator of at most the given absolute
// value becomes a code, in one multiplication where that is proven.
func (w *fuser) result(n *ir.Node, acc string, reach int64, mult, shift, zero, lo, hi int32) {
	var v string
	if s, why := pack.OneMultiply(mult, shift, -reach, reach, zero); why == "" {
		v = fmt.Sprintf("nncc_el_once(%s, %s, %s, %s)", acc, w.param(s.M), w.param(s.C), w.param(s.S))
	} else {
		v = w.offset(w.requantised(acc, mult, shift), zero)
	}
	d := n.Out[0].Type.DType
	if a, b := d.IntRange(); int64(lo) == a && int64(hi) == b { // numbers in the text: saturating instructions
		w.set(n, "nncc_el_limit(%s, %d, %d)", v, lo, hi)
		return
	}
	w.set(n, "nncc_el_limit(%s, %s, %s)", v, w.param(lo), w.param(hi))
}

// looked is a function of one 8-bit value: the table of its results.
func (w *fuser) looked(n *ir.Node, t []byte) {
	k, _ := kernel.RunInput(n)
	x := w.operand(n.In[k])
	e := fmt.Sprintf("%s[(uint8_t)%s]", w.table(tensor.Of([]int{256}, t)).name, x.name)
	if n.Out[0].Type.DType == tensor.I8 {
		e = "(int8_t)" + e
	}
	w.set(n, "%s", e)
}

// interpolated is a function of one int16 value between 513 points.
func (w *fuser) interpolated(n *ir.Node) bool {
	c, ok := kernel.CurveOf(n)
	if !ok {
		return false
	}
	x := w.operand(n.In[0])
	w.set(n, "nncc_el_interpolated_lut_s16(%s, %s)", w.table(tensor.Of([]int{len(c)}, c[:])).name, x.name)
	return true
}

func (w *fuser) table(d *tensor.Dense) ref {
	w.tables++
	return w.f.table(fmt.Sprintf("t%d", w.tables-1), d)
}
