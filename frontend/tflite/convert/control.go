// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// calls are the graphs that are being made, one called by the other.
type calls struct{ open []int }

// ifElse takes a branch, or both where the condition is computed.
func ifElse(n *node) {
	var o fb.IfOptions
	n.options("IfOptions", o.Init)
	in := n.o.In[1:]
	branch := func(i int32) build.Branch {
		return func(prefix string, _ []string) vals {
			n.called(int(i), in, n.o.Out)
			return n.call(int(i), prefix, n.values(in))
		}
	}
	n.giveValues(n.flow("If").If(n.raw(0), branch(o.ThenSubgraphIndex()), branch(o.ElseSubgraphIndex())))
}

// composite puts the graph that defines the operator in its place.
func composite(n *node) {
	var o fb.CompositeOptions
	n.options("CompositeOptions", o.Init)
	i := int(o.DecompositionSubgraphIndex())
	n.called(i, n.o.In, n.o.Out)
	n.giveValues(n.call(i, n.c.place(n.out()).name+"/", n.values(n.o.In)))
}

// whileLoop is unrolled: its condition has to follow from constants in every turn.
func whileLoop(n *node) {
	var o fb.WhileOptions
	n.options("WhileOptions", o.Init)
	n.refuse(len(n.o.In) != len(n.o.Out), "%d values go in and %d come out, want the same", len(n.o.In), len(n.o.Out))
	cond, body := int(o.CondSubgraphIndex()), int(o.BodySubgraphIndex())
	n.called(cond, n.o.In, []*model.Tensor{{Name: "the condition", DType: tensor.Bool}})
	n.called(body, n.o.In, n.o.Out)
	flow, first := n.flow("Loop"), n.values(n.o.In)
	on := n.call(cond, flow.Name+"/first/", first)[0]
	u := flow.Loop(-1, on, first, func(_ int, prefix string, carried vals) (on *ir.Value, next, scanned vals) {
		next = n.call(body, prefix, carried)
		return n.call(cond, prefix+"again/", next)[0], next, nil
	})
	n.giveValues(u.Carried)
}

// flow is the operator as package build takes graphs apart.
func (n *node) flow(op string) *build.Node {
	name := n.c.place(n.out()).name
	f := &build.Node{Builder: n.c.Builder, Op: op, Name: name, Origin: name, Opset: opset, In: n.values(n.o.In)}
	for _, t := range n.o.In {
		f.InNames = append(f.InNames, t.Name)
	}
	for _, t := range n.o.Out {
		f.Out = append(f.Out, n.c.place(t).name)
	}
	return f
}

// values are tensors as they are stored.
func (n *node) values(ts []*model.Tensor) (out vals) {
	for i, t := range ts {
		n.refuse(t == nil, "input %d is missing", i)
		out = append(out, n.c.raw(t))
	}
	return out
}

func (n *node) giveValues(vs vals) {
	for i, v := range vs {
		n.c.put(n.o.Out[i], v)
	}
}

// called checks that graph i may be called with tensors of the types of in, for those of out.
func (n *node) called(i int, in, out []*model.Tensor) {
	graphs := n.c.m.Graphs
	n.refuse(i < 1 || i >= len(graphs), "it calls graph %d, the file has 1 to %d", i, len(graphs)-1)
	n.refuse(slices.Contains(n.c.calls.open, i), "graph %d calls itself, want graphs that end", i)
	n.sameTypes(fmt.Sprintf("graph %d takes", i), graphs[i].Inputs, in)
	n.sameTypes(fmt.Sprintf("graph %d gives", i), graphs[i].Outputs, out)
}

// call puts a copy of graph i in the place of the operator: the names within get a prefix,
// its inputs are the values given.
func (n *node) call(i int, prefix string, given vals) (out vals) {
	g, c := n.c.m.Graphs[i], *n.c
	(&build.Node{Builder: c.Builder, Op: n.o.Name, Name: n.out().Name}).SpendCopy(fmt.Sprintf("a copy of graph %d", i),
		len(g.Tensors))
	c.prefix, c.vars, c.errs, c.derived = prefix, newVariables(), nil, map[derivation]*model.Tensor{}
	c.at = map[*model.Tensor]*place{}
	c.calls.open = append(c.calls.open, i)
	defer func() { c.calls.open = c.calls.open[:len(c.calls.open)-1] }()
	for k, t := range g.Inputs {
		c.place(t).v = given[k]
	}
	c.graph(g)
	for _, t := range g.Outputs {
		_ = c.try(func() { out = append(out, c.raw(t)) })
	}
	n.refuse(len(c.errs) > 0, "graph %d: %v", i, c.errs)
	n.refuse(len(c.vars.order) > 0, "graph %d keeps state, which nncc allows in the model's first graph only; read "+
		"and assign variables there", i)
	if len(out) < len(g.Outputs) {
		(&build.Node{}).Fail(build.ErrReported)
	}
	return out
}

// sameTypes compares the tensors of a graph with those of its call; a bool may have one element of any rank.
func (n *node) sameTypes(what string, have, want []*model.Tensor) {
	n.refuse(len(have) != len(want), "%s %d tensors, want %d", what, len(have), len(want))
	for k, t := range have {
		w := want[k]
		n.refuse(t == nil || w == nil, "%s no tensor as number %d", what, k)
		n.refuse(t.DType != w.DType || !slices.Equal(t.Shape, w.Shape) && !(w.Shape == nil && t.Elems() == 1),
			"%s %s%v as number %d, want %s%v", what, t.DType, t.Shape, k, w.DType, w.Shape)
	}
}
