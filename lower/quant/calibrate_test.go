// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// defaults are the options of the command line where no flag says otherwise.
func defaults(s []quant.Sample) quant.Options {
	return quant.Options{Samples: s, Source: "test", Method: option.PerLayer, BiasCorrection: true,
		Rounding: option.Adaptive,
		Try:      quant.Trial{Method: true, Bias: true, Rounding: true}}
}

// calibrated quantises a copy of g.
func calibrated(t testing.TB, g *ir.Graph, o quant.Options) (*ir.Graph, *quant.Report) {
	t.Helper()
	q, r, err := quant.Calibrate(g, o)
	testenv.OK(t, err)
	irtest.Verify(t, q)
	testenv.OK(t, quant.Integer(q, quant.IntegerOptions{}))
	return q, r
}

// worstOn is the signal-to-noise ratio of the worst output on samples.
func worstOn(t testing.TB, g, q *ir.Graph, list []quant.Sample) float64 {
	t.Helper()
	want, got := make([][]float64, len(g.Out)), make([][]float64, len(g.Out))
	for _, in := range list {
		w, x := irtest.Run(t, g, in), runInteger(t, q, in)
		for i := range w {
			want[i], got[i] = append(want[i], w[i].Floats()...), append(got[i], x[i].Floats()...)
		}
	}
	worst := math.Inf(1)
	for i := range want {
		worst = min(worst, ratio(want[i], got[i]))
	}
	return worst
}

// task is a network with data.
type task struct {
	name string
	g    *ir.Graph
	all  []quant.Sample
	// slack is by how many dB the defaults may be worse than plain ranges: more
	// where a handful of samples, or two classes behind a Softmax, decide.
	slack float64
}

// controller is a network of fully connected layers, as controllers and
// regressors are; latent is how many numbers its inputs really depend on.
func controller(t testing.TB, seed uint64, in, hidden, latent, n int, act string) task {
	b := newBuilder(t, seed)
	y := b.g.AddInput("x", ir.T(tensor.F32, 1, in))
	for i := range 6 {
		k := hidden
		if i == 5 {
			k = 4
		}
		y = b.dense(y, k)
		if i < 5 {
			y = b.add(act, nil, y)
		}
	}
	b.g.AddOutput("y", y)
	mix := tensor.New(tensor.F32, []int{latent, in})
	for i := range mix.Len() {
		mix.SetFloat(i, b.r.NormFloat64())
	}
	var all []quant.Sample
	for range n {
		d := tensor.New(tensor.F32, []int{1, in})
		for k := range latent {
			z := b.r.NormFloat64()
			for i := range in {
				if latent == in {
					d.SetFloat(k, z)
					break
				}
				d.SetFloat(i, d.Float(i)+z*mix.Float(k*in+i))
			}
		}
		all = append(all, quant.Sample{d})
	}
	return task{fmt.Sprintf("controller %d: %d of %d inputs, %d wide, %s, %d samples", seed, latent, in, hidden, act,
		n), b.g, all, slack(n / 2)}
}

// slack is a third of a dB, and more where fewer than 16 samples, on which other
// data lie at the edge of the ranges, leave much to chance.
func slack(n int) float64 {
	if n < 16 {
		return 1
	}
	return 0.3
}

// tasks are generated networks, and the shared models with data.
func tasks(t *testing.T) []task {
	var out []task
	for i, n := range []int{2, 4, 6, 8, 12, 16, 32, 64} {
		out = append(out, controller(t, uint64(i), 12, 64, 12, 2*n, "Relu"), controller(t, uint64(20+i), 24, 96, 4, 2*n,
			[]string{"Relu", "Tanh"}[i%2]))
	}
	for i, n := range []int{4, 8, 24} {
		b := newBuilder(t, uint64(40+i))
		x := b.g.AddInput("x", ir.T(tensor.F32, 1, 3, 16, 16))
		y := b.conv(x, 8, 3, 1, ir.Attrs{"act_min": ir.Float(0), "strides": ir.Ints(2, 2)})
		for range 2 {
			y = b.conv(b.conv(y, 8, 3, 8, ir.Attrs{"act_min": ir.Float(0), "act_max": ir.Float(6)}), 8, 1, 1,
				ir.Attrs{"act_min": ir.Float(0)})
		}
		b.g.AddOutput("y", b.dense(b.add("Flatten", nil, b.add("GlobalAveragePool", nil, y)), 10))
		out = append(out, task{fmt.Sprintf("separable, %d samples", 2*n), b.g, samples(b.g, 2*n, uint64(i)), slack(n)})
		g, s := maskedAttention(t, "added constant", -1e4, true)
		out = append(out, task{fmt.Sprintf("attention, %d samples", 2*n), g, append(s, samples(g, 2*n, 9)...)[:2*n],
			slack(n)})
	}
	lstm := lstmGraph(t, "forward", true)
	out = append(out, task{"LSTM", lstm, samples(lstm, 24, 3), slack(12)})
	for _, f := range sharedata.Glob("calib", "*.npz") {
		name := strings.TrimSuffix(filepath.Base(f), ".npz")
		g := legalised(t, irtest.Shared(t, "models", name+".onnx"))
		s := testenv.Must(readSamples([]string{f}, g.In, npz.Limits{}))(t)
		out = append(out, task{name, g, interleave(s), slack(len(s) / 2)})
	}
	return out
}

// interleave brings the samples at even places to the first half.
func interleave(s []quant.Sample) []quant.Sample {
	var a, b []quant.Sample
	for i, x := range s {
		if i%2 == 0 {
			a = append(a, x)
		} else {
			b = append(b, x)
		}
	}
	return append(a, b...)
}

// TestDefaultHelps: calibrated on one half of the data, the defaults are never
// worse on the other half than plain ranges by more than a few tenths of a dB, and
// better on average; where there are few samples, chance moves a single network's
// figure by more, and the mean loses at most 0.3 dB. Each half has its turn: one
// sample that the float model is unsure of moves the figure of its half by several dB.
// Figures below 10 dB are chance: nothing can be said of them.
// NNCC_LONG takes all networks, not every fourth, and prints the figures.
func TestDefaultHelps(t *testing.T) {
	gain, fewGain, n, few := 0.0, 0.0, 0, 0
	for i, x := range tasks(t) {
		if i%4 != 0 && !testenv.Long() {
			continue
		}
		plain := byHalves(t, x.g, x.all, func(o *quant.Options) {
			o.Method, o.BiasCorrection, o.Rounding = option.MinMax, false, option.Nearest
		})
		best := byHalves(t, x.g, x.all, func(*quant.Options) {})
		a, b, r := plain.both, best.both, best.chosen[0]
		if testenv.Long() {
			t.Logf("%-60s plain %5.1f, default %5.1f dB; said %5.1f of %d samples; %+v", x.name, a, b, r.SQNR,
				r.HeldOut, r.Tried)
		}
		if a < 10 {
			continue
		}
		half := len(x.all) / 2
		if half < 16 {
			fewGain += b - a
			few++
		}
		testenv.Check(t, !(b < a-x.slack), "%s: %.1f dB by default, %.1f with plain ranges; tried %+v", x.name, b, a,
			r.Tried)
		gain += b - a
		n++
	}
	// The default keeps the whole ranges where samples held out do not gain: it loses nowhere, and gains less.
	if gain /= float64(n); gain < 0.3 || fewGain < -0.3*float64(few) {
		t.Errorf("%.1f dB better on average; %.1f dB in all %d where there are few samples", gain, fewGain, few)
	}
}

// TestFigures: what the report says of samples that calibration did not see is
// what other samples show, in the mean over networks; the figures of its own
// samples are better than that.
func TestFigures(t *testing.T) {
	said, seen, own, n := 0.0, 0.0, 0.0, 8
	for seed := range n {
		x := controller(t, uint64(seed), 12, 64, 12, 200, "Relu")
		fit, test := x.all[:16], x.all[16:]
		q, r := calibrated(t, x.g, defaults(fit))
		testenv.Require(t, r.HeldOut == len(fit) && !r.InSample && r.Refitted,
			"%d held out, in-sample %v, refitted %v; want all of %d", r.HeldOut, r.InSample, r.Refitted, len(fit))
		said, seen, own = said+r.SQNR, seen+worstOn(t, x.g, q, test), own+worstOn(t, x.g, q, fit)
	}
	said, seen, own = said/float64(n), seen/float64(n), own/float64(n)
	testenv.Check(t, !(math.Abs(said-seen) > 4) && !(own < seen+4),
		"said %.1f dB, other samples %.1f dB, its own %.1f dB", said, seen, own)
}

// TestUndone: a step that loses on samples that it did not see is undone and
// listed: biases shifted for the few samples that calibration got.
func TestUndone(t *testing.T) {
	undone := 0
	for seed := range uint64(4) {
		x := controller(t, 100+seed, 24, 96, 2, 12, "Tanh")
		o := defaults(x.all)
		q, r := calibrated(t, x.g, o)
		irtest.Verify(t, q)
		for _, s := range r.Tried {
			if !s.Kept {
				undone++
			}
			testenv.Check(t, !s.Kept || !(s.After < s.Before-1), "seed %d: %+v", seed, s)
		}
		if len(r.Diagnostics().Texts(diag.Note)) == 0 &&
			slices.ContainsFunc(r.Tried, func(s quant.Tried) bool { return !s.Kept && s.After < s.Before-1 }) {
			t.Error("a step that costs a dB was undone, and nothing is said")
		}
		// What somebody asked for is done, not tried.
		o.Try = quant.Trial{}
		if _, r := calibrated(t, x.g, o); len(r.Tried) > 0 || !r.Bias || r.Rounding != option.Adaptive ||
			r.Method != option.PerLayer {
			t.Errorf("seed %d: %+v", seed, r)
		}
	}
	testenv.Check(t, undone != 0, "nothing was undone")
}

// TestOddData: data that say little are named, and no figure is given of them;
// data as they should be are not.
func TestOddData(t *testing.T) {
	x := controller(t, 3, 12, 16, 12, 12, "Relu")
	change := func(f func(k, i int, v float64) float64) []quant.Sample {
		var out []quant.Sample
		for k, s := range x.all {
			d := s[0].Clone()
			for i := range d.Len() {
				d.SetFloat(i, f(k, i, d.Float(i)))
			}
			out = append(out, quant.Sample{d})
		}
		return out
	}
	for _, c := range []struct {
		name, want string
		s          []quant.Sample
		unknown    bool
	}{
		{"good", "", x.all, false},
		{"zero", "input x is 0 everywhere", change(func(int, int, float64) float64 { return 0 }), true},
		{"constant", "input x is 0.5 everywhere", change(func(int, int, float64) float64 { return 0.5 }), true},
		{"equal", "all 12 samples are equal", change(func(_, i int, _ float64) float64 { return float64(i) }), true},
		{"one", "1 sample:", x.all[:1], false},
		{"three", "3 samples:", x.all[:3], false},
		{"one zero", "input x is 0 everywhere", change(func(int, int, float64) float64 { return 0 })[:1], true},
		{"saturated", "the same for all samples",
			change(func(_, _ int, v float64) float64 { return -1000 - math.Abs(v) }), true},
	} {
		g := x.g
		if c.name == "saturated" {
			b := newBuilder(t, 1)
			b.g.AddOutput("y", b.dense(b.add("Relu", nil, b.g.AddInput("x", ir.T(tensor.F32, 1, 12))), 3))
			g = b.g
		}
		_, r := calibrated(t, g, defaults(c.s))
		if got := strings.Join(diag.List(r.Warnings).Texts(diag.Warning), "; "); c.want == "" && got != "" ||
			!strings.Contains(got, c.want) {
			t.Errorf("%s: warnings %q, want %q", c.name, got, c.want)
		}
		testenv.Check(t, r.Unknown == c.unknown && (!c.unknown || r.SQNR == 0), "%s: unknown %v, %.1f dB", c.name,
			r.Unknown, r.SQNR)
		testenv.Equal(t, r.InSample, len(c.s) == 1, "%s: in-sample %v of %d", c.name, r.InSample, len(c.s))
	}
}

// TestFit: Insert on the samples that a report names, with the steps that it kept, is the
// quantisation that Calibrate gave: what others measure by it is what the program is.
func TestFit(t *testing.T) {
	large := ir.New("large") // too much work to calibrate it twice
	v := large.AddInput("x", ir.T(tensor.F32, 1, 64, 3, 3))
	for i := range 2 {
		w := large.AddConst("w", ir.Rand(uint64(i), tensor.F32, []int{64, 64, 3, 3}))
		n, err := large.Add(op.Get("", "Conv"), fmt.Sprint("conv", i), ir.Attrs{"pads": ir.Ints(1, 1, 1, 1)}, 1, v, w)
		testenv.OK(t, err)
		v = n.Out[0]
	}
	large.AddOutput("y", v)
	for _, c := range []struct {
		g      *ir.Graph
		n, fit int
	}{{randomNet(t, 5), 1, 1}, {randomNet(t, 5), 24, 24}, {large, 40, 32}} {
		o := defaults(quant.SyntheticSamples(c.g.In, c.n, 9))
		have, r, err := quant.Calibrate(c.g, o)
		testenv.OK(t, err)
		if r.Method == option.PerLayer || len(r.Fit()) != c.fit {
			t.Fatalf("%d samples: method %s by %d samples, want one for all by %d", c.n, r.Method, len(r.Fit()), c.fit)
		}
		o.Samples, o.Method, o.BiasCorrection, o.Rounding, o.Try = r.Fit(), r.Method, r.Bias, r.Rounding, quant.Trial{}
		want := c.g.Clone()
		testenv.OK(t, testenv.Err(quant.Insert(want, o)))
		in := quant.SyntheticSamples(c.g.In, 1, 77)[0]
		a, b := irtest.Run(t, have, in), irtest.Run(t, want, in)
		for i := range a {
			testenv.Same(t, a[i].Floats(), b[i].Floats(), "%d samples: output %d differs", c.n, i)
		}
	}
}
