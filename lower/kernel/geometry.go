// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"math"
	"regexp"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel/param"
)

// LoopVariant is a function written for element-wise operators, one or several,
// in the tables of costs.
const LoopVariant = "nncc_loop"

// ISA names the instruction set in the cost tables.
func (c Core) ISA() string {
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

// Layer is the key to what the plan costs: its variant and its geometry. The
// node's values have their final memory order.
func (p *Plan) Layer() *cost.Layer {
	if p.layer == nil {
		low := p.Lower()
		p.layer = &cost.Layer{Library: low.Library, Geometry: GeometryOf(p.node.Node),
			Functions: low.Functions(), Constants: low.ConstBytes(), Pixels: low.Pixels}
		if p.layer.Variant = cost.Variant([]string{low.Variant}); low.Variant == "" {
			p.layer.Variant = cost.Variant(p.layer.Functions)
		}
		if p.layer.Variant == "" {
			p.layer.Variant = low.Kernel
		}
	}
	return p.layer
}

// Cost is what the plan costs on a target; that of a view is nothing.
func (p *Plan) Cost(t *cost.Target) cost.Cost {
	if p.Lower().View {
		return cost.Cost{Kernel: "view"}
	}
	return t.Of(p.Layer())
}

// Fastest is the number of the variant of a library that is expected to take least of those with a price, as n is.
func (n *Node) Fastest(library string, variants ...string) int {
	t, best, least := cost.Target{ISA: n.Core.ISA()}, 0, math.Inf(1)
	for i, v := range variants {
		c := t.Of(&cost.Layer{Library: library, Variant: cost.Variant([]string{v}), Geometry: GeometryOf(n.Node)})
		if takes := c.ExpectedInstructions(); c.Known() && takes < least {
			best, least = i, takes
		}
	}
	return best
}

// GeometryOf is what a node's cost depends on, whatever computes it.
func GeometryOf(n *ir.Node) cost.Geometry {
	if len(n.Out) == 0 || n.Out[0] == nil {
		return cost.Geometry{Kind: cost.Other}
	}
	g, ok := windows(n)
	switch {
	case ok:
		return g
	case n.Op == op.Gemm && len(n.In) > 1 && n.In[0].Type.Rank() == 2 && n.In[1].Const != nil:
		return matrix(1, n.In[0].Type.Shape[0], n.In[0].Type.Shape[1], n.Out[0].Type.Shape[1])
	case n.Op == op.MatMul:
		return products(n)
	case n.Op.Pattern <= ir.Broadcast || n.Op == op.Fused && loop(n):
		return elements(n)
	case n.Op.Pattern == ir.Injective:
		return moved(n)
	}
	g = lanes(n)
	if n.Op.MACs != nil {
		g.MACs = int(n.Op.MACs(n))
	}
	return g
}

// products is the geometry of a MatMul, of one right side or several.
func products(n *ir.Node) cost.Geometry {
	m, sides := Known(op.MatMulGeometry(n)), 1
	if !m.Flat() {
		sides = len(m.A)
	}
	return matrix(sides, len(m.A)*m.M, m.K, m.N)
}

// matrix is the geometry of products, of so many right sides.
func matrix(sides, rows, columns, outputs int) cost.Geometry {
	g := flat(cost.Matrix, rows)
	g.C, g.OC, g.Groups = columns, outputs, sides
	return g
}

// lanes are what an operator computes together: along its axis, or the last dimension.
func lanes(n *ir.Node) cost.Geometry {
	last := func(t ir.Type) int {
		axis := t.Rank() - 1
		if spec := slices.IndexFunc(n.Op.Attrs, func(s ir.AttrSpec) bool { return s.Name == "axis" }); spec >= 0 {
			axis, _ = op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis, t.Rank())
		}
		if t.Rank() == 0 {
			return 1
		}
		return max(1, t.Shape[axis])
	}
	y := n.Out[0].Type
	g := flat(cost.Other, 1)
	g.C, g.OC = last(n.In[0].Type), last(y)
	g.N = y.Elems() / g.OC
	return g
}

// windows is the geometry of convolutions and pools in one or two dimensions. What
// a convolution does with its results is no part of it.
func windows(n *ir.Node) (cost.Geometry, bool) {
	if n.Op == op.Fused && n.Body[0].Nodes[0].Op == op.Conv {
		n = n.Body[0].Nodes[0]
	}
	if n.Op == op.Conv || n.Op == op.ConvTranspose {
		c, err := op.ConvGeometry(n)
		if err != nil || len(c.In) > 2 {
			return cost.Geometry{}, false
		}
		convAlongWidth(c)
		if c.Transposed { // the windows of its input lie in its output
			c.In, c.Out = c.Out, c.In
			g := spatial(cost.Transposed, c.N, param.ConvWindow(c))
			g.C, g.OC, g.Groups = c.CIn, c.COut, c.Group
			return g, true
		}
		g := spatial(cost.Convolution, c.N, param.ConvWindow(c))
		g.C, g.OC, g.Groups = c.CIn, c.COut, c.Group
		if c.Group > 1 && op.IsDepthwise(c) {
			g.Kind = cost.Depthwise
		}
		return g, true
	}
	if !n.Op.Window.Pools() {
		return cost.Geometry{}, false
	}
	p, err := op.PoolGeometry(n)
	if err != nil || len(p.In) > 2 {
		return cost.Geometry{}, false
	}
	poolAlongWidth(p)
	g := spatial(cost.Pool, p.N, param.PoolWindow(p))
	g.C, g.OC, g.Groups = p.C, p.C, p.C
	return g, true
}

// spatial fills in the extents.
func spatial(k cost.Kind, n int, w param.Window) cost.Geometry {
	return cost.Geometry{Kind: k, N: n, IH: w.In.H, IW: w.In.W, OH: w.Out.H, OW: w.Out.W, KH: w.Kernel.H,
		KW: w.Kernel.W, SH: w.Stride.H, SW: w.Stride.W, DH: w.Dilation.H, DW: w.Dilation.W, PH: w.Pad.H, PW: w.Pad.W}
}

// flat is a layer without extents, n times.
func flat(k cost.Kind, n int) cost.Geometry { return spatial(k, n, param.Line(1)) }

// moved is the geometry of data movement: pixels where channels are added, rows and columns that are exchanged, and
// elements otherwise, a form that nobody measured.
func moved(n *ir.Node) cost.Geometry {
	in, out := n.In[0].Type.Shape, n.Out[0].Type.Shape
	if n.Op == op.Pad && len(in) > 1 && in[0] == out[0] && slices.Equal(in[2:], out[2:]) {
		return addedChannels(in, out)
	}
	if n.Op == op.Relayout || n.Op == op.Transpose {
		if batches, rows, cols, ok := Exchange(n); ok {
			g := flat(cost.Copy, batches)
			g.IW, g.OW, g.C, g.OC, g.Groups = rows, rows, cols, cols, 1
			return g
		}
	}
	g := flat(cost.Copy, 1)
	if n.Op == op.Concat && n.Out[0].Type.Elems() > 0 { // rows of bytes, of so many parts
		t := n.Out[0].Type
		order, axis := t.OrderOrIdentity(), Known(op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis, t.Rank()))
		for _, d := range order[:slices.Index(order, axis)] {
			g.N *= t.Shape[d]
		}
		g.C, g.Groups = t.Elems()/g.N*t.DType.Size(), len(n.In)
		g.OC = g.C
		return g
	}
	g.C, g.OC, g.Groups, g.Broadcast = n.In[0].Type.Elems(), n.Out[0].Type.Elems(), 1, 1
	return g
}

// addedChannels is the geometry of a copy that adds channels to a feature map.
func addedChannels(in, out []int) cost.Geometry {
	pixels, g := in[0]*tensor.Count(in[2:]), flat(cost.Copy, 1)
	g.IW, g.OW, g.C, g.OC, g.Groups = pixels, pixels, in[1], out[1], in[1]
	return g
}

// LoopLayer is the layer of a loop: that of a Fused node, or one for an
// element-wise node or a reduction alone. Calls of the C library are left out.
func LoopLayer(n *ir.Node) *cost.Layer {
	g := elements(n)
	g.Parts.Library, g.Broadcast = 0, 0
	return &cost.Layer{Library: "nncc", Variant: LoopVariant, Geometry: g}
}

// loop reports a body of element-wise operators, with a reduction at its end or
// none.
func loop(n *ir.Node) bool {
	return len(n.Body) == 1 && !slices.ContainsFunc(n.Body[0].Nodes, func(m *ir.Node) bool {
		return m.Op.Pattern > ir.Broadcast && m.Op.Pattern != ir.Reduce
	})
}

// elements is the geometry of an element-wise node, or of a loop of several.
func elements(n *ir.Node) cost.Geometry {
	over, parts := n.Out[0].Type, []*ir.Node{n}
	if n.Op == op.Fused {
		parts = n.Body[0].Nodes
	}
	if last := parts[len(parts)-1]; last.Op.Pattern == ir.Reduce {
		over = last.In[0].Type
	}
	var p cost.Parts
	broadcast := 0
	for _, v := range n.In {
		if v == nil || one(v, n) {
			continue
		}
		p.Reads++
		if v.Const != nil || v.Type.Elems() != over.Elems() {
			broadcast++
		}
	}
	for _, m := range parts {
		*part(m, &p)++
		if callsLibrary(m) {
			p.Library++
		}
	}
	g := cost.Elements(over.Elems(), p)
	g.Broadcast = broadcast
	return g
}

// one reports an operand that is the same for all elements, or a table.
func one(v *ir.Value, n *ir.Node) bool {
	if v.Const == nil {
		return false
	}
	_, uniform := v.Const.Uniform()
	return uniform || n.Op == op.Lookup
}

// part is the count that a node of a loop belongs to.
func part(n *ir.Node, p *cost.Parts) *int {
	y := n.Out[0].Type
	computed := 0
	for _, v := range n.In {
		if v != nil && !one(v, n) {
			computed++
		}
	}
	switch {
	case n.Op == op.QuantizeLinear:
		return &p.Quantised
	case n.Op == op.Min || n.Op == op.Max:
		return &p.Extremes
	case n.Op == op.Div:
		return &p.Divisions
	case y.Quant == nil || n.Op == op.Where:
		return &p.Plain
	case y.DType == tensor.I16:
		return widePart(n, p)
	case computed < 2:
		return &p.Tables
	case n.Op == op.Add:
		return &p.Sums
	}
	return &p.Products
}

// widePart is part of nodes on int16.
func widePart(n *ir.Node, p *cost.Parts) *int {
	switch n.Op {
	case op.Add, op.Sub:
		if x, y := n.In[0].Type.Quant, n.In[1].Type.Quant; x.Equal(y) {
			return &p.EqualSums
		}
		return &p.WideSums
	case op.Mul:
		return &p.WideProducts
	}
	return &p.Tables
}

// libraryCall is a function in a C form: of the C library, or of the runtime in its place; comparisons are none.
var (
	libraryCall = regexp.MustCompile(`\b[a-z]\w*\(`)
	comparison  = regexp.MustCompile(`\bnncc_el_(less|less_or_equal|equal|sign)_f32\(`)
)

// callsLibrary reports a node on floats that the C library computes.
func callsLibrary(n *ir.Node) bool {
	if n.Out[0].Type.Quant != nil || !n.Out[0].Type.DType.IsFloat() {
		return false
	}
	if n.Op.C == nil {
		return n.Op == op.Pow || n.Op == op.Mod
	}
	return libraryCall.MatchString(comparison.ReplaceAllString(Float32(n.Op.C(n)), "("))
}

// alongWidth brings windows into the form that kernels are fast for. A map of
// a single column, [C, H, 1], is the same memory as a row, [C, 1, H]: windows
// that move along H alone run along W, which kernels sweep. What a dimension of
// size 1 makes meaningless is 1. The lists that more points to turn with them.
func alongWidth(w *op.Windows, more ...*[]int) {
	turn := len(w.In) == 2 && single(w, 1) && w.In[0] > 1
	for _, s := range append(more, &w.In, &w.Kernel, &w.Out, &w.PadBegin, &w.PadEnd, &w.Strides, &w.Dilations) {
		if *s = slices.Clone(*s); turn && len(*s) == 2 {
			slices.Reverse(*s)
		}
	}
	for d := range w.In {
		if w.Kernel[d] == 1 {
			w.Dilations[d] = 1
		}
		if single(w, d) {
			w.Strides[d] = 1
		}
	}
}

// single reports a dimension of one element and one window, which is this element.
func single(w *op.Windows, d int) bool {
	return w.In[d] == 1 && w.Kernel[d] == 1 && w.Out[d] == 1 && w.PadBegin[d] == 0 && w.PadEnd[d] == 0
}

func convAlongWidth(g *op.ConvGeom) { alongWidth(&g.Windows, &g.OutputPadding) }

func poolAlongWidth(g *op.PoolGeom) { alongWidth(&g.Windows) }

// windowFact is the geometry of a window operator with the longer dimension of a
// line as its width. An accelerator has rules of its own about each dimension.
func windowFact[G any](derive func(n *ir.Node) (*G, error), alongWidth func(g *G)) *Fact[*G] {
	return FactFrom(FactOf(derive), func(n *Node, g *G) (*G, string) {
		if n.ForAccelerator() {
			return g, ""
		}
		x := *g
		alongWidth(&x)
		return &x, ""
	})
}
