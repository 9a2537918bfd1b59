// SPDX-License-Identifier: Apache-2.0

// Package kerneltest drives kernels by random layers: it compiles graphs with a
// table of kernels, runs the emitted C on the host under the sanitizers, on QEMU
// and on an installed CMSIS-NN, and compares with the interpreter.
package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Layer is one random operator with int8 operands: the graph input and output
// names begin with its own, so that layers can stand side by side in a graph.
type Layer struct {
	Name  string
	Seed  uint64
	Build func(b *Builder)
	// Row is the kernel that must take it.
	Row string
}

// Builder adds a layer to a graph.
type Builder struct {
	*rand.Rand
	T    testing.TB
	G    *ir.Graph
	Name string
	n    int
}

// Add adds the layer to g.
func (l Layer) Add(t testing.TB, g *ir.Graph) {
	b := &Builder{rand.New(rand.NewPCG(l.Seed, 77)), t, g, l.Name, 0}
	l.Build(b)
}

// In is a number from lo to hi.
func (b *Builder) In(lo, hi int) int { return lo + b.IntN(hi-lo+1) }

// One is one of the numbers.
func (b *Builder) One(v ...int) int { return v[b.IntN(len(v))] }

// Chance is true pct times in a hundred.
func (b *Builder) Chance(pct int) bool { return b.IntN(100) < pct }

// Quant is a random quantisation of an activation.
func (b *Builder) Quant() *ir.Quant {
	return ir.PerTensor(float32(0.01+0.1*b.Float64()), int32(b.In(-128, 127)))
}

// Input is an int8 graph input.
func (b *Builder) Input(q *ir.Quant, shape ...int) *ir.Value {
	return b.InputOf(tensor.I8, q, shape...)
}

// InputOf is a graph input of an integer type.
func (b *Builder) InputOf(d tensor.DType, q *ir.Quant, shape ...int) *ir.Value {
	b.n++
	return b.G.AddInput(fmt.Sprintf("%s_i%d", b.Name, b.n), ir.T(d, slices.Clone(shape)...).WithQuant(d, q))
}

// Bytes are random int8 data.
func (b *Builder) Bytes(shape ...int) *tensor.Dense {
	v := make([]int8, tensor.Count(shape))
	for i := range v {
		v[i] = int8(b.In(-128, 127))
	}
	return tensor.Of(slices.Clone(shape), v)
}

// Constant is d with a quantisation.
func (b *Builder) Constant(q *ir.Quant, d *tensor.Dense) *ir.Value {
	b.n++
	v := b.G.AddConst(fmt.Sprintf("%s_c%d", b.Name, b.n), d)
	v.Type.Quant = q
	return v
}

// Weights are int8 with one scale, or one for every element along axis.
func (b *Builder) Weights(perChannel bool, axis int, shape ...int) *ir.Value {
	q := ir.PerTensor(float32(0.002+0.01*b.Float64()), 0)
	if perChannel {
		q = &ir.Quant{Axis: axis}
		for range shape[axis] {
			q.Scale, q.Zero = append(q.Scale, float32(0.002+0.01*b.Float64())), append(q.Zero, 0)
		}
	}
	return b.Constant(q, b.Bytes(shape...))
}

// Bias is int32 with the scale of x times w, for n channels.
func (b *Builder) Bias(x, w *ir.Quant, n int) *ir.Value {
	q := &ir.Quant{Axis: 0}
	v := make([]int32, n)
	for c := range v {
		v[c] = int32(b.In(-20000, 20000))
		q.Scale, q.Zero = append(q.Scale, x.Scale[0]*w.ScaleAt(c%len(w.Scale))), append(q.Zero, 0)
	}
	return b.Constant(q, tensor.Of([]int{n}, v))
}

// AccQuant is a quantisation of sums of depth products that uses the range.
func (b *Builder) AccQuant(x, w *ir.Quant, depth int) *ir.Quant {
	s := float64(x.Scale[0]) * float64(w.Scale[0]) * math.Sqrt(float64(depth)) * 70 * 70 / 50 * (0.5 + b.Float64())
	return ir.PerTensor(float32(s), int32(b.In(-100, 100)))
}

// Node adds the operator and makes its results outputs.
func (b *Builder) Node(name string, a ir.Attrs, q *ir.Quant, in ...*ir.Value) *ir.Node {
	b.T.Helper()
	n := b.Inner(name, a, q, in...)
	b.Output(n.Out...)
	return n
}

// Output makes values graph outputs.
func (b *Builder) Output(vs ...*ir.Value) {
	for i, v := range vs {
		b.G.AddOutput(fmt.Sprintf("%s_o%d", b.Name, i), v)
	}
}

// Inner is node without making its result an output.
func (b *Builder) Inner(name string, a ir.Attrs, q *ir.Quant, in ...*ir.Value) *ir.Node {
	b.T.Helper()
	domain := ""
	if rest, ok := strings.CutPrefix(name, "nncc."); ok {
		domain, name = "nncc", rest
	}
	b.n++
	n, err := b.G.Add(op.Get(domain, name), fmt.Sprintf("%s_n%d", b.Name, b.n), a, 1, in...)
	if err != nil {
		b.T.Fatalf("%s: %v", b.Name, err)
	}
	n.Out[0].Type = n.Out[0].Type.WithQuant(tensor.I8, q)
	return n
}

// Clamp sometimes absorbs an activation.
func (b *Builder) Clamp(a ir.Attrs) ir.Attrs {
	if b.Chance(40) {
		a["act_min"] = ir.Float(0)
		if b.Chance(50) {
			a["act_max"] = ir.Float(6)
		}
	}
	return a
}

// Ints is a list attribute.
func Ints(v ...int) ir.Attr { return ir.Ints(v...) }

// Shape is [n, c, spatial...].
func Shape(n, c int, spatial []int) []int { return append([]int{n, c}, spatial...) }

// SpatialAttrs are random strides, dilations and pads that fit the input.
func (b *Builder) SpatialAttrs(size, kernel []int, dilate bool) ir.Attrs {
	r := len(size)
	st, dl, pads := make([]int, r), make([]int, r), make([]int, 2*r)
	for d := range st {
		st[d], dl[d] = b.In(1, 3), 1
		if dilate && b.Chance(30) {
			dl[d] = 2
		}
		for span := dl[d]*(kernel[d]-1) + 1; size[d]+pads[d]+pads[r+d] < span; {
			pads[b.One(d, r+d)]++
		}
		if b.Chance(60) {
			pads[d] = max(pads[d], b.In(0, (kernel[d]-1)*dl[d]))
			pads[r+d] = max(pads[r+d], b.In(0, (kernel[d]-1)*dl[d]))
		}
	}
	a := ir.Attrs{"strides": Ints(st...), "pads": Ints(pads...)}
	if dilate {
		a["dilations"] = Ints(dl...)
	}
	return a
}

// Sizes are random spatial sizes of rank r.
func (b *Builder) Sizes(r, hi int) []int {
	s := make([]int, r)
	for d := range s {
		s[d] = b.In(1, hi)
	}
	return s
}

// ConvOf adds a convolution with random spatial geometry: kernels of size k or 1,
// inputs up to hi.
func (b *Builder) ConvOf(rank, batch, group, ci, co, k, hi int) {
	size, kernel := b.Sizes(rank, hi), make([]int, rank)
	for d := range kernel {
		kernel[d] = b.One(k, k, 1)
	}
	xq := b.Quant()
	x := b.Input(xq, Shape(batch, ci, size)...)
	w := b.Weights(b.Chance(70), 0, Shape(co, ci/group, kernel)...)
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
	b.Node("Conv", b.Clamp(a), b.AccQuant(xq, w.Type.Quant, depth), in...)
}
