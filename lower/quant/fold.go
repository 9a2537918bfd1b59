package quant

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// foldConstants makes reals of the quantised constants that only float
// operators read: dequantised at run time they would take RAM, which is scarcer
// than the flash they take now.
func foldConstants(g *ir.Graph) error {
	for _, n := range slices.Clone(g.Nodes) {
		if n.Op != op.DequantizeLinear || !allConst(n) || g.IsOutput(n.Out[0]) {
			continue
		}
		in := make([]*tensor.Dense, len(n.In))
		for i, v := range n.In {
			if v != nil {
				in[i] = v.Const
			}
		}
		out, err := ir.EvalNode(n, in)
		if err != nil {
			return err
		}
		g.ReplaceUses(n.Out[0], g.AddConst(n.Out[0].Name, out[0]))
		g.Remove(n)
	}
	return nil
}
