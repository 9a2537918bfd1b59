// SPDX-License-Identifier: Apache-2.0

package irtest

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// enhancer makes speech enhancers: [1, channels, frames, bands] in the middle.
type enhancer struct {
	*net
	channels, frames, bands int
	stream                  bool // frames in front come from a state
	old, next               *ir.Value
}

// Enhancer is a speech enhancer on spectra: bands, neighbouring bands as channels
// (Gather with indices of rank 2, values of rank 5 and 6), convolutions along
// bands, dilated ones along time, attention over time by a GRU, channels
// shuffled, grouped GRUs along bands and along time, the way back by transposed
// convolutions, a complex mask. After the public description of GTCRN (Rong et
// al., 2024). Odd seeds take one frame and keep their state in inputs and outputs
// of rank 5.
func Enhancer(seed uint64, dt tensor.DType) *ir.Graph {
	m := &enhancer{net: newNet("enhancer", seed, dt), channels: 4 + 4*int(seed%2), stream: seed%2 == 1}
	m.frames = 2 + m.r.IntN(3)
	if m.stream {
		m.frames = 1
	}
	low, high := 4+m.r.IntN(3), 8+m.r.IntN(4)
	m.bands = (low+(high+1)/2)/2*2 + 1 // odd: up again by a stride of 2
	merged := m.bands - low
	spec := m.in(1, low+high, m.frames, 2)
	s := m.transpose(spec, 0, 3, 2, 1)
	re, im := m.at(s, 1, 0), m.at(s, 1, 1)
	sq := func(v *ir.Value) *ir.Value { return m.op(op.Pow, nil, v, m.k(2)) }
	mag := m.op(op.Sqrt, nil, m.op(op.Add, nil, m.op(op.Add, nil, sq(re), sq(im)), m.k(0.01)))
	x := m.stack(1, mag, re, im)
	x = m.concat(3, m.slice(x, 3, 0, low), m.op(op.MatMul, nil, m.slice(x, 3, low, low+high),
		m.weights(high, high, merged)))
	x = m.op(op.PRelu, nil, m.lines(op.Conv, m.unfold(x), m.channels, 1), m.w(0.3, 1, 1, 1))
	wide := m.bands
	m.bands = (wide + 1) / 2
	skip := x
	x = m.gated(x, op.Conv, 1+m.r.IntN(2))
	x = m.dualPath(x)
	x = m.gated(m.op(op.Add, nil, x, skip), op.ConvTranspose, 1+m.r.IntN(2))
	x = m.op(op.Tanh, nil, m.lines(op.ConvTranspose, x, 2, 2))
	mask := m.concat(3, m.slice(x, 3, 0, low), m.op(op.MatMul, nil, m.slice(x, 3, low, wide),
		m.weights(merged, merged, high)))
	mul := func(i, k int) *ir.Value { return m.op(op.Mul, nil, m.at(s, 1, i), m.at(mask, 1, k)) }
	y := m.stack(1, m.op(op.Sub, nil, mul(0, 0), mul(1, 1)), m.op(op.Add, nil, mul(1, 0), mul(0, 1)))
	m.out(m.transpose(y, 0, 3, 2, 1))
	if m.stream {
		m.out(m.next)
	}
	return m.g
}

func (m *enhancer) at(v *ir.Value, axis, i int) *ir.Value {
	return m.op(op.Gather, ir.Attrs{"axis": ir.Int(axis)}, v, m.g.AddConst("i", tensor.Scalar(int64(i))))
}

func (m *enhancer) stack(axis int, vs ...*ir.Value) *ir.Value {
	for i, v := range vs {
		vs[i] = m.op(op.Unsqueeze, nil, v, m.ints(axis))
	}
	return m.concat(axis, vs...)
}

// unfold puts the neighbours of every band beside it, as channels.
func (m *enhancer) unfold(x *ir.Value) *ir.Value {
	s := x.Type.Shape
	x = m.op(op.Pad, nil, x, m.ints(0, 0, 0, 1, 0, 0, 0, 1))
	rows, cols := make([]int64, s[2]), make([]int64, 3*s[3])
	for i := range rows {
		rows[i] = int64(i)
	}
	for i := range cols {
		cols[i] = int64(i/s[3] + i%s[3])
	}
	take := func(v *ir.Value, axis, n, k int, idx []int64) *ir.Value {
		return m.op(op.Gather, ir.Attrs{"axis": ir.Int(axis)}, v, m.g.AddConst("window", tensor.Of([]int{n, k}, idx)))
	}
	x = take(take(x, 2, 1, s[2], rows), 4, 3, s[3], cols) // [1, c, 1, t, 3, f]
	x = m.reshape(m.transpose(x, 0, 1, 2, 4, 3, 5), 1, 3*s[1], s[2]*s[3])
	return m.reshape(x, 1, 3*s[1], s[2], s[3])
}

// lines is a convolution along bands, to half or twice their number.
func (m *enhancer) lines(d *ir.OpDef, x *ir.Value, out, groups int) *ir.Value {
	in := x.Type.Shape[1]
	attrs := ir.Attrs{"kernel_shape": ir.Ints(1, 3), "strides": ir.Ints(1, 2), "pads": ir.Ints(0, 1, 0, 1),
		"group": ir.Int(groups)}
	w := m.weights(3*in/groups, out, in/groups, 1, 3)
	if d == op.ConvTranspose {
		w = m.weights(2*in/groups, in, out/groups, 1, 3)
	}
	return m.op(d, attrs, x, w, m.w(0.1, out))
}

// gated is half of the channels through a dilated convolution over time with
// attention, and the channels of both halves in turn.
func (m *enhancer) gated(x *ir.Value, d *ir.OpDef, dilation int) *ir.Value {
	c := m.channels
	half := m.split(x, 1, c/2, c/2)
	y := m.op(op.Conv, nil, m.unfold(half[0]), m.weights(3*c/2, c, 3*c/2, 1, 1), m.w(0.1, c))
	if m.stream && m.old == nil {
		m.old = m.in(2, 1, c, 2*dilation, m.bands)
		y = m.concat(2, m.at(m.old, 0, 1), y)
		m.next = m.stack(0, m.slice(y, 2, 0, 2*dilation), m.slice(y, 2, 1, 2*dilation+1))
	} else {
		y = m.op(op.Pad, nil, y, m.ints(0, 0, 2*dilation, 0, 0, 0, 0, 0))
	}
	pads := []int{0, 1, 0, 1}
	if d == op.ConvTranspose {
		pads = []int{2 * dilation, 1, 2 * dilation, 1}
	}
	y = m.op(d, ir.Attrs{"group": ir.Int(c), "dilations": ir.Ints(dilation, 1), "pads": ir.Ints(pads...)}, y,
		m.weights(9, c, 1, 3, 3), m.w(0.1, c))
	y = m.op(op.Conv, nil, m.op(op.Relu, nil, y), m.weights(c, c/2, c, 1, 1), m.w(0.1, c/2))
	z := m.op(op.ReduceMean, ir.Attrs{"keepdims": ir.Int(0)}, m.op(op.Pow, nil, y, m.k(2)), m.ints(3))
	a := m.recurrent(op.GRU, m.transpose(z, 2, 0, 1), c, 1)
	a = m.op(op.MatMul, nil, m.transpose(m.reshape(a, m.frames, 1, c), 1, 0, 2), m.weights(c, c, c/2))
	a = m.op(op.Sigmoid, nil, m.transpose(a, 0, 2, 1))
	y = m.op(op.Mul, nil, y, m.op(op.Unsqueeze, nil, a, m.ints(3)))
	y = m.transpose(m.stack(1, y, half[1]), 0, 2, 1, 3, 4)
	return m.reshape(y, 1, c, m.frames, m.bands)
}

// dualPath runs along bands in both directions, then along time.
func (m *enhancer) dualPath(x *ir.Value) *ir.Value {
	t, f, c := m.frames, m.bands, m.channels
	x = m.transpose(x, 0, 2, 3, 1)
	norm := func(v *ir.Value) *ir.Value {
		return m.op(op.LayerNormalization, ir.Attrs{"axis": ir.Int(-2)}, v, m.w(1, f, c), m.w(0.1, f, c))
	}
	grouped := func(v *ir.Value, dirs int) *ir.Value { // [steps, batch, c]
		s := v.Type.Shape
		var out []*ir.Value
		for _, g := range m.split(v, 2, c/2, c/2) {
			y := m.transpose(m.recurrent(op.GRU, g, c/2/dirs, dirs), 0, 2, 1, 3)
			out = append(out, m.reshape(y, s[0], s[1], c/2))
		}
		return m.op(op.MatMul, nil, m.transpose(m.concat(2, out...), 1, 0, 2), m.weights(c, c, c))
	}
	y := grouped(m.transpose(m.reshape(x, t, f, c), 1, 0, 2), 2)
	x = m.op(op.Add, nil, x, norm(m.reshape(y, 1, t, f, c)))
	y = grouped(m.transpose(m.reshape(m.transpose(x, 0, 2, 1, 3), f, t, c), 1, 0, 2), 1)
	x = m.op(op.Add, nil, x, norm(m.transpose(m.reshape(y, 1, f, t, c), 0, 2, 1, 3)))
	return m.transpose(x, 0, 3, 1, 2)
}
