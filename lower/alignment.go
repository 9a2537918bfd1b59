// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/option"
)

// AlignPass is the alignment repair as a pass for float, QDQ and integer
// graphs; res gets what it found.
func AlignPass(o align.Options, res *align.Result) pass.Pass {
	return pass.Pass{
		Name: "align", Numerics: pass.Reassoc,
		Doc: "channels padded to multiples that kernels like, where that pays (--align auto) or wherever possible " +
			"(--align always)",
		Run: func(c *pass.Ctx, g *ir.Graph) {
			*res = *align.Run(g, o)
			for _, w := range res.Rows {
				if w.Status == align.Patched {
					padded := lists.Find(g.Nodes, func(n *ir.Node) bool {
						return n.Name == w.Node || len(n.Origin) > 0 && n.Origin[0] == w.Node
					})
					c.Did(padded, "%s of %s padded from %d to %d", w.Constraint, w.Op, w.Current, w.Target)
				}
			}
		},
	}
}

// Select picks float passes by name; align is among them.
func Select(o align.Options, res *align.Result, names ...string) ([]pass.Pass, error) {
	list := append(slices.Clone(legal.Passes), AlignPass(o, res))
	for _, name := range names {
		if pass.Find(list, name) == nil {
			return nil, unknownName("pass", name, lists.Map(list, func(p pass.Pass) string { return p.Name }))
		}
	}
	return pass.Select(list, names...)
}

// hardcodedReshapes are the ONNX names of the Reshapes whose target shape has sizes in
// it, rather than 0 and -1: what the model says there cannot be changed.
func hardcodedReshapes(g *ir.Graph) map[string]bool {
	m := map[string]bool{}
	for _, n := range g.Nodes {
		if n.Op != op.Reshape {
			continue
		}
		want, err := op.ConstInts(n, 1, "the target shape")
		if err != nil || !slices.ContainsFunc(want, func(d int) bool { return d > 1 }) {
			continue
		}
		for _, o := range n.Origin {
			m[o] = true
		}
	}
	return m
}

func (s *State) alignChannels() {
	o := s.options()
	opt := align.Options{Mode: o.Align, PadInput: o.PadInput, HardCoded: func(n *ir.Node) bool {
		return slices.ContainsFunc(n.Origin, func(name string) bool { return s.hardcodedReshapes[name] })
	}}
	if !o.Precision.Float() {
		opt.Price = pricer(s.table, o)
	}
	s.Aligned = align.Run(s.Graph, opt)
}

// pricer prices the layers of a graph on integers with shapes that they may
// get: what a layer like that would take in the kernel that would be chosen for
// it. Kernels without a model have no price.
func pricer(table kernel.Table, o *Options) align.Pricer {
	seen := map[string]cost.Cost{}
	return func(n *ir.Node, in, out [][]int) cost.Cost {
		if n.Op.View.Whole() && slices.Equal(tensor.Squeezed(in[0]), tensor.Squeezed(out[0])) {
			return cost.Cost{Kernel: "view"}
		}
		key := fmt.Sprint(n.ID, in, out)
		p, ok := seen[key]
		if !ok {
			p = o.estimateHypothetical(table, n, in, out)
			seen[key] = p
		}
		return p
	}
}

// estimateHypothetical prices a layer like n of other shapes.
func (o *Options) estimateHypothetical(table kernel.Table, n *ir.Node, in, out [][]int) cost.Cost {
	if !o.priced(n) {
		return cost.Cost{Unknown: "layers of this kind have no cost table (" + n.Op.Name + ")"}
	}
	m, ok := probe(n, in, out)
	if !ok {
		return cost.Cost{Unknown: "a layer like it with other shapes is not known"}
	}
	c, err := table.Match(m, &o.Target)
	if err != nil {
		return cost.Cost{Unknown: "no kernel takes it"}
	}
	ordered(m, c.Layout) // that of all alternatives
	list := lists.Map(o.alternatives(table, c.Plan, m), func(p *kernel.Plan) candidate {
		return candidate{plan: p, low: p.Lower(), price: p.Cost(o.CostTarget())}
	})
	return list[o.fastest(list)].price
}

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
			c := g.AddQuantConst("c"+v.Name, tensor.New(v.Type.DType, shape), repeated(v.Type.Quant, shape))
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
	return q.Take(q.Axis, lists.Make(shape[q.Axis], func(c int) int { return c % len(q.Scale) }))
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
