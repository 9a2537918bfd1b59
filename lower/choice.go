package lower

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/layout"
	"github.com/nncc/nncc/schedule"
)

// candidate is a way to compute a node.
type candidate struct {
	kernel *kernel.Kernel
	low    *call.Lowered
	price  cost.Price
}

// Candidate is a way to compute a node that was considered, for the report.
type Candidate struct {
	Kernel, Library string
	Price           cost.Price
	Chosen          bool
}

// rows are the kernels that take a node: the best one by order, and, where
// costs decide, those behind it that want their operands in the same memory orders.
func (o *Options) rows(table kernel.Table, n *ir.Node) []*kernel.Kernel {
	c, err := table.Choose(n, &o.Target)
	if err != nil {
		return nil
	}
	return o.alternatives(table, c, n)
}

func (o *Options) alternatives(table kernel.Table, c kernel.Choice, n *ir.Node) []*kernel.Kernel {
	out := []*kernel.Kernel{c.Kernel}
	if o.Target.Kernels != "auto" || o.Target.Core.Host {
		return out
	}
	if _, ok := shapeOf(n); !ok { // nothing is known about its price
		return out
	}
	want := demand(c.Kernel, n)
	for _, k := range table.Behind(c, n, &o.Target) {
		if kernel.Tuned(k.Library) && reflect.DeepEqual(demand(k, n), want) {
			out = append(out, k)
		}
	}
	return out
}

func demand(k *kernel.Kernel, n *ir.Node) kernel.Layout {
	if k.Layout == nil {
		return kernel.Layout{Kind: kernel.Natural}
	}
	return k.Layout(n)
}

// asDemanded gives the operands of n the memory orders that its kernel demands
// until the function that it returns is called. No copy stands between an
// operand and a demand that puts every element in the same place: one channel,
// last or first. But a kernel that reads strides off its operand's order has to
// find the order of its result there, which may have more channels.
func asDemanded(n *ir.Node, l kernel.Layout) (restore func()) {
	were := make([]ir.Type, len(n.In))
	for i, v := range n.In {
		if v == nil {
			continue
		}
		were[i] = v.Type
		var want []int
		switch l.Kind {
		case kernel.Natural:
		case kernel.Fixed:
			if i < len(l.In) {
				want = l.In[i]
			}
		case kernel.Same:
			if len(n.Out) == 0 || n.Out[0].Type.Rank() != v.Type.Rank() {
				continue
			}
			want = n.Out[0].Type.Order
		default:
			continue
		}
		if v.Const == nil && v.Type.SameMemory(want) {
			v.Type.Order = want
		}
	}
	return func() {
		for i, v := range slices.Backward(n.In) { // of a value that is there twice, the first has what it was
			if v != nil {
				v.Type = were[i]
			}
		}
	}
}

// candidates lowers a node in every way there is, the best one by order first:
// the values have their memory orders.
func (o *Options) candidates(table kernel.Table, c kernel.Choice, n *ir.Node) ([]candidate, error) {
	defer pass.Named("lowering", n)
	defer asDemanded(n, demand(c.Kernel, n))()
	var out []candidate
	rows := o.alternatives(table, c, n)
	for _, k := range rows {
		l, err := k.Lower(n, &o.Target)
		if err != nil {
			if len(out) == 0 {
				return nil, err
			}
			continue
		}
		out = append(out, candidate{k, l, o.price(n, l)})
		if o.Optimize == "" || o.Optimize == "speed" || !ownLibrary(k.Library) || o.Target.Kernels != "auto" {
			continue
		}
		generic := o.Target
		generic.Generic = true
		if g, err := k.Lower(n, &generic); err == nil && !slices.Equal(g.Functions(), l.Functions()) {
			out = append(out, candidate{k, g, o.price(n, g)})
		}
	}
	return out, nil
}

// fastest is the candidate with the least predicted instructions. One further
// back wins only if it is faster by more than the worst error of both models;
// without a price the first one stays.
func fastest(list []candidate) int {
	best := 0
	for i, x := range list {
		p, q := x.price, list[best].price
		if p.Unknown == "" && q.Unknown == "" && p.Instructions*(1+p.Worst) < q.Instructions*(1-q.Worst) {
			best = i
		}
	}
	return best
}

// chooseKernels is the stage kernels. The errors of all nodes are collected.
func (s *State) chooseKernels() error {
	s.Choices = map[*ir.Node]kernel.Choice{}
	var errs Errors
	for _, n := range s.Graph.Nodes {
		if err := s.choose(n); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return &Unplaced{Errors: errs, Graph: s.Graph, Choices: s.Choices, Refused: s.Refused, Precision: s.Precision}
	}
	return nil
}

// choose finds a kernel for n.
func (s *State) choose(n *ir.Node) error {
	c, err := s.table.Choose(n, &s.facts.Target)
	if err != nil {
		c.Kernel = unsupported
	}
	s.Choices[n] = c
	return err
}

// assignOrders is the stage layout. Copies that it adds get kernels, too.
func (s *State) assignOrders() error {
	rules := func(n *ir.Node) kernel.Layout {
		if _, ok := s.Choices[n]; !ok {
			if err := s.choose(n); err != nil {
				panic(bug.Errorf("%w", err))
			}
		}
		return demand(s.Choices[n].Kernel, n)
	}
	if err := layout.Assign(s.Graph, rules, layout.Options{NativeIO: s.facts.NativeIO, Inner: s.stateValues()}); err != nil {
		return err
	}
	for _, n := range s.Graph.Nodes {
		rules(n)
	}
	return nil
}

// lowerNodes makes the calls of all nodes: every node's fastest kernel, or what
// --optimize makes of speed and size.
func (s *State) lowerNodes() error {
	var errs Errors
	o := s.options()
	w := &selection{o: o, chosen: make([]int, len(s.Graph.Nodes)), candidates: make([][]candidate, len(s.Graph.Nodes))}
	for i, n := range s.Graph.Nodes {
		var err error
		if w.candidates[i], err = o.candidates(s.table, s.Choices[n], n); err != nil {
			errs = append(errs, err)
			continue
		}
		w.chosen[i] = fastest(w.candidates[i])
	}
	if len(errs) > 0 {
		return errs
	}
	w.optimize()
	s.Cost = w.cost()
	s.Low, s.Candidates = map[*ir.Node]*call.Lowered{}, map[*ir.Node][]Candidate{}
	for i, n := range s.Graph.Nodes {
		c, x := s.Choices[n], w.candidates[i][w.chosen[i]]
		c.Kernel = x.kernel
		s.Low[n], s.Choices[n] = x.low, c
		for k, y := range w.candidates[i] {
			s.Candidates[n] = append(s.Candidates[n], Candidate{y.low.Kernel, y.low.Library, y.price, k == w.chosen[i]})
		}
	}
	var err error
	s.States, err = s.states()
	return err
}

// schedule is the last stage.
func (s *State) schedule() error {
	r, err := schedule.BuildWith(cmp.Or(s.Effort, schedule.Full), s.Graph, s.Low, s.States...)
	if err != nil {
		return err
	}
	s.Schedule, s.Program = r, r.Program
	return nil
}
