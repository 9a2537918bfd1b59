package lower

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/kernel"
)

// segmentKernel runs Segment nodes on an accelerator.
func segmentKernel(a accel.Accelerator) *kernel.Kernel {
	t := a.Traits()
	return &kernel.Kernel{
		Name: a.Kind() + "_run_segment", Library: a.Kind(), Doc: "a program of the accelerator", Ops: []*ir.OpDef{op.Segment},
		Layout: func(n *ir.Node) kernel.Layout {
			return kernel.Layout{Kind: kernel.Fixed, In: boundaryOrders(n.In, t), Out: boundaryOrders(n.Out, t)}
		},
		Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
			l, err := a.Compile(n)
			if err != nil {
				return nil, err
			}
			l.Library = a.Kind()
			return l, nil
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
