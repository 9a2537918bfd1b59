// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
)

// AddNode adds a node at the end of the list, or in front of the first node that
// reads its results. Nothing is re-wired. Outputs without a name, or none at all where the
// operator must have one, get the name of the node with _output_0 behind it.
func (m *Model) AddNode(n *pb.NodeProto) {
	m.name(n)
	for _, o := range n.Output {
		if o == "" {
			continue
		}
		if err := m.freeValue(o); err != nil {
			fail.Check(nodeErr(n, "%v", err))
		}
	}
	m.place(n)
	m.Sort()
}

// name fills in the names that a new node lacks.
func (m *Model) name(n *pb.NodeProto) {
	if n.GetName() == "" {
		base := n.GetOpType()
		if len(n.Output) > 0 && n.Output[0] != "" {
			base = n.Output[0] + "/" + base
		}
		n.Name = proto.String(m.UniqueNode(base))
	}
	if len(n.Output) == 0 {
		n.Output = []string{""}
	}
	if n.Output[0] == "" {
		n.Output[0] = m.UniqueValue(n.GetName() + "_output_0")
	}
}

// place adds a node at the end of the list; Sort then moves it in front of the
// first node that reads it. Nodes that are added one after the other so stay in
// that order.
func (m *Model) place(n *pb.NodeProto) {
	m.Touch()
	m.graph().Node = append(m.graph().Node, n)
}

// placeBefore inserts nodes in front of another.
func (m *Model) placeBefore(at *pb.NodeProto, nodes ...*pb.NodeProto) {
	m.Touch()
	g := m.graph()
	i := slices.Index(g.Node, at)
	if i < 0 {
		i = len(g.Node)
	}
	g.Node = slices.Insert(g.Node, i, nodes...)
}

// InsertAfter puts a node onto a value: input number in of n reads the value,
// and everything that read the value reads the first output of n instead. Of a
// graph output, n becomes the producer under the output's own name, and the
// value in front of it gets another name.
func (m *Model) InsertAfter(value string, n *pb.NodeProto, in int) {
	fail.Check(m.wantValue(value))
	p := m.Producer(value)
	if m.IsOutput(value) {
		fail.If(p == nil, "%s is both an input and an output of the graph; give the output a name of its own first",
			quote(value))
		inside := m.UniqueValue(value + "_inner")
		n.Input = setAt(n.Input, in, inside)
		if len(n.Output) == 0 {
			n.Output = []string{""}
		}
		n.Output[0] = value
		m.name(n)
		renameList(p.Output, only(value, inside))
		m.placeBefore(p, n)
		m.Sort()
		return
	}
	n.Input = setAt(n.Input, in, value)
	m.AddNode(n)
	m.rewire(value, n.Output[0], n)
	m.Sort()
}

// InsertBefore puts a node onto one edge: input number in of n reads what
// input index of at read, and that one reads the first output of n instead.
func (m *Model) InsertBefore(at *pb.NodeProto, index int, n *pb.NodeProto, in int) {
	refuse(index < 0 || index >= len(at.Input) || at.Input[index] == "", at, "has no input %d; its inputs are %s",
		index, quoted(at.Input))
	n.Input = setAt(n.Input, in, at.Input[index])
	m.AddNode(n)
	at.Input[index] = n.Output[0]
	m.Touch()
	m.Sort()
}

// setAt stores s at place i of a list that may be too short.
func setAt(list []string, i int, s string) []string {
	for len(list) <= i {
		list = append(list, "")
	}
	list[i] = s
	return list
}

// Connect makes input index of a node read a value.
func (m *Model) Connect(value string, to *pb.NodeProto, index int) {
	fail.Check(m.wantValue(value))
	refuse(index < 0 || index > len(to.Input)+8, to, "has no input %d; it has %d inputs", index, len(to.Input))
	to.Input = setAt(to.Input, index, value)
	m.Touch()
	m.Sort()
}

// ChangeOutput gives an output of a node another name. With follow, readers of
// the old name follow; without, they are left for other edits to serve. Graph
// outputs keep their names: this is how a node becomes the producer of one.
func (m *Model) ChangeOutput(n *pb.NodeProto, index int, name string, follow bool) {
	refuse(index < 0 || index >= len(n.Output), n, "has no output %d; its outputs are %s", index, quoted(n.Output))
	refuse(name == "", n, "the new name of output %d is empty", index)
	old := n.Output[index]
	if old == name {
		return
	}
	if p := m.Producer(name); p != nil {
		fail.Check(nodeErr(n, "output %d cannot be called %s, which %s makes; remove that first", index, quote(name),
			label(p)))
	}
	refuse(m.known(name), n, "output %d cannot be called %s, which is a graph input or initializer", index,
		quote(name))
	n.Output[index] = name
	m.Touch()
	if follow && old != "" {
		m.rewire(old, name, nil)
	}
	m.Sort()
}

// RemoveOptions of Remove.
type RemoveOptions struct {
	// Input is the input whose value the readers of a removed node get: -1 for
	// the only one that is no constant.
	Input int
	// Only deletes and re-wires nothing; readers and graph outputs are left for
	// other edits to serve.
	Only bool
}

// Remove deletes nodes. All readers of their results, subgraphs and graph
// outputs included, get the value that the node read; a graph output keeps its
// name (where two would become one value, an Identity stays in between).
// Constants that only removed nodes read go, too.
func (m *Model) Remove(nodes []*pb.NodeProto, opt RemoveOptions) {
	var orphans []string
	for _, n := range nodes {
		refuse(!slices.Contains(m.graph().Node, n), n, "is not in the graph (removed twice?)")
		orphans = append(orphans, reads(n)...)
		if opt.Only {
			m.delete(n)
			continue
		}
		m.bypass(n, opt.Input)
	}
	m.dropConstants(orphans)
	m.Sort()
}

func (m *Model) delete(n *pb.NodeProto) {
	m.Touch()
	g := m.graph()
	if i := slices.Index(g.Node, n); i >= 0 {
		g.Node = slices.Delete(g.Node, i, i+1)
	}
}

// bypass deletes a node and connects its readers to its input.
func (m *Model) bypass(n *pb.NodeProto, input int) {
	used := ""
	for _, o := range n.Output {
		if o == "" || !m.IsOutput(o) && len(m.Consumers(o)) == 0 {
			continue
		}
		refuse(used != "", n, "has several outputs that are read (%s, %s); nothing can replace all of them "+
			"(only: true removes it without re-wiring)", quote(used), quote(o))
		used = o
	}
	if used == "" {
		m.delete(n)
		return
	}
	k := m.dataInput(n, input)
	src := n.Input[k]
	if !m.IsOutput(used) {
		m.delete(n)
		m.rewire(used, src, nil)
		return
	}
	p := m.Producer(src)
	if p == nil || m.IsOutput(src) {
		// An interface at both ends: a name for each must stay.
		m.placeBefore(n, newProto("Identity", m.UniqueNode(n.GetName()+"/Identity"), used, src))
		m.delete(n)
		return
	}
	m.delete(n)
	m.rewire(src, used, nil)
	renameList(p.Output, only(src, used))
}

// dataInput is the input that replaces a removed node's output.
func (m *Model) dataInput(n *pb.NodeProto, input int) int {
	if input >= 0 {
		refuse(input >= len(n.Input) || n.Input[input] == "", n, "has no input %d; its inputs are %s", input,
			quoted(n.Input))
		return input
	}
	var data []int
	for i, s := range n.Input {
		if s != "" && !m.isConstant(s) {
			data = append(data, i)
		}
	}
	switch {
	case len(data) == 1:
		return data[0]
	case len(data) == 0 && len(n.Input) == 1:
		return 0
	case len(data) == 0:
		fail.Check(nodeErr(n, "reads only constants, but something reads its result; say which input replaces it "+
			"(input: N), or only: true"))
	}
	fail.Check(nodeErr(n, "reads %d values that are no constants (%s); say which one replaces its result (input: "+
		"N), or only: true", len(data), quoted(n.Input)))
	return 0
}

// dropConstants deletes those of the named values that are initializers or
// Constant nodes and that nothing reads.
func (m *Model) dropConstants(values []string) {
	slices.Sort(values)
	for _, s := range slices.Compact(values) {
		if s == "" || m.IsOutput(s) || len(m.Consumers(s)) > 0 {
			continue
		}
		if p := m.Producer(s); p != nil && p.GetOpType() == "Constant" {
			m.delete(p)
		} else if p == nil && m.IsInitializer(s) {
			m.deleteInitializer(s)
		}
	}
}

// Replace puts new nodes in the place of old ones. Whatever others still read
// of the old nodes must be made by the new ones; a last new node without
// outputs makes the one value that is needed.
func (m *Model) Replace(old, by []*pb.NodeProto) {
	fail.If(len(old) == 0 || len(by) == 0, "replacing %d nodes by %d; want at least one of each", len(old), len(by))
	var need, orphans []string
	for _, n := range old {
		orphans = append(orphans, reads(n)...)
		for _, o := range n.Output {
			if o != "" && (m.IsOutput(o) ||
				slices.ContainsFunc(m.Consumers(o), func(u Use) bool { return !slices.Contains(old, u.Node) })) {
				need = append(need, o)
			}
		}
	}
	at := old[0]
	i := slices.Index(m.graph().Node, at)
	for _, n := range old {
		m.delete(n)
	}
	made := map[string]bool{}
	for k, n := range by {
		if k == len(by)-1 && len(n.Output) == 0 && len(need) == 1 {
			n.Output = []string{need[0]}
		}
		m.name(n)
		for _, o := range n.Output {
			if o != "" && m.known(o) {
				fail.Check(nodeErr(n, "%v", m.freeValue(o)))
			}
			made[o] = true
		}
		m.Touch()
		m.graph().Node = slices.Insert(m.graph().Node, min(i+k, len(m.graph().Node)), n)
	}
	for _, s := range need {
		refuse(!made[s], at, "replacing it leaves %s without a producer, which is still needed; name it as an "+
			"output of a new node", quote(s))
	}
	m.dropConstants(orphans)
	m.Sort()
}
