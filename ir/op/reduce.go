// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// reduction is one of the Reduce* operators.
type reduction struct {
	name, doc string
	types     typeSet
	// real folds an element into the accumulator of one result, in float64; integers take whole.
	// init is the result of an empty reduction before finish.
	real   func(acc, x float64) float64
	whole  func(acc, x int64) int64
	init   func(d tensor.DType) (float64, int64)
	finish func(acc float64, count int) float64
	// finishI is finish of integers.
	finishI func(acc int64, count int) int64
	// run is real of neighbours, where that is another sum.
	run func(acc float64, v []float64) float64
	// spread, ... are traits of OpDef.
	spread                 ir.Spread
	zerosNeutral, infinite bool
	fold                   *ir.Fold
}

// ReduceAxes are the axes that a Reduce* node reduces, in ascending order and
// without duplicates; empty when the node is the identity (no axes and
// noop_with_empty_axes).
func ReduceAxes(n *ir.Node) (_ []int, err error) {
	defer fail.Catch(&err)
	rank := n.In[0].Type.Rank()
	given := fail.Must(ConstInts(n, 1, "the axes"))
	if len(given) == 0 {
		if ir.AttrsOf[ReduceAttrs](n).NoopWithEmptyAxes != 0 {
			return nil, nil
		}
		return ir.Identity(rank), nil
	}
	return sortedAxes(n, given, rank), nil
}

// sortedAxes are axes counted from the front, in ascending order, each once.
func sortedAxes(n *ir.Node, given []int, rank int) []int {
	axes := lists.Each(given, func(a int) int { return fail.Must(Axis(n, a, rank)) })
	slices.Sort(axes)
	return slices.Compact(axes)
}

// reducedShape drops the axes, or leaves 1 in their place.
func reducedShape(shape, axes []int, keep bool) []int {
	out := []int{}
	k := 0
	for i, d := range shape {
		if k < len(axes) && axes[k] == i {
			k++
			if !keep {
				continue
			}
			d = 1
		}
		out = append(out, d)
	}
	return out
}

// reduceRuns calls f(result element, input offset, run length) for the runs
// that a reduction of the given axes folds, in input order for each result
// element. Where the last axis is kept, runs have length 1.
func reduceRuns(shape, axes []int, f func(out, at, n int)) {
	st := tensor.Strides(reducedShape(shape, axes, true))
	for _, a := range axes {
		st[a] = 0
	}
	// Merge trailing reduced dimensions into the run.
	n, last := 1, len(shape)
	for last > 0 && st[last-1] == 0 && slices.Contains(axes, last-1) {
		last--
		n *= shape[last]
	}
	idx := make([]int, last)
	total := tensor.Count(shape)
	for at, out := 0, 0; at < total; at += n {
		f(out, at, n)
		for d := last - 1; d >= 0; d-- {
			idx[d]++
			out += st[d]
			if idx[d] < shape[d] {
				break
			}
			out -= idx[d] * st[d]
			idx[d] = 0
		}
	}
}

// ReduceAttrs are the attributes of Reduce.
type ReduceAttrs struct {
	Keepdims          int `default:"1"`
	NoopWithEmptyAxes int `default:"0"`
}

func reduce(r reduction) *ir.OpDef {
	return def(ir.OpDef{
		Name: r.name, Doc: r.doc, Attrs: ir.Declare[ReduceAttrs](),
		MinIn: 1, MaxIn: 2, Pattern: ir.Reduce, Spread: r.spread, ZerosNeutral: r.zerosNeutral, Finite: !r.infinite,
		Fold: r.fold,
		Infer: func(n *ir.Node) ([]ir.Type, error) {
			wantType(n, 0, r.types)
			axes := fail.Must(ReduceAxes(n))
			t := n.In[0].Type
			return one(ir.T(t.DType, reducedShape(t.Shape, axes, ir.AttrsOf[KeepdimsAttr](n).Keepdims != 0)...))
		},
		Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
			axes := fail.Must(ReduceAxes(n))
			return outs(r.eval(in[0], axes, reducedShape(in[0].Shape, axes, ir.AttrsOf[KeepdimsAttr](n).Keepdims != 0)))
		},
	})
}

func (r *reduction) eval(x *tensor.Dense, axes, shape []int) *tensor.Dense {
	count := 1
	for _, a := range axes {
		count *= x.Shape[a]
	}
	f0, i0 := r.init(x.DType)
	if !x.DType.IsFloat() {
		acc := reduced(x.Shape, axes, shape, x.Int64s(), i0, runOf(r.whole))
		if r.finishI != nil {
			for i, a := range acc {
				acc[i] = r.finishI(a, count)
			}
		}
		return tensor.Of(shape, acc).Cast(x.DType)
	}
	run := r.run
	if run == nil {
		run = runOf(r.real)
	}
	acc := reduced(x.Shape, axes, shape, floatsOf(x), f0, run)
	if r.finish != nil {
		for i, a := range acc {
			acc[i] = r.finish(a, count)
		}
	}
	return fromFloats(x.DType, shape, acc)
}

// reduced folds the elements x of a shape, over axes, to the result's shape.
func reduced[T any](from, axes, shape []int, x []T, init T, run func(acc T, v []T) T) []T {
	acc := make([]T, tensor.Count(shape))
	fillOf(acc, init)
	reduceRuns(from, axes, func(out, at, n int) { acc[out] = run(acc[out], x[at:at+n]) })
	return acc
}

func runOf[T any](f func(acc, x T) T) func(acc T, v []T) T {
	return func(acc T, v []T) T {
		for _, x := range v {
			acc = f(acc, x)
		}
		return acc
	}
}

func startAt(f float64, i int64) func(tensor.DType) (float64, int64) {
	return func(tensor.DType) (float64, int64) { return f, i }
}

func plus[T float64 | int64](acc, x T) T       { return acc + x }
func plusSquare[T float64 | int64](acc, x T) T { return acc + T(x*x) }
func greatest[T float64 | int64](acc, x T) T   { return max(acc, x) }
func least[T float64 | int64](acc, x T) T      { return min(acc, x) }
func times[T float64 | int64](acc, x T) T      { return acc * x }

func sumReal(acc float64, v []float64) float64       { return runOf(plus[float64])(acc, v) }
func sumSquareReal(acc float64, v []float64) float64 { return runOf(plusSquare[float64])(acc, v) }

// throughReal makes a finish function for integers of one for reals.
func throughReal(f func(float64, int) float64) func(int64, int) int64 {
	return func(a int64, n int) int64 { return ir.ClampInt(f(float64(a), n), math.MinInt64, math.MaxInt64) }
}

func sqrtOf(a float64, _ int) float64 { return math.Sqrt(a) }
func logOf(a float64, _ int) float64  { return math.Log(a) }

// orderable are the types of which a greatest element exists.
var orderable = typeSet{"a numeric type or bool", func(d tensor.DType) bool { return d != tensor.Invalid }}

var (
	addC = ir.CForm{F64: "a + b", I64: "(int64_t)((uint64_t)a + (uint64_t)(b))", U64: "a + b"}

	addSquareC = ir.CForm{F64: "a + b * b", I64: "(int64_t)((uint64_t)a + (uint64_t)b * (uint64_t)b)", U64: "a + b * b"}
)

// throughDouble is a function of <math.h> of a, in double for integers, too.
func throughDouble(f string) ir.CForm {
	return ir.CForm{F64: f + "(a)", I64: "nncc_f64_to_i64(" + f + "((double)a))",
		U64: "nncc_f64_to_u64(" + f + "((double)a))"}
}

// The reductions. Floats accumulate in float64 in input order and are rounded
// once; integers wrap.
var (
	ReduceSum = reduce(reduction{
		name: "ReduceSum", doc: "sum over axes", types: numTypes,
		fold:         &ir.Fold{Step: addC},
		zerosNeutral: true,
		real:         plus[float64], whole: plus[int64], init: startAt(0, 0),
	})
	ReduceMean = reduce(reduction{
		name: "ReduceMean", doc: "mean over axes: sum/n", types: numTypes,
		fold:   &ir.Fold{Step: addC},
		spread: ir.Averages,
		real:   plus[float64], whole: plus[int64], init: startAt(0, 0),
		finish: func(a float64, n int) float64 { return a / float64(n) },
		finishI: func(a int64, n int) int64 {
			if n == 0 {
				return 0
			}
			return a / int64(n)
		},
	})
	ReduceMax = reduce(reduction{
		name: "ReduceMax", doc: "maximum over axes", types: orderable,
		fold: &ir.Fold{Start: negInf, Step: ir.CForm{F64: "nncc_max_f64(a, b)", F32: "a != a ? a : (a > b ? a : b)",
			I64: "b > a ? b : a", U64: "b > a ? b : a"}},
		spread: ir.Selects,
		real:   greatest[float64], whole: greatest[int64],
		init: func(d tensor.DType) (float64, int64) {
			if d.IsFloat() {
				return negInf, 0
			}
			lo, _ := d.IntRange()
			return 0, lo
		},
	})
	ReduceMin = reduce(reduction{
		name: "ReduceMin", doc: "minimum over axes", types: orderable,
		fold: &ir.Fold{Start: posInf, Step: ir.CForm{F64: "nncc_min_f64(a, b)", F32: "a != a ? a : (a < b ? a : b)",
			I64: "b < a ? b : a", U64: "b < a ? b : a"}},
		spread: ir.Selects,
		real:   least[float64], whole: least[int64],
		init: func(d tensor.DType) (float64, int64) {
			if d.IsFloat() {
				return posInf, 0
			}
			_, hi := d.IntRange()
			return 0, hi
		},
	})
	ReduceProd = reduce(reduction{
		name: "ReduceProd", doc: "product over axes", types: numTypes,
		fold: &ir.Fold{Start: 1, Step: arithC[kMul]},
		real: times[float64], whole: times[int64], init: startAt(1, 1),
	})
	ReduceL1 = reduce(reduction{
		name: "ReduceL1", doc: "sum of absolute values over axes", types: numTypes,
		fold: &ir.Fold{Step: ir.CForm{F64: "a + fabs(b)", U64: "a + b",
			I64: "(int64_t)((uint64_t)a + (uint64_t)(b < 0 ? (int64_t)(0u - (uint64_t)b) : b))"}},
		zerosNeutral: true,
		real:         func(acc, x float64) float64 { return acc + math.Abs(x) },
		whole:        func(acc, x int64) int64 { return acc + max(x, -x) },
		init:         startAt(0, 0),
	})
	ReduceL2 = reduce(reduction{
		name: "ReduceL2", doc: "root of the sum of squares over axes", types: numTypes,
		fold:         &ir.Fold{Step: addSquareC, Finish: throughDouble("sqrt")},
		zerosNeutral: true,
		real:         plusSquare[float64], whole: plusSquare[int64], init: startAt(0, 0), finish: sqrtOf,
		finishI: throughReal(sqrtOf),
	})
	ReduceSumSquare = reduce(reduction{
		name: "ReduceSumSquare", doc: "sum of squares over axes", types: numTypes,
		fold:         &ir.Fold{Step: addSquareC},
		zerosNeutral: true,
		real:         plusSquare[float64], whole: plusSquare[int64], init: startAt(0, 0),
	})
	ReduceLogSum = reduce(reduction{
		name: "ReduceLogSum", doc: "logarithm of the sum over axes", types: numTypes,
		fold:         &ir.Fold{Step: addC, Finish: throughDouble("log")},
		zerosNeutral: true, infinite: true,
		real: plus[float64], whole: plus[int64], init: startAt(0, 0), finish: logOf, finishI: throughReal(logOf),
	})
)

// ReduceLogSumExp is ln(sum exp(x)) over axes. The accumulator is the result
// so far, so that large x do not overflow.
var ReduceLogSumExp = reduce(reduction{
	name: "ReduceLogSumExp", doc: "logarithm of the sum of exponentials over axes", types: floatTypes,
	run: func(acc float64, v []float64) float64 {
		m := acc
		for _, x := range v {
			m = max(m, x)
		}
		if math.IsInf(m, 0) || m != m {
			return m
		}
		sum := math.Exp(acc - m)
		for _, x := range v {
			sum += math.Exp(x - m)
		}
		return m + math.Log(sum)
	},
	init: startAt(negInf, 0),
})
