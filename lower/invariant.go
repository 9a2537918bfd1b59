// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/state"
)

// Invariant is what stages rely on and others bring about. A check takes time
// that is linear in the size of the graph.
type Invariant struct {
	Name  string // as `nncc passes` shows it
	Doc   string
	Check func(s *State) error
}

var (
	modelKept = &Invariant{"model kept",
		"the model's tensors are marked, and a copy says what the program stands for", checkModelKept}
	oneFloat = &Invariant{"one float type",
		"inputs and outputs have no float type besides float32", checkOneFloat}
	realIO = &Invariant{"model outputs",
		"outputs have the names and the number of elements of the model's", checkModelOutputs}
	stateIO = &Invariant{"state types",
		"an output that is handed on has the type of the input that takes it", checkStateTypes}
	ownValues = &Invariant{"own outputs",
		"every output is a value of its own that a node computes", checkOwnOutputs}
	referenceKept = &Invariant{"reference kept",
		"a copy says what the program has to compute bit for bit", checkReference}
	placed = &Invariant{"kernels chosen",
		"every node has a kernel", checkPlaced}
	memoryOrders = &Invariant{"memory orders",
		"operands have the memory orders that their kernels demand", checkOrders}
	called = &Invariant{"calls made",
		"every node is calls of kernels, or a view", checkCalls}
	planned = &Invariant{"arena planned",
		"every node is a step of the program, and values that live at once lie apart", checkPlanned}
)

func checkModelKept(s *State) error {
	if s.Model == nil {
		return fmt.Errorf("there is no copy of the model")
	}
	return nil
}

func checkOneFloat(s *State) error {
	for _, v := range slices.Concat(s.Graph.In, s.Graph.Out) {
		if isOtherFloat(v.Type.DType) && s.facts.Precision != option.Model {
			return fmt.Errorf("%s is %s", v, v.Type)
		}
	}
	return nil
}

func checkModelOutputs(s *State) error {
	if len(s.Graph.Out) != len(s.outputs) {
		return fmt.Errorf("there are %d outputs, the model has %d", len(s.Graph.Out), len(s.outputs))
	}
	for i, v := range s.Graph.Out {
		if now, was := (output{s.Graph.OutNames[i], v.Type.Elems()}), s.outputs[i]; now != was {
			return fmt.Errorf("output %s has %d elements, the model's is %s with %d", now.name, now.elems, was.name,
				was.elems)
		}
	}
	return nil
}

func checkStateTypes(s *State) error {
	at, err := state.Indices(s.Graph, s.StateBindings)
	if err != nil {
		return err
	}
	for _, t := range at {
		out, in := s.Graph.Out[t.Out].Type, s.Graph.In[t.In].Type
		if out.DType != in.DType || !out.Quant.Equal(in.Quant) {
			return fmt.Errorf("output %s is %s, the input %s is %s", s.Graph.OutNames[t.Out], out, s.Graph.In[t.In], in)
		}
	}
	return nil
}

func checkOwnOutputs(s *State) error {
	seen := map[*ir.Value]bool{}
	for i, v := range s.Graph.Out {
		root := v.Storage()
		if root.Def == nil || seen[root] {
			return fmt.Errorf("output %s has no value of its own", s.Graph.OutNames[i])
		}
		seen[root] = true
	}
	return nil
}

func checkReference(s *State) error {
	if s.Reference == nil || s.Whole == nil {
		return fmt.Errorf("there is no copy of the program by definition")
	}
	return nil
}

func checkPlaced(s *State) error {
	for _, n := range s.Graph.Nodes {
		if c, ok := s.Choices[n]; !ok || !Placed(c) {
			return fmt.Errorf("%s has no kernel", n)
		}
	}
	return nil
}

func checkOrders(s *State) error {
	for _, n := range s.Graph.Nodes {
		l := s.Choices[n].Layout
		if l.Kind != kernel.Fixed {
			continue
		}
		for i, v := range n.In {
			if v != nil && v.Const == nil && i < len(l.In) && !v.Type.SameMemory(l.In[i]) {
				return fmt.Errorf("input %d of %s is in the order %v, its kernel demands %v", i, n, v.Type.Order,
					l.In[i])
			}
		}
	}
	return nil
}

func checkCalls(s *State) error {
	for _, n := range s.Graph.Nodes {
		if s.Low[n] == nil {
			return fmt.Errorf("%s is not lowered", n)
		}
	}
	return nil
}

func checkPlanned(s *State) error {
	if got := len(s.Program.Steps) + len(s.Program.Views); got != len(s.Graph.Nodes) {
		return fmt.Errorf("%d of %d nodes are in the program", got, len(s.Graph.Nodes))
	}
	return nil // schedule.Build verifies every program that it plans
}
