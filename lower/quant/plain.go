// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
)

// plainIntegers separates integers that stand for reals from those that nodes compute
// with as numbers (a Cast, a comparison, arithmetic on int32): a BitCast, which is no
// code, stands where one becomes the other. Behind it nothing has a quantisation, and
// what computes such a value does not know what it will stand for.
func (c *converter) plainIntegers() {
	known := c.integerQuants()
	values := append([]*ir.Value(nil), c.g.In...)
	for _, n := range c.g.Nodes {
		values = append(values, n.Out...)
	}
	for _, v := range values {
		if t, ok := known[v]; !ok || t.Quant == nil || t.DType != v.Type.DType || !storable(t.DType) {
			continue
		}
		c.separate(v, numeric)
		if v.Def != nil && v.Def.Op != op.QuantizeLinear && !v.Def.Op.Coded {
			c.separate(v, dequantizes) // computed as a number
		}
	}
}

// numeric reports a reader for which integers are numbers: it neither knows what they
// stand for, nor is defined by their bits.
func numeric(u ir.Use) bool {
	o := u.Node.Op
	return o != op.DequantizeLinear && o != op.QuantizeLinear && !o.Coded
}

// separate puts a BitCast between a value and those of its readers that are told: before
// the first of them in the graph, which need not be the first of the list.
func (c *converter) separate(v *ir.Value, told func(u ir.Use) bool) {
	readers := slices.DeleteFunc(slices.Clone(v.Uses()), func(u ir.Use) bool { return !told(u) })
	if len(readers) == 0 {
		return
	}
	first := slices.MinFunc(readers, func(a, b ir.Use) int { return c.g.Index(a.Node) - c.g.Index(b.Node) })
	n := c.bits(first.Node, v.Name+".bits", v)
	for _, u := range readers {
		c.g.SetInput(u.Node, u.Index, n.Out[0])
	}
}

func dequantizes(u ir.Use) bool { return u.Node.Op == op.DequantizeLinear }

// bits is a BitCast to the type that v has, before a node.
func (c *converter) bits(at *ir.Node, name string, v *ir.Value) *ir.Node {
	to := ir.Attrs{"to": ir.Int(v.Type.DType.ONNXCode())}
	return fail.Must(c.g.InsertBefore(at, op.BitCast, name, to, 1, v))
}

// idleBits takes away what plainIntegers has put between values that have no quantisation.
func (c *converter) idleBits() {
	for _, n := range append([]*ir.Node(nil), c.g.Nodes...) {
		if n.Op != op.BitCast {
			continue
		}
		if x, y := n.In[0], n.Out[0]; x.Type.DType == y.Type.DType && x.Type.Quant.Equal(y.Type.Quant) {
			c.g.ReplaceUses(y, x)
			c.g.Remove(n)
		}
	}
}
