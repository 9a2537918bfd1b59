// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// mixedText is a network with a branch and pooling.
const mixedText = `graph "mixed" {
  in %x : f32[1,4,8,8]
  const %w1 : f32[8,4,3,3] = rand 1
  const %w2 : f32[8,8,3,3] = rand 2
  const %w3 : f32[8,8,1,1] = rand 3
  %a = Conv(%x, %w1) {pads=[1,1,1,1]} name "a"
  %b = Conv(%a, %w2) {pads=[1,1,1,1]} name "b"
  %c = Add(%a, %b) name "c"
  %p = MaxPool(%c) {kernel_shape=[2,2], strides=[2,2]} name "p"
  %d = Conv(%p, %w3) name "d"
  out "y" = %d
}`

func mixGraph(t *testing.T) (*ir.Graph, []string, Options) {
	t.Helper()
	g := testenv.Must(ir.Parse(mixedText, op.Get))(t)
	names := lists.Map(g.Nodes, func(n *ir.Node) string { return n.Name })
	return g, names, Options{Samples: SyntheticSamples(g.In, 4, 1)}
}

func TestMixture(t *testing.T) {
	g, names, opt := mixGraph(t)
	m, err := NewMixture(g, opt, names)
	testenv.OK(t, err)
	got := lists.Map(m.Choices, func(c Choice) string { return c.Name })
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(got, want) { // the pool follows
		t.Fatalf("choices %v, want %v", got, want)
	}
	m.Price = func(_ int, l Layer) float64 { return map[Layer]float64{Int8: 100, Int16x8: 200, Float: 1000}[l] }
	m.Crossing = func(_, _ int) float64 { return 0.1 }

	// The prediction for int8 throughout is near to what the quantised graph loses.
	q := g.Clone()
	r, err := Insert(q, opt)
	testenv.OK(t, err)
	p := DB(m.Noise(m.All(Int8)))
	testenv.Check(t, !(math.Abs(p-r.SQNR) > 3), "int8: predicted %.1f dB, measured %.1f", p, r.SQNR)
	o := opt
	o.Layer = m.Of(m.All(Int16x8))
	if r, err = Insert(g.Clone(), o); err != nil {
		t.Fatal(err)
	}
	if p := DB(m.Noise(m.All(Int16x8))); math.Abs(p-r.SQNR) > 3 {
		t.Errorf("int16x8: predicted %.1f dB, measured %.1f", p, r.SQNR)
	}

	// A layer alone gains nothing: what it makes is rounded for its readers.
	alone := m.All(Int8)
	alone[1] = Int16x8
	a, b := m.Noise(alone), m.Noise(m.All(Int8))
	testenv.Check(t, !(a > b) && !(a < 0.5*b), "one layer alone: noise %g, of all in int8 %g", a, b)
	path := m.Path()
	for i := 1; i < len(path); i++ {
		if path[i].Noise >= path[i-1].Noise {
			t.Errorf("step %d: noise %g behind %g", i, path[i].Noise, path[i-1].Noise)
		}
	}
	last := path[len(path)-1]
	testenv.Check(t, !(last.Noise > m.Noise(m.All(Int16x8))) && len(path) >= 4,
		"the path ends with %v after %d steps", last, len(path))
	for _, x := range m.Narrower(last.Layers) {
		next := slices.Clone(last.Layers)
		next[x.Choice] = x.Layer
		testenv.Check(t, !(m.Cost(next) >= m.Cost(last.Layers)), "%+v costs no less", x)
	}

	// What follows floats is float, and named.
	follows := lists.Map(m.Layers(m.All(Float)), func(x Named) string { return x.Name + " " + x.Layer.String() })
	testenv.Equal(t, strings.Join(follows, ", "), "a float32, b float32, c float32, d float32, p float32")
	o.Layer = m.Of(m.All(Float))
	f := g.Clone()
	testenv.OK(t, testenv.Err(Insert(f, o)))
	testenv.Check(t, len(f.Nodes) == len(g.Nodes), "float throughout: %d nodes, want %d", len(f.Nodes), len(g.Nodes))
}

// TestMixtureNames: nodes that share a name are one choice; what no file can name stays.
func TestMixtureNames(t *testing.T) {
	g, _, opt := mixGraph(t)
	for _, n := range g.Nodes {
		n.Origin = []string{map[string]string{"a": "first", "b": "first"}[n.Name]}
	}
	m := testenv.Must(NewMixture(g, opt, []string{"first", "d"}))(t)
	if len(m.Choices) != 2 || m.Choices[0].Name != "first" || len(m.Choices[0].Nodes) != 2 || m.Choices[1].Name != "d" {
		t.Errorf("%+v", m.Choices)
	}
}
