// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// mostDeep is how many slices of depth a window may have: each is a copy of the input.
const mostDeep = 16

// conv3d computes 3-D convolutions and pools in two dimensions.
//
// A Conv of [N, C, D, H, W] is one of N*D' pictures, whose channels are those of the slices
// of depth under the window: in each group all of the first, then all of the second.
//
// A pool takes height and width of C*D channels, then depth in a picture of D rows:
//
//	%y = MaxPool(%x) {kernel_shape=[2,3,3]}   =>   [N, C*D, H, W]    MaxPool {kernel_shape=[3,3]}
//	                                               [N, C, D, H'*W']  MaxPool {kernel_shape=[2,1]}
func conv3d(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if n.Op.Domain != "" || n.Quantised() || len(n.Out) != 1 || n.In[0].Type.Rank() != 5 ||
		slices.Contains(n.Out[0].Type.Shape, 0) {
		return
	}
	switch {
	case is(n, "Conv"):
		x := bug.Must(op.ConvGeometry(n))
		if w := flatWeights(g, n, x); w != nil {
			swap(c, g, n, pictures(g, n, x, w), "in two dimensions")
		}
	case is(n, "MaxPool", "AveragePool"):
		if x := bug.Must(op.PoolGeometry(n)); x.Exact() || !x.CountPad {
			swap(c, g, n, poolTwice(g, n, x), "in two dimensions")
		}
	}
}

// flatWeights are constant weights [O, C, D, H, W], which may stand behind DequantizeLinear, as
// [O, D*C, H, W]; nil for others.
func flatWeights(g *ir.Graph, n *ir.Node, x *op.ConvGeom) *ir.Value {
	if x.Kernel[0] > mostDeep {
		return nil
	}
	return otherWeights(g, n, func(w *tensor.Dense) *tensor.Dense {
		shape := []int{x.COut, x.Kernel[0] * x.CIn / x.Group, x.Kernel[1], x.Kernel[2]}
		return w.Transpose([]int{0, 2, 1, 3, 4}).Reshaped(shape)
	})
}

// otherWeights are what is made of the constant weights of a Conv, which may stand behind
// DequantizeLinear; nil where they are not constant. Output channels stay in dimension 0.
func otherWeights(g *ir.Graph, n *ir.Node, made func(w *tensor.Dense) *tensor.Dense) *ir.Value {
	w, dq := n.In[1], n.In[1].Def
	if is(dq, "DequantizeLinear") && dq.In[1].Type.Rank() <= 1 &&
		(dq.In[1].Type.Elems() == 1 || op.AxisOf(dq, w.Type.Rank()) == 0) {
		w = dq.In[0]
	}
	if w.Const == nil || w.Type.Quant != nil {
		return nil
	}
	v := g.AddConst(w.Name, made(w.Const))
	if w == n.In[1] {
		return v
	}
	return insert(g, n, dq.Op, dq.Name, dq.Attrs.Clone(), append([]*ir.Value{v}, dq.In[1:]...)...)
}

// pictures is a Conv in two dimensions.
func pictures(g *ir.Graph, n *ir.Node, x *op.ConvGeom, w *ir.Value) *ir.Value {
	v, in, deep := n.In[0], x.CIn/x.Group, x.Kernel[0]
	if x.PadBegin[0]+x.PadEnd[0] > 0 {
		v = insert(g, n, op.Pad, n.Name, nil, v,
			ints1(g, n.Name+"/pads", []int{0, 0, x.PadBegin[0], 0, 0, 0, 0, x.PadEnd[0], 0, 0}))
	}
	v = transpose(g, n, v, []int{0, 2, 1, 3, 4}, n.Name)
	var layers []*ir.Value
	for k := range deep {
		from := k * x.Dilations[0]
		s := v
		if deep > 1 || x.Strides[0] > 1 {
			s = insert(g, n, op.Slice, n.Name, nil, v, ints1(g, n.Name+"/from", []int{from}),
				ints1(g, n.Name+"/to", []int{from + (x.Out[0]-1)*x.Strides[0] + 1}),
				ints1(g, n.Name+"/axis", []int{1}), ints1(g, n.Name+"/step", []int{x.Strides[0]}))
		}
		layers = append(layers, reshape(g, n, s, []int{x.N * x.Out[0], x.Group, in, x.In[1], x.In[2]}, n.Name))
	}
	if v = layers[0]; deep > 1 {
		v = insert(g, n, op.Concat, n.Name, ir.Attrs{"axis": ir.Int(2)}, layers...)
	}
	v = reshape(g, n, v, []int{x.N * x.Out[0], x.CIn * deep, x.In[1], x.In[2]}, n.Name)
	attrs := n.Attrs.Clone()
	delete(attrs, "auto_pad")
	attrs["kernel_shape"], attrs["strides"] = ir.Ints(x.Kernel[1:]...), ir.Ints(x.Strides[1:]...)
	attrs["dilations"] = ir.Ints(x.Dilations[1:]...)
	attrs["pads"] = ir.Ints(append(append([]int{}, x.PadBegin[1:]...), x.PadEnd[1:]...)...)
	v = insert(g, n, op.Conv, n.Name, attrs, append([]*ir.Value{v, w}, n.In[2:]...)...)
	v = reshape(g, n, v, []int{x.N, x.Out[0], x.COut, x.Out[1], x.Out[2]}, n.Name)
	return transpose(g, n, v, []int{0, 2, 1, 3, 4}, n.Name)
}

// poolTwice is a pool over height and width, and one over depth.
func poolTwice(g *ir.Graph, n *ir.Node, x *op.PoolGeom) *ir.Value {
	pool := func(v *ir.Value, shape []int, from, to, ones int) *ir.Value {
		flat := func(v []int, one int) []int {
			return append(append([]int{}, v[from:to]...), slices.Repeat([]int{one}, ones)...)
		}
		attrs := n.Attrs.Clone()
		delete(attrs, "auto_pad")
		attrs["kernel_shape"], attrs["strides"] = ir.Ints(flat(x.Kernel, 1)...), ir.Ints(flat(x.Strides, 1)...)
		if len(x.Dilations) > 0 && attrs["dilations"].Ints != nil {
			attrs["dilations"] = ir.Ints(flat(x.Dilations, 1)...)
		}
		attrs["pads"] = ir.Ints(append(flat(x.PadBegin, 0), flat(x.PadEnd, 0)...)...)
		return insert(g, n, n.Op, n.Name, attrs, reshape(g, n, v, shape, n.Name))
	}
	v := pool(n.In[0], []int{x.N, x.C * x.In[0], x.In[1], x.In[2]}, 1, 3, 0)
	if x.Kernel[0] > 1 || x.Out[0] != x.In[0] {
		v = pool(v, []int{x.N, x.C, x.In[0], x.Out[1] * x.Out[2]}, 0, 1, 1)
	}
	return reshape(g, n, v, n.Out[0].Type.Shape, n.Name)
}
