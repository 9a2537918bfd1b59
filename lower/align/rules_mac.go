// SPDX-License-Identifier: Apache-2.0

package align

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
)

// rules are the operators that need more than the rule of their pattern. One
// that stands nowhere locks its operands.
var rules map[string]func(a *analysis, n *ir.Node)

func init() {
	rules = map[string]func(a *analysis, n *ir.Node){
		"Conv": conv, "ConvTranspose": convTranspose, "Gemm": gemm, "MatMul": matMul,
		"BatchNormalization": batchNorm, "InstanceNormalization": instanceNorm, "QuantizeLinear": quantize,
		"DequantizeLinear": quantize, "Clip": clip,
		"Softmax": normalised, "LogSoftmax": normalised, "Hardmax": normalised, "LpNormalization": normalised,
		"CumSum": normalised, "CumProd": normalised,
		"LayerNormalization": normalisedFrom, "RMSNormalization": normalisedFrom,
		"MeanVarianceNormalization": meanVariance,
		"GroupNormalization":        crossChannel, "LRN": crossChannel,
		"MaxPool": pool, "AveragePool": pool, "LpPool": pool, "GlobalAveragePool": pool, "GlobalMaxPool": pool,
		"GlobalLpPool": pool,
		"ReduceSum":    reduce, "ReduceL1": reduce, "ReduceL2": reduce, "ReduceSumSquare": reduce, "ReduceMean": reduce,
		"ReduceMax": reduce, "ReduceMin": reduce,
		"ReduceProd": reduce, "ReduceLogSum": reduce, "ReduceLogSumExp": reduce, "ArgMax": argReduce,
		"ArgMin":  argReduce,
		"Reshape": reshape, "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Transpose": transpose,
		"Relayout": elementwise,
		"Concat":   concat, "Split": split, "Slice": slice, "Pad": pad, "Expand": expand, "Tile": tile,
		"Gather":       gather,
		"Resize":       resize,
		"SpaceToDepth": spaceToDepth, "DepthToSpace": depthToSpace,
	}
}

func (a *analysis) spatial(n *ir.Node, x []axis) {
	for _, s := range x[2:] {
		s.lock(lockAt(n, "spatial", "%s slides over this dimension", n.Op.Name))
	}
}

// convolution is what both kinds have: the batch goes through, and the window slides.
// Geometry and dimensions of input, weights and output.
func (a *analysis) convolution(n *ir.Node) (g *op.ConvGeom, x, w, y []axis) {
	g = bug.Must(op.ConvGeometry(n))
	x, w, y = a.in(n, 0), a.in(n, 1), a.out(n, 0)
	a.same(n, x[0], y[0])
	a.spatial(n, x)
	a.spatial(n, w)
	a.spatial(n, y)
	return g, x, w, y
}

// conv: [N, Cin, ...] * [Cout, Cin/g, ...] + [Cout]. In a depthwise convolution
// the channels are the groups, and all of them grow together; otherwise the
// number of groups is fixed, and padding is added to each.
func conv(a *analysis, n *ir.Node) {
	g, x, w, y := a.convolution(n)
	if op.IsDepthwise(g) {
		w[1].lock(lockAt(n, "depthwise", "a depthwise convolution has one input channel a group"))
		a.same(n, y[1], x[1].times(g.COut/g.CIn))
		a.same(n, w[0], y[1])
	} else {
		a.grouped(n, x[1], w[1], g.Group)
		a.grouped(n, y[1], a.space.axis(g.COut/g.Group), g.Group)
		a.same(n, w[0], y[1])
		a.contract(n, x[1])
	}
	if b := a.in(n, 2); b != nil {
		a.same(n, b[0], y[1])
	}
}

// grouped makes x a row of groups that all look like part.
func (a *analysis) grouped(n *ir.Node, x, part axis, groups int) {
	if r := part.repeat(groups); r != nil {
		a.same(n, x, r)
		return
	}
	locked(lockAt(n, "groups", "%d groups are too many to pad each", groups), x, part)
}

// convTranspose: [N, Cin, ...] * [Cin, Cout/g, ...] + [Cout].
func convTranspose(a *analysis, n *ir.Node) {
	g, x, w, y := a.convolution(n)
	a.grouped(n, x[1], a.space.axis(g.CIn/g.Group), g.Group)
	a.same(n, w[0], x[1])
	a.grouped(n, y[1], w[1], g.Group)
	a.contract(n, x[1])
	if b := a.in(n, 2); b != nil {
		a.same(n, b[0], y[1])
	}
}

// gemm: [M, K] x [K, N] + C, either matrix possibly transposed.
func gemm(a *analysis, n *ir.Node) {
	x, w, y := a.in(n, 0), a.in(n, 1), a.out(n, 0)
	m, kx, kw, c := x[0], x[1], w[0], w[1]
	if ir.AttrsOf[op.GemmAttrs](n).TransA != 0 {
		m, kx = x[1], x[0]
	}
	if ir.AttrsOf[op.GemmAttrs](n).TransB != 0 {
		kw, c = w[1], w[0]
	}
	a.same(n, m, y[0])
	a.same(n, c, y[1])
	a.same(n, kx, kw)
	a.contract(n, kx)
	if b := a.in(n, 2); b != nil {
		a.stretch(n, b, y)
	}
}

// matMul: the last two axes are matrices, those before broadcast.
func matMul(a *analysis, n *ir.Node) {
	x, w, y := a.in(n, 0), a.in(n, 1), a.out(n, 0)
	if len(x) < 2 || len(w) < 2 {
		a.lockAll(n, "operator", "MatMul with a vector fixes the size of its operands")
		return
	}
	rx, rw, ry := len(x), len(w), len(y)
	a.same(n, x[rx-2], y[ry-2])
	a.same(n, w[rw-1], y[ry-1])
	a.same(n, x[rx-1], w[rw-2])
	a.contract(n, x[rx-1])
	a.stretch(n, x[:rx-2], y[:ry-2])
	a.stretch(n, w[:rw-2], y[:ry-2])
}
