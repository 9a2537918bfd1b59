// SPDX-License-Identifier: Apache-2.0

package qref_test

import (
	"testing"

	"github.com/nncc/nncc/ir/qref"
)

func ones(n int, v int32) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = v
	}
	return s
}

// BenchmarkConv measures a 3x3 convolution of about 9.4 million multiplications.
func BenchmarkConv(b *testing.B) {
	p := &qref.ConvParams{In: qref.Dims{N: 1, H: 32, W: 32, C: 32}, Filter: qref.Dims{N: 32, H: 3, W: 3, C: 32},
		Out: qref.Dims{N: 1, H: 32, W: 32, C: 32}, Stride: qref.Tile{H: 1, W: 1}, Pad: qref.Tile{H: 1, W: 1},
		Dilation:    qref.Tile{H: 1, W: 1},
		InputOffset: 3, ActMin: -128, ActMax: 127, Mult: ones(32, 1<<30), Shift: ones(32, -8)}
	in, w, out := make([]int8, p.In.Size()), make([]int8, p.Filter.Size()), make([]int8, p.Out.Size())
	for b.Loop() {
		if err := qref.Conv(p, in, w, ones(32, 7), out); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(p.Out.Size()*3*3*32)*float64(b.N)/b.Elapsed().Seconds()/1e6, "MMAC/s")
}

// BenchmarkDepthwise measures a 3x3 depthwise convolution.
func BenchmarkDepthwise(b *testing.B) {
	p := &qref.DepthwiseParams{In: qref.Dims{N: 1, H: 48, W: 48, C: 64}, Filter: qref.Dims{N: 1, H: 3, W: 3, C: 64},
		Out: qref.Dims{N: 1, H: 48, W: 48, C: 64}, ChMult: 1, Stride: qref.Tile{H: 1, W: 1}, Pad: qref.Tile{H: 1, W: 1},
		Dilation:    qref.Tile{H: 1, W: 1},
		InputOffset: 3, ActMin: -128, ActMax: 127, Mult: ones(64, 1<<30), Shift: ones(64, -8)}
	in, w, out := make([]int8, p.In.Size()), make([]int8, p.Filter.Size()), make([]int8, p.Out.Size())
	for b.Loop() {
		if err := qref.Depthwise(p, in, w, nil, out); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(p.Out.Size()*9)*float64(b.N)/b.Elapsed().Seconds()/1e6, "MMAC/s")
}
