// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// inRows lets element-wise nodes take operands in rows of their last dimension,
// where allow says so.
func inRows(g *ir.Graph, low map[*ir.Node]*call.Lowered, allow func(n *ir.Node) bool) {
	for _, n := range g.Nodes {
		if len(low[n].Parts) > 0 || low[n].View || !allow(n) {
			continue
		}
		row := func(v *ir.Value) int { return v.Type.Shape[v.Type.Rank()-1] * v.Type.DType.Size() }
		for i, v := range n.In {
			low[n].Rows = append(low[n].Rows, call.Rows{I: i, Bytes: row(v)})
		}
		low[n].Rows = append(low[n].Rows, call.Rows{Output: true, Bytes: row(n.Out[0])})
	}
}

// TestRows: joins and splits of columns, with the nodes that must and those
// that must not have code. Tanh stands for a kernel that wants its operand in
// one piece.
func TestRows(t *testing.T) {
	checkSteps(t, "columns", func(g *ir.Graph, low map[*ir.Node]*call.Lowered) {
		inRows(g, low, func(n *ir.Node) bool { return n.Op != op.Tanh })
	})
}

// weave is a random graph of joins and splits along both axes of matrices.
func weave(r *rand.Rand) *ir.Graph {
	g := ir.New("weave")
	var vals []*ir.Value
	add := func(d *ir.OpDef, attrs ir.Attrs, nout int, in ...*ir.Value) {
		n, err := g.Add(d, "n", attrs, nout, in...)
		if err == nil && n.Out[0].Type.Elems() > 600 {
			g.Remove(n)
			return
		}
		if err == nil {
			vals = append(vals, n.Out...)
		}
	}
	x := g.AddInput("x", ir.T(tensor.F32, 2+r.IntN(2), 2*(1+r.IntN(4))))
	vals = append(vals, x)
	add(op.Relu, nil, 1, x)
	pick := func() *ir.Value { return vals[max(0, len(vals)-1-r.IntN(5))] }
	for range 4 + r.IntN(12) {
		v := pick()
		axis := r.IntN(5) / 4 * -1 // 0 in one of five
		attrs := ir.Attrs{"axis": ir.Int(1 + axis)}
		switch r.IntN(6) {
		case 0, 1:
			add([]*ir.OpDef{op.Relu, op.Sigmoid, op.Tanh}[r.IntN(3)], nil, 1, v)
		case 2:
			add(op.Add, nil, 1, v, pick())
		case 3, 4:
			in := []*ir.Value{v}
			for range 1 + r.IntN(2) {
				in = append(in, pick())
			}
			add(op.Concat, attrs, 1, in...)
		case 5:
			if v.Type.Shape[1+axis]%2 == 0 {
				add(op.Split, attrs, 2, v)
			}
		}
	}
	for i, v := range vals {
		if v.Def != nil && (len(v.Uses()) == 0 || r.IntN(12) == 0) {
			g.AddOutput(fmt.Sprintf("y%d", i), v)
		}
	}
	return g
}

// TestWeaves replays random joins and splits of columns.
func TestWeaves(t *testing.T) {
	n := uint64(400)
	if testing.Short() {
		n = 80
	}
	silent := 0
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 5))
		g := weave(r)
		src := g.String()
		g, low := lowered(t, src[strings.Index(src, "{")+1:strings.LastIndex(src, "}")])
		inRows(g, low, func(n *ir.Node) bool {
			same := func(v *ir.Value) bool { return slices.Equal(v.Type.Shape, n.Out[0].Type.Shape) }
			return r.IntN(5) > 0 && !slices.ContainsFunc(n.In, func(v *ir.Value) bool { return !same(v) })
		})
		p := built(t, g, low).Program
		arena(t, p)
		for _, s := range p.Views {
			if x := s.Parts; len(x) > 0 && x[0].Row > 0 {
				silent++
			}
		}
		testenv.Require(t, !t.Failed(), "seed %d\n%s\n%s", seed, src, p)
	}
	testenv.Check(t, silent >= int(n)/8, "%d joins and splits of columns without code in %d graphs", silent, n)
	t.Logf("%d joins and splits of columns have no code", silent)
}
