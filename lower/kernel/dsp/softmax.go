// SPDX-License-Identifier: Apache-2.0

package dsp

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
	Name: "nncc_dsp_softmax_s8", Library: Library,
	Doc: "int8 softmax over the innermost axis, exponentials by a table",
	Ops: []*ir.OpDef{op.Softmax}, Layout: quantised.Innermost,
	Was: "DSP-SMAX", Rules: kernel.All(cond.NoHelium, quantised.SoftmaxRules(), quantised.SoftmaxTable),
	Lower: func(n *kernel.Node) *call.Lowered {
		r := quantised.SoftmaxRows.Must(n)
		return own(&call.Lowered{Scratch: 4 * r.Size, InPlace: []int{0}}, call.Call{Func: "nncc_dsp_softmax_s8",
			Args: []call.Arg{
				&call.Struct{Type: "nncc_dsp_softmax_params", Fields: fields("rows", r.Count, "size", r.Size)},
				i8In(0), quantised.Exponentials(n.Node), scratch32(0), i8Out(0)}})
	},
}
