// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// int16 operators that CMSIS-NN lacks, and the changes between int8 and int16.

// lineOps are operators marked Straight, curveOps the other functions of one number.
var (
	lineOps  = kernel.Where(func(d *ir.OpDef) bool { return d.Straight })
	curveOps = kernel.Where(func(d *ir.OpDef) bool {
		return d == op.InterpolatedLUT || d.Scalar != nil && d.Quant == ir.QFloat && !d.Straight
	})
)

// lineKernels: the kernel for an input and an output type.
var lineKernels = map[[2]tensor.DType]string{
	{tensor.I16, tensor.I16}: "nncc_piecewise_linear_s16", {tensor.I16, tensor.I8}: "nncc_piecewise_linear_s16_s8",
	{tensor.I8, tensor.I16}: "nncc_piecewise_linear_s8_s16",
}

// lineKernel is the kernel for a node's types; "" where there is none.
func lineKernel(n *ir.Node) string {
	x, y := n.In[0].Type, n.Out[0].Type
	if x.Quant == nil || y.Quant == nil || x.Quant.PerAxis() || y.Quant.PerAxis() {
		return ""
	}
	return lineKernels[[2]tensor.DType{x.DType, y.DType}]
}

// linesRow computes functions that are straight lines on either side of 0 by
// constants that are proven right for every input.
var linesRow = row("nncc_piecewise_linear_s16", "NNCC-LINES-S16",
	"straight functions of int16 tensors, changes of scale between int8 and int16", same,
	kernel.Rules{cond.NotEmpty, cond.FirstOutput,
		cond.New("LINE-TYPES", "between int16 and int16 or int8, with one scale each", func(n *kernel.Node) string {
			if lineKernel(n.Node) == "" {
				return fmt.Sprintf("from %s to %s, want int16 and int16 or int8 with one scale each",
					cond.Short(n.In[0].Type), cond.Short(n.Out[0].Type))
			}
			return ""
		}), cond.Constant(1, 2), cond.New("PROVEN-LINES", "lines that are exact for all inputs",
			kernel.StraightLines.Why)}, func(l *lowering, n *kernel.Node) {
		p := kernel.StraightLines.Must(n)
		l.low.Kernel = lineKernel(n.Node)
		l.low.Unused = unusedTail(n.Node)
		f := []call.Field{call.F("pos_mult", i64(p.PosMult)), call.F("pos_bias", i64(p.PosBias)),
			call.F("neg_mult", i64(p.NegMult)), call.F("neg_bias", i64(p.NegBias))}
		f = append(f, ints("count", n.Out[0].Type.Elems(), "split", call.T(p.Split), "pos_shift", call.T(p.PosShift),
			"neg_shift", call.T(p.NegShift), "act_min", call.T(p.ActMin), "act_max", call.T(p.ActMax))...)
		l.call(l.low.Kernel, params("nncc_piecewise_linear_params", f...), l.in(0), l.out(0))
		if n.In[0].Type.DType == n.Out[0].Type.DType {
			l.inPlace(0)
		}
	}, lineOps...)

func i64(v int64) call.Trained { return call.Trained(fmt.Sprintf("INT64_C(%d)", v)) }

// curveRow interpolates the other functions of one int16 tensor.
var curveRow = row("nncc_interpolated_lut_s16", "NNCC-CURVE-S16",
	"any function of one int16 tensor, interpolated between 513 points", same,
	kernel.Rules{cond.NotEmpty, cond.FirstOutput, cond.Int16(0),
		cond.New("ONE-TENSOR", "a function of one tensor", func(n *kernel.Node) string {
			if !cond.IsInt16(n.In[0].Type) || !cond.IsInt16(n.Out[0].Type) {
				return kernel.Unread
			}
			_, ok := kernel.CurveOf(n.Node)
			return cond.If(!ok, "the node has further inputs that are computed at run time")
		})}, func(l *lowering, n *kernel.Node) {
		c, _ := kernel.CurveOf(n.Node)
		l.low.Unused = unusedTail(n.Node)
		l.call("nncc_interpolated_lut_s16", params("nncc_count_params", call.FI("count", n.Out[0].Type.Elems())),
			l.in(0), array("points", c[:]), l.out(0))
		l.inPlace(0)
	}, curveOps...)

// pair16Row computes two int16 tensors with broadcasting: Add and Mul by
// CMSIS-NN's kernels on expanded operands, Sub by a function of two rows, others
// by their definition.
var pair16Row = row("nncc_binary_s16", "NNCC-PAIR-S16", "two int16 tensors with broadcasting", same,
	kernel.Rules{cond.NotEmpty, cond.Rank, cond.Int16(),
		cond.New("INPUTS", "two inputs", func(n *kernel.Node) string {
			return cond.If(len(n.In) != 2, "%d inputs, want 2", len(n.In))
		})}, func(l *lowering, n *kernel.Node) {
		if (n.Op == op.Add || n.Op == op.Mul) && op.BinaryKernel16(n.Node) {
			l.expanded()
			return
		}
		if n.Op == op.Sub && op.BinaryKernel16(n.Node) {
			l.low = quantised.LowerWidePair(n, quantised.WidePairs.Must(n))
			l.low.Library = "nncc"
			return
		}
		f, ok := binaryOps[n.Op]
		bug.If(!ok, "no function of nncc_binary_s16 for %s", n.Op.Name)
		out := n.Out[0].Type
		a, b := l.broadcast(0, out), l.broadcast(1, out)
		l.mayOverwrite(a, b)
		l.binaryBy("nncc_binary_s16", f, call.F("bcast", bcast(out, a, b)), clampFields(n.Node), a.Arg, b.Arg, l.out(0))
	}, kernel.Where(func(d *ir.OpDef) bool { _, ok := binaryOps[d]; return ok })...)

// reduceSum16Row is reduceSumS8Row for int16.
var reduceSum16Row = row("nncc_reduce_sum_s16", "NNCC-REDUCESUM-S16", "int16 sum and mean over axes", reduceLayout,
	kernel.Rules{cond.Int16(0), cond.NotEmpty, cond.Rank, cond.Constant(1),
		cond.New("FLOAT64-SUMS", "sums that float64 holds exactly", func(n *kernel.Node) string {
			if axes, err := op.ReduceAxes(n.Node); err == nil {
				k := 1
				for _, a := range axes {
					k *= n.In[0].Type.Shape[a]
				}
				if k > qref.MaxReduce16 {
					return fmt.Sprintf("%d elements are added up, want at most %d", k, qref.MaxReduce16)
				}
			}
			return ""
		})}, lowerReduceSum, op.ReduceSum, op.ReduceMean)

// conv16Row is what arm_convolve_wrapper_s16 does not take: groups, and sums
// beyond 32 bits.
var conv16Row = row("nncc_conv2d_s16", "NNCC-CONV-S16", "int16 convolution with groups and dilation",
	kernel.SpatialLayout, kernel.Rules{cond.Int16(0), cond.NotEmpty, cond.UpTo2D, weights8, cond.Constant(1, 2),
		integerMAC(conv16Params)}, func(l *lowering, n *kernel.Node) {
		g := kernel.Conv.Must(n)
		p := conv16Params.Must(n)
		f := append(convFields(g), macFields(p)...)
		f = append(f, ints("in_c", g.CIn, "out_c", g.COut, "groups", g.Group)...)
		l.conv16(g, p, params("nncc_conv2d_wzp_s8_params", f...), l.in(0),
			l.arrangedS8([]int{g.COut, g.CIn / g.Group, g.Taps()}, []int{0, 2, 1}))
	}, op.Conv)

func (l *lowering) conv16(g *op.ConvGeom, p *op.MACParams, s *call.Struct, x, w call.Arg) {
	_, mult, shift := channelArgs(p, g.COut)
	if _, ok := x.(call.In); ok {
		l.channels(g, 1)
	}
	l.call("nncc_conv2d_s16", s, x, w, l.in(2), mult, shift, l.out(0))
}

// tconv16Row is a transposed convolution as a convolution of the input spread
// over scratch memory, with the filter turned round at compile time.
var tconv16Row = row("nncc_conv2d_s16", "NNCC-TCONV-S16",
	"int16 transposed convolution, as a convolution of the spread input", kernel.SpatialLayout,
	kernel.Rules{cond.Int16(0), cond.NotEmpty, cond.UpTo2D, weights8, cond.Constant(1, 2),
		integerMAC(conv16Params)}, func(l *lowering, n *kernel.Node) {
		g := kernel.Conv.Must(n)
		p := conv16Params.Must(n)
		l.low.Unused = []int{1}
		s := spreadOf(g)
		w := param.ConvWindow(g)
		w.In, w.Stride, w.Pad = s.Tile, param.Tile{H: 1, W: 1}, param.Tile{}
		f := append(windowFields(g.N, w), macFields(p)...)
		f = append(f, ints("in_c", g.CIn, "out_c", g.COut, "groups", g.Group)...)
		l.conv16(g, p, params("nncc_conv2d_wzp_s8_params", f...), l.spread(g, s),
			blob("weights", tensor.Of([]int{n.In[1].Type.Elems()}, g.Turned(n.In[1].Const))))
	}, op.ConvTranspose)

// spreading is where the input of a transposed convolution lies in the image
// that an ordinary one reads: element i at i*stride + lead along each axis.
type spreading struct {
	param.Tile
	lead, stride param.Tile
}

func spreadOf(g *op.ConvGeom) spreading {
	w := param.ConvWindow(g)
	reach := param.Tile{H: w.Span().H - 1, W: w.Span().W - 1}
	return spreading{param.Tile{H: w.Out.H + reach.H, W: w.Out.W + reach.W},
		param.Tile{H: reach.H - w.Pad.H, W: reach.W - w.Pad.W}, w.Stride}
}

// inside are the first input element and the number of elements that lie
// within size positions.
func inside(in, stride, lead, size int) (first, count int) {
	if lead < 0 {
		first = min((-lead+stride-1)/stride, in)
	}
	if last := size - 1 - lead; last >= first*stride {
		count = min(in, last/stride+1) - first
	}
	return first, count
}

// spread emits the image in scratch memory: zeros, and the input in between.
func (l *lowering) spread(g *op.ConvGeom, s spreading) call.Arg {
	in, c := param.Spatial(g.In, 1), g.CIn
	area := g.N * s.H * s.W * c
	image := l.scratch(tensor.I16, area)
	l.fill(tensor.Of([]int{1}, []int16{0}), area, image)
	y0, rows := inside(in.H, s.stride.H, s.lead.H, s.H)
	x0, cols := inside(in.W, s.stride.W, s.lead.W, s.W)
	if rows > 0 && cols > 0 {
		l.copy(move{elem: 2, dims: []int{g.N, rows, cols, c}, x: []int{in.H * in.W * c, in.W * c, c, 1},
			y:    []int{s.H * s.W * c, s.stride.H * s.W * c, s.stride.W * c, 1},
			xOff: (y0*in.W + x0) * c, yOff: ((y0*s.stride.H+s.lead.H)*s.W + x0*s.stride.W + s.lead.W) * c},
			l.in(0), image)
	}
	return image
}
