// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
)

// span is a half-open interval of rows.
type span struct{ lo, hi int }

func (s span) len() int { return s.hi - s.lo }

// union is the rows of both, and between; one may be empty.
func (s span) union(o span) span {
	switch {
	case s.len() == 0:
		return o
	case o.len() == 0:
		return s
	}
	return span{min(s.lo, o.lo), max(s.hi, o.hi)}
}

// window says from which rows of its inputs a node computes a row: reach rows of
// the padded input, stride apart, or, in layers that grow, one row for each up.
type window struct{ reach, stride, pad, up int }

// in is the rows that the rows out are computed from, of an input of h rows, and
// how many rows of padding lie above and below them.
func (w window) in(out span, h int) (in span, above, below int) {
	if w.up > 1 {
		return span{out.lo / w.up, (out.hi + w.up - 1) / w.up}, 0, 0
	}
	lo := out.lo*w.stride - w.pad
	hi := (out.hi-1)*w.stride - w.pad + w.reach
	in = span{min(max(lo, 0), h-1), max(min(hi, h), 1)}
	return in, in.lo - lo, hi - in.hi
}

// out is how many rows can be computed when the first have of the input are there.
func (w window) out(have int) int {
	if have = have*w.up + w.pad - w.reach; have < 0 {
		return 0
	}
	return have/w.stride + 1
}

// windowed is the window of a node that reads rows of images: rank 4, one image, one result; known: what it is follows
// from the windows, and not from ir.Along.
func windowed(n *ir.Node) (w window, known, ok bool) {
	w = window{1, 1, 0, 1}
	switch {
	case len(n.Out) != 1 || len(n.Body) > 0 || n.Op.Impure:
		return w, true, false
	case n.Op.Window == ir.Convolved:
		w, ok = convolved(n)
	case n.Op.Window == ir.Pooled:
		g := bug.Must(op.PoolGeometry(n))
		if !g.Exact() || ir.AttrsOf[op.PoolWindow](n).CeilMode != 0 {
			return w, true, false
		}
		w.reach, w.stride, w.pad = g.Reach(0), g.Strides[0], g.PadBegin[0]
		ok = image(n.In[0].Type) && max(w.pad, g.PadEnd[0]) < w.reach
	case n.Op == op.Resize:
		w, ok = resized(n)
	case n.Op == op.Pad:
		g, err := op.PadGeometry(n)
		ok = err == nil && sameRows(n, 1) && g.Begin[0]|g.Begin[2]|g.End[0]|g.End[2] == 0
	case n.Op == op.Concat:
		ok = ir.AttrsOf[op.AxisAttr](n).Axis == 1 && sameRows(n, len(n.In)) && plainConstants(n)
	default:
		return w, false, false
	}
	return w, true, ok && image(n.Out[0].Type)
}

// convolved is the window of a convolution, or of a transposed one whose windows
// lie side by side in the result.
func convolved(n *ir.Node) (w window, ok bool) {
	if n.In[1].Const == nil || n.Input(2) != nil && n.In[2].Const == nil || !image(n.In[0].Type) {
		return w, false
	}
	g := bug.Must(op.ConvGeometry(n))
	if g.Transposed {
		_, sized := n.Attrs["output_shape"]
		return window{1, 1, 0, g.Strides[0]}, !sized && g.Kernel[0] == g.Strides[0] && g.Dilations[0] == 1 &&
			g.Out[0] == g.In[0]*g.Strides[0] && g.PadBegin[0] == 0
	}
	w = window{g.Reach(0), g.Strides[0], g.PadBegin[0], 1}
	return w, max(w.pad, g.PadEnd[0]) < w.reach // no window lies in the padding alone
}

// resized is the window of a Resize that repeats every row some times.
func resized(n *ir.Node) (w window, ok bool) {
	g, err := op.ResizeGeometry(n)
	if err != nil || !g.Nearest || g.Crop || n.Input(3) != nil ||
		ir.AttrsOf[op.CoordinateTransformationModeAttr](n).CoordinateTransformationMode == "align_corners" {
		return w, false
	}
	h, x := n.Out[0].Type.Shape[2], n.In[0].Type
	if !image(x) || h%x.Shape[2] != 0 {
		return w, false
	}
	w = window{1, 1, 0, h / x.Shape[2]}
	for y, from := range g.Axes[2].Index {
		if from != y/w.up {
			return w, false
		}
	}
	return w, true
}

// sameRows reports that the inputs that are computed at run time, which are some of
// the first ones, have the rows of the result.
func sameRows(n *ir.Node, first int) bool {
	run := false
	for i, v := range n.In {
		if v == nil || v.Const != nil {
			continue
		}
		if i >= first || !image(v.Type) || v.Type.Shape[2] != n.Out[0].Type.Shape[2] {
			return false
		}
		run = true
	}
	return run
}

// plainConstants reports that constants have no rows of their own.
func plainConstants(n *ir.Node) bool {
	return !slices.ContainsFunc(n.In, func(v *ir.Value) bool {
		return v != nil && v.Const != nil && v.Type.Rank() >= 2 && v.Type.Shape[v.Type.Rank()-2] != 1
	})
}

func image(t ir.Type) bool { return t.Rank() == 4 && t.Shape[0] == 1 && t.Elems() > 0 }
