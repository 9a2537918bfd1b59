// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/option"
)

// drawnLayers is how many layers a program of drawn ones has.
const drawnLayers = 24

// TestDrawnFasterThanLibrary: no drawn layer takes more instructions than with
// CMSIS-NN. NNCC_RANDOM=FROM+N draws N programs for each core; of four seeds two are
// int8, one is int16x8 and one has weights of 4 bits.
func TestDrawnFasterThanLibrary(t *testing.T) {
	if testenv.Get("NNCC_RANDOM") == "" {
		t.Skip("NNCC_RANDOM says which programs are drawn")
	}
	from, count := testenv.Range(t, 0)
	for _, core := range compared {
		for seed := from; seed < from+count; seed++ {
			t.Run(fmt.Sprintf("%s/%d", core, seed), func(t *testing.T) {
				set := []func(*Config){nil, nil, func(c *Config) { c.Precision = option.Int16x8 },
					func(c *Config) { c.Weights = option.Int4Weights }}[seed%4]
				fasterThanLibrary(t, core, drawLayers(seed), set)
			})
		}
	}
}

// drawLayers are layers of different names.
func drawLayers(seed int) []sampled {
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	seen := map[string]bool{}
	var all []sampled
	for len(all) < drawnLayers {
		if s := drawLayer(r); !seen[s.name] {
			seen[s.name] = true
			all = append(all, s)
		}
	}
	return all
}

// size is from 1 to most: small ones, odd ones and powers of two as often as others.
func size(r *rand.Rand, most int) int {
	switch r.IntN(3) {
	case 0:
		return 1 + r.IntN(min(most, 5))
	case 1:
		return min(most, 1<<r.IntN(8))
	}
	return 1 + r.IntN(most)
}

func drawLayer(r *rand.Rand) sampled {
	switch r.IntN(12) {
	case 0:
		h, w, k := 1+r.IntN(12), 1+r.IntN(14), 1+r.IntN(5)
		if r.IntN(4) == 0 {
			h, w = 1, 1+r.IntN(50)
		}
		return convLayer(size(r, 40), size(r, 40), 1, max(h, k), max(w, k), min(k, h), k, 1+r.IntN(2), 1,
			r.IntN(2) == 0)
	case 1:
		return convLayer(size(r, 96), size(r, 64), 1, 1+r.IntN(14), 1+r.IntN(14), 1, 1, 1+r.IntN(2), 1, false)
	case 2:
		c, k := size(r, 64), []int{1, 2, 3, 3, 3, 4, 5, 7}[r.IntN(8)]
		return convLayer(c, c*[]int{1, 1, 1, 2, 3}[r.IntN(5)], c, k+r.IntN(12), k+r.IntN(12), k, k, 1+r.IntN(2), 1,
			r.IntN(2) == 0)
	case 3:
		groups := 2 + r.IntN(4)
		return convLayer(groups*(1+r.IntN(8)), groups*(1+r.IntN(8)), groups, 3+r.IntN(8), 3+r.IntN(8), 3, 3, 1, 1, true)
	case 4:
		return productLayer([]int{1, 1, 2 + r.IntN(30)}[r.IntN(3)], size(r, 300), size(r, 100))
	case 5:
		k := 1 + r.IntN(5)
		return poolLayer([]*ir.OpDef{op.MaxPool, op.AveragePool}[r.IntN(2)], size(r, 64), k+r.IntN(14), k+r.IntN(14), k,
			1+r.IntN(3))
	case 6, 7:
		return drawBinary(r)
	case 8:
		return softmaxLayer(size(r, 40), 1+size(r, 200))
	case 9:
		return matmulLayer(1+r.IntN(4), size(r, 32), size(r, 64), size(r, 40))
	case 10:
		return drawMove(r)
	}
	c, oc, k, s := size(r, 32), size(r, 32), 2+r.IntN(3), 1+r.IntN(2)
	h, w := 1+r.IntN(9), 1+r.IntN(9)
	return sampled{fmt.Sprintf("tconv %dx%dx%d to %d, %d, stride %d", h, w, c, oc, k, s), op.ConvTranspose,
		[][]int{{1, c, h, w}}, [][]int{{c, oc, k, k}, {oc}}, ir.Attrs{"strides": ir.Ints(s, s)}, nil}
}

// drawBinary is of two operands, some dimensions of one of which are broadcast.
func drawBinary(r *rand.Rand) sampled {
	d := []*ir.OpDef{op.Add, op.Mul, op.Max, op.Min}[r.IntN(4)]
	a := make([]int, 1+r.IntN(4))
	for i := range a {
		a[i] = size(r, []int{1000, 64, 20, 10}[len(a)-1])
	}
	b := append([]int(nil), a...)
	for i := range b {
		if r.IntN(3) == 0 {
			b[i] = 1
		}
	}
	return binaryLayer(d, a, b)
}

// drawMove moves bytes: pads, transposes and joins.
func drawMove(r *rand.Rand) sampled {
	h, w, c := 1+r.IntN(14), 1+r.IntN(14), size(r, 48)
	switch r.IntN(3) {
	case 0:
		p := make([]int, 8)
		for i := range p {
			if i%4 != 0 && r.IntN(2) == 0 {
				p[i] = r.IntN(4)
			}
		}
		return sampled{fmt.Sprintf("pad %dx%dx%d by %v", h, w, c, p), op.Pad, [][]int{{1, c, h, w}}, nil, nil, p}
	case 1:
		perm := r.Perm(3)
		return sampled{fmt.Sprintf("transpose %dx%dx%d by %v", h, w, c, perm), op.Transpose, [][]int{{h, w, c}}, nil,
			ir.Attrs{"perm": ir.Ints(perm...)}, nil}
	}
	axis, more := 1+r.IntN(3), 1+r.IntN(20)
	a, b := []int{1, c, h, w}, []int{1, c, h, w}
	b[axis] = more
	return sampled{fmt.Sprintf("concat %v %v, %d", a, b, axis), op.Concat, [][]int{a, b}, nil,
		ir.Attrs{"axis": ir.Int(axis)}, nil}
}
