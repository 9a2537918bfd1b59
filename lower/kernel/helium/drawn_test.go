// SPDX-License-Identifier: Apache-2.0

package helium_test

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kerneltest"
)

func gemm(b *builder) {
	m, k, n := b.One(1, 1, 2, 3, 5), b.In(1, 100), channels(b, 40)
	if b.Chance(50) {
		k = 16 * b.In(1, 24)
	}
	xq := b.Quant()
	x, w := b.Input(xq, m, k), narrowed(b, extreme(b, b.Weights(b.Chance(50), 0, n, k)))
	in := []*ir.Value{x, w}
	if b.Chance(60) {
		in = append(in, b.Bias(xq, w.Type.Quant, n))
	}
	b.Node("Gemm", b.Clamp(ir.Attrs{"transB": ir.Int(1)}), output(b, xq, w.Type.Quant, k), in...)
}

// add has scales at random, and equal ones with ties in every other result.
func add(b *builder) {
	qa, qb := b.Quant(), b.Quant()
	if b.Chance(30) {
		qb.Scale[0] = qa.Scale[0]
	}
	q := ir.PerTensor(qa.Scale[0]+qb.Scale[0]*float32(b.One(0, 1)), int32(b.In(-128, 127)))
	if b.Chance(20) {
		q.Scale[0] *= float32(math.Exp2(float64(b.In(-2, 8))))
	}
	s := []int{1, b.In(1, 5), b.In(1, 4), b.In(1, 30)}
	x, y := b.Input(qa, s...), b.Input(qb, s...)
	if b.Chance(20) {
		y = b.Constant(qb, b.Bytes(s[3]))
	}
	b.Node("Add", b.Clamp(ir.Attrs{}), q, x, y)
}

// reordered exchanges channels and pixels, and sometimes more.
func reordered(b *builder) {
	s := []int{b.In(1, 3), b.One(1, 3, 5, 17, 18, 40), b.In(1, 9), b.In(1, 30)}
	order := ir.NHWC(4)
	if b.Chance(30) {
		order = b.Perm(4)
	}
	q := b.Quant()
	x := b.Input(q, s...)
	n := b.Node("nncc.Relayout", nil, q, x)
	n.Out[0].Type.Order = order
	if b.Chance(40) { // and back
		m := b.Inner("nncc.Relayout", nil, q, n.Out[0])
		b.Output(m.Out...)
	}
}

// scattered reverses all dimensions, which exchanges no two neighbours.
func scattered(b *builder) {
	q := b.Quant()
	n := b.Node("nncc.Relayout", nil, q, b.Input(q, b.In(2, 4), b.In(2, 18), b.In(2, 9), b.In(2, 30)))
	n.Out[0].Type.Order = []int{3, 2, 1, 0}
}

// pool has windows of up to 16 elements mostly, and as many percent of large ones
// as told.
func pool(name string, large int) func(b *builder) {
	return func(b *builder) {
		q := b.Quant()
		rank := b.One(1, 2, 2)
		size, kernel := b.Sizes(rank, 12), make([]int, rank)
		most := b.One(4, 4, 12)
		if b.Chance(large) {
			size[0], most = b.In(200, 400), 300
		}
		st, pads := make([]int, rank), make([]int, 2*rank)
		for d := range kernel {
			kernel[d] = b.In(1, min(most, size[d]))
			st[d] = b.In(1, kernel[d])
			pads[d], pads[rank+d] = b.In(0, kernel[d]-1), b.In(0, kernel[d]-1)
		}
		x := b.Input(q, kerneltest.Shape(b.One(1, 1, 2), channels(b, 40), size)...)
		b.Node(name, b.Clamp(ir.Attrs{"kernel_shape": kerneltest.Ints(kernel...), "strides": kerneltest.Ints(st...),
			"pads": kerneltest.Ints(pads...)}), q, x)
	}
}

// softmax has long rows and short ones, and scales from flat to steep.
func softmax(b *builder) {
	size := b.One(1, 2, 3, 4, 5, 16, 17, b.In(6, 300))
	q := ir.PerTensor(float32(math.Exp2(float64(b.In(-9, 1)))*(0.5+b.Float64())), int32(b.In(-128, 127)))
	s := []int{b.In(1, 3), 256/size + b.In(1, 4), size}
	a := ir.Attrs{"axis": ir.Int(-1)}
	if b.Chance(30) {
		s[1], s[2] = s[2], s[1]
		a["axis"] = ir.Int(1)
	}
	b.Node("Softmax", a, ir.PerTensor(op.SoftmaxScale, op.SoftmaxZero), b.Input(q, s...))
}

func recurrent(gru, wide bool) func(b *builder) {
	return func(b *builder) {
		b.Written(func(w *kerneltest.Writer) {
			w.RecurrentOf(gru, wide, w.In(1, 5), w.In(1, 2), w.In(1, 70), w.In(1, 40))
		})
	}
}

func batchRow(b *builder) { b.Written((*kerneltest.Writer).BatchMatMulRow) }

func batch(b *builder) { b.Written(func(w *kerneltest.Writer) { w.BatchMatMul() }) }

func batch16(b *builder) { b.Written((*kerneltest.Writer).BatchMatMul16) }

// wideGemm is a product on int16 data.
func wideGemm(b *builder) {
	b.Written(func(w *kerneltest.Writer) { w.Gemm16(w.One(1, 1, 2, 3, 5), w.In(1, 150), channels(b, 40)) })
}

// limit is a Relu by itself.
func limit(b *builder) {
	q := b.Quant()
	b.Node("Relu", ir.Attrs{}, q, b.Input(q, b.In(1, 3), channels(b, 70), b.In(1, 5)))
}

// line is a constant factor and summand for each channel.
func line(b *builder) {
	c, rank := max(2, channels(b, 40)), b.One(1, 2, 2)
	convolution(b, rank, c, c, c, square(rank, 1), 9)
}

func pair(b *builder) { b.Written(func(w *kerneltest.Writer) { w.Pair() }) }

func sum(b *builder) { b.Written(func(w *kerneltest.Writer) { w.Sum() }) }

func softmaxPairs(b *kerneltest.Writer) { b.Softmax(b.In(1, 300), 2) }

func phased16(b *builder) { b.Written((*kerneltest.Writer).ConvTranspose16) }
