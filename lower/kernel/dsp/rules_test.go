// SPDX-License-Identifier: Apache-2.0

package dsp_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/dsp"
	"github.com/nncc/nncc/lower/kerneltest"
)

// refused has a layer for every rule that it breaks.
var refused = []kerneltest.Refused{
	{"DSP-CONV-01", "in %x : u8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\n%o : u8[1,3,3,3] O = Conv(%x, %w)"},
	{"DSP-CONV-02", "in %x : i8[1,2,5,5] A\nin %w : i8[3,2,3,3] W\n%o : i8[1,3,3,3] O = Conv(%x, %w)"},
	{"DSP-CONV-03", "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\nconst %b : i32[3] q(0.3:0) = " +
		"{1,2,3}\n%o : i8[1,3,3,3] O = Conv(%x, %w, %b)"},
	{"DSP-CONV-04", "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] q(0.25:1) = rand 1\n%o : i8[1,3,3,3] O = " +
		"Conv(%x, %w)"},
	{"DSP-CONV-05", "in %x : i8[1,2,5,5,5] A\nconst %w : i8[3,2,3,3,3] W = rand 1\n%o : i8[1,3,3,3,3] O = Conv(%x, " +
		"%w)"},
	{"DSP-CONV-06", "in %x : i8[1,3,5,5] A\nconst %w : i8[3,1,3,3] W = rand 1\n%o : i8[1,3,3,3] O = Conv(%x, %w) " +
		"{group=3}"},
	{"DSP-CONV-07", "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] q(2:0) = rand 1\n%o : i8[1,3,3,3] O = Conv(%x, %w)"},
	{"DSP-DOTS-01", "in %x : u8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\n%o : u8[1,3,3,3] O = Conv(%x, %w)"},
	{"DSP-DOTS-02", "in %x : i8[1,2,5,5] A\nin %w : i8[3,2,3,3] W\n%o : i8[1,3,3,3] O = Conv(%x, %w)"},
	{"DSP-DOTS-03", "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\nconst %b : i32[3] q(0.3:0) = " +
		"{1,2,3}\n%o : i8[1,3,3,3] O = Conv(%x, %w, %b)"},
	{"DSP-DOTS-04", "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] q(0.25:1) = rand 1\n%o : i8[1,3,3,3] O = " +
		"Conv(%x, %w)"},
	{"DSP-DOTS-05", "in %x : i8[1,2,5,5,5] A\nconst %w : i8[3,2,3,3,3] W = rand 1\n%o : i8[1,3,3,3,3] O = Conv(%x, " +
		"%w)"},
	{"DSP-DOTS-06", "in %x : i8[1,3,5,5] A\nconst %w : i8[3,1,3,3] W = rand 1\n%o : i8[1,3,3,3] O = Conv(%x, %w) " +
		"{group=3}"},
	{"DSP-DOTS-07", "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\n%o : i8[1,3,3,3] O = Conv(%x, %w)"},
	{"DSP-TILES-01", "in %x : u8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\n%o : u8[1,3,3,3] O = Conv(%x, %w)"},
	{"DSP-TILES-02", "in %x : i8[1,2,5,5] A\nin %w : i8[3,2,3,3] W\n%o : i8[1,3,3,3] O = Conv(%x, %w)"},
	{"DSP-TILES-03", "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\nconst %b : i32[3] q(0.3:0) = " +
		"{1,2,3}\n%o : i8[1,3,3,3] O = Conv(%x, %w, %b)"},
	{"DSP-TILES-04", "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] q(0.25:1) = rand 1\n%o : i8[1,3,3,3] O = " +
		"Conv(%x, %w)"},
	{"DSP-TILES-05", "in %x : i8[1,2,5,5,5] A\nconst %w : i8[3,2,3,3,3] W = rand 1\n%o : i8[1,3,3,3,3] O = Conv(%x, " +
		"%w)"},
	{"DSP-TILES-06", "in %x : i8[1,3,5,5] A\nconst %w : i8[3,1,3,3] W = rand 1\n%o : i8[1,3,3,3] O = Conv(%x, %w) " +
		"{group=3}"},
	{"DSP-TILES-07", "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\n%o : i8[1,3,3,3] O = Conv(%x, %w)"},
	{"DSP-TILES-ADD-01", "in %x : i8[1,64,1,1] A\nin %z : i8[1,1024,1,1] A\n%o : i8[1,1024,1,1] O = nncc.Fused(%x, " +
		"%z) body \"b\" {\nin %x : i8[1,64,1,1] A\nin %z : i8[1,1024,1,1] A\nconst %w : i8[1024,64,1,1] W = rand " +
		"1\n%c : i8[1,1024,1,1] A = Conv(%x, %w)\n%o : i8[1,1024,1,1] O = Add(%c, %z)\nout \"o\" = %o\n}"},
	{"DSP-PHASE-01", "in %x : u8[1,2,5,5] A\nconst %w : i8[2,3,2,2] W = rand 1\n%o : u8[1,3,10,10] O = " +
		"ConvTranspose(%x, %w) {strides=[2,2]}"},
	{"DSP-PHASE-02", "in %x : i8[1,2,5,5] A\nin %w : i8[2,3,2,2] W\n%o : i8[1,3,10,10] O = ConvTranspose(%x, %w) " +
		"{strides=[2,2]}"},
	{"DSP-PHASE-03", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,2,2] q(axis=0,0.1:0,0.2:0) = rand 1\n%o : " +
		"i8[1,3,10,10] O = ConvTranspose(%x, %w) {strides=[2,2]}"},
	{"DSP-PHASE-04", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,2,2] q(0.25:1) = rand 1\n%o : i8[1,3,10,10] O = " +
		"ConvTranspose(%x, %w) {strides=[2,2]}"},
	{"DSP-PHASE-05", "in %x : i8[1,2,3,3,3] A\nconst %w : i8[2,3,1,1,1] W = rand 1\n%o : i8[1,3,3,3,3] O = " +
		"ConvTranspose(%x, %w)"},
	{"DSP-PHASE-08", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,2,2] q(2:0) = rand 1\n%o : i8[1,3,10,10] O = " +
		"ConvTranspose(%x, %w) {strides=[2,2]}"},
	{"DSP-PHASE-06", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,2,2] W = rand 1\n%o : i8[1,3,266,6] O = " +
		"ConvTranspose(%x, %w) {strides=[66,1]}"},
	{"DSP-PHASE-07", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,2,2] W = rand 1\n%o : i8[1,3,10,9] O = " +
		"ConvTranspose(%x, %w) {strides=[2,2], pads=[0,2,0,0], output_padding=[0,1]}"},
	{"DSP-MAPPED-01", "in %x : i8[2,5] A\n%o : i8[2,5] O = nncc.Fused(%x) body \"b\" {\nin %x : i8[2,5] A\n%a : " +
		"i8[2,5] A = Sigmoid(%x)\n%o : i8[2,5] O = Tanh(%a)\nout \"o\" = %o\n}"},
	{"DSP-RESIDUAL-01", "in %x : i8[1,64,1,1] A\nin %z : i8[1,1024,1,1] A\n%o : i8[1,1024,1,1] O = nncc.Fused(%x, " +
		"%z) body \"b\" {\nin %x : i8[1,64,1,1] A\nin %z : i8[1,1024,1,1] A\nconst %w : i8[1024,64,1,1] W = rand " +
		"1\n%c : i8[1,1024,1,1] A = Conv(%x, %w)\n%o : i8[1,1024,1,1] O = Add(%c, %z)\nout \"o\" = %o\n}"},
	{"DSP-DW-01", "in %x : u8[1,4,5,5] A\nconst %w : i8[4,1,3,3] W = rand 1\n%o : u8[1,4,3,3] O = Conv(%x, %w) " +
		"{group=4}"},
	{"DSP-DW-02", "in %x : i8[1,4,5,5] A\nin %w : i8[4,1,3,3] W\n%o : i8[1,4,3,3] O = Conv(%x, %w) {group=4}"},
	{"DSP-DW-03", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] W = rand 1\nconst %b : i32[4] q(0.3:0) = " +
		"{1,2,3,4}\n%o : i8[1,4,3,3] O = Conv(%x, %w, %b) {group=4}"},
	{"DSP-DW-04", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] q(0.25:1) = rand 1\n%o : i8[1,4,3,3] O = Conv(%x, " +
		"%w) {group=4}"},
	{"DSP-DW-05", "in %x : i8[1,4,5,5,5] A\nconst %w : i8[4,1,3,3,3] W = rand 1\n%o : i8[1,4,3,3,3] O = Conv(%x, " +
		"%w) {group=4}"},
	{"DSP-DW-06", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,4,3,3] W = rand 1\n%o : i8[1,4,3,3] O = Conv(%x, %w)"},
	{"DSP-DW-07", "in %x : i8[1,1,5,5] A\nconst %w : i8[1,1,3,3] W = rand 1\n%o : i8[1,1,3,3] O = Conv(%x, %w)"},
	{"DSP-DW-08", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] q(2:0) = rand 1\n%o : i8[1,4,3,3] O = Conv(%x, %w) " +
		"{group=4}"},
	{"DSP-FC-01", "in %x : u8[2,5] A\nconst %w : i8[5,3] W = rand 1\n%o : u8[2,3] O = Gemm(%x, %w)"},
	{"DSP-FC-02", "in %x : i8[1,5] A\nin %w : i8[5,3] W\n%o : i8[1,3] O = MatMul(%x, %w)"},
	{"DSP-FC-03", "in %x : i8[2,5] A\nconst %w : i8[5,3] W = rand 1\n%o : i8[2,3] O = Gemm(%x, %w) {alpha=0.5}"},
	{"DSP-FC-04", "in %x : i8[2,5] A\nconst %w : i8[5,3] q(axis=1,0.1:0,0.2:1,0.3:0) = rand 1\n%o : i8[2,3] O = " +
		"Gemm(%x, %w)"},
	{"DSP-FC-06", "in %x : i8[2,5] A\nconst %w : i8[5,3] q(0.01:3) = rand 1\n%o : i8[2,3] O = Gemm(%x, %w)"},
	{"DSP-OCTETS-01", "in %x : u8[1,5] A\nconst %w : i8[5,3] W = rand 1\n%o : u8[1,3] O = Gemm(%x, %w)"},
	{"DSP-OCTETS-02", "in %x : i8[1,5] A\nin %w : i8[5,3] W\n%o : i8[1,3] O = MatMul(%x, %w)"},
	{"DSP-OCTETS-03", "in %x : i8[1,5] A\nconst %w : i8[5,3] W = rand 1\n%o : i8[1,3] O = Gemm(%x, %w) {alpha=0.5}"},
	{"DSP-OCTETS-04", "in %x : i8[1,5] A\nconst %w : i8[5,3] q(axis=1,0.1:0,0.2:1,0.3:0) = rand 1\n%o : i8[1,3] O = " +
		"Gemm(%x, %w)"},
	{"DSP-OCTETS-06", "in %x : i8[2,5] A\nconst %w : i8[5,8] W = rand 1\n%o : i8[2,8] O = Gemm(%x, %w)"},
	{"DSP-OCTETS-06", "in %x : i8[1,5] A\nconst %w : i8[5,7] W = rand 1\n%o : i8[1,7] O = Gemm(%x, %w)"},
	{"DSP-FCDOTS-01", "in %x : u8[2,5] A\nconst %w : i8[5,3] W = rand 1\n%o : u8[2,3] O = Gemm(%x, %w)"},
	{"DSP-FCDOTS-02", "in %x : i8[1,5] A\nin %w : i8[5,3] W\n%o : i8[1,3] O = MatMul(%x, %w)"},
	{"DSP-FCDOTS-03", "in %x : i8[2,5] A\nconst %w : i8[5,3] W = rand 1\n%o : i8[2,3] O = Gemm(%x, %w) {alpha=0.5}"},
	{"DSP-FCDOTS-04", "in %x : i8[2,5] A\nconst %w : i8[5,3] q(axis=1,0.1:0,0.2:1,0.3:0) = rand 1\n%o : i8[2,3] O = " +
		"Gemm(%x, %w)"},
	{"DSP-FCDOTS-06", "in %x : i8[2,5] A\nconst %w : i8[5,3] q(0.01:3) = rand 1\n%o : i8[2,3] O = Gemm(%x, %w)"},
	{"DSP-DW16-08", "in %x : i16[1,3,5,5] q(0.01:0)\nconst %w : i8[3,1,3,3] q(0.01:0) = rand 1\n" +
		"%o : i16[1,3,5,5] q(0.01:0) = Conv(%x, %w) {group=3, pads=[1,1,1,1]}", kerneltest.NoExtensions},
	{"DSP-CONV16-08", "in %x : i16[1,4,5,5] q(0.01:0)\nconst %w : i8[2,2,3,3] q(0.01:0) = rand 1\n" +
		"%o : i16[1,2,3,3] q(0.01:0) = Conv(%x, %w) {group=2}"},
	{"DSP-DOTS16-06", "in %x : i16[1,4,5,5] q(0.01:0)\nconst %w : i8[4,4,1,1] q(0.01:0) = rand 1\n" +
		"%o : i16[1,4,5,5] q(0.01:0) = Conv(%x, %w)"},
	{"DSP-FCDOTS16-05", "in %x : i16[3,5] q(0.01:0)\nconst %w : i8[5,2] q(0.01:0) = rand 1\n" +
		"%o : i16[3,2] q(0.01:0) = Gemm(%x, %w)"},
	{"DSP-SUM-01", "in %x : u8[40,40] A\nin %y : i8[40,40] W\n%o : i8[40,40] O = Add(%x, %y)"},
	{"DSP-SUM-02", "in %x : i8[2,5] A\nin %y : i8[2,5] W\n%o : i8[2,5] q(0.0000001:0) = Add(%x, %y)"},
	{"DSP-PAIR-01", "in %x : u8[40,40] A\nin %y : i8[40,40] W\n%o : i8[40,40] O = Mul(%x, %y)"},
	{"DSP-PAIR-02", "in %x : i8[2,5] A\nin %y : i8[2,5] W\n%o : i8[2,5] q(0.0000001:0) = Mul(%x, %y)"},
	{"DSP-PAIR-02", "in %x : i8[2,5] q(0.1:0)\nin %y : i8[2,5] q(0.11:0)\n%o : i8[2,5] q(0.2:0) = Sub(%x, %y)"},
	{"DSP-RUNS-01", "in %x : f32[2,5]\n%o : f32[2,5]@1.0 = nncc.Relayout(%x)"},
	{"DSP-RUNS-02", "in %x : i8[2,3,2,3,2,3,2,3,2] A\n" +
		"%o : i8[2,3,2,3,2,3,2,3,2]@8.7.6.5.4.3.2.1.0 A = nncc.Relayout(%x)"},
	{"DSP-RUNS-02", "in %x : i8[9,8,8,0] A\n%o : i8[9,8,8,0]@0.2.3.1 A = nncc.Relayout(%x)"},
	{"DSP-LIMIT-01", "in %x : f32[2,5]\n%o : f32[2,5] = Relu(%x)"},
	{"DSP-LIMIT-02", "in %x : i8[2,5] A\nin %m : f32[]\n%o : i8[2,5] O = Clip(%x, %m)"},
	{"DSP-LINE-01", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] W = rand 1\n%o : i8[1,4,3,3] O = Conv(%x, %w) " +
		"{group=4}"},
	{"DSP-LINE-02", "in %x : i8[1,4,5,5] q(5000:0)\nconst %w : i8[4,1,1,1] q(7:0) = rand 1\n%o : i8[1,4,5,5] O = " +
		"Conv(%x, %w) {group=4}"},
	{"DSP-ADD-01", "in %x : u8[40,40] A\nin %y : i8[40,40] W\n%o : i8[40,40] O = Add(%x, %y)"},
	{"DSP-ADD-02", "in %x : i8[40,40] A\nin %y : i8[40] W\n%o : i8[40,40] O = Add(%x, %y)"},
	{"DSP-ADD-03", "in %x : i8[2,5] A\nin %y : i8[2,5] W\n%o : i8[2,5] O = Add(%x, %y)"},
	{"DSP-AVG-01", "in %x : f32[1,2,5,5]\n%o = AveragePool(%x) {kernel_shape=[2,2]}"},
	{"DSP-AVG-02", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,4,4] O = AveragePool(%x) {kernel_shape=[2,2]}"},
	{"DSP-AVG-03", "in %x : i8[1,2,5,5,5] A\n%o : i8[1,2,4,4,4] A = AveragePool(%x) {kernel_shape=[2,2,2]}"},
	{"DSP-AVG-04", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,3,3] A = AveragePool(%x) {kernel_shape=[2,2], dilations=[2,2]}"},
	{"DSP-MAXP-01", "in %x : f32[1,2,5,5]\n%o = MaxPool(%x) {kernel_shape=[2,2]}"},
	{"DSP-MAXP-02", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,4,4] O = MaxPool(%x) {kernel_shape=[2,2]}"},
	{"DSP-MAXP-03", "in %x : i8[1,2,5,5,5] A\n%o : i8[1,2,4,4,4] A = MaxPool(%x) {kernel_shape=[2,2,2]}"},
	{"DSP-MAXP-04", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,3,3] A = MaxPool(%x) {kernel_shape=[2,2], dilations=[2,2]}"},
	{"DSP-AVGF-01", "in %x : f32[1,2,5,5]\n%o = AveragePool(%x) {kernel_shape=[2,2]}"},
	{"DSP-AVGF-02", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,4,4] O = AveragePool(%x) {kernel_shape=[2,2]}"},
	{"DSP-AVGF-03", "in %x : i8[1,2,5,5,5] A\n%o : i8[1,2,4,4,4] A = AveragePool(%x) {kernel_shape=[2,2,2]}"},
	{"DSP-AVGF-04", "in %x : i8[1,2,5,5] A\n" +
		"%o : i8[1,2,3,3] A = AveragePool(%x) {kernel_shape=[2,2], dilations=[2,2]}"},
	{"DSP-AVGF-05", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,4,3] A = AveragePool(%x) {kernel_shape=[2,3]}"},
	{"DSP-MAXF-01", "in %x : f32[1,2,5,5]\n%o = MaxPool(%x) {kernel_shape=[2,2]}"},
	{"DSP-MAXF-02", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,4,4] O = MaxPool(%x) {kernel_shape=[2,2]}"},
	{"DSP-MAXF-03", "in %x : i8[1,2,5,5,5] A\n%o : i8[1,2,4,4,4] A = MaxPool(%x) {kernel_shape=[2,2,2]}"},
	{"DSP-MAXF-04", "in %x : i8[1,2,5,5] A\n" +
		"%o : i8[1,2,3,3] A = MaxPool(%x) {kernel_shape=[2,2], dilations=[2,2]}"},
	{"DSP-MAXF-05", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,3,4] A = MaxPool(%x) {kernel_shape=[3,2]}"},
	{"DSP-AVGS-01", "in %x : f32[1,2,5,5]\n%o = AveragePool(%x) {kernel_shape=[2,2]}"},
	{"DSP-AVGS-02", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,4,4] O = AveragePool(%x) {kernel_shape=[2,2]}"},
	{"DSP-AVGS-03", "in %x : i8[1,2,5,5,5] A\n%o : i8[1,2,4,4,4] A = AveragePool(%x) {kernel_shape=[2,2,2]}"},
	{"DSP-AVGS-04", "in %x : i8[1,2,5,5] A\n" +
		"%o : i8[1,2,3,3] A = AveragePool(%x) {kernel_shape=[2,2], dilations=[2,2]}"},
	{"DSP-MAXS-01", "in %x : f32[1,2,5,5]\n%o = MaxPool(%x) {kernel_shape=[2,2]}"},
	{"DSP-MAXS-02", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,4,4] O = MaxPool(%x) {kernel_shape=[2,2]}"},
	{"DSP-MAXS-03", "in %x : i8[1,2,5,5,5] A\n%o : i8[1,2,4,4,4] A = MaxPool(%x) {kernel_shape=[2,2,2]}"},
	{"DSP-MAXS-04", "in %x : i8[1,2,5,5] A\n" +
		"%o : i8[1,2,3,3] A = MaxPool(%x) {kernel_shape=[2,2], dilations=[2,2]}"},
	{"DSP-AVGS-05", "in %x : i8[1,2,15,15] A\n%o : i8[1,2,4,4] A = AveragePool(%x) {kernel_shape=[12,12]}"},
	{"DSP-MAXS-05", "in %x : i8[1,2,5,7] A\n%o : i8[1,2,3,2] A = MaxPool(%x) {kernel_shape=[3,3], strides=[1,4]}"},
	{"DSP-BMM-01", "in %x : u8[3,5] A\nin %w : i8[5,3] W\n%o : u8[3,3] O = MatMul(%x, %w)"},
	{"DSP-BMM-02", "in %x : i8[1,1,1,1,3,5] A\nin %w : i8[5,3] W\n%o : i8[1,1,1,1,3,3] O = MatMul(%x, %w)"},
	{"DSP-BMM-03", "in %x : i8[3,5] A\nin %w : i8[5,3] q(2:0)\n%o : i8[3,3] q(0.0001:0) = MatMul(%x, %w)"},
	{"DSP-BMM-04", "in %x : i8[3,500] q(0.02:0)\nin %w : i8[500,3] q(0.02:0)\n%o : i8[3,3] q(0.001:0) = " +
		"MatMul(%x, %w)"},
	{"DSP-BMM-05", "in %x : i8[1,5] A\nin %w : i8[5,3] W\n%o : i8[1,3] O = MatMul(%x, %w)"},
	{"DSP-BMMR-01", "in %x : u8[1,5] A\nin %w : i8[5,3] W\n%o : u8[1,3] O = MatMul(%x, %w)"},
	{"DSP-BMMR-02", "in %x : i8[1,1,1,1,1,5] A\nin %w : i8[5,3] W\n%o : i8[1,1,1,1,1,3] O = MatMul(%x, %w)"},
	{"DSP-BMMR-03", "in %x : i8[1,5] A\nin %w : i8[5,3] q(2:0)\n%o : i8[1,3] q(0.0001:0) = MatMul(%x, %w)"},
	{"DSP-BMMR-04", "in %x : i8[1,500] q(0.02:0)\nin %w : i8[500,3] q(0.02:0)\n%o : i8[1,3] q(0.001:0) = " +
		"MatMul(%x, %w)"},
	{"DSP-BMMR-05", "in %x : i8[3,5] A\nin %w : i8[5,3] W\n%o : i8[3,3] O = MatMul(%x, %w)"},
	{"DSP-BMM16-04", "in %x : i16[3,5] q(0.01:0)\nin %w : i16[5,1] q(0.01:0)\n" +
		"%o : i16[3,1] q(0.01:0) = MatMul(%x, %w)"},
	{"DSP-TWO-01", "in %x : u8[60,2] A\n%o : u8[60,2] q(0.00390625:0) = Softmax(%x)"},
	{"DSP-TWO-02", "in %x : i8[60,3] A\n%o : i8[60,3] q(0.00390625:-128) = Softmax(%x)"},
	{"DSP-TWO-03", "in %x : i8[60,2] A\n%o : i8[60,2] q(0.0001:-128) = Softmax(%x)"},
	{"DSP-SMAX-01", "in %x : u8[60,5] A\n%o : u8[60,5] q(0.00390625:0) = Softmax(%x)"},
	{"DSP-SMAX-02", "in %x : i8[60,5] A\n%o : i8[60,5] q(0.0078125:-128) = Softmax(%x)"},
	{"DSP-SMAX-03", "in %x : i8[2,5] A\n%o : i8[2,5] q(0.00390625:-128) = Softmax(%x)"},
	{"DSP-TRANS-01", "in %x : f32[2,5]\n%o : f32[2,5]@1.0 = nncc.Relayout(%x)"},
	{"DSP-TRANS-02", "in %x : i8[2,3,4,5] A\n%o : i8[2,3,4,5]@3.1.0.2 A = nncc.Relayout(%x)"},
}

// TestRules: every rule refuses a layer of the list; a row refuses every layer
// on a core that it is not for.
// wideGates are gates whose sums or weights do not fit.
var wideGates = []kerneltest.Refused{
	{"DSP-LSTM-04", "in %x : i8[2,1,1] A\nconst %w : i8[8,1] W = {-128,-128,-1,-1,0,0,0,0}\n" +
		"const %r : i8[8,2] W = rand 1\n%o : i8[2,1,2] O = nncc.QLSTM(%x, %w, %r) {cell_scale_power=-11}"},
	{"DSP-GRU-04", "in %x : i8[2,1,1] A\nconst %w : i8[6,1] W = {-128,-128,-1,-1,0,0}\n" +
		"const %r : i8[6,2] W = rand 1\n%o : i8[2,1,2] O = nncc.QGRU(%x, %w, %r) {state_scale_power=-15}"},
	{"DSP-LSTM16-04", "in %x : i16[2,1,1] q(50:0)\nconst %w : i8[8,1] W = splat 127\n" +
		"const %r : i8[8,2] W = rand 1\n%o : i16[2,1,2] q(0.0001:0) = nncc.QLSTM(%x, %w, %r) {cell_scale_power=-11}"},
	{"DSP-GRU16-04", "in %x : i16[2,1,1] q(50:0)\nconst %w : i8[6,1] W = splat 127\n" +
		"const %r : i8[6,2] W = rand 1\n%o : i16[2,1,2] q(0.0001:0) = nncc.QGRU(%x, %w, %r) {state_scale_power=-15}"},
}

// few are the layers of int16 that other rows refuse, for those of few channels.
func few() []kerneltest.Refused {
	var list []kerneltest.Refused
	for _, r := range kerneltest.WideRefused("DSP") {
		kind, rule, _ := strings.Cut(strings.TrimPrefix(r[0], "DSP-"), "-")
		switch {
		case kind == "CONV16" && rule < "06":
			list = append(list, kerneltest.Refused{"DSP-DOTS16-" + rule, r[1]})
		case kind == "FC16" && rule < "05":
			list = append(list, kerneltest.Refused{"DSP-FCDOTS16-" + rule, r[1]})
		}
	}
	return list
}

func TestRules(t *testing.T) {
	kerneltest.Rules(t, dsp.Kernels, &core, slices.Concat(refused, kerneltest.RecurrentRefused("DSP"),
		kerneltest.RecurrentRefused("PLAIN"), wideGates, few(),
		kerneltest.WideRefused("DSP")), kernel.Core{DSP: true, MVE: true})
}
