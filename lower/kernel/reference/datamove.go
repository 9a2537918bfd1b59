// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// concatRow stores every input as rows of blocks inside the output.
var concatRow = row("nncc_copy_rows", "NNCC-CONCAT", "concatenation along any axis, any element type", same,
	kernel.Rules{cond.SameType, nonEmptyOut}, func(l *lowering, n *kernel.Node) {
		out := n.Out[0].Type
		axis := kernel.Axis.Must(n)
		outer, size, inner := outerAxisInner(out, axis)
		inner *= out.DType.Size()
		off := 0
		for i, v := range n.In {
			block := v.Type.Shape[axis] * inner
			if block == 0 {
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

// nonEmptyOut: empty inputs are passed over, an empty result has no code.
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
var splitRow = row("nncc_copy_rows", "NNCC-SPLIT", "split along any axis, any element type", same,
	kernel.Rules{cond.SameType, cond.NotEmpty, cond.Constant(1)}, func(l *lowering, n *kernel.Node) {
		s := splits.Must(n)
		l.low.Unused = unusedTail(n.Node)
		outer, size, inner := outerAxisInner(n.In[0].Type, s.axis)
		inner *= n.In[0].Type.DType.Size()
		off := 0
		for i, k := range s.sizes {
			if i < len(n.Out) {
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
var sliceRow = row("nncc_copy_nd", "NNCC-SLICE", "strided slices, any element type", same,
	kernel.Rules{cond.SameType, cond.NotEmpty, cond.Rank, cond.Constant(1, 2, 3, 4)}, sliced, op.Slice)

// cropRow is sliceRow between different memory orders.
var cropRow = row("nncc_copy_nd", "NNCC-CROP", "strided slices into another memory order",
	anyToAny,
	kernel.Rules{cond.SameType, cond.NotEmpty, cond.Rank, cond.Constant(1, 2, 3, 4)}, sliced, op.Crop)

func sliced(l *lowering, n *kernel.Node) {
	g := kernel.Slice.Must(n)
	x, y := n.In[0].Type, n.Out[0].Type
	st := strides(x)
	m := move{elem: y.DType.Size(), dims: y.Phys()}
	for d := range st {
		m.xOff += g.Start[d] * st[d]
		st[d] *= g.Step[d]
	}
	m.x, m.y = permuted(st, y.OrderOrIdentity()), tensor.Strides(m.dims)
	l.low.Unused = unusedTail(n.Node)
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
	n := 0
	for _, v := range s {
		n += v
	}
	return n
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
