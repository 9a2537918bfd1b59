// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

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
	l, direct := convOf.Must(c.Main).lower(c.Main.Generic, false, call.Lookup(c.Table))
	l.Unused = nil // weights are the body's own
	if direct {    // the products of the pixels themselves
		conv := &l.Calls[0]
		conv.Args = append(conv.Args, call.Func(conv.Func), call.Lookup(c.Table))
		l.Route = conv.Func
		conv.Func, l.Kernel = "nncc_helium_matmul_lut_s8", "nncc_helium_matmul_lut_s8"
	}
	return l
}
