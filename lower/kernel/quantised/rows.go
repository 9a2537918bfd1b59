// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
)

// Shared are rows of portable kernels that several families have, because they beat
// those of CMSIS-NN on every core. Core is the
// first rule of a row; Was begins the codes that rows had.
type Shared struct {
	Library, Was string
	Core         kernel.Rule
}

// row completes a row; was is the part of codes that it had.
func (s Shared) row(was string, k kernel.Kernel, rules kernel.Rules,
	lower func(n *kernel.Node) *call.Lowered) *kernel.Kernel {
	k.Library, k.Rules, k.Was = s.Library, kernel.All(s.Core, rules), s.Was+"-"+was
	k.Lower = func(n *kernel.Node) *call.Lowered {
		low := lower(n)
		low.Library = s.Library
		return low
	}
	if k.Layout == nil {
		k.Layout = kernel.SameLayout
	}
	return &k
}

// Pairs are operators on two int8 tensors with broadcasting, by functions of two
// rows.
func (s Shared) Pairs() *kernel.Kernel {
	return s.row("PAIR", kernel.Kernel{Name: "nncc_pairs_s8", Ops: PairOps,
		Doc: "two int8 tensors with broadcasting, by functions of two rows"}, PairRules(),
		func(n *kernel.Node) *call.Lowered { return LowerPair(n, Pairs.Must(n)) })
}

// Sums are additions of two int8 tensors with broadcasting that Pairs has no function
// for.
func (s Shared) Sums() *kernel.Kernel {
	return s.row("SUM", kernel.Kernel{Name: "nncc_pair_add_s8", Ops: []*ir.OpDef{op.Add},
		Doc: "int8 addition with broadcasting, by three roundings"}, sumRules(),
		func(n *kernel.Node) *call.Lowered { return LowerPair(n, Sums.Must(n)) })
}

// Lines are layers that are one line per channel.
func (s Shared) Lines() *kernel.Kernel {
	return s.row("LINE", kernel.Kernel{Name: "nncc_channel_lines_s8", Ops: []*ir.OpDef{op.Conv},
		Doc: "a line per channel: depthwise convolution of single elements"}, LineRules(),
		func(n *kernel.Node) *call.Lowered { return LowerLines(n, ChannelLines.Must(n)) })
}

// Runs is any change of memory order, run by run.
func (s Shared) Runs() *kernel.Kernel {
	return s.row("RUNS", kernel.Kernel{Name: "nncc_copy_nd", Ops: []*ir.OpDef{op.Relayout},
		Doc:    "8-bit conversion between any memory orders, run by run",
		Layout: func(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.AnyToAny} },
	}, AnyRelayoutRules(), LowerRelayout)
}

// Limits are Relu and Clip by themselves, by a table.
func (s Shared) Limits() *kernel.Kernel {
	return s.row("LIMIT", kernel.Kernel{Name: "nncc_lut_s8", Ops: []*ir.OpDef{op.Relu, op.Clip},
		Doc: "int8 Relu and Clip by a table of 256 results"}, LimitRules(), LowerLimit)
}
