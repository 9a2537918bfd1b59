// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/types"
)

// Turned writes transposed convolutions of stride 1 on integers as convolutions
// with the kernel turned round: the same sums, and better kernels.
//
//	%y = ConvTranspose(%x, %w) {pads=[1,1,1,1]}     with w of [4,2,3,3]
//
// becomes
//
//	%y = Conv(%x, %v) {pads=[1,1,1,1]}              with v of [2,4,3,3]
func Turned(c *pass.Ctx, g *ir.Graph) error {
	return c.Each(g, func(n *ir.Node) error {
		geom, pads, ok := turnable(n)
		if !ok {
			return nil
		}
		w := g.AddConst(n.Name+".turned", op.TurnedWeights(geom, n.In[1].Const))
		w.Type = w.Type.WithQuant(n.In[1].Type.DType, turnedQuant(n.In[1].Type.Quant))
		attrs := n.Attrs.Clone()
		for _, name := range []string{"output_padding", "output_shape", "auto_pad", "strides"} {
			delete(attrs, name)
		}
		attrs["pads"], attrs["dilations"] = ir.Ints(pads...), ir.Ints(geom.Dilations...)
		in := slices.Clone(n.In)
		in[1] = w
		m, err := g.InsertBefore(n, op.Conv, n.Name, attrs, 1, in...)
		if err != nil {
			return err
		}
		m.Out[0].Type = n.Out[0].Type
		m.Inherit(n)
		c.Did(m, "%s as a convolution: its stride is 1", n)
		g.ReplaceUses(n.Out[0], m.Out[0])
		g.Remove(n)
		return nil
	})
}

// turnable is the geometry of a transposed convolution that Turned writes, and the pads of the convolution.
func turnable(n *ir.Node) (g *op.ConvGeom, pads []int, ok bool) {
	if n.Op != op.ConvTranspose || !n.Quantised() || n.ConstIn(1) == nil || n.In[1].Type.Quant == nil {
		return nil, nil, false
	}
	g, err := op.ConvGeometry(n)
	if err != nil || g.Group > 1 && n.In[1].Type.Quant.PerAxis() {
		return nil, nil, false
	}
	pads = make([]int, 2*len(g.In))
	for i, size := range g.In {
		reach := g.Dilations[i] * (g.Kernel[i] - 1)
		pads[i] = reach - g.PadBegin[i]
		pads[len(g.In)+i] = g.Out[i] - size + g.PadBegin[i]
		if g.Strides[i] > 1 && size > 1 || pads[i] < 0 || pads[len(g.In)+i] < 0 {
			return nil, nil, false
		}
	}
	return g, pads, true
}

// turnedQuant has the scales of output channels on the axis where a convolution has them.
func turnedQuant(q *types.Quant) *types.Quant {
	if !q.PerAxis() {
		return q
	}
	return &types.Quant{Axis: 0, Scale: q.Scale, Zero: q.Zero}
}
