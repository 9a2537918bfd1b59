// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// reals are the floats in a list attribute, or in the tensor that may
// replace it.
func reals(e *build.Node, name string) []float64 {
	if a, ok := e.Take(name + "_as_tensor"); ok && a.Tensor != nil && a.Tensor.Len() > 0 {
		delete(e.Attrs, name)
		return a.Tensor.Floats()
	}
	return lists.Map(e.FloatList(name), func(v float32) float64 { return float64(v) })
}

func real64(v []float64) ir.Attr { return ir.Tens(tensor.Of([]int{len(v)}, slices.Clone(v))) }

// oldTrees are the attributes of TreeEnsembleRegressor and TreeEnsembleClassifier: nodes
// by tree and number, with leaves among them, and the weights of leaves.
type oldTrees struct {
	tree, node, yes, no, feature, missing []int64
	values                                []float64
	modes                                 []string
	leafTree, leafNode, leafTarget        []int64
	weights                               []float64
}

func readOldTrees(e *build.Node, prefix string) *oldTrees {
	modes, _ := e.Take("nodes_modes")
	o := &oldTrees{tree: e.IntList("nodes_treeids"), node: e.IntList("nodes_nodeids"),
		yes: e.IntList("nodes_truenodeids"), no: e.IntList("nodes_falsenodeids"),
		feature: e.IntList("nodes_featureids"),
		values:  reals(e, "nodes_values"), missing: e.IntList("nodes_missing_value_tracks_true"), modes: modes.Strings,
		leafTree: e.IntList(prefix + "_treeids"), leafNode: e.IntList(prefix + "_nodeids"),
		leafTarget: e.IntList(prefix + "_ids"), weights: reals(e, prefix+"_weights")}
	reals(e, "nodes_hitrates")
	k, w := len(o.tree), len(o.weights)
	if o.missing == nil {
		o.missing = make([]int64, k)
	}
	for _, n := range []int{len(o.node), len(o.yes), len(o.no), len(o.feature), len(o.values), len(o.modes),
		len(o.missing)} {
		e.Want(k > 0 && n == k, "tree", "the nodes_ attributes have different lengths, want %d values each", k)
	}
	for _, n := range []int{len(o.leafTree), len(o.leafNode), len(o.leafTarget)} {
		e.Want(w > 0 && n == w, "tree", "the %s_ attributes have different lengths", prefix)
	}
	return o
}

type nodeID struct{ tree, node int64 }

func (o *oldTrees) id(i int) nodeID { return nodeID{o.tree[i], o.node[i]} }

// forest is old trees in TreeEnsemble's form: branches, and leaves as runs of weights.
type forest struct {
	*oldTrees
	e                   *build.Node
	x                   *ir.Value
	attrs               ir.Attrs
	targets             []int // of the leaves' weights
	leafWeights         []float64
	whole               bool // every leaf has a weight for every target
	follows             []int
	ntargets, aggregate int

	weightsOf map[nodeID][]int // places of the old weights
	branch    map[nodeID]int   // numbers of branches
	isLeaf    map[nodeID]bool  // in the list of nodes
	placed    map[nodeID]int   // where a leaf's weights begin
	reached   map[nodeID]bool  // from another node
	modes8    []uint8
	splits    []float64
	ids       [6][]int // features, true, false, true leaf, false leaf, missing
}

var branchModes = []string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}

// newForest converts the attributes to TreeEnsemble's form; the weights, their names
// behind prefix, are of n targets.
func newForest(e *build.Node, prefix string, n, aggregate int) *forest {
	f := &forest{e: e, x: e.Need(0, 2), whole: true, ntargets: n, aggregate: aggregate,
		oldTrees:  readOldTrees(e, prefix),
		weightsOf: map[nodeID][]int{}, branch: map[nodeID]int{}, isLeaf: map[nodeID]bool{}, placed: map[nodeID]int{},
		reached: map[nodeID]bool{}}
	if f.x.Type.DType != tensor.F64 {
		f.x = e.Cast(f.x, tensor.F32)
	}
	for i, t := range f.leafTree {
		id := nodeID{t, f.leafNode[i]}
		f.weightsOf[id] = append(f.weightsOf[id], i)
	}
	var branches []int
	for i, mode := range f.modes {
		if mode == "LEAF" {
			f.isLeaf[f.id(i)] = true
			continue
		}
		f.branch[f.id(i)] = len(branches)
		branches = append(branches, i)
	}
	for _, i := range branches {
		f.addBranch(i)
	}
	roots := f.roots()
	f.attrs = ir.Attrs{"aggregate_function": ir.Int(aggregate), "n_targets": ir.Int(n),
		"leaf_targetids": ir.Ints(f.targets...), "nodes_featureids": ir.Ints(f.ids[0]...),
		"nodes_truenodeids": ir.Ints(f.ids[1]...), "nodes_falsenodeids": ir.Ints(f.ids[2]...),
		"nodes_trueleafs": ir.Ints(f.ids[3]...), "nodes_falseleafs": ir.Ints(f.ids[4]...),
		"nodes_missing_value_tracks_true": ir.Ints(f.ids[5]...),
		"nodes_modes":                     ir.Tens(tensor.Of([]int{len(f.modes8)}, f.modes8)),
		"nodes_splits":                    real64(f.splits), "tree_roots": ir.Ints(roots...)}
	if slices.Contains(f.follows, 1) {
		f.attrs["leaf_follows"] = ir.Ints(f.follows...)
	}
	return f
}

func (f *forest) addBranch(i int) {
	mode, e := slices.Index(branchModes, f.modes[i]), f.e
	e.Want(mode >= 0, "tree", "mode %q of node %d, want one of %q or LEAF", f.modes[i], i, branchModes)
	e.Want(f.feature[i] >= 0 && f.feature[i] < 1<<31, "tree", "feature %d of node %d, want one of the input's",
		f.feature[i], i)
	yes, yesLeaf := f.child(nodeID{f.tree[i], f.yes[i]})
	no, noLeaf := f.child(nodeID{f.tree[i], f.no[i]})
	missing := 0
	if f.missing[i] != 0 {
		missing = 1
	}
	f.add(uint8(mode), f.values[i], int(f.feature[i]), yes, no, yesLeaf, noLeaf, missing)
}

func (f *forest) add(mode uint8, split float64, ids ...int) {
	f.modes8, f.splits = append(f.modes8, mode), append(f.splits, split)
	for j, x := range ids {
		f.ids[j] = append(f.ids[j], x)
	}
}

// child is the number of a branch, or the place of a leaf's weights and 1.
func (f *forest) child(id nodeID) (at, isLeaf int) {
	f.reached[id] = true
	if b, ok := f.branch[id]; ok {
		return b, 0
	}
	return f.leaf(id), 1
}

// leaf is where the weights of a leaf begin.
func (f *forest) leaf(id nodeID) int {
	if l, ok := f.placed[id]; ok {
		return l
	}
	list := f.weightsOf[id]
	f.e.Want(f.isLeaf[id] || len(list) > 0, "tree", "node %d of tree %d is neither a branch nor a leaf", id.node,
		id.tree)
	begin := len(f.leafWeights)
	f.placed[id] = begin
	distinct := map[int64]bool{}
	for _, i := range list {
		f.addWeight(int(f.leafTarget[i]), f.weights[i])
		distinct[f.leafTarget[i]] = true
	}
	if len(list) == 0 { // a leaf without weights adds nothing
		f.e.Want(f.aggregate < 2, "tree", "leaf %d of tree %d has no weight, want one for aggregate_function %s",
			id.node, id.tree, aggregates[f.aggregate])
		f.addWeight(0, 0)
	}
	f.follows[len(f.follows)-1] = 0
	f.whole = f.whole && len(distinct) == f.ntargets
	return begin
}

func (f *forest) addWeight(target int, w float64) {
	f.targets, f.leafWeights, f.follows = append(f.targets, target), append(f.leafWeights, w), append(f.follows, 1)
}

// roots are the branches that no other reaches. A tree that is a leaf becomes a branch
// with the leaf on both sides.
func (f *forest) roots() []int {
	var roots []int
	for i := range f.tree {
		id := f.id(i)
		b, ok := f.branch[id]
		switch {
		case f.reached[id]:
		case ok:
			roots = append(roots, b)
		default:
			l := f.leaf(id)
			roots = append(roots, len(f.modes8))
			f.add(0, 0, 0, l, l, 1, 1, 0)
		}
	}
	return roots
}

func treeEnsemble(e *build.Node) []*ir.Value {
	how := e.Int("post_transform", 0)
	e.Want(how >= 0 && how < len(postTransforms), "attr-value", "post_transform is %d, want 0 to %d", how,
		len(postTransforms)-1)
	return []*ir.Value{transformed(e, e.DoOp(op.TreeEnsemble, e.Attrs, e.Need(0, 2)), postTransforms[how])}
}

var aggregates = []string{"AVERAGE", "SUM", "MIN", "MAX"} // TreeEnsemble's order

// scores are the trees' sums: [N, targets] in float32.
func forestScores(e *build.Node, f *forest, weights []float64) *ir.Value {
	a := f.attrs.Clone()
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
		ones := slices.Repeat([]float64{1}, len(f.leafWeights))
		met := e.Cast(forestScores(e, f, ones), tensor.F32)
		rank = e.Do("Where", nil, e.Do("Greater", nil, met, e.Num(met, 0)), y, e.Num(y, -1e38))
	}
	return []*ir.Value{best(e, labels, rank), transformed(e, y, how)}
}
