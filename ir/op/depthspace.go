// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// DepthToSpace moves blocks of channels of [N, C, H, W] into space. In mode
// DCR the block offsets are the outermost part of the channel number, in CRD
// the innermost.
var DepthToSpace = def(ir.OpDef{
	Name: "DepthToSpace", Doc: "channel blocks become space",
	Attrs: ir.Declare[struct {
		Blocksize int    `attr:",required"`
		Mode      string `default:"DCR"`
	}](), MinIn: 1,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, b := fail.Must2(blockInput(n))
		if m := ir.AttrsOf[ModeAttr](n).Mode; m != "DCR" && m != "CRD" {
			return nil, ir.Errf(n, "mode", "mode is %q, want DCR or CRD", m)
		}
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
	Attrs: ir.Declare[struct {
		Blocksize int    `attr:",required"`
		Mode      string `default:"DCR"`
	}](), MinIn: 1,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, b := fail.Must2(blockInput(n))
		if m := ir.AttrsOf[ModeAttr](n).Mode; m != "DCR" && m != "CRD" {
			return nil, ir.Errf(n, "mode", "mode is %q, want DCR or CRD", m)
		}
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

func blockInput(n *ir.Node) (x []int, b int, err error) {
	x, b = n.In[0].Type.Shape, ir.AttrsOf[BlocksizeAttr](n).Blocksize
	fail.Check(wantRank(n, 0, 4))
	refuse(n, b < 1 || b > 1<<14, "blocksize", "blocksize is %d, want at least 1", b)
	return x, b, nil
}
