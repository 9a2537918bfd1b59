// SPDX-License-Identifier: Apache-2.0

// Package prune removes from a quantised graph the channels that carry no
// information. A channel whose code is the same for every possible input is
// known at compile time: its contribution goes into the bias of the layer
// that reads it. A channel that nobody reads any more goes too, with the
// weights that compute it. Results stay the same bit for bit.
//
// Networks trained with BatchNormalization and Relu have many such channels:
// training pushes them below zero for good, and quantisation makes "nearly
// always zero" into "always zero".
package prune

import (
	"fmt"

	"github.com/nncc/nncc/ir"
)

// Cut is a value that lost channels.
type Cut struct {
	Node     string // the node that computes it
	Origin   []string
	Before   int // channels
	After    int // 0: the whole value is constant
	Constant int // channels with one and the same code for every input
}

// Run prunes g, the graph on integers, in place.
func Run(g *ir.Graph) ([]Cut, error) {
	r := ranges(g)
	cuts := foldConstants(g, r)
	more, err := cut(g, r, need(g, r))
	return append(cuts, more...), err
}

// channels is the length of dimension 1, by which ranges are kept; 0 for
// values without one.
func channels(t ir.Type) int {
	if t.Rank() < 2 {
		return 0
	}
	return t.Shape[1]
}

func newCut(n *ir.Node, before, after, constant int) Cut {
	return Cut{Node: n.Name, Origin: n.Origin, Before: before, After: after, Constant: constant}
}

func (c Cut) String() string {
	if c.After == 0 {
		return fmt.Sprintf("%s: constant for every input", c.Node)
	}
	return fmt.Sprintf("%s: %d of %d channels removed", c.Node, c.Before-c.After, c.Before)
}
