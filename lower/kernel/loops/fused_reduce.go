// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// reducible fails where a reduction cannot end a loop: it adds up in the order in which its kernel does, whatever
// order memory has.
func reducible(n *ir.Node) {
	x, y := n.In[0].Type, n.Out[0].Type
	whole := n.Op == op.ReduceSum && x.DType == tensor.I32
	fail.If(n.Op.Fold == nil || !whole && x.DType != tensor.F32 || y.DType != x.DType || x.Quant != nil,
		"no loop over float32 elements, or a sum of int32, with one number in between")
	axes := fail.Must(op.ReduceAxes(n))
	long := func(a int) bool { return x.Shape[a] > 1 }
	axes = slices.DeleteFunc(slices.Clone(axes), func(a int) bool { return !long(a) })
	fail.If(y.Rank() == x.Rank() && len(axes) > 1 && slices.Contains(axes, 1),
		"the order of the sum over dimensions %v depends on that of memory", axes)
}

// reduce writes the nest of a body that ends in a reduction: loops over what is
// kept, and in them those over what is not.
func (w *fuser) reduce(n *ir.Node, x variable) {
	axes := fail.Must(op.ReduceAxes(n))
	f := w.f
	fold := n.Op.Fold
	order := w.out.OrderOrIdentity()
	phys := w.out.Phys()
	var kept, gone []int // positions in memory order
	for k, d := range order {
		if slices.Contains(axes, d) {
			gone = append(gone, k)
		} else {
			kept = append(kept, k)
		}
	}
	st := w.strides()
	pick := func(places []int) ([]int, [][]int) {
		s := lists.Make(len(st), func(i int) []int { return kernel.Permuted(st[i], places) })
		return kernel.MergeDims(kernel.Permuted(phys, places), s...)
	}
	outer, so := pick(kept)
	inner, si := pick(gone)
	all := make([][]int, len(st))
	count := 1
	for i := range st {
		all[i] = append(slices.Clone(so[i]), si[i]...)
	}
	for _, d := range inner {
		count *= d
	}
	w.numbers()
	y := f.out(0)
	w.read(-1, nil, all)
	var v []string
	f.line("int32_t i = 0;")
	for d, size := range outer {
		v = w.dimension(v, fmt.Sprintf("i%d", d), size)
		w.read(d, v, all)
	}
	whole := w.out.DType == tensor.I32
	if whole {
		f.line("uint32_t s = 0;")
	} else {
		f.line("float s = %s;", num32(float32(fold.Start)))
	}
	depth := f.depth
	for d, size := range inner {
		v = w.dimension(v, fmt.Sprintf("k%d", d), size)
		w.read(len(outer)+d, v, all)
	}
	w.body()
	if whole {
		f.line("s += (uint32_t)%s;", x.name)
	} else {
		f.line("const float v = %s;", x.name)
		f.line("s = %s;", kernel.Written(kernel.Float32(fold.Step), nil, "s", "v"))
	}
	f.closeTo(depth)
	finish := "s"
	if whole {
		finish = "(int32_t)s"
	}
	if form := kernel.Float32(fold.Finish); form != "" {
		finish = kernel.Written(form, nil, "s")
	}
	if n.Op.Spread == ir.Averages {
		finish = fmt.Sprintf("s / (float)%d", count)
	}
	f.line("%s[i] = %s;", y.name, finish)
	f.line("i++;")
	f.closeTo(1)
}
