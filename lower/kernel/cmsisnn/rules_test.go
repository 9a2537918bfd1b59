// SPDX-License-Identifier: Apache-2.0

package cmsisnn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
)

// refusal is a layer that a rule refuses.
type refusal struct {
	code, src string
	mve       bool
	order     []int // of the result
}

// refused has, for every rule, a layer that breaks it; the last node is judged.
// A, W, B and O stand for quantisations (see quants).
var refused = []refusal{
	{code: "CMSIS-CONV-01", src: "in %x : f32[1,2,5,5]\nconst %w : i8[3,2,3,3] W = rand 1\n%o = Conv(%x, %w)"},
	{code: "CMSIS-CONV-01", src: "in %x : i8[0,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\n%o : i8[0,3,3,3] O = " +
		"Conv(%x, %w)"},
	{code: "CMSIS-CONV-02", src: "in %x : i8[1,2,5,5] A\nin %w : i8[3,2,3,3] W\n%o : i8[1,3,3,3] O = Conv(%x, %w)"},
	{code: "CMSIS-CONV-03", src: "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\nconst %b : i32[3] " +
		"q(0.3:0) = {1,2,3}\n%o : i8[1,3,3,3] O = Conv(%x, %w, %b)"},
	{code: "CMSIS-CONV-04", src: "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] q(0.25:1) = rand 1\n%o : " +
		"i8[1,3,3,3] O = Conv(%x, %w)"},
	{code: "CMSIS-CONV-05", src: "in %x : i8[1,2,5,5,5] A\nconst %w : i8[3,2,3,3,3] W = rand 1\n%o : i8[1,3,3,3,3] " +
		"O = Conv(%x, %w)"},
	{code: "CMSIS-CONV-06", src: "in %x : i8[1,3,5,5] A\nconst %w : i8[3,1,3,3] W = rand 1\n%o : i8[1,3,3,3] O = " +
		"Conv(%x, %w) {group=3}"},
	{code: "CMSIS-CONV-07", src: "in %x : i8[1,2,70000] A\nconst %w : i8[3,2,3] W = rand 1\n%o : i8[1,3,69998] O = " +
		"Conv(%x, %w)"},
	{code: "CMSIS-DW-07", src: "in %x : i8[1,3,70000] A\nconst %w : i8[6,1,3] W = rand 1\n%o : i8[1,6,69998] O = " +
		"Conv(%x, %w) {group=3}"},
	{code: "CMSIS-UPCONV-06", src: "in %x : i8[1,2,70000] A\nconst %w : i8[2,3,3] W = rand 1\n%o : i8[1,3,70002] O " +
		"= ConvTranspose(%x, %w)"},
	{code: "CMSIS-DW-01", src: "in %x : u8[1,3,5,5] A\nconst %w : i8[3,1,3,3] W = rand 1\n%o : u8[1,3,3,3] O = " +
		"Conv(%x, %w) {group=3}"},
	{code: "CMSIS-DW-02", src: "in %x : i8[1,3,5,5] A\nconst %w : i8[3,1,3,3] W = rand 1\nin %b : i32[3] B\n%o : " +
		"i8[1,3,3,3] O = Conv(%x, %w, %b) {group=3}"},
	{code: "CMSIS-DW-03", src: "in %x : i8[1,3,5,5] A\nconst %w : i8[3,1,3,3] W = rand 1\nconst %b : i32[3] " +
		"q(0.3:0) = {1,2,3}\n%o : i8[1,3,3,3] O = Conv(%x, %w, %b) {group=3}"},
	{code: "CMSIS-DW-04", src: "in %x : i8[1,3,5,5] A\nconst %w : i8[3,1,3,3] q(0.25:-2) = rand 1\n%o : i8[1,3,3,3] " +
		"O = Conv(%x, %w) {group=3}"},
	{code: "CMSIS-DW-05", src: "in %x : i8[1,3,5,5,5] A\nconst %w : i8[3,1,3,3,3] W = rand 1\n%o : i8[1,3,3,3,3] O " +
		"= Conv(%x, %w) {group=3}"},
	{code: "CMSIS-DW-06", src: "in %x : i8[1,2,5,5] A\nconst %w : i8[3,2,3,3] W = rand 1\n%o : i8[1,3,3,3] O = " +
		"Conv(%x, %w)"},
	{code: "CMSIS-TCONV-01", src: "in %x : i16[1,2,5,5] q(0.5:0)\nconst %w : i8[2,3,3,3] W = rand 1\n%o : " +
		"i16[1,3,7,7] q(0.5:0) = ConvTranspose(%x, %w)"},
	{code: "CMSIS-TCONV-02", src: "in %x : i8[1,2,5,5] A\nin %w : i8[2,3,3,3] W\n%o : i8[1,3,7,7] O = " +
		"ConvTranspose(%x, %w)"},
	{code: "CMSIS-TCONV-03", src: "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,3,3] q(axis=0,0.1:0,0.2:0) = rand 1\n%o " +
		": i8[1,3,7,7] O = ConvTranspose(%x, %w)"},
	{code: "CMSIS-TCONV-04", src: "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,3,3] q(0.25:1) = rand 1\n%o : " +
		"i8[1,3,7,7] O = ConvTranspose(%x, %w)"},
	{code: "CMSIS-TCONV-05", src: "in %x : i8[1,2,3,3,3] A\nconst %w : i8[2,3,1,1,1] W = rand 1\n%o : i8[1,3,3,3,3] " +
		"O = ConvTranspose(%x, %w)"},
	{code: "CMSIS-TCONV-06", src: "in %x : i8[1,4,5,5] A\nconst %w : i8[4,3,3,3] W = rand 1\n%o : i8[1,6,7,7] O = " +
		"ConvTranspose(%x, %w) {group=2}"},
	{code: "CMSIS-TCONV-06", src: "in %x : i8[1,2,5] A\nconst %w : i8[2,3,3] W = rand 1\n%o : i8[1,3,9] O = " +
		"ConvTranspose(%x, %w) {dilations=[2]}"},
	{code: "CMSIS-TCONV-07", src: "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,1,1] W = rand 1\n%o : i8[1,3,3,5] O = " +
		"ConvTranspose(%x, %w) {pads=[1,0,1,0]}"},
	{code: "CMSIS-UPCONV-01", src: "in %x : f32[1,2,5,5]\nconst %w : i8[2,3,3,3] W = rand 1\n%o = ConvTranspose(%x, " +
		"%w)"},
	{code: "CMSIS-UPCONV-02", src: "in %x : i8[1,2,5,5] A\nin %w : i8[2,3,3,3] W\n%o : i8[1,3,7,7] O = " +
		"ConvTranspose(%x, %w)"},
	{code: "CMSIS-UPCONV-03", src: "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,3,3] W = rand 1\n%o : i8[1,3,7,7] " +
		"q(1e-30:0) = ConvTranspose(%x, %w)"},
	{code: "CMSIS-UPCONV-04", src: "in %x : i8[1,2,5,5] A\nconst %w : i8[2,3,3,3] q(0.25:1) = rand 1\n%o : " +
		"i8[1,3,7,7] O = ConvTranspose(%x, %w)"},
	{code: "CMSIS-UPCONV-05", src: "in %x : i8[1,2,3,3,3] A\nconst %w : i8[2,3,1,1,1] W = rand 1\n%o : " +
		"i8[1,3,3,3,3] O = ConvTranspose(%x, %w)"},
	{code: "CMSIS-FC-01", src: "in %x : u8[2,5] A\nconst %w : i8[5,3] W = rand 1\n%o : u8[2,3] O = Gemm(%x, %w)"},
	{code: "CMSIS-FC-02", src: "in %x : i8[2,5] A\nin %w : i8[5,3] W\n%o : i8[2,3] O = MatMul(%x, %w)"},
	{code: "CMSIS-FC-02", src: "in %x : i8[2,5] A\nconst %w : i8[5,3] W = rand 1\nin %b : i32[3]\n" +
		"%o : i8[2,3] O = Gemm(%x, %w, %b)"},
	{code: "CMSIS-FC-03", src: "in %x : i8[2,5] A\nconst %w : i8[5,3] W = rand 1\n%o : i8[2,3] O = Gemm(%x, %w) " +
		"{alpha=0.5}"},
	{code: "CMSIS-FC-03", src: "in %x : i8[2,2,5] A\nconst %w : i8[2,5,3] W = rand 1\n%o : i8[2,2,3] O = MatMul(%x, " +
		"%w)"},
	{code: "CMSIS-FC-04", src: "in %x : i8[2,5] A\nconst %w : i8[5,3] q(axis=1,0.1:0,0.2:1,0.3:0) = rand 1\n%o : " +
		"i8[2,3] O = Gemm(%x, %w)"},
	{code: "CMSIS-FC-05", mve: true, src: "in %x : i8[2,5] A\nconst %w : i8[5,3] q(axis=1,0.1:1,0.2:1,0.3:1) = rand " +
		"1\n%o : i8[2,3] O = Gemm(%x, %w)"},
	{code: "CMSIS-BMM-01", src: "in %x : i8[2,5] A\nin %y : u8[5,3] W\n%o : i8[2,3] O = MatMul(%x, %y)"},
	{code: "CMSIS-BMM-02", src: "in %x : i8[2,2,2,2,5] A\nin %y : i8[5,3] W\n%o : i8[2,2,2,2,3] O = MatMul(%x, %y)"},
	{code: "CMSIS-BMM-03", src: "in %x : i8[2,5] A\nin %y : i8[5,3] W\n%o : i8[2,3] q(1e-30:0) = MatMul(%x, %y)"},
	{code: "CMSIS-ADD-01", src: "in %x : u8[2,5] A\nin %y : i8[2,5] W\n%o : i8[2,5] O = Add(%x, %y)"},
	{code: "CMSIS-ADD-02", src: "in %x : i8[2,5] A\nin %y : i8[5] W\n%o : i8[2,5] O = Add(%x, %y)"},
	{code: "CMSIS-ADD-02", src: "in %x : i8[40,40] A\nconst %y : i8[40] W = rand 1\n%o : i8[40,40] O = Add(%x, %y)"},
	{code: "CMSIS-MUL-01", src: "in %x : f32[2,5]\nin %y : f32[2,5]\n%o = Mul(%x, %y)"},
	{code: "CMSIS-MUL-02", src: "in %x : i8[2,5] A\nin %y : i8[2,1] W\n%o : i8[2,5] O = Mul(%x, %y)"},
	{code: "CMSIS-MIN-01", src: "in %x : i8[2,5] A\nin %y : i8[2,5] A\nin %z : i8[2,5] A\n%o : i8[2,5] A = Min(%x, " +
		"%y, %z)"},
	{code: "CMSIS-MIN-02", src: "in %x : i8[2,5] A\nin %y : i8[2,5] W\n%o : i8[2,5] A = Min(%x, %y)"},
	{code: "CMSIS-MIN-03", src: "in %x : i8[2,2,2,2,5] A\nin %y : i8[5] A\n%o : i8[2,2,2,2,5] A = Min(%x, %y)"},
	{code: "CMSIS-MAX-01", src: "in %x : i8[2,5] A\n%o : i8[2,5] A = Max(%x)"},
	{code: "CMSIS-MAX-02", src: "in %x : f32[2,5]\nin %y : f32[2,5]\n%o = Max(%x, %y)"},
	{code: "CMSIS-MAX-03", src: "in %x : i8[2,2,2,2,5] A\nin %y : i8[2,1,1,1,1] A\n%o : i8[2,2,2,2,5] A = Max(%x, %y)"},
	{code: "CMSIS-AVG-01", src: "in %x : i8[1,2,5,5] A\n%o : u8[1,2,4,4] A = AveragePool(%x) {kernel_shape=[2,2]}"},
	{code: "CMSIS-AVG-02", src: "in %x : i8[1,2,5,5] A\n%o : i8[1,2,4,4] O = AveragePool(%x) {kernel_shape=[2,2]}"},
	{code: "CMSIS-AVG-02", src: "in %x : i8[1,2,5,5] A\n%o : i8[1,2,6,6] A = AveragePool(%x) {kernel_shape=[2,2], " +
		"pads=[1,1,1,1], count_include_pad=1}"},
	{code: "CMSIS-AVG-03", src: "in %x : i8[1,2,3,3,3] A\n%o : i8[1,2,2,2,2] A = AveragePool(%x) " +
		"{kernel_shape=[2,2,2]}"},
	{code: "CMSIS-AVG-04", src: "in %x : i8[1,2,5] A\n%o : i8[1,2,3] A = AveragePool(%x) {kernel_shape=[2], " +
		"dilations=[2]}"},
	{code: "CMSIS-MAXP-01", src: "in %x : f32[1,2,5,5]\n%o = MaxPool(%x) {kernel_shape=[2,2]}"},
	{code: "CMSIS-MAXP-02", src: "in %x : i8[1,2,5,5] A\n%o : i8[1,2,4,4] O = MaxPool(%x) {kernel_shape=[2,2]}"},
	{code: "CMSIS-MAXP-03", src: "in %x : i8[1,2,3,3,3] A\n%o : i8[1,2,2,2,2] A = MaxPool(%x) {kernel_shape=[2,2,2]}"},
	{code: "CMSIS-MAXP-04", src: "in %x : i8[1,2,5,5] A\n%o : i8[1,2,3,3] A = MaxPool(%x) {kernel_shape=[2,2], " +
		"dilations=[2,2]}"},
	{code: "CMSIS-SMAX-01", src: "in %x : u8[2,5] A\n%o : u8[2,5] q(0.00390625:0) = Softmax(%x)"},
	{code: "CMSIS-SMAX-02", src: "in %x : i8[2,5] A\n%o : i8[2,5] q(0.0078125:-128) = Softmax(%x)"},
	{code: "CMSIS-SMAX-03", src: "in %x : i8[2,4096] A\n%o : i8[2,4096] q(0.00390625:-128) = Softmax(%x)"},
	{code: "CMSIS-CONCAT-01", src: "in %x : i8[2,5] A\nin %y : i8[2,5] W\n%o : i8[4,5] A = Concat(%x, %y) {axis=0}"},
	{code: "CMSIS-CONCAT-02", src: "in %x : i8[2,40000] A\nin %y : i8[2,40000] A\n%o : i8[2,80000] A = Concat(%x, " +
		"%y) {axis=1}"},
	{code: "CMSIS-CONCAT-02", src: "in %x : i8[30,30,30,30,2] A\nin %y : i8[30,30,30,30,2] A\n%o : " +
		"i8[30,30,30,30,4] A = Concat(%x, %y) {axis=4}"},
	{code: "CMSIS-PAD-01", src: "in %x : i8[2,5] A\nconst %p : i64[4] = {1,1,1,1}\n%o : i8[4,7] O = Pad(%x, %p)"},
	{code: "CMSIS-PAD-02", src: "in %x : i8[2,5] A\nconst %p : i64[4] = {1,-1,1,1}\n%o : i8[4,5] A = Pad(%x, %p)"},
	{code: "CMSIS-PAD-03", src: "in %x : i8[2,5] A\nconst %p : i64[4] = {1,1,1,1}\n%o : i8[4,7] A = Pad(%x, %p) " +
		"{mode=\"edge\"}"},
	{code: "CMSIS-PAD-03", src: "in %x : i8[2,5] A\nconst %p : i64[4] = {1,1,1,1}\nin %f : i8[] A\n%o : i8[4,7] A = " +
		"Pad(%x, %p, %f)"},
	{code: "CMSIS-PAD-04", src: "in %x : i8[2,5,2,2,3] A\nconst %p : i64[10] = {1,1,1,1,1,0,0,0,0,0}\n%o : " +
		"i8[3,6,3,3,4] A = Pad(%x, %p)"},
	{code: "CMSIS-CLIP-01", src: "in %x : u8[2,5] A\n%o : u8[2,5] A = Relu(%x)"},
	{code: "CMSIS-CLIP-02", src: "in %x : i8[2,5] A\n%o : i8[2,5] O = Relu(%x)"},
	{code: "CMSIS-CLIP-02", src: "in %x : i8[2,5] A\nin %k : f32[]\n%o : i8[2,5] A = Clip(%x, %k)"},
	{code: "CMSIS-TRANS-01", src: "in %x : f32[2,5]\n%o = nncc.Relayout(%x)", order: []int{1, 0}},
	{code: "CMSIS-TRANS-02", src: "in %x : i8[2,5,2,2,3] A\n%o : i8[2,5,2,2,3] A = nncc.Relayout(%x)",
		order: []int{4, 3, 2, 1, 0}},
	{code: "CMSIS-LSTM-01", src: "in %x : i8[2,1,3] A\nin %w : i8[8,3] W\nconst %r : i8[8,2] W = rand 2\n%o : " +
		"i8[2,1,2] O = nncc.QLSTM(%x, %w, %r) {cell_scale_power=-11}"},
	{code: "CMSIS-LSTM-02", src: "in %x : i8[2,1,3] A\nconst %w : i8[8,3] q(0.25:1) = rand 1\nconst %r : i8[8,2] W " +
		"= rand 2\n%o : i8[2,1,2] O = nncc.QLSTM(%x, %w, %r) {cell_scale_power=-11}"},
	{code: "CMSIS-LSTM-03", src: "in %x : i16[2,1,3] q(0.001:0)\nconst %w : i8[8,3] W = rand 1\nconst %r : i8[8,2] W " +
		"= rand 2\n%o : i16[2,1,2] q(0.0001:0) = nncc.QLSTM(%x, %w, %r) {cell_scale_power=-11}"},
	{code: "CMSIS-LSTM-04", src: "in %x : i8[2,1,3] A\nconst %w : i8[8,3] W = rand 1\nconst %r : i8[8,2] W = rand 2\n" +
		"%o : i8[2,1,2] O = nncc.QLSTM(%x, %w, %r) {cell_scale_power=-11}"},
}

var quants = strings.NewReplacer("] A", "] q(0.5:3)", "] W", "] q(0.25:0)", "] B", "] q(0.125:0)", "] O", "] q(2.0:-5)",
	"] S", "] q(0.0625:0)")

// TestRules: every rule refuses one layer and lets another one pass.
func TestRules(t *testing.T) {
	refuses, passes := map[string]bool{}, map[string]bool{}
	for _, c := range slices.Concat(refused, refused16) {
		n := last(t, c.src)
		if c.order != nil {
			n.Out[0].Type.Order = c.order
		}
		found := ""
		for _, k := range cmsisnn.Kernels {
			if !hasOp(k, n) {
				continue
			}
			for _, r := range k.CheckLegality(kernel.NewNode(n, &kernel.Options{Core: kernel.Core{MVE: c.mve}})) {
				if r.Code == c.code {
					found = r.Text
				}
			}
		}
		if found == "" || strings.Contains(found, "\n") {
			t.Errorf("%s: reason %q for\n%s", c.code, found, c.src)
		}
		refuses[c.code] = true
	}
	for _, core := range []kernel.Core{{}, {MVE: true}} {
		for _, l := range layers(3, 30) {
			g := ir.New("g")
			l.Add(t, g)
			n := g.Nodes[len(g.Nodes)-1]
			for _, k := range cmsisnn.Kernels {
				if k.Name == l.Row && hasOp(k, n) &&
					len(k.CheckLegality(kernel.NewNode(n, &kernel.Options{Core: core}))) == 0 {
					for _, r := range k.Rules {
						passes[r.Code] = true
					}
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, k := range cmsisnn.Kernels {
		if k.Doc == "" || k.Library != cmsisnn.Library {
			t.Errorf("%s: no description or another library", k.Name)
		}
		for _, r := range k.Rules {
			if seen[r.Code] || r.Doc == "" {
				t.Errorf("rule %s is there twice or has no description", r.Code)
			}
			seen[r.Code] = true
			if !refuses[r.Code] || !passes[r.Code] {
				t.Errorf("rule %s: refuses a layer of the test: %t, lets one pass: %t", r.Code, refuses[r.Code],
					passes[r.Code])
			}
		}
	}
}

func hasOp(k *kernel.Kernel, n *ir.Node) bool {
	for _, o := range k.Ops {
		if o == n.Op {
			return true
		}
	}
	return false
}
