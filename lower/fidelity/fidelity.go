// SPDX-License-Identifier: Apache-2.0

// Package fidelity compares a program with the model that it was made from, as
// the model's own semantics define it: in float, with every QuantizeLinear and
// DequantizeLinear where the model has it. It shares no lowering with the
// program: what all later stages get wrong alike is seen here. See README.md.
package fidelity

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// Steps is how far the program may be from the model at a quantised tensor, in
// steps of the tensor: one for integer arithmetic that rounds at another place
// (a requantisation rounds twice), one for an operand that is brought to
// another scale first.
const Steps = 2

// ulps is how far a float result may be off, in units in the last place of the
// largest magnitude: sums of hundreds of terms are taken in another order, layer
// after layer, and the C library's functions differ.
const ulps = 256

// Ulps is how far a float result of a type may be off, in units in the last
// place of the largest magnitude. float16 and bfloat16 are what sums in float32
// are rounded to: to one side or the other.
func Ulps(t tensor.DType) float64 {
	if e, single := t.Epsilon(), tensor.F32.Epsilon(); e > single {
		return 1 + ulps*single/e
	}
	return ulps
}

// Limit is how far elements of a float result may be off.
func Limit(d *tensor.Dense) float64 { return Ulps(d.DType) * ulp(d) }

// Stretch is the part of a model between quantised tensors that the program
// has, too: it is fed with the program's values and compared at its end.
type Stretch struct {
	Tensor string   // quantised tensor of the model, or output
	Layers []string // nodes of the model on the way, the last one first
	// Elements that were compared, and how many of them are too far off.
	Elements, Wrong int
	// Off is the largest difference, Allowed what it may be there: in steps of
	// the tensor, or in ulps of the largest magnitude where Float is set.
	Off, Allowed float64
	Float        bool
	// Within is set where a node of the program adds up errors within itself (a
	// recurrent one): there is no bound in steps, so the signal-to-noise ratio is
	// what counts.
	Within bool
	Ratio  interp.Ratio
	// Jumps: Allowed is above the usual because the model's own result changes by
	// as much when its values move by roundings.
	Jumps bool

	nodes  []*ir.Node   // in graph order
	reads  []*Stretch   // that feed it
	value  *ir.Value    // of the model
	held   *ir.Value    // of the program
	typ    tensor.DType // of the steps
	quant  *ir.Quant    // nil: plain integers
	bound  float64
	output bool
}

// Layer names the nodes of the stretch.
func (s *Stretch) Layer() string {
	l := s.Layers
	if len(l) > 4 {
		l = append(slices.Clone(l[:4]), "...")
	}
	return strings.Join(l, ", ")
}

// Checker compares a program with its model, case by case.
type Checker struct {
	program *ir.Graph
	model   *Model
	at      map[*ir.Value]*Stretch // of values of the model
	held    map[*ir.Value]bool     // values of the program that are looked at
	list    []*Stretch
	order   map[*ir.Node]int
	forms   map[int]*Stretch // of outputs in another form
	outs    []*Stretch       // of the outputs; nil where the graphs' outputs do not correspond
}

// New prepares the comparison. The program is the graph that the model was
// lowered to; its values say what they hold (ir.Value.Holds). Inputs of both
// correspond; outputs do where there are as many of the same shapes. slack gives what a node of
// the program may miss by definition, in steps of its result: interpolated functions of int16 values.
func New(model, program *ir.Graph, slack func(n *ir.Node) float64) (*Checker, error) {
	e, err := NewModel(model)
	if err != nil {
		return nil, err
	}
	if len(model.In) != len(program.In) {
		return nil, bug.Errorf("the model has %d inputs, the program %d", len(model.In), len(program.In))
	}
	c := &Checker{program: program, model: e, at: map[*ir.Value]*Stretch{}, held: map[*ir.Value]bool{},
		order: lists.Places(model.Nodes), forms: map[int]*Stretch{}}
	by := map[string]*ir.Value{}
	holders(program, by)
	kinds := quantised(model)
	for _, n := range model.Nodes {
		for _, v := range n.Out {
			w := by[v.Name]
			k, ok := kinds[v]
			if !ok || e.fixed[v] != nil || w == nil || !compares(v, w) {
				continue
			}
			s := &Stretch{Tensor: v.Name, value: v, held: w, typ: v.Type.DType, quant: k, bound: Steps}
			c.at[v], c.held[w] = s, true
			c.list = append(c.list, s)
		}
	}
	c.outputs()
	for _, s := range c.list {
		c.trace(s)
		s.bound += c.slack(s.held, slack)
		s.Allowed, s.Within = s.bound, math.IsInf(s.bound, 1)
	}
	return c, nil
}

// compares reports integers w of a program that stand for a value v of the model.
func compares(v, w *ir.Value) bool {
	return slices.Equal(tensor.Squeezed(w.Type.Shape), tensor.Squeezed(v.Type.Shape)) && !w.Type.Quant.PerAxis() &&
		!w.Type.DType.IsFloat() && (w.Type.Quant != nil || w.Type.DType == v.Type.DType)
}

// holders finds the values of a program that hold tensors of the model, in the
// bodies of its nodes, too.
func holders(g *ir.Graph, by map[string]*ir.Value) {
	note := func(v *ir.Value) {
		for _, s := range v.Holds {
			by[s] = v
		}
	}
	for _, v := range g.In {
		note(v)
	}
	for _, n := range g.Nodes {
		if n.Op == op.Segment {
			holders(n.Body[0], by)
		}
		for _, v := range n.Out {
			note(v)
		}
	}
}

// quantised are the integer values of a model that stand for reals, with what
// the model says of them: where they are made, else where they are read.
func quantised(g *ir.Graph) map[*ir.Value]*ir.Quant {
	m := map[*ir.Value]*ir.Quant{}
	for _, n := range g.Nodes {
		switch {
		case n.Op == op.QuantizeLinear:
			if t, ok := quant.Params(n); ok {
				m[n.Out[0]] = t.Quant
			}
		case n.Op == op.DequantizeLinear:
			if t, ok := quant.Params(n); ok && n.In[0].Def != nil && m[n.In[0]] == nil {
				m[n.In[0]] = t.Quant
			}
		case n.Op.Quant == ir.QMove && len(n.In) > 0 && n.In[0] != nil && m[n.In[0]] != nil:
			for _, v := range n.Out {
				m[v] = m[n.In[0]]
			}
		}
	}
	return m
}

// Mark notes of every quantised value of a model which tensor it is, before
// passes change the graph.
func Mark(g *ir.Graph) {
	for v := range quantised(g) {
		v.Hold(v.Name)
	}
}

// outputs adds the outputs that are no such tensors themselves.
func (c *Checker) outputs() {
	m, p := c.model.g, c.program
	if len(m.Out) != len(p.Out) {
		return
	}
	for i, v := range m.Out {
		if !slices.Equal(v.Type.Shape, p.Out[i].Type.Shape) {
			return
		}
	}
	for i, v := range m.Out {
		w := p.Out[i]
		s := &Stretch{Tensor: m.OutNames[i], value: v, held: w, output: true}
		switch b := c.at[v]; {
		case b != nil:
			s.typ, s.quant, s.bound = b.typ, b.quant, Steps
		case w.Type.Quant != nil && v.Type.DType.IsFloat():
			s.typ, s.quant, s.bound = w.Type.DType, w.Type.Quant, Steps
		case v.Type.DType.IsFloat():
			s.typ, s.Float = v.Type.DType, true
			if w.Type.DType.Epsilon() > s.typ.Epsilon() { // the model's own type, which is at the border only
				s.typ = w.Type.DType
			}
			s.bound = Ulps(s.typ)
		default: // numbers, not what they stand for
			s.typ = v.Type.DType
		}
		c.held[w] = true
		c.list, c.outs = append(c.list, s), append(c.outs, s)
	}
}

func (c *Checker) trace(s *Stretch) {
	seen := map[*ir.Node]bool{}
	from := map[*Stretch]bool{}
	var walk func(v *ir.Value, end bool)
	walk = func(v *ir.Value, end bool) {
		if v == nil || v.Def == nil || c.model.fixed[v] != nil {
			return
		}
		if b := c.at[v]; b != nil && !end {
			if !from[b] {
				from[b] = true
				s.reads = append(s.reads, b)
			}
			return
		}
		if seen[v.Def] {
			return
		}
		seen[v.Def] = true
		for _, x := range v.Def.In {
			walk(x, false)
		}
	}
	walk(s.value, !s.output)
	s.nodes = slices.SortedFunc(maps.Keys(seen), func(a, b *ir.Node) int { return c.order[a] - c.order[b] })
	for _, n := range slices.Backward(s.nodes) {
		if n.Op != op.QuantizeLinear && n.Op != op.DequantizeLinear {
			s.Layers = append(s.Layers, n.String())
		}
	}
	if len(s.Layers) == 0 {
		for _, n := range s.nodes {
			s.Layers = append(s.Layers, n.String())
		}
	}
}

// slack sums what the program's nodes may miss, from a value back to those that
// hold tensors.
func (c *Checker) slack(v *ir.Value, of func(n *ir.Node) float64) float64 {
	sum := 0.0
	seen := map[*ir.Node]bool{}
	var walk func(v *ir.Value)
	walk = func(v *ir.Value) {
		if v == nil || v.Def == nil || seen[v.Def] {
			return
		}
		seen[v.Def] = true
		sum += of(v.Def)
		for _, x := range v.Def.In {
			if x != nil && !c.held[x] {
				walk(x)
			}
		}
	}
	walk(v)
	return sum
}

// Model is the model that the program is compared with.
func (c *Checker) Model() *Model { return c.model }

// Case runs the program and the model on inputs of the program, and gives the
// program's outputs.
func (c *Checker) Case(in []*tensor.Dense) (_ []*tensor.Dense, err error) {
	defer fail.Catch(&err)
	have := map[*ir.Value]*tensor.Dense{}
	outs := fail.Must(Evaluate(c.program, in, func(v *ir.Value, d *tensor.Dense) error {
		if c.held[v] {
			have[v] = d
		}
		return nil
	}))
	for i, v := range c.program.Out {
		have[v] = outs[i]
	}
	mine := make([]*tensor.Dense, len(in))
	fed := map[*ir.Value]*tensor.Dense{}
	for i, v := range c.model.g.In {
		mine[i] = fail.Must(Real(in[i], c.program.In[i].Type, v.Type))
		fed[v] = mine[i]
	}
	res := fail.Must(c.model.run(mine, func(v *ir.Value, d *tensor.Dense) (*tensor.Dense, error) {
		s := c.at[v]
		if s == nil {
			return d, nil
		}
		got := s.in(have[s.held])
		if got == nil {
			return nil, bug.Errorf("the program did not compute %s", s.held)
		}
		fed[v] = got
		c.compare(s, d, got, fed)
		return got, nil
	}))
	for i, s := range c.outs {
		want, got := s.end(res[i]), s.in(outs[i])
		c.compare(s, want, got, fed)
	}
	return outs, nil
}

// Same compares output i of the program with another form of it, which must
// give the same reals: one that was rearranged for an accelerator. Bit for bit, but
// for what allowed says of each element; it is asked where they differ.
func (c *Checker) Same(i int, got, other *tensor.Dense, form *ir.Value, allowed func() ([]float64, error)) error {
	s := c.forms[i]
	if s == nil {
		s = &Stretch{Tensor: form.Name, Layers: []string{"the form for the accelerator"}}
		c.forms[i] = s
		c.list = append(c.list, s)
		if len(c.outs) > i {
			c.outs[i].reads = append(c.outs[i].reads, s)
		}
	}
	if t := c.program.Out[i].Type; t.Quant != nil {
		got = ir.Dequantise(got, t.Quant)
	}
	if t := form.Type; t.Quant != nil {
		other = ir.Dequantise(other, t.Quant)
	}
	n := got.Len()
	s.Elements += n
	var most []float64
	for k := range n {
		d := Distance(got, other, k)
		if d > 0 && most == nil {
			var err error
			if most, err = allowed(); err != nil {
				return err
			}
		}
		if d > 0 && !(d <= most[k]) {
			s.Wrong++
			s.Off = max(s.Off, d)
		}
	}
	return nil
}

// Real brings a value of one type to another, of the same elements: integers
// that stand for reals to these.
func Real(d *tensor.Dense, from, to ir.Type) (*tensor.Dense, error) {
	if from.Quant != nil && to.DType.IsFloat() {
		d = ir.Dequantise(d, from.Quant)
	}
	if d.DType != to.DType {
		d = d.Cast(to.DType)
	}
	if slices.Equal(d.Shape, to.Shape) {
		return d, nil
	}
	if d.Len() != to.Elems() {
		return nil, bug.Errorf("a value of type %s cannot be one of type %s", from, to)
	}
	return d.Reshaped(to.Shape), nil
}

// in brings a value of the program to the integers of the model's tensor: the
// same ones, but for uint8 that the program carries as int8 and the like.
func (s *Stretch) in(d *tensor.Dense) *tensor.Dense {
	if d == nil {
		return nil
	}
	if shape := s.value.Type.Shape; !slices.Equal(d.Shape, shape) {
		d = d.Reshaped(shape)
	}
	if d.DType == s.typ || d.DType.IsFloat() {
		return d
	}
	out := tensor.New(s.typ, d.Shape)
	from, _ := d.DType.IntRange()
	lo, hi := s.typ.IntRange()
	for i, n := 0, d.Len(); i < n; i++ {
		out.SetInt(i, min(max(d.Int(i)-from+lo, lo), hi))
	}
	return out
}

// end brings what the model gives to the program's type.
func (s *Stretch) end(d *tensor.Dense) *tensor.Dense {
	switch {
	case s.quant != nil && d.DType.IsFloat():
		return ir.QuantiseEven(d, s.held.Type)
	case s.Float && d.DType != s.typ:
		return d.Cast(s.typ)
	}
	return d
}

// compare notes how far the program is off in one case. want is what the model
// makes of the values that it was fed.
func (c *Checker) compare(s *Stretch, want, got *tensor.Dense, fed map[*ir.Value]*tensor.Dense) {
	n := want.Len()
	if s.Within {
		s.Elements += n
		s.Ratio.Add(Reals(want, s.quant), Reals(got, s.quant))
		s.Wrong = 0
		if db, ok := s.Ratio.DB(); ok && db < quant.LeastDB {
			s.Wrong = s.Elements
		}
		return
	}
	unit := 1.0
	if s.Float {
		unit = ulp(want)
	}
	s.Elements += n
	var spread []float64
	for i := range n {
		d := Distance(want, got, i) / unit
		if d <= s.bound {
			s.Off = max(s.Off, d)
			continue
		}
		if spread == nil {
			spread = c.spread(s, want, fed)
		}
		allowed := s.bound
		if x := 2 * spread[i] / unit; x > 0 {
			allowed += math.Ceil(x)
			s.Jumps = true
			s.Allowed = max(s.Allowed, allowed)
		}
		if !(d <= allowed) {
			s.Wrong++
		}
		s.Off = max(s.Off, d)
	}
}

// Reals are those for which integers of a quantised tensor stand; others are as they are.
func Reals(d *tensor.Dense, q *ir.Quant) *tensor.Dense {
	if q == nil || d.DType.IsFloat() {
		return d
	}
	return ir.Dequantise(d, q)
}

// ulp is the unit in the last place of the largest finite magnitude. Below the
// type's smallest normal number nothing counts.
func ulp(d *tensor.Dense) float64 {
	top := 0.0
	for i, n := 0, d.Len(); i < n; i++ {
		if a := math.Abs(d.Float(i)); a > top && !math.IsInf(a, 0) {
			top = a
		}
	}
	least := 0x1p-126
	if d.DType == tensor.F16 {
		least = 0x1p-14
	}
	return max(top, least) * d.DType.Epsilon()
}

// Distance is the difference of two elements; infinite where only one is a
// number.
func Distance(a, b *tensor.Dense, i int) float64 {
	if !a.DType.IsFloat() && !b.DType.IsFloat() {
		return math.Abs(float64(a.Int(i)) - float64(b.Int(i)))
	}
	x, y := a.Float(i), b.Float(i)
	switch d := math.Abs(x - y); {
	case x == y || x != x && y != y:
		return 0
	case d != d:
		return math.Inf(1)
	default:
		return d
	}
}
