// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// MatMul is NumPy's matmul: [..., M, K] x [..., K, N] with broadcast leading
// dimensions; a 1-D operand is a row (left) or column (right) vector whose
// dimension is dropped from the result. Quantised: see mac.go.
var MatMul = def(ir.OpDef{
	Name: "MatMul", Doc: "matrix product with broadcast batch dimensions",
	Attrs: ir.Declare[Act](), MinIn: 2,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, numTypes)
		wantSameTypes(n, 0, 1)
		g := fail.Must(MatMulGeometry(n))
		return one(ir.T(n.In[0].Type.DType, g.Shape...))
	},
	Eval: evalMatMul, EvalQ: evalMatMulQ, Quant: ir.QInt, Pattern: ir.OutFusable, MACs: matmulMACs,
	WeightAxis: func(n *ir.Node) int { return max(n.In[1].Type.Rank()-1, 0) },
	Along: func(n *ir.Node, axis int) ir.Along {
		a, b, rank := n.In[0].Type.Rank(), n.In[1].Type.Rank(), n.Out[0].Type.Rank()
		parts := ir.Along{Parts: n.Out[0].Type.Shape[axis], In: []int{ir.Whole, ir.Whole}}
		switch {
		case min(a, b) < 2:
			return ir.Along{}
		case axis == rank-1:
			parts.In[1] = b - 1
		case axis == rank-2:
			parts.In[0] = a - 2
		default:
			return n.Aligned(axis)
		}
		return parts
	},
})

// MatGeom is the geometry of MatMul: Batch products of [M, K] and [K, N]
// matrices. A and B hold, for every product, which matrix of the operand it
// reads (equal numbers where an operand is broadcast).
type MatGeom struct {
	Batch   []int // broadcast leading dimensions
	M, K, N int
	A, B    []int
	Shape   []int // of the result
}

// maxProducts bounds the batch, and with it the memory that a geometry takes.
const maxProducts = 1 << 20

// MatMulGeometry checks a MatMul (or MatMulInteger) node.
func MatMulGeometry(n *ir.Node) (_ *MatGeom, err error) {
	defer fail.Catch(&err)
	a, b := n.In[0].Type.Shape, n.In[1].Type.Shape
	refuse(n, len(a) == 0 || len(b) == 0, "rank", "inputs of shapes %v and %v, want rank 1 or more", a, b)
	row, col := len(a) == 1, len(b) == 1
	if row {
		a = []int{1, a[0]}
	}
	if col {
		b = []int{b[0], 1}
	}
	ra, rb := len(a), len(b)
	refuse(n, a[ra-1] != b[rb-2], "shape-mismatch",
		"inputs of shapes %v and %v: the inner dimensions are %d and %d, want the same", n.In[0].Type.Shape,
		n.In[1].Type.Shape, a[ra-1], b[rb-2])
	batch := fail.Must(Broadcast(n, a[:ra-2], b[:rb-2]))
	g := &MatGeom{Batch: batch, M: a[ra-2], K: a[ra-1], N: b[rb-1]}
	count, err := tensor.Elems(batch)
	if err != nil || count > maxProducts {
		return nil, ir.Errf(n, "shape", "the batch dimensions %v are too large: more than %d matrix products", batch,
			maxProducts)
	}
	g.A, g.B = make([]int, 0, count), make([]int, 0, count)
	sa, sb := broadcastStrides(a[:ra-2], batch), broadcastStrides(b[:rb-2], batch)
	for i := newIndex(batch); len(g.A) < count; i.next() {
		g.A, g.B = append(g.A, i.dot(sa)), append(g.B, i.dot(sb))
	}
	g.Shape = append([]int(nil), batch...)
	if !row {
		g.Shape = append(g.Shape, g.M)
	}
	if !col {
		g.Shape = append(g.Shape, g.N)
	}
	return g, nil
}

// Flat reports whether one right matrix serves every product and the left
// matrices are in order: then the whole is one [len(A)*M, K] x [K, N].
func (g *MatGeom) Flat() bool {
	for i := range g.A {
		if g.B[i] != 0 || g.A[i] != i {
			return false
		}
	}
	return true
}

func matmulMACs(n *ir.Node) int64 {
	g := fail.Must(MatMulGeometry(n))
	return int64(len(g.A)) * int64(g.M) * int64(g.K) * int64(g.N)
}

func evalMatMul(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(MatMulGeometry(n))
	if in[0].DType.IsFloat() {
		return inFloat(in, matmulFloat(n, g), 1), nil
	}
	a, b := in[0].Int64s(), in[1].Int64s()
	y := tensor.New(in[0].DType, g.Shape)
	for i := range g.A {
		matmulInt(g, a[g.A[i]*g.M*g.K:], b[g.B[i]*g.K*g.N:],
			func(r, c int, acc int64) { y.SetInt((i*g.M+r)*g.N+c, acc) })
	}
	return outs(ClampAct(n, y))
}

// matmulInt gives every element of one integer matrix product to store.
func matmulInt(g *MatGeom, a, b []int64, store func(r, c int, acc int64)) {
	for r := 0; r < g.M; r++ {
		for c := 0; c < g.N; c++ {
			var acc int64
			for k := 0; k < g.K; k++ {
				acc += a[r*g.K+k] * b[k*g.N+c]
			}
			store(r, c, acc)
		}
	}
}

func matmulFloat(n *ir.Node, g *MatGeom) func(in []*tensor.Dense) []*tensor.Dense {
	return func(in []*tensor.Dense) []*tensor.Dense {
		a := tensor.As[float64](in[0])
		y := make([]float64, len(g.A)*g.M*g.N)
		if g.Flat() {
			gemmPanels(false, len(g.A)*g.M, 1, a, max(g.K, 1), rightOf(in[1], g.K, g.N, false), 0, y)
		} else {
			b := tensor.As[float64](in[1].Cast(tensor.F64))
			parallel(len(g.A), func(i int) {
				gemm(false, false, g.M, g.N, g.K, 1, a[g.A[i]*g.M*g.K:], max(g.K, 1), b[g.B[i]*g.K*g.N:], max(g.N, 1),
					0, y[i*g.M*g.N:], max(g.N, 1))
			})
		}
		return []*tensor.Dense{ClampAct(n, tensor.Of(g.Shape, y))}
	}
}

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
		wantType(n, 0, numTypes)
		wantSameTypes(n, 0, 1, 2)
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
	Along: func(n *ir.Node, axis int) ir.Along {
		parts := ir.Along{Parts: n.Out[0].Type.Shape[axis],
			In: []int{ir.Whole, ir.Whole, ir.AxisOf(n.Input(2), 2, axis)}}
		switch {
		case axis == 1:
			parts.In[1] = n.Op.WeightAxis(n)
		case ir.AttrsOf[GemmAttrs](n).TransA != 0:
			parts.In[0] = 1
		default:
			parts.In[0] = 0
		}
		return parts
	},
	MACs: func(n *ir.Node) int64 {
		g := fail.Must(GemmGeometry(n))
		return int64(g.M) * int64(g.K) * int64(g.N)
	},
})

// GemmGeom holds the sizes of A' [M, K] and B' [K, N] after transposition.
type GemmGeom struct{ M, K, N int }

// GemmGeometry checks a Gemm node.
func GemmGeometry(n *ir.Node) (_ *GemmGeom, err error) {
	defer fail.Catch(&err)
	attrs := ir.AttrsOf[GemmAttrs](n)
	a, b := n.In[0].Type.Shape, n.In[1].Type.Shape
	refuse(n, len(a) != 2 || len(b) != 2, "rank", "inputs of shapes %v and %v, want two matrices", a, b)
	g := &GemmGeom{M: a[0], K: a[1], N: b[1]}
	kb := b[0]
	if attrs.TransA != 0 {
		g.M, g.K = a[1], a[0]
	}
	if attrs.TransB != 0 {
		kb, g.N = b[1], b[0]
	}
	refuse(n, kb != g.K, "shape-mismatch",
		"inputs of shapes %v (transA %d) and %v (transB %d): the inner dimensions are %d and %d, want the same", a,
		attrs.TransA, b, attrs.TransB, g.K, kb)
	if c := n.Input(2); c != nil {
		s := c.Type.Shape
		ok := len(s) <= 2
		for i, d := range s {
			ok = ok && (d == 1 || d == []int{g.M, g.N}[2-len(s)+i])
		}
		refuse(n, !ok, "bias-shape",
			"the bias %s (input C) has shape %v, which does not broadcast to the result's [%d %d]", c, s, g.M, g.N)
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
