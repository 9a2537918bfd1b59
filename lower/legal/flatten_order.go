// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
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
	rows := lists.Make(last, func(i int) int { return i%ch*pos + i/ch }) // rows[new] = old
	for _, r := range readers {
		g.SetInput(r, 1, permuted(g, r, r.In[1], rowAxis(r), rows))
		c.Did(r, "rows of the weights permuted, so that %s takes channels last", n)
	}
	reordered(y)
	t := transpose(g, n, x, append([]int{0}, append(ir.Identity(rank)[2:], 1)...), n.Name+"/channels_last")
	g.ReplaceUses(y, reshape(g, n, t, y.Type.Shape, n.Name))
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

// permutable reports a constant, or a constant behind QuantizeLinear and
// DequantizeLinear, whose elements can be permuted along axis; scales that vary
// along it have to be constants, too.
func permutable(v *ir.Value, axis int) bool {
	if v.Const != nil {
		return !v.Type.Quant.PerAxis() || v.Type.Quant.Axis != axis
	}
	d := v.Def
	if !is(d, "QuantizeLinear", "DequantizeLinear") || ir.AttrsOf[op.ScaleAttrs](d).BlockSize != 0 {
		return false
	}
	return !slices.ContainsFunc(d.In[1:], func(p *ir.Value) bool {
		return p != nil && p.Const == nil && scalesAlong(d, axis)
	}) && permutable(d.In[0], axis)
}

// scalesAlong reports a QuantizeLinear or DequantizeLinear whose scales may
// vary along axis.
func scalesAlong(d *ir.Node, axis int) bool {
	return d.In[1].Type.Elems() != 1 && op.AxisOf(d, d.In[0].Type.Rank()) == axis
}

// permuted is v with its indices along axis permuted, made in front of at.
func permuted(g *ir.Graph, at *ir.Node, v *ir.Value, axis int, idx []int) *ir.Value {
	if v.Const != nil {
		return constLike(g, v, v.Const.Take(axis, idx))
	}
	d := v.Def
	in := append([]*ir.Value{permuted(g, at, d.In[0], axis, idx)}, d.In[1:]...)
	if scalesAlong(d, axis) {
		for i, p := range d.In[1:] {
			if p != nil {
				in[1+i] = constLike(g, p, p.Const.Take(0, idx))
			}
		}
	}
	return g.Insert(at, d, d.Op, d.Name, d.Attrs.Clone(), in...)
}

// pixelShuffle lets DepthToSpace copy neighbouring channels together. In mode
// CRD, which PyTorch's PixelShuffle exports, channels of one result lie b*b
// apart, and every element of a channels-last map moves alone. Where a Conv
// makes the map, its output channels are permuted instead (element-wise
// operators of one input may stand between):
//
//	%c = Conv(%x, %w, %b)                              %c = Conv(%x, %w', %b')
//	%y = DepthToSpace(%c) {blocksize=2, mode="CRD"} => %y = DepthToSpace(%c) {blocksize=2, mode="DCR"}
//
// Channel c*b*b+k of %w is channel k*C+c of %w'.
func pixelShuffle(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if !is(n, "DepthToSpace") || ir.AttrsOf[op.ModeAttr](n).Mode != "CRD" {
		return
	}
	conv := shuffled(g, n)
	if conv == nil {
		return
	}
	channels := n.Out[0].Type.Shape[1]
	blocks := n.In[0].Type.Shape[1] / channels
	// idx[new] = old
	idx := lists.Make(channels*blocks, func(i int) int { return i%channels*blocks + i/channels })
	for i, v := range conv.In[1:] {
		if v != nil {
			g.SetInput(conv, 1+i, permuted(g, conv, v, 0, idx))
		}
	}
	n.SetAttr("mode", ir.Str("DCR"))
	reordered(conv.Out[0])
	c.Did(conv, "output channels permuted, so that %s copies neighbours together", n)
	g.RemoveDead() // weights behind DequantizeLinear were copied
}

// shuffled is the Conv that makes the input of n, if nothing else reads what
// it makes and its output channels can have another order.
func shuffled(g *ir.Graph, n *ir.Node) *ir.Node {
	reader, d := n, n.In[0].Def
	for d != nil && elementwise(d) && g.SoleUse(d.Out[0]) == reader {
		reader, d = d, d.In[0].Def
	}
	if !is(d, "Conv") || g.SoleUse(d.Out[0]) != reader || ir.AttrsOf[op.GroupAttr](d).Group != 1 ||
		d.Out[0].Type.Quant.PerAxis() {
		return nil
	}
	for _, v := range d.In[1:] {
		if v != nil && !permutable(v, 0) {
			return nil
		}
	}
	return d
}
