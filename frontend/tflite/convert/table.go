// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

// Functions of int8 values that TensorFlow Lite computes in fixed point, or in float32
// with roundings of its own: all 256 results are computed here.

// integers gives the result of an operator for a stored value less its zero point, before
// it is limited to the type.
type integers func(n *node) func(v int32) int32

// function is an operator of one tensor: of int8 values by the integers of f, else as other
// writes it; also where the integers are those of the real function, rounded once.
func function(f integers, other func(n *node), exact func(x float64) float64) func(n *node) {
	return func(n *node) {
		if !int8Function(n) {
			other(n)
			return
		}
		result := f(n)
		if exact != nil && n.byRule(result, exact) {
			other(n)
			return
		}
		x := n.in(0)
		results := make([]int8, 256)
		for i := range results {
			results[uint8(int8(i))] = int8(fixp.Clamp(result(int32(int8(i))-int32(x.Zero[0])), -128, 127))
		}
		t := tensor.Of([]int{256}, results)
		n.give("nncc.Lookup", vals{n.raw(0), n.constant("table", t)})
	}
}

func int8Function(n *node) bool {
	x, y := n.in(0), n.out()
	return x.DType == tensor.I8 && y.DType == tensor.I8 && len(x.Scale) == 1 && len(y.Scale) == 1
}

// q4 is a function of numbers in Q4.27, which has its limits beyond their range.
func q4(f func(v int32) int32) func(n *node) func(v int32) int32 {
	return func(n *node) func(v int32) int32 {
		mult, shift := fixp.QuantizeMultiplier(float64(n.in(0).Scale[0]) * (1 << 27))
		radius := int32(math.Floor(15 * math.Ldexp(1, 27-int(shift))))
		return func(v int32) int32 {
			switch {
			case v <= -radius:
				return math.MinInt8
			case v >= radius:
				return math.MaxInt8
			}
			return f(fixp.Requantize(v, mult, shift))
		}
	}
}

func logisticOf(v int32) int32 { return fixp.DivideByPowerOfTwo(fixp.Logistic(v), 23) - 128 }

func tanhOf(v int32) int32 { return fixp.DivideByPowerOfTwo(fixp.Tanh(v), 24) }

// curve16 is a function of int16 by TensorFlow Lite's table in steps of 1/12288, or the real
// one; most is the largest power of two, above steps of 1/4096, that it takes as it is.
func curve16(table, op string, most int) func(n *node) {
	return func(n *node) {
		x, y := n.in(0), n.out()
		if !quantised(tensor.I16, x, y) || y.Scale[0] != 1./32768 {
			elementwise(op)(n)
			return
		}
		mult, right := float64(x.Scale[0])*4096*3, 0
		log := math.Log2(float64(x.Scale[0])) + 12
		if power := math.Round(log); math.Abs(log-power) < 1e-3 && power >= 0 && power <= float64(most) {
			mult = math.Ldexp(3, int(power))
		} else {
			for ; mult <= math.MaxInt16/2. && right <= 30; right++ {
				mult *= 2
			}
		}
		n.refuse(mult > math.MaxInt16, "the scale %g of %q is too large for the table of 16 bits", x.Scale[0], x.Name)
		n.give(table, vals{n.raw(0)}, intAttr("mult", int(mult)), intAttr("shift", -right))
	}
}

func (n *node) offset() int32 { return int32(n.out().Zero[0]) }

// ratio is the input's step in steps of the result, in float32.
func (n *node) ratio() float32 { return n.in(0).Scale[0] / n.out().Scale[0] }

func absOf(n *node) func(v int32) int32 {
	to := timesNumber(float64(n.ratio()), 0).of
	if n.in(0).Scale[0] == n.out().Scale[0] {
		to = func(v int32) int32 { return v }
	}
	return func(v int32) int32 { return to(max(v, -v)) + n.offset() }
}

func reluOf(n *node) func(v int32) int32 {
	to := timesNumber(float64(n.ratio()), 0)
	return func(v int32) int32 { return max(to.of(v), 0) + n.offset() }
}

// relu6Of clamps integers: the result has the input's quantisation.
func relu6Of(n *node) func(v int32) int32 {
	six := int32(math.Round(float64(6 / n.in(0).Scale[0])))
	return func(v int32) int32 { return min(max(v, 0), six) + int32(n.in(0).Zero[0]) }
}

// slope is the multiplier of negative numbers, in float32.
func (n *node) slope() float64 {
	o := options[fb.LeakyReluOptions](n)
	return float64(n.in(0).Scale[0] * o.Alpha() / n.out().Scale[0])
}

func leakyReluOf(n *node) func(v int32) int32 {
	slope := n.slope()
	above, below := timesNumber(float64(n.ratio()), 0), timesNumber(math.Abs(slope), 0)
	return func(v int32) int32 {
		switch {
		case v >= 0:
			return above.of(v) + n.offset()
		case slope < 0:
			return n.offset() - below.of(v)
		}
		return n.offset() + below.of(v)
	}
}

// int16Function reports that an operator has one operand of 16 bits, whose results are not
// those of the real function, rounded once.
func (n *node) int16Function(f integers, exact func(x float64) float64) bool {
	return integer(n.in(0), n.out()) && n.in(0).DType == tensor.I16 && n.out().DType == tensor.I16 &&
		!n.byRule(f(n), exact)
}

func absolute(n *node) {
	if !n.int16Function(absOf, math.Abs) {
		elementwise("Abs")(n)
		return
	}
	a := n.step("Abs", vals{n.centred(n.in(0))})
	if n.in(0).Scale[0] == n.out().Scale[0] {
		n.narrow(a, actNone)
		return
	}
	n.finish(a, timesNumber(float64(n.ratio()), 0), actNone)
}

func relu(n *node) {
	if !n.int16Function(reluOf, atLeast0) {
		activation(actRelu)(n)
		return
	}
	n.finish(n.centred(n.in(0)), timesNumber(float64(n.ratio()), 0), actRelu)
}

func leakyRelu(n *node) {
	o := options[fb.LeakyReluOptions](n)
	alpha := float64(o.Alpha())
	exact := func(x float64) float64 { return max(x, 0) + min(x, 0)*alpha }
	if !n.int16Function(leakyReluOf, exact) || alpha < 0 {
		n.result("LeakyRelu", vals{n.real(0)}, floatAttr("alpha", o.Alpha()))
		return
	}
	slope, v := float64(n.in(0).Scale[0]*o.Alpha()/n.out().Scale[0]), n.centred(n.in(0))
	n.bySign(v, v, timesNumber(float64(n.ratio()), 0), v, timesNumber(slope, 0))
}

func atLeast0(x float64) float64 { return max(x, 0) }

func from0To6(x float64) float64 { return min(max(x, 0), 6) }

func byFloat(f func(x float64) float64) func(n *node) func(v int32) int32 {
	return func(n *node) func(v int32) int32 {
		step, steps := n.in(0).Scale[0], 1/n.out().Scale[0]
		return func(v int32) int32 {
			y := float32(f(float64(step*float32(v)))) * steps
			return int32(max(min(math.Round(float64(y)), 1<<20), -1<<20)) + n.offset()
		}
	}
}

// elu is computed in float32: the exponential is rounded before 1 is subtracted.
func elu(x float64) float64 {
	if x < 0 {
		return float64(float32(math.Exp(x)) - 1)
	}
	return x
}

// rsqrtOf is the inverse square root in fixed point; of 0 it is the largest number.
func rsqrtOf(n *node) func(v int32) int32 {
	x := float32(math.Sqrt(float64(n.in(0).Scale[0])))
	mult, shift := fixp.QuantizeMultiplier(1 / float64(x*n.out().Scale[0]))
	return func(v int32) int32 {
		if v <= 0 { // the interpreter refuses negative ones
			return math.MaxInt8
		}
		const room = 20
		m, s := fixp.InverseSqrt(v)
		return fixp.Requantize(fixp.Requantize(1, m, s+room), mult, shift-room) + n.offset()
	}
}

func hardSwishOf(n *node) func(v int32) int32 {
	fine := n.in(0).Scale[0] / 128
	mult, shift := fixp.QuantizeMultiplier(float64(fine / n.out().Scale[0]))
	n.refuse(shift > 0, "the result's scale %g is less than a 128th of the input's, %g", n.out().Scale[0],
		n.in(0).Scale[0])
	gateMult, gateShift := fixp.QuantizeMultiplier(float64(fine / (3. / 32768)))
	toOut, toGate := fixp.High16(mult), fixp.High16(gateMult)
	return func(v int32) int32 {
		x := int16(v << 7)
		gate := x
		if gateShift > 0 {
			gate = fixp.SatS16(int32(gate) << min(gateShift-1, 16))
		}
		gate = fixp.DoublingHighMult16(gate, toGate)
		if gateShift > 0 {
			gate = fixp.SatS16(int32(gate) << 1)
		} else {
			gate = int16(fixp.DivideByPowerOfTwo(int32(gate), -gateShift))
		}
		gate = int16((int32(gate) + 1<<15) >> 1)
		y := int32(gate) * int32(fixp.DoublingHighMult16(x, toOut)) / (1 << 15)
		return fixp.DivideByPowerOfTwo(y, -shift) + n.offset()
	}
}
