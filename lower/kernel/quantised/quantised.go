// SPDX-License-Identifier: Apache-2.0

// Package quantised is what several families of kernels on quantised operands
// ask of a node and read from it: conditions on operands and scales, windows in
// two dimensions, products with constant weights, rows. It makes no calls; the
// families do. See README.md.
package quantised

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// Int8 is the rule that the given inputs and output 0 are int8 with one scale.
func Int8(in ...int) kernel.Rule {
	return Activations("INT8", "activations are int8, quantised per tensor, not empty", NotInt8, in...)
}

// Activations is a rule about each of the given inputs and output 0.
func Activations(code, doc string, why func(v *ir.Value) string, in ...int) kernel.Rule {
	return cond.New(code, doc, func(n *kernel.Node) string {
		for _, i := range in {
			if v := n.Input(i); v != nil {
				if s := why(v); s != "" {
					return s
				}
			}
		}
		return why(n.Out[0])
	})
}

// NotInt8 says what v has that int8 activations with one scale have not.
func NotInt8(v *ir.Value) string { return notOf(tensor.I8, v) }

// NotInt16 says it of int16 activations, which have no zero point.
func NotInt16(v *ir.Value) string { return notOf(tensor.I16, v) }

func notOf(d tensor.DType, v *ir.Value) string {
	switch t := v.Type; {
	case t.Quant == nil:
		return fmt.Sprintf("%s is %s and not quantised, want %s", v, t.DType, d)
	case t.DType != d:
		return fmt.Sprintf("%s is %s, want %s", v, t.DType, d)
	case t.Quant.PerAxis():
		return fmt.Sprintf("%s is quantised per channel, want per tensor", v)
	case d == tensor.I16 && t.Quant.Zero[0] != 0:
		return fmt.Sprintf("%s has zero point %d, want 0", v, t.Quant.Zero[0])
	case t.Elems() == 0:
		return fmt.Sprintf("%s is empty (shape %v)", v, t.Shape)
	}
	return ""
}

// known reports that input 0, the weights and output 0 are quantised: what rules
// about the arithmetic of a layer assume.
func known(n *ir.Node) bool {
	return n.In[0].Type.Quant != nil && n.In[1].Type.Quant != nil && n.Out[0].Type.Quant != nil
}

// KnownWeights reports what packing weights assumes: input, weights and
// output quantised, weights and bias constant, the weights a byte each in memory.
func KnownWeights(n *ir.Node) bool {
	w := n.In[1]
	if !known(n) || w.Const == nil {
		return false
	}
	if _, bytes := w.Const.Data.([]int8); !bytes { // int8, or int4 in bytes
		return false
	}
	b := n.Input(2)
	return b == nil || b.Const != nil
}

// Agrees is the rule that a function finds no reason against a node whose
// input, weights and output are quantised.
func Agrees(code, doc string, why func(n *kernel.Node) string) kernel.Rule {
	return cond.New(code, doc, func(n *kernel.Node) string {
		if !known(n.Node) {
			return kernel.Unread
		}
		return why(n)
	})
}
