// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
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

// int16 addition, multiplication, pooling and softmax.

// binary16 is an element-wise kernel; args are those between the inputs
// and the output, and behind it.
func binary16(fn, was, doc string, d *ir.OpDef, args func(n *ir.Node) (before, behind []int32)) *kernel.Kernel {
	return &kernel.Kernel{
		Name: fn, Library: Library, Was: was, Doc: doc, Ops: []*ir.OpDef{d}, Layout: kernel.SameLayout,
		Rules: kernel.Rules{quantised.Int16(0, 1), quantised.SameShapes,
			cond.New("OVERFLOW", "an output scale for which nothing overflows", func(n *kernel.Node) string {
				if len(n.In) == 2 && op.Sixteen(n.Node) && quantised.NotInt16(n.In[1]) == "" &&
					!op.BinaryKernel16(n.Node) {
					return "the output's scale is so small that the result would be shifted to the left"
				}
				return ""
			})},
		Lower: func(n *kernel.Node) *call.Lowered {
			before, behind := args(n.Node)
			list := []call.Arg{quantised.Operand(n.Node, 0), quantised.Operand(n.Node, 1)}
			for _, v := range before {
				list = append(list, call.T(v))
			}
			list = append(list, call.Out{I: 0, CType: "int16_t"})
			for _, v := range behind {
				list = append(list, call.T(v))
			}
			list = append(list, call.I32(n.Out[0].Type.Elems()))
			return calls(quantised.Elementwise(n.Node), call.Call{Func: fn, Status: call.CMSISStatus, Args: list})
		},
	}
}

var (
	add16 = binary16("arm_elementwise_add_s16", "CMSIS-ADD16", "int16 addition", op.Add,
		func(n *ir.Node) (before, behind []int32) {
			p := op.AddParams16(n)
			s := p.Scales
			return []int32{0, s.Mult1, s.Shift1, 0, s.Mult2, s.Shift2, s.LeftShift}, []int32{0, s.OutMult, s.OutShift,
				p.ActMin, p.ActMax}
		})
	mul16 = binary16("arm_elementwise_mul_s16", "CMSIS-MUL16", "int16 multiplication", op.Mul,
		func(n *ir.Node) (before, behind []int32) {
			p := op.MulParams(n)
			return []int32{0, 0}, []int32{0, p.Mult, p.Shift, p.ActMin, p.ActMax}
		})
	avgPool16 = poolOf("arm_avgpool_s16", "CMSIS-AVG16", "int16 average pooling", "int16_t",
		quantised.Int16(0), op.AveragePool, op.GlobalAveragePool)
	maxPool16 = poolOf("arm_max_pool_s16", "CMSIS-MAXP16", "int16 max pooling", "int16_t",
		quantised.Int16(0), op.MaxPool, op.GlobalMaxPool)
)

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
