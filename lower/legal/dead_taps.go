// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// deadTaps takes the first and last taps from windows of Conv that see padding alone wherever
// the window stands, as on small pictures and with large dilations.
//
//	%y = Conv(%x [1,8,1,1], %w [4,8,3,3]) {pads=[1,1,1,1]}  =>  %y = Conv(%x, %v [4,8,1,1])
func deadTaps(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if !is(n, "Conv") || n.Quantised() || slices.Contains(n.Out[0].Type.Shape, 0) {
		return
	}
	x := bug.Must(op.ConvGeometry(n))
	rank := len(x.Kernel)
	from, to, pads := liveWindow(x)
	live := tensor.Count(lists.Make(rank, func(d int) int { return to[d] - from[d] }))
	// A depthwise window of 25 taps for 49 gains little, and the forms that compute it may take more memory.
	if all := tensor.Count(x.Kernel); live == all || x.Group > 1 && 2*live > all {
		return
	}
	if dq := n.In[1].Def; g.SoleUse(n.In[1]) != n || is(dq, "DequantizeLinear") && g.SoleUse(dq.In[0]) != dq {
		return // a kernel in float shares the weights
	}
	w := otherWeights(g, n, func(w *tensor.Dense) *tensor.Dense {
		for d := range rank {
			w = w.Slice(2+d, from[d], to[d])
		}
		return w
	})
	if w == nil {
		return
	}
	attrs := n.Attrs.Clone()
	delete(attrs, "auto_pad")
	delete(attrs, "kernel_shape")
	attrs["pads"] = ir.Ints(pads...)
	n.SetAttrs(attrs)
	g.SetInput(n, 1, w)
	c.Did(n, "a window of %v, as the other taps of %v see padding alone", w.Type.Shape[2:], x.Kernel)
}

// liveWindow are the bounds of the taps that count, in each dimension, and the pads of their window.
func liveWindow(x *op.ConvGeom) (from, to, pads []int) {
	rank := len(x.Kernel)
	from, to, pads = make([]int, rank), slices.Clone(x.Kernel), make([]int, 2*rank)
	for d := range rank {
		from[d], to[d] = liveTaps(x, d)
		pads[d] = x.PadBegin[d] - from[d]*x.Dilations[d]
		pads[rank+d] = max(0, lastTap(x, d, to[d]-1)+1-x.In[d])
		if (x.In[d]+pads[d]+pads[rank+d]-(to[d]-1-from[d])*x.Dilations[d]-1)/x.Strides[d]+1 != x.Out[d] || pads[d] < 0 {
			from[d], to[d], pads[d], pads[rank+d] = 0, x.Kernel[d], x.PadBegin[d], x.PadEnd[d]
		}
	}
	return from, to, pads
}

// liveTaps are the bounds of the taps in one dimension that see an element somewhere; all where
// none does.
func liveTaps(x *op.ConvGeom, d int) (from, to int) {
	from, to = x.Kernel[d], 0
	for k := range x.Kernel[d] {
		// of the places of the tap, S apart, the first that is no padding in front
		at := lastTap(x, d, k) - (x.Out[d]-1)*x.Strides[d]
		if at < 0 {
			at += (-at + x.Strides[d] - 1) / x.Strides[d] * x.Strides[d]
		}
		if at < x.In[d] && at <= lastTap(x, d, k) {
			from, to = min(from, k), k+1
		}
	}
	if to == 0 {
		from, to = 0, x.Kernel[d]
	}
	return from, to
}

// lastTap is where tap k of the last window stands in one dimension, seen from the first element.
func lastTap(x *op.ConvGeom, d, k int) int {
	return (x.Out[d]-1)*x.Strides[d] + k*x.Dilations[d] - x.PadBegin[d]
}
