// SPDX-License-Identifier: Apache-2.0

// Package legal4d rewrites a float graph so that it consists of 4-D NCHW
// tensors, as accelerators want them, and puts what only rebuilds the original
// outputs into a graph of its own. See README.md.
package legal4d

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/legal"
)

// Options of Run.
type Options struct {
	// AsIs takes the graph as it is; otherwise the float passes on which the
	// rewrites build run first, on the copy.
	AsIs bool
	// Integer takes a graph on quantised values, as lower/quant makes it, as it
	// is. Only rewrites that are exact on integers are made.
	Integer bool
}

// Left is a node that is not on 4-D tensors, and why.
type Left struct {
	Node, Op string
	Origin   []string // ONNX nodes
	Reason   string
}

// Output says how an output of the original graph is rebuilt.
type Output struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	// From are the native outputs that are read, in their order.
	From []string `json:"from"`
	// Steps in order; the last makes the output. Without steps the output is
	// the native one.
	Steps []Step `json:"steps"`
}

// Step is one movement of data: reshape, transpose or concat. Inputs name
// native outputs, constants or results of earlier steps.
type Step struct {
	Op     string   `json:"op"`
	Inputs []string `json:"inputs"`
	Result string   `json:"result"`
	Shape  []int    `json:"shape"`          // of the result
	Perm   []int    `json:"perm,omitempty"` // transpose: dimension i of the result is perm[i] of the input
	Axis   *int     `json:"axis,omitempty"` // concat
}

// Result of Run.
type Result struct {
	// Native computes the native outputs: 4-D where Left does not say otherwise.
	// An original output that is one native tensor keeps its name.
	Native *ir.Graph
	// Restore rebuilds the original outputs by data movement. Its inputs are
	// called as the native outputs.
	Restore *ir.Graph
	// Outputs describes Restore, by original output, for --outputs native.
	Outputs  []Output
	Left     []Left
	Rewrites []pass.Rewrite
	// Moved: beside Rewrites only data was moved, and operators that compute
	// element by element; no sum was touched.
	Moved bool
}

// Run rewrites a float graph, which it leaves alone. Feeding the native
// outputs to Restore gives the original outputs: bit for bit where data was
// only moved, up to rounding where sums were taken in another order. What has
// no 4-D form stays, with a reason in Left.
func Run(g *ir.Graph, opt Options) (r *Result, err error) {
	defer fail.Catch(&err)
	g = g.Clone()
	r = &Result{}
	if !opt.AsIs && !opt.Integer {
		c := &pass.Ctx{}
		first := fail.Must(pass.Select(legal.Passes, "einsum", "const-fold", "cleanup", "patterns", "transpose",
			"decompose", "bn-fold", "bn-linear", "conv1d", "cleanup"))
		fail.Check((&pass.Manager{Passes: first}).Run(c, g))
		r.Rewrites = c.Rewrites
	}
	c := &pass.Ctx{}
	if !opt.Integer {
		fail.Check((&pass.Manager{Passes: Substitutes}).Run(c, g))
	}
	r.Rewrites = append(r.Rewrites, c.Rewrites...)
	b := &builder{old: g, g: ir.New(g.Name), env: map[*ir.Value]*rep{}, memo: map[string]*ir.Value{},
		consts: map[string]*ir.Value{}, batches: hasBatch(g)}
	b.findMixing()
	for _, v := range g.In {
		b.env[v] = &rep{shape: v.Type.Shape, whole: b.g.AddInput(v.Name, v.Type)}
	}
	for _, n := range g.Nodes {
		b.node(n)
	}
	b.cur = nil
	r.Moved = !b.math
	b.outputs(r)
	c = &pass.Ctx{}
	after := []pass.Pass{
		{Name: "conv-slices", Run: legal.Parts(op.Conv), Numerics: pass.Reassoc},
		*legal.Find("cleanup"),
	}
	fail.Check((&pass.Manager{Passes: after}).Run(c, r.Native))
	fail.Check((&pass.Manager{Passes: after[1:]}).Run(&pass.Ctx{}, r.Restore))
	r.Rewrites = append(r.Rewrites, c.Rewrites...)
	alive := map[string]bool{}
	for _, n := range r.Native.Nodes {
		alive[n.Name] = true
	}
	r.Left = lists.Filter(b.left, func(l Left) bool { return alive[l.Node] })
	r.describe()
	return r, nil
}

// hasBatch reports a graph whose inputs and outputs all count the same samples.
func hasBatch(g *ir.Graph) bool {
	samples := 0
	for _, v := range slices.Concat(g.In, g.Out) {
		if v.Type.Rank() == 0 {
			return false
		}
		if samples == 0 {
			samples = v.Type.Shape[0]
		}
		if v.Type.Shape[0] != samples {
			return false
		}
	}
	return samples > 1
}

func (b *builder) outputs(r *Result) {
	r.Native, r.Restore = b.g, ir.New(b.old.Name+"_restore")
	rb := &builder{g: r.Restore, memo: map[string]*ir.Value{}, consts: map[string]*ir.Value{}}
	native := map[*ir.Value]*ir.Value{} // value of Native -> input of Restore
	taken := map[string]bool{}
	for _, s := range b.old.OutNames {
		taken[s] = true
	}
	var use func(v *ir.Value, name string, own bool) *ir.Value
	use = func(v *ir.Value, name string, own bool) *ir.Value {
		if w := native[v]; w != nil {
			return w
		}
		if n := v.Def; n != nil && n.Op == op.DequantizeLinear && n.Input(0).Const == nil && n.ConstIn(1) != nil &&
			!b.g.IsOutput(v) {
			// Integers leave the accelerator; what they stand for is the host's to say.
			in := []*ir.Value{use(n.In[0], name, own)}
			for _, c := range n.In[1:] {
				if c != nil {
					c = r.Restore.AddConst(c.Name, c.Const)
				}
				in = append(in, c)
			}
			native[v] = rb.emit(n.Op, "real", n.Attrs.Clone(), in...)
			return native[v]
		}
		if v.Const != nil {
			w := r.Restore.AddConst(name, v.Const)
			w.Type = v.Type
			native[v] = w
			return w
		}
		for k := 0; !own && taken[name]; k++ {
			name = fmt.Sprintf("%s.%d", name, k)
		}
		taken[name] = true
		b.g.AddOutput(name, v)
		w := r.Restore.AddInput(name, v.Type)
		native[v] = w
		return w
	}
	for i, o := range b.old.Out {
		name := b.old.OutNames[i]
		rb.cur = &ir.Node{Name: name}
		if o.Def != nil {
			rb.cur.Origin = o.Def.Origin
		}
		x := b.of(o)
		if x.parts == nil || x.whole != nil && len(x.shape) == 4 && x.whole.Const == nil {
			r.Restore.AddOutput(name, use(x.whole, name, true))
			continue
		}
		ps := slices.Clone(x.parts)
		slices.SortStableFunc(ps, func(p, q *part) int { return slices.Compare(p.start, q.start) })
		for k, p := range ps {
			p = p.clone()
			as := name
			if len(ps) > 1 {
				as = fmt.Sprintf("%s.%d", name, k)
			}
			p.val = use(p.val, as, len(ps) == 1)
			ps[k] = p
		}
		r.Restore.AddOutput(name, assemble(rb, ps, x.shape))
	}
	b.g.RemoveDead()
	r.Restore.RemoveDead()
}

func (r *Result) describe() {
	for i, v := range r.Restore.Out {
		o := Output{Name: r.Restore.OutNames[i], Shape: v.Type.Shape, From: []string{}, Steps: []Step{}}
		need := map[*ir.Value]bool{v: true}
		var nodes []*ir.Node
		for k := len(r.Restore.Nodes) - 1; k >= 0; k-- {
			if n := r.Restore.Nodes[k]; need[n.Out[0]] {
				nodes = append(nodes, n)
				for _, x := range n.In {
					need[x] = true
				}
			}
		}
		for _, x := range r.Restore.In {
			if need[x] {
				o.From = append(o.From, x.Name)
			}
		}
		slices.Reverse(nodes)
		for _, n := range nodes {
			s := Step{Result: n.Out[0].Name, Shape: n.Out[0].Type.Shape}
			if n.Out[0] == v {
				s.Result = o.Name
			}
			switch s.Op = n.Op.Name; n.Op {
			case op.Transpose:
				s.Op, s.Perm = "transpose", ir.AttrsOf[op.TransposeAttrs](n).Perm
			case op.Concat:
				s.Op, s.Axis = "concat", new(ir.AttrsOf[op.AxisAttr](n).Axis)
			case op.Reshape:
				s.Op = "reshape"
			}
			for k, x := range n.In {
				if s.Op != "reshape" || k == 0 {
					s.Inputs = append(s.Inputs, x.Name)
				}
			}
			o.Steps = append(o.Steps, s)
		}
		r.Outputs = append(r.Outputs, o)
	}
}
