// SPDX-License-Identifier: Apache-2.0

package align_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// coupled is a seeded random network whose dimensions hang together in as many
// ways as operators have: branches that are added, concatenated, split, sliced,
// shuffled, gated, reshaped and multiplied.
func coupled(seed uint64, dt tensor.DType) *ir.Graph {
	b := &gen{Rand: rand.New(rand.NewPCG(seed, 0xa119)), g: ir.New(fmt.Sprintf("coupled%d", seed)), dt: dt}
	b.size = 4 + 2*b.IntN(2)
	b.v = b.g.AddInput("x", ir.T(dt, 1, b.channels(), b.size, b.size))
	b.conv(b.channels(), 1, 3)
	for range 3 + b.IntN(6) {
		b.step()
	}
	if b.IntN(3) > 0 {
		b.head()
	}
	b.g.AddOutput("y", b.v)
	b.g.RemoveDead()
	return b.g
}

type gen struct {
	*rand.Rand
	g    *ir.Graph
	v    *ir.Value
	dt   tensor.DType
	size int
	n    int
}

func (b *gen) channels() int { return []int{1, 2, 3, 4, 5, 6, 7, 10, 11, 12}[b.IntN(10)] }

func (b *gen) c(shape ...int) *ir.Value {
	b.n++
	d := ir.Rand(uint64(b.n)*77+b.Uint64()%1000, b.dt, shape)
	return b.g.AddConst(fmt.Sprintf("c%d", b.n), d)
}

func (b *gen) positive(shape ...int) *ir.Value {
	v := b.c(shape...)
	for i, k := 0, v.Const.Len(); i < k; i++ {
		x := v.Const.Float(i)
		v.Const.SetFloat(i, 0.25+x*x)
	}
	return v
}

func (b *gen) ints(v ...int) *ir.Value {
	b.n++
	return b.g.AddConst(fmt.Sprintf("i%d", b.n), tensor.Ints(v...))
}

// add appends a node that takes the chain's end first.
func (b *gen) add(d *ir.OpDef, attrs ir.Attrs, in ...*ir.Value) *ir.Node {
	b.n++
	name := fmt.Sprintf("%s_%d", d.Name, b.n)
	n := bug.Must(b.g.Add(d, name, attrs, 1, append([]*ir.Value{b.v}, in...)...))
	n.Origin = []string{name}
	b.v = n.Out[0]
	return n
}

func (b *gen) ch() int { return b.v.Type.Shape[1] }

// small reports room for wider tensors.
func (b *gen) small() bool { return b.ch() <= 16 }

func (b *gen) conv(out, group, k int) {
	in := b.ch()
	args := []*ir.Value{b.c(out, in/group, k, k)}
	if b.IntN(3) > 0 {
		args = append(args, b.c(out))
	}
	b.add(op.Conv, ir.Attrs{"group": ir.Int(group), "pads": ir.Ints(k/2, k/2, k/2, k/2)}, args...)
}

func (b *gen) act() {
	switch b.IntN(7) {
	case 0, 1:
		b.add(op.Relu, nil)
	case 2:
		b.add(op.Sigmoid, nil)
	case 3:
		b.add(op.Clip, nil, b.g.AddConst("lo", tensor.FromFloats(b.dt, nil, []float64{0.25})),
			b.g.AddConst("hi", tensor.FromFloats(b.dt, nil, []float64{6})))
	case 4:
		b.add(op.Tanh, nil)
	case 5:
		b.add(op.HardSwish, nil)
	}
}

func (b *gen) step() {
	ch, s := b.ch(), b.size
	switch b.IntN(22) {
	case 0, 1, 2:
		b.conv(b.channels(), 1, 1+2*b.IntN(2))
		b.act()
	case 3:
		b.conv(ch*(1+b.IntN(2)), ch, 3)
		b.act()
	case 4: // groups
		g := 2 + b.IntN(2)
		if ch%g == 0 {
			b.conv(g*(1+b.IntN(4)), g, 1)
		}
	case 5: // residual
		x := b.v
		b.conv(b.channels(), 1, 1)
		b.act()
		b.conv(ch, 1, 3)
		b.add(op.Add, nil, x)
	case 6, 7: // branches side by side
		if !b.small() {
			return
		}
		x := b.v
		var parts []*ir.Value
		for range 1 + b.IntN(3) {
			b.v = x
			if b.IntN(4) > 0 {
				b.conv(b.channels(), 1, 1)
				b.act()
			}
			parts = append(parts, b.v)
		}
		b.v = parts[0]
		b.add(op.Concat, ir.Attrs{"axis": ir.Int([]int{1, -3}[b.IntN(2)])}, parts[1:]...)
	case 8, 9: // a split, one side of which is computed on
		if ch < 2 {
			return
		}
		k := 1 + b.IntN(ch-1)
		args := []*ir.Value{b.v, b.ints(k, ch-k)}
		if ch%2 == 0 && b.IntN(2) == 0 {
			args = args[:1] // halves
		}
		b.n++
		n := bug.Must(b.g.Add(op.Split, fmt.Sprintf("Split_%d", b.n), ir.Attrs{"axis": ir.Int(1)}, 2, args...))
		n.Origin = []string{n.Name}
		b.v = n.Out[1]
		b.conv(b.channels(), 1, 1)
		b.act()
		b.add(op.Concat, ir.Attrs{"axis": ir.Int(1)}, n.Out[0])
	case 10: // part of the channels
		if ch < 3 {
			return
		}
		from := b.IntN(ch - 1)
		to := from + 1 + b.IntN(ch-from)
		b.add(op.Slice, nil, b.ints(from), b.ints([]int{to, to - ch}[b.IntN(1)]), b.ints([]int{1, -3}[b.IntN(2)]))
	case 11: // zero channels, as in parameter-free shortcuts
		if b.small() {
			b.add(op.Pad, nil, b.ints(0, b.IntN(3), 0, 0, 0, b.IntN(3), 0, 0))
		}
	case 12:
		b.add(op.BatchNormalization, nil, b.c(ch), b.c(ch), b.c(ch), b.positive(ch))
	case 13: // per channel
		switch b.IntN(4) {
		case 0:
			b.add(op.Mul, nil, b.c(ch, 1, 1))
		case 1:
			b.add(op.Add, nil, b.c(1, ch, 1, 1))
		case 2:
			b.add(op.Div, nil, b.positive(ch, 1, 1))
		case 3:
			b.add(op.PRelu, nil, b.c(ch, 1, 1))
		}
	case 14: // a gate
		x := b.v
		b.add(op.GlobalAveragePool, nil)
		b.conv(b.channels(), 1, 1)
		b.act()
		b.conv([]int{ch, 1}[b.IntN(2)], 1, 1)
		b.add(op.Sigmoid, nil)
		b.add(op.Mul, nil, x)
	case 15: // channel shuffle
		g := 2 + b.IntN(2)
		if ch%g != 0 {
			return
		}
		shape := []int{1, g, ch / g, s, s}
		if b.IntN(2) == 0 {
			shape[2] = -1
		}
		b.add(op.Reshape, nil, b.ints(shape...))
		b.add(op.Transpose, ir.Attrs{"perm": ir.Ints(0, 2, 1, 3, 4)})
		b.add(op.Reshape, nil, b.ints(1, []int{-1, ch}[b.IntN(2)], s, s))
	case 16:
		if b.IntN(2) == 0 && b.ch() <= 6 && s%2 == 0 {
			b.add(op.SpaceToDepth, ir.Attrs{"blocksize": ir.Int(2), "mode": ir.Str([]string{"DCR", "CRD"}[b.IntN(2)])})
			b.conv(b.channels(), 1, 1)
			b.conv(4*b.channels(), 1, 1)
			b.add(op.DepthToSpace, ir.Attrs{"blocksize": ir.Int(2), "mode": ir.Str([]string{"DCR", "CRD"}[b.IntN(2)])})
		}
	case 17:
		b.add([]*ir.OpDef{op.MaxPool, op.AveragePool}[b.IntN(2)], ir.Attrs{"kernel_shape": ir.Ints(3, 3),
			"pads": ir.Ints(1, 1, 1, 1)})
	case 18: // channels last
		b.add(op.Transpose, ir.Attrs{"perm": ir.Ints(0, 2, 3, 1)})
		k := b.channels()
		switch b.IntN(3) {
		case 0:
			b.add(op.MatMul, nil, b.c(ch, k))
			b.add(op.Add, nil, b.c(k))
		case 1:
			b.add(op.LayerNormalization, ir.Attrs{"axis": ir.Int(-1)}, b.c(ch), b.c(ch))
		default:
			b.add(op.Softmax, ir.Attrs{"axis": ir.Int([]int{-1, 1}[b.IntN(2)])})
		}
		b.add(op.Transpose, ir.Attrs{"perm": ir.Ints(0, 3, 1, 2)})
	case 19: // attention over pixels: a product of two activations
		b.add(op.Reshape, nil, b.ints([][]int{{1, ch, s * s}, {0, 0, -1}, {0, -1, s * s}}[b.IntN(3)]...))
		x := b.v
		b.add(op.Transpose, ir.Attrs{"perm": ir.Ints(0, 2, 1)})
		b.add(op.MatMul, nil, x)
		b.add(op.Softmax, ir.Attrs{"axis": ir.Int(-1)})
		t := b.v
		b.v = x
		b.add(op.MatMul, nil, t)
		b.add(op.Reshape, nil, b.ints([][]int{{1, ch, s, s}, {0, 0, s, s}, {1, -1, s, s}}[b.IntN(3)]...))
	case 20:
		x := b.v
		b.add([]*ir.OpDef{op.ReduceSum, op.ReduceMean, op.ReduceMax}[b.IntN(3)], ir.Attrs{"keepdims": ir.Int(1)},
			b.ints(1))
		b.add(op.Sub, nil, x)
	case 21:
		k := b.channels()
		w := b.c(ch, k, 2, 2)
		b.add(op.ConvTranspose, nil, slices.Clip([]*ir.Value{w, b.c(k)})[:1+b.IntN(2)]...)
		b.add(op.Slice, nil, b.ints(0, 1), b.ints(s, s+1), b.ints(2, 3))
	}
}

func (b *gen) head() {
	ch := b.ch()
	switch b.IntN(5) {
	case 0:
		b.add(op.GlobalAveragePool, nil)
		b.add(op.Flatten, nil)
	case 1:
		b.add(op.ReduceMean, ir.Attrs{"keepdims": ir.Int(0)}, b.ints(2, 3))
	case 2:
		b.add(op.Reshape, nil, b.ints([]int{0, 1}[b.IntN(2)], -1))
	case 3:
		b.add(op.Transpose, ir.Attrs{"perm": ir.Ints(0, 2, 3, 1)})
		b.add(op.Flatten, nil)
	default:
		b.add(op.Reshape, nil, b.ints(1, ch*b.size*b.size))
	}
	for range 1 + b.IntN(2) {
		k, out := b.v.Type.Shape[1], b.channels()
		if b.IntN(2) == 0 {
			b.add(op.Gemm, ir.Attrs{"transB": ir.Int(1)}, b.c(out, k), b.c(out))
		} else {
			b.add(op.Gemm, nil, b.c(k, out), b.c(1))
		}
		b.act()
	}
}
