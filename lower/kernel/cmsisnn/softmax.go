// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// softmaxRow is the longest row whose exponentials, at most 1 in Q12.19, have a
// sum of 31 bits. Builds of CMSIS-NN differ beyond: a compiler may take the sum of
// positive numbers for positive.
const softmaxRow = 1<<12 - 1

var softmaxSum = cond.New("SOFTMAX-ROWS",
	fmt.Sprintf("rows of at most %d values, whose exponentials have a sum of 31 bits", softmaxRow),
	func(n *kernel.Node) string {
		r, why := quantised.SoftmaxRows.Of(n)
		if why != "" || r.Size <= softmaxRow {
			return ""
		}
		return fmt.Sprintf("rows have %d values, want at most %d", r.Size, softmaxRow)
	})

// softmax is arm_softmax_s8.
var softmax = &kernel.Kernel{
	Name: "arm_softmax_s8", Library: Library, Was: "CMSIS-SMAX", Doc: "int8 softmax over the innermost axis",
	Ops:    []*ir.OpDef{op.Softmax},
	Layout: quantised.Innermost, Rules: append(quantised.SoftmaxRules(), softmaxSum),
	Lower: func(n *kernel.Node) *call.Lowered {
		r := quantised.SoftmaxRows.Must(n)
		mult, shift, diffMin, _ := op.SoftmaxKernel(n.Node)
		return calls(&call.Lowered{}, call.Call{Func: "arm_softmax_s8", Args: []call.Arg{
			i8In(0), call.I32(r.Count), call.I32(r.Size), call.T(mult), call.T(shift),
			call.T(diffMin), i8Out(0)}})
	},
}
