// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// Sample is one set of inputs of a graph, in graph order.
type Sample []*tensor.Dense

// Options say how Insert quantises a float graph.
type Options struct {
	// Method finds the ranges of activations.
	Method option.Method
	// Samples are inputs that are typical of the task; at least one.
	Samples []Sample
	// Held are samples that calibration must not see: the report's figures are
	// of them. None: the figures are of Samples.
	Held []Sample
	// Try says which steps Calibrate may undo.
	Try Trial
	// Finish, when set, is what the caller does to a quantised graph before it is
	// measured.
	Finish func(g *ir.Graph) error
	found  *findings    // those of other candidates; nil: there are none
	front  map[int]bool // what floatFronts gave of all samples; nil: not asked yet
	memory *memories    // of all evaluations
	// Source names them in the report: the paths of files, or "synthetic".
	Source string
	// Bound: constants are bound at run time, and every training has the same program.
	Bound bool
	// BiasCorrection makes the mean output of every channel of every
	// convolution and matrix product what it is in float.
	BiasCorrection bool
	Rounding       option.Rounding // of weights
	// Equalize evens out the ranges of channels between consecutive layers
	// before anything else.
	Equalize bool
	// FixedWeights and FixedActivations ask for fixed-point numbers instead of
	// calibrated integers; see fixedpoint.go. Where either is set, nothing else
	// is quantised.
	FixedWeights, FixedActivations *FixedPoint
	// SpellRounding writes the rounding of fixed-point activations out in float
	// operators, so that ties go away from zero as in nnabla; it cannot become
	// integer arithmetic then.
	SpellRounding bool
	// StateBindings are outputs that the next run gets as inputs: both have one
	// quantisation, so that handing them on loses nothing.
	StateBindings []StateBinding
	// OneScale: what reads the outputs knows one scale for each.
	OneScale bool
	// Follows reports that what reads an output takes it quantised along an axis; nil: it does.
	Follows func(output, axis int) bool
	// Inputs asks for int8 inputs of the graph also where only nodes that stay
	// float read them.
	Inputs bool
	// Layer, when set, is asked for the precision of every node that could be
	// quantised (Float: none); otherwise all are Int8.
	Layer func(n *ir.Node) Layer
	// Keep, when set, is asked for every node that could be quantised; nodes
	// for which it is true stay float.
	Keep func(n *ir.Node) bool
	// Half says which of these nodes run in bfloat16: their weights are rounded
	// to that as Rounding says.
	Half func(n *ir.Node) bool
}

// StateBinding is an output of the graph and the input that it becomes in the
// next run, by index.
type StateBinding struct{ Out, In int }

// calibrator is the state of one Insert.
type calibrator struct {
	g      *ir.Graph
	before *ir.Graph // the float graph
	opt    Options
	rules  map[*ir.Node]rule
	layer  map[*ir.Node]Layer // precision of the nodes that have rules
	wide   bool               // int16 data is among these
	// front are the nodes of signal front ends that stay float, ends the outputs of the
	// graph that come of them.
	front map[*ir.Node]bool
	ends  map[*ir.Value]bool
	// values are the run-time float values that get a Q/DQ pair, in graph order.
	values []*ir.Value
	*findings
	params map[*ir.Value]affine
	// methods found the ranges that no operator prescribes.
	methods map[*ir.Value]option.Method
	// weights remembers the DequantizeLinear nodes of constants.
	weights map[weightKey]*ir.Value
	// states are those of recurrent nodes.
	states map[*ir.Node]*recurrentState
	// beside is the noise of every value on the samples held out, where it was measured.
	beside []sideBySide
	// adapted counts the layers whose weights are not rounded to the nearest.
	adapted int
}

// Insert puts QuantizeLinear and DequantizeLinear nodes into a legalised float
// graph, so that Integer makes every operator with an integer form an integer
// operator. Weights become int8 per output channel, symmetric; activations
// int8 with one scale and zero point, from the ranges seen on the samples;
// biases int32; see Options.Layer for others. The graph computes in float what the integers stand for.
//
// Everything is done as the options say; see Calibrate for trying it first.
func Insert(g *ir.Graph, opt Options) (_ *Report, err error) {
	defer fail.Catch(&err)
	return insert(g, opt).report(), nil
}

func newCalibrator(g *ir.Graph, opt Options) *calibrator {
	c := &calibrator{g: g, opt: opt, params: map[*ir.Value]affine{}, weights: map[weightKey]*ir.Value{},
		findings: opt.found}
	if c.findings == nil {
		all := &survey{samples: opt.Samples, counts: opt.Method != option.MinMax, heldFrom: 1}
		c.findings = &findings{all: all, in: every, average: opt.BiasCorrection,
			ranges: map[option.Method]map[int]affine{}}
	}
	return c
}

// insert is Insert without the report.
func insert(g *ir.Graph, opt Options) *calibrator {
	checkSamples(g.In, opt.Samples)
	c := newCalibrator(g, opt)
	g.RemoveDead()
	if opt.FixedWeights != nil || opt.FixedActivations != nil {
		c.opt.Method, c.opt.Rounding = option.FixedPoint, option.Nearest
		c.before = g.Clone()
		c.fixedPoint()
		return c
	}
	if c.prepare(); len(c.values) == 0 {
		c.spellAffines()
		return c
	}
	c.choose()
	c.integerOffsets()
	c.recurrentStates()
	c.insert()
	c.insertStates()
	if opt.BiasCorrection || opt.Rounding == option.Adaptive {
		c.refine()
		g.RemoveDead() // what was replaced
	}
	return c
}

// prepare plans, and observes the values that are to be quantised.
func (c *calibrator) prepare() {
	if c.opt.Equalize {
		equalize(c.g, c.opt.Samples)
	}
	c.before = c.g.Clone() // after equalisation: its values are those that are quantised
	c.plan()
	if len(c.values) > 0 {
		c.observe()
	}
}

// plan decides which nodes are quantised and which values get a Q/DQ pair.
func (c *calibrator) plan() {
	c.rules = map[*ir.Node]rule{}
	c.frontEnd()
	c.assignLayers()
	c.dropIdle()
	c.collect()
}

// collect lists the values that get a Q/DQ pair.
func (c *calibrator) collect() {
	c.values = nil
	seen := map[*ir.Value]bool{}
	add := func(v *ir.Value) {
		if v.Const == nil && !seen[v] {
			seen[v] = true
			c.values = append(c.values, v)
		}
	}
	if c.opt.Inputs {
		for _, v := range c.g.In {
			if v.Type.DType == tensor.F32 && v.Type.Elems() > 0 && len(v.Uses()) > 0 && !op.AsksForNaN(v) {
				add(v)
			}
		}
	}
	c.signals(add)
	c.each(func(n *ir.Node, r rule) {
		for _, i := range r.in {
			add(n.In[i])
		}
		for _, v := range n.Out {
			if (len(v.Uses()) > 0 || c.g.IsOutput(v)) && v != c.stateResult(n) {
				add(v)
			}
		}
	})
}

// dropIdle takes back the quantisation of data movement that no quantised
// computation is connected to: integers would gain nothing there.
func (c *calibrator) dropIdle() {
	busy := map[*ir.Node]bool{}
	var visit func(n *ir.Node)
	spread := func(n *ir.Node, r rule) {
		busy[n] = true
		for _, i := range r.in {
			visit(n.In[i].Def)
		}
		for _, v := range n.Out {
			for _, u := range v.Uses() {
				visit(u.Node)
			}
		}
	}
	visit = func(n *ir.Node) {
		if r, ok := c.rules[n]; ok && !busy[n] {
			if busy[n] = true; r.passive {
				spread(n, r)
			}
		}
	}
	c.each(func(n *ir.Node, r rule) {
		if !r.passive {
			spread(n, r)
		}
	})
	maps.DeleteFunc(c.rules, func(n *ir.Node, _ rule) bool { return !busy[n] })
}

// observe has statistics of the values from a run of the float graph on the samples, unless an earlier candidate did.
func (c *calibrator) observe() {
	if c.stats != nil {
		return
	}
	c.rows = c.watchRows()
	c.survey()
	c.stats = make(map[int]*stats, len(c.values))
	for _, v := range c.values {
		c.stats[v.ID] = c.all.of(v, c.in)
	}
	for _, r := range c.rows {
		r.rows = c.all.rowsOf(r.of, c.in)
	}
	c.narrow()
	c.sharpen()
}

// survey runs that of the samples.
func (c *calibrator) survey() {
	s := c.all
	if s.values != nil {
		return // for another way of holding samples out
	}
	s.states = c.recurrentNodes()
	s.look, _ = probes(c.g)
	if c.average {
		s.means = c.watchMeans()
	}
	for s.values == nil {
		if err := fail.Caught(func() { s.run(c.g, c.values, c.rows, c.opt.memory) }); err != nil {
			fail.Check(c.dropSynthetic(err))
			*s = survey{samples: c.opt.Samples, counts: s.counts, means: s.means, states: s.states, look: s.look,
				heldFrom: s.heldFrom}
		}
	}
}

// sharpen counts anew what is left few bins by the limits of its readers: masked
// elements lie far out.
func (c *calibrator) sharpen() {
	within := map[*ir.Value]*stats{}
	for _, v := range c.values {
		s := c.stats[v.ID]
		if len(s.hist.n) > 0 && s.hi > s.lo && math.Ldexp(s.hi-s.lo, -s.hist.exp) < float64(len(s.hist.n))/2 {
			within[v] = s
		}
	}
	if len(within) == 0 {
		return
	}
	s := &survey{samples: c.opt.Samples, counts: true, within: within}
	s.run(c.g, c.values, c.rows, c.opt.memory)
	for v, y := range within {
		x := s.of(v, every)
		y.hist, y.zeros = x.hist, x.zeros
	}
}

// dropSynthetic takes a synthetic sample away that the network makes no number
// of, as of a mask that lets nothing through, or that has an index too large: what
// nobody gave need not suit.
// err stays where the samples are the user's, or this is the last one.
func (c *calibrator) dropSynthetic(err error) error {
	var s *sampleError
	var d *ir.Diag
	if c.opt.Source != SyntheticSource || !errors.As(err, &s) || !errors.As(err, &d) ||
		d.Code != nanCode && d.Code != "index" {
		return err
	}
	if len(c.opt.Samples) == 1 {
		d.Hint = "no synthetic input suits this model; give real ones with --calib, or compile with --precision float32"
		return d
	}
	c.opt.Samples = slices.Delete(slices.Clone(c.opt.Samples), s.sample, s.sample+1)
	return nil
}

// choose gives every value its scale and zero point.
func (c *calibrator) choose() {
	c.methods = map[*ir.Value]option.Method{}
	list := c.groups()
	c.findRanges(list, c.opt.Method)
	for _, k := range list {
		k.params = c.ranges[c.opt.Method][k.members[0].ID]
	}
	for _, k := range list {
		for _, v := range k.members {
			if k.fixed == nil {
				c.methods[v] = c.methodOf(k, c.opt.Method)
			}
			c.params[v] = k.params
		}
	}
	c.raiseScales(list)
}

// groups are the values that have one quantisation.
func (c *calibrator) groups() []*group {
	c.floatTails()
	return c.share().collect()
}

// findRanges finds the quantisations of groups by a method, unless another candidate did, which has the same groups.
func (c *calibrator) findRanges(list []*group, m option.Method) {
	if c.ranges[m] != nil {
		return
	}
	found := make([]affine, len(list))
	ParallelEach(len(list), func(i int) {
		k := list[i]
		own := c.methodOf(k, m)
		if a, ok := c.ranges[own][k.members[0].ID]; ok {
			found[i] = a
		} else if k.fixed != nil {
			found[i] = affineFrom(k.fixed)
		} else {
			found[i] = c.rangeFor(k, c.dataType(k.members[0]), own)
		}
	})
	c.ranges[m] = make(map[int]affine, len(list))
	for i, k := range list {
		c.ranges[m][k.members[0].ID] = found[i]
	}
}

// methodOf is the method for a group: its own where each has one, the whole range where all methods agree.
func (c *calibrator) methodOf(k *group, m option.Method) option.Method {
	if m != option.PerLayer || c.method == nil {
		return m
	}
	own, ok := c.method[k.members[0].ID]
	if !ok {
		return option.MinMax
	}
	return own
}

// headroom16 is by how much the range of int16 exceeds what was seen: a quarter, which costs 2 dB
// of some 80, so that inputs a little outside of the calibration's do not saturate on their way.
// What was seen farthest from zero has a code of its own, as the ones of a mask want it. Twice
// the range would cost functions by table half of their points.
const headroom16 = float64(math.MaxInt16) / (math.MaxInt16 / 5 * 4)

// rangeFor is the quantisation of a group in an element type, by a method. The range
// of int16 has room for more than was seen: clipping would win nothing.
func (c *calibrator) rangeFor(k *group, t tensor.DType, m option.Method) affine {
	lo, hi := c.bounds(k.members)
	if t == tensor.I16 {
		return symmetric16(headroom16*lo, headroom16*hi)
	}
	if m == option.MinMax || hi <= lo {
		return affineOf(lo, hi)
	}
	var x, w []float64
	zeros := 0.0
	own := k.originals(c.rules)
	var cut ends // masked elements lie beyond them, and must not come closer
	for _, v := range k.members {
		s := c.stats[v.ID]
		cut.lo, cut.hi = cut.lo || s.cutLo && s.lo <= lo, cut.hi || s.cutHi && s.hi >= hi
	}
	for _, v := range own {
		s := c.stats[v.ID]
		if px, pw := s.points(); x == nil {
			x, w = px, pw
		} else {
			x, w = append(x, px...), append(w, pw...)
		}
		if s.count > 0 {
			zeros += float64(s.zeros) / float64(s.count)
		}
	}
	if len(x) == 0 {
		return affineOf(lo, hi)
	}
	switch m {
	case option.Percentile:
		return affineOf(percentile(x, w, zeros, keptShare))
	case option.Entropy:
		return search(lo, hi, cut, divergence(x, w, lo, hi))
	}
	return search(lo, hi, cut, squaredError(x, w))
}

// insert adds the Q/DQ pairs of activations, weights and biases.
func (c *calibrator) insert() {
	for _, n := range slices.Clone(c.g.Nodes) {
		if r, ok := c.rules[n]; ok {
			c.constants(n, r)
		}
	}
	for _, v := range c.values {
		c.pair(v)
	}
	c.spellAffines()
}

// reads is the rule of the quantised node that reads a value here.
func (c *calibrator) reads(u ir.Use) (rule, bool) {
	r, ok := c.rules[u.Node]
	return r, ok && slices.Contains(r.in, u.Index)
}

// pair quantises one run-time value. Where a quantised node or the caller makes
// it, every reader gets the quantised value, so that the integers need not
// exist in float; of other values only quantised nodes do.
func (c *calibrator) pair(v *ir.Value) {
	at := c.after(v)
	t := v.Type.WithQuant(c.dataType(v), c.params[v].quant())
	edges := map[*ir.Node]ir.Type{} // before anything is inserted
	for _, u := range v.Uses() {
		if r, ok := c.reads(u); ok && c.layer[u.Node].Data != t.DType {
			edges[u.Node] = c.edge(u.Node, r, v)
		}
	}
	uses := slices.Clone(v.Uses())
	d := linearPair(c.g, at, v, t)
	_, quantised := c.rules[v.Def]
	quantised = quantised || c.ends[v]
	all := v.Def == nil || quantised
	for _, u := range uses {
		_, reads := c.reads(u)
		w := d
		if e, ok := edges[u.Node]; ok && reads {
			w = c.converted(at, d, e)
		}
		if all || reads {
			c.g.SetInput(u.Node, u.Index, w)
		}
	}
	if quantised {
		c.g.ReplaceOutput(v, d)
	}
}

// after is the node in front of which something that reads v can stand.
func (c *calibrator) after(v *ir.Value) *ir.Node {
	if v.Def == nil {
		return c.g.Nodes[0]
	}
	return c.g.Next(v.Def)
}
