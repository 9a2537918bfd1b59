// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir/tensor"
)

// mostCalls bounds how often graphs are written for the operators that call them.
const mostCalls = 1000

// calls are the graphs that are being written, one called by the other, and how many were.
type calls struct {
	open    []int
	written int
}

// part is a called graph in the place of the call.
type part struct {
	*pb.GraphProto // nodes and constants, and its results as outputs
	out            []string
}

// ifElse writes an If: the importer takes a branch, or computes both where the condition is computed.
func ifElse(n *operands) error {
	var o fb.IfOptions
	if err := n.options("IfOptions", o.Init); err != nil {
		return err
	}
	name := n.out().Name
	var given []string
	for i := range n.o.In[1:] {
		given = append(given, n.raw(i+1))
	}
	var branches []*pb.AttributeProto
	for k, i := range []int32{o.ThenSubgraphIndex(), o.ElseSubgraphIndex()} {
		attr := []string{"then_branch", "else_branch"}[k]
		p, err := n.call(int(i), name+"/"+attr+"/", n.o.In[1:], n.o.Out, given)
		if err != nil {
			return err
		}
		branches = append(branches, graphAttr(attr, p.GraphProto))
	}
	n.c.nodes("If", names(n.o.Out), []string{n.raw(0)}, branches...)
	return nil
}

// whileLoop writes a Loop, which the importer unrolls: its condition has to follow from
// constants in every turn.
func whileLoop(n *operands) error {
	var o fb.WhileOptions
	if err := n.options("WhileOptions", o.Init); err != nil {
		return err
	}
	if len(n.o.In) != len(n.o.Out) {
		return fmt.Errorf("%d values go in and %d come out, want the same", len(n.o.In), len(n.o.Out))
	}
	name := n.out().Name
	var given []string
	body := &pb.GraphProto{Name: proto.String(name + "/turn")}
	value := func(what string, t tensor.DType, shape []int) string {
		at := &model.Tensor{Name: n.c.free(name + "/" + what), DType: t, Shape: shape}
		body.Input = append(body.Input, n.c.info(at))
		return at.Name
	}
	value("turn_number", tensor.I64, nil)
	value("turn_wanted", tensor.Bool, nil)
	var carried []string
	for i, t := range n.o.In {
		if t == nil {
			return fmt.Errorf("input %d is missing", i)
		}
		given = append(given, n.raw(i))
		carried = append(carried, value(fmt.Sprint("turn_value", i), t.DType, t.Shape))
	}
	test := []*model.Tensor{{Name: "the condition", DType: tensor.Bool}}
	first, err := n.call(int(o.CondSubgraphIndex()), name+"/first/", n.o.In, test, given)
	if err != nil {
		return err
	}
	turn, err := n.call(int(o.BodySubgraphIndex()), name+"/body/", n.o.In, n.o.Out, carried)
	if err != nil {
		return err
	}
	again, err := n.call(int(o.CondSubgraphIndex()), name+"/again/", n.o.In, test, turn.out)
	if err != nil {
		return err
	}
	body.Node = append(turn.Node, again.Node...)
	body.Initializer = append(turn.Initializer, again.Initializer...)
	body.Output = append(again.Output, turn.Output...)
	n.c.out.Node = append(n.c.out.Node, first.Node...)
	n.c.out.Initializer = append(n.c.out.Initializer, first.Initializer...)
	n.c.nodes("Loop", names(n.o.Out), append([]string{"", first.out[0]}, given...), graphAttr("body", body))
	return nil
}

// call writes graph i for the operator: its tensors get a prefix, its inputs are the values
// given, of the types of in; its results have the types of out.
func (n *operands) call(i int, prefix string, in, out []*model.Tensor, given []string) (*part, error) {
	c := n.c
	if i < 1 || i >= len(c.m.Graphs) {
		return nil, fmt.Errorf("it calls graph %d, the file has 1 to %d", i, len(c.m.Graphs)-1)
	}
	if slices.Contains(c.calls.open, i) {
		return nil, fmt.Errorf("graph %d calls itself, want graphs that end", i)
	}
	if c.calls.written++; c.calls.written > mostCalls {
		return nil, fmt.Errorf("graphs are called more than %d times in all; call fewer of them", mostCalls)
	}
	g := c.copied(c.m.Graphs[i], prefix)
	sub := newConverter(c.m, g, prefix)
	sub.taken, sub.names, sub.calls, sub.at = c.taken, c.names, c.calls, n.o
	c.calls.open = append(c.calls.open, i)
	defer func() { c.calls.open = c.calls.open[:len(c.calls.open)-1] }()
	if err := sameTypes(fmt.Sprintf("graph %d takes", i), g.Inputs, in); err != nil {
		return nil, err
	}
	if err := sameTypes(fmt.Sprintf("graph %d gives", i), g.Outputs, out); err != nil {
		return nil, err
	}
	for k, t := range g.Inputs {
		sub.node("Identity", t.Name, given[k:k+1])
	}
	for _, o := range g.Ops {
		sub.op(o)
	}
	p := &part{GraphProto: sub.out}
	for k, t := range g.Outputs {
		at := *t
		at.Name = sub.free(fmt.Sprint(prefix, "result", k))
		sub.node("Identity", at.Name, []string{sub.raw(t)})
		p.Output, p.out = append(p.Output, sub.info(&at)), append(p.out, at.Name)
	}
	if len(sub.errs) > 0 {
		return nil, fmt.Errorf("graph %d: %w", i, sub.errs)
	}
	if len(sub.vars.order) > 0 {
		return nil, fmt.Errorf("graph %d keeps state, which nncc allows in the model's first graph only; read and "+
			"assign variables there", i)
	}
	return p, nil
}

// sameTypes compares the tensors of a graph with those of its call; a bool may have one element of any rank.
func sameTypes(what string, have, want []*model.Tensor) error {
	if len(have) != len(want) {
		return fmt.Errorf("%s %d tensors, want %d", what, len(have), len(want))
	}
	for k, t := range have {
		w := want[k]
		switch {
		case t == nil || w == nil:
			return fmt.Errorf("%s no tensor as number %d", what, k)
		case t.DType != w.DType || !slices.Equal(t.Shape, w.Shape) && !(w.Shape == nil && t.Elems() == 1):
			return fmt.Errorf("%s %s%v as number %d, want %s%v", what, t.DType, t.Shape, k, w.DType, w.Shape)
		}
	}
	return nil
}

// copied is a graph with a prefix in front of the names of its tensors.
func (c *converter) copied(g *model.Graph, prefix string) *model.Graph {
	of := map[*model.Tensor]*model.Tensor{}
	out := &model.Graph{Name: prefix}
	for _, t := range g.Tensors {
		at := *t
		at.Name = c.free(prefix + t.Name)
		of[t] = &at
		out.Tensors = append(out.Tensors, &at)
	}
	list := func(ts []*model.Tensor) []*model.Tensor {
		x := make([]*model.Tensor, len(ts))
		for i, t := range ts {
			x[i] = of[t]
		}
		return x
	}
	out.Inputs, out.Outputs = list(g.Inputs), list(g.Outputs)
	for _, o := range g.Ops {
		at := *o
		at.In, at.Out, at.Intermediates = list(o.In), list(o.Out), list(o.Intermediates)
		out.Ops = append(out.Ops, &at)
	}
	return out
}

func names(ts []*model.Tensor) []string {
	var out []string
	for _, t := range ts {
		out = append(out, t.Name)
	}
	return out
}

func graphAttr(name string, g *pb.GraphProto) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_GRAPH.Enum(), G: g}
}
