// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
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
func perLane(n *ir.Node, x *tensor.Dense, f func(v []float64)) (*tensor.Dense, error) {
	axis, err := Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape))
	if err != nil {
		return nil, err
	}
	y := x.Floats()
	l := lanesOf(x.Shape, axis)
	if l.n == 0 {
		return x, nil
	}
	v := make([]float64, l.n)
	l.each(func(at int) {
		for i := range v {
			v[i] = y[at+i*l.step]
		}
		f(v)
		for i := range v {
			y[at+i*l.step] = v[i]
		}
	})
	return fromFloats(x.DType, x.Shape, y), nil
}

// laneOp defines an operator along one axis that keeps shape and type.
func laneOp(d ir.OpDef, f func(n *ir.Node) func(v []float64)) *ir.OpDef {
	d.Attrs = append(ir.Declare[struct {
		Axis int `default:"-1"`
	}](), d.Attrs...)
	d.MinIn, d.Pattern, d.Lanes, d.Finite = 1, ir.Opaque, true, true
	d.Infer = func(n *ir.Node) ([]ir.Type, error) {
		if err := wantType(n, 0, floatTypes); err != nil {
			return nil, err
		}
		if _, err := Axis(n, ir.AttrsOf[AxisAttr](n).Axis, n.In[0].Type.Rank()); err != nil {
			return nil, err
		}
		return one(like(n, 0))
	}
	d.Eval = func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		y, err := perLane(n, in[0], f(n))
		return []*tensor.Dense{y}, err
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
