// SPDX-License-Identifier: Apache-2.0

package cmsisnn_test

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kerneltest"
)

// builder adds layers of CMSIS-NN's operators.
type builder struct{ *kerneltest.Builder }

func conv(b *builder) {
	group := b.One(1, 1, 1, 2, 3)
	ci, co := b.One(1, 2, 3, 4, 5, 8, 17), b.One(1, 2, 3, 4, 8, 11)
	if group > 1 {
		ci, co = b.One(2, 3), b.One(1, 2, 3)
	}
	b.ConvOf(b.One(1, 2, 2), b.One(1, 1, 2), group, group*ci, group*co, b.One(1, 2, 3, 3, 5), 9)
}

// conv1xN has inputs of height 1, where the MVE build has a kernel of its own.
func conv1xN(b *builder) {
	k, s, w := b.In(2, 9), b.In(1, 4), b.In(9, 24)
	ci, co := b.One(1, 2, 4, 4, 8), b.In(1, 5)
	xq := b.Quant()
	x, f := b.Input(xq, 1, ci, w), b.Weights(true, 0, co, ci, k)
	pad, end := b.In(0, k-1), 0
	if b.Chance(50) {
		end = pad
	} else {
		end = b.In(0, k-1)
	}
	b.Node("Conv", ir.Attrs{"strides": kerneltest.Ints(s), "pads": kerneltest.Ints(pad, end)},
		b.AccQuant(xq, f.Type.Quant, ci*k), x, f)
}

func depthwise(b *builder) {
	c, m := b.One(2, 3, 4, 7, 16), b.One(1, 1, 1, 2, 3)
	if b.Chance(15) {
		c, m = 130, 1
	}
	b.ConvOf(b.One(1, 2, 2, 2), b.One(1, 1, 2), c, c, c*m, b.One(1, 2, 3, 3, 3, 5), 8)
}

// depthwise3x3 covers windows that hang over the right side by two columns.
func depthwise3x3(b *builder) {
	c, h, w := b.One(2, 4, 6), b.In(2, 6), b.In(2, 6)
	xq := b.Quant()
	x, f := b.Input(xq, 1, c, h, w), b.Weights(true, 0, c, 1, 3, 3)
	b.Node("Conv", ir.Attrs{"group": ir.Int(c), "strides": kerneltest.Ints(1, b.In(1, 2)),
		"pads": kerneltest.Ints(1, 1, 1, b.In(0, 2))}, b.AccQuant(xq, f.Type.Quant, 9), x, f)
}

func transposedConv(b *builder) {
	rank, ci, co := b.One(1, 2, 2), b.One(1, 3, 8, 17, 20), b.One(1, 2, 4, 5)
	size := b.Sizes(rank, 5)
	kernel, st, pads, out := make([]int, rank), make([]int, rank), make([]int, 2*rank), make([]int, rank)
	for d := range kernel {
		kernel[d], st[d] = b.In(1, 4), b.In(1, 3)
		pads[d], pads[rank+d] = b.In(0, kernel[d]-1), b.In(0, kernel[d]-1)
		if b.Chance(30) {
			out[d] = b.In(0, st[d]-1)
		}
		if (size[d]-1)*st[d]+kernel[d]+out[d]-pads[d]-pads[rank+d] < 1 {
			pads[d], pads[rank+d] = 0, 0
		}
	}
	xq := b.Quant()
	x, w := b.Input(xq, kerneltest.Shape(b.One(1, 1, 2), ci, size)...),
		b.Weights(b.Chance(70), 1, kerneltest.Shape(ci, co, kernel)...)
	in := []*ir.Value{x, w}
	if b.Chance(60) {
		in = append(in, b.Bias(xq, w.Type.Quant, co))
	}
	b.Node("ConvTranspose", b.Clamp(ir.Attrs{"strides": kerneltest.Ints(st...), "pads": kerneltest.Ints(pads...),
		"output_padding": kerneltest.Ints(out...)}),
		b.AccQuant(xq, w.Type.Quant, ci*2), in...)
}

// upscaled has what the library's transposed convolution does not take.
func upscaled(b *builder) {
	rank, group := b.One(1, 2), b.One(1, 2, 3)
	ci, co := group*b.In(1, 3), b.In(1, 3)
	size := b.Sizes(rank, 5)
	kernel, st, dl, pads, out := make([]int, rank), make([]int, rank), make([]int, rank), make([]int, 2*rank),
		make([]int, rank)
	for d := range kernel {
		kernel[d], st[d], dl[d] = b.In(1, 3), b.In(1, 3), b.In(1, 2)
		full := (size[d]-1)*st[d] + dl[d]*(kernel[d]-1) + 1
		pads[d] = b.In(0, full-1)
		pads[rank+d] = b.In(0, full-1-pads[d])
		out[d] = b.In(0, max(st[d], dl[d])-1)
	}
	xq := b.Quant()
	x, w := b.Input(xq, kerneltest.Shape(b.One(1, 2), ci, size)...),
		b.Weights(b.Chance(70), 1, kerneltest.Shape(ci, co, kernel)...)
	in := []*ir.Value{x, w}
	if b.Chance(60) {
		in = append(in, b.Bias(xq, w.Type.Quant, co*group))
	}
	b.Node("ConvTranspose", ir.Attrs{"strides": kerneltest.Ints(st...), "pads": kerneltest.Ints(pads...),
		"output_padding": kerneltest.Ints(out...), "dilations": kerneltest.Ints(dl...), "group": ir.Int(group)},
		b.AccQuant(xq, w.Type.Quant, ci*2), in...)
}

func gemm(b *builder) {
	m, k, n := b.In(1, 3), b.One(1, 5, 16, 33), b.One(1, 2, 4, 7, 12)
	xq, trans := b.Quant(), b.IntN(2)
	x := b.Input(xq, m, k)
	s, axis := []int{k, n}, 1
	if trans == 1 {
		s, axis = []int{n, k}, 0
	}
	w := b.Weights(b.Chance(50), axis, s...)
	if !w.Type.Quant.PerAxis() && b.Chance(40) {
		w.Type.Quant = ir.PerTensor(w.Type.Quant.Scale[0], int32(b.In(-20, 20)))
	}
	in := []*ir.Value{x, w}
	if b.Chance(60) {
		in = append(in, b.Bias(xq, w.Type.Quant, n))
	}
	b.Node("Gemm", b.Clamp(ir.Attrs{"transB": ir.Int(trans)}), b.AccQuant(xq, w.Type.Quant, k), in...)
}

func matmulConst(b *builder) {
	k, n := b.One(3, 16, 21), b.One(1, 4, 6)
	xq := b.Quant()
	x, w := b.Input(xq, b.In(1, 2), b.In(1, 3), k), b.Weights(b.Chance(50), 1, k, n)
	b.Node("MatMul", nil, b.AccQuant(xq, w.Type.Quant, k), x, w)
}

func matmul(b *builder) {
	m, k, n := b.In(1, 4), b.One(1, 5, 17), b.In(1, 6)
	h, o := b.In(1, 3), b.In(1, 2)
	lead := func() []int {
		switch b.IntN(3) {
		case 0:
			return nil
		case 1:
			return []int{b.One(1, h)}
		}
		return []int{b.One(1, o), b.One(1, h)}
	}
	xq, wq := b.Quant(), b.Quant()
	x, w := b.Input(xq, append(lead(), m, k)...), b.Input(wq, append(lead(), k, n)...)
	b.Node("MatMul", nil, b.AccQuant(xq, wq, k), x, w)
}

// two are operands of an element-wise operator; one of them may be constant
// and smaller.
func (b *builder) two(qa, qb *ir.Quant) (x, y *ir.Value) {
	s := []int{1, b.In(1, 5), b.In(1, 4), b.In(1, 7)}[b.IntN(3):]
	x = b.Input(qa, s...)
	switch b.IntN(4) {
	case 0:
		y = b.Constant(qb, b.Bytes(s[len(s)-1]))
	case 1:
		y = b.Constant(qb, b.Bytes(s...))
	default:
		return x, b.Input(qb, s...)
	}
	if b.Chance(50) {
		x, y = y, x
	}
	return x, y
}

func add(b *builder) {
	qa, qb := b.Quant(), b.Quant()
	x, y := b.two(qa, qb)
	b.Node("Add", b.Clamp(ir.Attrs{}), ir.PerTensor(qa.Scale[0]+qb.Scale[0], int32(b.In(-128, 127))), x, y)
}

func mul(b *builder) {
	qa, qb := b.Quant(), b.Quant()
	x, y := b.two(qa, qb)
	b.Node("Mul", b.Clamp(ir.Attrs{}), ir.PerTensor(qa.Scale[0]*qb.Scale[0]*100, int32(b.In(-128, 127))), x, y)
}

// minMax broadcasts every dimension of either operand now and then.
func minMax(name string) func(b *builder) {
	return func(b *builder) {
		q := b.Quant()
		r := b.In(1, 4)
		sa, sb := make([]int, r), make([]int, r)
		for d := range sa {
			sa[d] = b.In(1, 5)
			sb[d] = sa[d]
			if b.Chance(35) {
				*[]*int{&sa[d], &sb[d]}[b.IntN(2)] = 1
			}
		}
		x := b.Input(q, sa...)
		y := b.Constant(q, b.Bytes(sb[b.IntN(r):]...))
		if b.Chance(70) {
			y = b.Input(q, sb...)
		}
		b.Node(name, nil, q, x, y)
	}
}

func pool(name string) func(b *builder) {
	return func(b *builder) {
		q := b.Quant()
		rank := b.One(1, 2, 2)
		size, kernel := b.Sizes(rank, 9), make([]int, rank)
		for d := range kernel {
			kernel[d] = b.In(1, min(4, size[d]))
		}
		x := b.Input(q, kerneltest.Shape(b.One(1, 1, 2), b.One(1, 3, 8, 17, 20), size)...)
		if strings.HasPrefix(name, "Global") {
			b.Node(name, nil, q, x)
			return
		}
		st, pads := make([]int, rank), make([]int, 2*rank)
		for d := range kernel {
			st[d] = b.In(1, kernel[d])
			pads[d], pads[rank+d] = b.In(0, kernel[d]-1), b.In(0, kernel[d]-1)
		}
		a := ir.Attrs{"kernel_shape": kerneltest.Ints(kernel...), "strides": kerneltest.Ints(st...),
			"pads": kerneltest.Ints(pads...)}
		if b.Chance(40) {
			a["ceil_mode"] = ir.Int(1)
			a["pads"] = kerneltest.Ints(make([]int, 2*rank)...)
		}
		b.Node(name, a, q, x)
	}
}

func softmax(b *builder) {
	r := b.In(1, 4)
	s := make([]int, r)
	for d := range s {
		s[d] = b.In(1, 6)
	}
	b.Node("Softmax", ir.Attrs{"axis": ir.Int(b.IntN(r))}, ir.PerTensor(1.0/256, -128), b.Input(b.Quant(), s...))
}

// disguised is v after a chain that leaves it in another memory order: a max
// pool of 1x1 wants channels last.
func (b *builder) disguised(v *ir.Value) *ir.Value {
	if v.Type.Rank() != 4 || b.Chance(50) {
		return v
	}
	return b.Inner("MaxPool", ir.Attrs{"kernel_shape": kerneltest.Ints(1, 1)}, v.Type.Quant, v).Out[0]
}

func concat(b *builder) {
	r := b.One(1, 2, 3, 4, 4, 4, 5, 6)
	q, axis := b.Quant(), b.IntN(r)
	s := make([]int, r)
	for d := range s {
		s[d] = b.In(1, 4)
	}
	var in []*ir.Value
	for range b.In(1, 4) {
		s[axis] = b.In(1, 5)
		if b.Chance(20) {
			in = append(in, b.Constant(q, b.Bytes(s...)))
		} else {
			in = append(in, b.disguised(b.Input(q, s...)))
		}
	}
	in[0] = b.disguised(b.Input(q, s...))
	b.Node("Concat", ir.Attrs{"axis": ir.Int(axis)}, q, in...)
}

func pad(b *builder) {
	r := b.In(1, 4)
	s, p := make([]int, r), make([]int, 2*r)
	for d := range s {
		s[d] = b.In(1, 5)
		if b.Chance(60) {
			p[d], p[r+d] = b.In(0, 3), b.In(0, 3)
		}
	}
	q := b.Quant()
	in := []*ir.Value{b.disguised(b.Input(q, s...)), b.Constant(nil, tensor.Ints(p...))}
	if b.Chance(50) {
		in = append(in, b.Constant(nil, tensor.Scalar(float32(b.Float64()*4-2))))
	}
	b.Node("Pad", nil, q, in...)
}

// reordered goes through a random memory order and back.
func reordered(b *builder) {
	r := b.In(2, 5)
	s := make([]int, r)
	for d := range s {
		s[d] = b.In(1, 9)
	}
	order := b.Perm(r)
	if r == 5 { // keep two together
		order = append([]int{4}, b.Perm(4)...)
		s[b.IntN(4)] = 1
	}
	q := b.Quant()
	x := b.Input(q, s...)
	n := b.Node("nncc.Relayout", nil, q, x)
	n.Out[0].Type.Order = order
}

// clip has bounds on both sides of the range, in and out of it.
func clip(b *builder) {
	q := b.Quant()
	x := b.disguised(b.Input(q, b.In(1, 3), b.In(1, 5), b.In(1, 5), b.In(1, 5)))
	if b.Chance(30) {
		b.Node("Relu", nil, q, x)
		return
	}
	in := []*ir.Value{x, nil, nil}
	span := float64(q.Scale[0]) * 200
	lo := b.Float64() * span
	if b.Chance(70) {
		in[1] = b.Constant(nil, tensor.Scalar(float32(-lo)))
	}
	if b.Chance(70) {
		in[2] = b.Constant(nil, tensor.Scalar(float32(b.Float64()*span-lo/2)))
	}
	for in[len(in)-1] == nil {
		in = in[:len(in)-1]
	}
	b.Node("Clip", nil, q, in...)
}

func lstm(b *builder) {
	T, B, I, H := b.In(1, 5), b.In(1, 3), b.In(1, 20), b.In(1, 9)
	q := ir.PerTensor(1.0/128, int32(b.In(-20, 20)))
	xq := b.Quant()
	gates := func(size int) *ir.Value {
		w := b.Weights(false, 0, 4*H, size)
		k := &ir.Quant{Axis: 0}
		for u := range 4 * H {
			k.Scale, k.Zero = append(k.Scale, 0.003+0.001*float32(u/H)), append(k.Zero, 0)
		}
		w.Type.Quant = k
		return w
	}
	x, w, rec := b.Input(xq, T, B, I), gates(I), gates(H)
	in := []*ir.Value{x, w, rec, nil, nil, nil}
	if b.Chance(60) {
		in[3] = b.Bias(xq, w.Type.Quant, 4*H)
	}
	power := b.In(-12, -9)
	cell := ir.PerTensor(float32(math.Ldexp(1, power)), 0)
	if b.Chance(40) {
		in[4] = b.Input(q, B, H)
	}
	if b.Chance(40) {
		in[5] = b.G.AddInput(b.Name+"_cell", ir.T(tensor.I16, B, H).WithQuant(tensor.I16, cell))
	}
	for in[len(in)-1] == nil {
		in = in[:len(in)-1]
	}
	dir := []string{"forward", "reverse"}[b.IntN(2)]
	n, err := b.G.Add(op.QLSTM, b.Name, ir.Attrs{"cell_scale_power": ir.Int(power), "direction": ir.Str(dir)},
		b.In(1, 3), in...)
	if err != nil {
		b.T.Fatal(err)
	}
	for i, v := range n.Out {
		v.Type = v.Type.WithQuant(tensor.I8, q)
		if i == 2 {
			v.Type = v.Type.WithQuant(tensor.I16, cell)
		}
	}
	b.Output(n.Out...)
}

// generator makes layers for a row.
type generator struct {
	row   string
	build func(b *builder)
}

// generators are all rows with what makes layers for them.
var generators = []generator{
	{"arm_convolve_wrapper_s8", conv}, {"arm_convolve_wrapper_s8", conv1xN}, {"arm_depthwise_conv_wrapper_s8",
		depthwise}, {"arm_depthwise_conv_wrapper_s8", depthwise3x3},
	{"arm_transpose_conv_wrapper_s8", transposedConv}, {"arm_convolve_s8", upscaled}, {"arm_fully_connected_wrapper_s8",
		gemm}, {"arm_fully_connected_wrapper_s8", matmulConst},
	{"arm_batch_matmul_s8", matmul}, {"arm_elementwise_add_s8", add}, {"arm_elementwise_mul_s8", mul},
	{"arm_minimum_s8", minMax("Min")}, {"arm_maximum_s8", minMax("Max")},
	{"arm_avgpool_s8", pool("AveragePool")}, {"arm_avgpool_s8", pool("GlobalAveragePool")},
	{"arm_max_pool_s8", pool("MaxPool")}, {"arm_max_pool_s8", pool("GlobalMaxPool")},
	{"arm_softmax_s8", softmax}, {"arm_concatenation_s8", concat}, {"arm_pad_s8", pad}, {"arm_transpose_s8", reordered},
	{"arm_maximum_s8", clip}, {"arm_lstm_unidirectional_s8", lstm},
}

// layers are count random layers of every generator.
func layers(count int, seed uint64) []kerneltest.Layer {
	var out []kerneltest.Layer
	for i, g := range slices.Concat(generators, kinds16) {
		for k := range count {
			out = append(out, kerneltest.Layer{Name: fmt.Sprintf("l%d_%d", i, k), Seed: seed + uint64(1000*i+k),
				Build: func(b *kerneltest.Builder) { g.build(&builder{b}) }, Row: g.row})
		}
	}
	return out
}
