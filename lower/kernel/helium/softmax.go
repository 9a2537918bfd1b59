// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// softmax has the exponentials of all 256 differences in a table.
var softmax = &kernel.Kernel{
	Name: "nncc_helium_softmax_s8", Library: Library,
	Doc: "int8 softmax over the innermost axis, exponentials by a table",
	Ops: []*ir.OpDef{op.Softmax}, Layout: quantised.Innermost, Lower: lowerSoftmax,
	Was: "HELIUM-SMAX", Rules: kernel.All(cond.Helium, quantised.SoftmaxRules(), quantised.SoftmaxTable),
}

func lowerSoftmax(n *kernel.Node) *call.Lowered {
	r := quantised.SoftmaxRows.Must(n)
	return own(&call.Lowered{Scratch: 4 * r.Size, InPlace: []int{0}}, call.Call{Func: "nncc_helium_softmax_s8",
		Args: []call.Arg{
			&call.Struct{Type: "nncc_helium_softmax_params", Fields: []call.Field{call.FI("rows", r.Count),
				call.FI("size", r.Size)}},
			i8In(0), quantised.Exponentials(n.Node), call.Scratch{CType: "int32_t"}, i8Out(0)}})
}
