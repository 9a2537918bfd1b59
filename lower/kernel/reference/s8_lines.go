// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel/pack"
)

// channelLines are the functions of the rows as lines with one shift.
type channelLines struct {
	rows     []pack.Line
	positive *pack.Line // PRelu: for inputs at or above the zero point
	shift    int32
}

// inLines looks for lines, nil: there are none.
func (p *channelPlan) inLines(n *ir.Node) *channelLines {
	lo, hi := op.ActRange(n, n.Out[0].Type)
	in, last := n.In[p.x].Type.Quant, int32(127)
	prelu := n.Op == op.PRelu && p.x == 0
	if prelu {
		last = in.Zero[0] - 1
	}
	var targets []pack.Target
	for i, row := range p.rows {
		targets = append(targets, pack.Target{Slope: p.slope(n, i), From: -128, To: last, Of: target8(row)})
	}
	if prelu {
		targets = append(targets, pack.Target{Slope: float64(in.Scale[0]) / float64(n.Out[0].Type.Quant.Scale[0]),
			From: last + 1, To: 127, Of: target8(p.rows[0])})
	}
	lines, shift, ok := pack.Lines(targets, lo, hi)
	if !ok {
		return nil
	}
	c := &channelLines{rows: lines[:len(p.rows)], shift: shift}
	if prelu {
		c.positive = &lines[len(p.rows)]
	}
	return c
}

// lines emits the functions of channels wherever these lie in memory.
func (l *lowering) lines(p *channelPlan) {
	c, n := p.lines, l.n
	dim, _ := channelDim(n)
	outer, channels, inner := outerAxisInner(n.Out[0].Type, dim)
	mult, bias := make([]int32, channels), make([]int32, channels)
	for i, r := range p.index {
		mult[i], bias[i] = c.rows[r].Mult, c.rows[r].Bias
	}
	f := append(ints("outer", outer, "channels", channels, "inner", inner, "shift", call.T(c.shift)), clampFields(n)...)
	if c.positive != nil {
		f = append(f, ints("mult", call.T(c.positive.Mult), "bias", call.T(c.positive.Bias), "zero",
			call.T(n.In[p.x].Type.Quant.Zero[0]), "two", 1)...)
	}
	l.low.Kernel = "nncc_channel_lines_s8"
	l.call("nncc_channel_lines_s8", params("nncc_channel_lines_s8_params", f...), l.in(p.x), i32Blob("mult", mult),
		i32Blob("bias", bias), l.out(0))
}
