package onnx

import (
	"slices"
	"strconv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// addTrees adds the TreeEnsemble node.
func (e *composer) addTrees(attrs ir.Attrs, x *ir.Value) *ir.Value {
	e.count++
	out, err := e.sub(op.TreeEnsemble, ".trees"+strconv.Itoa(e.count), attrs, x)
	e.fail(err)
	return out
}

func treeEnsemble(e *composer) []*ir.Value {
	how := e.int("post_transform", 0)
	e.want(how >= 0 && how < len(postTransforms), "attr-value", "post_transform is %d, want 0 to %d", how, len(postTransforms)-1)
	return []*ir.Value{e.transformed(e.addTrees(e.attrs, e.need(0, 2)), postTransforms[how])}
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
func (e *composer) reals(name string) []float64 {
	if a, ok := e.take(name + "_as_tensor"); ok && a.Tensor != nil && a.Tensor.Len() > 0 {
		delete(e.attrs, name)
		return a.Tensor.Floats()
	}
	var out []float64
	for _, v := range e.floatList(name) {
		out = append(out, float64(v))
	}
	return out
}

func real64(v []float64) ir.Attr { return ir.Tens(tensor.Of([]int{len(v)}, slices.Clone(v))) }

// oldForest reads the attributes: nodes by tree and number with leaves among
// them, and the leaves' weights, their names behind prefix, of n targets.
func (e *composer) oldForest(prefix string, n, aggregate int) *oldForest {
	f := &oldForest{x: e.need(0, 2), whole: true}
	if f.x.Type.DType != tensor.F64 {
		f.x = e.cast(f.x, tensor.F32)
	}
	tree, node := e.intList("nodes_treeids"), e.intList("nodes_nodeids")
	yes, no, feature := e.intList("nodes_truenodeids"), e.intList("nodes_falsenodeids"), e.intList("nodes_featureids")
	values, missing := e.reals("nodes_values"), e.intList("nodes_missing_value_tracks_true")
	modes, _ := e.take("nodes_modes")
	leafTree, leafNode, leafTarget, weights := e.intList(prefix+"_treeids"), e.intList(prefix+"_nodeids"), e.intList(prefix+"_ids"), e.reals(prefix+"_weights")
	e.reals("nodes_hitrates")
	k := len(tree)
	e.want(k > 0 && len(node) == k && len(yes) == k && len(no) == k && len(feature) == k && len(values) == k && len(modes.Strings) == k && (len(missing) == 0 || len(missing) == k),
		"tree", "the nodes_ attributes have different lengths, want %d values each", k)
	e.want(len(weights) > 0 && len(leafTree) == len(weights) && len(leafNode) == len(weights) && len(leafTarget) == len(weights), "tree", "the %s_ attributes have different lengths", prefix)
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
		e.want(alone[id] || len(list) > 0, "tree", "node %d of tree %d is neither a branch nor a leaf", id.node, id.tree)
		l := len(f.weights)
		placed[id] = l
		distinct := map[int64]bool{}
		for _, i := range list {
			f.targets, f.weights, follows = append(f.targets, int(leafTarget[i])), append(f.weights, weights[i]), append(follows, 1)
			distinct[leafTarget[i]] = true
		}
		if len(list) == 0 { // a leaf without weights adds nothing
			e.want(aggregate < 2, "tree", "leaf %d of tree %d has no weight, want one for aggregate_function %s", id.node, id.tree, aggregates[aggregate])
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
		e.want(m >= 0, "tree", "mode %q of node %d, want one of %q or LEAF", modes.Strings[i], i, codes)
		t, tl := child(i, yes[i])
		n, nl := child(i, no[i])
		miss := 0
		if len(missing) > 0 && missing[i] != 0 {
			miss = 1
		}
		e.want(feature[i] >= 0 && feature[i] < 1<<31, "tree", "feature %d of node %d, want one of the input's", feature[i], i)
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
	f.attrs = ir.Attrs{"aggregate_function": ir.Int(aggregate), "n_targets": ir.Int(n), "leaf_targetids": ir.Ints(f.targets...),
		"nodes_featureids": ir.Ints(ids[0]...), "nodes_truenodeids": ir.Ints(ids[1]...), "nodes_falsenodeids": ir.Ints(ids[2]...), "nodes_trueleafs": ir.Ints(ids[3]...),
		"nodes_falseleafs": ir.Ints(ids[4]...), "nodes_missing_value_tracks_true": ir.Ints(ids[5]...), "nodes_modes": ir.Tens(tensor.Of([]int{len(mode)}, mode)),
		"nodes_splits": real64(split), "tree_roots": ir.Ints(roots...)}
	if slices.Contains(follows, 1) {
		f.attrs["leaf_follows"] = ir.Ints(follows...)
	}
	return f
}

// scores are the trees' sums: [N, targets] in float32.
func (e *composer) forestScores(f *oldForest, weights []float64) *ir.Value {
	a := ir.Attrs{}
	for name, v := range f.attrs {
		a[name] = v
	}
	a["leaf_weights"] = real64(weights)
	return e.addTrees(a, f.x)
}

func single(v []float64) *tensor.Dense { return tensor.FromFloats(tensor.F32, []int{len(v)}, v) }

func treeRegressor(e *composer) []*ir.Value {
	how, targets, base := e.postTransform(), e.int("n_targets", 1), e.reals("base_values")
	agg := slices.Index(aggregates, e.str("aggregate_function", "SUM", aggregates...))
	f := e.oldForest("target", targets, agg)
	y := e.cast(e.forestScores(f, f.weights), tensor.F32)
	if len(base) > 0 {
		e.want(len(base) == targets || len(base) == 1, "attr-value", "%d base_values for %d targets", len(base), targets)
		y = e.do("Add", nil, y, e.data(single(base)))
	}
	return []*ir.Value{e.transformed(y, how)}
}

// treeClassifier adds the weights of classes. Where those of two classes all
// are of one, they decide alone, against 0 or, without negative ones, 0.5; of
// the first class they are the score of the second, as exporters have it.
func treeClassifier(e *composer) []*ir.Value {
	labels, how, base := e.labels("classlabels_int64s", "classlabels_strings"), e.postTransform(), e.reals("base_values")
	classes := labels.Type.Elems()
	f := e.oldForest("class", classes, 1)
	positive := !slices.ContainsFunc(f.weights, func(w float64) bool { return w < 0 })
	oneID := !slices.ContainsFunc(f.targets, func(t int) bool { return t != f.targets[0] })
	y := e.cast(e.forestScores(f, f.weights), tensor.F32)
	if classes == 2 && oneID {
		s := e.cut(y, 1, f.targets[0], f.targets[0]+1, 1)
		if len(base) > 0 {
			s = e.do("Add", nil, s, e.data(single(base[len(base)-1:])))
		}
		bound := 0.0
		if positive {
			bound = 0.5
		}
		label := e.above(labels, s, bound)
		if f.targets[0] == 0 {
			return []*ir.Value{label, e.secondClass(s, !positive, how)}
		}
		return []*ir.Value{label, e.transformed(e.concat(1, e.cut(y, 1, 0, 1, 1), s), how)}
	}
	if len(base) > 0 {
		e.want(len(base) == classes, "attr-value", "%d base_values for %d classes", len(base), classes)
		y = e.do("Add", nil, y, e.data(single(base)))
	}
	rank := y
	if !f.whole && len(base) == 0 && !positive { // classes that no leaf has a weight for do not win
		ones := make([]float64, len(f.weights))
		for i := range ones {
			ones[i] = 1
		}
		met := e.cast(e.forestScores(f, ones), tensor.F32)
		rank = e.do("Where", nil, e.do("Greater", nil, met, e.num(met, 0)), y, e.num(y, -1e38))
	}
	return []*ir.Value{e.best(labels, rank), e.transformed(y, how)}
}
