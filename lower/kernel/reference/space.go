// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// blockMove is DepthToSpace (toSpace) or SpaceToDepth as one strided copy: in
// both, channels [block row, block column, c] (mode CRD: c first) meet space
// [y, block row], [x, block column].
func blockMove(n *ir.Node, toSpace bool) move {
	x, y := n.In[0].Type, n.Out[0].Type
	deep, wide := x, y // the sides with many channels and with much space
	if !toSpace {
		deep, wide = y, x
	}
	b, c := ir.AttrsOf[op.BlocksizeAttr](n).Blocksize, wide.Shape[1]
	type dim struct{ size, deep, wide int }
	ds, ws := strides(deep), strides(wide)
	rowStep, colStep, chStep := b*c, c, 1
	if ir.AttrsOf[op.ModeAttr](n).Mode == "CRD" {
		rowStep, colStep, chStep = b, 1, b*b
	}
	batch := dim{wide.Shape[0], ds[0], ws[0]}
	ch := dim{c, chStep * ds[1], ws[1]}
	row, col := dim{b, rowStep * ds[1], ws[2]}, dim{b, colStep * ds[1], ws[3]}
	yy, xx := dim{deep.Shape[2], ds[2], b * ws[2]}, dim{deep.Shape[3], ds[3], b * ws[3]}
	m := move{elem: y.DType.Size()}
	add := func(d dim) {
		m.dims = append(m.dims, d.size)
		if toSpace {
			m.x, m.y = append(m.x, d.deep), append(m.y, d.wide)
		} else {
			m.x, m.y = append(m.x, d.wide), append(m.y, d.deep)
		}
	}
	// in the order of the output's memory
	for _, d := range y.OrderOrIdentity() {
		switch {
		case d == 0:
			add(batch)
		case d == 1 && toSpace:
			add(ch)
		case d == 1 && ir.AttrsOf[op.ModeAttr](n).Mode == "CRD":
			add(ch)
			add(row)
			add(col)
		case d == 1:
			add(row)
			add(col)
			add(ch)
		case d == 2:
			add(yy)
			if toSpace {
				add(row)
			}
		case d == 3:
			add(xx)
			if toSpace {
				add(col)
			}
		}
	}
	return m
}

func blockRow(was string, d *ir.OpDef, toSpace bool) *kernel.Kernel {
	return row("nncc_copy_nd", was, d.Doc+", any element type", same, kernel.Rules{cond.SameType, cond.NotEmpty},
		func(l *lowering, n *kernel.Node) {
			l.strided(blockMove(n.Node, toSpace))
		}, d)
}

// sameRank: any order where the rank stays, else natural.
func sameRank(n *kernel.Node) kernel.Layout {
	if n.In[0].Type.Rank() == n.Out[0].Type.Rank() {
		return same(n)
	}
	return natural(n)
}

// repeatMove is Expand or Tile: dimensions of input 0 are repeated.
func repeatMove(n *ir.Node) move {
	x, y := n.In[0].Type, n.Out[0].Type
	shape := padLeft(x.Shape, y.Rank())
	t := x.WithShape(shape)
	if x.Rank() == y.Rank() {
		t.Order = x.Order
	}
	xs, ys := strides(t), strides(y)
	m := move{elem: y.DType.Size()}
	for _, d := range y.OrderOrIdentity() {
		if r := y.Shape[d] / shape[d]; r > 1 {
			m.dims, m.x, m.y = append(m.dims, r), append(m.x, 0), append(m.y, shape[d]*ys[d])
		}
		m.dims, m.x, m.y = append(m.dims, shape[d]), append(m.x, xs[d]), append(m.y, ys[d])
	}
	return m
}

// repeatDims: repeated dimensions count twice.
var repeatDims = cond.New("LOOPS", fmt.Sprintf("at most %d loops", kernel.MaxDims), func(n *kernel.Node) string {
	y := n.Out[0].Type.Shape
	x := padLeft(n.In[0].Type.Shape, len(y))
	loops := 0
	for d := range y {
		if x[d] > 1 {
			loops++
		}
		if y[d] > x[d] {
			loops++
		}
	}
	if loops > kernel.MaxDims {
		return fmt.Sprintf("from %v to %v takes %d loops, want at most %d", x, y, loops, kernel.MaxDims)
	}
	return ""
})

// triluRow chooses between the input and zero by a constant mask.
var triluRow = row("nncc_where", "NNCC-TRILU", "upper or lower triangle, any element type", natural,
	kernel.Rules{cond.SameType, cond.NotEmpty, cond.Rank, cond.Constant(1)}, func(l *lowering, n *kernel.Node) {
		t := n.In[0].Type
		r := t.Rank()
		rows, cols, k := t.Shape[r-2], t.Shape[r-1], 0
		if c := n.ConstIn(1); c != nil {
			k = int(min(max(c.Int(0), -1<<30), 1<<30))
		}
		mask := make([]bool, rows*cols)
		for i := range mask {
			row, col := i/cols, i%cols
			if mask[i] = col >= row+k; ir.AttrsOf[op.TriluAttrs](n).Upper == 0 {
				mask[i] = col <= row+k
			}
		}
		zero := tensor.New(t.DType, []int{1})
		if t.Quant != nil {
			zero.SetInt(0, int64(t.Quant.ZeroAt(0)))
		}
		cs := make([]int, r)
		cs[r-2], cs[r-1] = cols, 1
		dims, st := merge(t.Shape, cs, tensor.Strides(t.Shape), make([]int, r))
		f := append(ints("elem", t.DType.Size(), "rank", len(dims)), list("dims", dims),
			list("c_stride", st[0]), list("a_stride", st[1]), list("b_stride", st[2]))
		l.call("nncc_where", params("nncc_where_params", f...), blob("mask", tensor.Of([]int{len(mask)}, mask)),
			bytesOf(l.in(0)), blob("const", zero), bytesOf(l.out(0)))
	}, op.Trilu)

// knownRow stores results that do not depend on data computed at run time.
var knownRow = row("nncc_copy_rows", "NNCC-KNOWN", "result known at compile time", natural, kernel.Rules{nonEmptyOut},
	func(l *lowering, n *kernel.Node) {
		in := make([]*tensor.Dense, len(n.In))
		for i, v := range n.In {
			if v == nil {
				continue
			}
			if in[i] = v.Const; in[i] == nil { // only its shape matters
				in[i] = tensor.New(v.Type.DType, v.Type.Shape)
			}
		}
		out := kernel.Known(ir.EvalNode(n.Node, in))
		l.low.Unused = ir.Identity(len(n.In))
		size := n.Out[0].Type.Bytes()
		l.rows(1, size, size, size, blob("const", out[0]), l.out(0))
	}, op.Constant, op.ConstantOfShape, op.Shape, op.Size, op.Range, op.EyeLike, op.NonZero)

func spaceKernels() []*kernel.Kernel {
	repeat := func(l *lowering, n *kernel.Node) {
		l.low.Unused = unusedTail(n.Node)
		l.strided(repeatMove(n.Node))
	}
	return []*kernel.Kernel{
		blockRow("NNCC-DEPTHTOSPACE", op.DepthToSpace, true),
		blockRow("NNCC-SPACETODEPTH", op.SpaceToDepth, false),
		row("nncc_copy_nd", "NNCC-EXPAND", "repetition of a tensor, any element type", sameRank,
			kernel.Rules{cond.SameType, cond.NotEmpty, cond.Constant(1), repeatDims}, repeat, op.Expand, op.Tile),
		triluRow, knownRow,
	}
}
