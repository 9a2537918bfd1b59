// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

func treeEnsemble(e *build.Node) []*ir.Value {
	how := e.Int("post_transform", 0)
	e.Want(how >= 0 && how < len(postTransforms), "attr-value", "post_transform is %d, want 0 to %d", how,
		len(postTransforms)-1)
	return []*ir.Value{transformed(e, e.DoOp(op.TreeEnsemble, e.Attrs, e.Need(0, 2)), postTransforms[how])}
}

var aggregates = []string{"AVERAGE", "SUM", "MIN", "MAX"} // TreeEnsemble's order

// scores are the trees' sums: [N, targets] in float32.
func forestScores(e *build.Node, f *forest, weights []float64) *ir.Value {
	a := ir.Attrs{}
	for name, v := range f.attrs {
		a[name] = v
	}
	a["leaf_weights"] = real64(weights)
	return e.DoOp(op.TreeEnsemble, a, f.x)
}

func single(v []float64) *tensor.Dense { return tensor.FromFloats(tensor.F32, []int{len(v)}, v) }

func treeRegressor(e *build.Node) []*ir.Value {
	how, targets, base := postTransform(e), e.Int("n_targets", 1), reals(e, "base_values")
	agg := slices.Index(aggregates, e.Str("aggregate_function", "SUM", aggregates...))
	f := newForest(e, "target", targets, agg)
	y := e.Cast(forestScores(e, f, f.leafWeights), tensor.F32)
	if len(base) > 0 {
		e.Want(len(base) == targets || len(base) == 1, "attr-value", "%d base_values for %d targets", len(base),
			targets)
		y = e.Do("Add", nil, y, e.Data(single(base)))
	}
	return []*ir.Value{transformed(e, y, how)}
}

// treeClassifier adds the weights of classes. Where those of two classes all
// are of one, they decide alone, against 0 or, without negative ones, 0.5; of
// the first class they are the score of the second, as exporters have it.
func treeClassifier(e *build.Node) []*ir.Value {
	labels, how, base := labels(e, "classlabels_int64s", "classlabels_strings"), postTransform(e),
		reals(e, "base_values")
	classes := labels.Type.Elems()
	f := newForest(e, "class", classes, 1)
	positive := !slices.ContainsFunc(f.leafWeights, func(w float64) bool { return w < 0 })
	oneID := !slices.ContainsFunc(f.targets, func(t int) bool { return t != f.targets[0] })
	y := e.Cast(forestScores(e, f, f.leafWeights), tensor.F32)
	if classes == 2 && oneID {
		s := e.Cut(y, 1, f.targets[0], f.targets[0]+1, 1)
		if len(base) > 0 {
			s = e.Do("Add", nil, s, e.Data(single(base[len(base)-1:])))
		}
		bound := 0.0
		if positive {
			bound = 0.5
		}
		label := above(e, labels, s, bound)
		if f.targets[0] == 0 {
			return []*ir.Value{label, secondClass(e, s, !positive, how)}
		}
		return []*ir.Value{label, transformed(e, e.Concat(1, e.Cut(y, 1, 0, 1, 1), s), how)}
	}
	if len(base) > 0 {
		e.Want(len(base) == classes, "attr-value", "%d base_values for %d classes", len(base), classes)
		y = e.Do("Add", nil, y, e.Data(single(base)))
	}
	rank := y
	if !f.whole && len(base) == 0 && !positive { // classes that no leaf has a weight for do not win
		ones := make([]float64, len(f.leafWeights))
		for i := range ones {
			ones[i] = 1
		}
		met := e.Cast(forestScores(e, f, ones), tensor.F32)
		rank = e.Do("Where", nil, e.Do("Greater", nil, met, e.Num(met, 0)), y, e.Num(y, -1e38))
	}
	return []*ir.Value{best(e, labels, rank), transformed(e, y, how)}
}
