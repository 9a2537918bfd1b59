// SPDX-License-Identifier: Apache-2.0

package align

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// elementwise: every operand has the result's shape, or one element.
func elementwise(a *analysis, n *ir.Node) {
	for k := range n.Out {
		a.stretch(n, a.out(n, k), a.out(n, 0))
	}
	for i, v := range n.In {
		if v != nil && (v.Type.Elems() != 1 || i == 0) {
			a.stretch(n, a.in(n, i), a.out(n, 0))
		}
	}
}

// broadcast: operands are stretched to the result's shape.
func broadcast(a *analysis, n *ir.Node) {
	for i := range n.In {
		if n.In[i] != nil {
			a.stretch(n, a.in(n, i), a.out(n, 0))
		}
	}
}

// stretch unifies the axes of x, counted from the last, with those of y; an axis
// of size 1 that stands for many must stay 1.
func (a *analysis) stretch(n *ir.Node, x, y []axis) {
	for i := range x {
		j := len(y) - len(x) + i
		if j < 0 {
			x[i].lock(lockAt(n, "broadcast", "%s has no dimension for it", n.Op.Name))
			continue
		}
		if k, m := x[i].size(), y[j].size(); k == m {
			a.same(n, x[i], y[j])
		} else {
			x[i].lock(lockAt(n, "broadcast", "%s broadcasts %d element over %d", n.Op.Name, k, m))
		}
	}
}

func batchNorm(a *analysis, n *ir.Node) {
	x, y := a.in(n, 0), a.out(n, 0)
	a.sameAxes(n, x, y)
	for i := 1; i < len(n.In); i++ {
		if p := a.in(n, i); p != nil && len(y) > 1 { // data of rank 1 have one channel
			a.same(n, p[0], y[1])
		}
	}
	for i := 1; i < len(n.Out); i++ {
		a.out(n, i)[0].lock(lockAt(n, "operator", "statistics of training are results"))
	}
}

// instanceNorm normalises every channel by itself over the spatial axes.
func instanceNorm(a *analysis, n *ir.Node) {
	x, y := a.in(n, 0), a.out(n, 0)
	a.sameAxes(n, x, y)
	for _, s := range x[2:] {
		s.lock(lockAt(n, "normalised", "InstanceNormalization takes the mean over this dimension"))
	}
	for i := 1; i < len(n.In); i++ {
		a.same(n, a.in(n, i)[0], y[1])
	}
}

// quantize: one scale and zero point for the tensor, or one an index of an axis.
func quantize(a *analysis, n *ir.Node) {
	x, y := a.in(n, 0), a.out(n, 0)
	a.sameAxes(n, x, y)
	for i := 1; i < len(n.In); i++ {
		v := n.Input(i)
		if v == nil || v.Type.Elems() == 1 && v.Type.Rank() == 0 {
			continue
		}
		p := a.in(n, i)
		switch {
		case v.Type.Rank() == 1 && v.Type.Shape[0] == 1 && (len(x) == 0 || x[quantAxis(n)].size() != 1):
			p[0].lock(lockAt(n, "broadcast", "one scale stands for the tensor"))
		case v.Type.Rank() == 1:
			a.same(n, p[0], x[quantAxis(n)])
		default: // blocks
			a.lockAll(n, "blocks", "%s scales blocks of the tensor", n.Op.Name)
		}
	}
}

func quantAxis(n *ir.Node) int {
	r := n.In[0].Type.Rank()
	return max(min(op.AxisOf(n, r), r-1), 0)
}

func clip(a *analysis, n *ir.Node) {
	a.sameAxes(n, a.in(n, 0), a.out(n, 0))
	a.lockParams(n, lockAt(n, "broadcast", "a bound of Clip is a scalar"))
}

// normalised: what stands along the axis bears on every element of it.
func normalised(a *analysis, n *ir.Node) {
	x, y := a.in(n, 0), a.out(n, 0)
	a.sameAxes(n, x, y)
	k := 0
	if n.Op.Name == "CumSum" || n.Op.Name == "CumProd" { // the axis is an input
		c := n.ConstIn(1)
		if c == nil || c.Len() != 1 {
			a.lockAll(n, "normalised", "the axis of %s is not constant", n.Op.Name)
			return
		}
		if k = int(c.Int(0)); k < 0 {
			k += len(x)
		}
	} else {
		k = axisOf(n)
	}
	x[k].lock(lockAt(n, "normalised", "%s normalises over this dimension: more elements would change its results",
		n.Op.Name))
}

// normalisedFrom: all dimensions from the axis on are normalised.
func normalisedFrom(a *analysis, n *ir.Node) {
	x, y := a.in(n, 0), a.out(n, 0)
	a.sameAxes(n, x, y)
	l := lockAt(n, "normalised", "%s normalises over this dimension: more elements would change its results", n.Op.Name)
	for _, s := range x[axisOf(n):] {
		s.lock(l)
	}
	a.lockParams(n, l)
	for i := 1; i < len(n.Out); i++ { // mean and deviation
		a.stretch(n, a.out(n, i), y)
	}
}

func meanVariance(a *analysis, n *ir.Node) {
	x := a.in(n, 0)
	a.sameAxes(n, x, a.out(n, 0))
	axes := ir.AttrsOf[op.AxesAttr](n).Axes
	if axes == nil {
		axes = []int{0, 2, 3}
	}
	for _, k := range axes {
		if k < 0 {
			k += len(x)
		}
		if k >= 0 && k < len(x) {
			x[k].lock(lockAt(n, "normalised", "MeanVarianceNormalization takes the mean over this dimension"))
		}
	}
}

func crossChannel(a *analysis, n *ir.Node) {
	x := a.in(n, 0)
	a.sameAxes(n, x, a.out(n, 0))
	l := lockAt(n, "normalised", "%s normalises across channels: more of them would change its results", n.Op.Name)
	for _, s := range x[1:] {
		s.lock(l)
	}
	a.lockParams(n, l)
}
