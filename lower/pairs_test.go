// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"cmp"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/fidelity"
)

// paired are chains from %x on, with "|" where exporters put QuantizeLinear and
// DequantizeLinear behind a value that passes of lower/legal then have to look through,
// and "||" where a pair is needed; gone are the operators that no step is left of.
var paired = []struct{ name, gone, text string }{
	{"pad, conv", "Pad", `%p = Pad(%x, %pads) | %c = Conv(%p, %w) {strides=[2,2]}`},
	{"pad, conv with pads", "Pad", `%p = Pad(%x, %pads) | %c = Conv(%p, %w) {pads=[0,1,2,0]}`},
	{"pad, depthwise", "Pad", `%p = Pad(%x, %pads) | %c = Conv(%p, %dw) {group=4, strides=[2,2]}`},
	{"pad with 0", "Pad", `%p = Pad(%x, %pads, %zero) | %c = Conv(%p, %w)`},
	{"pad, two convs", "Pad", `%p = Pad(%x, %pads) |
		%a = Conv(%p, %w) || %b = Conv(%p, %dw) {group=4} || %c = Add(%a, %b)`},
	{"pad, maximum", "Pad", `%r = Relu(%x) | %p = Pad(%r, %pads) | %c = MaxPool(%p) {kernel_shape=[3,3]}`},
	{"pad with -inf, maximum", "Pad", `%p = Pad(%x, %pads, %low) | %c = MaxPool(%p) {kernel_shape=[3,3]}`},
	{"pad, transposed conv", "Pad", `%p = Pad(%x, %pads) | %c = ConvTranspose(%p, %w) {strides=[2,2], pads=[2,2,2,4]}`},
	{"pad, transposes, conv", "Pad Transpose", `%p = Pad(%x, %pads) | %t = Transpose(%p) {perm=[0,2,3,1]} |
		%u = Transpose(%t) {perm=[0,3,1,2]} | %c = Conv(%u, %w)`},
	{"pad, transpose, conv", "Pad", `%p = Pad(%x, %pads) | %t = Transpose(%p) {perm=[0,1,3,2]} | %c = Conv(%t, %w)`},
	{"pad, 1-D", "Pad", `%f = Reshape(%x, %line) | %p = Pad(%f, %pads1) | %c = Conv(%p, %w1) {strides=[2]} |
		%r = Relu(%c)`},
	{"pad, leaky relu, conv", "Pad", `%p = Pad(%x, %pads) | %r = LeakyRelu(%p) || %c = Conv(%r, %w)`},
	{"pad, sigmoid, conv", "", `%p = Pad(%x, %pads) | %r = Sigmoid(%p) || %c = Conv(%r, %w)`},
	{"conv, relu, pad, conv", "Pad Relu", `%c = Conv(%x, %w) | %r = Relu(%c) || %p = Pad(%r, %pads) |
		%d = Conv(%p, %dw) {group=4}`},
	{"conv, relu", "Relu", `%c = Conv(%x, %w) | %r = Relu(%c)`},
	{"conv, clip", "Clip", `%c = Conv(%x, %w) | %r = Clip(%c, %zero, %one)`},
	{"conv, clip between steps", "Clip", `%c = Conv(%x, %w) | %r = Clip(%c, %odd, %one)`},
	{"conv, minimum, maximum", "Min Max", `%c = Conv(%x, %w) | %r = Min(%c, %one) | %q = Max(%r, %odd)`},
	{"conv, reshape, relu", "Relu", `%c = Conv(%x, %w) {pads=[1,1,1,1]} | %f = Reshape(%c, %flat) | %r = Relu(%f)`},
	{"conv, transpose, relu", "Relu", `%c = Conv(%x, %w) | %f = Transpose(%c) {perm=[0,2,3,1]} | %r = Relu(%f)`},
	{"transposed conv, relu", "Relu", `%c = ConvTranspose(%x, %w) | %r = Relu(%c)`},
	{"add, relu", "Relu", `%c = Add(%x, %x) | %r = Relu(%c)`},
	{"product, relu", "Relu", `%f = Reshape(%x, %flat) | %c = MatMul(%f, %m) | %r = Relu(%c)`},
	{"maximum, relu", "Relu", `%c = MaxPool(%x) {kernel_shape=[2,2]} | %r = Relu(%c)`},
	{"average, relu", "Relu", `%c = AveragePool(%x) {kernel_shape=[2,2]} | %r = Relu(%c)`},
	{"relu, relu", "Relu", `%c = Sigmoid(%x) || %r = Relu(%c) | %q = Relu(%r)`},
	{"transposes", "Transpose", `%a = Transpose(%x) {perm=[0,2,3,1]} | %r = Relu(%a) |
		%c = Transpose(%r) {perm=[0,3,1,2]}`},
	{"transposes, concat", "Transpose", `%a = Transpose(%x) {perm=[0,2,3,1]} | %b = Concat(%a, %a) {axis=3} |
		%c = Transpose(%b) {perm=[0,3,1,2]}`},
	{"transpose, mean", "Transpose", `%a = Transpose(%x) {perm=[0,2,3,1]} | %c = ReduceMean(%a, %hw) {keepdims=0}`},
	{"reshapes", "Reshape", `%a = Reshape(%x, %flat) | %b = Reshape(%a, %three) | %c = Reshape(%b, %four) |
		%r = Sigmoid(%c)`},
	{"expand, add", "Expand", `%a = Slice(%x, %from, %to) | %b = Expand(%a, %whole) | %c = Add(%x, %b)`},
	{"slices, concat", "", `%a = Slice(%x, %from, %to) | %b = Slice(%x, %cut, %end) | %c = Concat(%a, %b) {axis=3}`},
	{"conv, flatten, product", "", `%c = Conv(%x, %w) || %f = Reshape(%c, %square) | %y = MatMul(%f, %m36)`},
	{"conv, shuffle", "", `%c = Conv(%x, %w) | %y = DepthToSpace(%c) {blocksize=2, mode="CRD"}`},
	{"space to depth and back", "", `%a = SpaceToDepth(%x) {blocksize=2} | %y = DepthToSpace(%a) {blocksize=2}`},
	{"global average, flatten", "", `%a = GlobalAveragePool(%x) || %f = Flatten(%a) | %y = MatMul(%f, %m4)`},
	{"dropped", "Dropout Identity", `%a = Dropout(%x) | %b = Identity(%a) | %c = Sigmoid(%b)`},
}

// pairedGraph is the program of a chain with quantised values of an element type and zero
// point: all of its pairs, or those that are needed.
func pairedGraph(t *testing.T, text string, all bool, dtype, zero string) *ir.Graph {
	t.Helper()
	src := `graph "g" { in %in : f32[1,4,8,8] const %s : f32[] = {0.03} const %z : ` + dtype + `[] = {` + zero + `}
		const %w8 : i8[4,4,3,3] = rand 1 const %dw8 : i8[4,1,3,3] = rand 2 const %w18 : i8[4,4,3] = rand 3
		const %m8 : i8[64,5] = rand 4 const %m368 : i8[144,5] = rand 5 const %m48 : i8[4,5] = rand 6
		const %ws : f32[] = {0.004} const %wz : i8[] = {0} %w = DequantizeLinear(%w8, %ws, %wz)
		%dw = DequantizeLinear(%dw8, %ws, %wz) %w1 = DequantizeLinear(%w18, %ws, %wz)
		%m = DequantizeLinear(%m8, %ws, %wz) %m36 = DequantizeLinear(%m368, %ws, %wz) %m4 = DequantizeLinear(%m48, %ws,
			%wz)
		const %pads : i64[8] = {0,0,0,1,0,0,1,2} const %pads1 : i64[6] = {0,0,1,0,0,2}
		const %zero : f32[] = {0} const %one : f32[] = {1.5} const %odd : f32[] = {-0.333} const %low : f32[] = {-inf}
		const %flat : i64[2] = {-1,64} const %three : i64[3] = {4,8,8} const %four : i64[4] = {1,4,8,8}
		const %square : i64[2] = {1,144} const %line : i64[3] = {1,4,64} const %hw : i64[2] = {1,2}
		const %from : i64[4] = {0,0,0,0} const %to : i64[4] = {1,4,8,1} const %end : i64[4] = {1,4,8,8}
		const %cut : i64[4] = {0,0,0,1} const %whole : i64[4] = {1,4,8,8} `
	now := map[string]string{} // what stands for a value
	last := ""
	pair := func() {
		src += strings.ReplaceAll(" %V_q = QuantizeLinear(%V, %s, %z) %V_d = DequantizeLinear(%V_q, %s, %z) ", "V",
			last)
		now[last] = last + "_d"
	}
	value := regexp.MustCompile(`%(\w+)( = )?`)
	for i, part := range strings.Split("%x = Identity(%in) || "+text, "|") {
		if i > 0 && (all && part != "" || part == "") && now[last] == "" {
			pair()
		}
		src += value.ReplaceAllStringFunc(part, func(v string) string {
			m := value.FindStringSubmatch(v)
			if m[2] != "" {
				last = m[1]
			}
			return "%" + cmp.Or(now[m[1]], m[1]) + m[2]
		})
	}
	pair()
	return irtest.Parse(t, src+` out "y" = %`+last+`_d }`)
}

// TestPairsAreNoBarrier: a pair of QuantizeLinear and DequantizeLinear of one scale and
// zero point costs no step, and the program computes what it computes without the pair
// and without the passes that look through it; its values are the model's, within steps.
func TestPairsAreNoBarrier(t *testing.T) {
	m55 := targets()[0]
	run := func(g *ir.Graph, off ...string) (*ir.Graph, *ir.Graph, *tensor.Dense) {
		x, o := irtest.Inputs(g, 1), m55.options(g)
		o.Off = map[string]bool{}
		for _, name := range off {
			o.Off[name] = true
		}
		r := testenv.Must(lower.Run(g, o))(t)
		x[0] = ir.QuantiseEven(x[0], r.Reference.In[0].Type)
		y := testenv.Must(interp.Run(r.Reference, x, nil))(t)
		f, err := fidelity.New(r.Model, r.Graph, r.Slack())
		testenv.OK(t, err)
		_, err = f.Case(x)
		testenv.OK(t, err)
		for _, row := range f.Rows(r.Model.OutNames) {
			for _, s := range row.Wrong {
				t.Errorf("%s holds no %s:\n%s", s.Layer(), s.Tensor, r.Graph)
			}
		}
		return r.Graph, r.Reference, y[0]
	}
	for _, of := range [][2]string{{"i8", "-128"}, {"i8", "-7"}, {"u8", "117"}, {"i16", "0"}} {
		for _, c := range paired {
			t.Run(c.name+" "+of[0]+of[1], func(t *testing.T) {
				with := pairedGraph(t, c.text, true, of[0], of[1])
				_, _, plain := run(with.Clone(), "absorb", "absorb-integer", "transpose", "flatten-order",
					"pixel-shuffle")
				a, ref, got := run(with)
				b, _, want := run(pairedGraph(t, c.text, false, of[0], of[1]))
				if !tensor.Equal(got, plain) || !tensor.Equal(got, want) {
					t.Errorf("%g from the program without passes, %g from that without pairs:\n%s", irtest.Diff(got,
						plain),
						irtest.Diff(got, want), ref)
				}
				for _, name := range strings.Fields(c.gone) {
					testenv.Check(t, irtest.Count(a, name) <= 0, "%s is left:\n%s", name, a)
				}
				testenv.Check(t, len(a.Nodes) <= len(b.Nodes), "%d steps with the pairs, %d without:\n%s\n%s",
					len(a.Nodes), len(b.Nodes), a, b)
			})
		}
	}
}
