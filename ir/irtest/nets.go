// SPDX-License-Identifier: Apache-2.0

package irtest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Networks of a kind, as exporters write them, with sizes by a seed.

// net builds a graph; weights are such that values keep their size.
type net struct {
	g    *ir.Graph
	dt   tensor.DType
	seed uint64
	r    *rand.Rand
}

func newNet(name string, seed uint64, dt tensor.DType) *net {
	return &net{g: ir.New(fmt.Sprintf("%s%d", name, seed)), dt: dt, seed: seed * 7919,
		r: rand.New(rand.NewPCG(seed, 5))}
}

func (m *net) in(shape ...int) *ir.Value {
	return m.g.AddInput(fmt.Sprintf("x%d", len(m.g.In)), ir.T(m.dt, shape...))
}

func (m *net) out(v *ir.Value) { m.g.AddOutput(fmt.Sprintf("y%d", len(m.g.Out)), v) }

func (m *net) ops(d *ir.OpDef, attrs ir.Attrs, outs int, in ...*ir.Value) []*ir.Value {
	n := bug.Must(m.g.Add(d, fmt.Sprintf("%s_%d", d.Name, len(m.g.Nodes)), attrs, outs, in...))
	n.Origin = []string{n.Name}
	return n.Out
}

func (m *net) op(d *ir.OpDef, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	return m.ops(d, attrs, 1, in...)[0]
}

// w is a seeded constant of values up to size.
func (m *net) w(size float64, shape ...int) *ir.Value {
	m.seed++
	f := ir.Rand(m.seed, m.dt, shape).Floats()
	for i := range f {
		f[i] *= size
	}
	return m.g.AddConst(fmt.Sprintf("c%d", m.seed), tensor.FromFloats(m.dt, shape, f))
}

// weights are constants for sums of k products.
func (m *net) weights(k int, shape ...int) *ir.Value { return m.w(1.5/math.Sqrt(float64(k)), shape...) }

func (m *net) k(x float64) *ir.Value {
	return m.g.AddConst("k", tensor.FromFloats(m.dt, nil, []float64{x}))
}

func (m *net) ints(v ...int) *ir.Value { return m.g.AddConst("i", tensor.Ints(v...)) }

func (m *net) reshape(v *ir.Value, s ...int) *ir.Value { return m.op(op.Reshape, nil, v, m.ints(s...)) }

func (m *net) transpose(v *ir.Value, p ...int) *ir.Value {
	return m.op(op.Transpose, ir.Attrs{"perm": ir.Ints(p...)}, v)
}

func (m *net) slice(v *ir.Value, axis, lo, hi int) *ir.Value {
	return m.op(op.Slice, nil, v, m.ints(lo), m.ints(hi), m.ints(axis))
}

func (m *net) concat(axis int, vs ...*ir.Value) *ir.Value {
	return m.op(op.Concat, ir.Attrs{"axis": ir.Int(axis)}, vs...)
}

func (m *net) split(v *ir.Value, axis int, sizes ...int) []*ir.Value {
	return m.ops(op.Split, ir.Attrs{"axis": ir.Int(axis)}, len(sizes), v, m.ints(sizes...))
}

func (m *net) softmax(v *ir.Value, axis int) *ir.Value {
	return m.op(op.Softmax, ir.Attrs{"axis": ir.Int(axis)}, v)
}

// conv is a square convolution that keeps the size, up to its stride.
func (m *net) conv(v *ir.Value, out, k, stride int) *ir.Value {
	p, c := k/2, v.Type.Shape[1]
	return m.op(op.Conv, ir.Attrs{"pads": ir.Ints(p, p, p, p), "strides": ir.Ints(stride, stride)}, v,
		m.weights(c*k*k, out, c, k, k), m.w(0.1, out))
}

// detector makes heads: maps of several sizes, each with its number of anchors
// and of values an anchor, side by side as rows of values.
type detector struct {
	*net
	how     string // in which order the rows are written
	maps    []*ir.Value
	anchors []int
}

// Detector is a network with boxes and scores for the anchors of several maps,
// like SSD, RetinaFace or YOLO: rows of the maps side by side, Softmax or
// Sigmoid of scores and the decoding of boxes behind that. It returns the graph
// and the number of maps.
func Detector(seed uint64, dt tensor.DType) (g *ir.Graph, maps int) {
	m := newNet("detector", seed, dt)
	d := &detector{net: m, how: []string{"last", "flat", "first", "anchors"}[seed%4]}
	x := m.in(1, 3, 20+int(seed%5), 26)
	for range 2 + m.r.IntN(3) {
		x = m.op(op.Relu, nil, m.conv(x, 4, 3, 2))
		d.maps = append(d.maps, x)
		d.anchors = append(d.anchors, 1+m.r.IntN(6))
	}
	classes := 2 + m.r.IntN(6)
	switch m.r.IntN(3) {
	case 0: // scores and boxes apart
		m.out(m.softmax(d.rows(classes), 2-3*m.r.IntN(2)))
		box := d.rows(4)
		rows := box.Type.Shape[1]
		xy := m.op(op.Add, nil, m.op(op.Mul, nil, m.slice(box, 2, 0, 2), m.k(0.1)), m.w(1, 1, rows, 2))
		wh := m.op(op.Mul, nil, m.op(op.Exp, nil, m.slice(box, 2, 2, 4)), m.w(1, rows, 2))
		half := m.op(op.Div, nil, wh, m.k(2))
		m.out(m.concat(2, m.op(op.Sub, nil, xy, half), m.op(op.Add, nil, xy, half)))
	case 1: // one tensor, cut
		y := d.rows(5 + classes)
		p := m.split(y, 2, 4, 1, classes)
		m.out(m.op(op.Mul, nil, p[0], m.w(1, 1, y.Type.Shape[1], 1)))
		m.out(m.op(op.Mul, nil, m.op(op.Sigmoid, nil, p[1]), m.softmax(p[2], -1)))
	case 2:
		m.out(m.op(op.Sigmoid, nil, d.rows(classes)))
		m.out(m.op(op.ReduceMax, ir.Attrs{"keepdims": ir.Int(0)}, m.softmax(d.rows(3), 2), m.ints(2)))
	}
	return m.g, len(d.maps)
}

// rows are [1, sum of h*w*anchors, k].
func (d *detector) rows(k int) *ir.Value {
	var all []*ir.Value
	for i, x := range d.maps {
		y := d.conv(x, d.anchors[i]*k, 1, 1)
		switch d.how {
		case "last":
			y = d.reshape(d.transpose(y, 0, 2, 3, 1), 1, -1, k)
		case "flat":
			y = d.op(op.Flatten, nil, d.transpose(y, 0, 2, 3, 1))
		case "first": // channels are values, then anchors
			y = d.reshape(y, 1, k, -1)
		case "anchors": // as YOLO does
			s := y.Type.Shape
			y = d.transpose(d.reshape(y, 1, d.anchors[i], k, s[2], s[3]), 0, 1, 3, 4, 2)
			y = d.reshape(y, 1, -1, k)
		}
		all = append(all, y)
	}
	switch d.how {
	case "flat":
		return d.reshape(d.concat(1, all...), 1, -1, k)
	case "first":
		return d.transpose(d.concat(2, all...), 0, 2, 1)
	}
	return d.concat(1, all...)
}

// Voice is a network that finds speech in frames of features: a convolution
// over time and two recurrent layers, LSTM or GRU, in one or both directions.
func Voice(seed uint64, dt tensor.DType) *ir.Graph {
	m := newNet("voice", seed, dt)
	steps, features, dirs := 2+m.r.IntN(7), 3+m.r.IntN(6), 1+m.r.IntN(2)
	d := []*ir.OpDef{op.LSTM, op.GRU}[seed%2]
	hidden := 4 + m.r.IntN(6)
	x := m.transpose(m.reshape(m.in(1, 1, steps, features), 1, steps, features), 0, 2, 1)
	x = m.op(op.Relu, nil, m.op(op.Conv, ir.Attrs{"pads": ir.Ints(1, 1)}, x,
		m.weights(3*features, hidden, features, 3), m.w(0.1, hidden)))
	x = m.transpose(x, 2, 0, 1)
	for range 2 {
		x = m.recurrent(d, x, hidden, dirs)
		x = m.reshape(m.transpose(x, 0, 2, 1, 3), steps, 1, dirs*hidden)
	}
	x = m.op(op.MatMul, nil, m.transpose(x, 1, 0, 2), m.weights(dirs*hidden, dirs*hidden, 1))
	m.out(m.op(op.Sigmoid, nil, m.op(op.Add, nil, x, m.w(0.1, 1))))
	return m.g
}

// recurrent is [steps, dirs, batch, hidden] of x [steps, batch, features].
func (m *net) recurrent(d *ir.OpDef, x *ir.Value, hidden, dirs int) *ir.Value {
	attrs := ir.Attrs{"hidden_size": ir.Int(hidden)}
	if dirs == 2 {
		attrs["direction"] = ir.Str("bidirectional")
	}
	gates := 4
	if d == op.GRU {
		gates = 3
		attrs["linear_before_reset"] = ir.Int(1)
	}
	in := x.Type.Shape[2]
	return m.op(d, attrs, x, m.weights(in, dirs, gates*hidden, in), m.weights(hidden, dirs, gates*hidden, hidden),
		m.w(0.1, dirs, 2*gates*hidden))
}
