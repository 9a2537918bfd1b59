// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/option"
)

// The parameters of the packed kernels.
const (
	convPacked      = "nncc_conv2d_packed_params"
	depthwisePacked = "nncc_depthwise_conv2d_packed_params"
)

// narrow and wide are the output channels of a record of packed weights.
const (
	narrow = 4
	wide   = 8
)

// floatUnit: the inner loops are fused multiply-adds, each of which is a call of
// the C library without the instruction.
var floatUnit = cond.Core("a core that multiplies and adds floats in an instruction",
	"the core has no float unit of a Cortex-M", func(c *kernel.Core) bool { return c.FPU && !c.Host })

// ownKernels: --kernels reference asks for what is simplest.
var ownKernels = cond.New("OWN-KERNELS", "own kernels are wanted", func(n *kernel.Node) string {
	return cond.If(n.Kernels == option.ReferenceKernels, "--kernels reference wants scalar kernels")
})

// packedRow is a float32 convolution that computes several channels of several
// pixels at a time, in as many calls as it has phases.
func packedRow(fn, doc string, o *ir.OpDef, conds kernel.Rules,
	lower func(l *lowering, g *op.ConvGeom)) *kernel.Kernel {
	return row(fn, "", doc, kernel.SpatialLayout,
		kernel.All(floatUnit, ownKernels, cond.Float32(), cond.NotEmpty, cond.UpTo2D, cond.Constant(1, 2), conds),
		func(l *lowering, n *kernel.Node) { lower(l, kernel.Conv.Must(n)) }, o)
}

// records packs products of per channels with `inputs` weights each: records of 8
// channels, the last one of 4 where it has no more; in each the biases, then the
// weights of one input after the other. Zeros fill up.
func records(v []float32, per, inputs int, bias func(c int) float32, weight func(c, i int) float32) []float32 {
	v = slices.Grow(v, (per+wide)*(inputs+1))
	for c, size := 0, 0; c < per; c += size {
		if size = wide; per-c <= narrow {
			size = narrow
		}
		v = record(v, c, min(size, per-c), size, inputs, bias, weight)
	}
	return v
}

// record is that of the live channels from c on, as one of size.
func record(v []float32, c, live, size, inputs int, bias func(c int) float32, weight func(c, i int) float32) []float32 {
	each := func(f func(c int) float32) {
		for i := range size {
			x := float32(0)
			if i < live {
				x = f(c + i)
			}
			v = append(v, x)
		}
	}
	each(bias)
	for i := range inputs {
		each(func(c int) float32 { return weight(c, i) })
	}
	return v
}

// packConv is the records of every group, inputs tap by tap and channel by channel.
func packConv(n *ir.Node, g *op.ConvGeom) *call.Blob {
	per, cin, taps := g.COut/g.Group, g.CIn/g.Group, g.Taps()
	bias, w := biasOf(n), n.In[1].Const
	var v []float32
	for k := range g.Group {
		v = records(v, per, taps*cin, func(c int) float32 { return bias(k*per + c) }, func(c, i int) float32 {
			return float32(w.Float(((k*per+c)*cin+i%cin)*taps + i/cin))
		})
	}
	return packedBlob(v)
}

// packDepthwise is the records of all channels, taps from one of each: of 8, the last of which
// overlaps the one before, or of 4, likewise, where there are less.
func packDepthwise(n *ir.Node, channels, taps int, weight func(c, i int) float32) *call.Blob {
	size := wide
	if channels < wide {
		size = narrow
	}
	bias := biasOf(n)
	var v []float32
	for c := 0; c < channels; c += size {
		first := max(min(c, channels-size), 0)
		v = record(v, first, min(size, channels), size, taps, bias, weight)
	}
	return packedBlob(v)
}

// biasOf is the bias of a convolution's channel.
func biasOf(n *ir.Node) func(c int) float32 {
	b := n.ConstIn(2)
	return func(c int) float32 {
		if b == nil {
			return 0
		}
		return float32(b.Float(c % b.Len()))
	}
}

func packedBlob(v []float32) *call.Blob {
	x := array("packed", v)
	x.Align = 16
	return x
}

// oneEach: every channel is a group of its own.
var oneEach = cond.New("ONE-EACH", "one output channel for every input channel", func(n *kernel.Node) string {
	g, err := op.ConvGeometry(n.Node)
	if err != nil {
		return err.Error()
	}
	return cond.If(g.Group != g.CIn || g.COut != g.CIn || g.CIn == 1,
		"%d groups from %d to %d channels, want one channel a group", g.Group, g.CIn, g.COut)
})

// notOneEach: those are packed for another kernel.
var notOneEach = cond.New("NOT-ONE-EACH", "channels that are added up, or several outputs of each",
	func(n *kernel.Node) string {
		return cond.If(oneEach.Check(n) == "", "every channel is a group of its own, which another kernel computes")
	})

// packedParams are the parameters of a packed kernel of a family, of which the channels are some
// fields: results lie pixel by pixel.
func packedParams(n *ir.Node, family string, g *op.ConvGeom, channels []call.Field) *call.Struct {
	f, out := append(convFields(g), channels...), param.Spatial(g.Out, 1)
	f = append(f, ints("out_pitch", g.COut, "out_row", out.W*g.COut, "out_image", out.H*out.W*g.COut)...)
	return params(family, append(f, actFields(n)...)...)
}

// packedKernels come before the scalar rows.
func packedKernels() []*kernel.Kernel {
	return []*kernel.Kernel{
		packedRow("nncc_depthwise_conv2d_packed_f32", "depthwise convolution, 8 channels a time",
			op.Conv, kernel.Rules{oneEach}, func(l *lowering, g *op.ConvGeom) {
				l.low.Unused = unusedTail(l.n)
				w, taps := l.n.In[1].Const, g.Taps()
				l.call(l.low.Kernel, packedParams(l.n, depthwisePacked, g, ints("in_c", g.CIn)), l.in(0),
					packDepthwise(l.n, g.COut, taps, func(c, i int) float32 { return float32(w.Float(c*taps + i)) }),
					l.out(0))
			}),
		packedRow("nncc_conv2d_packed_f32", "convolution, 8 channels of some pixels at a time",
			op.Conv, kernel.Rules{notOneEach}, func(l *lowering, g *op.ConvGeom) {
				l.low.Unused = unusedTail(l.n)
				channels := ints("in_c", g.CIn, "out_c", g.COut, "groups", g.Group)
				l.call(l.low.Kernel, packedParams(l.n, convPacked, g, channels), l.in(0), packConv(l.n, g), l.out(0))
			}),
		packedRow("nncc_depthwise_conv2d_packed_f32",
			"depthwise transposed convolution by phases, 8 channels a time", op.ConvTranspose,
			kernel.Rules{fewPhases, oneEach}, depthwisePhases),
		packedRow("nncc_conv2d_packed_f32",
			"transposed convolution by phases, 8 channels of some pixels at a time", op.ConvTranspose,
			kernel.Rules{fewPhases, notOneEach}, convPhases),
	}
}

// mostPhases is how many calls a transposed convolution may be.
const mostPhases = 64

// fewPhases: each phase is a call with parameters of its own.
var fewPhases = cond.New("PHASES", fmt.Sprintf("strides give at most %d phases", mostPhases),
	func(n *kernel.Node) string {
		g, err := op.ConvGeometry(n.Node)
		if err != nil {
			return err.Error()
		}
		p := tensor.Count(g.Strides)
		return cond.If(p > mostPhases, "strides %v give %d phases, want at most %d", g.Strides, p, mostPhases)
	})

// phases are those of a transposed convolution in one or two dimensions.
func phases(g *op.ConvGeom, together bool) []kernel.Phase {
	w := param.ConvWindow(g)
	return kernel.Phases(kernel.TransposedAxis{Out: w.Out.H, Taps: w.Kernel.H, Stride: w.Stride.H, Pad: w.Pad.H,
		Dilation: w.Dilation.H}, kernel.TransposedAxis{Out: w.Out.W, Taps: w.Kernel.W, Stride: w.Stride.W, Pad: w.Pad.W,
		Dilation: w.Dilation.W}, together)
}

// phaseCall is the convolution that a phase is, with some channels and packed weights.
func (l *lowering) phaseCall(family string, g *op.ConvGeom, p *kernel.Phase, channels []call.Field, packed *call.Blob) {
	w := param.ConvWindow(g)
	out, step := w.Out, w.Stride
	rows, columns := outside(p.Rows[0], w.In.H), outside(p.Columns[0], w.In.W)
	w.Kernel, w.Stride = param.Tile{H: len(rows.Taps), W: len(columns.Taps)}, param.Tile{H: 1, W: 1}
	w.Dilation, w.Pad = param.Tile{H: rows.Step, W: columns.Step}, param.Tile{H: -rows.First, W: -columns.First}
	w.Out = param.Tile{H: rows.Count, W: columns.Count}
	f := append(windowFields(g.N, w), channels...)
	f = append(f, ints("out_pitch", step.W*g.COut, "out_row", step.H*out.W*g.COut, "out_image", out.H*out.W*g.COut)...)
	y := l.outAt(0, l.n.Out[0].Type.DType.Size()*(p.Y*out.W+p.X)*g.COut)
	l.call(l.low.Kernel, params(family, append(f, actFields(l.n)...)...), l.in(0), packed, y)
}

// outside has the window of a line without taps lie behind an input of so many: nothing is added up.
func outside(l kernel.Line, in int) kernel.Line {
	if l.Taps[0] < 0 {
		l.First = in
	}
	return l
}

// tap is the place of a phase's tap i in the kernel: the phase's are row by row.
func tap(rows, columns kernel.Line, kernelWidth, i int) int {
	return rows.Taps[i/len(columns.Taps)]*kernelWidth + columns.Taps[i%len(columns.Taps)]
}

// weightless: no tap of the phase meets an input, its weights are not read.
func weightless(rows, columns kernel.Line) bool { return rows.Taps[0] < 0 || columns.Taps[0] < 0 }

// depthwisePhases lowers a transposed convolution of one output for every input channel.
func depthwisePhases(l *lowering, g *op.ConvGeom) {
	kw := param.Spatial(g.Kernel, 1).W
	weights, all := l.n.In[1].Const, g.Taps()
	for _, p := range phases(g, false) {
		rows, columns := p.Rows[0], p.Columns[0]
		packed := packDepthwise(l.n, g.COut, len(rows.Taps)*len(columns.Taps), func(c, i int) float32 {
			if weightless(rows, columns) {
				return 0
			}
			return float32(weights.Float(c*all + tap(rows, columns, kw, i)))
		})
		l.phaseCall(depthwisePacked, g, &p, ints("in_c", g.CIn), packed)
	}
}

// convPhases lowers any other transposed convolution. Neighbouring columns that meet the same
// inputs are channels behind each other.
func convPhases(l *lowering, g *op.ConvGeom) {
	kw := param.Spatial(g.Kernel, 1).W
	weights, all := l.n.In[1].Const, g.Taps()
	bias := biasOf(l.n)
	cin, per := g.CIn/g.Group, g.COut/g.Group
	for _, p := range phases(g, g.Group == 1) {
		n := len(p.Columns)
		var v []float32
		for k := range g.Group {
			v = records(v, n*per, len(p.Rows[0].Taps)*len(p.Columns[0].Taps)*cin,
				func(c int) float32 { return bias(k*per + c%per) }, func(c, i int) float32 {
					columns := p.Columns[c/per]
					if weightless(p.Rows[0], columns) {
						return 0
					}
					return float32(weights.Float(((k*cin+i%cin)*per+c%per)*all + tap(p.Rows[0], columns, kw, i/cin)))
				})
		}
		channels := ints("in_c", g.CIn, "out_c", n*g.COut, "groups", g.Group)
		l.phaseCall(convPacked, g, &p, channels, packedBlob(v))
	}
}
