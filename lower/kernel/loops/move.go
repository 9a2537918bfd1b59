// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// triangle writes Trilu with a diagonal known or computed.
func triangle(f *fn) {
	n := f.n
	shape := n.In[0].Type.Shape
	r := len(shape)
	x, y := f.in(0), f.out(0)
	k := "0"
	if f.has(1) {
		f.line("const int64_t k = %s;", load(f.in(1), "0"))
		k = "k"
	}
	f.loop("m", tensor.Count(shape[:r-2]))
	f.loop("i", shape[r-2])
	f.loop("j", shape[r-1])
	idx := fmt.Sprintf("(m * %d + i) * %d + j", shape[r-2], shape[r-1])
	cond := "j - i >= " + k
	if ir.AttrsOf[op.TriluAttrs](n).Upper == 0 {
		cond = "j - i <= " + k
	}
	f.line("%s[%s] = (%s) ? %s[%s] : 0;", y.name, idx, cond, x.name, idx)
}

// oneHot writes OneHot.
func oneHot(f *fn) {
	n := f.n
	shape := n.Out[0].Type.Shape
	axis := kernel.Known(op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis, len(shape)))
	x, values, y := f.in(0), f.in(2), f.out(0)
	depth, inner := shape[axis], tensor.Count(shape[axis+1:])
	f.loop("o", tensor.Count(shape[:axis]))
	f.loop("i", inner)
	index := load(x, fmt.Sprintf("o * %d + i", inner))
	switch classOf(x.t) {
	case floating:
		index = "nncc_f64_to_i64(" + index + ")"
	case large:
		index = "(int64_t)" + index
	}
	f.line("int64_t at = %s;", index)
	f.open("if (at < 0)")
	f.line("at += %d;", depth)
	f.close()
	f.loop("d", depth)
	f.line("%s[(o * %d + d) * %d + i] = %s[d == at ? 1 : 0];", y.name, depth, inner, values.name)
}

// compress writes Compress: a list of the slices that stay.
func compress(f *fn) {
	n := f.n
	cond := kernel.Known(op.ConstInts(n, 1, "the condition"))
	var keep []int32
	for i, c := range cond {
		if c != 0 {
			keep = append(keep, int32(i))
		}
	}
	shape := n.In[0].Type.Shape
	axis := 0
	if a := ir.AttrsOf[op.CompressAttrs](n).Axis; a != nil {
		axis = kernel.Known(op.Axis(n, *a, len(shape)))
	} else {
		shape = []int{tensor.Count(shape)}
	}
	x, y := f.in(0), f.out(0)
	list := f.table("keep", tensor.Of([]int{len(keep)}, keep))
	inner := tensor.Count(shape[axis+1:])
	f.loop("o", tensor.Count(shape[:axis]))
	f.loop("k", len(keep))
	f.loop("i", inner)
	f.copy(y, fmt.Sprintf("(o * %d + k) * %d + i", len(keep), inner), x, fmt.Sprintf("(o * %d + %s[k]) * %d + i",
		shape[axis], list.name, inner))
}

// reverseSequence writes ReverseSequence.
func reverseSequence(f *fn) {
	n := f.n
	shape := n.In[0].Type.Shape
	ba, ta := ir.AttrsOf[op.ReverseSequenceAttrs](n).BatchAxis, ir.AttrsOf[op.ReverseSequenceAttrs](n).TimeAxis
	st := tensor.Strides(shape)
	x, lens, y := f.in(0), f.in(1), f.out(0)
	block, step := tensor.Count(shape[2:])*x.t.Size(), st[ta]*x.t.Size()
	f.headers = append(f.headers, "nncc_move.h")
	f.loop("b", shape[ba])
	f.line("const int64_t n = %s;", load(lens, "b"))
	f.line("const int32_t len = n < 0 ? 0 : n > %[1]d ? %[1]d : (int32_t)n;", shape[ta])
	f.line("const nncc_copy_rows_params turned = {len, %d, %d, %d};", block, -step, step)
	f.line("const nncc_copy_rows_params rest = {%d - len, %d, %d, %d};", shape[ta], block, step, step)
	for _, part := range [][3]string{{"turned", "(len > 0 ? len - 1 : 0)", "0"}, {"rest", "len", "len"}} {
		f.line("nncc_copy_rows(&%s, &%s[b * %d + %s * %d], &%s[b * %d + %s * %d]);", part[0], x.name, st[ba], part[1],
			st[ta], y.name, st[ba], part[2], st[ta])
	}
}

// combined is an element of a scatter with reduction, by class.
var combined = map[string]map[class]string{
	"add": {floating: "a + b", whole: "(int64_t)((uint64_t)a + (uint64_t)b)", large: "a + b"},
	"mul": {floating: "a * b", whole: "(int64_t)((uint64_t)a * (uint64_t)b)", large: "a * b"},
	"max": {floating: "nncc_max_f64(a, b)", whole: "a > b ? a : b", large: "a > b ? a : b"},
	"min": {floating: "nncc_min_f64(a, b)", whole: "a < b ? a : b", large: "a < b ? a : b"},
}

// put stores or combines element u of the updates at place p.
func (f *fn) put(y ref, p string, updates ref, u string) {
	how := ir.AttrsOf[op.ReductionAttr](f.n).Reduction
	if how == "none" {
		f.copy(y, p, updates, u)
		return
	}
	c := classOf(y.t)
	f.line("const %s a = %s;", c.wide(), load(y, p))
	f.line("const %s b = %s;", c.wide(), load(updates, u))
	f.store(y, p, combined[how][c])
}

// scatterElements writes ScatterElements.
func scatterElements(f *fn) {
	n := f.n
	shape, idx := n.In[0].Type.Shape, n.In[1].Type.Shape
	axis := kernel.Known(op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis, len(shape)))
	x, index, updates, y := f.in(0), f.in(1), f.in(2), f.out(0)
	f.each("i", tensor.Count(shape), "%s[i] = %s[i];", y.name, x.name)
	v := f.nest("i", idx)
	u := at(v, tensor.Strides(idx))
	f.index("k", index, u, shape[axis])
	w := append([]string{}, v...)
	w[axis] = "k"
	f.put(y, at(w, tensor.Strides(shape)), updates, u)
}

// scatterND writes ScatterND.
func scatterND(f *fn) {
	n := f.n
	shape, idx := n.In[0].Type.Shape, n.In[1].Type.Shape
	k := idx[len(idx)-1]
	x, index, updates, y := f.in(0), f.in(1), f.in(2), f.out(0)
	f.each("i", tensor.Count(shape), "%s[i] = %s[i];", y.name, x.name)
	inner := tensor.Count(shape[k:])
	f.loop("r", tensor.Count(idx[:len(idx)-1]))
	p := "0"
	for d := range k {
		name := fmt.Sprintf("c%d", d)
		f.index(name, index, fmt.Sprintf("r * %d + %d", k, d), shape[d])
		p = fmt.Sprintf("(%s) * %d + %s", p, shape[d], name)
	}
	f.loop("i", inner)
	f.put(y, fmt.Sprintf("(%s) * %d + i", p, inner), updates, fmt.Sprintf("r * %d + i", inner))
}

// gather writes Gather where the kernel's conditions do not hold.
func gather(f *fn) {
	n := f.n
	shape, idx := n.In[0].Type.Shape, n.In[1].Type
	axis := kernel.Known(op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis, len(shape)))
	x, index, y := f.in(0), f.in(1), f.out(0)
	inner := tensor.Count(shape[axis+1:])
	f.loop("o", tensor.Count(shape[:axis]))
	f.loop("k", idx.Elems())
	f.index("at", index, "k", shape[axis])
	f.loop("i", inner)
	f.copy(y, fmt.Sprintf("(o * %d + k) * %d + i", idx.Elems(), inner), x, fmt.Sprintf("(o * %d + at) * %d + i",
		shape[axis], inner))
}

// known: the listed inputs are constant.
func known(idx ...int) func(n *ir.Node) string {
	return func(n *ir.Node) string {
		for _, i := range idx {
			if v := n.Input(i); v != nil && v.Const == nil {
				return fmt.Sprintf("input %d (%s) is computed at run time, want a constant", i, v)
			}
		}
		return ""
	}
}

func moveRows() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("trilu", "triangles, the diagonal computed at run time, too", triangle, nil, op.Trilu),
		row("one_hot", "indices as one-hot vectors, any element type", oneHot, nil, op.OneHot),
		row("compress", "slices selected by a constant", compress, known(1), op.Compress),
		row("reverse_sequence", "sequences of given lengths reversed", reverseSequence, nil, op.ReverseSequence),
		row("scatter_elements", "elements replaced or combined by index, any element type", scatterElements, nil,
			op.ScatterElements),
		row("scatter_nd", "slices replaced or combined by coordinates, any element type", scatterND, nil, op.ScatterND),
		row("gather", "slices by index, any element type", gather, nil, op.Gather),
	}
}
