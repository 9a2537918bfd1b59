// SPDX-License-Identifier: Apache-2.0

package align

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Copied is the status of input channels that a copy in front of the layer adds.
const Copied = "COPIED"

// A copy is the other way to a multiple: a Pad in front of one convolution adds
// the channels, so that no other layer changes, and dims that an interface or a
// Reshape fixes do not matter. It pays where the convolution saves more than the
// copy costs.
type wide struct {
	d        *need
	channels int
	saves    float64
	why      string
}

// copies are the convolutions in front of which copies pay, in the order of the
// needs. It is asked after the padding of the graph is planned.
func (a *analysis) copies(needs []*need) []wide {
	var out []wide
	for _, d := range needs {
		x := d.n.In[0]
		if d.constraint != "input_channels" || d.x.padded()%d.multiple == 0 ||
			ir.AttrsOf[op.GroupAttr](d.n).Group != 1 || x.Const != nil || x.Type.Quant.PerAxis() {
			continue
		}
		now := a.price(d.n)
		if now.Unknown != "" {
			continue
		}
		c := d.x.padded()
		shape := paddedShape(a.in(d.n, 0))
		wider := append([]int(nil), shape...)
		wider[1] = (c + d.multiple - 1) / d.multiple * d.multiple
		in := make([][]int, len(d.n.In))
		in[0] = wider
		then := a.opt.Price(d.n, in, [][]int{paddedShape(a.out(d.n, 0))})
		copying := a.opt.Copy(shape, wider)
		if then.Unknown != "" || copying.Unknown != "" {
			continue
		}
		after := then.Instructions*(1+then.Error) + copying.Instructions*(1+copying.Error)
		if saves := now.Instructions*(1-now.Error) - after; saves > worthwhile*now.Instructions {
			out = append(out, wide{d, wider[1], now.Instructions - then.Instructions - copying.Instructions,
				fmt.Sprintf("%.0f instructions become %.0f and %.0f for the copy; %s instead of %s", now.Instructions,
					then.Instructions, copying.Instructions, then.Kernel, now.Kernel)})
		}
	}
	return out
}

// insert puts the copy in front of the convolution, whose weights get zeros for
// the new channels.
func (a *analysis) insert(w wide) error {
	n := w.d.n
	x := n.In[0]
	rank, c := x.Type.Rank(), x.Type.Shape[1]
	pads := make([]int, 2*rank)
	pads[rank+1] = w.channels - c
	p, err := a.g.InsertBefore(n, op.Pad, n.Name+".wide", ir.Attrs{"mode": ir.Str("constant")}, 1, x,
		a.g.AddConst(n.Name+".wide.pads", tensor.Ints(pads...)))
	if err != nil {
		return bug.Errorf("%w", err)
	}
	if q := x.Type.Quant; q != nil {
		p.Out[0].Type = p.Out[0].Type.WithQuant(x.Type.DType, q)
	}
	a.g.SetInput(n, 0, p.Out[0])
	v := n.In[1]
	var axes []axis
	for i, size := range v.Type.Shape {
		axes = append(axes, a.space.axis(size))
		if i == 1 {
			axes[i][0].d.pad = w.channels - c
		}
	}
	zero := func([]int) float64 { return 0 }
	if q := v.Type.Quant; q != nil {
		zero = func(at []int) float64 {
			if q.Axis < 0 {
				return float64(q.Zero[0])
			}
			return float64(q.Zero[at[q.Axis]])
		}
	}
	k := a.g.AddConst(v.Name, padDense(v.Const, axes, zero))
	k.Type.Quant = v.Type.Quant
	a.g.SetInput(n, 1, k)
	return a.g.Reinfer(n)
}
