// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// machine is what SVMClassifier and SVMRegressor have in common: the kernel of
// every row of [N, features] and every support vector.
type machine struct {
	rows      *ir.Value // [N, features]
	kernel    string
	params    []float32 // gamma, coef0, degree
	coef, rho []float32
	vectors   []float32
}

func newMachine(e *build.Node) *machine {
	x := e.Cast(e.Need(0, -1), tensor.F32)
	if x.Type.Rank() == 1 {
		x = e.Reshape(x, 1, x.Type.Shape[0])
	}
	e.Want(x.Type.Rank() == 2 && x.Type.Shape[1] > 0, "rank", "input 0 (%s) has shape %v, want [N, features]", x,
		x.Type.Shape)
	m := &machine{rows: x, kernel: e.Str("kernel_type", "LINEAR", "LINEAR", "POLY", "RBF", "SIGMOID"),
		params: e.FloatList("kernel_params"),
		coef:   e.FloatList("coefficients"), rho: e.FloatList("rho"), vectors: e.FloatList("support_vectors")}
	for len(m.params) < 3 {
		m.params = append(m.params, 0)
	}
	e.Want(len(m.rho) > 0, "attr-missing", "attribute rho is missing")
	return m
}

func kernels(e *build.Node, m *machine, vectors []float32, count int) *ir.Value {
	x, features := m.rows, m.rows.Type.Shape[1]
	e.Want(count > 0 && len(vectors) == count*features, "attr-value", "%d values of %d vectors for %d features",
		len(vectors), count, features)
	sv := e.Transpose(e.Reshape(e.Vector(vectors), count, features), 1, 0)
	gamma, coef0, degree := e.Num(x, float64(m.params[0])), e.Num(x, float64(m.params[1])),
		e.Num(x, float64(m.params[2]))
	k := e.Do("MatMul", nil, x, sv)
	switch m.kernel {
	case "POLY":
		return e.Do("Pow", nil, e.Do("Add", nil, e.Do("Mul", nil, k, gamma), coef0), degree)
	case "SIGMOID":
		return e.Do("Tanh", nil, e.Do("Add", nil, e.Do("Mul", nil, k, gamma), coef0))
	case "RBF": // |x|^2 + |v|^2 - 2 x v
		xx := e.Do("ReduceSumSquare", nil, x, e.Ints(1))
		vv := e.Do("ReduceSumSquare", nil, sv, e.Ints(0))
		d := e.Do("Sub", nil, e.Do("Add", nil, xx, vv), e.Do("Mul", nil, k, e.Num(x, 2)))
		return e.Do("Exp", nil, e.Do("Neg", nil, e.Do("Mul", nil, d, gamma)))
	}
	return k
}

// svmRegressor sums the kernels of a row and the support vectors, weighted.
// Without support vectors the model is linear.
func svmRegressor(e *build.Node) []*ir.Value {
	m, count := newMachine(e), e.Int("n_supports", 0)
	how, oneClass := postTransform(e), e.Bool("one_class", false)
	x := m.rows
	var y *ir.Value
	if count == 0 {
		m.kernel = "LINEAR"
		y = kernels(e, m, m.coef, 1)
	} else {
		e.Want(len(m.coef) == count, "attr-value", "%d coefficients for %d support vectors", len(m.coef), count)
		y = e.Do("MatMul", nil, kernels(e, m, m.vectors, count), e.Reshape(e.Vector(m.coef), count, 1))
	}
	y = e.Do("Add", nil, y, e.Num(x, float64(m.rho[0])))
	if oneClass {
		return []*ir.Value{e.Do("Where", nil, e.Do("Greater", nil, y, e.Num(x, 0)), e.Num(x, 1), e.Num(x, -1))}
	}
	return []*ir.Value{transformed(e, y, how)}
}

// svmClassifier lets every two classes compete; the one that wins most often
// is the label. The scores are those of the pairs, in the order (0,1), (0,2),
// ..., (1,2), ...; with prob_a and prob_b, the probabilities of the classes.
// Without support vectors the model is linear, one score a class.
func svmClassifier(e *build.Node) []*ir.Value {
	m, labels, how := newMachine(e), labels(e, "classlabels_ints", "classlabels_strings"), postTransform(e)
	perClass, a, b := e.IntList("vectors_per_class"), e.FloatList("prob_a"), e.FloatList("prob_b")
	classes := labels.Type.Elems()
	positive := !slices.ContainsFunc(m.coef, func(v float32) bool { return v < 0 })
	count := 0
	for _, n := range perClass {
		e.Want(n >= 0 && n <= int64(len(m.vectors)), "attr-value", "vectors_per_class holds %d, want 0 to %d", n,
			len(m.vectors))
		count += int(n)
	}
	if count == 0 {
		m.kernel = "LINEAR"
		scores := e.Do("Add", nil, kernels(e, m, m.coef, classes), e.Num(m.rows, float64(m.rho[0])))
		label := best(e, labels, scores)
		if classes == 2 && len(m.rho) == 1 { // the second wins wherever one is high
			top := e.Do("ReduceMax", nil, scores, e.Ints(1))
			bound := 0.0
			if positive {
				bound = 0.5
			}
			high := e.Do("Greater", nil, e.Reshape(top, top.Type.Shape[0]), e.Num(top, bound))
			label = e.Do("Where", nil, high, e.Do("Gather", nil, labels, e.Ints(1)), label)
		}
		return []*ir.Value{label, transformed(e, scores, how)}
	}
	pairs := classes * (classes - 1) / 2
	e.Want(len(perClass) == classes && classes >= 2 && len(m.rho) >= pairs && len(m.coef) == (classes-1)*count,
		"attr-value", "%d labels, %d values of vectors_per_class, %d of rho and %d coefficients for %d support "+
			"vectors: want a value a class, %d of rho and %d coefficients", classes, len(perClass), len(m.rho),
		len(m.coef), count, pairs, (classes-1)*count)
	pair := duels(e, m, perClass, count)
	vote := votes(e, pair, classes)
	label := best(e, labels, vote)
	if len(a) > 0 && len(b) > 0 {
		e.Want(len(a) == pairs && len(b) == pairs, "attr-value",
			"%d values of prob_a and %d of prob_b, want %d, one a pair of classes", len(a), len(b), pairs)
		return []*ir.Value{label, transformed(e, couple(e, pair, a, b, classes), how)}
	}
	if classes == 2 {
		return []*ir.Value{label, secondClass(e, pair, how == "NONE", how)}
	}
	return []*ir.Value{label, transformed(e, pair, how)}
}

// duels are the decisions between every two classes, positive for the first:
// the kernels with the vectors of both, weighted. [N, pairs]
func duels(e *build.Node, m *machine, perClass []int64, count int) *ir.Value {
	first := make([]int, len(perClass)+1)
	for i, n := range perClass {
		first[i+1] = first[i] + int(n)
	}
	var rho []float32
	pairs := len(perClass) * (len(perClass) - 1) / 2
	w := make([]float32, pairs*count) // [pairs, vectors]
	for i := range perClass {
		for j := i + 1; j < len(perClass); j++ {
			row := w[len(rho)*count:][:count]
			copy(row[first[i]:first[i+1]], m.coef[(j-1)*count+first[i]:])
			copy(row[first[j]:first[j+1]], m.coef[i*count+first[j]:])
			rho = append(rho, m.rho[len(rho)])
		}
	}
	k := kernels(e, m, m.vectors, count)
	return e.Do("Add", nil, e.Do("MatMul", nil, k, e.Transpose(e.Reshape(e.Vector(w), pairs, count), 1, 0)),
		e.Vector(rho))
}

func votes(e *build.Node, pair *ir.Value, classes int) *ir.Value {
	n := pair.Type.Shape[1]
	win, lose := make([]float32, n*classes), make([]float32, classes)
	k := 0
	for i := range classes {
		for j := i + 1; j < classes; j++ {
			// a win is one for i, else it is one for j
			win[k*classes+i], win[k*classes+j] = 1, -1
			lose[j]++
			k++
		}
	}
	won := e.Cast(e.Do("Greater", nil, pair, e.Num(pair, 0)), tensor.F32)
	return e.Do("Add", nil, e.Do("MatMul", nil, won, e.Reshape(e.Vector(win), n, classes)), e.Vector(lose))
}

// couple makes probabilities of classes of the pairs' scores: [N, classes].
func couple(e *build.Node, pair *ir.Value, a, b []float32, classes int) *ir.Value {
	s := e.Do("Add", nil, e.Do("Mul", nil, pair, e.Vector(a)), e.Vector(b))
	p := e.Do("Sigmoid", nil, e.Do("Neg", nil, s))
	p = e.Do("Clip", nil, p, e.Num(p, 1e-7), e.Num(p, 1-1e-7))
	return e.DoOp(op.PairCoupling, ir.Attrs{"classes": ir.Int(classes)}, p)
}
