// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestQuantiseS8: with one scale, int8 data takes loops of its own; the results
// are those of the general ones, which blocks and channels take.
func TestQuantiseS8(t *testing.T) {
	x := []float32{0, 0.25, -0.25, 0.75, 1.25, -63.5, 63.5, 64, 1e30, -1e30, float32(math.NaN()), float32(math.Inf(1)),
		float32(math.Inf(-1)), float32(math.Copysign(0, -1)), 1e-40, 31.74}
	for i := range 300 {
		x = append(x, float32(i-150)*0.4375)
	}
	for _, scale := range []float32{0.5, 0.3, 1e-39, 7e37, 0} {
		for _, zero := range []int8{0, -128, 127, 5} {
			run := func(n int) (q, f *tensor.Dense) {
				s, z := make([]float32, n), make([]int8, n)
				for i := range s {
					s[i], z[i] = scale, zero
				}
				shape := []int{}
				if n > 1 {
					shape = []int{n}
				}
				in := []*tensor.Dense{tensor.Of([]int{1, len(x)}, x), tensor.Of(shape, s), tensor.Of(shape, z)}
				q = evalOn(t, QuantizeLinear, in)
				in[0] = q
				return q, evalOn(t, DequantizeLinear, in)
			}
			q, f := run(1)
			wantQ, wantF := run(len(x))
			testenv.Check(t, tensor.Equal(q, wantQ) && tensor.Equal(f, wantF),
				"scale %v, zero point %d:\n%v\n%v\nwant\n%v\n%v", scale, zero, q.Data, f.Data, wantQ.Data, wantF.Data)
		}
	}
}

// TestDequantizeBlocks: element i of a column has the scale of its block of 1 to 5 rows.
func TestDequantizeBlocks(t *testing.T) {
	const rows, columns = 5, 3
	x := make([]int8, rows*columns)
	for i := range x {
		x[i] = int8(i - 7)
	}
	for block := 1; block <= rows; block++ {
		count := (rows + block - 1) / block
		scales := make([]float32, count*columns)
		for i := range scales {
			scales[i] = float32(i+1) / 4
		}
		g := ir.New("g")
		in := []*tensor.Dense{tensor.Of([]int{rows, columns}, x), tensor.Of([]int{count, columns}, scales)}
		n := testenv.Must(g.Add(DequantizeLinear, "n", ir.Attrs{"axis": ir.Int(0), "block_size": ir.Int(block)}, 1,
			g.AddInput("x", ir.T(tensor.I8, rows, columns)), g.AddInput("s", ir.T(tensor.F32, count, columns))))(t)
		out := testenv.Must(ir.EvalNode(n, in))(t)
		for i, got := range tensor.As[float32](out[0]) {
			testenv.Equal(t, got, float32(x[i])*scales[i/columns/block*columns+i%columns],
				"blocks of %d: element %d", block, i)
		}
	}
}

// evalOn evaluates an operator on inputs.
func evalOn(t *testing.T, o *ir.OpDef, in []*tensor.Dense) *tensor.Dense {
	t.Helper()
	g := ir.New("g")
	vs := lists.Map(in, func(d *tensor.Dense) *ir.Value { return g.AddInput("x", ir.T(d.DType, d.Shape...)) })
	n := testenv.Must(g.Add(o, "n", nil, 1, vs...))(t)
	out := testenv.Must(ir.EvalNode(n, in))(t)
	return out[0]
}
