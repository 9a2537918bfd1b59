// SPDX-License-Identifier: Apache-2.0

package irtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// GenQDQ is a seeded random quantised network as exporters, converters and
// people's scripts leave them: stretches of one to four float operators
// between DequantizeLinear and QuantizeLinear, in every order. Activations are
// int8, uint8, int16 or a mixture, scales cover the values that seeded inputs
// give, or clip them, or are far too wide; weights are int8, uint8 or int4, per
// tensor or per channel, with or without bias; constants come quantised, behind
// a pair of Q and DQ, or as floats, narrow or far wider than the activations
// beside them. Edges lack their Q, values have several readers, Reshape,
// Transpose and Slice lie between Q and DQ, a DQ reads with another scale than
// its Q wrote, outputs are floats or integers. The same seed gives the same
// graph on every machine.
func GenQDQ(seed uint64) *ir.Graph { return genNet(seed, true) }

// GenFloat is a seeded random float network of the same operators as GenQDQ.
func GenFloat(seed uint64) *ir.Graph { return genNet(seed, false) }

// ExposeQuantised is a copy of a QDQ graph whose outputs are the values that
// its QuantizeLinear nodes give, in the order of the nodes, and then the
// outputs of g that no QuantizeLinear gives: with them the numbers of every
// stretch can be compared.
func ExposeQuantised(g *ir.Graph) *ir.Graph {
	c := g.Clone()
	outs, names := c.Out, c.OutNames
	c.Out, c.OutNames = nil, nil
	seen := map[*ir.Value]bool{}
	for _, n := range c.Nodes {
		if n.Op == op.QuantizeLinear && n.In[0].Const == nil {
			c.AddOutput("q_"+n.Out[0].Name, n.Out[0])
			seen[n.Out[0]] = true
		}
	}
	for i, v := range outs {
		if !seen[v] {
			c.AddOutput(names[i], v)
			seen[v] = true
		}
	}
	return c
}

// netSamples is how many inputs choose the scales.
const netSamples = 3

// maxMagnitude bounds what a node may give: beyond it, rounding in float32
// would hide everything else.
const maxMagnitude = 1 << 20

// netBuilder makes a graph and evaluates it on samples as it grows.
type netBuilder struct {
	*rand.Rand
	g     *ir.Graph
	quant bool
	vals  map[*ir.Value][]*tensor.Dense
	pool  []*ir.Value          // float values that operators may read
	by    map[*ir.Value]params // of values that a DequantizeLinear gives
	acts  []tensor.DType       // element types of activations
	seed  uint64
	n     int
}

// params are a scale and zero point of a tensor.
type params struct {
	t     tensor.DType
	scale float64
	zero  int64
}

func genNet(seed uint64, quant bool) *ir.Graph {
	name := "genfloat"
	if quant {
		name = "genqdq"
	}
	b := &netBuilder{Rand: rand.New(rand.NewPCG(seed, 0x9d9)), g: ir.New(fmt.Sprintf("%s%d", name, seed)), quant: quant,
		seed: seed * 10000, vals: map[*ir.Value][]*tensor.Dense{}, by: map[*ir.Value]params{}}
	b.acts = [][]tensor.DType{{tensor.I8}, {tensor.I8}, {tensor.I8}, {tensor.U8}, {tensor.U8}, {tensor.I8, tensor.U8},
		{tensor.I8, tensor.I8, tensor.I16}, {tensor.I16}}[b.IntN(8)]
	if b.IntN(40) == 0 {
		b.acts = []tensor.DType{tensor.U16, tensor.I8}
	}
	shape := [][]int{{1, 1 + b.IntN(6), 4 + b.IntN(5), 4 + b.IntN(5)}, {1, 1 + b.IntN(6), 4 + b.IntN(5), 4 + b.IntN(5)},
		{1 + b.IntN(2), 2 + b.IntN(6), 3 + b.IntN(8)}, {1 + b.IntN(3), 4 + b.IntN(20)}}[b.IntN(4)]
	b.input("x", shape)
	if b.IntN(4) == 0 {
		b.input("x2", shape)
	}
	var last *ir.Value
	for range 2 + b.IntN(6) {
		if v := b.stretch(b.pick()); v != nil {
			last = v
		}
	}
	if last == nil {
		last = b.pool[0]
	}
	b.output("y", last)
	if b.IntN(4) == 0 {
		if v := b.pick(); v != last {
			b.output("y2", v)
		}
	}
	b.g.RemoveDead()
	return b.g
}

// input is a graph input: float with a QuantizeLinear behind it, perhaps a
// view between them, float without one, or integers.
func (b *netBuilder) input(name string, shape []int) {
	k := b.IntN(10)
	if !b.quant {
		k = 9
	}
	if k < 2 { // integers
		p := params{[]tensor.DType{tensor.I8, tensor.U8}[b.IntN(2)], 0.01 + 0.03*b.Float64(), 0}
		lo, hi := p.t.IntRange()
		p.zero = lo + b.Int64N(hi-lo+1)
		v := b.g.AddInput(name, ir.T(p.t, shape...))
		b.sample(v)
		b.keep(b.dequantize(v, p))
		return
	}
	v := b.g.AddInput(name, ir.T(tensor.F32, shape...))
	b.sample(v)
	if k == 8 {
		if w := b.view(v); w != nil {
			v = w
		}
	}
	if k == 9 {
		b.keep(v)
		return
	}
	b.keep(b.quantised(v))
}

// sample gives an input its values.
func (b *netBuilder) sample(v *ir.Value) {
	for k := range netSamples {
		b.vals[v] = append(b.vals[v], ir.Rand(b.seed+uint64(7*k+len(b.g.In)), v.Type.DType, v.Type.Shape))
	}
}

func (b *netBuilder) keep(v *ir.Value) {
	if v != nil {
		b.pool = append(b.pool, v)
	}
}

// pick is a value to go on from: mostly one of the latest.
func (b *netBuilder) pick() *ir.Value {
	k := len(b.pool) - 1
	for k > 0 && b.IntN(5) == 0 {
		k--
	}
	return b.pool[k]
}

// like is a value of the shape of v from the pool, v itself at the worst.
func (b *netBuilder) like(v *ir.Value) *ir.Value {
	for range 4 {
		w := b.pool[b.IntN(len(b.pool))]
		if slices.Equal(w.Type.Shape, v.Type.Shape) && w != v {
			return w
		}
	}
	return v
}

// output makes v an output: as it is, or quantised.
func (b *netBuilder) output(name string, v *ir.Value) {
	if b.quant {
		if _, ok := b.by[v]; !ok && b.IntN(3) > 0 {
			v = b.quantised(v)
		}
		if v.Def != nil && v.Def.Op == op.DequantizeLinear && b.IntN(3) == 0 {
			v = v.Def.In[0] // the integers
		}
	}
	b.g.AddOutput(name, v)
}

// stretch adds operators behind v, and a QuantizeLinear where it does not lack.
func (b *netBuilder) stretch(v *ir.Value) *ir.Value {
	start := v
	for range 1 + []int{0, 0, 1, 1, 2, 3}[b.IntN(6)] {
		if w := b.operator(v); w != nil {
			v = w
			if b.IntN(6) == 0 {
				b.keep(v) // a float value with several readers
			}
		}
	}
	if v == start {
		return nil
	}
	if b.quant && b.IntN(8) > 0 {
		v = b.quantised(v)
	}
	b.keep(v)
	return v
}

// add appends a node. nil: it does not fit, or its values are of no use.
func (b *netBuilder) add(d *ir.OpDef, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	if out := b.addN(d, attrs, 1, in...); out != nil {
		return out[0]
	}
	return nil
}

func (b *netBuilder) addN(d *ir.OpDef, attrs ir.Attrs, nout int, in ...*ir.Value) []*ir.Value {
	for i, v := range in {
		if v == nil && i < d.MinIn {
			return nil
		}
	}
	b.n++
	n, err := b.g.Add(d, fmt.Sprintf("%s_%d", d.Name, b.n), attrs, nout, in...)
	if err != nil {
		return nil
	}
	n.Origin = []string{n.Name}
	if !b.evaluate(n) {
		for _, v := range n.Out {
			delete(b.vals, v)
		}
		b.g.Remove(n)
		return nil
	}
	return n.Out
}

// evaluate runs a node on the samples; false: too large, a scalar, too many or not
// finite.
func (b *netBuilder) evaluate(n *ir.Node) bool {
	for _, v := range n.Out {
		if k := v.Type.Elems(); k == 0 || k > 2000 || v.Type.Rank() == 0 && n.Op != op.QuantizeLinear &&
			n.Op != op.DequantizeLinear {
			return false
		}
	}
	for k := range netSamples {
		out, err := ir.EvalOn(n, func(v *ir.Value) *tensor.Dense { return b.vals[v][k] })
		if err != nil {
			return false
		}
		for i, v := range n.Out {
			if v.Type.DType.IsFloat() {
				for e := range out[i].Len() {
					if x := out[i].Float(e); !(math.Abs(x) <= maxMagnitude) {
						return false
					}
				}
			}
			b.vals[v] = append(b.vals[v], out[i])
		}
	}
	return true
}

// span is the range of a value on the samples.
func (b *netBuilder) span(v *ir.Value) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	data := b.vals[v]
	if v.Const != nil {
		data = []*tensor.Dense{v.Const}
	}
	for _, d := range data {
		for i := range d.Len() {
			lo, hi = math.Min(lo, d.Float(i)), math.Max(hi, d.Float(i))
		}
	}
	return lo, hi
}

// choose is a quantisation for values of a range.
func (b *netBuilder) choose(lo, hi float64, t tensor.DType) params {
	lo, hi = math.Min(lo, 0), math.Max(hi, 0)
	if hi-lo < 1e-6 {
		hi = lo + 1
	}
	switch b.IntN(12) {
	case 0: // clips
		lo, hi = lo*0.6, hi*0.5
	case 1: // far too wide
		lo, hi = lo*3, hi*4
	case 2: // the positive ones alone, as behind a Relu
		if hi > 0 {
			lo = 0
		}
	case 3:
		m := math.Max(-lo, hi)
		lo, hi = -m, m
	}
	qlo, qhi := t.IntRange()
	p := params{t: t}
	if t == tensor.I16 {
		p.scale = float64(float32(math.Max(-lo, hi) / float64(qhi)))
		if b.IntN(12) == 0 {
			p.zero = 100 - int64(b.IntN(200)) // rare, but ONNX has it
		}
		return p
	}
	p.scale = float64(float32((hi - lo) / float64(qhi-qlo)))
	if b.IntN(10) == 0 {
		p.scale = math.Exp2(math.Ceil(math.Log2(p.scale)))
	}
	p.zero = min(max(qlo-int64(math.Round(lo/p.scale)), qlo), qhi)
	if b.IntN(16) == 0 && t != tensor.U16 {
		p.zero = []int64{qlo, 0, qhi}[b.IntN(3)]
	}
	return p
}

// scaleZero are the scale and zero point of p as constants.
func (b *netBuilder) scaleZero(p params) (s, z *ir.Value) {
	d := tensor.New(p.t, nil)
	d.SetInt(0, p.zero)
	return b.g.AddConst(b.name("scale"), tensor.Scalar(float32(p.scale))), b.g.AddConst(b.name("zero"), d)
}

func (b *netBuilder) name(s string) string {
	b.n++
	return fmt.Sprintf("%s_%d", s, b.n)
}

// quantised is v through QuantizeLinear and DequantizeLinear, with what models
// have between and around them.
func (b *netBuilder) quantised(v *ir.Value) *ir.Value {
	if b.IntN(40) == 0 && v.Type.Rank() > 1 && v.Type.Shape[1] > 1 {
		return b.perChannel(v)
	}
	lo, hi := b.span(v)
	p := b.choose(lo, hi, b.acts[b.IntN(len(b.acts))])
	if v.Def != nil && b.IntN(6) == 0 { // the quantisation of the operand
		if o, ok := b.by[v.Def.In[0]]; ok {
			p = o
		}
	}
	s, z := b.scaleZero(p)
	attrs := ir.Attrs{}
	if p.zero == 0 && b.IntN(4) == 0 {
		z = nil // uint8, or what output_dtype says
		if p.t != tensor.U8 {
			attrs["output_dtype"] = ir.Int(onnxType[p.t])
		}
	}
	q := b.add(op.QuantizeLinear, attrs, v, s, z)
	if q == nil {
		return v
	}
	for b.IntN(8) == 0 {
		if w := b.view(q); w != nil {
			q = w
		}
	}
	switch b.IntN(40) {
	case 0: // read with another scale
		p.scale *= 2
	case 1: // and again, in another type
		o := b.choose(lo, hi, b.acts[b.IntN(len(b.acts))])
		d := b.dequantize(q, p)
		s, z := b.scaleZero(o)
		if r := b.add(op.QuantizeLinear, nil, d, s, z); r != nil {
			q, p = r, o
		}
	}
	d := b.dequantize(q, p)
	for b.IntN(6) == 0 { // every reader has its own
		b.keep(b.dequantize(q, p))
	}
	return d
}

// onnxType are the codes of TensorProto's data types.
var onnxType = map[tensor.DType]int{tensor.U8: 2, tensor.I8: 3, tensor.U16: 4, tensor.I16: 5}

func (b *netBuilder) dequantize(q *ir.Value, p params) *ir.Value {
	s, z := b.scaleZero(p)
	if p.zero == 0 && b.IntN(3) == 0 {
		z = nil
	}
	v := b.add(op.DequantizeLinear, nil, q, s, z)
	b.by[v] = p
	return v
}

// perChannel quantises an activation along axis 1.
func (b *netBuilder) perChannel(v *ir.Value) *ir.Value {
	k := v.Type.Shape[1]
	lo, hi := b.span(v)
	m := math.Max(-lo, hi) + 1e-3
	s := lists.Make(k, func(int) float32 { return float32(m / 127 * (0.7 + b.Float64())) })
	sv, zv := b.g.AddConst(b.name("scale"), tensor.Of([]int{k}, s)),
		b.g.AddConst(b.name("zero"), tensor.New(tensor.I8, []int{k}))
	axis := ir.Attrs{"axis": ir.Int(1)}
	q := b.add(op.QuantizeLinear, axis, v, sv, zv)
	if q == nil {
		return v
	}
	return b.add(op.DequantizeLinear, axis.Clone(), q, sv, zv)
}

// floats is a constant of seeded values times scale.
func (b *netBuilder) floats(scale float64, shape ...int) *ir.Value {
	b.seed++
	d := ir.Rand(b.seed, tensor.F32, shape)
	for i := range d.Len() {
		d.SetFloat(i, d.Float(i)*scale)
	}
	return b.g.AddConst(b.name("c"), d)
}

func (b *netBuilder) scalar(v float64) *ir.Value {
	return b.g.AddConst(b.name("k"), tensor.Scalar(float32(v)))
}

func (b *netBuilder) ints(v ...int) *ir.Value {
	return b.g.AddConst(b.name("i"), tensor.Ints(v...))
}

// number is a constant beside an activation: within its range, tiny, or far
// outside, as masks and sentinels are.
func (b *netBuilder) number() float64 {
	x := []float64{0, 1, -1, 0.5, 0.003, -0.2, 3, -7, 100, -1e3, -1e4, 12345}[b.IntN(12)]
	if b.IntN(3) == 0 {
		x = b.NormFloat64()
	}
	return x
}

// operand is the other input of an operator of two that reads v: another value of its
// shape or a constant of a shape that broadcasts.
func (b *netBuilder) operand(v *ir.Value) *ir.Value {
	if b.IntN(5) < 2 {
		return b.like(v)
	}
	shape := v.Type.Shape
	var s []int
	switch b.IntN(4) {
	case 0:
	case 1:
		s = []int{1}
	case 2: // per channel
		s = slices.Repeat([]int{1}, len(shape))
		c := min(1, len(shape)-1)
		s[c] = shape[c]
	case 3:
		s = shape
	}
	return b.constant(s, []float64{0.3, 1, 1, 5, 300}[b.IntN(5)])
}

// constant is a float constant: bare, behind DequantizeLinear, or behind a pair
// of QuantizeLinear and DequantizeLinear.
func (b *netBuilder) constant(shape []int, scale float64) *ir.Value {
	c := b.floats(scale, shape...)
	if c.Const.Len() == 1 && b.IntN(2) == 0 {
		c.Const.SetFloat(0, b.number())
	}
	if !b.quant {
		return c
	}
	lo, hi := b.span(c)
	p := b.choose(lo, hi, []tensor.DType{tensor.I8, tensor.U8}[b.IntN(2)])
	s, z := b.scaleZero(p)
	switch b.IntN(5) {
	case 0, 1: // bare
		return c
	case 2: // a pair
		if q := b.add(op.QuantizeLinear, nil, c, s, z); q != nil {
			return b.dequantize(q, p)
		}
		return c
	}
	q := ir.QuantiseEven(c.Const, c.Type.WithQuant(p.t, ir.PerTensor(float32(p.scale), int32(p.zero))))
	return b.dequantize(b.g.AddConst(b.name("q"), q), p)
}
