package lower

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/fuse"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/loops"
)

// fused computes neighbours together: functions of one value by one table,
// what a kernel takes in its store loop, and element-wise operators that
// remain in one loop where that pays.
func fused(g *ir.Graph, table kernel.Table, o Options) ([]fuse.Fusion, error) {
	done, err := fuse.Collapse(g)
	if err != nil {
		return nil, err
	}
	kernels, err := fuse.Kernels(g, func(n *ir.Node, _ []*ir.Node) (string, string) {
		c, err := table.Choose(n, &o.Target)
		if err != nil {
			return "", refusal(c)
		}
		return c.Kernel.Name, ""
	})
	if err != nil {
		return nil, err
	}
	fits := func(n *ir.Node) string {
		one, _, err := ir.Outline(g, []*ir.Node{n}, op.Fused, n.Name, nil)
		if err != nil {
			return err.Error()
		}
		for _, r := range loops.Fused.Judge(one, &o.Target) {
			return r.Text
		}
		return ""
	}
	more, err := fuse.Loops(g, fits, func(n *ir.Node, parts []*ir.Node) (string, string) {
		c, err := table.Choose(n, &o.Target)
		if err != nil {
			return "", err.Error()
		}
		var functions []string
		for _, m := range parts {
			functions = append(functions, function(m, table, o))
		}
		if why := fuse.Pays(ISA(o.Target.Core), parts, functions, len(n.In)); why != "" {
			return "", why
		}
		return c.Kernel.Name, ""
	})
	return append(append(done, kernels...), more...), err
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
func function(n *ir.Node, table kernel.Table, o Options) string {
	c, err := table.Choose(n, &o.Target)
	if err != nil {
		return "nothing"
	}
	l, err := c.Kernel.Lower(n, &o.Target)
	switch {
	case err != nil:
		return c.Kernel.Name
	case o.Installed && o.Target.Core.MVE && strings.HasPrefix(l.Kernel, "arm_"):
		return l.Kernel + " of the installed library"
	}
	return l.Kernel
}
