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

// BenchmarkZoo measures the shared float networks in user time: one inference, and what a
// sample more adds to a calibration with default options. Where NNCC_ORT names ONNX
// Runtime, ort-inference and ort-sample are these in inferences of it on one thread.
func BenchmarkZoo(b *testing.B) {
	const few, many = 16, 32
	files := slices.Concat(sharedata.Glob("zoo", "*.onnx"), sharedata.Glob("models", "*_f32.onnx"))
	for _, path := range files {
		b.Run(strings.TrimSuffix(filepath.Base(path), ".onnx"), func(b *testing.B) {
			g := legalised(b, path)
			samples := quant.SyntheticSamples(g.In, many, 1)
			one := inferenceOfORT(b, path, g, samples[0])
			infer, extra := 0.0, 0.0
			for b.Loop() {
				infer += userTime(b, func() error {
					for _, s := range samples {
						if _, err := interp.Run(g, s, nil); err != nil {
							return err
						}
					}
					return nil
				}) / many
				calibrate := func(n int) float64 {
					return userTime(b, func() error {
						_, _, err := quant.Calibrate(g, defaults(samples[:n]))
						return err
					})
				}
				extra += (calibrate(many) - calibrate(few)) / (many - few)
			}
			infer, extra = infer/float64(b.N), extra/float64(b.N)
			b.ReportMetric(infer*1e3, "ms/inference")
			b.ReportMetric(extra*1e3, "ms/sample")
			if one > 0 {
				b.ReportMetric(one*1e3, "ort-ms")
				b.ReportMetric(infer/one, "ort-inference")
				b.ReportMetric(extra/one, "ort-sample")
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
