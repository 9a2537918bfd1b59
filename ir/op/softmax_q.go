// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// SoftmaxScale and SoftmaxZero are the output quantisation of arm_softmax_s8.
const (
	SoftmaxScale = 1.0 / 256
	SoftmaxZero  = -128
)

// SoftmaxKernel reports whether a quantised Softmax is CMSIS-NN's
// arm_softmax_s8: int8 in, int8 out with scale 1/256 and zero point -128. The
// parameters are those of the kernel.
func SoftmaxKernel(n *ir.Node) (mult, shift, diffMin int32, ok bool) {
	y := n.Out[0].Type
	mult, shift, diffMin, ok = SoftmaxRescaled(n)
	return mult, shift, diffMin, ok && y.Quant.Scale[0] == SoftmaxScale && y.Quant.Zero[0] == SoftmaxZero
}

// leastSoftmaxScale bounds the scales that the kernel's result is requantised
// to. Its own step is 1/256, of which it misses up to one: on an output with
// finer steps, as a model has it whose rows are long and even, more than the two
// steps of the output that a layer may be off, and most of the result.
const leastSoftmaxScale = SoftmaxScale / 1.5

// SoftmaxRescaled is SoftmaxKernel for an int8 output of any scale that is not
// much finer: the kernel's result, requantised. Other types and scales follow
// the float64 rule.
func SoftmaxRescaled(n *ir.Node) (mult, shift, diffMin int32, ok bool) {
	x, y := n.In[0].Type, n.Out[0].Type
	if !perTensorS8(x) || !perTensorS8(y) {
		return 0, 0, 0, false
	}
	mult, shift, diffMin = fixp.SoftmaxScale(1, x.Quant.Scale[0])
	return mult, shift, diffMin, shift >= 0 && y.Quant.Scale[0] >= leastSoftmaxScale
}

// softmaxRequantised converts the kernel's result to the quantisation of the output.
func softmaxRequantised(n *ir.Node, y *tensor.Dense) *tensor.Dense {
	t := n.Out[0].Type
	if t.Quant.Scale[0] == SoftmaxScale && t.Quant.Zero[0] == SoftmaxZero {
		return y
	}
	return ir.QuantiseAway(ir.Dequantise(y, ir.PerTensor(SoftmaxScale, SoftmaxZero)), t)
}

func evalSoftmaxQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	x := in[0]
	l := lanesOf(x.Shape, fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape))))
	if mult, shift, why := SoftmaxKernel16(n); why == "" && x.Len() > 0 {
		p := &qref.Softmax16Params{Mult: mult, Shift: shift, Rounding: Rounding(n)}
		return outs(tensor.Of(x.Shape, softmaxLanes(l, x.Data.([]int16), p.Softmax)))
	}
	mult, shift, diffMin, ok := SoftmaxRescaled(n)
	if !ok || x.Len() == 0 {
		return ir.EvalDequantised(n, in)
	}
	terms := qref.SoftmaxTerms(mult, shift, diffMin)
	y := softmaxLanes(l, x.Data.([]int8), func(x, y []int8) { qref.Softmax(&terms, x, y) })
	return outs(softmaxRequantised(n, tensor.Of(x.Shape, y)))
}

// SoftmaxPairs are the results of an int8 Softmax of two values, for every
// difference between a value and the other one, from -255 to 255; ok as of
// SoftmaxRescaled.
func SoftmaxPairs(n *ir.Node) (results []int8, ok bool) {
	mult, shift, diffMin, ok := SoftmaxRescaled(n)
	if !ok {
		return nil, false
	}
	const reach = 255
	terms := qref.SoftmaxTerms(mult, shift, diffMin)
	y := make([]int8, 2*reach+1)
	for i := range y {
		d := i - reach
		row := []int8{int8(max(d, 0) - 128), int8(max(-d, 0) - 128)}
		qref.Softmax(&terms, row, row)
		y[i] = row[0]
	}
	return tensor.As[int8](softmaxRequantised(n, tensor.Of([]int{len(y)}, y))), true
}

// softmaxError bounds what arm_softmax_s16 misses: each exponential is rounded
// to 16 bits, so that a sum of n is off by up to that often a step, and so may
// the results be. Measured up to 1.95 n.
func softmaxError(n *ir.Node) float64 {
	if _, _, why := SoftmaxKernel16(n); why != "" {
		return 0
	}
	shape := n.In[0].Type.Shape
	axis, err := Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(shape))
	if err != nil {
		return 0
	}
	return float64(2*shape[axis] + 1)
}

// softmaxLanes calls a kernel for every lane.
func softmaxLanes[T int8 | int16](l lanes, x []T, kernel func(x, y []T)) []T {
	y, row, res := make([]T, len(x)), make([]T, l.n), make([]T, l.n)
	l.each(func(at int) {
		for i := range row {
			row[i] = x[at+i*l.step]
		}
		kernel(row, res)
		for i, v := range res {
			y[at+i*l.step] = v
		}
	})
	return y
}

// Softmax16Scale is the output scale of arm_softmax_s16; its zero point is 0.
const Softmax16Scale = 1.0 / 32768

// SoftmaxKernel16 gives the parameters of arm_softmax_s16 for an int16 Softmax
// with an output scale of 1/32768, or the reason why it is not that kernel.
func SoftmaxKernel16(n *ir.Node) (mult, shift int32, why string) {
	if why := endsWhy(n, sixteenBit); why != "" {
		return 0, 0, why
	}
	axis, err := Axis(n, ir.AttrsOf[AxisAttr](n).Axis, n.In[0].Type.Rank())
	if err != nil {
		return 0, 0, err.Error()
	}
	x, y := n.In[0].Type, n.Out[0].Type
	mult, shift = fixp.Softmax16Scale(1, x.Quant.Scale[0])
	switch {
	case y.Quant.Scale[0] != Softmax16Scale:
		return 0, 0, fmt.Sprintf("the output has scale %v, want 1/32768", y.Quant.Scale[0])
	case shift > 14:
		return 0, 0, fmt.Sprintf("the input's scale %v is too large: differences overflow", x.Quant.Scale[0])
	case x.Shape[axis] == 1:
		return 0, 0, "rows of one element, whose result 1 is beyond the kernel's type"
	case x.Shape[axis] > 1<<16:
		return 0, 0, fmt.Sprintf("rows of %d elements, want at most 65536", x.Shape[axis])
	}
	return mult, shift, ""
}
