// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// lanes are the one-dimensional slices of a tensor along one axis: n elements
// at distance step, outer*step of them.
type lanes struct{ n, step, outer int }

func lanesOf(shape []int, axis int) lanes {
	return lanes{shape[axis], tensor.Count(shape[axis+1:]), tensor.Count(shape[:axis])}
}

// each calls f with the offset of the first element of every lane.
func (l lanes) each(f func(at int)) {
	for o := range l.outer {
		for s := range l.step {
			f(o*l.n*l.step + s)
		}
	}
}

// perLane applies f to every lane along the node's axis attribute in float64;
// f may write over its argument.
func perLane(n *ir.Node, x *tensor.Dense, f func(v []float64)) *tensor.Dense {
	axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape)))
	l := lanesOf(x.Shape, axis)
	if l.n == 0 {
		return x
	}
	return fromFloats(x.DType, x.Shape, eachLane(l, floatsOf(x), func(v, y []float64) { f(y[:copy(y, v)]) }))
}

// laneOp defines an operator along one axis that keeps shape and type.
func laneOp(d ir.OpDef, f func(n *ir.Node) func(v []float64)) *ir.OpDef {
	d.Attrs = append(ir.Declare[struct {
		Axis int `default:"-1"`
	}](), d.Attrs...)
	d.MinIn, d.Pattern, d.Lanes, d.Finite = 1, ir.Opaque, true, true
	d.Infer = func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, floatTypes)
		fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, n.In[0].Type.Rank()))
		return one(like(n))
	}
	d.Eval = func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		return outs(perLane(n, in[0], f(n)))
	}
	return def(d)
}

func maxOf(v []float64) float64 {
	m := v[0]
	for _, x := range v[1:] {
		m = max(m, x)
	}
	return m
}

// Softmax is exp(x) over its sum along axis.
var Softmax = laneOp(ir.OpDef{Name: "Softmax", Doc: "exp(x) / sum exp(x) along axis", NonNegative: true, Quant: ir.QInt,
	EvalQ: evalSoftmaxQ, QError: softmaxError,
	OutQuant: map[tensor.DType]*ir.Quant{tensor.I8: ir.PerTensor(1.0/256, -128),
		tensor.I16: ir.PerTensor(Softmax16Scale, 0)}},
	func(*ir.Node) func(v []float64) {
		return func(v []float64) {
			m, sum := maxOf(v), 0.0
			for i, x := range v {
				v[i] = math.Exp(x - m)
				sum += v[i]
			}
			for i := range v {
				v[i] /= sum
			}
		}
	})

// LogSoftmax is the logarithm of Softmax.
var LogSoftmax = laneOp(ir.OpDef{Name: "LogSoftmax", Doc: "logarithm of Softmax along axis",
	OutQuant: map[tensor.DType]*ir.Quant{tensor.I8: ir.PerTensor(16.0/256, 127)}},
	func(*ir.Node) func(v []float64) {
		return func(v []float64) {
			m, sum := maxOf(v), 0.0
			for _, x := range v {
				sum += math.Exp(x - m)
			}
			l := m + math.Log(sum)
			for i := range v {
				v[i] -= l
			}
		}
	})

// Hardmax is 1 at the first maximum along axis and 0 elsewhere.
var Hardmax = laneOp(ir.OpDef{Name: "Hardmax", Doc: "1 at the first maximum along axis, 0 elsewhere"},
	func(*ir.Node) func(v []float64) {
		return func(v []float64) {
			best := 0
			for i, x := range v {
				if x > v[best] {
					best = i
				}
			}
			clear(v)
			v[best] = 1
		}
	})

// LpNormalization divides by the norm along axis; a zero norm leaves zeros.
var LpNormalization = laneOp(ir.OpDef{Name: "LpNormalization", Doc: "x over its L1 or L2 norm along axis",
	Attrs: ir.Declare[struct {
		P int `default:"2"`
	}]()},
	func(n *ir.Node) func(v []float64) {
		p := ir.AttrsOf[PAttr](n).P
		return func(v []float64) {
			norm := 0.0
			for _, x := range v {
				if p == 1 {
					norm += math.Abs(x)
				} else {
					norm += x * x
				}
			}
			if p != 1 {
				norm = math.Sqrt(norm)
			}
			for i := range v {
				if norm == 0 {
					v[i] = 0
				} else {
					v[i] /= norm
				}
			}
		}
	})

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
		return outs(tensor.Of(x.Shape, eachLane(l, x.Data.([]int16), p.Softmax)))
	}
	mult, shift, diffMin, ok := SoftmaxRescaled(n)
	if !ok || x.Len() == 0 {
		return ir.EvalDequantised(n, in)
	}
	terms := qref.SoftmaxTerms(mult, shift, diffMin)
	y := eachLane(l, x.Data.([]int8), func(x, y []int8) { qref.Softmax(&terms, x, y) })
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
	axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(shape)))
	return float64(2*shape[axis] + 1)
}

// eachLane calls a kernel for every lane.
func eachLane[T any](l lanes, x []T, kernel func(x, y []T)) []T {
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
