// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
)

// Single is a graph of float16, bfloat16 or float64 that was brought to
// float32: what its inputs and outputs were, and what there is to say.
type Single struct {
	in, out []tensor.DType
	// Notes are for the user: what was done, and which numbers float32 does not
	// have.
	Notes diag.List
}

func isOtherFloat(t tensor.DType) bool { return t.IsFloat() && t != tensor.F32 }

// otherFloats are the names of the float types besides float32 in g.
func otherFloats(g *ir.Graph) []string {
	found := map[tensor.DType]bool{}
	everyType(g, func(t tensor.DType) { found[t] = found[t] || isOtherFloat(t) })
	var names []string
	for _, t := range []tensor.DType{tensor.F16, tensor.BF16, tensor.F64} {
		if found[t] {
			names = append(names, t.ONNXName())
		}
	}
	return names
}

func (s *State) toSingle() {
	if s.single = fail.Must(ToSingle(s.Graph)); s.single == nil {
		return
	}
	s.Diags.Add(s.single.Notes...)
	s.facts.Quant.Samples = s.single.Samples(s.facts.Quant.Samples)
	s.StateBindings = s.single.bindings(s.StateBindings)
}

// modelTypes gives inputs and outputs the model's float types again.
func (s *State) modelTypes() {
	fail.Check(s.single.Border(s.Graph, fail.Must(state.Indices(s.Graph, s.StateBindings))))
}

// ToSingle computes in float32 what g computes in float16, bfloat16 or float64:
// kernels, calibration and accelerators know one float type. It is nil where
// g has no other. What depends on constants alone is evaluated in the model's
// own types before. Nodes that read a value bit by bit keep its type, between
// casts.
func ToSingle(g *ir.Graph) (_ *Single, err error) {
	defer fail.Catch(&err)
	names := otherFloats(g)
	if len(names) == 0 {
		return nil, nil
	}
	types := func(list []*ir.Value) []tensor.DType {
		return lists.Map(list, func(v *ir.Value) tensor.DType { return v.Type.DType })
	}
	s := &Single{in: types(g.In), out: types(g.Out)}
	legal.Find("const-fold").Run(&pass.Ctx{}, g)
	c := &singler{was: map[*ir.Value]tensor.DType{}, data: map[*ir.Value]*tensor.Dense{},
		done: map[*tensor.Dense]*tensor.Dense{}}
	c.graph(g)
	s.Notes.Add(diag.Notef("single", "", "the model computes in %s: its float layers run in float32",
		strings.Join(names, " and ")))
	if c.clipped > 0 {
		s.Notes.Add(diag.Notef("single-range", c.first, "%d constants of type double are beyond the range of float32: "+
			"the largest or smallest number of float32 stands for them, the first is in %s", c.clipped, c.first))
	}
	return s, nil
}

// everyType calls f for the element type of every value and attribute.
func everyType(g *ir.Graph, f func(tensor.DType)) {
	values := slices.Concat(g.In, g.Out)
	for _, n := range g.Nodes {
		values = append(append(values, n.In...), n.Out...)
		for _, b := range n.Body {
			everyType(b, f)
		}
	}
	for _, v := range values {
		if v != nil {
			f(v.Type.DType)
		}
	}
}

// singler brings graphs to float32.
type singler struct {
	was     map[*ir.Value]tensor.DType      // element types in the model, where they were others
	data    map[*ir.Value]*tensor.Dense     // and constants
	done    map[*tensor.Dense]*tensor.Dense // constants by what they were
	clipped int                             // numbers that float32 does not have
	first   string                          // the constant with the first of them
}

func (c *singler) graph(g *ir.Graph) {
	for _, v := range slices.Concat(g.In, g.Out) {
		c.retype(v)
	}
	for _, n := range slices.Clone(g.Nodes) {
		c.node(g, n)
	}
}

func (c *singler) retype(v *ir.Value) {
	if v == nil || !isOtherFloat(v.Type.DType) {
		return
	}
	c.was[v] = v.Type.DType
	v.Type.DType = tensor.F32
	if v.Const != nil {
		c.data[v] = v.Const
		v.Const = c.dense(v.Const, v.Name)
	}
}

// dense is d in float32. Finite numbers stay finite, and what is not zero does
// not become zero: a bound or a mask stays a bound or a mask, and a divisor can
// be divided by.
func (c *singler) dense(d *tensor.Dense, name string) *tensor.Dense {
	if y := c.done[d]; y != nil {
		return y
	}
	y := d.Cast(tensor.F32)
	for i := range d.Len() {
		was, is := d.Float(i), y.Float(i)
		switch {
		case math.IsInf(is, 0) && !math.IsInf(was, 0):
			is = math.Copysign(math.MaxFloat32, was)
		case is == 0 && was != 0:
			is = math.Copysign(0x1p-126, was)
		default:
			continue
		}
		y.SetFloat(i, is)
		if c.clipped++; c.first == "" {
			c.first = name
		}
	}
	c.done[d] = y
	return y
}

// attrs brings element types and tensors among the attributes to float32.
func (c *singler) attrs(n *ir.Node, old ir.Attrs) {
	for _, s := range n.Op.Attrs {
		a, ok := old[s.Name]
		switch {
		case !ok:
		case s.ElemType:
			if t, known := tensor.FromONNX(int(a.Int)); known && isOtherFloat(t) {
				n.SetAttr(s.Name, ir.Int(tensor.F32.ONNXCode()))
			}
		case a.Tensor != nil && isOtherFloat(a.Tensor.DType):
			n.SetAttr(s.Name, ir.Tens(c.dense(a.Tensor, n.Name)))
		}
	}
}

// node brings the outputs of n to float32, whose inputs are.
func (c *singler) node(g *ir.Graph, n *ir.Node) {
	for _, v := range n.In {
		c.retype(v) // constants
	}
	shapes := make([][]int, len(n.Out))
	for i, v := range n.Out {
		shapes[i] = v.Type.Shape
		c.retype(v)
	}
	old := n.Attrs
	n.SetAttrs(n.Attrs.Clone())
	c.attrs(n, old)
	for _, b := range n.Body {
		c.graph(b)
	}
	types, err := ir.InferNode(n)
	for i, v := range n.Out {
		if err == nil && (types[i].DType != v.Type.DType || !slices.Equal(types[i].Shape, shapes[i])) {
			err = ir.Errf(n, "dtype", "output %d is %s%v in float32, %s%v in the model", i, types[i].DType,
				types[i].Shape, v.Type.DType, shapes[i])
		}
	}
	switch {
	case err == nil && (n.Op == op.Cast || n.Op == op.CastLike) && c.was[n.Out[0]]+c.was[n.In[0]] != 0 &&
		n.In[0].Type.DType == tensor.F32 && n.Out[0].Type.DType == tensor.F32:
		g.ReplaceUses(n.Out[0], n.In[0])
		g.Remove(n)
		return
	case err == nil:
		return
	case len(n.Body) > 0:
		fail.Check(err)
		return
	}
	n.SetAttrs(old)
	c.keep(g, n)
}

// keep leaves n in the model's element types, between casts: it reads bits, or
// its shape hangs on the precision.
func (c *singler) keep(g *ir.Graph, n *ir.Node) {
	for i, v := range n.In {
		if v == nil || c.was[v] == tensor.Invalid {
			continue
		}
		if d := c.data[v]; d != nil {
			g.SetInput(n, i, g.AddConst(v.Name, d))
			continue
		}
		g.SetInput(n, i, castTo(g, n, v, c.was[v]))
	}
	for _, v := range n.Out {
		if c.was[v] == tensor.Invalid {
			continue
		}
		v.Type.DType = c.was[v]
		single(g, g.Next(n), v)
	}
	fail.Check(g.Reinfer(n))
}

func castTo(g *ir.Graph, at *ir.Node, v *ir.Value, t tensor.DType) *ir.Value {
	return g.Insert(at, v.Def, op.Cast, v.Name+"."+t.String(), ir.Attrs{"to": ir.Int(t.ONNXCode())}, v)
}

// single gives all who read v, but for the node that makes it, v as float32.
func single(g *ir.Graph, at *ir.Node, v *ir.Value) {
	w := castTo(g, at, v, tensor.F32)
	g.ReplaceUses(v, w)
	g.SetInput(w.Def, 0, v)
}

// Samples are calibration inputs in float32.
func (s *Single) Samples(list []quant.Sample) []quant.Sample {
	out := make([]quant.Sample, len(list))
	for k, x := range list {
		out[k] = make(quant.Sample, len(x))
		for i, d := range x {
			if isOtherFloat(d.DType) {
				d = d.Cast(tensor.F32)
			}
			out[k][i] = d
		}
	}
	return out
}

// bindings are states that begin in float32.
func (s *Single) bindings(list []state.Binding) []state.Binding {
	out := slices.Clone(list)
	for i, t := range out {
		if t.Init != nil && isOtherFloat(t.Init.DType) {
			out[i].Init = t.Init.Cast(tensor.F32)
		}
	}
	return out
}

// Border gives the inputs and outputs that are float32 now the element types of
// the model again, with casts behind them; ties are state, which nobody sees.
func (s *Single) Border(g *ir.Graph, ties []quant.StateBinding) (err error) {
	defer fail.Catch(&err)
	for i, v := range g.In {
		if !isOtherFloat(s.in[i]) || v.Type.DType != tensor.F32 ||
			slices.ContainsFunc(ties, func(t quant.StateBinding) bool { return t.In == i }) {
			continue
		}
		v.Type.DType = s.in[i]
		if len(v.Uses()) == 0 && !g.IsOutput(v) {
			continue
		}
		at := (*ir.Node)(nil)
		if len(g.Nodes) > 0 {
			at = g.Nodes[0]
		}
		single(g, at, v)
	}
	for i, v := range g.Out {
		if !isOtherFloat(s.out[i]) || v.Type.DType != tensor.F32 ||
			slices.ContainsFunc(ties, func(t quant.StateBinding) bool { return t.Out == i }) {
			continue
		}
		g.SetOutput(i, castTo(g, nil, v, s.out[i]))
	}
	return nil
}
