// SPDX-License-Identifier: Apache-2.0

package op

import "github.com/nncc/nncc/ir"

// HardSwish2Attrs are the attributes of HardSwish2.
type HardSwish2Attrs struct {
	Alpha float32 `default:"3"`
	Beta  float32 `default:"6"`
}

// HardSwish2 is x times a hard sigmoid with corners of one's own: 0 at -alpha,
// 1 at beta - alpha. With alpha 3 and beta 6 it is HardSwish.
var HardSwish2 = unary(unarySpec{
	name: "HardSwish2", domain: "nncc", doc: "x * clamp(x + alpha, 0, beta) / beta", types: floatTypes,
	finite: true, activation: true,
	attrs: ir.Declare[HardSwish2Attrs](),
	real: func(n *ir.Node) func(float64) float64 {
		a, b := float64(ir.AttrsOf[HardSwish2Attrs](n).Alpha), float64(ir.AttrsOf[HardSwish2Attrs](n).Beta)
		return func(x float64) float64 { return x * (min(max(x+a, 0), b) / b) }
	},
	c: ir.CForm{F64: "x * (nncc_min_f64(nncc_max_f64(x + {alpha}, 0.0), {beta}) / {beta})"},
})
