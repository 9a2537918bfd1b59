// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/tensor"
)

// Operand is an input as a kernel with broadcasting reads it.
type Operand struct {
	Arg     call.Arg
	Strides []int // along the dimensions of the output in memory order; 0: repeated
	Whole   bool  // lies in memory element by element as the output does
}

// Broadcast is input i under broadcasting to the type out. Constants
// are re-laid in the memory order of the output.
func Broadcast(n *ir.Node, i int, out ir.Type) Operand {
	v := n.In[i]
	order := out.OrderOrIdentity()
	shape := PadLeft(v.Type.Shape, out.Rank())
	var o Operand
	if v.Const != nil {
		d := Arrange(v.Const, shape, order)
		o.Arg = &call.Blob{Hint: "const", CType: call.CType(d.DType), Data: d.Bytes(), NoCast: true}
		o.Strides = tensor.Strides(d.Shape)
	} else {
		t := v.Type.WithShape(shape)
		if v.Type.Rank() == out.Rank() {
			t.Order = v.Type.Order
		}
		o.Arg, o.Strides = call.In{I: i, CType: call.CType(v.Type.DType)}, Permuted(Strides(t), order)
		o.Whole = t.Elems() == out.Elems() && t.SameMemory(out.Order)
	}
	for k, d := range Permuted(shape, order) {
		if d == 1 {
			o.Strides[k] = 0
		}
	}
	return o
}

// BroadcastFields are those of nncc_bcast_params: the iteration space of
// operands a and b over the output.
func BroadcastFields(out ir.Type, a, b Operand) call.Nested {
	dims, st := MergeDims(out.Phys(), a.Strides, b.Strides)
	return call.Nested{Fields: append(call.Ints("rank", len(dims)), call.F("dims", call.IntArray(dims)),
		call.F("a_stride", call.IntArray(st[0])), call.F("b_stride", call.IntArray(st[1])))}
}

// MayOverwrite are the inputs whose storage the output may take: those that lie
// like it. It is right only where a single call reads every input. An input that
// another one, which is broadcast, may be a part of must stay: its elements are
// read again.
func MayOverwrite(n *ir.Node, ops ...Operand) []call.Overlap {
	var in []int
	for i, o := range ops {
		v := n.In[i]
		if !o.Whole || v.Const != nil || v.Type.Bytes() != n.Out[0].Type.Bytes() {
			continue
		}
		safe := true
		for k, w := range n.In[:len(ops)] {
			safe = safe && (ops[k].Whole || !MayShare(v, w))
		}
		if safe {
			in = append(in, i)
		}
	}
	return call.InOrder(in...)
}

// MayShare reports that two values could share storage through views.
func MayShare(a, b *ir.Value) bool {
	seen := map[*ir.Value]bool{}
	var walk func(v *ir.Value, mark bool) bool
	walk = func(v *ir.Value, mark bool) bool {
		if v == nil || v.Const != nil {
			return false
		}
		if mark {
			if seen[v] {
				return false
			}
			seen[v] = true
		} else if seen[v] {
			return true
		}
		if v.Def != nil && v.Def.Op.View != ir.NoView {
			for _, w := range v.Def.In {
				if walk(w, mark) {
					return true
				}
			}
		}
		return false
	}
	walk(a, true)
	return walk(b, false)
}
