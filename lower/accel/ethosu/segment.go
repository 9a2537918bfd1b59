// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/accel/ethosu/npu"
)

// refused is why a configuration does not compute a node.
func refused(c *npu.Config, n *ir.Node) string {
	for _, v := range append(append([]*ir.Value{}, n.In...), n.Out...) {
		if v == nil || v.Const != nil {
			continue
		}
		t := v.Type
		switch {
		case t.Rank() > 4 || t.Elems() == 0:
			return v.Name + " is " + t.String() + ", want elements in at most four dimensions"
		case t.Quant == nil && n.Op != op.Fused || t.Quant.PerAxis():
			return v.Name + " is " + t.String() + ", want integers with one scale"
		}
		if h, w, c := dims(t); max(h, w, c) > mostSide {
			return v.Name + " is " + t.String() + ", want at most 65536 elements along a dimension"
		}
	}
	if n.Op.View.Whole() && (n.In[0].IsInput() || len(n.Out[0].Uses()) == 0) {
		return "another name for an input or a result of the model, which takes no work"
	}
	return newBuilder(c).lower(n)
}

const mostSide = 1 << 16

// operands are the values of a segment in the order of the regions.
func operands(n *ir.Node) []*ir.Value { return append(append([]*ir.Value{}, n.In...), n.Out...) }

// check runs a stream without arithmetic: an error is a fault of this compiler.
func (b *result) check(n *ir.Node, s *npu.Stream) error {
	regions := map[int]*npu.Memory{constants: npu.Constant(b.data), working: npu.Scratch(b.working)}
	if b.slow > 0 {
		regions[memory] = npu.Scratch(b.slow)
	}
	for i, v := range operands(n) {
		data := make([]byte, v.Type.Bytes())
		switch r := b.regions[i]; {
		case i < len(n.In) && regions[r] != nil:
			if err := regions[r].Put(b.at[i], data); err != nil {
				return err
			}
		case regions[r] != nil:
		case i < len(n.In):
			regions[r] = npu.Constant(data)
		default:
			regions[r] = npu.Scratch(len(data))
		}
	}
	return s.Check(regions, nil)
}

// copies says that a region is of the working memory, where inputs and results are copies.
func (b *result) copies(region int) bool { return region == working || region == memory && b.slow > 0 }

// invoke is the call of the driver.
func (b *result) invoke(n *ir.Node, takes *call.Estimate) *call.Lowered {
	c := &invocation{program: &call.Image{Ext: "stream", Data: b.actions}, bytes: len(b.actions),
		scratch: b.slow + b.working, takes: takes}
	c.region(constants, blob("weights", b.data), call.Null{}, len(b.data))
	if b.slow > 0 {
		slow := call.Scratch{CType: "uint8_t"}
		c.region(memory, slow, slow, b.slow)
	}
	if b.working > 0 {
		scratch := call.Scratch{CType: "uint8_t", Off: b.slow}
		c.region(working, scratch, scratch, b.working)
	}
	for i, v := range operands(n) {
		in, out := call.In{I: i, CType: "uint8_t"}, call.Out{I: i - len(n.In), CType: "uint8_t"}
		r := b.regions[i]
		switch {
		case b.copies(r) && i < len(n.In):
			c.in = append(c.in, part(call.In{I: i, CType: "void"}, v.Type, r, b.at[i]))
			continue
		case b.copies(r):
			c.out = append(c.out, part(call.Out{I: out.I, CType: "void"}, v.Type, r, b.at[i]))
			continue
		}
		if i < len(n.In) {
			c.region(r, in, call.Null{}, v.Type.Bytes())
		} else {
			c.region(r, out, out, v.Type.Bytes())
		}
	}
	l := c.lowered()
	if b.over.Scratch {
		if b.over.Ahead += b.slow; b.slow > 0 {
			b.over.Behind = n.In[b.over.I].Type.Bytes()
		}
		l.Overlap = []call.Overlap{b.over}
	}
	return l
}
