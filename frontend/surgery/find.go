// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// Query says which nodes are meant; all fields that are set must hold. Names
// alone are not always enough: ONNX allows nodes without names, and many files
// have the same name twice. The output of a node is always unique.
type Query struct {
	Name   string         // exactly
	Regex  *regexp.Regexp // on the name; unanchored
	Op     string         // operator type
	Domain string         // with Op; "" is ai.onnx
	Input  string         // reads this value
	Output string         // makes this value
}

func (q *Query) String() string {
	s := ""
	add := func(k, v string) {
		if v != "" {
			if s != "" {
				s += ", "
			}
			s += k + " " + quote(v)
		}
	}
	add("name", q.Name)
	if q.Regex != nil {
		add("regex", q.Regex.String())
	}
	add("op", q.Op)
	add("domain", q.Domain)
	add("input", q.Input)
	add("output", q.Output)
	if s == "" {
		return "any node"
	}
	return s
}

func (q *Query) matches(n *pb.NodeProto) bool {
	return (q.Name == "" || n.GetName() == q.Name) &&
		(q.Regex == nil || q.Regex.MatchString(n.GetName())) &&
		(q.Op == "" || n.GetOpType() == q.Op && schema.Domain(n.GetDomain()) == schema.Domain(q.Domain)) &&
		(q.Input == "" || slices.Contains(n.Input, q.Input)) &&
		(q.Output == "" || slices.Contains(n.Output, q.Output))
}

// Find lists the nodes of the main graph that a query matches, in graph order.
func (m *Model) Find(q Query) []*pb.NodeProto {
	return lists.Filter(m.graph().Node, func(n *pb.NodeProto) bool { return q.matches(n) })
}

// Node is the one node with a name; an error where there is none, or several.
func (m *Model) Node(name string) *pb.NodeProto {
	return m.one(Query{Name: name})
}

func (m *Model) one(q Query) *pb.NodeProto {
	found := m.Find(q)
	switch {
	case len(found) == 1:
		return found[0]
	case len(found) == 0:
		fail.Check(m.notFound(q))
	}
	var outs []string
	for _, n := range found {
		for _, o := range n.Output {
			outs = append(outs, o)
			break
		}
	}
	fail.Errorf("%d nodes with %s; want one: choose by output, of %s", len(found), q.String(), quoted(outs))
	return nil
}

// notFound explains a query without a match.
func (m *Model) notFound(q Query) error {
	hint := ""
	if q.Name != "" {
		if p := m.Producer(q.Name); p != nil {
			hint = fmt.Sprintf("; a value has that name, made by %s: choose it by output", label(p))
		} else {
			hint = near(q.Name, names(m.graph().Node))
		}
	} else if q.Output != "" {
		hint = near(q.Output, m.valueNames())
	} else if q.Op != "" {
		var ops []string
		for _, n := range m.graph().Node {
			if o := n.GetOpType(); o != q.Op && !slices.Contains(ops, o) {
				ops = append(ops, o)
			}
		}
		hint = near(q.Op, ops)
	}
	return fmt.Errorf("no node with %s%s", q.String(), hint)
}

// Producer is the node that makes a value; nil for graph inputs, initializers
// and unknown names.
func (m *Model) Producer(value string) *pb.NodeProto {
	if value == "" {
		return nil
	}
	return lists.Find(m.graph().Node, func(n *pb.NodeProto) bool { return slices.Contains(n.Output, value) })
}

// Use is one place where a value is read: input Index of Node, or -1 for a
// node in whose subgraphs it is read.
type Use struct {
	Node  *pb.NodeProto
	Index int
}

// Consumers are all the places where a value is read, in graph order; graph
// outputs are not among them.
func (m *Model) Consumers(value string) []Use {
	var u []Use
	if value == "" {
		return nil
	}
	for _, n := range m.graph().Node {
		for i, x := range n.Input {
			if x == value {
				u = append(u, Use{n, i})
			}
		}
		if inner(n, value) {
			u = append(u, Use{n, -1})
		}
	}
	return u
}

// IsInput reports a graph input that is not an initializer as well.
func (m *Model) IsInput(name string) bool {
	return m.input(name) != nil && !m.IsInitializer(name)
}

// IsOutput reports a graph output.
func (m *Model) IsOutput(name string) bool { return m.output(name) != nil }

func (m *Model) input(name string) *pb.ValueInfoProto  { return valueInfo(m.graph().Input, name) }
func (m *Model) output(name string) *pb.ValueInfoProto { return valueInfo(m.graph().Output, name) }

func valueInfo(list []*pb.ValueInfoProto, name string) *pb.ValueInfoProto {
	return lists.Find(list, func(v *pb.ValueInfoProto) bool { return v.GetName() == name })
}

// InputNames and OutputNames list the model's interface, in order;
// initializers that are listed as inputs are left out.
func (m *Model) InputNames() []string {
	return (&onnx.Model{Proto: m.Proto}).Inputs()
}

// OutputNames lists the graph outputs in order.
func (m *Model) OutputNames() []string { return names(m.graph().Output) }

// names are those of values, nodes, tensors or attributes.
func names[T interface{ GetName() string }](list []T) []string {
	return lists.Map(list, func(v T) string { return v.GetName() })
}

// set is a set of names.
type set map[string]bool

func setOf(lists ...[]string) set {
	s := set{}
	for _, l := range lists {
		s.add(l...)
	}
	return s
}

func (s set) add(list ...string) {
	for _, x := range list {
		s[x] = true
	}
}

// valueNames lists every value of the main graph.
func (m *Model) valueNames() []string { return defined(m.graph()) }

// defined lists every value that a graph, or a subgraph, defines.
func defined(g *pb.GraphProto) []string {
	s := slices.Concat(names(g.Input), names(g.Initializer))
	for _, t := range g.SparseInitializer {
		s = append(s, t.GetValues().GetName())
	}
	for _, n := range g.Node {
		s = append(s, lists.Filter(n.Output, func(o string) bool { return o != "" })...)
	}
	return s
}

// known reports a value that something defines.
func (m *Model) known(value string) bool {
	return value != "" && slices.Contains(m.valueNames(), value)
}

// wantValue is an error unless something defines the value.
func (m *Model) wantValue(value string) error {
	all := m.valueNames()
	if value != "" && slices.Contains(all, value) {
		return nil
	}
	return fmt.Errorf("no value %s in the graph%s", quote(value), near(value, all))
}
