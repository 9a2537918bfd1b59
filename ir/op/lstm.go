// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// LSTMAttrs are the attributes of LSTM.
type LSTMAttrs struct {
	RNNAttrs
	InputForget int `default:"0"`
	// CellClip limits the magnitude of a new cell state. ONNX has no such attribute.
	CellClip *float32
}

// LSTM is ONNX's long short-term memory. Inputs: X, W [dirs, 4*H, input] and R
// [dirs, 4*H, H] with the gates in the order i, o, f, c; B [dirs, 8*H] (input,
// then recurrence biases), sequence_lens [batch] int32, initial_h, initial_c
// [dirs, batch, H], peepholes P [dirs, 3*H] in the order i, o, f. Outputs: Y
// [steps, dirs, batch, H], the last hidden and the last cell state [dirs,
// batch, H]; layout 1 moves batch to the front. The activations are f, g, h.
// cell_clip, which ONNX lacks, limits new cell states to [-cell_clip, cell_clip].
// On quantised values it follows the general rule (dequantise, compute in
// float64, quantise); the integer LSTM is the nncc operator QLSTM.
var LSTM = def(ir.OpDef{
	Name: "LSTM", Doc: "long short-term memory",
	Attrs: ir.Declare[LSTMAttrs](), MinIn: 3, MaxIn: 8, MaxOut: 3,
	Infer: inferRNN, Limits: sequenceLengths,
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := fail.Must(RNNGeometry(n))
		return inFloat(in, lstmFloat(n, g)), nil
	},
	Pattern: ir.Opaque, MACs: rnnMACs,
})

func lstmFloat(n *ir.Node, g *RNNGeom) func(in []*tensor.Dense) []*tensor.Dense {
	H := g.Hidden
	coupled, limit := ir.AttrsOf[LSTMAttrs](n).InputForget != 0, g.CellClip
	return recur(n, g, func(s *rnnState) { s.recurrentProduct(s.h, 0, 4*H) },
		func(s *rnnState, b int, nh, nc []float64) {
			z, c := s.gates[b*4*H:][:4*H], s.c[b*H:][:H]
			for k := range nh {
				zi, zo, zf, zc := z[k], z[H+k], z[2*H+k], z[3*H+k]
				if s.p != nil {
					zi += s.p[k] * c[k]
					zf += s.p[2*H+k] * c[k]
				}
				i := s.act(0, zi)
				f := 1 - i
				if !coupled {
					f = s.act(0, zf)
				}
				nc[k] = min(max(f*c[k]+i*s.act(1, zc), -limit), limit)
				if s.p != nil {
					zo += s.p[H+k] * nc[k]
				}
				nh[k] = s.act(0, zo) * g.Act(s.dir, 2)(nc[k])
			}
		})
}
