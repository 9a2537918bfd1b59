// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// The state of an integer LSTM or GRU is int16 with a power of two as its scale:
// the cell state of an LSTM, the hidden state of a GRU, of which an int8 value is
// what the next step multiplies. No value of an ONNX graph is the state of every
// step, so Q/DQ nodes cannot say what it is. The initial state can: calibration
// makes it the DequantizeLinear of int16, or of int32 zeros, whose scale is that
// of the state. That survives export and import. The last state, where it leaves
// the graph or an LSTM's cell state is read, has the same type.

// cellMargin is how many times the largest cell state of the calibration the
// integers cover. A bit more or less of int16 is hardly seen in the int8
// output, a state that saturates is.
const cellMargin = 2

// givenCellPower covers 16: single steps do not tell how far a cell state grows
// that the next run gets back.
const givenCellPower = -11

// Exponents that arm_lstm_unidirectional_s8 can work with.
const (
	minStatePower = -15
	maxStatePower = -4
)

// recurrentNodes are the recurrent operators that become integer ones.
func (c *calibrator) recurrentNodes() []*ir.Node {
	return lists.Filter(c.g.Nodes, func(n *ir.Node) bool {
		_, ok := c.rules[n]
		return ok && recurrentGates[n.Op] != nil
	})
}

// recurrentStates chooses the scales of the states of these, by their peaks in the
// survey.
func (c *calibrator) recurrentStates() {
	c.states = map[*ir.Node]*recurrentState{}
	for k, n := range c.recurrentNodes() {
		top := lists.Max(c.opt.Samples, func(s Sample) float64 { return c.all.noted[s.key()].peaks[k] })
		c.states[n] = c.stateOf(n, top)
	}
}

// statePeaks are the nodes of which the largest states are noted, and how these are found.
type statePeaks struct {
	nodes []*ir.Node
	find  []func(in func(i int) *tensor.Dense) float64
}

func newStatePeaks(nodes []*ir.Node) *statePeaks {
	p := &statePeaks{nodes: nodes}
	for _, n := range nodes {
		find := func(in func(i int) *tensor.Dense) float64 { return hiddenPeak(in(stateInput[n.Op])) }
		if n.Op == op.LSTM { // all that have rules are computed so
			f := op.LSTMInto(n, n.ConstIn(1), n.ConstIn(2), n.ConstIn(3))
			find = func(in func(i int) *tensor.Dense) float64 { return cellPeak(n, f, in) }
		}
		p.find = append(p.find, find)
	}
	return p
}

// hiddenPeak is the largest magnitude of the states of a GRU: that of the initial one, nil for zeros, or 1.
func hiddenPeak(d *tensor.Dense) float64 {
	top := 1.0
	if d != nil {
		for _, v := range d.Floats() {
			top = max(top, math.Abs(v))
		}
	}
	return top
}

// cellPeak is the largest magnitude of the cell states of all steps.
func cellPeak(n *ir.Node, run func(in []*tensor.Dense, out [][]float32, cells func(c []float32)),
	in func(i int) *tensor.Dense) float64 {
	args, peak := make([]*tensor.Dense, len(n.In)), float32(0)
	for i := range args {
		args[i] = in(i)
	}
	run(args, make([][]float32, len(n.Out)), func(c []float32) {
		for _, v := range c {
			peak = max(peak, v, -v)
		}
	})
	return float64(peak)
}

// stateWatch collects what recurrent nodes see of one sample.
type stateWatch struct {
	*statePeaks
	seen map[*ir.Value]*tensor.Dense // the inputs of nodes
}

func (p *statePeaks) watch() *stateWatch {
	w := &stateWatch{p, map[*ir.Value]*tensor.Dense{}}
	for _, n := range p.nodes {
		for _, v := range n.In {
			if v != nil {
				w.seen[v] = v.Const
			}
		}
	}
	return w
}

func (w *stateWatch) see(v *ir.Value, d *tensor.Dense) {
	if _, ok := w.seen[v]; ok {
		w.seen[v] = d
	}
}

// peaks are the largest states of the nodes.
func (w *stateWatch) peaks() []float64 {
	var top []float64
	for k, n := range w.nodes {
		top = append(top, w.find[k](func(j int) *tensor.Dense { return w.seen[n.Input(j)] }))
	}
	return top
}

// recurrentState is what is known of the int16 state of a node before Q/DQ nodes
// stand around it.
type recurrentState struct {
	power int
	given *ir.Value // the initial state; nil for zeros
	last  *ir.Value // the last state, where that is read as such
}

// stateOf chooses the scale for states up to top.
func (c *calibrator) stateOf(n *ir.Node, top float64) *recurrentState {
	s := &recurrentState{power: minStatePower}
	in, out := stateInput[n.Op], c.stateResult(n)
	if v := n.Input(in); !zeroState(v) {
		s.given = v
	}
	switch {
	case n.Op == op.LSTM:
		s.power = powerCovering(cellMargin * top)
		if s.given != nil && s.given.Const == nil {
			s.power = max(s.power, givenCellPower)
		}
	case top > 1 && !c.bound(s.given): // what comes from the last run is at most 1
		s.power = powerCovering(top)
	}
	s.last = out
	return s
}

// stateResult is the output of n that is its state in int16: the cell state of an
// LSTM; the hidden state of a GRU where it leaves the graph, as elsewhere int8 is
// what readers want.
func (c *calibrator) stateResult(n *ir.Node) *ir.Value {
	i, ok := stateOutput[n.Op]
	if !ok || i >= len(n.Out) || n.Out[i] == nil {
		return nil
	}
	if v := n.Out[i]; c.g.IsOutput(v) || n.Op == op.LSTM && len(v.Uses()) > 0 {
		return v
	}
	return nil
}

// bound reports an input that holds an output of the last run.
func (c *calibrator) bound(v *ir.Value) bool {
	return slices.ContainsFunc(c.opt.StateBindings, func(t StateBinding) bool { return c.g.In[t.In] == v })
}

// powerCovering is the smallest exponent whose scale times 32767 reaches top.
func powerCovering(top float64) int {
	if !(top > 0) {
		return minStatePower
	}
	return min(max(int(math.Ceil(math.Log2(top/math.MaxInt16))), minStatePower), maxStatePower)
}

// insertStates gives the states of n their types: once all others have Q/DQ
// nodes, which read the int16 value then.
func (c *calibrator) insertStates() {
	for _, n := range append([]*ir.Node(nil), c.g.Nodes...) {
		s := c.states[n]
		if s == nil {
			continue
		}
		q := ir.PerTensor(float32(math.Ldexp(1, s.power)), 0)
		c.insertGiven(n, s, q)
		if s.last == nil {
			continue
		}
		pair := c.g.Out
		uses := append([]ir.Use(nil), s.last.Uses()...)
		d := c.statePair(c.g.Next(n), s.last, q)
		for _, u := range uses {
			c.g.SetInput(u.Node, u.Index, d)
		}
		for i, v := range pair {
			if v == s.last || pairOf(v, d) {
				c.g.SetOutput(i, d)
			}
		}
	}
	c.g.RemoveDead()
}

// pairOf reports that v is d quantised and dequantised once more.
func pairOf(v, d *ir.Value) bool {
	return v.Def != nil && v.Def.Op == op.DequantizeLinear && v.Def.In[0].Def != nil &&
		v.Def.In[0].Def.Op == op.QuantizeLinear && v.Def.In[0].Def.In[0] == d
}

// insertGiven is the initial state in int16, or zeros that have its scale.
func (c *calibrator) insertGiven(n *ir.Node, s *recurrentState, q *ir.Quant) {
	in := stateInput[n.Op]
	if s.given != nil {
		c.g.SetInput(n, in, c.statePair(n, s.given, q))
		return
	}
	g := fail.Must(op.RNNGeometry(n))
	if n.Op == op.GRU && s.power == minStatePower {
		return
	}
	zero := tensor.New(tensor.I32, []int{g.Dirs(), g.Batch, g.Hidden})
	t := ir.Type{DType: tensor.I32, Shape: zero.Shape, Quant: q}
	c.g.SetInput(n, in, Linear(c.g, n, op.DequantizeLinear, c.g.AddConst(n.Name+".cell", zero), t))
}

// statePair is v in int16, dequantised.
func (c *calibrator) statePair(at *ir.Node, v *ir.Value, q *ir.Quant) *ir.Value {
	return linearPair(c.g, at, v, v.Type.WithQuant(tensor.I16, q))
}

// notedStatePower is the exponent that insertGiven left with a node.
func notedStatePower(n *ir.Node) (int, bool) {
	v := n.Input(stateInput[n.Op])
	if v == nil || v.Def == nil || v.Def.Op != op.DequantizeLinear {
		return 0, false
	}
	_, q, ok := params(v.Def)
	if !ok || q.PerAxis() || q.Zero[0] != 0 {
		return 0, false
	}
	frac, exp := math.Frexp(float64(q.Scale[0]))
	return exp - 1, frac == 0.5 && exp-1 >= minStatePower && exp-1 <= maxStatePower
}

// zeroState reports an initial state that is absent or zero.
func zeroState(v *ir.Value) bool {
	if v == nil {
		return true
	}
	d, zero := v.Const, 0.0
	if v.Def != nil && v.Def.Op == op.DequantizeLinear && v.Def.In[0].Const != nil {
		_, q, ok := params(v.Def)
		if !ok || q.PerAxis() {
			return false
		}
		d, zero = v.Def.In[0].Const, float64(q.Zero[0])
	}
	if d == nil {
		return false
	}
	for i, k := 0, d.Len(); i < k; i++ {
		if d.Float(i) != zero {
			return false
		}
	}
	return true
}
