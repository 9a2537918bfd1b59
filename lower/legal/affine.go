// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// affine is y = mul[c]*x + add[c], c being the index along one dimension of x.
type affine struct {
	x        *ir.Value
	mul, add []float64
}

func (a *affine) shifts() bool {
	return slices.ContainsFunc(a.add, func(v float64) bool { return v != 0 })
}

func isAffine(n *ir.Node) bool {
	return is(n, "BatchNormalization", "Neg") || n.Op.Pattern == ir.Broadcast && len(n.In) == 2
}

// affineOf reads n as an affine map per index of dimension axis: a
// BatchNormalization (axis 1), or Mul, Div, Add, Sub with a constant that is
// one number or one per index, or Neg. nil when n is nothing of the kind.
func affineOf(n *ir.Node, axis int) *affine {
	if n.Quantised() || op.HasAct(n) || !n.Out[0].Type.DType.IsFloat() {
		return nil
	}
	switch {
	case is(n, "BatchNormalization"):
		mul, add := bnConstants(n)
		if mul == nil || axis != 1 || n.In[0].Type.Rank() < 2 {
			return nil
		}
		return &affine{n.In[0], mul, add}
	case is(n, "Neg"):
		k := n.In[0].Type.Shape[axis]
		return &affine{n.In[0], full(k, -1), make([]float64, k)}
	case !isAffine(n):
		return nil
	}
	for i, x := range n.In {
		if k := perIndex(n.In[1-i], x, axis); k != nil {
			return constantMap(n, x, k, i == 1)
		}
	}
	return nil
}

// constantMap is n of x and the constants k, which are the first operand or the second.
func constantMap(n *ir.Node, x *ir.Value, k []float64, first bool) *affine {
	a := &affine{x: x, mul: full(len(k), 1), add: make([]float64, len(k))}
	switch {
	case is(n, "Mul"):
		a.mul = k
	case is(n, "Add"):
		a.add = k
	case is(n, "Sub") && first:
		a.mul, a.add = full(len(k), -1), k
	case is(n, "Sub"):
		for i, v := range k {
			a.add[i] = -v
		}
	case is(n, "Div") && !first:
		for i, v := range k {
			a.mul[i] = 1 / v
		}
	default:
		return nil
	}
	if x.Const != nil || slices.ContainsFunc(a.mul, bad) || slices.ContainsFunc(a.add, bad) {
		return nil
	}
	return a
}

func bad(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

func full(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

// perIndex gives one number per index of dimension axis of x when v is a float
// constant that broadcasts to x without enlarging it and varies along axis at
// most.
func perIndex(v, x *ir.Value, axis int) []float64 {
	d := floatConst(v)
	rank := x.Type.Rank()
	if d == nil || axis >= rank || len(d.Shape) > rank {
		return nil
	}
	k := x.Type.Shape[axis]
	for i, s := range d.Shape {
		dim := rank - len(d.Shape) + i
		if s != 1 && (dim != axis || s != k) {
			return nil
		}
	}
	if d.Len() == 1 {
		return full(k, d.Float(0))
	}
	return d.Floats()
}

// bnConstants are c0 = scale/sqrt(var+epsilon) and c1 = B - mean*c0 of a
// BatchNormalization, nil unless its four parameters are constants.
func bnConstants(n *ir.Node) (c0, c1 []float64) {
	var p [5][]float64
	for i := 1; i < 5; i++ {
		d := floatConst(n.In[i])
		if d == nil {
			return nil, nil
		}
		p[i] = d.Floats()
	}
	eps := float64(ir.AttrsOf[op.EpsilonAttr](n).Epsilon)
	c0, c1 = make([]float64, len(p[1])), make([]float64, len(p[1]))
	for i := range c0 {
		c0[i] = p[1][i] / math.Sqrt(p[4][i]+eps)
		c1[i] = p[2][i] - float64(p[3][i]*c0[i])
	}
	return c0, c1
}

// inner describes a node that multiplies by constant weights: which dimension
// of its output counts output channels and which of input 0 input channels.
type inner struct {
	n       *ir.Node
	w       *tensor.Dense // its integers where they stand behind DequantizeLinear
	dq      *ir.Node      // that, else nil
	bias    []float64     // nil when absent; one number per output channel, or per element of [M, N] (Gemm)
	outAxis int
	inAxis  int
	outs    int
}

// weightsOf are the constant weights of n, and the DequantizeLinear in front of them, if one is there.
func weightsOf(n *ir.Node) (w *tensor.Dense, dq *ir.Node) {
	if d := n.In[1].Def; is(d, "DequantizeLinear") && d.In[0].Const != nil {
		return d.In[0].Const, d
	}
	return floatConst(n.In[1]), nil
}

// innerOf reads a Conv, ConvTranspose, Gemm or MatMul with constant weights (and bias), float or behind
// DequantizeLinear; nil otherwise.
func innerOf(n *ir.Node) *inner {
	if n == nil || n.Op.WeightAxis == nil || n.Quantised() {
		return nil
	}
	p := &inner{n: n, outAxis: 1, inAxis: 1}
	p.w, p.dq = weightsOf(n)
	b := n.Input(2)
	if p.w == nil || b != nil && floatConst(b) == nil {
		return nil
	}
	switch n.Op.Name {
	case "Conv", "ConvTranspose":
		if p.outs = n.Out[0].Type.Shape[1]; b != nil {
			p.bias = b.Const.Floats()
		}
	case "Gemm":
		if ir.AttrsOf[op.GemmAttrs](n).TransA != 0 {
			return nil
		}
		if p.outs = n.Out[0].Type.Shape[1]; b != nil {
			p.bias = gemmBias(n)
		}
	case "MatMul":
		if len(p.w.Shape) != 2 || n.In[0].Type.Rank() < 2 {
			return nil
		}
		p.outAxis = n.Out[0].Type.Rank() - 1
		p.inAxis = p.outAxis
		p.outs = p.w.Shape[1]
	}
	return p
}

// gemmBias is beta*C as one number per column where rows agree, else as the
// whole [M, N].
func gemmBias(n *ir.Node) []float64 {
	c, beta := n.In[2].Const, float64(ir.AttrsOf[op.BetaAttr](n).Beta)
	m, cols := n.Out[0].Type.Shape[0], n.Out[0].Type.Shape[1]
	rows := 1
	if len(c.Shape) == 2 {
		rows = c.Shape[0]
	}
	cn := 1
	if len(c.Shape) > 0 {
		cn = c.Shape[len(c.Shape)-1]
	}
	if rows > 1 {
		rows = m
	}
	out := make([]float64, rows*cols)
	for i := range out {
		r, k := i/cols, i%cols
		if cn == 1 {
			k = 0
		}
		out[i] = beta * c.Float(r*cn+k)
	}
	return out
}

// padded reports that outputs near the border see zeros in place of input.
func (p *inner) padded() bool {
	if !is(p.n, "Conv", "ConvTranspose") {
		return false
	}
	g := bug.Must(op.ConvGeometry(p.n)) // a transposed convolution's border sees fewer taps
	return g.Transposed || !allZero(g.PadBegin) || !allZero(g.PadEnd)
}

// canScale reports factors that weights can take up: those that are quantised positive ones, in a scale for every
// output channel.
func (p *inner) canScale(mul []float64) bool {
	if p.dq == nil {
		return true
	}
	_, q, ok := op.LinearParams(p.dq)
	axis := p.n.Op.WeightAxis(p.n)
	return ok && axis >= 0 && p.w.Shape[axis] == p.outs && (!q.PerAxis() || q.Axis == axis) && slices.Min(mul) > 0
}

// rescale multiplies the scales of quantised weights.
func (p *inner) rescale(g *ir.Graph, mul []float64) {
	_, q, _ := op.LinearParams(p.dq)
	axis, dt := p.n.Op.WeightAxis(p.n), p.dq.Out[0].Type.DType
	scale, zero := make([]float64, p.outs), tensor.New(p.w.DType, []int{p.outs})
	for i := range scale {
		scale[i] = float64(q.ScaleAt(i)) * mul[i]
		zero.SetInt(i, int64(q.ZeroAt(i)))
	}
	name := p.dq.Name
	w := insert(g, p.n, op.DequantizeLinear, name, ir.Attrs{"axis": ir.Int(axis)}, p.dq.In[0],
		g.AddConst(name+".scale", tensor.FromFloats(dt, zero.Shape, scale)), g.AddConst(name+".zero", zero))
	g.SetInput(p.n, 1, w)
	g.RemoveUnread(p.dq.Out[0])
}

func (p *inner) canShift() bool {
	return !is(p.n, "MatMul") || p.n.In[0].Type.Rank() == 2
}

// scaleOut folds y = mul*out + add into the weights and bias:
// w' = mul*w, b' = mul*b + add.
func (p *inner) scaleOut(g *ir.Graph, a *affine) {
	var w []float64
	if p.dq != nil {
		p.rescale(g, a.mul)
	} else {
		w = p.w.Floats()
		_, out := op.WeightChannels(p.n, p.w.Shape)
		for i := range w {
			w[i] *= a.mul[out(i)]
		}
	}
	p.set(g, w, p.biases(a, func(o int, b float64) float64 { return float64(a.mul[o]*b) + a.add[o] }))
}

// biases are what f makes of those of the output channels; nil where there are none, nor does the map shift.
func (p *inner) biases(a *affine, f func(o int, b float64) float64) []float64 {
	if p.bias == nil && !a.shifts() {
		return nil
	}
	bias := make([]float64, max(p.outs, len(p.bias)))
	copy(bias, p.bias)
	for i, b := range bias {
		bias[i] = f(i%p.outs, b)
	}
	return bias
}

// scaleIn folds x' = mul*x + add into the weights and bias:
// w' = mul*w, b' = b + sum of w*add, with the weights from before scaling.
func (p *inner) scaleIn(g *ir.Graph, a *affine) {
	w := p.w.Floats()
	sum := make([]float64, p.outs)
	alpha := 1.0
	if is(p.n, "Gemm") {
		alpha = float64(ir.AttrsOf[op.AlphaAttr](p.n).Alpha)
	}
	in, out := op.WeightChannels(p.n, p.w.Shape)
	for i := range w {
		sum[out(i)] += float64(w[i] * a.add[in(i)])
		w[i] *= a.mul[in(i)]
	}
	p.set(g, w, p.biases(a, func(o int, b float64) float64 { return b + float64(alpha*sum[o]) }))
}

// set gives the node new weights (nil: as they are) and bias (nil: none). A MatMul that gets a
// bias becomes a Gemm.
func (p *inner) set(g *ir.Graph, w, bias []float64) {
	n, dt := p.n, p.n.Out[0].Type.DType
	if w != nil {
		g.SetInput(n, 1, g.AddConst(n.In[1].Name, tensor.FromFloats(dt, p.w.Shape, w)))
	}
	if bias != nil {
		name := n.Name + "/bias"
		if b := n.Input(2); b != nil {
			name = b.Name
		}
		shape := []int{len(bias)}
		if len(bias) != p.outs {
			shape = n.Out[0].Type.Shape
		}
		if is(n, "MatMul") {
			n.Op = op.Gemm
		}
		if is(n, "Gemm") {
			n.DropAttr("beta")
		}
		g.SetInput(n, 2, g.AddConst(name, tensor.FromFloats(dt, shape, bias)))
	}
	reinfer(g, n)
}
