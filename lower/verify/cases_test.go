// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/verify"
)

// TestSeeded: seeded inputs are such as graphs take, with divisors and indices that are given or computed.
func TestSeeded(t *testing.T) {
	for _, body := range []string{
		"in %a : i32[64]\nin %b : i32[64]\n%y : i32[64] = Div(%a, %b)",
		"in %a : i8[64]\nin %b : i8[64]\n%y : i8[64] = Mod(%a, %b)",
		"in %a : i32[64]\nin %b : i32[64]\n%c : i32[64] = Add(%a, %b)\n%y : i32[64] = Div(%a, %c)",
		"in %x : f32[1,3]\nin %i : i64[9]\n%y : f32[9,3] = Gather(%x, %i) {axis=0}",
		"in %x : f32[2,3]\nin %i : i64[9]\n%k : i64[9] = Add(%i, %i)\n%y : f32[9,3] = Gather(%x, %k) {axis=0}",
		"in %x : f32[2,3]\nin %i : i8[9]\n%k : i64[9] = Cast(%i) {to=7}\n%y : f32[9,3] = Gather(%x, %k) {axis=0}",
		"in %x : f32[1,3]\nin %i : f32[99]\n%k : i64[99] = Cast(%i) {to=7}\n%y : f32[99,3] = Gather(%x, %k) {axis=0}",
	} {
		g := irtest.Parse(t, "graph \"g\" {\n"+body+"\nout \"y\" = %y\n}")
		for seed := range 3 {
			in := verify.Seeded(state.New(g, nil), seed, 1)
			_, err := interp.Run(g, in, nil)
			testenv.Check(t, err == nil, "seed %d: %v\n%s", seed, err, body)
		}
	}
}

// TestTyped: reals become the integers that stand for them; integers of another type are
// taken where they stand for themselves and fit, and refused where they would mean others.
func TestTyped(t *testing.T) {
	quantised := ir.T(tensor.I8, 2).WithQuant(tensor.I8, ir.PerTensor(0.5, -1))
	for _, c := range []struct {
		in   *tensor.Dense
		to   ir.Type
		want []int64
		bad  string
	}{
		{tensor.Of([]int{2}, []float32{1, 2}), quantised, []int64{1, 3}, ""},
		{tensor.Of([]int{2}, []int8{1, 2}), quantised, []int64{1, 2}, ""},
		{tensor.Of([]int{2}, []uint8{1, 2}), quantised, nil, "its numbers would mean others; want int8, or float"},
		{tensor.Of([]int{2}, []int64{1, 2}), ir.T(tensor.I8, 2), []int64{1, 2}, ""},
		{tensor.Of([]int{2}, []uint8{1, 200}), ir.T(tensor.I8, 2), nil, "element 1, 200, does not fit"},
		{tensor.Of([]int{2}, []float64{1, 2}), ir.T(tensor.I64, 2), []int64{1, 2}, ""},
		{tensor.Of([]int{2}, []float64{1, 2.5}), ir.T(tensor.I64, 2), nil, "element 1, 2.5, does not fit"},
		{tensor.Of([]int{2}, []uint8{1, 2}), ir.T(tensor.F32, 2), nil, "want float"},
	} {
		d, err := verify.Typed(c.in, &ir.Value{Name: "x", Type: c.to})
		if c.bad != "" {
			testenv.Refused(t, err, c.bad)
			continue
		}
		if err != nil {
			t.Errorf("%v to %v: %v", c.in, c.to, err)
			continue
		}
		for i, v := range c.want {
			testenv.Check(t, d.DType == c.to.DType && d.Int(i) == v, "%v to %v: element %d is %d, want %d", c.in,
				c.to, i, d.Int(i), v)
		}
	}
}
