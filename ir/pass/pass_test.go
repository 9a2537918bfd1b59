// SPDX-License-Identifier: Apache-2.0

package pass_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
)

func parse(t *testing.T, src string) *ir.Graph {
	t.Helper()
	g := testenv.Must(ir.Parse(src, op.Get))(t)
	return g
}

const two = `graph "g" { in %x : f32[2] %y = Relu(%x) from "Relu_7" %z = Relu(%y) out "z" = %z }`

var list = []pass.Pass{
	{Name: "none", Run: func(*pass.Ctx, *ir.Graph) {}},
	{Name: "merge", Numerics: pass.Exact, Run: pass.Each(func(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
		if d := n.In[0].Def; d != nil && d.Op == n.Op {
			g.ReplaceUses(n.Out[0], d.Out[0])
			g.Remove(n)
			c.Did(d, "took in %s", n)
		}
	})},
	{Name: "panics", Run: pass.Each(func(*pass.Ctx, *ir.Graph, *ir.Node) { panic(bug.Errorf("oops")) })},
	{Name: "breaks", Run: func(c *pass.Ctx, g *ir.Graph) { g.Nodes[0].Out[0].Type = ir.T(1, 77) }},
	{Name: "fails", Required: "later passes rely on it",
		Run: func(c *pass.Ctx, g *ir.Graph) { fail.Check(ir.Errf(g.Nodes[0], "x", "cannot")) }},
}

func TestManager(t *testing.T) {
	m := pass.Manager{Passes: list[:2]}
	var steps []string
	m.Dump = func(i int, p *pass.Pass, g *ir.Graph) error {
		name := "import"
		if p != nil {
			name = p.Name
		}
		steps = append(steps, fmt.Sprintf("%02d-%s:%d", i, name, len(g.Nodes)))
		return nil
	}
	checked := 0
	m.Check = func(p *pass.Pass, before, after *ir.Graph) error {
		testenv.Check(t, p.Name != "merge" || len(before.Nodes) == 2 && len(after.Nodes) == 1,
			"Check saw %d and %d nodes", len(before.Nodes), len(after.Nodes))
		checked++
		return nil
	}
	var c pass.Ctx
	g := parse(t, two)
	testenv.OK(t, m.Run(&c, g))
	s := strings.Join(steps, " ")
	testenv.Check(t, s == "00-import:2 01-none:2 02-merge:1" && checked == 2, "steps %s, %d checks", s, checked)
	testenv.Check(t, len(c.Rewrites) == 1 && c.Rewrites[0].Pass == "merge" && c.Rewrites[0].From[0] == "Relu_7",
		"rewrites %v", c.Rewrites)
	m = pass.Manager{Passes: list[:2], Off: map[string]bool{"merge": true}}
	g = parse(t, two)
	if err := m.Run(&c, g); err != nil || len(g.Nodes) != 2 {
		t.Errorf("%v, %d nodes", err, len(g.Nodes))
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name, want string
		bug        bool
	}{
		{"panics", "nncc BUG: pass panics, node y (from onnx Relu_7): oops", true},
		{"breaks", "nncc BUG: pass breaks: left an invalid graph", true},
		{"fails", "Relu \"Relu_7\": cannot", false},
	} {
		ps, err := pass.Select(list, c.name)
		testenv.OK(t, err)
		m := pass.Manager{Passes: ps}
		err = m.Run(&pass.Ctx{}, parse(t, two))
		var b *pass.Bug
		testenv.Check(t, err != nil && strings.HasPrefix(err.Error(), c.want) && errors.As(err, &b) == c.bug,
			"%s: %v", c.name, err)
		testenv.Check(t, !c.bug || len(b.Before.Verify()) <= 0, "%s: the graph kept for the report is broken too",
			c.name)
	}
	m := pass.Manager{Passes: list, Off: map[string]bool{"fails": true}}
	testenv.Refused(t, m.Run(&pass.Ctx{}, parse(t, two)), "cannot be switched off")
	testenv.Refused(t, testenv.Err(pass.Select(list, "nonne")), "passes are none, merge")
}
