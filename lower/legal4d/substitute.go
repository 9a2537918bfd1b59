// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// Substitutes write operators that accelerators lack in operators that they
// have. Run applies them before it lays tensors out, so that the reshapes and
// transpositions that they add cost nothing where the layout absorbs them.
var Substitutes = []pass.Pass{
	{Name: "recurrent", Doc: "LSTM, GRU and RNN step by step, in convolutions and element-wise operators",
		Numerics: pass.Reassoc, Run: pass.Each(unrollRecurrent)},
	{Name: "vectors", Doc: "MatMul by a vector as MatMul by a matrix", Numerics: pass.Reassoc, Run: each(vectors)},
	{Name: "spell-out", Doc: "Gelu by tanh, Mish, Neg, Abs, ReduceMin, Min, Max, sums of squares in simpler operators",
		Numerics: pass.Reassoc, Run: each(spellOut)},
	{Name: "norms", Numerics: pass.Reassoc, Run: each(norms),
		Doc: "RMSNormalization and LogSoftmax in sums and powers; InstanceNormalization, also of groups, on 4-D"},
	{Name: "conv-stride", Doc: "Conv with large strides on blocks of neighbours as channels", Numerics: pass.Reassoc,
		Run: each(wideStride, wideStride)}, // an axis at a time
	{Name: "conv-transpose", Doc: "ConvTranspose of stride 1 as Conv, dilated with zeros in the kernel, by groups",
		Numerics: pass.Reassoc, Run: each(plainTransposed)},
	{Name: "pad-concat", Doc: "Pad outside of space as Concat with constants; Pad that repeats data as Gather",
		Numerics: pass.Exact, Run: each(padConcat)},
	{Name: "pad", Doc: "Pad of rank 1 to 3 on 4-D", Numerics: pass.Exact, Run: each(lowPad)},
	{Name: "pool-ceil", Doc: "ceil_mode of pools as explicit pads; uncounted pads of AveragePool as a factor",
		Numerics: pass.Reassoc, Run: each(pools)},
}

// substitution gives the value that replaces output 0 of n, nil for none.
type substitution func(s *sub, n *ir.Node) *ir.Value

func each(list ...substitution) func(c *pass.Ctx, g *ir.Graph) {
	return pass.Each(lists.Map(list, func(f substitution) func(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
		return func(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
			if n.Op.Domain != "" || n.Quantised() || len(n.Out) != 1 || op.HasAct(n) {
				return
			}
			if v := f(&sub{g: g, n: n}, n); v != nil {
				c.Replace(g, n, v, "%s in other operators", n)
			}
		}
	})...)
}

// sub inserts nodes in front of one.
type sub struct {
	g      *ir.Graph
	n      *ir.Node
	series string // of the nodes, before the operator's name
}

func (s *sub) op(d *ir.OpDef, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	v := s.g.Insert(s.n, s.n, d, s.n.Name, attrs, in...)
	if s.series != "" {
		v.Def.Series = s.series + " " + d.Name
	}
	return v
}

func (s *sub) k(x float64) *ir.Value {
	return s.g.AddConst(s.n.Name+"/k", tensor.FromFloats(s.n.Out[0].Type.DType, nil, []float64{x}))
}

func (s *sub) reshape(v *ir.Value, shape []int) *ir.Value {
	if slices.Equal(v.Type.Shape, shape) {
		return v
	}
	return s.op(op.Reshape, nil, v, s.g.AddConst(s.n.Name+"/shape", tensor.Ints(shape...)))
}

func (s *sub) transpose(v *ir.Value, perm []int) *ir.Value {
	if slices.Equal(perm, ir.Identity(len(perm))) {
		return v
	}
	return s.op(op.Transpose, ir.Attrs{"perm": ir.Ints(perm...)}, v)
}

// vectors gives a vector operand of MatMul the dimension that it lacks.
func vectors(s *sub, n *ir.Node) *ir.Value {
	if n.Op.Name != "MatMul" {
		return nil
	}
	x, y := n.In[0], n.In[1]
	if x.Type.Rank() > 1 && y.Type.Rank() > 1 || x.Type.Elems() == 0 || y.Type.Elems() == 0 ||
		n.Out[0].Type.Elems() == 0 {
		return nil
	}
	if x.Type.Rank() == 1 {
		x = s.reshape(x, []int{1, x.Type.Shape[0]})
	}
	if y.Type.Rank() == 1 {
		y = s.reshape(y, []int{y.Type.Shape[0], 1})
	}
	return s.reshape(s.op(op.MatMul, nil, x, y), n.Out[0].Type.Shape)
}

// spellOut writes
//
//	Gelu, tanh   x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715*x^3)))
//	Mish         x * tanh(softplus(x))
//	Neg          x * -1
//	Abs          relu(x) + relu(-x)
//	ReduceMin    -max(-x)
//	Max, Min     Clip, where the other operand is one number, else
//	             max(x, y) = x + relu(y - x), min(x, y) = x - relu(x - y)
//	ReduceSumSquare, ReduceL1, ReduceL2: ReduceSum of products, of absolute values, and its root
func spellOut(s *sub, n *ir.Node) *ir.Value {
	if !n.Out[0].Type.DType.IsFloat() {
		return nil
	}
	x := n.In
	switch n.Op.Name {
	case "Gelu":
		if ir.AttrsOf[op.GeluAttrs](n).Approximate != "tanh" {
			return nil
		}
		cube := s.op(op.Mul, nil, s.op(op.Pow, nil, x[0], s.k(3)), s.k(0.044715))
		th := s.op(op.Tanh, nil, s.op(op.Mul, nil, s.op(op.Add, nil, x[0], cube), s.k(math.Sqrt(2/math.Pi))))
		return s.op(op.Mul, nil, s.op(op.Mul, nil, x[0], s.k(0.5)), s.op(op.Add, nil, th, s.k(1)))
	case "Mish":
		return s.op(op.Mul, nil, x[0], s.op(op.Tanh, nil, s.op(op.Softplus, nil, x[0])))
	case "Neg":
		return s.op(op.Mul, nil, x[0], s.k(-1))
	case "Abs":
		return s.abs(x[0])
	case "ReduceSumSquare":
		return s.op(op.ReduceSum, n.Attrs.Clone(), append([]*ir.Value{s.op(op.Mul, nil, x[0], x[0])}, x[1:]...)...)
	case "ReduceL1":
		return s.op(op.ReduceSum, n.Attrs.Clone(), append([]*ir.Value{s.abs(x[0])}, x[1:]...)...)
	case "ReduceL2":
		return s.op(op.Sqrt, nil, s.op(op.ReduceSum, n.Attrs.Clone(),
			append([]*ir.Value{s.op(op.Mul, nil, x[0], x[0])}, x[1:]...)...))
	case "ReduceMin":
		in := append([]*ir.Value{s.op(op.Mul, nil, x[0], s.k(-1))}, x[1:]...)
		return s.op(op.Mul, nil, s.op(op.ReduceMax, n.Attrs.Clone(), in...), s.k(-1))
	case "Max", "Min":
		return s.extreme(n)
	}
	return nil
}

func (s *sub) abs(x *ir.Value) *ir.Value {
	return s.op(op.Add, nil, s.op(op.Relu, nil, x), s.op(op.Relu, nil, s.op(op.Mul, nil, x, s.k(-1))))
}

// extreme is Max or Min of one value and bounds.
func (s *sub) extreme(n *ir.Node) *ir.Value {
	v := n.In[0]
	for _, w := range n.In[1:] {
		if v.Const != nil {
			v, w = w, v
		}
		number := w.Const != nil && w.Const.Len() == 1 && w.Type.Rank() <= v.Type.Rank()
		switch {
		case v.Const != nil:
			return nil
		case number && n.Op.Name == "Max":
			v = s.op(op.Clip, nil, v, s.g.AddConst(w.Name, w.Const.Reshaped(nil)))
		case number:
			v = s.op(op.Clip, nil, v, nil, s.g.AddConst(w.Name, w.Const.Reshaped(nil)))
		case n.Op.Name == "Max":
			v = s.op(op.Add, nil, v, s.op(op.Relu, nil, s.op(op.Sub, nil, w, v)))
		default:
			v = s.op(op.Sub, nil, v, s.op(op.Relu, nil, s.op(op.Sub, nil, v, w)))
		}
	}
	return v
}

// norms writes
//
//	RMSNormalization       x * (mean(x^2) + eps)^-0.5 * scale
//	LogSoftmax             z - log(sum(exp(z))), z = x - max(x)
//	InstanceNormalization  of [N, C, ...] on [N, C, 1, ...]
//	GroupNormalization     InstanceNormalization of [N, G, 1, ...], then scale and bias
func norms(s *sub, n *ir.Node) *ir.Value {
	x := n.In[0]
	rank := x.Type.Rank()
	if !n.Out[0].Type.DType.IsFloat() || x.Type.Elems() == 0 {
		return nil
	}
	axis := func() int {
		return op.AxisOf(n, rank)
	}
	keep := ir.Attrs{"keepdims": ir.Int(1)}
	switch n.Op.Name {
	case "RMSNormalization":
		axes := s.g.AddConst(n.Name+"/axes", tensor.Ints(ir.Identity(rank)[axis():]...))
		mean := s.op(op.ReduceMean, keep, s.op(op.Mul, nil, x, x), axes)
		r := s.op(op.Pow, nil, s.op(op.Add, nil, mean, s.k(float64(ir.AttrsOf[op.EpsilonAttr](n).Epsilon))), s.k(-0.5))
		return s.op(op.Mul, nil, s.op(op.Mul, nil, x, r), n.In[1])
	case "LogSoftmax":
		axes := s.g.AddConst(n.Name+"/axes", tensor.Ints(axis()))
		z := s.op(op.Sub, nil, x, s.op(op.ReduceMax, keep, x, axes))
		return s.op(op.Sub, nil, z, s.op(op.Log, nil, s.op(op.ReduceSum, keep, s.op(op.Exp, nil, z), axes)))
	case "InstanceNormalization":
		if rank < 3 || rank == 4 {
			return nil
		}
		sh := x.Type.Shape
		v := s.op(n.Op, n.Attrs.Clone(), append([]*ir.Value{s.reshape(x, []int{sh[0], sh[1], 1, tensor.Count(sh[2:])})},
			n.In[1:]...)...)
		return s.reshape(v, sh)
	case "GroupNormalization":
		a := ir.AttrsOf[op.GroupNormalizationAttrs](n)
		return s.groupNorm(x, a.NumGroups, a.Epsilon)
	}
	return nil
}

// groupNorm normalises groups of channels of x as channels of a 4-D map; the node's
// inputs 1 and 2 are scale and bias.
func (s *sub) groupNorm(x *ir.Value, groups int, eps float32) *ir.Value {
	sh := x.Type.Shape
	fill := func(what string, v float64) *ir.Value {
		return s.g.AddConst(s.n.Name+what, tensor.FromFloats(x.Type.DType, []int{groups},
			slices.Repeat([]float64{v}, groups)))
	}
	v := s.op(op.InstanceNormalization, ir.Attrs{"epsilon": ir.Float(eps)},
		s.reshape(x, []int{sh[0], groups, 1, tensor.Count(sh[1:]) / groups}), fill("/ones", 1), fill("/zeros", 0))
	per := append([]int{sh[1]}, slices.Repeat([]int{1}, len(sh)-2)...)
	param := func(w *ir.Value) *ir.Value {
		if w.Const != nil {
			return s.g.AddConst(w.Name, w.Const.Reshaped(per))
		}
		return s.reshape(w, per)
	}
	v = s.op(op.Mul, nil, s.reshape(v, sh), param(s.n.In[1]))
	return s.op(op.Add, nil, v, param(s.n.In[2]))
}

// padConcat puts constants beside the data, where they are no neighbours in
// space: there accelerators pad themselves. Data that is repeated (reflect, edge,
// wrap) is gathered.
func padConcat(s *sub, n *ir.Node) *ir.Value {
	x := n.In[0]
	rank := x.Type.Rank()
	if n.Op.Name != "Pad" || x.Const != nil || x.Type.Elems() == 0 || n.Out[0].Type.Elems() == 0 {
		return nil
	}
	g, err := op.PadGeometry(n)
	if err != nil || slices.Min(g.Begin) < 0 || slices.Min(g.End) < 0 {
		return nil
	}
	if g.Mode != "constant" {
		return s.padGather(g)
	}
	fill := s.k(0).Const
	if v := n.Input(2); v != nil {
		if fill = v.Const; fill == nil {
			return nil
		}
	}
	outer := max(0, min(rank-1, 2)) // dimensions in front of space
	if rank > 4 {
		outer = rank
	}
	v, pads := x, make([]int, 2*rank)
	for d := range rank {
		if d >= outer {
			pads[d], pads[rank+d] = g.Begin[d], g.End[d]
			continue
		}
		v = s.beside(v, d, g.Begin[d], g.End[d], fill)
	}
	if v == x {
		return nil
	}
	if slices.Max(pads) > 0 {
		v = s.op(op.Pad, n.Attrs.Clone(), v, s.g.AddConst(n.Name+"/pads", tensor.Ints(pads...)), n.Input(2))
	}
	return v
}

// beside puts constants in front of and behind a dimension.
func (s *sub) beside(v *ir.Value, d, begin, end int, fill *tensor.Dense) *ir.Value {
	var in []*ir.Value
	for i, k := range []int{begin, 0, end} {
		if i == 1 {
			in = append(in, v)
		} else if k > 0 {
			shape := slices.Clone(v.Type.Shape)
			shape[d] = k
			c := tensor.New(v.Type.DType, shape)
			tensor.Gather(c, fill, shape, make([]int, len(shape)), 0)
			in = append(in, s.g.AddConst(s.n.Name+"/fill", c))
		}
	}
	if len(in) == 1 {
		return v
	}
	return s.op(op.Concat, ir.Attrs{"axis": ir.Int(d)}, in...)
}

// maxRepeats is the number of elements along a dimension that Pad may repeat:
// each is a slice.
const maxRepeats = 64

// padGather repeats data along every dimension that is padded.
func (s *sub) padGather(g *op.PadGeom) *ir.Value {
	v := s.n.In[0]
	if slices.Max(g.Begin) > maxRepeats || slices.Max(g.End) > maxRepeats {
		return nil
	}
	for d, size := range v.Type.Shape {
		if g.Begin[d] == 0 && g.End[d] == 0 {
			continue
		}
		idx := make([]int, 0, g.Begin[d]+size+g.End[d])
		for i := -g.Begin[d]; i < size+g.End[d]; i++ {
			idx = append(idx, g.Source(i, size))
		}
		v = s.op(op.Gather, ir.Attrs{"axis": ir.Int(d)}, v, s.g.AddConst(s.n.Name+"/indices", tensor.Ints(idx...)))
	}
	if v == s.n.In[0] {
		return nil
	}
	return v
}

// lowPad pads [N, C, L] as [N, C, 1, L], [N, L] as [N, 1, 1, L].
func lowPad(s *sub, n *ir.Node) *ir.Value {
	x := n.In[0]
	rank := x.Type.Rank()
	if n.Op.Name != "Pad" || rank == 0 || rank > 3 || x.Const != nil || x.Type.Elems() == 0 {
		return nil
	}
	g, err := op.PadGeometry(n)
	if err != nil {
		return nil
	}
	at := [][]int{1: {3}, 2: {0, 3}, 3: {0, 1, 3}}[rank]
	shape, pads := []int{1, 1, 1, 1}, make([]int, 8)
	for d, to := range at {
		shape[to] = x.Type.Shape[d]
		pads[to], pads[4+to] = g.Begin[d], g.End[d]
	}
	v := s.op(op.Pad, n.Attrs.Clone(), s.reshape(x, shape), s.g.AddConst(n.Name+"/pads", tensor.Ints(pads...)),
		n.Input(2))
	return s.reshape(v, n.Out[0].Type.Shape)
}

// pools makes the rounding up of a pool's size explicit pads (a maximum does
// not see them), and counts the pads of an AveragePool, undone by a constant
// factor per place: window / counted taps.
func pools(s *sub, n *ir.Node) *ir.Value {
	if n.Op != op.MaxPool && n.Op != op.AveragePool || n.In[0].Type.Rank() != 4 {
		return nil
	}
	g := bug.Must(op.PoolGeometry(n))
	x, y := n.In[0].Type.Shape[2:], n.Out[0].Type.Shape[2:]
	avg := n.Op == op.AveragePool
	begin, end := g.PadBegin, make([]int, 2)
	for i := range 2 {
		reach := g.Reach(i)
		end[i] = max(0, (y[i]-1)*g.Strides[i]+reach-x[i]-begin[i])
		if begin[i] >= reach || end[i] >= reach {
			return nil
		}
	}
	padded := slices.Max(slices.Concat(begin, end)) > 0
	ceil := ir.AttrsOf[op.PoolWindow](n).CeilMode != 0
	counted := avg && ir.AttrsOf[op.AveragePoolAttrs](n).CountIncludePad != 0
	if counted && !(ceil && g.Exact()) || avg && !counted && !padded && !ceil || !avg && !ceil {
		return nil
	}
	attrs := n.Attrs.Clone()
	delete(attrs, "auto_pad")
	attrs["ceil_mode"] = ir.Int(0)
	attrs["pads"] = ir.Ints(slices.Concat(begin, end)...)
	factor := avg && !counted && padded
	if factor {
		attrs["count_include_pad"] = ir.Int(1)
	}
	v := s.op(n.Op, attrs, n.In[0])
	if !slices.Equal(v.Type.Shape, n.Out[0].Type.Shape) {
		return nil
	}
	if !factor {
		return v
	}
	f := countFactors(g, begin, x, y)
	if f == nil {
		return nil
	}
	return s.op(op.Mul, nil, v, s.g.AddConst(n.Name+"/count", tensor.FromFloats(v.Type.DType, []int{1, 1, y[0], y[1]},
		f)))
}

// countFactors are, by place of the result, the elements of a window over those of it
// that lie in the data of size x; nil where a window has none.
func countFactors(g *op.PoolGeom, begin, x, y []int) []float64 {
	taps := func(i, o int) int {
		k := 0
		for t := range g.Kernel[i] {
			if at := o*g.Strides[i] - begin[i] + t*g.Dilations[i]; at >= 0 && at < x[i] {
				k++
			}
		}
		return k
	}
	f := make([]float64, 0, y[0]*y[1])
	for r := range y[0] {
		for c := range y[1] {
			k := taps(0, r) * taps(1, c)
			if k == 0 {
				return nil
			}
			f = append(f, float64(g.Kernel[0]*g.Kernel[1])/float64(k))
		}
	}
	return f
}
