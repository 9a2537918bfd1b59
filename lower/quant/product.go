// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/vec"
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
	// average writes the mean of element k of all positions, for group g, to dst[g*depth+k].
	average func(x []float32, dst []float64)
	// behind: the weights of an output lie one behind the other, outputs in their order;
	// across: those of an element of the input do.
	behind, across bool
}

// place is a position: what it sees begins with element at of the input, channel 0; in
// convolutions that is the element at y and x, which may lie outside. Transposed ones
// have at for the image, y and x in the output.
type place struct{ at, y, x int }

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
		inner, outs, behind := w[0], w[1], false
		weight := func(_, o, k int) int { return k*outs + o }
		if n.Op == op.Gemm && ir.AttrsOf[op.GemmAttrs](n).TransB != 0 {
			inner, outs, behind = w[1], w[0], true
			weight = func(_, o, k int) int { return o*inner + k }
		}
		return &product{
			groups: 1, outs: outs, depth: inner, positions: n.Out[0].Type.Elems() / max(outs, 1), weight: weight,
			behind: behind, across: !behind, scale: func(_, o int) int { return o },
			place: func(i int) place { return place{at: i * inner} },
			column: func(x []float32, _, k int, at []place, dst []float64) {
				for i, p := range at {
					dst[i] = float64(x[p.at+k])
				}
			},
			average: func(x []float32, dst []float64) {
				clear(dst)
				for i := 0; i < len(x); i += inner {
					vec.Accumulate(x[i:][:inner], dst)
				}
				for k := range dst {
					dst[k] *= float64(inner) / float64(len(x))
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
		scale: func(g, o int) int { return g*co + o }, average: averages(c), behind: true,
	}
	p.weight = func(g, o, k int) int { return (g*co+o)*ci*taps + k }
	p.place = func(i int) place {
		y, x := i%out/outW*sH-pH, i%out%outW*sW-pW
		return place{i/out*c.CIn*in + y*inW + x, y, x}
	}
	inside := pH == 0 && pW == 0 && (outH-1)*sH+(kH-1)*dH < inH && (outW-1)*sW+(kW-1)*dW < inW
	p.column = func(x []float32, g, k int, at []place, dst []float64) {
		ch, t := g*ci+k/taps, k%taps
		dy, dx := t/kW*dH, t%kW*dW
		from := ch*in + dy*inW + dx
		dst = dst[:len(at)]
		if inside {
			for i := range at {
				dst[i] = float64(x[at[i].at+from])
			}
			return
		}
		for i := range at {
			f := float32(0)
			if q := &at[i]; uint(q.y+dy) < uint(inH) && uint(q.x+dx) < uint(inW) {
				f = x[q.at+from]
			}
			dst[i] = float64(f)
		}
	}
	if !c.Transposed {
		return p
	}
	p.scale, p.behind = func(_, o int) int { return o }, false // groups share them
	p.weight = func(g, o, k int) int { return ((g*ci+k/taps)*co+o)*taps + k%taps }
	p.place = func(i int) place { return place{i / out * c.CIn * in, i % out / outW, i % out % outW} }
	p.column = func(x []float32, g, k int, at []place, dst []float64) {
		ch, t := g*ci+k/taps, k%taps
		dy, dx := pH-t/kW*dH, pW-t%kW*dW
		for i, q := range at {
			y, z := q.y+dy, q.x+dx // times the strides
			dst[i] = 0
			if y >= 0 && z >= 0 && y%sH == 0 && z%sW == 0 && y/sH < inH && z/sW < inW {
				dst[i] = float64(x[q.at+ch*in+y/sH*inW+z/sW])
			}
		}
	}
	return p
}
