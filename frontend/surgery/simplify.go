// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"slices"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// maxGrow bounds what folding adds to a file: a result may be as large as the
// constants it is made of, or this.
const maxGrow = 1 << 20

// Simplified says what Simplify did.
type Simplified struct {
	Folded   int // nodes computed before time
	Bypassed int // nodes that do nothing
	Pruned   int // nodes and constants that nothing reads
}

// Simplify computes what can be computed from constants, takes out nodes that
// do nothing, joins neighbouring Transposes and Reshapes, and deletes what
// nothing reads. Graph inputs and outputs stay.
func (m *Model) Simplify() Simplified {
	var total Simplified
	for range 64 {
		var s Simplified
		// Nodes that do nothing go first: constants behind them keep their names.
		s.Bypassed = m.bypassNoOps() + m.join()
		s.Folded = m.fold()
		nodes, inits := m.Prune()
		s.Pruned = len(nodes) + len(inits)
		total.Folded += s.Folded
		total.Bypassed += s.Bypassed
		total.Pruned += s.Pruned
		if s == (Simplified{}) {
			break
		}
	}
	m.Sort()
	return total
}

// Prune deletes nodes from which no graph output is reached, and constants that
// nothing reads; it gives their names.
func (m *Model) Prune() (nodes, inits []string) {
	g := m.graph()
	want := setOf(names(g.Output))
	live := make([]bool, len(g.Node))
	for changed := true; changed; {
		changed = false
		for i := len(g.Node) - 1; i >= 0; i-- {
			n := g.Node[i]
			if live[i] || !slices.ContainsFunc(n.Output, func(o string) bool { return o != "" && want[o] }) {
				continue
			}
			live[i], changed = true, true
			want.add(reads(n)...)
		}
	}
	var kept []*pb.NodeProto
	gone := set{}
	for i, n := range g.Node {
		if live[i] {
			kept = append(kept, n)
			continue
		}
		nodes = append(nodes, n.GetName())
		gone.add(n.Output...)
	}
	g.Node = kept
	g.ValueInfo = slices.DeleteFunc(g.ValueInfo, func(v *pb.ValueInfoProto) bool { return gone[v.GetName()] })
	m.Touch()
	return nodes, m.RemoveUnusedInitializers()
}

// fold makes initializers of what nodes compute from constants.
func (m *Model) fold() int {
	s := m.Shapes()
	g := m.graph()
	var kept []*pb.NodeProto
	for _, n := range g.Node {
		if !m.foldable(n, s) {
			kept = append(kept, n)
			continue
		}
		for _, o := range n.Output {
			if o != "" {
				g.Initializer = append(g.Initializer, model.TensorProto(o, s.Const(o)))
			}
		}
	}
	count := len(g.Node) - len(kept)
	g.Node = kept
	m.Touch()
	return count
}

func (m *Model) foldable(n *pb.NodeProto, s *Shapes) bool {
	in, out := 0, 0
	for _, x := range n.Input {
		if d := s.Const(x); d != nil {
			in += len(d.Bytes())
		}
	}
	changed := false
	for _, o := range n.Output {
		if o == "" {
			continue
		}
		d := s.Const(o)
		if d == nil || m.IsOutput(o) {
			return false
		}
		out += len(d.Bytes())
		changed = true
	}
	return changed && (out <= max(in, maxGrow) || n.GetOpType() == "Constant")
}

// bypassNoOps takes out nodes whose result is their input.
func (m *Model) bypassNoOps() int {
	count := 0
	for _, n := range slices.Clone(m.graph().Node) {
		if n.GetDomain() != "" && n.GetDomain() != "ai.onnx" || len(n.Output) == 0 || len(n.Input) == 0 {
			continue
		}
		if !m.noOp(n, m.Shapes()) || m.IsOutput(n.Output[0]) &&
			(m.IsOutput(n.Input[0]) || m.Producer(n.Input[0]) == nil) {
			continue
		}
		types := m.types
		if fail.Caught(func() { m.bypass(n, 0) }) == nil {
			count++
			// Renaming aside, no other value has changed.
			if m.types == nil && !m.IsOutput(n.Output[0]) {
				m.types = types
			}
		}
	}
	return count
}

// noOp reports a node whose result is its input.
func (m *Model) noOp(n *pb.NodeProto, s *Shapes) bool {
	f := noOps[n.GetOpType()]
	return f != nil && f(candidate{m, n, s})
}

// candidate is a node that may do nothing.
type candidate struct {
	m *Model
	n *pb.NodeProto
	s *Shapes
}

// noOps say of operators when they do nothing.
var noOps = map[string]func(c candidate) bool{
	"Identity": func(candidate) bool { return true },
	"Dropout":  candidate.dropsNothing,
	"Cast": func(c candidate) bool {
		a, ok1 := c.s.Type(c.n.Input[0])
		b, ok2 := c.s.Type(c.n.Output[0])
		return ok1 && ok2 && a.Elem == b.Elem
	},
	"Reshape": candidate.sameShape, "Expand": candidate.sameShape, "Flatten": candidate.sameShape,
	"Squeeze": candidate.sameShape, "Unsqueeze": candidate.sameShape, "Tile": candidate.sameShape,
	"Slice": func(c candidate) bool {
		forward := c.m.Opset("") < 10 || at(c.n.Input, 4) == "" || c.all(4, func(v int64) bool { return v > 0 })
		return forward && c.sameShape()
	},
	"Pad":    func(c candidate) bool { return c.sameShape() && c.all(1, func(v int64) bool { return v == 0 }) },
	"Concat": candidate.ofOne, "Sum": candidate.ofOne, "Max": candidate.ofOne, "Min": candidate.ofOne,
	"Mean": candidate.ofOne,
	"Transpose": func(c candidate) bool {
		in, ok := c.s.Static(c.n.Input[0])
		return ok && slices.Equal(perm(c.n, len(in)), ir.Identity(len(in)))
	},
}

func (c candidate) ofOne() bool { return len(c.n.Input) == 1 }

func (c candidate) sameShape() bool {
	in, ok1 := c.s.Static(c.n.Input[0])
	out, ok2 := c.s.Static(c.n.Output[0])
	return ok1 && ok2 && slices.Equal(in, out)
}

// all reports that input i is a constant of which every element is as wanted.
func (c candidate) all(i int, f func(int64) bool) bool {
	d := c.s.Const(at(c.n.Input, i))
	return d != nil && !slices.ContainsFunc(d.Int64s(), func(v int64) bool { return !f(v) })
}

// dropsNothing: not in training, and nobody reads the mask.
func (c candidate) dropsNothing() bool {
	if at(c.n.Input, 2) != "" && !c.all(2, func(v int64) bool { return v == 0 }) {
		return false
	}
	mask := at(c.n.Output, 1)
	return c.m.Opset("") >= 7 && (mask == "" || len(c.m.Consumers(mask)) == 0 && !c.m.IsOutput(mask))
}

// perm is the permutation of a Transpose of a value of some rank.
func perm(n *pb.NodeProto, rank int) []int {
	if a := Attribute(n, "perm"); a != nil {
		return lists.Each(a.Ints, func(v int64) int { return int(v) })
	}
	p := ir.Identity(rank)
	slices.Reverse(p)
	return p
}

// join lets the second of two Transposes, or of two Reshapes, do the work of
// both.
func (m *Model) join() int {
	count := 0
	for _, n := range m.graph().Node {
		if len(n.Input) == 0 || n.GetDomain() != "" {
			continue
		}
		p := m.Producer(n.Input[0])
		if p == nil || p.GetOpType() != n.GetOpType() || p.GetDomain() != "" || len(p.Input) == 0 {
			continue
		}
		s := m.Shapes()
		switch n.GetOpType() {
		case "Transpose":
			in, ok1 := s.Static(p.Input[0])
			_, ok2 := s.Static(n.Output[0]) // so both permutations are valid
			if !ok1 || !ok2 {
				continue
			}
			first, second := perm(p, len(in)), perm(n, len(in))
			both := make([]int64, len(in))
			for i, k := range second {
				both[i] = int64(first[k])
			}
			n.Attribute = slices.DeleteFunc(n.Attribute,
				func(a *pb.AttributeProto) bool { return a.GetName() == "perm" })
			n.Attribute = append(n.Attribute, intsAttr("perm", both...))
		case "Reshape":
			d := s.Const(at(n.Input, 1))
			if d == nil || slices.Contains(d.Int64s(), 0) {
				continue
			}
		default:
			continue
		}
		n.Input[0] = p.Input[0] // no value has another type now
		count++
	}
	return count
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}
