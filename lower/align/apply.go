// SPDX-License-Identifier: Apache-2.0

package align

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// apply pads the graph as planned: constants get new elements, attributes and
// constants that name sizes are rewritten, types follow.
func (a *analysis) apply() {
	for _, v := range a.g.In {
		if s := paddedShape(a.values[v]); !slices.Equal(s, v.Type.Shape) {
			v.Type = v.Type.WithShape(s)
		}
	}
	for _, n := range a.g.Nodes {
		a.padConsts(n)
		a.rewrite(n)
		if !a.grows(n) {
			continue
		}
		err := a.g.Reinfer(n)
		bug.If(err != nil, "padding %s: %v", n, err)
		for i, v := range n.Out {
			want := paddedShape(a.out(n, i))
			bug.If(!slices.Equal(v.Type.Shape, want), "padding %s: output %d has shape %v, planned was %v", n, i,
				v.Type.Shape, want)
		}
	}
}

func paddedShape(x []axis) []int {
	return lists.Map(x, func(a axis) int { return a.padded() })
}

func grown(x []axis) bool {
	for _, a := range x {
		for t := range a.each {
			if t.d.pad*t.inner != 0 {
				return true
			}
		}
	}
	return false
}

// grows reports a node with an operand or result that is padded.
func (a *analysis) grows(n *ir.Node) bool {
	return grown(a.axes(n))
}

// padConsts gives n its own padded copies of constant operands.
func (a *analysis) padConsts(n *ir.Node) {
	for i, v := range n.In {
		x := a.in(n, i)
		if v == nil || v.Const == nil || !grown(x) {
			continue
		}
		c := a.g.AddQuantConst(v.Name, padDense(v.Const, x, a.elementFill(n, i)), padQuant(v.Type.Quant, x))
		a.g.SetInput(n, i, c)
	}
}

// elementFill says what a new element of operand i holds: a function of the
// padded coordinates, nil where the element before is repeated.
func (a *analysis) elementFill(n *ir.Node, i int) func(at []int) float64 {
	v := n.In[i]
	switch role := constFill(n, i); {
	case role == fillLast:
		return nil
	case role == fillOne:
		return func([]int) float64 { return 1 }
	case v.Type.Quant != nil:
		q := padQuant(v.Type.Quant, a.in(n, i))
		return func(at []int) float64 {
			if q.Axis < 0 {
				return float64(q.Zero[0])
			}
			return float64(q.Zero[at[q.Axis]])
		}
	case n.Op == op.DequantizeLinear && n.ConstIn(2) != nil:
		z, k := n.ConstIn(2), quantAxis(n)
		if z.Len() == 1 {
			return func([]int) float64 { return z.Float(0) }
		}
		src := lastSource(a.in(n, 0)[k].source())
		return func(at []int) float64 { return z.Float(src[at[k]]) }
	}
	return func([]int) float64 { return 0 }
}

// lastSource replaces -1, for new elements, by the element before.
func lastSource(s []int) []int {
	for i := range s {
		if s[i] < 0 && i > 0 {
			s[i] = s[i-1]
		}
	}
	return s
}

// padQuant extends per-axis scales and zero points by repetition.
func padQuant(q *ir.Quant, x []axis) *ir.Quant {
	if !q.PerAxis() {
		return q
	}
	return q.Take(q.Axis, lastSource(x[q.Axis].source()))
}

func padDense(d *tensor.Dense, x []axis, fill func(at []int) float64) *tensor.Dense {
	out, src := d, lists.Map(x, axis.source)
	for i, s := range src {
		out = out.Take(i, lastSource(slices.Clone(s)))
	}
	if fill == nil {
		return out
	}
	stride, at := tensor.Strides(out.Shape), make([]int, len(x))
	for e := range out.Len() {
		fresh := false
		for i := range at {
			at[i] = e / stride[i] % out.Shape[i]
			fresh = fresh || src[i][at[i]] < 0
		}
		switch {
		case !fresh:
		case d.DType.IsFloat():
			out.SetFloat(e, fill(at))
		default:
			out.SetInt(e, int64(fill(at)))
		}
	}
	return out
}

// rewrite adapts attributes and constants of n that name sizes.
func (a *analysis) rewrite(n *ir.Node) {
	if !a.grows(n) {
		return
	}
	x := a.in(n, 0)
	switch n.Op.Name {
	case "Conv":
		// Groups of a depthwise convolution grow with its channels. Weights are
		// padded by now, types of operands not yet: the old geometry tells.
		if w := a.in(n, 1); w[1].size() == 1 && ir.AttrsOf[op.GroupAttr](n).Group == x[1].size() && x[1].size() > 1 {
			n.SetAttr("group", ir.Int(x[1].padded()))
		}
	case "Split":
		k := axisOf(n)
		var sizes []int
		for i := range n.Out {
			sizes = append(sizes, a.out(n, i)[k].padded())
		}
		n.DropAttr("num_outputs")
		a.setInts(n, 1, "split", sizes)
	case "Slice":
		a.rewriteSlice(n)
	case "Reshape":
		a.rewriteShape(n, 1, a.out(n, 0), func(d int) bool { return d > 0 })
	case "Expand":
		y := a.out(n, 0)
		a.rewriteShape(n, 1, y[len(y)-n.In[1].Const.Len():], func(d int) bool { return d > 1 })
	case "Resize":
		if s := n.ConstIn(3); s != nil && s.Len() > 0 {
			axes := ir.AttrsOf[op.AxesAttr](n).Axes
			if axes == nil {
				axes = ir.Identity(len(x))
			}
			var y []axis
			for _, k := range axes {
				if k < 0 {
					k += len(x)
				}
				y = append(y, a.out(n, 0)[k])
			}
			a.rewriteShape(n, 3, y, func(int) bool { return true })
		}
	}
}

// rewriteShape replaces the sizes of a constant operand that names them.
func (a *analysis) rewriteShape(n *ir.Node, i int, y []axis, named func(d int) bool) {
	v := n.ConstIn(i).Int64s()
	out := make([]int, len(v))
	for k, d := range v {
		if out[k] = int(d); named(int(d)) {
			out[k] = y[k].padded()
		}
	}
	a.setInts(n, i, n.In[i].Name, out)
}

// setInts makes operand i a constant vector, in place of what it was.
func (a *analysis) setInts(n *ir.Node, i int, name string, v []int) {
	if c := n.ConstIn(i); c != nil && slices.Equal(c.Int64s(), tensor.Ints(v...).Int64s()) {
		return
	}
	if old := n.Input(i); old != nil {
		name = old.Name
	}
	a.g.SetInput(n, i, a.g.AddConst(name, tensor.Ints(v...)))
}

// rewriteSlice names every bound afresh: starts and ends of padded axes move.
func (a *analysis) rewriteSlice(n *ir.Node) {
	g := bug.Must(op.SliceGeometry(n))
	x, y := a.in(n, 0), a.out(n, 0)
	var starts, ends, axes, steps []int
	for d := range x {
		if g.Step[d] == 1 && g.Start[d] == 0 && g.Shape[d] == x[d].size() {
			continue
		}
		s, e := g.Start[d], g.Start[d]+g.Shape[d]*g.Step[d]
		if grown(x[d : d+1]) {
			s = a.paddedStart(x[d], s)
			e = s + y[d].padded()
		} else if g.Step[d] < 0 && e < 0 {
			e = -x[d].size() - 1
		}
		starts, ends, axes, steps = append(starts, s), append(ends, e), append(axes, d), append(steps, g.Step[d])
	}
	a.setInts(n, 1, "starts", starts)
	a.setInts(n, 2, "ends", ends)
	a.setInts(n, 3, "axes", axes)
	a.setInts(n, 4, "steps", steps)
}

// paddedStart is where element i of the axis stands after padding.
func (a *analysis) paddedStart(x axis, i int) int {
	return slices.Index(x.source(), i)
}
