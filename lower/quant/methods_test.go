// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// heldOut are the results of quantisation on samples that it did not see: every
// sample has its turn, in the half that the other half was calibrated on.
type heldOut struct {
	halves [2]float64 // dB of the worst output, of each half
	both   float64
	top1   int // samples with the float model's first choice
	chosen [2]*quant.Report
}

// byHalves calibrates on each half of the samples and measures on the other.
func byHalves(t testing.TB, g *ir.Graph, all []quant.Sample, change func(o *quant.Options)) heldOut {
	t.Helper()
	var r heldOut
	k := len(all) / 2
	want, got := make([][]float64, len(g.Out)), make([][]float64, len(g.Out))
	for half := range r.halves {
		fit, test := all[:k], all[k:]
		if half == 1 {
			fit, test = test, fit
		}
		o := defaults(fit)
		change(&o)
		q, report := calibrated(t, g, o)
		w, x := make([][]float64, len(g.Out)), make([][]float64, len(g.Out))
		for _, in := range test {
			a, b := irtest.Run(t, g, in), runInteger(t, q, in)
			for i := range a {
				w[i], x[i] = append(w[i], a[i].Floats()...), append(x[i], b[i].Floats()...)
			}
			if classifies(g) && first(a[0]) == first(b[0]) {
				r.top1++
			}
		}
		r.halves[half], r.chosen[half] = worst(w, x), report
		for i := range w {
			want[i], got[i] = append(want[i], w[i]...), append(got[i], x[i]...)
		}
	}
	r.both = worst(want, got)
	return r
}

// worst is the signal-to-noise ratio of the worst output.
func worst(want, got [][]float64) float64 {
	db := math.Inf(1)
	for i := range want {
		db = min(db, ratio(want[i], got[i]))
	}
	return db
}

// classifies reports one output with a number for each of several classes.
func classifies(g *ir.Graph) bool {
	return len(g.Out) == 1 && g.Out[0].Type.Rank() == 2 && g.Out[0].Type.Shape[0] == 1 && g.Out[0].Type.Shape[1] > 1
}

// first is the index of the largest element.
func first(d *tensor.Dense) int {
	at := 0
	for i := range d.Len() {
		if d.Float(i) > d.Float(at) {
			at = i
		}
	}
	return at
}

// TestMethods: on samples that calibration did not see, the default is never
// worse than the whole ranges by more than 0.3 dB, on any shared model with
// data. NNCC_LONG takes all models and methods, and -update writes
// testdata/methods.csv: SQNR in dB of the worst output, each half of the samples
// measured with the program calibrated on the other.
func TestMethods(t *testing.T) {
	const slack = 0.3
	table := "model,samples,nearest_whole,minmax,percentile,mse,entropy,default,top1_minmax,top1_default," +
		"chosen_half_0,chosen_half_1\n"
	for i, f := range sharedata.Glob("calib", "*.npz") {
		if i%6 != 3 && !testenv.Long() {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(f), ".npz")
		g := legalised(t, irtest.Shared(t, "models", name+".onnx"))
		s := testenv.Must(readSamples([]string{f}, g.In, npz.Limits{}))(t)
		s = interleave(s)
		told := func(m option.Method) heldOut {
			return byHalves(t, g, s, func(o *quant.Options) { o.Method, o.Try.Method = m, false })
		}
		whole, best := told(option.MinMax), byHalves(t, g, s, func(*quant.Options) {})
		for k := range best.halves {
			if best.halves[k] < whole.halves[k]-slack {
				t.Errorf("%s, half %d: %.1f dB by default, %.1f with the whole ranges; tried %+v", name, k,
					best.halves[k], whole.halves[k], best.chosen[k].Tried)
			}
		}
		if !testenv.Long() {
			continue
		}
		plain := byHalves(t, g, s, func(o *quant.Options) {
			o.Try, o.BiasCorrection, o.Rounding, o.Method = quant.Trial{}, false, option.Nearest, option.MinMax
		})
		top1 := ","
		if classifies(g) {
			top1 = fmt.Sprintf("%d,%d", whole.top1, best.top1)
		}
		table += fmt.Sprintf("%s,%d,%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%s,%s,%s\n", name, len(s),
			plain.both, whole.both, told(option.Percentile).both, told(option.MSE).both, told(option.Entropy).both,
			best.both, top1, best.chosen[0].Method, best.chosen[1].Method)
	}
	if !testenv.Long() {
		return
	}
	t.Log("\n" + table)
	if irtest.Updating() {
		testenv.OK(t, os.WriteFile("testdata/methods.csv", []byte(table), 0o644))
	}
}

// TestPerLayer: elements far outside that no weight sees set the scale of the value
// that they are in, unless the method is chosen by what its readers lose. What has
// no such elements keeps the whole range.
func TestPerLayer(t *testing.T) {
	b := newBuilder(t, 7)
	x := b.g.AddInput("x", ir.T(tensor.F32, 1, 4, 16, 16))
	z := b.g.AddInput("z", ir.T(tensor.F32, 1, 4, 16, 16))
	w := b.normal(0.3, 8, 4, 1, 1)
	for o := range 8 {
		w.Const.SetFloat(4*o, 0)
	}
	y := b.add("Add", nil, b.add("Conv", nil, x, w), b.conv(z, 8, 3, 1, nil))
	b.g.AddOutput("y", b.conv(y, 4, 1, 1, nil))
	all := samples(b.g, 64, 5)
	for _, i := range []int{3, 35} { // one in each half
		all[i][0].SetFloat(17, 80)
	}
	whole := byHalves(t, b.g, all, func(o *quant.Options) { o.Method, o.Try.Method = option.MinMax, false })
	best := byHalves(t, b.g, all, func(*quant.Options) {})
	if best.both < whole.both+1.5 {
		t.Errorf("%.1f dB by default, %.1f with the whole ranges; %+v", best.both, whole.both, best.chosen[0].Tried)
	}
	for _, r := range best.chosen {
		method := map[string]string{}
		for _, l := range r.Layers {
			method[l.Name] = l.Method
		}
		if r.Method != option.PerLayer || method["x"] == "minmax" || method["x"] == "" || method["z"] != "minmax" {
			t.Errorf("method %s, by layer %v", r.Method, method)
		}
	}
}
