// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// dots is a matrix times the weights of few channels, whatever their bits: rows of inputs, and
// the words of the channels.
type dots struct {
	l     *layer
	at    grid
	words []int32
	// windows is the convolution whose windows the rows are made of, nil: they lie in at.
	windows *convolution
}

// grid is where rows of inputs begin: those of a line so many rows apart, those of
// the next line so many further.
type grid struct{ lines, rows, step, line int }

// matrix is a grid of rows that follow each other.
func matrix(rows int) grid { return grid{1, rows, 1, 0} }

// even is the grid with one line where its rows lie evenly apart.
func (g grid) even() grid {
	switch {
	case g.lines > 1 && g.rows == 1:
		return grid{1, g.lines, g.line, 0}
	case g.line == g.rows*g.step:
		return grid{1, g.lines * g.rows, g.step, 0}
	}
	return g
}

// grid is what a convolution of single pixels, or of whole images, reads.
func (c *convolution) grid() (grid, string) {
	g, whole := c.G, c.In.H == c.Out.H*c.Stride.H // images follow each other like lines
	switch {
	case c.Entire():
		return matrix(g.N), ""
	case c.Kernel != (quantised.Tile{H: 1, W: 1}) || c.Padded() || g.Group != 1:
		return grid{}, "not a 1x1 convolution without padding and groups"
	case c.Stride == c.Kernel:
		return matrix(g.N * c.Out.H * c.Out.W), ""
	case g.N > 1 && !whole:
		return grid{}, "rows that no window begins with between the images of a batch"
	}
	return grid{g.N * c.Out.H, c.Out.W, c.Stride.W, c.Stride.H * c.In.W}, ""
}

// rows are the parts of a window that lie side by side: their number, which is 1 where the grid
// has whole windows, and their bytes.
func (d *dots) rows() (count, bytes int) {
	depth := len(d.l.Rows[0])
	if d.windows == nil {
		return 1, depth
	}
	return d.windows.Kernel.H, depth / d.windows.Kernel.H
}

// windowGrid is a row for each window of a convolution, for nncc_dsp_dots_windows_s8.
func (c *convolution) windowGrid(n *kernel.Node) (grid, string) {
	switch {
	case !n.Core.DSP:
		return grid{}, "windows of several pixels, and the core has no DSP extension"
	case c.G.Group > 1 || c.Dilation.W > 1:
		return grid{}, "windows of groups or with dilated columns"
	}
	return matrix(c.G.N * c.Out.H * c.Out.W), ""
}

// fewChannels is from where on four channels at a time take less than two. Fewer have
// weights of a byte each, also where they are int4.
const fewChannels = 4

// fewOfWindows is up to where two windows where they lie take less than windows that are copied, times four channels.
const fewOfWindows = 2

// Inputs of a window's row that are no part of four are multiplied one by one: on Cortex-M4 a window takes less than
// one that is copied up to fewBytes of them in all rows and channels (7x7 of one channel to one: 21, and a third
// more), or where rows are of longRow inputs.
const (
	fewBytes = 12
	longRow  = 16
)

// rowChannels is up to how many channels of a row by itself take less than four at a time.
func rowChannels(core kernel.Core) int {
	switch {
	case core.Armv6M:
		return fewChannels
	case core.DSP:
		return 2
	}
	return 1
}

// otherwise is why kernels for four channels at a time compute a layer better; packed
// says whether they can. It is "" where they do not.
func (d *dots) otherwise(n *kernel.Node, packed bool) string {
	channels := len(d.l.Rows)
	switch {
	case channels >= fewChannels && n.In[1].Type.DType == tensor.I4:
		return fmt.Sprintf("%d channels of int4, want at most %d", channels, fewChannels-1)
	case !packed:
		return ""
	case channels >= fewChannels:
		return fmt.Sprintf("%d channels, want at most %d", channels, fewChannels-1)
	case d.at.lines*d.at.rows == 1 && channels > rowChannels(n.Core):
		return fmt.Sprintf("one row by %d channels, want several rows or at most %d", channels, rowChannels(n.Core))
	case d.windows != nil && channels > fewOfWindows:
		return fmt.Sprintf("windows by %d channels, want at most %d", channels, fewOfWindows)
	}
	if rows, bytes := d.rows(); d.windows != nil && bytes < longRow && rows*(bytes%4)*channels > fewBytes {
		return fmt.Sprintf("windows of %d rows of %d inputs by %d channels: want rows of at least %d inputs, or of "+
			"fewer than %d products that are no part of four", rows, bytes, channels, longRow, fewBytes+1)
	}
	return ""
}

// dotsOf packs a layer that kernels for four channels at a time compute worse or
// not at all: packed says whether they can.
func dotsOf(n *kernel.Node, l *layer, at grid, windows *convolution, packed bool) (*dots, string) {
	d := &dots{l: l, at: at, windows: windows}
	if why := d.otherwise(n, packed); why != "" {
		return nil, why
	}
	channels := len(l.Rows)
	parts, bytes := d.rows()
	for c := 0; c < channels; c += 2 {
		pair := l.Rows[c:min(c+2, channels)]
		for i := range pair {
			head, why := l.dotHead(c+i, n.Core.DSP)
			if why != "" {
				return nil, fmt.Sprintf("channel %d: %s", c+i, why)
			}
			d.words = append(d.words, head...)
		}
		if n.Core.DSP {
			for k := range parts {
				d.words = dotPairs(d.words, pair, k*bytes, (k+1)*bytes)
			}
			continue
		}
		for _, row := range pair {
			d.words = dotBytes(d.words, row)
		}
	}
	return d, ""
}

// dotHead are the words of channel c in front of its weights.
func (l *layer) dotHead(c int, wide bool) ([]int32, string) {
	bias, mult, shift := l.Channel(c)
	x := scaled{start: pack.Bias(l.Rows[c], l.Params.InOff, bias)}
	lo, hi := pack.Reach(l.Rows[c])
	left := max(0, shift)
	x.lo, x.hi = (lo+x.start)<<uint(left), (hi+x.start)<<uint(left)
	if x.start < math.MinInt32 || x.start > math.MaxInt32 {
		return nil, fmt.Sprintf("the bias with the input's zero point is %d, beyond 32 bits", x.start)
	}
	if !wide {
		if why := x.reach(); why != "" {
			return nil, why
		}
	}
	offset := l.Params.OutOff - l.Params.ActMin
	if shift >= 0 && mult != 0 {
		s, why := pack.NoShift(mult, x.lo, x.hi, offset)
		return []int32{int32(x.start), s.M, s.C, -left}, why
	}
	s, why := pack.OneMultiply32(mult, shift-left, x.lo, x.hi, offset)
	return []int32{int32(x.start), s.M, s.C, s.S}, why
}

// dotPairs appends weights of one or two channels, from one input to another, for the DSP extension: of
// four inputs the even ones of each channel, then the odd ones, then bytes.
func dotPairs(words []int32, rows [][]int8, at, end int) []int32 {
	for ; at+4 <= end; at += 4 {
		for i := range 2 {
			for _, r := range rows {
				words = append(words, int32(r[at+i])&0xffff|int32(r[at+i+2])<<16)
			}
		}
	}
	for _, r := range rows {
		words = dotBytes(words, r[at:end])
	}
	return words
}

// dotBytes appends weights as bytes of words.
func dotBytes(words []int32, row []int8) []int32 {
	for k, v := range row {
		if k%4 == 0 {
			words = append(words, 0)
		}
		words[len(words)-1] |= int32(v) & 0xff << (8 * (k % 4))
	}
	return words
}

// lower has a table of the results, nil: none.
func (d *dots) lower(n *kernel.Node, table []byte) *call.Lowered {
	low := &call.Lowered{Unused: []int{1, 2}}
	channels, p := len(d.l.Rows), d.l.Params
	_, depth := d.rows()
	top := int(p.ActMax - p.ActMin)
	if table != nil {
		top = 255
	}
	one := d.at.lines == 1 && d.at.step == 1 && d.windows == nil
	step := d.at.step * depth
	if d.windows != nil {
		step = d.windows.Dilation.H * d.windows.In.W * d.windows.G.CIn
	}
	f := append(fields("rows", d.at.rows, "in_c", depth, "out_c", channels), pitches(low, step, channels, one)...)
	f = append(f, fields("low", call.T(p.ActMin), "top", call.T(top))...)
	params := &call.Struct{Type: "nncc_dsp_dots_params", Fields: append(f, call.F("table", d.l.above(table)))}
	if d.windows != nil {
		return d.lowerWindows(low, params)
	}
	name := "nncc_plain_dots"
	if n.Core.DSP {
		name = "nncc_dsp_dots"
	}
	if !one {
		name += "_lines"
		params = &call.Struct{Type: "nncc_dsp_dots_lines_params", Fields: append([]call.Field{
			call.F("dots", call.Nested{Fields: params.Fields})}, fields("lines", d.at.lines, "line",
			d.at.line*depth)...)}
	}
	return own(low, call.Call{Func: name + "_s8", Args: []call.Arg{params, i8In(0), packed(d.words), i8Out(0)}})
}

// lowerWindows calls the kernel for windows, of which rows are the dots.
func (d *dots) lowerWindows(low *call.Lowered, rows *call.Struct) *call.Lowered {
	c := d.windows
	low.Scratch = 2 * len(d.l.Rows[0])
	k := param.Walk{Images: c.G.N, From: c.G.CIn, To: c.G.COut, Rows: 1, Pixels: 2}
	if c.G.COut > 2 { // two channels go over a row after each other
		k.Pixels, k.Reads, k.Last = 0, param.Mixed, param.Rest(c.G.COut, 2)
	}
	low.Overlap = k.Overlap(&c.Window)
	f := param.Fields(&param.DspDotsWindows{Batches: c.G.N, InC: c.G.CIn, Outside: call.T(-c.l.Params.InOff)},
		&c.Window)
	return own(low, call.Call{Func: "nncc_dsp_dots_windows_s8", Args: []call.Arg{
		&call.Struct{Type: "nncc_dsp_dots_windows_params", Fields: append([]call.Field{
			call.F("dots", call.Nested{Fields: rows.Fields})}, f...)},
		i8In(0), packed(d.words), i8Out(0), call.Scratch{CType: "int8_t"}}})
}

// dotsFact are those of a layer.
var dotsFact = kernel.FactFrom(convOf, func(n *kernel.Node, c *convolution) (*dots, string) {
	at, why := c.grid()
	var windows *convolution
	if why != "" {
		if at, why = c.windowGrid(n); why != "" {
			return nil, why
		}
		windows = c
	}
	_, packed := provenConv.Of(n)
	return dotsOf(n, &c.l, at, windows, packed == "")
})

var (
	convolveDots = &kernel.Kernel{
		Name: "nncc_dsp_dots_s8", Library: Library, Doc: "int8 convolution with few channels or any scale",
		Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout,
		Lower: func(n *kernel.Node) *call.Lowered { return dotsFact.Must(n).lower(n, nil) },
		Was:   "DSP-DOTS", Rules: kernel.All(cond.NoHelium, quantised.ConvRules(false, nil), dotRule),
	}
	fullyConnectedDots = &kernel.Kernel{
		Name: "nncc_dsp_fully_connected_dots_s8", Library: Library,
		Doc:   "int8 fully connected layer with few outputs or any scale",
		Ops:   []*ir.OpDef{op.Gemm, op.MatMul},
		Lower: func(n *kernel.Node) *call.Lowered { return dotsFact.Must(n).lower(n, nil) },
		Rules: kernel.All(cond.NoHelium, quantised.ProductRules(nil), dotRule),
	}
)

var dotRule = cond.Proof("FEW-CHANNELS", "a matrix by few channels, or by those that are not packed by fours",
	dotsFact.Why)

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

// dotsFact16 are those of a layer.
var dotsFact16 = kernel.NewFact(func(n *kernel.Node) (*dots16, string) {
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

// few16 is what both rows want.
var few16 = dotsFact16.Exists("FEW-CHANNELS", "a matrix by few channels")

var (
	convolveDots16 = &kernel.Kernel{
		Name: "nncc_plain_dots_s16", Library: Library, Doc: "int16 1x1 convolution with one channel, or of few rows",
		Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout,
		Lower: func(n *kernel.Node) *call.Lowered { return dotsFact16.Must(n).lower(n) },
		Was:   "DSP-DOTS16", Rules: kernel.All(cond.NoHelium, quantised.ConvRules16(quantised.ConvOf16), few16),
	}
	fullyConnectedDots16 = &kernel.Kernel{
		Name: "nncc_plain_fully_connected_dots_s16", Library: Library,
		Doc:   "int16 fully connected layer with few outputs",
		Ops:   []*ir.OpDef{op.Gemm, op.MatMul},
		Lower: func(n *kernel.Node) *call.Lowered { return dotsFact16.Must(n).lower(n) },
		Was:   "DSP-FCDOTS16", Rules: kernel.All(cond.NoHelium, quantised.ProductRules16(), few16),
	}
)
