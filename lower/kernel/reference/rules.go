// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// cond is a condition without its code.
type cond struct {
	doc   string
	check func(n *kernel.Node) string
}

// rules numbers conditions: prefix-01, prefix-02, ... New ones go to the end,
// so that codes stay what they are.
func rules(prefix string, c ...cond) []kernel.Rule {
	out := make([]kernel.Rule, len(c))
	for i, x := range c {
		out[i] = kernel.Rule{Code: fmt.Sprintf("%s-%02d", prefix, i+1), Doc: x.doc,
			Check: func(n *kernel.Node) string { return x.check(n) }}
	}
	return out
}

// inputs are the indices of all inputs that are present, or those listed.
func inputs(n *ir.Node, idx []int) []int {
	if idx == nil {
		idx = ir.Identity(len(n.In))
	}
	return slices.DeleteFunc(slices.Clone(idx), func(i int) bool { return n.Input(i) == nil })
}

// float32s: the listed inputs (none listed: all) and every output are plain float32.
func float32s(idx ...int) cond {
	return cond{"operands are float32", func(n *kernel.Node) string {
		for _, i := range inputs(n.Node, idx) {
			if t := n.In[i].Type; t.DType != tensor.F32 || t.Quant != nil {
				return fmt.Sprintf("input %d is %s, want float32", i, short(t))
			}
		}
		return float32Out(n.Node)
	}}
}

func float32Out(n *ir.Node) string {
	for i, v := range n.Out {
		if t := v.Type; t.DType != tensor.F32 || t.Quant != nil {
			return fmt.Sprintf("output %d is %s, want float32", i, short(t))
		}
	}
	return ""
}

// int8s: the listed inputs (none: all) and output 0 are int8 with one scale.
func int8s(idx ...int) cond {
	return typed("operands are int8 with one scale each", notInt8, idx)
}

// typed: the listed inputs (none: all) and output 0 are of a type that not has nothing
// against.
func typed(doc string, not func(t ir.Type) string, idx []int) cond {
	return cond{doc, func(n *kernel.Node) string {
		for _, i := range inputs(n.Node, idx) {
			if why := not(n.In[i].Type); why != "" {
				return fmt.Sprintf("input %d is %s", i, why)
			}
		}
		if why := not(n.Out[0].Type); why != "" {
			return "output 0 is " + why
		}
		return ""
	}}
}

func notInt8(t ir.Type) string {
	if t.DType == tensor.I8 && t.Quant != nil && !t.Quant.PerAxis() {
		return ""
	}
	return short(t) + ", want int8 with one scale"
}

// short names a type without its shape.
func short(t ir.Type) string {
	switch {
	case t.Quant == nil:
		return t.DType.ONNXName()
	case t.Quant.PerAxis():
		return fmt.Sprintf("%s quantised along dimension %d", t.DType.ONNXName(), t.Quant.Axis)
	}
	return "quantised " + t.DType.ONNXName()
}

// nonEmpty: no operand has a dimension of size 0 (kernels want at least 1).
var nonEmpty = cond{"no operand is empty", func(n *kernel.Node) string {
	for i, v := range n.In {
		if v != nil && v.Const == nil && v.Type.Elems() == 0 {
			return fmt.Sprintf("input %d has shape %v, want no dimension of size 0", i, v.Type.Shape)
		}
	}
	for i, v := range n.Out {
		if v.Type.Elems() == 0 {
			return fmt.Sprintf("output %d has shape %v, want no dimension of size 0", i, v.Type.Shape)
		}
	}
	return ""
}}

// constant: the listed inputs are known at compile time (or absent).
func constant(idx ...int) cond {
	return cond{"parameters are constant", func(n *kernel.Node) string {
		for _, i := range inputs(n.Node, idx) {
			if n.In[i].Const == nil {
				return fmt.Sprintf("input %d (%s) is computed at run time, want a constant", i, n.In[i])
			}
		}
		return ""
	}}
}

// rankUpTo: no operand has more dimensions than a kernel can take.
func rankUpTo(most int) cond {
	return cond{fmt.Sprintf("at most %d dimensions", most), func(n *kernel.Node) string {
		for i, v := range n.In {
			if v != nil && v.Type.Rank() > most {
				return fmt.Sprintf("input %d has rank %d, want at most %d", i, v.Type.Rank(), most)
			}
		}
		for i, v := range n.Out {
			if v.Type.Rank() > most {
				return fmt.Sprintf("output %d has rank %d, want at most %d", i, v.Type.Rank(), most)
			}
		}
		return ""
	}}
}

// upTo2D: at most two spatial dimensions.
var upTo2D = cond{"one or two spatial dimensions", func(n *kernel.Node) string {
	if r := n.In[0].Type.Rank(); r < 3 || r > 4 {
		return fmt.Sprintf("the input has %d spatial dimensions, want 1 or 2", r-2)
	}
	return ""
}}

// oneOutput: optional further outputs are not computed.
var oneOutput = cond{"only the first output is computed", func(n *kernel.Node) string {
	if len(n.Out) > 1 {
		return fmt.Sprintf("output 1 (%s) is asked for, want output 0 only", n.Out[1])
	}
	return ""
}}

// sameData: data inputs and outputs hold the same bytes for the same reals.
var sameData = cond{"inputs and outputs share element type and quantisation", func(n *kernel.Node) string {
	o := n.Out[0].Type
	for _, i := range n.Op.DataInputs(n.Node) {
		v := n.Input(i)
		if v == nil {
			continue
		}
		if t := v.Type; t.DType != o.DType || !t.Quant.Equal(o.Quant) {
			return fmt.Sprintf("input %d is %s, output 0 is %s: want the same type and quantisation", i, full(t),
				full(o))
		}
	}
	return ""
}}

// full is short with scale and zero point.
func full(t ir.Type) string {
	if t.Quant != nil && !t.Quant.PerAxis() {
		return fmt.Sprintf("%s(%v:%d)", t.DType, t.Quant.Scale[0], t.Quant.Zero[0])
	}
	return short(t)
}

func natural(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Natural} }
func same(*kernel.Node) kernel.Layout    { return kernel.Layout{Kind: kernel.Same} }

// spatial is channels-last for feature maps, natural for what has no space.
func spatial(n *kernel.Node) kernel.Layout {
	if n.In[0].Type.Rank() < 3 {
		return natural(n)
	}
	return kernel.SpatialLayout(n)
}
