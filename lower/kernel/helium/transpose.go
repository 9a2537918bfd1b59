// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// farthest is how far apart bytes may lie whose offsets, up to seven times
// that, are counted in 16 bits.
const farthest = 65535 / 7

// transpose is a change of memory order.
var transpose = &kernel.Kernel{
	Name: "nncc_helium_transpose_s8", Library: Library,
	Doc: "8-bit conversion between memory orders that exchanges two neighbours", Ops: []*ir.OpDef{op.Relayout},
	Layout: func(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.AnyToAny} },
	Was:    "HELIUM-TRANS", Rules: kernel.All(cond.Helium, quantised.ExchangeRules(),
		cond.New("FARTHEST", fmt.Sprintf("one of the two runs has at most %d elements", farthest),
			func(n *kernel.Node) string {
				if _, rows, cols, ok := quantised.Exchange(n.Node); ok && min(rows, cols) > farthest {
					return fmt.Sprintf("%d elements are exchanged with %d, want at most %d on one side", rows, cols,
						farthest)
				}
				return ""
			})),
	Lower: func(n *kernel.Node) *call.Lowered {
		if n.In[0].Type.SameMemory(n.Out[0].Type.Order) {
			return call.ViewOf()
		}
		batches, rows, cols, _ := quantised.Exchange(n.Node)
		return own(&call.Lowered{}, call.Call{Func: "nncc_helium_transpose_s8",
			Args: []call.Arg{&call.Struct{Type: "nncc_helium_transpose_params", Fields: []call.Field{
				call.FI("batches", batches), call.FI("rows", rows), call.FI("cols", cols)}}, i8In(0), i8Out(0)}})
	},
}
