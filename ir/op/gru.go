// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// GRUAttrs are the attributes of GRU.
type GRUAttrs struct {
	RNNAttrs
	LinearBeforeReset int `default:"0"`
}

// GRU is ONNX's gated recurrent unit. W [dirs, 3*H, input] and R [dirs, 3*H,
// H] hold the gates in the order z (update), r (reset), h (hidden); B [dirs,
// 6*H]. With linear_before_reset the reset gate multiplies the recurrent
// product and its bias instead of the hidden state. Outputs: Y [steps, dirs,
// batch, H] and the last hidden state. The activations are f, g.
var GRU = def(ir.OpDef{
	Name: "GRU", Doc: "gated recurrent unit",
	Attrs: ir.Declare[GRUAttrs](), MinIn: 3, MaxIn: 6, MaxOut: 2,
	Infer: inferRNN, Limits: sequenceLengths,
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := fail.Must(RNNGeometry(n))
		return inFloat(in, gruFloat(n, g)), nil
	},
	Pattern: ir.Opaque, MACs: rnnMACs,
})

func gruFloat(n *ir.Node, g *RNNGeom) func(in []*tensor.Dense) []*tensor.Dense {
	H := g.Hidden
	linear := ir.AttrsOf[GRUAttrs](n).LinearBeforeReset != 0
	prepare := func(s *rnnState) {
		s.recurrentProduct(s.h, 0, 2*H) // z and r
		for b := 0; b < g.Batch; b++ {
			for k := range 2 * H {
				s.gates[b*3*H+k] = s.act(0, s.gates[b*3*H+k])
			}
		}
		if !linear {
			reset := make([]float64, g.Batch*H)
			for i := range reset {
				reset[i] = s.gates[i/H*3*H+H+i%H] * s.h[i]
			}
			s.recurrentProduct(reset, 2*H, 3*H)
			return
		}
		rec := make([]float64, g.Batch*H)
		gemm(false, false, g.Batch, H, H, 1, s.h, H, s.across[2*H:], 3*H, 0, rec, H)
		for i, v := range rec {
			b, k := i/H, i%H
			z := s.pre[b*3*H+2*H+k]
			if s.wb != nil {
				v += s.rb[2*H+k]
				z += s.wb[2*H+k]
			}
			s.gates[b*3*H+2*H+k] = z + s.gates[b*3*H+H+k]*v
		}
	}
	return recur(n, g, prepare, func(s *rnnState, b int, nh, _ []float64) {
		z, h := s.gates[b*3*H:][:3*H], s.h[b*H:][:H]
		for k := range nh {
			nh[k] = (1-z[k])*s.act(1, z[2*H+k]) + z[k]*h[k]
		}
	})
}

// RNN is ONNX's simple recurrent unit: h = f(W*x + R*h + both biases), with W
// [dirs, H, input], R [dirs, H, H], B [dirs, 2*H].
var RNN = def(ir.OpDef{
	Name: "RNN", Doc: "simple recurrent unit",
	Attrs: ir.Declare[RNNAttrs](), MinIn: 3, MaxIn: 6, MaxOut: 2,
	Infer: inferRNN, Limits: sequenceLengths,
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := fail.Must(RNNGeometry(n))
		return inFloat(in, rnnFloat(n, g)), nil
	},
	Pattern: ir.Opaque, MACs: rnnMACs,
})

func rnnFloat(n *ir.Node, g *RNNGeom) func(in []*tensor.Dense) []*tensor.Dense {
	H := g.Hidden
	return recur(n, g, func(s *rnnState) { s.recurrentProduct(s.h, 0, H) }, func(s *rnnState, b int, nh, _ []float64) {
		for k := range nh {
			nh[k] = s.act(0, s.gates[b*H+k])
		}
	})
}
