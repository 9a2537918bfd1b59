// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"slices"

	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/pack"
)

// Where results lie in the words of nncc_dsp_matmul_2rows_relu_s8: the sums of
// channels 2 and 3 are oddBits larger than those of channels 0 and 1.
const (
	evenPoint = 8
	oddBits   = 8
)

// ups are the kernels' choices of how much larger inputs are, in bits: the same
// one for all layers, where it does, is less code.
var ups = [4]uint{3, 4, 2, 0}

// reluOrder are the channels of four in the order of their sums: a word has two
// channels' weights, the second one's oddBits larger.
var reluOrder = [4]int{0, 2, 1, 3}

// least is the form of the channels for two pixels, with a table of the results
// behind them or without.
func (p *proven) least(table []byte) *proven {
	if table == nil && p.relu != nil {
		return p.relu
	}
	return p
}

// floors are the channels for nncc_dsp_matmul_2rows_relu_s8, or nil.
func (p *proven) floors(l *layer) *proven {
	if p.options.Bound || p.form != narrow && p.form != wide || !clampOf(l.Params).positive { // a training decides it
		return nil
	}
	room := 0
	for c := range l.Rows {
		if _, mult, shift := l.Channel(c); mult != 0 {
			room = max(room, pack.FloorRoom(-shift, evenPoint))
		}
	}
	if room == 0 {
		if r := p.floorsOf(l, 0); r != nil {
			return r
		}
	}
	for _, up := range ups {
		if int(up) < room {
			continue
		}
		if r := p.floorsOf(l, up); r != nil {
			return r
		}
	}
	return nil
}

// floorsOf is floors for inputs 2^up times as large.
func (p *proven) floorsOf(l *layer, up uint) *proven {
	r := &proven{form: relu, up: up, options: p.options}
	for k, fours := range p.groups {
		per := len(l.Rows) / len(p.groups)
		var list [][]scaled
		for i, g := range fours {
			g = slices.Clone(g)
			first := k*per + 4*i
			if i > 0 && per%4 != 0 { // the first two groups overlap
				first += per%4 - 4
			}
			for j := range g {
				if g[j].real && !r.floor(l, &g[j], first+j, j) {
					return nil
				}
			}
			if !share(&g[0], &g[2]) || !share(&g[1], &g[3]) {
				return nil
			}
			list = append(list, g)
		}
		r.groups = append(r.groups, list)
	}
	return r
}

// floor scales channel c, number i of four; false: not exactly.
func (p *proven) floor(l *layer, x *scaled, c, i int) bool {
	_, mult, shift := l.Channel(c)
	k, point := p.up, uint(evenPoint)
	if i >= 2 {
		k, point = k+oddBits, point+oddBits
	}
	f := kernel.Memo(p.options, floorKey{pack.Sum{Mult: mult, Shift: shift, Lo: x.lo, Hi: x.hi}, k, point},
		floorKey.find)
	x.floor = f.Floor
	return f.ok
}

// floorKey is all that a floor depends on.
type floorKey struct {
	pack.Sum
	k, point uint
}

// floor is the numbers of a channel, if there are some.
type floor struct {
	pack.Floor
	ok bool
}

func (f floorKey) find() floor {
	x, why := pack.OneFloor(f.Sum, f.k, f.point)
	return floor{x, why == ""}
}

// begin is the sum that a channel starts with.
func (p *proven) begin(x *scaled) int64 {
	v := x.start
	if p.up > 0 { // inputs count from -128
		for _, w := range x.row {
			v -= 128 * int64(w)
		}
	}
	return v << p.up
}

// appendRelu packs four channels in relu form.
func (p *proven) appendRelu(words []int32, g []scaled, order []int) []int32 {
	for _, pair := range [2][2]int{{reluOrder[0], reluOrder[1]}, {reluOrder[2], reluOrder[3]}} {
		even, odd := &g[pair[0]], &g[pair[1]]
		v := p.begin(even) + int64(even.floor.B)
		words = append(words, int32(v), int32(p.begin(odd)<<oddBits+int64(odd.floor.B)+v))
	}
	for k := 0; k < len(order); k += 2 {
		words = append(words, pairWord(&g[0], &g[2], order[k:]), pairWord(&g[1], &g[3], order[k:]))
	}
	for _, i := range reluOrder {
		words = append(words, g[i].floor.M, g[i].floor.C)
	}
	return words
}
