// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
)

// indexArg is a place by number or by the name of the value that is there.
type indexArg struct {
	set  bool
	num  int
	name string
}

// UnmarshalYAML reads a number or a name.
func (a *indexArg) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return lineErr(n, "found %s; want a number or the name of a value", kindText(n))
	}
	a.set = true
	if v, err := strconv.Atoi(n.Value); err == nil && n.Tag == "!!int" {
		if v < 0 || v > 1<<16 {
			return lineErr(n, "place %d; want 0 or more", v)
		}
		a.num = v
		return nil
	}
	a.num, a.name = -1, n.Value
	return nil
}

// place finds a place in a list of a node's values; the first where none is given.
func (s *session) place(a *indexArg, n *pb.NodeProto, list []string, what string) int {
	if !a.set || a.name == "" {
		return a.num
	}
	i := slices.Index(list, a.name)
	if i < 0 {
		fail.Check(nodeErr(n, "has no %s %s%s; it has %s", what, quote(a.name), near(a.name, list), quoted(list)))
	}
	return i
}

// valueArg names a value, or a node and one of its outputs.
type valueArg struct {
	Value  string
	Node   *nodeSel
	Output indexArg
}

// value finds a value.
func (s *session) value(a *valueArg) string {
	m := s.m()
	s.oneOf(a.Value != "", a.Node != nil, "value or node")
	if a.Value != "" {
		fail.Check(m.wantValue(a.Value))
		return a.Value
	}
	n := s.node(a.Node)
	refuse(!a.Output.set && len(n.Output) != 1, n, "has %d outputs (%s); say which (output)", len(n.Output),
		quoted(n.Output))
	i := s.place(&a.Output, n, n.Output, "output")
	refuse(i >= len(n.Output) || n.Output[i] == "", n, "has no output %d; it has %s", i, quoted(n.Output))
	return n.Output[i]
}

// labels lists nodes for the log.
func labels(ns []*pb.NodeProto) string {
	var s []string
	for _, n := range ns {
		name := n.GetName()
		if name == "" {
			name = at(n.Output, 0)
		}
		s = append(s, name)
	}
	return quoted(s)
}

// nodeSteps edit nodes and what they read.
func nodeSteps() []*stepDef {
	type remove struct {
		Nodes nodeSel
		Input *int
		Only  bool
	}
	type insertBefore struct {
		Node  nodeSel
		Input indexArg
		New   newNode
	}
	type insertAfter struct {
		valueArg `yaml:",inline"`
		New      newNode
	}
	type replace struct {
		Nodes nodeSel
		With  []newNode
	}
	type connect struct {
		valueArg `yaml:",inline"`
		To       nodeSel
		Input    indexArg
	}
	type changeOutput struct {
		Node    nodeSel
		Output  indexArg
		To      string
		Readers string
	}
	type setAttributes struct {
		Nodes  nodeSel
		Set    map[string]yaml.Node
		Remove []string
	}
	type renameNode struct {
		Node nodeSel
		To   string
	}
	type rename struct{ Value, To string }
	return []*stepDef{
		reading(def("find", func(s *session, a *struct{ Nodes nodeSel }) string {
			ns := s.nodes(&a.Nodes)
			return fmt.Sprintf("%d nodes: %s", len(ns), labels(ns))
		})),
		def("remove", func(s *session, a *remove) string {
			ns, opt := s.nodes(&a.Nodes), RemoveOptions{Input: -1, Only: a.Only}
			if a.Input != nil {
				opt.Input = *a.Input
				s.want(opt.Input >= 0, "input %d; want 0 or more", opt.Input)
			}
			text := fmt.Sprintf("removed %d nodes: %s", len(ns), labels(ns))
			s.m().Remove(ns, opt)
			return text
		}),
		def("insert_before", func(s *session, a *insertBefore) string {
			at := s.node(&a.Node)
			i := s.place(&a.Input, at, at.Input, "input")
			n, k := s.streamed(&a.New)
			s.m().InsertBefore(at, i, n, k)
			return fmt.Sprintf("%s in front of %s", label(n), label(at))
		}),
		def("insert_after", func(s *session, a *insertAfter) string {
			v := s.value(&a.valueArg)
			n, k := s.streamed(&a.New)
			s.m().InsertAfter(v, n, k)
			return fmt.Sprintf("%s behind %s", label(n), quote(v))
		}),
		def("add_nodes", func(s *session, a *struct{ Nodes []newNode }) string {
			s.want(len(a.Nodes) > 0, "no nodes are given")
			var made []*pb.NodeProto
			for i := range a.Nodes {
				made = append(made, s.addNode(&a.Nodes[i]))
			}
			return "added " + labels(made)
		}),
		def("replace", func(s *session, a *replace) string {
			old := s.nodes(&a.Nodes)
			var made []*pb.NodeProto
			for i := range a.With {
				made = append(made, s.standIn(&a.With[i], old))
			}
			text := "replaced " + labels(old)
			s.m().Replace(old, made)
			return text + " by " + labels(made)
		}),
		def("connect", func(s *session, a *connect) string {
			v, to := s.value(&a.valueArg), s.node(&a.To)
			i := s.place(&a.Input, to, to.Input, "input")
			s.m().Connect(v, to, i)
			return fmt.Sprintf("input %d of %s reads %s", i, label(to), quote(v))
		}),
		def("change_output", func(s *session, a *changeOutput) string {
			n := s.node(&a.Node)
			i := s.place(&a.Output, n, n.Output, "output")
			s.choice("readers:", a.Readers, "follow", "stay")
			s.m().ChangeOutput(n, i, a.To, a.Readers != "stay")
			return fmt.Sprintf("output %d of %s is called %s", i, label(n), quote(a.To))
		}),
		def("set_attributes", func(s *session, a *setAttributes) string {
			ns := s.nodes(&a.Nodes)
			s.want(len(a.Set)+len(a.Remove) > 0, "nothing to do; want set or remove")
			for _, n := range ns {
				for _, k := range sortedKeys(a.Set) {
					v := a.Set[k]
					var x any
					fail.Under("attribute "+quote(k), func() { x = attrValue(&v, s.script.Dir) })
					s.m().SetAttribute(n, k, x)
				}
				for _, k := range a.Remove {
					s.m().RemoveAttribute(n, k)
				}
			}
			return fmt.Sprintf("%d nodes: set %s, removed %s", len(ns), quoted(sortedKeys(a.Set)), quoted(a.Remove))
		}),
		def("rename_node", func(s *session, a *renameNode) string {
			n := s.node(&a.Node)
			refuse(a.To == "" || n.GetName() != a.To && len(s.m().Find(Query{Name: a.To})) > 0, n,
				"cannot be called %s: the name is empty or taken", quote(a.To))
			old := label(n)
			n.Name = proto.String(a.To)
			return fmt.Sprintf("%s is called %s", old, quote(a.To))
		}),
		def("rename", func(s *session, a *rename) string {
			s.m().RenameValue(a.Value, a.To)
			return fmt.Sprintf("%s is called %s", quote(a.Value), quote(a.To))
		}),
	}
}

// made is a new node, and which of its inputs is called $ (-1: none).
func (s *session) made(a *newNode) (*pb.NodeProto, int) { return a.make(s.m(), s.script.Dir) }

// streamed is made for a node that is put onto a value: the input called $, or the
// first one where no inputs are given.
func (s *session) streamed(a *newNode) (*pb.NodeProto, int) {
	n, k := s.made(a)
	refuse(k < 0 && len(a.Inputs) > 0, n, `none of its inputs is "$", which stands for the value it is put onto`)
	return n, max(k, 0)
}

// addNode adds a node that reads values by name.
func (s *session) addNode(a *newNode) *pb.NodeProto {
	n, k := s.made(a)
	refuse(k >= 0, n, "input %d is $, which stands for nothing here", k)
	for _, x := range n.Input {
		if x == "" {
			continue
		}
		if err := s.m().wantValue(x); err != nil {
			fail.Check(nodeErr(n, "%v", err))
		}
	}
	s.m().AddNode(n)
	return n
}

// standIn is a node to be put in the place of others; $ is what the first of them read.
func (s *session) standIn(a *newNode, old []*pb.NodeProto) *pb.NodeProto {
	n, k := s.made(a)
	if k < 0 {
		return n
	}
	refuse(len(old) == 0, n, "input %d is $, but no node is replaced", k)
	d := s.m().dataInput(old[0], -1)
	n.Input[k] = old[0].Input[d]
	return n
}
