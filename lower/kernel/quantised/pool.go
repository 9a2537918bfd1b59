// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"fmt"

	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
)

// PoolRules are the conditions on an int8 pooling.
func PoolRules() kernel.Rules { return PoolRulesOf(Int8(0)) }

// PoolRulesOf are the conditions on a pooling of data that a rule is about.
func PoolRulesOf(data kernel.Rule) kernel.Rules {
	return kernel.Rules{
		data,
		cond.New("POOL-QUANTISATION", "one quantisation, padding that does not count", func(n *kernel.Node) string {
			if n.In[0].Type.Quant == nil || n.Out[0].Type.Quant == nil {
				return kernel.Unread
			}
			_, _, why := op.PoolQuantClamp(n.Node)
			return why
		}), SpatialRule(kernel.Pool, func(g *op.PoolGeom) []int { return g.In }),
		kernel.Pool.Rule("POOL-FORM", "no dilation, no indices", func(n *kernel.Node, g *op.PoolGeom) string {
			switch {
			case len(n.Out) > 1:
				return "the indices of the maxima are wanted"
			case param.Spatial(g.Dilations, 1) != Tile{H: 1, W: 1}:
				return fmt.Sprintf("dilations are %v, want 1", g.Dilations)
			}
			return ""
		}),
	}
}
