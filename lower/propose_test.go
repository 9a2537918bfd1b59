// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"math"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/verify"
)

// deep is a chain of convolutions, of which the first ones have few channels on many
// pixels: most of the noise and little of the work.
func deep(t *testing.T) *ir.Graph {
	g := ir.New("deep")
	var names int
	add := func(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
		names++
		n := testenv.Must(g.Add(op.Get("", name), name+string(rune('a'+names)), attrs, 1, in...))(t)
		n.Origin = []string{n.Name}
		return n.Out[0]
	}
	v, from := g.AddInput("x", ir.T(tensor.F32, 1, 2, 12, 12)), 2
	for i, to := range []int{4, 4, 8, 16, 32, 32} {
		w := ir.Rand(uint64(i+1), tensor.F32, []int{to, from, 3, 3})
		for k := range w.Len() { // which 8 bits hold without an error
			w.SetFloat(k, math.Round(100*w.Float(k))/400)
			if k%(9*from) == 0 {
				w.SetFloat(k, 127./400)
			}
		}
		stride := 1 + i%2
		a := ir.Attrs{"pads": ir.Ints(1, 1, 1, 1), "strides": ir.Ints(stride, stride)}
		v = add("Conv", a, v, g.AddConst("w", w))
		v, from = add("Tanh", nil, v), to
	}
	g.AddOutput("y", v)
	irtest.Verify(t, g)
	return g
}

// work prices steps by their multiplications and elements: those of 16 bits take twice those of 8, floats ten
// times.
func work(r *lower.Result) ([]float64, error) {
	var list []float64
	for _, n := range r.Schedule.Nodes {
		w := float64(n.Out[0].Type.Elems())
		if n.Op.MACs != nil {
			w += float64(n.Op.MACs(n))
		}
		switch d := n.Out[0].Type.DType; {
		case d.IsFloat():
			w *= 10
		case d == tensor.I16:
			w *= 2
		}
		list = append(list, w)
	}
	return list, nil
}

// TestPropose: proposals reach what they are asked for, cost less than all layers in int16,
// and more is never cheaper. A mix that is measured to be chosen is the program's.
func TestPropose(t *testing.T) {
	propose := func(least float64) *lower.Proposal {
		g := deep(t)
		o := lower.Options{Legalize: true, Fuse: true, Libraries: []string{"dsp", "cmsisnn", "refc"},
			Target: kernel.Options{Core: kernel.Core{DSP: true}},
			Quant: quant.Options{Samples: quant.SyntheticSamples(g.In, 16, 3), Source: "inputs",
				BiasCorrection: true}}
		p := testenv.Must(lower.Propose(g, o, lower.Goal{Least: least, Ratio: true, Instructions: work}))(t)
		t.Logf("%.1f dB wanted: %.1f dB, %.0f instructions, %d layers", least, p.Mixed.Reached, p.Mixed.Instructions,
			len(p.Layers))
		return p
	}
	first := propose(0)
	if len(first.Layers) > 0 || first.Default != "int8" || first.Mixed.Instructions != first.Beside[0].Instructions {
		t.Errorf("nothing is wanted, and %+v is proposed", first)
	}
	narrow, wide := first.Beside[0], first.Beside[1]
	t.Logf("int8 %.1f dB, %.0f; int16x8 %.1f dB, %.0f", narrow.Reached, narrow.Instructions, wide.Reached,
		wide.Instructions)
	before := first.Mixed.Instructions
	for _, share := range []float64{0.1, 0.2, 0.25} {
		least := narrow.Reached + share*(wide.Reached-narrow.Reached)
		p := propose(least)
		testenv.Check(t, p.Met && !(p.Mixed.Reached < least) && len(p.Layers) != 0,
			"%.1f dB are wanted, and %+v is proposed", least, p)
		if p.Mixed.Instructions >= wide.Instructions || p.Mixed.Instructions < before {
			t.Errorf("%.1f dB take %.0f instructions, less takes %.0f, int16x8 throughout %.0f", least,
				p.Mixed.Instructions, before, wide.Instructions)
		}
		before = p.Mixed.Instructions
	}
}

// TestMixIsItsProgram: what a mix is measured to reach is what its program reaches, on the same samples, where
// calibration tries nothing.
func TestMixIsItsProgram(t *testing.T) {
	g := deep(t)
	in := quant.SyntheticSamples(g.In, 8, 5)
	want := outputsOf(t, g, in)
	mixes, programs := map[float64]bool{}, []float64{}
	goal := lower.Goal{Least: 33, Ratio: true, Instructions: work,
		Quick: func(g *ir.Graph) (float64, error) {
			db := worstOf(want, outputsOf(t, g, in))
			mixes[db] = true
			return db, nil
		},
		Final: func(r *lower.Result) (float64, error) {
			programs = append(programs, worstOf(want, outputsOf(t, r.Graph, in)))
			return programs[len(programs)-1], nil
		}}
	o := lower.Options{Legalize: true, Fuse: true, Libraries: []string{"dsp", "cmsisnn", "refc"},
		Target: kernel.Options{Core: kernel.Core{DSP: true}},
		Quant:  quant.Options{Samples: quant.SyntheticSamples(g.In, 16, 3), Source: "inputs", BiasCorrection: true}}
	p := testenv.Must(lower.Propose(g, o, goal))(t)
	const whole = 4 // int8, int16x8, float32, and one in which all neighbours differ
	testenv.Require(t, len(programs) > whole && len(p.Layers) != 0, "%d programs, %+v: the goal asks for no mix",
		len(programs), p)
	for _, db := range programs[whole:] {
		testenv.Check(t, mixes[db], "a program reaches %.3f dB, and no mix was measured to", db)
	}
}

// outputsOf runs a graph, whose inputs may be integers, on samples of floats.
func outputsOf(t *testing.T, g *ir.Graph, samples []quant.Sample) [][]float64 {
	t.Helper()
	var list [][]float64
	for _, s := range samples {
		in := testenv.Must(verify.Inputs(s, g.In))(t)
		out := testenv.Must(interp.Run(g, in, nil))(t)
		var row []float64
		for k, d := range out {
			d = verify.Dequantised(d, g.Out[k].Type)
			for i := range d.Len() {
				row = append(row, d.Float(i))
			}
		}
		list = append(list, row)
	}
	return list
}

// worstOf is the signal-to-noise ratio of outputs in dB.
func worstOf(want, got [][]float64) float64 {
	signal, noise := 0.0, 1e-12
	for i := range want {
		for k, x := range want[i] {
			signal += x * x
			noise += (x - got[i][k]) * (x - got[i][k])
		}
	}
	return 10 * math.Log10(signal/noise)
}
