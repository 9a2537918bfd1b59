// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
)

// Goal is what a mix of precisions has to reach.
type Goal struct {
	Least float64
	// Quick measures a graph of integers, Final a program; nil: the
	// signal-to-noise ratio of the worst output in dB, on every second sample, of
	// which calibration sees the others then.
	Quick func(g *ir.Graph) (float64, error)
	Final func(r *Result) (float64, error)
	Ratio bool // it is a ratio in dB, which is predicted
	// Instructions counts those of every step of a program, in the order of its schedule;
	// nil, or where the first ones are: they are estimated.
	Instructions func(r *Result) ([]float64, error)
	Note         func(format string, args ...any) // progress; may be nil
}

// Mix is a program with a precision for each layer.
type Mix struct {
	Name         string  `json:"name"`
	Reached      float64 `json:"reached"` // what the goal measures
	Instructions float64 `json:"instructions"`
	ArenaBytes   int     `json:"arena_bytes"`
	ConstBytes   int     `json:"constant_bytes"`                 // weights and tables
	CodeBytes    int     `json:"estimated_code_bytes,omitempty"` // of the kernels
}

// Proposal is the cheapest mix of precisions that was found to reach a goal.
type Proposal struct {
	Goal float64 `json:"goal"`
	// Ratio: the goal and what is reached are in dB; else shares of right answers.
	Ratio bool `json:"ratio"`
	// Met: the program reaches it; else it is the best that was found.
	Met     bool            `json:"met"`
	Default string          `json:"default"` // precision of all layers that are not named
	Layers  []ProposedLayer `json:"layers"`
	Mixed   Mix             `json:"proposal"`
	Beside  []Mix           `json:"beside"` // int8, int16x8 and float32 throughout
	Tried   int             `json:"tried"`  // mixes that were quantised
	// Measured: instructions are counted, not estimated.
	Measured bool `json:"measured"`
}

// ProposedLayer is a layer that needs more than the others.
type ProposedLayer struct {
	Name      string `json:"name"`
	Op        string `json:"op"`
	Precision string `json:"precision"`
}

// mostRounds bounds the mixes of which programs are made, mostBeside those of the path that are measured
// beside one that reaches an aim, mostPruned those that are measured to take something back.
const mostRounds, mostBeside, mostPruned = 8, 12, 16

// Propose looks for a precision of each layer of a float model, which it consumes, that
// reaches a goal at the least cost. names are those of the model's nodes.
func Propose(g *ir.Graph, o Options, goal Goal) (_ *Proposal, err error) {
	defer fail.Catch(&err)
	if o.Accel != nil {
		return nil, &ir.Diag{Code: "propose-accelerator", Node: "the board",
			Msg:  "has an accelerator, which chooses the precision of its layers itself",
			Hint: "propose for its core alone: another --board"}
	}
	if o.Stream != nil || o.PadInput {
		return nil, &ir.Diag{Code: "propose-inputs", Node: "--stream, --pad-input",
			Msg:  "change the program's inputs, so it cannot be compared with the model here",
			Hint: "propose without them, and compile with them and the file"}
	}
	p := &proposer{goal: goal, measured: map[string]float64{}}
	for _, n := range g.Nodes {
		p.names = append(append(p.names, n.Origin...), n.Name)
	}
	o.Precision = option.Auto
	s := fail.Must(newState(g, o))
	at := slices.IndexFunc(Table, func(t *Stage) bool { return t.Name == "calibrate" })
	p.rest = Table[at:]
	p.integer = slices.IndexFunc(p.rest, func(t *Stage) bool { return t.Name == "integer" })
	p.state = fail.Must(s.walk(Table[:at]))
	if goal.Quick == nil {
		h := holdOut(p.state)
		p.goal.Quick, p.goal.Ratio = func(g *ir.Graph) (float64, error) { return h.worst(g), nil }, true
		p.goal.Final = func(r *Result) (float64, error) { return h.worst(r.Graph), nil }
	}
	return p.propose(), nil
}

// proposer is one search.
type proposer struct {
	goal     Goal
	names    []string
	state    *State // before calibration
	rest     []*Stage
	integer  int           // the last of them that changes results
	quick    quant.Options // as calibration of int8 came out
	mixture  *quant.Mixture
	measured map[string]float64 // by mix
}

func (p *proposer) note(format string, args ...any) {
	if p.goal.Note != nil {
		p.goal.Note(format, args...)
	}
}

// made is a program with what its nodes cost.
type made struct {
	Mix
	*Result
	prices map[*ir.Node]float64
}

// propose finds a mix and compares it with single precisions.
func (p *proposer) propose() *Proposal {
	r := &Proposal{Goal: p.goal.Least, Ratio: p.goal.Ratio, Default: "int8", Layers: []ProposedLayer{}}
	whole := map[quant.Layer]*made{}
	for _, l := range []quant.Layer{quant.Int8, quant.Int16x8, quant.Float} {
		x := p.program(l.String(), func(*ir.Node) quant.Layer { return l })
		whole[l] = x
		r.Beside = append(r.Beside, x.Mix)
	}
	mix := whole[quant.Int8].Mix
	var layers []quant.Layer // nil: all have the default
	if c := whole[quant.Int8].Calibration; c != nil && mix.Reached < p.goal.Least {
		p.prepare(c)
		p.prices(whole)
		layers, mix = p.search(mix)
		for _, l := range []quant.Layer{quant.Int16x8, quant.Float} { // nothing is gained by a mix that costs more
			if x := whole[l].Mix; p.better(x, mix) {
				layers, mix, r.Default = nil, x, l.String()
			}
		}
	}
	r.Mixed, r.Met, r.Tried = mix, mix.Reached >= p.goal.Least, len(p.measured)
	r.Mixed.Name, r.Measured = "proposal", p.goal.Instructions != nil
	if layers != nil {
		for _, x := range p.mixture.Layers(layers) {
			r.Layers = append(r.Layers, ProposedLayer{x.Name, x.Op, x.Layer.String()})
		}
	}
	return r
}

// better prefers what reaches the goal, then what costs less; of what misses it, what
// comes nearer.
func (p *proposer) better(a, b Mix) bool {
	met := a.Reached >= p.goal.Least
	switch {
	case met != (b.Reached >= p.goal.Least):
		return met
	case met:
		return a.Instructions < b.Instructions
	}
	return a.Reached > b.Reached
}

// nearCost is the difference in cost, as a share, of mixes that are tried beside each other.
const nearCost = 0.005

func (p *proposer) prepare(c *quant.Report) {
	p.note("every rounding alone")
	o := p.state.facts.Quant
	o.Method, o.BiasCorrection, o.Rounding, o.Try = c.Method, c.Bias, c.Rounding, quant.Trial{}
	o.Samples = c.Fit() // ranges of other samples would be another quantisation
	o.StateBindings = fail.Must(state.Indices(p.state.Graph, p.state.StateBindings))
	p.quick = o
	p.mixture = fail.Must(quant.NewMixture(p.state.Graph, o, p.names))
}

// prices are those of every choice in every precision, and of conversions: of a program
// in which all kinds of neighbours differ.
func (p *proposer) prices(whole map[quant.Layer]*made) {
	by := map[quant.Layer][]float64{}
	for l, x := range whole {
		by[l], _ = p.priced(x)
	}
	m := p.mixture
	m.Price = func(k int, l quant.Layer) float64 { return by[l][k] }
	turn := make([]quant.Layer, len(m.Choices))
	for k, c := range m.Choices {
		turn[k] = []quant.Layer{quant.Int8, c.Wider[0], quant.Float}[k%3]
	}
	_, crossings := p.priced(p.program("", p.mixture.Of(turn)))
	m.Crossing = func(from, to int) float64 {
		switch {
		case from == 0:
			return crossings[op.QuantizeLinear].each()
		case to == 0:
			return crossings[op.DequantizeLinear].each()
		}
		return crossings[op.Requantize].each()
	}
}

// conversions are what conversions of one kind cost together, for how many elements.
type conversions struct {
	price float64
	elems int
}

// each is the price of an element, a guess where there was none.
func (c conversions) each() float64 {
	if c.elems == 0 {
		return perElement
	}
	return c.price / float64(c.elems)
}

// priced are the prices of all choices in a program, and of its conversions.
func (p *proposer) priced(x *made) ([]float64, map[*ir.OpDef]conversions) {
	of := map[string][]int{} // choices by the names of their nodes
	for k, c := range p.mixture.Choices {
		for _, n := range c.Nodes {
			for _, name := range namesOf(n) {
				of[name] = append(of[name], k)
			}
		}
	}
	list, crossings := make([]float64, len(p.mixture.Choices)), map[*ir.OpDef]conversions{}
	for _, n := range x.Graph.Nodes {
		price := x.prices[n]
		if n.Op.Converts {
			c := crossings[n.Op]
			crossings[n.Op] = conversions{c.price + price, c.elems + n.Out[0].Type.Elems()}
			continue
		}
		var ks []int
		for _, name := range namesOf(n) {
			ks = append(ks, of[name]...)
		}
		slices.Sort(ks)
		ks = slices.Compact(ks)
		for _, k := range ks {
			list[k] += price / float64(len(ks))
		}
	}
	return list, crossings
}

// namesOf are the ONNX names of a node; its own where it has none.
func namesOf(n *ir.Node) []string {
	if len(n.Origin) == 0 {
		return []string{n.Name}
	}
	return n.Origin
}

// priceOf are the instructions of the kernel that was chosen for a node, as the tables
// estimate them; those that they do not have count for at least their work.
func (r *Result) priceOf(n *ir.Node) float64 {
	if low := r.Low[n]; low != nil && low.View {
		return 0
	}
	work := lists.Sum(n.Out, func(v *ir.Value) float64 { return perElement * float64(v.Type.Elems()) })
	for _, c := range r.Candidates[n] {
		switch {
		case c.Chosen && c.Price.Known():
			return c.Price.Instructions
		case c.Chosen:
			work = max(work, c.Price.Instructions)
		}
	}
	return work
}

// perElement are instructions for an element of a result of which nothing is known.
const perElement = 10

// search makes programs of mixes along the path of the mixture that reach an aim, and gives
// the cheapest one that reaches the goal. A goal may measure mixes and programs on different samples, a program may try
// other steps of calibration, and what mixes cost is a sum of prices: a program may miss what its mix reaches. So the
// aim is set higher where one misses the goal, and lower where one has more than that.
func (p *proposer) search(eight Mix) (layers []quant.Layer, best Mix) {
	path := p.mixture.Path()
	layers, best = path[0].Layers, eight
	made := []float64{p.mixture.Cost(layers)} // what programs cost by their prices
	aim, missed := p.goal.Least, p.goal.Least // the most that a mix reached whose program missed the goal
	for range mostRounds {
		now := p.next(path, aim, best, made)
		if now == nil && best.Reached < p.goal.Least && aim <= missed {
			aim = missed + math.Abs(missed)/200
			now = p.next(path, aim, best, made)
		}
		if now == nil {
			return layers, best
		}
		made = append(made, p.mixture.Cost(now))
		x := p.program("proposal", p.mixture.Of(now))
		if p.better(x.Mix, best) {
			layers, best = now, x.Mix
		}
		if over := x.Mix.Reached - p.goal.Least; over < 0 {
			aim, missed = aim-over, max(missed, p.measured[fmt.Sprint(now)])
		} else {
			aim -= over / 2
		}
	}
	return layers, best
}

// next is the mix that a program is made of: the cheapest that reaches an aim, without what it does not
// need, and was not made; nil where nothing promises to be cheaper than the best one. The last of the path is
// taken where none reaches it.
func (p *proposer) next(path []quant.Step, aim float64, best Mix, made []float64) []quant.Layer {
	list := p.reaching(path, aim)
	fresh := func(l []quant.Layer) bool {
		cost := p.mixture.Cost(l)
		if best.Reached >= p.goal.Least && cost >= best.Instructions {
			return false
		}
		// almost the same mix says nothing new
		return !slices.ContainsFunc(made, func(x float64) bool { return math.Abs(cost-x) <= nearCost*cost })
	}
	for _, k := range list {
		for _, l := range [][]quant.Layer{p.pruned(path[k], aim), path[k].Layers} {
			if fresh(l) {
				return l
			}
		}
	}
	return nil
}

// reaching are steps of a path that reach an aim, the cheapest first: one that is found by
// halves, and others about its cost, since less noise in the sum is not always less in the outputs.
func (p *proposer) reaching(path []quant.Step, aim float64) []int {
	lo, hi := 0, len(path)-1 // lo does not reach it
	for lo+1 < hi {
		mid := (lo + hi) / 2
		m := p.measure(path[mid].Layers)
		if m >= aim {
			hi = mid
		} else {
			lo = mid
		}
	}
	cost := make([]float64, len(path))
	var order []int
	for k := range path {
		if cost[k] = p.mixture.Cost(path[k].Layers); k > 0 {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cost[a], cost[b]) })
	at := slices.Index(order, hi)
	var list []int
	for _, k := range order[max(0, at-mostBeside):min(len(order), at+mostBeside/2+1)] {
		m := p.measure(path[k].Layers)
		if m >= aim || k == len(path)-1 {
			list = append(list, k)
		}
	}
	return list
}

// pruned takes back what the goal does not need, the dearest first.
func (p *proposer) pruned(s quant.Step, aim float64) []quant.Layer {
	now := s.Layers
	reached := p.measure(now)
	if reached < aim {
		return now
	}
	for again, begun := true, len(p.measured); again; {
		again = false
		for _, x := range p.mixture.Narrower(now) {
			next := slices.Clone(now)
			next[x.Choice] = x.Layer
			noise, narrow := p.mixture.Noise(now), p.mixture.Noise(next)
			switch {
			case len(p.measured)-begun >= mostPruned:
				return now
			case p.mixture.Cost(next) >= p.mixture.Cost(now),
				p.goal.Ratio && reached-quant.DB(noise)+quant.DB(narrow) < aim-1: // it would miss by far
				continue
			}
			m := p.measure(next)
			if m >= aim {
				now, reached, again = next, m, true
			}
		}
	}
	return now
}

// measure quantises a mix as int8 was and measures it, with the arithmetic of its program: curves and sums of
// integers are up to 5 dB away from those of reals that are rounded.
func (p *proposer) measure(l []quant.Layer) float64 {
	key := fmt.Sprint(l)
	if m, ok := p.measured[key]; ok {
		return m
	}
	p.note("mix %d", len(p.measured)+1)
	s := p.state.fork()
	s.facts.Quant = p.quick
	s.facts.Quant.Layer = p.mixture.Of(l)
	s = fail.Must(s.walk(p.rest[:p.integer+1]))
	m := fail.Must(p.goal.Quick(s.Graph))
	p.measured[key] = m
	return m
}

func (p *proposer) program(name string, layer func(n *ir.Node) quant.Layer) *made {
	p.note("%s", cmp.Or(name, "conversions"))
	s := p.state.fork()
	s.facts.Quant.Layer = layer
	s = fail.Must(s.walk(p.rest))
	m := &made{Mix: Mix{Name: name, ArenaBytes: s.Program.ArenaBytes, CodeBytes: s.Cost.CodeBytes}, Result: s.Result,
		prices: map[*ir.Node]float64{}}
	for _, l := range s.Low {
		m.ConstBytes += l.ConstBytes()
	}
	for _, n := range s.Graph.Nodes {
		m.prices[n] = s.priceOf(n)
	}
	if p.goal.Instructions != nil {
		list := fail.Must(p.goal.Instructions(s.Result))
		if list == nil {
			p.goal.Instructions = nil
		} else {
			clear(m.prices)
		}
		for i, x := range list {
			m.prices[s.Schedule.Nodes[i]] = x
		}
	}
	for _, n := range s.Graph.Nodes {
		m.Instructions += m.prices[n]
	}
	m.Reached = fail.Must(p.goal.Final(s.Result))
	return m
}

// Config is the proposal as a --layers-config file; comment, of one line, stands before
// it.
func (r *Proposal) Config(comment string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\ndefault: %s\n", comment, r.Default)
	if len(r.Layers) > 0 {
		b.WriteString("layers:\n")
	}
	for _, l := range r.Layers {
		name, _ := json.Marshal(l.Name) // which YAML reads, too
		fmt.Fprintf(&b, "  %s: %s\n", name, l.Precision)
	}
	return []byte(b.String())
}
