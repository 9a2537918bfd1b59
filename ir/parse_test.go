// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"math"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// anyOp takes any inputs and attributes; its outputs have the type of input 0.
func anyOp(domain, name string) *OpDef {
	if name == "Unknown" {
		return nil
	}
	return &OpDef{Name: name, Domain: domain, MaxIn: -1, MaxOut: -1, Infer: func(n *Node) ([]Type, error) {
		if len(n.In) == 0 || n.In[0] == nil {
			return nil, Errf(n, "arity", "has no input 0")
		}
		t := make([]Type, len(n.Out))
		for i := range t {
			t[i] = T(n.In[0].Type.DType, n.In[0].Type.Shape...)
		}
		return t, nil
	}}
}

// everything uses each construct of the grammar once.
const everything = `graph "a \"b\"" {
  in %x : f32[1,3,8,8]@0.2.3.1
  in %"serving_default:0" : u8[] q(0.5:128)
  const %w : i8[4,1] q(axis=0,0.5:0,1e-05:-3,0.25:0,3:1) = {-128,0,1,127}
  const %b : f32[7] = {0,-0,inf,-inf,nan,f0x7fc00001,1e-45}
  %y : f32[1,3,8,8] = Conv(%x, -, %w, %b) {alpha=1.0, axis=-1, big=1e+20, f=[1.0,inf], ie=ints[], s="a\nb", ss=["x","y"], t=f32[2] {1,2}, v=[1,2]} name "conv" from "Conv_0", "Relu_1"
  const %"" : bool[2] = {true,false}
  const %e : i64[0] = {}
  const %z : f32[1000] = splat 0.1
  const %h : f16[3] = {0.5,65504,f0x7e00}
  %p : f32[1], %/a/b.1 : f32[1] = com.microsoft.Thing(%"serving_default:0", %"", %e, %z, %h)
  %q : bool[] = If(%p) from "If_3"
    body "then" {
      const %t : bool[] = {true}
      out "t" = %t
    }
    body "else" {
      in %x : f32[1]
      %y : bool[] = Not(%x)
      out "y" = %y
    }
  out "final out" = %y
  out "q" = %q
}
`

func TestTextRoundTrip(t *testing.T) {
	g := testenv.Must(Parse(everything, anyOp))(t)
	got := g.String()
	testenv.Check(t, got == everything, "printed\n%s\nwant\n%s", got, everything)
	if got := g.Clone().String(); got != everything {
		t.Errorf("clone printed\n%s", got)
	}
}

// TestTextBits round-trips every element type through both constant forms.
func TestTextBits(t *testing.T) {
	for dt := tensor.F32; dt <= tensor.Bool; dt++ {
		for _, n := range []int{0, 1, 5, 100} {
			d := Rand(uint64(n)+7, dt, []int{n})
			if n > 4 && dt.IsFloat() {
				d.SetFloat(0, math.Copysign(0, -1))
				d.SetFloat(1, math.NaN())
				d.SetFloat(2, 1.0/3)
				d.SetFloat(3, math.Inf(-1))
			}
			g := New("g")
			g.AddOutput("y", g.AddConst("c", d))
			h, err := Parse(g.String(), anyOp)
			testenv.Require(t, err == nil, "%s: %v", d, err)
			testenv.Check(t, tensor.Equal(h.Out[0].Const, d), "%s changed: %s", d, g)
		}
	}
}

func TestTextInfers(t *testing.T) {
	g := testenv.Must(Parse(`graph "g" { in %x : f32[2] # comment
		%y = Relu(%x)
		const %w : f32[3,200] = rand 1
		%z, %u : f32[4] = Two(%w)
		out "z" = %z }`, anyOp))(t)
	testenv.Equal(t, g.Out[0].Type.String(), "f32[3,200]", "inferred")
	testenv.Equal(t, g.Nodes[1].Out[1].Type.String(), "f32[4]", "given type became")
	if errs := g.Verify(); len(errs) != 1 || !strings.Contains(errs[0].Error(), "inference says [3 200]") {
		t.Errorf("Verify says %v", errs)
	}
}

func TestTextErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{``, `1:1: found end of text, want "graph"`},
		{`graph "g" {`, `1:12: found end of text, want in, const, out, a node or }`},
		{"graph \"g\" {\n  out \"y\" = %x\n}", `2:13: %x is not defined`},
		{`graph "g" { in %x : f32[1] in %x : f32[1] }`, `%x is defined twice`},
		{`graph "g" { in %x : f31[1] }`, `1:21: no element type "f31"`},
		{`graph "g" { in %x : f32[-1] }`, `negative dimension`},
		{`graph "g" { in %x : f32[65536,65536] }`, `too large`},
		{`graph "g" { in %x : f32[2]@1 }`, `no permutation`},
		{`graph "g" { in %x : i8[2] q(axis=0,1:0) }`, `1 scales, want 2`},
		{`graph "g" { const %c : i8[1] = {128} }`, `"128" is no i8`},
		{`graph "g" { const %c : i4[1] = base64 "CA==" }`, `8 is no i4`},
		{`graph "g" { const %c : i8[2] = {1} }`, `needs 2 numbers, got 1`},
		{`graph "g" { const %c : i8[2] = {1,2,3} }`, `too many numbers`},
		{`graph "g" { const %c : f32[100000000] = splat 1 }`, `more than 4194304 elements`},
		{`graph "g" { const %c : f32[100000000] = rand 1 }`, `more than 4194304 elements`},
		{`graph "g" { const %c : f32[1] = base64 "AA==" }`, `needs 4 bytes, got 1`},
		{`graph "g" { in %x : f32[1] %y = Unknown(%x) }`, `no operator Unknown`},
		{`graph "g" { %y = Relu() }`, `has no input 0`},
		{`graph "g" { in %x : f32[1] %y = Relu(%y) }`, `%y is not defined`},
		{`graph "g" { in %x : f32[1] %y, %y = Relu(%x) }`, `%y is defined twice`},
		{`graph "g" { in %x : f32[1] %y = Relu(%x) {a=1, a=2} }`, `attribute a is given twice`},
		{`graph "g" { in %x : f32[1] %y = Relu(%x) {a=[1,2.0]} }`, `the list mixes kinds`},
		{`graph "g" { in %x : f32[1] %y = Relu(%x) {a=[[1]]} }`, `lists hold`},
		{`graph "g" {} x`, `after the graph`},
		{`graph "g`, `string is not closed`},
		{`graph "g" { ! }`, `unexpected character '!'`},
		{strings.Repeat(`graph "g" { %y : f32[1] = A() body "g" {`, 1) + strings.Repeat(`%y : f32[1] = A() body "g" {`,
			50), `nested more than`},
	} {
		_, err := Parse(c.src, anyOp)
		testenv.Refused(t, err, c.want)
	}
}

// FuzzIRText: any text is an error or a graph that prints and reads back the
// same.
func FuzzIRText(f *testing.F) {
	f.Add(everything)
	f.Add(`graph "g" { in %x : f32[2] const %c : f32[3] = rand 5 %y = Add(%x, %c) {a=-1} out "y" = %y }`)
	f.Add(`graph "g" { const %c : u64[] = splat 18446744073709551615 out "c" = %c }`)
	f.Fuzz(func(t *testing.T, src string) {
		g, err := Parse(src, anyOp)
		if err != nil {
			return
		}
		s := g.String()
		h, err := Parse(s, anyOp)
		testenv.Require(t, err == nil, "%v in\n%s", err, s)
		again := h.String()
		testenv.Require(t, again == s, "first\n%s\nthen\n%s", s, again)
		g.Verify()
	})
}
