// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// rowsAndChannels splits a channels-last value: channels are dimension 1, or
// one where there is none.
func rowsAndChannels(t ir.Type) (rows, channels int) {
	if t.Rank() < 2 {
		return t.Elems(), 1
	}
	return t.Elems() / t.Shape[1], t.Shape[1]
}

// batchNormRow is BatchNormalization in linear form.
var batchNormRow = row("nncc_scale_shift_f32", "NNCC-BATCHNORM-F32",
	"batch normalisation as scale and shift per channel", spatial,
	kernel.Rules{cond.Float32(), cond.NotEmpty, cond.Constant(1, 2, 3, 4)}, func(l *lowering, n *kernel.Node) {
		scale, shift := linearNorm(n.Node)
		rows, channels := rowsAndChannels(n.In[0].Type)
		p := params("nncc_scale_shift_params", append(ints("rows", rows, "channels", channels), noClamp()...)...)
		l.call("nncc_scale_shift_f32", p, l.in(0), array("scale", scale), array("shift", shift), l.out(0))
		l.inPlace(0)
	}, op.BatchNormalization)

func noClamp() []call.Field {
	return []call.Field{call.F("act_min", f32(float32(math.Inf(-1)))), call.F("act_max", f32(float32(math.Inf(1))))}
}

// linearNorm is BatchNormalization as x*scale + shift, computed in float64.
func linearNorm(n *ir.Node) (scale, shift []float32) {
	c := func(i, k int) float64 { return n.In[i].Const.Float(k) }
	for k := range n.In[1].Const.Len() {
		s := c(1, k) / math.Sqrt(c(4, k)+float64(ir.AttrsOf[op.EpsilonAttr](n).Epsilon))
		scale = append(scale, float32(s))
		shift = append(shift, float32(c(2, k)-float64(c(3, k)*s)))
	}
	return scale, shift
}

// rowNorm are rows and their length for normalisations from an axis on.
func rowNorm(n *kernel.Node) (rows, length int) {
	s, axis := n.In[0].Type.Shape, kernel.Axis.Must(n)
	return tensor.Count(s[:axis]), tensor.Count(s[axis:])
}

// rowParam is a normalisation's parameter i as one value an element of a row:
// the constant broadcast to the row, or a run-time tensor of just that shape.
func (l *lowering) rowParam(i, length int) call.Arg {
	v := l.n.Input(i)
	if v == nil || v.Const == nil {
		return l.in(i)
	}
	return blob("const", rowConst(l.n, i, length))
}

// rowConst is constant parameter i broadcast to the last dimensions of input 0.
func rowConst(n *ir.Node, i, length int) *tensor.Dense {
	d := n.In[i].Const
	if d.Len() == length {
		return d
	}
	shape := n.In[0].Type.Shape
	k := len(shape)
	for p := 1; k > 0 && p < length; {
		k--
		p *= shape[k]
	}
	row := shape[k:] // d may have dimensions of one element in front of it
	return broadcastConst(d.Reshaped(d.Shape[max(len(d.Shape)-len(row), 0):]), row)
}

// broadcastConst repeats a constant to a shape.
func broadcastConst(d *tensor.Dense, shape []int) *tensor.Dense {
	from := padLeft(d.Shape, len(shape))
	st := tensor.Strides(from)
	for i, n := range from {
		if n == 1 {
			st[i] = 0
		}
	}
	out := tensor.New(d.DType, shape)
	tensor.Gather(out, d, shape, st, 0)
	return out
}

// fullRow: scale and bias that are not constant cover the whole row.
var fullRow = cond.New("ROW-PARAMETERS", "parameters computed at run time have the shape of a row",
	func(n *kernel.Node) string {
		if why := kernel.Axis.Why(n); why != "" {
			return why
		}
		_, length := rowNorm(n)
		for _, i := range []int{1, 2} {
			if v := n.Input(i); v != nil && v.Const == nil && v.Type.Elems() != length {
				return fmt.Sprintf("input %d has shape %v, want %d elements", i, v.Type.Shape, length)
			}
		}
		return ""
	})

func rowNormRow(fn, was, doc string, d *ir.OpDef, bias bool) *kernel.Kernel {
	return row(fn, was, doc, natural, kernel.Rules{cond.Float32(), cond.NotEmpty, cond.FirstOutput, fullRow},
		func(l *lowering, n *kernel.Node) {
			rows, length := rowNorm(n)
			p := params("nncc_layer_norm_params", append(ints("rows", rows, "len", length),
				call.F("epsilon", f32(ir.AttrsOf[op.EpsilonAttr](n).Epsilon)))...)
			args := []call.Arg{p, l.in(0), l.rowParam(1, length)}
			if bias {
				args = append(args, l.rowParam(2, length))
			}
			l.call(fn, append(args, l.out(0))...)
			l.inPlace(0)
		}, d)
}

// groupNormRow is InstanceNormalization and GroupNormalization.
var groupNormRow = row("nncc_group_norm_f32", "NNCC-GROUPNORM-F32",
	"normalisation of groups of channels of every sample", spatial, kernel.Rules{cond.Float32(), cond.NotEmpty},
	func(l *lowering, n *kernel.Node) {
		s := n.In[0].Type.Shape
		p := params("nncc_group_norm_params", append(ints("batch", s[0], "spatial", tensor.Count(s[2:]), "channels",
			s[1], "groups", normGroups(n.Node)), call.F("epsilon", f32(ir.AttrsOf[op.EpsilonAttr](n).Epsilon)))...)
		l.call("nncc_group_norm_f32", p, l.in(0), l.in(1), l.in(2), l.out(0))
		l.runs(normGroups(n.Node) == 1)
	}, op.InstanceNormalization, op.GroupNormalization)

func normGroups(n *ir.Node) int {
	if n.Op == op.GroupNormalization {
		return ir.AttrsOf[op.GroupNormalizationAttrs](n).NumGroups
	}
	return n.In[0].Type.Shape[1]
}

var lrnRow = row("nncc_lrn_f32", "NNCC-LRN-F32", "local response normalisation across channels", spatial,
	kernel.Rules{cond.Float32(), cond.NotEmpty}, func(l *lowering, n *kernel.Node) {
		rows, channels := rowsAndChannels(n.In[0].Type)
		p := params("nncc_lrn_params",
			append(ints("rows", rows, "channels", channels, "size", ir.AttrsOf[op.LRNAttrs](n).Size),
				call.F("alpha", f32(ir.AttrsOf[op.AlphaAttr](n).Alpha)),
				call.F("beta", f32(ir.AttrsOf[op.BetaAttr](n).Beta)),
				call.F("bias", f32(ir.AttrsOf[op.BiasAttr](n).Bias)))...)
		l.call("nncc_lrn_f32", p, l.in(0), l.out(0))
	}, op.LRN)

// meanVariance computes d = x - mean, then d / (sqrt(mean(d*d)) + 1e-9), by a sequence of simple kernels.
func meanVariance(l *lowering, n *kernel.Node) {
	axes := []int{0, 2, 3}
	if a := ir.AttrsOf[op.AxesAttr](n).Axes; a != nil {
		axes = slices.Clone(a)
	}
	t := n.In[0].Type
	for i, a := range axes {
		axes[i] = kernel.Known(op.Axis(n.Node, a, t.Rank()))
	}
	kept := slices.Clone(t.Shape)
	for _, a := range axes {
		kept[a] = 1
	}
	stat := l.scratch(tensor.F32, tensor.Count(kept))
	st := tensor.Strides(kept)
	for i, d := range kept {
		if d == 1 {
			st[i] = 0
		}
	}
	mean := operand{Arg: stat, Strides: st}
	x := l.broadcast(0, t)
	y := l.outputOperand()
	r := l.reduced(axes)
	l.call("nncc_reduce_mean_f32", axisParams(r.outer, r.axis, r.inner), r.x, stat)
	l.call("nncc_sub_f32", bcastParams(t, x, mean), x.Arg, stat, l.out(0))
	// sum of squares of the centred values, which lie in the output now
	r2 := l.reducedFrom(l.out(0), axes)
	l.call("nncc_reduce_sum_square_f32", axisParams(r2.outer, r2.axis, r2.inner), r2.x, stat)
	count := tensor.Count(kept)
	k := array("const", []float32{float32(t.Elems() / count)})
	scalar := params("nncc_bcast_params", append(ints("rank", 1), list("dims", []int{count}),
		list("a_stride", []int{1}), list("b_stride", []int{0}))...)
	l.call("nncc_div_f32", scalar, stat, k, stat)
	l.low.Calls = append(l.low.Calls, call.Call{Args: []call.Arg{stat, call.I32(count)}, Code: &call.Code{
		Hint: "sqrt", Params: []string{"float *x", "int32_t count"}, Headers: []string{"nncc_element_f32.h"},
		Body: "    for (int32_t i = 0; i < count; i++) {\n        x[i] = sqrtf(x[i]);\n    }\n"}})
	l.call("nncc_add_f32", scalar, stat, array("const", []float32{1e-9}), stat)
	l.call("nncc_div_f32", bcastParams(t, y, mean), l.out(0), stat, l.out(0))
}

func normKernels() []*kernel.Kernel {
	return []*kernel.Kernel{
		batchNormRow,
		rowNormRow("nncc_layer_norm_f32", "NNCC-LAYERNORM-F32", "layer normalisation", op.LayerNormalization, true),
		rowNormRow("nncc_rms_norm_f32", "NNCC-RMSNORM-F32", "normalisation by the root mean square",
			op.RMSNormalization, false),
		groupNormRow, lrnRow,
		row("nncc_reduce_mean_f32", "NNCC-MVN-F32", "zero mean and unit variance over axes", natural,
			kernel.Rules{cond.Float32(), cond.NotEmpty, cond.Rank}, meanVariance, op.MeanVarianceNormalization),
	}
}
