// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// FoldConstants makes reals of the quantised constants that only float
// operators read: dequantised at run time they would take RAM, which is scarcer
// than the flash they take now; those that are outputs of the graph only if so asked.
func FoldConstants(g *ir.Graph, outputs bool) error {
	for _, n := range slices.Clone(g.Nodes) {
		if n.Op != op.DequantizeLinear || !allConst(n) || !outputs && g.IsOutput(n.Out[0]) {
			continue
		}
		out, err := evalIn(n, nil)
		if err != nil {
			return err
		}
		g.ReplaceUses(n.Out[0], g.AddConst(n.Out[0].Name, out[0]))
		g.Remove(n)
	}
	return nil
}
