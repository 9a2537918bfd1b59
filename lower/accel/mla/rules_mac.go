// SPDX-License-Identifier: Apache-2.0

package mla

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
)

// Rules of convolutions and matrix products.

var convOps = []*ir.OpDef{op.Conv, op.ConvTranspose}

// macRules: their order is that of the reasons.
var macRules = []Rule{
	{Code: "MLA-CONV-GEOMETRY", Doc: "a convolution in two dimensions that is valid ONNX", Ops: convOps,
		Check: conv(func(_ *ir.Node, g *op.ConvGeom, _ *Limits) []string {
			return when(len(g.In) != 2, "Convolution in %d dimensions, want 2", len(g.In))
		})},
	{Code: "MLA-CONV-STRIDE", Doc: "strides of Conv are 1 to conv_stride", Ops: []*ir.OpDef{op.Conv},
		Check: conv(func(_ *ir.Node, g *op.ConvGeom, l *Limits) []string {
			return when(slices.Max(g.Strides) > l.ConvStride, "Strides are %v, want 1 to %d", g.Strides, l.ConvStride)
		})},
	{Code: "MLA-CONV-DILATION", Doc: "dilations of Conv are 1 to conv_dilation", Ops: []*ir.OpDef{op.Conv},
		Check: conv(func(_ *ir.Node, g *op.ConvGeom, l *Limits) []string {
			return when(slices.Max(g.Dilations) > l.ConvDilation,
				"Dilations are %v, want 1 to %d", g.Dilations, l.ConvDilation)
		})},
	{Code: "MLA-CONV-KERNEL", Doc: "kernel sides are at most the board's conv_kernel", Ops: convOps,
		Check: conv(func(_ *ir.Node, g *op.ConvGeom, l *Limits) []string {
			return when(l.ConvKernel > 0 && slices.Max(g.Kernel) > l.ConvKernel,
				"Kernel is %v, want at most %d in each dimension", g.Kernel, l.ConvKernel)
		})},
	{Code: "MLA-CONV-ALIGN", Doc: "channels are multiples of the board's channel_align", Ops: convOps,
		Check: conv(func(_ *ir.Node, g *op.ConvGeom, l *Limits) []string {
			var out []string
			for _, x := range []struct {
				what string
				n    int
			}{{"Input", g.CIn}, {"Output", g.COut}} {
				if x.n%max(l.ChannelAlign, 1) != 0 {
					out = append(out, fmt.Sprintf("%s has %d channels, want a multiple of %d", x.what, x.n,
						l.ChannelAlign))
				}
			}
			return out
		})},
	{Code: "MLA-DECONV-DILATION", Doc: "ConvTranspose is not dilated", Ops: []*ir.OpDef{op.ConvTranspose},
		Check: conv(func(_ *ir.Node, g *op.ConvGeom, _ *Limits) []string {
			return when(slices.Max(g.Dilations) > 1, "Dilations are %v, want 1", g.Dilations)
		})},
	{Code: "MLA-DECONV-GROUP", Doc: "ConvTranspose has one group or is depthwise",
		Ops: []*ir.OpDef{op.ConvTranspose},
		Check: conv(func(_ *ir.Node, g *op.ConvGeom, _ *Limits) []string {
			return when(g.Group != 1 && !depthwiseTransposed(g),
				"Group is %d for %d input and %d output channels, want 1 or depthwise", g.Group, g.CIn,
				g.COut)
		})},
	{Code: "MLA-DECONV-STRIDE", Doc: "strides of ConvTranspose are among deconv_strides (depthwise: " +
		"depthwise_deconv_strides)",
		Ops: []*ir.OpDef{op.ConvTranspose},
		Check: conv(func(_ *ir.Node, g *op.ConvGeom, l *Limits) []string {
			want := l.DeconvStrides
			if depthwiseTransposed(g) {
				want = l.DepthwiseDeconvStrides
			}
			for _, s := range g.Strides {
				if !slices.Contains(want, s) {
					return say("Strides are %v, want one of %v", g.Strides, want)
				}
			}
			return nil
		})},
	{Code: "MLA-WEIGHTS", Doc: "weights are symmetric: int8 with zero points 0",
		Ops: convOps,
		Check: func(n *ir.Node, _ *Limits) []string {
			w := n.In[1]
			q := w.Type.Quant
			if w.Const == nil || q == nil {
				return nil
			}
			for c, z := range q.Zero {
				if z != 0 {
					return say("Weights %s have zero point %d in channel %d, want 0", w.Name, z, c)
				}
			}
			return nil
		}},
	{Code: "MLA-SCALES", Doc: "quantised: the scale of the products has a fixed-point form, the bias counts them",
		Ops: []*ir.OpDef{op.Conv, op.ConvTranspose, op.MatMul},
		Check: func(n *ir.Node, _ *Limits) []string {
			if n.In[0].Type.Quant == nil || n.Out[0].Type.Quant == nil {
				return nil // to be quantised, or refused by MLA-DTYPE
			}
			_, why := op.MAC8Params(n)
			return when(why != "", "Not an integer operator: %s", why)
		}},
	{Code: "MLA-MATMUL", Doc: "MatMul multiplies matrices, not vectors", Ops: []*ir.OpDef{op.MatMul},
		Check: func(n *ir.Node, _ *Limits) []string {
			for i, v := range n.In {
				if v.Type.Rank() < 2 {
					return say("Operand %d is not a matrix (%s)", i, shapeText(v.Type.Shape))
				}
			}
			return nil
		}},
	{Code: "MLA-MATMUL-WEIGHTS", Doc: "a constant right side of MatMul has one zero point",
		Ops: []*ir.OpDef{op.MatMul},
		Check: func(n *ir.Node, _ *Limits) []string {
			q := n.In[1].Type.Quant
			if q == nil || n.In[1].Const == nil {
				return nil
			}
			for _, z := range q.Zero {
				if z != 0 {
					return say("Right side %s has zero point %d, weights are symmetric", n.In[1].Name, z)
				}
			}
			return nil
		}},
}

// depthwiseTransposed: one group a channel, on both sides.
func depthwiseTransposed(g *op.ConvGeom) bool { return g.Group == g.CIn && g.Group == g.COut }

// conv makes a check of a convolution's geometry.
func conv(check func(n *ir.Node, g *op.ConvGeom, l *Limits) []string) func(n *ir.Node, l *Limits) []string {
	return func(n *ir.Node, l *Limits) []string {
		return check(n, bug.Must(op.ConvGeometry(n)), l)
	}
}
