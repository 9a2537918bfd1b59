// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math"
	"testing"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// TestToSingleKeepsBits: what reads a value bit by bit reads the model's type.
func TestToSingleKeepsBits(t *testing.T) {
	for _, src := range []string{
		`graph "g" {
			in %x : f16[4]
			%a = Neg(%x)
			%b = BitCast(%a) {to=5}
			%c = BitCast(%b) {to=10}
			%y = Neg(%c)
			out "b" = %b
			out "y" = %y
		}`, `graph "g" {
			in %x : f64[4]
			%b = BitCast(%x) {to=7}
			out "b" = %b
		}`} {
		g := irtest.Parse(t, src)
		in := irtest.Inputs(g, 3)
		for i, d := range in { // numbers that float32 has
			for k := range d.Len() {
				d.SetFloat(k, math.Round(d.Float(k)*8)/8)
			}
			in[i] = d
		}
		want := irtest.Run(t, g, in)
		s, err := ToSingle(g)
		if err != nil || s == nil {
			t.Fatal(s, err)
		}
		testenv.OK(t, s.Border(g, nil))
		irtest.Verify(t, g)
		for i, d := range irtest.Run(t, g, in) {
			testenv.Check(t, tensor.Equal(d, want[i]), "output %d is %v, want %v in\n%s", i, d.Data, want[i].Data, g)
		}
	}
}

// TestToSingleRange: bounds, masks and divisors that float32 cannot hold stay
// bounds, masks and divisors, and it is said.
func TestToSingleRange(t *testing.T) {
	g := irtest.Parse(t, `graph "g" {
		in %x : f64[2]
		const %most : f64[] = {1e300}
		const %least : f64[] = {-1e300}
		const %eps : f64[] = {1e-300}
		const %inf : f64[] = {inf}
		%c = Clip(%x, %least, %most)
		%m = Mul(%c, %least)
		%e = Add(%x, %eps)
		%z = Sub(%x, %x)
		%d = Add(%z, %eps)
		%q = Div(%z, %d)
		%i = Min(%e, %inf)
		out "m" = %m
		out "q" = %q
		out "i" = %i
	}`)
	s, err := ToSingle(g)
	if err != nil || len(s.Notes) != 2 {
		t.Fatal(s, err)
	}
	for i, d := range irtest.Run(t, g, []*tensor.Dense{tensor.Of([]int{2}, []float32{0, 1})}) {
		for k := range d.Len() {
			f := d.Float(k)
			testenv.Check(t, !math.IsNaN(f) && (f != 0 || i != 2 || k != 1), "output %d, element %d is %v", i, k, f)
		}
		testenv.Equal(t, d.DType, tensor.F32, "output %d", i)
	}
	if s, err := ToSingle(irtest.Gen(1, tensor.F32)); s != nil || err != nil {
		t.Errorf("a float32 graph: %v, %v", s, err)
	}
}
