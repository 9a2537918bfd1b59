package cmsisnn

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// softmax is arm_softmax_s8.
var softmax = &kernel.Kernel{
	Name: "arm_softmax_s8", Library: Library, Doc: "int8 softmax over the innermost axis", Ops: []*ir.OpDef{op.Softmax},
	Layout: quantised.Innermost, Rules: quantised.SoftmaxRules("CMSIS-SMAX"),
	Lower: func(n *kernel.Node) *call.Lowered {
		r := quantised.SoftmaxRows.Must(n)
		mult, shift, diffMin, _ := op.SoftmaxKernel(n.Node)
		return calls(&call.Lowered{}, call.Call{Func: "arm_softmax_s8", Args: []call.Arg{
			i8In(0), call.I32(r.Count), call.I32(r.Size), call.I32(int(mult)), call.I32(int(shift)),
			call.I32(int(diffMin)), i8Out(0)}})
	},
}
