// SPDX-License-Identifier: Apache-2.0

// Package patch computes stretches of a network a few rows at a time: large feature
// maps between their layers are never in memory as a whole. Rows that later windows
// read again are kept, so that nothing is computed twice.
package patch

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
)

// Chain is an interval of the nodes of a graph that run a few rows at a time.
type Chain struct {
	From, To int // positions in the graph's list, To exclusive
	// Rows of the results of the first nodes in a stripe; at least, of any call if there
	// are as many. 0: rows are computed twice, rather than kept.
	Rows, Least int
	Stripes     int
	Heads       bool // rows are heads of attention
}

// Name is what a chain of nodes is called: after the layers in it.
func Name(nodes []*ir.Node) string {
	return strings.Join(slices.Compact(lists.Map(nodes, (*ir.Node).Label)), " + ")
}

// of is the chain in its network.
func (c *Chain) of(nets [2]*network) *chain {
	w := nets[0]
	if c.Heads {
		w = nets[1]
	}
	return &chain{w, c.From, c.To, c.Rows, c.Least, c.Stripes}
}

// Plan is one way to compute a graph: chains in order, and everything else whole.
type Plan struct {
	Turned []string // inputs that become channels last over their own bytes
	Chains []Chain
	Calls  int     // of the nodes of the chains, and copies of rows
	Copied int     // bytes of rows that are kept
	Extra  float64 // predicted instructions more than with whole layers
	Peak   int     // bytes of memory, by a simple account
}

// Same reports plans that run alike.
func (p Plan) Same(o Plan) bool {
	return len(p.Turned) == len(o.Turned) && slices.Equal(p.Chains, o.Chains)
}

// Serves reports a plan that runs like another one, but for inputs that need not be turned for it.
func (p Plan) Serves(o Plan) bool {
	return p.Same(o) || slices.Equal(p.Chains, o.Chains) && p.Turned == nil && p.Peak <= o.Peak
}

// Prices are predicted instructions.
type Prices struct {
	Rows   func(node, axis, rows, all int) float64 // of some of all rows of a node's result, along an axis
	Copy   func(bytes int) float64
	Turn   func(planes, bytes int) float64 // more than a copy
	Most   float64                         // more than that is of no interest
	Kernel func(node int) *Kernel          // of a whole layer; nil: not known
}

// Kernel is what the account has to know of one.
type Kernel struct {
	Scratch int  // bytes
	Apart   int  // bytes of the operand that its result has to leave alone, or of the result: all, where it lies apart
	Rolls   bool // it may begin in front of the operand, too
}

// Bounds of what is looked at: nodes of a chain; calls of a plan, which are code.
const (
	maxChain     = 40
	maxCalls     = 1000
	maxIntervals = 1000 // looked at, those that need most memory first
	fewIntervals = 64   // so few are all looked at: chains may take less work than whole layers
)

// maxStripes is how many times rows of a chain are computed without those of before.
const maxStripes = 32

// strides are how many rows at a time are tried.
var strides = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32}

// Hoist puts views of a whole value right behind it, so that they stand in the way of no chain.
func Hoist(g *ir.Graph) {
	behind := map[*ir.Node][]*ir.Node{} // nil: of an input
	for _, n := range g.Nodes {
		if n.Op.View.Whole() {
			behind[n.In[0].Def] = append(behind[n.In[0].Def], n)
		}
	}
	list := make([]*ir.Node, 0, len(g.Nodes))
	var put func(n *ir.Node)
	put = func(n *ir.Node) {
		if n != nil {
			list = append(list, n)
		}
		for _, v := range behind[n] {
			put(v)
		}
	}
	put(nil)
	for _, n := range g.Nodes {
		if !n.Op.View.Whole() {
			put(n)
		}
	}
	copy(g.Nodes, list)
}

// Candidates are at most most plans worth trying, those with less work first. Which plans these are
// depends on the graph and the prices alone. native says that inputs of the graph
// may lie channels last.
func Candidates(g *ir.Graph, native bool, prices Prices, most int) []Plan {
	out, _ := candidates(g, native, prices)
	extra, turned := 0.0, []string(nil)
	for _, v := range turnable(g, native) {
		turned = append(turned, v.Name)
		extra += prices.Turn(v.Type.Shape[1], v.Type.Bytes())
	}
	if most := prices.Most - extra; extra > 0 && most >= 0 {
		prices.Most = most
		list, whole := candidates(g, true, prices)
		for _, p := range append(list, Plan{Peak: whole}) {
			p.Turned, p.Extra = turned, p.Extra+extra
			out = append(out, p)
		}
	}
	lists.Sort(out, func(a, b Plan) int { return cmp.Compare(a.Extra, b.Extra) })
	out = slices.CompactFunc(out, Plan.Same)
	for len(out) > most { // every second one, and always the last
		var half []Plan
		for i, p := range out {
			if (len(out)-1-i)%2 == 0 {
				half = append(half, p)
			}
		}
		out = half
	}
	return out
}

// Variants are plans in which one chain begins or ends a node earlier or later, or takes the next number of rows at
// a time, those that need least memory first: where results come to lie is not in the account, and such a plan may
// need less.
func Variants(g *ir.Graph, native bool, prices Prices, p Plan) (out []Plan) {
	c := newChooser(g, native || len(p.Turned) > 0, &prices)
	was := p
	if !c.account(&was) {
		return nil
	}
	for i, x := range p.Chains {
		k := slices.Index(strides, x.Rows)
		for _, rows := range strides[max(k-1, 0):min(k+2, len(strides))] {
			for d := range 9 {
				q := p
				q.Chains = slices.Clone(p.Chains)
				q.Chains[i] = Chain{From: x.From + d/3 - 1, To: x.To + d%3 - 1, Rows: rows, Least: min(x.Least, rows),
					Heads: x.Heads}
				if x.Rows > 0 && c.account(&q) && q.Extra <= prices.Most && (d != 4 || rows != x.Rows) {
					q.Extra += p.Extra - was.Extra
					out = append(out, q)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Plan) int { return cmp.Compare(a.Peak, b.Peak) })
	return out
}

// account is what the chains of a plan come to; false: they cannot be.
func (c *chooser) account(p *Plan) bool {
	nodes := len(c.w.nodes)
	p.Calls, p.Copied, p.Extra, p.Peak = 0, 0, 0, 0
	at := 0
	for i := range p.Chains {
		x := &p.Chains[i]
		if x.From < at || x.To > nodes || x.To-x.From < 2 ||
			slices.ContainsFunc(x.of(c.nets).w.nodes[x.From:x.To], func(n node) bool { return !n.rowwise }) {
			return false
		}
		f := x.of(c.nets).flow()
		if f == nil {
			return false
		}
		a := f.account(c.prices, math.MaxInt)
		if !a.fits(c.prices) {
			return false
		}
		x.Stripes = len(f.fresh)
		for ; at < x.From; at++ {
			p.Peak = max(p.Peak, c.whole[at])
		}
		at = x.To
		p.Calls, p.Copied, p.Extra, p.Peak = p.Calls+a.calls, p.Copied+a.copied, p.Extra+a.extra, max(p.Peak, a.peak)
	}
	for ; at < nodes; at++ {
		p.Peak = max(p.Peak, c.whole[at])
	}
	return true
}

// candidates are plans with inputs as they are, and the peak of whole layers.
func candidates(g *ir.Graph, native bool, prices Prices) (out []Plan, whole int) {
	c := newChooser(g, native, &prices)
	c.stretches()
	out = c.front(false)
	if math.IsInf(prices.Most, 1) {
		out = append(out, c.front(true)...)
	}
	return out, c.most
}

// front are plans, those with less work first, each of which needs less memory than those
// before it.
func (c *chooser) front(again bool) (out []Plan) {
	step := c.most / 50
	for limit := c.most - 1; ; {
		p, ok := c.best(limit, again)
		switch n := len(out); {
		case ok && n > 0 && out[n-1].Extra >= p.Extra:
			out[n-1] = p
		case ok:
			out = append(out, p)
		case n == 0 || step == 0:
			return out
		default: // the least of all lies between
			step = 0
		}
		limit = out[len(out)-1].Peak - 1
		if ok {
			limit -= step
		}
	}
}

// stretch is a chain with what it comes to.
type stretch struct {
	chain Chain
	account
}

// chooser looks for the chains of a network that together need least.
type chooser struct {
	nets   [2]*network // of rows, and of heads
	w      *network    // the first one
	prices *Prices
	whole  []int       // bytes of memory while each node runs at once
	most   int         // the largest of them
	floor  int         // the largest of those of nodes that do not work row by row
	ending [][]stretch // by the node behind it
	later  []interval  // not looked at yet, those that need most memory first
}

func newChooser(g *ir.Graph, native bool, prices *Prices) *chooser {
	c := &chooser{nets: newNetworks(g, native), prices: prices}
	c.w = c.nets[0]
	for i := range c.w.nodes {
		rowwise := false
		for _, w := range c.nets {
			if w != nil {
				rowwise = rowwise || w.nodes[i].rowwise
				if prices.Kernel != nil {
					w.nodes[i].kernel = prices.Kernel(i)
				}
			}
		}
		n := c.w.whole(i)
		c.whole = append(c.whole, n)
		c.most = max(c.most, n)
		if !rowwise {
			c.floor = max(c.floor, n)
		}
	}
	return c
}

// stretches lists the chains that may need less memory than their nodes do one by one. They
// begin where memory grows and end where it shrinks.
func (c *chooser) stretches() {
	n := len(c.w.nodes)
	c.ending = make([][]stretch, n+1)
	across := lists.Make(n+1, c.w.across)
	apart := func(i, bytes int) bool { return c.whole[i] > bytes+bytes/8 } // the node needs more than there is
	begins := func(i int) bool { return across[i] <= across[i+1] || apart(i, across[i]) }
	var list []interval
	for k := range len(c.nets) * n {
		w, from, most := c.nets[k/n], k%n, 0
		if w == nil || w.view(from) {
			continue
		}
		ends := func(i int) bool {
			return (i == n || !w.view(i)) && (across[i] <= across[i-1] || apart(i-1, across[i]))
		}
		for to := from + 1; to <= min(n, from+maxChain) && w.goesOn(from, to-1); to++ {
			most = max(most, c.whole[to-1])
			if to-from >= 2 && most > c.floor && begins(from) && ends(to) {
				list = append(list, interval{from, to, most, w})
			}
		}
	}
	lists.Sort(list, func(a, b interval) int { return cmp.Compare(b.most, a.most) })
	c.later = list[:min(len(list), maxIntervals)]
	if len(list) <= fewIntervals {
		c.within(0)
	}
}

// within looks at the intervals whose nodes need more than limit one by one: others run whole.
func (c *chooser) within(limit int) {
	for ; len(c.later) > 0 && c.later[0].most > limit; c.later = c.later[1:] {
		c.add(&c.later[0])
	}
}

// interval is nodes that may be a chain, with the most bytes that one of them needs at once.
type interval struct {
	from, to, most int
	w              *network
}

func (c *chooser) add(x *interval) {
	from, to, w := x.from, x.to, x.w
	h, steps := w.values[w.nodes[from].out[0]].rows, 1
	for i := from; i < to; i++ {
		steps = max(steps, w.nodes[i].window.stride)
	}
	var list []stretch
	try := func(rows, least, stripes int) bool {
		f := (&chain{w, from, to, rows, least, stripes}).flow()
		if f == nil {
			return false
		}
		a := f.account(c.prices, x.most)
		if a.fits(c.prices) && a.peak < x.most {
			list = append(list, stretch{Chain{from, to, rows, least, len(f.fresh), w.heads}, a})
		}
		return a.fits(c.prices) // fewer rows are more work
	}
	more := from == 0 || !w.nodes[from-1].rowwise
	for k := 2; k <= maxStripes && more; k++ {
		more = try(0, 0, k)
	}
	ok := true
	for _, rows := range slices.Backward(strides) {
		for _, least := range []int{1, rows}[:min(rows, steps, 2)] {
			ok = ok && (rows*2 > h || try(rows, least, 0))
		}
	}
	c.ending[to] = append(c.ending[to], smaller(list)...)
}

// smaller are the stretches that need less memory than all with less work that run alike:
// rows are computed twice, or kept.
func smaller(list []stretch) (out []stretch) {
	lists.Sort(list, func(a, b stretch) int {
		return cmp.Or(cmp.Compare(a.extra, b.extra), cmp.Compare(a.peak, b.peak))
	})
	least := map[bool]int{} // by whether rows are computed twice
	for _, s := range list {
		if n, ok := least[s.chain.Rows == 0]; !ok || s.peak < n {
			least[s.chain.Rows == 0] = s.peak
			out = append(out, s)
		}
	}
	return out
}

// best is the way through the network with the least work in which nothing needs more
// bytes than limit; again: rows are computed twice.
func (c *chooser) best(limit int, again bool) (Plan, bool) {
	c.within(limit)
	type way struct {
		extra float64
		via   *stretch
		ok    bool
	}
	ways := make([]way, len(c.w.nodes)+1)
	ways[0].ok = true
	for to := 1; to < len(ways); to++ {
		if b := ways[to-1]; b.ok && c.whole[to-1] <= limit {
			ways[to] = way{b.extra, nil, true}
		}
		for k := range c.ending[to] {
			s := &c.ending[to][k]
			b := ways[s.chain.From]
			if b.ok && again == (s.chain.Rows == 0) && s.peak <= limit && b.extra+s.extra <= c.prices.Most &&
				(!ways[to].ok ||
					b.extra+s.extra < ways[to].extra) {
				ways[to] = way{b.extra + s.extra, s, true}
			}
		}
	}
	p := Plan{Extra: ways[len(ways)-1].extra}
	for to := len(ways) - 1; to > 0; {
		if !ways[to].ok {
			return p, false
		}
		s := ways[to].via
		if s == nil {
			to--
			p.Peak = max(p.Peak, c.whole[to])
			continue
		}
		p.Chains = append(p.Chains, s.chain)
		p.Calls, p.Copied, p.Peak = p.Calls+s.calls, p.Copied+s.copied, max(p.Peak, s.peak)
		to = s.chain.From
	}
	slices.Reverse(p.Chains)
	return p, len(p.Chains) > 0
}
