// SPDX-License-Identifier: Apache-2.0

package legal4d_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
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
