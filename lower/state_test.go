// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"testing"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/state"
)

// TestFloatIntoQuantisedState: an operator without a form on integers makes
// the state that a quantised model reads as integers.
func TestFloatIntoQuantisedState(t *testing.T) {
	g := irtest.Parse(t, `graph "g" {
  in %x : f32[1,4]
  in %h : f32[1,4]
  const %s : f32[] = {0.01}
  const %z : i8[] = {3}
  %xq = QuantizeLinear(%x, %s, %z)
  %xd = DequantizeLinear(%xq, %s, %z)
  %hq = QuantizeLinear(%h, %s, %z)
  %hd = DequantizeLinear(%hq, %s, %z)
  %a = Add(%xd, %hd)
  %aq = QuantizeLinear(%a, %s, %z)
  %ad = DequantizeLinear(%aq, %s, %z)
  const %axis : i64[] = {1}
  %n = CumSum(%ad, %axis)
  out "y" = %ad
  out "h_out" = %n
}`)
	o := targets()[0].options(g)
	o.StateBindings = []state.Binding{{Out: "h_out", In: "h"}}
	r := testenv.Must(lower.Run(g, o))(t)
	in, out := r.States[0].In.Type, r.States[0].Out.Type
	testenv.Check(t, in.Quantised() && out.DType == in.DType && out.Quant.Equal(in.Quant),
		"the state is %s, made as %s", in, out)
}
