// SPDX-License-Identifier: Apache-2.0

package align

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
)

func transpose(a *analysis, n *ir.Node) {
	p := bug.Must(op.Perm(n))
	x, y := a.in(n, 0), a.out(n, 0)
	for i, d := range p {
		a.same(n, y[i], x[d])
	}
}

// concat: the result's axis is the operands' one after the other.
func concat(a *analysis, n *ir.Node) {
	parts := lists.Make(len(n.In), func(i int) []axis { return a.in(n, i) })
	a.joined(n, axisOf(n), parts, a.out(n, 0))
}

func split(a *analysis, n *ir.Node) {
	parts := lists.Make(len(n.Out), func(i int) []axis { return a.out(n, i) })
	a.joined(n, axisOf(n), parts, a.in(n, 0))
}

// joined: dimension k of whole is that of the parts one after the other, all others are
// theirs.
func (a *analysis) joined(n *ir.Node, k int, parts [][]axis, whole []axis) {
	var row axis
	for _, x := range parts {
		for d := range x {
			if d != k {
				a.same(n, x[d], whole[d])
			}
		}
		row = append(row, x[k]...)
	}
	a.same(n, whole[k], row)
}

// slice: what it leaves out is a dim on either side; bounds are rewritten.
func slice(a *analysis, n *ir.Node) {
	g := bug.Must(op.SliceGeometry(n))
	x, y := a.in(n, 0), a.out(n, 0)
	for d := range x {
		from, size := g.Start[d], x[d].size()
		if g.Step[d] != 1 || g.Shape[d] == 0 {
			locked(lockAt(n, "slice", "Slice takes every %d. element of this dimension", g.Step[d]), x[d], y[d])
			continue
		}
		if g.Shape[d] == size {
			a.same(n, x[d], y[d])
			continue
		}
		a.space.within(x[d], from, y[d], coupling(n))
	}
}

// pad adds constant elements: dims of their own that stay as they are.
func pad(a *analysis, n *ir.Node) {
	g := bug.Must(op.PadGeometry(n))
	x, y := a.in(n, 0), a.out(n, 0)
	for d := range x {
		b, e := g.Begin[d], g.End[d]
		if b < 0 || e < 0 || (b > 0 || e > 0) && g.Mode != "constant" {
			locked(lockAt(n, "pad", "Pad (%s, %d and %d elements) depends on this dimension's border", g.Mode, b, e),
				x[d], y[d])
			continue
		}
		l := lockAt(n, "pad", "Pad adds %d and %d elements", b, e)
		row := slices.Clone(x[d])
		if b > 0 {
			row = append(a.fixed(b, l), row...)
		}
		if e > 0 {
			row = append(row, a.fixed(e, l)...)
		}
		a.same(n, y[d], row)
	}
	a.lockParams(n, lockAt(n, "pad", "the operands of Pad keep their size"))
}

func (a *analysis) fixed(size int, l Lock) axis {
	x := a.space.axis(size)
	x.lock(l)
	return x
}

// expand: sizes in its target shape are fixed, ones in it are not sizes.
func expand(a *analysis, n *ir.Node) {
	x, y := a.in(n, 0), a.out(n, 0)
	want := bug.Must(op.ConstInts(n, 1, "the target shape"))
	for i, w := range want {
		if w != 1 {
			y[len(y)-len(want)+i].lock(lockAt(n, "reshape", "Expand has %v in its constant target shape", want))
		}
	}
	a.stretch(n, x, y)
}

func tile(a *analysis, n *ir.Node) {
	rep := bug.Must(op.ConstInts(n, 1, "the repeats"))
	x, y := a.in(n, 0), a.out(n, 0)
	for i, r := range rep {
		a.grouped(n, y[i], x[i], r)
	}
}

func gather(a *analysis, n *ir.Node) {
	k, x, y := axisOf(n), a.in(n, 0), a.out(n, 0)
	idx := a.in(n, 1)
	l := lockAt(n, "gather", "Gather picks elements of this dimension by number")
	x[k].lock(l)
	for d := range x {
		switch {
		case d < k:
			a.same(n, x[d], y[d])
		case d > k:
			a.same(n, x[d], y[d-1+len(idx)])
		}
	}
	for i := range idx {
		a.same(n, idx[i], y[k+i])
		idx[i].lock(l)
	}
}

// spaceToDepth repeats the channels for every pixel of a block (DCR), or has
// the block innermost (CRD).
func spaceToDepth(a *analysis, n *ir.Node) { a.blocks(n, a.in(n, 0), a.out(n, 0)) }
func depthToSpace(a *analysis, n *ir.Node) { a.blocks(n, a.out(n, 0), a.in(n, 0)) }

func (a *analysis) blocks(n *ir.Node, shallow, deep []axis) {
	b := ir.AttrsOf[op.BlocksizeAttr](n).Blocksize * ir.AttrsOf[op.BlocksizeAttr](n).Blocksize
	a.same(n, shallow[0], deep[0])
	if ir.AttrsOf[op.ModeAttr](n).Mode == "CRD" {
		a.same(n, deep[1], shallow[1].times(b))
	} else {
		a.grouped(n, deep[1], shallow[1], b)
	}
	a.spatial(n, shallow)
	a.spatial(n, deep)
}

func unsqueeze(a *analysis, n *ir.Node) { a.ones(n, a.in(n, 0), a.out(n, 0)) }
func squeeze(a *analysis, n *ir.Node)   { a.ones(n, a.out(n, 0), a.in(n, 0)) }

// ones: wide has the axes of narrow with axes of size 1 in between.
func (a *analysis) ones(n *ir.Node, narrow, wide []axis) {
	axes := bug.Must(op.ConstInts(n, 1, "the axes"))
	named := make([]bool, len(wide))
	for _, k := range axes {
		if k < 0 {
			k += len(wide)
		}
		named[k] = true
	}
	k := 0
	for i, w := range wide {
		if named[i] || axes == nil && w.size() == 1 {
			w.lock(lockAt(n, "reshape", "%s takes it to be 1", n.Op.Name))
			continue
		}
		a.same(n, narrow[k], w)
		k++
	}
}
