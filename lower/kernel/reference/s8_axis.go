// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/pack"
)

// scaleFields are the scales of input 0 and output 0.
func scaleFields(n *ir.Node) []call.Field {
	return []call.Field{call.F("in_scale", f64(float64(n.In[0].Type.Quant.Scale[0]))),
		call.F("out_scale", f64(float64(n.Out[0].Type.Quant.Scale[0])))}
}

func zeroIn(n *ir.Node) int  { return int(n.In[0].Type.Quant.Zero[0]) }
func zeroOut(n *ir.Node) int { return int(n.Out[0].Type.Quant.Zero[0]) }

// clampFields are the integer clamp of the output.
func clampFields(n *ir.Node) []call.Field {
	lo, hi := op.ActRange(n, n.Out[0].Type)
	return ints("act_min", call.T(lo), "act_max", call.T(hi))
}

// meanFields are the form of a sum of `terms` int8 values less center, divided
// by `divisor`, in one multiplication; none where there is none. words: a form of words is wanted.
func meanFields(n *ir.Node, terms, divisor, center, zero int, rescale, words bool) []call.Field {
	if terms > 1<<22 || n.Out[0].Type.DType != tensor.I8 {
		return nil
	}
	lo, hi := op.ActRange(n, n.Out[0].Type)
	in, out := float64(n.In[0].Type.Quant.Scale[0]), float64(n.Out[0].Type.Quant.Scale[0])
	slope := 1 / float64(divisor)
	if rescale {
		slope *= in / out
	}
	f := func(acc int32) int8 {
		return qref.MeanResult(acc, rescale, in, int32(divisor), out, int32(zero), lo, hi)
	}
	m, ok := pack.Means(f, int32(terms*(-128-center)), int32(terms*(127-center)), int8(lo), int8(hi), slope, words)
	if !ok {
		return nil
	}
	bias := call.F("bias", call.Trained(fmt.Sprintf("%dLL", m.Bias)))
	fields := append(ints("mult", call.T(m.Mult), "shift", call.T(m.Shift)), bias)
	if m.Up > 0 {
		fields = append(fields, ints("up", call.T(m.Up))...)
	}
	return fields
}

// doubtFields are those of a sum of int16 values.
func doubtFields(n *ir.Node, terms, divisor, center, zero int) []call.Field {
	size := int64(terms) * (1<<15 + int64(max(center, -center)))
	in, out := float64(n.In[0].Type.Quant.Scale[0]), float64(n.Out[0].Type.Quant.Scale[0])
	m, doubt := pack.Doubtful(in/out/float64(divisor), size, int64(zero))
	if doubt == 0 {
		return nil
	}
	return append(ints("mult", call.T(m.Mult), "shift", call.T(m.Shift), "doubt", call.T(doubt)),
		call.F("bias", call.Trained(fmt.Sprintf("%dLL", m.Bias))))
}

// requantiseInPlace converts output 0 from the quantisation of x to its own, by
// the contract's rule and with the node's clamp.
func (l *lowering) requantiseInPlace(x *ir.Quant) {
	y := l.n.Out[0].Type
	lo, hi := op.ActRange(l.n, y)
	all := lists.Make(256, func(i int) int8 { return int8(uint8(i)) })
	t := ir.QuantiseAway(ir.Dequantise(tensor.Of([]int{256}, all), x), y.WithShape([]int{256}))
	for i := range 256 {
		t.SetInt(i, min(max(t.Int(i), int64(lo)), int64(hi)))
	}
	b := call.Lookup(t.Bytes())
	l.call("nncc_lut_s8", params("nncc_count_params", call.FI("count", y.Elems())), bytesOf(l.out(0)), b,
		bytesOf(l.out(0)))
}

// reduceSumS8Row is ReduceSum and ReduceMean: exact integer sums, then the
// contract's formula in double.
var reduceSumS8Row = row("nncc_reduce_sum_s8", "NNCC-REDUCESUM-S8", "int8 sum and mean over axes", reduceLayout,
	kernel.Rules{int8Ends, cond.NotEmpty, cond.Rank, cond.Constant(1)}, lowerReduceSum, op.ReduceSum, op.ReduceMean)

// lowerReduceSum makes the call of a row's function for sums and means.
func lowerReduceSum(l *lowering, n *kernel.Node) {
	axes := kernel.Known(op.ReduceAxes(n.Node))
	r := l.reduced(axes)
	divisor := 1
	if n.Op == op.ReduceMean {
		divisor = r.axis
	}
	f := append(scaleFields(n.Node), ints("outer", r.outer, "axis", r.axis, "inner", r.inner, "divisor", divisor,
		"in_zero", call.T(zeroIn(n.Node)), "out_zero", call.T(zeroOut(n.Node)), "rescale", 1)...)
	f = append(f, clampFields(n.Node)...)
	if n.Out[0].Type.DType == tensor.I16 {
		f = append(f, doubtFields(n.Node, r.axis, divisor, zeroIn(n.Node), zeroOut(n.Node))...)
	} else {
		f = append(f, meanFields(n.Node, r.axis, divisor, zeroIn(n.Node), zeroOut(n.Node), true,
			r.inner == 1 || r.axis <= 255)...)
	}
	l.call(l.low.Kernel, params("nncc_reduce_s8_params", f...), r.x, l.out(0))
}

// reduceOrderRow is the row of a greatest or smallest element; int16 has one quantisation.
func reduceOrderRow(fn, was, doc string, d *ir.OpDef, ends ...kernel.Rule) *kernel.Kernel {
	rules := append(kernel.Rules(ends), cond.NotEmpty, cond.Rank, cond.Constant(1))
	return row(fn, was, doc+d.Doc, reduceLayout, rules, func(l *lowering, n *kernel.Node) {
		r := l.reduced(kernel.Known(op.ReduceAxes(n.Node)))
		l.call(fn, params("nncc_axis_s8_params", ints("outer", r.outer, "axis", r.axis, "inner", r.inner)...), r.x,
			l.out(0))
		if q := n.In[0].Type.Quant; !q.Equal(n.Out[0].Type.Quant) {
			l.requantiseInPlace(q)
		}
	}, d)
}

// signedBytes: input 0 is int8, quantised with one scale or not at all.
var signedBytes = cond.New("INT8-INPUT", "the input is int8", func(n *kernel.Node) string {
	if t := n.In[0].Type; t.DType != tensor.I8 || t.Quant.PerAxis() {
		return fmt.Sprintf("the input is %s, want int8 with one scale", cond.Short(t))
	}
	return ""
})

// softmaxS8Row is CMSIS-NN's arithmetic along any axis.
var softmaxS8Row = row("nncc_softmax_s8", "NNCC-SOFTMAX-S8", "int8 softmax along any axis, into any scale", same,
	kernel.Rules{int8Ends, cond.NotEmpty, hasRank,
		cond.New("FIXED-POINT", "the scales have a fixed-point form", func(n *kernel.Node) string {
			if _, _, _, ok := op.SoftmaxRescaled(n.Node); !ok {
				return fmt.Sprintf("the input is %s, the output %s: a scale is too small", cond.Full(n.In[0].Type),
					cond.Full(n.Out[0].Type))
			}
			return ""
		})}, func(l *lowering, n *kernel.Node) {
		outer, axis, inner := axisOf(n)
		mult, shift, diff, _ := op.SoftmaxRescaled(n.Node)
		p := params("nncc_softmax_s8_params", ints("outer", outer, "axis", axis, "inner", inner, "mult", call.T(mult),
			"shift", call.T(shift), "diff_min", call.T(diff))...)
		l.call("nncc_softmax_s8", p, l.in(0), l.out(0))
		l.runs(inner == 1)
		if _, _, _, ok := op.SoftmaxKernel(n.Node); !ok {
			l.requantiseInPlace(ir.PerTensor(op.SoftmaxScale, op.SoftmaxZero))
		}
	}, op.Softmax)

// resizeS8 is a Resize in integers: its parameters and the tables of both axes.
type resizeS8 struct {
	params *qref.ResizeParams
	h, w   *qref.ResizeAxis
}

var resizes8 = kernel.NewFact(func(n *kernel.Node) (resizeS8, string) {
	p, h, w, why := op.ResizeS8(n.Node)
	return resizeS8{p, h, w}, why
})

// resizeS8Row is interpolation with integer weights, rounded once.
var resizeS8Row = row("nncc_resize_s8", "NNCC-RESIZE-S8", "int8 linear and cubic resize of 1-D and 2-D maps",
	kernel.SpatialLayout, kernel.Rules{int8Ends, cond.NotEmpty, spatialResize,
		cond.New("INTEGER-WEIGHTS", "weights have an integer form", resizes8.Why)}, func(l *lowering, n *kernel.Node) {
		r := resizes8.Must(n)
		l.low.Unused = unusedTail(n.Node)
		l.resize(n, r.params, r.h, r.w)
	}, op.Resize)

// resize is the call with the tables of both axes.
func (l *lowering) resize(n *kernel.Node, p *qref.ResizeParams, h, w *qref.ResizeAxis) {
	if r, ok := qref.BuildResizeTaps(p, h, w); ok && n.Has("nncc_resize_taps_s8") {
		l.low.Kernel = "nncc_resize_taps_s8"
		f := ints("batch", int(p.Batch), "in_h", int(p.InH), "in_w", int(p.InW), "channels", int(p.Channels), "out_h",
			int(p.OutH), "out_w", int(p.OutW), "taps_h", int(r.Rows.Taps), "taps_w", int(r.Cols.Taps), "in_zero",
			call.T(p.InZero), "mult", call.T(r.Mult), "add", call.T(r.Add), "shift", call.T(r.Shift), "outside",
			call.T(p.Outside))
		l.call(l.low.Kernel, params("nncc_resize_taps_s8_params", f...), l.in(0), array("index", r.Rows.Index),
			array("weights", r.Rows.Weight), array("index", r.Cols.Index), array("weights", r.Cols.Weight),
			array("least", r.Least), l.scratch(tensor.I32, int(p.InW*p.Channels)), l.out(0))
		return
	}
	f := append([]call.Field{call.F("in_scale", f64(p.InScale)), call.F("out_scale", f64(p.OutScale))},
		ints("batch", int(p.Batch), "in_h", int(p.InH), "in_w", int(p.InW), "channels", int(p.Channels), "out_h",
			int(p.OutH), "out_w", int(p.OutW), "taps_h", int(p.TapsH), "taps_w", int(p.TapsW), "den", int(p.Den),
			"in_zero", call.T(p.InZero), "out_zero", call.T(p.OutZero), "rescale", call.T(p.Rescale), "outside",
			call.T(p.Outside))...)
	l.call("nncc_resize_s8", params("nncc_resize_s8_params", f...), l.in(0), array("index", h.Index),
		array("weights", h.Weight),
		array("index", w.Index), array("weights", w.Weight), l.out(0))
}

// resizeLinear is a Resize with the constants of the bilinear kernels.
type resizeLinear struct {
	resizeS8
	*qref.ResizeLinear
}

var resizesLinear = kernel.NewFact(func(n *kernel.Node) (resizeLinear, string) {
	s, why := resizes8.Of(n)
	if why != "" {
		return resizeLinear{}, kernel.Unread
	}
	if !n.Has("nncc_resize_linear_s8") {
		return resizeLinear{}, "the accelerator has only the resize of any number of weights"
	}
	l, ok := qref.BuildResizeLinear(s.params, s.h, s.w)
	if !ok {
		return resizeLinear{}, "an axis has more than two weights an output, or one multiplication does not round as " +
			"the definition does"
	}
	return resizeLinear{s, l}, ""
})

// resizeLinearS8Row is interpolation between two rows and two columns.
var resizeLinearS8Row = row("nncc_resize_linear_s8", "NNCC-RESIZE-LINEAR-S8",
	"int8 bilinear resize of 1-D and 2-D maps", kernel.SpatialLayout,
	kernel.Rules{int8Ends, cond.NotEmpty, spatialResize,
		cond.New("INTEGER-WEIGHTS", "weights have an integer form", resizes8.Why),
		cond.New("ONE-MULTIPLICATION", "two weights an axis, exact in one multiplication", resizesLinear.Why)},
	func(l *lowering, n *kernel.Node) {
		r := resizesLinear.Must(n)
		p, fn, cols := r.params, "nncc_resize_linear", r.Cols
		scratch := int(p.Channels+p.Channels%4) * int(p.InW) * 2 // a word for each channel behind the last four
		elements, den, few := r.Elements(p)
		if few {
			fn, cols, scratch = fn+"_few", elements, int(p.Channels*p.InW)*2
		}
		if r.Wide {
			fn, scratch = fn+"_wide", int(p.Channels*p.InW)*4
		}
		fn += "_s8"
		l.low.Kernel = fn
		l.low.Unused = unusedTail(n.Node)
		f := ints("batch", int(p.Batch), "in_h", int(p.InH), "in_w", int(p.InW), "channels", int(p.Channels), "out_h",
			int(p.OutH), "out_w", int(p.OutW), "scale", call.T(r.Scale), "den", call.T(den), "bias", call.T(r.Bias),
			"mult", call.T(r.Mult), "add", call.T(r.Add), "shift", call.T(r.Shift), "out_zero", call.T(p.OutZero),
			"outside", call.T(p.Outside))
		l.call(fn, params("nncc_resize_linear_s8_params", f...), l.in(0), array("weights", r.Rows),
			array("weights", cols),
			bytesOf(l.scratch(tensor.I32, (scratch+3)/4)), l.out(0))
	}, op.Resize)

// normRule is the rule that a normalisation has its fixed-point form.
func normRule[P any](of func(n *ir.Node) (P, *qref.Norm, bool)) kernel.Rule {
	return cond.New("NORM-PARAMETERS", "constant scale and bias, groups of at most 2^22 elements",
		func(n *kernel.Node) string {
			if _, _, ok := of(n.Node); !ok {
				return "scale or bias is computed at run time or not finite, or more than 2^22 elements are " +
					"normalised together; want constants and smaller groups"
			}
			return ""
		})
}

// normField are the constants of a normalisation.
func normField(p qref.NormFixed) call.Field {
	return call.F("norm", call.Nested{Fields: []call.Field{call.FT("eps", p.Eps), call.FT("eps_shift", p.EpsShift),
		call.FT("up", p.Up), call.FT("root", p.Root), call.FT("shift", p.Shift)}})
}

var layerNormS8Row = row("nncc_layer_norm_s8", "NNCC-LAYERNORM-S8", "int8 layer and root mean square normalisation",
	natural, kernel.Rules{int8Ends, cond.NotEmpty, cond.FirstOutput, normRule(op.LayerNormS8)},
	func(l *lowering, n *kernel.Node) {
		p, m, _ := op.LayerNormS8(n.Node)
		f := append([]call.Field{normField(p.Norm)}, ints("rows", int(p.Rows), "len", int(p.Len), "center",
			int(p.Center), "zero", call.T(p.Zero))...)
		l.call("nncc_layer_norm_s8", params("nncc_layer_norm_s8_params", f...), l.in(0), array("terms", m.Terms()),
			l.out(0))
		l.low.Unused = unusedTail(n.Node)
		l.inPlace(0)
	}, op.LayerNormalization, op.RMSNormalization)

var groupNormS8Row = row("nncc_group_norm_s8", "NNCC-GROUPNORM-S8", "int8 normalisation of groups of channels",
	spatial, kernel.Rules{int8Ends, cond.NotEmpty, normRule(op.GroupNormS8)}, func(l *lowering, n *kernel.Node) {
		p, m, _ := op.GroupNormS8(n.Node)
		f := append([]call.Field{normField(p.Norm)}, ints("batch", int(p.Batch), "spatial", int(p.Spatial), "channels",
			int(p.Channels), "groups", int(p.Groups))...)
		l.call("nncc_group_norm_s8", params("nncc_group_norm_s8_params", f...), l.in(0), array("terms", m.Pairs()),
			l.out(0))
		l.low.Unused = unusedTail(n.Node)
		l.runs(p.Groups == 1)
	}, op.InstanceNormalization, op.GroupNormalization)

// poolFieldsS8 are the fields of nncc_pool2d_s8_params.
func poolFieldsS8(n *ir.Node, g *op.PoolGeom) []call.Field {
	return append(scaleFields(n), poolFields(g)...)
}

// flatSpace is global pooling as pooling of one dimension.
func flatSpace(g *op.PoolGeom) *op.PoolGeom {
	flat := *g
	flat.In, flat.Kernel = []int{tensor.Count(g.In)}, []int{tensor.Count(g.In)}
	flat.Out, flat.Strides, flat.Dilations, flat.PadBegin, flat.PadEnd = []int{1}, []int{1}, []int{1}, []int{0},
		[]int{0}
	return &flat
}

func poolS8Row(fn, was, doc string, lower func(l *lowering, g *op.PoolGeom), global bool, d *ir.OpDef) *kernel.Kernel {
	conds := kernel.Rules{int8Ends, cond.NotEmpty, cond.FirstOutput}
	if !global {
		conds = append(conds, cond.UpTo2D)
	}
	return row(fn, was, doc, kernel.SpatialLayout, kernel.Rules(conds), func(l *lowering, n *kernel.Node) {
		g := kernel.Pool.Must(n)
		if global {
			g = flatSpace(g)
		}
		lower(l, g)
		l.pool(g, g.C)
	}, d)
}

// averageS8: TFLite's average where CMSIS-NN's definition applies, else the
// contract's formula in double.
func averageS8(l *lowering, g *op.PoolGeom) {
	n := l.n
	center, zero, rescale := zeroIn(n), zeroOut(n), 1
	if _, _, why := op.PoolQuantClamp(n); why == "" {
		center, zero, rescale = 0, 0, 0
	}
	f := append(poolFieldsS8(n, g), ints("center", call.T(center), "out_zero", call.T(zero), "rescale",
		call.T(rescale))...)
	window := tensor.Count(g.Kernel)
	mean := meanFields(n, window, window, center, zero, rescale != 0, false)
	f = append(append(f, clampFields(n)...), mean...)
	fn := "nncc_avg_pool2d_s8"
	if mean != nil && unpadded(g) {
		fn = "nncc_avg_pool2d_mult_s8"
	}
	l.low.Kernel = fn
	l.call(fn, params("nncc_pool2d_s8_params", f...), l.in(0), l.out(0))
}

// unpadded: no window reaches beyond the input.
func unpadded(g *op.PoolGeom) bool {
	for d, in := range g.In {
		if g.PadBegin[d] != 0 || (g.Out[d]-1)*g.Strides[d]+(g.Kernel[d]-1)*g.Dilations[d] >= in {
			return false
		}
	}
	return true
}

// maximumS8: maxima of the integers, requantised where the scales differ.
func maximumS8(l *lowering, g *op.PoolGeom) {
	n := l.n
	equal := n.In[0].Type.Quant.Equal(n.Out[0].Type.Quant)
	clamp := ints("act_min", math.MinInt8, "act_max", math.MaxInt8)
	if equal {
		clamp = clampFields(n)
	}
	l.call("nncc_max_pool2d_s8", params("nncc_pool2d_s8_params", append(poolFieldsS8(n, g), clamp...)...), l.in(0),
		l.out(0))
	if !equal {
		l.requantiseInPlace(n.In[0].Type.Quant)
	}
}

func axisS8Kernels() []*kernel.Kernel {
	return []*kernel.Kernel{
		poolS8Row("nncc_avg_pool2d_s8", "NNCC-AVGPOOL-S8",
			"int8 average pooling, any scales, dilation, counted padding", averageS8, false, op.AveragePool),
		poolS8Row("nncc_avg_pool2d_s8", "NNCC-GLOBALAVGPOOL-S8", "int8 mean over space", averageS8, true,
			op.GlobalAveragePool),
		poolS8Row("nncc_max_pool2d_s8", "NNCC-MAXPOOL-S8", "int8 maximum pooling, any scales, dilation", maximumS8,
			false, op.MaxPool),
		poolS8Row("nncc_max_pool2d_s8", "NNCC-GLOBALMAXPOOL-S8", "int8 maximum over space", maximumS8, true,
			op.GlobalMaxPool),
		reduceSumS8Row,
		reduceOrderRow("nncc_reduce_max_s8", "NNCC-REDUCEMAX-S8", "int8 ", op.ReduceMax, int8Ends),
		reduceOrderRow("nncc_reduce_min_s8", "NNCC-REDUCEMIN-S8", "int8 ", op.ReduceMin, int8Ends),
		reduceOrderRow("nncc_reduce_max_s16", "NNCC-REDUCEMAX-S16", "int16 ", op.ReduceMax, cond.Int16(0),
			cond.SameType),
		reduceOrderRow("nncc_reduce_min_s16", "NNCC-REDUCEMIN-S16", "int16 ", op.ReduceMin, cond.Int16(0),
			cond.SameType),
		argRow("nncc_argmax_s8", "nncc_arg_s8_params", "NNCC-ARGMAX-S8", "position of the maximum of int8 values",
			op.ArgMax, signedBytes),
		argRow("nncc_argmin_s8", "nncc_arg_s8_params", "NNCC-ARGMIN-S8", "position of the minimum of int8 values",
			op.ArgMin, signedBytes),
		softmaxS8Row, resizeLinearS8Row, resizeS8Row, layerNormS8Row, groupNormS8Row,
	}
}

// resizeFixedRow is TensorFlow Lite's bilinear resize of plain int8, channels last.
var resizeFixedRow = row("nncc_resize_s8", "NNCC-RESIZE-FIXED", op.ResizeFixed.Doc, natural,
	kernel.Rules{cond.NotEmpty}, func(l *lowering, n *kernel.Node) {
		p, h, w := op.ResizeFixedParams(n.Node)
		l.resize(n, p, h, w)
	}, op.ResizeFixed)
