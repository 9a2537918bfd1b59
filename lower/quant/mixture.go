// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Choice is a layer whose precision may be chosen: the nodes of a legalised float graph
// that share names with each other, and so have one precision.
type Choice struct {
	Name  string     // by which a --layers-config file knows it
	Nodes []*ir.Node // of the graph that was given
	Wider []Layer    // what it may have instead of int8, the cheaper one first
}

// Mixture predicts how much noise a mix of precisions leaves, from the noise of every
// rounding alone. A value that leaves one int8 layer for another is rounded to 8 bits
// unless both have 16, so what counts are values, and layers become wider together.
type Mixture struct {
	Choices []Choice
	nodes   []mixNode
	values  []mixValue
	of      map[int]int // the choice of a node, by its place in nodes
	outs    int
	// Price is what a choice costs in a precision, Crossing what an element costs that
	// goes from one width to another: 8 bits, 16, or 0 for floats.
	Price    func(choice int, l Layer) float64
	Crossing func(from, to int) float64
}

// mixNode is a node that can be quantised.
type mixNode struct {
	id      int
	rule    bool
	follows bool
	wide    bool // it has an int16 form
	// name is by which a file knows a node that follows; "": by none.
	name, op string
	makers   []int
	weights  []float64 // the noise of its weights, by output
}

// mixValue is a value that is rounded.
type mixValue struct {
	maker   int // place of the node that makes it; -1: an input
	readers []mixReader
	noise   []float64
	elems   int
}

// mixReader reads a value; node is -1 for what reads reals.
type mixReader struct {
	node      int
	quantised bool
}

// NewMixture measures every rounding of a legalised float graph, which stays as it is.
// names are those that a file may use.
func NewMixture(g *ir.Graph, opt Options, names []string) (_ *Mixture, err error) {
	defer fail.Catch(&err)
	opt.Layer, opt.Try = nil, Trial{}
	r := measureRoundings(g, opt)
	c := newCalibrator(g.Clone(), opt)
	c.plan()
	m := &Mixture{of: map[int]int{}, outs: len(g.Out)}
	at := lists.Places(c.g.Nodes)
	for _, n := range c.g.Nodes {
		m.nodes = append(m.nodes, mixNode{id: n.ID, weights: r.weights[n.ID]})
		m.rule(c, n, at)
	}
	for _, v := range c.values {
		if noise := r.values[v.ID]; noise != nil {
			m.values = append(m.values, newMixValue(c, v, noise, at))
		}
	}
	m.choices(g, names)
	return m, nil
}

// rule notes how the last node is quantised.
func (m *Mixture) rule(c *calibrator, n *ir.Node, at map[*ir.Node]int) {
	x := &m.nodes[len(m.nodes)-1]
	rule, ok := c.rules[n]
	if !ok {
		return
	}
	x.rule, x.wide = true, takesInt16(n, rule)
	for _, k := range rule.in {
		if d := n.In[k].Def; d != nil && rule.follows() && m.nodes[at[d]].rule {
			x.makers = append(x.makers, at[d])
		}
	}
	x.follows = len(x.makers) > 0
}

// newMixValue is a value with those that read it.
func newMixValue(c *calibrator, v *ir.Value, noise []float64, at map[*ir.Node]int) mixValue {
	x := mixValue{maker: -1, noise: noise, elems: v.Type.Elems()}
	if v.Def != nil {
		x.maker = at[v.Def]
	}
	for _, u := range v.Uses() {
		rule, ok := c.rules[u.Node]
		x.readers = append(x.readers, mixReader{at[u.Node], ok && slices.Contains(rule.in, u.Index)})
	}
	if c.g.IsOutput(v) {
		x.readers = append(x.readers, mixReader{-1, false})
	}
	return x
}

// choices groups the nodes that have names in common.
func (m *Mixture) choices(g *ir.Graph, names []string) {
	known := lists.Set(names)
	by := map[string]int{} // the choice of a name
	defer m.ownNames(by)
	for i, n := range g.Nodes {
		if !m.nodes[i].rule {
			continue
		}
		all := append(slices.Clone(n.Origin), n.Name)
		if m.nodes[i].follows {
			if at := slices.IndexFunc(all, func(s string) bool { return known[s] }); at >= 0 {
				m.nodes[i].name, m.nodes[i].op = all[at], n.Op.Name
			}
			continue
		}
		k := -1
		for _, s := range all {
			if j, ok := by[s]; ok {
				k = j
			}
		}
		if k < 0 {
			at := slices.IndexFunc(all, func(s string) bool { return known[s] })
			if at < 0 {
				continue // no file can name it
			}
			k = len(m.Choices)
			m.Choices = append(m.Choices, Choice{Name: all[at], Wider: []Layer{Int16x8, Float}})
		}
		for _, s := range all {
			by[s] = k
		}
		c := &m.Choices[k]
		c.Nodes, m.of[i] = append(c.Nodes, n), k
		if !m.nodes[i].wide {
			c.Wider = []Layer{Float}
		}
	}
}

// ownNames takes from nodes that follow the names that choices have.
func (m *Mixture) ownNames(by map[string]int) {
	for i := range m.nodes {
		if _, ok := by[m.nodes[i].name]; ok {
			m.nodes[i].name = ""
		}
	}
}

// bits are the widths of the nodes' data for precisions of the choices: 8, 16, or 0 for
// floats.
func (m *Mixture) bits(l []Layer) []int {
	out := make([]int, len(m.nodes))
	for i, n := range m.nodes {
		if !n.rule {
			continue
		}
		b := 8
		if k, ok := m.of[i]; ok {
			b = bitsOf(l[k])
		}
		if n.follows {
			switch most := lists.Max(n.makers, func(k int) int { return out[k] }); {
			case most > 0:
				b = most
			case n.name != "": // nothing is gained by rounding between floats
				b = 0
			}
		}
		if b == 16 && !n.wide {
			b = 0
		}
		out[i] = b
	}
	return out
}

func bitsOf(l Layer) int {
	switch l.Data {
	case tensor.I8:
		return 8
	case tensor.I16:
		return 16
	}
	return 0
}

// Named is a layer with its precision in a mix.
type Named struct {
	Name, Op string
	Layer    Layer
	ids      []int // of its nodes
}

// Layers are those of a mix that are not int8: choices, and what follows floats.
func (m *Mixture) Layers(l []Layer) []Named {
	var out []Named
	for k, c := range m.Choices {
		if l[k] != Int8 {
			x := Named{Name: c.Name, Op: c.Nodes[0].Op.Name, Layer: l[k]}
			for _, n := range c.Nodes {
				x.ids = append(x.ids, n.ID)
			}
			out = append(out, x)
		}
	}
	for i, b := range m.bits(l) {
		if n := m.nodes[i]; n.follows && n.name != "" && b == 0 {
			out = append(out, Named{Name: n.name, Op: n.op, Layer: Float, ids: []int{n.id}})
		}
	}
	return out
}

// Of gives the nodes of the graph their precision in a mix.
func (m *Mixture) Of(l []Layer) func(n *ir.Node) Layer {
	of := map[int]Layer{}
	for _, x := range m.Layers(l) {
		for _, id := range x.ids {
			of[id] = x.Layer
		}
	}
	return func(n *ir.Node) Layer {
		if x, ok := of[n.ID]; ok {
			return x
		}
		return Int8
	}
}

// width is that of a value: its maker's, else the widest that a reader asks for.
func (v *mixValue) width(bits []int) int {
	if v.maker >= 0 && bits[v.maker] > 0 {
		return bits[v.maker]
	}
	w := 0
	for _, r := range v.readers {
		if r.quantised {
			w = max(w, bits[r.node])
		}
	}
	return w
}

// rounded is the share of readers that see a value in 8 bits.
func (v *mixValue) rounded(bits []int) float64 {
	own, n := v.width(bits), 0
	made := v.maker >= 0 && bits[v.maker] > 0
	for _, r := range v.readers {
		switch {
		case r.quantised && bits[r.node] > 0:
			if own == 8 || bits[r.node] == 8 {
				n++
			}
		case made && own == 8:
			n++
		}
	}
	return float64(n) / float64(max(len(v.readers), 1))
}

// Noise predicts the noise of the worst output, as a share of the signal.
func (m *Mixture) Noise(l []Layer) float64 {
	sum, bits := make([]float64, m.outs), m.bits(l)
	for i := range m.values {
		v := &m.values[i]
		f := v.rounded(bits)
		if f == 0 && v.width(bits) == 16 {
			f = 1. / (256 * 256)
		}
		for o, x := range v.noise {
			sum[o] += f * x
		}
	}
	for i, n := range m.nodes {
		if bits[i] > 0 {
			for o, x := range n.weights {
				sum[o] += x
			}
		}
	}
	return slices.Max(append(sum, 0))
}

// Step makes some layers wider.
type Step struct {
	Layers []Layer // of all choices, behind it
	Noise  float64 // predicted
}

// Cost is what a mix costs.
func (m *Mixture) Cost(l []Layer) float64 {
	sum := 0.0
	for k, x := range l {
		sum += m.Price(k, x)
	}
	bits := m.bits(l)
	for i := range m.values {
		v := &m.values[i]
		from := v.width(bits)
		if v.maker >= 0 {
			from = bits[v.maker]
		}
		seen := map[int]bool{from: true}
		for _, r := range v.readers {
			if r.node < 0 {
				continue // what leaves the graph does so as it is
			}
			to := 0
			if r.quantised {
				to = bits[r.node]
			}
			if !seen[to] { // it is converted once
				seen[to] = true
				sum += m.Crossing(from, to) * float64(v.elems)
			}
		}
	}
	return sum
}

// All is a mix with one precision, as far as the choices have it: else the next wider.
func (m *Mixture) All(l Layer) []Layer {
	out := make([]Layer, len(m.Choices))
	for k := range out {
		out[k] = l
		if l == Int16x8 {
			out[k] = m.Choices[k].Wider[0]
		}
	}
	return out
}

// Path goes from int8 throughout to as little noise as can be, the steps that take off
// most noise for their cost first.
func (m *Mixture) Path() []Step {
	now := m.All(Int8)
	path := []Step{{slices.Clone(now), m.Noise(now)}}
	for {
		var best []Layer
		bits, noise, cost, most := m.bits(now), path[len(path)-1].Noise, m.Cost(now), 0.0
		for _, set := range m.moves(now, bits) {
			next := slices.Clone(now)
			for _, k := range set {
				next[k] = m.Choices[k].next(now[k])
			}
			gain := noise - m.Noise(next)
			if gain <= noise*1e-4 {
				continue
			}
			if s := gain / max(m.Cost(next)-cost, 1); s > most {
				best, most = next, s
			}
		}
		if best == nil {
			return path
		}
		now = best
		path = append(path, Step{slices.Clone(now), m.Noise(now)})
	}
}

// next is the precision behind l; Float is the last one.
func (c *Choice) next(l Layer) Layer {
	return c.Wider[min(slices.Index(c.Wider, l)+1, len(c.Wider)-1)]
}

// moves are sets of choices of which each takes one source of noise away: a value has
// 16 bits when what makes it and all that read it have; weights are exact in float.
func (m *Mixture) moves(now []Layer, bits []int) [][]int {
	var out [][]int
	for i := range m.values {
		if v := &m.values[i]; v.rounded(bits) > 0 {
			if set := m.around(v, bits); len(set) > 0 {
				out = append(out, set)
			}
		}
	}
	for i, n := range m.nodes {
		if k, named := m.of[i]; named && bits[i] > 0 && n.weights != nil && now[k] != Float {
			out = append(out, []int{k})
		}
	}
	return out
}

// around are the choices in int8 of what makes and reads a value; nil where one of these
// is no choice.
func (m *Mixture) around(v *mixValue, bits []int) []int {
	var nodes []int
	if v.maker >= 0 && m.nodes[v.maker].rule {
		nodes = m.roots(v.maker)
	}
	for _, r := range v.readers {
		if r.quantised && !m.nodes[r.node].follows {
			nodes = append(nodes, r.node)
		}
	}
	set := map[int]bool{}
	for _, i := range nodes {
		k, named := m.of[i]
		switch {
		case bits[i] != 8:
		case named:
			set[k] = true
		default:
			return nil
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// roots are the nodes that decide about the precision of a node.
func (m *Mixture) roots(i int) []int {
	if !m.nodes[i].follows {
		return []int{i}
	}
	var out []int
	for _, k := range m.nodes[i].makers {
		out = append(out, m.roots(k)...)
	}
	return out
}

// Less is a cheaper precision of a choice.
type Less struct {
	Choice int
	Layer  Layer
}

// Narrower are the choices of a mix that could cost less, the one that would save most
// first.
func (m *Mixture) Narrower(now []Layer) []Less {
	gains, list := map[Less]float64{}, []Less{}
	cost := m.Cost(now)
	for k, l := range now {
		if l == Int8 {
			continue
		}
		for _, x := range append([]Layer{Int8}, m.Choices[k].Wider...) {
			next := slices.Clone(now)
			next[k] = x
			if gain := cost - m.Cost(next); x != l && gain > 0 {
				gains[Less{k, x}] = gain
				list = append(list, Less{k, x})
			}
		}
	}
	lists.Sort(list, func(a, b Less) int { return cmp.Compare(gains[b], gains[a]) })
	return list
}

// DB is a share of noise as a signal-to-noise ratio.
func DB(noise float64) float64 {
	if !(noise > 0) {
		return maxDB
	}
	return min(-10*math.Log10(noise), maxDB)
}

// LayerCost is what the quantisation of one layer alone costs.
type LayerCost struct {
	Name      string   `json:"name"`
	Op        string   `json:"op"`
	ONNXNodes []string `json:"onnx_nodes"`
	Precision string   `json:"precision"`
	// SQNR is the signal-to-noise ratio of the worst output, in dB, when this
	// layer is quantised and no other.
	SQNR float64 `json:"sqnr_db"`
}

// Sensitivity quantises the layers of a legalised float graph one at a time, in
// the precision that the options give them, and ranks them, the one that costs
// most first. each, when set, is told of every layer. The graph stays as it is.
func Sensitivity(g *ir.Graph, opt Options, each func(done, all int)) (_ []LayerCost, err error) {
	defer fail.Catch(&err)
	c := newCalibrator(g.Clone(), opt)
	c.plan()
	type layer struct {
		node *ir.Node
		l    Layer
	}
	var layers []layer
	for _, n := range c.g.Nodes {
		if r, ok := c.rules[n]; ok && !r.follows() {
			layers = append(layers, layer{n, c.layer[n]})
		}
	}
	out := []LayerCost{}
	for i, x := range layers {
		if each != nil {
			each(i, len(layers))
		}
		o := opt
		o.Layer = func(n *ir.Node) Layer {
			if n.ID == x.node.ID {
				return x.l
			}
			return Float
		}
		r := fail.Must(Insert(g.Clone(), o))
		out = append(out, LayerCost{x.node.Name, x.node.Op.Name, append([]string{}, x.node.Origin...), x.l.String(),
			r.SQNR})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].SQNR < out[j].SQNR })
	return out, nil
}
