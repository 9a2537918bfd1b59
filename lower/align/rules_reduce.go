// SPDX-License-Identifier: Apache-2.0

package align

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
)

func pool(a *analysis, n *ir.Node) {
	x, y := a.in(n, 0), a.out(n, 0)
	a.same(n, x[0], y[0])
	a.same(n, x[1], y[1])
	a.spatial(n, x)
	a.spatial(n, y)
	if i := a.out(n, 1); i != nil && (len(n.Out[1].Uses()) > 0 || a.g.IsOutput(n.Out[1])) {
		a.lockAll(n, "indices", "the indices that MaxPool gives count elements of the whole tensor")
	} else if i != nil {
		a.same(n, i[0], y[0])
		a.same(n, i[1], y[1])
	}
}

// reduce keeps the axes that are not reduced. A reduced axis may grow only by
// zeros, and only where these do not count.
func reduce(a *analysis, n *ir.Node) {
	a.kept(n, bug.Must(op.ReduceAxes(n)), ir.AttrsOf[op.KeepdimsAttr](n).Keepdims != 0, func(x axis) {
		if n.Op.ZerosNeutral {
			a.wants = append(a.wants, want{n: n, x: x, zero: []int{0}})
			return
		}
		x.lock(lockAt(n, "reduced", "%s reduces this dimension: more elements would change its results", n.Op.Name))
	})
}

func argReduce(a *analysis, n *ir.Node) {
	a.kept(n, []int{axisOf(n)}, ir.AttrsOf[op.KeepdimsAttr](n).Keepdims != 0, func(x axis) {
		x.lock(lockAt(n, "reduced", "%s counts elements of this dimension", n.Op.Name))
	})
}

// kept unifies what is not reduced and calls reduced for the rest.
func (a *analysis) kept(n *ir.Node, axes []int, keep bool, reduced func(x axis)) {
	x, y := a.in(n, 0), a.out(n, 0)
	k := 0
	for i := range x {
		if !slices.Contains(axes, i) {
			a.same(n, x[i], y[k])
			k++
			continue
		}
		reduced(x[i])
		if keep {
			y[k].lock(lockAt(n, "reduced", "%s leaves one element of this dimension", n.Op.Name))
			k++
		}
	}
}

// resize keeps axes whose size does not change; sizes that name them are
// rewritten.
func resize(a *analysis, n *ir.Node) {
	x, y := a.in(n, 0), a.out(n, 0)
	g, err := op.ResizeGeometry(n)
	l := lockAt(n, "spatial", "Resize interpolates along this dimension")
	for i := range x {
		if err == nil && !g.Crop && x[i].size() == y[i].size() && resizeKeeps(n, i) {
			a.same(n, x[i], y[i])
			continue
		}
		x[i].lock(l)
		y[i].lock(l)
	}
	a.lockParams(n, l)
}

// resizeKeeps reports an axis that Resize copies: scale 1, or named by sizes
// with its own size.
func resizeKeeps(n *ir.Node, axis int) bool {
	axes := ir.AttrsOf[op.AxesAttr](n).Axes
	if axes == nil {
		axes = ir.Identity(n.In[0].Type.Rank())
	}
	for k, x := range axes {
		if x < 0 {
			x += n.In[0].Type.Rank()
		}
		if x != axis {
			continue
		}
		if s := n.ConstIn(2); s != nil && s.Len() == len(axes) {
			return s.Float(k) == 1
		}
		if s := n.ConstIn(3); s != nil && s.Len() == len(axes) {
			return ir.AttrsOf[op.ResizeAttrs](n).KeepAspectRatioPolicy == "" ||
				ir.AttrsOf[op.ResizeAttrs](n).KeepAspectRatioPolicy == "stretch"
		}
		return false
	}
	return true
}
