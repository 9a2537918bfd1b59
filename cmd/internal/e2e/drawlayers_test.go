// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

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

// drawLayer is a layer of a kind that CMSIS-NN has a kernel for.
func drawLayer(r *rand.Rand) sampled {
	kinds := []func(r *rand.Rand) sampled{drawConv, drawPoints, drawDepthwise, drawGroups, drawProduct, drawPool,
		drawBinary, drawBinary, drawSoftmax, drawMatMul, drawMove, drawMove, drawTransposed, drawRecurrent, drawRelu}
	return kinds[r.IntN(len(kinds))](r)
}

// drawConv is of windows, also along one axis, which CMSIS-NN has a kernel of its own for.
func drawConv(r *rand.Rand) sampled {
	h, w, k, d := 1+r.IntN(12), 1+r.IntN(14), 1+r.IntN(5), 1+r.IntN(4)/3
	if r.IntN(4) == 0 {
		h, w = 1, 1+r.IntN(50)
	}
	kh := min(k, h)
	return convLayer(size(r, 40), size(r, 40), 1, max(h, d*(kh-1)+1), max(w, d*(k-1)+1), kh, k, 1+r.IntN(2), d,
		r.IntN(2) == 0)
}

func drawPoints(r *rand.Rand) sampled {
	return convLayer(size(r, 96), size(r, 64), 1, 1+r.IntN(14), 1+r.IntN(14), 1, 1, 1+r.IntN(2), 1, false)
}

func drawDepthwise(r *rand.Rand) sampled {
	c, kh, d := size(r, 64), []int{1, 2, 3, 3, 3, 4, 5, 7}[r.IntN(8)], 1+r.IntN(4)/3
	kw := kh
	if r.IntN(4) == 0 {
		kw = 1 + r.IntN(7)
	}
	return convLayer(c, c*[]int{1, 1, 1, 2, 3}[r.IntN(5)], c, d*(kh-1)+1+r.IntN(12), d*(kw-1)+1+r.IntN(12), kh, kw,
		1+r.IntN(2), d, r.IntN(2) == 0)
}

func drawGroups(r *rand.Rand) sampled {
	groups := 2 + r.IntN(4)
	return convLayer(groups*(1+r.IntN(8)), groups*(1+r.IntN(8)), groups, 3+r.IntN(8), 3+r.IntN(8), 3, 3, 1, 1, true)
}

func drawProduct(r *rand.Rand) sampled {
	return productLayer([]int{1, 1, 2 + r.IntN(30)}[r.IntN(3)], size(r, 300), size(r, 100))
}

// drawPool is of windows, some of whole maps, some of one row, some that reach beyond the map.
func drawPool(r *rand.Rand) sampled {
	d := []*ir.OpDef{op.MaxPool, op.AveragePool}[r.IntN(2)]
	k, c := 1+r.IntN(5), size(r, 64)
	h, w := k+r.IntN(14), k+r.IntN(14)
	switch r.IntN(4) {
	case 0:
		return windowLayer(d, c, h, w, h, w, 1, 0)
	case 1:
		return windowLayer(d, c, 1, w, 1, k, 1+r.IntN(3), 0)
	case 2:
		return windowLayer(d, c, h, w, k, k, 1+r.IntN(3), k/2)
	}
	return poolLayer(d, c, h, w, k, 1+r.IntN(3))
}

// windowLayer is a pool of windows kh x kw, padded by pad where they are higher or wider than one.
func windowLayer(d *ir.OpDef, c, h, w, kh, kw, stride, pad int) sampled {
	ph, pw := min(pad, kh-1), min(pad, kw-1)
	return sampled{fmt.Sprintf("%s %dx%dx%d, %dx%d, stride %d, pads %d %d", d.Name, h, w, c, kh, kw, stride, ph, pw), d,
		[][]int{{1, c, h, w}}, nil, ir.Attrs{"kernel_shape": ir.Ints(kh, kw), "strides": ir.Ints(stride, stride),
			"pads": ir.Ints(ph, pw, ph, pw)}, nil}
}

func drawSoftmax(r *rand.Rand) sampled { return softmaxLayer(size(r, 40), 1+size(r, 200)) }

// drawMatMul is a product of two activations, one of which may be the same for some of the products.
func drawMatMul(r *rand.Rand) sampled {
	s := matmulLayer(1+r.IntN(4), size(r, 32), size(r, 64), size(r, 40))
	if r.IntN(4) == 0 {
		a, b := slices.Clone(s.in[0]), slices.Clone(s.in[1])
		few := [][]int{a, b}[r.IntN(2)]
		few[0] = 1
		return sampled{fmt.Sprintf("batch matmul %v by %v", a, b), op.MatMul, [][]int{a, b}, nil, nil, nil}
	}
	return s
}

// drawTransposed is a transposed convolution, some cut at the edges.
func drawTransposed(r *rand.Rand) sampled {
	c, oc, k, s := size(r, 32), size(r, 32), 2+r.IntN(3), 1+r.IntN(2)
	h, w, pad := 1+r.IntN(9), 1+r.IntN(9), r.IntN(4)/2
	if s*(min(h, w)-1)+k <= 2*pad {
		pad = 0
	}
	return transposedLayer(c, oc, h, w, k, s, pad)
}

func transposedLayer(c, oc, h, w, k, s, pad int) sampled {
	name := fmt.Sprintf("tconv %dx%dx%d to %d, %d, stride %d, pads %d", h, w, c, oc, k, s, pad)
	return sampled{name, op.ConvTranspose, [][]int{{1, c, h, w}}, [][]int{{c, oc, k, k}, {oc}},
		ir.Attrs{"strides": ir.Ints(s, s), "pads": ir.Ints(pad, pad, pad, pad)}, nil}
}

// drawRecurrent is an LSTM.
func drawRecurrent(r *rand.Rand) sampled {
	return lstmLayer(1+r.IntN(6), size(r, 40), size(r, 40))
}

func lstmLayer(steps, in, units int) sampled {
	return sampled{fmt.Sprintf("lstm %d steps, %d to %d", steps, in, units), op.LSTM, [][]int{{steps, 1, in}},
		[][]int{{1, 4 * units, in}, {1, 4 * units, units}, {1, 8 * units}}, ir.Attrs{"hidden_size": ir.Int(units)}, nil}
}

// drawRelu is a function that cuts values off.
func drawRelu(r *rand.Rand) sampled {
	c, h, w := size(r, 64), 1+r.IntN(14), 1+r.IntN(14)
	return sampled{fmt.Sprintf("relu %dx%dx%d", h, w, c), op.Relu, [][]int{{1, c, h, w}}, nil, nil, nil}
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

func transposeLayer(shape []int, perm ...int) sampled {
	return sampled{fmt.Sprintf("transpose %v by %v", shape, perm), op.Transpose, [][]int{shape}, nil,
		ir.Attrs{"perm": ir.Ints(perm...)}, nil}
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
		p[1+r.IntN(3)]++
		return sampled{fmt.Sprintf("pad %dx%dx%d by %v", h, w, c, p), op.Pad, [][]int{{1, c, h, w}}, nil, nil, p}
	case 1:
		d := []int{h, w, c, 1 + r.IntN(6)}[:3+r.IntN(2)]
		perm := r.Perm(len(d))
		if slices.IsSorted(perm) { // nothing is moved
			slices.Reverse(perm)
		}
		return transposeLayer(d, perm...)
	}
	axis, more := 1+r.IntN(3), 1+r.IntN(20)
	a, b := []int{1, c, h, w}, []int{1, c, h, w}
	b[axis] = more
	return sampled{fmt.Sprintf("concat %v %v, %d", a, b, axis), op.Concat, [][]int{a, b}, nil,
		ir.Attrs{"axis": ir.Int(axis)}, nil}
}
