// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/quant"
)

// Original is the native graph with the restoring nodes behind it: the
// original function on 4-D tensors.
func (r *Result) Original() (*ir.Graph, error) {
	g := r.Native.Clone()
	_, err := Rebuild(g, r.Restore)
	return g, err
}

// Rebuild continues a graph with native outputs by
// the graph that rebuilds the model's, and returns the nodes that do so. Data
// moves as integers while all parts have one quantisation; parts that differ are
// dequantised, and the output is float.
func Rebuild(g, rebuild *ir.Graph) (_ map[*ir.Node]bool, err error) {
	defer fail.Catch(&err)
	a := &appender{g: g, of: map[*ir.Value]*ir.Value{}, made: map[*ir.Node]bool{}}
	a.join(rebuild.In)
	for _, n := range rebuild.Nodes {
		a.node(n)
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
func (a *appender) join(in []*ir.Value) {
	if len(in) != len(a.g.Out) {
		panic(bug.Errorf("%d native outputs, %d are reconstructed", len(a.g.Out), len(in)))
	}
	byName := map[string]*ir.Value{}
	for i, name := range a.g.OutNames {
		byName[name] = a.g.Out[i]
	}
	for _, v := range in {
		if byName[v.Name] == nil {
			panic(bug.Errorf("no native output %s", v.Name))
		}
		a.of[v] = byName[v.Name]
	}
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

func (a *appender) node(n *ir.Node) {
	in := lists.Map(n.In, func(v *ir.Value) *ir.Value { return a.value(v) })
	q, quantised := oneQuant(n, in)
	if !quantised && n.Op != op.DequantizeLinear {
		a.dequantize(in)
	}
	m := fail.Must(a.g.Add(n.Op, n.Name, n.Attrs.Clone(), len(n.Out), in...))
	m.Origin = n.Origin
	a.made[m] = true
	for i, v := range n.Out {
		if quantised {
			m.Out[i].Type = m.Out[i].Type.WithQuant(q.DType, q.Quant)
		}
		a.of[v] = m.Out[i]
	}
}

func (a *appender) dequantize(in []*ir.Value) {
	for i, v := range in {
		if v == nil || v.Type.Quant == nil {
			continue
		}
		w := fail.Must(quant.Linear(a.g, nil, op.DequantizeLinear, v, v.Type))
		a.made[w.Def] = true
		in[i] = w
	}
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
