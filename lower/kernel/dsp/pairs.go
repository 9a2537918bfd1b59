package dsp

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// pairs are operators on two int8 tensors with broadcasting, by functions of two
// rows.
var pairs = &kernel.Kernel{
	Name: "nncc_pairs_s8", Library: Library, Doc: "two int8 tensors with broadcasting, by functions of two rows",
	Ops: quantised.PairOps, Layout: kernel.SameLayout,
	Rules: join(noHelium("DSP-PAIR-00"), quantised.PairRules("DSP-PAIR")),
	Lower: func(n *kernel.Node) *call.Lowered {
		low := quantised.LowerPair(n, quantised.Pairs.Must(n))
		low.Library = Library
		return low
	},
}

// lines are layers that are one line per channel.
var lines = &kernel.Kernel{
	Name: "nncc_channel_lines_s8", Library: Library,
	Doc: "a line per channel: depthwise convolution of single elements",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SameLayout,
	Rules: join(noHelium("DSP-LINE-00"), quantised.LineRules("DSP-LINE")),
	Lower: func(n *kernel.Node) *call.Lowered {
		low := quantised.LowerLines(n, quantised.ChannelLines.Must(n))
		low.Library = Library
		return low
	},
}

// runs is any change of memory order, run by run.
var runs = &kernel.Kernel{
	Name: "nncc_copy_nd", Library: Library, Doc: "8-bit conversion between any memory orders, run by run",
	Ops:    []*ir.OpDef{op.Relayout},
	Layout: func(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.AnyToAny} },
	Rules:  join(onDSP("DSP-RUNS-00"), quantised.AnyRelayoutRules("DSP-RUNS")),
	Lower: func(n *kernel.Node) *call.Lowered {
		low := quantised.LowerRelayout(n)
		low.Library = Library
		return low
	},
}

// limits are Relu and Clip by themselves, by a table.
var limits = &kernel.Kernel{
	Name: "nncc_lut_s8", Library: Library, Doc: "int8 Relu and Clip by a table of 256 results",
	Ops: []*ir.OpDef{op.Relu, op.Clip}, Layout: kernel.SameLayout,
	Rules: join(noHelium("DSP-LIMIT-00"), quantised.LimitRules("DSP-LIMIT")),
	Lower: func(n *kernel.Node) *call.Lowered {
		low := quantised.LowerLimit(n)
		low.Library = Library
		return low
	},
}
