// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// lanes are the channels that go through scratch at a time.
const lanes = 8

// depthwise is a depthwise convolution with any kernel.
var depthwise = &kernel.Kernel{
	Name: "nncc_helium_depthwise_s8", Library: Library,
	Doc: "int8 depthwise convolution with any window and a channel multiplier, packed weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout, Lower: lowerDepthwise,
	Was: "HELIUM-DW", Rules: kernel.All(cond.Helium, quantised.ConvRules(true, nil), shiftsRule),
}

// sweep is how nncc_helium_depthwise_s8 brings the input into scratch: rows of
// the output and columns of it at a time, and what follows of these.
type sweep struct {
	kernel, apart  quantised.Tile // the window and its dilation; spread: weights of zero take the place of the latter
	rows, span     int
	phases         quantised.Tile // outputs so far apart read columns, or rows, that lie a dilation apart
	pitch, vectors int            // bytes of a column, vectors of a window
	width, plane   int            // columns of a residue by the dilation, bytes of a channel
	step           int            // bytes from a window to the next
}

// sweepOf is the sweep with so many rows of the output at a time, within about so
// many bytes of scratch. Spread windows have no dilation along W.
func (c *convolution) sweepOf(rows int, spread bool, limit int) *sweep {
	d, k := c.Dilation, c.Kernel
	if spread {
		k.W, d.W = c.Span().W, 1
	}
	s := &sweep{kernel: k, apart: d, rows: rows, phases: param.Phases(d, c.Stride)}
	s.pitch = k.H + (rows-1)*c.Stride.H*s.phases.H/d.H
	s.vectors = roundUp((k.W-1)*s.pitch+k.H, vector) / vector
	s.step = s.pitch * c.Stride.W * s.phases.W / d.W
	columns := limit / (min(lanes, c.G.CIn) * s.pitch)
	s.span = c.Out.W
	if most := (columns-(k.W-1)*d.W-1)/c.Stride.W + 1; most < s.span {
		unit := 4 * s.phases.W
		spans := roundUp(s.span, max(most, unit)) / max(most, unit)
		s.span = min(s.span, roundUp(roundUp(s.span, spans)/spans, unit))
	}
	s.width = roundUp((s.span-1)*c.Stride.W+(k.W-1)*d.W+1, d.W) / d.W
	s.plane = d.W * s.width * s.pitch
	return s
}

// scratch is what the kernel needs: the last vector of the last three windows
// that are computed and dropped has something behind it.
func (s *sweep) scratch(c *convolution) int {
	return vector + min(lanes, c.G.CIn)*s.plane + 3*s.step + s.vectors*vector + s.pitch
}

// unrolledWindows are the most vectors of a window that a kernel has no loop for.
const unrolledWindows = 4

// fixedSteps are the steps that kernels have in their instructions, by vectors.
var fixedSteps = map[int][]int{1: {1, 6, 10}, 2: {6, 10}, 4: {9}}

// fixed: there is a kernel for windows so far apart.
func (s *sweep) fixed() bool { return slices.Contains(fixedSteps[s.vectors], s.step) }

// four is about what four outputs take.
func (s *sweep) four() int {
	switch {
	case s.vectors > unrolledWindows:
		return 10*s.vectors + 30
	case s.fixed():
		return 8*s.vectors + 12
	}
	return 8*s.vectors + 16
}

// bring is about what n columns of so many rows take.
func (s *sweep) bring(rows, n int) int {
	if s.pitch%2 != 0 {
		return rows * (16 + 5*n)
	}
	return (rows + 1) / 2 * (28 + 8*n)
}

// estimate is about what it takes to compute the layer for eight channels.
func (s *sweep) estimate(c *convolution) int {
	spans := roundUp(c.Out.W, s.span) / s.span
	columns := (min(s.width*s.apart.W, c.In.W) + s.apart.W - 1) / s.apart.W
	total := 0
	for k := range min(s.phases.H, c.Out.H) {
		for left := (c.Out.H - k + s.phases.H - 1) / s.phases.H; left > 0; left -= s.rows {
			rows := min(left, s.rows)
			pass := 60 + s.apart.W*(40+s.bring(c.Kernel.H+(rows-1)*c.Stride.H*s.phases.H/s.apart.H, columns))
			outputs := roundUp(s.span, s.phases.W) / s.phases.W
			phase := 17 + s.vectors + rows*(12+roundUp(outputs, 4)/4*s.four())
			pass += s.phases.W * (60 + lanes*phase*c.G.COut/c.G.CIn)
			if spans > 1 {
				pass += s.plane
			}
			total += spans * pass
		}
	}
	return total
}

// Scratch of a depthwise layer: more pays little.
const leastWindowScratch, mostWindowScratch = 2048, 4096

// best is the sweep that takes the least.
func (c *convolution) best() *sweep {
	one := c.sweepOf(1, false, mostWindowScratch)
	limit := min(max(2*vector*c.Kernel.H*one.width, leastWindowScratch), mostWindowScratch)
	best := c.sweepOf(1, false, limit)
	for rows := 1; rows <= min(8, c.Out.H); rows++ {
		for _, spread := range []bool{false, true} {
			if s := c.sweepOf(rows, spread, limit); s.estimate(c) < best.estimate(c) {
				best = s
			}
		}
	}
	return best
}

// windowRecords packs the rows: bias, multiplier, shift, then the taps by columns
// of pitch bytes.
func (l *layer) windowRecords(c *quantised.Window, s *sweep) []byte {
	var b []byte
	apart := c.Dilation.W / s.apart.W * s.pitch
	for i, row := range l.Rows {
		start, mult, shift := l.channel(i)
		b = words(b, start, mult, shift, 0)
		taps := make([]byte, s.vectors*vector)
		for k, w := range row {
			taps[k%c.Kernel.W*apart+k/c.Kernel.W] = byte(w)
		}
		b = append(b, taps...)
	}
	return b
}

func lowerDepthwise(n *kernel.Node) *call.Lowered {
	c := convOf.Must(n)
	l := &call.Lowered{Unused: []int{1, 2}, Overlap: c.best().overlap(c)}
	return own(l, c.windows(n, l, c.Whole()))
}

// overlap is over rows, eight channels after the other, which have columns in common where spans do.
func (s *sweep) overlap(c *convolution) []call.Overlap {
	if s.phases.H > 1 {
		return nil
	}
	k := param.Walk{Images: c.G.N, From: c.G.CIn, To: c.G.COut, Rows: s.rows, Reads: param.Mixed}
	switch {
	case c.G.COut > c.G.CIn:
	case s.span == c.Out.W:
		k.Last = c.G.CIn
	default:
		k.Last = max(0, c.G.CIn-lanes)
	}
	return k.Overlap(&c.Window)
}

// windows is the call for a phase.
func (c *convolution) windows(n *kernel.Node, l *call.Lowered, to *quantised.Phase) call.Call {
	s := c.best()
	p := c.l.Params
	params := param.Struct(&param.HeliumDepthwise{Batch: c.G.N, InC: c.G.CIn, Multiplier: c.G.COut / c.G.CIn,
		KernelH: s.kernel.H, KernelW: s.kernel.W, DilationH: s.apart.H, DilationW: s.apart.W, InZero: call.T(-p.InOff),
		Zero: call.T(p.OutOff), ActMin: call.T(p.ActMin), ActMax: call.T(p.ActMax), Rows: s.rows, Span: s.span,
		PhasesH: s.phases.H, PhasesW: s.phases.W, Pitch: s.pitch, Width: s.width, Plane: s.plane, Vectors: s.vectors,
		OutPitch: to.Pitch, OutRow: to.Row, OutImage: to.Image}, &c.Window)
	inner := "nncc_helium_depthwise_window_s8"
	if s.vectors <= unrolledWindows && !n.Generic {
		inner = fmt.Sprint("nncc_helium_depthwise_window_k", s.vectors)
		if s.fixed() {
			inner += fmt.Sprint("_step", s.step)
		}
		inner += steps(false, c.l.relu()) + "_s8"
	}
	l.Scratch, l.Route = max(l.Scratch, s.scratch(c)), inner
	return call.Call{Func: "nncc_helium_depthwise_s8", Args: []call.Arg{params, i8In(0),
		packed(c.l.windowRecords(&c.Window, s)), i8Scratch(0), call.Out{I: 0, Off: to.Offset, CType: "int8_t"},
		call.Func(inner)}}
}

// Where the divisions of averages by multiplication end to be exact
// (nncc_helium.h).
const (
	largestWindow      = 4079
	largestShortWindow = 185
)

func pool(fn, was, doc string, last kernel.Rules, ops ...*ir.OpDef) *kernel.Kernel {
	return &kernel.Kernel{
		Name: fn, Library: Library, Doc: doc, Ops: ops, Layout: kernel.SpatialLayout,
		Lower: func(n *kernel.Node) *call.Lowered {
			g := kernel.Pool.Must(n)
			lo, hi, _ := op.PoolQuantClamp(n.Node)
			w := param.PoolWindow(g)
			x, xr := inRows(g.C)
			y, yr := outRows(g.C)
			k := param.Walk{Images: g.N, From: g.C, To: g.C, Rows: 1, Pixels: 1, Reads: param.Mixed, Last: g.C}
			if w.Kernel.H <= 2 && w.Kernel.W <= 2 && g.C > lanes { // not in assembly: blocks of channels of a row
				k.Pixels = 0
			}
			return own(&call.Lowered{Rows: []call.Rows{xr, yr}, Overlap: k.Overlap(&w)},
				call.Call{Func: fn, Args: []call.Arg{param.Struct(&param.HeliumPool{Batch: g.N, Channels: g.C,
					ActMin: call.T(lo), ActMax: call.T(hi), InPitch: x, OutPitch: y}, &w), i8In(0), i8Out(0)}})
		},
		Was: was, Rules: kernel.All(cond.Helium, quantised.PoolRules(), last),
	}
}

// windowLimit is a rule about the elements of a window that is cut to the input.
func windowLimit(most int) kernel.Rules {
	return kernel.Rules{kernel.Pool.Rule("WINDOW-ELEMENTS", fmt.Sprintf("at most %d elements in a window", most),
		func(_ *kernel.Node, g *op.PoolGeom) string {
			count := 1
			for d, k := range g.Kernel {
				count *= min(k, g.In[d])
			}
			return cond.If(count > most, "a window has %d elements, want at most %d", count, most)
		})}
}

var (
	avgPoolShort = pool("nncc_helium_avg_pool_short_s8", "HELIUM-AVGS", "int8 average pooling of small windows",
		windowLimit(largestShortWindow), op.AveragePool, op.GlobalAveragePool)
	avgPool = pool("nncc_helium_avg_pool_s8", "HELIUM-AVG", "int8 average pooling",
		windowLimit(largestWindow), op.AveragePool, op.GlobalAveragePool)
	maxPool = pool("nncc_helium_max_pool_s8", "HELIUM-MAXP", "int8 max pooling", nil, op.MaxPool, op.GlobalMaxPool)
)
