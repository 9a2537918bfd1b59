// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// Quantised matrix products: int32 sums of (a - za) * (b - zb), starting at
// the bias, requantised by the multiplier of s_a*s_b/s_y. These are the
// numbers of arm_fully_connected_s8, its per-channel form, and
// arm_batch_matmul_s8. Per tensor the two scales multiply in float32, as in
// TFLite.

// MatMulQuantParams are the integer parameters of a quantised MatMul: one
// multiplier, or one a column where a right matrix [K, N] has a scale a column.
// A reason that is not empty says why the integer arithmetic does not apply.
func MatMulQuantParams(n *ir.Node) (*MACParams, string) {
	g, err := MatMulGeometry(n)
	if err != nil {
		return nil, err.Error()
	}
	axis := -1
	if n.In[1].Type.Rank() == 2 {
		axis = 1
	}
	return macParams(n, axis, g.N, true)
}

// GemmQuantParams is MatMulQuantParams for Gemm, whose weights may be [K, N]
// or, with transB, [N, K]. The integer arithmetic needs alpha = beta = 1, no
// transA, and a bias with at most one value a column.
func GemmQuantParams(n *ir.Node) (*MACParams, string) {
	g, err := GemmGeometry(n)
	if err != nil {
		return nil, err.Error()
	}
	axis := 1
	if ir.AttrsOf[GemmAttrs](n).TransB != 0 {
		axis = 0
	}
	if why := plainGemm(n); why != "" {
		return nil, why
	}
	return macParams(n, axis, g.N, true)
}

// plainGemm is the reason why a Gemm is no product plus bias.
func plainGemm(n *ir.Node) string {
	switch {
	case ir.AttrsOf[GemmAttrs](n).TransA != 0:
		return "transA is set"
	case ir.AttrsOf[AlphaAttr](n).Alpha != 1:
		return fmt.Sprintf("alpha is %v, want 1", ir.AttrsOf[AlphaAttr](n).Alpha)
	case n.Input(2) != nil && ir.AttrsOf[BetaAttr](n).Beta != 1:
		return fmt.Sprintf("beta is %v, want 1", ir.AttrsOf[BetaAttr](n).Beta)
	}
	if b := n.Input(2); b != nil {
		if s := b.Type.Shape; len(s) == 2 && s[0] != 1 {
			return fmt.Sprintf("the bias %s has shape %v, want one value a column", b, s)
		}
	}
	return ""
}

func evalGemmQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(GemmGeometry(n))
	if p, why := Gemm16Params(n); why == "" {
		return evalGemm16(n, g, p, in)
	}
	p, why := GemmQuantParams(n)
	if why != "" {
		return evalActQ(n, in)
	}
	var bias []int32
	if b := opt(in, 2); b != nil {
		bias = tensor.As[int32](expand(b, []int{1, g.N}))
	}
	w := s8(in[1])
	if ir.AttrsOf[GemmAttrs](n).TransB == 0 {
		w = swapInner(1, g.K, g.N, w)
	}
	y := make([]int8, g.M*g.N)
	if err := p.product(g.M, g.K, g.N, s8(in[0]), w, bias, y); err != nil {
		return nil, ir.Errf(n, "kernel", "%v", err)
	}
	return outs(eightBitOf(n.Out[0].Type, []int{g.M, g.N}, y))
}

func evalMatMulQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(MatMulGeometry(n))
	if p, why := MatMul16Params(n); why == "" {
		return evalMatMul16(n, g, p, in)
	}
	p, why := MatMulQuantParams(n)
	if why != "" {
		return evalActQ(n, in)
	}
	a, b := s8(in[0]), s8(in[1])
	b = swapInner(len(b)/max(g.K*g.N, 1), g.K, g.N, b)
	y := make([]int8, len(g.A)*g.M*g.N)
	for i := range g.A {
		err := p.product(g.M, g.K, g.N, a[g.A[i]*g.M*g.K:][:g.M*g.K], b[g.B[i]*g.K*g.N:][:g.K*g.N], nil,
			y[i*g.M*g.N:][:g.M*g.N])
		if err != nil {
			return nil, ir.Errf(n, "kernel", "%v", err)
		}
	}
	return outs(eightBitOf(n.Out[0].Type, g.Shape, y))
}

// fc are the parameters of a product of [m][k] and [n][k], with one zero point
// for all weights.
func (p *MACParams) fc(m, k, n int) *qref.FCParams {
	return &qref.FCParams{Rows: m, Depth: k, Cols: n, InputOffset: p.InOff, FilterOffset: p.FilterOff[0],
		OutputOffset: p.OutOff,
		ActMin:       p.ActMin, ActMax: p.ActMax, Mult: p.Mult, Shift: p.Shift, Rounding: p.Rounding}
}

// product is one matrix product, a [m][k] times b transposed [n][k].
func (p *MACParams) product(m, k, n int, a, b []int8, bias []int32, y []int8) error {
	if len(p.FilterOff) == 1 && m*n*k > 0 {
		return qref.FullyConnected(p.fc(m, k, n), a, b, bias, y)
	}
	for i := range y {
		row, col := a[i/n*k:][:k], b[i%n*k:][:k]
		var acc int32
		if bias != nil {
			acc = bias[i%n]
		}
		for j, v := range row {
			acc += (int32(v) + p.InOff) * (int32(col[j]) + p.FilterOffset(i%n))
		}
		y[i] = p.Requantise(acc, i%n)
	}
	return nil
}
