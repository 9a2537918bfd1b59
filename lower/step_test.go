// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/stream"
)

// TestOtherFloatStages interprets random networks of other float types before
// and after every stage, single and model-types among them.
func TestOtherFloatStages(t *testing.T) {
	ran := map[string]int{}
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16, tensor.F64} {
		for seed := range uint64(2) {
			for _, target := range targets() {
				g := irtest.Gen(seed, d)
				within(t, target.name+" "+d.String(), g, target.options(g), seed, ran)
			}
		}
	}
	testenv.Check(t, ran["single"] != 0 && ran["model-types"] != 0, "stages that ran: %v", ran)
}

// TestRecurrentStages does so with state, whose ends have the quantisations
// that the model or calibration gave them.
func TestRecurrentStages(t *testing.T) {
	ran := map[string]int{}
	for seed := range uint64(16) {
		for _, target := range targets() {
			if target.accel != nil {
				continue
			}
			g := irtest.GenFloat(seed)
			if seed%2 == 1 {
				g = irtest.GenQDQ(seed)
			}
			if !recurrent(t, g, seed) {
				continue
			}
			o := target.options(g)
			o.StateBindings = []state.Binding{{Out: "h_out", In: "h"}}
			within(t, target.name+" with state", g, o, seed, ran)
		}
	}
	if ran["requantize-state"] == 0 || ran["state by Requantize"] == 0 || ran["state by QuantizeLinear"] == 0 {
		t.Errorf("stages that ran: %v", ran)
	}
}

// within runs all stages on g; none may do more than its numerics allow. ran
// counts the stages, and the operators that requantize-state puts behind the last
// output.
func within(t *testing.T, what string, g *ir.Graph, o lower.Options, seed uint64, ran map[string]int) {
	t.Helper()
	b := &lower.Bisector{Samples: samples(g, seed)}
	o.Observe = func(s lower.Step) error {
		if n := s.State.Graph.Out[len(s.State.Graph.Out)-1].Def; s.Stage.Name == "requantize-state" && n != nil {
			ran["state by "+n.Op.Name]++
		}
		return b.Observe(s)
	}
	_, err := lower.Run(g, o)
	testenv.Check(t, err == nil || unsupportedHere(err), "%s, seed %d: %v", what, seed, err)
	for _, c := range b.Stages {
		if c.Skipped == "" {
			ran[c.Stage]++
		}
	}
	c := b.Guilty()
	testenv.Check(t, c == nil, "%s, seed %d: guilty is %+v", what, seed, c)
}

// recurrent adds state to a random network: the input h is added to a value in
// the middle, the output h_out is a function of the sum. In a quantised network
// both have quantisations of their own. It is false where no value fits.
func recurrent(t *testing.T, g *ir.Graph, seed uint64) bool {
	t.Helper()
	for i := range g.Nodes {
		k := (i + int(seed)) % len(g.Nodes)
		v := g.Nodes[k].Out[0]
		if k+1 == len(g.Nodes) || v.Type.DType != tensor.F32 || len(v.Uses()) == 0 || v.Type.Rank() < 2 {
			continue
		}
		at, quantised := g.Nodes[k+1], lower.Quantised(g)
		h := g.AddInput("h", v.Type)
		x := h
		if quantised {
			x = rounded(t, g, at, h, 0.05)
		}
		sum := insert(t, g, at, op.Add, "recurrence", v, x)
		g.ReplaceUses(v, sum)
		g.SetInput(sum.Def, 0, v)
		y := insert(t, g, at, op.Tanh, "state", sum)
		if quantised && seed%4 != 3 { // else it stays float
			y = rounded(t, g, at, y, 0.01)
		}
		g.AddOutput("h_out", y)
		irtest.Verify(t, g)
		return true
	}
	return false
}

// insert is a new node's output.
func insert(t *testing.T, g *ir.Graph, at *ir.Node, o *ir.OpDef, name string, in ...*ir.Value) *ir.Value {
	t.Helper()
	n := testenv.Must(g.InsertBefore(at, o, name, nil, 1, in...))(t)
	return n.Out[0]
}

// rounded is v behind QuantizeLinear and DequantizeLinear.
func rounded(t *testing.T, g *ir.Graph, at *ir.Node, v *ir.Value, scale float32) *ir.Value {
	t.Helper()
	as := v.Type.WithQuant(tensor.I8, &ir.Quant{Scale: []float32{scale}, Zero: []int32{3}})
	for _, o := range []*ir.OpDef{op.QuantizeLinear, op.DequantizeLinear} {
		v = quant.Linear(g, at, o, v, as)
	}
	return v
}

// TestStreamStage runs random networks step by step before and after the stage
// stream: fed the same frames, they give the same, bit for bit on integers.
func TestStreamStage(t *testing.T) {
	streamed := 0
	for seed := range uint64(40) {
		for _, target := range []target{targets()[0], targets()[3]} {
			g := irtest.Gen(seed, tensor.F32)
			o := target.options(g)
			o.Stream = &stream.Options{Axis: 2}
			var windows *state.Runner
			var before *ir.Graph
			o.Observe = func(s lower.Step) error {
				if s.Stage.Name != "stream" {
					before = s.State.Graph.Clone()
					return nil
				}
				windows = state.Sliding(before, nil, s.State.Slides)
				sameSteps(t, target.name, windows, s.State.Ports(), seed)
				streamed++
				return nil
			}
			o.StopAfter = "stream"
			_, err := lower.Run(g, o)
			testenv.Check(t, err == nil || before != nil, "%s, seed %d: %v", target.name, seed, err)
		}
	}
	testenv.Check(t, streamed >= 10, "%d networks stream", streamed)
}

// sameSteps feeds two forms of a network the same frames.
func sameSteps(t *testing.T, what string, windows, frames *state.Runner, seed uint64) {
	t.Helper()
	for k := range 6 {
		in := irtest.Inputs(&ir.Graph{In: frames.Inputs()}, seed*100+uint64(k))
		want, err := windows.Step(in)
		testenv.Require(t, err == nil, "%s, seed %d: %v", what, seed, err)
		got, err := frames.Step(in)
		testenv.Require(t, err == nil, "%s, seed %d: %v", what, seed, err)
		for i, w := range want {
			testenv.Check(t, tensor.Equal(got[i], w), "%s, seed %d, step %d: output %d is not that of the window",
				what, seed, k, i)
		}
	}
}
