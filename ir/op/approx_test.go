// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestApproximate: convolutions and matrix products of all kinds are those of the
// reference, but for the rounding of sums in float32.
func TestApproximate(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	done := map[*ir.OpDef]int{}
	for range 600 {
		n, in := drawProduct(t, r)
		constant := func(i int) *tensor.Dense {
			if i < len(in) && (i == 2 || n.In[1].Const != nil) {
				return in[i]
			}
			return nil
		}
		f := Approximate(n, constant(1), constant(2))
		if f == nil {
			continue
		}
		done[n.Op]++
		want := testenv.Must(n.Op.Eval(n, in))(t)
		got := make([]float32, want[0].Len())
		f(in, got)
		for i, w := range want[0].Floats() {
			if g := float64(got[i]); !(math.Abs(g-w) <= 1e-4*(1+math.Abs(w))) {
				t.Fatalf("%s: element %d is %v, want %v", n, i, g, w)
			}
		}
	}
	for _, o := range []*ir.OpDef{Conv, Gemm, MatMul} {
		testenv.Check(t, done[o] >= 50, "%s: %d were evaluated", o.Name, done[o])
	}
}

// drawProduct draws a convolution or matrix product of numbers that are finite.
func drawProduct(t *testing.T, r *rand.Rand) (*ir.Node, []*tensor.Dense) {
	if r.IntN(2) == 0 {
		for {
			n, in := drawConv(t, r)
			if allFinite(in[0].Data.([]float32)) {
				return n, in
			}
		}
	}
	draw := func(shape ...int) *tensor.Dense {
		d := tensor.New(tensor.F32, shape)
		for i := range d.Len() {
			d.SetFloat(i, r.NormFloat64())
		}
		return d
	}
	m, k, cols := 1+r.IntN(9), 1+r.IntN(70), 1+r.IntN(90)
	g := ir.New("product")
	add := func(d *tensor.Dense, constant bool) *ir.Value {
		if constant {
			return g.AddConst("c", d)
		}
		return g.AddInput("x", ir.T(tensor.F32, d.Shape...))
	}
	op, attrs := MatMul, ir.Attrs{}
	var in []*tensor.Dense
	switch r.IntN(4) {
	case 0:
		in = []*tensor.Dense{draw(2, m, k), draw(k, cols)}
	case 1:
		in = []*tensor.Dense{draw(2, 3, m, k), draw(3, k, cols)}
	default:
		op, in = Gemm, []*tensor.Dense{draw(m, k), draw(k, cols)}
		if r.IntN(2) == 0 {
			in[1], attrs["transB"] = draw(cols, k), ir.Int(1)
		}
		if r.IntN(2) == 0 {
			in = append(in, draw([][]int{{cols}, {1, cols}, {m, 1}, {m, cols}}[r.IntN(4)]...))
		}
	}
	fixed := op == Gemm || r.IntN(2) == 0
	var values []*ir.Value
	for i, d := range in {
		values = append(values, add(d, i > 0 && fixed))
	}
	n := testenv.Must(g.Add(op, "n", attrs, 1, values...))(t)
	return n, in
}
