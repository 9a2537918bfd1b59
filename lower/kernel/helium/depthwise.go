// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// patches is a depthwise convolution with a 3x3 kernel and strides of 1.
var patches = &kernel.Kernel{
	Name: "nncc_helium_depthwise_3x3_stride1_s8", Library: Library,
	Doc: "int8 depthwise convolution 3x3, strides 1, packed weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout, Lower: lowerPatches,
	Was: "HELIUM-DW31", Rules: kernel.All(cond.Helium, quantised.ConvRules(true, nil), shiftsRule,
		convRule("WINDOW-3X3", "kernel 3x3, strides 1, no dilation, an output a channel, at most 2 columns of "+
			"padding, several rows of output", func(c *convolution) string {
			one := quantised.Tile{H: 1, W: 1}
			if c.Kernel != (quantised.Tile{H: 3, W: 3}) || c.Stride != one || c.Dilation != one || c.Pad.W > 2 ||
				c.Out.H == 1 || c.G.COut != c.G.CIn {
				return fmt.Sprintf("kernel %v with strides %v, dilations %v, padding %v, %d rows of output and %d "+
					"outputs of %d channels, want 3x3, 1, 1, up to 2 columns, several and as many",
					c.G.Kernel, c.G.Strides, c.G.Dilations, c.G.PadBegin, c.Out.H, c.G.COut, c.G.CIn)
			}
			return ""
		})),
}

// threeSteps is what a depthwise 3x3 kernel with records of so many channels does behind
// its sums, as names say it: with folded requantisations where all of the layer's
// are proven.
func (l *layer) threeSteps(channels int) (string, []*pack.Folded) {
	if l.Params.ActMin != l.Params.OutOff {
		return steps(false, false), nil
	}
	var folds []*pack.Folded
	for at := 0; at < len(l.Rows); at += channels {
		first := at
		if channels == vector { // the last two overlap
			first = max(0, min(at, len(l.Rows)-vector))
		}
		f, why := l.folded(first, channels)
		if why != "" || !l.full() || l.Params.OutOff != math.MinInt8 {
			return steps(false, true), nil
		}
		folds = append(folds, f)
	}
	return steps(true, true), folds
}

// patchRecords packs the rows in records of four channels: bias, multiplier
// and shift, or what folds have, then for each channel 4x4 taps, columns first,
// the last ones 0.
func (l *layer) patchRecords(folds []*pack.Folded) []byte {
	var b []byte
	n := len(l.Rows)
	for at := 0; at < n; at += 4 {
		var head [12]int32
		var taps [4 * vector]byte
		for i := 0; i < 4 && at+i < n; i++ {
			head[i], head[4+i], head[8+i] = l.channel(at + i)
			for k, w := range l.Rows[at+i] {
				taps[vector*i+k%3*4+k/3] = byte(w)
			}
		}
		if folds != nil {
			head = [12]int32{8: 1 << folds[at/4].K, 9: folds[at/4].C}
			for i, c := range folds[at/4].Channels {
				head[i], head[4+i] = c.B, c.M
			}
		}
		b = append(words(b, head[:]...), taps[:]...)
	}
	return b
}

// patchSpan are the output columns that go through scratch at a time.
const patchSpan = 24

func lowerPatches(n *kernel.Node) *call.Lowered {
	c := convOf.Must(n)
	then, folds := c.l.threeSteps(4)
	scratch := 6*vector + vector*c.In.W + 4*vector*(min(roundUp(c.Out.W, 2), patchSpan)+2)
	return own(&call.Lowered{Scratch: scratch, Unused: []int{1, 2}, Overlap: c.inPlace()},
		call.Call{Func: "nncc_helium_depthwise_3x3_stride1" + then + "_s8", Args: []call.Arg{
			c.params(), i8In(0),
			packed(c.l.patchRecords(folds)),
			i8Scratch(0), i8Out(0)}})
}

// flat is a depthwise convolution with a column or a row of few taps: lines of bytes, whichever channels they are of.
var flat = &kernel.Kernel{
	Name: "nncc_helium_depthwise_taps_s8", Library: Library,
	Doc: "int8 depthwise convolution with a column or a row of 2 to 5 taps, packed weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout, Lower: lowerFlat,
	Rules: kernel.All(cond.Helium, quantised.ConvRules(true, nil), shiftsRule,
		convRule("WINDOW-LINE", "a column or a row of 2 to 5 taps, horizontal stride 1, an output a channel, lines of "+
			"whole words, at most 4096 bytes", func(c *convolution) string {
			taps, line := c.Kernel.H*c.Kernel.W, c.flatLine()
			if min(c.Kernel.H, c.Kernel.W) > 1 || taps < 2 || taps > mostTaps || c.Stride.W != 1 ||
				c.G.COut != c.G.CIn || min(c.Pad.H, c.Pad.W) < 0 || line > mostWindowScratch ||
				c.Kernel.W == 1 && c.Out.W != c.In.W || c.Out.W*c.G.CIn%4 != 0 {
				return fmt.Sprintf("kernel %v with strides %v, %d columns of %d channels, %d outputs of them and "+
					"lines of %d bytes, want a column or a row of 2 to %d taps, 1, whole words, as many and at most %d",
					c.G.Kernel, c.G.Strides, c.Out.W, c.G.CIn, c.G.COut, line, mostTaps, mostWindowScratch)
			}
			return ""
		}), tapSums),
}

// mostTaps are the taps of the longest line that is computed so.
const mostTaps = 5

// flatLine is the bytes of a row with its padding, or, for a column of taps, of one outside of the image; 0: there is
// none.
func (c *convolution) flatLine() int {
	across := (c.Kernel.W - 1) * c.Dilation.W
	switch {
	case c.Kernel.W > 1 && c.Pad.W == 0 && c.Out.W+across <= c.In.W:
		return 0
	case c.Kernel.W == 1 && !c.Padded():
		return 0
	}
	return (c.Out.W + across) * c.G.CIn
}

func lowerFlat(n *kernel.Node) *call.Lowered {
	c := convOf.Must(n)
	// Bytes of a line have the channels in turn: so many until a vector begins with the first one again.
	period := c.G.CIn
	for period%vector != 0 {
		period += c.G.CIn
	}
	turns := c.l.part(0, period)
	full := turns.full()
	var folds []*pack.Folded
	for at := 0; at < period && full; at += vector {
		f, why := turns.folded(at, vector)
		full = why == ""
		folds = append(folds, f)
	}
	if !full {
		folds = nil
	}
	p := c.l.Params
	params := &param.HeliumDepthwiseTaps{Batch: c.G.N, InH: c.In.H, OutH: c.Out.H, InRow: c.In.W * c.G.CIn,
		OutRow: c.Out.W * c.G.CIn, StrideH: c.Stride.H, PadTop: c.Pad.H, PadLeft: c.Pad.W * c.G.CIn, Down: 0,
		Across: 0, Line: c.flatLine(), Records: period / vector, InZero: call.T(-p.InOff), Zero: call.T(p.OutOff),
		ActMin: call.T(p.ActMin), ActMax: call.T(p.ActMax)}
	k := param.Walk{Images: c.G.N, From: c.G.CIn, To: c.G.CIn, Rows: 1, Reads: param.Mixed, Last: c.Out.W * c.G.CIn}
	if c.Kernel.W > 1 {
		params.Across = c.Dilation.W * c.G.CIn
		if c.flatLine() > 0 {
			k.Reads = param.Before
		}
	} else {
		params.Down = c.Dilation.H
	}
	return own(&call.Lowered{Scratch: max(vector, c.flatLine()), Unused: []int{1, 2}, Overlap: k.Overlap(&c.Window)},
		call.Call{Func: fmt.Sprint("nncc_helium_depthwise_taps", c.Kernel.H*c.Kernel.W,
			steps(full, full && c.l.fromZero()), "_s8"), Args: []call.Arg{param.Struct(params), i8In(0),
			packed(turns.wideBlocks(folds, true)), i8Scratch(0), i8Out(0)}})
}

// minWide are the channels from which on 16 lanes pay.
const minWide = 9

// depthwise3x3 is a depthwise convolution with a 3x3 kernel that steps by two.
var depthwise3x3 = &kernel.Kernel{
	Name: "nncc_helium_depthwise_3x3_stride2_s8", Library: Library,
	Doc: "int8 depthwise convolution 3x3, horizontal stride 2, packed weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout, Lower: lowerDepthwise3x3,
	Was: "HELIUM-DW32", Rules: kernel.All(cond.Helium, quantised.ConvRules(true, nil), shiftsRule,
		convRule("WINDOW-3X3", "kernel 3x3, horizontal stride 2, no dilation, an output a channel, at least 9 "+
			"channels", func(c *convolution) string {
			if c.Kernel != (quantised.Tile{H: 3, W: 3}) || c.Stride.W != 2 ||
				c.Dilation != (quantised.Tile{H: 1, W: 1}) || c.G.COut != c.G.CIn || c.G.CIn < minWide {
				return fmt.Sprintf("kernel %v with strides %v and dilations %v, %d channels and %d outputs of them, "+
					"want 3x3, 2, 1, at least %d and as many",
					c.G.Kernel, c.G.Strides, c.G.Dilations, c.G.CIn, c.G.COut, minWide)
			}
			return ""
		}),
		tapSums),
}

var tapSums = convRule("TAP-SUMS", "products of two taps add up in 16 bits",
	func(c *convolution) string { return c.l.pairsFit(inOrder(len(c.l.Rows[0]))) })

// pairsFit: -128 * -128 twice is the one sum of two products beyond int16.
func (l *layer) pairsFit(pairs [][2]int) string {
	for c, w := range l.Rows {
		for _, p := range pairs {
			if max(p[0], p[1]) >= len(w) {
				return kernel.Unread // another kernel shape, which has a rule of its own
			}
			if w[p[0]] == -128 && w[p[1]] == -128 {
				return fmt.Sprintf("channel %d: the weights of taps %d and %d are both -128, want one above", c, p[0],
					p[1])
			}
		}
	}
	return ""
}

// wideBlocks are records of 16 channels, the last two of which may overlap; below: what is added to folded sums below 0
// takes the place of scale and offset, which follow the taps.
func (l *layer) wideBlocks(folds []*pack.Folded, below bool) []byte {
	var b []byte
	n := len(l.Rows)
	place := func(i int) int { return i/4 + i%4/2*4 + i%2*8 }
	for at := 0; at < n; at += vector {
		head := len(b)
		b = l.block(b, max(0, min(at, n-vector)), vector, place)
		if folds == nil {
			continue
		}
		f := folds[at/vector]
		var h [3 * vector]int32
		for i, c := range f.Channels {
			h[place(i)], h[vector+place(i)] = c.B, c.M
			if below {
				h[2*vector+place(i)] = c.D
			}
		}
		if below {
			b = words(b, 1<<f.K, f.C, 0, 0)
		} else {
			h[2*vector], h[2*vector+1] = 1<<f.K, f.C
		}
		copy(b[head:], words(nil, h[:]...))
	}
	return b
}

// block appends a record of n channels from first on: bias, multiplier and
// shift, of channel i at place(i), then n weights for every tap.
func (l *layer) block(b []byte, first, n int, place func(i int) int) []byte {
	head := make([]int32, 3*n)
	taps := make([]byte, n*len(l.Rows[0]))
	for i := 0; i < n && first+i < len(l.Rows); i++ {
		k := place(i)
		head[k], head[n+k], head[2*n+k] = l.channel(first + i)
		for tap, w := range l.Rows[first+i] {
			taps[n*tap+i] = byte(w)
		}
	}
	b = append(words(b, head...), taps...)
	for len(b)%vector != 0 {
		b = append(b, 0)
	}
	return b
}

// inPlace: two rows of the output may take the place of rows of the input of
// the same size, which are in scratch by then. The next two need the last
// three of the window again, of which only the first is kept.
func (c *convolution) inPlace() []call.Overlap {
	if c.In == c.Out && c.Pad.H <= 1 {
		return call.InPlace(0)
	}
	return nil
}

// params are those of both kernels.
func (c *convolution) params() *call.Struct {
	p := c.l.Params
	return param.Struct(&param.HeliumDepthwise3x3{Batch: c.G.N, InC: c.G.CIn, InZero: call.T(-p.InOff),
		Zero: call.T(p.OutOff), ActMin: call.T(p.ActMin), ActMax: call.T(p.ActMax)}, &c.Window)
}

func lowerDepthwise3x3(n *kernel.Node) *call.Lowered {
	c := convOf.Must(n)
	then, folds := c.l.threeSteps(vector)
	k := param.Walk{Images: c.G.N, From: c.G.CIn, To: c.G.CIn, Rows: 1, Reads: param.Mixed,
		Last: max(0, c.G.CIn-vector)}
	// Pixels at the right go before others that may read the first column: not where pixels at the left do that.
	if right := 2*(c.Out.W-1)-c.Pad.W+3 > c.In.W || c.G.CIn <= vector; !right || c.Pad.W > 0 && c.Pad.W%2 != 0 {
		k.Last = param.Channelwise(c.G.CIn, vector)
	}
	return own(&call.Lowered{Scratch: 10 * vector, Unused: []int{1, 2}, Overlap: k.Overlap(&c.Window)}, call.Call{
		Func: "nncc_helium_depthwise_3x3_stride2" + then + "_s8", Args: []call.Arg{
			c.params(), i8In(0),
			packed(c.l.wideBlocks(folds, false)), i8Scratch(0), i8Out(0)}})
}

// inOrder are taps by twos; a last odd one has no partner.
func inOrder(taps int) [][2]int {
	var p [][2]int
	for t := 0; t+1 < taps; t += 2 {
		p = append(p, [2]int{t, t + 1})
	}
	return p
}
