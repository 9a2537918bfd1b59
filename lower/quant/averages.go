// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
)

// largestAverage is the number of weights a channel that an average may take.
const largestAverage = 32

// Averages writes int8 averages that CMSIS-NN's pooling does not define
// as depthwise convolutions, where every window has the same divisor:
//
//	%y = AveragePool(%x) {count_include_pad=1, kernel_shape=[3,3], pads=[1,1,1,1]}
//
// becomes
//
//	%y = Conv(%x, %w) {group=C, kernel_shape=[3,3], pads=[1,1,1,1]}     with w = 1, of scale 1/9
//
// These are averages that count padding, that have another scale or zero
// point than their input, and dilated ones. A convolution pads with the zero
// point, which is 0, and goes from the input's scale to the output's in its one
// rounding; there are kernels for it on all cores.
var Averages = pass.Each(func(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	k, ok := averageTaps(n)
	if !ok {
		return
	}
	channels := n.In[0].Type.Shape[1]
	kernel := ir.AttrsOf[op.KernelShapeAttr](n).KernelShape
	w := tensor.New(tensor.I8, append([]int{channels, 1}, kernel...))
	for i := range w.Len() {
		w.SetInt(i, 1)
	}
	v := g.AddQuantConst(n.Name+".weight", w, ir.PerTensor(1/float32(k), 0))
	attrs := n.Attrs.Clone()
	delete(attrs, "ceil_mode") // no window hangs over the end
	delete(attrs, "count_include_pad")
	attrs["group"] = ir.Int(channels)
	y := g.Insert(n, n, op.Conv, n.Name, attrs, n.In[0], v)
	y.Type = n.Out[0].Type
	c.Replace(g, n, y, "%s as a depthwise convolution: an average of %d elements", n, k)
})

// averageTaps is the divisor of an AveragePool that Averages writes as a convolution.
func averageTaps(n *ir.Node) (int, bool) {
	if n.Op != op.AveragePool || !n.Quantised() || n.In[0].Type.Rank() > 4 {
		return 0, false
	}
	for _, v := range []*ir.Value{n.In[0], n.Out[0]} {
		if v.Type.DType != tensor.I8 || v.Type.Quant == nil || v.Type.Quant.PerAxis() {
			return 0, false
		}
	}
	if _, _, why := op.PoolQuantClamp(n); why == "" {
		return 0, false
	}
	g := bug.Must(op.PoolGeometry(n))
	if !g.Exact() || g.Padded() && !g.CountPad || g.Taps() > largestAverage {
		return 0, false
	}
	if peakOf(n.In[0].Type) > maxReach*float64(n.Out[0].Type.Quant.Scale[0]) {
		return 0, false
	}
	return g.Taps(), true
}

// Turned writes transposed convolutions of stride 1 on integers as convolutions
// with the kernel turned round: the same sums, and better kernels.
//
//	%y = ConvTranspose(%x, %w) {pads=[1,1,1,1]}     with w of [4,2,3,3]
//
// becomes
//
//	%y = Conv(%x, %v) {pads=[1,1,1,1]}              with v of [2,4,3,3]
var Turned = pass.Each(func(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	geom, pads, ok := turnable(n)
	if !ok {
		return
	}
	w := g.AddQuantConst(n.Name+".turned", op.TurnedWeights(geom, n.In[1].Const), turnedQuant(n.In[1].Type.Quant))
	attrs := n.Attrs.Clone()
	for _, name := range []string{"output_padding", "output_shape", "auto_pad", "strides"} {
		delete(attrs, name)
	}
	attrs["pads"], attrs["dilations"] = ir.Ints(pads...), ir.Ints(geom.Dilations...)
	y := g.Insert(n, n, op.Conv, n.Name, attrs, n.In[0], w, n.Input(2))
	y.Type = n.Out[0].Type
	c.Replace(g, n, y, "%s as a convolution: its stride is 1", n)
})

// turnable is the geometry of a transposed convolution that Turned writes, and the pads of the convolution.
func turnable(n *ir.Node) (g *op.ConvGeom, pads []int, ok bool) {
	if n.Op != op.ConvTranspose || !n.Quantised() || n.ConstIn(1) == nil || n.In[1].Type.Quant == nil {
		return nil, nil, false
	}
	g = bug.Must(op.ConvGeometry(n))
	if g.Group > 1 && n.In[1].Type.Quant.PerAxis() {
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
