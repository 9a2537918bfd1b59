// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"fmt"

	"github.com/nncc/nncc/ir"
)

// svdf is an SVDF with its state in int8, with a zero point, or in int16; now and then
// with weights that its kernel refuses.
func (w *drawer) svdf() *ir.Graph {
	batch, inputs, units, rank, memory := w.In(1, 2), w.In(1, 20), w.In(1, 6), w.In(1, 3), w.In(1, 9)
	filters := units * rank
	x := w.input(batch, inputs)
	if !w.quantised() {
		t := w.data()
		operand := func(shape ...int) string { return w.value(t+shapeText(shape), w.rand()) }
		return w.node("nncc.SVDF", fmt.Sprintf("rank=%d", rank), 2, x, operand(filters, inputs),
			operand(filters, memory), operand(units), operand(batch, filters, memory))
	}
	elem, state := "i8", fmt.Sprintf("q(0.25:%d)", w.In(-40, 40))
	if w.Chance(50) {
		elem, state = "i16", "q(0.002:0)"
	}
	zero := map[bool]int{true: 3}[w.Chance(10)]
	features := w.value(fmt.Sprintf("i8[%d,%d] q(0.01:%d)", filters, inputs, zero), w.rand())
	time := w.value(fmt.Sprintf("%s[%d,%d] q(0.02:0)", elem, filters, memory), w.rand())
	bias := w.value(fmt.Sprintf("i32[%d]", units), w.rand())
	kept := w.value(fmt.Sprintf("%s[%d,%d,%d] %s", elem, batch, filters, memory, state), "")
	w.out = " q(0.5:-7)"
	g := w.node("nncc.SVDF", fmt.Sprintf("rank=%d", rank), 2, x, features, time, bias, kept)
	if g != nil {
		n := g.Nodes[0]
		n.Out[1].Type = n.In[4].Type
	}
	return g
}
