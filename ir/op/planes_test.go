// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// drawConv draws a convolution in one or two dimensions with its operands; odd ones have
// zeros among the weights, infinite inputs, a bias of -0.
func drawConv(t *testing.T, r *rand.Rand) (*ir.Node, []*tensor.Dense) {
	dims := 1 + r.IntN(2)
	group, ci, co := 1, 1+r.IntN(20), 1+r.IntN(20)
	switch r.IntN(3) {
	case 0: // depthwise
		group, ci, co = ci, 1, ci*(1+r.IntN(3))
	case 1:
		group = 1 + r.IntN(3)
		co *= group
	}
	in, w := []int{1 + r.IntN(2), ci * group}, []int{co, ci}
	var strides, dilations, pads []int
	for range dims {
		k, d := 1+r.IntN(4), 1+r.IntN(2)
		in, w = append(in, k*d+r.IntN(22)), append(w, k)
		strides, dilations = append(strides, 1+r.IntN(3)), append(dilations, d)
	}
	for range 2 * dims {
		pads = append(pads, r.IntN(3))
	}
	draw := func(shape []int, zeros bool) *tensor.Dense {
		d := tensor.New(tensor.F32, shape)
		x := d.Data.([]float32)
		for i := range x {
			if x[i] = float32(r.NormFloat64()); zeros && r.IntN(4) == 0 {
				x[i] = 0
			}
		}
		return d
	}
	odd := r.IntN(3) == 0
	x, k, b := draw(in, false), draw(w, odd), draw([]int{co}, odd)
	if odd {
		x.Data.([]float32)[r.IntN(x.Len())] = float32(math.Inf(1))
		b.Data.([]float32)[0] = float32(math.Copysign(0, -1))
	}
	attrs := ir.Attrs{"strides": ir.Ints(strides...), "dilations": ir.Ints(dilations...), "pads": ir.Ints(pads...),
		"group": ir.Int(group)}
	switch r.IntN(3) {
	case 0:
		attrs["act_min"] = ir.Float(0)
	case 1:
		attrs["act_min"], attrs["act_max"] = ir.Float(float32(r.IntN(2)-1)), ir.Float(0.5)
	}
	g := ir.New("conv")
	v := g.AddInput("x", ir.T(tensor.F32, in...))
	n := testenv.Must(g.Add(Conv, "n", attrs, 1, v, g.AddConst("w", k), g.AddConst("b", b)))(t)
	return n, []*tensor.Dense{x, k, b}
}

// TestConvPadding: padding is nothing, not zeros: what is no number among the weights is in sums of those windows only
// whose input it meets, in convolutions of one group and of several.
func TestConvPadding(t *testing.T) {
	for _, group := range []int{1, 2, 4} {
		for _, odd := range []float64{math.NaN(), math.Inf(1)} {
			const channels, size = 4, 20
			x, w := tensor.New(tensor.F32, []int{1, channels, size, size}),
				tensor.New(tensor.F32, []int{channels, channels / group, 3, 3})
			for i := range x.Len() {
				x.SetFloat(i, 1)
			}
			w.SetFloat(w.Len()-9, odd) // the upper left one of the last channel
			g := ir.New("conv")
			v := g.AddInput("x", ir.T(tensor.F32, x.Shape...))
			n := testenv.Must(g.Add(Conv, "n", ir.Attrs{"pads": ir.Ints(1, 1, 1, 1), "group": ir.Int(group)}, 1, v,
				g.AddConst("w", w)))(t)
			out := testenv.Must(Conv.Eval(n, []*tensor.Dense{x, w}))(t)
			for i := range out[0].Len() {
				c, row, col := i/size/size, i/size%size, i%size
				y, meets := out[0].Float(i), c == channels-1 && row > 0 && col > 0
				if finite := y-y == 0; finite == meets {
					t.Fatalf("%d groups, %v: channel %d, row %d, column %d is %v", group, odd, c, row, col, y)
				}
			}
		}
	}
}
