// SPDX-License-Identifier: Apache-2.0

package state_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/stream"
)

// sums adds all that it is fed: y is the sum so far, s=out the state.
const sums = `
  in %x : f32[1,2]
  in %s : f32[1,2]
  %a = Add(%x, %s)
  %y = Identity(%a)
  out "y" = %y
  out "s=out" = %a`

// TestFind: a binding is found by its names, which may hold equals signs, and
// refused with what there is.
func TestFind(t *testing.T) {
	g := parse(t, sums)
	b, err := state.Find(g, "s=out=s")
	testenv.Check(t, err == nil && b.Out == "s=out" && b.In == "s", "%+v, %v", b, err)
	for s, want := range map[string]string{
		"s=out":   "want OUTPUT=INPUT; outputs: y, s=out; inputs: x, s",
		"z=s":     "want OUTPUT=INPUT",
		"s=out=z": "want OUTPUT=INPUT",
	} {
		testenv.Refused(t, testenv.Err(state.Find(g, s)), want)
	}
	g = parse(t, `
  in %x : f32[1,2]
  in %s : f32[2]
  %y = Add(%x, %s)
  out "y" = %y`)
	testenv.Refused(t, testenv.Err(state.Find(g, "y=s")), "want one type and shape")
}

// TestByName: pairs are found by the names that exporters use, and only where
// types agree.
func TestByName(t *testing.T) {
	for _, c := range []struct{ in, out string }{{"h", "hN"}, {"h_in", "h_out"}, {"past_0", "present_0"},
		{"h", "new_h"}, {"h0", "hn"}, {"prev_h", "h"}} {
		text := `
  in %x : f32[1,2]
  in %IN : f32[1,2]
  %y = Add(%x, %IN)
  out "y" = %y
  out "OUT" = %y`
		g := parse(t, strings.NewReplacer("IN", c.in, "OUT", c.out).Replace(text))
		b := state.ByName(g)
		testenv.Check(t, len(b) == 1 && b[0].In == c.in && b[0].Out == c.out, "%s, %s: %+v", c.in, c.out, b)
		g.In[1].Type.DType = tensor.F16
		if b := state.ByName(g); len(b) != 0 {
			t.Errorf("%s, %s of another type: %+v", c.in, c.out, b)
		}
	}
}

// TestRunner: state goes from step to step, from what it begins with; the
// caller gives and gets the rest.
func TestRunner(t *testing.T) {
	g := parse(t, sums)
	b := state.Binding{Out: "s=out", In: "s", Init: tensor.Of([]int{1, 2}, []float32{10, 20})}
	r := state.New(g, []state.Binding{b})
	if in := r.Inputs(); len(in) != 1 || in[0].Name != "x" || !slices.Equal(r.Outputs(), []int{0}) {
		t.Fatalf("inputs %v, outputs %v", in, r.Outputs())
	}
	same := func(d *tensor.Dense, _ *ir.Value) (*tensor.Dense, error) { return d, nil }
	as := func(d *tensor.Dense, _ ir.Type) *tensor.Dense { return d }
	x := tensor.Of([]int{3, 1, 2}, []float32{1, 2, 3, 4, 5, 6})
	outs, names, err := r.Steps([]*tensor.Dense{x}, same, as)
	if err != nil || !slices.Equal(names, []string{"y"}) ||
		!tensor.Equal(outs[0], tensor.Of([]int{3, 1, 2}, []float32{11, 22, 14, 26, 19, 32})) {
		t.Errorf("%v %v %v", outs, names, err)
	}
	if outs, err := r.Step([]*tensor.Dense{tensor.New(tensor.F32, []int{1, 2})}); err != nil ||
		outs[1].Float(0) != 19 {
		t.Errorf("a step behind them: %v, %v", outs, err)
	}
	two := parse(t, `
  in %x : f32[1]
  in %z : f32[1]
  in %s : f32[1]
  %a = Add(%x, %s)
  %y = Add(%a, %z)
  out "y" = %y
  out "s_out" = %a`)
	r = state.New(two, state.ByName(two))
	short, long := tensor.New(tensor.F32, []int{2, 1}), tensor.New(tensor.F32, []int{3, 1})
	if _, _, err := r.Steps([]*tensor.Dense{short, long}, same, as); err == nil ||
		!strings.Contains(err.Error(), "input z has 3 steps, another input 2") {
		t.Errorf("inputs of different lengths: %v", err)
	}
}

// TestSequence: samples get the state that each step finds.
func TestSequence(t *testing.T) {
	g := parse(t, sums)
	r := state.New(g, []state.Binding{{Out: "s=out", In: "s"}})
	one := tensor.Of([]int{1, 2}, []float32{1, 2})
	s, err := r.Sequence([]quant.Sample{{one}, {one}, {one}})
	if err != nil || len(s) != 3 {
		t.Fatal(s, err)
	}
	for k, x := range s {
		testenv.Check(t, len(x) == 2 && x[1].Float(0) == float64(k) && x[1].Float(1) == float64(2*k), "sample %d: %v",
			k, x)
	}
}

// TestWindow: fed the frames of a long input, the graph sees the newest window;
// before the first frame it is zero. Frames are cut from whole windows.
func TestWindow(t *testing.T) {
	g := parse(t, `
  in %x : f32[1,4,2]
  %y = Neg(%x)
  out "y" = %y`)
	o := &stream.Options{Axis: 1, Hop: 2}
	r := state.Sliding(g, nil, o)
	s := r.Inputs()[0].Type.Shape
	testenv.Require(t, slices.Equal(s, []int{1, 2, 2}), "frames of shape %v", s)
	window := tensor.Of([]int{1, 4, 2}, []float32{1, 2, 3, 4, 5, 6, 7, 8})
	frames := state.Frames(o, []quant.Sample{{window}})
	want := [][]float32{{0, 0, 0, 0, -1, -2, -3, -4}, {-1, -2, -3, -4, -5, -6, -7, -8}}
	testenv.Require(t, len(frames) == len(want), "%d frames", len(frames))
	for k, f := range frames {
		outs := testenv.Must(r.Step(f))(t)
		for i, v := range want[k] {
			testenv.Check(t, outs[0].Float(i) == float64(v), "step %d: %v, want %v", k, outs[0], want[k])
		}
	}
}

// TestRequantize: both ends of state get the type of the input: by a conversion
// where they differ, by nothing where not, and never between integers and
// floats that have no quantisation.
func TestRequantize(t *testing.T) {
	for _, c := range []struct{ in, out, by string }{
		{"i8[1,2] q(0.5:0)", "i8[1,2] q(0.5:0)", ""},
		{"i8[1,2] q(0.5:0)", "i8[1,2] q(0.25:3)", "Requantize"},
		{"i8[1,2] q(0.5:0)", "f32[1,2]", "QuantizeLinear"},
		{"f32[1,2]", "i8[1,2] q(0.5:0)", "DequantizeLinear"},
		{"i32[1,2]", "f32[1,2]", "refused"},
	} {
		g := parse(t, strings.NewReplacer("INPUT", c.in, "OUTPUT", c.out).Replace(`
  in %x : OUTPUT
  in %s : INPUT
  %y : OUTPUT = Identity(%x)
  %z : INPUT = Identity(%s)
  out "y" = %y
  out "z" = %z`))
		err := state.Requantize(g, []state.Binding{{Out: "y", In: "s"}})
		if c.by == "refused" {
			testenv.Refused(t, err, "want one type")
			continue
		}
		got, want := g.Out[0].Type, g.In[1].Type
		testenv.Check(t, err == nil && got.DType == want.DType && got.Quant.Equal(want.Quant),
			"%s becomes %v, want %v (%v)", c.out, got, want, err)
		if by := g.Out[0].Def.Op; c.by == "" && by != op.Identity || c.by != "" && by.Name != c.by {
			t.Errorf("%s becomes %s by %s, want %q", c.out, c.in, by.Name, c.by)
		}
	}
}

func parse(t *testing.T, body string) *ir.Graph {
	t.Helper()
	return irtest.Parse(t, "graph \"g\" {"+body+"\n}")
}
