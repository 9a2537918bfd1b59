// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// channelConv writes what is left of BatchNormalization, a Mul and an Add with
// a constant per channel of a feature map, as a 1x1 depthwise convolution:
//
//	%m = Mul(%x, %c0)
//	%y = Add(%m, %c1)
//
// becomes
//
//	%y = Conv(%x, %w, %c1) {group=C}       with w = c0 as [C, 1, 1, 1]
//
// In float nothing is gained. In int8 much is: the convolution has a weight
// scale per channel and an int32 bias, where Mul and Add would have one int8
// scale for all channels' constants and round twice.
func channelConv(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if !is(n, "Mul") || n.Quantised() || n.Out[0].Type.Rank() != 4 || !n.Out[0].Type.DType.IsFloat() || op.HasAct(n) {
		return
	}
	a := affineOf(n, 1)
	if a == nil || a.x.Const != nil || allEqual(a.mul) || betweenQDQ(g, n) ||
		a.x.Type.Shape[1] != n.Out[0].Type.Shape[1] || !sameDims(a.x, n.Out[0]) {
		return
	}
	last := n
	var add []float64
	if m := g.SoleUse(n.Out[0]); is(m, "Add", "Sub") && !op.HasAct(m) && sameDims(n.Out[0], m.Out[0]) {
		if b := affineOf(m, 1); b != nil && b.x == n.Out[0] && allOne(b.mul) {
			add, last = b.add, m
		}
	}
	ch := len(a.mul)
	dt := a.x.Type.DType
	in := []*ir.Value{a.x, g.AddConst(n.Name+".weight", tensor.FromFloats(dt, []int{ch, 1, 1, 1}, a.mul))}
	if add != nil {
		in = append(in, g.AddConst(n.Name+".bias", tensor.FromFloats(dt, []int{ch}, add)))
	}
	y := insert(g, last, op.Conv, last.Name, ir.Attrs{"group": ir.Int(ch)}, in...)
	y.Def.Inherit(n)
	g.ReplaceUses(last.Out[0], y)
	c.Did(y.Def, "%s per channel as a 1x1 depthwise convolution", n)
	g.Remove(last)
	if last != n {
		g.Remove(n)
	}
}

func allEqual(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return x != v[0] })
}

func allOne(v []float64) bool { return allEqual(v) && len(v) > 0 && v[0] == 1 }

func sameDims(a, b *ir.Value) bool { return slices.Equal(a.Type.Shape, b.Type.Shape) }
