// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// ethosU is a part of the graph that Vela compiled for an Ethos-U: command stream, constants, memory and
// fast memory in front of the data, all of which lie where the plan of the arena says.
func ethosU(n *node) {
	memory, fast := n.in(2), n.in(3)
	at := func(t *model.Tensor) int {
		n.refuse(t.Offset < 0 || memory.Offset < 0, "the file does not say where tensor %q lies in the arena; want "+
			"the metadata OfflineMemoryAllocation", t.Name)
		return t.Offset - memory.Offset
	}
	in := vals{n.c.bytes(n, n.in(0)), n.c.bytes(n, n.in(1))}
	var places, out, types, ranks, shapes []int
	var changed []*variable
	result := func(t *model.Tensor) {
		out, types, ranks = append(out, at(t)), append(types, t.DType.ONNXCode()), append(ranks, len(t.Shape))
		shapes = append(shapes, t.Shape...)
	}
	for _, t := range n.o.Out {
		result(t)
	}
	for i, t := range n.o.In[4:] {
		switch {
		case t == nil || t.Data != nil: // constants lie among the others
		case t.Variable:
			v := n.c.tensorVariable(t)
			in, places, changed = append(in, n.c.value(v)), append(places, at(t)), append(changed, v)
			result(t)
		default:
			in, places = append(in, n.raw(4+i)), append(places, at(t))
		}
	}
	labels := n.c.names(n.o.Out)
	labels = append(labels, lists.Map(changed, func(v *variable) string { return n.c.free(v.name + "/changed") })...)
	made := n.add("nncc.Device", labels, in, textAttr("kind", n.o.Name),
		intsAttr("memory", memory.Elems(), fast.Elems()), intsAttr("in", places...), intsAttr("out", out...),
		intsAttr("types", types...), intsAttr("ranks", ranks...), intsAttr("shapes", shapes...))
	for i, t := range n.o.Out {
		n.c.put(t, made[i])
	}
	for i, v := range changed {
		v.last = made[len(n.o.Out)+i]
	}
}

// bytes is a constant of bytes.
func (c *converter) bytes(n *node, t *model.Tensor) *ir.Value {
	n.refuse(t == nil || t.Data == nil || t.DType != tensor.U8, "its program and its weights are no constants of bytes")
	return c.raw(t)
}
