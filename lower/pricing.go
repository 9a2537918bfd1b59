// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
)

// pricer prices the layers of a graph on integers with shapes that they may
// get: what a layer like that would take in the kernel that would be chosen for
// it. Kernels without a model have no price.
func pricer(table kernel.Table, o *Options) align.Pricer {
	seen := map[string]cost.Cost{}
	return func(n *ir.Node, in, out [][]int) cost.Cost {
		if n.Op.View.Whole() && slices.Equal(tensor.Squeezed(in[0]), tensor.Squeezed(out[0])) {
			return cost.Cost{Kernel: "view"}
		}
		key := fmt.Sprint(n.ID, in, out)
		p, ok := seen[key]
		if !ok {
			p = o.estimateHypothetical(table, n, in, out)
			seen[key] = p
		}
		return p
	}
}

// estimateHypothetical prices a layer like n of other shapes.
func (o *Options) estimateHypothetical(table kernel.Table, n *ir.Node, in, out [][]int) cost.Cost {
	if !o.priced(n) {
		return cost.Cost{Unknown: "layers of this kind have no cost table (" + n.Op.Name + ")"}
	}
	m, ok := probe(n, in, out)
	if !ok {
		return cost.Cost{Unknown: "a layer like it with other shapes is not known"}
	}
	c, err := table.Match(m, &o.Target)
	if err != nil {
		return cost.Cost{Unknown: "no kernel takes it"}
	}
	ordered(m, c.Layout) // that of all alternatives
	var list []candidate
	for _, p := range o.alternatives(table, c.Plan, m) {
		l := p.Lower()
		list = append(list, candidate{p, l, p.Cost(o.CostTarget())})
	}
	return list[o.fastest(list)].price
}
