// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// builder makes small float graphs for tests.
type builder struct {
	t testing.TB
	g *ir.Graph
	r *rand.Rand
}

func newBuilder(t testing.TB, seed uint64) *builder {
	return &builder{t, ir.New("g"), rand.New(rand.NewPCG(seed, 7))}
}

func (b *builder) normal(scale float64, shape ...int) *ir.Value {
	d := tensor.New(tensor.F32, shape)
	for i := range d.Len() {
		d.SetFloat(i, b.r.NormFloat64()*scale)
	}
	return b.g.AddConst("c", d)
}

func (b *builder) add(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	b.t.Helper()
	n, err := b.g.Add(op.Get("", name), strings.ToLower(name), attrs, 1, in...)
	if err != nil {
		b.t.Fatal(err)
	}
	return n.Out[0]
}

// conv is a k x k convolution to c channels that keeps the variance.
func (b *builder) conv(x *ir.Value, c, k, group int, attrs ir.Attrs) *ir.Value {
	if attrs == nil {
		attrs = ir.Attrs{}
	}
	in := x.Type.Shape[1] / group
	attrs["group"] = ir.Int(group)
	attrs["pads"] = ir.Ints(k/2, k/2, k/2, k/2)
	return b.add("Conv", attrs, x, b.normal(1/math.Sqrt(float64(in*k*k)), c, in, k, k), b.normal(0.1, c))
}

func (b *builder) dense(x *ir.Value, n int) *ir.Value {
	k := x.Type.Shape[len(x.Type.Shape)-1]
	return b.add("Gemm", ir.Attrs{"transB": ir.Int(1)}, x, b.normal(1/math.Sqrt(float64(k)), n, k), b.normal(0.1, n))
}

// samples are n seeded sets of normal inputs.
func samples(g *ir.Graph, n int, seed uint64) []quant.Sample {
	r := rand.New(rand.NewPCG(seed, 99))
	out := make([]quant.Sample, n)
	for i := range out {
		for _, v := range g.In {
			d := tensor.New(v.Type.DType, v.Type.Shape)
			for e := range d.Len() {
				d.SetFloat(e, r.NormFloat64())
			}
			out[i] = append(out[i], d)
		}
	}
	return out
}

// randomNet is a random network of the operators that have integer forms.
func randomNet(t testing.TB, seed uint64) *ir.Graph {
	b := newBuilder(t, seed)
	x := b.g.AddInput("x", ir.T(tensor.F32, 1, 4, 8, 8))
	pool := []*ir.Value{x}
	pick := func() *ir.Value { return pool[len(pool)-1-b.r.IntN(min(3, len(pool)))] }
	relu := func() ir.Attrs {
		a := ir.Attrs{}
		switch b.r.IntN(3) {
		case 0:
			a["act_min"] = ir.Float(0)
		case 1:
			a["act_min"], a["act_max"] = ir.Float(0), ir.Float(3)
		}
		return a
	}
	scalar := func(f float32) *ir.Value { return b.g.AddConst("k", tensor.Scalar(f)) }
	for range 10 {
		x := pick()
		c := x.Type.Shape[1]
		var y *ir.Value
		switch b.r.IntN(16) {
		case 0, 1:
			y = b.conv(x, 4, 3, 1, relu())
		case 2:
			y = b.conv(x, c, 3, c, relu())
		case 3:
			y = b.add("Add", relu(), x, b.conv(pick(), c, 1, 1, nil))
		case 4:
			y = b.add("Concat", ir.Attrs{"axis": ir.Int(1)}, x, b.conv(pick(), 2, 1, 1, relu()))
		case 5:
			y = b.add("MaxPool", ir.Attrs{"kernel_shape": ir.Ints(3, 3), "pads": ir.Ints(1, 1, 1, 1)}, x)
		case 6:
			y = b.add("AveragePool", ir.Attrs{"kernel_shape": ir.Ints(3, 3), "pads": ir.Ints(1, 1, 1, 1)}, x)
		case 7:
			y = b.add("Mul", nil, x, b.add("Sigmoid", nil, b.conv(x, c, 1, 1, nil)))
		case 8:
			y = b.add([]string{"HardSwish", "Tanh", "LeakyRelu", "Relu", "Elu"}[b.r.IntN(5)], nil, x)
		case 9:
			y = b.add("Add", nil, x, b.normal(1, 1, c, 1, 1))
		case 10:
			y = b.add("Mul", nil, x, scalar(float32(b.r.NormFloat64())))
		case 11:
			y = b.add("Transpose", ir.Attrs{"perm": ir.Ints(0, 1, 3, 2)}, x)
		case 12:
			y = b.add("Sub", nil, x, b.conv(pick(), c, 1, 1, nil))
		case 13:
			y = b.add("Min", nil, x, scalar(1.5))
		case 14:
			y = b.add("PRelu", nil, x, b.normal(0.3, c, 1, 1))
		case 15:
			y = b.add("Slice", nil, x, b.g.AddConst("s", tensor.Ints(0)), b.g.AddConst("e", tensor.Ints(max(c/2, 1))),
				b.g.AddConst("a", tensor.Ints(1)))
		}
		pool = append(pool, y)
	}
	last := pool[len(pool)-1]
	if last.IsInput() {
		last = b.conv(last, 4, 1, 1, nil)
	}
	flat := b.add("Flatten", nil, b.add("GlobalAveragePool", nil, b.conv(last, 8, 3, 1, relu())))
	b.g.AddOutput("map", last)
	b.g.AddOutput("p", b.add("Softmax", nil, b.dense(flat, 6)))
	b.g.RemoveDead()
	irtest.Verify(t, b.g)
	return b.g
}

// TestRandomGraphs: calibrated random networks become integer throughout, and
// compute nearly what the float network computes.
func TestRandomGraphs(t *testing.T) {
	for seed := range uint64(40) {
		g := randomNet(t, seed)
		s := samples(g, 6, seed)
		o := quant.Options{Samples: s, Method: option.Method(seed % 2), BiasCorrection: seed%3 == 0,
			Equalize: seed%5 == 0}
		qdq := g.Clone()
		testenv.OK(t, testenv.Err(quant.Insert(qdq, o)))
		for _, n := range qdq.Nodes { // quantize writes this graph
			if used := func(v *ir.Value) bool { return len(v.Uses()) > 0 || qdq.IsOutput(v) }; !slices.ContainsFunc(
				n.Out, used) {
				t.Errorf("seed %d: nothing reads %s", seed, n)
			}
		}
		q, r := quantised(t, g, o)
		for _, n := range q.Nodes {
			testenv.Check(t, n.Quantised(), "seed %d: %s stays float\n%s", seed, n, q)
		}
		for i, in := range samples(g, 3, seed) { // the calibration inputs: nothing clips much
			want := irtest.Run(t, g, in)
			got := runInteger(t, q, in)
			for k := range want {
				if db := ratio(want[k].Floats(), got[k].Floats()); db < 14 {
					t.Errorf("seed %d, sample %d, output %s: %.1f dB (report %.1f)\n%s", seed, i, g.OutNames[k], db,
						r.SQNR, g)
				}
			}
		}
	}
}

// TestIntegerIsSimulated: the integer program and the float graph with Q/DQ
// nodes differ by the rounding of single layers only.
func TestIntegerIsSimulated(t *testing.T) {
	for seed := range uint64(10) {
		g := randomNet(t, 100+seed)
		s := samples(g, 4, seed)
		qdq := g.Clone()
		testenv.OK(t, testenv.Err(quant.Insert(qdq, quant.Options{Samples: s})))
		q, _ := quantised(t, g, quant.Options{Samples: s})
		want, got := irtest.Run(t, qdq, s[0]), runInteger(t, q, s[0])
		for k := range want {
			if db := ratio(want[k].Floats(), got[k].Floats()); db < 24 {
				t.Errorf("seed %d, output %s: %.1f dB\n%s", seed, g.OutNames[k], db, q)
			}
		}
	}
}

// TestDeterministic: neither the number of cores nor a second run changes a bit.
func TestDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	g := randomNet(t, 3)
	s := samples(g, 7, 3)
	for _, m := range []option.Method{option.MSE, option.MinMax, option.Percentile, option.Entropy} {
		var first, report string
		for _, procs := range []int{1, 4, 2} {
			runtime.GOMAXPROCS(procs)
			q := g.Clone()
			r, err := quant.Insert(q, quant.Options{Samples: s, Method: m, BiasCorrection: true, Equalize: true})
			testenv.OK(t, err)
			rep := testenv.Must(json.Marshal(r))(t)
			if text := q.String(); first == "" {
				first, report = text, string(rep)
			} else if text != first || string(rep) != report {
				t.Errorf("%s: result differs with %d cores", m, procs)
			}
		}
	}
}

// typesOf are the quantised types of the integer graph's values by name.
func typesOf(q *ir.Graph) map[string]ir.Type {
	m := map[string]ir.Type{}
	for _, v := range q.In {
		m[v.Name] = v.Type
	}
	for _, n := range q.Nodes {
		for _, v := range n.Out {
			m[strings.TrimSuffix(v.Name, ".1")] = v.Type
		}
	}
	return m
}

// TestSharedAndFixed: kernels that need it get one quantisation, functions with
// a range of their own theirs, and activations start at -128 after Relu.
func TestSharedAndFixed(t *testing.T) {
	g := irtest.Parse(t, `graph "g" {
  in %x : f32[1,4,8,8]
  %r : f32[1,4,8,8] = Relu(%x)
  %m : f32[1,4,8,8] = MaxPool(%r) {kernel_shape=[3,3], pads=[1,1,1,1]}
  %a : f32[1,4,8,8] = AveragePool(%m) {kernel_shape=[3,3], pads=[1,1,1,1]}
  %t : f32[1,4,8,8] = Transpose(%a) {perm=[0,1,3,2]}
  %s : f32[1,4,8,8] = Sigmoid(%t)
  %h : f32[1,4,8,8] = Tanh(%t)
  %p : f32[1,4,8,8] = Softmax(%t)
  %l : f32[1,4,8,8] = LogSoftmax(%t)
  %c : f32[1,8,8,8] = Concat(%s, %p) {axis=1}
  out "c" = %c
  out "h" = %h
  out "l" = %l
}
`)
	q, _ := quantised(t, g, quant.Options{Samples: samples(g, 4, 1)})
	ty := typesOf(q)
	for _, v := range []string{"m", "a", "t"} {
		testenv.Check(t, ty[v].Quant.Equal(ty["r"].Quant), "%s is %s, r %s: want the same", v, ty[v], ty["r"])
	}
	testenv.Equal(t, ty["r"].Quant.Zero[0], -128, "zero point after Relu")
	for v, want := range map[string]*ir.Quant{"s": ir.PerTensor(1.0/256, -128), "p": ir.PerTensor(1.0/256, -128),
		"c": ir.PerTensor(1.0/256, -128),
		"h": ir.PerTensor(1.0/128, 0), "l": ir.PerTensor(16.0/256, 127)} {
		if !ty[v].Quant.Equal(want) {
			t.Errorf("%s is %s, want scale %g, zero point %d", v, ty[v], want.Scale[0], want.Zero[0])
		}
	}
}

// TestConcat: inputs share the output's quantisation unless that costs another
// reader of theirs more than a bit.
func TestConcat(t *testing.T) {
	for _, c := range []struct {
		scale float64
		same  bool
	}{{1.2, true}, {20, false}} {
		b := newBuilder(t, 1)
		x := b.g.AddInput("x", ir.T(tensor.F32, 1, 4, 8, 8))
		narrow := b.conv(x, 4, 1, 1, nil)
		wide := b.add("Mul", nil, x, b.g.AddConst("k", tensor.Scalar(float32(c.scale))))
		both := b.add("Concat", ir.Attrs{"axis": ir.Int(1)}, narrow, wide)
		b.g.AddOutput("y", b.conv(both, 4, 1, 1, nil))
		b.g.AddOutput("z", b.conv(narrow, 4, 1, 1, nil))
		q, _ := quantised(t, b.g, quant.Options{Samples: samples(b.g, 4, 1)})
		n := irtest.Count(q, "Requantize")
		testenv.Check(t, (n > 0) != c.same, "scale %g: %d Requantize", c.scale, n)
	}
}

// TestResizeScales: Resize is an integer operator whether it is given factors,
// as PyTorch writes them, or sizes; the factors are no operand with a scale.
func TestResizeScales(t *testing.T) {
	for _, mode := range []string{"nearest", "linear"} {
		for _, factors := range [][]float32{{1, 1, 2, 2}, {1, 1, 2, 3}, {1, 1, 1, 1}, {1, 1, 1.5, 0.5}, nil} {
			b := newBuilder(t, 1)
			x := b.g.AddInput("x", ir.T(tensor.F32, 1, 4, 8, 8))
			in := []*ir.Value{b.conv(x, 4, 1, 1, nil), nil, nil, nil}
			if factors != nil {
				in = in[:3]
				in[2] = b.g.AddConst("factors", tensor.Of([]int{4}, factors))
			} else {
				in[3] = b.g.AddConst("sizes", tensor.Ints(1, 4, 16, 12))
			}
			b.g.AddOutput("y", b.conv(b.add("Resize", ir.Attrs{"mode": ir.Str(mode)}, in...), 4, 1, 1, nil))
			s := samples(b.g, 4, 1)
			q, _ := quantised(t, b.g, quant.Options{Samples: s})
			for _, n := range q.Nodes {
				testenv.Check(t, n.Quantised(), "%s %v: %s stays float\n%s", mode, factors, n, q)
			}
			want, got := irtest.Run(t, b.g, s[0])[0].Floats(), runInteger(t, q, s[0])[0].Floats()
			db := ratio(want, got)
			testenv.Check(t, !(db < 24), "%s %v: %.1f dB", mode, factors, db)
		}
	}
}

// TestFloatTail: an output that joins very different ranges is joined in float.
func TestFloatTail(t *testing.T) {
	b := newBuilder(t, 1)
	x := b.g.AddInput("x", ir.T(tensor.F32, 1, 4, 8, 8))
	p := b.add("Sigmoid", nil, b.conv(x, 4, 1, 1, nil))
	box := b.add("Mul", nil, b.conv(x, 4, 1, 1, nil), b.g.AddConst("k", tensor.Scalar(float32(500))))
	y := b.add("Concat", ir.Attrs{"axis": ir.Int(1)}, box, p)
	b.g.AddOutput("y", b.add("Reshape", nil, y, b.g.AddConst("shape", tensor.Ints(1, 8, 64))))
	s := samples(b.g, 4, 1)
	q, _ := quantised(t, b.g, quant.Options{Samples: s})
	want, got := irtest.Run(t, b.g, s[0])[0].Floats(), runInteger(t, q, s[0])[0].Floats()
	testenv.Check(t, q.Out[0].Type.DType == tensor.F32, "the output is %s, want f32", q.Out[0].Type)
	db := ratio(want[4*64:], got[4*64:])
	testenv.Check(t, !(db < 30), "the probabilities have %.1f dB", db)
}

// TestStaysFloat: data movement around operators without an integer form is
// not quantised, nor is what the caller keeps.
func TestStaysFloat(t *testing.T) {
	b := newBuilder(t, 1)
	x := b.g.AddInput("x", ir.T(tensor.F32, 4, 8))
	e := b.add("CumSum", nil, b.add("Transpose", ir.Attrs{"perm": ir.Ints(1, 0)}, x),
		b.g.AddConst("axis", tensor.Scalar(int64(0))))
	b.g.AddOutput("y", b.add("Reshape", nil, e, b.g.AddConst("s", tensor.Ints(32))))
	g := b.g.Clone()
	if n := g.Nodes[1]; n.Op.Quant != ir.QFloat || n.Op.Scalar != nil {
		t.Fatal("CumSum has an integer form now: take another operator without one")
	}
	r := testenv.Must(quant.Insert(g, quant.Options{Samples: samples(g, 2, 1)}))(t)
	testenv.Check(t, len(g.Nodes) == 3 && len(r.Layers) == 0, "changed to\n%s", g)

	b = newBuilder(t, 1)
	x = b.g.AddInput("x", ir.T(tensor.F32, 1, 4, 8, 8))
	y := b.conv(b.conv(b.conv(x, 4, 3, 1, nil), 4, 3, 1, nil), 4, 3, 1, nil)
	b.g.AddOutput("y", y)
	mid := b.g.Nodes[1]
	q := b.g.Clone()
	if _,
		err := quant.Insert(q, quant.Options{Samples: samples(b.g, 2, 1),
		Keep: func(n *ir.Node) bool { return n.ID == mid.ID }}); err != nil {
		t.Fatal(err)
	}
	testenv.OK(t, quant.Integer(q, quant.IntegerOptions{}))
	irtest.Verify(t, q)
	float := 0
	for _, n := range q.Nodes {
		if n.Op == op.Conv && !n.Quantised() {
			float++
		}
	}
	testenv.Check(t, float == 1 && q.In[0].Type.Quant != nil && q.Out[0].Type.Quant != nil,
		"%d float convolutions in\n%s", float, q)
}

// TestExtremeChannels: channels of zeros, of denormals and with huge biases
// leave scales that integer arithmetic can use, and right results.
func TestExtremeChannels(t *testing.T) {
	b := newBuilder(t, 5)
	x := b.g.AddInput("x", ir.T(tensor.F32, 1, 3, 4, 4))
	w := tensor.New(tensor.F32, []int{6, 3, 1, 1})
	for i := range w.Len() {
		w.SetFloat(i, []float64{0, 1e-42, 1e-30, 0.5, 1e-7, 3}[i/3])
	}
	bias := tensor.Of([]int{6}, []float32{5, -7, 40, 1, 100, 0})
	y := b.add("Conv", nil, x, b.g.AddConst("w", w), b.g.AddConst("b", bias))
	b.g.AddOutput("y", y)
	s := samples(b.g, 4, 1)
	q, _ := quantised(t, b.g, quant.Options{Samples: s, Method: option.MinMax})
	want, got := irtest.Run(t, b.g, s[0])[0], runInteger(t, q, s[0])[0]
	step := float64(q.Out[0].Type.Quant.Scale[0])
	for i := range want.Len() {
		if d := math.Abs(want.Float(i) - got.Float(i)); d > 1.01*step {
			t.Fatalf("element %d is %g, want %g within a step of %g", i, got.Float(i), want.Float(i), step)
		}
	}
	for _, n := range q.Nodes {
		p, why := op.MAC8Params(n)
		testenv.Check(t, why == "" && p != nil, "%s: %s", n, why)
	}
}

// TestOverflow: sums that are clamped to a narrow range do not wrap around.
func TestOverflow(t *testing.T) {
	b := newBuilder(t, 5)
	x := b.g.AddInput("x", ir.T(tensor.F32, 1, 512))
	w := tensor.New(tensor.F32, []int{2, 512})
	for i := range w.Len() {
		w.SetFloat(i, 1000)
	}
	y := b.add("Gemm", ir.Attrs{"transB": ir.Int(1), "act_min": ir.Float(0), "act_max": ir.Float(1e-3)}, x,
		b.g.AddConst("w", w))
	b.g.AddOutput("y", y)
	s := samples(b.g, 4, 1)
	q, _ := quantised(t, b.g, quant.Options{Samples: s})
	for i := range s {
		want, got := irtest.Run(t, b.g, s[i])[0], runInteger(t, q, s[i])[0]
		for k := range want.Len() {
			testenv.Check(t, !(math.Abs(want.Float(k)-got.Float(k)) > 2e-3), "sample %d: %g, want %g", i,
				got.Float(k), want.Float(k))
		}
	}
}

// TestErrors: what the user can get wrong is named.
func TestErrors(t *testing.T) {
	g := randomNet(t, 1)
	nan := tensor.New(tensor.F32, g.In[0].Type.Shape)
	nan.SetFloat(3, math.NaN())
	for what, c := range map[string]struct {
		o    quant.Options
		want string
	}{
		"no samples":  {quant.Options{}, "no samples"},
		"few tensors": {quant.Options{Samples: []quant.Sample{{}}}, "0 tensors, the graph 1"},
		"shape": {quant.Options{Samples: []quant.Sample{{tensor.New(tensor.F32, []int{2})}}},
			"want f32[1 4 8 8]"},
		"NaN": {quant.Options{Samples: []quant.Sample{{nan}}}, "not a number"},
	} {
		t.Run(what, func(t *testing.T) { testenv.Refused(t, testenv.Err(quant.Insert(g.Clone(), c.o)), c.want) })
	}
}

// TestSyntheticNaN: synthetic samples of which a network makes no numbers are
// left out while others remain; those of the user are an error.
func TestSyntheticNaN(t *testing.T) {
	g := randomNet(t, 1)
	s := samples(g, 3, 1)
	s[1][0].SetFloat(3, math.NaN())
	r, err := quant.Insert(g.Clone(), quant.Options{Samples: s, Source: quant.SyntheticSource})
	testenv.Check(t, err == nil && r.Samples == 2, "report %+v, %v; want two samples", r, err)
	testenv.Refused(t, testenv.Err(quant.Insert(g.Clone(), quant.Options{Samples: s, Source: "here"})),
		"calibration sample 1")
	if _, err := quant.Insert(g.Clone(), quant.Options{Samples: s[1:2], Source: quant.SyntheticSource}); err == nil ||
		!strings.Contains(err.Error(), "--calib") {
		t.Errorf("no sample is left: %v", err)
	}
}

// TestReport: every quantised value is listed with what it stands for.
func TestReport(t *testing.T) {
	g := randomNet(t, 1)
	s := samples(g, 3, 1)
	q := g.Clone()
	r := testenv.Must(quant.Insert(q, quant.Options{Samples: s, Source: "here", Method: option.MinMax}))(t)
	if r.Source != "here" || r.Method != option.MinMax || r.Samples != 3 || r.SQNR < 10 || len(r.Layers) < 5 {
		t.Errorf("report %+v", r)
	}
	for _, l := range r.Layers {
		testenv.Check(t, l.Name != "" && !(l.Scale <= 0) && !(l.Range[0] > 0) && !(l.Range[1] < 0) && !(l.SQNR < 5),
			"layer %+v", l)
	}
	// The ratio of the worst output is that of the simulation.
	var want, got []float64
	worst := math.Inf(1)
	for k := range g.Out {
		want, got = nil, nil
		for _, x := range s {
			a := testenv.Must(interp.Run(g, x, nil))(t)
			b := testenv.Must(interp.Run(q, x, nil))(t)
			want, got = append(want, a[k].Floats()...), append(got, b[k].Floats()...)
		}
		worst = min(worst, ratio(want, got))
	}
	if math.Abs(worst-r.SQNR) > 1e-4 { // the report has sums in float32
		t.Errorf("report says %g dB, measured %g", r.SQNR, worst)
	}
}
