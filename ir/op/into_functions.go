// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"sync"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

const (
	// pieces is how many polynomials stand for a function between two whole numbers, reach
	// where the first begins and, with the other sign, the last ends.
	pieces, reach = 64, 8
)

// smooth is a function in pieces: polynomials of degree 3 through four of its values each,
// with errors below a ten-millionth of the largest of those here. Elsewhere it is the function.
type smooth struct {
	f     func(float64) float64
	parts [2 * reach * pieces][4]float32
}

func newSmooth(f func(float64) float64) *smooth {
	s := &smooth{f: f}
	for i := range s.parts {
		at := func(k int) float64 { return f(float64(i-reach*pieces)/pieces + float64(k)/(3*pieces)) }
		a, b, c, d := at(0), at(1), at(2), at(3)
		s.parts[i] = [4]float32{float32(a), float32(9*b - 5.5*a - 4.5*c + d),
			float32(9*a - 22.5*b + 18*c - 4.5*d), float32(4.5*(d-a) + 13.5*(b-c))}
	}
	return s
}

// Functions that networks have in pieces, made when one is first wanted.
var (
	smoothSigmoid  = sync.OnceValue(func() *smooth { return newSmooth(sigmoid) })
	smoothTanh     = sync.OnceValue(func() *smooth { return newSmooth(math.Tanh) })
	smoothErf      = sync.OnceValue(func() *smooth { return newSmooth(math.Erf) })
	smoothSoftplus = sync.OnceValue(func() *smooth { return newSmooth(softplus) })
	smoothMish     = sync.OnceValue(func() *smooth {
		return newSmooth(func(x float64) float64 { return x * math.Tanh(softplus(x)) })
	})
	smoothGelu     = sync.OnceValue(func() *smooth { return newSmooth(geluOf("none")) })
	smoothGeluTanh = sync.OnceValue(func() *smooth { return newSmooth(geluOf("tanh")) })
)

// intoFunctions make functions of each element of x.
var intoFunctions = map[*ir.OpDef]func(n *ir.Node) func(x, y []float32){
	Swish: func(n *ir.Node) func(x, y []float32) {
		a, s := ir.AttrsOf[SwishAttrs](n).Alpha, smoothSigmoid()
		return func(x, y []float32) {
			y = y[:len(x)]
			for i, v := range x {
				y[i] = a * v
			}
			s.each(y, y)
			for i, v := range x {
				y[i] *= v
			}
		}
	},
	Gelu: func(n *ir.Node) func(x, y []float32) {
		if ir.AttrsOf[GeluAttrs](n).Approximate == "tanh" {
			return smoothGeluTanh().each
		}
		return smoothGelu().each
	},
	Sigmoid:  smoothly(smoothSigmoid),
	Tanh:     smoothly(smoothTanh),
	Erf:      smoothly(smoothErf),
	Softplus: smoothly(smoothSoftplus),
	Mish:     smoothly(smoothMish),
}

func smoothly(s func() *smooth) func(n *ir.Node) func(x, y []float32) {
	return func(*ir.Node) func(x, y []float32) { return s().each }
}

// each gives y, which may be x, the function of every element of x.
func (s *smooth) each(x, y []float32) {
	for len(x) > 0 {
		n := vec.Pieces(x, y, s.parts[:], pieces)
		if n < len(x) {
			y[n] = float32(s.f(float64(x[n])))
			n++
		}
		x, y = x[n:], y[n:]
	}
}

// expSingle is exp(x) of x up to 0, with errors of a few millionths of it.
func expSingle(x float32) float32 {
	t := float32(x * math.Log2E)
	if !(t > -125) {
		if t != t {
			return t
		}
		return 0
	}
	k := int(t) - 1
	u := t - float32(k)
	if u >= 1 {
		k, u = k+1, u-1
	}
	// Taylor's series of 2^u around 1/2.
	u -= 0.5
	p := float32(1.5403530393381608e-4*math.Sqrt2*u) + 1.3333558146428441e-3*math.Sqrt2
	p = float32(p*u) + 9.618129107628477e-3*math.Sqrt2
	p = float32(p*u) + 5.550410866482158e-2*math.Sqrt2
	p = float32(p*u) + 2.402265069591007e-1*math.Sqrt2
	p = float32(p*u) + math.Ln2*math.Sqrt2
	p = float32(p*u) + math.Sqrt2
	return p * math.Float32frombits(uint32(k+127)<<23)
}

// intoSoftmax is one along the last axis.
func intoSoftmax(n *ir.Node) intoFunc {
	shape := n.In[0].Type.Shape
	axis, err := Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(shape))
	if err != nil || product(shape[axis+1:]) != 1 {
		return nil
	}
	size := shape[axis]
	return func(in []*tensor.Dense, y []float32) {
		x := tensor.As[float32](in[0])
		for ; len(x) > 0; x, y = x[size:], y[size:] {
			top := x[0]
			for _, v := range x[1:size] {
				if v > top {
					top = v
				}
			}
			sum := float32(0)
			for i, v := range x[:size] {
				e := expSingle(v - top)
				y[i] = e
				sum += e
			}
			sum = 1 / sum
			for i := range y[:size] {
				y[i] *= sum
			}
		}
	}
}

// intoLayerNorm is one with constant scale and bias for each element of a row.
func intoLayerNorm(n *ir.Node) intoFunc {
	shape := n.In[0].Type.Shape
	axis := AxisOf(n, len(shape))
	for _, v := range n.In[1:] {
		if v != nil && (v.Type.DType != tensor.F32 || !sameShape(v.Type.Shape, shape[axis:])) {
			return nil
		}
	}
	size, eps := product(shape[axis:]), float64(ir.AttrsOf[EpsilonAttr](n).Epsilon)
	return func(in []*tensor.Dense, y []float32) {
		x, scale, bias := tensor.As[float32](in[0]), tensor.As[float32](in[1]), floats[float32](opt(in, 2))
		for ; len(x) > 0; x, y = x[size:], y[size:] {
			row, out := x[:size], y[:size]
			mean, squares := vec.Sum(row)/float64(size), 0.0
			for _, v := range row {
				d := float64(v) - mean
				squares += float64(d * d)
			}
			m, k := float32(mean), float32(1/math.Sqrt(squares/float64(size)+eps))
			for i, v := range row {
				out[i] = float32(float32(v-m)*k) * scale[i]
			}
			if bias != nil {
				for i, b := range bias[:size] {
					out[i] += b
				}
			}
		}
	}
}
