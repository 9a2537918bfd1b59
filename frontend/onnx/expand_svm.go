package onnx

import (
	"slices"

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

func (e *composer) machine() *machine {
	x := e.cast(e.need(0, -1), tensor.F32)
	if x.Type.Rank() == 1 {
		x = e.reshape(x, 1, x.Type.Shape[0])
	}
	e.want(x.Type.Rank() == 2 && x.Type.Shape[1] > 0, "rank", "input 0 (%s) has shape %v, want [N, features]", x, x.Type.Shape)
	m := &machine{rows: x, kernel: e.str("kernel_type", "LINEAR", "LINEAR", "POLY", "RBF", "SIGMOID"), params: e.floatList("kernel_params"),
		coef: e.floatList("coefficients"), rho: e.floatList("rho"), vectors: e.floatList("support_vectors")}
	for len(m.params) < 3 {
		m.params = append(m.params, 0)
	}
	e.want(len(m.rho) > 0, "attr-missing", "attribute rho is missing")
	return m
}

// kernels are those of all rows with count vectors: [N, count].
func (e *composer) kernels(m *machine, vectors []float32, count int) *ir.Value {
	x, features := m.rows, m.rows.Type.Shape[1]
	e.want(count > 0 && len(vectors) == count*features, "attr-value", "%d values of %d vectors for %d features", len(vectors), count, features)
	sv := e.transpose(e.reshape(e.vector(vectors), count, features), 1, 0)
	gamma, coef0, degree := e.num(x, float64(m.params[0])), e.num(x, float64(m.params[1])), e.num(x, float64(m.params[2]))
	k := e.do("MatMul", nil, x, sv)
	switch m.kernel {
	case "POLY":
		return e.do("Pow", nil, e.do("Add", nil, e.do("Mul", nil, k, gamma), coef0), degree)
	case "SIGMOID":
		return e.do("Tanh", nil, e.do("Add", nil, e.do("Mul", nil, k, gamma), coef0))
	case "RBF": // |x|^2 + |v|^2 - 2 x v
		xx := e.do("ReduceSumSquare", nil, x, e.ints(1))
		vv := e.do("ReduceSumSquare", nil, sv, e.ints(0))
		d := e.do("Sub", nil, e.do("Add", nil, xx, vv), e.do("Mul", nil, k, e.num(x, 2)))
		return e.do("Exp", nil, e.do("Neg", nil, e.do("Mul", nil, d, gamma)))
	}
	return k
}

// svmRegressor sums the kernels of a row and the support vectors, weighted.
// Without support vectors the model is linear.
func svmRegressor(e *composer) []*ir.Value {
	m, count := e.machine(), e.int("n_supports", 0)
	how, oneClass := e.postTransform(), e.int("one_class", 0) != 0
	x := m.rows
	var y *ir.Value
	if count == 0 {
		m.kernel = "LINEAR"
		y = e.kernels(m, m.coef, 1)
	} else {
		e.want(len(m.coef) == count, "attr-value", "%d coefficients for %d support vectors", len(m.coef), count)
		y = e.do("MatMul", nil, e.kernels(m, m.vectors, count), e.reshape(e.vector(m.coef), count, 1))
	}
	y = e.do("Add", nil, y, e.num(x, float64(m.rho[0])))
	if oneClass {
		return []*ir.Value{e.do("Where", nil, e.do("Greater", nil, y, e.num(x, 0)), e.num(x, 1), e.num(x, -1))}
	}
	return []*ir.Value{e.transformed(y, how)}
}

// svmClassifier lets every two classes compete; the one that wins most often
// is the label. The scores are those of the pairs, in the order (0,1), (0,2),
// ..., (1,2), ...; with prob_a and prob_b, the probabilities of the classes.
// Without support vectors the model is linear, one score a class.
func svmClassifier(e *composer) []*ir.Value {
	m, labels, how := e.machine(), e.labels("classlabels_ints", "classlabels_strings"), e.postTransform()
	perClass, a, b := e.intList("vectors_per_class"), e.floatList("prob_a"), e.floatList("prob_b")
	classes := labels.Type.Elems()
	positive := !slices.ContainsFunc(m.coef, func(v float32) bool { return v < 0 })
	count := 0
	for _, n := range perClass {
		e.want(n >= 0 && n <= int64(len(m.vectors)), "attr-value", "vectors_per_class holds %d, want 0 to %d", n, len(m.vectors))
		count += int(n)
	}
	if count == 0 {
		m.kernel = "LINEAR"
		scores := e.do("Add", nil, e.kernels(m, m.coef, classes), e.num(m.rows, float64(m.rho[0])))
		label := e.best(labels, scores)
		if classes == 2 && len(m.rho) == 1 { // the second wins wherever one is high
			top := e.do("ReduceMax", nil, scores, e.ints(1))
			bound := 0.0
			if positive {
				bound = 0.5
			}
			high := e.do("Greater", nil, e.reshape(top, top.Type.Shape[0]), e.num(top, bound))
			label = e.do("Where", nil, high, e.do("Gather", nil, labels, e.ints(1)), label)
		}
		return []*ir.Value{label, e.transformed(scores, how)}
	}
	pairs := classes * (classes - 1) / 2
	e.want(len(perClass) == classes && classes >= 2 && len(m.rho) >= pairs && len(m.coef) == (classes-1)*count, "attr-value",
		"%d labels, %d values of vectors_per_class, %d of rho and %d coefficients for %d support vectors: want a value a class, %d of rho and %d coefficients",
		classes, len(perClass), len(m.rho), len(m.coef), count, pairs, (classes-1)*count)
	pair := e.duels(m, perClass, count)
	vote := e.votes(pair, classes)
	label := e.best(labels, vote)
	if len(a) > 0 && len(b) > 0 {
		e.want(len(a) == pairs && len(b) == pairs, "attr-value", "%d values of prob_a and %d of prob_b, want %d, one a pair of classes", len(a), len(b), pairs)
		return []*ir.Value{label, e.transformed(e.couple(pair, a, b, classes), how)}
	}
	if classes == 2 {
		return []*ir.Value{label, e.secondClass(pair, how == "NONE", how)}
	}
	return []*ir.Value{label, e.transformed(pair, how)}
}

// duels are the decisions between every two classes, positive for the first:
// the kernels with the vectors of both, weighted. [N, pairs]
func (e *composer) duels(m *machine, perClass []int64, count int) *ir.Value {
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
	k := e.kernels(m, m.vectors, count)
	return e.do("Add", nil, e.do("MatMul", nil, k, e.transpose(e.reshape(e.vector(w), pairs, count), 1, 0)), e.vector(rho))
}

// votes counts how often every class wins: [N, classes].
func (e *composer) votes(pair *ir.Value, classes int) *ir.Value {
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
	won := e.cast(e.do("Greater", nil, pair, e.num(pair, 0)), tensor.F32)
	return e.do("Add", nil, e.do("MatMul", nil, won, e.reshape(e.vector(win), n, classes)), e.vector(lose))
}

// couple makes probabilities of classes of the pairs' scores: [N, classes].
func (e *composer) couple(pair *ir.Value, a, b []float32, classes int) *ir.Value {
	s := e.do("Add", nil, e.do("Mul", nil, pair, e.vector(a)), e.vector(b))
	p := e.do("Sigmoid", nil, e.do("Neg", nil, s))
	p = e.do("Clip", nil, p, e.num(p, 1e-7), e.num(p, 1-1e-7))
	out, err := e.sub(op.PairCoupling, ".coupled", ir.Attrs{"classes": ir.Int(classes)}, p)
	e.fail(err)
	return out
}
