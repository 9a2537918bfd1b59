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

// oldForest is what TreeEnsembleRegressor and TreeEnsembleClassifier say, in
// TreeEnsemble's form.
type oldForest struct {
	x       *ir.Value
	attrs   ir.Attrs
	targets []int // of the leaves' weights
	weights []float64
	whole   bool // every leaf has a weight for every target
}

// reals are the floats in a list attribute, or in the tensor that may stand in
// for it.
func reals(e *build.Node, name string) []float64 {
	if a, ok := e.Take(name + "_as_tensor"); ok && a.Tensor != nil && a.Tensor.Len() > 0 {
		delete(e.Attrs, name)
		return a.Tensor.Floats()
	}
	var out []float64
	for _, v := range e.FloatList(name) {
		out = append(out, float64(v))
	}
	return out
}

func real64(v []float64) ir.Attr { return ir.Tens(tensor.Of([]int{len(v)}, slices.Clone(v))) }

// oldForest reads the attributes: nodes by tree and number with leaves among
// them, and the leaves' weights, their names behind prefix, of n targets.
func newOldForest(e *build.Node, prefix string, n, aggregate int) *oldForest {
	f := &oldForest{x: e.Need(0, 2), whole: true}
	if f.x.Type.DType != tensor.F64 {
		f.x = e.Cast(f.x, tensor.F32)
	}
	tree, node := e.IntList("nodes_treeids"), e.IntList("nodes_nodeids")
	yes, no, feature := e.IntList("nodes_truenodeids"), e.IntList("nodes_falsenodeids"), e.IntList("nodes_featureids")
	values, missing := reals(e, "nodes_values"), e.IntList("nodes_missing_value_tracks_true")
	modes, _ := e.Take("nodes_modes")
	leafTree, leafNode, leafTarget, weights := e.IntList(prefix+"_treeids"), e.IntList(prefix+"_nodeids"),
		e.IntList(prefix+"_ids"), reals(e, prefix+"_weights")
	reals(e, "nodes_hitrates")
	k := len(tree)
	e.Want(k > 0 && len(node) == k && len(yes) == k && len(no) == k && len(feature) == k && len(values) == k &&
		len(modes.Strings) == k && (len(missing) == 0 || len(missing) == k),
		"tree", "the nodes_ attributes have different lengths, want %d values each", k)
	e.Want(len(weights) > 0 && len(leafTree) == len(weights) && len(leafNode) == len(weights) &&
		len(leafTarget) == len(weights), "tree", "the %s_ attributes have different lengths", prefix)
	type key struct{ tree, node int64 }
	leaves := map[key][]int{} // places of the weights
	for i, t := range leafTree {
		leaves[key{t, leafNode[i]}] = append(leaves[key{t, leafNode[i]}], i)
	}
	var at []int // branches
	branch, alone := map[key]int{}, map[key]bool{}
	for i := range k {
		id := key{tree[i], node[i]}
		if modes.Strings[i] != "LEAF" {
			branch[id] = len(at)
			at = append(at, i)
		} else {
			alone[id] = true
		}
	}
	placed := map[key]int{}
	var follows []int
	leaf := func(id key) int {
		if l, ok := placed[id]; ok {
			return l
		}
		list := leaves[id]
		e.Want(alone[id] || len(list) > 0, "tree", "node %d of tree %d is neither a branch nor a leaf", id.node, id.tree)
		l := len(f.weights)
		placed[id] = l
		distinct := map[int64]bool{}
		for _, i := range list {
			f.targets, f.weights, follows = append(f.targets, int(leafTarget[i])), append(f.weights, weights[i]),
				append(follows, 1)
			distinct[leafTarget[i]] = true
		}
		if len(list) == 0 { // a leaf without weights adds nothing
			e.Want(aggregate < 2, "tree", "leaf %d of tree %d has no weight, want one for aggregate_function %s", id.node,
				id.tree, aggregates[aggregate])
			f.targets, f.weights, follows = append(f.targets, 0), append(f.weights, 0), append(follows, 1)
		}
		follows[len(follows)-1] = 0
		f.whole = f.whole && len(distinct) == n
		return l
	}
	var mode []uint8
	var split []float64
	var ids [6][]int // features, true, false, true leaf, false leaf, missing
	add := func(m uint8, s float64, v ...int) {
		mode, split = append(mode, m), append(split, s)
		for j, x := range v {
			ids[j] = append(ids[j], x)
		}
	}
	reached := map[key]bool{}
	child := func(i int, id int64) (int, int) {
		c := key{tree[i], id}
		reached[c] = true
		if b, ok := branch[c]; ok {
			return b, 0
		}
		return leaf(c), 1
	}
	codes := []string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}
	for _, i := range at {
		m := slices.Index(codes, modes.Strings[i])
		e.Want(m >= 0, "tree", "mode %q of node %d, want one of %q or LEAF", modes.Strings[i], i, codes)
		t, tl := child(i, yes[i])
		n, nl := child(i, no[i])
		miss := 0
		if len(missing) > 0 && missing[i] != 0 {
			miss = 1
		}
		e.Want(feature[i] >= 0 && feature[i] < 1<<31, "tree", "feature %d of node %d, want one of the input's", feature[i], i)
		add(uint8(m), values[i], int(feature[i]), t, n, tl, nl, miss)
	}
	var roots []int
	for i := range k {
		id := key{tree[i], node[i]}
		b, ok := branch[id]
		switch {
		case reached[id]:
		case ok:
			roots = append(roots, b)
		default: // a tree that is a leaf: a branch with one on both sides
			l := leaf(id)
			roots = append(roots, len(mode))
			add(0, 0, 0, l, l, 1, 1, 0)
		}
	}
	f.attrs = ir.Attrs{"aggregate_function": ir.Int(aggregate), "n_targets": ir.Int(n),
		"leaf_targetids":   ir.Ints(f.targets...),
		"nodes_featureids": ir.Ints(ids[0]...), "nodes_truenodeids": ir.Ints(ids[1]...),
		"nodes_falsenodeids": ir.Ints(ids[2]...), "nodes_trueleafs": ir.Ints(ids[3]...),
		"nodes_falseleafs": ir.Ints(ids[4]...), "nodes_missing_value_tracks_true": ir.Ints(ids[5]...),
		"nodes_modes":  ir.Tens(tensor.Of([]int{len(mode)}, mode)),
		"nodes_splits": real64(split), "tree_roots": ir.Ints(roots...)}
	if slices.Contains(follows, 1) {
		f.attrs["leaf_follows"] = ir.Ints(follows...)
	}
	return f
}

// scores are the trees' sums: [N, targets] in float32.
func forestScores(e *build.Node, f *oldForest, weights []float64) *ir.Value {
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
	f := newOldForest(e, "target", targets, agg)
	y := e.Cast(forestScores(e, f, f.weights), tensor.F32)
	if len(base) > 0 {
		e.Want(len(base) == targets || len(base) == 1, "attr-value", "%d base_values for %d targets", len(base), targets)
		y = e.Do("Add", nil, y, e.Data(single(base)))
	}
	return []*ir.Value{transformed(e, y, how)}
}

// treeClassifier adds the weights of classes. Where those of two classes all
// are of one, they decide alone, against 0 or, without negative ones, 0.5; of
// the first class they are the score of the second, as exporters have it.
func treeClassifier(e *build.Node) []*ir.Value {
	labels, how, base := labels(e, "classlabels_int64s", "classlabels_strings"), postTransform(e), reals(e, "base_values")
	classes := labels.Type.Elems()
	f := newOldForest(e, "class", classes, 1)
	positive := !slices.ContainsFunc(f.weights, func(w float64) bool { return w < 0 })
	oneID := !slices.ContainsFunc(f.targets, func(t int) bool { return t != f.targets[0] })
	y := e.Cast(forestScores(e, f, f.weights), tensor.F32)
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
		ones := make([]float64, len(f.weights))
		for i := range ones {
			ones[i] = 1
		}
		met := e.Cast(forestScores(e, f, ones), tensor.F32)
		rank = e.Do("Where", nil, e.Do("Greater", nil, met, e.Num(met, 0)), y, e.Num(y, -1e38))
	}
	return []*ir.Value{best(e, labels, rank), transformed(e, y, how)}
}
