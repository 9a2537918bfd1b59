package lower

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/fuse"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/loops"
	"github.com/nncc/nncc/lower/prune"
)

// joinCurves makes functions of int16 values in a row one interpolated table.
func (s *State) joinCurves() error {
	most := 32.0 // what a curve and the nodes may miss together: more is a jump
	if s.facts.Quantised {
		most = 1 // the model says what results are
	}
	var err error
	s.curves, err = fuse.Curves(s.Graph, most)
	s.Fusions = slices.Clone(s.curves)
	return err
}

// fused records fusions.
func (s *State) fused(list []fuse.Fusion, err error) error {
	s.Fusions = append(s.Fusions, list...)
	return err
}

// fuseTables makes functions of one value in a row one table.
func (s *State) fuseTables() error { return s.fused(fuse.Collapse(s.Graph)) }

// fuseKernels joins nodes with what their kernels compute in the store loop.
func (s *State) fuseKernels() error {
	return s.fused(fuse.Kernels(s.Graph, func(n *ir.Node, _ []*ir.Node) (string, string) {
		c, err := s.table.Match(n, &s.facts.Target)
		if err != nil {
			return "", refusal(c)
		}
		return c.Kernel.Name, ""
	}))
}

// fuseLoops makes element-wise operators that remain one loop, where that pays.
func (s *State) fuseLoops() error {
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
	return s.fused(fuse.Loops(s.Graph, fits, func(n *ir.Node, parts []*ir.Node) (string, string) {
		c, err := s.table.Match(n, &s.facts.Target)
		if err != nil {
			return "", err.Error()
		}
		var functions []string
		for _, m := range parts {
			functions = append(functions, function(m, s.table, s.options()))
		}
		if why := fuse.Pays(s.facts.Target.Core.ISA(), parts, functions, len(n.In)); why != "" {
			return "", why
		}
		return c.Kernel.Name, ""
	}))
}

// removeDeadChannels removes channels that are constant or that nobody reads.
func (s *State) removeDeadChannels() error {
	var err error
	if s.Pruned, err = prune.Run(s.Graph); err != nil {
		return err
	}
	return op.OwnOutputs(s.Graph) // some may have turned out constant
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

// function is what would compute a node by itself. An installed CMSIS-NN has
// kernels for Helium of its own, which have other prices than nncc's.
func function(n *ir.Node, table kernel.Table, o *Options) string {
	c, err := table.Match(n, &o.Target)
	if err != nil {
		return "nothing"
	}
	l := c.Lower()
	if o.Installed && o.Target.Core.MVE && l.Library == cmsisnn.Library {
		return l.Kernel + " of the installed library"
	}
	return l.Kernel
}
