// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
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

// TestOffloadKeepsResults: whatever set of nodes goes to the accelerator, the
// graph stays valid and computes the same bits.
func TestOffloadKeepsResults(t *testing.T) {
	for seed := uint64(1); seed <= 200; seed++ {
		g := irtest.Gen(seed, tensor.F32)
		in := irtest.Inputs(g, seed)
		want := testenv.Must(interp.Run(g, in, nil))(t)
		k := uint64(0)
		segs := testenv.Must(lower.Offload(g, "mla", func(n *ir.Node) bool { k++; return (k*seed)%4 != 0 }, 0))(t)
		irtest.Verify(t, g)
		for i, s := range segs {
			irtest.Verify(t, s.Body[0])
			testenv.Equal(t, ir.AttrsOf[op.SegmentAttrs](s).Id, i, "seed %d: segment is called", seed)
		}
		got := testenv.Must(interp.Run(g, in, nil))(t)
		for i := range want {
			testenv.Require(t, tensor.Equal(want[i], got[i]), "seed %d: output %d differs", seed, i)
		}
	}
}
