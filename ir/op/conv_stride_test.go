// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// TestStrideBeyondMap: a stride that is longer than the map has one output, takes no memory or time of its own, and
// gives what a stride of the map's length gives.
func TestStrideBeyondMap(t *testing.T) {
	const size, longest = 5, 1 << 30
	for _, kernel := range []int{1, 2, 3} {
		for _, group := range []int{1, 4} {
			run := func(y, x int) []float64 {
				g := irtest.Parse(t, fmt.Sprintf("graph \"g\" {\nin %%x : f32[1,4,%[1]d,%[1]d]\n"+
					"const %%w : f32[4,%[2]d,%[3]d,%[3]d] = rand 5\n"+
					"%%y : f32[1,4,1,1] = Conv(%%x, %%w) {group=%[4]d, strides=[%[5]d,%[6]d]}\nout \"y\" = %%y\n}",
					size, 4/group, kernel, group, y, x))
				v := make([]float32, 4*size*size)
				for i := range v {
					v[i] = float32(i%7) - 3
				}
				out := testenv.Must(interp.Run(g, []*tensor.Dense{tensor.Of([]int{1, 4, size, size}, v)}, nil))(t)
				return out[0].Floats()
			}
			testenv.Same(t, run(longest, longest-1), run(size, size), "%dx%d, %d groups", kernel, kernel, group)
		}
	}
}

// TestMeant: integers stand for what every DequantizeLinear behind them says, moved or
// not; where two say different things, or one reads numbers, for themselves.
func TestMeant(t *testing.T) {
	const head = `graph "g" {
  in %x : i8[1,2,3]
  const %s : f32[] = {0.5}
  const %z : i8[] = {-128}
  const %r : f32[] = {0.25}
  %m : i8[1,3,2] = Transpose(%x) {perm=[0,2,1]}
  %a : f32[1,3,2] = DequantizeLinear(%m, %s, %z)
`
	for text, known := range map[string]bool{
		head + "  %b : f32[1,2,3] = DequantizeLinear(%x, %s, %z)\n  out \"a\" = %a\n  out \"b\" = %b\n}\n": true,
		head + "  %b : f32[1,2,3] = DequantizeLinear(%x, %r, %z)\n  out \"a\" = %a\n  out \"b\" = %b\n}\n": false,
		head + "  %b : f32[1,2,3] = Cast(%x) {to=1}\n  out \"a\" = %a\n  out \"b\" = %b\n}\n":              false,
	} {
		q := op.Meant(irtest.Parse(t, text).In[0]).Quant
		testenv.Check(t, known == (q != nil) && (!known || q.ScaleAt(0) == 0.5 && q.ZeroAt(0) == -128),
			"%v, want a meaning: %t\n%s", q, known, text)
	}
}
