// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/ort"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/lower/quant"
)

// BenchmarkZoo measures the shared float networks in user time, the least of three runs: one
// inference, calibrations with default options of few and of many samples by sample, and what
// a sample more adds between them: from few on, all that is tried is the same. Where NNCC_ORT
// names ONNX Runtime, ort-inference, ort-few, ort-each and ort-sample are these in inferences
// of it on one thread.
func BenchmarkZoo(b *testing.B) {
	const few, many, runs = 32, 128, 5
	files := slices.Concat(sharedata.Glob("zoo", "*.onnx"), sharedata.Glob("models", "*_f32.onnx"))
	for _, path := range files {
		b.Run(strings.TrimSuffix(filepath.Base(path), ".onnx"), func(b *testing.B) {
			g := legalised(b, path)
			samples := quant.SyntheticSamples(g.In, many, 1)
			one := inferenceOfORT(b, path, g, samples[0])
			infer, extra, each, fewEach := 0.0, 0.0, 0.0, 0.0
			least := func(f func() error) float64 {
				t := userTime(b, f)
				for range runs - 1 {
					t = min(t, userTime(b, f))
				}
				return t
			}
			if _, _, err := quant.Calibrate(g, defaults(samples)); err != nil {
				b.Skip(err) // synthetic samples do not suit every network
			}
			for b.Loop() {
				infer += least(func() error {
					for _, s := range samples[:few] {
						if _, err := interp.Run(g, s, nil); err != nil {
							return err
						}
					}
					return nil
				}) / few
				calibrate := func(n int) float64 {
					return least(func() error {
						_, _, err := quant.Calibrate(g, defaults(samples[:n]))
						return err
					})
				}
				a, b := calibrate(few), calibrate(many)
				extra, each, fewEach = extra+(b-a)/(many-few), each+b/many, fewEach+a/few
			}
			n := float64(b.N)
			b.ReportMetric(infer/n*1e3, "ms/inference")
			b.ReportMetric(extra/n*1e3, "ms/sample")
			b.ReportMetric(each/n*1e3, "ms/each")
			b.ReportMetric(fewEach/n*1e3, "ms/few")
			if one > 0 {
				b.ReportMetric(one*1e3, "ort-ms")
				b.ReportMetric(infer/n/one, "ort-inference")
				b.ReportMetric(extra/n/one, "ort-sample")
				b.ReportMetric(each/n/one, "ort-each")
				b.ReportMetric(fewEach/n/one, "ort-few")
			}
		})
	}
}

// inferenceOfORT is how long ONNX Runtime takes, 0 where it is absent.
func inferenceOfORT(b *testing.B, path string, g *ir.Graph, s quant.Sample) float64 {
	b.Helper()
	if ort.Modules() == "" {
		return 0
	}
	model := testenv.Must(os.ReadFile(path))(b)
	job := ort.Job{Name: path, Model: model, Repeat: 300}
	for i, v := range g.In {
		job.Inputs = append(job.Inputs, ort.Tensor{Name: v.Name, Data: s[i]})
	}
	r := ort.Run(b, []ort.Job{job})[0]
	testenv.Require(b, r.Err == "", "%v", r.Err)
	return r.Seconds
}

// userTime is what f takes of all cores, in seconds.
func userTime(b *testing.B, f func() error) float64 {
	b.Helper()
	var before, after syscall.Rusage
	testenv.OK(b, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
	testenv.OK(b, f())
	testenv.OK(b, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
	return float64(after.Utime.Nano()-before.Utime.Nano()) / 1e9
}
