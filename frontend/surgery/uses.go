package surgery

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
)

// subgraphs of a node's attributes.
func subgraphs(n *pb.NodeProto) []*pb.GraphProto {
	var gs []*pb.GraphProto
	for _, a := range n.Attribute {
		if a.G != nil {
			gs = append(gs, a.G)
		}
		gs = append(gs, a.Graphs...)
	}
	return gs
}

// defines reports whether a subgraph has a value of its own with that name.
func defines(g *pb.GraphProto, name string) bool {
	if valueInfo(g.Input, name) != nil {
		return true
	}
	for _, t := range g.Initializer {
		if t.GetName() == name {
			return true
		}
	}
	for _, n := range g.Node {
		if slices.Contains(n.Output, name) {
			return true
		}
	}
	return false
}

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

// renameInner lets the subgraphs of n read another value.
func renameInner(n *pb.NodeProto, old, new string) {
	for _, g := range subgraphs(n) {
		if defines(g, old) {
			continue
		}
		for _, o := range g.Output {
			if o.GetName() == old {
				o.Name = proto.String(new)
			}
		}
		for _, k := range g.Node {
			replaceAll(k.Input, old, new)
			renameInner(k, old, new)
		}
	}
}

func replaceAll(list []string, old, new string) {
	for i, s := range list {
		if s == old {
			list[i] = new
		}
	}
}

// rewire makes every reader of old read new instead, readers in subgraphs
// included; except (may be nil) keeps what it read. Graph outputs stay.
func (m *Model) rewire(old, new string, except *pb.NodeProto) {
	m.Touch()
	for _, n := range m.graph().Node {
		if n != except {
			replaceAll(n.Input, old, new)
			renameInner(n, old, new)
		}
	}
}

// RenameValue gives a value another name wherever it stands: where it is made,
// read, declared or an interface of the graph.
func (m *Model) RenameValue(old, new string) error {
	if err := m.wantValue(old); err != nil {
		return err
	}
	if old == new {
		return nil
	}
	if err := m.freeValue(new); err != nil {
		return err
	}
	m.renameValue(old, new)
	return nil
}

func (m *Model) renameValue(old, new string) {
	g := m.graph()
	m.rewire(old, new, nil)
	for _, n := range g.Node {
		replaceAll(n.Output, old, new)
	}
	for _, list := range [][]*pb.ValueInfoProto{g.Input, g.Output, g.ValueInfo} {
		for _, v := range list {
			if v.GetName() == old {
				v.Name = proto.String(new)
			}
		}
	}
	for _, t := range g.Initializer {
		if t.GetName() == old {
			t.Name = proto.String(new)
		}
	}
	for _, t := range g.SparseInitializer {
		if t.GetValues().GetName() == old {
			t.Values.Name = proto.String(new)
		}
	}
	for _, a := range g.QuantizationAnnotation {
		if a.GetTensorName() == old {
			a.TensorName = proto.String(new)
		}
		for _, e := range a.QuantParameterTensorNames {
			if e.GetValue() == old {
				e.Value = proto.String(new)
			}
		}
	}
}

// renameOutput changes the name under which a node makes a value; readers stay.
func renameOutput(n *pb.NodeProto, old, new string) { replaceAll(n.Output, old, new) }

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
func innerNames(g *pb.GraphProto, taken map[string]bool) {
	for _, n := range g.Node {
		for _, s := range subgraphs(n) {
			for _, v := range s.Input {
				taken[v.GetName()] = true
			}
			for _, t := range s.Initializer {
				taken[t.GetName()] = true
			}
			for _, k := range s.Node {
				for _, o := range k.Output {
					taken[o] = true
				}
			}
			innerNames(s, taken)
		}
	}
}

// UniqueValue makes a value name that is not taken: base itself, or base with
// a number. Names that are only read or declared count as taken, too.
func (m *Model) UniqueValue(base string) string {
	taken := map[string]bool{"": true}
	g := m.graph()
	for _, s := range m.valueNames() {
		taken[s] = true
	}
	for _, n := range g.Node {
		for _, s := range n.Input {
			taken[s] = true
		}
	}
	for _, v := range g.Output {
		taken[v.GetName()] = true
	}
	innerNames(g, taken)
	return number(taken, base)
}

// UniqueNode makes a node name that is not taken.
func (m *Model) UniqueNode(base string) string {
	taken := map[string]bool{"": true}
	for _, n := range m.graph().Node {
		taken[n.GetName()] = true
	}
	return number(taken, base)
}

func number(taken map[string]bool, base string) string {
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
		own := map[string]bool{}
		for _, v := range g.Input {
			own[v.GetName()] = true
		}
		for _, t := range g.Initializer {
			own[t.GetName()] = true
		}
		for _, k := range g.Node {
			for _, o := range k.Output {
				own[o] = true
			}
		}
		add := func(s string) {
			if !own[s] {
				in = append(in, s)
			}
		}
		for _, o := range g.Output {
			add(o.GetName())
		}
		for _, k := range g.Node {
			for _, s := range reads(k) {
				add(s)
			}
		}
	}
	return in
}

// Sort puts the nodes in topological order: what a node reads comes to stand
// right in front of it where it stood behind, everything else stays. An error
// names the nodes of a cycle. Values that nothing makes do not matter: scripts
// may be between two steps.
func (m *Model) Sort() error {
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
		return nil
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
				return cycleError(nodes, stack[slices.Index(stack, d):])
			}
		}
	}
	m.graph().Node = out
	return nil
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
	return fmt.Errorf("the nodes now form a cycle: %s → back to the first; want a graph that can be put in order", strings.Join(s, " → "))
}
