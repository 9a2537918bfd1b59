// SPDX-License-Identifier: Apache-2.0

package legal4d_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// crossAttention lets queries [1, q, e] look at a memory [1, t, e].
func (m *maker) crossAttention(query, key, value *ir.Value, heads int) *ir.Value {
	e := query.Type.Shape[2]
	split := func(v *ir.Value) *ir.Value {
		return m.transpose(m.reshape(m.linear(v, e), 1, v.Type.Shape[1], heads, e/heads), 0, 2, 1, 3)
	}
	a := m.op(op.Div, nil, m.op(op.MatMul, nil, split(query), m.transpose(split(key), 0, 1, 3, 2)), m.k(2))
	o := m.op(op.MatMul, nil, m.softmax(a, -1), split(value))
	return m.linear(m.reshape(m.transpose(o, 0, 2, 1, 3), 1, query.Type.Shape[1], e), e)
}

// detector is a detection transformer: a map as tokens with positions, one
// encoder layer, a decoder layer of learned queries, two heads.
func detector(m *maker) {
	const e, queries = 12, 5
	x := m.conv(m.conv(m.in(1, 3, 8, 12), 6, 3, 2), e, 3, 2)
	t := x.Type.Shape[2] * x.Type.Shape[3]
	x = m.transpose(m.reshape(x, 1, e, t), 0, 2, 1)
	pos := m.c(1, t, e)
	q := m.op(op.Add, nil, x, pos)
	x = m.norm(m.op(op.Add, nil, x, m.crossAttention(q, q, x, 3)))
	x = m.norm(m.op(op.Add, nil, x, m.linear(m.op(op.Relu, nil, m.linear(x, 2*e)), e)))
	learned := m.c(1, queries, e)
	y := m.op(op.Add, nil, m.linear(m.op(op.Add, nil, m.c(1, queries, e), learned), e), learned)
	y = m.norm(m.op(op.Add, nil, y, m.crossAttention(y, m.op(op.Add, nil, x, pos), x, 3)))
	m.out(m.linear(y, 4))
	m.out(m.op(op.Sigmoid, nil, m.linear(m.op(op.Relu, nil, m.linear(y, e)), 4)))
}

// unfolding mixes convolutions with a transformer on unfolded patches: [1, C, H,
// W] as p*p sequences of patches, and back.
func unfolding(m *maker) {
	const e, p, h, w = 8, 2, 4, 6
	x := m.conv(m.in(1, 3, 2*h, 2*w), e, 3, 2)
	n := (h / p) * (w / p)
	z := m.transpose(m.reshape(x, e*h/p, p, w/p, p), 0, 2, 1, 3)
	z = m.transpose(m.reshape(z, 1, e, n, p*p), 0, 3, 2, 1)
	z = m.reshape(z, p*p, n, e)
	z = m.block(z, 2, "gather", nil)
	z = m.transpose(m.reshape(z, 1, p*p, n, e), 0, 3, 2, 1)
	z = m.transpose(m.reshape(z, e*h/p, w/p, p, p), 0, 2, 1, 3)
	z = m.conv(m.concat(1, x, m.reshape(z, 1, e, h, w)), 6, 3, 1)
	m.out(m.linear(m.reshape(m.op(op.GlobalAveragePool, nil, z), 1, 6), 3))
}

// TestMixedNetworks: convolutions and attention in one network, in float and
// quantised, on 4-D tensors from one end to the other.
func TestMixedNetworks(t *testing.T) {
	for name, build := range map[string]func(m *maker){"detector": detector, "unfolding": unfolding} {
		t.Run(name, func(t *testing.T) {
			m := newMaker(t, 23)
			build(m)
			m.all4D()
			m = newMaker(t, 23)
			m.dt = tensor.F32
			build(m)
			g := integerGraph(t, m.g, false)
			testenv.Require(t, g != nil, "not quantised")
			for _, s := range checkInteger(t, g, 5) {
				t.Error(s)
			}
		})
	}
}
