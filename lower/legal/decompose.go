// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// decompose brings operators to the one form that later passes and kernels
// look for:
//
//   - Sum and Mean of many become Adds (and a Mul by 1/n); Min and Max of many
//     become chains of two. A constant operand of Add, Mul, Min, Max stands last.
//   - Sub of a constant is Add of its negative, Div by a constant is Mul by
//     its reciprocal, Pow by 2 is Mul with itself.
//   - ReduceMean and ReduceMax over all spatial dimensions are GlobalAveragePool
//     and GlobalMaxPool (and a Reshape where dimensions are dropped); these read
//     the feature map itself where a Reshape only merges its spatial
//     dimensions. Other pools stay: a pool whose kernel covers its input is the
//     same kernel call.
//   - Flatten, Squeeze, Unsqueeze and Reshape are Reshape with all sizes given.
//   - Gemm is x*B + c: alpha and beta are folded into constants, c is a vector,
//     transA becomes a Transpose; transB stays as it is. A C that differs by row
//     is added behind.
//   - MatMul by a constant matrix, with or without Add of a constant vector, is
//     Gemm: [..., M, K] is reshaped to [M', K] and back. The constants may stand
//     behind DequantizeLinear; of such, MatMul alone stays.
//   - Clip of what QuantizeLinear gives is Clip of the reals that it reads, where
//     operators take it for an activation. An input of the graph stays as it is.
//   - Round in front of a QuantizeLinear of scale 1, which rounds alike, goes.
//   - uint16 with zero point 32768, within the graph, is int16 with zero point 0.
func decompose(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if n.Op.Domain != "" || len(n.Body) > 0 || n.Quantised() {
		return
	}
	d := n.Op
	switch {
	case d.Pattern == ir.Broadcast && d.MaxIn < 0:
		variadic(c, g, n)
	case d.Neutral != nil && d.Commutes:
		constantLast(g, n)
	case d.Neutral != nil:
		byConstant(c, g, n)
	case isReshape(n):
		plainReshape(c, g, n)
	}
	oneForm(c, g, n)
}

func oneForm(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	switch n.Op.Name {
	case "ReduceMean", "ReduceMax":
		globalPool(c, g, n)
	case "GlobalAveragePool", "GlobalMaxPool":
		poolSource(c, g, n)
	case "Gemm":
		plainGemm(c, g, n)
	case "MatMul":
		matMulToGemm(c, g, n)
	case "Clip":
		clipInFront(c, g, n)
	case "QuantizeLinear":
		roundOnce(c, g, n)
	case "DequantizeLinear":
		int16ForUint16(c, g, n)
	}
}

// swap replaces output 0 of n by v, which computes the same, and removes n.
func swap(c *pass.Ctx, g *ir.Graph, n *ir.Node, v *ir.Value, what string) {
	c.Replace(g, n, v, "%s: %s", n, what)
}

// variadic writes an operator of many inputs as a chain of operators of two.
func variadic(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	two := n.Op
	if is(n, "Sum", "Mean") {
		two = op.Add
	}
	if len(n.In) == 2 && two == n.Op {
		constantLast(g, n)
		return
	}
	if len(n.In) < 2 {
		return // cleanup removes it
	}
	v := n.In[0]
	for _, x := range n.In[1:] {
		v = insert(g, n, two, n.Name, nil, v, x)
		constantLast(g, v.Def)
	}
	if is(n, "Mean") {
		k := tensor.FromFloats(v.Type.DType, nil, []float64{1 / float64(len(n.In))})
		v = insert(g, n, op.Mul, n.Name, nil, v, g.AddConst(n.Name+"/n", k))
	}
	swap(c, g, n, v, "as operators of two inputs")
}

// constantLast swaps the operands of a commutative operator.
func constantLast(g *ir.Graph, n *ir.Node) {
	if a, b := n.In[0], n.In[1]; a.Const != nil && b.Const == nil {
		g.SetInput(n, 0, b)
		g.SetInput(n, 1, a)
	}
}

// byConstant writes x - k as x + (-k), x / k as x * (1/k) and x^2 as x * x.
func byConstant(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	k := floatConst(n.In[1])
	if k == nil || n.In[0].Const != nil || !n.Out[0].Type.DType.IsFloat() {
		return
	}
	f := k.Floats()
	d := op.Add
	switch n.Op.Name {
	case "Pow":
		if k.Len() == 1 && f[0] == 2 && slices.Equal(n.Out[0].Type.Shape, n.In[0].Type.Shape) {
			swap(c, g, n, insert(g, n, op.Mul, n.Name, nil, n.In[0], n.In[0]), "as x*x")
		}
		return
	case "Sub":
		for i := range f {
			f[i] = -f[i]
		}
	case "Div":
		d = op.Mul
		for i := range f {
			if f[i] == 0 || bad(1/f[i]) {
				return
			}
			f[i] = 1 / f[i]
		}
	}
	v := insert(g, n, d, n.Name, n.Attrs.Clone(), n.In[0],
		g.AddConst(n.In[1].Name, tensor.FromFloats(k.DType, k.Shape, f)))
	swap(c, g, n, v, "as "+d.Name)
}

// globalPool recognises the reduction of all spatial dimensions.
func globalPool(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	x := n.In[0]
	axes, err := op.ReduceAxes(n)
	if err != nil || x.Type.Rank() < 3 || x.Type.Rank() > 5 || !slices.Equal(axes, ir.Identity(x.Type.Rank())[2:]) ||
		!x.Type.DType.IsFloat() || slices.Contains(x.Type.Shape, 0) {
		return
	}
	d := op.GlobalAveragePool
	if is(n, "ReduceMax") {
		d = op.GlobalMaxPool
	}
	v := insert(g, n, d, n.Name, nil, unmerged(x))
	if !slices.Equal(v.Type.Shape, n.Out[0].Type.Shape) {
		v = reshape(g, n, v, n.Out[0].Type.Shape, n.Name+"/drop")
	}
	swap(c, g, n, v, "as "+d.Name)
}

// unmerged is the feature map of which x is a reshape that keeps batch and
// channels, or x.
func unmerged(x *ir.Value) *ir.Value {
	for d := x.Def; isReshape(d); d = x.Def {
		s := d.In[0].Type.Shape
		if len(s) < 3 || len(s) > 5 || !slices.Equal(s[:2], x.Type.Shape[:2]) || d.In[0].Type.Quant != nil {
			break
		}
		x = d.In[0]
	}
	return x
}

// poolSource lets a global pool read the feature map in front of a reshape.
func poolSource(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	x := unmerged(n.In[0])
	if x == n.In[0] {
		return
	}
	v := insert(g, n, n.Op, n.Name, n.Attrs.Clone(), x)
	if !slices.Equal(v.Type.Shape, n.Out[0].Type.Shape) {
		v = reshape(g, n, v, n.Out[0].Type.Shape, n.Name+"/shape")
	}
	swap(c, g, n, v, "reads the feature map in front of the reshape")
}

// plainReshape writes the operators that only change the shape as Reshape with
// explicit sizes.
func plainReshape(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if is(n, "Reshape") && slices.Equal(n.In[1].Const.Int64s(), tensor.Ints(n.Out[0].Type.Shape...).Int64s()) {
		return
	}
	swap(c, g, n, reshape(g, n, n.In[0], n.Out[0].Type.Shape, n.Name), "as Reshape with all sizes given")
}

// plainGemm brings a Gemm to x*B + c.
func plainGemm(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if ir.AttrsOf[op.GemmAttrs](n).TransA != 0 && !is(n.In[0].Def, "DequantizeLinear") {
		g.SetInput(n, 0, transpose(g, n, n.In[0], []int{1, 0}, n.Name+"/A"))
		n.DropAttr("transA")
		c.Did(n, "transA as Transpose")
	}
	if a := float64(ir.AttrsOf[op.AlphaAttr](n).Alpha); a != 1 {
		if b := floatConst(n.In[1]); b != nil {
			g.SetInput(n, 1, g.AddConst(n.In[1].Name, scaled(b, a)))
			n.DropAttr("alpha")
			c.Did(n, "alpha folded into the weights")
		}
	}
	add := n.Input(2)
	if add == nil {
		n.DropAttr("beta")
		return
	}
	cols := n.Out[0].Type.Shape[1]
	if floatConst(add) != nil {
		if s := add.Type.Shape; ir.AttrsOf[op.BetaAttr](n).Beta == 1 && len(s) == 1 && s[0] == cols {
			return
		}
		bias := gemmBias(n)
		n.DropAttr("beta")
		if len(bias) == cols {
			g.SetInput(n, 2, g.AddConst(add.Name, tensor.FromFloats(add.Type.DType, []int{cols}, bias)))
			c.Did(n, "C as a vector")
			return
		}
		add = g.AddConst(add.Name, tensor.FromFloats(add.Type.DType, n.Out[0].Type.Shape, bias))
	} else if ir.AttrsOf[op.BetaAttr](n).Beta != 1 || add.Type.Rank() == 1 && add.Type.Shape[0] == cols ||
		is(add.Def, "DequantizeLinear") {
		return
	}
	// C differs by row, or is computed: add it behind the product.
	act := op.ActAttrs(n)
	n.DropAttr("act_min", "act_max")
	g.SetInput(n, 2, nil)
	y := n.Out[0]
	sum := insert(g, g.Next(n), op.Add, n.Name+"/C", act, y, add)
	sum.Def.Origin = n.Origin
	readBehind(g, y, sum)
	c.Did(n, "C added behind")
}

// gemmToMatMul writes x*B, and x*B + c, with a B that is computed as MatMul and Add, which the quantiser knows.
func gemmToMatMul(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if !is(n, "Gemm") || n.Quantised() || n.In[1].Const != nil || is(n.In[1].Def, "DequantizeLinear") ||
		ir.AttrsOf[op.AlphaAttr](n).Alpha != 1 || n.Input(2) != nil && ir.AttrsOf[op.BetaAttr](n).Beta != 1 ||
		ir.AttrsOf[op.GemmAttrs](n).TransA != 0 {
		return
	}
	b, act := n.In[1], op.ActAttrs(n)
	if ir.AttrsOf[op.GemmAttrs](n).TransB != 0 {
		b = transpose(g, n, b, []int{1, 0}, n.Name+"/B")
	}
	if add := n.Input(2); add == nil {
		swap(c, g, n, insert(g, n, op.MatMul, n.Name, act, n.In[0], b), "as MatMul")
	} else {
		v := insert(g, n, op.MatMul, n.Name, nil, n.In[0], b)
		swap(c, g, n, insert(g, n, op.Add, n.Name+"/C", act, v, add), "as MatMul and Add")
	}
}

func scaled(d *tensor.Dense, k float64) *tensor.Dense {
	f := d.Floats()
	for i := range f {
		f[i] *= k
	}
	return tensor.FromFloats(d.DType, d.Shape, f)
}

// matrix is the shape of a constant, of reals or behind DequantizeLinear; nil for
// other values.
func matrix(v *ir.Value) (shape []int, quantised bool) {
	switch {
	case floatConst(v) != nil:
		return v.Type.Shape, false
	case is(v.Def, "DequantizeLinear") && v.Def.In[0].Const != nil:
		return v.Type.Shape, true
	}
	return nil, false
}

// vectorBehind is the constant of n elements, one a column, that add adds to a
// product, and whether it stands behind DequantizeLinear; nil where there is none.
func vectorBehind(sum, add *ir.Node, n int) (v *ir.Value, stored bool) {
	if !is(add, "Add") || op.HasAct(sum) || add.Quantised() ||
		!slices.Equal(add.Out[0].Type.Shape, sum.Out[0].Type.Shape) {
		return nil, false
	}
	for i, v := range add.In {
		b, stored := matrix(v)
		if len(b) > 0 && tensor.Count(b) == n && b[len(b)-1] == n && !(stored && len(b) != 1) &&
			add.In[1-i] == sum.Out[0] {
			return v, stored
		}
	}
	return nil, false
}

// matMulToGemm writes x*B, and x*B + c, with constant B [K, N] and c [N] as
// Gemm.
func matMulToGemm(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	x := n.In[0]
	w, quantised := matrix(n.In[1])
	if len(w) != 2 || x.Const != nil || x.Type.Rank() < 2 || slices.Contains(n.Out[0].Type.Shape, 0) || w[0] == 0 {
		return
	}
	out := n.Out[0].Type.Shape
	rows := tensor.Count(out[:len(out)-1])
	attrs := n.Attrs.Clone()
	in := []*ir.Value{x, n.In[1]}
	last, at := n, n
	add := g.SoleUse(n.Out[0])
	if b, stored := vectorBehind(n, add, w[1]); b != nil {
		if stored {
			at = add // in front of it, but perhaps behind the product, stands the DequantizeLinear
		} else {
			b = g.AddConst(b.Name, b.Const.Reshaped([]int{w[1]}))
		}
		in, attrs, last = append(in, b), add.Attrs.Clone(), add
	}
	if len(in) == 2 && (quantised || x.Type.Rank() > 2 && is(x.Def, "DequantizeLinear")) {
		return // a reshape would come between the pair and its operator, for nothing
	}
	if x.Type.Rank() > 2 {
		in[0] = reshape(g, at, x, []int{rows, w[0]}, n.Name+"/rows")
	}
	v := insert(g, at, op.Gemm, n.Name, attrs, in...)
	if x.Type.Rank() > 2 {
		m := v.Def
		v = reshape(g, at, v, out, n.Name+"/back")
		m.Inherit(last)
	}
	if last != n {
		g.ReplaceUses(last.Out[0], v)
		v.Def.Inherit(last)
		g.Remove(last)
	}
	swap(c, g, n, v, "as Gemm")
}
