// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/qref"
)

// Fixed computes spectra of integers in fixed point, for cores without an FPU:
//
//	%s = nncc.Spectrum(%x, %w)   =>   %s = nncc.Spectrum(%x, %w) {fixed=1}
var Fixed = pass.Pass{
	Name: "fourier-fixed", Doc: "spectra of integers in fixed point", Numerics: pass.Lossy,
	Run: func(c *pass.Ctx, g *ir.Graph) error {
		return c.Each(g, func(n *ir.Node) error {
			if n.Op == op.Spectrum && n.In[0].Type.Quant != nil && fits(n) {
				n.SetAttr("fixed", ir.Int(1))
				c.Did(n, "the transform is computed in fixed point")
			}
			return nil
		})
	},
}

// fits reports that fixed point has room for the length of a transform, and float32 for
// the squares of its unit.
func fits(n *ir.Node) bool {
	if ir.AttrsOf[op.SpectrumAttrs](n).Length > qref.MaxFixedFFT {
		return false
	}
	unit := float64(op.NewFixedSpectrum(n).Unit)
	return unit > math.Sqrt(math.SmallestNonzeroFloat32)*(1<<24) && unit < math.Sqrt(math.MaxFloat32)/(1<<32)
}
