// SPDX-License-Identifier: Apache-2.0

package op

import (
	"cmp"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// greaterOf tells whether element i is greater than element j, or the only NaN of both.
func greaterOf(d *tensor.Dense) func(i, j int) bool {
	if s, ok := d.Data.([]uint64); ok {
		return greaterIn(s)
	}
	if d.DType.IsFloat() {
		return greaterIn(floatsOf(d))
	}
	return greaterIn(d.Int64s())
}

func greaterIn[T cmp.Ordered](s []T) func(i, j int) bool {
	return func(i, j int) bool { return s[i] > s[j] || s[i] != s[i] && s[j] == s[j] }
}

func fillOf[T any](s []T, v T) {
	for i := range s {
		s[i] = v
	}
}

// index walks a row-major index space: a helper for loops over all positions.
type index struct{ at, shape []int }

func newIndex(shape []int) *index { return &index{make([]int, len(shape)), shape} }

// next moves to the next position; false after the last.
func (x *index) next() bool {
	for a := len(x.shape) - 1; a >= 0; a-- {
		if x.at[a]++; x.at[a] < x.shape[a] {
			return true
		}
		x.at[a] = 0
	}
	return false
}

// dot is the offset of the position under strides.
func (x *index) dot(strides []int) int {
	p := 0
	for i, v := range x.at {
		p += v * strides[i]
	}
	return p
}

// TransposeAttrs are the attributes of Transpose.
type TransposeAttrs struct {
	Perm []int
}

// Transpose permutes dimensions: output dimension i is input dimension
// perm[i]; without perm the order is reversed.
var Transpose = def(ir.OpDef{
	Name: "Transpose", Doc: "permutes the dimensions", View: ir.Permuted,
	Attrs: ir.Declare[TransposeAttrs](), MinIn: 1,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x := n.In[0].Type
		p := fail.Must(Perm(n))
		shape := lists.Each(p, func(d int) int { return x.Shape[d] })
		return one(ir.T(x.DType, shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		p := fail.Must(Perm(n))
		return outs(in[0].Transpose(p))
	},
	Along: func(n *ir.Node, axis int) ir.Along {
		return ir.Along{Parts: n.Out[0].Type.Shape[axis], In: []int{fail.Must(Perm(n))[axis]}}
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

// Perm is the permutation of a Transpose node with the default filled in.
func Perm(n *ir.Node) (_ []int, err error) {
	defer fail.Catch(&err)
	r := n.In[0].Type.Rank()
	p := ir.AttrsOf[TransposeAttrs](n).Perm
	if p == nil {
		p = ir.Identity(r)
		slices.Reverse(p)
		return p, nil
	}
	s := slices.Clone(p)
	slices.Sort(s)
	refuse(n, !slices.Equal(s, ir.Identity(r)), "perm",
		"attribute perm is %v, want a permutation of the %d dimensions of %v", p, r, n.In[0].Type.Shape)
	return slices.Clone(p), nil
}

// Reorders reports whether a transposition moves elements: not where the
// dimensions other than 1 keep their order.
func Reorders(shape, perm []int) bool {
	wide := slices.DeleteFunc(slices.Clone(perm), func(d int) bool { return shape[d] == 1 })
	return !slices.IsSorted(wide)
}

// DepthToSpace moves blocks of channels of [N, C, H, W] into space. In mode
// DCR the block offsets are the outermost part of the channel number, in CRD
// the innermost.
var DepthToSpace = def(ir.OpDef{
	Name: "DepthToSpace", Doc: "channel blocks become space",
	Attrs: ir.Declare[blockAttrs](), MinIn: 1,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, b := blockInput(n)
		refuse(n, x[1]%(b*b) != 0, "shape", "the input %v has %d channels, no multiple of blocksize %d squared", x,
			x[1], b)
		return one(ir.T(n.In[0].Type.DType, x[0], x[1]/(b*b), x[2]*b, x[3]*b))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		s, b := in[0].Shape, ir.AttrsOf[BlocksizeAttr](n).Blocksize
		c := s[1] / (b * b)
		d := in[0].Reshaped([]int{s[0], b, b, c, s[2], s[3]}).Transpose
		perm := []int{0, 3, 4, 1, 5, 2}
		if ir.AttrsOf[ModeAttr](n).Mode == "CRD" {
			d = in[0].Reshaped([]int{s[0], c, b, b, s[2], s[3]}).Transpose
			perm = []int{0, 1, 4, 2, 5, 3}
		}
		return outs(d(perm).Reshaped([]int{s[0], c, s[2] * b, s[3] * b}))
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

// SpaceToDepth moves blocks of space of [N, C, H, W] into channels; the block
// offset is the outermost part of the channel number. Mode, as newer opsets
// have it, chooses CRD order: the offset innermost.
var SpaceToDepth = def(ir.OpDef{
	Name: "SpaceToDepth", Doc: "blocks of space become channels",
	Attrs: ir.Declare[blockAttrs](), MinIn: 1,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, b := blockInput(n)
		refuse(n, x[2]%b != 0 || x[3]%b != 0, "shape", "the input %v has space %dx%d, no multiple of blocksize %d",
			x, x[2], x[3], b)
		return one(ir.T(n.In[0].Type.DType, x[0], x[1]*b*b, x[2]/b, x[3]/b))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		s, b := in[0].Shape, ir.AttrsOf[BlocksizeAttr](n).Blocksize
		h, w := s[2]/b, s[3]/b
		perm := []int{0, 3, 5, 1, 2, 4}
		if ir.AttrsOf[ModeAttr](n).Mode == "CRD" {
			perm = []int{0, 1, 3, 5, 2, 4}
		}
		return outs(in[0].Reshaped([]int{s[0], s[1], h, b, w, b}).Transpose(perm).Reshaped([]int{s[0], s[1] * b * b, h,
			w}))
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

type blockAttrs struct {
	Blocksize int    `attr:",required"`
	Mode      string `default:"DCR"`
}

func blockInput(n *ir.Node) (x []int, b int) {
	x, b = n.In[0].Type.Shape, ir.AttrsOf[BlocksizeAttr](n).Blocksize
	wantRank(n, 0, 4)
	refuse(n, b < 1 || b > 1<<14, "blocksize", "blocksize is %d, want at least 1", b)
	wantWord(n, "mode", ir.AttrsOf[ModeAttr](n).Mode, "DCR", "CRD")
	return x, b
}

// TurnedWeights are the weights of a transposed convolution of stride 1 as a
// convolution has them, [COut, CIn/group, kernel...]: the kernel is turned round.
func TurnedWeights(g *ConvGeom, w *tensor.Dense) *tensor.Dense {
	in, out, taps := g.CIn/g.Group, g.COut/g.Group, g.Taps()
	from := make([]int, 0, w.Len())
	for o := range g.COut {
		for i := range in {
			c := o/out*in + i // input channel
			for t := range taps {
				from = append(from, (c*out+o%out)*taps+taps-1-t)
			}
		}
	}
	return w.Pick(append([]int{g.COut, in}, g.Kernel...), from)
}
