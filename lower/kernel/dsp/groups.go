// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"slices"

	"github.com/nncc/nncc/ir/call"
)

const (
	mostGroupScratch = 4096 // for the inputs of two pixels
	mostGroupFours   = 8    // of output channels of a group: with more, a call for each group costs less
)

// together turns the call of a convolution with several groups of channels into
// one that multiplies all groups at once, where that pays.
func (c *convolution) together(l *call.Lowered, w *proven, k *call.Call) {
	g, out := c.G, c.G.COut/c.G.Group
	pairs := w.form.words(c.order(w.form))
	inputs := 8 * pairs * g.Group
	if g.Group == 1 || c.Depth()%4 != 0 || out%4 != 0 || out > 4*mostGroupFours || inputs > mostGroupScratch ||
		w.form != narrow && w.form != wide {
		return
	}
	mat := "nncc_dsp_matmul_2rows_groups" + w.form.suffix()
	k.Func = "nncc_dsp_convolve_groups_s8"
	k.Args = []call.Arg{k.Args[0], call.Func(mat), i8In(0), packed(w.packMoving(c.order(w.form), int32(8*pairs))),
		i8Out(0), scratch32(0)}
	l.Scratch += inputs - 8*pairs
}

// packMoving is pack with a word behind the start values of every four channels:
// the bytes by which the inputs move on before them.
func (p *proven) packMoving(order []int, step int32) (words []int32) {
	for k, fours := range p.groups {
		for i := range fours {
			move := int32(0)
			if i == 0 && k > 0 {
				move = step
			}
			at := len(words) + len(fours[i])
			words = slices.Insert(p.append(words, fours[i], order), at, move)
		}
	}
	return words
}
