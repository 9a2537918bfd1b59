// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/fuse"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/loops"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/prune"
)

// joinCurves makes functions of int16 values in a row one interpolated table.
func (s *State) joinCurves() {
	s.interpolated = fail.Must(fuse.Interpolate(s.Graph))
	s.Fusions = slices.Clone(s.interpolated)
}

func (s *State) fused(list []fuse.Fusion, err error) {
	s.Fusions = append(s.Fusions, fail.Must(list, err)...)
}

// fuseTables makes functions of one value in a row one table.
func (s *State) fuseTables() { s.fused(fuse.Collapse(s.Graph, s.facts.Target.Bound)) }

// fuseKernels joins nodes with what their kernels compute in the store loop, where
// that pays.
func (s *State) fuseKernels() {
	s.fused(fuse.Kernels(s.Graph, func(n *ir.Node, parts []*ir.Node) (string, string) {
		c, err := s.table.Match(n, &s.facts.Target)
		if err != nil {
			return "", refusal(c)
		}
		if why := s.apartPays(parts); why != "" {
			return "", why
		}
		return c.Kernel.Name, ""
	}))
}

// apartPays says why parts take less one by one, "" where they do not: the first has a
// faster kernel without a store loop, which saves more than all the others take. The
// kernel with the store loop is taken to compute as the first one by order does.
func (s *State) apartPays(parts []*ir.Node) string {
	o := s.options()
	if o.Optimize != option.Speed {
		return ""
	}
	var list []candidate
	rest := 0.0
	for i, n := range parts {
		c, err := s.table.Match(n, &o.Target)
		if err != nil {
			return ""
		}
		if i == 0 {
			list = o.candidates(s.table, c.Plan, n)
			continue
		}
		x := c.Plan.Cost(o.CostTarget())
		if !x.Known() {
			return ""
		}
		rest += o.measure([]candidate{{price: x}})(&x)
	}
	takes, best := o.measure(list), o.fastest(list)
	saved := takes(&list[0].price) - takes(&list[best].price)
	if saved <= rest {
		return ""
	}
	return fmt.Sprintf("%s has no store loop for the others, but saves about %.0f, and they take %.0f",
		list[best].price.Kernel, saved, rest)
}

// fuseLoops makes element-wise operators that remain one loop, where that pays.
func (s *State) fuseLoops() {
	fits := func(n *ir.Node) string {
		one, _, err := ir.Outline(s.Graph, []*ir.Node{n}, op.Fused, n.Name, nil)
		if err != nil {
			return err.Error()
		}
		for _, r := range loops.Fused.CheckLegality(kernel.NewNode(one, &s.facts.Target)) {
			return r.Text
		}
		return ""
	}
	s.fused(fuse.Loops(s.Graph, fits, func(n *ir.Node, parts []*ir.Node) (string, string) {
		c, err := s.table.Match(n, &s.facts.Target)
		if err != nil {
			return "", err.Error()
		}
		if why := s.loopPays(n, parts); why != "" {
			return "", why
		}
		return c.Kernel.Name, ""
	}))
}

// loopPays says why a loop would be slower than the kernels that compute its
// parts one by one, "" when it is faster. It saves a load and a store of every
// value in between, and the kernels' own loops; but kernels work on vectors, or
// on four bytes at a time, where a loop does not. A portable function that
// nobody measured is priced as a loop for its node alone.
func (s *State) loopPays(loop *ir.Node, parts []*ir.Node) string {
	o := s.options()
	if o.FuseAll {
		return ""
	}
	t := o.CostTarget()
	one := t.Of(kernel.LoopLayer(loop))
	sum, kernels := 0.0, []string{}
	for _, n := range parts {
		c, err := s.table.Match(n, &o.Target)
		if err != nil {
			return err.Error()
		}
		x := elementCost(t, c.Plan)
		if !x.Known() && kernel.IsOptimized(c.Plan.Layer().Library) {
			return fmt.Sprintf("no price is known for %s, which computes %s: %s", x.Kernel, n.Op.Name, x.Unknown)
		}
		if !x.Known() {
			x = t.Of(kernel.LoopLayer(n))
			x.Kernel = c.Plan.Layer().Variant
		}
		sum += x.Instructions
		if !slices.Contains(kernels, x.Kernel) {
			kernels = append(kernels, x.Kernel)
		}
	}
	if one.Instructions < sum {
		return ""
	}
	return fmt.Sprintf("a loop would take about %.0f instructions, %s %.0f", one.Instructions,
		strings.Join(kernels, " and "), sum)
}

// elementCost is what a plan costs without the C library, which takes the same
// time wherever it is called.
func elementCost(t *cost.Target, p *kernel.Plan) cost.Cost {
	l := *p.Layer()
	l.Geometry.Parts.Library, l.Geometry.Broadcast = 0, 0
	return t.Of(&l)
}

// removeDeadChannels removes channels that are constant or that nobody reads.
func (s *State) removeDeadChannels() {
	s.Pruned = fail.Must(prune.Run(s.Graph))
	fail.Check(op.OwnOutputs(s.Graph)) // some may have turned out constant
}

// refusal is what stood between a group and its nearest kernel with a store
// loop for what follows.
func refusal(c kernel.Choice) string {
	for _, r := range c.Nearest() {
		if r.Kernel == loops.Fused.Name {
			continue
		}
		for _, x := range r.Reasons {
			return fmt.Sprintf("%s: %s", r.Kernel, x.Text)
		}
	}
	return "no kernel for this core computes more than the first of them"
}
