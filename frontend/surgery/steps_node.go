package surgery

import (
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/onnx/pb"
)

// indexArg is a place by number or by the name of the value that stands there.
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

// in finds the place in a list; def stands for one that was not given.
func (a *indexArg) in(n *pb.NodeProto, list []string, what string, def int) (int, error) {
	if !a.set {
		return def, nil
	}
	if a.name == "" {
		return a.num, nil
	}
	for i, s := range list {
		if s == a.name {
			return i, nil
		}
	}
	return 0, nodeErr(n, "has no %s %s%s; it has %s", what, quote(a.name), near(a.name, list), quoted(list))
}

// valueArg names a value, or a node and one of its outputs.
type valueArg struct {
	Value  string   `yaml:"value"`
	Node   *nodeSel `yaml:"node"`
	Output indexArg `yaml:"output"`
}

func (a *valueArg) find(m *Model) (string, error) {
	if (a.Value == "") == (a.Node == nil) {
		return "", errors.New("want value or node, one of them")
	}
	if a.Value != "" {
		return a.Value, m.wantValue(a.Value)
	}
	n, err := a.Node.single(m)
	if err != nil {
		return "", err
	}
	if !a.Output.set && len(n.Output) != 1 {
		return "", nodeErr(n, "has %d outputs (%s); say which (output)", len(n.Output), quoted(n.Output))
	}
	i, err := a.Output.in(n, n.Output, "output", 0)
	if err != nil {
		return "", err
	}
	if i >= len(n.Output) || n.Output[i] == "" {
		return "", nodeErr(n, "has no output %d; it has %s", i, quoted(n.Output))
	}
	return n.Output[i], nil
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

func nodeSteps() []*stepDef {
	type find struct {
		Nodes nodeSel `yaml:"nodes"`
	}
	type remove struct {
		Nodes nodeSel `yaml:"nodes"`
		Input *int    `yaml:"input"`
		Only  bool    `yaml:"only"`
	}
	type insertBefore struct {
		Node  nodeSel  `yaml:"node"`
		Input indexArg `yaml:"input"`
		New   newNode  `yaml:"new"`
	}
	type insertAfter struct {
		valueArg `yaml:",inline"`
		New      newNode `yaml:"new"`
	}
	type addNodes struct {
		Nodes []newNode `yaml:"nodes"`
	}
	type replace struct {
		Nodes nodeSel   `yaml:"nodes"`
		With  []newNode `yaml:"with"`
	}
	type connect struct {
		valueArg `yaml:",inline"`
		To       nodeSel  `yaml:"to"`
		Input    indexArg `yaml:"input"`
	}
	type changeOutput struct {
		Node    nodeSel  `yaml:"node"`
		Output  indexArg `yaml:"output"`
		To      string   `yaml:"to"`
		Readers string   `yaml:"readers"`
	}
	type setAttributes struct {
		Nodes  nodeSel              `yaml:"nodes"`
		Set    map[string]yaml.Node `yaml:"set"`
		Remove []string             `yaml:"remove"`
	}
	type renameNode struct {
		Node nodeSel `yaml:"node"`
		To   string  `yaml:"to"`
	}
	type rename struct {
		Value string `yaml:"value"`
		To    string `yaml:"to"`
	}
	return []*stepDef{
		reading(def("find", "list the nodes that a search finds; count: N fails for any other number",
			`find: {nodes: {op: Reshape, count: 5}}`,
			func(s *session, a *find) (string, error) {
				ns, err := a.Nodes.find(s.cur().m)
				return fmt.Sprintf("%d nodes: %s", len(ns), labels(ns)), err
			})),
		def("remove", "delete nodes; all their readers get what the node read (input: N where it is not clear), or nothing is re-wired (only: true)",
			`remove: {nodes: [/Reshape, /Slice]}`,
			func(s *session, a *remove) (string, error) {
				ns, err := a.Nodes.find(s.cur().m)
				if err != nil {
					return "", err
				}
				opt := RemoveOptions{Input: -1, Only: a.Only}
				if a.Input != nil {
					if opt.Input = *a.Input; opt.Input < 0 {
						return "", fmt.Errorf("input %d; want 0 or more", opt.Input)
					}
				}
				text := fmt.Sprintf("removed %d nodes: %s", len(ns), labels(ns))
				return text, s.cur().m.Remove(ns, opt)
			}),
		def("insert_before", "put a new node onto one input of a node; $ among its inputs is what was read there (the first, where inputs are left out)",
			`insert_before: {node: /conv, input: 0, new: {op: Transpose, attributes: {perm: [0, 3, 1, 2]}}}`,
			func(s *session, a *insertBefore) (string, error) {
				m := s.cur().m
				at, err := a.Node.single(m)
				if err != nil {
					return "", err
				}
				i, err := a.Input.in(at, at.Input, "input", 0)
				if err != nil {
					return "", err
				}
				n, k, err := a.New.streamed(m, s.script.Dir)
				if err != nil {
					return "", err
				}
				err = m.InsertBefore(at, i, n, k)
				return fmt.Sprintf("%s in front of %s", label(n), label(at)), err
			}),
		def("insert_after", "put a new node onto a value: all readers of the value read the node's first output instead; $ among its inputs is the value",
			`insert_after: {node: /conv, new: {op: Relu}}`,
			func(s *session, a *insertAfter) (string, error) {
				m := s.cur().m
				v, err := a.find(m)
				if err != nil {
					return "", err
				}
				n, k, err := a.New.streamed(m, s.script.Dir)
				if err != nil {
					return "", err
				}
				err = m.InsertAfter(v, n, k)
				return fmt.Sprintf("%s behind %s", label(n), quote(v)), err
			}),
		def("add_nodes", "add nodes and re-wire nothing; an input may be a constant written in place",
			`add_nodes: {nodes: [{op: Add, inputs: [x, {value: [1.5]}], outputs: [y]}]}`,
			func(s *session, a *addNodes) (string, error) {
				m := s.cur().m
				if len(a.Nodes) == 0 {
					return "", errors.New("no nodes are given")
				}
				var made []*pb.NodeProto
				for i := range a.Nodes {
					n, k, err := a.Nodes[i].make(m, s.script.Dir)
					if err != nil {
						return "", err
					}
					if k >= 0 {
						return "", nodeErr(n, "input %d is $, which stands for nothing here", k)
					}
					for _, x := range n.Input {
						if x != "" {
							if err := m.wantValue(x); err != nil {
								return "", nodeErr(n, "%v", err)
							}
						}
					}
					if err := m.AddNode(n); err != nil {
						return "", err
					}
					made = append(made, n)
				}
				return fmt.Sprintf("added %s", labels(made)), nil
			}),
		def("replace", "put new nodes in the place of old ones; the last new node makes what is still read of them, unless outputs say otherwise",
			`replace: {nodes: /act, with: [{op: HardSwish, inputs: [x]}]}`,
			func(s *session, a *replace) (string, error) {
				m := s.cur().m
				old, err := a.Nodes.find(m)
				if err != nil {
					return "", err
				}
				var new []*pb.NodeProto
				for i := range a.With {
					n, k, err := a.With[i].make(m, s.script.Dir)
					if err != nil {
						return "", err
					}
					if k >= 0 {
						if len(old) == 0 {
							return "", nodeErr(n, "input %d is $, but no node is replaced", k)
						}
						d, err := m.dataInput(old[0], -1)
						if err != nil {
							return "", err
						}
						n.Input[k] = old[0].Input[d]
					}
					new = append(new, n)
				}
				text := fmt.Sprintf("replaced %s", labels(old))
				err = m.Replace(old, new)
				return text + " by " + labels(new), err
			}),
		def("connect", "let one input of a node read another value",
			`connect: {node: /a, output: 0, to: /b, input: 1}`,
			func(s *session, a *connect) (string, error) {
				m := s.cur().m
				v, err := a.find(m)
				if err != nil {
					return "", err
				}
				to, err := a.To.single(m)
				if err != nil {
					return "", err
				}
				i, err := a.Input.in(to, to.Input, "input", 0)
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("input %d of %s reads %s", i, label(to), quote(v)), m.Connect(v, to, i)
			}),
		def("change_output", "give an output of a node another name, such as that of a graph output; readers: follow (default) or stay",
			`change_output: {node: /conv, to: output_0}`,
			func(s *session, a *changeOutput) (string, error) {
				m := s.cur().m
				n, err := a.Node.single(m)
				if err != nil {
					return "", err
				}
				i, err := a.Output.in(n, n.Output, "output", 0)
				if err != nil {
					return "", err
				}
				if a.Readers != "" && a.Readers != "follow" && a.Readers != "stay" {
					return "", fmt.Errorf("readers: %s; want follow or stay", quote(a.Readers))
				}
				err = m.ChangeOutput(n, i, a.To, a.Readers != "stay")
				return fmt.Sprintf("output %d of %s is called %s", i, label(n), quote(a.To)), err
			}),
		def("set_attributes", "set and remove attributes of nodes by name; the others stay",
			`set_attributes: {nodes: {op: Softmax}, set: {axis: 1}}`,
			func(s *session, a *setAttributes) (string, error) {
				m := s.cur().m
				ns, err := a.Nodes.find(m)
				if err != nil {
					return "", err
				}
				if len(a.Set)+len(a.Remove) == 0 {
					return "", errors.New("nothing to do; want set or remove")
				}
				for _, n := range ns {
					for _, k := range sortedKeys(a.Set) {
						v := a.Set[k]
						x, err := attrValue(&v, s.script.Dir)
						if err != nil {
							return "", fmt.Errorf("attribute %s: %w", quote(k), err)
						}
						if err := m.SetAttribute(n, k, x); err != nil {
							return "", err
						}
					}
					for _, k := range a.Remove {
						if err := m.RemoveAttribute(n, k); err != nil {
							return "", err
						}
					}
				}
				return fmt.Sprintf("%d nodes: set %s, removed %s", len(ns), quoted(sortedKeys(a.Set)), quoted(a.Remove)), nil
			}),
		def("rename_node", "give a node another name",
			`rename_node: {node: {output: y}, to: /head/Conv}`,
			func(s *session, a *renameNode) (string, error) {
				m := s.cur().m
				n, err := a.Node.single(m)
				if err != nil {
					return "", err
				}
				if a.To == "" || n.GetName() != a.To && len(m.Find(Query{Name: a.To})) > 0 {
					return "", nodeErr(n, "cannot be called %s: the name is empty or taken", quote(a.To))
				}
				old := label(n)
				n.Name = proto.String(a.To)
				return fmt.Sprintf("%s is called %s", old, quote(a.To)), nil
			}),
		def("rename", "give a value another name everywhere: inner value, graph input or output, initializer",
			`rename: {value: output_0, to: boxes}`,
			func(s *session, a *rename) (string, error) {
				return fmt.Sprintf("%s is called %s", quote(a.Value), quote(a.To)), s.cur().m.RenameValue(a.Value, a.To)
			}),
	}
}

// streamed is make for a node that is put onto a value: the input called $, or
// the first one where no inputs are given.
func (a *newNode) streamed(m *Model, dir string) (*pb.NodeProto, int, error) {
	n, k, err := a.make(m, dir)
	if err != nil {
		return nil, 0, err
	}
	if k < 0 {
		if len(a.Inputs) > 0 {
			return nil, 0, nodeErr(n, `none of its inputs is "$", which stands for the value it is put onto`)
		}
		k = 0
	}
	return n, k, nil
}
