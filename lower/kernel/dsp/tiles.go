// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// tiles is a 3x3 convolution by Winograd's F(2x2, 3x3): 16 products for what 36
// do, for packed weights of 32 bytes where 9 are. Costs and bytes decide.
var tiles = &kernel.Kernel{
	Name: "nncc_dsp_convolve_3x3_s8", Library: Library,
	Doc: "int8 3x3 convolution, 2x2 outputs with 16 multiplications a channel instead of 36",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout,
	Lower: func(n *kernel.Node) *call.Lowered { return provenTiles.Must(n).lower() },
	Was:   "DSP-TILES", Rules: kernel.All(cond.DSP, quantised.ConvRules(false, quantised.Everywhere),
		exact(provenTiles)),
}

// tilesAdd is the same with an addition at its end.
var tilesAdd = &kernel.Kernel{
	Name: "nncc_dsp_convolve_3x3_add_s8", Library: Library,
	Doc: "int8 3x3 convolution, its result added to another tensor 2x4 outputs at a time",
	Ops: []*ir.OpDef{op.Fused}, Layout: kernel.ResidualLayout, Lower: lowerTilesAdd,
	Was: "DSP-TILES-ADD", Rules: kernel.All(cond.DSP, cond.Residual(tiles, add,
		func(c *kernel.Chain) string {
			return cond.If(c.Table != nil, "a function of the result, want the addition alone")
		})),
}

// tiled is a convolution for nncc_dsp_convolve_3x3_s8.
type tiled struct {
	c        *convolution
	channels [][]scaled
	order    string // see proven
}

var provenTiles = kernel.FactFrom(convOf, func(n *kernel.Node, c *convolution) (*tiled, string) {
	one := quantised.Tile{H: 1, W: 1}
	if c.Kernel != (quantised.Tile{H: 3, W: 3}) || c.Stride != one || c.Dilation != one || c.G.Group != 1 ||
		c.G.CIn%4 != 0 || c.Out.H < 2 || c.Out.W < 2 {
		return nil, fmt.Sprintf("windows of %v, stride %v, dilation %v, %d groups, %d channels, outputs %v; want 3x3, "+
			"1x1, 1x1, one group, a multiple of 4, 2x2 and more", c.Kernel, c.Stride, c.Dilation, c.G.Group, c.G.CIn,
			c.Out)
	}
	p, why := c.l.prove(n.Options, 1, nil, wide)
	if why != "" {
		return nil, why
	}
	t := &tiled{c: c, channels: p.groups[0], order: p.order(kernel.Ahead)}
	for _, g := range t.channels {
		for i := range g {
			if why := g[i].reach(); why != "" { // four times the sum are 32 bits
				return nil, why
			}
		}
	}
	return t, ""
})

// words are the packed weights, and how many four channels have.
func (t *tiled) words() (w []int32, group int) {
	depth := t.c.G.CIn
	for _, g := range t.channels {
		before := len(w)
		var u [4][][16]int32 // by channel and input
		for i := range g {
			for c := range depth {
				u[i] = append(u[i], spread(&g[i], c))
			}
		}
		order := runOrder(0, depth)
		for at := range 16 {
			for k := 0; k < depth; k += 2 {
				for i := range g {
					w = append(w, u[i][order[k]][at]&0xffff|u[i][order[k+1]][at]<<16)
				}
			}
		}
		for i := range g {
			w = append(w, int32(4*g[i].start))
		}
		for i := range g {
			w = append(w, g[i].s.M, g[i].s.C, g[i].s.S)
		}
		group = len(w) - before
	}
	return w, group
}

// spread is 4 GgG' of the window g that input c has, in rows.
func spread(x *scaled, c int) [16]int32 {
	depth := len(x.row) / 9
	line := func(a, b, c int32) [4]int32 { return [4]int32{2 * a, a + b + c, a - b + c, 2 * c} }
	weight := func(row, column int) int32 {
		if !x.real {
			return 0
		}
		return int32(x.row[(3*row+column)*depth+c])
	}
	var rows [3][4]int32
	for i := range rows {
		rows[i] = line(weight(i, 0), weight(i, 1), weight(i, 2))
	}
	var out [16]int32
	for j := range 4 {
		for i, v := range line(rows[0][j], rows[1][j], rows[2][j]) {
			out[4*i+j] = v
		}
	}
	return out
}

func (t *tiled) lower() *call.Lowered {
	c := t.c
	words, group := t.words()
	l := &call.Lowered{Unused: []int{1, 2}, Scratch: 64*c.G.CIn + 512 + c.G.CIn, Pixels: 8,
		Overlap: param.Walk{Images: c.G.N, From: c.G.CIn, To: c.G.COut, Rows: 2, Pixels: 4}.Overlap(&c.Window)}
	f := fields("batches", c.G.N, "in_h", c.In.H, "in_w", c.In.W, "in_c", c.G.CIn, "out_h", c.Out.H, "out_w", c.Out.W,
		"out_c", c.G.COut, "pad_h", c.Pad.H, "pad_w", c.Pad.W, "group_words", group, "pad", call.T(-c.l.Params.InOff))
	f = append(append(f, clampOf(c.l.Params).fields()...), pitches(l, c.G.CIn, c.G.COut, true)...)
	cut(l, c.G.COut)
	return own(l, call.Call{Func: "nncc_dsp_convolve_3x3" + t.order + "_s8", Args: []call.Arg{
		&call.Struct{Type: "nncc_dsp_convolve_params", Fields: f}, i8In(0), packed(words), i8Out(0), scratch32(0)}})
}

func lowerTilesAdd(n *kernel.Node) *call.Lowered {
	c := kernel.ChainOf.Must(n)
	t := provenTiles.Must(c.Main)
	l := t.lower()
	l.Calls[0].Func = "nncc_dsp_convolve_3x3_add" + t.order + "_s8"
	l = addResidual(c, l, 2, 4*t.c.G.COut)
	for i := range l.Overlap {
		l.Overlap[i].Exact = l.Overlap[i].I != 0 // tiles of two rows go over it
	}
	return l
}
