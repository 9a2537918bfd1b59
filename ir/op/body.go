// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// SegmentAttrs are the attributes of Segment.
type SegmentAttrs struct {
	Id          int    `default:"0"`
	Accelerator string `default:""`
}

// Segment is a part of the graph that runs on an accelerator as one: its body
// is a closed graph whose inputs are the node's. The types of inputs and
// outputs carry their quantisation.
var Segment = def(ir.OpDef{
	Name: "Segment", Domain: "nncc", Doc: "a part of the graph that an accelerator runs as one",
	Attrs: ir.Declare[SegmentAttrs](),
	MaxIn: -1, MaxOut: -1, Pattern: ir.Opaque, Quant: ir.QInt,
	Infer: inferBody, Eval: evalBody, EvalQ: evalBody, MACs: bodyMACs,
})

// Fused is a part of the graph that one kernel of the CPU computes, without
// its inner values ever being in memory. Body and types are as in Segment.
var Fused = def(ir.OpDef{
	Name: "Fused", Domain: "nncc", Doc: "a part of the graph that one kernel computes",
	MaxIn: -1, MaxOut: 1, Pattern: ir.Opaque, Quant: ir.QInt,
	Infer: inferBody, Eval: evalBody, EvalQ: evalBody, MACs: bodyMACs,
})

func inferBody(n *ir.Node) ([]ir.Type, error) {
	refuse(n, len(n.Body) != 1, "body", "has %d bodies, want 1", len(n.Body))
	b := n.Body[0]
	refuse(n, len(b.In) != len(n.In), "body", "the body has %d inputs, the node %d", len(b.In), len(n.In))
	var out []ir.Type
	for _, v := range b.Out {
		out = append(out, v.Type.WithOrder(nil))
	}
	return out, nil
}

func bodyMACs(n *ir.Node) int64 {
	var sum int64
	for _, m := range n.Body[0].Nodes {
		if m.Op.MACs != nil {
			sum += m.Op.MACs(m)
		}
	}
	return sum
}

func evalBody(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	b := n.Body[0]
	env := map[*ir.Value]*tensor.Dense{}
	for i, v := range b.In {
		env[v] = in[i]
	}
	get := func(v *ir.Value) *tensor.Dense {
		if v == nil || v.Const == nil {
			return env[v]
		}
		return v.Const
	}
	for _, m := range b.Nodes {
		args := make([]*tensor.Dense, len(m.In))
		for i, v := range m.In {
			args[i] = get(v)
		}
		out, err := ir.EvalNode(m, args)
		if err != nil {
			return nil, fmt.Errorf("in %s: %w", n, err)
		}
		for i, v := range m.Out {
			env[v] = out[i]
		}
	}
	out := make([]*tensor.Dense, len(b.Out))
	for i, v := range b.Out {
		out[i] = get(v)
	}
	return out, nil
}
