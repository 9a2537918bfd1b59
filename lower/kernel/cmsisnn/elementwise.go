package cmsisnn

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

func same(*ir.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Same} }

// expandUpTo is how many bytes of flash the array of a broadcast constant may
// take; above it a kernel that repeats the constant is the better one.
const expandUpTo = 1024

// sameShapes: the vector kernels do not broadcast. A small constant operand is
// expanded at compile time.
func sameShapes(code string) kernel.Rule {
	return kernel.Rule{Code: code, Doc: "operands of the output's shape (small constants are expanded)", Check: func(n *ir.Node, _ *kernel.Options) string {
		out := n.Out[0].Type
		for _, v := range n.In {
			switch {
			case v.Const == nil && !slices.Equal(v.Type.Shape, out.Shape):
				return fmt.Sprintf("%s has shape %v and is broadcast to %v at run time", v, v.Type.Shape, out.Shape)
			case v.Const != nil && v.Const.Len() != out.Elems() && out.Elems() > expandUpTo:
				return fmt.Sprintf("the constant %s of %d elements would take %d bytes of flash in the shape of the result, want at most %d", v, v.Const.Len(), out.Elems(), expandUpTo)
			}
		}
		return ""
	}}
}

func binaryRule(code string) kernel.Rule {
	return kernel.Rule{Code: code, Doc: "both operands and the result int8, per tensor", Check: func(n *ir.Node, _ *kernel.Options) string {
		for _, v := range []*ir.Value{n.In[0], n.In[1], n.Out[0]} {
			if s := int8PerTensor(v); s != "" {
				return s
			}
		}
		return ""
	}}
}

// vector is operand i in the memory order of the output; constants become
// arrays of the output's size.
func vector(n *ir.Node, i int) call.Arg {
	v := n.In[i]
	ctype := "int8_t"
	if v.Type.DType == tensor.I16 {
		ctype = "int16_t"
	}
	if v.Const == nil {
		return call.In{I: i, CType: ctype}
	}
	t := n.Out[0].Type
	d := tensor.New(v.Type.DType, t.Shape)
	st := make([]int, len(t.Shape))
	cs := tensor.Strides(v.Const.Shape)
	for k, dim := range v.Const.Shape {
		if dim != 1 {
			st[len(st)-len(cs)+k] = cs[k]
		}
	}
	tensor.Gather(d, v.Const, t.Shape, st, 0)
	return &call.Blob{Hint: "operand", CType: ctype, Data: d.Transpose(t.OrderOrIdentity()).Bytes(), Align: 4, NoCast: true}
}

func inPlace(n *ir.Node) []int {
	var p []int
	for i, v := range n.In {
		if v.Const == nil {
			p = append(p, i)
		}
	}
	return p
}

func constants(n *ir.Node) []int {
	var p []int
	for i, v := range n.In {
		if v != nil && v.Const != nil {
			p = append(p, i)
		}
	}
	return p
}

// add is arm_elementwise_add_s8.
var add = &kernel.Kernel{
	Name: "arm_elementwise_add_s8", Library: Library, Doc: "int8 addition", Ops: []*ir.OpDef{op.Add}, Layout: same,
	Rules: []kernel.Rule{binaryRule("CMSIS-ADD-01"), sameShapes("CMSIS-ADD-02")},
	Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
		p := op.AddParamsS8(n)
		s := p.Scales
		a := func(v int32) call.Arg { return call.I32(int(v)) }
		return calls(&call.Lowered{InPlace: inPlace(n), Unused: constants(n)}, call.Call{Func: "arm_elementwise_add_s8", Status: call.CMSISStatus,
			Args: []call.Arg{vector(n, 0), vector(n, 1), a(p.Offset1), a(s.Mult1), a(s.Shift1), a(p.Offset2), a(s.Mult2), a(s.Shift2), a(s.LeftShift),
				i8Out(0), a(p.OutputOffset), a(s.OutMult), a(s.OutShift), a(p.ActMin), a(p.ActMax), call.I32(n.Out[0].Type.Elems())}})
	},
}

// mul is arm_elementwise_mul_s8.
var mul = &kernel.Kernel{
	Name: "arm_elementwise_mul_s8", Library: Library, Doc: "int8 multiplication", Ops: []*ir.OpDef{op.Mul}, Layout: same,
	Rules: []kernel.Rule{binaryRule("CMSIS-MUL-01"), sameShapes("CMSIS-MUL-02")},
	Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
		p := op.MulParams(n)
		a := func(v int32) call.Arg { return call.I32(int(v)) }
		return calls(&call.Lowered{InPlace: inPlace(n), Unused: constants(n)}, call.Call{Func: "arm_elementwise_mul_s8", Status: call.CMSISStatus,
			Args: []call.Arg{vector(n, 0), vector(n, 1), a(p.Offset1), a(p.Offset2), i8Out(0), a(p.OutputOffset), a(p.Mult), a(p.Shift),
				a(p.ActMin), a(p.ActMax), call.I32(n.Out[0].Type.Elems())}})
	},
}
