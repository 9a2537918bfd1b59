// SPDX-License-Identifier: Apache-2.0

package legal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/legal"
)

// only runs the passes called names over g with the interpreter's check.
func only(t *testing.T, g *ir.Graph, names ...string) *ir.Graph {
	t.Helper()
	ps := testenv.Must(pass.Select(legal.Passes, names...))(t)
	irtest.Passes(t, g, ps, 1, 2, 3)
	return g
}

// products are inner products %p of %x with C output channels in dimension
// axis; weights and input are float64, so that the comparison is sharp.
var products = []struct {
	name, in, text string
	c, axis, rank  int
}{
	{"conv", "f64[2,4,6,5]", `const %w : f64[6,4,3,3] = rand 1 %p = Conv(%x, %w)`, 6, 1, 4},
	{"conv pads bias", "f64[1,4,6,5]",
		`const %w : f64[6,4,3,2] = rand 1 const %b : f64[6] = rand 2 %p = Conv(%x, %w, %b) {pads=[2,1,0,1], strides=[2,1]}`,
		6, 1, 4},
	{"conv groups", "f64[1,4,6,5]", `const %w : f64[6,2,3,3] = rand 1 %p = Conv(%x, %w) {group=2, pads=[1,1,1,1]}`, 6,
		1, 4},
	{"depthwise", "f64[1,4,6,5]",
		`const %w : f64[8,1,3,3] = rand 1 const %b : f64[8] = rand 2 %p = Conv(%x, %w, %b) {group=4, pads=[1,1,1,1]}`,
		8, 1, 4},
	{"conv 1-D", "f64[1,4,9]", `const %w : f64[6,4,3] = rand 1 %p = Conv(%x, %w) {pads=[2,0], dilations=[2]}`, 6, 1, 3},
	{"deconv", "f64[1,4,3,5]",
		`const %w : f64[4,6,3,3] = rand 1 %p = ConvTranspose(%x, %w) {strides=[2,2], pads=[1,1,0,1]}`, 6, 1, 4},
	{"deconv groups bias", "f64[2,4,3,5]",
		`const %w : f64[4,3,2,3] = rand 1 const %b : f64[6] = rand 2 %p = ConvTranspose(%x, %w, %b) {group=2, strides=[2,1],
			output_padding=[1,0]}`, 6, 1, 4},
	{"gemm", "f64[2,4]", `const %w : f64[4,6] = rand 1 %p = Gemm(%x, %w) {alpha=0.5}`, 6, 1, 2},
	{"gemm transB", "f64[2,4]",
		`const %w : f64[6,4] = rand 1 const %b : f64[6] = rand 2 %p = Gemm(%x, %w, %b) {transB=1, beta=2.0, alpha=3.0}`,
		6, 1, 2},
	{"gemm matrix C", "f64[2,4]",
		`const %w : f64[4,6] = rand 1 const %b : f64[2,1] = rand 2 %p = Gemm(%x, %w, %b) {beta=2.0}`, 6, 1, 2},
	{"matmul", "f64[2,4]", `const %w : f64[4,6] = rand 1 %p = MatMul(%x, %w)`, 6, 1, 2},
}

// maps are per-channel maps of %p to %y; S is the shape of a constant along
// the channels, C the number of channels.
var maps = []string{
	`const %s : f64[C] = rand 11 const %o : f64[C] = rand 12 const %m : f64[C] = rand 13 const %v : f64[C] = splat 0.7
	 %y = BatchNormalization(%p, %s, %o, %m, %v) {epsilon=0.001}`,
	`const %k : f64[S] = rand 11 %y = Mul(%p, %k)`,
	`const %k : f64[S] = rand 11 %y = Mul(%k, %p)`,
	`const %k : f64[S] = rand 11 %y = Add(%p, %k)`,
	`const %k : f64[S] = rand 11 %y = Sub(%p, %k)`,
	`const %k : f64[S] = rand 11 %y = Sub(%k, %p)`,
	`const %k : f64[S] = splat 3 %y = Div(%p, %k)`,
	`%y = Neg(%p)`,
	`const %k : f64[] = {0.25} %y = Mul(%p, %k)`,
}

func TestFoldBack(t *testing.T) {
	for _, p := range products {
		for i, m := range maps {
			s := append([]string{fmt.Sprint(p.c)}, strings.Split(strings.Repeat("1 ", p.rank-1-p.axis), " ")...)
			shape := strings.TrimSuffix(strings.Join(s, ","), ",")
			m = strings.NewReplacer("[C]", fmt.Sprintf("[%d]", p.c), "[S]", "["+shape+"]").Replace(m)
			src := fmt.Sprintf(`graph "g" { in %%x : %s %s %s %%r = Relu(%%y) out "r" = %%r }`, p.in, p.text, m)
			t.Run(fmt.Sprintf("%s/%d", p.name, i), func(t *testing.T) {
				g := only(t, irtest.Parse(t, src), "bn-fold")
				testenv.Check(t, len(g.Nodes) == 2, "not folded:\n%s", g)
			})
			t.Run(fmt.Sprintf("%s/%d/linear", p.name, i), func(t *testing.T) {
				g := only(t, irtest.Parse(t, src), "bn-linear")
				if i == 0 && (irtest.Count(g, "Mul") != 1 || irtest.Count(g, "Add") != 1 || len(g.Nodes) != 4) {
					t.Errorf("not one Mul and one Add:\n%s", g)
				}
			})
		}
	}
}

func TestFoldForward(t *testing.T) {
	for _, c := range []struct {
		name, in, text string
		folds          bool
	}{
		{"conv", "f64[1,4,6,5]", `const %w : f64[6,4,3,3] = rand 1 %y = Conv(%n, %w)`, true},
		{"conv bias groups", "f64[2,4,6,5]",
			`const %w : f64[6,2,3,3] = rand 1 const %b : f64[6] = rand 2 %y = Conv(%n, %w, %b) {group=2, strides=[2,1],
				pads=[0,0,0,0]}`, true},
		{"conv pads", "f64[1,4,6,5]", `const %w : f64[6,4,3,3] = rand 1 %y = Conv(%n, %w) {pads=[0,0,1,0]}`, false},
		{"conv same", "f64[1,4,6,5]", `const %w : f64[6,4,3,3] = rand 1 %y = Conv(%n, %w) {auto_pad="SAME_UPPER"}`,
			false},
		{"deconv", "f64[1,4,3,3]", `const %w : f64[4,6,3,3] = rand 1 %y = ConvTranspose(%n, %w)`, false},
		{"gemm", "f64[2,4]",
			`const %w : f64[6,4] = rand 1 const %b : f64[6] = rand 2 %y = Gemm(%n, %w, %b) {transB=1, alpha=0.5, beta=2.0}`,
			true},
		{"matmul", "f64[2,4]", `const %w : f64[4,6] = rand 1 %y = MatMul(%n, %w)`, true},
		{"two readers", "f64[1,4,6,5]",
			`const %w : f64[6,4,3,3] = rand 1 %a = Conv(%n, %w) %b = Conv(%n, %w) {strides=[1,1]} %y = Add(%a, %b)`,
			true},
		{"another reader", "f64[1,4,6,5]", `const %w : f64[4,4,1,1] = rand 1 %a = Conv(%n, %w) %y = Add(%a, %n)`,
			false},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := fmt.Sprintf(`graph "g" { in %%x : %s %%r = Relu(%%x)
				const %%s : f64[4] = rand 11 const %%o : f64[4] = rand 12 const %%m : f64[4] = rand 13 const %%v : f64[4] = splat
				0.7
				%%n = BatchNormalization(%%r, %%s, %%o, %%m, %%v) %s out "y" = %%y }`, c.in, c.text)
			g := only(t, irtest.Parse(t, src), "bn-fold")
			folded := irtest.Count(g, "Mul") == 0
			for _, n := range g.Nodes { // what is left becomes a 1x1 depthwise convolution
				folded = folded && !(n.Name == "n" && n.Op == op.Conv)
			}
			testenv.Check(t, folded == c.folds && irtest.Count(g, "BatchNormalization") <= 0,
				"folded %v, want %v:\n%s", folded, c.folds, g)
			// Without an offset, padding and transposed convolutions are exact too.
			src = fmt.Sprintf(
				`graph "g" { in %%x : %s %%r = Relu(%%x) const %%k : f64[4%s] = rand 3 %%n = Mul(%%r, %%k) %s out "y" = %%y }`,
				c.in, strings.Repeat(",1", strings.Count(c.in, ",")-1), c.text)
			g = only(t, irtest.Parse(t, src), "bn-fold")
			if folded := irtest.Count(g, "Mul") == 0; folded != (c.name != "another reader") {
				t.Errorf("factor folded %v:\n%s", folded, g)
			}
		})
	}
}

// TestFoldThrough folds over operators that commute with a map per channel.
func TestFoldThrough(t *testing.T) {
	for _, c := range []struct {
		name, text string
		folds      bool
	}{
		{"max, positive",
			`%q = MaxPool(%p) {kernel_shape=[3,3], pads=[1,1,1,1]} const %k : f64[6,1,1] = splat 2 %y = Mul(%q, %k)`,
			true},
		{"max, negative", `%q = MaxPool(%p) {kernel_shape=[3,3]} const %k : f64[6,1,1] = splat -2 %y = Mul(%q, %k)`,
			false},
		{"max, offset",
			`%q = MaxPool(%p) {kernel_shape=[3,3], pads=[1,1,1,1]} const %k : f64[6,1,1] = rand 4 %y = Sub(%q, %k)`,
			true},
		{"average",
			`%q = AveragePool(%p) {kernel_shape=[3,3], pads=[1,1,1,1]} const %k : f64[6,1,1] = rand 4 %y = Sub(%k, %q)`,
			true},
		{"average with padding counted",
			`%q = AveragePool(%p) {kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1}
				const %k : f64[6,1,1] = rand 4 %y = Sub(%q, %k)`, false},
		{"global",
			`%q = GlobalAveragePool(%p) const %s : i64[2] = {0,-1} %f = Reshape(%q, %s)
				const %k : f64[6] = rand 4 %y = Add(%f, %k)`, true},
		{"transpose", `%q = Transpose(%p) {perm=[0,2,3,1]} const %k : f64[6] = rand 4 %y = Mul(%q, %k)`, true},
		{"transpose, other axis", `%q = Transpose(%p) {perm=[0,1,3,2]} const %k : f64[4] = rand 4 %y = Mul(%q, %k)`,
			false},
		{"flatten", `%q = Flatten(%p) const %k : f64[120] = rand 4 %y = Mul(%q, %k)`, false},
		{"merged space",
			`const %s : i64[3] = {0,0,-1} %q = Reshape(%p, %s) const %k : f64[6,1] = rand 4 %y = Mul(%q, %k)`, true},
		{"relu", `%q = Relu(%p) const %k : f64[6,1,1] = splat 2 %y = Mul(%q, %k)`, false},
		{"pad",
			`const %s : i64[8] = {0,0,1,1,0,0,1,1} %q = Pad(%p, %s) const %k : f64[6,1,1] = splat 2 %y = Add(%q, %k)`,
			false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irtest.Parse(t, `graph "g" { in %x : f64[1,4,6,7] const %w : f64[6,4,3,3] = rand 1 %p = Conv(%x, %w) `+
				c.text+` out "y" = %y }`)
			n := len(g.Nodes)
			only(t, g, "bn-fold")
			folded := len(g.Nodes) == n-1
			testenv.Check(t, folded == c.folds, "folded %v, want %v:\n%s", folded, c.folds, g)
		})
	}
}

// TestDecomposedBN folds a BatchNormalization spelt out with constants.
func TestDecomposedBN(t *testing.T) {
	g := irtest.Parse(t, `graph "g" { in %x : f64[1,2,4,4] const %w : f64[3,2,3,3] = rand 1
		const %var : f64[3] = {1,2,3} const %eps : f64[] = {0.001}
		const %mean : f64[3] = rand 2 const %gamma : f64[3] = rand 3 const %axes : i64[2] = {1,2}
		%c = Conv(%x, %w) {pads=[1,1,1,1]}
		%ve = Add(%var, %eps) %sd = Sqrt(%ve) %k = Div(%gamma, %sd) %nm = Neg(%mean) %km = Mul(%nm, %k)
		%ku = Unsqueeze(%k, %axes) %kmu = Unsqueeze(%km, %axes)
		%m = Mul(%c, %ku) %a = Add(%m, %kmu) %y = Relu(%a) out "y" = %y }`)
	only(t, g, "const-fold", "cleanup", "bn-fold", "absorb")
	testenv.Check(t, len(g.Nodes) == 1, "left:\n%s", g)
}

// TestFoldQuantised: weights behind DequantizeLinear take up positive factors in their scales, no others.
func TestFoldQuantised(t *testing.T) {
	for _, c := range []struct {
		m    string
		left int
	}{{"{3, 0.5, 2}", 2}, {"{3, -0.5, 2}", 3}} {
		g := irtest.Parse(t, `graph "g" { in %x : f32[1,2,4,4] const %q : i8[3,2,1,1] = {1, -2, 3, 4, -5, 6}
			const %s : f32[3] = {0.5, 0.25, 0.125} const %z : i8[3] = {0, 1, 2} const %b : f32[3] = {1, 2, 3}
			const %m : f32[3,1,1] = `+c.m+` %w = DequantizeLinear(%q, %s, %z) {axis=0} %p = Conv(%x, %w, %b)
			%y = Mul(%p, %m) out "y" = %y }`)
		testenv.Equal(t, len(only(t, g, "bn-fold").Nodes), c.left, "factors %s: nodes are left", c.m)
	}
}

// TestNothingJoined: parts without elements are split off and joined by nobody.
func TestNothingJoined(t *testing.T) {
	g := irtest.Parse(t, `graph "g" { in %x : f32[2,6] const %s : i64[2] = {6, 0} %a, %b = Split(%x, %s) {axis=1}
		%r = Relu(%a) %c = Concat(%r, %b) {axis=1} %y = Neg(%c) out "y" = %y }`)
	testenv.Check(t, len(only(t, g, "cleanup").Nodes) == 2, "left:\n%s", g)
}
