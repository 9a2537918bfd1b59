// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// AddRules are the conditions on an addition of two int8 operands.
func AddRules() kernel.Rules { return kernel.Rules{Int8(0, 1), SameShapes} }

// expandUpTo is how many bytes of flash the array of a broadcast constant may
// take; above it a kernel that repeats the constant is the better one.
const expandUpTo = 1024

// SameShapes is the rule that operands have the result's shape: vector kernels
// do not broadcast. A small constant operand is expanded at compile time.
var SameShapes = cond.New("SHAPES", "operands of the output's shape (small constants are expanded)",
	func(n *kernel.Node) string {
		out := n.Out[0].Type
		for _, v := range n.In {
			switch {
			case v.Const == nil && !slices.Equal(v.Type.Shape, out.Shape):
				return fmt.Sprintf("%s has shape %v and is broadcast to %v at run time", v, v.Type.Shape, out.Shape)
			case v.Const != nil && v.Const.Len() != out.Elems() && out.Elems() > expandUpTo:
				return fmt.Sprintf("the constant %s of %d elements would take %d bytes of flash in the shape of "+
					"the "+
					"result, want at most %d", v, v.Const.Len(), out.Elems(), expandUpTo)
			}
		}
		return ""
	})

// Operand is operand i of an element-wise operator in the memory order of the
// output; constants become arrays of the output's size.
func Operand(n *ir.Node, i int) call.Arg {
	v := n.In[i]
	ctype := call.CType(v.Type.DType)
	if v.Const == nil {
		return call.In{I: i, CType: ctype}
	}
	t := n.Out[0].Type
	d := tensor.New(v.Type.DType, t.Shape)
	st := make([]int, len(t.Shape))
	cs := tensor.Strides(v.Const.Shape)
	for k, dim := range v.Const.Shape {
		if dim != 1 {
			st[len(st)-len(cs)+k] = cs[k]
		}
	}
	tensor.Gather(d, v.Const, t.Shape, st, 0)
	return &call.Blob{Hint: "operand", CType: ctype, Data: d.Transpose(t.OrderOrIdentity()).Bytes(), Align: 4,
		NoCast: true}
}

// Elementwise is a lowering of an element-wise operator without its calls: the
// result may take the place of an operand, constants are in the calls.
func Elementwise(n *ir.Node, over func(inputs ...int) []call.Overlap) *call.Lowered {
	l := &call.Lowered{Unused: Constants(n)}
	for i, v := range n.In {
		if v.Const == nil {
			l.Overlap = append(l.Overlap, over(i)...)
		}
	}
	return l
}

// Constants are the constant inputs.
func Constants(n *ir.Node) []int {
	var p []int
	for i, v := range n.In {
		if v != nil && v.Const != nil {
			p = append(p, i)
		}
	}
	return p
}
