// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/layout"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/schedule"
)

// candidate is a way to compute a node.
type candidate struct {
	plan  *kernel.Plan
	low   *call.Lowered
	price cost.Cost
	size  *size // nil: not asked yet
}

// size is what a candidate brings to flash.
type size struct {
	functions []string
	constants int // bytes
}

func (c *candidate) flash() *size {
	if c.size == nil {
		c.size = &size{c.low.Functions(), c.low.ConstBytes()}
	}
	return c.size
}

// Candidate is a way to compute a node that was considered, for the report.
type Candidate struct {
	Kernel, Library string
	Price           cost.Cost
	Scratch         int // bytes
	Chosen          bool
}

// alternatives are plans for a node: the given one, and, where costs decide,
// those of kernels behind it that want the operands in the same memory orders.
func (o *Options) alternatives(table kernel.Table, p *kernel.Plan, n *ir.Node) []*kernel.Plan {
	out := []*kernel.Plan{p}
	if o.Target.Kernels != option.AllKernels || o.Target.Core.Host || !o.priced(n) {
		return out
	}
	later := table.LowerPriority(p, func(k *kernel.Kernel) bool { return kernel.IsOptimized(k.Library) })
	same := func(q *kernel.Plan) bool { return reflect.DeepEqual(q.Layout, p.Layout) }
	return append(out, lists.Filter(later, same)...)
}

// priced reports a layer of a kind that is measured, in several kernels.
func (o *Options) priced(n *ir.Node) bool {
	k := kernel.GeometryOf(n).Kind
	return k.Alike() && o.CostTarget().Measured(k)
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
func (o *Options) candidates(table kernel.Table, p *kernel.Plan, n *ir.Node) []candidate {
	defer pass.Named("lowering", n)
	defer asDemanded(n, p.Layout)()
	var out []candidate
	add := func(p *kernel.Plan) *call.Lowered {
		l := p.Lower()
		if len(out) == 0 || o.MaxRAM == 0 || o.Optimize == option.Speed || l.Scratch <= out[0].low.Scratch {
			out = append(out, candidate{plan: p, low: l, price: p.Cost(o.CostTarget())})
		}
		return l
	}
	for _, q := range o.alternatives(table, p, n) {
		l := add(q)
		if o.Optimize == option.Speed || !ownLibrary(q.Kernel.Library) || o.Target.Kernels != option.AllKernels {
			continue
		}
		if g := q.Generic(); !slices.Equal(g.Lower().Functions(), l.Functions()) {
			add(g)
		}
	}
	return out
}

// measure is what candidates are compared by: estimated cycles where speed is the
// goal and the board has them, else instructions.
func (o *Options) measure(list []candidate) func(*cost.Cost) float64 {
	for i := range list {
		if p := &list[i].price; o.Optimize != option.Speed || p.Known() && p.Cycles == 0 {
			return (*cost.Cost).ExpectedInstructions
		}
	}
	return (*cost.Cost).ExpectedCycles
}

// fastest is the candidate that is expected to take least. One without a price
// loses to the first one, and the first one of two that take the same stays.
func (o *Options) fastest(list []candidate) int {
	takes, best := o.measure(list), 0
	for i := range list {
		p, q := &list[i].price, &list[best].price
		if p.Known() && q.Known() && takes(p) < takes(q) {
			best = i
		}
	}
	return best
}

// chooseKernels is the stage kernels. The errors of all nodes are collected.
func (s *State) chooseKernels() {
	s.Choices = map[*ir.Node]kernel.Choice{}
	var errs Errors
	for _, n := range s.Graph.Nodes {
		if err := s.choose(n); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		fail.Check(&Unplaced{Errors: errs, Graph: s.Graph, Choices: s.Choices, Refused: s.Refused,
			Precision: s.Precision})
	}
}

func (s *State) choose(n *ir.Node) error {
	c, err := s.table.Match(n, &s.facts.Target)
	if err != nil {
		c.Plan = unsupported
	}
	s.Choices[n] = c
	return err
}

// assignOrders is the stage layout. Copies that it adds get kernels, too.
func (s *State) assignOrders() {
	rules := func(n *ir.Node) kernel.Layout {
		if _, ok := s.Choices[n]; !ok {
			err := s.choose(n)
			bug.If(err != nil, "%w", err)
		}
		return s.Choices[n].Layout
	}
	fail.Check(layout.Assign(s.Graph, rules, layout.Options{NativeIO: s.facts.NativeIO, Inner: s.stateValues()}))
	for _, n := range s.Graph.Nodes {
		rules(n)
	}
}

// fastestKernels are the candidates of all nodes, the fastest of each chosen.
func (s *State) fastestKernels() *selection {
	o := s.options()
	w := &selection{o: o, chosen: make([]int, len(s.Graph.Nodes)), candidates: make([][]candidate, len(s.Graph.Nodes)),
		weights: make([]*tensor.Dense, len(s.Graph.Nodes)), code: o.CostTarget().Code}
	for i, n := range s.Graph.Nodes {
		w.candidates[i] = o.candidates(s.table, s.Choices[n].Plan, n)
		w.chosen[i] = o.fastest(w.candidates[i])
		if v := n.Input(1); v != nil {
			w.weights[i] = v.Const
		}
	}
	w.dropIdle(o.measure(slices.Concat(w.candidates...)))
	return w
}

// lowerNodes makes the calls of all nodes: every node's fastest kernel, or what
// the search of --optimize chose.
func (s *State) lowerNodes() {
	w := s.selection
	if w == nil {
		w = s.fastestKernels()
	}
	s.selection = nil
	s.Cost = w.cost()
	s.Schedule = nil // of other calls
	s.Low, s.Candidates = map[*ir.Node]*call.Lowered{}, map[*ir.Node][]Candidate{}
	for i, n := range s.Graph.Nodes {
		c, x := s.Choices[n], w.candidates[i][w.chosen[i]]
		c.Plan = x.plan
		s.Low[n], s.Choices[n] = x.low, c
		for k, y := range w.candidates[i] {
			s.Candidates[n] = append(s.Candidates[n], Candidate{y.low.Kernel, y.low.Library, y.price, y.low.Scratch,
				k == w.chosen[i]})
		}
	}
	s.States = s.states()
}

func (s *State) schedule() {
	goal := schedule.Goal{Effort: cmp.Or(s.Effort, schedule.Full), Draft: s.draft, Share: s.share,
		Known: s.Schedule}
	if s.facts.MaxRAM > 0 { // the other goals of one that is missed plan much that is the same
		goal.Plans = s.plans
	}
	r := fail.Must(schedule.BuildFor(goal, s.Graph, s.Low, s.States...))
	s.Schedule, s.Program = r, r.Program
}

// unsupported stands for the plan of a node that has none.
var unsupported = &kernel.Plan{Kernel: &kernel.Kernel{Name: "none", Library: "none"}}

// Placed reports a choice that has a kernel.
func Placed(c kernel.Choice) bool { return c.Plan != unsupported }

// Unplaced says which nodes of a graph no kernel takes (one error each), and
// what became of the others.
type Unplaced struct {
	Errors
	Graph     *ir.Graph
	Choices   map[*ir.Node]kernel.Choice // Kernel "none" where there is no kernel
	Refused   []Refusal
	Precision string
}

// Errors are all the nodes that could not be lowered.
type Errors []error

func (e Errors) Error() string {
	s := ""
	for i, x := range e {
		if i == 20 {
			return s + fmt.Sprintf("\nand %d more", len(e)-i)
		}
		if i > 0 {
			s += "\n"
		}
		s += x.Error()
	}
	return s
}

// Unwrap lets errors.As find the single ones.
func (e Errors) Unwrap() []error { return slices.Clone(e) }
