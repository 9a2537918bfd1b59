// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// dots16 is a matrix of int16 times weights, channel by channel: what goes four rows at a time
// is half empty with one channel, and one row by four channels with fewer, or with some that are left. Prices decide
// about more channels; with the DSP extension one or two of fewer rows take less.
type dots16 struct {
	l  *layer
	at grid
}

func dots16Of(n *kernel.Node, l *layer, at grid) (*dots16, string) {
	channels, rows := len(l.Rows), at.lines*at.rows
	if n.Core.DSP && (channels > 2 || rows >= rows4) {
		return nil, fmt.Sprintf("%d rows by %d channels, want at most %d by 2", rows, channels, rows4-1)
	}
	if channels > 1 && rows >= rows4 {
		return nil, fmt.Sprintf("%d rows by %d channels, want one channel or fewer than %d rows", rows, channels, rows4)
	}
	return &dots16{l, at}, l.Shifts16(1)
}

func (d *dots16) lower(*kernel.Node) *call.Lowered {
	low := &call.Lowered{Unused: []int{1, 2}}
	depth, channels := len(d.l.Rows[0]), len(d.l.Rows)
	var words []int32
	for c, row := range d.l.Rows {
		m, s := d.l.Shifted16(c, 1)
		words = dotBytes(append(words, d.l.Bias[c], m, 1<<(s-1), s), row)
	}
	f := fields("lines", d.at.lines, "rows", d.at.rows, "in_c", depth, "out_c", channels, "line", 2*depth*d.at.line)
	f = append(f, pitches(low, 2*depth*d.at.step, 2*channels, d.at.lines == 1 && d.at.step == 1)...)
	f = append(f, fields("channel_words", len(words)/channels, "act_min", call.T(d.l.Params.ActMin), "act_max",
		call.T(d.l.Params.ActMax))...)
	return own(low, call.Call{Func: "nncc_plain_dots_s16", Args: []call.Arg{
		&call.Struct{Type: "nncc_plain_dots16_params", Fields: f}, i8In(0), packed(words), i8Out(0)}})
}

// convDots16 and productDots16 are the layers of convolutions and of products.
var (
	convDots16 = kernel.NewFact(func(n *kernel.Node) (*dots16, string) {
		c, why := quantised.ConvOf16.Of(n)
		if why != "" {
			return nil, kernel.Unread
		}
		conv := &convolution{Convolution: c, l: layer{c.Layer}}
		at, why := conv.grid()
		if why != "" {
			return nil, why
		}
		return dots16Of(n, &conv.l, at)
	})
	productDots16 = kernel.NewFact(func(n *kernel.Node) (*dots16, string) {
		l, why := quantised.ProductLayers16.Of(n)
		if why != "" {
			return nil, kernel.Unread
		}
		return dots16Of(n, &layer{*l}, matrix(quantised.Products16.Must(n).Rows))
	})
)

// few16 is what both rows want.
const few16 = "a matrix by few channels"

var (
	convolveDots16 = &kernel.Kernel{
		Name: "nncc_plain_dots_s16", Library: Library, Doc: "int16 1x1 convolution with one channel, or of few rows",
		Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout,
		Lower: func(n *kernel.Node) *call.Lowered { return convDots16.Must(n).lower(n) },
		Was:   "DSP-DOTS16", Rules: kernel.All(cond.NoHelium, quantised.ConvRules16(quantised.ConvOf16),
			convDots16.Exists("FEW-CHANNELS", few16)),
	}
	fullyConnectedDots16 = &kernel.Kernel{
		Name: "nncc_plain_fully_connected_dots_s16", Library: Library,
		Doc:   "int16 fully connected layer with few outputs",
		Ops:   []*ir.OpDef{op.Gemm, op.MatMul},
		Lower: func(n *kernel.Node) *call.Lowered { return productDots16.Must(n).lower(n) },
		Was:   "DSP-FCDOTS16", Rules: kernel.All(cond.NoHelium, quantised.ProductRules16(),
			productDots16.Exists("FEW-CHANNELS", few16)),
	}
)
