// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// product is a multiply-accumulate operator with constant weights as matrix
// products, one for each group: output o of a group at a position is the sum of
// its weights times the depth elements of the input that the position sees.
type product struct {
	groups, outs, depth int
	positions           int                   // of one tensor: images times pixels, or rows
	weight              func(g, o, k int) int // place in the weight tensor
	scale               func(g, o int) int    // of the scales along the weights' channels
	place               func(i int) place     // of a position
	// column writes element k of places, for group g, to dst.
	column func(x []float32, g, k int, at []place, dst []float64)
}

// place is a position by its coordinates; rows of a matrix have y alone.
type place struct{ image, y, x int }

// productOf is nil for operators that are no such products.
func productOf(n *ir.Node) *product {
	switch n.Op {
	case op.Conv, op.ConvTranspose:
		return convProduct(n)
	case op.Gemm, op.MatMul:
		w := n.In[1].Type.Shape
		if len(w) != 2 || n.Op == op.Gemm && ir.AttrsOf[op.GemmAttrs](n).TransA != 0 {
			return nil
		}
		inner, outs := w[0], w[1]
		weight := func(_, o, k int) int { return k*outs + o }
		if n.Op == op.Gemm && ir.AttrsOf[op.GemmAttrs](n).TransB != 0 {
			inner, outs = w[1], w[0]
			weight = func(_, o, k int) int { return o*inner + k }
		}
		return &product{
			groups: 1, outs: outs, depth: inner, positions: n.Out[0].Type.Elems() / max(outs, 1), weight: weight,
			scale: func(_, o int) int { return o }, place: func(i int) place { return place{y: i} },
			column: func(x []float32, _, k int, at []place, dst []float64) {
				for i, p := range at {
					dst[i] = float64(x[p.y*inner+k])
				}
			},
		}
	}
	return nil
}

// convProduct covers convolutions and transposed ones in up to two dimensions.
func convProduct(n *ir.Node) *product {
	c, err := op.ConvGeometry(n)
	if err != nil || len(c.In) > 2 {
		return nil
	}
	ci, co := c.CIn/c.Group, c.COut/c.Group
	size := func(s []int, fill int) (h, w int) {
		if len(s) == 1 {
			return fill, s[0]
		}
		return s[0], s[1]
	}
	inH, inW := size(c.In, 1)
	outH, outW := size(c.Out, 1)
	kH, kW := size(c.Kernel, 1)
	sH, sW := size(c.Strides, 1)
	dH, dW := size(c.Dilations, 1)
	pH, pW := size(c.PadBegin, 0)
	taps, in, out := kH*kW, inH*inW, outH*outW
	p := &product{
		groups: c.Group, outs: co, depth: ci * taps, positions: c.N * out,
		scale: func(g, o int) int { return g*co + o },
		place: func(i int) place { return place{i / out, i % out / outW, i % out % outW} },
	}
	p.weight = func(g, o, k int) int { return (g*co+o)*ci*taps + k }
	p.column = func(x []float32, g, k int, at []place, dst []float64) {
		ch, t := g*ci+k/taps, k%taps
		dy, dx := t/kW*dH-pH, t%kW*dW-pW
		for i, q := range at {
			dst[i] = 0
			if y, z := q.y*sH+dy, q.x*sW+dx; y >= 0 && y < inH && z >= 0 && z < inW {
				dst[i] = float64(x[(q.image*c.CIn+ch)*in+y*inW+z])
			}
		}
	}
	if !c.Transposed {
		return p
	}
	p.scale = func(_, o int) int { return o } // groups share them
	p.weight = func(g, o, k int) int { return ((g*ci+k/taps)*co+o)*taps + k%taps }
	p.column = func(x []float32, g, k int, at []place, dst []float64) {
		ch, t := g*ci+k/taps, k%taps
		dy, dx := pH-t/kW*dH, pW-t%kW*dW
		for i, q := range at {
			y, z := q.y+dy, q.x+dx // times the strides
			dst[i] = 0
			if y >= 0 && z >= 0 && y%sH == 0 && z%sW == 0 && y/sH < inH && z/sW < inW {
				dst[i] = float64(x[(q.image*c.CIn+ch)*in+y/sH*inW+z/sW])
			}
		}
	}
	return p
}
