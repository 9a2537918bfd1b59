// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

func inferLike(n *ir.Node) ([]ir.Type, error) { return one(like(n, 0)) }

func evalIdentity(_ *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) { return outs(in[0]) }

func scalarIdentity(_ *ir.Node, x float64) float64 { return x }

// Identity is its input.
var Identity = def(ir.OpDef{
	Name: "Identity", Doc: "its input, unchanged", MinIn: 1, Pattern: ir.Elementwise, Quant: ir.QMove,
	Infer: inferLike, Eval: evalIdentity, Scalar: scalarIdentity, Homogeneous: true,
})

// WithinAttrs are the attributes of Within.
type WithinAttrs struct {
	Least int `default:"0"`
	Most  int `attr:",required"`
}

// Within is the identity on integers from least to most; any other is an error. Operators that are
// composed of others have it where the parts would take more than the whole may.
var Within = def(ir.OpDef{
	Name: "Within", Domain: "nncc", Doc: "its input, integers from least to most", MinIn: 1, Pattern: ir.Opaque,
	Quant: ir.QNone, Attrs: ir.Declare[WithinAttrs](),
	Limits: func(n *ir.Node) []ir.Limit {
		a := ir.AttrsOf[WithinAttrs](n)
		return []ir.Limit{{Input: 0, What: "number", Least: []int{a.Least}, Most: []int{a.Most}}}
	},
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		fail.Check(indexInput(n, 0))
		return inferLike(n)
	},
	Eval: evalIdentity,
})

// OwnOutputs gives every output of a graph a value of its own that a node
// computes: a constant, an input or one value under two names is copied.
func OwnOutputs(g *ir.Graph) error {
	seen := map[*ir.Value]bool{}
	for i, v := range g.Out {
		root := v.Storage()
		if root.Def != nil && !seen[root] {
			seen[root] = true
			continue
		}
		n, err := g.InsertBefore(nil, Identity, g.OutNames[i]+".copy", nil, 1, v)
		if err != nil {
			return err
		}
		n.Out[0].Type = v.Type
		g.SetOutput(i, n.Out[0])
	}
	return nil
}

// Relayout is the identity whose output has another memory order than its
// input; the order is in the output's type.
var Relayout = def(ir.OpDef{
	Name: "Relayout", Domain: "nncc", Doc: "identity into another memory order", View: ir.Permuted, MinIn: 1,
	Pattern: ir.Injective, Quant: ir.QMove,
	Infer: inferLike, Eval: evalIdentity,
})

// Requantize is the identity on reals between two quantisations: it stands
// where a producer and a consumer want different scales.
var Requantize = def(ir.OpDef{
	Name: "Requantize", Domain: "nncc", Doc: "identity on reals between two quantisations", Converts: true, MinIn: 1,
	Pattern: ir.Elementwise, Quant: ir.QFloat, Straight: true, Homogeneous: true,
	Infer: inferLike, Eval: evalIdentity, Scalar: scalarIdentity,
})

// Dropout at inference is the identity; the optional second output, the mask
// of what is kept, is all true. Training mode is refused.
var Dropout = def(ir.OpDef{
	Name: "Dropout", Doc: "identity at inference; mask of true", Attrs: ir.Declare[struct{ Seed *int }](),
	MinIn: 1, MaxIn: 3, MaxOut: 2, Pattern: ir.Elementwise, Quant: ir.QMove,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		if v := n.Input(2); v != nil {
			ratio, known := constReal(n, 1, 0.5)
			switch c := v.Const; {
			case known && ratio == 0:
			case c == nil:
				return nil, ir.Errf(n, "training", "training_mode (input 2, %s) is computed at run time; want a "+
					"constant false", v)
			case c.Len() > 0 && c.Int(0) != 0:
				return nil, ir.Errf(n, "training", "training_mode is true; export the model for inference")
			}
		}
		return []ir.Type{like(n, 0), ir.T(tensor.Bool, n.In[0].Type.Shape...)}, nil
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		if len(n.Out) < 2 {
			return outs(in[0])
		}
		m := make([]bool, in[0].Len())
		for i := range m {
			m[i] = true
		}
		return outs(in[0], tensor.Of(in[0].Shape, m))
	},
})
