// SPDX-License-Identifier: Apache-2.0

package align

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
)

// flatten has one product of axes on either side of its axis.
func flatten(a *analysis, n *ir.Node) {
	x, y := a.in(n, 0), a.out(n, 0)
	k := op.AxisOf(n, len(x))
	a.merge(n, x[:k], y[0])
	a.merge(n, x[k:], y[1])
}

// reshape tracks factors: consecutive axes with the same product on both sides
// belong together. An axis that the constant target shape names by a number
// cannot grow; one that it names 0 or -1 follows its input.
func reshape(a *analysis, n *ir.Node) {
	x, y := a.in(n, 0), a.out(n, 0)
	want := bug.Must(op.ConstInts(n, 1, "the target shape"))
	if n.Out[0].Type.Elems() == 0 {
		a.lockAll(n, "reshape", "Reshape of no elements")
		return
	}
	hard := make([]bool, len(y))
	for k, d := range want {
		hard[k] = d > 0 && (a.opt.HardCoded == nil || a.opt.HardCoded(n))
	}
	i, k := 0, 0
	for i < len(x) || k < len(y) {
		i0, k0, p, q := i, k, 1, 1
		for first := true; first || p != q; first = false {
			if i < len(x) && (first || p < q) {
				p *= x[i].size()
				i++
			}
			if k < len(y) && (first || q < p) {
				q *= y[k].size()
				k++
			}
		}
		a.factor(n, x[i0:i], y[k0:k], hard[k0:k], want)
	}
}

// many are the axes that are not 1, by position; ones are locked.
func (a *analysis) many(n *ir.Node, x []axis) []int {
	var out []int
	for i := range x {
		if x[i].size() != 1 {
			out = append(out, i)
		} else if len(x) > 1 {
			x[i].lock(lockAt(n, "reshape", "%s takes it to be 1", n.Op.Name))
		}
	}
	return out
}

// factor couples a group of axes with the same number of elements.
func (a *analysis) factor(n *ir.Node, x, y []axis, hard []bool, want []int) {
	l := lockAt(n, "reshape", "%s has the constant target shape %v, which fixes this dimension", n.Label(), want)
	if mixesChannels(n) {
		l.Code, l.Text = "shuffle", fmt.Sprintf("%s is part of a channel shuffle with the constant target shape %v, "+
			"which fixes how many channels a group has", n.Label(), want)
	}
	for k := range y {
		if hard[k] && y[k].size() != 1 {
			y[k].lock(l)
			for i := range x {
				x[i].lock(l)
			}
		}
	}
	switch mx, my := a.many(n, x), a.many(n, y); {
	case len(mx) == 0 || len(my) == 0:
		if len(x) == 1 && len(y) == 1 {
			a.same(n, x[0], y[0])
			break
		}
		for _, s := range slices.Concat(x, y) {
			s.lock(lockAt(n, "reshape", "%s takes it to be 1", n.Op.Name))
		}
	case len(my) == 1:
		a.merge(n, x, y[my[0]])
	case len(mx) == 1:
		a.divide(n, x[mx[0]], y, hard, l)
	default:
		for _, s := range slices.Concat(x, y) {
			s.lock(lockAt(n, "reshape", "%s cuts across dimensions", n.Op.Name))
		}
	}
}

// merge makes y the product of the axes x. One of these may grow: the first
// that is free so far, feature maps' channels before others.
func (a *analysis) merge(n *ir.Node, x []axis, y axis) {
	m := a.many(n, x)
	if len(m) == 0 {
		for _, s := range x {
			s.lock(lockAt(n, "reshape", "%s takes it to be 1", n.Op.Name))
		}
		y.lock(lockAt(n, "reshape", "%s makes one element", n.Op.Name))
		return
	}
	k := max(slices.IndexFunc(m, func(i int) bool { return x[i].free() }), 0)
	l := lockAt(n, "reshape", "%s multiplies two dimensions; only one of them could grow", n.Op.Name)
	a.product(n, y, x, m[k], l)
}

// product makes whole the product of axes, of which axis k alone may grow, none where it is -1.
func (a *analysis) product(n *ir.Node, whole axis, axes []axis, k int, l Lock) {
	outer, inner := 1, 1
	for i, x := range axes {
		switch {
		case i == k:
			continue
		case i < k:
			outer *= x.size()
		default:
			inner *= x.size()
		}
		x.lock(l)
	}
	if k < 0 {
		whole.lock(l)
		return
	}
	a.grouped(n, whole, axes[k].times(inner), outer)
}

// divide makes x the product of the axes y, of which the one may grow that the
// target shape leaves open.
func (a *analysis) divide(n *ir.Node, x axis, y []axis, hard []bool, l Lock) {
	open := -1
	for k := range y {
		if !hard[k] && y[k].size() != 1 && (open < 0 || a.opt.HardCoded != nil) {
			open = k
		}
	}
	a.product(n, x, y, open, l)
}

// mixesChannels reports one of the two Reshapes of a channel shuffle: around a
// Transpose that exchanges the two axes into which the channels were cut.
func mixesChannels(n *ir.Node) bool {
	swaps := func(t *ir.Node) bool {
		if t == nil || t.Op.Name != "Transpose" {
			return false
		}
		p, err := op.Perm(t)
		return err == nil && len(p) >= 4 && p[0] == 0 && p[1] == 2 && p[2] == 1
	}
	if d := n.In[0].Def; swaps(d) && d.In[0].Def != nil && d.In[0].Def.Op.Name == "Reshape" {
		return true
	}
	return slices.ContainsFunc(n.Out[0].Uses(), func(u ir.Use) bool {
		return swaps(u.Node) && n.In[0].Type.Rank() == len(n.Out[0].Type.Shape)-1
	})
}
