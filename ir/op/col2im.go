// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Col2ImAttrs are the attributes of Col2Im.
type Col2ImAttrs struct {
	Dilations []int
	Pads      []int
	Strides   []int
}

// Col2Im adds blocks up to an image: input 0 is [N, C*block, L], the L columns
// of a sliding window over an image of shape input 1 with blocks of shape
// input 2; the result is [N, C, image...].
var Col2Im = def(ir.OpDef{
	Name: "Col2Im", Doc: "sum of overlapping blocks as an image",
	Attrs: ir.Declare[Col2ImAttrs](), MinIn: 3,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		fail.Check(wantType(n, 0, numTypes))
		g := fail.Must(Col2ImGeometry(n))
		return one(ir.T(n.In[0].Type.DType, append([]int{g.N, g.C}, g.Image...)...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := fail.Must(Col2ImGeometry(n))
		x, st := in[0], tensor.Strides(g.Image)
		y := tensor.New(x.DType, append([]int{g.N, g.C}, g.Image...))
		acc := make([]float64, y.Len())
		whole := make([]int64, y.Len())
		taps, columns, plane := product(g.Block), product(g.Columns), product(g.Image)
		at := 0
		for nc := range g.N * g.C {
			for k, kp := 0, newIndex(g.Block); k < taps; k++ {
				for l, lp := 0, newIndex(g.Columns); l < columns; l++ {
					p, inside := nc*plane, true
					for d := range g.Image {
						v := lp.at[d]*g.Strides[d] + kp.at[d]*g.Dilations[d] - g.Pads[d]
						inside = inside && v >= 0 && v < g.Image[d]
						p += v * st[d]
					}
					if inside && x.DType.IsFloat() {
						acc[p] += x.Float(at)
					} else if inside {
						whole[p] += x.Int(at)
					}
					at++
					lp.next()
				}
				kp.next()
			}
		}
		if x.DType.IsFloat() {
			return outs(fromFloats(x.DType, y.Shape, acc))
		}
		return outs(tensor.Of(y.Shape, whole).Cast(x.DType))
	},
	Pattern: ir.Opaque,
})

// Col2ImGeom is the geometry of Col2Im; Pads are those at the begin.
type Col2ImGeom struct {
	N, C                                            int
	Image, Block, Columns, Strides, Dilations, Pads []int
}

// Col2ImGeometry checks a Col2Im node.
func Col2ImGeometry(n *ir.Node) (_ *Col2ImGeom, err error) {
	defer fail.Catch(&err)
	image := fail.Must(ConstInts(n, 1, "the image's shape"))
	block := fail.Must(ConstInts(n, 2, "the block's shape"))
	x := n.In[0].Type.Shape
	k := len(image)
	refuse(n, len(x) != 3 || k < 1 || k > 8 || len(block) != k, "shape",
		"input %v, image %v, block %v: want [N, C*block, L] and as many image as block dimensions", x, image, block)
	g := &Col2ImGeom{N: x[0], Image: image, Block: block, Columns: make([]int, k), Strides: ones(k), Dilations: ones(k),
		Pads: make([]int, k)}
	pads, attrs := make([]int, 2*k), ir.AttrsOf[Col2ImAttrs](n)
	for _, a := range []struct {
		name string
		v    []int
		to   []int
		low  int
	}{{"strides", attrs.Strides, g.Strides, 1}, {"dilations", attrs.Dilations, g.Dilations, 1},
		{"pads", attrs.Pads, pads, 0}} {
		v := a.v
		if v == nil {
			continue
		}
		refuse(n, len(v) != len(a.to), a.name, "attribute %s is %v, want %d values", a.name, v, len(a.to))
		for _, e := range v {
			refuse(n, e < a.low || e > maxExtent, a.name, "attribute %s is %v, want values from %d to %d", a.name, v,
				a.low, maxExtent)
		}
		copy(a.to, v)
	}
	copy(g.Pads, pads[:k])
	for _, s := range [][]int{image, block} {
		if _, err := tensor.Elems(s); err != nil {
			return nil, ir.Errf(n, "shape", "%v", err)
		}
	}
	for d := range image {
		reach := (block[d]-1)*g.Dilations[d] + 1
		span := image[d] + pads[d] + pads[k+d] - reach
		refuse(n, block[d] < 1 || image[d] < 1 || span < 0, "shape",
			"a block of %v does not fit the padded image of %v", block, image)
		g.Columns[d] = span/g.Strides[d] + 1
	}
	taps := product(block)
	if _, err := tensor.Elems(g.Columns); err != nil || x[1]%taps != 0 || x[2] != product(g.Columns) {
		return nil, ir.Errf(n, "shape", "the input has shape %v, want [N, a multiple of %d, the columns %v]", x, taps,
			g.Columns)
	}
	g.C = x[1] / taps
	if _, err := tensor.Elems(append([]int{g.N, g.C}, image...)); err != nil {
		return nil, ir.Errf(n, "shape", "the output: %v", err)
	}
	return g, nil
}
