// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/state"
)

// Invariant is what stages rely on and others bring about. A check takes time
// that is linear in the size of the graph.
type Invariant struct {
	Name  string // as `nncc passes` shows it
	Doc   string
	Check func(s *State) // fails by ir/fail
}

var (
	modelKept = &Invariant{"model kept",
		"the model's tensors are marked, and a copy says what the program stands for",
		func(s *State) { fail.If(s.Model == nil, "there is no copy of the model") }}
	oneFloat = &Invariant{"one float type",
		"inputs and outputs have no float type besides float32", checkOneFloat}
	realIO = &Invariant{"model outputs",
		"outputs have the names and the number of elements of the model's", checkModelOutputs}
	stateIO = &Invariant{"state types",
		"an output that is handed on has the type of the input that takes it", checkStateTypes}
	ownValues = &Invariant{"own outputs",
		"every output is a value of its own that a node computes", checkOwnOutputs}
	referenceKept = &Invariant{"reference kept",
		"a copy says what the program has to compute bit for bit", func(s *State) {
			fail.If(s.Reference == nil || s.Whole == nil, "there is no copy of the program by definition")
		}}
	placed = &Invariant{"kernels chosen",
		"every node has a kernel", everyNode(func(s *State, n *ir.Node) bool {
			c, ok := s.Choices[n]
			return ok && Placed(c)
		}, "%s has no kernel")}
	memoryOrders = &Invariant{"memory orders",
		"operands have the memory orders that their kernels demand", checkOrders}
	called = &Invariant{"calls made",
		"every node is calls of kernels, or a view",
		everyNode(func(s *State, n *ir.Node) bool { return s.Low[n] != nil }, "%s is not lowered")}
	planned = &Invariant{"arena planned",
		"every node is a step of the program, and values that live at once lie apart", checkPlanned}
)

func checkOneFloat(s *State) {
	for _, v := range slices.Concat(s.Graph.In, s.Graph.Out) {
		fail.If(isOtherFloat(v.Type.DType) && s.facts.Precision != option.Model, "%s is %s", v, v.Type)
	}
}

func checkModelOutputs(s *State) {
	outs, was := len(s.Graph.Out), len(s.outputs)
	fail.If(outs != was, "there are %d outputs, the model has %d", outs, was)
	for i, v := range s.Graph.Out {
		now, was := output{s.Graph.OutNames[i], v.Type.Elems()}, s.outputs[i]
		fail.If(now != was, "output %s has %d elements, the model's is %s with %d", now.name, now.elems, was.name,
			was.elems)
	}
}

func checkStateTypes(s *State) {
	for _, t := range fail.Must(state.Indices(s.Graph, s.StateBindings)) {
		out, in := s.Graph.Out[t.Out].Type, s.Graph.In[t.In].Type
		fail.If(out.DType != in.DType || !out.Quant.Equal(in.Quant), "output %s is %s, the input %s is %s",
			s.Graph.OutNames[t.Out], out, s.Graph.In[t.In], in)
	}
}

func checkOwnOutputs(s *State) {
	seen := map[*ir.Value]bool{}
	for i, v := range s.Graph.Out {
		root := v.Storage()
		fail.If(root.Def == nil || seen[root], "output %s has no value of its own", s.Graph.OutNames[i])
		seen[root] = true
	}
}

// everyNode checks each node by itself.
func everyNode(holds func(s *State, n *ir.Node) bool, otherwise string) func(s *State) {
	return func(s *State) {
		for _, n := range s.Graph.Nodes {
			fail.If(!holds(s, n), otherwise, n)
		}
	}
}

func checkOrders(s *State) {
	for _, n := range s.Graph.Nodes {
		l := s.Choices[n].Layout
		if l.Kind != kernel.Fixed {
			continue
		}
		for i, v := range n.In {
			if v != nil && v.Const == nil && i < len(l.In) && !v.Type.SameMemory(l.In[i]) {
				fail.Errorf("input %d of %s is in the order %v, its kernel demands %v", i, n, v.Type.Order, l.In[i])
			}
		}
	}
}

// checkPlanned leaves the places to schedule.Build, which verifies every program that it plans.
func checkPlanned(s *State) {
	got, nodes := len(s.Program.Steps)+len(s.Program.Views), len(s.Graph.Nodes)
	fail.If(got != nodes, "%d of %d nodes are in the program", got, nodes)
}
