// SPDX-License-Identifier: Apache-2.0

package layered

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// random is a network of blocks with shortcuts, and some edges from anywhere.
func random(r *rand.Rand, n int) ([]Node, []Edge) {
	var nodes []Node
	var edges []Edge
	for v := range n {
		nodes = append(nodes, Node{W: float64(60 + r.IntN(120)), H: float64(20 + r.IntN(30))})
		if v > 0 {
			edges = append(edges, Edge{v - 1 - r.IntN(min(v, 2)), v})
		}
		if v > 3 && r.IntN(3) == 0 {
			edges = append(edges, Edge{r.IntN(v), v})
		}
		if v > 8 && r.IntN(4) == 0 {
			edges = append(edges, Edge{v - 2 - r.IntN(6), v})
		}
	}
	return nodes, edges
}

// TestPlace: boxes lie apart, edges go down from box to box, none through a box, and
// the same graph gives the same places.
func TestPlace(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		nodes, edges := random(r, 1+r.IntN(120))
		l := Place(nodes, edges)
		m := Place(nodes, edges)
		testenv.Require(t, reflect.DeepEqual(l, m), "seed %d: two layouts of one graph differ", seed)
		for a, p := range l.At {
			testenv.Require(t, !(p.X < 0) && !(p.Y < 0) && !(p.X+nodes[a].W > l.W) && !(p.Y+nodes[a].H > l.H),
				"seed %d: node %d at %v is outside of %v x %v", seed, a, p, l.W, l.H)
			for b, q := range l.At[:a] {
				if p.X < q.X+nodes[b].W+10 && q.X < p.X+nodes[a].W+10 && p.Y < q.Y+nodes[b].H && q.Y < p.Y+nodes[a].H {
					t.Fatalf("seed %d: nodes %d at %v and %d at %v overlap", seed, a, p, b, q)
				}
			}
		}
		for i, e := range edges {
			checkPath(t, l, nodes, e, l.Paths[i])
		}
	}
}

func checkPath(t *testing.T, l *Layout, nodes []Node, e Edge, path []Point) {
	t.Helper()
	testenv.Require(t, len(path) >= 2, "edge %v is not drawn", e)
	a, b := l.At[e.From], l.At[e.To]
	first, last := path[0], path[len(path)-1]
	if first.X < a.X || first.X > a.X+nodes[e.From].W || first.Y != a.Y+nodes[e.From].H ||
		last.X < b.X || last.X > b.X+nodes[e.To].W || last.Y != b.Y {
		t.Fatalf("edge %v goes from %v to %v, the boxes are at %v and %v", e, first, last, a, b)
	}
	for i := 1; i < len(path); i++ {
		p, q := path[i-1], path[i]
		testenv.Require(t, !(q.Y < p.Y), "edge %v goes up: %v", e, path)
		v := through(l, nodes, e, p, q)
		testenv.Require(t, v < 0, "edge %v runs through node %d: %v", e, v, path)
	}
}

// through is the node that a straight part of an edge runs through, -1: none.
func through(l *Layout, nodes []Node, e Edge, p, q Point) int {
	if p.X != q.X {
		return -1 // bends lie between layers
	}
	for v, at := range l.At {
		if v != e.From && v != e.To && p.X > at.X && p.X < at.X+nodes[v].W && p.Y < at.Y+nodes[v].H && q.Y > at.Y {
			return v
		}
	}
	return -1
}

// TestChainsAreStraight: the longest path of a residual network is one column.
func TestChainsAreStraight(t *testing.T) {
	var nodes []Node
	var edges []Edge
	for v := range 41 {
		nodes = append(nodes, Node{100, 30})
		if v > 0 {
			edges = append(edges, Edge{v - 1, v})
		}
		if v > 0 && v%4 == 0 {
			edges = append(edges, Edge{v - 4, v})
		}
	}
	l := Place(nodes, edges)
	for v, p := range l.At {
		if math.Abs(p.X-l.At[0].X) > 0.1 {
			t.Errorf("node %d is at %v, the first one at %v", v, p.X, l.At[0].X)
		}
	}
	testenv.Check(t, !(l.W > 160), "%v wide", l.W)
}

// TestOddGraphs: no nodes, edges that go nowhere, and more long edges than there is
// room for.
func TestOddGraphs(t *testing.T) {
	if l := Place(nil, nil); l.W != 0 || l.H != 0 {
		t.Errorf("an empty graph is %v x %v", l.W, l.H)
	}
	l := Place(make([]Node, 2), []Edge{{1, 0}, {0, 0}, {-1, 1}, {0, 2}})
	for i, p := range l.Paths {
		testenv.Check(t, p == nil, "edge %d is drawn: %v", i, p)
	}
	const n = 600
	var edges []Edge
	for v := range n {
		for u := range v {
			if u == v-1 || (u+v)%7 == 0 {
				edges = append(edges, Edge{u, v})
			}
		}
	}
	nodes := make([]Node, n)
	for v := range nodes {
		nodes[v] = Node{100, 30}
	}
	l = Place(nodes, edges)
	drawn := 0
	for i, p := range l.Paths {
		if p != nil {
			drawn++
		} else if edges[i].To == edges[i].From+1 {
			t.Errorf("the short edge %v is not drawn", edges[i])
		}
	}
	testenv.Check(t, drawn != len(edges) && drawn >= n, "%d of %d edges are drawn", drawn, len(edges))
}
