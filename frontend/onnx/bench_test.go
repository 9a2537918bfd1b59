// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/tensor"
)

// BenchmarkOpen measures decoding, checking and importing a small network.
func BenchmarkOpen(b *testing.B) {
	m, err := Export(irtest.Gen(3, tensor.F32), ExportOptions{})
	testenv.OK(b, err)
	file, err := Marshal(m)
	testenv.OK(b, err)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		m, err := Parse(file, Limits{})
		testenv.OK(b, err)
		if _, err := OpenModel(m, ImportOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExport measures writing one.
func BenchmarkExport(b *testing.B) {
	g := irtest.Gen(3, tensor.F32)
	b.ReportAllocs()
	for b.Loop() {
		m, err := Export(g, ExportOptions{})
		testenv.OK(b, err)
		if _, err := Marshal(m); err != nil {
			b.Fatal(err)
		}
	}
}
