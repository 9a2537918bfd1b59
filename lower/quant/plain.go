// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// plainIntegers separates integers that stand for reals from those that nodes compute
// with as numbers (a Cast, a comparison, arithmetic on int32): a BitCast, which is no
// code, stands where one becomes the other. Behind it nothing has a quantisation, and
// what computes such a value does not know what it will stand for.
func (c *converter) plainIntegers() error {
	known := c.integerQuants()
	values := append([]*ir.Value(nil), c.g.In...)
	for _, n := range c.g.Nodes {
		values = append(values, n.Out...)
	}
	for _, v := range values {
		if t, ok := known[v]; !ok || t.Quant == nil || t.DType != v.Type.DType || !storable(t.DType) {
			continue
		}
		if err := c.plainReaders(v); err != nil {
			return err
		}
		if v.Def != nil && v.Def.Op != op.QuantizeLinear && !v.Def.Op.Coded {
			if err := c.codes(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// numeric reports a reader for which integers are numbers: it neither knows what they
// stand for, nor is defined by their bits.
func numeric(u ir.Use) bool {
	o := u.Node.Op
	return o != op.DequantizeLinear && o != op.QuantizeLinear && !o.Coded
}

// plainReaders puts a BitCast in front of the readers of v that compute with numbers.
func (c *converter) plainReaders(v *ir.Value) error {
	var p *ir.Value
	for _, u := range append([]ir.Use(nil), v.Uses()...) {
		if !numeric(u) {
			continue
		}
		if p == nil {
			n, err := c.bits(u.Node, v)
			if err != nil {
				return err
			}
			p = n.Out[0]
		}
		c.g.SetInput(u.Node, u.Index, p)
	}
	return nil
}

// codes puts a BitCast behind v, which a node computes as a number, in front of the
// readers for which it stands for a real one.
func (c *converter) codes(v *ir.Value) error {
	var n *ir.Node
	for _, u := range append([]ir.Use(nil), v.Uses()...) {
		if u.Node.Op != op.DequantizeLinear {
			continue
		}
		if n == nil {
			var err error
			if n, err = c.bits(u.Node, v); err != nil {
				return err
			}
		}
		c.g.SetInput(u.Node, u.Index, n.Out[0])
	}
	return nil
}

// bits is a BitCast to the type that v has.
func (c *converter) bits(at *ir.Node, v *ir.Value) (*ir.Node, error) {
	return c.g.InsertBefore(at, op.BitCast, v.Name+".bits", ir.Attrs{"to": ir.Int(v.Type.DType.ONNXCode())}, 1, v)
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
