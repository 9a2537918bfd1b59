// SPDX-License-Identifier: Apache-2.0

package tflite_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// TestNames: names are labels. Models whose tensors have the names that the import gives to
// values of its own are the same graphs, and give the same numbers, as with plain names.
func TestNames(t *testing.T) {
	layers := tflitetest.Layers()
	layers = append(layers, &tflitetest.Layer{Op: "network", Graph: network()})
	rng := rand.New(rand.NewPCG(38, 1))
	for i := range 100 {
		l := layers[rng.IntN(len(layers))]
		if i == 0 {
			l = layers[len(layers)-1]
		}
		plain, _, err := imported(l.Graph)
		if err != nil {
			t.Fatal(l.Op, err)
		}
		renamed := hostileNames(rng, l.Graph, plain)
		g, m, err := imported(renamed)
		if err != nil {
			t.Errorf("%s with the names %q: %v", l.Op, tensorNames(renamed), err)
			continue
		}
		if have, want := anonymous(g), anonymous(plain); have != want {
			t.Errorf("%s with the names %q is\n%s\nwant\n%s", l.Op, tensorNames(renamed), have, want)
			continue
		}
		in := layerInputs(t, l, g, m)
		have, err := interp.Run(g, in, nil)
		if err != nil {
			t.Fatal(l.Op, err)
		}
		want, err := interp.Run(plain, in, nil)
		if err != nil {
			t.Fatal(l.Op, err)
		}
		for k := range want {
			if !bytes.Equal(have[k].Bytes(), want[k].Bytes()) {
				t.Errorf("%s with the names %q: result %d differs", l.Op, tensorNames(renamed), k)
			}
		}
	}
}

// imported is a model read and taken apart.
func imported(g tflitetest.Graph) (*ir.Graph, *onnx.Model, error) { return opened(g.Bytes()) }

func opened(b []byte) (*ir.Graph, *onnx.Model, error) {
	m, err := tflite.Parse(b, onnx.Limits{})
	if err != nil {
		return nil, nil, err
	}
	out, err := onnx.OpenModel(m, onnx.ImportOptions{})
	return out, m, err
}

// hostileNames gives every tensor a name that the import may want for another value: that of
// another tensor with the end of a name of the plain graph behind it, or such a name itself.
func hostileNames(rng *rand.Rand, g tflitetest.Graph, plain *ir.Graph) tflitetest.Graph {
	ends := []string{"/real", "/scale", "/zero", "/result", "/weights", "/bias", "/shape", "/next", "/nchw", ""}
	for _, v := range valuesOf(plain) {
		if i := strings.IndexByte(v.Name, '/'); i >= 0 {
			ends = append(ends, v.Name[i:])
		}
	}
	var given []string
	rename := func(ts []tflitetest.Tensor) []tflitetest.Tensor {
		out := append([]tflitetest.Tensor{}, ts...)
		for i := range out {
			base := "state"
			if len(given) > 0 && rng.IntN(8) > 0 {
				base = given[rng.IntN(len(given))]
			}
			out[i].Name = base + ends[rng.IntN(len(ends))]
			if len(out[i].Name) > 200 {
				out[i].Name = "a"
			}
			given = append(given, out[i].Name)
		}
		rng.Shuffle(len(given), func(i, j int) { given[i], given[j] = given[j], given[i] })
		return out
	}
	g.Tensors = rename(g.Tensors)
	called := append([]tflitetest.Graph{}, g.Called...)
	for i := range called {
		called[i].Tensors = rename(called[i].Tensors)
	}
	g.Called = called
	return g
}

func tensorNames(g tflitetest.Graph) []string {
	return lists.Map(g.Tensors, func(t tflitetest.Tensor) string { return t.Name })
}

// valuesOf are the values of a graph in order.
func valuesOf(g *ir.Graph) []*ir.Value {
	seen := map[*ir.Value]bool{}
	var out []*ir.Value
	add := func(vs []*ir.Value) {
		for _, v := range vs {
			if v != nil && !seen[v] {
				seen[v] = true
				out = append(out, v)
			}
		}
	}
	add(g.In)
	for _, n := range g.Nodes {
		add(n.In)
		add(n.Out)
	}
	add(g.Out)
	return out
}

// anonymous is a graph as text, its values by number.
func anonymous(g *ir.Graph) string {
	number := map[*ir.Value]int{}
	var b strings.Builder
	for i, v := range valuesOf(g) {
		number[v] = i
		fmt.Fprintf(&b, "%%%d %v", i, v.Type)
		if v.Const != nil {
			fmt.Fprintf(&b, " %x", v.Const.Bytes())
		}
		b.WriteString("\n")
	}
	list := func(vs []*ir.Value) {
		for _, v := range vs {
			if v == nil {
				b.WriteString(" _")
			} else {
				fmt.Fprintf(&b, " %%%d", number[v])
			}
		}
	}
	for _, n := range g.Nodes {
		list(n.Out)
		fmt.Fprintf(&b, " = %s", n.Op.Name)
		for _, a := range n.Attrs.Names() {
			fmt.Fprintf(&b, " %s=%v", a, n.Attrs[a])
		}
		list(n.In)
		b.WriteString("\n")
	}
	b.WriteString("gives")
	list(g.Out)
	return b.String()
}

// layerInputs are data for the inputs of a layer; what it keeps begins as the model says.
func layerInputs(t *testing.T, l *tflitetest.Layer, g *ir.Graph, m *onnx.Model) []*tensor.Dense {
	t.Helper()
	var in []*tensor.Dense
	for k, v := range g.In {
		d := tensor.New(v.Type.DType, v.Type.Shape)
		for _, s := range m.State {
			if s.In == v.Name {
				d = s.Init
			}
		}
		if k < len(l.Inputs) && l.Op != "network" {
			var err error
			if d, err = tensor.FromBytes(v.Type.DType, v.Type.Shape, l.Data()[k]); err != nil {
				t.Fatal(err)
			}
		}
		in = append(in, d)
	}
	return in
}

// TestIgnoredQuantisation: what a file says of the quantisation of a bias is not read, whatever it is.
func TestIgnoredQuantisation(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	x := tensor.New(tensor.I8, []int{1, 5, 6, 3})
	want := run(t, network().Bytes(), x)[0]
	for _, edit := range []func(b *tflitetest.Tensor){
		func(b *tflitetest.Tensor) { b.Axis = 3 },
		func(b *tflitetest.Tensor) { b.Axis = -1 },
		func(b *tflitetest.Tensor) { b.Scale, b.Zero = nil, nil },
		func(b *tflitetest.Tensor) { b.Scale = b.Scale[:3] },
		func(b *tflitetest.Tensor) { b.Zero = b.Zero[:2] },
		func(b *tflitetest.Tensor) { b.Scale[0] = nan },
		func(b *tflitetest.Tensor) { b.Scale[1] = inf },
		func(b *tflitetest.Tensor) { b.Scale, b.Zero = []float32{0}, []int64{1 << 40} },
	} {
		g := network()
		edit(&g.Tensors[2])
		if have := run(t, g.Bytes(), x)[0]; !bytes.Equal(have.Bytes(), want.Bytes()) {
			t.Errorf("with the bias %v: %v, want %v", g.Tensors[2], have.Bytes(), want.Bytes())
		}
	}
}

// TestSharedBias: a bias that two layers read has the scale of each one's input.
func TestSharedBias(t *testing.T) {
	i32s := bytes.Repeat([]byte{0, 1, 0, 0}, 2)
	build := func(shared bool) []*tensor.Dense {
		g := network()
		b := tflitetest.Tensor{Name: "bias", Type: i32, Shape: []int32{2}, Data: i32s}
		y := tflitetest.Tensor{Name: "z", Type: i8, Shape: []int32{1, 2}, Scale: []float32{0.05}, Zero: []int64{3}}
		g.Tensors = append(g.Tensors, b, b, y)
		g.Ops[2].In[2] = 7
		g.Ops = append(g.Ops, tflitetest.Op{Code: 9, In: []int32{3, 5, 8}, Out: []int32{9}})
		if shared {
			g.Ops[3].In[2] = 7
		}
		g.Outputs = []int32{6, 9}
		return run(t, g.Bytes(), tensor.New(tensor.I8, []int{1, 5, 6, 3}))
	}
	have, want := build(true), build(false)
	for k := range want {
		testenv.Check(t, bytes.Equal(have[k].Bytes(), want[k].Bytes()),
			"result %d is %v, with a bias of each layer's own %v", k, have[k].Bytes(), want[k].Bytes())
	}
}
