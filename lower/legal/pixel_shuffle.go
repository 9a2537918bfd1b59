// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
)

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
	idx := make([]int, channels*blocks) // idx[new] = old
	for i := range idx {
		idx[i] = i%channels*blocks + i/channels
	}
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
