package lower

import (
	"maps"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// ISA names the instruction set of a core in the cost tables.
func ISA(c kernel.Core) string {
	switch {
	case c.MVE:
		return "mve"
	case c.DSP:
		return "dsp"
	case c.Armv6M:
		return "v6m"
	}
	return "c"
}

// Make names the make of the kernels behind the CMSIS-NN API in the cost tables.
func (o *Options) Make() string {
	if o.Installed {
		return "cmsis-nn"
	}
	return "nncc"
}

// Key is the cost model of a lowered layer. The functions of CMSIS-NN have one
// each; nncc's own kernels one for every combination of outer and inner
// functions, because a layer's time is spent in the inner ones.
func (o *Options) Key(l *call.Lowered) cost.Key {
	k := cost.Key{Make: l.Library, ISA: ISA(o.Target.Core), Route: l.Route}
	if l.Library == cmsisnn.Library {
		k.Make = o.Make()
		if k.Route == "" {
			k.Route = l.Kernel
		}
		return k
	}
	fs := l.Functions()
	for i, f := range fs {
		fs[i] = runtimec.CostName(f)
	}
	k.Route = strings.Join(fs, "+")
	return k
}

// price is what a lowered layer is predicted to take.
func (o *Options) price(n *ir.Node, l *call.Lowered) cost.Price {
	if l.View {
		return cost.Price{Kernel: "view"}
	}
	k := o.Key(l)
	s, ok := shapeOf(n)
	if !ok || l.Library != cmsisnn.Library && !kernel.IsOptimized(l.Library) {
		return cost.Price{Unknown: "layers of this kind have no cost table (" + l.Kernel + ")"}
	}
	// 16-bit activations and int4 weights have costs of their own
	if l.Library == cmsisnn.Library && !strings.HasSuffix(l.Kernel, "_s8") {
		return cost.Price{Unknown: "layers of this kind have no cost table (" + l.Kernel + ")"}
	}
	m := cost.Models()[k]
	if m == nil {
		return cost.Price{Unknown: k.Route + " has no cost table for this core"}
	}
	return cost.Price{Instructions: m.Predict(s), Kernel: k.Route, Error: m.Error, Worst: m.Worst}
}

// shapeOf is the shape by which a layer is priced; false for layers of a kind
// that is not measured.
func shapeOf(n *ir.Node) (cost.Shape, bool) {
	none := cost.Shape{}
	if len(n.In) == 0 || len(n.Out) != 1 || n.Out[0].Type.DType != tensor.I8 || n.In[0].Type.DType != tensor.I8 {
		return none, false
	}
	in, out := n.In[0].Type.Shape, n.Out[0].Type.Shape
	switch n.Op {
	case op.Conv:
		if n.In[1].Type.DType != tensor.I8 {
			return none, false
		}
		g, err := op.ConvGeometry(n)
		if err != nil || len(g.In) > 2 || slices.Max(g.Dilations) > 1 || g.Group != 1 &&
			!(op.IsDepthwise(g) && g.CIn == g.COut) {
			return none, false
		}
		s := spatial(g.N, g.In, g.Out, g.Kernel, g.Strides, g.PadBegin)
		s.C, s.OC, s.Groups = g.CIn, g.COut, g.Group
		return s, true
	case op.MaxPool, op.AveragePool, op.GlobalAveragePool:
		g, err := op.PoolGeometry(n)
		if err != nil || len(g.In) > 2 || slices.Max(g.Dilations) > 1 {
			return none, false
		}
		s := spatial(in[0], g.In, g.Out, g.Kernel, g.Strides, g.PadBegin)
		s.C, s.OC, s.Groups = in[1], out[1], in[1]
		return s, true
	case op.Gemm:
		if len(in) != 2 || n.In[1].Const == nil || n.In[1].Type.DType != tensor.I8 {
			return none, false
		}
		s := spatial(in[0], []int{1}, []int{1}, []int{1}, []int{1}, []int{0})
		s.C, s.OC, s.Groups = in[1], out[1], 1
		return s, true
	case op.Add:
		if n.In[0].Const != nil || n.In[1].Const != nil || !slices.Equal(in, n.In[1].Type.Shape) {
			return none, false
		}
		s := spatial(1, []int{1}, []int{1}, []int{1}, []int{1}, []int{0})
		s.C = n.Out[0].Type.Elems()
		s.OC, s.Groups = s.C, s.C
		return s, true
	}
	return none, false
}

// spatial fills in the extents; one dimension has height 1.
func spatial(n int, in, out, kernel, stride, pad []int) cost.Shape {
	two := func(s []int, one int) (h, w int) {
		if len(s) == 1 {
			return one, s[0]
		}
		return s[0], s[1]
	}
	s := cost.Shape{N: n, DH: 1, DW: 1}
	s.IH, s.IW = two(in, 1)
	s.OH, s.OW = two(out, 1)
	s.KH, s.KW = two(kernel, 1)
	s.SH, s.SW = two(stride, 1)
	s.PH, s.PW = two(pad, 0)
	return s
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
			shape := slices.Clone(v.Type.Shape)
			switch {
			case i == 1 && n.Op == op.Conv:
				group := ir.AttrsOf[op.GroupAttr](n).Group
				if group > 1 {
					if shape[1] != 1 || in[0][1] != out[0][1] {
						return nil, false
					}
					group = in[0][1]
					attrs["group"] = ir.Int(group)
				}
				shape[0], shape[1] = out[0][1], in[0][1]/group
			case i == 1 && n.Op == op.Gemm:
				shape[0], shape[1] = in[0][1], out[0][1]
				if ir.AttrsOf[op.GemmAttrs](n).TransB != 0 {
					shape[0], shape[1] = shape[1], shape[0]
				}
			case len(shape) == 1 && shape[0] == n.Out[0].Type.Shape[1]:
				shape[0] = out[0][1]
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
