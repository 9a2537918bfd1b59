// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// residual is a convolution whose result, or a function of it, is added to
// another tensor before it reaches memory. The sum may be stored over that tensor.
var residual = &kernel.Kernel{
	Name: "nncc_helium_convolve_add_s8", Library: Library,
	Doc: "int8 convolution, its result or a function of it added to another tensor a few pixels at a time",
	Ops: []*ir.OpDef{op.Fused}, Layout: kernel.ResidualLayout, Lower: lowerResidual,
	Was: "HELIUM-RESIDUAL", Rules: kernel.Rules{cond.Helium, cond.Residual(conv, add,
		func(c *kernel.Chain) string {
			_, ok := addition(c.Add, resultOperand(c))
			return cond.If(!ok, "no linear form gives the results of the addition for all pairs of values")
		})},
}

// resultOperand is the operand of the addition that the convolution computes.
func resultOperand(c *kernel.Chain) int {
	if c.Swapped {
		return 1
	}
	return 0
}

// residualScratchBytes is about how many bytes of results wait for their addition.
const residualScratchBytes = 256

func lowerResidual(n *kernel.Node) *call.Lowered {
	c := kernel.ChainOf.Must(n)
	v := convOf.Must(c.Main)
	sum, _ := addition(c.Add, resultOperand(c))
	conv := v.call(call.I32(v.G.COut), n.Generic, false, call.Null{})
	pixels := max(conv.block, residualScratchBytes/v.G.COut)
	wait := roundUp(conv.scratch, vector)
	params := conv.Args[0]
	table := call.Arg(call.Null{})
	if c.Table != nil {
		table = call.Lookup(c.Table)
	}
	out, outR := outRows(v.G.COut)
	l := &call.Lowered{Route: conv.tile.String(), Rows: []call.Rows{conv.rows, outR, {I: c.AddIn, Bytes: v.G.COut}}}
	if c.AddIn == 0 {
		l.Rows = l.Rows[:2]
	}
	if conv.direct != nil { // the products of the pixels themselves
		pixels = max(2, residualScratchBytes/v.G.COut&^1)
		l.Scratch = (pixels + v.single()) * v.G.COut
		conv.Args = []call.Arg{params, conv.Args[1], conv.Args[2], i8Scratch(0), conv.Args[3], conv.Args[4],
			conv.tile.fn()}
		conv.Func = "nncc_helium_matmul_add_s8"
		line := param.Line(v.pixels())
		l.Overlap = param.Walk{Images: 1, From: v.depth(), To: v.G.COut, Pixels: pixels}.Overlap(&line)
	} else {
		l.Scratch, l.Overlap = wait+pixels*v.G.COut, v.overlap(&conv, pixels)
		conv.Args = []call.Arg{params, conv.Args[1], conv.Args[2], i8Scratch(0), i8Scratch(wait), conv.Args[4],
			conv.tile.fn()}
		conv.Func = "nncc_helium_convolve_add_s8"
	}
	conv.Args = append(conv.Args, &call.Struct{Type: "nncc_helium_residual_params", Fields: []call.Field{
		call.F("sum", call.Nested{Fields: sum.fields()}), call.FI("swapped", quantised.Flag(sum.swapped)),
		call.F("pitch", out),
		call.F("other_pitch", call.Pitch{I: c.AddIn, Row: v.G.COut}), call.F("table", table),
		call.FI("pixels", pixels)}},
		i8In(c.AddIn), call.Func(sum.fn))
	if c.AddIn != 0 { // which the convolution reads
		l.Overlap = append(l.Overlap, call.InOrder(c.AddIn)...)
	}
	return own(l, conv.Call)
}

// mapped is a convolution with a function of each value behind it, by a table
// where its results are stored.
var mapped = &kernel.Kernel{
	Name: "nncc_helium_convolve_lut_s8", Library: Library,
	Doc: "int8 convolution with a function of each result, by a table in the store loop",
	Ops: []*ir.OpDef{op.Fused}, Layout: kernel.SpatialLayout, Lower: lowerMapped,
	Was: "HELIUM-MAPPED", Rules: kernel.Rules{cond.Helium, cond.Mapped(conv)},
}

func lowerMapped(n *kernel.Node) *call.Lowered {
	c := kernel.ChainOf.Must(n)
	l, p := convOf.Must(c.Main).lower(c.Main.Generic, false, call.Lookup(c.Table))
	l.Unused = nil // weights are the body's own
	if p != nil {  // the products of the pixels themselves
		conv := &l.Calls[0]
		conv.Args = append(conv.Args, call.Func(conv.Func), call.Lookup(c.Table))
		l.Route = conv.Func
		conv.Func, l.Kernel = "nncc_helium_matmul_lut_s8", "nncc_helium_matmul_lut_s8"
	}
	return l
}
