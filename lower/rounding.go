// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
)

// RoundAs makes the interpreter round as an installed CMSIS-NN that is linked in place
// of nncc's kernels, in the layers that its kernels compute. It gives the graph to
// compare with: what was folded into a program for two roundings is folded in the
// reference for one, too; where the program is fed window by window the reference has
// to stay whole.
func (r *Result) RoundAs(installed fixp.Rounding) *ir.Graph {
	if installed == fixp.DoubleRounding {
		return r.Reference
	}
	twin := map[int]*ir.Node{} // in the graph before the last rewrites
	for _, n := range r.Reference.Nodes {
		twin[n.ID] = n
	}
	for n, l := range r.Low {
		if l.Library != cmsisnn.Library {
			continue
		}
		op.SetRounding(n, installed)
		if m := twin[n.ID]; m != nil && m.Op == n.Op {
			op.SetRounding(m, installed)
		}
		for _, body := range n.Body { // of a fused node
			for _, m := range body.Nodes {
				op.SetRounding(m, installed)
			}
		}
	}
	if r.Streamed == nil {
		return r.Graph
	}
	return r.Reference
}
