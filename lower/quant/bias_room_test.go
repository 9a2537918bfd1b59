// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"math"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// qdqConv is a Conv of a model quantised elsewhere: per-channel weights, or one
// scale for all, and a float bias, or one of int32 at the scale of the products.
func qdqConv[T float32 | int32](t *testing.T, scales []float32, bias []T, name string, group int, wide bool) *ir.Graph {
	t.Helper()
	b := newBuilder(t, 5)
	c := len(bias)
	per := c
	shape := []int{c, 3, 1, 1}
	axis := 0
	if name == "ConvTranspose" {
		per, shape, axis = c/group, []int{3 * group, c / group, 1, 1}, 1
	} else {
		shape[1] = 3
	}
	x := b.g.AddInput("x", ir.T(tensor.F32, 1, 3*group, 4, 4))
	scalar := func(f float32) *ir.Value { return b.g.AddConst("s", tensor.Scalar(f)) }
	pair := func(v *ir.Value, s float32) *ir.Value {
		z := b.g.AddConst("z", tensor.Scalar(int8(3)))
		if wide {
			z, s = b.g.AddConst("z", tensor.Scalar(int16(0))), s/256
		}
		return b.add("DequantizeLinear", nil, b.add("QuantizeLinear", nil, v, scalar(s), z), scalar(s), z)
	}
	w := tensor.New(tensor.I8, shape)
	for i := range w.Len() {
		w.SetInt(i, int64(b.r.IntN(255)-127))
	}
	var ws *ir.Value
	if len(scales) == 1 {
		ws = scalar(scales[0])
	} else {
		ws = b.g.AddConst("ws", tensor.Of([]int{per}, scales))
	}
	wf := b.add("DequantizeLinear", ir.Attrs{"axis": ir.Int(axis)}, b.g.AddConst("w", w), ws)
	add := b.g.AddConst("b", tensor.Of([]int{c}, bias))
	if add.Type.DType == tensor.I32 {
		bs := make([]float32, c)
		for i := range bs {
			bs[i] = 0.02 * scales[i%len(scales)]
		}
		add = b.add("DequantizeLinear", ir.Attrs{"axis": ir.Int(0)}, add, b.g.AddConst("bs", tensor.Of([]int{c}, bs)))
	}
	y := b.add(name, ir.Attrs{"group": ir.Int(group)}, pair(x, 0.02), wf, add)
	b.g.AddOutput("y", pair(y, 0.05))
	irtest.Verify(t, b.g)
	return b.g
}

// TestRoomForBias: a float bias beyond int32 at the scale of its products is
// kept, and with int16 data one whose requantisation would have no multiplier;
// other channels keep the model's weights.
func TestRoomForBias(t *testing.T) {
	for _, c := range []struct {
		name         string
		scales, bias []float32
		group        int
		kept         []bool // output channels whose weights must not change
		wide         bool
	}{
		{"Conv", []float32{1e-12, 0.004, 1e-9, 0.003}, []float32{5, -3, -2.5, 0.2}, 1, []bool{false, true, false, true},
			false},
		{"Conv", []float32{1e-12}, []float32{5, -3, 0, 0.2}, 1, []bool{false, false, true, false}, false},
		{"Conv", []float32{0.004}, []float32{5, -3, 0, 0.2}, 1, []bool{true, true, true, true}, false},
		{"ConvTranspose", []float32{1e-12, 0.004}, []float32{5, -3, -2.5, 0.2}, 2, nil, false},
		{"Conv", []float32{1e-12, 0.004, 1e-9, 0.003}, []float32{5, -3, -2.5, 0.2}, 1, []bool{false, true, false, true},
			true},
		{"ConvTranspose", []float32{1e-12, 0.004}, []float32{5, -3, -2.5, 0.2}, 2, nil, true},
	} {
		g := qdqConv(t, c.scales, c.bias, c.name, c.group, c.wide)
		q := g.Clone()
		testenv.OK(t, quant.Integer(q, quant.IntegerOptions{}))
		irtest.Verify(t, q)
		for _, n := range q.Nodes {
			testenv.Check(t, n.Quantised(), "%s %v: %s stays float", c.name, c.scales, n)
			for i, kept := range c.kept {
				if n.Op != op.Conv {
					continue
				}
				s := n.In[1].Type.Quant.ScaleAt(i)
				if had := c.scales[i%len(c.scales)]; kept && s != had || !kept && s <= had {
					t.Errorf("%s %v: channel %d has scale %g, had %g", c.name, c.scales, i, s, had)
				}
			}
		}
		in := samples(g, 1, 9)[0]
		want, got := irtest.Run(t, g, in)[0], runInteger(t, q, in)[0]
		for i := range want.Len() {
			limit := 0.0501
			if c.wide {
				limit /= 256
			}
			if d := want.Float(i) - got.Float(i); d > limit || d < -limit {
				t.Errorf("%s %v: element %d is %g, want %g", c.name, c.scales, i, got.Float(i), want.Float(i))
				break
			}
		}
	}
}

// TestRoomForOwnBias: the int32 of a model is kept where its sum with the
// products stays within int32. Where it may not, as in dead channels whose bias
// an exporter clipped to the largest int32, it does not wrap around.
func TestRoomForOwnBias(t *testing.T) {
	scales := []float32{1e-9, 0.004, 1e-9, 1e-9}
	bias := []int32{math.MaxInt32, -3000, math.MinInt32, 1 << 29}
	g := qdqConv(t, scales, bias, "Conv", 1, false)
	q := g.Clone()
	testenv.OK(t, quant.Integer(q, quant.IntegerOptions{}))
	irtest.Verify(t, q)
	for _, n := range q.Nodes {
		if n.Op != op.Conv {
			continue
		}
		for i, kept := range []bool{false, true, false, true} {
			if got := n.In[2].Const.Int(i); kept != (got == int64(bias[i])) {
				t.Errorf("channel %d has bias %d, had %d", i, got, bias[i])
			}
		}
	}
	in := samples(g, 1, 9)[0]
	want, got := irtest.Run(t, g, in)[0], runInteger(t, q, in)[0]
	for i := range want.Len() {
		if d := want.Float(i) - got.Float(i); d > 0.0501 || d < -0.0501 {
			t.Errorf("element %d is %g, want %g", i, got.Float(i), want.Float(i))
			break
		}
	}
}

// TestBiasNotFinite: a bias that no integer stands for leaves the layer in float.
func TestBiasNotFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		g := qdqConv(t, []float32{0.004}, []float32{1, float32(v)}, "Conv", 1, false)
		testenv.OK(t, quant.Integer(g, quant.IntegerOptions{}))
		for _, n := range g.Nodes {
			if n.Op == op.Conv && n.Quantised() {
				t.Errorf("bias %g became the integers %v", v, n.In[2].Const)
			}
		}
	}
}
