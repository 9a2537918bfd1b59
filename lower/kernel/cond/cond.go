// SPDX-License-Identifier: Apache-2.0

// Package cond holds the conditions that kernels of several families have. A
// condition has a code, a text for lists and a check, which says what was found
// and what is wanted. Families list them in their rows, and make those that only
// they have with New and Proof.
package cond

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// New is a condition.
func New(code, doc string, check func(n *kernel.Node) string) kernel.Rule {
	return kernel.Rule{Code: code, Doc: doc, Check: check}
}

// Proof is a condition that costs much to prove.
func Proof(code, doc string, check func(n *kernel.Node) string) kernel.Rule {
	return kernel.Rule{Code: code, Doc: doc, Check: check, Proof: true}
}

// Trained is a condition on what a training decides, which costs much to prove.
func Trained(code, doc string, check func(n *kernel.Node) string) kernel.Rule {
	return kernel.Rule{Code: code, Doc: doc, Check: check, Proof: true, Trained: true}
}

// If is a reason where something is so; "" where it is not.
func If(is bool, format string, args ...any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// Core is the condition that a row is for the core; why says what others have or
// lack.
func Core(doc, why string, ok func(c *kernel.Core) bool) kernel.Rule {
	return New("CORE", doc, func(n *kernel.Node) string {
		if ok(&n.Core) {
			return ""
		}
		return why
	})
}

// The cores of families.
var (
	Helium   = Core("a core with Helium", "the core has no Helium", func(c *kernel.Core) bool { return c.MVE })
	NoHelium = Core("a core without Helium", "the core has Helium", func(c *kernel.Core) bool { return !c.MVE })
	DSP      = Core("a core with the DSP extension and without Helium",
		"the core has no DSP extension, or it has Helium", func(c *kernel.Core) bool { return c.DSP && !c.MVE })
	NoExtension = Core("a core without the DSP extension and Helium", "the core has the DSP extension or Helium",
		func(c *kernel.Core) bool { return !c.DSP && !c.MVE })
)

// operands is what is wrong with one of the listed inputs (nil: all) that are
// present, or with one of the outputs.
func operands(n *kernel.Node, inputs []int, outputs []*ir.Value, wrong func(v *ir.Value) string) string {
	if inputs == nil {
		inputs = ir.Identity(len(n.In))
	}
	for _, i := range inputs {
		if v := n.Input(i); v != nil {
			if why := wrong(v); why != "" {
				return fmt.Sprintf("input %d %s", i, why)
			}
		}
	}
	for i, v := range outputs {
		if v != nil {
			if why := wrong(v); why != "" {
				return fmt.Sprintf("output %d %s", i, why)
			}
		}
	}
	return ""
}

// all is a condition on all inputs and outputs.
func all(code, doc string, wrong func(v *ir.Value) string) kernel.Rule {
	return New(code, doc, func(n *kernel.Node) string { return operands(n, nil, n.Out, wrong) })
}

// Inputs is a condition on all inputs.
func Inputs(code, doc string, wrong func(v *ir.Value) string) kernel.Rule {
	return New(code, doc, func(n *kernel.Node) string { return operands(n, nil, nil, wrong) })
}

// typed is a condition on the types of the listed inputs (none: all) and of output 0.
func typed(code, doc, want string, is func(t ir.Type) bool, inputs []int) kernel.Rule {
	return New(code, doc, func(n *kernel.Node) string {
		return operands(n, inputs, n.Out[:1], func(v *ir.Value) string {
			if is(v.Type) {
				return ""
			}
			return fmt.Sprintf("is %s, want %s", Short(v.Type), want)
		})
	})
}

// Float32 says that the listed inputs (none: all) and every output are plain float32.
func Float32(inputs ...int) kernel.Rule {
	return New("FLOAT32", "operands are float32", func(n *kernel.Node) string {
		return operands(n, inputs, n.Out, notFloat32)
	})
}

// Float32Result says that every output is plain float32.
var Float32Result = New("FLOAT32-RESULT", "the result is float32", func(n *kernel.Node) string {
	return operands(n, []int{}, n.Out, notFloat32)
})

func notFloat32(v *ir.Value) string {
	if v.Type.DType != tensor.F32 || v.Type.Quant != nil {
		return fmt.Sprintf("is %s, want float32", Short(v.Type))
	}
	return ""
}

// Int8 says that the listed inputs (none: all) and output 0 are int8 with one scale.
func Int8(inputs ...int) kernel.Rule {
	return typed("INT8-OPERANDS", "operands are int8 with one scale each", "int8 with one scale", IsInt8, inputs)
}

// Int16 says that the listed inputs (none: all) and output 0 are int16 with one scale and
// zero point 0.
func Int16(inputs ...int) kernel.Rule {
	return typed("INT16-OPERANDS", "operands are int16 with one scale and zero point 0",
		"int16 with one scale and zero point 0", IsInt16, inputs)
}

// IsInt8 reports int8 with one scale.
func IsInt8(t ir.Type) bool { return t.DType == tensor.I8 && t.Quant != nil && !t.Quant.PerAxis() }

// IsInt16 reports int16 with one scale and zero point 0.
func IsInt16(t ir.Type) bool {
	return t.DType == tensor.I16 && t.Quant != nil && !t.Quant.PerAxis() && t.Quant.Zero[0] == 0
}

// Short names a type without its shape.
func Short(t ir.Type) string {
	switch {
	case t.Quant == nil:
		return t.DType.ONNXName()
	case t.Quant.PerAxis():
		return fmt.Sprintf("%s quantised along dimension %d", t.DType.ONNXName(), t.Quant.Axis)
	}
	return "quantised " + t.DType.ONNXName()
}

// Full is Short with scale and zero point.
func Full(t ir.Type) string {
	if t.Quant != nil && !t.Quant.PerAxis() {
		return fmt.Sprintf("%s(%v:%d)", t.DType, t.Quant.Scale[0], t.Quant.Zero[0])
	}
	return Short(t)
}

// NotQuantised says that all operands are plain numbers.
var NotQuantised = all("NOT-QUANTISED", "operands are not quantised", func(v *ir.Value) string {
	return If(v.Type.Quant != nil, "is quantised %s, want plain numbers", v.Type.DType.ONNXName())
})

// Elements says that indices of all operands are int32.
var Elements = all("ELEMENTS", "operands have less than 2^31 elements", func(v *ir.Value) string {
	return If(v.Type.Elems() >= 1<<31, "has shape %v, want less than 2^31 elements", v.Type.Shape)
})

// NotEmpty says that no operand that is computed has a dimension of size 0 (kernels want at
// least 1).
var NotEmpty = all("EMPTY", "no operand is empty", func(v *ir.Value) string {
	return If(v.Const == nil && v.Type.Elems() == 0, "has shape %v, want no dimension of size 0", v.Type.Shape)
})

// Rank says that no operand has more dimensions than kernels can take, NNCC_MAX_DIMS of nncc.h.
var Rank = all("RANK", fmt.Sprintf("at most %d dimensions", kernel.MaxDims), func(v *ir.Value) string {
	r := v.Type.Rank()
	return If(r > kernel.MaxDims, "has rank %d, want at most %d", r, kernel.MaxDims)
})

// Constant says that the listed inputs are known at compile time (or absent).
func Constant(inputs ...int) kernel.Rule {
	return New("CONSTANT", "parameters are constant", func(n *kernel.Node) string {
		return operands(n, inputs, nil, func(v *ir.Value) string {
			return If(v.Const == nil, "(%s) is computed at run time, want a constant", v)
		})
	})
}

// UpTo2D says that there are one or two spatial dimensions.
var UpTo2D = New("SPATIAL", "one or two spatial dimensions", func(n *kernel.Node) string {
	r := n.In[0].Type.Rank()
	return If(r < 3 || r > 4, "the input has %d spatial dimensions, want 1 or 2", r-2)
})

// FirstOutput says that optional further outputs are not computed.
var FirstOutput = New("FIRST-OUTPUT", "only the first output is computed", func(n *kernel.Node) string {
	if len(n.Out) > 1 {
		return fmt.Sprintf("output 1 (%s) is asked for, want output 0 only", n.Out[1])
	}
	return ""
})

// SameType says that data inputs and outputs hold the same bytes for the same reals.
var SameType = New("SAME-TYPE", "inputs and outputs share element type and quantisation", func(n *kernel.Node) string {
	o := n.Out[0].Type
	return operands(n, append([]int{}, n.Op.DataInputs(n.Node)...), nil, func(v *ir.Value) string {
		if t := v.Type; t.DType != o.DType || !t.Quant.Equal(o.Quant) {
			return fmt.Sprintf("is %s, output 0 is %s: want the same type and quantisation", Full(t), Full(o))
		}
		return ""
	})
})

// convChain asks for a convolution of one group that the row conv accepts,
// with element-wise operators behind it, and of those what behind wants.
func convChain(code, doc string, conv *kernel.Kernel, behind func(c *kernel.Chain) string) kernel.Rule {
	return New(code, doc, func(n *kernel.Node) string {
		c, _ := kernel.ChainOf.Of(n)
		switch {
		case c == nil || c.Main.Op != op.Conv:
			return "the parts are no convolution with element-wise operators behind it"
		case ir.AttrsOf[op.GroupAttr](c.Main).Group != 1:
			return fmt.Sprintf("%d groups, want 1", ir.AttrsOf[op.GroupAttr](c.Main).Group)
		case n.In[0].Type.Rank() != n.Out[0].Type.Rank():
			return fmt.Sprintf("the input has rank %d, the output %d, want the same", n.In[0].Type.Rank(),
				n.Out[0].Type.Rank())
		}
		for _, r := range conv.CheckLegality(c.Main) {
			return r.Text
		}
		return behind(c)
	})
}

// Mapped is convChain for a function of each result, by a table.
func Mapped(conv *kernel.Kernel) kernel.Rule {
	const doc = "a convolution of one group and a function of one value"
	return convChain("MAPPED", doc, conv, func(c *kernel.Chain) string {
		return If(c.Table == nil || c.Add != nil,
			"the parts are no convolution with a function of its result behind it")
	})
}

// Residual is convChain for an addition of another tensor computed at
// run time, which the row add accepts; more says what else is in the way.
func Residual(conv, add *kernel.Kernel, more func(c *kernel.Chain) string) kernel.Rule {
	return convChain("RESIDUAL", "a convolution of one group, perhaps a function of its result, and an addition that "+
		"a kernel takes", conv, func(c *kernel.Chain) string {
		switch {
		case c.Add == nil:
			return "the last operator is no addition"
		case c.Add.In[0].Const != nil || c.Add.In[1].Const != nil:
			return "the other operand is constant, want one computed at run time"
		}
		for _, r := range add.CheckLegality(c.Add) {
			return r.Text
		}
		return more(c)
	})
}
