// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
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
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		if have := verify.FromFloat(g.Out[0]); have != want {
			t.Errorf("%v, want %v:\n%s", have, want, src)
		}
	}
}
