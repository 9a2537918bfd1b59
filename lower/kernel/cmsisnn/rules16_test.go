// SPDX-License-Identifier: Apache-2.0

package cmsisnn_test

// refused16 are the refused layers of int16 and int4 (see refused). S stands for
// an int16 quantisation.
var refused16 = []refusal{
	{code: "CMSIS-CONV16-01", src: "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\n%o : i8[1,3,3,3] O = " +
		"Conv(%x, %w)"},
	{code: "CMSIS-CONV16-01", src: "in %x : i16[1,2,5,5] q(0.5:1)\nconst %w : i8[3,2,3,3] W = rand 1\n%o : " +
		"i16[1,3,3,3] S = Conv(%x, %w)"},
	{code: "CMSIS-CONV16-02", src: "in %x : i16[1,2,5,5] S\nin %w : i8[3,2,3,3] W\n%o : i16[1,3,3,3] S = Conv(%x, %w)"},
	{code: "CMSIS-CONV16-03", src: "in %x : i16[1,2,5,5] S\nconst %w : i8[3,2,3,3] W = rand 1\nconst %b : i32[3] " +
		"q(0.0625:0) = {1,2,3}\n%o : i16[1,3,3,3] S = Conv(%x, %w, %b)"},
	{code: "CMSIS-CONV16-04", src: "in %x : i16[1,2,5,5,5] S\nconst %w : i8[3,2,3,3,3] W = rand 1\n%o : " +
		"i16[1,3,3,3,3] S = Conv(%x, %w)"},
	{code: "CMSIS-CONV16-05", src: "in %x : i16[1,4,5,5] S\nconst %w : i8[4,2,3,3] W = rand 1\n%o : i16[1,4,3,3] S " +
		"= Conv(%x, %w) {group=2}"},
	{code: "CMSIS-CONV16-06", src: "in %x : i16[1,601,1,1] S\nconst %w : i8[3,601,1,1] W = rand 1\n%o : " +
		"i16[1,3,1,1] S = Conv(%x, %w)"},
	{code: "CMSIS-DW16-01", src: "in %x : i8[1,3,5,5] A\nconst %w : i8[3,1,3,3] W = rand 1\n%o : i8[1,3,3,3] O = " +
		"Conv(%x, %w) {group=3}"},
	{code: "CMSIS-DW16-02", src: "in %x : i16[1,3,5,5] S\nin %w : i8[3,1,3,3] W\n%o : i16[1,3,3,3] S = Conv(%x, %w) " +
		"{group=3}"},
	{code: "CMSIS-DW16-03", src: "in %x : i16[1,3,5,5] S\nconst %w : i8[3,1,3,3] q(0.25:1) = rand 1\n%o : " +
		"i16[1,3,3,3] S = Conv(%x, %w) {group=3}"},
	{code: "CMSIS-DW16-04", src: "in %x : i16[1,3,5,5,5] S\nconst %w : i8[3,1,3,3,3] W = rand 1\n%o : " +
		"i16[1,3,3,3,3] S = Conv(%x, %w) {group=3}"},
	{code: "CMSIS-DW16-05", src: "in %x : i16[1,2,5,5] S\nconst %w : i8[3,2,3,3] W = rand 1\n%o : i16[1,3,3,3] S = " +
		"Conv(%x, %w)"},
	{code: "CMSIS-FC16-01", src: "in %x : i8[2,5] A\nconst %w : i8[5,3] W = rand 1\n%o : i8[2,3] O = Gemm(%x, %w)"},
	{code: "CMSIS-FC16-02", src: "in %x : i16[2,5] S\nin %w : i8[5,3] W\n%o : i16[2,3] S = MatMul(%x, %w)"},
	{code: "CMSIS-FC16-03", src: "in %x : i16[2,5] S\nconst %w : i8[5,3] W = rand 1\n%o : i16[2,3] S = Gemm(%x, %w) " +
		"{alpha=0.5}"},
	{code: "CMSIS-FC16-04", src: "in %x : i16[1,601] S\nconst %w : i8[601,3] q(axis=1,0.1:0,0.2:0,0.3:0) = rand " +
		"1\n%o : i16[1,3] S = Gemm(%x, %w)"},
	{code: "CMSIS-BMM16-01", src: "in %x : i16[2,5] S\nin %y : i8[5,3] W\n%o : i16[2,3] S = MatMul(%x, %y)"},
	{code: "CMSIS-BMM16-02", src: "in %x : i16[5] S\nin %y : i16[5,3] S\n%o : i16[3] S = MatMul(%x, %y)"},
	{code: "CMSIS-BMM16-03", src: "in %x : i16[2,5] S\nin %y : i16[5,3] S\n%o : i16[2,3] q(1e-30:0) = MatMul(%x, %y)"},
	{code: "CMSIS-ADD16-01", src: "in %x : i16[2,5] S\nin %y : i8[2,5] A\n%o : i16[2,5] S = Add(%x, %y)"},
	{code: "CMSIS-ADD16-02", src: "in %x : i16[2,5] S\nin %y : i16[5] S\n%o : i16[2,5] S = Add(%x, %y)"},
	{code: "CMSIS-ADD16-03", src: "in %x : i16[2,5] S\nin %y : i16[2,5] S\n%o : i16[2,5] q(1e-9:0) = Add(%x, %y)"},
	{code: "CMSIS-MUL16-01", src: "in %x : i8[2,5] A\nin %y : i8[2,5] A\n%o : i8[2,5] A = Mul(%x, %y)"},
	{code: "CMSIS-MUL16-02", src: "in %x : i16[2,5] S\nin %y : i16[5] S\n%o : i16[2,5] S = Mul(%x, %y)"},
	{code: "CMSIS-MUL16-03", src: "in %x : i16[2,5] S\nin %y : i16[2,5] S\n%o : i16[2,5] q(1e-9:0) = Mul(%x, %y)"},
	{code: "CMSIS-AVG16-01", src: "in %x : f32[1,2,5,5]\n%o = AveragePool(%x) {kernel_shape=[2,2]}"},
	{code: "CMSIS-AVG16-02", src: "in %x : i16[1,2,5,5] S\n%o : i16[1,2,4,4] q(0.125:0) = AveragePool(%x) " +
		"{kernel_shape=[2,2]}"},
	{code: "CMSIS-AVG16-03", src: "in %x : i16[1,2,3,3,3] S\n%o : i16[1,2,2,2,2] S = AveragePool(%x) " +
		"{kernel_shape=[2,2,2]}"},
	{code: "CMSIS-AVG16-04", src: "in %x : i16[1,2,5] S\n%o : i16[1,2,3] S = AveragePool(%x) {kernel_shape=[2], " +
		"dilations=[2]}"},
	{code: "CMSIS-MAXP16-01", src: "in %x : f32[1,2,5,5]\n%o = MaxPool(%x) {kernel_shape=[2,2]}"},
	{code: "CMSIS-MAXP16-02", src: "in %x : i16[1,2,5,5] S\n%o : i16[1,2,4,4] q(0.125:0) = MaxPool(%x) " +
		"{kernel_shape=[2,2]}"},
	{code: "CMSIS-MAXP16-03", src: "in %x : i16[1,2,3,3,3] S\n%o : i16[1,2,2,2,2] S = MaxPool(%x) " +
		"{kernel_shape=[2,2,2]}"},
	{code: "CMSIS-MAXP16-04", src: "in %x : i16[1,2,5,5] S\n%o : i16[1,2,3,3] S = MaxPool(%x) {kernel_shape=[2,2], " +
		"dilations=[2,2]}"},
	{code: "CMSIS-SMAX16-01", src: "in %x : i8[2,5] A\n%o : i8[2,5] q(0.00390625:-128) = Softmax(%x)"},
	{code: "CMSIS-SMAX16-02", src: "in %x : i16[2,5] S\n%o : i16[2,5] S = Softmax(%x)"},
	{code: "CMSIS-CONV4-01", src: "in %x : i16[1,2,5,5] S\nconst %w : i4[3,2,1,1] W = rand 1\n%o : i16[1,3,5,5] S = " +
		"Conv(%x, %w)"},
	{code: "CMSIS-CONV4-02", src: "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\n%o : i8[1,3,3,3] O = " +
		"Conv(%x, %w)"},
	{code: "CMSIS-CONV4-03", src: "in %x : i8[1,2,5,5] A\nconst %w : i4[3,2,1,1] q(0.25:1) = rand 1\n%o : " +
		"i8[1,3,5,5] O = Conv(%x, %w)"},
	{code: "CMSIS-CONV4-04", src: "in %x : i8[1,2,5,5,5] A\nconst %w : i4[3,2,1,1,1] W = rand 1\n%o : i8[1,3,5,5,5] " +
		"O = Conv(%x, %w)"},
	{code: "CMSIS-CONV4-05", src: "in %x : i8[1,4,5,5] A\nconst %w : i4[4,2,1,1] W = rand 1\n%o : i8[1,4,5,5] O = " +
		"Conv(%x, %w) {group=2}"},
	{code: "CMSIS-CONV4-06", src: "in %x : i8[1,2,70000] A\nconst %w : i4[3,2,3] W = rand 1\n%o : i8[1,3,69998] O = " +
		"Conv(%x, %w)"},
	{code: "CMSIS-DW4-01", src: "in %x : i16[1,2,5,5] S\nconst %w : i4[2,1,1,1] W = rand 1\n%o : i16[1,2,5,5] S = " +
		"Conv(%x, %w) {group=2}"},
	{code: "CMSIS-DW4-02", src: "in %x : i8[1,2,5,5] A\nconst %w : i8[2,1,1,1] W = rand 1\n%o : i8[1,2,5,5] O = " +
		"Conv(%x, %w) {group=2}"},
	{code: "CMSIS-DW4-03", src: "in %x : i8[1,2,5,5] A\nconst %w : i4[2,1,1,1] q(0.25:1) = rand 1\n%o : i8[1,2,5,5] " +
		"O = Conv(%x, %w) {group=2}"},
	{code: "CMSIS-DW4-04", src: "in %x : i8[1,2,5,5,5] A\nconst %w : i4[2,1,1,1,1] W = rand 1\n%o : i8[1,2,5,5,5] O " +
		"= Conv(%x, %w) {group=2}"},
	{code: "CMSIS-DW4-05", src: "in %x : i8[1,2,5,5] A\nconst %w : i4[2,2,1,1] W = rand 1\n%o : i8[1,2,5,5] O = " +
		"Conv(%x, %w)"},
	{code: "CMSIS-DW4-06", src: "in %x : i8[1,3,5,5] A\nconst %w : i4[6,1,1,1] W = rand 1\n%o : i8[1,6,5,5] O = " +
		"Conv(%x, %w) {group=3}"},
	{code: "CMSIS-DW4-06", mve: true, src: "in %x : i8[1,2,5,5] A\nconst %w : i4[2,1,1,1] W = rand 1\n%o : " +
		"i8[1,2,5,5] O = Conv(%x, %w) {group=2}"},
	{code: "CMSIS-FC4-01", src: "in %x : i16[2,5] S\nconst %w : i4[5,3] W = rand 1\n%o : i16[2,3] S = Gemm(%x, %w)"},
	{code: "CMSIS-FC4-02", src: "in %x : i8[2,5] A\nconst %w : i8[5,3] W = rand 1\n%o : i8[2,3] O = Gemm(%x, %w)"},
	{code: "CMSIS-FC4-03", src: "in %x : i8[2,5] A\nconst %w : i4[5,3] q(0.25:1) = rand 1\n%o : i8[2,3] O = " +
		"Gemm(%x, %w)"},
}
