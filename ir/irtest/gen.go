// SPDX-License-Identifier: Apache-2.0

package irtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Gen is a seeded random float network as trainers export them: a chain of
// convolutions (pads on either side, groups, strides, dilation, with and
// without bias), depthwise and transposed convolutions, BatchNormalizations,
// activations, pools, Pad, Slice, Split and Concat, residual Adds, constant
// maps per channel, and often a head of Flatten and Gemm or of global pooling;
// one in four is 1-D. dt is the float type of all values. The same seed gives
// the same graph on every machine.
func Gen(seed uint64, dt tensor.DType) *ir.Graph {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	b := &builder{Rand: r, g: ir.New(fmt.Sprintf("gen%d", seed)), dims: 2, seed: seed * 1000, dt: dt}
	if r.IntN(4) == 0 {
		b.dims = 1
	}
	shape := []int{1, 1 + r.IntN(6)}
	if r.IntN(5) == 0 {
		shape[0] = 2
	}
	for range b.dims {
		shape = append(shape, 5+r.IntN(7))
	}
	b.v = b.g.AddInput("x", ir.T(dt, shape...))
	for range 3 + r.IntN(8) {
		b.seen = append(b.seen, b.v)
		b.step()
	}
	if r.IntN(3) > 0 {
		b.head()
	}
	b.g.AddOutput("y", b.v)
	if r.IntN(6) == 0 { // a second output from the middle
		if m := b.seen[r.IntN(len(b.seen))]; m.Def != nil && m != b.v {
			b.g.AddOutput("mid", m)
		}
	}
	b.g.RemoveDead()
	return b.g
}

type builder struct {
	*rand.Rand
	g    *ir.Graph
	v    *ir.Value   // end of the chain
	seen []*ir.Value // what residual connections may read
	dims int
	dt   tensor.DType
	seed uint64
	n    int
}

// add appends a node to the chain; a node that does not fit is left out.
func (b *builder) add(d *ir.OpDef, attrs ir.Attrs, in ...*ir.Value) bool {
	b.n++
	name := fmt.Sprintf("%s_%d", d.Name, b.n)
	n, err := b.g.Add(d, name, attrs, 1, append([]*ir.Value{b.v}, in...)...)
	if err != nil || n.Out[0].Type.Elems() == 0 || n.Out[0].Type.Elems() > 4000 {
		if err == nil {
			b.g.Remove(n)
		}
		return false
	}
	n.Origin = []string{name}
	b.v = n.Out[0]
	return true
}

// c is a seeded constant.
func (b *builder) c(shape ...int) *ir.Value {
	b.seed++
	return b.g.AddConst(fmt.Sprintf("c%d", b.seed), ir.Rand(b.seed, b.dt, shape))
}

// positive is a seeded constant of values from 0.1 up.
func (b *builder) positive(shape ...int) *ir.Value {
	v := b.c(shape...)
	for i, k := 0, v.Const.Len(); i < k; i++ {
		v.Const.SetFloat(i, math.Abs(v.Const.Float(i))+0.125)
	}
	return v
}

func (b *builder) scalar(v float64) *ir.Value {
	return b.g.AddConst("k", tensor.FromFloats(b.dt, nil, []float64{v}))
}

func (b *builder) ints(v ...int) *ir.Value {
	b.seed++
	return b.g.AddConst(fmt.Sprintf("i%d", b.seed), tensor.Ints(v...))
}

// per draws one value a spatial dimension.
func (b *builder) per(f func() int) []int {
	var s []int
	for range b.dims {
		s = append(s, f())
	}
	return s
}

func (b *builder) pads(most int) ir.Attr {
	if b.IntN(3) == 0 {
		return ir.Ints(make([]int, 2*b.dims)...)
	}
	return ir.Ints(append(b.per(func() int { return b.IntN(most + 1) }),
		b.per(func() int { return b.IntN(most + 1) })...)...)
}

func (b *builder) step() {
	shape := b.v.Type.Shape
	ch := shape[1]
	perChannel := append([]int{ch}, slices.Repeat([]int{1}, b.dims)...)
	switch b.IntN(16) {
	case 0, 1, 2:
		b.conv()
		if b.IntN(2) == 0 {
			b.batchNorm()
		}
	case 3:
		b.depthwise()
	case 4:
		b.convTranspose()
		if b.IntN(2) == 0 {
			b.batchNorm()
		}
	case 5:
		b.batchNorm()
	case 6, 7:
		b.activation()
	case 8:
		b.pool()
	case 9:
		b.residual()
	case 10:
		b.concat()
	case 11: // a map per channel, on either side
		switch b.IntN(4) {
		case 0:
			b.add(op.Mul, nil, b.c(perChannel...))
		case 1:
			b.add(op.Add, nil, b.c(perChannel...))
		case 2:
			b.add(op.Sub, nil, b.c(1))
		default:
			b.add(op.Div, nil, b.positive(append([]int{1}, perChannel...)...))
		}
	case 12:
		p := make([]int, 2*(2+b.dims))
		for d := range b.dims {
			p[2+d], p[4+b.dims+d] = b.IntN(3), b.IntN(3)
		}
		in := []*ir.Value{b.ints(p...)}
		mode := []string{"constant", "constant", "constant", "edge"}[b.IntN(4)]
		if mode == "constant" && b.IntN(3) == 0 {
			in = append(in, b.c())
		}
		if b.add(op.Pad, ir.Attrs{"mode": ir.Str(mode)}, in...) && b.IntN(3) > 0 {
			if b.IntN(2) == 0 {
				b.conv()
			} else {
				b.pool()
			}
		}
	case 13:
		last := shape[len(shape)-1]
		b.add(op.Slice, nil, b.ints(b.IntN(2)), b.ints(last-b.IntN(2)), b.ints(1+b.dims), b.ints(1+b.IntN(2)))
	case 14:
		b.add(op.Identity, nil)
		b.add(op.Dropout, nil)
	case 15: // there and back
		p := append([]int{0}, append(ir.Identity(2 + b.dims)[2:], 1)...)
		q := append([]int{0, 1 + b.dims}, ir.Identity(1 + b.dims)[1:]...)
		b.add(op.Transpose, ir.Attrs{"perm": ir.Ints(p...)})
		b.activation()
		b.add(op.Transpose, ir.Attrs{"perm": ir.Ints(q...)})
	}
}

func (b *builder) bias(n int) []*ir.Value {
	if b.IntN(2) == 0 {
		return nil
	}
	return []*ir.Value{b.c(n)}
}

// group draws a divisor of a and n.
func (b *builder) group(a, n int) int {
	g := []int{1, 1, 1, 2, 3}[b.IntN(5)]
	if a%g != 0 || n%g != 0 {
		return 1
	}
	return g
}

func (b *builder) conv() {
	ch := b.v.Type.Shape[1]
	out := 1 + b.IntN(6)
	if b.IntN(3) == 0 {
		out = ch
	}
	g := b.group(ch, out)
	k := b.per(func() int { return 1 + b.IntN(3) })
	attrs := ir.Attrs{"group": ir.Int(g), "strides": ir.Ints(b.per(func() int { return 1 + b.IntN(2) })...),
		"pads": b.pads(2)}
	if b.IntN(4) == 0 {
		attrs["dilations"] = ir.Ints(b.per(func() int { return 2 })...)
	}
	if b.IntN(5) == 0 {
		delete(attrs, "pads")
		attrs["auto_pad"] = ir.Str([]string{"SAME_UPPER", "SAME_LOWER", "VALID"}[b.IntN(3)])
	}
	b.add(op.Conv, attrs, append([]*ir.Value{b.c(append([]int{out, ch / g}, k...)...)}, b.bias(out)...)...)
}

func (b *builder) depthwise() {
	ch := b.v.Type.Shape[1]
	out := ch * (1 + b.IntN(2))
	k := b.per(func() int { return 1 + b.IntN(3) })
	b.add(op.Conv, ir.Attrs{"group": ir.Int(ch), "pads": b.pads(1)},
		append([]*ir.Value{b.c(append([]int{out, 1}, k...)...)}, b.bias(out)...)...)
}

func (b *builder) convTranspose() {
	ch := b.v.Type.Shape[1]
	out := 1 + b.IntN(4)
	g := b.group(ch, out)
	k := b.per(func() int { return 1 + b.IntN(3) })
	attrs := ir.Attrs{"group": ir.Int(g), "strides": ir.Ints(b.per(func() int { return 1 + b.IntN(2) })...)}
	if b.IntN(2) == 0 {
		attrs["pads"] = b.pads(1)
	}
	b.add(op.ConvTranspose, attrs, append([]*ir.Value{b.c(append([]int{ch, out / g}, k...)...)}, b.bias(out)...)...)
}

func (b *builder) batchNorm() {
	ch := b.v.Type.Shape[1]
	b.add(op.BatchNormalization, ir.Attrs{"epsilon": ir.Float(1e-3)}, b.c(ch), b.c(ch), b.c(ch), b.positive(ch))
}

func (b *builder) activation() {
	switch b.IntN(7) {
	case 0, 1:
		b.add(op.Relu, nil)
	case 2:
		b.add(op.Clip, nil, b.scalar(0), b.scalar(6))
	case 3:
		b.add(op.Clip, nil, nil, b.scalar(0.5))
	case 4:
		b.add(op.LeakyRelu, ir.Attrs{"alpha": ir.Float(0.1)})
	case 5:
		x := b.v
		if b.add(op.Sigmoid, nil) && b.IntN(2) == 0 {
			b.add(op.Mul, nil, x)
		}
	case 6:
		b.add(op.Tanh, nil)
	}
}

func (b *builder) pool() {
	d := []*ir.OpDef{op.MaxPool, op.MaxPool, op.AveragePool}[b.IntN(3)]
	attrs := ir.Attrs{"kernel_shape": ir.Ints(b.per(func() int { return 2 + b.IntN(2) })...),
		"strides": ir.Ints(b.per(func() int { return 1 + b.IntN(2) })...)}
	if b.IntN(2) == 0 {
		attrs["pads"] = b.pads(1)
	}
	attrs["ceil_mode"] = ir.Int(b.IntN(2))
	if d == op.AveragePool {
		attrs["count_include_pad"] = ir.Int(b.IntN(2))
	}
	b.add(d, attrs)
}

func (b *builder) residual() {
	for range 4 {
		o := b.seen[b.IntN(len(b.seen))]
		if o != b.v && slices.Equal(o.Type.Shape, b.v.Type.Shape) {
			b.add(op.Add, nil, o)
			return
		}
	}
	b.add(op.Add, nil, b.v)
}

func (b *builder) concat() {
	if b.v.Type.Shape[1] > 8 {
		return
	}
	o := b.seen[b.IntN(len(b.seen))]
	if !b.add(op.Concat, ir.Attrs{"axis": ir.Int(1)}, o) {
		b.add(op.Concat, ir.Attrs{"axis": ir.Int(-1)}, b.v)
	}
}

// head ends the network in a matrix product.
func (b *builder) head() {
	switch b.IntN(4) {
	case 0:
		b.add(op.GlobalAveragePool, nil)
		b.add(op.Flatten, nil)
	case 1:
		b.add(op.ReduceMean, ir.Attrs{"keepdims": ir.Int(0)}, b.ints(ir.Identity(2 + b.dims)[2:]...))
	case 2:
		b.add(op.Reshape, nil, b.ints(0, -1))
		if b.IntN(2) == 0 {
			b.activation()
		}
	default:
		b.add(op.Flatten, nil)
	}
	for range 1 + b.IntN(2) {
		k, out := b.v.Type.Shape[1], 1+b.IntN(5)
		switch b.IntN(3) {
		case 0:
			attrs := ir.Attrs{"transB": ir.Int(1)}
			if b.IntN(3) == 0 {
				attrs["alpha"], attrs["beta"] = ir.Float(0.5), ir.Float(2)
			}
			b.add(op.Gemm, attrs, append([]*ir.Value{b.c(out, k)}, b.bias(out)...)...)
		case 1:
			b.add(op.Gemm, nil, append([]*ir.Value{b.c(k, out)}, b.bias(1)...)...)
		default:
			b.add(op.MatMul, nil, b.c(k, out))
			if b.IntN(2) == 0 {
				b.add(op.Add, nil, b.c(out))
			}
		}
		if b.IntN(3) == 0 {
			b.batchNorm()
		}
		if b.IntN(2) == 0 {
			b.activation()
		}
	}
}
