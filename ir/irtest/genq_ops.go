// SPDX-License-Identifier: Apache-2.0

package irtest

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// operator adds one random operator behind v; nil: it does not fit.
func (b *netBuilder) operator(v *ir.Value) *ir.Value {
	switch b.IntN(20) {
	case 0, 1, 2, 3:
		return b.product(v)
	case 4, 5, 6:
		return b.binary(v)
	case 7, 8, 9, 10:
		return b.unary(v)
	case 11:
		return b.masked(v)
	case 12:
		return b.pooled(v)
	case 13, 14:
		return b.view(v)
	case 15:
		return b.joined(v)
	case 16:
		return b.reduced(v)
	case 17:
		return b.gathered(v)
	case 18:
		return b.scattered(v)
	default:
		return b.normalised(v)
	}
}

// axis is any axis of v, counted from either end.
func (b *netBuilder) axis(v *ir.Value) int {
	r := v.Type.Rank()
	if b.IntN(3) == 0 {
		return -1 - b.IntN(r)
	}
	return b.IntN(r)
}

func (b *netBuilder) unary(v *ir.Value) *ir.Value {
	switch b.IntN(20) {
	case 0, 1:
		return b.add(op.Relu, nil, v)
	case 2:
		return b.add(op.Sigmoid, nil, v)
	case 3:
		return b.add(op.Tanh, nil, v)
	case 4:
		return b.add(op.LeakyRelu, ir.Attrs{"alpha": ir.Float(float32(b.NormFloat64()))}, v)
	case 5, 6:
		return b.clip(v)
	case 7:
		return b.add(op.HardSwish, nil, v)
	case 8:
		return b.add(op.HardSigmoid, nil, v)
	case 9:
		return b.add(op.Elu, nil, v)
	case 10:
		return b.add(op.Exp, nil, v)
	case 11:
		return b.add(op.Sqrt, nil, b.add(op.Abs, nil, v))
	case 12:
		return b.add(op.Neg, nil, v)
	case 13:
		return b.add(op.Erf, nil, v)
	case 14:
		return b.add(op.Floor, nil, v)
	case 15:
		return b.add(op.Softmax, ir.Attrs{"axis": ir.Int(b.axis(v))}, v)
	case 16:
		return b.add(op.LogSoftmax, ir.Attrs{"axis": ir.Int(b.axis(v))}, v)
	case 17:
		return b.add(op.PRelu, nil, v, b.operand(v))
	case 18: // SiLU as exporters spell it
		return b.add(op.Mul, nil, v, b.add(op.Sigmoid, nil, v))
	default:
		return b.add(op.Pow, nil, b.add(op.Abs, nil, v), b.scalar([]float64{2, 0.5, 3}[b.IntN(3)]))
	}
}

// clip bounds by constants, on one or both sides, inside or outside the range.
func (b *netBuilder) clip(v *ir.Value) *ir.Value {
	var lo, hi *ir.Value
	x, y := b.number(), b.number()
	if x > y {
		x, y = y, x
	}
	if b.IntN(3) > 0 {
		lo = b.scalar(x)
	}
	if b.IntN(3) > 0 {
		hi = b.scalar(y)
	}
	return b.add(op.Clip, nil, v, lo, hi)
}

func (b *netBuilder) binary(v *ir.Value) *ir.Value {
	w := b.operand(v)
	in := []*ir.Value{v, w}
	if b.IntN(3) == 0 {
		in = []*ir.Value{w, v}
	}
	switch b.IntN(12) {
	case 0, 1, 2:
		return b.add(op.Add, nil, in...)
	case 3, 4:
		return b.add(op.Mul, nil, in...)
	case 5:
		return b.add(op.Sub, nil, in...)
	case 6:
		return b.add(op.Div, nil, v, b.scalar(0.1+math.Abs(b.number())))
	case 7:
		return b.add(op.Min, nil, in...)
	case 8:
		return b.add(op.Max, nil, in...)
	case 9:
		return b.add(op.Sum, nil, append(in, b.like(v))...)
	case 10:
		return b.add(op.Mean, nil, append(in, b.operand(v))...)
	default:
		return b.add(op.Min, nil, append(in, b.operand(v))...)
	}
}

// condition is a boolean mask that broadcasts to v: constant or computed.
func (b *netBuilder) condition(v *ir.Value) *ir.Value {
	if b.IntN(3) == 0 {
		return b.add(op.Greater, nil, b.like(v), b.scalar(b.NormFloat64()))
	}
	shape := v.Type.Shape
	if r := len(shape); r > 1 && b.IntN(2) == 0 {
		shape = shape[r-1:]
	}
	d := tensor.New(tensor.Bool, shape)
	for i := range d.Len() {
		d.SetInt(i, int64(b.IntN(2)))
	}
	return b.g.AddConst(b.name("mask"), d)
}

// masked chooses between v and something else, often before a Softmax.
func (b *netBuilder) masked(v *ir.Value) *ir.Value {
	c := b.condition(v)
	w := b.operand(v)
	if b.IntN(2) == 0 {
		w = b.constant(nil, 1)
	}
	in := []*ir.Value{c, v, w}
	if b.IntN(3) == 0 {
		in[1], in[2] = w, v
	}
	y := b.add(op.Where, nil, in...)
	if y != nil && b.IntN(2) == 0 {
		if s := b.add(op.Softmax, ir.Attrs{"axis": ir.Int(-1)}, y); s != nil {
			return s
		}
	}
	return y
}

func (b *netBuilder) spatial(v *ir.Value) int { return v.Type.Rank() - 2 }

func (b *netBuilder) each(n int, f func() int) []int {
	return lists.Make(n, func(int) int { return f() })
}

func (b *netBuilder) pooled(v *ir.Value) *ir.Value {
	k := b.spatial(v)
	if k < 1 {
		return nil
	}
	if b.IntN(5) == 0 {
		return b.add(op.GlobalAveragePool, nil, v)
	}
	attrs := ir.Attrs{"kernel_shape": ir.Ints(b.each(k, func() int { return 1 + b.IntN(3) })...),
		"strides": ir.Ints(b.each(k, func() int { return 1 + b.IntN(2) })...)}
	pads := b.IntN(2) == 0
	if pads {
		attrs["kernel_shape"] = ir.Ints(b.each(k, func() int { return 2 + b.IntN(2) })...)
		attrs["pads"] = ir.Ints(b.each(2*k, func() int { return b.IntN(2) })...)
	}
	if b.IntN(2) == 0 {
		return b.add(op.MaxPool, attrs, v)
	}
	if pads {
		attrs["count_include_pad"] = ir.Int(b.IntN(2))
	}
	return b.add(op.AveragePool, attrs, v)
}

// view moves data: of floats, or of integers between Q and DQ.
func (b *netBuilder) view(v *ir.Value) *ir.Value {
	shape := v.Type.Shape
	r := len(shape)
	if r == 0 {
		return nil
	}
	switch b.IntN(9) {
	case 0:
		return b.add(op.Transpose, ir.Attrs{"perm": ir.Ints(b.Perm(r)...)}, v)
	case 1:
		a := b.IntN(r)
		if shape[a] < 2 {
			return nil
		}
		return b.add(op.Slice, nil, v, b.ints(b.IntN(shape[a]-1)), b.ints(shape[a]), b.ints(a), b.ints(1+b.IntN(2)))
	case 2:
		if r < 2 {
			return nil
		}
		return b.add(op.Reshape, nil, v, b.ints(append(append([]int(nil), shape[:r-2]...), -1)...))
	case 3:
		return b.add(op.Flatten, nil, v)
	case 4:
		a := b.IntN(r + 1)
		u := b.add(op.Unsqueeze, nil, v, b.ints(a))
		if u != nil && b.IntN(2) == 0 && r < 4 {
			return u
		}
		return b.add(op.Squeeze, nil, u, b.ints(a))
	case 5:
		a := b.IntN(r)
		if shape[a] < 2 {
			return nil
		}
		k := 1 + b.IntN(shape[a]-1)
		out := b.addN(op.Split, ir.Attrs{"axis": ir.Int(a)}, 2, v, b.ints(k, shape[a]-k))
		if out == nil {
			return nil
		}
		if v.Type.DType.IsFloat() {
			b.keep(out[1])
		}
		return out[0]
	case 6:
		s := append([]int(nil), shape...)
		a := b.IntN(r)
		if s[a] == 1 {
			s[a] = 2
		}
		return b.add(op.Expand, nil, v, b.ints(s...))
	case 7:
		return b.add(op.Tile, nil, v, b.ints(b.each(r, func() int { return 1 + b.IntN(2) })...))
	default:
		if r != 4 || shape[1]%4 != 0 {
			return b.add(op.Identity, nil, v)
		}
		return b.add(op.DepthToSpace,
			ir.Attrs{"blocksize": ir.Int(2), "mode": ir.Str([]string{"DCR", "CRD"}[b.IntN(2)])}, v)
	}
}

// joined pads, concatenates and resamples.
func (b *netBuilder) joined(v *ir.Value) *ir.Value {
	shape := v.Type.Shape
	r := len(shape)
	if r == 0 {
		return nil
	}
	switch b.IntN(5) {
	case 0, 1:
		p := b.each(2*r, func() int { return b.IntN(2) })
		if r > 2 {
			p[0], p[r] = 0, 0
		}
		in := []*ir.Value{v, b.ints(p...)}
		mode := "constant"
		if b.IntN(5) == 0 {
			mode = "edge"
		} else if b.IntN(4) > 0 {
			in = append(in, b.constant(nil, 1))
		}
		return b.add(op.Pad, ir.Attrs{"mode": ir.Str(mode)}, in...)
	case 2, 3:
		a := b.IntN(r)
		w := b.like(v)
		if b.IntN(2) == 0 {
			s := append([]int(nil), shape...)
			s[a] = 1 + b.IntN(3)
			w = b.constant(s, []float64{0.01, 1, 40}[b.IntN(3)])
		}
		in := []*ir.Value{v, w}
		if b.IntN(3) == 0 {
			in = []*ir.Value{w, v}
		}
		if b.IntN(4) == 0 {
			in = append(in, v)
		}
		return b.add(op.Concat, ir.Attrs{"axis": ir.Int(a)}, in...)
	default:
		if r < 3 {
			return nil
		}
		scales := b.floats(1, r)
		for i := range r {
			s := 1.0
			if i > 1 {
				s = []float64{1, 2, 1.5}[b.IntN(3)]
			}
			scales.Const.SetFloat(i, s)
		}
		attrs := ir.Attrs{"mode": ir.Str("nearest"), "coordinate_transformation_mode": ir.Str("asymmetric"),
			"nearest_mode": ir.Str("floor")}
		if b.IntN(2) == 0 {
			attrs = ir.Attrs{"mode": ir.Str("linear"),
				"coordinate_transformation_mode": ir.Str([]string{"half_pixel", "align_corners"}[b.IntN(2)])}
		}
		return b.add(op.Resize, attrs, v, nil, scales)
	}
}

func (b *netBuilder) reduced(v *ir.Value) *ir.Value {
	r := v.Type.Rank()
	if r == 0 {
		return nil
	}
	switch b.IntN(6) {
	case 0:
		axis := b.g.AddConst(b.name("i"), tensor.Scalar(int64(b.axis(v))))
		return b.add(op.CumSum, ir.Attrs{"exclusive": ir.Int(b.IntN(2))}, v, axis)
	case 1:
		out := b.addN(op.TopK, ir.Attrs{"axis": ir.Int(-1)}, 2, v, b.ints(1+b.IntN(max(1, v.Type.Shape[r-1]))))
		if out == nil {
			return nil
		}
		return out[0]
	}
	d := []*ir.OpDef{op.ReduceMean, op.ReduceMean, op.ReduceSum, op.ReduceMax, op.ReduceMin, op.ReduceL2}[b.IntN(6)]
	return b.add(d, ir.Attrs{"keepdims": ir.Int(b.IntN(2))}, v, b.ints(b.axis(v)))
}

// indices are k constants below n.
func (b *netBuilder) indices(n int, shape ...int) *ir.Value {
	d := tensor.New(tensor.I64, shape)
	for i := range d.Len() {
		d.SetInt(i, int64(b.IntN(n)))
	}
	return b.g.AddConst(b.name("i"), d)
}

// gathered reads by constant indices: from v, or from a constant table by v's
// largest element.
func (b *netBuilder) gathered(v *ir.Value) *ir.Value {
	shape := v.Type.Shape
	if len(shape) == 0 {
		return nil
	}
	a := b.IntN(len(shape))
	switch b.IntN(5) {
	case 0, 1:
		return b.add(op.Gather, ir.Attrs{"axis": ir.Int(a)}, v, b.indices(shape[a], 1+b.IntN(4)))
	case 2:
		s := append([]int(nil), shape...)
		s[a] = 1 + b.IntN(3)
		return b.add(op.GatherElements, ir.Attrs{"axis": ir.Int(a)}, v, b.indices(shape[a], s...))
	case 3:
		return b.add(op.GatherND, nil, v, b.indices(shape[0], 3, 1))
	default:
		at := b.add(op.ArgMax, ir.Attrs{"axis": ir.Int(a), "keepdims": ir.Int(0)}, v)
		if b.IntN(2) == 0 {
			values := b.floats(1, 2)
			values.Const.SetFloat(0, b.number())
			return b.add(op.OneHot, nil, at, b.ints(shape[a]), values)
		}
		return b.add(op.Gather, nil, b.constant([]int{shape[a], 3}, 1), at)
	}
}

// scattered writes constants or another value into v.
func (b *netBuilder) scattered(v *ir.Value) *ir.Value {
	shape := v.Type.Shape
	if len(shape) == 0 {
		return nil
	}
	attrs := ir.Attrs{}
	if b.IntN(4) == 0 {
		attrs["reduction"] = ir.Str([]string{"add", "max", "min"}[b.IntN(3)])
	}
	scale := []float64{0.5, 1, 30}[b.IntN(3)]
	if b.IntN(2) == 0 {
		k := 1 + b.IntN(2)
		idx := tensor.New(tensor.I64, []int{k, 1}) // without duplicates
		for i := range k {
			idx.SetInt(i, int64(min(i, shape[0]-1)))
		}
		return b.add(op.ScatterND, attrs, v, b.g.AddConst(b.name("i"), idx), b.constant(append([]int{k}, shape[1:]...),
			scale))
	}
	s := append([]int(nil), shape...)
	a := b.IntN(len(s))
	s[a] = 1
	attrs["axis"] = ir.Int(a)
	return b.add(op.ScatterElements, attrs, v, b.indices(shape[a], s...), b.constant(s, scale))
}

func (b *netBuilder) normalised(v *ir.Value) *ir.Value {
	shape := v.Type.Shape
	r := len(shape)
	if r < 2 {
		return nil
	}
	switch b.IntN(4) {
	case 0, 1:
		k := shape[r-1]
		return b.add(op.LayerNormalization, ir.Attrs{"axis": ir.Int(-1), "epsilon": ir.Float(1e-3)}, v, b.floats(1, k),
			b.floats(1, k))
	case 2:
		k := shape[1]
		vr := b.floats(1, k)
		for i := range k {
			vr.Const.SetFloat(i, 0.2+math.Abs(vr.Const.Float(i)))
		}
		return b.add(op.BatchNormalization, nil, v, b.floats(1, k), b.floats(1, k), b.floats(1, k), vr)
	default:
		if r < 3 {
			return nil
		}
		return b.add(op.InstanceNormalization, ir.Attrs{"epsilon": ir.Float(1e-2)}, v, b.floats(1, shape[1]),
			b.floats(1, shape[1]))
	}
}

// weights is a constant of seeded values: quantised per tensor or along axis,
// in int8, uint8 or int4, the integers stored or made by a QuantizeLinear;
// sometimes left in float.
func (b *netBuilder) weights(axis, fan int, shape ...int) (v *ir.Value, scales []float32) {
	c := b.floats(1/math.Sqrt(float64(fan)), shape...)
	if !b.quant || b.IntN(16) == 0 {
		return c, nil
	}
	t := []tensor.DType{tensor.I8, tensor.I8, tensor.I8, tensor.I8, tensor.U8, tensor.I4}[b.IntN(6)]
	k := 1
	if b.IntN(2) == 0 {
		k = shape[axis]
	}
	lo, hi := t.IntRange()
	q := &ir.Quant{Axis: -1, Scale: make([]float32, k), Zero: make([]int32, k)}
	attrs := ir.Attrs{}
	if k > 1 {
		q.Axis = axis
		attrs["axis"] = ir.Int(axis)
	}
	bound := 3.5 / math.Sqrt(float64(fan))
	for i := range k {
		q.Scale[i] = float32(bound / float64(hi) * (0.6 + 0.6*b.Float64()))
		if t == tensor.U8 {
			q.Scale[i] *= 2
			q.Zero[i] = 128
			if k == 1 {
				q.Zero[i] += int32(b.IntN(40)) - 20
			}
		}
	}
	if t == tensor.I8 && k == 1 && b.IntN(10) == 0 {
		q.Zero[0] = int32(b.IntN(30)) - 15
	}
	zero := tensor.New(t, nil)
	scale := tensor.Scalar(q.Scale[0])
	if k > 1 {
		zero, scale = tensor.New(t, []int{k}), tensor.Of([]int{k}, append([]float32(nil), q.Scale...))
	}
	for i := range k {
		zero.SetInt(i, int64(min(max(q.Zero[i], int32(lo)), int32(hi))))
	}
	s, z := b.g.AddConst(b.name("scale"), scale), b.g.AddConst(b.name("zero"), zero)
	if b.IntN(6) == 0 {
		if x := b.add(op.QuantizeLinear, attrs, c, s, z); x != nil {
			return b.add(op.DequantizeLinear, attrs.Clone(), x, s, z), q.Scale
		}
	}
	x := b.g.AddConst(b.name("w"), ir.QuantiseEven(c.Const, c.Type.WithQuant(t, q)))
	return b.add(op.DequantizeLinear, attrs, x, s, z), q.Scale
}

// bias of n channels: int32 of the scale of the products, int32 of another
// scale, float, or none.
func (b *netBuilder) bias(x *ir.Value, ws []float32, n int) *ir.Value {
	if b.IntN(4) == 0 {
		return nil
	}
	c := b.floats([]float64{0.3, 0.3, 3}[b.IntN(3)], n)
	p, ok := b.by[x]
	if !b.quant || !ok || ws == nil || b.IntN(4) == 0 {
		return c
	}
	q := &ir.Quant{Axis: -1, Scale: make([]float32, len(ws)), Zero: make([]int32, len(ws))}
	for i, w := range ws {
		q.Scale[i] = float32(p.scale) * w
	}
	attrs := ir.Attrs{}
	if len(ws) > 1 {
		if len(ws) != n {
			return c
		}
		q.Axis = 0
		attrs["axis"] = ir.Int(0)
	}
	if b.IntN(8) == 0 {
		q.Scale[0] *= 3
	}
	scale := tensor.Scalar(q.Scale[0])
	if len(ws) > 1 {
		scale = tensor.Of([]int{n}, append([]float32(nil), q.Scale...))
	}
	d := ir.QuantiseEven(c.Const, c.Type.WithQuant(tensor.I32, q))
	return b.add(op.DequantizeLinear, attrs, b.g.AddConst(b.name("b"), d), b.g.AddConst(b.name("scale"), scale))
}

// product is a layer of weights, or a product of two values.
func (b *netBuilder) product(v *ir.Value) *ir.Value {
	shape := v.Type.Shape
	r := len(shape)
	if r < 2 {
		return nil
	}
	k := b.spatial(v)
	if k == 0 || r > 2 && b.IntN(5) == 0 {
		return b.matrix(v)
	}
	ch, out := shape[1], 1+b.IntN(6)
	size := b.each(k, func() int { return 1 + b.IntN(3) })
	attrs := ir.Attrs{"pads": ir.Ints(b.each(2*k, func() int { return b.IntN(2) })...),
		"strides": ir.Ints(b.each(k, func() int { return 1 + b.IntN(2) })...)}
	n := tensor.Count(size)
	switch b.IntN(6) {
	case 0, 1: // depthwise
		out = ch * (1 + b.IntN(2))
		attrs["group"] = ir.Int(ch)
		w, s := b.weights(0, n, append([]int{out, 1}, size...)...)
		return b.add(op.Conv, attrs, v, w, b.bias(v, s, out))
	case 2:
		w, s := b.weights(1, ch*n, append([]int{ch, out}, size...)...)
		return b.add(op.ConvTranspose, attrs, v, w, b.bias(v, s, out))
	default:
		if b.IntN(5) == 0 {
			attrs["dilations"] = ir.Ints(b.each(k, func() int { return 2 })...)
		}
		w, s := b.weights(0, ch*n, append([]int{out, ch}, size...)...)
		return b.add(op.Conv, attrs, v, w, b.bias(v, s, out))
	}
}

func (b *netBuilder) matrix(v *ir.Value) *ir.Value {
	shape := v.Type.Shape
	r := len(shape)
	k, out := shape[r-1], 1+b.IntN(8)
	switch b.IntN(5) {
	case 0:
		return b.add(op.MatMul, nil, v,
			b.add(op.Transpose, ir.Attrs{"perm": ir.Ints(append(ir.Identity(r-2), r-1, r-2)...)}, b.like(v)))
	case 1, 2:
		if r != 2 {
			break
		}
		attrs, axis, s := ir.Attrs{}, 1, []int{k, out}
		if b.IntN(2) == 0 {
			attrs, axis, s = ir.Attrs{"transB": ir.Int(1)}, 0, []int{out, k}
		}
		if b.IntN(8) == 0 {
			attrs["alpha"] = ir.Float(0.5)
		}
		w, ws := b.weights(axis, k, s...)
		return b.add(op.Gemm, attrs, v, w, b.bias(v, ws, out))
	}
	w, ws := b.weights(1, k, k, out)
	y := b.add(op.MatMul, nil, v, w)
	if y != nil && b.IntN(2) == 0 {
		if c := b.bias(v, ws, out); c != nil {
			return b.add(op.Add, nil, y, c)
		}
	}
	return y
}
