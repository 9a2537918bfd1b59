// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// octet is how many channels nncc_dsp_matmul_1row_octets_s8 computes at a time.
const octet = 8

// octets is a single row of inputs by eight channels at a time: an input is loaded half as
// often as by four, a word at a time. Costs decide.
var octets = &kernel.Kernel{
	Name: "nncc_dsp_fully_connected_octets_s8", Library: Library,
	Doc: "int8 fully connected layer of one row, eight outputs at a time", Ops: []*ir.OpDef{op.Gemm, op.MatMul},
	Lower: func(n *kernel.Node) *call.Lowered { return lowerOctets(&convOf.Must(n).l, provenOctets.Must(n)) },
	Rules: kernel.All(cond.DSP, quantised.ProductRules(quantised.Everywhere), exact(provenOctets)),
}

// provenOctets are the channels of a layer by eights, the first two of which overlap where
// the last one would not be whole.
var provenOctets = kernel.FactFrom(convOf, func(n *kernel.Node, c *convolution) (_ *proven, why string) {
	rows, channels := c.G.N, len(c.l.Rows)
	if rows != 1 || channels < octet || formFor(n, channels) != narrow {
		return nil, fmt.Sprintf("%d rows, %d outputs, weights of %v; want one row, %d outputs and more, i8", rows,
			channels, n.In[1].Type.DType, octet)
	}
	var out [][]scaled
	for first := 0; first < channels; {
		g := make([]scaled, octet)
		for i := range g {
			if g[i], why = c.l.channel(first+i, c.l.Params.ActMin); why != "" {
				return nil, why
			}
			if i%2 == 1 && !share(&g[i-1], &g[i]) {
				return nil, fmt.Sprintf("channels %d and %d do not fit half a word", first+i-1, first+i)
			}
		}
		out = append(out, g)
		if first == 0 && channels%octet != 0 {
			first = channels % octet
		} else {
			first += octet
		}
	}
	return &proven{form: narrow, groups: [][][]scaled{out}}, ""
})

func lowerOctets(l *layer, w *proven) *call.Lowered {
	low, p, words := rowsCall(l, w, 1, narrow.rowOrder(len(l.Rows[0])), nil)
	low.Scratch, low.Pixels = 4*narrow.words(narrow.rowOrder(len(l.Rows[0]))), 1
	return own(low, call.Call{Func: "nncc_dsp_fully_connected_octets_s8", Args: []call.Arg{
		p, i8In(0), packed(words), i8Out(0), scratch32(0)}})
}
