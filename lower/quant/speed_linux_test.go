// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/ort"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/lower/quant"
)

// BenchmarkZoo measures the shared float networks in user time, the least of three runs: one
// inference, what a sample more adds to a calibration with default options, and one of a
// hundred and more samples by sample. Where NNCC_ORT names ONNX Runtime, ort-inference,
// ort-sample and ort-each are these in inferences of it on one thread.
func BenchmarkZoo(b *testing.B) {
	const few, many, all, runs = 16, 32, 128, 3
	files := slices.Concat(sharedata.Glob("zoo", "*.onnx"), sharedata.Glob("models", "*_f32.onnx"))
	for _, path := range files {
		b.Run(strings.TrimSuffix(filepath.Base(path), ".onnx"), func(b *testing.B) {
			g := legalised(b, path)
			samples := quant.SyntheticSamples(g.In, all, 1)
			one := inferenceOfORT(b, path, g, samples[0])
			infer, extra, each := 0.0, 0.0, 0.0
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
					for _, s := range samples[:many] {
						if _, err := interp.Run(g, s, nil); err != nil {
							return err
						}
					}
					return nil
				}) / many
				calibrate := func(n int) float64 {
					return least(func() error {
						_, _, err := quant.Calibrate(g, defaults(samples[:n]))
						return err
					})
				}
				extra += (calibrate(many) - calibrate(few)) / (many - few)
				each += calibrate(all) / all
			}
			n := float64(b.N)
			b.ReportMetric(infer/n*1e3, "ms/inference")
			b.ReportMetric(extra/n*1e3, "ms/sample")
			b.ReportMetric(each/n*1e3, "ms/each")
			if one > 0 {
				b.ReportMetric(one*1e3, "ort-ms")
				b.ReportMetric(infer/n/one, "ort-inference")
				b.ReportMetric(extra/n/one, "ort-sample")
				b.ReportMetric(each/n/one, "ort-each")
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
	model, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	job := ort.Job{Name: path, Model: model, Repeat: 300}
	for i, v := range g.In {
		job.Inputs = append(job.Inputs, ort.Tensor{Name: v.Name, Data: s[i]})
	}
	r := ort.Run(b, []ort.Job{job})[0]
	if r.Err != "" {
		b.Fatal(r.Err)
	}
	return r.Seconds
}

// userTime is what f takes of all cores, in seconds.
func userTime(b *testing.B, f func() error) float64 {
	b.Helper()
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	if err := f(); err != nil {
		b.Fatal(err)
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	return float64(after.Utime.Nano()-before.Utime.Nano()) / 1e9
}
