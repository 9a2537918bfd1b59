// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// sensor is a drawn classifier of what sensors in units of their own give.
type sensor struct {
	*rand.Rand
	channels, steps, classes int
	unit, offset             []float64     // of each channel
	amp, freq                [][]float64   // of each class and channel
	flags                    int           // the last channels are 0 or 1
	norm                     normalisation // how the model begins
	readout                  *tensor.Dense // weights of the last layer; nil: the features leave the graph
}

// normalisation is how a model brings channels to one range.
type normalisation struct {
	name  string
	build func(b *builder, s *sensor) *ir.Value // what the first layer reads: [1, channels, 1, steps]
	flat  bool                                  // [1, channels]
	gru   bool                                  // a GRU reads it
	one   bool                                  // a channel
	real  bool                                  // it stays float
	never bool                                  // the last flag is never set
}

// along is a constant with a number for each channel, of shape [channels, 1, 1], or [channels].
func (s *sensor) along(b *builder, flat bool, f func(c int) float64) *ir.Value {
	d := tensor.New(tensor.F32, []int{s.channels, 1, 1})
	if flat {
		d = tensor.New(tensor.F32, []int{s.channels})
	}
	for c := range s.channels {
		d.SetFloat(c, f(c))
	}
	return b.g.AddConst(fmt.Sprintf("k%d", len(b.g.Nodes)), d)
}

func (s *sensor) mean(c int) float64 { return s.offset[c] }
func (s *sensor) std(c int) float64  { return s.unit[c] }

// ints is a constant list.
func ints(b *builder, v ...int64) *ir.Value {
	return b.g.AddConst(fmt.Sprintf("i%d.%d", len(b.g.Nodes), len(b.g.In)), tensor.Of([]int{len(v)}, v))
}

func (s *sensor) input(b *builder, name string, channels int) *ir.Value {
	return b.g.AddInput(name, ir.T(tensor.F32, 1, channels, 1, s.steps))
}

// standard subtracts the mean and divides by the deviation.
func (s *sensor) standard(b *builder, x *ir.Value, flat bool) *ir.Value {
	return b.add("Div", nil, b.add("Sub", nil, x, s.along(b, flat, s.mean)), s.along(b, flat, s.std))
}

var normalisations = []normalisation{
	{name: "Sub, Div", build: func(b *builder, s *sensor) *ir.Value {
		return s.standard(b, s.input(b, "x", s.channels), false)
	}},
	{name: "Mul, Add", build: func(b *builder, s *sensor) *ir.Value {
		scale := s.along(b, false, func(c int) float64 { return 1 / s.unit[c] })
		m := b.add("Mul", nil, s.input(b, "x", s.channels), scale)
		return b.add("Add", nil, m, s.along(b, false, func(c int) float64 { return -s.offset[c] / s.unit[c] }))
	}},
	{name: "BatchNormalization", build: func(b *builder, s *sensor) *ir.Value {
		one := func(float64) func(int) float64 { return func(int) float64 { return 1 } }
		return b.add("BatchNormalization", nil, s.input(b, "x", s.channels), s.along(b, true, one(1)),
			s.along(b, true, func(int) float64 { return 0 }), s.along(b, true, s.mean),
			s.along(b, true, func(c int) float64 { return s.unit[c] * s.unit[c] }))
	}},
	{name: "Gather", build: func(b *builder, s *sensor) *ir.Value {
		var order []int64
		for c := range s.channels {
			order = append(order, int64(s.channels-1-c))
		}
		x := b.add("Gather", ir.Attrs{"axis": ir.Int(1)}, s.input(b, "x", s.channels), ints(b, order...))
		back := func(f func(int) float64) func(int) float64 {
			return func(c int) float64 { return f(s.channels - 1 - c) }
		}
		return b.add("Div", nil, b.add("Sub", nil, x, s.along(b, false, back(s.mean))), s.along(b, false, back(s.std)))
	}},
	{name: "Concat of inputs", build: func(b *builder, s *sensor) *ir.Value {
		x, y := s.input(b, "x", 2), s.input(b, "y", s.channels-2)
		return s.standard(b, b.add("Concat", ir.Attrs{"axis": ir.Int(1)}, x, y), false)
	}},
	{name: "channels last", build: func(b *builder, s *sensor) *ir.Value {
		x := b.g.AddInput("x", ir.T(tensor.F32, 1, 1, s.steps, s.channels))
		return b.add("Transpose", ir.Attrs{"perm": ir.Ints(0, 3, 1, 2)}, s.standard(b, x, true))
	}},
	{name: "one sensor", one: true, build: func(b *builder, s *sensor) *ir.Value {
		return s.standard(b, s.input(b, "x", s.channels), false)
	}},
	{name: "table", flat: true, build: func(b *builder, s *sensor) *ir.Value {
		return s.standard(b, b.g.AddInput("x", ir.T(tensor.F32, 1, s.channels)), true)
	}},
	{name: "Sub, Mul, Clip", build: func(b *builder, s *sensor) *ir.Value {
		x := b.add("Sub", nil, s.input(b, "x", s.channels), s.along(b, false, s.mean))
		bounds := ir.Attrs{"act_min": ir.Float(-2), "act_max": ir.Float(2)}
		return b.add("Mul", bounds, x, s.along(b, false, func(c int) float64 { return 1 / s.unit[c] }))
	}},
	{name: "GRU", gru: true, build: func(b *builder, s *sensor) *ir.Value {
		return s.standard(b, s.input(b, "x", s.channels), false)
	}},
	{name: "GRU, Concat of inputs", gru: true, build: func(b *builder, s *sensor) *ir.Value {
		x, y := s.input(b, "x", 2), s.input(b, "y", s.channels-2)
		return s.standard(b, b.add("Concat", ir.Attrs{"axis": ir.Int(1)}, x, y), false)
	}},
	{name: "in the weights", build: nil},
	{name: "in the weights, table", flat: true, build: nil},
	{name: "in the weights, a flag that is never set", flat: true, never: true, build: nil},
}

func drawSensor(seed uint64, n normalisation) *sensor {
	s := &sensor{Rand: rand.New(rand.NewPCG(seed, 7)), channels: 6, steps: 64, classes: 5, norm: n}
	if n.one {
		s.channels = 1
	}
	if n.flat {
		s.steps, s.flags = 1, 2
	}
	for c := range s.channels {
		s.unit = append(s.unit, math.Pow(10, s.Float64()*6-3))
		s.offset = append(s.offset, s.unit[c]*math.Round(math.Exp(s.Float64()*6)))
		if n.flat && c >= s.channels-s.flags {
			s.unit[c], s.offset[c] = 1, 0
		}
	}
	for range s.classes {
		var a, f []float64
		for range s.channels {
			a, f = append(a, 0.3+1.5*s.Float64()), append(f, 1+12*s.Float64())
		}
		s.amp, s.freq = append(s.amp, a), append(s.freq, f)
	}
	return s
}

// sample is what the sensors give of a class, [channels, steps], in their units.
func (s *sensor) sample(class int) []float64 {
	var x []float64
	for c := range s.channels {
		phase := s.Float64() * 2 * math.Pi
		for i := range s.steps {
			v := s.amp[class][c] * math.Sin(2*math.Pi*s.freq[class][c]*float64(i)/float64(s.steps)+phase)
			if s.steps == 1 {
				v = s.amp[class][c]*4 - 4 + s.freq[class][c]/8
			}
			if v += 0.25 * s.NormFloat64(); s.flags > 0 && c >= s.channels-s.flags {
				v = float64((class >> (c % 2)) & 1)
			}
			if s.norm.never && c == s.channels-1 {
				v = 0
			}
			x = append(x, v*s.unit[c]+s.offset[c])
		}
	}
	return x
}

// inputs are a sample as the graph takes it.
func (s *sensor) inputs(g *ir.Graph, x []float64) quant.Sample {
	var out quant.Sample
	at := 0
	for _, v := range g.In {
		d := tensor.New(tensor.F32, v.Type.Shape)
		last := v.Type.Shape[len(v.Type.Shape)-1] == s.channels && len(v.Type.Shape) == 4 && s.steps > 1
		for i := range d.Len() {
			k := at + i
			if last {
				k = i%s.channels*s.steps + i/s.channels
			}
			d.SetFloat(i, x[k])
		}
		at += d.Len()
		out = append(out, d)
	}
	return out
}

// graph is the network: what the model begins with, a layer with drawn weights, the mean over time
// where there is one, and the readout.
func (s *sensor) graph(t *testing.T, seed uint64) *ir.Graph {
	b := newBuilder(t, seed)
	const width = 24
	var x *ir.Value
	shape := []int{width, s.channels, 1, 5}
	pads := ir.Ints(0, 2, 0, 2)
	if s.norm.flat {
		shape = []int{s.channels, width}
	}
	w := b.normal(1/math.Sqrt(float64(s.channels)), shape...)
	bias := b.normal(0.3, width)
	if s.norm.build != nil {
		x = s.norm.build(b, s)
	} else { // as folded into the weights
		x = b.g.AddInput("x", ir.T(tensor.F32, 1, s.channels))
		if !s.norm.flat {
			b.g.In = nil
			x, pads = s.input(b, "x", s.channels), ir.Ints(0, 0, 0, 0)
		}
		for i := range w.Const.Len() {
			c, o := i/5%s.channels, i/5/s.channels
			if s.norm.flat {
				c, o = i/width, i%width
			}
			f := w.Const.Float(i) / s.unit[c]
			w.Const.SetFloat(i, f)
			bias.Const.SetFloat(o, bias.Const.Float(o)-f*s.offset[c])
		}
	}
	switch {
	case s.norm.flat:
		x = b.add("Relu", nil, b.add("Gemm", nil, x, w, bias))
	case s.norm.gru:
		x = b.add("Transpose", ir.Attrs{"perm": ir.Ints(2, 0, 1)}, b.add("Reshape", nil, x,
			ints(b, 1, int64(s.channels), int64(s.steps))))
		x = b.add("GRU", ir.Attrs{"hidden_size": ir.Int(width)}, x, b.normal(0.8, 1, 3*width, s.channels),
			b.normal(0.2, 1, 3*width, width))
		x = b.add("ReduceMean", nil, b.add("Abs", nil, x), ints(b, 0, 1))
		x = b.add("Reshape", nil, x, ints(b, 1, width))
	default:
		x = b.add("Relu", nil, b.add("Conv", ir.Attrs{"pads": pads}, x, w, bias))
		x = b.add("Reshape", nil, b.add("GlobalAveragePool", nil, x), ints(b, 1, width))
	}
	if s.readout != nil {
		x = b.add("Gemm", nil, x, b.g.AddConst("readout", s.readout))
	}
	b.g.AddOutput("y", x)
	return b.g
}

// learn is the readout of features by logistic regression.
func (s *sensor) learn(features [][]float64, labels []int) *tensor.Dense {
	n := len(features[0])
	w := make([]float64, n*s.classes)
	for range 400 {
		step := make([]float64, len(w))
		for i, f := range features {
			p, sum := make([]float64, s.classes), 0.0
			for k := range p {
				for j, x := range f {
					p[k] += x * w[j*s.classes+k]
				}
				p[k] = math.Exp(p[k])
				sum += p[k]
			}
			for k := range p {
				e := p[k] / sum
				if k == labels[i] {
					e--
				}
				for j, x := range f {
					step[j*s.classes+k] += e * x
				}
			}
		}
		for i := range w {
			w[i] -= step[i] * 2 / float64(len(features))
		}
	}
	return tensor.FromFloats(tensor.F32, []int{n, s.classes}, w)
}

// right is how many samples of a hundred a graph gets right.
func (s *sensor) right(t *testing.T, g *ir.Graph, in []quant.Sample, labels []int) float64 {
	n := 0
	for i, x := range in {
		var typed []*tensor.Dense
		for k, v := range g.In {
			d := x[k]
			if v.Type.Quant != nil {
				d = ir.QuantiseEven(d, v.Type)
			}
			typed = append(typed, d)
		}
		if first(irtest.Run(t, g, typed)[0]) == labels[i] {
			n++
		}
	}
	return 100 * float64(n) / float64(len(in))
}

// TestMixedUnits: networks on sensors in units of their own, however the model brings them to one
// range, are within two points of float in int8, and their inputs are int8.
func TestMixedUnits(t *testing.T) {
	for i, n := range normalisations {
		t.Run(n.name, func(t *testing.T) { mixedUnits(t, uint64(i+1), n) })
	}
}

// mixedUnits holds a drawn network in int8 against float.
func mixedUnits(t *testing.T, seed uint64, n normalisation) {
	s := drawSensor(seed, n)
	g := s.graph(t, seed)
	draw := func(g *ir.Graph, n int) (in []quant.Sample, labels []int) {
		for i := range n {
			in, labels = append(in, s.inputs(g, s.sample(i%s.classes))), append(labels, i%s.classes)
		}
		return in, labels
	}
	in, labels := draw(g, 100)
	features := lists.Map(in, func(x quant.Sample) []float64 { return irtest.Run(t, g, x)[0].Floats() })
	s.readout = s.learn(features, labels)
	g = s.graph(t, seed)
	test, want := draw(g, 250)
	float := s.right(t, g, test, want)

	for _, wide := range []tensor.DType{tensor.I8, tensor.I16} {
		s.integers(t, g, in, test, want, float, wide)
	}
}

// integers holds a network with data of a type against float.
func (s *sensor) integers(t *testing.T, g *ir.Graph, in, test []quant.Sample, want []int, float float64,
	typ tensor.DType) {
	opt := quant.Options{Samples: in, BiasCorrection: true, Try: quant.Trial{Bias: true}}
	if typ == tensor.I16 {
		opt.Layer = func(*ir.Node) quant.Layer { return quant.Int16x8 }
	}
	p := g.Clone()
	testenv.OK(t, quant.ScaleBorders(p, opt))
	irtest.Verify(t, p)
	for _, x := range test[:5] {
		a, b := irtest.Run(t, g, x)[0], irtest.Run(t, p, x)[0]
		for k := range a.Len() {
			if d := math.Abs(a.Float(k) - b.Float(k)); d > 2e-3*(1+math.Abs(a.Float(k))) {
				t.Fatalf("output %d is %g, was %g before inputs were scaled\n%s", k, b.Float(k), a.Float(k), p)
			}
		}
	}
	q, _, err := quant.Calibrate(p, opt)
	testenv.OK(t, err)
	testenv.OK(t, quant.Integer(q, quant.IntegerOptions{}))
	irtest.Verify(t, q)
	for _, v := range q.In {
		testenv.Check(t, s.norm.real || v.Type.DType == typ, "input %s is %s, want %s\n%s", v.Name, v.Type, typ, p)
	}
	got := s.right(t, q, test, want)
	testenv.Check(t, !(float < 60) && !(got < float-2), "%s gets %.1f %% right, float %.1f %%\n%s", typ, got, float, p)
}

// TestMissing: where a model puts numbers in the place of NaN, calibration data may hold it, with
// units of any kind, and the integer program does the same.
func TestMissing(t *testing.T) {
	const src = `graph "imputes" {
  in %%x : f32[1,6]
  const %%u : f32[1,6] = rand %d
  const %%k : f32[] = {%g}
  const %%w : f32[6,4] = rand 3
  const %%v : f32[4,4] = rand 4
  %%mean = Mul(%%u, %%k)
  %%m = IsNaN(%%x)
  %%f = Where(%%m, %%mean, %%x)
  %%h = MatMul(%%f, %%w)
  %%a = Tanh(%%h)
  %%y = MatMul(%%a, %%v)
  out "y" = %%y
}`
	for seed := range uint64(6) {
		g := irtest.Parse(t, fmt.Sprintf(src, seed, math.Pow(10, float64(seed)-3)))
		dir, r := t.TempDir(), rand.New(rand.NewPCG(seed, 1))
		all := ramp(t, 64, 1, 6)
		for i, x := 0, all.Data.([]float32); i < len(x); i++ {
			if x[i] = float32(r.NormFloat64()); r.IntN(4) == 0 {
				x[i] = float32(math.NaN())
			}
		}
		s := testenv.Must(readSamples([]string{writeNpy(t, all, dir, "x.npy")}, g.In, npz.Limits{}))(t)
		p := g.Clone()
		opt := quant.Options{Samples: s[:32], Inputs: true}
		testenv.OK(t, quant.ScaleBorders(p, opt))
		q, _ := quantised(t, p, opt)
		var want, got []float64
		for _, in := range s[32:] {
			want = append(want, irtest.Run(t, g, in)[0].Floats()...)
			got = append(got, runInteger(t, q, in)[0].Floats()...)
		}
		db := ratio(want, got)
		testenv.Check(t, db > 15, "seed %d: %.1f dB\n%s", seed, db, q)
	}
}
