// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/verify"
)

// TestFromFloat: integers behind arithmetic in float are told from others, also where it
// is fused into one loop with their quantisation.
func TestFromFloat(t *testing.T) {
	const in = "in %x : i16[4] q(0.001:0)\nconst %s : f32[] = {0.001}\nconst %z : i16[] = {0}\n"
	const body = "const %s : f32[] = {0.001}\nconst %z : i16[] = {0}\n" +
		"%d : f32[4] = DequantizeLinear(%i, %s, %z)\n"
	for src, want := range map[string]bool{
		in + "%y : i16[4] q(0.001:0) = Relu(%x)": false,
		in + "%d : f32[4] = DequantizeLinear(%x, %s, %z)\n%y : i16[4] q(0.001:0) = QuantizeLinear(%d, %s, %z)": false,
		in + "%d : f32[4] = DequantizeLinear(%x, %s, %z)\n%e = Exp(%d)\n" +
			"%y : i16[4] q(0.001:0) = QuantizeLinear(%e, %s, %z)": true,
		in + "%y : i16[4] q(0.001:0) = nncc.Fused(%x)\nbody \"b\" {\nin %i : i16[4] q(0.001:0)\n" + body +
			"%e = Exp(%d)\n%q : i16[4] q(0.001:0) = QuantizeLinear(%e, %s, %z)\nout \"q\" = %q\n}": true,
		in + "%y : i16[4] q(0.001:0) = nncc.Fused(%x)\nbody \"b\" {\nin %i : i16[4] q(0.001:0)\n" +
			"%q : i16[4] q(0.001:0) = Relu(%i)\nout \"q\" = %q\n}": false,
	} {
		g, err := ir.Parse("graph \"g\" {\n"+src+"\nout \"y\" = %y\n}", op.Get)
		testenv.Require(t, err == nil, "%v\n%s", err, src)
		have := verify.FromFloat(g.Out[0])
		testenv.Check(t, have == want, "%v, want %v:\n%s", have, want, src)
	}
}

// TestFloatBounds: a result of any float type may be rounded to one side or the other,
// and float32 and float64 carry the sums of many terms; none may be off by a part
// that a user would see.
func TestFloatBounds(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16, tensor.F32, tensor.F64} {
		for _, top := range []float64{0x1p-8, 1, 1024} {
			want := tensor.FromFloats(d, []int{2}, []float64{top, -top / 4})
			off := func(by float64) *tensor.Dense {
				return tensor.FromFloats(d, []int{2}, []float64{top, -top/4 + by})
			}
			n, _ := verify.Differ(off(top*d.Epsilon()), want, 0, nil)
			testenv.Check(t, n == 0, "%s: a rounding of %v is a mismatch", d, top)
			if n, _ := verify.Differ(off(top/16), want, 0, nil); n != 1 {
				t.Errorf("%s: a sixteenth of %v is none", d, top)
			}
		}
	}
}
