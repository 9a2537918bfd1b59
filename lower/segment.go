// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/kernel"
)

// segmentKernel runs Segment nodes on an accelerator.
func segmentKernel(a accel.Accelerator) *kernel.Kernel {
	t, compiled := a.Traits(), kernel.FactOf(a.Compile)
	return &kernel.Kernel{
		Name: a.Kind() + "_run_segment", Library: a.Kind(), Doc: "a program of the accelerator",
		Ops:   []*ir.OpDef{op.Segment},
		Rules: []kernel.Rule{compiled.Exists(strings.ToUpper(a.Kind())+"-SEGMENT", "the segment compiles")},
		Layout: func(n *kernel.Node) kernel.Layout {
			return kernel.Layout{Kind: kernel.Fixed, In: boundaryOrders(n.In, t), Out: boundaryOrders(n.Out, t)}
		},
		Lower: func(n *kernel.Node) *call.Lowered {
			l := compiled.Must(n)
			l.Library = a.Kind()
			return l
		},
	}
}

// boundaryOrders are the memory orders of a segment's inputs or outputs; nil is
// the logical order.
func boundaryOrders(values []*ir.Value, t accel.Traits) [][]int {
	orders := make([][]int, len(values))
	for i, v := range values {
		if t.ChannelsLast && v.Type.Rank() == 4 {
			orders[i] = ir.NHWC(4)
		}
	}
	return orders
}
