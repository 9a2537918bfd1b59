// SPDX-License-Identifier: Apache-2.0

package helium_test

import (
	"slices"
	"testing"

	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/helium"
	"github.com/nncc/nncc/lower/kerneltest"
)

// refused has a layer for every rule that it breaks.
var refused = []kerneltest.Refused{
	{"HELIUM-CONV-01", "in %x : u8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\n%o : u8[1,3,3,3] O = Conv(%x, %w)"},
	{"HELIUM-CONV-02", "in %x : i8[1,2,5,5] A\nin %w : i8[3,2,3,3] W\n%o : i8[1,3,3,3] O = Conv(%x, %w)"},
	{"HELIUM-CONV-03", "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\nconst %b : i32[3] q(0.3:0) = " +
		"{1,2,3}\n%o : i8[1,3,3,3] O = Conv(%x, %w, %b)"},
	{"HELIUM-CONV-04", "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] q(0.25:1) = rand 1\n%o : i8[1,3,3,3] O = " +
		"Conv(%x, %w)"},
	{"HELIUM-CONV-05", "in %x : i8[1,2,5,5,5] A\nconst %w : i8[3,2,3,3,3] W = rand 1\n%o : i8[1,3,3,3,3] O = " +
		"Conv(%x, %w)"},
	{"HELIUM-CONV-06", "in %x : i8[1,3,5,5] A\nconst %w : i8[3,1,3,3] W = rand 1\n%o : i8[1,3,3,3] O = Conv(%x, %w) " +
		"{group=3}"},
	{"HELIUM-DW31-01", "in %x : u8[1,4,5,5] A\nconst %w : i8[4,1,3,3] W = rand 1\n%o : u8[1,4,3,3] O = Conv(%x, %w) " +
		"{group=4}"},
	{"HELIUM-DW32-01", "in %x : u8[1,4,5,5] A\nconst %w : i8[4,1,3,3] W = rand 1\n%o : u8[1,4,3,3] O = Conv(%x, %w) " +
		"{group=4}"},
	{"HELIUM-DW31-02", "in %x : i8[1,4,5,5] A\nin %w : i8[4,1,3,3] W\n%o : i8[1,4,3,3] O = Conv(%x, %w) {group=4}"},
	{"HELIUM-DW32-02", "in %x : i8[1,4,5,5] A\nin %w : i8[4,1,3,3] W\n%o : i8[1,4,3,3] O = Conv(%x, %w) {group=4}"},
	{"HELIUM-DW31-03", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] W = rand 1\nconst %b : i32[4] q(0.3:0) = " +
		"{1,2,3,4}\n%o : i8[1,4,3,3] O = Conv(%x, %w, %b) {group=4}"},
	{"HELIUM-DW32-03", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] W = rand 1\nconst %b : i32[4] q(0.3:0) = " +
		"{1,2,3,4}\n%o : i8[1,4,3,3] O = Conv(%x, %w, %b) {group=4}"},
	{"HELIUM-DW31-04", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] q(0.25:1) = rand 1\n%o : i8[1,4,3,3] O = " +
		"Conv(%x, %w) {group=4}"},
	{"HELIUM-DW32-04", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] q(0.25:1) = rand 1\n%o : i8[1,4,3,3] O = " +
		"Conv(%x, %w) {group=4}"},
	{"HELIUM-DW31-05", "in %x : i8[1,4,5,5,5] A\nconst %w : i8[4,1,3,3,3] W = rand 1\n%o : i8[1,4,3,3,3] O = " +
		"Conv(%x, %w) {group=4}"},
	{"HELIUM-DW32-05", "in %x : i8[1,4,5,5,5] A\nconst %w : i8[4,1,3,3,3] W = rand 1\n%o : i8[1,4,3,3,3] O = " +
		"Conv(%x, %w) {group=4}"},
	{"HELIUM-DW31-06", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,4,3,3] W = rand 1\n%o : i8[1,4,3,3] O = Conv(%x, %w)"},
	{"HELIUM-DW32-06", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,4,3,3] W = rand 1\n%o : i8[1,4,3,3] O = Conv(%x, %w)"},
	{"HELIUM-DW31-07", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] q(2:0) = rand 1\n%o : i8[1,4,3,3] O = " +
		"Conv(%x, %w) {group=4}"},
	{"HELIUM-DW32-07", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] q(2:0) = rand 1\n%o : i8[1,4,3,3] O = " +
		"Conv(%x, %w) {group=4}"},
	{"HELIUM-DW-01", "in %x : u8[1,4,5,5] A\nconst %w : i8[4,1,3,3] W = rand 1\n%o : u8[1,4,3,3] O = Conv(%x, %w) " +
		"{group=4}"},
	{"HELIUM-DW-02", "in %x : i8[1,4,5,5] A\nin %w : i8[4,1,3,3] W\n%o : i8[1,4,3,3] O = Conv(%x, %w) {group=4}"},
	{"HELIUM-DW-03", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] W = rand 1\nconst %b : i32[4] q(0.3:0) = " +
		"{1,2,3,4}\n%o : i8[1,4,3,3] O = Conv(%x, %w, %b) {group=4}"},
	{"HELIUM-DW-04", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] q(0.25:1) = rand 1\n%o : i8[1,4,3,3] O = " +
		"Conv(%x, %w) {group=4}"},
	{"HELIUM-DW-05", "in %x : i8[1,4,5,5,5] A\nconst %w : i8[4,1,3,3,3] W = rand 1\n%o : i8[1,4,3,3,3] O = Conv(%x, " +
		"%w) {group=4}"},
	{"HELIUM-DW-06", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,4,3,3] W = rand 1\n%o : i8[1,4,3,3] O = Conv(%x, %w)"},
	{"HELIUM-DW-07", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] q(2:0) = rand 1\n%o : i8[1,4,3,3] O = Conv(%x, " +
		"%w) {group=4}"},
	{"HELIUM-DW31-08", "in %x : i8[1,4,9,9] A\nconst %w : i8[4,1,5,5] W = rand 1\n%o : i8[1,4,5,5] O = Conv(%x, %w) " +
		"{group=4}"},
	{"HELIUM-DW32-08", "in %x : i8[1,4,9,9] A\nconst %w : i8[4,1,5,5] W = rand 1\n%o : i8[1,4,5,5] O = Conv(%x, %w) " +
		"{group=4}"},
	{"HELIUM-DW31-08", "in %x : i8[1,4,9,9] A\nconst %w : i8[4,1,3,3] W = rand 1\n%o : i8[1,4,7,3] O = Conv(%x, %w) " +
		"{group=4, strides=[1,3]}"},
	{"HELIUM-DW32-08", "in %x : i8[1,4,9,9] A\nconst %w : i8[4,1,3,3] W = rand 1\n%o : i8[1,4,7,3] O = Conv(%x, %w) " +
		"{group=4, strides=[1,3]}"},
	{"HELIUM-DW32-09", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,1,3,3] W = " +
		"{-128,-128,-128,-128,-128,-128,-128,-128,-128,-128,-128,-128,-128,-128,-128,-128,-128,-128}\n%o : " +
		"i8[1,2,3,3] O = Conv(%x, %w) {group=2}"},
	{"HELIUM-DW31-08", "in %x : i8[1,4,9,9] A\nconst %w : i8[8,1,3,3] W = rand 1\n%o : i8[1,8,7,7] O = Conv(%x, %w) " +
		"{group=4}"},
	{"HELIUM-FC-01", "in %x : u8[2,5] A\nconst %w : i8[5,3] W = rand 1\n%o : u8[2,3] O = Gemm(%x, %w)"},
	{"HELIUM-FC-02", "in %x : i8[2,5] A\nin %w : i8[5,3] W\n%o : i8[2,3] O = MatMul(%x, %w)"},
	{"HELIUM-FC-03", "in %x : i8[2,5] A\nconst %w : i8[5,3] W = rand 1\n%o : i8[2,3] O = Gemm(%x, %w) {alpha=0.5}"},
	{"HELIUM-FC-04", "in %x : i8[2,5] A\nconst %w : i8[5,3] q(axis=1,0.1:0,0.2:1,0.3:0) = rand 1\n%o : i8[2,3] O = " +
		"Gemm(%x, %w)"},
	{"HELIUM-FC-05", "in %x : i8[2,5] A\nconst %w : i8[5,3] q(0.01:3) = rand 1\n%o : i8[2,3] O = Gemm(%x, %w)"},
	{"HELIUM-ADD-01", "in %x : u8[40,40] A\nin %y : i8[40,40] W\n%o : i8[40,40] O = Add(%x, %y)"},
	{"HELIUM-ADD-02", "in %x : i8[40,40] A\nin %y : i8[40] W\n%o : i8[40,40] O = Add(%x, %y)"},
	{"HELIUM-ADD-03", "in %x : i8[2,5] A\nin %y : i8[2,5] W\n%o : i8[2,5] q(0.0000001:0) = Add(%x, %y)"},
	{"HELIUM-SUM-01", "in %x : u8[40,40] A\nin %y : i8[40,40] W\n%o : i8[40,40] O = Add(%x, %y)"},
	{"HELIUM-SUM-02", "in %x : i8[2,5] A\nin %y : i8[2,5] W\n%o : i8[2,5] q(0.0000001:0) = Add(%x, %y)"},
	{"HELIUM-PAIR-01", "in %x : u8[40,40] A\nin %y : i8[40,40] W\n%o : i8[40,40] O = Mul(%x, %y)"},
	{"HELIUM-PAIR-02", "in %x : i8[2,5] A\nin %y : i8[2,5] W\n%o : i8[2,5] q(0.0000001:0) = Mul(%x, %y)"},
	{"HELIUM-RUNS-01", "in %x : f32[2,5]\n%o : f32[2,5]@1.0 = nncc.Relayout(%x)"},
	{"HELIUM-RUNS-02", "in %x : i8[2,3,2,3,2,3,2,3,2] A\n" +
		"%o : i8[2,3,2,3,2,3,2,3,2]@8.7.6.5.4.3.2.1.0 A = nncc.Relayout(%x)"},
	{"HELIUM-RUNS-02", "in %x : i8[9,8,8,0] A\n%o : i8[9,8,8,0]@0.2.3.1 A = nncc.Relayout(%x)"},
	{"HELIUM-LIMIT-01", "in %x : f32[2,5]\n%o : f32[2,5] = Relu(%x)"},
	{"HELIUM-LIMIT-02", "in %x : i8[2,5] A\nin %m : f32[]\n%o : i8[2,5] O = Clip(%x, %m)"},
	{"HELIUM-LINE-01", "in %x : i8[1,4,5,5] A\nconst %w : i8[4,1,3,3] W = rand 1\n%o : i8[1,4,3,3] O = Conv(%x, %w) " +
		"{group=4}"},
	{"HELIUM-LINE-02", "in %x : i8[1,4,5,5] q(5000:0)\nconst %w : i8[4,1,1,1] q(7:0) = rand 1\n%o : i8[1,4,5,5] O = " +
		"Conv(%x, %w) {group=4}"},
	{"HELIUM-AVG-01", "in %x : f32[1,2,5,5]\n%o = AveragePool(%x) {kernel_shape=[2,2]}"},
	{"HELIUM-AVG-02", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,4,4] O = AveragePool(%x) {kernel_shape=[2,2]}"},
	{"HELIUM-AVG-03", "in %x : i8[1,2,5,5,5] A\n%o : i8[1,2,4,4,4] A = AveragePool(%x) {kernel_shape=[2,2,2]}"},
	{"HELIUM-AVG-04", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,3,3] A = AveragePool(%x) {kernel_shape=[2,2], " +
		"dilations=[2,2]}"},
	{"HELIUM-AVGS-01", "in %x : f32[1,2,5,5]\n%o = AveragePool(%x) {kernel_shape=[2,2]}"},
	{"HELIUM-AVGS-02", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,4,4] O = AveragePool(%x) {kernel_shape=[2,2]}"},
	{"HELIUM-AVGS-03", "in %x : i8[1,2,5,5,5] A\n%o : i8[1,2,4,4,4] A = AveragePool(%x) {kernel_shape=[2,2,2]}"},
	{"HELIUM-AVGS-04", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,3,3] A = AveragePool(%x) {kernel_shape=[2,2], " +
		"dilations=[2,2]}"},
	{"HELIUM-AVGS-05", "in %x : i8[1,2,14,14] A\n%o : i8[1,2,1,1] A = GlobalAveragePool(%x)"},
	{"HELIUM-MAXP-01", "in %x : f32[1,2,5,5]\n%o = MaxPool(%x) {kernel_shape=[2,2]}"},
	{"HELIUM-MAXP-02", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,4,4] O = MaxPool(%x) {kernel_shape=[2,2]}"},
	{"HELIUM-MAXP-03", "in %x : i8[1,2,5,5,5] A\n%o : i8[1,2,4,4,4] A = MaxPool(%x) {kernel_shape=[2,2,2]}"},
	{"HELIUM-MAXP-04", "in %x : i8[1,2,5,5] A\n%o : i8[1,2,3,3] A = MaxPool(%x) {kernel_shape=[2,2], dilations=[2,2]}"},
	{"HELIUM-AVG-05", "in %x : i8[1,2,64,64] A\n%o : i8[1,2,1,1] A = GlobalAveragePool(%x)"},
	{"HELIUM-MAPPED-01", "in %x : i8[2,5] A\n%o : i8[2,5] O = nncc.Fused(%x) body \"b\" {\nin %x : i8[2,5] A\n%a : " +
		"i8[2,5] A = Sigmoid(%x)\n%o : i8[2,5] O = Tanh(%a)\nout \"o\" = %o\n}"},
	{"HELIUM-BMM-01", "in %x : u8[2,5] A\nin %w : i8[5,3] W\n%o : u8[2,3] O = MatMul(%x, %w)"},
	{"HELIUM-BMM-02", "in %x : i8[1,1,1,1,2,5] A\nin %w : i8[5,3] W\n%o : i8[1,1,1,1,2,3] O = MatMul(%x, %w)"},
	{"HELIUM-BMM-03", "in %x : i8[2,5] A\nin %w : i8[5,3] q(2:0)\n%o : i8[2,3] q(0.0001:0) = MatMul(%x, %w)"},
	{"HELIUM-TWO-01", "in %x : u8[60,2] A\n%o : u8[60,2] q(0.00390625:0) = Softmax(%x)"},
	{"HELIUM-TWO-02", "in %x : i8[60,3] A\n%o : i8[60,3] q(0.00390625:-128) = Softmax(%x)"},
	{"HELIUM-TWO-03", "in %x : i8[60,2] A\n%o : i8[60,2] q(0.0001:-128) = Softmax(%x)"},
	{"HELIUM-SMAX-01", "in %x : u8[60,5] A\n%o : u8[60,5] q(0.00390625:0) = Softmax(%x)"},
	{"HELIUM-SMAX-02", "in %x : i8[60,5] A\n%o : i8[60,5] q(0.0078125:-128) = Softmax(%x)"},
	{"HELIUM-SMAX-03", "in %x : i8[2,5] A\n%o : i8[2,5] q(0.00390625:-128) = Softmax(%x)"},
	{"HELIUM-RESIDUAL-01", "in %x : i8[2,5] A\n%o : i8[2,5] O = nncc.Fused(%x) body \"b\" {\nin %x : i8[2,5] A\n%a " +
		": i8[2,5] A = Sigmoid(%x)\n%o : i8[2,5] O = Tanh(%a)\nout \"o\" = %o\n}"},
	{"HELIUM-PHASE-01", "in %x : u8[1,2,5,5] A\nconst %w : i8[2,3,2,2] W = rand 1\n%o : u8[1,3,10,10] O = " +
		"ConvTranspose(%x, %w) {strides=[2,2]}"},
	{"HELIUM-PHASE-02", "in %x : i8[1,2,5,5] A\nin %w : i8[2,3,2,2] W\n%o : i8[1,3,10,10] O = ConvTranspose(%x, %w) " +
		"{strides=[2,2]}"},
	{"HELIUM-PHASE-03", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,2,2] q(axis=0,0.1:0,0.2:0) = rand 1\n%o : " +
		"i8[1,3,10,10] O = ConvTranspose(%x, %w) {strides=[2,2]}"},
	{"HELIUM-PHASE-04", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,2,2] q(0.25:1) = rand 1\n%o : i8[1,3,10,10] O = " +
		"ConvTranspose(%x, %w) {strides=[2,2]}"},
	{"HELIUM-PHASE-05", "in %x : i8[1,2,3,3,3] A\nconst %w : i8[2,3,1,1,1] W = rand 1\n%o : i8[1,3,3,3,3] O = " +
		"ConvTranspose(%x, %w)"},
	{"HELIUM-PHASE-06", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,2,2] q(2:0) = rand 1\n%o : i8[1,3,10,10] O = " +
		"ConvTranspose(%x, %w) {strides=[2,2]}"},
	{"HELIUM-PHASE-07", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,2,2] W = rand 1\n%o : i8[1,3,266,6] O = " +
		"ConvTranspose(%x, %w) {strides=[66,1]}"},
	{"HELIUM-UP-01", "in %x : u8[1,2,5,5] A\nconst %w : i8[2,3,2,2] W = rand 1\n%o : u8[1,3,10,10] O = " +
		"ConvTranspose(%x, %w) {strides=[2,2]}"},
	{"HELIUM-UP-02", "in %x : i8[1,2,5,5] A\nin %w : i8[2,3,2,2] W\n%o : i8[1,3,10,10] O = ConvTranspose(%x, %w) " +
		"{strides=[2,2]}"},
	{"HELIUM-UP-03", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,2,2] q(axis=0,0.1:0,0.2:0) = rand 1\n%o : " +
		"i8[1,3,10,10] O = ConvTranspose(%x, %w) {strides=[2,2]}"},
	{"HELIUM-UP-04", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,2,2] q(0.25:1) = rand 1\n%o : i8[1,3,10,10] O = " +
		"ConvTranspose(%x, %w) {strides=[2,2]}"},
	{"HELIUM-UP-05", "in %x : i8[1,2,3,3,3] A\nconst %w : i8[2,3,1,1,1] W = rand 1\n%o : i8[1,3,3,3,3] O = " +
		"ConvTranspose(%x, %w)"},
	{"HELIUM-UP-06", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,2,2] q(2:0) = rand 1\n%o : i8[1,3,10,10] O = " +
		"ConvTranspose(%x, %w) {strides=[2,2]}"},
	{"HELIUM-UP-07", "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,3,3] W = rand 1\n%o : i8[1,3,11,11] O = " +
		"ConvTranspose(%x, %w) {strides=[2,2]}"},
	{"HELIUM-TRANS-01", "in %x : f32[2,5]\n%o : f32[2,5]@1.0 = nncc.Relayout(%x)"},
	{"HELIUM-TRANS-02", "in %x : i8[2,3,4,5] A\n%o : i8[2,3,4,5]@3.1.0.2 A = nncc.Relayout(%x)"},
	{"HELIUM-TRANS-03", "in %x : i8[9400,9401] A\n%o : i8[9400,9401]@1.0 A = nncc.Relayout(%x)"},
}

// TestRules: every rule refuses a layer of the list; a row refuses every layer
// on a core that it is not for.
func TestRules(t *testing.T) {
	kerneltest.Rules(t, helium.Kernels, &kernel.Options{Core: core}, slices.Concat(refused,
		kerneltest.RecurrentRefused("HELIUM"),
		kerneltest.WideRefused("HELIUM")), kernel.Core{}, kernel.Core{DSP: true})
}
