// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/partition"
)

// Refusal is a node that the accelerator does not compute.
type Refusal struct {
	Node        *ir.Node
	Accelerator string // its kind
	Reasons     []kernel.Reason
}

// segment is the stage segments: it cuts the graph for the accelerator and notes
// what that refused. In a graph that has no 4-D form every refusal cuts: no
// boundary ops are known.
func (s *State) segment() {
	a := s.facts.Accel
	if s.boundary != nil {
		addBoundaryOps(s.Graph, a, s.boundary)
	}
	joinRefused(s.Graph, a)
	s.Segments = fail.Must(Offload(s.Graph, a.Kind(), func(n *ir.Node) bool {
		if s.boundary[n] {
			return false
		}
		why := a.CheckLegality(n)
		if len(why) > 0 {
			s.Refused = append(s.Refused, Refusal{n, a.Kind(), why})
		}
		return len(why) == 0
	}, a.Traits().MinWork))
}

// joinRefused makes one node of functions of one value in a row that the accelerator refuses alone, where it takes what
// they are together.
func joinRefused(g *ir.Graph, a accel.Accelerator) {
	seen := map[*ir.Node]bool{}
	for _, n := range slices.Clone(g.Nodes) {
		var row []*ir.Node
		for v := (*ir.Value)(nil); !seen[n] && refusedFunction(a, n, v); n = v.Uses()[0].Node {
			row, v = append(row, n), n.Out[0]
			if seen[n] = true; len(v.Uses()) != 1 || g.IsOutput(v) {
				break
			}
		}
		if len(row) < 2 {
			continue
		}
		one, results := fail.Must2(ir.Outline(g, row, op.Fused, row[len(row)-1].Name, nil))
		if len(a.CheckLegality(one)) == 0 {
			fail.Check(g.Replace(one, row, results))
		}
	}
	bug.If(!g.Sort(), "joined functions close a cycle")
}

// refusedFunction reports an element-wise function of one value, v where one is given, that the accelerator refuses.
func refusedFunction(a accel.Accelerator, n *ir.Node, v *ir.Value) bool {
	k, why := kernel.RunInput(n)
	return why == "" && (v == nil || n.In[k] == v) && n.Op.Pattern <= ir.Broadcast && len(n.Out) == 1 &&
		n.Out[0].Type.Elems() == n.In[k].Type.Elems() && len(a.CheckLegality(n)) > 0
}

// Offload moves the nodes that are legal on an accelerator of a kind into
// Segment nodes, as few as possible, and returns these in the order in which they
// run. Segments with less work than minWork stay on the CPU where that saves one.
func Offload(g *ir.Graph, kind string, legal func(n *ir.Node) bool, minWork int64) (segments []*ir.Node,
	err error) {
	defer fail.Catch(&err)
	index := lists.Places(g.Nodes)
	nodes := make([]partition.Node, len(g.Nodes))
	for i, n := range g.Nodes {
		x := partition.Node{Accel: legal(n)}
		if n.Op.MACs != nil {
			x.Work = n.Op.MACs(n)
		}
		for _, v := range n.In {
			if v != nil && v.Def != nil {
				x.Preds = append(x.Preds, index[v.Def])
			}
		}
		nodes[i] = x
	}
	cut, count := partition.Cut(nodes, partition.Options{MinWork: minWork})
	members := make([][]*ir.Node, count)
	for i, s := range cut {
		if s != partition.None {
			members[s] = append(members[s], g.Nodes[i])
		}
	}
	for s, m := range members {
		if len(m) > 0 {
			segments = append(segments, extract(g, m, s, kind))
		}
	}
	bug.If(!g.Sort(), "a segment closes a cycle")
	return segments, nil
}

// extract replaces nodes of g by one Segment node, at the end of the list: the
// caller sorts.
func extract(g *ir.Graph, nodes []*ir.Node, id int, kind string) *ir.Node {
	attrs := ir.Attrs{"id": ir.Int(id), "accelerator": ir.Str(kind)}
	seg, results := fail.Must2(ir.Outline(g, nodes, op.Segment, fmt.Sprintf("%s_%d", kind, id), attrs))
	for _, v := range seg.Out {
		v.Name += ".segment"
	}
	fail.Check(g.Replace(seg, nodes, results))
	return seg
}

// inFloat carries over what the accelerator said of a node to the float one
// that replaced it, and says the same of the conversions around that.
func (r *Result) inFloat(a accel.Accelerator, n, m *ir.Node) {
	for i := range r.Refused {
		if r.Refused[i].Node != n {
			continue
		}
		r.Refused[i].Node = m
		converts := func(c *ir.Node) {
			why := kernel.Reason{Code: accel.FloatCode(a)}
			why.Text = fmt.Sprintf("Converts for %s, which is computed in float", m)
			r.Refused = append(r.Refused, Refusal{c, a.Kind(), []kernel.Reason{why}})
		}
		for _, v := range m.In {
			if v != nil && v.Def != nil && v.Def.Op == op.DequantizeLinear {
				converts(v.Def)
			}
		}
		for _, v := range m.Out {
			for _, u := range v.Uses() {
				if u.Node.Op == op.QuantizeLinear {
					converts(u.Node)
				}
			}
		}
		return
	}
}

// Boundary ops carry the model's inputs to the accelerator's segments or the
// segments' outputs to the model's: they run on the core, and cut nothing.

// addBoundaryOps adds to known what the accelerator does not compute and what
// only carries inputs to it or outputs back: conversions between floats and
// integers and data movement with nothing but the graph's inputs in front of it,
// or nothing but its outputs behind it.
func addBoundaryOps(g *ir.Graph, a accel.Accelerator, known map[*ir.Node]bool) {
	carried := func(n *ir.Node) bool {
		return carries(n.Op) && !known[n] && len(a.CheckLegality(n)) > 0
	}
	for _, n := range g.Nodes {
		if carried(n) && readsBoundary(n, known) {
			known[n] = true
		}
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		if n := g.Nodes[i]; carried(n) && onlyReadBy(n, known) {
			known[n] = true
		}
	}
}

// carries reports operators that move or convert.
func carries(d *ir.OpDef) bool { return d.Quant == ir.QMove || d.Boundary || d == op.Requantize }

// readsBoundary reports a node with nothing but inputs and constants in front of
// it, or of its first input a boundary op.
func readsBoundary(n *ir.Node, known map[*ir.Node]bool) bool {
	for i, v := range n.In {
		if v == nil || v.Const != nil || v.IsInput() || i == 0 && v.Def != nil && known[v.Def] {
			continue
		}
		return false
	}
	return true
}

// onlyReadBy reports a node whose readers are all among others; outputs of the
// graph have none.
func onlyReadBy(n *ir.Node, others map[*ir.Node]bool) bool {
	for _, v := range n.Out {
		for _, u := range v.Uses() {
			if !others[u.Node] {
				return false
			}
		}
	}
	return true
}

// IsBoundaryOp reports whether a node of Graph only rebuilds outputs of the model
// or carries inputs and outputs in and out of the memory order of segments.
func (r *Result) IsBoundaryOp(n *ir.Node) bool {
	if r.boundary[n] {
		return true
	}
	if len(r.Segments) == 0 || n.Op == op.Segment {
		return false
	}
	if n.Op == op.DequantizeLinear {
		return n.Out[0].Type.DType != tensor.I8 && onlyReadBy(n, r.boundary)
	}
	retypes := n.Op == op.Requantize && n.Out[0].Type.DType != n.In[0].Type.DType
	together := n.Op == op.Fused && !slices.ContainsFunc(n.Body[0].Nodes,
		func(m *ir.Node) bool { return !carries(m.Op) })
	if n.Op != op.Relayout && n.Op != op.Identity && !retypes && !together {
		return false
	}
	from := n.In[0].Def
	return n.In[0].IsInput() || from != nil && from.Op == op.Segment || r.boundary[from]
}

// segmentKernel runs Segment nodes on an accelerator.
func segmentKernel(a accel.Accelerator) *kernel.Kernel {
	t, compiled := a.Traits(), kernel.FactOf(a.Compile)
	return &kernel.Kernel{
		Name: a.Kind() + "_run_segment", Library: a.Kind(), Doc: "a program of the accelerator",
		Ops:   []*ir.OpDef{op.Segment},
		Rules: []kernel.Rule{compiled.Exists(strings.ToUpper(a.Kind())+"-SEGMENT", "the segment compiles")},
		Layout: func(n *kernel.Node) kernel.Layout {
			return kernel.Layout{Kind: kernel.Fixed, In: boundaryOrders(n.In, t), Out: boundaryOrders(n.Out, t)}
		},
		Lower: func(n *kernel.Node) *call.Lowered {
			l := compiled.Must(n)
			l.Library = a.Kind()
			return l
		},
	}
}

// deviceKernel runs the programs of other compilers on a device.
func deviceKernel(d *accel.Device) *kernel.Kernel {
	compiled := kernel.FactOf(d.Compile)
	return &kernel.Kernel{
		Name: d.Kind + "_run", Library: d.Kind, Doc: "a program of another compiler", Ops: []*ir.OpDef{op.Device},
		Rules: []kernel.Rule{compiled.Exists("DEVICE-PROGRAM", "the program is for the device")},
		Lower: func(n *kernel.Node) *call.Lowered {
			l := compiled.Must(n)
			l.Library = d.Kind
			return l
		},
	}
}

// boundaryOrders are the memory orders of a segment's inputs or outputs; nil is
// the logical order.
func boundaryOrders(values []*ir.Value, t accel.Traits) [][]int {
	orders := make([][]int, len(values))
	for i, v := range values {
		if t.ChannelsLast && v.Type.Rank() == 4 {
			orders[i] = ir.NHWC(4)
		}
	}
	return orders
}
