// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// GemmAttrs are the attributes of Gemm.
type GemmAttrs struct {
	Alpha  float32 `default:"1"`
	Beta   float32 `default:"1"`
	TransA int     `attr:"transA" default:"0"`
	TransB int     `attr:"transB" default:"0"`
	Act
}

// Gemm is alpha*A'*B' + beta*C for matrices; transA and transB transpose, C
// is broadcast to the result's shape [M, N]. Quantised: see mac.go.
var Gemm = def(ir.OpDef{
	Name: "Gemm", Doc: "matrix product with scaled, broadcast addend",
	Attrs: ir.Declare[GemmAttrs](),
	MinIn: 2, MaxIn: 3,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		fail.Check(wantType(n, 0, numTypes))
		fail.Check(wantSameTypes(n, 0, 1, 2))
		g := fail.Must(GemmGeometry(n))
		return one(ir.T(n.In[0].Type.DType, g.M, g.N))
	},
	Eval: evalGemm, EvalQ: evalGemmQ, Quant: ir.QInt, Pattern: ir.OutFusable,
	WeightAxis: func(n *ir.Node) int {
		if ir.AttrsOf[GemmAttrs](n).TransB != 0 {
			return 0
		}
		return 1
	},
	MACs: func(n *ir.Node) int64 {
		g, err := GemmGeometry(n)
		if err != nil {
			return 0
		}
		return int64(g.M) * int64(g.K) * int64(g.N)
	},
})

// GemmGeom holds the sizes of A' [M, K] and B' [K, N] after transposition.
type GemmGeom struct{ M, K, N int }

// GemmGeometry checks a Gemm node.
func GemmGeometry(n *ir.Node) (*GemmGeom, error) {
	attrs := ir.AttrsOf[GemmAttrs](n)
	a, b := n.In[0].Type.Shape, n.In[1].Type.Shape
	if len(a) != 2 || len(b) != 2 {
		return nil, ir.Errf(n, "rank", "inputs of shapes %v and %v, want two matrices", a, b)
	}
	g := &GemmGeom{M: a[0], K: a[1], N: b[1]}
	kb := b[0]
	if attrs.TransA != 0 {
		g.M, g.K = a[1], a[0]
	}
	if attrs.TransB != 0 {
		kb, g.N = b[1], b[0]
	}
	if kb != g.K {
		return nil, ir.Errf(n, "shape-mismatch", "inputs of shapes %v (transA %d) and %v (transB %d): the inner "+
			"dimensions are %d and %d, want the same",
			a, attrs.TransA, b, attrs.TransB, g.K, kb)
	}
	if c := n.Input(2); c != nil {
		s := c.Type.Shape
		ok := len(s) <= 2
		for i, d := range s {
			ok = ok && (d == 1 || d == []int{g.M, g.N}[2-len(s)+i])
		}
		if !ok {
			return nil, ir.Errf(n, "bias-shape", "the bias %s (input C) has shape %v, which does not broadcast to "+
				"the result's [%d %d]", c, s, g.M, g.N)
		}
	}
	return g, nil
}

func evalGemm(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(GemmGeometry(n))
	dt := in[0].DType
	if dt.IsFloat() {
		return inFloat(in, gemmFloat(n, g), 1), nil
	}
	wide := make([]*tensor.Dense, len(in))
	for i, d := range in {
		if d != nil {
			wide[i] = d.Cast(tensor.F64)
		}
	}
	return outs(gemmFloat(n, g)(wide)[0].Cast(dt))
}

func gemmFloat(n *ir.Node, g *GemmGeom) func(in []*tensor.Dense) []*tensor.Dense {
	return func(in []*tensor.Dense) []*tensor.Dense {
		shape := []int{g.M, g.N}
		y := make([]float64, g.M*g.N)
		beta := 0.0
		if c := opt(in, 2); c != nil {
			beta = float64(ir.AttrsOf[BetaAttr](n).Beta)
			copy(y, tensor.As[float64](expand(c, shape)))
		}
		ta, tb := ir.AttrsOf[GemmAttrs](n).TransA != 0, ir.AttrsOf[GemmAttrs](n).TransB != 0
		gemmPanels(ta, g.M, float64(ir.AttrsOf[AlphaAttr](n).Alpha), tensor.As[float64](in[0]),
			max(n.In[0].Type.Shape[1], 1), rightOf(in[1], g.K, g.N, tb), beta, y)
		return []*tensor.Dense{ClampAct(n, tensor.Of(shape, y))}
	}
}
