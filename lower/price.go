// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"maps"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/option"
)

// CostTarget is whom prices are for: the argument of every question about costs.
func (o *Options) CostTarget() *cost.Target {
	core := o.Target.Core
	t := &cost.Target{ISA: core.ISA(), Core: core.Name, Memory: core.Memory, Size: o.Optimize == option.Size}
	if !o.Installed {
		t.Makes = map[string]string{cmsisnn.Library: "nncc"}
	}
	return t
}

// shapeLike is the shape of constant i of a layer like n from in to out, whose attributes it
// sets; false: it cannot be told.
func shapeLike(n *ir.Node, i int, in, out []int, attrs ir.Attrs) (shape []int, ok bool) {
	shape = slices.Clone(n.In[i].Type.Shape)
	switch {
	case i == 1 && n.Op == op.Conv:
		group := ir.AttrsOf[op.GroupAttr](n).Group
		if group > 1 {
			if shape[1] != 1 || in[1] != out[1] {
				return nil, false
			}
			group = in[1]
			attrs["group"] = ir.Int(group)
		}
		shape[0], shape[1] = out[1], in[1]/group
	case i == 1 && n.Op == op.Gemm:
		shape[0], shape[1] = in[1], out[1]
		if ir.AttrsOf[op.GemmAttrs](n).TransB != 0 {
			shape[0], shape[1] = shape[1], shape[0]
		}
	case len(shape) == 1 && min(n.Out[0].Type.Rank(), len(out)) > 1 && shape[0] == n.Out[0].Type.Shape[1]:
		shape[0] = out[1]
	}
	return shape, true
}

// probe is a node like n with other shapes of its run-time inputs and outputs,
// alone in a graph, for questions about layers that do not exist yet. Constants
// have the shapes that follow, and the first one's quantisation repeated.
func probe(n *ir.Node, in, out [][]int) (*ir.Node, bool) {
	g := ir.New("probe")
	attrs := maps.Clone(n.Attrs)
	var args []*ir.Value
	for i, v := range n.In {
		switch {
		case v == nil:
			args = append(args, nil)
		case v.Const == nil:
			args = append(args, g.AddInput("x"+v.Name, ir.Type{DType: v.Type.DType, Shape: in[i], Quant: v.Type.Quant}))
		default:
			shape, ok := shapeLike(n, i, in[0], out[0], attrs)
			if !ok {
				return nil, false
			}
			c := g.AddConst("c"+v.Name, tensor.New(v.Type.DType, shape))
			c.Type.Quant = repeated(v.Type.Quant, shape)
			args = append(args, c)
		}
	}
	p, err := g.Add(n.Op, n.Name, attrs, len(n.Out), args...)
	if err != nil {
		return nil, false
	}
	for i, v := range p.Out {
		if !slices.Equal(v.Type.Shape, out[i]) {
			return nil, false
		}
		v.Type.DType, v.Type.Quant = n.Out[i].Type.DType, n.Out[i].Type.Quant
	}
	return p, true
}

// repeated is a quantisation for an axis of another size.
func repeated(q *ir.Quant, shape []int) *ir.Quant {
	if !q.PerAxis() {
		return q
	}
	r := &ir.Quant{Axis: q.Axis}
	for c := range shape[q.Axis] {
		r.Scale, r.Zero = append(r.Scale, q.ScaleAt(c%len(q.Scale))), append(r.Zero, q.ZeroAt(c%len(q.Scale)))
	}
	return r
}

// ordered gives the values of a probe the memory orders that a plan demands.
func ordered(n *ir.Node, l kernel.Layout) {
	if l.Kind != kernel.Fixed {
		return
	}
	for i, v := range n.In {
		if v != nil && i < len(l.In) && l.In[i] != nil {
			v.Type.Order = l.In[i]
		}
	}
	for i, v := range n.Out {
		if i < len(l.Out) && l.Out[i] != nil {
			v.Type.Order = l.Out[i]
		}
	}
}
