package lower

import "github.com/nncc/nncc/ir"

// Slack is how far the result of a node of the program may be from that of the
// model by definition, in steps: interpolated functions of int16 values, and
// kernels that say so (ir.OpDef.QError).
func (r *Result) Slack(n *ir.Node) float64 {
	for _, f := range r.curves {
		if f.Anchor == n.Name {
			return f.Error
		}
	}
	return ir.QuantError(n)
}
