// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"runtime"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// separable is a generated network with samples for it.
func separable(t testing.TB, depth, width, side, samples int, probe *ir.OpDef) (*ir.Graph, []quant.Sample) {
	t.Helper()
	g := separableNet(depth, width, side, 1, probe)
	return g, quant.SyntheticSamples(g.In, samples, 3)
}

// everything are options with all that calibration does by default.
func everything(s []quant.Sample) quant.Options {
	return quant.Options{Samples: s, Method: option.MSE, BiasCorrection: true, Rounding: option.Adaptive,
		Try: quant.Trial{Method: true, Bias: true, Rounding: true}}
}

// TestInferenceMemory: an inference keeps what is still read and no more, and
// allocates its values once, beside weights packed for the products.
func TestInferenceMemory(t *testing.T) {
	g, samples := separable(t, 12, 16, 64, 1, nil)
	constants, values, live := footprint(g)
	run := func() {
		_, err := interp.Run(g, samples[0], nil)
		testenv.Check(t, err == nil, "%v", err)
	}
	heap := newHeap()
	testenv.OK(t, testenv.Err(interp.Run(g, samples[0], func(*ir.Value, *tensor.Dense) { heap.look() })))
	if limit := live + live/16 + 64<<10; heap.most > limit {
		t.Errorf("%d bytes are live during an inference, want at most %d: %d of values live together", heap.most,
			limit, live)
	}
	// Sums are in float64; columns and panels are buffers of their own.
	const buffers = 1 << 20
	all := allocated(run)
	limit := 9*values + values/4 + 4*constants + buffers
	testenv.Check(t, all <= limit, "an inference allocates %d bytes, want at most %d for values of %d", all, limit,
		values)
	t.Logf("live %d (values live together %d), allocated %d (all values %d)", heap.most, live, all, values)
}

// TestCalibrationMemory: calibration keeps statistics and samples, no activations of
// whole runs.
func TestCalibrationMemory(t *testing.T) {
	const count = 4
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one sample after another
	heap := newHeap()
	g, samples := separable(t, 12, 16, 64, count, heap.probe())
	constants, values, live := footprint(g)
	_, _, err := quant.Calibrate(g, everything(samples))
	testenv.Require(t, err == nil, "%v", err)
	// Beside them a histogram of 64 KiB for every value, and the values of a few nodes;
	// integers of the quantised graph for all samples.
	input := int64(g.In[0].Type.Elems()) * 4
	limit := 6*constants + count*input + 4*live + int64(len(g.Nodes)+1)*(64<<10)
	t.Logf("live %d, want at most %d; values live together %d, all %d", heap.most, limit, live, values)
	testenv.Check(t, heap.most <= limit,
		"%d bytes are live during calibration, want at most %d: values live together take %d", heap.most, limit, live)
}

// BenchmarkInference is the float network on one sample.
func BenchmarkInference(b *testing.B) {
	heap := newHeap()
	g, samples := separable(b, 8, 32, 32, 1, nil)
	run := func() {
		testenv.OK(b, testenv.Err(interp.Run(g, samples[0], nil)))
	}
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
	testenv.OK(b, testenv.Err(interp.Run(g, samples[0], func(*ir.Value, *tensor.Dense) { heap.look() })))
	b.ReportMetric(float64(heap.most), "live-B")
}

// BenchmarkCalibrate is all of calibration on eight samples.
func BenchmarkCalibrate(b *testing.B) {
	g, samples := separable(b, 8, 16, 24, 8, nil)
	run := func() {
		_, _, err := quant.Calibrate(g, everything(samples))
		testenv.Require(b, err == nil, "%v", err)
	}
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(samples)), "us/sample")
	heap := newHeap()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	g, samples = separable(b, 8, 16, 24, 8, heap.probe())
	run()
	b.ReportMetric(float64(heap.most), "live-B")
}
