// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
)

// TestViews: concats, splits and views of all kinds, with the nodes that must
// and those that must not have code.
func TestViews(t *testing.T) {
	checkSteps(t, "views", nil)
}

// checkSteps: the graphs of an archive of testdata have the steps that stand in front of them, and replay as they are.
func checkSteps(t *testing.T, archive string, change func(g *ir.Graph, low map[*ir.Node]*call.Lowered)) {
	a := testenv.Must(txtar.ParseFile(filepath.Join("testdata", "steps", archive+".txtar")))(t)
	for _, f := range a.Files {
		t.Run(f.Name, func(t *testing.T) {
			want, src, _ := strings.Cut(string(f.Data), "\n")
			g, low := lowered(t, "\n"+src)
			if change != nil {
				change(g, low)
			}
			p := built(t, g, low).Program
			arena(t, p)
			names := lists.Map(p.Steps, func(s *program.Step) string { return s.Op })
			slices.Sort(names)
			got := strings.Join(names, " ")
			testenv.Check(t, got == want, "code for %s, want %s\n%s", got, want, p)
		})
	}
}

// tangle is a random graph of views and element-wise operators over rows of
// four floats, with values that are read many times.
func tangle(r *rand.Rand) *ir.Graph {
	g := ir.New("tangle")
	var vals []*ir.Value
	for i := range 1 + r.IntN(2) {
		vals = append(vals, g.AddInput(fmt.Sprintf("x%d", i), ir.T(tensor.F32, 1+r.IntN(4), 4)))
	}
	pick := func() *ir.Value { return vals[max(0, len(vals)-1-r.IntN(5))] }
	add := func(d *ir.OpDef, attrs ir.Attrs, nout int, in ...*ir.Value) {
		n, err := g.Add(d, "n", attrs, nout, in...)
		if err == nil && n.Out[0].Type.Elems() > 400 {
			g.Remove(n)
			err = fmt.Errorf("too large")
		}
		if err == nil {
			vals = append(vals, n.Out...)
		}
	}
	ints := func(v ...int) *ir.Value { return g.AddConst("c", tensor.Ints(v...)) }
	for range 5 + r.IntN(12) {
		v := pick()
		rows := v.Type.Shape[0]
		switch r.IntN(9) {
		case 0, 1:
			add([]*ir.OpDef{op.Relu, op.Sigmoid, op.Tanh}[r.IntN(3)], nil, 1, v)
		case 2:
			add(op.Add, nil, 1, v, pick())
		case 3:
			add(op.Sub, nil, 1, v, v)
		case 4:
			in := []*ir.Value{v}
			for range r.IntN(3) {
				in = append(in, pick())
			}
			add(op.Concat, ir.Attrs{"axis": ir.Int(0)}, 1, in...)
		case 5:
			if lo := r.IntN(rows); true {
				add(op.Slice, nil, 1, v, ints(lo), ints(lo+1+r.IntN(rows-lo)), ints(0))
			}
		case 6:
			if rows%2 == 0 {
				add(op.Split, ir.Attrs{"axis": ir.Int(0)}, 2, v)
			}
		case 7:
			add(op.Reshape, nil, 1, v, ints(-1, 4))
		case 8:
			add(op.Concat, ir.Attrs{"axis": ir.Int(1)}, 1, v, v)
			if w := vals[len(vals)-1]; w.Type.Shape[1] != 4 {
				add(op.Reshape, nil, 1, w, ints(-1, 4))
				last := len(vals) - 1
				vals = append(vals[:last-1], vals[last])
			}
		}
	}
	for i, v := range vals {
		if v.Def != nil && (len(v.Uses()) == 0 || i == len(vals)-1 || r.IntN(8) == 0) {
			g.AddOutput(fmt.Sprintf("y%d", i), v)
		}
	}
	if len(g.Out) == 0 {
		return tangle(r)
	}
	return g
}

// TestTangles replays random graphs of views.
func TestTangles(t *testing.T) {
	n := uint64(300)
	if testing.Short() {
		n = 60
	}
	silent := 0
	for seed := range n {
		g := tangle(rand.New(rand.NewPCG(seed, 3)))
		src := g.String()
		g, low := lowered(t, src[strings.Index(src, "{")+1:strings.LastIndex(src, "}")])
		p := built(t, g, low).Program
		arena(t, p)
		for _, s := range p.Views {
			if len(s.Parts) > 0 {
				silent++
			}
		}
		testenv.Require(t, !t.Failed(), "seed %d", seed)
	}
	t.Logf("%d concats and splits are views", silent)
}

// TestFaults: programs with buffers moved onto each other are found out, by
// Verify and (mostly: bytes can be equal by chance) by Replay.
func TestFaults(t *testing.T) {
	faults, unseen := 0, 0
	for seed := range uint64(40) {
		g := tangle(rand.New(rand.NewPCG(seed, 4)))
		src := g.String()
		g, low := lowered(t, src[strings.Index(src, "{")+1:strings.LastIndex(src, "}")])
		r := built(t, g, low)
		p := r.Program
		value := map[string]*ir.Value{}
		for _, v := range g.In {
			value[v.Name] = v
		}
		for _, n := range g.Nodes {
			for _, v := range n.Out {
				value[v.Name] = v
			}
		}
		alone := func(b program.Buffer) bool { // nothing lies inside it, it inside nothing, and somebody reads it
			for _, x := range p.Buffers {
				if x.AliasOf >= 0 && p.Buffers[x.AliasOf].Name == b.Name {
					return false
				}
			}
			return b.AliasOf < 0 && b.Bytes > 0 && (len(value[b.Name].Uses()) > 0 || g.IsOutput(value[b.Name]))
		}
		for i := range p.Buffers {
			for j := range p.Buffers {
				a, b := &p.Buffers[i], p.Buffers[j]
				if i == j || !alone(*a) || !alone(b) || a.First > b.Last || b.First > a.Last || b.Offset+
					a.Bytes > p.ArenaBytes {
					continue
				}
				at := a.Offset
				a.Offset = b.Offset
				faults++
				testenv.Check(t, p.Verify() != nil, "seed %d: Verify does not see %s at the place of %s\n%s", seed,
					a.Name, b.Name, p)
				if replayed(g, r, 5) == nil {
					unseen++
				}
				a.Offset = at
			}
		}
	}
	t.Logf("%d faults, %d not seen by Replay", faults, unseen)
	testenv.Check(t, faults >= 50 && unseen*6 <= faults, "%d faults, %d not seen by Replay", faults, unseen)
}
