// SPDX-License-Identifier: Apache-2.0

package fuse_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/fuse"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/loops"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

// plainTable is what every core has.
var plainTable = kernel.NewTable(reference.Kernels, loops.Kernels)

// fits asks the kernel row whether it takes a node by itself.
func fits(t testing.TB, g *ir.Graph) fuse.Fits {
	return func(n *ir.Node) string {
		one, _, err := ir.Outline(g, []*ir.Node{n}, op.Fused, n.Name, nil)
		testenv.OK(t, err)
		for _, r := range loops.Fused.CheckLegality(kernel.NewNode(one, &kernel.Options{})) {
			return r.Text
		}
		return ""
	}
}

// always takes what the kernel row takes, whether it pays or not.
func always(n *ir.Node, _ []*ir.Node) (string, string) {
	for _, r := range loops.Fused.CheckLegality(kernel.NewNode(n, &kernel.Options{})) {
		return "", r.Text
	}
	return loops.Fused.Name, ""
}

func fuseLoops(t testing.TB, g *ir.Graph, take fuse.Taker) []fuse.Fusion {
	t.Helper()
	done := testenv.Must(fuse.Loops(g, fits(t, g), take))(t)
	irtest.Verify(t, g)
	return done
}

// loopsIn are the nodes of each loop, joined.
func loopsIn(g *ir.Graph) []string {
	var s []string
	for _, n := range g.Nodes {
		if n.Op != op.Fused {
			continue
		}
		inner := lists.Map(n.Body[0].Nodes, func(m *ir.Node) string { return m.Name })
		s = append(s, strings.Join(inner, "+"))
	}
	slices.Sort(s)
	return s
}

// TestLoops has what goes into a loop and what does not.
func TestLoops(t *testing.T) {
	const head = `graph "g" {
  in %x : f32[1,4,8,8]
  in %z : f32[1,4,8,8]
  const %w : f32[4,4,1,1] = rand 1
  const %b : f32[4,1,1] = rand 2
`
	for _, c := range []struct{ name, nodes, want string }{
		{"a chain", `%a = Mul(%x, %b)
  %c = Add(%a, %b)
  %y = Relu(%c)`, "a+c+y"},
		{"a diamond of two inputs", `%a = Sigmoid(%x)
  %c = Mul(%a, %z)
  %d = Sub(%z, %a)
  %y = Add(%c, %d)`, "a+c+d+y"},
		{"what follows a convolution that takes no epilogue", `%c = Conv(%x, %w)
  %s = Sigmoid(%c)
  %m = Mul(%c, %s)
  %y = Add(%m, %x)`, "s+m+y"},
		{"a value that two readers outside need stays", `%a = Tanh(%x)
  %c = Mul(%a, %z)
  %d = Conv(%c, %w)
  %e = Conv(%c, %w)
  %y = Add(%d, %e)`, "a+c"},
		{"smaller values are steps of their own", `%m = ReduceMean(%x)
  %a = Add(%m, %m)
  %s = Sqrt(%a)
  %c = Sub(%x, %s)
  %y = Abs(%c)`, "a+s c+y"},
		{"data movement ends a loop", `%a = Tanh(%x)
  %c = Mul(%a, %z)
  %t = Transpose(%c) {perm=[0,2,3,1]}
  %y = Abs(%t)`, "a+c"},
		{"what is reduced goes into the reduction", `%a = Mul(%x, %z)
  %c = Abs(%a)
  const %ax : i64[2] = {2,3}
  %m = ReduceMean(%c, %ax)
  %s = Sub(%x, %m)
  %y = ReduceMax(%s, %ax)`, "a+c+m s+y"},
		{"an element-wise value that is reduced and read stays", `%a = Mul(%x, %z)
  %m = ReduceMean(%a)
  %y = Sub(%a, %m)`, ""},
		{"one node alone stays", `%a = Conv(%x, %w)
  %y = Abs(%a)`, ""},
	} {
		g := irtest.Parse(t, head+"  "+c.nodes+"\n  out \"y\" = %y\n}")
		before := g.Clone()
		fuseLoops(t, g, always)
		if got := strings.Join(loopsIn(g), " "); got != c.want {
			t.Errorf("%s: loops %q, want %q\n%s", c.name, got, c.want, g)
		}
		in := irtest.Inputs(before, 3)
		testenv.Check(t, tensor.Equal(irtest.Run(t, before, in)[0], irtest.Run(t, g, in)[0]),
			"%s: the output changed", c.name)
	}
}

// TestRefused: what does not pay, or cannot be, is listed with its reason.
func TestRefused(t *testing.T) {
	g := irtest.Parse(t, `graph "g" {
  in %x : f32[4]
  in %i : i32[4]
  in %k : i32[4]
  %a = Tanh(%x)
  %y = Abs(%a)
  %d = Div(%i, %k)
  %z = Neg(%d)
  out "y" = %y
  out "z" = %z
}`)
	done := fuseLoops(t, g, func(*ir.Node, []*ir.Node) (string, string) { return "", "too dear" })
	var got []string
	for _, f := range done {
		got = append(got, f.Kind+" "+strings.Join(f.Nodes, "+")+": "+f.Why)
	}
	slices.Sort(got)
	want := []string{"none a+y: too dear", "none d+z: d (Div): no form for single elements of INT32"}
	testenv.Check(t, len(got) == 2 && got[0] == want[0] && strings.EqualFold(got[1], want[1]),
		"%q, want %q", got, want)
}

// TestRandomLoops: random graphs of several inputs and types give the same
// before fusion, after it, and in C under the sanitizers, bit for bit.
func TestRandomLoops(t *testing.T) {
	var graphs []*ir.Graph
	found, nodes := 0, 0
	for seed := range uint64(testenv.Count(t, 60)) {
		g := randomDAG(seed, 6+int(seed%14))
		before := g.Clone()
		fuseLoops(t, g, always)
		for _, n := range g.Nodes {
			if n.Op == op.Fused {
				found++
				nodes += len(n.Body[0].Nodes)
			}
		}
		in := irtest.Inputs(before, seed)
		want, got := irtest.Run(t, before, in), irtest.Run(t, g, in)
		for i := range want {
			testenv.Require(t, tensor.Equal(want[i], got[i]),
				"seed %d: output %d changed\n%s\n%s", seed, i, before, g)
		}
		graphs = append(graphs, g)
	}
	testenv.Check(t, found >= testenv.Count(t, 60) && 2*nodes >= 5*found,
		"%d loops of %d nodes: the test shows little", found, nodes)
	kerneltest.Host(t, plainTable, 0, graphs...)
}

// twice is a random float graph, once to be fused (names a...) and once not
// (names b...), and whether the results agree.
func twice(seed uint64) *ir.Graph {
	g := ir.New("g")
	var both [2][]*ir.Value
	shape := []int{2, 3, 4}
	var in []*ir.Value
	for k, prefix := range []string{"a", "b"} {
		d := &dag{r: rand.New(rand.NewPCG(seed, 5)), g: g, inexact: true}
		if k == 0 {
			d.inputs(shape)
			in = d.values
		} else {
			skip := &dag{r: d.r, g: ir.New("skip")} // the same random numbers
			skip.inputs(shape)
		}
		d.values = slices.Clone(in)
		for i := range 12 {
			d.grow(tensor.F32, fmt.Sprintf("%s%d", prefix, i), shape)
		}
		both[k] = d.values[len(in):]
	}
	reduce := func(o *ir.OpDef, name string, v *ir.Value, axes []int64, keep int) *ir.Value {
		a := g.AddConst(name+".axes", tensor.Of([]int{len(axes)}, axes))
		return must(g.Add(o, name, ir.Attrs{"keepdims": ir.Int(keep)}, 1, v, a))
	}
	r := rand.New(rand.NewPCG(seed, 6))
	for i, v := range both[0] {
		if i%3 == 0 && slices.Equal(v.Type.Shape, shape) {
			o := pickOp(r, op.ReduceSum, op.ReduceMean, op.ReduceSumSquare, op.ReduceL1, op.ReduceL2, op.ReduceMax,
				op.ReduceMin, op.ReduceProd)
			axes, keep := [][]int64{{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1, 2}}[r.IntN(6)], r.IntN(2)
			a, b := reduce(o, fmt.Sprintf("ar%d", i), v, axes, keep), reduce(o, fmt.Sprintf("br%d", i), both[1][i],
				axes, keep)
			g.AddOutput(fmt.Sprintf("reduced%d", i), must(g.Add(op.Equal, fmt.Sprintf("reduced%d", i), nil, 1, a, b)))
			continue
		}
		if i%3 == 2 || i == len(both[0])-1 {
			g.AddOutput(fmt.Sprintf("same%d", i),
				must(g.Add(op.Equal, fmt.Sprintf("same%d", i), nil, 1, v, both[1][i])))
		}
	}
	g.RemoveDead()
	return g
}

// TestSameBits: a loop calls the C library as the kernels of single nodes do,
// so that functions without exact results agree with them, too.
func TestSameBits(t *testing.T) {
	var graphs []*ir.Graph
	found, reduced := 0, 0
	for seed := range uint64(testenv.Count(t, 30)) {
		g := twice(seed)
		single := fits(t, g)
		if _, err := fuse.Loops(g, func(n *ir.Node) string {
			if n.Name[0] != 'a' {
				return "to compare with"
			}
			return single(n)
		}, always); err != nil {
			t.Fatal(err)
		}
		found += len(loopsIn(g))
		reduced += strings.Count(strings.Join(loopsIn(g), " "), "+ar")
		graphs = append(graphs, g)
	}
	testenv.Check(t, found >= testenv.Count(t, 30) && reduced >= testenv.Count(t, 30)/3,
		"%d loops, %d of them reductions, in %d graphs: the test shows little", found, reduced, testenv.Count(t, 30))
	kerneltest.Host(t, plainTable, 0, graphs...)
}

// TestLoopsOnBoards runs some of the random graphs under QEMU.
func TestLoopsOnBoards(t *testing.T) {
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	for i, board := range []string{"cortex-m55", "cortex-m4", "cortex-m0plus"} {
		spec := testenv.Must(boards.Load(board))(t)
		g := randomDAG(uint64(100+i), 40)
		fuseLoops(t, g, always)
		m := kerneltest.Guard(t, g, plainTable, kernel.Options{}, uint64(i))
		testenv.Check(t, m.Rows[loops.Fused.Name] >= 2, "%s: %d loops, want some", board, m.Rows[loops.Fused.Name])
		m.RunBoard(t, spec, run.BuildOptions{})
	}
}
