// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// maxStride is the largest stride that an accelerator's convolution has.
const maxStride = 31

// wideStride writes a convolution with a larger stride s along H or W (frames of
// a signal) with stride 1: s neighbours become channels, and as many of them
// make a window as cover the kernel of size k.
//
//	x [N, C, H, L] -> padded [N, C, H, q*s] -> [N, C*s, H, q], kernel ceil(k/s)
func wideStride(s *sub, n *ir.Node) *ir.Value {
	g, a := strided(n)
	if g == nil {
		return nil
	}
	d, step := 2+a, g.Strides[a]
	taps := (g.Kernel[a] + step - 1) / step
	blocks := n.Out[0].Type.Shape[d] + taps - 1
	x := s.fit(n.In[0], d, g.PadBegin[a], blocks*step)
	shape := slices.Insert(slices.Clone(x.Type.Shape), d, blocks)
	shape[d+1] = step
	order := slices.Insert([]int{0, 1, 2, 3}, 2, d+1)
	for i := range order {
		if i != 2 && order[i] > d {
			order[i]++
		}
	}
	x = s.transpose(s.reshape(x, shape), order)
	x = s.reshape(x, slices.Concat([]int{shape[0], shape[1] * step}, x.Type.Shape[3:]))
	attrs := n.Attrs.Clone()
	for _, k := range []string{"auto_pad", "pads"} {
		delete(attrs, k)
	}
	strides, kernel := slices.Clone(g.Strides), slices.Clone(g.Kernel)
	strides[a], kernel[a] = 1, taps
	pads := slices.Concat(g.PadBegin, g.PadEnd)
	pads[a], pads[2+a] = 0, 0
	attrs["strides"], attrs["kernel_shape"], attrs["pads"] = ir.Ints(strides...), ir.Ints(kernel...), ir.Ints(pads...)
	return s.op(op.Conv, attrs, x, s.g.AddConst(n.Name+"/weight", blocked(n.In[1].Const, a, step, taps)), n.Input(2))
}

// strided is a convolution with a stride that is too large along axis a of space;
// nil for others.
func strided(n *ir.Node) (g *op.ConvGeom, a int) {
	if n.Op != op.Conv || n.In[0].Type.Rank() != 4 || n.In[1].Const == nil ||
		n.Input(2) != nil && n.In[2].Const == nil {
		return nil, 0
	}
	g = bug.Must(op.ConvGeometry(n))
	if g.Group != 1 || n.Out[0].Type.Elems() == 0 {
		return nil, 0
	}
	a = slices.IndexFunc(g.Strides, func(k int) bool { return k > maxStride })
	if a < 0 || g.Dilations[a] != 1 {
		return nil, 0
	}
	return g, a
}

// fit pads dimension d in front, and pads or cuts it behind to the given size.
func (s *sub) fit(x *ir.Value, d, begin, size int) *ir.Value {
	ints := func(k ...int) *ir.Value { return s.g.AddConst(s.n.Name+"/fit", tensor.Ints(k...)) }
	end := size - begin - x.Type.Shape[d]
	if end < 0 {
		x, end = s.op(op.Slice, nil, x, ints(0), ints(x.Type.Shape[d]+end), ints(d)), 0
	}
	if begin == 0 && end == 0 {
		return x
	}
	pads := make([]int, 8)
	pads[d], pads[4+d] = begin, end
	return s.op(op.Pad, nil, x, ints(pads...))
}

// blocked are weights [O, C, kh, kw] for channels (c, place in a block) along
// axis a of space, with zeros behind the kernel.
func blocked(w *tensor.Dense, a, step, taps int) *tensor.Dense {
	shape := slices.Clone(w.Shape)
	shape[1], shape[2+a] = shape[1]*step, taps
	st := tensor.Strides(w.Shape)
	return woven(w, shape, func(i []int) int {
		at := []int{i[2], i[3]}
		if at[a] = at[a]*step + i[1]%step; at[a] >= w.Shape[2+a] {
			return -1
		}
		return i[0]*st[0] + i[1]/step*st[1] + at[0]*st[2] + at[1]
	})
}

// woven has, at every place of a shape, the element of w that from names, and zero where that is -1.
func woven(w *tensor.Dense, shape []int, from func(i []int) int) *tensor.Dense {
	out, st, i := tensor.New(w.DType, shape), tensor.Strides(shape), make([]int, len(shape))
	for e := range out.Len() {
		for d := range i {
			i[d] = e / st[d] % shape[d]
		}
		if k := from(i); k >= 0 {
			out.CopyElem(e, w, k)
		}
	}
	return out
}
