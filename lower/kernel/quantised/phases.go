// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/param"
)

// Phase is what a transposed convolution computes for every stride-th row and
// column of the result: a convolution of stride 1 with the taps that meet them.
// Distances are bytes. Where neighbouring columns have the same inputs they are
// one phase, of as many times the channels; of cheapest phases neighbouring rows may be, too.
type Phase struct {
	Convolution
	Lines  int  // neighbouring rows of the result that a row of the phase has
	Line   int  // from a row of the result to the next
	Uneven bool // columns of the result are not all as many
	Offset int  // of the first pixel of the result
	Pitch  int  // from a pixel of the phase to the next
	Row    int  // from a row of the phase to the next
	Image  int  // from an image to the next
}

// Depthwise reports that every channel of the result has one channel of the input.
func (c *Convolution) Depthwise() bool { return c.G.Group > 1 && c.G.Group == c.G.CIn }

// Whole is a convolution on int8 as the only phase of its result.
func (c *Convolution) Whole() *Phase {
	row := c.Out.W * c.G.COut
	return &Phase{Convolution: *c, Pitch: c.G.COut, Row: row, Image: c.Out.H * row}
}

// Whole16 is Whole on int16.
func (c *Convolution) Whole16() *Phase {
	f := c.Whole()
	f.Pitch, f.Row, f.Image = 2*f.Pitch, 2*f.Row, 2*f.Image
	return f
}

// Scattered says that rows of the phase are computed apart and copied to where they belong.
func (f *Phase) Scattered() bool { return f.Lines > 1 || f.Uneven }

// Stores are the distances of the kernels that compute a phase of int8 row by row, where rows that are scattered
// begin so many bytes behind the beginning of scratch, and how many bytes such a row takes.
func (f *Phase) Stores(buffer int) (fields []call.Field, bytes int) {
	lines := 0
	if f.Scattered() {
		lines, bytes = f.Lines, f.Out.W*f.G.COut
	}
	return call.Ints("row", f.Row, "image", f.Image, "lines", lines, "high", (f.Image-f.Offset+f.Line-1)/f.Line,
		"down", f.Row/f.Line, "wide", f.Line-f.Offset%f.Line, "pitch", f.Line, "run", f.G.COut/f.Lines, "step", f.Pitch,
		"buffer", buffer), bytes
}

// Phases are those of a ConvTranspose node on int8, CheapestPhases those of four channels at a time that take least;
// Phases16 are Phases on int16, if the sums of every channel stay in 32 bits.
var (
	Phases         = phasesBy(MACParams, false, (*transposedConv).phases)
	Phases16       = phasesBy(MAC16Params, true, (*transposedConv).phases)
	CheapestPhases = phasesBy(MACParams, false, (*transposedConv).cheapest)
)

func phasesBy(params *kernel.Fact[*op.MACParams], wide bool,
	cut func(t *transposedConv, on kernel.Core) []*Phase) *kernel.Fact[[]*Phase] {
	return kernel.NewFact(func(n *kernel.Node) ([]*Phase, string) {
		p, why := params.Of(n)
		if why != "" || !KnownWeights(n.Node) {
			return nil, kernel.Unread
		}
		g, why := kernel.Conv.Of(n)
		if why != "" || len(g.In) > 2 {
			return nil, kernel.Unread
		}
		list := cut(&transposedConv{g: g, params: p, bias: kernel.Bias(n.Node, g.COut),
			weights: tensor.As[int8](n.In[1].Const), Window: param.ConvWindow(g)}, n.Core)
		if !wide {
			return list, ""
		}
		for _, f := range list {
			f.Offset, f.Pitch, f.Row, f.Image = 2*f.Offset, 2*f.Pitch, 2*f.Row, 2*f.Image
			if why := f.Layer.wide(n); why != "" {
				return nil, why
			}
		}
		return list, ""
	})
}

// transposedConv is a transposed convolution; its window counts in the result.
type transposedConv struct {
	g       *op.ConvGeom
	params  *op.MACParams
	bias    []int32
	weights []int8 // [CI][CO/groups][KH][KW]
	Window
}

func (t *transposedConv) axes() (h, w kernel.TransposedAxis) {
	h = kernel.TransposedAxis{Out: t.Out.H, Taps: t.Kernel.H, Stride: t.Stride.H, Pad: t.Pad.H, Dilation: t.Dilation.H}
	w = kernel.TransposedAxis{Out: t.Out.W, Taps: t.Kernel.W, Stride: t.Stride.W, Pad: t.Pad.W, Dilation: t.Dilation.W}
	return h, w
}

func (t *transposedConv) phases(kernel.Core) []*Phase {
	h, w := t.axes()
	return t.all(kernel.Phases(h, w, t.g.Group == 1))
}

func (t *transposedConv) cheapest(on kernel.Core) []*Phase {
	if t.g.Group > 1 || t.Stride.H*t.Stride.W > maxPhases {
		return t.phases(on)
	}
	h, w := t.axes()
	return t.all(kernel.CheapestPhases(h, w, func(p *kernel.Phase) int { return t.cost(p, on) }))
}

// cost is about what a phase takes of instructions: for a row of the phase, a window, and four of its channels, or one
// where they go one by one; to copy an input, to multiply it by four channels, to move a result.
func (t *transposedConv) cost(p *kernel.Phase, on kernel.Core) int {
	rows, columns := p.Count()
	channels := len(p.Rows) * len(p.Columns) * t.g.COut
	each, group, copied, times := 60, 60, 3, 8
	n := (channels + 3) / 4
	switch {
	case on.DSP:
		each, group, copied, times = 25, 45, 1, 3
	case on.Armv6M:
		each, group, copied, times = 150, 50, 6, 4
		n = channels
	}
	window := each + group*n + len(p.Rows[0].Taps)*len(p.Columns[0].Taps)*t.g.CIn*(copied+times*n)
	if len(p.Rows) > 1 {
		window += 5 * channels
	}
	return rows * (150 + columns*window)
}

func (t *transposedConv) all(phases []kernel.Phase) []*Phase {
	return lists.Map(phases, func(p kernel.Phase) *Phase { return t.phase(&p) })
}

// phase is a phase as a convolution; one of several lines of rows and columns has as many times the channels.
func (t *transposedConv) phase(p *kernel.Phase) *Phase {
	c, rows, cols := t.g.COut, p.Rows[0], p.Columns[0]
	f := &Phase{Offset: (p.Y*t.Out.W + p.X) * c, Pitch: t.Stride.W * c, Row: t.Stride.H * t.Out.W * c,
		Image: t.Out.H * t.Out.W * c, Lines: len(p.Rows), Line: t.Out.W * c}
	for _, r := range p.Rows {
		for _, l := range p.Columns {
			f.Rows = append(f.Rows, t.taps(r.Taps, l.Taps)...)
			f.Uneven = f.Uneven || l.Count != cols.Count
		}
	}
	f.Params, f.Bias = t.params, t.bias
	if n := len(p.Rows) * len(p.Columns); n > 1 {
		wide := *t.params
		if len(wide.Mult) > 1 {
			wide.Mult, wide.Shift = slices.Repeat(wide.Mult, n), slices.Repeat(wide.Shift, n)
		}
		f.Params, f.Bias = &wide, slices.Repeat(t.bias, n)
	}
	f.G = &op.ConvGeom{N: t.g.N, CIn: t.g.CIn, COut: len(f.Rows), Group: t.g.Group}
	one := Tile{H: 1, W: 1}
	high, wide := p.Count()
	f.Window = Window{In: t.In, Out: Tile{H: high, W: wide}, Kernel: Tile{H: len(rows.Taps), W: len(cols.Taps)},
		Stride: one, Pad: Tile{H: -rows.First, W: -cols.First}, Dilation: Tile{H: rows.Step, W: cols.Step}}
	return f
}

// taps are the weights [O][rows][columns][I/groups] of some taps.
func (t *transposedConv) taps(rows, cols []int) [][]int8 {
	depth, per := t.g.CIn/t.g.Group, t.g.COut/t.g.Group
	out := make([][]int8, t.g.COut)
	for o := range out {
		for _, y := range rows {
			for _, x := range cols {
				for i := range depth {
					w := int8(0)
					if y >= 0 && x >= 0 {
						w = t.weights[(((o/per*depth+i)*per+o%per)*t.Kernel.H+y)*t.Kernel.W+x]
					}
					out[o] = append(out[o], w)
				}
			}
		}
	}
	return out
}

// maxPhases is how many calls a transposed convolution may be.
const maxPhases = 64

// PhaseRule is the rule that a transposed convolution is not cut into too many
// phases.
var PhaseRule = phaseRule(Phases)

// PhaseRules16 are the conditions on a transposed convolution on int16 data by
// phases; shifts says why a layer's requantisation is not one of the family's.
func PhaseRules16(shifts func(l *Layer) string) kernel.Rules {
	return kernel.All(ConvRules16(Phases16), phaseRule(Phases16),
		Phases16.Rule("RIGHT-SHIFT", "requantisation shifts to the right",
			func(_ *kernel.Node, list []*Phase) string { return shifts(&list[0].Layer) }))
}

func phaseRule(phases *kernel.Fact[[]*Phase]) kernel.Rule {
	doc := fmt.Sprintf("strides give at most %d phases", maxPhases)
	return phases.Rule("PHASES", doc, func(n *kernel.Node, f []*Phase) string {
		if len(f) <= maxPhases {
			return ""
		}
		return fmt.Sprintf("strides %v give %d phases, want at most %d", kernel.Conv.Must(n).Strides, len(f), maxPhases)
	})
}
