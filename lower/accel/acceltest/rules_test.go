// SPDX-License-Identifier: Apache-2.0

package acceltest

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// last is the last node of a graph, whose result has the given type.
func last(t *testing.T, decl, node, result string) *ir.Node {
	t.Helper()
	g := irtest.Parse(t, "graph \"g\" {\n"+decl+"\n%o : "+result+" = "+node+"\nout \"o\" = %o\n}")
	return g.Nodes[len(g.Nodes)-1]
}

const (
	x    = "in %x : i8[1,4,6,6] q(0.05:-3)\n"
	w    = "const %w : i8[2,4,3,3] q(0.01:0) = rand 1\n"
	conv = " {kernel_shape=[3,3]}"
	y    = "i8[1,2,4,4] q(0.1:2)"
)

// TestRules: every rule refuses a node, with its code; what is legal has no reason.
func TestRules(t *testing.T) {
	cases := []struct{ code, decl, refused, result, want string }{
		{"CRU-OP", x, "Neg(%x)", "i8[1,4,6,6] q(0.1:0)", "Unsupported operator Neg"},
		{"CRU-FLOAT", "in %x : f32[1,4,6,6]", "Relu(%x)", "f32[1,4,6,6]", "x is float and was not quantised"},
		{"CRU-TYPE", "in %x : u8[1,4,6,6] q(0.05:3)",
			"Relu(%x)", "i8[1,4,6,6] q(0.1:0)", "x is quantised uint8, want int8"},
		{"CRU-CONV-WEIGHTS", x + "in %w : i8[2,4,3,3] q(0.01:0)",
			"Conv(%x, %w)" + conv, y, "Input 1 (w) is computed at run time"},
		{"CRU-CONV-WEIGHTS", x + "const %w : i8[2,4,3,3] q(0.01:5) = rand 1",
			"Conv(%x, %w)" + conv, y, "Weights w have zero points"},
		{"CRU-CONV-SCALES", x + w + "const %b : i32[2] q(0.7:0) = rand 2",
			"Conv(%x, %w, %b)" + conv, y, "Not an integer operator"},
		{"CRU-CONV-RANK", "in %x : i8[2,4,6,6] q(0.05:0)\n" + w,
			"Conv(%x, %w)" + conv, "i8[2,2,4,4] q(0.1:2)", "batch of 2 in 2 dimensions"},
		{"CRU-CONV-FORM", x + "const %w : i8[2,2,3,3] q(0.01:0) = rand 1",
			"Conv(%x, %w) {kernel_shape=[3,3], group=2, dilations=[1,2]}", "i8[1,2,4,2] q(0.1:2)", "2 groups, want 1"},
		{"CRU-CONV-FORM", x + w,
			"Conv(%x, %w) {kernel_shape=[3,3], dilations=[1,2]}", "i8[1,2,4,2] q(0.1:2)",
			"Dilations are [1 2], want 1"},
		{"CRU-CONV-KERNEL", x + "const %w : i8[2,4,6,1] q(0.01:0) = rand 1",
			"Conv(%x, %w) {kernel_shape=[6,1]}", "i8[1,2,1,6] q(0.1:2)", "Kernel is [6 1], want at most 5"},
		{"CRU-CONV-CHANNELS", x + "const %w : i8[65,4,3,3] q(0.01:0) = rand 1",
			"Conv(%x, %w)" + conv, "i8[1,65,4,4] q(0.1:2)", "4 input and 65 output channels, want at most 64"},
	}
	unit := &CRU{Defaults()}
	refused := map[string]bool{}
	for _, c := range cases {
		found := false
		for _, r := range unit.CheckLegality(last(t, c.decl, c.refused, c.result)) {
			found = found || r.Code == c.code && strings.Contains(r.Text, c.want)
		}
		if !found {
			t.Errorf("%s: %s: %v, want %q", c.code, c.refused, unit.CheckLegality(last(t, c.decl, c.refused, c.result)),
				c.want)
		}
		refused[c.code] = true
	}
	for _, r := range rules {
		testenv.Check(t, refused[r.Code] && r.Doc != "", "%s: refused nothing, or has no doc %q", r.Code, r.Doc)
	}
	for node, result := range map[string]string{"Conv(%x, %w)" + conv: y, "Relu(%x)": "i8[1,4,6,6] q(0.1:0)"} {
		r := unit.CheckLegality(last(t, x+w, node, result))
		testenv.Check(t, len(r) <= 0, "%s is refused: %v", node, r)
	}
}

// TestProgram: a file says what was compiled, and what is damaged is no program.
func TestProgram(t *testing.T) {
	p := testenv.Must(compile(irtest.Parse(t, "graph \"g\" {\n"+x+w+
		"%c : "+y+" = Conv(%x, %w)"+conv+"\n%o : "+y+" = Relu(%c)\nout \"o\" = %o\n}")))(t)
	file := p.encode()
	q, err := decode(file)
	testenv.Check(t, err == nil && q.String() == p.String() && strings.Count(q.String(), "\n") == 3, "%v\n%v\n%v",
		err, p, q)
	for k := range file {
		testenv.Require(t, testenv.Err(decode(file[:k])) != nil, "%d of %d bytes are a program", k, len(file))
	}
	file[23] = 0xff // more commands than there can be
	testenv.Check(t, testenv.Err(decode(file)) != nil, "a header with too many commands is accepted")
}
