// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// TestFrontEndIsNoWarning: what stays float behind a spectrum by design has an integer form; it is
// noted, not warned of.
func TestFrontEndIsNoWarning(t *testing.T) {
	g := irtest.Parse(t, `graph "g" {
  in %x : f32[1,128]
  const %w : f32[32] = rand 1
  const %m : f32[17,8] = rand 2
  const %f : f32[8,8] = rand 3
  %p = nncc.Spectrum(%x, %w) {length=32, bins=17, frames=7, step=16, power=1}
  %q = MatMul(%p, %m)
  %a = Relu(%q)
  %r = Sqrt(%a)
  %y = MatMul(%r, %f)
  out "y" = %y
}`)
	r, err := lower.Run(g, lower.Options{Precision: option.Int8, Legalize: true, Libraries: []string{"cmsisnn", "refc"},
		Quant: quant.Options{Samples: quant.SyntheticSamples(g.In, 4, 1)}})
	testenv.OK(t, err)
	has := func(code string) bool {
		return slices.ContainsFunc(r.Diags, func(d *diag.Diag) bool { return d.Code == code })
	}
	testenv.Check(t, !has("float-node") && has("float-front-end"), "%q", r.Diags)
}
