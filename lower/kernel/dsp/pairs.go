// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// quads is a depthwise layer whose inputs become words of two elements of a
// window, four channels at a time: of two rows, or of two columns where windows
// have one row.
type quads struct {
	c      *convolution
	line   bool           // windows of one row: quads of two columns
	phases quantised.Tile // outputs so far apart read rows, or columns, that lie a dilation apart
	down   int            // elements of a window from an output to the next, in the direction of the pairs
	rows   int            // of outputs at a time
	span   int            // columns of the output at a time
	width  int            // columns of a residue by the dilation
	runs   int            // of quads in a window
	taps   int            // quads of a run
	bytes  int            // of quads in scratch
	upper  []upper
	relu   bool // no negative sum survives the clamp
}

// upper is a channel whose scaled output is the upper half of a word.
type upper struct {
	row   []int8
	start int32
	u     pack.Upper
}

// pair is a word of two weights; inputs are 256 times as large, the weights make
// up the rest of the shift.
func (x *upper) pair(a, b int8) int32 {
	return x.half(a)&0xffff | x.half(b)<<16
}

// half is a weight with its part of the shift.
func (x *upper) half(w int8) int32 { return int32(w) << uint(x.u.K-8) }

// upperOf is channel i; not ok: its requantisation has no such form.
func (l *layer) upperOf(i int) (x upper, ok bool) {
	s, why := l.channel(i, 0)
	if why != "" {
		return x, false
	}
	_, mult, shift := l.Channel(i)
	u, why := pack.UpperHalf(mult, shift, s.lo, s.hi, l.Params.OutOff)
	if why != "" {
		return x, false
	}
	return upper{row: s.row, start: int32(s.start << uint(u.K)), u: u}, true
}

const (
	mostTaps      = 8 // quads of a run that the inner loop holds
	quadBytes     = 16
	quadScratch   = 4096 // about how much scratch a layer may take
	mostQuadRows  = 8    // of outputs at a time
	quadOutside   = 4    // bytes in front of the quads
	quadsOfWindow = 6    // instructions
)

// quads is nil where the layer is no work for the kernels.
func (c *convolution) quads(n *kernel.Node) *quads {
	if !n.Core.DSP || n.Generic || c.G.CIn < 4 || c.Kernel.H*c.Kernel.W < 2 {
		return nil
	}
	d := c.Dilation
	q := &quads{c: c, line: c.Kernel.H == 1, relu: c.relu(),
		phases: param.Phases(d, c.Stride)}
	for i := range c.l.Rows {
		x, ok := c.l.upperOf(i)
		if !ok {
			return nil
		}
		q.upper = append(q.upper, x)
	}
	if q.line {
		q.arrangeLine()
		return q
	}
	if c.Kernel.W > mostTaps {
		return nil
	}
	q.down, q.taps = c.Stride.H*q.phases.H/d.H, c.Kernel.W
	best := *q
	for rows := range mostQuadRows {
		if q.arrange(rows + 1); rows == 0 || q.bytes <= quadScratch && q.estimate() < best.estimate() {
			best = *q
		}
	}
	return &best
}

// arrange cuts the outputs into parts of so many rows whose inputs fit into scratch.
func (q *quads) arrange(rows int) {
	c := q.c
	q.rows = min(rows, (c.Out.H+q.phases.H-1)/q.phases.H)
	pairs := ((q.rows-1)*q.down + c.Kernel.H + 1) / 2
	q.span, q.width = c.strip(quadScratch/(quadBytes*pairs), q.phases.W)
	q.bytes = quadBytes * pairs * q.width * c.Dilation.W
}

// arrangeLine is arrange for windows of one row.
func (q *quads) arrangeLine() {
	c := q.c
	q.down = c.Stride.W * q.phases.W / c.Dilation.W
	need := (c.Kernel.W + 1 + q.down%2) / 2
	q.runs = (need + mostTaps - 1) / mostTaps
	q.taps = (need + q.runs - 1) / q.runs
	q.span = (c.Out.W + q.phases.W - 1) / q.phases.W
	if most := (2*quadScratch/quadBytes-c.Kernel.W)/q.down + 1; most < q.span {
		q.span = max(most/2, 1) * 2
	}
	q.bytes = quadBytes * (((q.span-1)*q.down+1)/2 + q.runs*q.taps)
}

// estimate is about how many instructions all channels take.
func (q *quads) estimate() int {
	c := q.c
	groups, times := (c.G.CIn+3)/4, c.G.COut/c.G.CIn
	each := 26
	if !q.relu {
		each += 8
	}
	if times > 1 {
		each += 7
	}
	pixels := c.Out.H * c.Out.W * times
	if q.line {
		calls := q.phases.W * ((c.Out.W + q.span*q.phases.W - 1) / (q.span * q.phases.W)) * c.Out.H
		fill := 200 + 6*((min(q.span*q.phases.W, c.Out.W)-1)*c.Stride.W+c.Kernel.W)/q.phases.W
		return groups * (pixels*(each+(5+quadsOfWindow*q.taps)*q.runs) +
			calls*(fill+(1+q.down%2)*(30+50*times)))
	}
	parts := 0
	for k := range q.phases.H {
		parts += (c.Out.H - k + q.rows*q.phases.H - 1) / (q.rows * q.phases.H)
	}
	spans := (c.Out.W + q.span - 1) / q.span
	pairs := ((q.rows-1)*q.down + c.Kernel.H + 1) / 2
	columns := min(q.width*c.Dilation.W, c.In.W)
	fill := 100 + c.Dilation.W*(30+pairs*60) + pairs*columns*12
	if spans > 1 {
		fill += q.bytes / 10
	}
	fill += q.rows * q.phases.W * (40 + 50*times)
	runs := (c.Kernel.H + 1) / 2
	return groups * (pixels*(each+runs*(5+quadsOfWindow*q.taps)) + parts*spans*fill)
}

// words packs all channels, and gives the words of the first kind and of a group.
func (q *quads) words() (w []int32, even, group int) {
	times := q.c.G.COut / q.c.G.CIn
	for first := range fours(q.c.G.CIn) {
		for m := range times {
			var x [4]upper
			for i := range x {
				x[i] = q.upper[(first+i)*times+m]
			}
			before := len(w)
			w = q.pack(w, &x, 0)
			even = len(w) - before
			if q.down%2 == 1 {
				w = q.pack(w, &x, 1)
			}
			group = len(w) - before
		}
	}
	return w, even, group
}

// pack appends four channels for windows that begin with the first element of a
// quad, or the second one.
func (q *quads) pack(w []int32, x *[4]upper, odd int) []int32 {
	for i := range x {
		w = append(w, x[i].start)
	}
	k := q.c.Kernel
	along, across := k.H, k.W // elements of a window in the direction of the pairs
	if q.line {
		along, across = k.W, 1
	}
	weight := func(x *upper, at, column int) int8 {
		if at < 0 || at >= along {
			return 0
		}
		if q.line {
			return x.row[at]
		}
		return x.row[at*k.W+column]
	}
	pairs := (along + 1 + odd) / 2
	if q.line {
		pairs = q.runs * q.taps
	}
	for p := range pairs {
		for column := range across {
			for i := range x {
				at := 2*p - odd
				w = append(w, x[i].pair(weight(&x[i], at, column), weight(&x[i], at+1, column)))
			}
		}
	}
	return q.scales(w, x[:])
}

// scales appends those of four channels.
func (q *quads) scales(w []int32, x []upper) []int32 {
	var m, c, d []int32
	for i := range x {
		m, c, d = append(m, x[i].u.M), append(c, x[i].u.C+128<<16), append(d, x[i].u.D)
	}
	if q.relu {
		return append(append(w, m...), c...)
	}
	return append(append(append(w, d...), c...), m...)
}

func (q *quads) lower() *call.Lowered {
	c := q.c
	words, even, group := q.words()
	times, pad := c.G.COut/c.G.CIn, call.T(-c.l.Params.InOff)
	name := "nncc_dsp_depthwise_pairs"
	f := param.Fields(&param.DspDepthwisePairs{Batches: c.G.N, InC: c.G.CIn, Channels: c.G.COut, Times: times, Pad: pad,
		PhasesH: q.phases.H, PhasesW: q.phases.W, Down: q.down, Rows: q.rows, Span: q.span, Width: q.width,
		QuadsBytes: q.bytes, EvenWords: even, GroupWords: group}, &c.Window)
	if q.line {
		name = "nncc_dsp_depthwise_line"
		f = param.Fields(&param.DspDepthwiseLine{Batches: c.G.N, InC: c.G.CIn, Channels: c.G.COut, Times: times,
			Pad:     pad,
			PhasesW: q.phases.W, Down: q.down, Span: q.span, Taps: q.taps, Turns: q.runs, QuadsBytes: q.bytes,
			EvenWords: even, GroupWords: group}, &c.Window)
	}
	f = append(f, clampOf(c.l.Params).bounds()...)
	l := &call.Lowered{Scratch: quadOutside + q.bytes, Unused: []int{1, 2}}
	if q.line {
		l.Overlap = c.inRows().Overlap(&c.Window)
	}
	return own(l, call.Call{
		Func: name + "_s8", Args: []call.Arg{&call.Struct{Type: name + "_params", Fields: f}, q.inner(),
			i8In(0), packed(words), i8Out(0), scratch32(0)}})
}

func (q *quads) inner() call.Func {
	name := "nncc_dsp_depthwise_pairs_row"
	if q.c.G.COut > q.c.G.CIn {
		name += "_times"
	}
	if q.relu {
		name += "_relu"
	}
	return call.Func(name + "_s8")
}
