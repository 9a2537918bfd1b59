// SPDX-License-Identifier: Apache-2.0

package helium_test

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
)

type builder = kerneltest.Builder

// channels are counts around the widths of vectors and records.
func channels(b *builder, hi int) int {
	if b.Chance(50) {
		return b.In(1, hi)
	}
	return min(hi, b.One(1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 24, 31, 32, 33, 48, 64, 65))
}

// output is a quantisation for sums of depth products: mostly one that uses the
// range, now and then one that saturates or one that leaves nothing.
func output(b *builder, x, w *ir.Quant, depth int) *ir.Quant {
	q := b.AccQuant(x, w, depth)
	if b.Chance(20) {
		q.Scale[0] *= float32(math.Exp2(float64(b.In(-12, 12)))) // below, shifts to the left
	}
	if b.Chance(20) {
		q.Zero[0] = int32(b.One(-128, 127))
	}
	return q
}

// extreme sometimes makes the data of weights or bias as large as they can be.
func extreme(b *builder, v *ir.Value) *ir.Value {
	if !b.Chance(10) {
		return v
	}
	lo, hi := -127, 127
	if d, ok := v.Const.Data.([]int8); ok {
		for i := range d {
			d[i] = int8(b.One(lo, hi))
		}
	}
	return v
}

func convolution(b *builder, rank, group, ci, co int, kernel []int, hi int) {
	size := b.Sizes(rank, hi)
	xq := b.Quant()
	if b.Chance(20) {
		xq.Zero[0] = int32(b.One(-128, 127))
	}
	x := b.Input(xq, kerneltest.Shape(b.One(1, 1, 1, 2, 3), ci, size)...)
	w := narrowed(b, extreme(b, b.Weights(b.Chance(70), 0, kerneltest.Shape(co, ci/group, kernel)...)))
	in := []*ir.Value{x, w}
	if b.Chance(60) {
		in = append(in, b.Bias(xq, w.Type.Quant, co))
	}
	a := b.SpatialAttrs(size, kernel, true)
	a["group"] = ir.Int(group)
	depth := ci / group
	for _, k := range kernel {
		depth *= k
	}
	b.Node("Conv", b.Clamp(a), output(b, xq, w.Type.Quant, depth), in...)
}

func square(rank, k int) []int {
	s := make([]int, rank)
	for i := range s {
		s[i] = k
	}
	return s
}

// pointwise has rows of every number of vectors.
func pointwise(b *builder) {
	ci := channels(b, 80)
	if b.Chance(60) {
		ci = 16 * b.In(1, 20)
	}
	xq := b.Quant()
	x := b.Input(xq, b.One(1, 1, 2), ci, b.In(1, 6), b.In(1, 6))
	w := narrowed(b, extreme(b, b.Weights(b.Chance(70), 0, channels(b, 40), ci, 1, 1)))
	in := []*ir.Value{x, w}
	if b.Chance(70) {
		in = append(in, b.Bias(xq, w.Type.Quant, w.Type.Shape[0]))
	}
	b.Node("Conv", b.Clamp(ir.Attrs{}), output(b, xq, w.Type.Quant, ci), in...)
}

// strided reads single pixels that lie apart.
func strided(b *builder) {
	group := b.One(1, 1, 1, 2, 3)
	ci, co := group*channels(b, 40), group*b.One(1, 1, 2, 3, 4, 7, 16)
	xq := b.Quant()
	x := b.Input(xq, b.One(1, 1, 2), ci, b.In(2, 10), b.In(2, 10))
	w := narrowed(b, extreme(b, b.Weights(b.Chance(70), 0, co, ci/group, 1, 1)))
	in := []*ir.Value{x, w}
	if b.Chance(70) {
		in = append(in, b.Bias(xq, w.Type.Quant, co))
	}
	b.Node("Conv", b.Clamp(ir.Attrs{"group": ir.Int(group), "strides": kerneltest.Ints(b.In(1, 3), b.In(1, 3)),
		"pads": kerneltest.Ints(0, 0, b.One(0, 0, 0, 1), 0)}), output(b, xq, w.Type.Quant, ci/group), in...)
}

// narrowed has weights of 4 bits half of the time; an eighth of them may have one
// of -8, which beside a negative weight does not fit two to a byte.
func narrowed(b *builder, w *ir.Value) *ir.Value {
	if !b.Chance(50) {
		return w
	}
	narrow(b, w)
	if b.Chance(12) {
		w.Const.SetInt(b.In(0, w.Const.Len()-1), -8)
	}
	return w
}

// narrow makes weights int4, none -8.
func narrow(b *builder, w *ir.Value) {
	w.Const, w.Type.DType = tensor.New(tensor.I4, w.Type.Shape), tensor.I4
	for i := range w.Const.Len() {
		w.Const.SetInt(i, int64(b.In(-7, 7)))
	}
}

func conv(b *builder) {
	rank := b.One(1, 2, 2, 2)
	kernel := make([]int, rank)
	for d := range kernel {
		kernel[d] = b.One(1, 2, 3, 3, 4, 5)
	}
	convolution(b, rank, 1, channels(b, 40), channels(b, 40), kernel, 9)
}

func grouped(b *builder) {
	group := b.In(2, 4)
	convolution(b, 2, group, group*b.In(2, 20), group*b.In(1, 9), square(2, b.One(1, 3, 3, 5)), 8)
}

func depthwise(b *builder) {
	c := max(2, channels(b, 40))
	rank := b.One(1, 2, 2)
	kernel := square(rank, b.In(2, 5))
	kernel[0] = b.One(1, 3, kernel[0])
	convolution(b, rank, c, c, c*b.One(1, 1, 1, 2, 3), kernel, 9)
}

// windowed is a depthwise layer with a window of one vector or many, dense or
// dilated, on a map that goes through scratch at once or in spans.
func windowed(b *builder) {
	c := b.One(2, 3, 5, 7, 8, 9, 16, 17, 20)
	h, w := b.In(1, 14), b.In(1, 20)
	kernel := []int{b.In(1, 7), b.In(1, 7)}
	switch {
	case b.Chance(20):
		w, c = b.In(40, 400), b.In(2, 9)
	case b.Chance(20):
		h, w, kernel[1] = 1, b.In(20, 90), b.In(8, 70)
	case b.Chance(10):
		h, kernel[0] = b.In(20, 40), b.In(15, 24) // more rows than are brought at a time
	}
	xq := b.Quant()
	x, f := b.Input(xq, b.One(1, 1, 2), c, h, w), extreme(b, b.Weights(true, 0, c*b.One(1, 1, 1, 2, 5), 1, kernel[0],
		kernel[1]))
	in := []*ir.Value{x, f}
	if b.Chance(60) {
		in = append(in, b.Bias(xq, f.Type.Quant, f.Type.Shape[0]))
	}
	a := ir.Attrs{"group": ir.Int(c), "strides": kerneltest.Ints(b.One(1, 1, 1, 2, 3, 4), b.One(1, 1, 1, 2, 3, 4))}
	dilations, pads := []int{b.One(1, 1, 1, 2, 3), b.One(1, 1, 1, 2, 3, 4)}, make([]int, 4)
	for d, size := range []int{h, w} {
		span := dilations[d]*(kernel[d]-1) + 1
		pads[d], pads[2+d] = b.In(0, span-1), b.In(0, span-1)
		for size+pads[d]+pads[2+d] < span {
			pads[b.One(d, 2+d)]++
		}
	}
	a["dilations"], a["pads"] = kerneltest.Ints(dilations...), kerneltest.Ints(pads...)
	b.Node("Conv", b.Clamp(a), output(b, xq, f.Type.Quant, kernel[0]*kernel[1]), in...)
}

// depthwise3x3 has no dilation and strides of 1 and 2; now and then a tap of -128.
func depthwise3x3(b *builder) {
	c, h, w := max(2, channels(b, 40)), b.In(1, 11), b.In(1, 11)
	if b.Chance(20) {
		w = b.In(20, 60) // more than goes through scratch at a time
	}
	xq := b.Quant()
	if b.Chance(20) {
		xq.Zero[0] = int32(b.One(-128, 127))
	}
	x, f := b.Input(xq, b.One(1, 1, 2), c, h, w), extreme(b, b.Weights(true, 0, c*b.One(1, 1, 1, 2), 1, 3, 3))
	if b.Chance(95) {
		for i, v := range f.Const.Data.([]int8) {
			f.Const.Data.([]int8)[i] = max(v, -127)
		}
	}
	in := []*ir.Value{x, f}
	if b.Chance(60) {
		in = append(in, b.Bias(xq, f.Type.Quant, f.Type.Shape[0]))
	}
	pads := kerneltest.Ints(b.In(1, 2), b.In(1, 2), b.In(1, 2), b.In(1, 2))
	b.Node("Conv", b.Clamp(ir.Attrs{"group": ir.Int(c), "strides": kerneltest.Ints(b.One(1, 1, 2, 3), b.One(1, 1, 2)),
		"pads": pads}),
		output(b, xq, f.Type.Quant, 9), in...)
}

// transposed has kernels as large as the strides.
func transposed(b *builder) {
	rank, ci, co := b.One(1, 2, 2), channels(b, 60), channels(b, 20)
	size, kernel := b.Sizes(rank, 7), make([]int, rank)
	for d := range kernel {
		kernel[d] = b.In(1, 4)
	}
	xq := b.Quant()
	x, w := b.Input(xq, kerneltest.Shape(b.One(1, 1, 2), ci, size)...),
		extreme(b, b.Weights(b.Chance(70), 1, kerneltest.Shape(ci, co, kernel)...))
	in := []*ir.Value{x, w}
	if b.Chance(60) {
		in = append(in, b.Bias(xq, w.Type.Quant, co))
	}
	b.Node("ConvTranspose", b.Clamp(ir.Attrs{"strides": kerneltest.Ints(kernel...)}), output(b, xq, w.Type.Quant, ci),
		in...)
}

// transposedFew has less than four results for an input, in several rows, or
// scales of 0.5 and above: its rows of taps are no records.
func transposedFew(b *builder) {
	xq, co := b.Quant(), b.In(1, 3)
	kernel := []int{b.In(2, 4), 1}
	if b.Chance(50) {
		co = b.In(1, 9)
	}
	x := b.Input(xq, 1, channels(b, 40), b.In(1, 5), b.In(1, 5))
	w := b.Weights(b.Chance(70), 1, x.Type.Shape[1], co, kernel[0], kernel[1])
	q := b.AccQuant(xq, w.Type.Quant, x.Type.Shape[1])
	if co > 3 {
		q.Scale[0] /= 1 << 12
	}
	b.Node("ConvTranspose", b.Clamp(ir.Attrs{"strides": kerneltest.Ints(kernel...)}), q, x, w)
}

// phased is any transposed convolution, whatever its padding: outputs that no
// input meets, and windows that begin behind the first input.
func phased(b *builder) {
	rank, group := b.One(1, 2, 2), b.One(1, 1, 1, 2, 3)
	ci, co := group*channels(b, 40), group*channels(b, 20)
	g := kerneltest.DrawTransposed(rank, b.In)
	xq := b.Quant()
	x, w := b.Input(xq, kerneltest.Shape(b.One(1, 1, 2), ci, g.Size)...),
		extreme(b, b.Weights(group == 1 && b.Chance(70), 1, kerneltest.Shape(ci, co/group, g.Kernel)...))
	in := []*ir.Value{x, w}
	if b.Chance(60) {
		in = append(in, b.Bias(xq, w.Type.Quant, co))
	}
	b.Node("ConvTranspose", b.Clamp(ir.Attrs{"group": ir.Int(group), "strides": kerneltest.Ints(g.Strides...),
		"dilations": kerneltest.Ints(g.Dilations...), "pads": kerneltest.Ints(g.Pads...),
		"output_padding": kerneltest.Ints(g.Extra...)}), output(b, xq, w.Type.Quant, ci), in...)
}

// plainConv is a convolution, pointwise or not, whose result stays inside.
func plainConv(b *builder) *ir.Node {
	kernel := square(2, b.One(1, 1, 2, 3, 3))
	ci, co := channels(b, 40), channels(b, 40)
	size := []int{kernel[0] + b.In(0, 9), kernel[1] + b.In(0, 30)}
	xq := b.Quant()
	x, w := b.Input(xq, b.One(1, 1, 2), ci, size[0], size[1]), b.Weights(true, 0, co, ci, kernel[0], kernel[1])
	if b.Chance(30) {
		narrow(b, w)
	}
	a := ir.Attrs{}
	if kernel[0] > 1 {
		a["pads"] = kerneltest.Ints(b.In(0, 1), b.In(0, 1), b.In(0, 1), b.In(0, 1))
		a["strides"] = kerneltest.Ints(b.One(1, 1, 2), b.One(1, 1, 2))
	}
	return b.Inner("Conv", a, output(b, xq, w.Type.Quant, ci*kernel[0]*kernel[1]), x, w)
}

// fuse makes one node of several where a kernel takes it, as the pipeline does: sums that are requantised by a shift
// to the left stay alone, and so do additions without a linear form.
func fuse(b *builder, nodes ...*ir.Node) {
	f, results, err := ir.Outline(b.G, nodes, op.Fused, nodes[len(nodes)-1].Name+".fused", nil)
	if err != nil {
		b.T.Fatal(err)
	}
	if _, err := table.Match(f, &kernel.Options{Core: core}); err != nil {
		return
	}
	if err := b.G.Replace(f, nodes, results); err != nil {
		b.T.Fatal(err)
	}
}

// mapped is a convolution with a function of each result.
func mapped(b *builder) {
	n := plainConv(b)
	fuse(b, n, b.Node("Swish", nil, b.Quant(), n.Out[0]))
}

// residual is a convolution, or a function of one, and an addition of another
// tensor, on either side, now and then of the convolution's own input.
func residual(b *builder) {
	nodes := []*ir.Node{plainConv(b)}
	other := nodes[0].In[0]
	if b.Chance(30) {
		nodes = append(nodes, b.Inner("Swish", nil, b.Quant(), nodes[0].Out[0]))
	}
	r := nodes[len(nodes)-1].Out[0]
	if !slices.Equal(other.Type.Shape, r.Type.Shape) || b.Chance(30) {
		other = b.Input(b.Quant(), r.Type.Shape...)
	}
	sum := other.Type.Quant.Scale[0] + r.Type.Quant.Scale[0]*float32(b.One(0, 1))
	in := []*ir.Value{r, other}
	if b.Chance(50) {
		in[0], in[1] = in[1], in[0]
	}
	nodes = append(nodes, b.Node("Add", b.Clamp(ir.Attrs{}), ir.PerTensor(sum, int32(b.In(-128, 127))), in...))
	fuse(b, nodes...)
}

// wide is a convolution on int16 data.
func wide(b *builder) {
	b.Written(func(w *kerneltest.Writer) {
		rank, k := w.One(1, 2, 2), w.One(1, 1, 2, 3, 3, 5)
		group := w.One(1, 1, 1, 1, 2, 3)
		ci, co := group*channels(b, 40), group*channels(b, 20)
		if group == ci {
			ci *= 2
		}
		draw := func(v ...int) []int {
			s := make([]int, rank)
			for i := range s {
				s[i] = w.One(v...)
			}
			return s
		}
		w.Conv(kerneltest.ConvCase{Wide: true, Batch: w.One(1, 1, 2), CIn: ci, COut: co, Group: group,
			Size: draw(w.In(1, 9), w.In(1, 9)), Kernel: draw(k, k, 1), Stride: draw(1, 1, 2, 3), Dil: draw(1, 1, 1, 2)})
	})
}

// wideDepthwise is a depthwise convolution on int16 data.
func wideDepthwise(b *builder) {
	b.Written(func(w *kerneltest.Writer) {
		c, h, v := max(2, channels(b, 40)), w.One(1, 2, 3, 3, 5), w.One(1, 2, 3, 3, 3, 5)
		w.Conv(kerneltest.ConvCase{Wide: true, Batch: w.One(1, 1, 2), CIn: c, COut: c * w.One(1, 1, 1, 2, 3), Group: c,
			Size: []int{w.In(1, 9), w.In(1, 9)}, Kernel: []int{h, v}, Stride: []int{w.One(1, 1, 2, 3), w.One(1, 1, 2)},
			Dil: []int{w.One(1, 1, 1, 2), w.One(1, 1, 1, 2)}})
	})
}
