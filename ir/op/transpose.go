// SPDX-License-Identifier: Apache-2.0

package op

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

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
		shape := make([]int, len(p))
		for i, d := range p {
			shape[i] = x.Shape[d]
		}
		return one(ir.T(x.DType, shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		p := fail.Must(Perm(n))
		return outs(in[0].Transpose(p))
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

// Perm is the permutation of a Transpose node with the default filled in.
func Perm(n *ir.Node) ([]int, error) {
	r := n.In[0].Type.Rank()
	p := ir.AttrsOf[TransposeAttrs](n).Perm
	if p == nil {
		p = ir.Identity(r)
		slices.Reverse(p)
		return p, nil
	}
	s := slices.Clone(p)
	slices.Sort(s)
	if !slices.Equal(s, ir.Identity(r)) {
		return nil, ir.Errf(n, "perm", "attribute perm is %v, want a permutation of the %d dimensions of %v", p, r,
			n.In[0].Type.Shape)
	}
	return slices.Clone(p), nil
}
