// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
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
func Averages(c *pass.Ctx, g *ir.Graph) error {
	return c.Each(g, func(n *ir.Node) error {
		k, ok := averageTaps(n)
		if !ok {
			return nil
		}
		channels := n.In[0].Type.Shape[1]
		kernel := ir.AttrsOf[op.KernelShapeAttr](n).KernelShape
		w := tensor.New(tensor.I8, append([]int{channels, 1}, kernel...))
		for i := range w.Len() {
			w.SetInt(i, 1)
		}
		v := g.AddConst(n.Name+".weight", w)
		v.Type = v.Type.WithQuant(tensor.I8, ir.PerTensor(1/float32(k), 0))
		attrs := n.Attrs.Clone()
		delete(attrs, "ceil_mode") // no window hangs over the end
		delete(attrs, "count_include_pad")
		attrs["group"] = ir.Int(channels)
		m, err := g.InsertBefore(n, op.Conv, n.Name, attrs, 1, n.In[0], v)
		if err != nil {
			return err
		}
		m.Out[0].Type = n.Out[0].Type
		m.Inherit(n)
		c.Did(m, "%s as a depthwise convolution: an average of %d elements", n, k)
		g.ReplaceUses(n.Out[0], m.Out[0])
		g.Remove(n)
		return nil
	})
}

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
	g, err := op.PoolGeometry(n)
	if err != nil || !g.Exact() || g.Padded() && !g.CountPad || g.Taps() > largestAverage {
		return 0, false
	}
	if peakOf(n.In[0].Type) > maxReach*float64(n.Out[0].Type.Quant.Scale[0]) {
		return 0, false
	}
	return g.Taps(), true
}
