// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// concatRow stores every input as rows of blocks inside the output.
var concatRow = row("nncc_copy_rows", "NNCC-CONCAT", "concatenation along any axis, any element type", same,
	kernel.Rules{cond.SameType}, func(l *lowering, n *kernel.Node) {
		out := n.Out[0].Type
		axis := kernel.Axis.Must(n)
		outer, size, inner := outerAxisInner(out, axis)
		inner *= out.DType.Size()
		off := 0
		for i, v := range n.In {
			block := v.Type.Shape[axis] * inner
			if block*outer == 0 {
				continue
			}
			var x call.Arg = l.in(i)
			if v.Const != nil {
				x = blob("const", arrange(v.Const, v.Type.Shape, out.OrderOrIdentity()))
			}
			l.blocks(outer, block, l.pitch(false, i, block), l.pitch(true, 0, size*inner), x, l.outAt(0, off))
			l.low.Parts = append(l.low.Parts, part(true, i, off, outer, block, size*inner))
			off += block
		}
	}, op.Concat)

// part is operand i as one block in each of `outer` rows of another one.
func part(input bool, i, off, outer, block, row int) call.Part {
	if outer == 1 {
		return call.Part{Input: input, I: i, Off: off}
	}
	return call.Part{Input: input, I: i, Off: off, Row: block, Pitch: row}
}

// nonEmptyOut: what is known has elements.
var nonEmptyOut = cond.New("EMPTY-RESULT", "the result is not empty", func(n *kernel.Node) string {
	for i, v := range n.Out {
		if v.Type.Elems() == 0 {
			return fmt.Sprintf("output %d has shape %v, want no dimension of size 0", i, v.Type.Shape)
		}
	}
	return ""
})

// split are the parts of a Split along an axis.
type split struct {
	axis  int
	sizes []int
}

var splits = kernel.FactOf(func(n *ir.Node) (split, error) {
	axis, sizes, err := op.SplitSizes(n)
	return split{axis, sizes}, err
})

// splitRow is the inverse of concatRow.
var splitRow = row("nncc_copy_rows", "", "split along any axis, any element type", same,
	kernel.Rules{cond.SameType, cond.Constant(1)}, func(l *lowering, n *kernel.Node) {
		s := splits.Must(n)
		l.low.Unused = unusedTail(n.Node)
		outer, size, inner := outerAxisInner(n.In[0].Type, s.axis)
		inner *= n.In[0].Type.DType.Size()
		off := 0
		for i, k := range s.sizes {
			if wanted(n.Node, i) && n.Out[i].Type.Elems() > 0 {
				l.blocks(outer, k*inner, l.pitch(false, 0, size*inner), l.pitch(true, i, k*inner), l.inAt(0, off),
					l.out(i))
				if n.In[0].Const == nil {
					l.low.Parts = append(l.low.Parts, part(false, i, off, outer, k*inner, size*inner))
				}
			}
			off += k * inner
		}
	}, op.Split)

// sliceRow reads a strided box; a box in one piece may stay where it is.
var sliceRow = row("nncc_copy_nd", "", "strided slices, any element type", same,
	kernel.Rules{cond.SameType, cond.Rank, cond.Constant(1, 2, 3, 4)}, sliced, op.Slice)

// cropRow is sliceRow between different memory orders.
var cropRow = row("nncc_copy_nd", "NNCC-CROP", "strided slices into another memory order", anyToAny,
	kernel.Rules{cond.SameType, cond.NotEmpty, cond.Rank, cond.Constant(1, 2, 3, 4)}, sliced, op.Crop)

func sliced(l *lowering, n *kernel.Node) {
	l.low.Unused = unusedTail(n.Node)
	if n.Idle() {
		return
	}
	g := kernel.Slice.Must(n)
	x, y := n.In[0].Type, n.Out[0].Type
	st := strides(x)
	m := move{elem: y.DType.Size(), dims: y.Phys()}
	for d := range st {
		m.xOff += g.Start[d] * st[d]
		st[d] *= g.Step[d]
	}
	m.x, m.y = permuted(st, y.OrderOrIdentity()), tensor.Strides(m.dims)
	if f := m.merged(); n.Op == op.Slice && len(f.dims) == 1 && (f.x[0] == 1 || f.dims[0] == 1) &&
		n.In[0].Const == nil {
		l.low.Parts = []call.Part{{I: 0, Off: m.xOff * m.elem}}
	}
	l.strided(m)
}

// strided moves input 0 to output 0; the offset of the source becomes part of
// its pointer where that is cheaper.
func (l *lowering) strided(m move) {
	off := m.xOff * m.elem
	f := m.merged()
	if r := len(f.dims); r <= 2 && f.x[r-1] == 1 && f.x[0] >= 0 {
		m.xOff = 0
		l.move(m, bytesOf(l.inAt(0, off)), l.out(0))
	} else {
		l.move(m, bytesOf(l.in(0)), l.out(0))
	}
	l.low.Kernel = l.low.Calls[0].Func
}

// padRow extends or crops in any mode.
var padRow = row("nncc_pad", "NNCC-PAD", "padding and cropping in any mode, any element type", same,
	kernel.Rules{cond.SameType, cond.NotEmpty, cond.Rank, cond.Constant(1, 3), padFillKnown},
	func(l *lowering, n *kernel.Node) {
		g := kernel.Pad.Must(n)
		l.low.Unused = []int{1, 3}
		x, y := n.In[0].Type, n.Out[0].Type
		modes := map[string]int{"constant": 0, "edge": 1, "reflect": 2, "wrap": 3}
		var value call.Arg = call.Null{}
		if g.Mode == "constant" {
			value = l.padValue(n)
		}
		order := y.OrderOrIdentity()
		if !slices.ContainsFunc(g.Begin, negative) && !slices.ContainsFunc(g.End, negative) &&
			(g.Mode == "constant" || !n.ForAccelerator() && sum(g.Begin)+sum(g.End) <= fewSlabs) {
			l.padded(g, value)
			return
		}
		in, out, before := mergePad(permuted(x.Shape, order), y.Phys(), permuted(g.Begin, order))
		f := append(ints("elem", y.DType.Size(), "rank", len(in), "mode", modes[g.Mode]), list("in_dims", in),
			list("out_dims", out), list("before", before))
		l.call("nncc_pad", params("nncc_pad_params", f...), bytesOf(l.in(0)), value, bytesOf(l.out(0)))
	}, op.Pad)

func negative(v int) bool { return v < 0 }

func sum(s []int) int {
	return lists.Sum(s, func(v int) int { return v })
}

// fewSlabs are as many copies as replace a kernel for padding.
const fewSlabs = 8

// padded copies the input into the output, filled with the value before, or one
// slab of which after the other is then copied to where the padding repeats it.
// Both are vector loops, where a padding kernel has short rows.
func (l *lowering) padded(g *op.PadGeom, value call.Arg) {
	x, y := l.n.In[0].Type, l.n.Out[0].Type
	elem, order, ys := y.DType.Size(), y.OrderOrIdentity(), strides(y)
	if g.Mode == "constant" {
		l.call("nncc_fill", params("nncc_fill_params", ints("elem", elem, "count", y.Elems())...), value,
			bytesOf(l.out(0)))
	}
	dims, off := slices.Clone(x.Shape), 0
	for d, b := range g.Begin {
		off += b * ys[d]
	}
	m := move{elem: elem, dims: permuted(dims, order), x: permuted(strides(x), order), y: permuted(ys, order)}
	l.move(m, bytesOf(l.in(0)), bytesOf(l.outAt(0, off*elem)))
	l.low.Kernel = l.low.Calls[len(l.low.Calls)-1].Func
	for d, b := range g.Begin {
		if g.Mode == "constant" {
			break
		}
		n := x.Shape[d]
		dims[d] = 1
		m.dims, m.x = permuted(dims, order), m.y
		for i := -b; i < n+g.End[d]; i++ {
			if i < 0 || i >= n {
				from, to := off+(padSource(g.Mode, i, n))*ys[d], off+i*ys[d]
				l.move(m, bytesOf(l.outAt(0, from*elem)), bytesOf(l.outAt(0, to*elem)))
			}
		}
		off, dims[d] = off-b*ys[d], y.Shape[d] // from here on all of the dimension
	}
}

// padSource is the element of n at position i outside of them.
func padSource(mode string, i, n int) int {
	mod := func(i, n int) int { return (i%n + n) % n }
	switch mode {
	case "edge":
		return min(max(i, 0), n-1)
	case "wrap":
		return mod(i, n)
	}
	period := max(2*n-2, 1)
	if i = mod(i, period); i >= n {
		i = period - i
	}
	return i
}

// mergePad drops dimensions of size 1 and joins neighbours of which neither is
// padded.
func mergePad(in, out, before []int) (i, o, b []int) {
	for d := range in {
		if in[d] == 1 && out[d] == 1 {
			continue
		}
		plain := in[d] == out[d] && before[d] == 0
		if k := len(i) - 1; k >= 0 && plain && i[k] == o[k] && b[k] == 0 {
			i[k] *= in[d]
			o[k] *= out[d]
			continue
		}
		i, o, b = append(i, in[d]), append(o, out[d]), append(b, before[d])
	}
	if len(i) == 0 {
		return []int{1}, []int{1}, []int{0}
	}
	return i, o, b
}

// padFillKnown: a fill value computed at run time has the type of the data.
var padFillKnown = cond.New("FILL-VALUE", "the fill value is constant or of the data's type",
	func(n *kernel.Node) string {
		if ir.AttrsOf[op.ModeAttr](n).Mode != "constant" {
			return ""
		}
		if v := n.Input(2); v != nil && v.Const == nil {
			if x := n.In[0].Type; v.Type.DType != x.DType || !v.Type.Quant.Equal(x.Quant) {
				return fmt.Sprintf("the fill value %s is %s and computed at run time, the data are %s", v,
					cond.Full(v.Type), cond.Full(x))
			}
			return ""
		}
		return kernel.PadFill.Why(n)
	})

// padValue is the fill element of a Pad node in the type of the data.
func (l *lowering) padValue(n *kernel.Node) call.Arg {
	if v := n.Input(2); v != nil && v.Const == nil {
		return bytesOf(l.in(2))
	}
	return blob("fill", kernel.PadFill.Must(n))
}

func dataKernels() []*kernel.Kernel {
	return []*kernel.Kernel{concatRow, splitRow, sliceRow, cropRow, padRow}
}

// move is a copy of a box of elements: y[yOff + i·y] = x[xOff + i·x] for every
// index i of dims, strides in elements.
type move struct {
	elem       int
	dims, x, y []int
	xOff, yOff int
}

// merged is the same copy with as few dimensions as possible.
func (m move) merged() move {
	dims, st := merge(m.dims, m.x, m.y)
	m.dims, m.x, m.y = dims, st[0], st[1]
	return m
}

// ordered is the same copy with its loops in the order that costs least on vectors: the core is not known here.
func (m move) ordered() move {
	order := kernel.LoopOrder(m.elem, true, m.dims, m.x, m.y)
	m.dims, m.x, m.y = permuted(m.dims, order), permuted(m.x, order), permuted(m.y, order)
	return m
}

// identity: the copy changes nothing about the order of the elements.
func (m move) identity() bool {
	m = m.merged()
	return len(m.dims) == 1 && m.x[0] == 1 && m.y[0] == 1 && m.xOff == 0 && m.yOff == 0
}

// move emits the copy by the simplest kernel that can do it: whole blocks of
// bytes, else the strided copy.
func (l *lowering) move(m move, x, y call.Arg) {
	m = m.merged()
	r := len(m.dims)
	if m.x[r-1] == 1 && m.y[r-1] == 1 && r <= 2 && m.xOff == 0 && m.yOff == 0 {
		rows, xp, yp := 1, m.dims[r-1], m.dims[r-1]
		if r == 2 {
			rows, xp, yp = m.dims[0], m.x[0], m.y[0]
		}
		if xp >= 0 && yp >= 0 {
			l.rows(rows, m.dims[r-1]*m.elem, xp*m.elem, yp*m.elem, x, y)
			return
		}
	}
	l.copy(m.ordered(), x, y)
}

// copy emits the strided copy.
func (l *lowering) copy(m move, x, y call.Arg) {
	f := ints("elem", m.elem, "rank", len(m.dims), "x_offset", m.xOff, "y_offset", m.yOff)
	f = append(f, list("dims", m.dims), list("x_stride", m.x), list("y_stride", m.y))
	l.call("nncc_copy_nd", params("nncc_copy_nd_params", f...), bytesOf(x), bytesOf(y))
}

// rows emits a copy of blocks of bytes.
func (l *lowering) rows(rows, block, xPitch, yPitch int, x, y call.Arg) {
	l.blocks(rows, block, call.I32(xPitch), call.I32(yPitch), x, y)
}

func (l *lowering) blocks(rows, block int, xPitch, yPitch call.Arg, x, y call.Arg) {
	f := append(ints("rows", rows, "block", block), call.F("x_pitch", xPitch), call.F("y_pitch", yPitch))
	l.call("nncc_copy_rows", params("nncc_copy_rows_params", f...), bytesOf(x), bytesOf(y))
}

// pitch is the distance between the rows of an operand, which may then lie
// apart: of input i, or output i, row bytes each.
func (l *lowering) pitch(output bool, i, row int) call.Arg {
	if !output && l.n.In[i].Const != nil {
		return call.I32(row)
	}
	r := call.Rows{Output: output, I: i, Bytes: row}
	if !slices.Contains(l.low.Rows, r) {
		l.low.Rows = append(l.low.Rows, r)
	}
	return call.Pitch{Output: output, I: i, Row: row}
}

// fill emits a repetition of one element.
func (l *lowering) fill(value *tensor.Dense, count int, y call.Arg) {
	l.call("nncc_fill", params("nncc_fill_params", ints("elem", value.DType.Size(), "count", count)...),
		blob("fill", value), bytesOf(y))
}

// view is a node without code: output 0 is input 0 under another type. A
// constant has no place in the arena, so its view is a copy.
func view(l *lowering, n *kernel.Node) {
	if n.In[0].Const != nil {
		copied(l, n)
		return
	}
	*l.low = call.Lowered{Kernel: "view", Library: "view", View: true, Unused: unusedTail(n.Node)}
}

// unusedTail are all inputs but the first: shapes and axes, which are part of
// the types by now.
func unusedTail(n *ir.Node) []int {
	if len(n.In) < 2 {
		return nil
	}
	return ir.Identity(len(n.In))[1:]
}

// copied writes the bytes of input 0, in the order of the output, to output 0.
func copied(l *lowering, n *kernel.Node) {
	l.low.Kernel = "nncc_copy_rows"
	l.low.Unused = unusedTail(n.Node)
	size := n.Out[0].Type.Bytes()
	var x call.Arg = l.in(0)
	if c := n.In[0].Const; c != nil {
		x = blob("const", arrange(c, n.In[0].Type.Shape, n.In[0].Type.OrderOrIdentity()))
	}
	l.rows(1, size, size, size, x, l.out(0))
}

func transposeLayout(n *kernel.Node) kernel.Layout {
	p := bug.Must(op.Perm(n.Node))
	return kernel.Layout{Kind: kernel.ViewTranspose, Perm: p}
}

// runsUpTo: dimensions that stay together are copied as one.
var runsUpTo = cond.New("RUNS", fmt.Sprintf("at most %d runs of dimensions move apart", kernel.MaxDims),
	func(n *kernel.Node) string {
		return tooManyRuns(n.Node)
	})

// transposable: a Transpose is a view, but a reader may want its result in another order.
var transposable = cond.New("RUNS", runsUpTo.Doc, func(n *kernel.Node) string {
	p, err := op.Perm(n.Node)
	if err != nil {
		return err.Error()
	}
	from, to := n.In[0].Type, n.In[0].Type
	from.Order, to.Order = nil, p
	return tooManyRuns(&ir.Node{In: []*ir.Value{{Type: from}}, Out: []*ir.Value{{Type: to}}})
})

func tooManyRuns(n *ir.Node) string {
	size, _ := kernel.Permutation(n)
	return cond.If(len(size) > kernel.MaxDims, "%d runs of dimensions move apart, want at most %d", len(size),
		kernel.MaxDims)
}

// relayout copies between two memory orders of one shape.
func relayout(l *lowering, n *kernel.Node) {
	x, y := n.In[0].Type, n.Out[0].Type
	if n.In[0].Const == nil && x.SameMemory(y.Order) {
		view(l, n)
		return
	}
	l.low.Route = "nncc_run"
	order := y.OrderOrIdentity()
	var from call.Arg = l.in(0)
	st := strides(x)
	if c := n.In[0].Const; c != nil {
		from, st = l.constant(0), tensor.Strides(c.Shape)
	}
	dims := y.Phys()
	l.move(move{elem: y.DType.Size(), dims: dims, x: permuted(st, order), y: tensor.Strides(dims)}, from, l.out(0))
	l.low.Kernel = l.low.Calls[0].Func
}

// lastInPlace is the demand of a Turn.
func lastInPlace(*kernel.Node) kernel.Layout {
	return kernel.Layout{Kind: kernel.Fixed, In: [][]int{nil}, Out: [][]int{ir.NHWC(4)}}
}

// turn moves some rows of a plane together, as far as scratch stays a small part of the value.
func turn(l *lowering, n *kernel.Node) {
	t := n.In[0].Type
	s, elem, rows := t.Shape, t.DType.Size(), 1
	for r := range s[2] {
		if s[2]%(r+1) == 0 && (r+1)*turnParts <= s[2] {
			rows = r + 1
		}
	}
	strips, cols := s[2]/rows, rows*s[3]
	l.low.Overlap = call.InPlace(0)
	words := ((2*strips+1)*s[1]+1)&^1 + (s[1]*cols*elem+3)/4
	l.call("nncc_turn", params("nncc_turn_params", ints("elem", elem, "batches", s[0], "planes", s[1], "rows", strips,
		"cols", cols)...), bytesOf(l.in(0)), l.scratch(tensor.I32, words), bytesOf(l.out(0)))
}

// turnParts of a plane are at least what its strips are.
const turnParts = 16

// dropout copies, and fills the mask with true where it is asked for.
func dropout(l *lowering, n *kernel.Node) {
	copied(l, n)
	if len(n.Out) > 1 {
		l.fill(tensor.Of([]int{1}, []bool{true}), n.Out[1].Type.Elems(), l.out(1))
	}
}

func viewKernels() []*kernel.Kernel {
	reshaped := func(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.ViewReshape} }
	whole := kernel.Rules{cond.SameType, cond.NotEmpty}
	return []*kernel.Kernel{
		row("view", "NNCC-RESHAPE", "other shape of the same bytes: no code", reshaped,
			kernel.Rules{cond.SameType, cond.Constant(1)}, view,
			kernel.Where(func(d *ir.OpDef) bool { return d.View == ir.Reshaped })...),
		row("view-transpose", "NNCC-TRANSPOSE", "other order of dimensions over the same bytes: no code",
			transposeLayout, kernel.Rules{cond.SameType, transposable}, view, op.Transpose),
		row("nncc_copy_nd", "NNCC-RELAYOUT", "conversion between memory orders", anyToAny,
			append(whole[:2:2], runsUpTo), relayout, op.Relayout),
		row("nncc_turn", "", "planes to channels last over the same bytes", lastInPlace, append(whole[:2:2],
			wholeBytes),
			turn, op.Turn),
		row("nncc_copy_rows", "NNCC-IDENTITY", "copy", same, whole, copied, op.Identity, op.Within),
		row("view-bits", "NNCC-BITCAST", "the same bytes as another element type: no code", same,
			kernel.Rules{wholeBytes, canonical}, view, op.BitCast),
		row("nncc_copy_rows", "NNCC-DROPOUT", "copy; a mask of true", same, whole, dropout, op.Dropout),
	}
}

// canonical: bytes of another type may be more than the 0 and 1 of a bool.
var canonical = cond.New("BOOL", "a bool comes from a bool", func(n *kernel.Node) string {
	x, y := n.In[0].Type.DType, n.Out[0].Type.DType
	return cond.If(y == tensor.Bool && x != y, "from %s to bool: bytes become 0 and 1", x.ONNXName())
})

// wholeBytes: elements are not smaller than a byte.
var wholeBytes = cond.New("WHOLE-BYTES", "elements are whole bytes", func(n *kernel.Node) string {
	for _, t := range []ir.Type{n.In[0].Type, n.Out[0].Type} {
		if t.DType.Bits() < 8 {
			return fmt.Sprintf("elements are %s, want at least 8 bits", t.DType.ONNXName())
		}
	}
	return ""
})

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
	return cond.If(loops > kernel.MaxDims, "from %v to %v takes %d loops, want at most %d", x, y, loops, kernel.MaxDims)
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
		l.call("nncc_where", params("nncc_where_params", f...), array("mask", mask),
			bytesOf(l.in(0)), blob("const", zero), bytesOf(l.out(0)))
	}, op.Trilu)

// knownRow stores results that do not depend on data computed at run time.
var knownRow = row("nncc_copy_rows", "NNCC-KNOWN", "result known at compile time", natural, kernel.Rules{nonEmptyOut},
	func(l *lowering, n *kernel.Node) {
		out := kernel.Known(ir.EvalOn(n.Node, func(v *ir.Value) *tensor.Dense { // only the shape matters
			return tensor.New(v.Type.DType, v.Type.Shape)
		}))
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
