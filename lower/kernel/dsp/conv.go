// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// convolution is a layer of products with constant weights in the terms of the kernels.
type convolution struct {
	*quantised.Convolution
	l     layer
	phase bool // of a transposed convolution: a row of windows at a time
	bound bool // another training may have other ranges
}

var convOf = kernel.FactFrom(quantised.ConvOf, func(n *kernel.Node, c *quantised.Convolution) (*convolution, string) {
	return &convolution{Convolution: c, l: layer{c.Layer}, bound: n.Bound}, ""
})

// relu: nothing below the zero point survives the clamp, after any training.
func (c *convolution) relu() bool { return !c.bound && c.l.Params.ActMin >= c.l.Params.OutOff }

// order is the order in which nncc_dsp_convolve_s8 gathers a window.
func (c *convolution) order(f form) []int {
	var o []int
	run := c.Depth()
	switch {
	case c.Entire() && !c.phase: // a row of a product
		run = len(c.l.Rows[0])
	case c.Dilation.W == 1 && c.G.Group == 1:
		run *= c.Kernel.W
	}
	for at := 0; at < len(c.l.Rows[0]); at += run {
		o = append(o, f.order(at, run)...)
	}
	return o
}

// provenConv are the channels of a layer.
var provenConv = kernel.FactFrom(convOf, func(n *kernel.Node, c *convolution) (*proven, string) {
	f := formFor(n, len(c.l.Rows)/c.G.Group)
	return c.l.prove(n.Options, c.G.Group, c.order(f), f)
})

// exact is the rule that the channels of a layer can be packed.
func exact[T any](channels *kernel.Fact[T]) kernel.Rule {
	return cond.Proof("ONE-MULTIPLICATION", "every channel is requantised exactly by one multiplication", channels.Why)
}

var conv = &kernel.Kernel{
	Name: "nncc_dsp_convolve_s8", Library: Library, Doc: "int8 convolution with groups and dilation, packed weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout,
	Lower: func(n *kernel.Node) *call.Lowered { return lowerConv(n, nil) },
	Was:   "DSP-CONV", Rules: kernel.All(cond.NoHelium, quantised.ConvRules(false, nil), exact(provenConv)),
}

// lowerConv has a table of the results at the end, nil: none.
func lowerConv(n *kernel.Node, table []byte) *call.Lowered {
	c := convOf.Must(n)
	g := c.G
	w := provenConv.Must(n)
	if c.Entire() || c.Kernel == (quantised.Tile{H: 1, W: 1}) && c.Stride == c.Kernel && !c.Padded() && g.Group == 1 {
		return lowerRows(&c.l, w, g.N*c.Out.H*c.Out.W, table)
	}
	l := &call.Lowered{Unused: []int{1, 2}}
	out := call.Pitch{Output: true, Row: g.COut}
	l.Rows = append(l.Rows, call.Rows{Output: true, Bytes: g.COut})
	k := c.call(l, w.least(table), out, true, table)
	if table == nil && n.Core.DSP {
		c.together(l, w, &k)
	}
	if g.Group == 1 {
		cut(l, g.COut)
	}
	l.Overlap = c.overlap(k.Func)
	return own(l, k)
}

// overlap is how windows go through scratch, two at a time: rows of them first, where there is a ring of these.
func (c *convolution) overlap(fn string) []call.Overlap {
	k := param.Walk{Images: c.G.N, From: c.G.CIn, To: c.G.COut, Pixels: 2}
	switch {
	case c.G.Group > 1 && fn == "nncc_dsp_convolve_s8": // groups go one by one over a part of a row
		return nil
	case c.ring().H > 0:
		k.Reads = param.Once
	}
	return k.Overlap(&c.Window)
}

// ring is the rows of the input, with padding, that are in scratch; without any windows are read where they lie.
func (c *convolution) ring() quantised.Tile {
	if c.Padded() && (c.Depth()%4 != 0 || c.phase && c.Pad.W >= 0 && 3*c.whole() < 2*c.Out.H*c.Out.W) {
		return quantised.Tile{H: c.Span().H + c.Stride.H, W: (c.Out.W-1)*c.Stride.W + c.Span().W}
	}
	return quantised.Tile{}
}

// whole is how many windows of an image with strides of 1 lie in it.
func (c *convolution) whole() int {
	s := c.Span()
	return max(0, c.In.H-s.H+1) * max(0, c.In.W-s.W+1)
}

// call is the kernel's, for rows of the output that are so far apart; those of
// the input may lie apart only where free. The scratch is noted in l, and that
// the input's rows may.
func (c *convolution) call(l *call.Lowered, w *proven, out call.Arg, free bool, table []byte) call.Call {
	g := c.G
	order := c.order(w.form)
	words, group := w.pack(order)
	pairs := w.form.words(order)
	ring, extra := c.ring(), 0
	if c.Padded() {
		extra = (max(1, ring.H*ring.W)*g.CIn + 3) &^ 3
	}
	f := param.Fields(&param.DspConvolve{Batches: g.N, InC: g.CIn, OutC: g.COut, Groups: g.Group,
		Border: quantised.Flag(c.Padded()), RingRows: ring.H, RingW: ring.W, Pairs: pairs, GroupWords: group,
		Pad: call.T(-c.l.Params.InOff)}, &c.Window)
	f = append(f, clampOf(c.l.Params).fields()...)
	in := call.Arg(call.I32(g.CIn))
	// A kernel row is one run of bytes; cut at the pixels it keeps the order of whole words only.
	if free && (c.Depth()%4 == 0 || ring.H > 0 || c.Kernel.W == 1) {
		in = call.Pitch{Row: g.CIn}
		if !slices.ContainsFunc(l.Rows, func(r call.Rows) bool { return !r.Output }) {
			l.Rows = append(l.Rows, call.Rows{Bytes: g.CIn})
		}
	}
	f = append(f, call.F("in_pitch", in), call.F("out_pitch", out), call.F("table", c.l.above(table)))
	l.Scratch, l.Pixels = max(l.Scratch, w.pairBytes(pairs)+extra), 2
	return call.Call{Func: "nncc_dsp_convolve_s8", Args: []call.Arg{
		&call.Struct{Type: "nncc_dsp_convolve_params", Fields: f}, w.widen(), w.mat2(table), i8In(0),
		packed(words), i8Out(0), scratch32(0)}}
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
func lowerRows(l *layer, w *proven, count int, table []byte) *call.Lowered {
	depth, channels := len(l.Rows[0]), len(l.Rows)
	single := count == 1 && table == nil
	if !single {
		w = w.least(table)
	}
	order := w.form.order(0, depth)
	if single {
		order = w.form.rowOrder(depth)
	}
	low, p, words := rowsCall(l, w, count, order, table)
	pairs := w.form.words(order)
	switch {
	case !single:
		low.Scratch = w.pairBytes(pairs)
		line := param.Line(count)
		low.Overlap = param.Walk{Images: 1, From: depth, To: channels, Pixels: 2}.Overlap(&line)
		cut(low, channels)
		return own(low, call.Call{Func: "nncc_dsp_convolve_1x1_s8", Args: []call.Arg{
			p, w.widen(), w.mat2(table), i8In(0), packed(words), i8Out(0), scratch32(0)}})
	case w.form.isPlain():
		return own(low, call.Call{Func: "nncc_plain_fully_connected" + w.form.suffix(), Args: []call.Arg{
			p, i8In(0), packed(words), i8Out(0)}})
	}
	low.Scratch = 4 * pairs
	return own(low, call.Call{Func: "nncc_dsp_fully_connected_s8", Args: []call.Arg{
		p, call.Func("nncc_dsp_matmul_1row" + w.form.suffix()), i8In(0), packed(words), i8Out(0), scratch32(0)}})
}

// rowsCall is what calls of kernels for rows of inputs have in common: their parameters and packed weights.
func rowsCall(l *layer, w *proven, count int, order []int, table []byte) (low *call.Lowered, p *call.Struct,
	words []int32) {
	depth, channels := len(l.Rows[0]), len(l.Rows)
	words, group := w.pack(order)
	low = &call.Lowered{Unused: []int{1, 2}, Pixels: 2}
	f := fields("rows", count, "in_c", depth, "out_c", channels, "pairs", w.form.words(order), "group_words", group)
	f = append(append(f, clampOf(l.Params).fields()...), pitches(low, depth, channels, true)...)
	f = append(f, call.F("table", l.above(table)))
	return low, &call.Struct{Type: "nncc_dsp_fully_connected_params", Fields: f}, words
}

// fullyConnected takes layers with several rows through the 1x1 kernel.
var fullyConnected = &kernel.Kernel{
	Name: "nncc_dsp_fully_connected_s8", Library: Library, Doc: "int8 fully connected layer, packed weights",
	Ops:   []*ir.OpDef{op.Gemm, op.MatMul},
	Lower: func(n *kernel.Node) *call.Lowered { return lowerConv(n, nil) },
	Rules: kernel.All(cond.NoHelium, quantised.ProductRules(nil), exact(provenConv)),
}

const (
	mostGroupScratch = 4096 // for the inputs of two pixels
	mostGroupFours   = 8    // of output channels of a group: with more, a call for each group costs less
)

// together turns the call of a convolution with several groups of channels into
// one that multiplies all groups at once, where that pays.
func (c *convolution) together(l *call.Lowered, w *proven, k *call.Call) {
	g, out := c.G, c.G.COut/c.G.Group
	pairs := w.form.words(c.order(w.form))
	inputs := 8 * pairs * g.Group
	if g.Group == 1 || c.Depth()%4 != 0 || out%4 != 0 || out > 4*mostGroupFours || inputs > mostGroupScratch ||
		w.form != narrow && w.form != wide {
		return
	}
	mat := "nncc_dsp_matmul_2rows_groups"
	if w.form == wide {
		mat += "_w16"
	}
	k.Func = "nncc_dsp_convolve_groups_s8"
	mat += w.order(kernel.Ahead, kernel.Short) + "_s8"
	k.Args = []call.Arg{k.Args[0], call.Func(mat), i8In(0), packed(w.packMoving(c.order(w.form), int32(8*pairs))),
		i8Out(0), scratch32(0)}
	l.Scratch += inputs - 8*pairs
}

// packMoving is pack with a word behind the start values of every four channels:
// the bytes by which the inputs move on before them.
func (p *proven) packMoving(order []int, step int32) (words []int32) {
	for k, fours := range p.groups {
		for i := range fours {
			move := int32(0)
			if i == 0 && k > 0 {
				move = step
			}
			at := len(words) + len(fours[i])
			words = slices.Insert(p.append(words, fours[i], order), at, move)
		}
	}
	return words
}
