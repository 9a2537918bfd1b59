// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// recurrentGraph is an LSTM or GRU whose first result goes through a dense layer;
// given states are inputs and last ones outputs.
func recurrentGraph(t *testing.T, d *ir.OpDef, direction string, given, linear bool) *ir.Graph {
	b := newBuilder(t, 9)
	dirs, h, gates := 1, 13, 4
	if direction == "bidirectional" {
		dirs = 2
	}
	attrs := ir.Attrs{"hidden_size": ir.Int(h), "direction": ir.Str(direction)}
	if d == op.GRU {
		gates = 3
		if linear {
			attrs["linear_before_reset"] = ir.Int(1)
		}
	}
	x := b.g.AddInput("x", ir.T(tensor.F32, 20, 1, 9))
	in := []*ir.Value{x, b.normal(0.4, dirs, gates*h, 9), b.normal(0.3, dirs, gates*h, h),
		b.normal(0.2, dirs, 2*gates*h)}
	if given {
		in = append(in, nil, b.g.AddInput("h0", ir.T(tensor.F32, dirs, 1, h)))
		if d == op.LSTM {
			in = append(in, b.g.AddInput("c0", ir.T(tensor.F32, dirs, 1, h)))
		}
	}
	n := testenv.Must(b.g.Add(d, "cell", attrs, d.MaxOut, in...))(t)
	flat := b.add("Reshape", nil, n.Out[0], b.g.AddConst("s", tensor.Ints(1, -1)))
	b.g.AddOutput("y", b.dense(flat, 40))
	if given {
		for i, v := range n.Out[1:] {
			b.g.AddOutput(fmt.Sprintf("state%d", i), v)
		}
	}
	irtest.Verify(t, b.g)
	return b.g
}

// TestRecurrent: LSTM and GRU of every direction, with and without given states
// and states that are read, compute on integers, in int8 and in int16, nearly the
// same as in float. A state in int16 goes in and comes out in one type.
func TestRecurrent(t *testing.T) {
	for _, d := range []*ir.OpDef{op.LSTM, op.GRU} {
		for _, dir := range []string{"forward", "reverse", "bidirectional"} {
			for k := range 4 {
				given, linear := k&1 != 0, k&2 != 0
				if linear && d == op.LSTM {
					continue
				}
				for layer, least := range map[quant.Layer]float64{quant.Int8: 25, quant.Int16x8: 30} {
					name := fmt.Sprintf("%s %s, given %v, linear %v, %s", d.Name, dir, given, linear, layer)
					g := recurrentGraph(t, d, dir, given, linear)
					s := samples(g, 4, 1)
					for _, in := range s { // states are hardly ever above 1
						for _, h := range in[1:] {
							for i := range h.Len() {
								h.SetFloat(i, h.Float(i)/3)
							}
						}
					}
					q, _ := quantised(t, g, quant.Options{Samples: s,
						Layer: func(*ir.Node) quant.Layer { return layer }})
					if irtest.Count(q, "Q"+d.Name) == 0 || irtest.Count(q, d.Name) != 0 {
						t.Errorf("%s: no integers in\n%s", name, q)
						continue
					}
					for _, n := range q.Nodes {
						testenv.Check(t, n.Quantised(), "%s: %s is float", name, n)
					}
					want, got := irtest.Run(t, g, s[0]), runInteger(t, q, s[0])
					for i := range want {
						db := ratio(want[i].Floats(), got[i].Floats())
						t.Logf("%s, output %d: %.1f dB", name, i, db)
						testenv.Check(t, db >= least, "%s, output %d: %.1f dB, want %g", name, i, db, least)
					}
					if !given {
						continue
					}
					in, out := q.In[len(q.In)-1].Type, q.Out[len(q.Out)-1].Type
					testenv.Check(t, in.DType == tensor.I16 && out.DType == tensor.I16 && in.Quant.Equal(out.Quant),
						"%s: the state goes in as %s and comes out as %s", name, in, out)
				}
			}
		}
	}
}

// TestWhyRecurrentInFloat: what has no integer form says why, and stays float.
func TestWhyRecurrentInFloat(t *testing.T) {
	for attrs, want := range map[string]string{
		`-, -, -, -, %p) {hidden_size=2}`:                            "it has peepholes",
		`-, %l) {hidden_size=2}`:                                     "it has sequence lengths",
		`) {hidden_size=2, clip=3.0}`:                                "it clips its gates",
		`) {hidden_size=2, input_forget=1}`:                          "its input and forget gates are coupled",
		`) {hidden_size=2, activations=["Sigmoid", "Relu", "Tanh"]}`: "its activation 1 is relu, not tanh",
		`) {hidden_size=2, activations=["HardSigmoid", "Tanh", "Tanh"]}`: "" +
			"its activation 0 is hardsigmoid, not sigmoid",
		`) {hidden_size=2, activations=["sigmoid", "tanh", "tanh"]}`: "",
		`) {hidden_size=2, direction="bidirectional"}`:               "",
	} {
		dirs, comma := 1, ", "
		if want == "" && len(attrs) < 50 {
			dirs = 2
		}
		if attrs[0] == ')' {
			comma = ""
		}
		g := irtest.Parse(t, fmt.Sprintf(`graph "g" {
			in %%x : f32[4,1,3]
			const %%w : f32[%[1]d,8,3] = rand 1
			const %%r : f32[%[1]d,8,2] = rand 2
			const %%p : f32[1,6] = rand 3
			const %%l : i32[1] = {3}
			%%y = LSTM(%%x, %%w, %%r%[2]s%[3]s
			out "y" = %%y
		}`, dirs, comma, attrs))
		testenv.Equal(t, quant.WhyRecurrentInFloat(g.Nodes[0]), want, attrs)
		q, _ := quantised(t, g, quant.Options{Samples: samples(g, 2, 1)})
		testenv.Equal(t, irtest.Count(q, "LSTM") == 1, want != "", "%s: in float", attrs)
	}
}
