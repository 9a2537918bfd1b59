// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

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
		wantType(n, 0, numTypes)
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
		wantElems(n, "", s)
	}
	for d := range image {
		reach := (block[d]-1)*g.Dilations[d] + 1
		span := image[d] + pads[d] + pads[k+d] - reach
		refuse(n, block[d] < 1 || image[d] < 1 || span < 0, "shape",
			"a block of %v does not fit the padded image of %v", block, image)
		g.Columns[d] = span/g.Strides[d] + 1
	}
	taps := product(block)
	_, err = tensor.Elems(g.Columns)
	refuse(n, err != nil || x[1]%taps != 0 || x[2] != product(g.Columns), "shape",
		"the input has shape %v, want [N, a multiple of %d, the columns %v]", x, taps, g.Columns)
	g.C = x[1] / taps
	wantElems(n, "the output: ", append([]int{g.N, g.C}, image...))
	return g, nil
}

// DeformConvAttrs are the attributes of DeformConv.
type DeformConvAttrs struct {
	Dilations   []int
	Group       int `default:"1"`
	KernelShape []int
	OffsetGroup int `default:"1"`
	Pads        []int
	Strides     []int
	AutoPad     string `default:"NOTSET"`
}

// DeformConv is a two-dimensional convolution whose taps are shifted by
// computed offsets (input 2, [N, offset groups*taps*2, out...], rows before
// columns), read by bilinear interpolation and, where input 4 is given, weighted
// by a mask [N, offset groups*taps, out...]. Input 3 is the bias.
var DeformConv = def(ir.OpDef{
	Name: "DeformConv", Doc: "convolution with computed offsets of its taps",
	Attrs: ir.Declare[DeformConvAttrs](),
	MinIn: 3, MaxIn: 5, Pattern: ir.Opaque,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		floatInputs(n, 0, 1, 2, 3, 4)
		g := fail.Must(DeformGeometry(n))
		return one(ir.T(n.In[0].Type.DType, append([]int{g.N, g.COut}, g.Out...)...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := fail.Must(DeformGeometry(n))
		x, w, off := floatsOf(in[0]), floatsOf(in[1]), floatsOf(in[2])
		var bias, mask []float64
		if d := opt(in, 3); d != nil {
			bias = floatsOf(d)
		}
		if d := opt(in, 4); d != nil {
			mask = floatsOf(d)
		}
		H, W, out, taps := g.In[0], g.In[1], product(g.Out), g.Taps()
		ci, co, og := g.CIn/g.Group, g.COut/g.Group, ir.AttrsOf[DeformConvAttrs](n).OffsetGroup
		y := make([]float64, g.N*g.COut*out)
		parallel(g.N*g.COut, func(job int) {
			b, m := job/g.COut, job%g.COut
			for o := range out {
				acc := 0.0
				if bias != nil {
					acc = bias[m]
				}
				for c := range ci {
					ch := m/co*ci + c
					grp := ch / (g.CIn / og)
					for t := range taps {
						at := (b*og+grp)*taps + t
						py := float64(o/g.Out[1]*g.Strides[0]-g.PadBegin[0]+t/g.Kernel[1]*g.Dilations[0]) +
							off[at*2*out+o]
						px := float64(o%g.Out[1]*g.Strides[1]-g.PadBegin[1]+t%g.Kernel[1]*g.Dilations[1]) +
							off[(at*2+1)*out+o]
						v := bilinear(x[(b*g.CIn+ch)*H*W:], H, W, py, px)
						if mask != nil {
							v *= mask[at*out+o]
						}
						acc += v * w[(m*ci+c)*taps+t]
					}
				}
				y[job*out+o] = acc
			}
		})
		return outs(fromFloats(in[0].DType, append([]int{g.N, g.COut}, g.Out...), y))
	},
	MACs: func(n *ir.Node) int64 {
		g := fail.Must(DeformGeometry(n))
		return int64(g.N) * int64(product(g.Out)) * int64(g.COut) * int64(g.CIn/g.Group) * int64(g.Taps()) * 5
	},
})

// bilinear reads a plane between its elements; what lies outside is zero.
func bilinear(x []float64, h, w int, py, px float64) float64 {
	if !(py > -1 && px > -1 && py < float64(h) && px < float64(w)) {
		return 0
	}
	y0, x0 := math.Floor(py), math.Floor(px)
	dy, dx := py-y0, px-x0
	read := func(r, c int) float64 {
		if r < 0 || c < 0 || r >= h || c >= w {
			return 0
		}
		return x[r*w+c]
	}
	r, c := int(y0), int(x0)
	return (1-dy)*(1-dx)*read(r, c) + (1-dy)*dx*read(r, c+1) + dy*(1-dx)*read(r+1, c) + dy*dx*read(r+1, c+1)
}

// DeformGeometry checks a DeformConv node.
func DeformGeometry(n *ir.Node) (_ *ConvGeom, err error) {
	defer fail.Catch(&err)
	bare := n.Bare() // a convolution's bias is input 2
	bare.In = n.In[:2]
	g := fail.Must(ConvGeometry(bare))
	refuse(n, len(g.In) != 2, "rank", "the input %s has shape %v, want [N, C, H, W]", n.In[0], n.In[0].Type.Shape)
	og := ir.AttrsOf[DeformConvAttrs](n).OffsetGroup
	refuse(n, og < 1 || g.CIn%og != 0, "group", "offset_group %d does not divide the %d input channels", og, g.CIn)
	checkBias(n, 3, g.COut)
	for i, k := range map[int]int{2: 2, 4: 1} {
		v := n.Input(i)
		want := []int{g.N, og * g.Taps() * k, g.Out[0], g.Out[1]}
		if v != nil && !sameShape(v.Type.Shape, want) {
			return nil, ir.Errf(n, "shape", "input %d (%s) has shape %v, want %v", i, v, v.Type.Shape, want)
		}
	}
	return g, nil
}
