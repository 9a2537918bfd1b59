// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// TreeEnsembleAttrs are the attributes of TreeEnsemble.
type TreeEnsembleAttrs struct {
	AggregateFunction           int           `default:"1"`
	LeafTargetids               []int         `attr:",required"`
	LeafWeights                 *tensor.Dense `attr:",required"`
	LeafFollows                 []int
	MembershipValues            *tensor.Dense
	NTargets                    int   `default:"0"`
	NodesFalseleafs             []int `attr:",required"`
	NodesFalsenodeids           []int `attr:",required"`
	NodesFeatureids             []int `attr:",required"`
	NodesHitrates               *tensor.Dense
	NodesMissingValueTracksTrue []int
	NodesModes                  *tensor.Dense `attr:",required"`
	NodesSplits                 *tensor.Dense `attr:",required"`
	NodesTrueleafs              []int         `attr:",required"`
	NodesTruenodeids            []int         `attr:",required"`
	TreeRoots                   []int         `attr:",required"`
}

// TreeEnsemble sums, averages or picks the extremes of the leaves that the
// rows of [N, features] reach in decision trees: [N, n_targets]. Nodes compare
// a feature with a split; membership nodes look it up in a set of values.
// leaf_follows is nncc's own: where it is not 0, the next leaf belongs to the
// same place of the tree, with a target of its own.
var TreeEnsemble = def(ir.OpDef{
	Name: "TreeEnsemble", Domain: "ai.onnx.ml", Doc: "leaves of decision trees, aggregated per target",
	Attrs: ir.Declare[TreeEnsembleAttrs](),
	MinIn: 1, Quant: ir.QNone, Pattern: ir.Opaque,
	Work: func(n *ir.Node) int64 { // a tree may be a list of all nodes
		f := fail.Must(Forest(n))
		return work(n.In[0].Type.Shape[0], len(f.Roots), len(f.Feature)+len(f.Members))
	},
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, floatTypes)
		wantRank(n, 0, 2)
		f := fail.Must(Forest(n))
		return one(ir.T(n.In[0].Type.DType, n.In[0].Type.Shape[0], f.Targets))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		f := fail.Must(Forest(n))
		x := floatsOf(in[0])
		rows, features := in[0].Shape[0], in[0].Shape[1]
		y := make([]float64, rows*f.Targets)
		for r := range rows {
			out := y[r*f.Targets : (r+1)*f.Targets]
			seen := make([]bool, f.Targets)
			for _, root := range f.Roots {
				leaf, ok := f.walk(root, x[r*features:(r+1)*features])
				refuse(n, !ok, "tree", "the tree with root %d has a cycle", root)
				for more := true; more; leaf++ {
					t, w := f.LeafTarget[leaf], f.LeafWeight[leaf]
					switch {
					case f.Aggregate < 2 || !seen[t]:
						out[t] += w
					case f.Aggregate == 2:
						out[t] = min(out[t], w)
					default:
						out[t] = max(out[t], w)
					}
					seen[t], more = true, f.Follows[leaf]
				}
			}
			if f.Aggregate == 0 && len(f.Roots) > 0 {
				for t := range out {
					out[t] /= float64(len(f.Roots))
				}
			}
		}
		return outs(tensor.FromFloats(in[0].DType, []int{rows, f.Targets}, y))
	},
})

// TreeForest is the table of a TreeEnsemble. A child is a node where it is not
// negative, else leaf -1-child.
type TreeForest struct {
	Feature, True, False []int
	Mode                 []int // 0 <=, 1 <, 2 >=, 3 >, 4 =, 5 !=, 6 member
	Split                []float64
	MissingTrue          []bool
	SetFrom, SetTo       []int // members of a node of mode 6
	Members              []float64
	LeafTarget           []int
	LeafWeight           []float64
	Follows              []bool // the next leaf is at the same place
	HasFollows           bool
	Roots                []int
	Targets, Aggregate   int // 0 average, 1 sum, 2 minimum, 3 maximum
}

// Forest reads and checks the attributes of a TreeEnsemble.
func Forest(n *ir.Node) (_ *TreeForest, err error) {
	defer fail.Catch(&err)
	a := ir.AttrsOf[TreeEnsembleAttrs](n)
	f := &TreeForest{Feature: a.NodesFeatureids, LeafTarget: a.LeafTargetids, Targets: a.NTargets,
		Aggregate: a.AggregateFunction}
	f.readLeaves(n, a)
	f.readNodes(n, a)
	for _, r := range a.TreeRoots {
		refuse(n, r < 0 || r >= len(f.Feature), "tree", "tree root %d, want 0 to %d", r, len(f.Feature)-1)
		f.Roots = append(f.Roots, r)
	}
	return f, nil
}

func (f *TreeForest) readLeaves(n *ir.Node, a *TreeEnsembleAttrs) {
	leaves := len(f.LeafTarget)
	refuse(n, leaves == 0 || a.LeafWeights.Len() != leaves || f.Targets < 1 || f.Targets > maxGrams ||
		f.Aggregate < 0 || f.Aggregate > 3, "tree",
		"%d leaves with %d weights, %d targets, aggregate function %d: out of range", leaves, a.LeafWeights.Len(),
		f.Targets, f.Aggregate)
	for _, t := range f.LeafTarget {
		refuse(n, t < 0 || t >= f.Targets, "tree", "leaf target %d, want 0 to %d", t, f.Targets-1)
	}
	f.LeafWeight, f.Follows = a.LeafWeights.Floats(), make([]bool, leaves)
	if a.LeafFollows == nil {
		return
	}
	refuse(n, len(a.LeafFollows) != leaves || a.LeafFollows[len(a.LeafFollows)-1] != 0, "tree",
		"leaf_follows has %d values for %d leaves, want one each, 0 for the last", len(a.LeafFollows), leaves)
	for i, v := range a.LeafFollows {
		f.Follows[i] = v != 0
	}
	f.HasFollows = true
}

func (f *TreeForest) readNodes(n *ir.Node, a *TreeEnsembleAttrs) {
	k := len(f.Feature)
	missing := a.NodesMissingValueTracksTrue
	if missing == nil {
		missing = make([]int, k)
	}
	for _, have := range []int{a.NodesModes.Len(), a.NodesSplits.Len(), len(a.NodesTruenodeids),
		len(a.NodesFalsenodeids), len(a.NodesTrueleafs), len(a.NodesFalseleafs), len(missing)} {
		refuse(n, k == 0 || have != k, "tree",
			"the nodes_ attributes have different lengths, want %d values, one a node, each", k)
	}
	f.Split = a.NodesSplits.Floats()
	if a.MembershipValues != nil {
		f.Members = a.MembershipValues.Floats()
	}
	f.True, f.False, f.Mode = make([]int, k), make([]int, k), make([]int, k)
	f.SetFrom, f.SetTo, f.MissingTrue = make([]int, k), make([]int, k), make([]bool, k)
	width, set := n.In[0].Type.Shape[1], 0
	for i := range k {
		yes, no := a.NodesTruenodeids[i], a.NodesFalsenodeids[i]
		var yesOK, noOK bool
		f.True[i], yesOK = f.child(yes, a.NodesTrueleafs[i])
		f.False[i], noOK = f.child(no, a.NodesFalseleafs[i])
		f.Mode[i], f.MissingTrue[i] = int(a.NodesModes.Int(i)), missing[i] != 0
		refuse(n, !yesOK || !noOK || f.Mode[i] < 0 || f.Mode[i] > 6 || f.Feature[i] < 0 || f.Feature[i] >= width,
			"tree", "node %d: mode %d, feature %d of %d, children %d and %d: out of range", i, f.Mode[i], f.Feature[i],
			width, yes, no)
		if f.Mode[i] == 6 {
			set = f.readSet(i, set)
		}
	}
}

// child is how a branch names a child: a node, or -1 - i for leaf i; false where there
// is no such.
func (f *TreeForest) child(id, leaf int) (int, bool) {
	if leaf != 0 {
		return -1 - id, id >= 0 && id < len(f.LeafTarget)
	}
	return id, id >= 0 && id < len(f.Feature)
}

// readSet finds the members of node i, from a place in Members to the next NaN, and
// gives the place behind it.
func (f *TreeForest) readSet(i, from int) int {
	to := from
	for to < len(f.Members) && !math.IsNaN(f.Members[to]) {
		to++
	}
	f.SetFrom[i], f.SetTo[i] = from, to
	return min(to+1, len(f.Members))
}

// walk goes from a node to a leaf; false when it meets no leaf in as many
// steps as there are nodes.
func (f *TreeForest) walk(i int, x []float64) (leaf int, ok bool) {
	for range f.Feature {
		v, s := x[f.Feature[i]], f.Split[i]
		yes := false
		switch f.Mode[i] {
		case 0:
			yes = v <= s
		case 1:
			yes = v < s
		case 2:
			yes = v >= s
		case 3:
			yes = v > s
		case 4:
			yes = v == s
		case 5:
			yes = v != s
		default:
			for _, m := range f.Members[f.SetFrom[i]:f.SetTo[i]] {
				yes = yes || v == m
			}
		}
		if yes || f.MissingTrue[i] && v != v {
			i = f.True[i]
		} else {
			i = f.False[i]
		}
		if i < 0 {
			return -1 - i, true
		}
	}
	return 0, false
}
