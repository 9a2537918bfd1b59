// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"math"
	"math/rand/v2"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/tensor"
)

// Random generators give the same numbers in every run: those that their seed
// gives (0 where there is none), drawn at compile time.

// maxRandom bounds what is drawn.
const maxRandom = 1 << 22

// draw is a constant of random numbers.
func draw(e *build.Node, d tensor.DType, shape []int, f func(r *rand.Rand) float64) *ir.Value {
	n, err := tensor.Elems(shape)
	e.Want(err == nil && n <= maxRandom, "shape", "%v random numbers are too many, at most %d are drawn", shape,
		maxRandom)
	e.Want(d.IsFloat(), "dtype", "random numbers of type %s, want a floating-point type", d)
	seed := e.Float("seed", 0)
	name := e.Op + " " + model.Quote(e.Name)
	e.Note(diag.Warnf("random", name, "%s: the random numbers are drawn at compile time; every run has the same", name))
	r := rand.New(rand.NewPCG(math.Float64bits(seed), 1))
	v := make([]float64, n)
	for i := range v {
		v[i] = f(r)
	}
	return e.Data(tensor.FromFloats(d, shape, v))
}

// random makes RandomUniform, RandomNormal and their Like forms.
func random(like, normal bool) build.Rule {
	return func(e *build.Node) []*ir.Value {
		var shape []int
		d := tensor.F32
		if like {
			x := e.Need(0, -1)
			shape, d = x.Type.Shape, x.Type.DType
		} else {
			v := e.IntList("shape")
			for _, x := range v {
				e.Want(x >= 0 && x <= maxRandom, "shape", "the shape is %v, want dimensions of 0 and more", v)
				shape = append(shape, int(x))
			}
		}
		d = e.DType("dtype", d)
		if normal {
			mean, scale := e.Float("mean", 0), e.Float("scale", 1)
			return []*ir.Value{draw(e, d, shape, func(r *rand.Rand) float64 { return mean + scale*r.NormFloat64() })}
		}
		low, high := e.Float("low", 0), e.Float("high", 1)
		return []*ir.Value{draw(e, d, shape, func(r *rand.Rand) float64 { return low + (high-low)*r.Float64() })}
	}
}

// bernoulli is 1 with the probability that the input gives.
func bernoulli(e *build.Node) []*ir.Value {
	x := e.Need(0, -1)
	d := e.DType("dtype", x.Type.DType)
	u := draw(e, x.Type.DType, x.Type.Shape, func(r *rand.Rand) float64 { return r.Float64() })
	return []*ir.Value{e.Cast(e.Do("Less", nil, u, x), d)}
}

// multinomial draws classes by unnormalised log probabilities [N, classes].
func multinomial(e *build.Node) []*ir.Value {
	x := e.Need(0, 2)
	count := e.Int("sample_size", 1)
	d, ok := tensor.FromONNX(e.Int("dtype", 6))
	e.Want(ok && d.IsInt() && count >= 1, "attr-value",
		"sample_size is %d and dtype %s, want a positive number and an integer type", count, d)
	n, classes := x.Type.Shape[0], x.Type.Shape[1]
	sums := e.Do("CumSum", nil, e.Do("Softmax", ir.Attrs{"axis": ir.Int(1)}, x), e.Data(tensor.Scalar(int64(1))))
	u := draw(e, x.Type.DType, []int{n, count, 1}, func(r *rand.Rand) float64 { return r.Float64() })
	passed := e.Cast(e.Do("Less", nil, e.Reshape(sums, n, 1, classes), u), tensor.I64)
	at := e.Do("ReduceSum", ir.Attrs{"keepdims": ir.Int(0)}, passed, e.Ints(2))
	return []*ir.Value{e.Cast(e.Do("Min", nil, at, e.Data(tensor.Scalar(int64(classes-1)))), d)}
}
