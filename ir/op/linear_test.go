// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"testing"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
)

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
