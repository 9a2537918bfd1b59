package lower

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/legal4d"
	"github.com/nncc/nncc/lower/quant"
)

// Refusal is a node that the accelerator does not compute.
type Refusal struct {
	Node        *ir.Node
	Accelerator string // its kind
	Reasons     []kernel.Reason
}

// fourD legalises the graph for an accelerator: every value 4-D where that is
// possible. The graph gets native outputs; what rebuilds the model's is kept as
// the reconstruction.
func (s *State) fourD(integer bool) error {
	res, err := legal4d.Run(s.Graph, legal4d.Options{AsIs: true, Integer: integer})
	if err != nil {
		return err
	}
	for _, l := range res.Left {
		s.warn("%s %q stays without a 4-D form: %s", l.Op, l.Node, l.Reason)
	}
	s.ctx.Rewrites = append(s.ctx.Rewrites, res.Rewrites...)
	s.Graph, s.reconstruction = res.Native, res.Restore
	return nil
}

// fourDInteger is fourD after quantisation, where weights and scales are known:
// it keeps every number.
func (s *State) fourDInteger() error {
	s.Whole = s.Graph.Clone()
	return s.fourD(true)
}

// restoreOutputs is the stage restore-outputs.
func (s *State) restoreOutputs() (err error) {
	if s.reconstruction == nil {
		return nil // on real numbers a quantised model keeps its ranks
	}
	s.restore, err = appendOutputReconstruction(s.Graph, s.reconstruction)
	s.reconstruction = nil
	return err
}

// segment is the stage segments.
func (s *State) segment() error {
	return s.offload(s.Graph, s.facts.Accel, s.restore)
}

// appendOutputReconstruction continues an integer graph with native outputs by the graph
// that rebuilds the original ones, and returns the nodes that do so. Data moves
// as integers while all parts have one quantisation; parts that differ are
// dequantised, and the output is float.
func appendOutputReconstruction(g, restore *ir.Graph) (map[*ir.Node]bool, error) {
	made := map[*ir.Node]bool{}
	env := map[*ir.Value]*ir.Value{}
	if len(restore.In) != len(g.Out) {
		return nil, bug.Errorf("%d native outputs, %d are restored", len(g.Out), len(restore.In))
	}
	byName := map[string]*ir.Value{}
	for i, n := range g.OutNames {
		byName[n] = g.Out[i]
	}
	for _, v := range restore.In {
		w := byName[v.Name]
		if w == nil {
			return nil, bug.Errorf("no native output %s", v.Name)
		}
		env[v] = w
	}
	get := func(v *ir.Value) *ir.Value {
		if v == nil {
			return nil
		}
		if env[v] == nil {
			env[v] = g.AddConst(v.Name, v.Const)
		}
		return env[v]
	}
	for _, n := range restore.Nodes {
		in := make([]*ir.Value, len(n.In))
		for i, v := range n.In {
			in[i] = get(v)
		}
		q, quantised := oneQuant(n, in)
		if !quantised && n.Op != op.DequantizeLinear {
			for i, v := range in {
				if v == nil || v.Type.Quant == nil {
					continue
				}
				w, err := quant.Linear(g, nil, op.DequantizeLinear, v, v.Type)
				if err != nil {
					return nil, err
				}
				made[w.Def] = true
				in[i] = w
			}
		}
		m, err := g.Add(n.Op, n.Name, n.Attrs.Clone(), len(n.Out), in...)
		if err != nil {
			return nil, err
		}
		m.Origin = n.Origin
		made[m] = true
		for i, v := range n.Out {
			if quantised {
				m.Out[i].Type = m.Out[i].Type.WithQuant(q.DType, q.Quant)
			}
			env[v] = m.Out[i]
		}
	}
	g.ClearOutputs()
	for i, v := range restore.Out {
		g.AddOutput(restore.OutNames[i], get(v))
	}
	return made, nil
}

// oneQuant is the quantisation that all data inputs of a moving operator share.
func oneQuant(n *ir.Node, in []*ir.Value) (ir.Type, bool) {
	var t ir.Type
	if n.Op.Quant != ir.QMove {
		return t, false
	}
	data := n.Op.DataInputs(n)
	for _, i := range data {
		v := in[i]
		if v == nil || v.Type.Quant == nil || v.Const != nil {
			return t, false
		}
		if t.Quant == nil {
			t = v.Type
		} else if t.DType != v.Type.DType || !t.Quant.Equal(v.Type.Quant) {
			return t, false
		}
	}
	return t, t.Quant != nil
}

// addBoundaryOps adds to restore what the accelerator does not compute and what
// only carries inputs to it or outputs back: conversions between floats and
// integers and data movement with nothing but the graph's inputs in front of it,
// or nothing but its outputs behind it.
func addBoundaryOps(g *ir.Graph, a accel.Accelerator, restore map[*ir.Node]bool) {
	carries := func(n *ir.Node) bool {
		moves := n.Op.Quant == ir.QMove || n.Op.Boundary || n.Op == op.Requantize
		return moves && !restore[n] && len(a.CheckLegality(n)) > 0
	}
	for _, n := range g.Nodes {
		ready := carries(n)
		for i, v := range n.In {
			ready = ready && (v == nil || v.Const != nil || v.IsInput() || i == 0 && v.Def != nil && restore[v.Def])
		}
		if ready {
			restore[n] = true
		}
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := g.Nodes[i]
		last := carries(n)
		for _, v := range n.Out {
			for _, u := range v.Uses() {
				last = last && restore[u.Node]
			}
		}
		if last {
			restore[n] = true
		}
	}
}

// offload cuts g for the accelerator and notes what it refused. restore is nil
// for graphs that were not brought to 4-D: there every refusal cuts.
func (r *Result) offload(g *ir.Graph, a accel.Accelerator, restore map[*ir.Node]bool) error {
	if restore != nil {
		addBoundaryOps(g, a, restore)
	}
	segments, err := Offload(g, a.Kind(), func(n *ir.Node) bool {
		if restore[n] {
			return false
		}
		why := a.CheckLegality(n)
		if len(why) > 0 {
			r.Refused = append(r.Refused, Refusal{n, a.Kind(), why})
		}
		return len(why) == 0
	}, a.Traits().MinWork)
	if err != nil {
		return err
	}
	r.Segments = segments
	return nil
}

// inFloat carries over what the accelerator said of a node to the float one
// that took its place, and says the same of the conversions around that.
func (r *Result) inFloat(a accel.Accelerator, n, m *ir.Node) {
	for i := range r.Refused {
		if r.Refused[i].Node != n {
			continue
		}
		r.Refused[i].Node = m
		around := func(c *ir.Node) {
			why := kernel.Reason{Code: accel.FloatCode(a), Text: fmt.Sprintf("Converts for %s, which is computed in float", m)}
			r.Refused = append(r.Refused, Refusal{c, a.Kind(), []kernel.Reason{why}})
		}
		for _, v := range m.In {
			if v != nil && v.Def != nil && v.Def.Op == op.DequantizeLinear {
				around(v.Def)
			}
		}
		for _, v := range m.Out {
			for _, u := range v.Uses() {
				if u.Node.Op == op.QuantizeLinear {
					around(u.Node)
				}
			}
		}
		return
	}
}

// Restores reports whether a node only rebuilds original outputs or brings
// inputs and outputs into the memory order of the boundary.
func (r *Result) Restores(n *ir.Node) bool {
	if r.restore[n] {
		return true
	}
	if len(r.Segments) == 0 || n.Op == op.Segment {
		return false
	}
	moves := n.Op == op.Relayout || n.Op == op.Identity || n.Op == op.Requantize && n.Out[0].Type.DType != n.In[0].Type.DType
	return moves && (n.In[0].IsInput() || n.In[0].Def != nil && n.In[0].Def.Op == op.Segment || r.restore[n.In[0].Def]) || n.Op == op.DequantizeLinear && r.atBoundary(n)
}

// atBoundary reports a conversion whose readers all restore.
func (r *Result) atBoundary(n *ir.Node) bool {
	for _, u := range n.Out[0].Uses() {
		if !r.restore[u.Node] {
			return false
		}
	}
	return n.Out[0].Type.DType != tensor.I8
}
