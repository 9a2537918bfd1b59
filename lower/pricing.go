package lower

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
)

// pricer prices the layers of a graph on integers with shapes that they may
// get: what a layer like that would take in the kernel that would be chosen for
// it. Kernels without a model have no price.
func pricer(table kernel.Table, o *Options) align.Pricer {
	seen := map[string]cost.Price{}
	return func(n *ir.Node, in, out [][]int) cost.Price {
		if n.Op.View.Whole() && slices.Equal(withoutOnes(in[0]), withoutOnes(out[0])) {
			return cost.Price{Kernel: "view"}
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
func (o *Options) estimateHypothetical(table kernel.Table, n *ir.Node, in, out [][]int) cost.Price {
	if _, ok := shapeOf(n); !ok {
		return cost.Price{Unknown: "layers of this kind have no cost table (" + n.Op.Name + ")"}
	}
	m, ok := probe(n, in, out)
	if !ok {
		return cost.Price{Unknown: "a layer like it with other shapes is not known"}
	}
	c, err := table.Match(m, &o.Target)
	if err != nil {
		return cost.Price{Unknown: "no kernel takes it"}
	}
	ordered(m, c.Layout) // that of all alternatives
	var list []candidate
	for _, p := range o.alternatives(table, c.Plan, m) {
		l := p.Lower()
		list = append(list, candidate{p, l, o.price(m, l)})
	}
	return list[fastest(list)].price
}

func withoutOnes(s []int) []int {
	return slices.DeleteFunc(slices.Clone(s), func(d int) bool { return d == 1 })
}

// copyPricer prices copies that add channels to a feature map.
func copyPricer(o *Options) func(in, out []int) cost.Price {
	const kernel = "arm_pad_s8"
	m := cost.Models()[cost.Key{Make: o.Make(), ISA: ISA(o.Target.Core), Route: kernel}]
	return func(in, out []int) cost.Price {
		if m == nil {
			return cost.Price{Unknown: kernel + " has no cost table for this core"}
		}
		pixels := in[0]
		for _, d := range in[2:] {
			pixels *= d
		}
		s := spatial(1, []int{pixels}, []int{pixels}, []int{1}, []int{1}, []int{0})
		s.C, s.OC, s.Groups = in[1], out[1], in[1]
		return cost.Price{Instructions: m.Predict(s), Kernel: kernel, Error: m.Error}
	}
}
