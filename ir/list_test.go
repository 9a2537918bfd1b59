// SPDX-License-Identifier: Apache-2.0

package ir_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// relus is a chain of n nodes.
func relus(t testing.TB, n int) *ir.Graph {
	g := ir.New("chain")
	v := g.AddInput("x", ir.Type{DType: tensor.F32, Shape: []int{4}})
	for i := range n {
		m := testenv.Must(g.Add(op.Relu, fmt.Sprint("n", i), nil, 1, v))(t)
		v = m.Out[0]
	}
	g.AddOutput("y", v)
	return g
}

// TestIndex compares Index with a search while nodes come and go at random
// places, many more than Index looks at.
func TestIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	g := relus(t, 1500)
	for range 4000 {
		at := g.Nodes[r.IntN(len(g.Nodes))]
		if r.IntN(3) > 0 {
			testenv.OK(t, testenv.Err(g.InsertBefore(at, op.Relu, "more", nil, 1, at.In[0])))
		} else if !g.IsOutput(at.Out[0]) {
			g.ReplaceUses(at.Out[0], at.In[0])
			g.Remove(at)
			i := g.Index(at)
			testenv.Require(t, i == -1, "a removed node is at %d", i)
		}
		n := g.Nodes[r.IntN(len(g.Nodes))]
		if i := g.Index(n); i != slices.Index(g.Nodes, n) {
			t.Fatalf("Index says %d, the node is at %d", i, slices.Index(g.Nodes, n))
		}
	}
	errs := g.Verify()
	testenv.Require(t, len(errs) <= 0, "%v", errs)
}

// TestNamesStayTheSame: whatever came and went before, a name gets the least
// free number.
func TestNamesStayTheSame(t *testing.T) {
	g := ir.New("names")
	x := g.AddInput("x", ir.Type{DType: tensor.F32, Shape: []int{4}})
	var list []*ir.Node
	add := func(want string) {
		t.Helper()
		n := testenv.Must(g.Add(op.Relu, "a", nil, 1, x))(t)
		if list = append(list, n); n.Out[0].Name != want {
			t.Errorf("the name is %s, want %s", n.Out[0].Name, want)
		}
	}
	for _, want := range []string{"a", "a.1", "a.2", "a.3"} {
		add(want)
	}
	g.Remove(list[1])
	g.Remove(list[2])
	add("a.1")
	add("a.2")
	add("a.4")
	g.Remove(list[0])
	add("a")
}

// TestInherit: names of origins are kept once each, and not without end.
func TestInherit(t *testing.T) {
	all := make([]*ir.Node, 5000)
	for i := range all {
		all[i] = &ir.Node{Origin: []string{fmt.Sprint("n", i), "common"}}
	}
	first := all[0].Origin
	all[0].Inherit(all[1:]...)
	if o := all[0].Origin; len(o) < 100 || len(o) > 1000 ||
		!slices.Equal(o[:4], []string{"n0", "common", "n1", "n2"}) || len(first) != 2 {
		t.Errorf("%d origins, the first ones are %v", len(o), o[:4])
	}
}

// BenchmarkRewrite puts a node in front of every node of a chain and takes it
// out again; the time for a node should hardly depend on how many there are.
func BenchmarkRewrite(b *testing.B) {
	for _, n := range []int{1000, 4000, 16000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				g := relus(b, n)
				for _, at := range slices.Clone(g.Nodes) {
					m := testenv.Must(g.InsertBefore(at, op.Abs, "more", nil, 1, at.In[0]))(b)
					g.SetInput(at, 0, m.Out[0])
				}
				for _, m := range slices.Clone(g.Nodes) {
					if m.Op == op.Abs {
						g.ReplaceUses(m.Out[0], m.In[0])
						g.Remove(m)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/node")
		})
	}
}
