// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/legal4d"
	"github.com/nncc/nncc/lower/quant"
)

// fourD legalises the graph for an accelerator: every value 4-D where that is
// possible. The graph gets native outputs; what rebuilds the model's is kept as
// the reconstruction.
func (s *State) fourD(integer bool) error {
	res, err := legal4d.Run(s.Graph, legal4d.Options{AsIs: true, Integer: integer})
	if err != nil {
		return err
	}
	for _, l := range res.Left {
		s.warn("no-4d-form", l.Node, "%s %q stays without a 4-D form: %s", l.Op, l.Node, l.Reason)
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
	s.boundary, err = appendOutputReconstruction(s.Graph, s.reconstruction)
	s.reconstruction = nil
	return err
}

// appendOutputReconstruction continues an integer graph with native outputs by
// the graph that rebuilds the model's, and returns the nodes that do so. Data
// moves as integers while all parts have one quantisation; parts that differ are
// dequantised, and the output is float.
func appendOutputReconstruction(g, rebuild *ir.Graph) (map[*ir.Node]bool, error) {
	a := &appender{g: g, of: map[*ir.Value]*ir.Value{}, made: map[*ir.Node]bool{}}
	if err := a.join(rebuild.In); err != nil {
		return nil, err
	}
	for _, n := range rebuild.Nodes {
		if err := a.node(n); err != nil {
			return nil, err
		}
	}
	g.ClearOutputs()
	for i, v := range rebuild.Out {
		g.AddOutput(rebuild.OutNames[i], a.value(v))
	}
	return a.made, nil
}

// appender copies nodes of another graph to the end of g.
type appender struct {
	g    *ir.Graph
	of   map[*ir.Value]*ir.Value // the value in g of one of the other graph
	made map[*ir.Node]bool
}

// join makes the inputs of the other graph the outputs of g with their names.
func (a *appender) join(in []*ir.Value) error {
	if len(in) != len(a.g.Out) {
		return bug.Errorf("%d native outputs, %d are reconstructed", len(a.g.Out), len(in))
	}
	byName := map[string]*ir.Value{}
	for i, name := range a.g.OutNames {
		byName[name] = a.g.Out[i]
	}
	for _, v := range in {
		if byName[v.Name] == nil {
			return bug.Errorf("no native output %s", v.Name)
		}
		a.of[v] = byName[v.Name]
	}
	return nil
}

func (a *appender) value(v *ir.Value) *ir.Value {
	if v == nil {
		return nil
	}
	if a.of[v] == nil {
		a.of[v] = a.g.AddConst(v.Name, v.Const)
		a.of[v].Type = v.Type
	}
	return a.of[v]
}

func (a *appender) node(n *ir.Node) error {
	in := make([]*ir.Value, len(n.In))
	for i, v := range n.In {
		in[i] = a.value(v)
	}
	q, quantised := oneQuant(n, in)
	if !quantised && n.Op != op.DequantizeLinear {
		if err := a.dequantize(in); err != nil {
			return err
		}
	}
	m, err := a.g.Add(n.Op, n.Name, n.Attrs.Clone(), len(n.Out), in...)
	if err != nil {
		return err
	}
	m.Origin = n.Origin
	a.made[m] = true
	for i, v := range n.Out {
		if quantised {
			m.Out[i].Type = m.Out[i].Type.WithQuant(q.DType, q.Quant)
		}
		a.of[v] = m.Out[i]
	}
	return nil
}

// dequantize replaces quantised values by their reals.
func (a *appender) dequantize(in []*ir.Value) error {
	for i, v := range in {
		if v == nil || v.Type.Quant == nil {
			continue
		}
		w, err := quant.Linear(a.g, nil, op.DequantizeLinear, v, v.Type)
		if err != nil {
			return err
		}
		a.made[w.Def] = true
		in[i] = w
	}
	return nil
}

// oneQuant is the quantisation that all data inputs of a moving operator share.
func oneQuant(n *ir.Node, in []*ir.Value) (ir.Type, bool) {
	var t ir.Type
	if n.Op.Quant != ir.QMove {
		return t, false
	}
	for _, i := range n.Op.DataInputs(n) {
		v := in[i]
		if v == nil || v.Type.Quant == nil {
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
