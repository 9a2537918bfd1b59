// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// flattenOrder lets a feature map be flattened without moving data. Kernels
// keep feature maps with the channels innermost, while ONNX flattens them with
// the channels outermost. Where everything behind the Reshape is a Gemm or
// MatMul with constant weights (element-wise operators of one input may stand
// between), the rows of the weights are permuted instead:
//
//	%f = Reshape(%c, {1,72})        %t = Transpose(%c) {perm=[0,2,3,1]}
//	%y = Gemm(%f, %B, %b)       =>  %f = Reshape(%t, {1,72})
//	                                %y = Gemm(%f, %B', %b)
//
// With %c stored channels-last both Transpose and Reshape are views. Row
// (c*H+h)*W+w of B is row (h*W+w)*C+c of B'. Done only for results of spatial
// operators with more than one channel and more than one position.
func flattenOrder(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if !isReshape(n) {
		return
	}
	x, y := n.In[0], n.Out[0]
	rank := x.Type.Rank()
	if rank < 3 || y.Type.Rank() == 0 || x.Type.Quant.PerAxis() || !spatial(x, 16) {
		return
	}
	s := x.Type.Shape
	ch, pos := s[1], tensor.Count(s[2:])
	last := y.Type.Shape[y.Type.Rank()-1]
	if ch < 2 || pos < 2 || last != ch*pos || y.Type.Elems() != s[0]*last {
		return
	}
	readers := flatReaders(g, y, 8)
	if readers == nil {
		return
	}
	rows := make([]int, last) // rows[new] = old
	for i := range rows {
		rows[i] = i%ch*pos + i/ch
	}
	for _, r := range readers {
		g.SetInput(r, 1, permuted(g, r, r.In[1], rowAxis(r), rows))
		c.Did(r, "rows of the weights permuted, so that %s takes channels last", n)
	}
	reordered(y)
	p := append([]int{0}, append(ir.Identity(rank)[2:], 1)...)
	t := transpose(g, n, x, p, n.Name+"/channels_last")
	v := reshape(g, n, t, y.Type.Shape, n.Name)
	g.ReplaceUses(y, v)
	g.Remove(n)
	g.RemoveDead() // weights behind DequantizeLinear were copied
}

// spatial reports that v comes from a convolution or a pool, over operators
// that keep the feature map's order.
func spatial(v *ir.Value, depth int) bool {
	d := v.Def
	if d == nil || depth == 0 {
		return false
	}
	switch {
	case d.Op.Window != ir.NoWindow, is(d, "Resize", "DepthToSpace", "SpaceToDepth"):
		return true
	case elementwise(d), is(d, "BatchNormalization", "Pad", "Slice", "Split"):
		return spatial(d.In[0], depth-1)
	case d.Op.Pattern == ir.Broadcast, is(d, "Concat"):
		for _, x := range d.In {
			if x != nil && x.Const == nil && x.Type.Rank() == v.Type.Rank() && spatial(x, depth-1) {
				return true
			}
		}
	case isReshape(d): // a 1-D feature map in two dimensions, and back
		a, b := d.In[0].Type.Shape, v.Type.Shape
		if len(a) >= 3 && len(b) >= 3 && slices.Equal(a[:2], b[:2]) {
			return spatial(d.In[0], depth-1)
		}
	}
	return false
}

// flatReaders are the Gemm and MatMul nodes with constant weights that read v,
// directly or behind element-wise operators; nil when something else reads it.
func flatReaders(g *ir.Graph, v *ir.Value, depth int) []*ir.Node {
	if g.IsOutput(v) || depth == 0 || len(v.Uses()) == 0 {
		return nil
	}
	var out []*ir.Node
	for _, u := range v.Uses() {
		n := u.Node
		switch {
		case u.Index == 0 && elementwise(n):
			more := flatReaders(g, n.Out[0], depth-1)
			if more == nil {
				return nil
			}
			out = append(out, more...)
		case u.Index == 0 && is(n, "Gemm", "MatMul") && n.In[1].Type.Rank() == 2 &&
			!(is(n, "Gemm") && ir.AttrsOf[op.GemmAttrs](n).TransA != 0) &&
			permutable(n.In[1], rowAxis(n)):
			out = append(out, n)
		default:
			return nil
		}
	}
	return out
}

// reordered notes that v and what element-wise operators make of it no longer
// hold the model's tensors: their elements lie in another order.
func reordered(v *ir.Value) {
	v.Holds = nil
	for _, u := range v.Uses() {
		if u.Index == 0 && elementwise(u.Node) {
			reordered(u.Node.Out[0])
		}
	}
}

// elementwise reports an operator that treats all elements of input 0 alike,
// so that their order does not matter to it.
func elementwise(n *ir.Node) bool {
	if n.Op.Pattern != ir.Elementwise || len(n.Out) != 1 || n.In[0].Type.Quant.PerAxis() ||
		n.Out[0].Type.Quant.PerAxis() {
		return false
	}
	return !is(n, "QuantizeLinear", "DequantizeLinear") || n.In[1].Type.Elems() == 1
}

// rowAxis is the dimension of a product's weights along which it adds up.
func rowAxis(n *ir.Node) int {
	if is(n, "Gemm") && ir.AttrsOf[op.GemmAttrs](n).TransB != 0 {
		return 1
	}
	return 0
}
