// SPDX-License-Identifier: Apache-2.0

package signal_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/signal"
)

// frontEnd draws a front end as exporters write them.
type frontEnd struct {
	length, window, hop, bins, batch, samples int
	framing, transform, power                 string
}

// net is a graph under construction.
type net struct {
	g *ir.Graph
	t *testing.T
}

func (b *net) add(d *ir.OpDef, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	b.t.Helper()
	n, err := b.g.Add(d, fmt.Sprintf("v%d", len(b.g.Nodes)), attrs, 1, in...)
	if err != nil {
		b.t.Fatal(err)
	}
	return n.Out[0]
}

func (b *net) ints(v ...int) *ir.Value { return b.g.AddConst("i", tensor.Ints(v...)) }

func (b *net) floats(v []float32, shape ...int) *ir.Value {
	return b.g.AddConst("c", tensor.Of(shape, v))
}

// graph is the network of a front end.
func (f frontEnd) graph(t *testing.T) *ir.Graph {
	b := &net{ir.New("g"), t}
	x := b.g.AddInput("x", ir.T(tensor.F32, f.batch, f.samples))
	window := make([]float32, f.window)
	for j := range window {
		window[j] = float32(0.54 - 0.46*math.Cos(2*math.Pi*float64(j)/float64(f.window)))
	}
	samples := f.samples
	if mode := map[string]string{"reflect": "reflect", "zeros": "constant"}[f.framing]; mode != "" {
		x = b.add(op.Pad, ir.Attrs{"mode": ir.Str(mode)}, x, b.ints(0, f.window/2, 0, f.window/2))
		samples += f.window / 2 * 2
	}
	frames := (samples-f.window)/f.hop + 1
	var re, im, both *ir.Value // [batch, frames, bins] or [batch, bins, frames]; [batch, frames, bins, 2]
	if f.transform == "conv" {
		c := b.add(op.Conv, ir.Attrs{"strides": ir.Ints(f.hop)}, b.add(op.Reshape, nil, x, b.ints(f.batch, 1, samples)),
			b.floats(f.basis(window, true, true, true), 2*f.bins, 1, f.window))
		re = b.add(op.Slice, nil, c, b.ints(0), b.ints(f.bins), b.ints(1))
		im = b.add(op.Slice, nil, c, b.ints(f.bins), b.ints(2*f.bins), b.ints(1))
	} else {
		var fr *ir.Value
		if f.framing == "slices" {
			var parts []*ir.Value
			for i := range frames {
				s := b.add(op.Slice, nil, x, b.ints(i*f.hop), b.ints(i*f.hop+f.window), b.ints(1))
				parts = append(parts, b.add(op.Reshape, nil, s, b.ints(f.batch, 1, f.window)))
			}
			fr = b.add(op.Concat, ir.Attrs{"axis": ir.Int(1)}, parts...)
		} else {
			at := make([]int, frames*f.window)
			for i := range at {
				at[i] = i/f.window*f.hop + i%f.window
			}
			fr = b.add(op.Reshape, nil, b.add(op.Gather, ir.Attrs{"axis": ir.Int(1)}, x, b.ints(at...)),
				b.ints(f.batch, frames, f.window))
		}
		fr = b.add(op.Mul, nil, fr, b.floats(window, f.window))
		switch f.transform {
		case "two":
			re = b.add(op.MatMul, nil, fr, b.floats(f.basis(nil, true, false, false), f.window, f.bins))
			im = b.add(op.MatMul, nil, fr, b.floats(f.basis(nil, false, true, false), f.window, f.bins))
		case "left":
			m := b.add(op.MatMul, nil, b.floats(f.basis(nil, true, true, true), 2*f.bins, f.window),
				b.add(op.Transpose, ir.Attrs{"perm": ir.Ints(0, 2, 1)}, fr))
			re = b.add(op.Slice, nil, m, b.ints(0), b.ints(f.bins), b.ints(1))
			im = b.add(op.Slice, nil, m, b.ints(f.bins), b.ints(2*f.bins), b.ints(1))
		default:
			m := b.add(op.MatMul, nil, fr, b.floats(f.basis(nil, true, true, false), f.window, 2*f.bins))
			both = b.add(op.Reshape, nil, m, b.ints(f.batch, frames, f.bins, 2))
		}
	}
	var y *ir.Value
	switch {
	case f.power == "none" && both != nil:
		y = both
	case both != nil:
		y = b.add(op.Get("", "ReduceSumSquare"), ir.Attrs{"keepdims": ir.Int(0)}, both, b.ints(3))
	case f.power == "none":
		y = b.add(op.Sub, nil, re, im)
	default:
		y = b.add(op.Add, nil, b.add(op.Mul, nil, re, re), b.add(op.Mul, nil, im, im))
	}
	b.g.AddOutput("y", y)
	return b.g
}

// basis is the matrix [window, columns] of real and imaginary parts: bins in blocks, or
// rows [columns, window], or a real and an imaginary part in turn.
func (f frontEnd) basis(window []float32, cosines, sines, rows bool) []float32 {
	var parts []func(a float64) float64
	if cosines {
		parts = append(parts, math.Cos)
	}
	if sines {
		parts = append(parts, func(a float64) float64 { return -math.Sin(a) })
	}
	columns := len(parts) * f.bins
	m := make([]float32, f.window*columns)
	for j := range f.window {
		for k := range f.bins {
			for i, p := range parts {
				v := p(2 * math.Pi * float64(j*k%f.length) / float64(f.length))
				if window != nil {
					v *= float64(window[j])
				}
				if rows {
					m[(i*f.bins+k)*f.window+j] = float32(v)
				} else {
					m[j*columns+k*len(parts)+i] = float32(v)
				}
			}
		}
	}
	return m
}

// TestForms: front ends in the forms of exporters become a spectrum alone, with the same
// numbers.
func TestForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, transform := range []string{"conv", "two", "left", "one"} {
		for _, framing := range []string{"gather", "slices", "reflect", "zeros"} {
			for _, power := range []string{"power", "none"} {
				length := []int{64, 80, 96, 120, 128}[rng.IntN(5)]
				window := []int{length, length - 7}[rng.IntN(2)]
				f := frontEnd{length: length, window: window, hop: 1 + rng.IntN(length), bins: length/2 + 1,
					batch: 1 + rng.IntN(2), samples: 3*length + rng.IntN(length), framing: framing,
					transform: transform, power: power}
				t.Run(fmt.Sprintf("%s,%s,%s", transform, framing, power), func(t *testing.T) { f.check(t) })
			}
		}
	}
}

func (f frontEnd) check(t *testing.T) {
	g := f.graph(t)
	in := irtest.Inputs(g, 1)
	want := testenv.Must(interp.Run(g, in, nil))(t)
	testenv.OK(t, signal.Pass.Apply(&pass.Ctx{}, g))
	spectra := 0
	for _, n := range g.Nodes {
		switch {
		case n.Op == op.Spectrum:
			spectra++
			if f.power == "power" && ir.AttrsOf[op.SpectrumAttrs](n).Power == 0 {
				t.Errorf("no powers:\n%s", brief(g))
			}
		case n.Op.MACs != nil, n.Op == op.Pad, n.Op == op.Concat, f.power == "power" && n.Op == op.Mul:
			t.Errorf("%s stays:\n%s", n, brief(g))
		}
	}
	testenv.Require(t, spectra == 1, "%d spectra, want one:\n%s", spectra, brief(g))
	have := testenv.Must(interp.Run(g, in, nil))(t)
	peak, worst := 0.0, 0.0
	for i := range want[0].Len() {
		peak = max(peak, math.Abs(want[0].Float(i)))
		worst = max(worst, math.Abs(want[0].Float(i)-have[0].Float(i)))
	}
	testenv.Check(t, worst <= 2e-6*peak, "off by %g of %g", worst, peak)
}

// brief is a graph without its constants.
func brief(g *ir.Graph) string {
	lines := lists.Filter(strings.Split(g.String(), "\n"), func(l string) bool {
		return !strings.Contains(l, "const")
	})
	return strings.Join(lines, "\n")
}

// TestOthers: what is almost a transform, or frames of a signal, stays what it is.
func TestOthers(t *testing.T) {
	base := frontEnd{length: 64, window: 64, hop: 32, bins: 33, batch: 1, samples: 256, framing: "gather",
		transform: "one", power: "power"}
	edit := map[string]func(g *ir.Graph){
		"an element of the matrix is off": func(g *ir.Graph) {
			product(g).In[1].Const.SetFloat(1000, product(g).In[1].Const.Float(1000)+1e-4)
		},
		"frames at uneven distances": func(g *ir.Graph) { g.Nodes[0].In[1].Const.SetInt(70, 3) },
		"the matrix is computed": func(g *ir.Graph) {
			n := product(g)
			w := g.AddInput("w", ir.T(tensor.F32, n.In[1].Type.Shape...))
			g.SetInput(n, 1, w)
		},
		"an activation behind it": func(g *ir.Graph) { product(g).SetAttr("act_min", ir.Float(0)) },
	}
	for name, change := range edit {
		g := base.graph(t)
		change(g)
		before := g.String()
		testenv.OK(t, signal.Pass.Apply(&pass.Ctx{}, g))
		testenv.Equal(t, g.String(), before, "%s: rewritten", name)
	}
	base.length, base.window, base.bins = 77, 77, 39
	g := base.graph(t)
	before := g.String()
	if err := signal.Pass.Apply(&pass.Ctx{}, g); err != nil || g.String() != before {
		t.Errorf("a length with prime factors of 7 and 11: %v, or rewritten", err)
	}
}

// product is the first product of matrices.
func product(g *ir.Graph) *ir.Node {
	for _, n := range g.Nodes {
		if n.Op == op.MatMul {
			return n
		}
	}
	return nil
}
