package helium

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// convolution is a Conv node in the terms of the kernels.
type convolution struct {
	g              *op.ConvGeom
	in, out        quantised.Tile
	kernel, stride quantised.Tile
	pad, dil       quantised.Tile
	l              *layer // rows in the order [KH][KW][CI/groups]
}

func convOf(n *ir.Node) (*convolution, string) {
	g, err := op.ConvGeometry(n)
	if err != nil {
		return nil, err.Error()
	}
	p, why := op.ConvQuantParams(n)
	if why != "" {
		return nil, why
	}
	return &convolution{
		g: g, in: quantised.Spatial(g.In, 1), out: quantised.Spatial(g.Out, 1), kernel: quantised.Spatial(g.Kernel, 1), stride: quantised.Spatial(g.Strides, 1),
		pad: quantised.Spatial(g.PadBegin, 0), dil: quantised.Spatial(g.Dilations, 1),
		l: layerOf(n, n.In[1].Const.Transpose(quantised.WeightPerm(len(g.In))), g.COut, p),
	}, ""
}

// pixels is the number of output pixels of all images.
func (c *convolution) pixels() int { return c.g.N * c.out.H * c.out.W }

// pointwise: every output pixel is a product of one input pixel.
func (c *convolution) pointwise() bool {
	return c.kernel == quantised.Tile{H: 1, W: 1} && c.stride == c.kernel && c.in == c.out && c.pad == quantised.Tile{} && c.g.Group == 1
}

// convRule asks about a convolution whose operands are as they must be.
func convRule(code, doc string, check func(c *convolution) string) kernel.Rule {
	return ruleOf(code, doc, convOf, func(_ *ir.Node, c *convolution) string { return check(c) })
}

// conv computes any convolution by dot products: of the pixels themselves
// where they lie as the kernels want them, else of patches in scratch.
var conv = &kernel.Kernel{
	Name: "nncc_helium_convolve_s8", Library: Library, Doc: "int8 convolution with groups and dilation, packed weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout, Lower: lowerConv,
	Rules: join(onHelium("HELIUM-CONV-00"), quantised.ConvRules("HELIUM-CONV", false, quantised.Everywhere),
		convRule("HELIUM-CONV-07", "requantisation shifts to the right", func(c *convolution) string { return c.l.shifts() })),
}

// scratchBytes is about how much scratch a convolution may take: more saves a
// few instructions and costs arena.
const scratchBytes = 1024

// piece is about what it takes to copy n bytes of a row (nncc_helium_copy.h).
func piece(n int) int {
	if n <= vector {
		return 6
	}
	return 9 + 3*roundUp(n, vector)/vector
}

// depth is the number of input channels that an output channel reads.
func (c *convolution) depth() int { return c.g.CIn / c.g.Group }

// shared: neighbouring pixels have columns in common, and to copy those once
// takes less than to copy a patch for each pixel.
func (c *convolution) shared() bool {
	if c.dil.W != 1 || c.out.W == 1 {
		return false
	}
	patch := c.kernel.H * piece(c.kernel.W*c.depth())
	if c.g.Group > 1 {
		patch = c.kernel.H * c.kernel.W * piece(c.depth())
	}
	return c.stride.W*c.kernel.H*piece(c.depth()) < patch
}

// columns puts the weights [KH][KW][CI] of every row in the order [KW][KH][CI].
func (c *convolution) columns() {
	d := c.depth()
	for i, w := range c.l.rows {
		v := make([]int8, 0, len(w))
		for x := range c.kernel.W {
			for y := range c.kernel.H {
				v = append(v, w[(y*c.kernel.W+x)*d:][:d]...)
			}
		}
		c.l.rows[i] = v
	}
}

// convFunc copies patches; other convolutions are dot products of the pixels.
const convFunc = "nncc_helium_convolve_s8"

func lowerConv(n *ir.Node, o *kernel.Options) (*call.Lowered, error) {
	c, why := convOf(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	c.l.generic = o.Generic
	out, outR := outRows(c.g.COut)
	conv, inR, scratch, _ := c.call(out)
	l := &call.Lowered{Scratch: scratch, Unused: []int{1, 2}, Rows: []call.Rows{inR, outR}}
	if conv.Func == convFunc {
		l.Route = string(conv.Args[5].(call.Func))
	}
	return own(l, conv)
}

// single is the number of last pixels of a pointwise convolution that have no
// whole last vector behind their beginning (nncc_helium_matmul_params).
func (c *convolution) single() int {
	depth := len(c.l.rows[0])
	return (roundUp(depth, vector) - 1) / depth
}

// call is the kernel's, for rows of the output that are so far apart, with the
// rows of the input, the bytes of scratch that it wants and, where patches go
// there, how many of them at a time.
func (c *convolution) call(out call.Arg) (conv call.Call, rows call.Rows, scratch, block int) {
	g := c.g
	depth := len(c.l.rows[0])
	fn, vectors := c.l.dot(roundUp(depth, vector) / vector)
	if c.pointwise() && vectors*vector < depth+vector {
		conv, rows = c.l.products(fn, depth, vectors, c.pixels(), out)
		return conv, rows, 0, 0
	}
	shared, patch := 0, vector*vectors
	step, rest := patch, 0
	block = min(scratchBytes/patch, 16, c.out.H*c.out.W)
	if c.shared() {
		c.columns()
		shared, step = 1, c.stride.W*c.kernel.H*c.depth()
		rest = patch - step // of the last pixel
		block = min((scratchBytes-rest)/step, c.out.W)
		if b := c.out.W; block < b { // blocks of about the same size
			block = max(2, block)
			block = roundUp((b+roundUp(b, block)/block-1)/(roundUp(b, block)/block), 2)
		}
	}
	if block = max(block, min(2, c.out.H*c.out.W)); block < c.out.H*c.out.W && shared == 0 {
		block &^= 1
	}
	per := g.COut / g.Group
	var b []byte
	for k := range g.Group {
		b = append(b, c.l.part(k*per, per).records(vectors)...)
	}
	f := func(name string, v int) call.Field { return call.FI(name, v) }
	in, rows := inRows(g.CIn)
	mac := c.l.mac(out, per, patch, step, vectors, call.I32(step))
	params := &call.Struct{Type: "nncc_helium_convolve_params", Fields: []call.Field{
		call.F("mac", call.Nested{Fields: mac}),
		f("batch", g.N), f("in_h", c.in.H), f("in_w", c.in.W), call.F("in_pitch", in), f("depth", c.depth()), f("out_h", c.out.H), f("out_w", c.out.W), f("groups", g.Group),
		f("kernel_h", c.kernel.H), f("kernel_w", c.kernel.W), f("stride_h", c.stride.H), f("stride_w", c.stride.W),
		f("dilation_h", c.dil.H), f("dilation_w", c.dil.W), f("pad_top", c.pad.H), f("pad_left", c.pad.W), f("in_zero", -int(c.l.p.InOff)),
		f("block", block), f("shared", shared), call.F("table", call.Null{})}}
	return call.Call{Func: convFunc, Args: []call.Arg{params, i8In(0), packed(b), i8Scratch(0), i8Out(0), call.Func(fn)}}, rows, block*step + rest, block
}

// products multiplies rows of inputs with all channels; the rows of the output
// are so far apart.
func (l *layer) products(fn string, depth, vectors, rows int, out call.Arg) (call.Call, call.Rows) {
	in, inR := inRows(depth)
	return call.Call{Func: fn, Args: []call.Arg{
		&call.Struct{Type: "nncc_helium_matmul_params", Fields: l.mac(out, len(l.rows), depth, depth, vectors, in)},
		i8In(0), packed(l.records(vectors)), i8Out(0), call.I32(rows)}}, inR
}
