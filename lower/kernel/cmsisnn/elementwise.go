// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// add is arm_elementwise_add_s8.
var add = &kernel.Kernel{
	Name: "arm_elementwise_add_s8", Library: Library, Was: "CMSIS-ADD", Doc: "int8 addition", Ops: []*ir.OpDef{op.Add},
	Layout: kernel.SameLayout,
	Rules:  kernel.Rules{quantised.Int8(0, 1), quantised.SameShapes},
	Lower: func(n *kernel.Node) *call.Lowered {
		p := op.AddParamsS8(n.Node)
		s := p.Scales
		a := func(v int32) call.Arg { return call.T(v) }
		return calls(quantised.Elementwise(n.Node), call.Call{Func: "arm_elementwise_add_s8", Status: call.CMSISStatus,
			Args: []call.Arg{quantised.Operand(n.Node, 0), quantised.Operand(n.Node, 1), a(p.Offset1), a(s.Mult1),
				a(s.Shift1), a(p.Offset2), a(s.Mult2), a(s.Shift2), a(s.LeftShift),
				i8Out(0), a(p.OutputOffset), a(s.OutMult), a(s.OutShift), a(p.ActMin), a(p.ActMax),
				call.I32(n.Out[0].Type.Elems())}})
	},
}

// mul is arm_elementwise_mul_s8.
var mul = &kernel.Kernel{
	Name: "arm_elementwise_mul_s8", Library: Library, Was: "CMSIS-MUL", Doc: "int8 multiplication",
	Ops:    []*ir.OpDef{op.Mul},
	Layout: kernel.SameLayout,
	Rules:  kernel.Rules{quantised.Int8(0, 1), quantised.SameShapes},
	Lower: func(n *kernel.Node) *call.Lowered {
		p := op.MulParams(n.Node)
		a := func(v int32) call.Arg { return call.T(v) }
		return calls(quantised.Elementwise(n.Node), call.Call{Func: "arm_elementwise_mul_s8", Status: call.CMSISStatus,
			Args: []call.Arg{quantised.Operand(n.Node, 0), quantised.Operand(n.Node, 1), a(p.Offset1), a(p.Offset2),
				i8Out(0), a(p.OutputOffset), a(p.Mult), a(p.Shift),
				a(p.ActMin), a(p.ActMax), call.I32(n.Out[0].Type.Elems())}})
	},
}
