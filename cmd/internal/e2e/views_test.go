// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kerneltest"
	"github.com/nncc/nncc/lower/option"
)

// viewPlaces put a node between graph inputs and outputs in every way that
// bears on whose storage is whose; false where the types do not allow it.
var viewPlaces = []struct {
	name string
	put  func(g *ir.Graph, n *ir.Node) bool
}{
	{"alone", func(*ir.Graph, *ir.Node) bool { return true }},
	{"under two names", func(g *ir.Graph, n *ir.Node) bool {
		g.AddOutput("again", n.Out[0])
		return true
	}},
	{"beside its input", func(g *ir.Graph, n *ir.Node) bool {
		g.AddOutput("in", g.In[0])
		return true
	}},
	{"twice", func(g *ir.Graph, n *ir.Node) bool {
		m, err := g.Add(op.Reshape, "flat", nil, 1, n.Out[0], g.AddConst("flat_shape", tensor.Ints(-1)))
		return err == nil && instead(g, n.Out[0], m.Out[0])
	}},
	{"beside its view", func(g *ir.Graph, n *ir.Node) bool {
		m, err := g.Add(op.Reshape, "flat", nil, 1, n.Out[0], g.AddConst("flat_shape", tensor.Ints(-1)))
		if err == nil {
			g.AddOutput("flat", m.Out[0])
		}
		return err == nil
	}},
	{"before another operator", func(g *ir.Graph, n *ir.Node) bool {
		m, err := g.Add(op.Get("", "Neg"), "neg", nil, 1, n.Out[0])
		return err == nil && instead(g, n.Out[0], m.Out[0])
	}},
	{"beside another operator", func(g *ir.Graph, n *ir.Node) bool {
		m, err := g.Add(op.Get("", "Neg"), "neg", nil, 1, n.Out[0])
		if err == nil {
			g.AddOutput("neg", m.Out[0])
		}
		return err == nil
	}},
	{"after another operator", func(g *ir.Graph, n *ir.Node) bool {
		m, err := g.InsertBefore(n, op.Get("", "Neg"), "neg", nil, 1, n.In[0])
		if err == nil {
			g.SetInput(n, 0, m.Out[0])
		}
		return err == nil
	}},
	{"after another operator that is an output", func(g *ir.Graph, n *ir.Node) bool {
		m, err := g.InsertBefore(n, op.Get("", "Neg"), "neg", nil, 1, n.In[0])
		if err == nil {
			g.SetInput(n, 0, m.Out[0])
			g.AddOutput("neg", m.Out[0])
		}
		return err == nil
	}},
}

// instead makes v the output that was old.
func instead(g *ir.Graph, old, v *ir.Value) bool {
	g.ReplaceOutput(old, v)
	return true
}

// TestViews: operators that may be no code at all (ir.View), and those that
// pass values on, between inputs and outputs of the model.
func TestViews(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	all := testenv.Long()
	seen := 0
	for k, d := range op.All() {
		if d.Domain != "" || d.View == ir.NoView && d.Quant != ir.QMove {
			continue
		}
		for i, place := range viewPlaces {
			if !all && d != op.BitCast && (d.View == ir.NoView || i != k%len(viewPlaces)) || !all && d == op.BitCast &&
				i%3 != 0 {
				continue
			}
			for range 50 {
				g, valid := kerneltest.Draw(r, d, kerneltest.Float, "l")
				if g == nil || !valid || len(g.In) == 0 || g.Nodes[0].In[0] != g.In[0] ||
					g.In[0].Type.DType != tensor.F32 || empty(g) || !place.put(g, g.Nodes[0]) || len(g.Verify()) > 0 {
					continue
				}
				seen++
				t.Run(d.Name+"/"+place.name, func(t *testing.T) { runOnHost(t, g) })
				break
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d graphs, want at least 10", seen)
	}
}

func empty(g *ir.Graph) bool {
	for _, v := range append(append([]*ir.Value{}, g.In...), g.Nodes[0].Out...) {
		if v.Type.Elems() == 0 {
			return true
		}
	}
	return false
}

// runOnHost compiles a graph in float32 and runs it on the host. Every output
// has storage of its own, so that who writes the next input or an output in
// place does not change another one.
func runOnHost(t *testing.T, g *ir.Graph) {
	t.Helper()
	c := driver.Defaults()
	c.Board, c.Precision, c.Name, c.Cases = "host", option.Float32, "net", 2
	o := compileNet(t, g, &c)
	whose := map[*ir.Value]string{}
	for i, v := range o.Lowered.Graph.Out {
		for v.Def != nil && o.Lowered.Low[v.Def].View {
			v = v.Def.In[0]
		}
		name := o.Lowered.Graph.OutNames[i]
		if v.Def == nil || whose[v] != "" {
			t.Errorf("output %s has the storage of %s, want its own\n%s", name, cmp.Or(whose[v], v.Name),
				o.Lowered.Graph)
		}
		whose[v] = name
	}
	onHost(t, o, mustCases(t, &c, o), "gcc", sanitized)
}
