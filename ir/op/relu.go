package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// unary defines an element-wise operator of one input by its float64
// function; float tensors of any width are computed in float64 and rounded.
func unary(name, doc string, attrs []ir.AttrSpec, f func(n *ir.Node, x float64) float64) *ir.OpDef {
	return def(ir.OpDef{
		Name: name, Doc: doc, Attrs: attrs, MinIn: 1, Pattern: ir.Elementwise,
		Infer: func(n *ir.Node) ([]ir.Type, error) { return one(ir.T(n.In[0].Type.DType, n.In[0].Type.Shape...)) },
		Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
			x := in[0]
			y := tensor.New(x.DType, x.Shape)
			if xs, ok := x.Data.([]float32); ok {
				ys := y.Data.([]float32)
				for i, v := range xs {
					ys[i] = float32(f(n, float64(v)))
				}
				return outs(y)
			}
			for i, k := 0, x.Len(); i < k; i++ {
				y.SetFloat(i, f(n, x.Float(i)))
			}
			return outs(y)
		},
		Scalar: f,
	})
}

// Relu is max(x, 0).
var Relu = unary("Relu", "max(x, 0)", nil, func(_ *ir.Node, x float64) float64 { return max(x, 0) })
