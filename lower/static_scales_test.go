// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// TestStaticScales: layers that a model quantises at run time are as near to it in float
// as its rounding lets them, and integer layers with calibration data. They stay as they
// are without, in float32, and where something else reads what was measured.
func TestStaticScales(t *testing.T) {
	for _, c := range []struct{ layer, x, weights string }{
		{"ConvInteger(%q, %w, %z, %wz) {pads=[1,1,1,1]}", "1,3,8,8", "u8[4,3,3,3]"},
		{"ConvInteger(%q, %w, %z, %wz) {strides=[2,2]}", "1,3,9,9", "i8[4,3,3,3]"},
		{"MatMulInteger(%q, %w, %z, %wz)", "1,12", "i8[12,4]"},
		{"MatMulInteger(%q, %w, %z, %wz)", "2,5,12", "u8[12,4]"},
		{"MatMulInteger(%q, %w, %z)", "1,12", "i8[12,4]"},
	} {
		for _, scale := range []string{"%s", "%t"} {
			for _, other := range []string{"", "out \"s\" = %s", "out \"q\" = %q", "out \"m\" = %m"} {
				text := fmt.Sprintf(`graph "g" {
  in %%x : f32[%s]
  const %%w : %s = rand 1
  const %%wz : %s[] = {3}
  const %%ws : f32[] = {0.25}
  %%q, %%s, %%z = DynamicQuantizeLinear(%%x)
  %%m = %s
  %%c = Cast(%%m) {to=1}
  %%t = Mul(%%s, %%ws)
  %%y = Mul(%%c, %s)
  out "y" = %%y
  %s
}`, c.x, c.weights, c.weights[:2], c.layer, scale, other)
				g := irtest.Parse(t, text)
				static := g.Clone()
				legal.StaticScales(&pass.Ctx{}, static)
				in := irtest.Inputs(g, 1)
				db := interp.SQNR(irtest.Run(t, static, in)[0], irtest.Run(t, g, in)[0])
				testenv.Check(t, !(db < 30), "%s: %.1f dB", text, db)
				for _, o := range []struct {
					precision option.Precision
					source    string
				}{{option.Int8, "samples"}, {option.Int8, quant.SyntheticSource}, {option.Float32, ""}} {
					opt := lower.Options{Precision: o.precision, Legalize: true, Libraries: []string{"cmsisnn", "refc"}}
					if o.source != "" {
						opt.Quant = quant.Options{Samples: quant.SyntheticSamples(g.In, 16, 1), Source: o.source}
					}
					r, err := lower.Run(g.Clone(), opt)
					testenv.Require(t, err == nil, "%s\n%v", text, err)
					dynamic := slices.ContainsFunc(r.Graph.Nodes, func(n *ir.Node) bool {
						return n.Op == op.DynamicQuantizeLinear
					})
					testenv.Equal(t, dynamic, o.source != "samples" || other != "",
						"%s %s %s: quantised at run time", o.precision, o.source, text)
				}
			}
		}
	}
}
