// SPDX-License-Identifier: Apache-2.0

package cmsisnn_test

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kerneltest"
)

// kinds16 are layers on int16 data, and on int8 data with int4 weights.
var kinds16 = []generator{
	{"arm_convolve_wrapper_s16", conv16}, {"arm_depthwise_conv_wrapper_s16", depthwise16},
	{"arm_fully_connected_s16", gemm16},
	{"arm_batch_matmul_s16", matmul16}, {"arm_elementwise_add_s16", pointwise16("Add")},
	{"arm_elementwise_mul_s16", pointwise16("Mul")},
	{"arm_avgpool_s16", pool16("AveragePool")}, {"arm_max_pool_s16", pool16("MaxPool")}, {"arm_softmax_s16", softmax16},
	{"arm_convolve_wrapper_s4", conv4}, {"arm_depthwise_conv_wrapper_s4", depthwise4},
	{"arm_fully_connected_s4", gemm4},
	{"arm_convolve_wrapper_s4", conv1xN4},
}

// quant16 is a random quantisation of an int16 activation.
func (b *builder) quant16() *ir.Quant { return ir.PerTensor(float32((0.01+0.1*b.Float64())/256), 0) }

func (b *builder) input16(q *ir.Quant, shape ...int) *ir.Value {
	return b.InputOf(tensor.I16, q, shape...)
}

// bias16 is int64 with the scale of x times w, for n channels.
func (b *builder) bias16(x, w *ir.Quant, n int) *ir.Value {
	v := b.Bias(x, w, n)
	d := tensor.New(tensor.I64, []int{n})
	for i := range n {
		d.SetInt(i, v.Const.Int(i)*256)
	}
	return b.Constant(v.Type.Quant, d)
}

// node16 is node with an int16 result.
func (b *builder) node16(name string, a ir.Attrs, q *ir.Quant, in ...*ir.Value) *ir.Node {
	n := b.Inner(name, a, ir.PerTensor(1, 0), in...)
	n.Out[0].Type = n.Out[0].Type.WithQuant(tensor.I16, q)
	b.Output(n.Out...)
	return n
}

// acc16 is a quantisation of sums of depth products that uses the range.
func (b *builder) acc16(x, w *ir.Quant, depth int) *ir.Quant {
	s := float64(x.Scale[0]) * float64(w.Scale[0]) * math.Sqrt(float64(depth)) * 70 * (0.5 + b.Float64())
	return ir.PerTensor(float32(s), 0)
}

func conv16(b *builder) {
	conv16Of(b, b.One(1, 2, 2), b.One(1, 1, 2), 1, b.One(2, 3, 4, 5, 8, 17, 70), b.One(1, 2, 3, 4, 8, 11),
		b.One(1, 2, 3, 3), 7)
}

func depthwise16(b *builder) {
	c := b.One(2, 3, 4, 7, 16)
	conv16Of(b, b.One(1, 2, 2), b.One(1, 1, 2), c, c, c*b.One(1, 1, 1, 2, 3), b.One(1, 2, 3, 3, 5), 8)
}

func conv16Of(b *builder, rank, batch, group, ci, co, k, hi int) {
	size, kernel := b.Sizes(rank, hi), make([]int, rank)
	for d := range kernel {
		kernel[d] = b.One(k, k, 1)
	}
	xq := b.quant16()
	x, w := b.input16(xq, kerneltest.Shape(batch, ci, size)...),
		b.Weights(b.Chance(70), 0, kerneltest.Shape(co, ci/group, kernel)...)
	in := []*ir.Value{x, w}
	if b.Chance(60) {
		in = append(in, b.bias16(xq, w.Type.Quant, co))
	}
	a := b.SpatialAttrs(size, kernel, true)
	a["group"] = ir.Int(group)
	b.node16("Conv", b.Clamp(a), b.acc16(xq, w.Type.Quant, ci/group*tensor.Count(kernel)), in...)
}

func gemm16(b *builder) {
	m, k, n := b.In(1, 3), b.One(1, 5, 16, 33, 600), b.One(1, 2, 4, 7)
	xq := b.quant16()
	x, w := b.input16(xq, m, k), b.Weights(b.Chance(50), 1, k, n)
	in := []*ir.Value{x, w}
	if b.Chance(60) {
		in = append(in, b.bias16(xq, w.Type.Quant, n))
	}
	b.node16("Gemm", b.Clamp(ir.Attrs{}), b.acc16(xq, w.Type.Quant, k), in...)
}

func matmul16(b *builder) {
	m, k, n, h := b.In(1, 4), b.One(1, 5, 17), b.In(1, 6), b.In(1, 3)
	xq, wq := b.quant16(), b.quant16()
	x, w := b.input16(xq, b.One(1, h), m, k), b.input16(wq, b.One(1, 2), b.One(1, h), k, n)
	b.node16("MatMul", nil, ir.PerTensor(xq.Scale[0]*wq.Scale[0]*float32(b.In(2000, 60000)), 0), x, w)
}

func pointwise16(name string) func(b *builder) {
	return func(b *builder) {
		s := []int{b.In(1, 3), b.In(1, 5), b.In(1, 9)}
		xq, yq := b.quant16(), b.quant16()
		x, y := b.input16(xq, s...), b.input16(yq, s...)
		q := ir.PerTensor(max(xq.Scale[0], yq.Scale[0])*(0.5+b.Float32()), 0)
		if name == "Mul" {
			q = ir.PerTensor(xq.Scale[0]*yq.Scale[0]*float32(b.In(2, 40000)), 0)
		}
		b.node16(name, b.Clamp(ir.Attrs{}), q, x, y)
	}
}

func pool16(name string) func(b *builder) {
	return func(b *builder) {
		rank := b.One(1, 2)
		size, kernel := b.Sizes(rank, 8), make([]int, rank)
		for d := range kernel {
			kernel[d] = b.In(1, 3)
		}
		q := b.quant16()
		a := b.SpatialAttrs(size, kernel, false)
		for d, p := range a["pads"].Ints {
			if int(p) >= kernel[d%rank] {
				a["pads"] = kerneltest.Ints(make([]int, 2*rank)...)
				kernel[d%rank] = 1
			}
		}
		a["kernel_shape"] = kerneltest.Ints(kernel...)
		for d := range kernel {
			if size[d] < kernel[d] {
				return16(b, q, size)
				return
			}
		}
		b.node16(name, a, q, b.input16(q, kerneltest.Shape(b.In(1, 2), b.In(1, 9), size)...))
	}
}

// return16 stands in where the drawn window does not fit: a pool of one element.
func return16(b *builder, q *ir.Quant, size []int) {
	one := make([]int, len(size))
	for d := range one {
		one[d] = 1
	}
	b.node16("MaxPool", ir.Attrs{"kernel_shape": kerneltest.Ints(one...)}, q,
		b.input16(q, kerneltest.Shape(1, 3, size)...))
}

func softmax16(b *builder) {
	x := b.input16(b.quant16(), b.In(1, 4), b.In(1, 5), b.In(1, 30))
	b.node16("Softmax", ir.Attrs{"axis": ir.Int(b.One(-1, -1, 1))}, ir.PerTensor(1.0/32768, 0), x)
}

// weights4 are weights of four bits.
func (b *builder) weights4(perChannel bool, axis int, shape ...int) *ir.Value {
	v := b.Weights(perChannel, axis, shape...)
	d := tensor.New(tensor.I4, shape)
	for i := range d.Len() {
		d.SetInt(i, int64(b.In(-8, 7)))
	}
	return b.Constant(v.Type.Quant, d)
}

func conv4(b *builder) {
	conv4Of(b, b.One(1, 2, 2), b.One(1, 1, 2), 1, b.One(2, 3, 4, 5, 8, 17), b.One(1, 2, 3, 4, 8, 11), b.One(1, 2, 3, 3),
		7)
}

func depthwise4(b *builder) {
	c := b.One(2, 3, 4, 7, 16)
	conv4Of(b, b.One(1, 2, 2), b.One(1, 1, 2), c, c, c*b.One(1, 1, 1, 2), b.One(1, 2, 3, 3, 5), 8)
}

func conv4Of(b *builder, rank, batch, group, ci, co, k, hi int) {
	size, kernel := b.Sizes(rank, hi), make([]int, rank)
	for d := range kernel {
		kernel[d] = b.One(k, k, 1)
	}
	xq := b.Quant()
	x, w := b.Input(xq, kerneltest.Shape(batch, ci, size)...),
		b.weights4(b.Chance(70), 0, kerneltest.Shape(co, ci/group, kernel)...)
	in := []*ir.Value{x, w}
	if b.Chance(60) {
		in = append(in, b.Bias(xq, w.Type.Quant, co))
	}
	a := b.SpatialAttrs(size, kernel, true)
	a["group"] = ir.Int(group)
	q := b.AccQuant(xq, w.Type.Quant, ci/group*tensor.Count(kernel))
	b.Node("Conv", b.Clamp(a), ir.PerTensor(q.Scale[0]/16, q.Zero[0]), in...)
}

func conv1xN4(b *builder) {
	k, w, ci := b.In(2, 9), b.In(9, 24), b.One(1, 2, 4, 8)
	xq := b.Quant()
	x, f := b.Input(xq, 1, ci, w), b.weights4(true, 0, b.In(1, 5), ci, k)
	q := b.AccQuant(xq, f.Type.Quant, ci*k)
	b.Node("Conv", ir.Attrs{"strides": kerneltest.Ints(b.In(1, 4)), "pads": kerneltest.Ints(b.In(0, k-1),
		b.In(0, k-1))}, ir.PerTensor(q.Scale[0]/16, q.Zero[0]), x, f)
}

func gemm4(b *builder) {
	m, k, n := b.In(1, 3), b.One(1, 5, 16, 33), b.One(1, 2, 4, 7)
	xq := b.Quant()
	x, w := b.Input(xq, m, k), b.weights4(b.Chance(50), 1, k, n)
	in := []*ir.Value{x, w}
	if b.Chance(60) {
		in = append(in, b.Bias(xq, w.Type.Quant, n))
	}
	q := b.AccQuant(xq, w.Type.Quant, k)
	b.Node("Gemm", b.Clamp(ir.Attrs{}), ir.PerTensor(q.Scale[0]/16, q.Zero[0]), in...)
}
