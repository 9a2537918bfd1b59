// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// overflow is the rule that the output's scale does not shift results to the left.
var overflow = cond.New("OVERFLOW", "an output scale for which nothing overflows", func(n *kernel.Node) string {
	if len(n.In) == 2 && op.Sixteen(n.Node) && quantised.NotInt16(n.In[1]) == "" && !op.BinaryKernel16(n.Node) {
		return "the output's scale is so small that the result would be shifted to the left"
	}
	return ""
})

// severalValues is the rule against one number for the whole of an int8 tensor: the 256 results take less, in time and
// flash.
var severalValues = cond.New("ONE-NUMBER", "no constant of one number, unless there are fewer than 256 results",
	func(n *kernel.Node) string {
		for _, v := range n.In {
			if v.Const != nil && v.Const.Len() == 1 && n.Out[0].Type.Elems() >= 256 {
				return fmt.Sprintf("the constant %s is one number, for which a table has all results", v)
			}
		}
		return ""
	})

// elementwise is a function of two tensors; args are those between the inputs and the output, and behind it.
func elementwise(fn, was, doc, ctype string, d *ir.OpDef, args func(n *ir.Node) (before, behind []int32),
	rules ...kernel.Rule) *kernel.Kernel {
	return &kernel.Kernel{
		Name: fn, Library: Library, Was: was, Doc: doc, Ops: []*ir.OpDef{d}, Layout: kernel.SameLayout, Rules: rules,
		Lower: func(n *kernel.Node) *call.Lowered {
			before, behind := args(n.Node)
			list := []call.Arg{quantised.Operand(n.Node, 0), quantised.Operand(n.Node, 1)}
			for _, v := range before {
				list = append(list, call.T(v))
			}
			list = append(list, call.Out{I: 0, CType: ctype})
			for _, v := range behind {
				list = append(list, call.T(v))
			}
			list = append(list, call.I32(n.Out[0].Type.Elems()))
			return calls(quantised.Elementwise(n.Node, call.InPlace), call.Call{Func: fn, Status: call.CMSISStatus,
				Args: list})
		},
	}
}

// sum and product are the numbers of an addition and of a multiplication.
func sum(p *qref.AddParams) (before, behind []int32) {
	s := p.Scales
	return []int32{p.Offset1, s.Mult1, s.Shift1, p.Offset2, s.Mult2, s.Shift2, s.LeftShift},
		[]int32{p.OutputOffset, s.OutMult, s.OutShift, p.ActMin, p.ActMax}
}

func product(n *ir.Node) (before, behind []int32) {
	p := op.MulParams(n)
	return []int32{p.Offset1, p.Offset2}, []int32{p.OutputOffset, p.Mult, p.Shift, p.ActMin, p.ActMax}
}

var (
	add = elementwise("arm_elementwise_add_s8", "CMSIS-ADD", "int8 addition", "int8_t", op.Add,
		func(n *ir.Node) (before, behind []int32) { return sum(op.AddParamsS8(n)) },
		quantised.Int8(0, 1), quantised.SameShapes, severalValues)
	mul = elementwise("arm_elementwise_mul_s8", "CMSIS-MUL", "int8 multiplication", "int8_t", op.Mul, product,
		quantised.Int8(0, 1), quantised.SameShapes, severalValues)
	add16 = elementwise("arm_elementwise_add_s16", "CMSIS-ADD16", "int16 addition", "int16_t", op.Add,
		func(n *ir.Node) (before, behind []int32) { return sum(op.AddParams16(n)) },
		quantised.Int16(0, 1), quantised.SameShapes, overflow)
	mul16 = elementwise("arm_elementwise_mul_s16", "CMSIS-MUL16", "int16 multiplication", "int16_t", op.Mul, product,
		quantised.Int16(0, 1), quantised.SameShapes, overflow)
)

// clip is Relu and Clip on integers of one quantisation: arm_maximum_s8 and
// arm_minimum_s8 with a constant. (arm_relu_q7 and arm_relu6_s8 know no zero
// point and no scale.) An activation that its producer absorbs never gets here.
var clip = &kernel.Kernel{
	Name: "arm_maximum_s8", Library: Library, Was: "CMSIS-CLIP",
	Doc: "int8 Relu and Clip: maximum and minimum with constants",
	Ops: []*ir.OpDef{op.Relu, op.Clip}, Layout: kernel.SameLayout,
	Rules: kernel.Rules{
		quantised.Int8(0),
		cond.New("CLAMP", "a clamp of the integers: one quantisation, constant bounds", func(n *kernel.Node) string {
			for i := 1; i < len(n.In); i++ {
				if v := n.In[i]; v != nil && v.Const == nil {
					return fmt.Sprintf("the bound %s is computed at run time, want a constant", v)
				}
			}
			if t, ok := ir.Table(n.Node); ok {
				if _, _, ok := clampOf(t); !ok {
					return fmt.Sprintf("%s is %s, the result %s: more than a clamp of the integers", n.In[0],
						n.In[0].Type, n.Out[0].Type)
				}
			}
			return ""
		}),
	},
	Lower: func(n *kernel.Node) *call.Lowered {
		t, _ := ir.Table(n.Node)
		lo, hi, _ := clampOf(t)
		d, one := Dims{1, 1, 1, n.Out[0].Type.Elems()}, Dims{1, 1, 1, 1}
		var list []call.Call
		var x call.Arg = i8In(0)
		limit := func(fn string, v int8) {
			bound := &call.Blob{Hint: "bound", CType: "int8_t", Data: []byte{byte(v)}, NoCast: true}
			list = append(list, call.Call{Func: fn, Status: call.CMSISStatus, Args: []call.Arg{context(0, 0), x,
				d.arg(), bound, one.arg(), i8Out(0), d.arg()}})
			x = i8Out(0)
		}
		if lo > -128 || hi == 127 {
			limit("arm_maximum_s8", lo)
		}
		if hi < 127 {
			limit("arm_minimum_s8", hi)
		}
		return calls(&call.Lowered{Overlap: call.InPlace(0), Unused: tail(n.Node), Kernel: list[0].Func}, list...)
	},
}

// clampOf are the bounds that a table of 256 results, from the lowest input on,
// clamps its input to; false when it does something else.
func clampOf(t []int64) (lo, hi int8, ok bool) {
	if len(t) != 256 {
		return 0, 0, false
	}
	lo, hi = int8(t[0]), int8(t[255])
	for i, y := range t {
		if y != min(max(int64(i-128), int64(lo)), int64(hi)) {
			return 0, 0, false
		}
	}
	return lo, hi, true
}
