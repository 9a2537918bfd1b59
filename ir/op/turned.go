// SPDX-License-Identifier: Apache-2.0

package op

import "github.com/nncc/nncc/ir/tensor"

// TurnedWeights are the weights of a transposed convolution of stride 1 as a
// convolution has them, [COut, CIn/group, kernel...]: the kernel is turned round.
func TurnedWeights(g *ConvGeom, w *tensor.Dense) *tensor.Dense {
	in, out, taps := g.CIn/g.Group, g.COut/g.Group, g.Taps()
	f := w.Floats()
	v := make([]float64, 0, len(f))
	for o := range g.COut {
		for i := range in {
			c := o/out*in + i // input channel
			for t := range taps {
				v = append(v, f[(c*out+o%out)*taps+taps-1-t])
			}
		}
	}
	return tensor.FromFloats(w.DType, append([]int{g.COut, in}, g.Kernel...), v)
}
