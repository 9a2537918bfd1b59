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
	a.normalises(n, takesMean, a.in(n, 0)[2:]...)
	for i := 1; i < len(n.In); i++ {
		a.same(n, a.in(n, i)[0], a.out(n, 0)[1])
	}
}

// What operators do to the dimensions that they normalise along.
const (
	takesMean  = "%s takes the mean over this dimension"
	normalOver = "%s normalises over this dimension: more elements would change its results"
)

// normalises fixes axes of what n normalises, whose result has the same axes.
func (a *analysis) normalises(n *ir.Node, does string, axes ...axis) Lock {
	a.sameAxes(n, a.in(n, 0), a.out(n, 0))
	l := lockAt(n, "normalised", does, n.Op.Name)
	locked(l, axes...)
	return l
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
	x, k := a.in(n, 0), 0
	if n.Op.Name == "CumSum" || n.Op.Name == "CumProd" { // the axis is an input
		c := n.ConstIn(1)
		if c == nil || c.Len() != 1 {
			a.sameAxes(n, x, a.out(n, 0))
			a.lockAll(n, "normalised", "the axis of %s is not constant", n.Op.Name)
			return
		}
		if k = int(c.Int(0)); k < 0 {
			k += len(x)
		}
	} else {
		k = axisOf(n)
	}
	a.normalises(n, normalOver, x[k])
}

// normalisedFrom: all dimensions from the axis on are normalised.
func normalisedFrom(a *analysis, n *ir.Node) {
	a.lockParams(n, a.normalises(n, normalOver, a.in(n, 0)[axisOf(n):]...))
	for i := 1; i < len(n.Out); i++ { // mean and deviation
		a.stretch(n, a.out(n, i), a.out(n, 0))
	}
}

func meanVariance(a *analysis, n *ir.Node) {
	x, over := a.in(n, 0), []axis(nil)
	axes := ir.AttrsOf[op.AxesAttr](n).Axes
	if axes == nil {
		axes = []int{0, 2, 3}
	}
	for _, k := range axes {
		if k < 0 {
			k += len(x)
		}
		if k >= 0 && k < len(x) {
			over = append(over, x[k])
		}
	}
	a.normalises(n, takesMean, over...)
}

func crossChannel(a *analysis, n *ir.Node) {
	a.lockParams(n, a.normalises(n, "%s normalises across channels: more of them would change its results",
		a.in(n, 0)[1:]...))
}
