// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// softmax writes Softmax, LogSoftmax and Hardmax.
func softmax(f *fn) {
	n := f.n
	size, step := f.alongAxis(ir.AttrsOf[op.AxisAttr](n).Axis)
	x, y := f.in(0), f.out(0)
	f.line("const int32_t at = o * %d + s;", size*step)
	f.line("double top = %s;", load(x, "at"))
	el := fmt.Sprintf("at + i * %d", step)
	each := func() { f.loop("i", size) }
	if n.Op == op.Hardmax {
		f.line("int32_t best = 0;")
		each()
		f.open("if (%s > top)", load(x, el))
		f.line("best = i;")
		f.line("top = %s;", load(x, el))
		f.close()
		f.close()
		each()
		f.store(y, el, "i == best ? 1.0 : 0.0")
		return
	}
	f.line("double sum = 0.0;")
	each()
	f.line("top = nncc_max_f64(top, %s);", load(x, el))
	f.close()
	each()
	f.line("sum += exp(%s - top);", load(x, el))
	f.close()
	if n.Op == op.LogSoftmax {
		f.line("sum = top + log(sum);")
	}
	each()
	if n.Op == op.LogSoftmax {
		f.store(y, el, load(x, el)+" - sum")
	} else {
		f.store(y, el, fmt.Sprintf("exp(%s - top) / sum", load(x, el)))
	}
}

// rowNorm writes LayerNormalization, with its statistics where they are asked
// for, and RMSNormalization.
func rowNorm(f *fn) {
	n := f.n
	shape := n.In[0].Type.Shape
	axis := kernel.Known(op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis, len(shape)))
	size := tensor.Count(shape[axis:])
	x, scale, y := f.in(0), f.in(1), f.out(0)
	f.loop("r", tensor.Count(shape[:axis]))
	f.line("double mean = 0.0, sq = 0.0;")
	el := fmt.Sprintf("r * %d + i", size)
	if n.Op == op.LayerNormalization {
		f.each("i", size, "mean += %s;", load(x, el))
		f.line("mean /= %d.0;", size)
	}
	f.loop("i", size)
	f.line("const double d = %s - mean;", load(x, el))
	f.line("sq += d * d;")
	f.close()
	f.line("const double inv = 1.0 / sqrt(sq / %d.0 + %s);", size, num(float64(ir.AttrsOf[op.EpsilonAttr](n).Epsilon)))
	for i, v := range []string{1: "mean", 2: "inv"} {
		if i > 0 && f.wants(i) {
			f.store(f.out(i), "r", v)
		}
	}
	v := f.nest("k", shape[axis:])
	here := at(v, tensor.Strides(shape[axis:]))
	weight := func(i int) string {
		return at(v, broadcastStrides(n.In[i].Type.Shape, shape[axis:]))
	}
	expr := fmt.Sprintf("(%s - mean) * inv * %s", load(x, fmt.Sprintf("r * %d + %s", size, here)),
		load(scale, weight(1)))
	if f.has(2) {
		expr += " + " + load(f.in(2), weight(2))
	}
	f.store(y, fmt.Sprintf("r * %d + %s", size, here), expr)
}

// channelNorm writes InstanceNormalization and GroupNormalization.
func channelNorm(f *fn) {
	n := f.n
	shape := n.In[0].Type.Shape
	c, inner := shape[1], tensor.Count(shape[2:])
	per := 1
	if n.Op == op.GroupNormalization {
		per = c / ir.AttrsOf[op.GroupNormalizationAttrs](n).NumGroups
	}
	x, scale, bias, y := f.in(0), f.in(1), f.in(2), f.out(0)
	f.loop("b", shape[0])
	f.loop("g", c/per)
	f.line("double mean = 0.0, sq = 0.0;")
	f.line("const int32_t at = (b * %d + g) * %d;", c/per, per*inner)
	f.each("i", per*inner, "mean += %s;", load(x, "at + i"))
	f.line("mean /= %d.0;", per*inner)
	f.loop("i", per*inner)
	f.line("const double d = %s - mean;", load(x, "at + i"))
	f.line("sq += d * d;")
	f.close()
	f.line("const double inv = 1.0 / sqrt(sq / %d.0 + %s);", per*inner,
		num(float64(ir.AttrsOf[op.EpsilonAttr](n).Epsilon)))
	f.loop("i", per*inner)
	f.line("const int32_t k = g * %d + i / %d;", per, inner)
	f.store(y, "at + i", fmt.Sprintf("(%s - mean) * inv * %s + %s", load(x, "at + i"), load(scale, "k"),
		load(bias, "k")))
}

// batchNorm writes BatchNormalization with statistics known or computed.
func batchNorm(f *fn) {
	n := f.n
	shape := n.In[0].Type.Shape
	c, inner, batch := 1, 1, tensor.Count(shape)
	if len(shape) > 1 {
		c, inner, batch = shape[1], tensor.Count(shape[2:]), shape[0]
	}
	x, scale, bias, mean, variance, y := f.in(0), f.in(1), f.in(2), f.in(3), f.in(4), f.out(0)
	f.loop("b", batch)
	f.loop("c", c)
	f.line("const double m = %s / sqrt(%s + %s);", load(scale, "c"), load(variance, "c"),
		num(float64(ir.AttrsOf[op.EpsilonAttr](n).Epsilon)))
	f.loop("i", inner)
	f.line("const int32_t at = (b * %d + c) * %d + i;", c, inner)
	f.store(y, "at", fmt.Sprintf("(%s - %s) * m + %s", load(x, "at"), load(mean, "c"), load(bias, "c")))
}

// localNorm writes LRN.
func localNorm(f *fn) {
	n := f.n
	shape := n.In[0].Type.Shape
	c, inner, size := shape[1], tensor.Count(shape[2:]), ir.AttrsOf[op.LRNAttrs](n).Size
	x, y := f.in(0), f.out(0)
	f.loop("b", shape[0])
	f.loop("c", c)
	f.loop("i", inner)
	f.line("const int32_t lo = c > %d ? c - %d : 0;", (size-1)/2, (size-1)/2)
	f.line("const int32_t hi = c + %d < %d ? c + %d : %d;", size/2, c-1, size/2, c-1)
	f.line("double sum = 0.0;")
	f.open("for (int32_t k = lo; k <= hi; k++)")
	f.line("const double v = %s;", load(x, fmt.Sprintf("(b * %d + k) * %d + i", c, inner)))
	f.line("sum += v * v;")
	f.close()
	here := fmt.Sprintf("(b * %d + c) * %d + i", c, inner)
	f.store(y, here, fmt.Sprintf("%s / pow(%s + %s * sum, %s)", load(x, here),
		num(float64(ir.AttrsOf[op.BiasAttr](n).Bias)), num(float64(ir.AttrsOf[op.AlphaAttr](n).Alpha)/float64(size)),
		num(float64(ir.AttrsOf[op.BetaAttr](n).Beta))))
}

// lpNorm writes LpNormalization; a norm of zero leaves zeros.
func lpNorm(f *fn) {
	n := f.n
	size, step := f.alongAxis(ir.AttrsOf[op.AxisAttr](n).Axis)
	x, y := f.in(0), f.out(0)
	f.line("const int32_t at = o * %d + s;", size*step)
	f.line("double norm = 0.0;")
	el := fmt.Sprintf("at + i * %d", step)
	f.loop("i", size)
	f.line("const double v = %s;", load(x, el))
	if ir.AttrsOf[op.PAttr](n).P == 1 {
		f.line("norm += fabs(v);")
		f.close()
	} else {
		f.line("norm += v * v;")
		f.close()
		f.line("norm = sqrt(norm);")
	}
	f.loop("i", size)
	f.store(y, el, fmt.Sprintf("fpclassify(norm) == FP_ZERO ? 0.0 : %s / norm", load(x, el)))
}

// meanVariance writes MeanVarianceNormalization.
func meanVariance(f *fn) {
	n := f.n
	axes := []int{0, 2, 3}
	if ir.AttrsOf[op.AxesAttr](n).Axes != nil {
		axes = ir.AttrsOf[op.AxesAttr](n).Axes
	}
	shape, count := n.In[0].Type.Shape, 1
	axes = lists.Map(axes, func(a int) int { return kernel.Known(op.Axis(n, a, len(shape))) })
	slices.Sort(axes)
	axes = slices.Compact(axes)
	for _, a := range axes {
		count *= shape[a]
	}
	x, y := f.in(0), f.out(0)
	_, inner := f.axesNest(shape, axes)
	depth := f.depth
	f.line("double mean = 0.0, sq = 0.0;")
	el := inner()
	f.line("mean += %s;", load(x, el))
	f.closeTo(depth)
	f.line("mean /= %d.0;", max(count, 1))
	inner()
	f.line("sq += (%s - mean) * (%s - mean);", load(x, el), load(x, el))
	f.closeTo(depth)
	f.line("sq = sqrt(sq / %d.0) + 1e-9;", max(count, 1))
	inner()
	f.store(y, el, fmt.Sprintf("(%s - mean) / sq", load(x, el)))
}

func normRows() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("softmax", "softmax, its logarithm, and the first maximum, any float type", softmax, nil, op.Softmax,
			op.LogSoftmax, op.Hardmax),
		row("row_norm", "layer and root mean square normalisation, any float type, with statistics", rowNorm, nil,
			op.LayerNormalization, op.RMSNormalization),
		row("channel_norm", "instance and group normalisation, any float type", channelNorm, nil,
			op.InstanceNormalization, op.GroupNormalization),
		row("batch_norm", "batch normalisation, statistics computed at run time, too", batchNorm, nil,
			op.BatchNormalization),
		row("lp_norm", "L1 or L2 normalisation along an axis, any float type", lpNorm, nil, op.LpNormalization),
		row("mean_variance", "zero mean and unit variance over axes, any float type", meanVariance, nil,
			op.MeanVarianceNormalization),
		row("lrn", "local response normalisation, any float type", localNorm, nil, op.LRN),
	}
}
