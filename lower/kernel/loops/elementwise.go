// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// broadcastStrides are the strides of an input along the output's dimensions,
// 0 where it is repeated.
func broadcastStrides(shape, out []int) []int {
	st := tensor.Strides(shape)
	r := make([]int, len(out))
	for i, d := range shape {
		if d != 1 {
			r[len(out)-len(shape)+i] = st[i]
		}
	}
	return r
}

// pairExpr is the function of two elements a and b of type d, "" where there is no
// form for it.
func pairExpr(n *ir.Node, d tensor.DType) string {
	form := ofClass(n.Op.Pair(n), classOf(d))
	return kernel.Written(form, func(name string) string { return attribute(n, name) })
}

// ofClass is the expression of a form in a class of arithmetic.
func ofClass(c ir.CForm, k class) string {
	switch k {
	case whole:
		return c.I64
	case large:
		return c.U64
	}
	return c.F64
}

// attribute is a float attribute of a node as a number in double.
func attribute(n *ir.Node, name string) string {
	return num(float64(n.Float(name)))
}

// clamped stores v within the bounds of an absorbed activation.
func (f *fn) clamped(y ref, index, v string) { f.store(y, index, bounded(f.n, y.t, v)) }

// bounded is v within the bounds of an absorbed activation.
func bounded(n *ir.Node, d tensor.DType, v string) string {
	if !op.HasAct(n) {
		return v
	}
	if !d.IsFloat() { // a sum of integers, which bounds are not
		v = "(double)" + v
	}
	act := ir.AttrsOf[op.Act](n)
	if act.ActMin != nil {
		v = fmt.Sprintf("nncc_max_f64(%s, %s)", v, num(float64(*act.ActMin)))
	}
	if act.ActMax != nil {
		v = fmt.Sprintf("nncc_min_f64(%s, %s)", v, num(float64(*act.ActMax)))
	}
	return fromReal(d, v) // beyond the type, which 2^64 is, a cast of C is what the core makes of it
}

// fromReal is a double as the class of an element type, as Cast does it.
func fromReal(d tensor.DType, v string) string {
	switch {
	case d.IsFloat():
		return v
	case d == tensor.Bool:
		return v + " != 0.0 ? 1 : 0"
	case d == tensor.U64:
		return "nncc_f64_to_u64(" + v + ")"
	}
	return "nncc_f64_to_i64(" + v + ")"
}

// fromClass is a value of one element type's class in that of another.
func fromClass(from, to tensor.DType, v string) string {
	switch a, b := classOf(from), classOf(to); {
	case a == floating:
		return fromReal(to, v)
	case a != b:
		return "(" + b.wide() + ")" + v
	}
	return v
}

// exact is the form of a function on elements of a type that are no reals, ""
// where it computes in double.
func exact(n *ir.Node, d tensor.DType) string {
	if k := classOf(d); k != floating {
		return ofClass(n.Op.C(n), k)
	}
	return ""
}

// argument is the class in which a function takes its argument.
func argument(n *ir.Node, d tensor.DType) class {
	if exact(n, d) != "" {
		return classOf(d)
	}
	return floating
}

// unaryExpr is the function of one element a of type d, in the class of the result.
func unaryExpr(n *ir.Node, d tensor.DType) string {
	form := exact(n, d)
	inReals := form == ""
	if inReals {
		form = n.Op.C(n).F64
	}
	e := kernel.Written(form, func(name string) string { return attribute(n, name) }, "a")
	if y := n.Out[0].Type.DType; inReals && y != tensor.Bool && !y.IsFloat() {
		return fromReal(y, e)
	}
	return e
}

// scaleIndex is the scale of element i of input 0: one for all, one for every
// index of the axis, or one for every block along it.
func (f *fn) scaleIndex() string {
	n := f.n
	x, s := n.In[0].Type.Shape, n.In[1].Type
	block := ir.AttrsOf[op.ScaleAttrs](n).BlockSize
	if s.Elems() == 1 && s.Rank() <= 1 && block == 0 {
		return "0"
	}
	axis := kernel.Known(op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis, len(x)))
	inner := tensor.Count(x[axis+1:])
	if block == 0 {
		return fmt.Sprintf("i / %d %% %d", inner, x[axis])
	}
	return fmt.Sprintf("(i / %d * %d + i / %d %% %d / %d) * %d + i %% %d", inner*x[axis], (x[axis]+block-1)/block,
		inner, x[axis], block, inner, inner)
}

// quantize writes QuantizeLinear into plain integers, the parameters known or
// computed.
func quantize(f *fn) {
	n := f.n
	x, scale, y := f.in(0), f.in(1), f.out(0)
	c := f.scaleIndex()
	lo, hi := y.t.IntRange()
	f.loop("i", n.In[0].Type.Elems())
	f.line("const int32_t c = %s;", c)
	q := fmt.Sprintf("(double)((float)(%s) / (float)(%s))", loadReal(x, "i"), load(scale, "c"))
	if x.t == tensor.F64 {
		q = fmt.Sprintf("%s / %s", load(x, "i"), load(scale, "c"))
	}
	f.line("double q = %s;", q)
	round := "nncc_nearest_f64"
	if op.RoundsAway(n) {
		round = "round"
	}
	f.line("q = isnan(q) ? 0.0 : %s(q);", round)
	if f.has(2) {
		f.line("q += %s;", loadReal(f.in(2), "c"))
	}
	f.line("q = fmin(fmax(q, %s), %s);", num(float64(lo)), num(float64(hi)))
	f.store(y, "i", fromReal(y.t, "q"))
}

// dequantize writes DequantizeLinear of plain integers.
func dequantize(f *fn) {
	n := f.n
	x, scale, y := f.in(0), f.in(1), f.out(0)
	c := f.scaleIndex()
	f.loop("i", n.In[0].Type.Elems())
	f.line("const int32_t c = %s;", c)
	v := fmt.Sprintf("(int64_t)%s[i]", x.name)
	if f.has(2) {
		v = fmt.Sprintf("(%s - (int64_t)%s[c])", v, f.in(2).name)
	}
	if y.t == tensor.F64 {
		f.store(y, "i", fmt.Sprintf("(double)%s * %s", v, load(scale, "c")))
	} else {
		f.store(y, "i", fmt.Sprintf("(double)((float)%s * (float)(%s))", v, load(scale, "c")))
	}
}

// dynamicQuantize writes DynamicQuantizeLinear.
func dynamicQuantize(f *fn) {
	n := f.n
	x, y, s, z := f.in(0), f.out(0), f.out(1), f.out(2)
	count := n.In[0].Type.Elems()
	f.line("float lo = 0.0f, hi = 0.0f, scale;")
	f.line("double zero = 0.0;")
	f.loop("i", count)
	f.line("lo = x0[i] < lo ? x0[i] : lo;")
	f.line("hi = x0[i] > hi ? x0[i] : hi;")
	f.close()
	f.line("scale = (hi - lo) / 255.0f;")
	f.when("zero = nncc_nearest_f64(fmin(fmax((double)(-lo / scale), 0.0), 255.0));", "scale > 0.0f")
	f.loop("i", count)
	f.line("float q = scale > 0.0f ? %s[i] / scale : 0.0f;", x.name)
	f.line("q = q > -256.0f ? (q < 256.0f ? q : 256.0f) : -256.0f;")
	f.line("const int32_t v = (int32_t)((q + 12582912.0f) - 12582912.0f) + (int32_t)zero;") // 1.5 * 2^23: the nearest
	f.store(y, "i", "v < 0 ? 0 : (v > 255 ? 255 : v)")
	f.close()
	f.store(s, "0", "scale")
	f.store(z, "0", "(int64_t)zero")
}

func quantRows() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("quantize", "quantisation to any integer type, scales for all, an axis or blocks, also computed", quantize,
			nil, op.QuantizeLinear),
		row("dequantize", "integers as reals, scales for all, an axis or blocks, also computed", dequantize, nil,
			op.DequantizeLinear),
		row("dynamic_quantize", "quantisation by the input's own range", dynamicQuantize, nil,
			op.DynamicQuantizeLinear),
	}
}
