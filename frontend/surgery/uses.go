// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// subgraphs of a node's attributes.
func subgraphs(n *pb.NodeProto) []*pb.GraphProto {
	return slices.Concat(lists.Map(n.Attribute, model.Subgraphs)...)
}

// defines reports whether a subgraph has a value of its own with that name.
func defines(g *pb.GraphProto, name string) bool { return slices.Contains(defined(g), name) }

// inner reports whether a subgraph of n reads a value of the graph around.
func inner(n *pb.NodeProto, value string) bool {
	for _, g := range subgraphs(n) {
		if defines(g, value) {
			continue
		}
		if valueInfo(g.Output, value) != nil {
			return true
		}
		for _, k := range g.Node {
			if slices.Contains(k.Input, value) || inner(k, value) {
				return true
			}
		}
	}
	return false
}

// only is a renaming of one name.
func only(old, to string) func(string) string {
	return func(s string) string {
		if s == old {
			return to
		}
		return s
	}
}

// renameList renames in a list.
func renameList(list []string, f func(string) string) {
	for i, s := range list {
		list[i] = f(s)
	}
}

// renameCaptured renames what subgraphs of n read of the graph around.
func renameCaptured(n *pb.NodeProto, f func(string) string) {
	for _, g := range subgraphs(n) {
		outer := func(s string) string {
			if to := f(s); to != s && !defines(g, s) {
				return to
			}
			return s
		}
		for _, o := range g.Output {
			rename(&o.Name, outer)
		}
		for _, k := range g.Node {
			renameList(k.Input, outer)
			renameCaptured(k, outer)
		}
	}
}

// rename renames a field of a message.
func rename(name **string, f func(string) string) {
	if *name == nil {
		return
	}
	if to := f(**name); to != **name {
		*name = proto.String(to)
	}
}

// rewire makes every reader of old read new instead, readers in subgraphs
// included; except (may be nil) keeps what it read. Graph outputs stay.
func (m *Model) rewire(old, to string, except *pb.NodeProto) {
	m.Touch()
	for _, n := range m.graph().Node {
		if n != except {
			renameList(n.Input, only(old, to))
			renameCaptured(n, only(old, to))
		}
	}
}

// RenameValue gives a value another name wherever it occurs: where it is made,
// read, declared or an interface of the graph.
func (m *Model) RenameValue(old, to string) {
	fail.Check(m.wantValue(old))
	if old == to {
		return
	}
	fail.Check(m.freeValue(to))
	m.renameValue(old, to)
}

func (m *Model) renameValue(old, to string) { m.renameAll(only(old, to)) }

// renameAll renames values of the main graph, in one go.
func (m *Model) renameAll(f func(string) string) {
	g := m.graph()
	for _, list := range [][]*pb.ValueInfoProto{g.Input, g.Output, g.ValueInfo} {
		for _, v := range list {
			rename(&v.Name, f)
		}
	}
	for _, t := range g.Initializer {
		rename(&t.Name, f)
	}
	for _, t := range g.SparseInitializer {
		if t.Values != nil {
			rename(&t.Values.Name, f)
		}
	}
	for _, a := range g.QuantizationAnnotation {
		rename(&a.TensorName, f)
		for _, e := range a.QuantParameterTensorNames {
			rename(&e.Value, f)
		}
	}
	for _, n := range g.Node {
		renameList(n.Input, f)
		renameList(n.Output, f)
		renameCaptured(n, f)
	}
	m.Touch()
}

// freeValue is an error when a value has that name already.
func (m *Model) freeValue(name string) error {
	if name == "" {
		return fmt.Errorf("a value must have a name")
	}
	if m.known(name) {
		by := "it is a graph input or initializer"
		if p := m.Producer(name); p != nil {
			by = "made by " + label(p)
		}
		return fmt.Errorf("the name %s is taken: %s", quote(name), by)
	}
	return nil
}

// innerNames adds all value names of subgraphs, which share the namespace.
func innerNames(g *pb.GraphProto, taken set) {
	for _, n := range g.Node {
		for _, s := range subgraphs(n) {
			taken.add(defined(s)...)
			innerNames(s, taken)
		}
	}
}

// UniqueValue makes a value name that is not taken: base itself, or base with
// a number. Names that are only read or declared count as taken, too.
func (m *Model) UniqueValue(base string) string {
	taken := setOf(m.valueNames(), m.OutputNames(), []string{""})
	for _, n := range m.graph().Node {
		taken.add(n.Input...)
	}
	innerNames(m.graph(), taken)
	return number(taken, base)
}

// UniqueNode makes a node name that is not taken.
func (m *Model) UniqueNode(base string) string {
	return number(setOf(names(m.graph().Node), []string{""}), base)
}

func number(taken set, base string) string {
	s := base
	for k := 1; taken[s]; k++ {
		s = base + "_" + strconv.Itoa(k)
	}
	return s
}

// reads lists what a node reads of its graph, in subgraphs too.
func reads(n *pb.NodeProto) []string {
	in := n.Input
	gs := subgraphs(n)
	if len(gs) == 0 {
		return in
	}
	in = slices.Clone(in)
	for _, g := range gs {
		all := names(g.Output)
		for _, k := range g.Node {
			all = append(all, reads(k)...)
		}
		own := setOf(defined(g))
		in = append(in, slices.DeleteFunc(all, func(s string) bool { return own[s] })...)
	}
	return in
}

// Sort puts the nodes in topological order: what a node reads comes to be
// right in front of it where it was behind, everything else stays. An error
// names the nodes of a cycle. Values that nothing makes do not matter: scripts
// may be between two steps.
func (m *Model) Sort() {
	nodes := m.graph().Node
	by := map[string]int{}
	for i, n := range nodes {
		for _, o := range n.Output {
			if _, dup := by[o]; o != "" && !dup {
				by[o] = i
			}
		}
	}
	needs := make([][]int, len(nodes))
	sorted := true
	for i, n := range nodes {
		for _, s := range reads(n) {
			if k, ok := by[s]; ok {
				needs[i] = append(needs[i], k)
				sorted = sorted && k < i
			}
		}
	}
	if sorted {
		return
	}
	const (
		untouched = iota
		open
		done
	)
	state := make([]uint8, len(nodes))
	next := make([]int, len(nodes)) // of needs to look at
	out := make([]*pb.NodeProto, 0, len(nodes))
	for i := range nodes {
		if state[i] != untouched {
			continue
		}
		stack := []int{i}
		state[i] = open
		for len(stack) > 0 {
			k := stack[len(stack)-1]
			if next[k] == len(needs[k]) {
				state[k] = done
				out = append(out, nodes[k])
				stack = stack[:len(stack)-1]
				continue
			}
			d := needs[k][next[k]]
			next[k]++
			switch state[d] {
			case untouched:
				state[d] = open
				stack = append(stack, d)
			case open:
				fail.Check(cycleError(nodes, stack[slices.Index(stack, d):]))
			}
		}
	}
	m.graph().Node = out
}

// cycleError names nodes each of which reads the next one.
func cycleError(nodes []*pb.NodeProto, path []int) error {
	var s []string
	for i, k := range slices.Backward(path) {
		if len(path)-1-i == 6 {
			s = append(s, "…")
			break
		}
		s = append(s, label(nodes[k]))
	}
	return fmt.Errorf("the nodes now form a cycle: %s → back to the first; want a graph that can be put in order",
		strings.Join(s, " → "))
}
