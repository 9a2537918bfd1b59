package dsp

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// convolution is a Conv node in the terms of the kernels.
type convolution struct {
	g              *op.ConvGeom
	in, out        quantised.Tile
	kernel, stride quantised.Tile
	pad, dil       quantised.Tile
	border         bool // some window reaches into the padding
	l              layer
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
	c := &convolution{g: g, in: quantised.Spatial(g.In, 1), out: quantised.Spatial(g.Out, 1), kernel: quantised.Spatial(g.Kernel, 1),
		stride: quantised.Spatial(g.Strides, 1), pad: quantised.Spatial(g.PadBegin, 0), dil: quantised.Spatial(g.Dilations, 1)}
	s := c.span()
	c.border = c.pad.H > 0 || c.pad.W > 0 || (c.out.H-1)*c.stride.H+s.H > c.in.H || (c.out.W-1)*c.stride.W+s.W > c.in.W
	c.l = layer{rows: rows(n.In[1].Const.Transpose(quantised.WeightPerm(len(g.In))), g.COut), bias: kernel.Bias(n, g.COut), p: p}
	return c, ""
}

// span is the extent of a window in the input.
func (c *convolution) span() quantised.Tile {
	return quantised.Tile{H: (c.kernel.H-1)*c.dil.H + 1, W: (c.kernel.W-1)*c.dil.W + 1}
}

// rows cuts constant int8 weights into n rows.
func rows(d *tensor.Dense, n int) [][]int8 {
	w := tensor.As[int8](d)
	out := make([][]int8, n)
	for i := range out {
		out[i] = w[i*len(w)/n : (i+1)*len(w)/n]
	}
	return out
}

// depth is the number of input channels that an output channel reads.
func (c *convolution) depth() int { return c.g.CIn / c.g.Group }

// order is the order in which nncc_dsp_convolve_s8 gathers a window.
func (c *convolution) order(f form) []int {
	var o []int
	run := c.depth()
	if c.dil.W == 1 && c.g.Group == 1 {
		run *= c.kernel.W
	}
	for at := 0; at < len(c.l.rows[0]); at += run {
		o = append(o, f.order(at, run)...)
	}
	return o
}

// weights packs every channel group, all alike.
func (c *convolution) weights(core kernel.Core) (matrix, string) {
	f := formFor(core)
	order := c.order(f)
	per := c.g.COut / c.g.Group
	parts := make([]matrix, c.g.Group)
	for k := range parts {
		var why string
		if parts[k], why = c.l.part(k*per, per).matrix(order, f); why != "" {
			return matrix{}, why
		}
		f = max(f, parts[k].form)
	}
	all := matrix{form: f}
	for k, p := range parts {
		if p.form != f {
			p, _ = c.l.part(k*per, per).matrix(order, f)
		}
		all.words = append(all.words, p.words...)
		all.group = p.group
	}
	return all, ""
}

// part are n channels of the layer.
func (l *layer) part(first, n int) *layer { return l.pick(first, 1, n) }

// every are the channels k, k + step, ...
func (l *layer) every(k, step int) *layer { return l.pick(k, step, len(l.rows)/step) }

// pick are n channels of the layer, step apart.
func (l *layer) pick(first, step, n int) *layer {
	x := &layer{p: l.p}
	p := *l.p
	if len(p.Mult) > 1 {
		p.Mult, p.Shift = nil, nil
		x.p = &p
	}
	for c := first; len(x.rows) < n; c += step {
		x.rows = append(x.rows, l.rows[c])
		if len(l.bias) > 0 {
			x.bias = append(x.bias, l.bias[c])
		}
		if len(l.p.Mult) > 1 {
			p.Mult, p.Shift = append(p.Mult, l.p.Mult[c]), append(p.Shift, l.p.Shift[c])
		}
	}
	return x
}

// exact is the rule that every channel's requantisation is one multiplication.
func exact(code string, try func(n *ir.Node, core kernel.Core) string) kernel.Rule {
	return kernel.Rule{Code: code, Doc: "every channel is requantised exactly by one multiplication", Check: func(n *ir.Node, o *kernel.Options) string {
		if !quantised.KnownOperands(n) {
			return kernel.Unread
		}
		return try(n, o.Core)
	}}
}

var conv = &kernel.Kernel{
	Name: "nncc_dsp_convolve_s8", Library: Library, Doc: "int8 convolution with groups and dilation, packed weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout, Lower: lowerConv,
	Rules: join(noHelium("DSP-CONV-00"), quantised.ConvRules("DSP-CONV", false, quantised.Everywhere), exact("DSP-CONV-07", func(n *ir.Node, core kernel.Core) string {
		c, why := convOf(n)
		if why == "" {
			_, why = c.weights(core)
		}
		return why
	})),
}

func lowerConv(n *ir.Node, o *kernel.Options) (*call.Lowered, error) { return lowerConvBy(n, o, nil) }

// lowerConvBy has a table of the results at the end, nil: none.
func lowerConvBy(n *ir.Node, o *kernel.Options, table []byte) (*call.Lowered, error) {
	c, why := convOf(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	g := c.g
	if c.kernel == (quantised.Tile{H: 1, W: 1}) && c.stride == c.kernel && !c.border && g.Group == 1 {
		return lowerRows(n, &c.l, g.N*c.out.H*c.out.W, o.Core, table)
	}
	w, why := c.weights(o.Core)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	pairs := w.form.words(c.order(w.form))
	ring := quantised.Tile{}
	extra := 0
	if c.border {
		extra = (g.CIn + 3) &^ 3
		if c.depth()%4 != 0 {
			ring = quantised.Tile{H: c.span().H + c.stride.H, W: (c.out.W-1)*c.stride.W + c.span().W}
			extra = (ring.H*ring.W*g.CIn + 3) &^ 3
		}
	}
	f := fields("batches", g.N, "in_h", c.in.H, "in_w", c.in.W, "in_c", g.CIn, "out_h", c.out.H, "out_w", c.out.W, "out_c", g.COut,
		"kernel_h", c.kernel.H, "kernel_w", c.kernel.W, "stride_h", c.stride.H, "stride_w", c.stride.W, "pad_h", c.pad.H, "pad_w", c.pad.W,
		"dil_h", c.dil.H, "dil_w", c.dil.W, "groups", g.Group, "border", flag(c.border), "ring_rows", ring.H, "ring_w", ring.W,
		"pairs", pairs, "group_words", w.group, "pad", -int(c.l.p.InOff))
	f = append(f, clampOf(c.l.p).fields()...)
	l := &call.Lowered{Scratch: 8*pairs + extra, Unused: []int{1, 2}}
	// A kernel row is one run of bytes; cut at the pixels it keeps the order of whole words only.
	f = append(f, pitches(l, g.CIn, g.COut, c.depth()%4 == 0 || ring.H > 0 || c.kernel.W == 1)...)
	f = append(f, call.F("table", c.l.above(table)))
	return own(l, call.Call{Func: "nncc_dsp_convolve_s8", Args: []call.Arg{
		&call.Struct{Type: "nncc_dsp_convolve_params", Fields: f}, w.form.widen(), w.form.mat2(table), i8In(0), packed(w.words), i8Out(0), scratch32(0)}}), nil
}

// pitches are the distances of pixels (or rows) of in and out bytes, which may
// lie apart; those of the input where free.
func pitches(l *call.Lowered, in, out int, free bool) []call.Field {
	x, y := call.Arg(call.I32(in)), call.Pitch{Output: true, Row: out}
	l.Rows = append(l.Rows, call.Rows{Output: true, Bytes: out})
	if free {
		x = call.Pitch{Row: in}
		l.Rows = append(l.Rows, call.Rows{Bytes: in})
	}
	return []call.Field{call.F("in_pitch", x), call.F("out_pitch", y)}
}

// lowerRows calls a kernel that multiplies rows of inputs, two at a time or a
// single one.
func lowerRows(n *ir.Node, l *layer, count int, core kernel.Core, table []byte) (*call.Lowered, error) {
	f := formFor(core)
	order := f.order(0, len(l.rows[0]))
	single := count == 1 && table == nil
	if single {
		order = f.rowOrder(len(l.rows[0]))
	}
	w, why := l.matrix(order, f)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	pairs := f.words(order)
	low := &call.Lowered{Unused: []int{1, 2}}
	fs := fields("rows", count, "in_c", len(l.rows[0]), "out_c", len(l.rows), "pairs", pairs, "group_words", w.group)
	fs = append(fs, clampOf(l.p).fields()...)
	fs = append(fs, pitches(low, len(l.rows[0]), len(l.rows), true)...)
	p := &call.Struct{Type: "nncc_dsp_fully_connected_params", Fields: append(fs, call.F("table", l.above(table)))}
	switch {
	case !single:
		low.Scratch = 8 * pairs
		return own(low, call.Call{Func: "nncc_dsp_convolve_1x1_s8", Args: []call.Arg{
			p, w.form.widen(), w.form.mat2(table), i8In(0), packed(w.words), i8Out(0), scratch32(0)}}), nil
	case f == plain:
		return own(low, call.Call{Func: "nncc_plain_fully_connected_s8", Args: []call.Arg{p, i8In(0), packed(w.words), i8Out(0)}}), nil
	}
	low.Scratch = 4 * pairs
	return own(low, call.Call{Func: "nncc_dsp_fully_connected_s8", Args: []call.Arg{
		p, call.Func("nncc_dsp_matmul_1row" + w.form.suffix()), i8In(0), packed(w.words), i8Out(0), scratch32(0)}}), nil
}

// fullyConnected takes layers with several rows through the 1x1 kernel.
var fullyConnected = &kernel.Kernel{
	Name: "nncc_dsp_fully_connected_s8", Library: Library, Doc: "int8 fully connected layer, packed weights",
	Ops: []*ir.OpDef{op.Gemm, op.MatMul}, Lower: lowerFC,
	Layout: func(*ir.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Natural} },
	Rules: join(noHelium("DSP-FC-00"), quantised.ProductRules("DSP-FC", quantised.Everywhere), exact("DSP-FC-06", func(n *ir.Node, core kernel.Core) string {
		l, _, why := fcOf(n)
		if why == "" {
			f := formFor(core)
			_, why = l.matrix(f.order(0, len(l.rows[0])), f)
		}
		return why
	})),
}

// fcOf is the layer and its number of rows of inputs.
func fcOf(n *ir.Node) (*layer, int, string) {
	s, why := quantised.ProductOf(n)
	if why != "" {
		return nil, 0, why
	}
	if !s.Params.Symmetric() {
		return nil, 0, fmt.Sprintf("the weights %s have zero point %d, want 0", n.In[1], -s.Params.FilterOff[0])
	}
	return &layer{rows: rows(s.Weights(n), s.Cols), bias: kernel.Bias(n, s.Cols), p: s.Params}, s.Rows, ""
}

func lowerFC(n *ir.Node, o *kernel.Options) (*call.Lowered, error) {
	l, count, why := fcOf(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	return lowerRows(n, l, count, o.Core, nil)
}
