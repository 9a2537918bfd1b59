// SPDX-License-Identifier: Apache-2.0

package fuse_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/fuse"
	"github.com/nncc/nncc/lower/kernel"
)

// TestGroups has the textbook cases of fusion by dominator tree.
func TestGroups(t *testing.T) {
	const head = `graph "g" {
  in %x : f32[1,4,8,8]
  const %w : f32[4,4,1,1] = rand 1
  const %b : f32[4,1,1] = rand 2
`
	for _, c := range []struct{ name, nodes, want string }{
		{"conv, bias, relu", `%c = Conv(%x, %w)
  %a = Add(%c, %b)
  %y = Relu(%a)`, "c+a+y"},
		{"residual diamond", `%c = Conv(%x, %w)
  %s = Sigmoid(%c)
  %m = Mul(%c, %s)
  %y = Relu(%m)`, "c+s+m+y"},
		{"a second convolution on one path", `%c = Conv(%x, %w)
  %d = Conv(%c, %w)
  %a = Add(%c, %d)
  %y = Relu(%a)`, "c d+a+y"},
		{"convolutions side by side: one anchor a group", `%c = Conv(%x, %w)
  %d = Conv(%x, %w)
  %y = Add(%c, %d)`, "c+y d"},
		{"chain of element-wise nodes", `%a = Sigmoid(%x)
  %b2 = Add(%a, %b)
  %y = Tanh(%b2)`, "a+b2+y"},
		{"element-wise into data movement", `%a = Sigmoid(%x)
  %t = Transpose(%a) {perm=[0,2,3,1]}
  %y = Tanh(%t)`, "a+t+y"},
		{"data movement waits for the convolution", `%c = Conv(%x, %w)
  %t = Transpose(%c) {perm=[0,2,3,1]}
  %y = Tanh(%t)`, "c t+y"},
		{"element-wise into a reduction", `%a = Sigmoid(%x)
  %y = ReduceSum(%a)`, "a+y"},
		{"a reduction starts nothing", `%a = ReduceSum(%x)
  %y = Sigmoid(%a)`, "a y"},
		{"an element-wise producer joins the convolution's group at the sum", `%c = Conv(%x, %w)
  %a = Sigmoid(%x)
  %y = Add(%c, %a)`, "c+a+y"},
		{"a producer alone does not join a convolution", `%a = Sigmoid(%x)
  %y = Conv(%a, %w)`, "a y"},
		{"a convolution that is broadcast stays", `%c = GlobalAveragePool(%x)
  %d = Conv(%c, %w)
  %y = Mul(%x, %d)`, "c d y"},
		{"data movement into a reduction", `%t = Transpose(%x) {perm=[0,2,3,1]}
  %y = ReduceSum(%t)`, "t y"},
		{"a reduction on a path of the diamond", `%a = Sigmoid(%x)
  %m = ReduceMean(%a)
  %y = Sub(%a, %m)`, "a m y"},
		{"a concatenation is data movement of several inputs", `%a = Relu(%x)
  %t = Tanh(%x)
  %y = Concat(%a, %t) {axis=1}`, "a+t+y"},
		{"two anchors never meet, whichever comes first", `%c = Conv(%x, %w)
  %s = Sigmoid(%c)
  %d = Conv(%s, %w)
  %r = Relu(%d)
  %y = Mul(%r, %x)`, "c+s d+r+y"},
		{"softmax is opaque", `%a = Sigmoid(%x)
  %s = Softmax(%a)
  %y = Tanh(%s)`, "a s y"},
	} {
		g := irtest.Parse(t, head+"  "+c.nodes+"\n  out \"y\" = %y\n}")
		var got []string
		for _, group := range fuse.Groups(g) {
			names := lists.Map(group.Nodes, func(n *ir.Node) string { return n.Name })
			got = append(got, strings.Join(names, "+"))
		}
		testenv.Equal(t, strings.Join(got, " "), c.want, "%s: groups", c.name)
	}
}

// TestDepth: no group has more nodes than TVM's FuseOps lets one have.
func TestDepth(t *testing.T) {
	g := ir.New("g")
	v := g.AddInput("x", ir.T(tensor.F32, 4))
	for i := range 600 {
		v = must(g.Add(op.Relu, fmt.Sprintf("n%d", i), nil, 1, v))
	}
	g.AddOutput("y", v)
	groups, most := fuse.Groups(g), 0
	for _, x := range groups {
		most = max(most, len(x.Nodes))
	}
	testenv.Check(t, most <= 256 && len(groups) <= 8, "%d groups, the largest of %d nodes: want some of at most 256",
		len(groups), most)
}

// TestOutputsStay: a value that leaves the graph is in memory, so that nothing
// is fused across it.
func TestOutputsStay(t *testing.T) {
	g := irtest.Parse(t, `graph "g" {
  in %x : f32[1,4,8,8]
  const %w : f32[4,4,1,1] = rand 1
  %c = Conv(%x, %w)
  %y = Relu(%c)
  out "c" = %c
  out "y" = %y
}`)
	testenv.Equal(t, len(fuse.Groups(g)), 2, "groups")
}

// elementwise is a random graph of 8-bit element-wise nodes, some of whose
// inner values leave it.
func elementwise(r *rand.Rand) *ir.Graph {
	g := ir.New("g")
	quant := func(v *ir.Value) *ir.Value {
		v.Type = v.Type.WithQuant(tensor.I8, ir.PerTensor(float32(r.Float64()*0.05+0.001), int32(r.IntN(100)-50)))
		return v
	}
	values := []*ir.Value{quant(g.AddInput("x", ir.T(tensor.I8, 1, 3, 4))),
		quant(g.AddInput("z", ir.T(tensor.I8, 1, 3, 4)))}
	pick := func() *ir.Value { return values[max(0, len(values)-1-r.IntN(4))] }
	for i := range 3 + r.IntN(8) {
		name := fmt.Sprintf("n%d", i)
		var n *ir.Node
		var err error
		switch k := r.IntN(8); k {
		case 0, 1, 2:
			n, err = g.Add([]*ir.OpDef{op.Get("", "Sigmoid"), op.Get("", "Tanh"), op.Get("", "HardSwish")}[k], name,
				nil, 1, pick())
		case 3, 4:
			n, err = g.Add([]*ir.OpDef{op.Mul, op.Add}[k-3], name, nil, 1, pick(), pick())
		case 5:
			c := quant(g.AddConst(name+".c", tensor.Of([]int{1}, []int8{int8(r.IntN(256) - 128)})))
			n, err = g.Add(op.Mul, name, nil, 1, pick(), c)
		case 6:
			n, err = g.Add(op.Requantize, name, nil, 1, pick())
		default:
			n, err = g.Add(op.Sub, name, nil, 1, pick(), pick())
		}
		if err != nil {
			panic(err)
		}
		values = append(values, quant(n.Out[0]))
	}
	g.AddOutput("y", values[len(values)-1])
	if r.IntN(3) == 0 {
		g.AddOutput("mid", values[len(values)/2])
	}
	g.RemoveDead()
	return g
}

// TestCollapse: results stay the same bit for bit, and much becomes tables.
func TestCollapse(t *testing.T) {
	tables, gone := 0, 0
	for seed := range uint64(400) {
		g := elementwise(rand.New(rand.NewPCG(seed, 1)))
		before := g.Clone()
		done, err := fuse.Collapse(g, false)
		testenv.Require(t, err == nil, "seed %d: %v\n%s", seed, err, before)
		irtest.Verify(t, g)
		tables += len(done)
		gone += len(before.Nodes) - len(g.Nodes)
		testenv.Check(t, len(g.Nodes) <= len(before.Nodes), "seed %d: more nodes than before\n%s\n%s", seed, before,
			g)
		in := irtest.Inputs(before, seed)
		want, got := irtest.Run(t, before, in), irtest.Run(t, g, in)
		for i := range want {
			testenv.Require(t, tensor.Equal(want[i], got[i]), "seed %d: output %d changed\n%s\n%s", seed, i, before,
				g)
		}
		for _, n := range g.Nodes { // nothing that could still collapse is left
			if n.Op == op.Lookup && n.In[0].Def != nil && n.In[0].Def.Op == op.Lookup && g.SoleUse(n.In[0]) == n {
				t.Errorf("seed %d: table of a table\n%s", seed, g)
			}
		}
	}
	testenv.Check(t, tables >= 200 && gone >= 300, "only %d tables for %d nodes: the test shows nothing", tables,
		gone)
}

// TestCollapseWhole: a chain around a diamond of one input is one table.
func TestCollapseWhole(t *testing.T) {
	g := irtest.Parse(t, `graph "g" {
  in %x : i8[1,3] q(0.05:3)
  %s : i8[1,3] q(0.004:-128) = Sigmoid(%x)
  %m : i8[1,3] q(0.04:-100) = Mul(%x, %s)
  %a : i8[1,3] q(0.08:-90) = Add(%m, %x)
  %y : i8[1,3] q(0.01:0) = Tanh(%a)
  out "y" = %y
}`)
	done := testenv.Must(fuse.Collapse(g, false))(t)
	testenv.Check(t, len(g.Nodes) == 1 && len(done) == 1 && slices.Equal(done[0].Nodes, []string{"s", "m", "a", "y"}),
		"%v left\n%s", done, g)
}

// TestCollapseNothing: a factor that is the quotient of two scales leaves every byte as
// it is; only an output has bytes of its own, and only where no other training takes the constants' place.
func TestCollapseNothing(t *testing.T) {
	const q = "q(0.003921569:-128)"
	for text, left := range map[string]string{
		"i8[4,3] " + q + " = Concat(%y, %y) {axis=0}": "BitCast", "i8[6] " + q + " = Reshape(%y, %s)": "Mul"} {
		g := irtest.Parse(t, `graph "g" { in %x : i8[2,3] q(1.0:-128)
  const %k : f32[] = {0.003921569} const %s : i64[1] = {6}
			%y : i8[2,3] `+q+` = Mul(%x, %k) %z : `+text+` out "z" = %z }`)
		bound := g.Clone()
		testenv.Must(fuse.Collapse(g, false))(t)
		testenv.Must(fuse.Collapse(bound, true))(t)
		testenv.Check(t, irtest.Count(g, left) == 1 && irtest.Count(bound, "Mul") == 1, "no %s left:\n%s%s", left, g,
			bound)
	}
}

// TestKernels: what a kernel takes becomes one node with the same results;
// what it refuses stays.
func TestKernels(t *testing.T) {
	src := `graph "g" {
  in %x : i8[1,2,4,4] q(0.05:3)
  const %w : i8[3,2,1,1] q(0.01:0) = rand 3
  const %b : i32[3] q(0.0005:0) = {10,-20,30}
  %d : i8[1,3,4,4] q(0.04:-7) = Conv(%x, %w)
  %c : i8[1,3,4,4] q(0.04:-7) = Conv(%x, %w, %b)
  %s : i8[1,3,4,4] q(0.03:-100) = Swish(%c)
  %y : i8[1,3,4,4] q(0.05:1) = Add(%d, %s)
  out "y" = %y
}`
	for _, c := range []struct {
		name string
		take func(c *kernel.Chain) bool
		want string
	}{
		{"tables", func(c *kernel.Chain) bool { return c.Table != nil && c.Add == nil }, "Fused(Conv,Swish) Conv Add"},
		{"sums", func(c *kernel.Chain) bool { return c.Add != nil && c.Table == nil }, "Conv Swish Fused(Conv,Add)"},
		{"both", func(c *kernel.Chain) bool { return true }, "Fused(Conv,Swish) Fused(Conv,Add)"},
		{"none", func(c *kernel.Chain) bool { return false }, "Conv Swish Conv Add"},
	} {
		g := irtest.Parse(t, src)
		before := g.Clone()
		if _, err := fuse.Kernels(g, func(n *ir.Node, _ []*ir.Node) (string, string) {
			if x, _ := kernel.ChainOf.Of(kernel.NewNode(n, &kernel.Options{})); x != nil && c.take(x) {
				return "kernel", ""
			}
			return "", "not this one"
		}); err != nil {
			t.Fatal(err)
		}
		irtest.Verify(t, g)
		var got []string
		for _, n := range g.Nodes {
			s := n.Op.Name
			if n.Op == op.Fused {
				inner := lists.Map(n.Body[0].Nodes, func(m *ir.Node) string { return m.Op.Name })
				s += "(" + strings.Join(inner, ",") + ")"
			}
			got = append(got, s)
		}
		slices.Sort(got)
		want := strings.Fields(c.want)
		slices.Sort(want)
		testenv.Check(t, slices.Equal(got, want), "%s: %v, want %v\n%s", c.name, got, want, g)
		in := irtest.Inputs(before, 5)
		testenv.Check(t, tensor.Equal(irtest.Run(t, before, in)[0], irtest.Run(t, g, in)[0]),
			"%s: the output changed", c.name)
	}
}
