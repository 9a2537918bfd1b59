// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
)

// windowFields are the fields in which all window operators agree.
func windowFields(batch int, w param.Window) []call.Field {
	return ints("batch", batch, "in_h", w.In.H, "in_w", w.In.W, "kernel_h", w.Kernel.H, "kernel_w", w.Kernel.W,
		"stride_h", w.Stride.H, "stride_w", w.Stride.W, "dilation_h", w.Dilation.H, "dilation_w", w.Dilation.W,
		"pad_top", w.Pad.H, "pad_left", w.Pad.W, "out_h", w.Out.H, "out_w", w.Out.W)
}

func actFields(n *ir.Node) []call.Field {
	lo, hi := op.ActBounds(n)
	return []call.Field{call.F("act_min", f32(float32(lo))), call.F("act_max", f32(float32(hi)))}
}

// convFields are geometry without channels.
func convFields(g *op.ConvGeom) []call.Field { return windowFields(g.N, param.ConvWindow(g)) }

// convWeights is the weight operand in the kernels' order. ONNX has [O, I/g,
// taps] for Conv, and [I, O/g, taps] for ConvTranspose, where the groups are
// the outermost part of I; kernels read [O, taps, I/g], or [taps, O] when
// depthwise.
func (l *lowering) convWeights(g *op.ConvGeom, depthwise bool) call.Arg {
	taps := g.Taps()
	switch {
	case depthwise:
		return l.arranged(1, []int{g.COut, taps}, []int{1, 0})
	case g.Transposed:
		return l.arranged(1, []int{g.Group, g.CIn / g.Group, g.COut / g.Group, taps}, []int{0, 2, 3, 1})
	}
	return l.arranged(1, []int{g.COut, g.CIn / g.Group, taps}, []int{0, 2, 1})
}

// channelwise: one group an input channel, which the depthwise kernels want.
func channelwise(g *op.ConvGeom) bool {
	return !g.Transposed && g.Group == g.CIn && g.COut%g.CIn == 0
}

var depthwiseOnly = cond.New("DEPTHWISE", "one group an input channel", func(n *kernel.Node) string {
	g, err := op.ConvGeometry(n.Node)
	if err != nil {
		return err.Error()
	}
	return cond.If(!channelwise(g), "%d groups of %d input channels, want one input channel a group", g.Group,
		g.CIn/g.Group)
})

func convRow(fn, was, doc string, o *ir.OpDef, conds kernel.Rules,
	params func(l *lowering, g *op.ConvGeom) *call.Struct) *kernel.Kernel {
	return row(fn, was, doc, kernel.SpatialLayout, kernel.All(cond.Float32(), cond.NotEmpty, cond.UpTo2D, conds),
		func(l *lowering, n *kernel.Node) {
			g := kernel.Conv.Must(n)
			depthwise, at := fn == "nncc_depthwise_conv2d_f32", 1
			if !depthwise && g.COut/g.Group%4 == 0 {
				at = 4
			}
			w := l.convWeights(g, depthwise)
			if !g.Transposed {
				l.channels(g, at)
			}
			l.call(fn, params(l, g), l.in(0), w, l.in(2), l.out(0))
		}, o)
}

func convKernels() []*kernel.Kernel {
	full := func(typ string) func(l *lowering, g *op.ConvGeom) *call.Struct {
		return func(l *lowering, g *op.ConvGeom) *call.Struct {
			f := append(convFields(g), ints("in_c", g.CIn, "out_c", g.COut, "groups", g.Group)...)
			return params(typ, append(f, actFields(l.n)...)...)
		}
	}
	return []*kernel.Kernel{
		convRow("nncc_depthwise_conv2d_f32", "NNCC-DWCONV-F32", "depthwise convolution, 1-D and 2-D", op.Conv,
			kernel.Rules{depthwiseOnly}, func(l *lowering, g *op.ConvGeom) *call.Struct {
				f := append(convFields(g), ints("in_c", g.CIn, "mult", g.COut/g.CIn)...)
				return params("nncc_depthwise_conv2d_params", append(f, actFields(l.n)...)...)
			}),
		convRow("nncc_conv2d_f32", "NNCC-CONV-F32", "convolution, 1-D and 2-D, with groups and dilation", op.Conv, nil,
			full("nncc_conv2d_params")),
		convRow("nncc_conv_transpose2d_f32", "NNCC-CONVTRANSPOSE-F32",
			"transposed convolution, 1-D and 2-D, with groups and dilation",
			op.ConvTranspose, nil, full("nncc_conv_transpose2d_params")),
	}
}

// pixels: the layer of these windows goes pixel by pixel from so many channels to so many, of which the last ones are
// written when the whole window has been read.
func (l *lowering) pixels(w param.Window, images, from, to, last int) {
	size := l.n.In[0].Type.DType.Size()
	k := param.Walk{Images: images, From: from * size, To: to * size, Rows: 1, Pixels: 1, Reads: param.Mixed,
		Last: last * size}
	l.low.Overlap = k.Overlap(&w)
}

// channels is pixels for a convolution that goes group by group, and writes so many channels of one at a time.
func (l *lowering) channels(g *op.ConvGeom, at int) {
	from, to := g.CIn/g.Group, g.COut/g.Group
	l.pixels(param.ConvWindow(g), g.N, g.CIn, g.COut, g.COut-(to-at)-max(0, (g.Group-1)*(to-from)))
}

// pool is pixels for a pooling.
func (l *lowering) pool(g *op.PoolGeom, last int) {
	if len(g.In) <= 2 {
		l.pixels(param.PoolWindow(g), g.N, g.C, g.C, last)
	}
}

// poolFields are the fields of nncc_pool2d_params.
func poolFields(g *op.PoolGeom) []call.Field {
	end := param.Spatial(g.PadEnd, 0)
	count := 0
	if g.CountPad {
		count = 1
	}
	return append(windowFields(g.N, param.PoolWindow(g)),
		ints("in_c", g.C, "pad_bottom", end.H, "pad_right", end.W, "count_include_pad", count)...)
}

// poolRow is a pool in float; once: 1 where it writes a channel when it has read all of it, 0 where it adds to results.
func poolRow(fn, was, doc string, once int, build func(l *lowering, g *op.PoolGeom) *call.Struct,
	conds kernel.Rules, ops ...*ir.OpDef) *kernel.Kernel {
	return row(fn, was, doc, kernel.SpatialLayout, kernel.All(cond.Float32(), cond.NotEmpty, cond.FirstOutput, conds),
		func(l *lowering, n *kernel.Node) {
			g := kernel.Pool.Must(n)
			l.call(fn, build(l, g), l.in(0), l.out(0))
			l.pool(g, once*g.C)
			if hasAct(n.Node) {
				l.clampF32()
			}
		}, ops...)
}

func poolKernels() []*kernel.Kernel {
	window := func(_ *lowering, g *op.PoolGeom) *call.Struct {
		return params("nncc_pool2d_params", poolFields(g)...)
	}
	norm := func(l *lowering, g *op.PoolGeom) *call.Struct {
		return params("nncc_lp_pool2d_params", call.F("pool", call.Nested{Fields: poolFields(g)}),
			call.FI("power", ir.AttrsOf[op.PAttr](l.n).P))
	}
	// Global pooling reduces all of space at once, in any number of dimensions.
	global := func(_ *lowering, g *op.PoolGeom) *call.Struct { return axisParams(g.N, tensor.Count(g.In), g.C) }
	globalNorm := func(l *lowering, g *op.PoolGeom) *call.Struct {
		return norm(l, flatSpace(g))
	}
	flat := kernel.Rules{cond.UpTo2D}
	return []*kernel.Kernel{
		poolRow("nncc_max_pool2d_f32", "NNCC-MAXPOOL-F32", "maximum pooling, 1-D and 2-D", 0, window, flat, op.MaxPool),
		poolRow("nncc_avg_pool2d_f32", "NNCC-AVGPOOL-F32", "average pooling, 1-D and 2-D", 0, window, flat,
			op.AveragePool),
		poolRow("nncc_lp_pool2d_f32", "NNCC-LPPOOL-F32", "p-norm pooling, 1-D and 2-D", 1, norm, flat, op.LpPool),
		poolRow("nncc_reduce_mean_f32", "NNCC-GLOBALAVGPOOL-F32", "mean over space", 0, global, nil,
			op.GlobalAveragePool),
		poolRow("nncc_reduce_max_f32", "NNCC-GLOBALMAXPOOL-F32", "maximum over space", 1, global, nil,
			op.GlobalMaxPool),
		poolRow("nncc_lp_pool2d_f32", "NNCC-GLOBALLPPOOL-F32", "p-norm over space", 1, globalNorm, nil,
			op.GlobalLpPool),
	}
}
