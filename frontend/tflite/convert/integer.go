// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"
	"math/bits"
	"slices"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Operators in TensorFlow Lite's integer arithmetic, written with nncc.Rescale and int32
// arithmetic. Where it gives the integers of the ONNX operator, which has kernels of its
// own, that is written: all values of 8 bits, pairs of them, or values of 16 bits are tried.

// times is a multiplication by a real number as TensorFlow Lite does it: to the left by
// some bits, a multiplier of 32 bits, rounded; to the right, rounded.
type times struct{ left, mult, shift int32 }

// timesNumber multiplies by a number; left bits are exact.
func timesNumber(by float64, left int32) times {
	mult, shift := fixp.QuantizeMultiplier(by)
	return times{left, mult, shift}
}

func (t times) of(v int32) int32 { return fixp.Requantize(v<<t.left, t.mult, t.shift) }

func integer(ts ...*model.Tensor) bool {
	return !slices.ContainsFunc(ts, func(t *model.Tensor) bool {
		return t == nil || len(t.Scale) != 1 || t.DType != tensor.I8 && t.DType != tensor.I16
	})
}

// less writes a tensor's integers less its zero point, multiplied.
func (n *node) less(t *model.Tensor, by times) *ir.Value { return n.multiplied(n.centred(t), by) }

func (n *node) multiplied(v *ir.Value, by times) *ir.Value {
	if by.left > 0 {
		v = n.shifted(v, int(by.left))
	}
	return n.rescaleBy(v, int(by.mult), int(by.shift))
}

// finish writes the result: a value multiplied, in its quantisation, within an activation.
func (n *node) finish(v *ir.Value, by times, act int8) {
	n.narrow(n.multiplied(v, by), act)
}

// rule is how nncc computes a function of quantised tensors in general: of their real
// values in float64, rounded once, ties away from zero.
func rule(f float64, y *model.Tensor, lo, hi int64) int64 {
	return min(max(int64(math.Round(f/float64(y.Scale[0])))+y.Zero[0], lo), hi)
}

func value(t *model.Tensor, q int64) float64 { return float64(t.Scale[0]) * float64(q-t.Zero[0]) }

// byRule reports that integers are what the rule gives for a function of one tensor.
func (n *node) byRule(f func(v int32) int32, exact func(x float64) float64) bool {
	x, y := n.in(0), n.out()
	lo, hi := y.DType.IntRange()
	least, most := x.DType.IntRange()
	for q := least; q <= most; q++ {
		v := min(max(int64(f(int32(q-x.Zero[0]))), lo), hi)
		if v != rule(exact(value(x, q)), y, lo, hi) {
			return false
		}
	}
	return true
}

// pairByRule is byRule for two tensors of 8 bits.
func (n *node) pairByRule(f func(a, b int32) int32, exact func(a, b float64) float64, act int8) bool {
	a, b, y := n.in(0), n.in(1), n.out()
	if a.DType != tensor.I8 || b.DType != tensor.I8 {
		return false
	}
	lo, hi := n.activationRange(act, y)
	for p := int64(-128); p < 128; p++ {
		for q := int64(-128); q < 128; q++ {
			v := min(max(int64(f(int32(p-a.Zero[0]), int32(q-b.Zero[0])))+y.Zero[0], lo), hi)
			if v != rule(exact(value(a, p), value(b, q)), y, lo, hi) {
				return false
			}
		}
	}
	return true
}

// sum is how TensorFlow Lite brings two tensors to the scale of their sum.
type sum struct{ a, b, y times }

func (s sum) difference(a, b int32) int32 { return s.y.of(s.a.of(a) - s.b.of(b)) }

// differenceOf are the scales of a SUB, which divides in float32.
func (n *node) differenceOf() sum {
	a, b, y := n.in(0).Scale[0], n.in(1).Scale[0], n.out().Scale[0]
	left := int32(fixp.AddLeftShift)
	if n.out().DType == tensor.I16 {
		left = fixp.Add16LeftShift
	}
	twice := 2 * max(a, b)
	return sum{timesNumber(float64(a/twice), left), timesNumber(float64(b/twice), left),
		timesNumber(float64(twice/(float32(int32(1)<<left)*y)), 0)}
}

func subtract(n *node) {
	act := options[fb.ActivationOptions](n).Activation()
	a, b, y := n.in(0), n.in(1), n.out()
	if !integer(a, b, y) || a.DType != y.DType || b.DType != y.DType {
		n.pair("Sub", act)
		return
	}
	s := n.differenceOf()
	minus := func(a, b float64) float64 { return a - b }
	if n.pairByRule(s.difference, minus, act) || n.subtracts16(s) {
		n.pair("Sub", act)
		return
	}
	d := n.step("Sub", vals{n.less(a, s.a), n.less(b, s.b)})
	n.finish(d, s.y, act)
}

// subtracts16 reports that Sub of 16 bits has the same scales, of which it computes the
// quotients in float64.
func (n *node) subtracts16(s sum) bool {
	if n.out().DType != tensor.I16 {
		return false
	}
	have := fixp.NewAddScales16(n.in(0).Scale[0], n.in(1).Scale[0], n.out().Scale[0])
	return s.a.mult == have.Mult1 && s.a.shift == have.Shift1 && s.b.mult == have.Mult2 && s.b.shift == have.Shift2 &&
		s.y.mult == have.OutMult && s.y.shift == have.OutShift && have.OutShift < 0 &&
		min(have.Shift1, have.Shift2, have.OutShift) >= -31
}

func squaredDifference(n *node) {
	a, b, y := n.in(0), n.in(1), n.out()
	if !integer(a, b, y) {
		d := n.step("Sub", vals{n.real(0), n.real(1)})
		n.result("Mul", vals{d, d})
		return
	}
	left := int32(7)
	if y.DType == tensor.I16 {
		left = 0
	}
	twice := 2 * float64(max(a.Scale[0], b.Scale[0]))
	p, q := timesNumber(float64(a.Scale[0])/twice, left), timesNumber(float64(b.Scale[0])/twice, left)
	d := n.step("Sub", vals{n.less(a, p), n.less(b, q)})
	square := n.step("Mul", vals{d, d})
	out := timesNumber(twice*twice/float64(float32(int32(1)<<(2*left))*y.Scale[0]), 0)
	n.finish(square, out, actNone)
}

func prelu(n *node) {
	x, a, y := n.in(0), n.in(1), n.out()
	if !integer(x, a, y) {
		n.pair("PRelu", actNone)
		return
	}
	positive := timesNumber(float64(x.Scale[0])/float64(y.Scale[0]), 0)
	negative := timesNumber(float64(x.Scale[0])*float64(a.Scale[0])/float64(y.Scale[0]), 0)
	f := func(v, slope int32) int32 {
		if v >= 0 {
			return positive.of(v)
		}
		return negative.of(v * slope)
	}
	exact := func(v, slope float64) float64 {
		if v >= 0 {
			return v
		}
		return v * slope
	}
	if n.pairByRule(f, exact, actNone) {
		n.pair("PRelu", actNone)
		return
	}
	v := n.centred(x)
	product := n.step("Mul", vals{v, n.centred(a)})
	n.bySign(v, v, positive, product, negative)
}

// bySign writes the result: one value multiplied where x is not negative, another one where
// it is.
func (n *node) bySign(x, above *ir.Value, pos times, below *ir.Value, neg times) {
	is := n.step("GreaterOrEqual", vals{x, n.whole(0)})
	n.narrow(n.step("Where", vals{is, n.multiplied(above, pos), n.multiplied(below, neg)}), actNone)
}

// reduceSum is MEAN or SUM: the sum of the integers, multiplied.
func reduceSum(op string) func(n *node) {
	return func(n *node) {
		x, y := n.in(0), n.out()
		if !integer(x, y) || x.DType != y.DType {
			reduce(op)(n)
			return
		}
		axes, keep := n.reduced()
		by, count := timesNumber(float64(x.Scale[0])/float64(y.Scale[0]), 0), 1
		if op == "ReduceMean" {
			count = n.reducedCount(x, axes)
			by = by.over(count)
		}
		if n.sumByRule(by, x.Elems()/max(y.Elems(), 1), count) {
			reduce(op)(n)
			return
		}
		sum := n.step("ReduceSum", vals{n.centred(x), n.list(axes...)}, keep)
		n.finish(sum, by, actNone)
	}
}

func (n *node) reducedCount(x *model.Tensor, axes []int) int {
	seen, count := map[int]bool{}, 1
	for _, a := range axes {
		if a < 0 {
			a += len(x.Shape)
		}
		n.refuse(a < 0 || a >= len(x.Shape), "dimension %d of the shape %v", a, x.Shape)
		if !seen[a] {
			count *= x.Shape[a]
		}
		seen[a] = true
	}
	return max(count, 1)
}

// over divides by a number of elements, by means of the multiplier.
func (t times) over(count int) times {
	shift := int32(min(bits.Len(uint(count))-1, 32))
	shift = min(shift, 31+t.shift)
	return times{t.left, int32(int64(t.mult) << shift / int64(count)), t.shift - shift}
}

const mostSums = 1 << 18

// sumByRule reports that sums of n elements of 8 bits, divided by count, are what the rule
// gives.
func (n *node) sumByRule(by times, elems, count int) bool {
	x, y := n.in(0), n.out()
	if x.DType != tensor.I8 || elems > mostSums/256 {
		return false
	}
	lo, hi := y.DType.IntRange()
	least, most := (-128-x.Zero[0])*int64(elems), (127-x.Zero[0])*int64(elems)
	for s := least; s <= most; s++ {
		v := min(max(int64(by.of(int32(s)))+y.Zero[0], lo), hi)
		if v != rule(float64(x.Scale[0])*float64(s)/float64(count), y, lo, hi) {
			return false
		}
	}
	return true
}

// Operators of which TensorFlow Lite has an integer definition and ONNX none are written
// in steps on int32.

func (n *node) whole(v int64) *ir.Value {
	return n.constant("whole", tensor.Of([]int{}, []int32{int32(v)}))
}

// centred are the elements of a tensor less its zero point, as int32.
func (n *node) centred(t *model.Tensor) *ir.Value {
	v := n.cast(n.c.raw(t), tensor.I32)
	if len(t.Zero) > 0 && t.Zero[0] != 0 {
		v = n.step("Sub", vals{v, n.whole(t.Zero[0])})
	}
	return v
}

func (n *node) rescale(v *ir.Value, by float64) *ir.Value {
	mult, shift := fixp.QuantizeMultiplier(by)
	return n.rescaleBy(v, int(mult), int(shift))
}

func (n *node) rescaleBy(v *ir.Value, mult, shift int) *ir.Value {
	return n.step("nncc.Rescale", vals{v}, intAttr("mult", mult), intAttr("shift", shift))
}

// shifted is int32 times a power of two, wrapped.
func (n *node) shifted(v *ir.Value, left int) *ir.Value {
	return n.step("Mul", vals{v, n.whole(1 << left)})
}

// narrow makes the result of int32 less its zero point: limited to its type, or to an
// activation's range.
func (n *node) narrow(v *ir.Value, act int8) { n.c.put(n.out(), n.within(n.out(), v, act)) }

// within is narrow for the quantisation of a tensor.
func (n *node) within(y *model.Tensor, v *ir.Value, act int8) *ir.Value {
	lo, hi := n.activationRange(act, y)
	if y.Zero[0] != 0 {
		v = n.step("Add", vals{v, n.whole(y.Zero[0])})
	}
	v = n.step("Max", vals{v, n.whole(lo)})
	v = n.step("Min", vals{v, n.whole(hi)})
	return n.add("Cast", []string{n.c.place(n.out()).name}, vals{v}, to(y.DType))[0]
}

func (n *node) activationRange(act int8, t *model.Tensor) (lo, hi int64) {
	lo, hi = t.DType.IntRange()
	at := func(v float64) int64 {
		return t.Zero[0] + int64(math.Round(float64(float32(v)/t.Scale[0])))
	}
	switch act {
	case actNone:
	case actRelu:
		lo = max(lo, at(0))
	case actRelu6:
		lo, hi = max(lo, at(0)), min(hi, at(6))
	case actReluN1:
		lo, hi = max(lo, at(-1)), min(hi, at(1))
	default:
		n.failf("activation %d, want one of NONE, RELU, RELU_N1_TO_1, RELU6", act)
	}
	return lo, hi
}

func quantised(d tensor.DType, all ...*model.Tensor) bool {
	return !slices.ContainsFunc(all, func(t *model.Tensor) bool {
		return t == nil || t.DType != d || len(t.Scale) != 1
	})
}

func addN(n *node) {
	x, y := n.in(0), n.out()
	for i, t := range n.o.In {
		n.refuse(t == nil, "input %d is absent", i)
	}
	if !quantised(tensor.I8, append([]*model.Tensor{y}, n.o.In...)...) {
		n.result("Sum", lists.Map(n.o.In, n.c.real))
		return
	}
	sum := n.headroom(n.whole(-x.Zero[0]))
	for _, t := range n.o.In {
		sum = n.step("Add", vals{sum, n.headroom(n.centred(t))})
	}
	n.fromHeadroom(sum)
}

// headroom is half of int32 with 20 more bits, in which sums of int8 are computed.
func (n *node) headroom(v *ir.Value) *ir.Value {
	return n.rescale(n.shifted(v, fixp.AddLeftShift), 0.5)
}

func (n *node) fromHeadroom(v *ir.Value) {
	twice := 2 * float64(n.in(0).Scale[0])
	n.narrow(n.rescale(v, twice/(float64(1<<fixp.AddLeftShift)*float64(n.out().Scale[0]))), actNone)
}

func cumsum(n *node) {
	o := options[fb.CumsumOptions](n)
	axis := n.known(1)
	n.refuse(len(axis) != 1, "axis %v, want one number", axis)
	x, y := n.in(0), n.out()
	attrs := []attr{flag("exclusive", o.Exclusive()), flag("reverse", o.Reverse())}
	at := n.constant("axis", tensor.Of([]int{}, []int32{int32(axis[0])}))
	if !quantised(tensor.I8, x, y) {
		n.result("CumSum", vals{n.real(0), at}, attrs...)
		return
	}
	sum := n.step("CumSum", vals{n.headroom(n.centred(x)), at}, attrs...)
	sum = n.step("Add", vals{sum, n.headroom(n.whole(-x.Zero[0]))})
	n.fromHeadroom(sum)
}

func divide(n *node) {
	a, b, y := n.in(0), n.in(1), n.out()
	if !quantised(tensor.I8, a, b, y) {
		arithmetic("Div")(n)
		return
	}
	act := options[fb.ActivationOptions](n).Activation()
	mult, shift := fixp.QuantizeMultiplier(float64(a.Scale[0] / (b.Scale[0] * y.Scale[0])))
	v := n.step("nncc.Quotient", vals{n.centred(a), n.centred(b)}, intAttr("mult", int(mult)),
		intAttr("shift", int(shift)))
	n.narrow(v, act)
}
