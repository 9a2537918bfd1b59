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
	// column writes element k of the positions at, for group g, to dst.
	column func(x []float32, g, k int, at []int, dst []float64)
}

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
			scale: func(_, o int) int { return o },
			column: func(x []float32, _, k int, at []int, dst []float64) {
				for i, p := range at {
					dst[i] = float64(x[p*inner+k])
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
	}
	p.weight = func(g, o, k int) int { return (g*co+o)*ci*taps + k }
	// from is the input coordinate under tap t of output coordinate o; ok is
	// false where there is none.
	from := func(o, t, stride, dilation, pad, size int) (int, bool) {
		i := o*stride + t*dilation - pad
		return i, i >= 0 && i < size
	}
	if c.Transposed {
		p.scale = func(_, o int) int { return o } // groups share them
		p.weight = func(g, o, k int) int { return ((g*ci+k/taps)*co+o)*taps + k%taps }
		from = func(o, t, stride, dilation, pad, size int) (int, bool) {
			i := o + pad - t*dilation
			return i / stride, i >= 0 && i%stride == 0 && i/stride < size
		}
	}
	p.column = func(x []float32, g, k int, at []int, dst []float64) {
		ch, t := g*ci+k/taps, k%taps
		for i, pos := range at {
			img, pix := pos/out, pos%out
			y, okY := from(pix/outW, t/kW, sH, dH, pH, inH)
			z, okZ := from(pix%outW, t%kW, sW, dW, pW, inW)
			dst[i] = 0
			if okY && okZ {
				dst[i] = float64(x[(img*c.CIn+ch)*in+y*inW+z])
			}
		}
	}
	return p
}
