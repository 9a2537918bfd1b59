// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
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

// softmax16 is arm_softmax_s16 on rows: the axis must be innermost in memory.
var softmax16 = &kernel.Kernel{
	Name: "arm_softmax_s16", Library: Library, Was: "CMSIS-SMAX16", Doc: "int16 softmax over the innermost axis",
	Ops: []*ir.OpDef{op.Softmax}, Layout: softmax.Layout,
	Rules: kernel.Rules{quantised.Int16(0),
		cond.New("SOFTMAX-SCALES", "output scale 1/32768; an input scale and rows that nothing overflows with",
			func(n *kernel.Node) string {
				if !op.Sixteen(n.Node) {
					return kernel.Unread
				}
				if alone(n.Node) {
					return ""
				}
				_, _, why := op.SoftmaxKernel16(n.Node)
				return why
			})},
	Lower: func(n *kernel.Node) *call.Lowered {
		t, rows := n.Out[0].Type, quantised.SoftmaxRows.Must(n)
		if alone(n.Node) { // the library's function gives -1: its result wraps
			one := ir.QuantiseAway(tensor.Of(nil, []float64{1}), t)
			return calls(&call.Lowered{Kernel: "nncc_fill"}, call.Call{Func: "nncc_fill", Args: []call.Arg{
				&call.Struct{Type: "nncc_fill_params", Fields: []call.Field{call.FI("elem", 2),
					call.FI("count", t.Elems())}},
				&call.Blob{Hint: "one", CType: "int16_t", Data: one.Bytes(), NoCast: true},
				call.Out{I: 0, CType: "void"}}})
		}
		mult, shift, _ := op.SoftmaxKernel16(n.Node)
		tables := &call.Struct{Type: "cmsis_nn_softmax_lut_s16", Fields: []call.Field{
			call.F("exp_lut", lutBlob(qref.SoftmaxExp16)), call.F("one_by_one_lut", lutBlob(qref.SoftmaxReciprocal16))}}
		return calls(&call.Lowered{}, call.Call{Func: "arm_softmax_s16", Status: call.CMSISStatus, Args: []call.Arg{
			call.In{I: 0, CType: "int16_t"}, call.I32(rows.Count), call.I32(rows.Size), call.T(mult),
			call.T(shift), tables,
			call.Out{I: 0, CType: "int16_t"}}})
	},
}

// alone: every result is 1, as the axis has one element.
func alone(n *ir.Node) bool {
	axis, err := op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis, n.In[0].Type.Rank())
	return err == nil && n.In[0].Type.Shape[axis] == 1
}

// lutBlob is the table of an interpolated function.
func lutBlob(c *fixp.InterpolatedLUT16) *call.Blob {
	return &call.Blob{Hint: "lut", CType: "int16_t", Data: tensor.Of([]int{len(c)}, c[:]).Bytes(), Align: 4,
		NoCast: true}
}
