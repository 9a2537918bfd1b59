// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
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
	bug.If(len(in) != len(a.g.Out), "%d native outputs, %d are reconstructed", len(a.g.Out), len(in))
	byName := map[string]*ir.Value{}
	for i, name := range a.g.OutNames {
		byName[name] = a.g.Out[i]
	}
	for _, v := range in {
		bug.If(byName[v.Name] == nil, "no native output %s", v.Name)
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
	types := fail.Must(movedTypes(n, in))
	if types == nil && n.Op != op.DequantizeLinear {
		a.dequantize(in)
	}
	m := fail.Must(a.g.Add(n.Op, n.Name, n.Attrs.Clone(), len(n.Out), in...))
	m.Origin = n.Origin
	a.made[m] = true
	for i, v := range n.Out {
		if types != nil {
			m.Out[i].Type = m.Out[i].Type.WithQuant(types[i].DType, types[i].Quant)
		}
		a.of[v] = m.Out[i]
	}
}

func (a *appender) dequantize(in []*ir.Value) {
	for i, v := range in {
		if v == nil || v.Type.Quant == nil {
			continue
		}
		w := quant.Linear(a.g, nil, op.DequantizeLinear, v, v.Type)
		a.made[w.Def] = true
		in[i] = w
	}
}

// Follows reports that what rebuilds the model's outputs takes a native one that is quantised along an axis as
// integers.
func Follows(rebuild *ir.Graph, output string, axis int) bool {
	of := map[*ir.Value]*ir.Value{}
	for _, v := range rebuild.In {
		q, n := &ir.Quant{Axis: -1}, 1
		if v.Name == output {
			q.Axis, n = axis, v.Type.Shape[axis]
		}
		for i := range n {
			q.Scale, q.Zero = append(q.Scale, float32(1+i)), append(q.Zero, 0)
		}
		of[v] = &ir.Value{Type: v.Type.WithQuant(tensor.I8, q)}
	}
	perAxis := func(v *ir.Value) bool { return v != nil && v.Type.Quant != nil && v.Type.Quant.PerAxis() }
	for _, n := range rebuild.Nodes {
		in := lists.Map(n.In, func(v *ir.Value) *ir.Value {
			if v != nil && v.Const == nil {
				return of[v]
			}
			return v
		})
		types, err := movedTypes(n, in)
		if (err != nil || types == nil) && slices.ContainsFunc(in, perAxis) {
			return false
		}
		for i, t := range types {
			of[n.Out[i]] = &ir.Value{Type: t}
		}
	}
	return true
}

// movedTypes are the types of what an operator that moves integers gives: what numbers their quantisations follow the
// elements. nil where n computes, or where elements of one index of every dimension are quantised differently.
func movedTypes(n *ir.Node, in []*ir.Value) (_ []ir.Type, err error) {
	defer fail.Catch(&err)
	if n.Op.Quant != ir.QMove {
		return nil, nil
	}
	args := lists.Map(in, func(v *ir.Value) *tensor.Dense {
		if v == nil {
			return nil
		}
		return v.Const
	})
	all := []code{{}} // 0 is what stands for no element
	dtype, perAxis := tensor.Invalid, false
	for _, i := range n.Op.DataInputs(n) {
		v := in[i]
		if v == nil || v.Type.Quant == nil || dtype != tensor.Invalid && dtype != v.Type.DType {
			return nil, nil
		}
		dtype = v.Type.DType
		q, first := v.Type.Quant, len(all)
		for k, scale := range q.Scale {
			all = append(all, code{scale, q.Zero[k]})
		}
		args[i] = tensor.New(tensor.F32, v.Type.Shape)
		inner := args[i].Len()
		if q.PerAxis() {
			perAxis = true
			inner = tensor.Count(v.Type.Shape[q.Axis+1:])
		}
		for k := range args[i].Len() {
			args[i].SetFloat(k, float64(first+k/inner%len(q.Scale)))
		}
	}
	var types []ir.Type
	for k, d := range fail.Must(ir.EvalNode(n, args)) {
		q := quantAlong(d, all)
		if q == nil || q.PerAxis() && !perAxis { // parts that differ stay apart
			return nil, nil
		}
		types = append(types, n.Out[k].Type.WithQuant(dtype, q))
	}
	return types, nil
}

// code is how one element is quantised.
type code struct {
	scale float32
	zero  int32
}

// quantAlong is the quantisation of elements with these codes, by number: one, or one for each index of a dimension;
// nil: there is no such.
func quantAlong(at *tensor.Dense, all []code) *ir.Quant {
	for axis := -1; axis < len(at.Shape); axis++ {
		n, inner := 1, at.Len()
		if axis >= 0 {
			n, inner = at.Shape[axis], tensor.Count(at.Shape[axis+1:])
		}
		found, same := make([]code, n), true
		for k := range at.Len() {
			s := all[int(at.Float(k))]
			c := k / inner % n
			if found[c] == (code{}) {
				found[c] = s
			}
			same = same && s != code{} && found[c] == s
		}
		if same && at.Len() > 0 {
			q := &ir.Quant{Axis: axis}
			for _, s := range found {
				q.Scale, q.Zero = append(q.Scale, s.scale), append(q.Zero, s.zero)
			}
			return q
		}
	}
	return nil
}
