// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

func elementwise(op string) func(n *node) {
	return func(n *node) { n.result(op, vals{n.real(0)}) }
}

func activation(act int8) func(n *node) {
	return func(n *node) { n.fused(act, n.real(0)) }
}

func binary(op string) func(n *node) {
	return func(n *node) { n.pair(op, actNone) }
}

func arithmetic(op string) func(n *node) {
	return func(n *node) {
		act := options[fb.ActivationOptions](n).Activation()
		n.pair(op, act)
	}
}

// add is ADD: of plain integers it has no activation, whatever the file says.
func add(n *node) {
	if y := n.out(); !y.Quantized() && !y.DType.IsFloat() {
		n.pair("Add", actNone)
		return
	}
	arithmetic("Add")(n)
}

func (n *node) pair(op string, act int8) {
	n.activated(act, op, vals{n.real(0), n.real(1)})
}

// binaryRaw and unaryRaw compute on elements as they are stored.
func binaryRaw(op string) func(n *node) {
	return func(n *node) { n.give(op, vals{n.raw(0), n.raw(1)}) }
}

func unaryRaw(op string) func(n *node) {
	return func(n *node) { n.give(op, vals{n.raw(0)}) }
}

func compare(op string, not bool, is func(a, b float64) bool) func(n *node) {
	return func(n *node) {
		in := n.compared(is)
		if !not {
			n.give(op, in)
			return
		}
		n.give("Not", vals{n.make("not", op, in)})
	}
}

// compared are the operands of a comparison: real numbers, or those of int8 as TensorFlow
// Lite brings them to one scale, where that compares otherwise.
func (n *node) compared(is func(a, b float64) bool) vals {
	a, b := n.in(0), n.in(1)
	if !integer(a, b) || a.DType != tensor.I8 || b.DType != tensor.I8 {
		return vals{n.real(0), n.real(1)}
	}
	const left = 8
	p, q := timesNumber(float64(a.Scale[0]), left), timesNumber(float64(b.Scale[0]), left)
	for x := int64(-128); x < 128; x++ {
		for y := int64(-128); y < 128; y++ {
			v, w := p.of(int32(x-a.Zero[0])), q.of(int32(y-b.Zero[0]))
			if is(float64(v), float64(w)) != is(float64(float32(value(a, x))), float64(float32(value(b, y)))) {
				return vals{n.less(a, p), n.less(b, q)}
			}
		}
	}
	return vals{n.real(0), n.real(1)}
}

func equal(a, b float64) bool   { return a == b }
func lower(a, b float64) bool   { return a < b }
func atMost(a, b float64) bool  { return a <= b }
func above(a, b float64) bool   { return a > b }
func atLeast(a, b float64) bool { return a >= b }

func softmax(n *node) {
	o := options[fb.SoftmaxOptions](n)
	if quantised(tensor.I8, n.in(0)) && quantised(tensor.I16, n.out()) {
		n.softmax16(o.Beta())
		return
	}
	x := n.real(0)
	switch beta := o.Beta(); {
	case beta > 0 && beta != 1 && integer(n.in(0)): // the same integers stand for other numbers
		scaled := n.c.like(n.in(0), n.make("scaled", "BitCast", vals{n.raw(0)}, to(n.in(0).DType)))
		scaled.Scale = []float32{scaled.Scale[0] * beta}
		x = n.c.real(scaled)
	case beta != 1:
		x = n.make("scaled", "Mul", vals{x, n.number(beta)})
	}
	n.result("Softmax", vals{x}, intAttr("axis", -1))
}

// softmax16 is SOFTMAX of int8 with results of 16 bits, which are the fixed-point numbers of
// those of 8 bits before they are rounded to these.
func (n *node) softmax16(beta float32) {
	x, y := n.in(0), n.out()
	mult, shift, least := fixp.SoftmaxScale(beta, x.Scale[0])
	n.refuse(len(x.Shape) == 0 || y.Zero[0] != math.MinInt16 || shift < 0 ||
		math.Abs(float64(y.Scale[0])*65536-1) > 1e-3, "from scale %g and shape %v to scale %g and zero point %d, want "+
		"1/65536 and -32768, at least one dimension, and an input's scale times beta (%g) of at least 2^-26",
		x.Scale[0], x.Shape, y.Scale[0], y.Zero[0], beta)
	terms := qref.SoftmaxTerms(mult, shift, least)
	slices.Reverse(terms[:]) // by the distance to the largest element
	parts := make([]int32, len(terms))
	for i, t := range terms {
		parts[i] = fixp.DivideByPowerOfTwo(t, 12)
	}
	last := n.list(-1)
	v := n.cast(n.raw(0), tensor.I32)
	most := n.step("ReduceMax", vals{v, last}, intAttr("keepdims", 1))
	below := n.step("Sub", vals{most, v})
	sum := n.step("ReduceSum", vals{n.look("parts", parts, below), last}, intAttr("keepdims", 1))
	one := n.step("nncc.ReciprocalQ12", vals{n.cast(sum, tensor.I64)})
	v = n.step("nncc.RescaleBy", vals{n.cast(n.look("terms", terms[:], below), tensor.I64), one}, intAttr("shift", -15))
	n.narrow(n.cast(v, tensor.I32), actNone)
}

func (n *node) look(what string, table []int32, at *ir.Value) *ir.Value {
	return n.step("Gather", vals{n.constant(what, tensor.Of([]int{256}, table)), at}, intAttr("axis", 0))
}

// requantize is QUANTIZE and DEQUANTIZE: from any quantisation, or none, to another.
func requantize(n *node) {
	x, y := n.in(0), n.out()
	if len(x.Scale) == 1 && len(y.Scale) == 1 && !n.converts() {
		by := timesNumber(float64(x.Scale[0])/float64(y.Scale[0]), 0)
		n.finish(n.centred(x), by, actNone)
		return
	}
	r := n.real(0)
	if !y.Quantized() { // of float16, too
		n.give("Cast", vals{r}, to(y.DType))
		return
	}
	attrs := axis(y)
	if x.Quantized() {
		n.give("QuantizeLinear", n.c.quantized(r, y), attrs...)
		return
	}
	n.give("nncc.QuantizeLinear", n.c.quantized(r, y), append(attrs, intAttr("round_away", 1))...)
}

// converts reports that the general rule gives the integers of a change of quantisation.
func (n *node) converts() bool {
	x, y := n.in(0), n.out()
	if x.DType.Bits() > 16 || y.DType.Bits() > 16 {
		return false
	}
	by := timesNumber(float64(x.Scale[0])/float64(y.Scale[0]), 0)
	return n.byRule(func(v int32) int32 { return by.of(v) + n.offset() }, func(x float64) float64 { return x })
}

func rsqrt(n *node) {
	n.result("Reciprocal", vals{n.make("root", "Sqrt", vals{n.real(0)})})
}

func square(n *node) {
	x := n.real(0)
	n.result("Mul", vals{x, x})
}

func (n *node) reduced() (axes []int, keep attr) {
	o := options[fb.ReducerOptions](n)
	return n.known(1), flag("keepdims", o.KeepDims())
}

// reduceTruth tells whether all elements are true (ReduceMin), or any (ReduceMax).
func reduceTruth(op string) func(n *node) {
	return func(n *node) {
		axes, keep := n.reduced()
		n.give(op, vals{n.raw(0), n.list(axes...)}, keep)
	}
}

func reduce(op string) func(n *node) {
	return func(n *node) {
		axes, keep := n.reduced()
		n.result(op, vals{n.real(0), n.list(axes...)}, keep)
	}
}

func (n *node) resized() {
	x, y := n.in(0), n.out()
	n.refuse(len(x.Shape) != 4 || len(y.Shape) != 4 || x.Shape[0] != y.Shape[0] || x.Shape[3] != y.Shape[3] ||
		x.Elems() == 0 || y.Elems() == 0,
		"from %v to %v, want another height and width of [batch, height, width, channels]", x.Shape, y.Shape)
	n.room(y.Shape[1] + y.Shape[2])
}

func resizeNearest(n *node) {
	o := options[fb.ResizeNearestNeighborOptions](n)
	n.resized()
	x, y := n.in(0), n.out()
	var at [2][]int
	whole := true // each pixel as often as the others
	for i := range at {
		in, out := x.Shape[1+i], y.Shape[1+i]
		at[i] = nearest(in, out, o.AlignCorners(), o.HalfPixelCenters())
		for k, v := range at[i] {
			whole = whole && out%in == 0 && v == k/(out/in)
		}
	}
	if !whole {
		rows := n.step("Gather", vals{n.raw(0), n.list(at[0]...)}, intAttr("axis", 1))
		n.give("Gather", vals{rows, n.list(at[1]...)}, intAttr("axis", 2))
		return
	}
	n.resample(textAttr("mode", "nearest"), textAttr("nearest_mode", "floor"),
		textAttr("coordinate_transformation_mode", "asymmetric"))
}

func nearest(in, out int, align, half bool) []int {
	scale, offset := float32(in)/float32(out), float32(0)
	if align && out > 1 {
		scale = float32(in-1) / float32(out-1)
	}
	if half {
		offset = 0.5
	}
	v := make([]int, out)
	for i := range v {
		f := float64((float32(i) + offset) * scale)
		if align {
			f = math.Round(f)
		}
		v[i] = max(min(int(math.Floor(f)), in-1), 0)
	}
	return v
}

func (n *node) resample(attrs ...attr) {
	y := n.out()
	sizes := n.list(y.Shape[0], y.Shape[3], y.Shape[1], y.Shape[2])
	n.window(actNone, "Resize", vals{n.channelsFirst(n.in(0)), nil, nil, sizes}, attrs...)
}

// resizeBilinear interpolates: of int8 in TensorFlow Lite's fixed point.
func resizeBilinear(n *node) {
	o := options[fb.ResizeBilinearOptions](n)
	n.resized()
	x, y := n.in(0), n.out()
	if x.DType == tensor.I8 {
		n.give("nncc.ResizeFixed", vals{n.raw(0)}, intAttr("height", y.Shape[1]), intAttr("width", y.Shape[2]),
			flag("align_corners", o.AlignCorners()), flag("half_pixel_centers", o.HalfPixelCenters()))
		return
	}
	where := "asymmetric"
	switch {
	case o.AlignCorners():
		where = "align_corners"
	case o.HalfPixelCenters():
		where = "half_pixel"
	}
	n.resample(textAttr("mode", "linear"), textAttr("coordinate_transformation_mode", where))
}

func l2Normalization(n *node) {
	act := options[fb.ActivationOptions](n).Activation()
	x, y := n.in(0), n.out()
	n.refuse(len(x.Shape) == 0, "input %q has no dimensions", x.Name)
	n.refuse(act != actNone, "activation %d, want NONE", act)
	last := n.list(-1)
	if !quantised(tensor.I8, x, y) {
		v := n.real(0)
		root := n.step("ReduceL2", vals{v, last}, intAttr("keepdims", 1))
		n.result("Div", vals{v, n.step("Max", vals{root, n.number(1e-6)})})
		return
	}
	v := n.centred(x)
	sum := n.step("ReduceSum", vals{n.step("Mul", vals{v, v}), last}, intAttr("keepdims", 1))
	wide := to(tensor.I64)
	root := n.step("nncc.InverseRoot", vals{n.step("Cast", vals{sum}, wide)})
	v = n.step("nncc.RescaleBy", vals{n.step("Cast", vals{v}, wide), root}, intAttr("shift", 7))
	v = n.cast(v, tensor.I32)
	plain := *y // the result is in steps of 1/128, whatever the file says
	plain.Zero = []int64{0}
	n.c.put(y, n.within(&plain, v, actNone))
}

func l2Pool(n *node) {
	o := options[fb.Pool2DOptions](n)
	x := n.in(0)
	s := n.spatial(o, x, int(o.FilterH()), int(o.FilterW()))
	v := n.channelsFirst(x)
	mean := n.step("AveragePool", vals{n.step("Mul", vals{v, v})}, s.attrs(x)...)
	n.window(o.Activation(), "Sqrt", vals{mean})
}

// logSoftmax is the logarithm of softmax along the last dimension: of int8 in fixed point.
func logSoftmax(n *node) {
	x, y := n.in(0), n.out()
	if !quantised(tensor.I8, x, y) {
		n.result("LogSoftmax", vals{n.real(0)}, intAttr("axis", -1))
		return
	}
	n.refuse(y.Scale[0] != 1./16 || y.Zero[0] != 127, "the result has scale %g and zero point %d, want 1/16 and 127",
		y.Scale[0], y.Zero[0])
	const integer = 5 // bits of differences in front of the point
	mult, shift := fixp.QuantizeMultiplier(min(float64(x.Scale[0])*(1<<(31-integer)), math.MaxInt32))
	least := -int32(math.Floor((1<<integer - 1) * math.Ldexp(1, 31-integer-int(shift))))
	last := n.list(-1)
	v := n.cast(n.raw(0), tensor.I32)
	most := n.step("ReduceMax", vals{v, last}, intAttr("keepdims", 1))
	below := n.step("Sub", vals{most, v}) // 0 to 255
	exps, diffs := make([]int32, 256), make([]int32, 256)
	for i := range exps {
		diffs[i] = fixp.Requantize(int32(-i), mult, shift)
		if int32(-i) >= least {
			exps[i] = fixp.DivideByPowerOfTwo(fixp.ExpOnNegativeValues(diffs[i]), 12)
		}
	}
	sum := n.step("ReduceSum", vals{n.look("exponentials", exps, below), last}, intAttr("keepdims", 1))
	log := n.step("nncc.LogQ12", vals{sum})
	back := math.Ldexp(1, 31-int(shift)) / float64(mult)
	bound := n.rescale(n.step("Add", vals{log, n.whole(math.MinInt32)}), back)
	bound = n.step("Max", vals{bound, n.whole(int64(least) - 1)})
	// A division towards zero of numbers that are not positive, half of it added, rounds.
	const bits = 31 - integer - 4
	d := n.step("Sub", vals{n.step("Sub", vals{n.look("differences", diffs, below), log}), n.whole(1 << (bits - 1))})
	d = n.step("Div", vals{d, n.whole(1 << bits)})
	inside := n.step("Greater", vals{n.step("Neg", vals{below}), bound})
	n.narrow(n.step("Where", vals{inside, d, n.whole(-255)}), actNone)
}

func argument(op string) func(n *node) {
	return func(n *node) {
		axis := n.known(1)
		n.refuse(len(axis) != 1, "axis %v, want one number", axis)
		y := n.out()
		at := n.step(op, vals{n.real(0)}, intAttr("axis", axis[0]), intAttr("keepdims", 0))
		n.give("Cast", vals{at}, to(y.DType))
	}
}

func floorDiv(n *node) {
	y := n.out()
	if !y.DType.IsFloat() {
		a, b := n.raw(0), n.raw(1)
		rest := n.step("Mod", vals{a, b}) // of the divisor's sign
		n.give("Div", vals{n.step("Sub", vals{a, rest}), b})
		return
	}
	n.give("Floor", vals{n.step("Div", vals{n.real(0), n.real(1)})})
}

// floorMod is the rest of that, with the divisor's sign.
func floorMod(n *node) {
	y := n.out()
	a, b := n.raw(0), n.raw(1)
	if !y.DType.IsFloat() {
		n.give("Mod", vals{a, b})
		return
	}
	rest := n.step("Mod", vals{a, b}, intAttr("fmod", 1))
	zero := n.number(0)
	other := n.step("Xor", vals{n.step("Less", vals{b, zero}), n.step("Less", vals{rest, zero})})
	some := n.step("Not", vals{n.step("Equal", vals{rest, zero})})
	n.give("Where", vals{n.step("And", vals{some, other}), n.step("Add", vals{rest, b}), rest})
}

// batchMatMul multiplies matrices in the last two dimensions, each transposed first if it
// is adjoint.
func batchMatMul(n *node) {
	o := options[fb.BatchMatMulOptions](n)
	var in [2]*ir.Value
	for i, adjoint := range [2]bool{o.AdjX(), o.AdjY()} {
		t := n.in(i)
		rank := len(t.Shape)
		n.refuse(rank < 2, "input %q has shape %v, want matrices", t.Name, t.Shape)
		if !adjoint {
			in[i] = n.real(i)
			continue
		}
		perm := append(count(0, rank-2), rank-1, rank-2)
		in[i] = n.c.real(n.c.like(t, n.make("adjoint", "Transpose", vals{n.raw(i)}, intsAttr("perm", perm...))))
	}
	n.result("MatMul", in[:])
}
