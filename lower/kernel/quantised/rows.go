// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
)

// Shared are rows of portable kernels that several families have, because they beat
// those of CMSIS-NN on every core. Codes begin with the family's prefix; the core is
// the first rule of a row.
type Shared struct {
	Library, Prefix string
}

// row completes a row; name is that of the row in its codes.
func (s Shared) row(core kernel.Rule, name string, k kernel.Kernel, rules func(code string) []kernel.Rule,
	lower func(n *kernel.Node) *call.Lowered) *kernel.Kernel {
	code := s.Prefix + "-" + name
	core.Code = code + "-00"
	k.Library = s.Library
	k.Rules = slices.Concat([]kernel.Rule{core}, rules(code))
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
func (s Shared) Pairs(core kernel.Rule) *kernel.Kernel {
	return s.row(core, "PAIR", kernel.Kernel{Name: "nncc_pairs_s8", Ops: PairOps,
		Doc: "two int8 tensors with broadcasting, by functions of two rows"}, PairRules,
		func(n *kernel.Node) *call.Lowered { return LowerPair(n, Pairs.Must(n)) })
}

// Sums are additions of two int8 tensors with broadcasting that Pairs has no function
// for.
func (s Shared) Sums(core kernel.Rule) *kernel.Kernel {
	return s.row(core, "SUM", kernel.Kernel{Name: "nncc_pair_add_s8", Ops: []*ir.OpDef{op.Add},
		Doc: "int8 addition with broadcasting, by three roundings"}, sumRules,
		func(n *kernel.Node) *call.Lowered { return LowerPair(n, Sums.Must(n)) })
}

// Lines are layers that are one line per channel.
func (s Shared) Lines(core kernel.Rule) *kernel.Kernel {
	return s.row(core, "LINE", kernel.Kernel{Name: "nncc_channel_lines_s8", Ops: []*ir.OpDef{op.Conv},
		Doc: "a line per channel: depthwise convolution of single elements"}, LineRules,
		func(n *kernel.Node) *call.Lowered { return LowerLines(n, ChannelLines.Must(n)) })
}

// Runs is any change of memory order, run by run.
func (s Shared) Runs(core kernel.Rule) *kernel.Kernel {
	return s.row(core, "RUNS", kernel.Kernel{Name: "nncc_copy_nd", Ops: []*ir.OpDef{op.Relayout},
		Doc:    "8-bit conversion between any memory orders, run by run",
		Layout: func(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.AnyToAny} },
	}, AnyRelayoutRules, LowerRelayout)
}

// Limits are Relu and Clip by themselves, by a table.
func (s Shared) Limits(core kernel.Rule) *kernel.Kernel {
	return s.row(core, "LIMIT", kernel.Kernel{Name: "nncc_lut_s8", Ops: []*ir.OpDef{op.Relu, op.Clip},
		Doc: "int8 Relu and Clip by a table of 256 results"}, LimitRules, LowerLimit)
}
