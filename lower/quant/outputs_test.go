// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// regression is a drawn network of which outputs have units of their own.
type regression struct {
	*builder
	x *ir.Value // 24 features [1,24], or [1,24,1,9] of a convolution
}

// units are numbers far apart, one for each output channel.
func (r *regression) units(n int) (unit, offset []float64) {
	for i := range n {
		unit = append(unit, math.Pow(10, float64(i*7%n)*5/float64(max(n-1, 1))-2+r.r.Float64()*0.5))
		offset = append(offset, unit[i]*10*(r.r.Float64()-0.3))
	}
	return unit, offset
}

func (r *regression) constant(v []float64, shape ...int) *ir.Value {
	return r.g.AddConst("u", tensor.FromFloats(tensor.F32, shape, v))
}

// dense is a layer of which channel i has the given unit and offset.
func (r *regression) dense(x *ir.Value, unit, offset []float64) *ir.Value {
	n, k := len(unit), x.Type.Shape[x.Type.Rank()-1]
	w := r.normal(1/math.Sqrt(float64(k)), n, k)
	for i := range w.Const.Len() {
		w.Const.SetFloat(i, w.Const.Float(i)*unit[i/k])
	}
	return r.add("Gemm", ir.Attrs{"transB": ir.Int(1)}, x, w, r.constant(offset, n))
}

func (r *regression) denormal(y *ir.Value, unit, offset []float64, shape ...int) *ir.Value {
	return r.add("Add", nil, r.add("Mul", nil, y, r.constant(unit, shape...)), r.constant(offset, shape...))
}

var regressions = []struct {
	name  string
	build func(r *regression) *ir.Value // [1,n] or with channels along axis
	axis  int
	image bool
}{
	{"in the weights", func(r *regression) *ir.Value { u, o := r.units(4); return r.dense(r.x, u, o) }, 1, false},
	{"Mul, Add", func(r *regression) *ir.Value {
		u, o := r.units(3)
		return r.denormal(r.builder.dense(r.x, 3), u, o, 3)
	}, 1, false},
	{"Concat of heads", func(r *regression) *ir.Value {
		u, o := r.units(4)
		return r.add("Concat", ir.Attrs{"axis": ir.Int(1)}, r.dense(r.x, u[:1], o[:1]), r.dense(r.x, u[1:], o[1:]))
	}, 1, false},
	{"Relu", func(r *regression) *ir.Value {
		u, _ := r.units(4)
		y := r.dense(r.x, u, make([]float64, 4))
		y.Def.Attrs["act_min"] = ir.Float(0)
		return y
	}, 1, false},
	{"forecast", func(r *regression) *ir.Value {
		u, o := r.units(3)
		return r.denormal(r.add("Reshape", nil, r.builder.dense(r.x, 15), ints(r.builder, 1, 5, 3)), u, o, 3)
	}, 2, false},
	{"MatMul", func(r *regression) *ir.Value {
		u, o := r.units(4)
		x := r.add("Reshape", nil, r.x, ints(r.builder, 1, 3, 8))
		return r.denormal(r.add("MatMul", nil, x, r.normal(0.3, 8, 4)), u, o, 4)
	}, 2, false},
	{"map", func(r *regression) *ir.Value {
		u, o := r.units(4)
		w := r.normal(0.2, 4, 24, 1, 3)
		for i := range w.Const.Len() {
			w.Const.SetFloat(i, w.Const.Float(i)*u[i/72])
		}
		return r.add("Conv", nil, r.x, w, r.constant(o, 4))
	}, 1, true},
	{"channels last", func(r *regression) *ir.Value {
		u, o := r.units(4)
		y := r.add("Conv", nil, r.x, r.normal(0.2, 4, 24, 1, 1), r.constant(make([]float64, 4), 4))
		return r.denormal(r.add("Transpose", ir.Attrs{"perm": ir.Ints(0, 2, 3, 1)}, y), u, o, 4)
	}, 3, true},
	{"Sigmoid of a range", func(r *regression) *ir.Value {
		u, o := r.units(4)
		return r.denormal(r.add("Sigmoid", nil, r.builder.dense(r.x, 4)), u, o, 4)
	}, 1, false},
	{"boxes beside scores", func(r *regression) *ir.Value {
		box := r.add("Mul", nil, r.add("Sigmoid", nil, r.add("Conv", nil, r.x, r.normal(0.2, 4, 24, 1, 1))),
			r.constant([]float64{10, 20, 30, 60, 90, 120, 200, 250, 300}, 9))
		score := r.add("Sigmoid", nil, r.add("Conv", nil, r.x, r.normal(0.2, 6, 24, 1, 1)))
		return r.add("Concat", ir.Attrs{"axis": ir.Int(1)}, box, score)
	}, 1, true},
	{"far from zero", func(r *regression) *ir.Value {
		return r.dense(r.x, []float64{30}, []float64{100000})
	}, 1, false},
}

func (r *regression) graph(of func(*regression) *ir.Value, image bool) *ir.Graph {
	shape := []int{1, 12}
	if image {
		shape = []int{1, 12, 1, 9}
	}
	x := r.g.AddInput("x", ir.T(tensor.F32, shape...))
	if image {
		r.x = r.add("Relu", nil, r.conv(x, 24, 1, 1, nil))
	} else {
		r.x = r.add("Relu", nil, r.builder.dense(x, 24))
	}
	r.g.AddOutput("y", of(r))
	return r.g
}

func (b *builder) samples(n int) (list []quant.Sample) {
	for range n {
		var s quant.Sample
		for _, v := range b.g.In {
			d := tensor.New(tensor.F32, v.Type.Shape)
			for i := range d.Len() {
				d.SetFloat(i, b.r.NormFloat64())
			}
			s = append(s, d)
		}
		list = append(list, s)
	}
	return list
}

// TestMixedOutputs: every channel of an output of mixed units has a signal, however the model makes
// them, and outputs are integers. Layers of 16 bits have one scale for all weights.
func TestMixedOutputs(t *testing.T) {
	for i, k := range regressions {
		for least, as := range map[float64]quant.Layer{20: quant.Int8, 13: quant.Int16x8} {
			t.Run(fmt.Sprint(k.name, as.Data), func(t *testing.T) {
				r := &regression{builder: newBuilder(t, uint64(i))}
				g := r.graph(k.build, k.image)
				db, q := r.channels(g, as, k.axis)
				if y := q.Out[0].Type; y.DType != as.Data && (as == quant.Int8 || !y.DType.IsFloat()) {
					t.Fatalf("the output is %s, want %s\n%s", y, as.Data, q)
				}
				testenv.Check(t, !(slices.Min(db) < least), "the channels have %.1f dB\n%s", db, q)
			})
		}
	}
}

// channels is the signal-to-noise ratio of every channel of the output in a precision, and the program.
func (r *regression) channels(g *ir.Graph, as quant.Layer, axis int) (db []float64, q *ir.Graph) {
	samples := r.samples(300)
	opt := quant.Options{Samples: samples[:270], Inputs: true, BiasCorrection: true, Try: quant.Trial{Bias: true},
		Layer: func(*ir.Node) quant.Layer { return as }}
	p := g.Clone()
	testenv.OK(r.t, quant.ScaleBorders(p, opt))
	irtest.Verify(r.t, p)
	q, _, err := quant.Calibrate(p, opt)
	testenv.OK(r.t, err)
	testenv.OK(r.t, quant.Integer(q, quant.IntegerOptions{}))
	irtest.Verify(r.t, q)
	shape := g.Out[0].Type.Shape
	n := shape[axis]
	want, got := make([][]float64, n), make([][]float64, n)
	for _, s := range samples[270:] {
		a, b, z := irtest.Run(r.t, g, s)[0], irtest.Run(r.t, p, s)[0], runInteger(r.t, q, s)[0]
		for e := range a.Len() {
			c := e / tensor.Count(shape[axis+1:]) % n
			want[c], got[c] = append(want[c], a.Float(e)), append(got[c], z.Float(e))
			if d := math.Abs(a.Float(e) - b.Float(e)); d > 1e-4*(1+math.Abs(a.Float(e))) {
				r.t.Fatalf("channel %d is %g, was %g before outputs were scaled", c, b.Float(e), a.Float(e))
			}
		}
	}
	for c := range n {
		db = append(db, ratio(centred(want[c], want[c]), centred(got[c], want[c])))
	}
	return db, q
}

// centred is x less the mean of y.
func centred(x, y []float64) []float64 {
	mean := 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	return lists.Each(x, func(v float64) float64 { return v - mean })
}

// TestClassesKeepOneScale: the largest of an output's integers is the largest of its classes.
func TestClassesKeepOneScale(t *testing.T) {
	for seed := range uint64(20) {
		r := &regression{builder: newBuilder(t, seed)}
		g := r.graph(func(r *regression) *ir.Value {
			b := make([]float64, 6)
			b[0], b[1+seed%5] = -8, float64(seed) // one that is hardly ever found, one that is often
			return r.dense(r.x, []float64{0.3, 3, 2, 5, 4, 3}, b)
		}, false)

		testenv.OK(t, quant.ScaleBorders(g, quant.Options{Samples: r.samples(32)}))
		testenv.Check(t, g.Out[0].Def.Op != op.ChannelAffine, "seed %d: an output of classes got scales\n%s", seed, g)
	}
}

// TestLogarithms: a Log of what sensors give keeps the signal, whatever its range.
func TestLogarithms(t *testing.T) {
	for seed := range uint64(6) {
		b := newBuilder(t, seed)
		x := b.g.AddInput("x", ir.T(tensor.F32, 1, 8))
		y := x
		if seed%2 > 0 {
			y = b.add("Add", nil, x, b.g.AddConst("one", tensor.Scalar(float32(1))))
		}
		b.g.AddOutput("y", b.dense(b.add("Tanh", nil, b.dense(b.add("Log", nil, y), 24)), 4))
		samples := b.samples(60)
		for _, s := range samples {
			for i := range s[0].Len() {
				s[0].SetFloat(i, math.Exp(float64(1+seed)*max(-2, min(s[0].Float(i), 2))))
			}
		}
		g := b.g.Clone()
		opt := quant.Options{Samples: samples[:40]}
		testenv.OK(t, quant.ScaleBorders(b.g, opt))
		q, _ := quantised(t, b.g, opt)
		var want, got []float64
		for _, s := range samples[40:] {
			want = append(want, irtest.Run(t, g, s)[0].Floats()...)
			got = append(got, runInteger(t, q, s)[0].Floats()...)
		}
		db := ratio(want, got)
		testenv.Check(t, !(db < 20), "seed %d: %.1f dB\n%s", seed, db, q)
	}
}
