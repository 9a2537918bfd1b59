// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// three is a depthwise layer for nncc_dsp_depthwise_3x3_s8.
type three struct {
	scan
	stride int
	relu   bool // no negative sum survives the clamp
	words  []int32
	group  int // words of four channels
}

// scan is how a layer's outputs follow each other: along lines, two at a time.
type scan struct {
	turned        bool           // lines are columns, not rows
	in, out, pads quantised.Tile // H lines of W pixels
	strip         int            // outputs of a line that go together
	edge          bool           // the first line of outputs goes by itself
}

// three is nil where the layer is no work for the kernel.
func (c *convolution) three(n *kernel.Node) *three {
	size, dense, s := quantised.Tile{H: 3, W: 3}, quantised.Tile{H: 1, W: 1}, c.Stride.W
	if !n.Core.DSP || n.Generic || c.Kernel != size || c.Dilation != dense || c.Stride.H != s || s > 2 ||
		c.G.COut != c.G.CIn || c.G.CIn < 4 || c.Out.W < 2 {
		return nil
	}
	t := &three{stride: s, relu: c.relu()}
	t.scan = t.least(scan{in: c.In, out: c.Out, pads: c.Pad, strip: c.Out.W}, c.G.CIn)
	for first := range fours(c.G.CIn) {
		before := len(t.words)
		var edges []int32
		for i := first; i < first+4; i++ {
			edge, ok := t.add(&c.l, i)
			if !ok {
				return nil
			}
			edges = append(edges, edge)
		}
		if t.edge {
			t.words = append(t.words, edges...)
		}
		t.group = len(t.words) - before
	}
	return t
}

// The words of a strip of a turned layer take stripScratch at most, or mapPart of a map that may take its own place
// then.
const (
	stripScratch = 512
	mapPart      = 8
)

// least is the scan that takes least: along rows, as given, or along columns,
// with an edge or without.
func (t *three) least(rows scan, channels int) scan {
	list := []scan{rows}
	if rows.out.H >= 2 {
		most := max(rows.scratch(t.stride), stripScratch)
		if rows.inPlace(channels) {
			most = max(most, rows.in.H*rows.in.W*channels/mapPart)
		}
		list = append(list, rows.turn(t.stride, most))
	}
	for _, s := range list {
		if t.relu && t.stride == 1 && s.pads.H == 1 && s.out.H%2 == 1 {
			s.edge = true
			list = append(list, s)
		}
	}
	return slices.MinFunc(list, func(a, b scan) int { return a.estimate(t.stride) - b.estimate(t.stride) })
}

// turn is the scan along columns, in strips of about the same length that take at most so many bytes of scratch.
func (s *scan) turn(stride, most int) scan {
	swap := func(v quantised.Tile) quantised.Tile { return quantised.Tile{H: v.W, W: v.H} }
	c := scan{turned: true, in: swap(s.in), out: swap(s.out), pads: swap(s.pads)}
	c.strip = c.out.W
	for n := 2; c.scratch(stride) > most; n++ {
		c.strip = (c.out.W + n - 1) / n
	}
	for c.out.W%c.strip == 1 { // strips have two outputs at least
		c.strip--
	}
	return c
}

// scratch are the bytes of a strip's words.
func (s *scan) scratch(stride int) int { return 32 * (stride*(s.strip-1) + 3) }

// estimate is about how many instructions four channels take.
func (s *scan) estimate(stride int) int {
	lines, edges := s.out.H, 0
	if s.edge {
		lines, edges = lines-1, 1
	}
	pairs, pixel := (lines+1)/2, 24
	if stride == 2 {
		pairs, pixel = lines, 14
	}
	total := 0
	for at := 0; at < s.out.W; at += s.strip {
		n := min(s.strip, s.out.W-at)
		total += 100 + (pairs+1)*(60+15*(stride*(n-1)+3)) + pairs*(10+4*(20+pixel*n)) + edges*(30+4*(20+9*n))
	}
	return total
}

// add packs a channel, and gives the start value of edges; false: its
// requantisation has no such form.
func (t *three) add(l *layer, i int) (int32, bool) {
	x, ok := l.upperOf(i)
	if !ok {
		return 0, false
	}
	w, pair := x.row, x.pair
	if t.turned {
		w = []int8{w[0], w[3], w[6], w[1], w[4], w[7], w[2], w[5], w[8]}
	}
	if t.stride == 1 {
		for k := range 3 {
			t.words = append(t.words, pair(w[k], w[3+k]), pair(w[3+k], w[6+k]))
		}
	} else {
		t.words = append(t.words, pair(w[0], w[3]), pair(w[1], w[4]), pair(w[2], w[5]), pair(w[6], w[7]), pair(w[8], 0))
	}
	t.words = append(t.words, x.start, x.u.M, x.u.C)
	if !t.relu {
		t.words = append(t.words, x.u.D)
	}
	padding := -int64(l.Params.InOff) * (int64(w[0]) + int64(w[1]) + int64(w[2]))
	return x.start + int32(padding<<uint(x.u.K)), true
}

func (t *three) lower(c *convolution) *call.Lowered {
	inner := func(slot string) call.Func {
		name := fmt.Sprintf("nncc_dsp_depthwise_3x3_stride%d_%s", t.stride, slot)
		if t.relu {
			name += "_relu"
		}
		return call.Func(name + "_s8")
	}
	edge := call.Arg(call.Null{})
	if t.edge {
		edge = inner("edge")
	}
	l := &call.Lowered{Scratch: t.scratch(t.stride), Unused: []int{1, 2}}
	if t.inPlace(c.G.CIn) {
		l.Overlap = call.InPlace(0)
	}
	return own(l,
		call.Call{Func: "nncc_dsp_depthwise_3x3_s8",
			Args: []call.Arg{t.params(c), inner("even"), inner("odd"), edge, i8In(0), packed(t.words), i8Out(0),
				scratch32(0)}})
}

// inPlace: four channels of an image after the other may take their own place, since every line is read once. Where the
// last four channels are not all new, or lines go in strips, which have pixels in common, some are read again.
func (s *scan) inPlace(channels int) bool {
	return s.in == s.out && s.pads.H <= 2 && s.strip == s.out.W && channels%4 == 0
}

// params is the nncc_dsp_depthwise_3x3_params.
func (t *three) params(c *convolution) *call.Struct {
	pixel := func(turned bool, width int) int {
		if turned {
			return width * c.G.CIn
		}
		return c.G.CIn
	}
	f := fields("batches", c.G.N, "channels", c.G.COut, "in_lines", t.in.H, "in_pixels", t.in.W, "out_lines", t.out.H,
		"out_pixels", t.out.W, "stride", t.stride, "pad_lines", t.pads.H, "pad_pixels", t.pads.W,
		"line", pixel(!t.turned, c.In.W), "pixel", pixel(t.turned, c.In.W),
		"out_line", pixel(!t.turned, c.Out.W), "out_pixel", pixel(t.turned, c.Out.W),
		"strip", t.strip, "pad", call.T(-c.l.Params.InOff), "group_words", t.group)
	return &call.Struct{Type: "nncc_dsp_depthwise_3x3_params", Fields: append(f, clampOf(c.l.Params).bounds()...)}
}
