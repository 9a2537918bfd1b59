package lower

import (
	"reflect"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
)

// offer is a way to compute a node.
type offer struct {
	kernel *kernel.Kernel
	low    *call.Lowered
	price  cost.Price
}

// Offer is a way to compute a node that was weighed, for the report.
type Offer struct {
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
	return o.rivals(table, c, n)
}

func (o *Options) rivals(table kernel.Table, c kernel.Choice, n *ir.Node) []*kernel.Kernel {
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

// offers lowers a node in every way there is, the best one by order first: the
// values have their memory orders.
func (o *Options) offers(table kernel.Table, c kernel.Choice, n *ir.Node) ([]offer, error) {
	defer pass.Named("lowering", n)
	defer asDemanded(n, demand(c.Kernel, n))()
	var out []offer
	rows := o.rivals(table, c, n)
	for _, k := range rows {
		l, err := k.Lower(n, &o.Target)
		if err != nil {
			if len(out) == 0 {
				return nil, err
			}
			continue
		}
		out = append(out, offer{k, l, o.price(n, l)})
		if o.Optimize == "" || o.Optimize == "speed" || !ownLibrary(k.Library) || o.Target.Kernels != "auto" {
			continue
		}
		generic := o.Target
		generic.Generic = true
		if g, err := k.Lower(n, &generic); err == nil && !slices.Equal(g.Functions(), l.Functions()) {
			out = append(out, offer{k, g, o.price(n, g)})
		}
	}
	return out, nil
}

// fastest is the offer with the least predicted instructions. An offer behind
// another one wins only by more than both models were ever off; without a price the
// first one stays.
func fastest(offers []offer) int {
	best := 0
	for i, x := range offers {
		p, q := x.price, offers[best].price
		if p.Unknown == "" && q.Unknown == "" && p.Instructions*(1+p.Worst) < q.Instructions*(1-q.Worst) {
			best = i
		}
	}
	return best
}

// lowered makes the calls of all nodes: every node's fastest kernel, or what
// --optimize makes of it.
func (r *Result) lowered(g *ir.Graph, table kernel.Table, o *Options, choose func(*ir.Node) kernel.Choice) error {
	var errs Errors
	w := &weighing{o: o, chosen: make([]int, len(g.Nodes)), offers: make([][]offer, len(g.Nodes))}
	for i, n := range g.Nodes {
		var err error
		if w.offers[i], err = o.offers(table, choose(n), n); err != nil {
			errs = append(errs, err)
			continue
		}
		w.chosen[i] = fastest(w.offers[i])
	}
	if len(errs) > 0 {
		return errs
	}
	w.weigh()
	r.Weighed = w.result()
	r.Low, r.Choices, r.Offers = map[*ir.Node]*call.Lowered{}, map[*ir.Node]kernel.Choice{}, map[*ir.Node][]Offer{}
	for i, n := range g.Nodes {
		c, x := choose(n), w.offers[i][w.chosen[i]]
		c.Kernel = x.kernel
		r.Low[n], r.Choices[n] = x.low, c
		for k, y := range w.offers[i] {
			r.Offers[n] = append(r.Offers[n], Offer{y.low.Kernel, y.low.Library, y.price, k == w.chosen[i]})
		}
	}
	return nil
}
