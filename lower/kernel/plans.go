// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
)

// Plans are the plans of a graph's nodes, each made when it is first asked for
// and kept.
type Plans struct {
	table   Table
	options *Options
	of      map[*ir.Node]planned
}

type planned struct {
	Choice
	err error
}

// Plans of a table, none made.
func (t Table) Plans(o *Options) *Plans { return &Plans{t, o, map[*ir.Node]planned{}} }

// Of is the plan of a node, with the refusals of better kernels.
func (p *Plans) Of(n *ir.Node) (Choice, error) {
	x, ok := p.of[n]
	if !ok {
		x.Choice, x.err = p.table.Match(n, p.options)
		p.of[n] = x
	}
	return x.Choice, x.err
}

// Layout is the demand of a node's plan; that of a node without one is Natural.
func (p *Plans) Layout(n *ir.Node) Layout {
	c, err := p.Of(n)
	if err != nil {
		return Layout{}
	}
	return c.Layout
}

// Lowered are the calls of all nodes, whose values have their memory orders. The
// error is that of the first node without a plan.
func (p *Plans) Lowered(nodes []*ir.Node) (map[*ir.Node]*call.Lowered, error) {
	low := map[*ir.Node]*call.Lowered{}
	for _, n := range nodes {
		c, err := p.Of(n)
		if err != nil {
			return nil, err
		}
		low[n] = c.Lower()
	}
	return low, nil
}
