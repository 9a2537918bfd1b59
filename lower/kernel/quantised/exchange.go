// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"fmt"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// Bytes is the rule that a Relayout moves 8-bit data computed at run time.
var Bytes = cond.New("BYTES", "8-bit data computed at run time", func(n *kernel.Node) string {
	v := n.In[0]
	if d := v.Type.DType; d != tensor.I8 && d != tensor.U8 {
		return fmt.Sprintf("%s is %s, want int8 or uint8", v, d)
	}
	return cond.If(v.Const != nil, "%s is constant", v)
})

// ExchangeRules are the conditions on a Relayout of bytes that transposes
// matrices, or that moves nothing.
func ExchangeRules() kernel.Rules {
	return kernel.Rules{Bytes, cond.New("EXCHANGE", "two runs of dimensions are exchanged, the rest stays in front",
		func(n *kernel.Node) string {
			_, _, _, ok := kernel.Exchange(n.Node)
			return cond.If(!ok && !n.In[0].Type.SameMemory(n.Out[0].Type.Order), "from order %v to %v",
				n.In[0].Type.OrderOrIdentity(), n.Out[0].Type.OrderOrIdentity())
		}),
	}
}

// AnyRelayoutRules are the conditions on a Relayout of bytes in any order.
func AnyRelayoutRules() kernel.Rules {
	return kernel.Rules{Bytes, cond.New("RUNS", "at most 8 runs of dimensions, none empty",
		func(n *kernel.Node) string {
			if n.In[0].Type.Elems() == 0 {
				return "a dimension has size 0"
			}
			size, _ := kernel.Permutation(n.Node)
			return cond.If(len(size) > 8, "%d runs of dimensions move apart, want at most 8", len(size))
		})}
}

// LowerRelayout copies run by run.
func LowerRelayout(n *kernel.Node) *call.Lowered {
	x, y := n.In[0].Type, n.Out[0].Type
	if x.SameMemory(y.Order) {
		return call.ViewOf()
	}
	phys := y.Phys()
	return &call.Lowered{Kernel: "nncc_copy_nd", Calls: []call.Call{
		copyDims(n, phys, kernel.Permuted(kernel.Strides(x), y.OrderOrIdentity()), tensor.Strides(phys))}}
}

// copyDims copies bytes of the input to the output, run by run; x and y are their strides.
func copyDims(n *kernel.Node, size, x, y []int) call.Call {
	dims, st := kernel.MergeDims(size, x, y)
	order := kernel.LoopOrder(1, n.Core.MVE, dims, st[0], st[1])
	list := func(name string, v []int) call.Field { return call.F(name, call.IntArray(kernel.Permuted(v, order))) }
	return call.Call{Func: "nncc_copy_nd", Args: []call.Arg{
		&call.Struct{Type: "nncc_copy_nd_params", Fields: append(call.Ints("elem", 1, "rank", len(dims)),
			list("dims", dims), list("x_stride", st[0]), list("y_stride", st[1]))},
		call.In{CType: "uint8_t"}, call.Out{CType: "uint8_t"}}}
}
