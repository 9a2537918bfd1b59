// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"
	"slices"

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

// elements opens the loops over the output of an element-wise operator and
// gives the index of its elements and of those of the inputs. Where every
// input has the output's shape or one element, there is one loop.
func (f *fn) elements(inputs ...int) (y string, x []string) {
	shape := f.n.Out[0].Type.Shape
	flat := true
	for _, i := range inputs {
		t := f.n.In[i].Type
		flat = flat && (slices.Equal(t.Shape, shape) || t.Elems() == 1)
	}
	if flat {
		shape = []int{product(shape)}
	}
	v := f.nest("i", shape)
	for _, i := range inputs {
		t := f.n.In[i].Type
		switch {
		case t.Elems() == 1:
			x = append(x, "0")
		case flat:
			x = append(x, v[0])
		default:
			x = append(x, at(v, broadcastStrides(t.Shape, shape)))
		}
	}
	return at(v, tensor.Strides(shape)), x
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

// folded writes an element-wise operator of any number of inputs: the first
// two are combined, the result with the third, and so on; every step is
// rounded to the element type, as the interpreter does it.
func folded(f *fn) {
	n := f.n
	d := n.In[0].Type.DType
	c := classOf(d)
	expr := pairExpr(n, d)
	var x []ref
	for i := range n.In {
		x = append(x, f.in(i))
	}
	y := f.out(0)
	yi, xi := f.elements(ir.Identity(len(n.In))...)
	f.line("%s a = %s;", c.wide(), load(x[0], xi[0]))
	for i := 1; i < len(x); i++ {
		f.open("")
		f.line("const %s b = %s;", c.wide(), load(x[i], xi[i]))
		if op.Divides(n) {
			f.check("b != 0", "NNCC_ERR_DIVIDE")
		}
		if y.t == tensor.Bool || y.t == d && i == len(x)-1 && n.Op != op.Mean && !op.HasAct(n) {
			f.store(y, yi, expr)
		} else {
			f.line("a = %s;", rounded(d, expr))
		}
		f.close()
	}
	if n.Op == op.Mean && len(x) > 1 {
		f.line("a = %s;", rounded(d, fmt.Sprintf("a / %d.0", len(x))))
	}
	if len(x) == 1 || n.Op == op.Mean || op.HasAct(n) {
		f.clamped(y, yi, "a")
	}
}

// clamped stores v within the bounds of an absorbed activation.
func (f *fn) clamped(y ref, index, v string) {
	if op.HasAct(f.n) && !y.t.IsFloat() { // a sum of integers, which bounds are not
		v = "(double)" + v
	}
	if ir.AttrsOf[op.Act](f.n).ActMin != nil {
		v = fmt.Sprintf("nncc_max_f64(%s, %s)", v, num(float64(*ir.AttrsOf[op.Act](f.n).ActMin)))
	}
	if ir.AttrsOf[op.Act](f.n).ActMax != nil {
		v = fmt.Sprintf("nncc_min_f64(%s, %s)", v, num(float64(*ir.AttrsOf[op.Act](f.n).ActMax)))
	}
	if op.HasAct(f.n) { // beyond the type, which 2^64 is, a cast of C is what the core makes of it
		v = fromReal(y.t, v)
	}
	f.store(y, index, v)
}

// power writes Pow: the exponent has a type of its own.
func power(f *fn) {
	x, e, y := f.in(0), f.in(1), f.out(0)
	yi, xi := f.elements(0, 1)
	switch {
	case !x.t.IsFloat() && !e.t.IsFloat():
		f.store(y, yi, fmt.Sprintf("(%s)nncc_pow_i64((int64_t)%s, (int64_t)%s)", classOf(y.t).wide(), load(x, xi[0]),
			load(e, xi[1])))
	case x.t.IsFloat():
		f.store(y, yi, fmt.Sprintf("pow(%s, %s)", loadReal(x, xi[0]), loadReal(e, xi[1])))
	default:
		f.store(y, yi, fromReal(y.t, fmt.Sprintf("pow(%s, %s)", loadReal(x, xi[0]), loadReal(e, xi[1]))))
	}
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

// convert writes Cast and CastLike.
func convert(f *fn) {
	x, y := f.in(0), f.out(0)
	yi, xi := f.elements(0)
	v := load(x, xi[0])
	if classOf(x.t) != floating && classOf(y.t) == floating {
		v = loadReal(x, xi[0])
	} else {
		v = fromClass(x.t, y.t, v)
	}
	f.store(y, yi, v)
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

// unary writes a function of one element.
func unary(f *fn) {
	n := f.n
	x, y := f.in(0), f.out(0)
	yi, xi := f.elements(0)
	a := loadReal(x, xi[0])
	c := argument(n, x.t)
	if c == classOf(x.t) {
		a = load(x, xi[0])
	}
	f.line("const %s a = %s;", c.wide(), a)
	f.store(y, yi, unaryExpr(n, x.t))
}

// clip writes Clip with bounds that are constant or computed.
func clip(f *fn) {
	x, y := f.in(0), f.out(0)
	c := classOf(x.t)
	for i, name := range []string{1: "lo", 2: "hi"} {
		if i > 0 && f.has(i) {
			f.line("const %s %s = %s;", c.wide(), name, load(f.in(i), "0"))
		}
	}
	yi, xi := f.elements(0)
	f.line("%s a = %s;", c.wide(), load(x, xi[0]))
	for i, s := range [][2]string{1: {"a < lo ? lo : a", "nncc_max_f64(a, lo)"},
		2: {"a > hi ? hi : a", "nncc_min_f64(a, hi)"}} {
		switch {
		case i == 0 || !f.has(i):
		case c == floating:
			f.line("a = %s;", s[1])
		default:
			f.line("a = %s;", s[0])
		}
	}
	f.store(y, yi, "a")
}

// copied writes operators that keep elements as they are, in order.
func copied(f *fn) {
	x, y := f.in(0), f.out(0)
	f.loop("i", f.n.Out[0].Type.Elems())
	f.copy(y, "i", x, "i")
}

// choose writes Where.
func choose(f *fn) {
	c, a, b, y := f.in(0), f.in(1), f.in(2), f.out(0)
	yi, xi := f.elements(0, 1, 2)
	f.line("%s[%s] = %s[%s] != 0 ? %s[%s] : %s[%s];", y.name, yi, c.name, xi[0], a.name, xi[1], b.name, xi[2])
}

func elementRows() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("binary", "arithmetic, comparison and logic on two or more broadcast tensors, any element type", folded,
			nil, kernel.Where(func(d *ir.OpDef) bool { return d.Pair != nil && d != op.Pow })...),
		row("pow", "power with broadcasting, any element type", power, nil, op.Pow),
		row("cast", "conversion between any two element types", convert, nil, op.Cast, op.CastLike),
		row("unary", "functions of one element, any element type", unary, nil,
			kernel.Where(func(d *ir.OpDef) bool { return d.C != nil })...),
		row("clip", "limits, constant or computed, any element type", clip, nil, op.Clip),
		row("copy", "elements as they are, in order", copied, nil, op.Identity, op.Within),
		row("where", "choice between two tensors, any element type", choose, nil, op.Where),
	}
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
	inner := product(x[axis+1:])
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
	f.line("const double q = scale > 0.0f ? nncc_nearest_f64((double)(%s[i] / scale)) : 0.0;", x.name)
	f.store(y, "i", "(int64_t)fmin(fmax(q + zero, 0.0), 255.0)")
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
