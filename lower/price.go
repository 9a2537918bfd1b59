// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"maps"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// Pricer answers what layers cost that are in no program.
type Pricer struct {
	o     Options
	table kernel.Table
}

// NewPricer prices layers by the kernels that programs with these options have.
func NewPricer(o Options) (*Pricer, error) {
	o.NativeIO = true // no copies at borders
	table, err := o.table()
	return &Pricer{o, table}, err
}

// Priced is what one layer costs.
type Priced struct {
	Row  *kernel.Kernel
	Low  *call.Lowered
	Cost cost.Cost
	Code int // bytes of the kernels' code and their own constants
}

// Of prices the nodes of a graph on the types of programs, which it consumes.
func (p *Pricer) Of(g *ir.Graph) (_ []Priced, err error) {
	defer fail.Catch(&err)
	s := &State{Result: &Result{Graph: g}, facts: factsOf(g, p.o), ctx: &pass.Ctx{}, table: p.table}
	s.facts.Target.Memo = map[any]any{}
	s.chooseKernels()
	s.assignOrders()
	s.lowerNodes()
	return pricesOf(s.Result, s.options().CostTarget().Code), nil
}

// Whole prices the program of a float graph, quantised to a precision by what it gives for synthetic inputs: of layers
// that are other operators then, or several.
func (p *Pricer) Whole(g *ir.Graph, precision option.Precision) (_ []Priced, err error) {
	defer fail.Catch(&err)
	o := p.o
	o.Precision, o.Legalize = precision, true
	o.Quant = quant.Options{Method: option.MinMax, Source: "synthetic", Samples: quant.SyntheticSamples(g.In, 2, 1)}
	if precision == option.Int16x8 {
		o.Quant.Layer = func(*ir.Node) quant.Layer { return quant.Int16x8 }
	}
	return pricesOf(fail.Must(Run(g, o)), o.CostTarget().Code), nil
}

// pricesOf are those of a result's nodes.
func pricesOf(r *Result, code func(functions []string) map[string]int) []Priced {
	return lists.Map(r.Graph.Nodes, func(n *ir.Node) Priced {
		list := r.Candidates[n]
		chosen := slices.IndexFunc(list, func(c Candidate) bool { return c.Chosen })
		out := Priced{Row: r.Choices[n].Kernel, Low: r.Low[n], Cost: list[chosen].Price}
		for _, bytes := range code(out.Low.Functions()) {
			out.Code += bytes
		}
		return out
	})
}

// Wider prices a node and its readers with channels more of its result, up to layers that mix channels again; false
// where others depend on their number, or there is no price.
func (p *Pricer) Wider(n *ir.Node, channels int) (total float64, ok bool) {
	shape := n.Out[0].Type.Shape
	if len(shape) < 2 {
		return 0, false
	}
	first, ok := p.like(n, 0, channels)
	if !ok {
		return 0, false
	}
	total = first
	for v := n.Out[0]; len(v.Uses()) == 1; {
		u := v.Uses()[0]
		m := u.Node
		more := 0 // the channels of its result are more, too
		switch {
		case u.Index != 0 || len(m.Out) != 1 || m.Out[0].Type.Rank() < 2:
			return 0, false
		case m.Op == op.Conv && ir.AttrsOf[op.GroupAttr](m).Group > 1, m.Op.Scalar != nil, m.Op.Spread != 0:
			more = channels
		case m.Op != op.Conv && m.Op != op.Gemm || m.Op == op.Gemm && m.In[0].Type.Rank() != 2:
			return 0, false
		}
		x, ok := p.like(m, channels, more)
		if !ok {
			return 0, false
		}
		if total += x; more == 0 {
			return total, true
		}
		v = m.Out[0]
	}
	return 0, false
}

// like are the instructions of a node with so many channels more of its first input and of its result.
func (p *Pricer) like(n *ir.Node, in, out int) (float64, bool) {
	wider := func(v *ir.Value, more int) []int {
		s := slices.Clone(v.Type.Shape)
		s[1] += more
		return s
	}
	computed := func(v *ir.Value) bool { return v != nil && v.Const == nil }
	if n.In[0].Type.Rank() < 2 || slices.ContainsFunc(n.In[1:], computed) {
		return 0, false
	}
	c := p.o.estimateHypothetical(p.table, n, [][]int{wider(n.In[0], in)}, [][]int{wider(n.Out[0], out)})
	return c.ExpectedInstructions(), c.Known() && c.Instructions > 0
}

// Smaller prices a convolution as it is, and with windows of three where they are larger; false where its result had
// another size then, or there is no price.
func (p *Pricer) Smaller(n *ir.Node) (now, then float64, ok bool) {
	attrs, shape, ok := ofThree(n)
	if !ok {
		return 0, 0, false
	}
	x := ir.New("smaller")
	args := []*ir.Value{x.AddInput("x", ir.Type{DType: n.In[0].Type.DType, Shape: n.In[0].Type.Shape,
		Quant: n.In[0].Type.Quant}), x.AddQuantConst("w", tensor.New(n.In[1].Type.DType, shape), n.In[1].Type.Quant)}
	if b := n.Input(2); b != nil && b.Const != nil {
		args = append(args, x.AddConst("b", b.Const))
		args[2].Type = b.Type
	}
	m, err := x.Add(n.Op, n.Name, attrs, 1, args...)
	if err != nil || !slices.Equal(m.Out[0].Type.Shape, n.Out[0].Type.Shape) {
		return 0, 0, false
	}
	m.Out[0].Type.DType, m.Out[0].Type.Quant = n.Out[0].Type.DType, n.Out[0].Type.Quant
	x.AddOutput("y", m.Out[0])
	now, known := p.like(n, 0, 0)
	list, err := p.Of(x)
	if !known || err != nil || !list[0].Cost.Known() {
		return 0, 0, false
	}
	return now, list[0].Cost.ExpectedInstructions(), true
}

// least is the window that takes the place of larger ones.
const least = 3

// ofThree are the attributes and the shape of the weights of a convolution with windows of three; false where it has no
// larger ones, or its result had another size then.
func ofThree(n *ir.Node) (attrs ir.Attrs, shape []int, ok bool) {
	if n.Op != op.Conv || n.In[1].Const == nil {
		return nil, nil, false
	}
	g := bug.Must(op.ConvGeometry(n))
	if slices.Max(g.Kernel) <= least {
		return nil, nil, false
	}
	var begin, end []int
	shape = slices.Clone(n.In[1].Type.Shape)
	for d, k := range g.Kernel {
		off := (k - min(k, least)) * g.Dilations[d]
		if off%2 != 0 || g.PadBegin[d] < off/2 || g.PadEnd[d] < off/2 {
			return nil, nil, false
		}
		shape[2+d] = min(k, least)
		begin, end = append(begin, g.PadBegin[d]-off/2), append(end, g.PadEnd[d]-off/2)
	}
	attrs = maps.Clone(n.Attrs)
	attrs["pads"], attrs["kernel_shape"] = ir.Ints(append(begin, end...)...), ir.Ints(shape[2:]...)
	delete(attrs, "auto_pad")
	return attrs, shape, true
}
