package onnx

import (
	"math"
	"math/rand/v2"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// Random generators give the same numbers in every run: those that their seed
// gives (0 where there is none), drawn at compile time.

// maxRandom bounds what is drawn.
const maxRandom = 1 << 22

// draw is a constant of random numbers.
func (e *composer) draw(d tensor.DType, shape []int, f func(r *rand.Rand) float64) *ir.Value {
	n, err := tensor.Elems(shape)
	e.want(err == nil && n <= maxRandom, "shape", "%v random numbers are too many, at most %d are drawn", shape, maxRandom)
	e.want(d.IsFloat(), "dtype", "random numbers of type %s, want a floating-point type", d)
	seed := e.float("seed", 0)
	e.im.opt.Note(e.p.GetOpType() + " " + quote(e.name) + ": the random numbers are drawn at compile time; every run has the same")
	r := rand.New(rand.NewPCG(math.Float64bits(seed), 1))
	v := make([]float64, n)
	for i := range v {
		v[i] = f(r)
	}
	return e.data(tensor.FromFloats(d, shape, v))
}

// random makes RandomUniform, RandomNormal and their Like forms.
func random(like, normal bool) func(e *composer) []*ir.Value {
	return func(e *composer) []*ir.Value {
		var shape []int
		code := e.int("dtype", 0)
		d := tensor.F32
		if like {
			x := e.need(0, -1)
			shape, d = x.Type.Shape, x.Type.DType
		} else {
			v, err := e.takeInts("shape")
			e.fail(err)
			for _, x := range v {
				e.want(x >= 0 && x <= maxRandom, "shape", "the shape is %v, want dimensions of 0 and more", v)
				shape = append(shape, int(x))
			}
		}
		if code != 0 {
			var ok bool
			d, ok = tensor.FromONNX(code)
			e.want(ok, "dtype", "attribute dtype is %d, which is not a supported type", code)
		}
		if normal {
			mean, scale := e.float("mean", 0), e.float("scale", 1)
			return []*ir.Value{e.draw(d, shape, func(r *rand.Rand) float64 { return mean + scale*r.NormFloat64() })}
		}
		low, high := e.float("low", 0), e.float("high", 1)
		return []*ir.Value{e.draw(d, shape, func(r *rand.Rand) float64 { return low + (high-low)*r.Float64() })}
	}
}

// bernoulli is 1 with the probability that the input gives.
func bernoulli(e *composer) []*ir.Value {
	x := e.need(0, -1)
	d := x.Type.DType
	if code := e.int("dtype", 0); code != 0 {
		var ok bool
		d, ok = tensor.FromONNX(code)
		e.want(ok, "dtype", "attribute dtype is %d, which is not a supported type", code)
	}
	u := e.draw(x.Type.DType, x.Type.Shape, func(r *rand.Rand) float64 { return r.Float64() })
	return []*ir.Value{e.cast(e.do("Less", nil, u, x), d)}
}

// multinomial draws classes by unnormalised log probabilities [N, classes].
func multinomial(e *composer) []*ir.Value {
	x := e.need(0, 2)
	count := e.int("sample_size", 1)
	d, ok := tensor.FromONNX(e.int("dtype", 6))
	e.want(ok && d.IsInt() && count >= 1, "attr-value", "sample_size is %d and dtype %s, want a positive number and an integer type", count, d)
	n, classes := x.Type.Shape[0], x.Type.Shape[1]
	sums := e.do("CumSum", nil, e.do("Softmax", ir.Attrs{"axis": ir.Int(1)}, x), e.data(tensor.Scalar(int64(1))))
	u := e.draw(x.Type.DType, []int{n, count, 1}, func(r *rand.Rand) float64 { return r.Float64() })
	passed := e.cast(e.do("Less", nil, e.reshape(sums, n, 1, classes), u), tensor.I64)
	at := e.do("ReduceSum", ir.Attrs{"keepdims": ir.Int(0)}, passed, e.ints(2))
	return []*ir.Value{e.cast(e.do("Min", nil, at, e.data(tensor.Scalar(int64(classes-1)))), d)}
}
