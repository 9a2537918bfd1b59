// SPDX-License-Identifier: Apache-2.0

package dsp

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
	Name: "nncc_dsp_convolve_lut_s8", Library: Library,
	Doc: "int8 convolution with a function of each result, by a table in the store loop",
	Ops: []*ir.OpDef{op.Fused}, Layout: kernel.SpatialLayout, Lower: lowerMapped,
	Was: "DSP-MAPPED", Rules: kernel.All(cond.NoHelium, cond.Mapped(conv)),
}

func lowerMapped(n *kernel.Node) *call.Lowered {
	c := kernel.ChainOf.Must(n)
	var l *call.Lowered
	if d, why := convDots.Of(c.Main); why == "" {
		l = d.lower(c.Main, c.Table)
	} else {
		l = lowerConv(c.Main, c.Table)
	}
	l.Unused = nil // weights are the body's own
	return l
}

// above is a table of results by the bit pattern of the layer's outputs as the
// kernels read it: by outputs that count from the lower bound of the clamp and
// know no upper one. Null: no table.
func (l *layer) above(table []byte) call.Arg {
	if table == nil {
		return call.Null{}
	}
	t := make([]byte, len(table))
	for i := range t {
		t[i] = table[uint8(min(l.Params.ActMin+int32(i), l.Params.ActMax))]
	}
	return call.Lookup(t)
}
