// SPDX-License-Identifier: Apache-2.0

package legal4d_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// TestDetectionHeads: whatever the numbers of anchors, functions of rows and of
// parts of rows run on every map by itself, in front of the Concat, and what
// rebuilds the outputs is a few pieces a map.
func TestDetectionHeads(t *testing.T) {
	n := uint64(24)
	if testenv.Long() {
		n = 1000
	}
	for seed := range n {
		g, maps := irtest.Detector(seed, tensor.F64)
		m := &maker{t: t, g: g, dt: tensor.F64, seed: seed}
		m.all4D()
		if k := len(must(t, m.g).Native.Out); k > 8*maps {
			t.Errorf("seed %d: %d native outputs of %d maps: heads are cut into anchors", seed, k, maps)
		}
	}
}

// TestRowsMoveNothing: a Softmax over the classes of anchors needs no data
// movement but reshapes of data with channels last.
func TestRowsMoveNothing(t *testing.T) {
	m := newMaker(t, 980)
	x := m.conv(m.in(1, 3, 12, 14), 4, 3, 1)
	var rows []*ir.Value
	for _, anchors := range []int{3, 2, 5} {
		x = m.op(op.Relu, nil, m.conv(x, 4, 3, 2))
		rows = append(rows, m.reshape(m.transpose(m.conv(x, anchors*4, 3, 1), 0, 2, 3, 1), 1, -1, 4))
	}
	m.out(m.softmax(m.concat(1, rows...), -1))
	m.all4D()
	r := must(t, m.g)
	for _, n := range r.Native.Nodes {
		testenv.Check(t, n.Op != op.Slice && n.Op != op.Concat && n.Op != op.Gather, "%s moves data", n)
	}
	testenv.Check(t, len(r.Native.Out) == len(rows), "%d native outputs of %d maps", len(r.Native.Out), len(rows))
}

// TestPads: channels are padded by constants beside them, data is repeated by
// slices of it.
func TestPads(t *testing.T) {
	for i, c := range []struct {
		mode string
		fill bool
		in   []int
		pads []int
	}{
		{"constant", true, []int{1, 3, 4, 5}, []int{0, 0, 0, 0, 0, 4, 0, 0}},
		{"constant", false, []int{1, 3, 4, 5}, []int{0, 1, 1, 2, 0, 2, 0, 1}},
		{"constant", false, []int{1, 3, 5}, []int{0, 1, 1, 0, 2, 3}},
		{"constant", true, []int{1, 2, 3, 2, 5}, []int{0, 1, 1, 0, 2, 0, 0, 2, 0, 1}},
		{"reflect", false, []int{1, 3, 4, 5}, []int{0, 0, 1, 2, 0, 0, 3, 1}},
		{"edge", false, []int{1, 3, 4, 5}, []int{0, 1, 1, 2, 0, 0, 3, 1}},
		{"wrap", false, []int{1, 3, 6}, []int{0, 0, 2, 0, 0, 1}},
	} {
		m := newMaker(t, uint64(990+i))
		x := m.op(op.Relu, nil, m.in(1, tensor.Count(c.in), 1, 1))
		in := []*ir.Value{m.reshape(x, c.in...), m.ints(c.pads...)}
		if c.fill {
			in = append(in, m.k(0.5))
		}
		m.out(m.op(op.Relu, nil, m.op(op.Pad, ir.Attrs{"mode": ir.Str(c.mode)}, in...)))
		m.all4D()
	}
}

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

// TestEnhancer: ranks 5 and 6, unfolding, grouped recurrent layers, channels
// shuffled: all on 4-D tensors, but for what takes the state apart and puts it
// together again.
func TestEnhancer(t *testing.T) {
	for seed := range uint64(6) {
		m := &maker{t: t, g: irtest.Enhancer(seed, tensor.F64), dt: tensor.F64, seed: seed}
		l := m.check(false)
		testenv.Check(t, seed%2 != 0 || len(l) <= 0, "seed %d: %v", seed, l)
		if l := must(t, m.g).Left; len(l) > 0 {
			t.Errorf("seed %d: left %v", seed, l)
		}
	}
}

// TestGathers: constant indices of any rank and order.
func TestGathers(t *testing.T) {
	for i, c := range []struct {
		axis  int
		shape []int
		idx   []int
	}{
		{1, []int{}, []int{-2}},
		{2, []int{3}, []int{4, 2, 0}},
		{2, []int{3}, []int{0, 2, 4}},
		{3, []int{3, 4}, []int{0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5}}, // windows
		{3, []int{4, 3}, []int{0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5}}, // windows, turned
		{3, []int{2, 3}, []int{0, 2, 4, 1, 3, 5}},                   // frames with a step
		{1, []int{2, 2, 2}, []int{0, 1, 2, 3, 3, 2, 1, 0}},
		{1, []int{1, 1, 2}, []int{3, 3}},
		{1, []int{1, 1}, []int{2}},
	} {
		m := newMaker(t, uint64(1500+i))
		x := m.op(op.Relu, nil, m.in(1, 4, 5, 6))
		idx := lists.Each(c.idx, func(v int) int64 { return int64(v) })
		y := m.op(op.Gather, ir.Attrs{"axis": ir.Int(c.axis)}, x, m.g.AddConst("idx", tensor.Of(c.shape, idx)))
		m.out(m.op(op.Mul, nil, y, m.c(y.Type.Shape...)))
		m.out(m.reshape(y, 1, -1))
		m.all4D()
	}
	m := newMaker(t, 1520)
	x := m.reshape(m.op(op.Relu, nil, m.in(1, 3, 4, 5)), 1, 60)
	idx := []int64{0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 8, 9, 10, 11, 8, 9, 10, 11, 12, 13, 14, 15}
	y := m.op(op.Gather, ir.Attrs{"axis": ir.Int(1)}, x, m.g.AddConst("frames", tensor.Of([]int{3, 8}, idx)))
	m.out(m.linear(y, 4))
	m.all4D()
}

// TestTransposedConvolutions: without a stride, dilated, in groups.
func TestTransposedConvolutions(t *testing.T) {
	i := uint64(0)
	for _, group := range []int{1, 2, 4} {
		for _, out := range []int{1, 3} { // channels a group
			for _, a := range []ir.Attrs{
				{"strides": ir.Ints(1, 1), "pads": ir.Ints(0, 1, 1, 0)},
				{"strides": ir.Ints(1, 1), "dilations": ir.Ints(2, 3), "pads": ir.Ints(1, 2, 3, 0)},
				{"strides": ir.Ints(1, 1), "dilations": ir.Ints(2, 1), "output_padding": ir.Ints(1, 0)},
				{"strides": ir.Ints(2, 1), "pads": ir.Ints(1, 1, 0, 1), "output_padding": ir.Ints(1, 0)},
				{"strides": ir.Ints(1, 2), "dilations": ir.Ints(2, 2), "auto_pad": ir.Str("SAME_UPPER")},
			} {
				i++
				m := newMaker(t, 1600+i)
				attrs := a.Clone()
				attrs["group"] = ir.Int(group)
				o := testenv.Must(m.try(op.ConvTranspose, attrs, 1, m.op(op.Relu, nil, m.in(1, 4, 5, 6)),
					m.c(4, out, 2, 3), m.c(group*out)))(t)
				m.out(o[0])
				m.all4D()
			}
		}
	}
}
