// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// reachNet is an operator between QuantizeLinear and DequantizeLinear, in int8
// or int16, its result in steps of scale.
func reachNet(t *testing.T, name string, wide bool, bias, scale float64) *ir.Graph {
	t.Helper()
	b := newBuilder(t, 11)
	pair := func(v *ir.Value, s float64) *ir.Value {
		z := b.g.AddConst("z", tensor.Scalar(int8(0)))
		if wide {
			z, s = b.g.AddConst("z", tensor.Scalar(int16(0))), s/256
		}
		k := b.g.AddConst("s", tensor.Scalar(float32(s)))
		return b.add("DequantizeLinear", nil, b.add("QuantizeLinear", nil, v, k, z), k, z)
	}
	shape := []int{1, 3, 4, 4}
	x := pair(b.g.AddInput("x", ir.T(tensor.F32, shape...)), 0.02)
	var y *ir.Value
	switch name {
	case "Conv", "ConvTranspose":
		w := tensor.New(tensor.I8, []int{3, 3, 2, 2})
		for i := range w.Len() {
			w.SetInt(i, int64(b.r.IntN(255)-127))
		}
		wf := b.add("DequantizeLinear", nil, b.g.AddConst("w", w), b.g.AddConst("ws", tensor.Scalar(float32(0.01))))
		v := float32(bias)
		attrs := ir.Attrs{}
		if name == "ConvTranspose" {
			attrs["strides"] = ir.Ints(4, 4) // most results are of no product, some of three
		}
		y = b.add(name, attrs, x, wf, b.g.AddConst("b", tensor.Of([]int{3}, []float32{v, -v, v / 3})))
	case "AveragePool":
		y = b.add(name, ir.Attrs{"kernel_shape": ir.Ints(2, 2), "pads": ir.Ints(1, 1, 0, 0),
			"count_include_pad": ir.Int(1)}, x)
	default:
		y = b.add(name, nil, x, pair(b.add("Neg", nil, x), 0.03))
	}
	b.g.AddOutput("y", pair(y, scale))
	irtest.Verify(t, b.g)
	return b.g
}

// TestReach: a result that lies so many steps outside its type that a kernel's
// int32 would wrap around is computed in float, and clamped as the model means
// it; a nearer one is computed on integers.
func TestReach(t *testing.T) {
	for _, c := range []struct {
		name        string
		bias, scale float64
		near        bool
	}{
		{"Conv", 1, 0.05, true}, {"Conv", 1, 1e-6, true}, {"Conv", 1, 1e-9, false}, {"Conv", 1, 1e-20, false},
		{"Conv", 1e6, 0.05, true}, {"Conv", 1e8, 0.05, false},
		{"ConvTranspose", 1, 0.05, true}, {"ConvTranspose", 1, 1e-9, false},
		{"ConvTranspose", 0, 3.5e-9, false},
		{"MatMul", 0, 0.05, true}, {"MatMul", 0, 1e-9, false},
		{"Add", 0, 0.05, true}, {"Add", 0, 1e-6, true}, {"Add", 0, 1e-9, false},
		{"Mul", 0, 0.05, true}, {"Mul", 0, 1e-9, false},
		{"AveragePool", 0, 0.05, true}, {"AveragePool", 0, 1e-10, true},
	} {
		for _, wide := range []bool{false, true} {
			if wide && c.near && c.scale < 0.05 || wide && c.bias > 1 {
				continue // 256 times nearer the end
			}
			t.Run(fmt.Sprintf("%s/%g/%g/%t", c.name, c.bias, c.scale, wide), func(t *testing.T) {
				checkReach(t, reachNet(t, c.name, wide, c.bias, c.scale), c.name, c.near)
			})
		}
	}
}

// checkReach: the operator name of g is on integers or not, with the reason, and computes
// what g does.
func checkReach(t *testing.T, g *ir.Graph, name string, near bool) {
	t.Helper()
	q := g.Clone()
	testenv.OK(t, quant.Integer(q, quant.IntegerOptions{}))
	quant.Averages(&pass.Ctx{}, q)
	irtest.Verify(t, q)
	for _, n := range q.Nodes {
		if n.Op.Name == name && n.Quantised() != near {
			t.Errorf("%s on integers: %t, want %t", n, n.Quantised(), near)
		}
	}
	for _, n := range g.Nodes {
		why := quant.WhyFloat(g, n)
		testenv.Check(t, n.Op.Name != name || strings.Contains(why, "would overflow") != near, "%s: reason %q", n,
			why)
	}
	in := samples(g, 1, 3)[0]
	want, got := irtest.Run(t, g, in)[0], runInteger(t, q, in)[0]
	most := 1.01 * outScale(g)
	for i := range want.Len() {
		if d := math.Abs(want.Float(i) - got.Float(i)); d > most {
			t.Fatalf("element %d is %g, want %g: %g steps", i, got.Float(i), want.Float(i), d/outScale(g))
		}
	}
}

// outScale is the scale of the last DequantizeLinear.
func outScale(g *ir.Graph) float64 {
	for _, n := range g.Nodes {
		if n.Op == op.DequantizeLinear && n.Out[0] == g.Out[0] {
			p, _ := quant.Params(n)
			return float64(p.Quant.Scale[0])
		}
	}
	return 1
}

// TestReachOfCalibrated: where the results seen are next to nothing beside what the operands allow, their scale is
// so large that integers hold them.
func TestReachOfCalibrated(t *testing.T) {
	for name, other := range map[string]func(i int, x float64) float64{
		"Conv": nil, "ConvTranspose": nil,
		"MatMul": func(i int, _ float64) float64 { return float64(1 - i/4%2*2) },
		"Mul":    func(_ int, x float64) float64 { return 1 - x },
		"Add":    func(_ int, x float64) float64 { return -x },
		"Sub":    func(_ int, x float64) float64 { return x },
	} {
		for _, layer := range []quant.Layer{quant.Int8, quant.Int16x8} {
			t.Run(fmt.Sprintf("%s/%s", name, layer), func(t *testing.T) { checkCalibrated(t, name, other, layer) })
		}
	}
}

// checkCalibrated: a layer of the operator name is on integers. Its results are zeros and 1e-10; other gives its
// second operand, nil: weights.
func checkCalibrated(t *testing.T, name string, other func(i int, x float64) float64, layer quant.Layer) {
	t.Helper()
	b, shape := newBuilder(t, 11), []int{1, 2, 4, 4}
	x := b.add("Abs", nil, b.g.AddInput("x", ir.T(tensor.F32, shape...)))
	w := b.g.AddConst("w", tensor.Of([]int{2, 2, 1, 1}, []float32{1, -1, -1, 1}))
	if other != nil {
		w = b.add("Neg", nil, b.g.AddInput("w", ir.T(tensor.F32, shape...)))
	}
	b.g.AddOutput("y", b.add(name, nil, x, w))
	in := samples(b.g, 1, 3)
	for i := range in[0][0].Len() {
		v := float64(min(i/4%4, 1))
		if other != nil {
			in[0][1].SetFloat(i, -other(i, v))
		}
		if i == 0 {
			v = 1e-10
		}
		in[0][0].SetFloat(i, v)
	}
	_, err := quant.Insert(b.g, quant.Options{Samples: in, Layer: func(*ir.Node) quant.Layer { return layer }})
	if err == nil {
		err = quant.Integer(b.g, quant.IntegerOptions{})
	}
	testenv.OK(t, err)
	for _, n := range b.g.Nodes {
		testenv.Check(t, n.Op.Name != name || n.Quantised(), "%s is in float", n)
	}
}
