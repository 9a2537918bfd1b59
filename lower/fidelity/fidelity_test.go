// SPDX-License-Identifier: Apache-2.0

package fidelity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/fidelity"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// options are those of a build for a host.
func options() lower.Options {
	return lower.Options{Legalize: true, Fuse: true, DeadChannels: true, Align: option.AlignAuto,
		StopAfter: "lowering",
		Target:    kernel.Options{Core: kernel.Core{Host: true}}, Libraries: []string{"refc"}}
}

// lowered is a quantised graph on its way to a program for a host.
func lowered(t testing.TB, g *ir.Graph) *lower.Result {
	t.Helper()
	r := testenv.Must(lower.Run(g, options()))(t)
	return r
}

// check compares a program with its model on seeded inputs.
func check(t testing.TB, r *lower.Result, program *ir.Graph) *fidelity.Checker {
	t.Helper()
	c := testenv.Must(fidelity.New(r.Model, program, r.Slack()))(t)
	for k := range uint64(3) {
		in := irtest.Inputs(r.Model, k)
		for i, v := range r.Whole.In {
			switch {
			case v.Type.Quant != nil && in[i].DType.IsFloat():
				in[i] = ir.QuantiseEven(in[i], v.Type)
			case v.Type.DType.IsFloat():
				in[i] = in[i].Cast(v.Type.DType)
			}
		}
		testenv.OK(t, testenv.Err(c.Case(in)))
	}
	return c
}

// wrong are the stretches that are too far off, over all outputs.
func wrong(r *lower.Result, c *fidelity.Checker) []*fidelity.Stretch {
	var out []*fidelity.Stretch
	for _, row := range c.Rows(r.Model.OutNames) {
		for _, s := range row.Wrong {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// network has a layer of every kind that the mutations touch.
const network = `
graph "net" {
  in %x : f32[1,4,6,6]
  const %s : f32[] = {0.03125}
  const %z : i8[] = {3}
  const %z0 : i8[] = {0}
  const %sw : f32[] = {0.01}
  const %wq : i8[5,4,3,3] = rand 7
  const %b : f32[5] = {0.1,-0.2,0.3,0,-0.1}
  const %mask : bool[1,5,6,6] = rand 9
  const %low : f32[] = {-2.5}
  const %fcq : i8[180,7] = rand 8
  const %shape : i64[2] = {1,180}
  %xq : i8[1,4,6,6] = QuantizeLinear(%x, %s, %z) from "q_x"
  %xd : f32[1,4,6,6] = DequantizeLinear(%xq, %s, %z) from "d_x"
  %wd : f32[5,4,3,3] = DequantizeLinear(%wq, %sw, %z0) from "d_w"
  %c : f32[1,5,6,6] = Conv(%xd, %wd, %b) {pads=[1,1,1,1]} from "conv"
  %r : f32[1,5,6,6] = Relu(%c) from "relu"
  %rq : i8[1,5,6,6] = QuantizeLinear(%r, %s, %z) from "q_r"
  %rd : f32[1,5,6,6] = DequantizeLinear(%rq, %s, %z) from "d_r"
  %m : f32[1,5,6,6] = Where(%mask, %rd, %low) from "where"
  %mq : i8[1,5,6,6] = QuantizeLinear(%m, %s, %z) from "q_m"
  %md : f32[1,5,6,6] = DequantizeLinear(%mq, %s, %z) from "d_m"
  %a : f32[1,5,6,6] = Add(%md, %rd) from "add"
  %aq : i8[1,5,6,6] = QuantizeLinear(%a, %s, %z0) from "q_a"
  %ad : f32[1,5,6,6] = DequantizeLinear(%aq, %s, %z0) from "d_a"
  %f : f32[1,180] = Reshape(%ad, %shape) from "flatten"
  %fcd : f32[180,7] = DequantizeLinear(%fcq, %sw, %z0) from "d_fc"
  %g : f32[1,7] = MatMul(%f, %fcd) from "fc"
  %gq : i8[1,7] = QuantizeLinear(%g, %s, %z) from "q_g"
  %gd : f32[1,7] = DequantizeLinear(%gq, %s, %z) from "d_g"
  %p : f32[1,7] = Softmax(%gd) from "softmax"
  out "p" = %p
}
`

// node is the node of a program that came from an ONNX node.
func node(t *testing.T, g *ir.Graph, from string) *ir.Node {
	t.Helper()
	for _, n := range g.Nodes {
		if slices.Contains(n.Origin, from) {
			return n
		}
	}
	t.Fatalf("no node from %s in\n%s", from, g)
	return nil
}

// constant replaces input i of a node.
func constant(g *ir.Graph, n *ir.Node, i int, change func(d *tensor.Dense, q *ir.Quant)) {
	d, t := tensor.New(n.In[i].Const.DType, n.In[i].Const.Shape), n.In[i].Type
	for k := range d.Len() {
		if d.DType.IsFloat() {
			d.SetFloat(k, n.In[i].Const.Float(k))
		} else {
			d.SetInt(k, n.In[i].Const.Int(k))
		}
	}
	var q *ir.Quant
	if t.Quant != nil {
		q = &ir.Quant{Axis: t.Quant.Axis, Scale: slices.Clone(t.Quant.Scale), Zero: slices.Clone(t.Quant.Zero)}
	}
	change(d, q)
	v := g.AddConst("mutated", d)
	v.Type.Quant = q
	g.SetInput(n, i, v)
}

// TestMutations: a program that its lowering got wrong, in the interpreter and
// in the firmware alike, is told from the model, and the layer is named; no
// other layer is, since each is fed with what the program gave.
func TestMutations(t *testing.T) {
	for _, m := range []struct {
		name, at string
		change   func(g *ir.Graph, n *ir.Node)
	}{
		{"a constant squeezed into another range", "where", func(g *ir.Graph, n *ir.Node) {
			constant(g, n, 2, func(d *tensor.Dense, _ *ir.Quant) { d.SetInt(0, d.Int(0)/2) })
		}},
		{"a scale perturbed by a tenth", "conv", func(g *ir.Graph, n *ir.Node) {
			constant(g, n, 1, func(_ *tensor.Dense, q *ir.Quant) { q.Scale[0] *= 1.1 })
		}},
		{"a clamp dropped", "conv", func(_ *ir.Graph, n *ir.Node) { delete(n.Attrs, "act_min") }},
		{"a zero point moved", "conv", func(g *ir.Graph, n *ir.Node) {
			constant(g, n, 1, func(_ *tensor.Dense, q *ir.Quant) { q.Zero[0] = 9 })
		}},
		{"a bias of the wrong sign", "conv", func(g *ir.Graph, n *ir.Node) {
			constant(g, n, 2, func(d *tensor.Dense, _ *ir.Quant) {
				for i := range d.Len() {
					d.SetInt(i, -d.Int(i))
				}
			})
		}},
		{"a border of another value", "conv", func(_ *ir.Graph, n *ir.Node) { n.SetAttr("pads", ir.Ints(0, 2, 2, 0)) }},
		{"one weight of 1,260", "fc", func(g *ir.Graph, n *ir.Node) {
			constant(g, n, 1, func(d *tensor.Dense, _ *ir.Quant) { d.SetInt(600, d.Int(600)^64) })
		}},
		{"an operand read twice", "add", func(g *ir.Graph, n *ir.Node) { g.SetInput(n, 0, n.In[1]) }},
		{"the sum limited", "add", func(_ *ir.Graph, n *ir.Node) { n.SetAttr("act_max", ir.Float(0.5)) }},
	} {
		t.Run(m.name, func(t *testing.T) {
			r := lowered(t, irtest.Parse(t, network))
			if bad := wrong(r, check(t, r, r.Whole)); len(bad) > 0 {
				t.Fatalf("it is wrong before: %s", bad[0].Layer())
			}
			g := r.Whole.Clone()
			m.change(g, node(t, g, m.at))
			bad := wrong(r, check(t, r, g))
			if len(bad) != 1 || !strings.Contains(bad[0].Layer(), fmt.Sprintf("%q", m.at)) {
				got := lists.Map(bad, func(s *fidelity.Stretch) string { return s.Layer() })
				t.Fatalf("named %q, want %q", got, m.at)
			}
			t.Logf("%s: off by %g, %d of %d", bad[0].Layer(), bad[0].Off, bad[0].Wrong, bad[0].Elements)
		})
	}
}

// TestEveryTensor: no quantised tensor of the model is skipped.
func TestEveryTensor(t *testing.T) {
	r := lowered(t, irtest.Parse(t, network))
	rows := check(t, r, r.Whole).Rows(r.Model.OutNames)
	got := lists.Map(rows[0].Stretches, func(s *fidelity.Stretch) string { return s.Tensor })
	testenv.Same(t, got, []string{"xq", "rq", "mq", "aq", "gq", "p"}, "compared")
}

// TestRandomQDQ: programs of random quantised networks are what the networks
// mean. NNCC_RANDOM=N tries N.
func TestRandomQDQ(t *testing.T) {
	tensors, outputs := 0, 0
	for seed := range uint64(testenv.Count(t, 100)) {
		r := lowered(t, irtest.GenQDQ(seed))
		c := check(t, r, r.Whole)
		for _, s := range wrong(r, c) {
			t.Errorf("seed %d: %s: %s is off by %v, allowed %v (%d of %d elements)", seed, s.Layer(), s.Tensor, s.Off,
				s.Allowed, s.Wrong, s.Elements)
		}
		for _, row := range c.Rows(r.Model.OutNames) {
			tensors += len(row.Stretches)
			outputs++
		}
	}
	t.Logf("%d tensors on the way to %d outputs", tensors, outputs)
}

// TestRandomPrecisions: programs of random float networks are what their
// quantised forms mean, in every precision and in mixtures.
func TestRandomPrecisions(t *testing.T) {
	layers := map[string]func(n *ir.Node) quant.Layer{
		"int8":    func(*ir.Node) quant.Layer { return quant.Int8 },
		"int16x8": func(*ir.Node) quant.Layer { return quant.Int16x8 },
		"int4":    func(n *ir.Node) quant.Layer { return quant.Int4 },
		"mixed": func(n *ir.Node) quant.Layer {
			return []quant.Layer{quant.Int8, quant.Int16x8, quant.Int4, quant.Float}[n.ID%4]
		},
	}
	for name, of := range layers {
		t.Run(name, func(t *testing.T) {
			seeds := []uint64{250} // a Floor whose curve jumped to the other end of the range
			for seed := range uint64(testenv.Count(t, 40)) {
				seeds = append(seeds, seed)
			}
			for _, seed := range seeds {
				g := irtest.GenFloat(seed)
				if seed%2 == 1 {
					g = irtest.Gen(seed, tensor.F32)
				}
				o := options()
				o.Quant = quant.Options{Source: quant.SyntheticSource, Samples: quant.SyntheticSamples(g.In, 4, seed),
					Layer: of}
				r, err := lower.Run(g, o)
				if err != nil {
					t.Logf("seed %d: %v", seed, err)
					continue
				}
				c := check(t, r, r.Whole)
				for _, s := range wrong(r, c) {
					t.Errorf("seed %d: %s: %s is off by %v, allowed %v (%d of %d elements)", seed, s.Layer(), s.Tensor,
						s.Off, s.Allowed, s.Wrong, s.Elements)
				}
			}
		})
	}
}

// A model of another float type that is computed in float32 has its own type at
// the border, or is computed in its own: what it is rounded to is no difference,
// and a weight that is another by a quarter is one.
func TestOtherFloats(t *testing.T) {
	const src = `graph "other" {
	in %%x : %[1]s[1,3,6,6]
	const %%w : %[1]s[4,3,3,3] = rand 1
	const %%b : %[1]s[4] = {0.1,-0.2,0.3,0}
	%%c = Conv(%%x, %%w, %%b) {pads=[1,1,1,1]} from "conv"
	%%y = Relu(%%c) from "relu"
	out "y" = %%y
}`
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16, tensor.F64} {
		for _, precision := range []option.Precision{option.Float32, option.Model} {
			o := options()
			o.Precision = precision
			r := testenv.Must(lower.Run(irtest.Parse(t, fmt.Sprintf(src, d)), o))(t)
			for _, s := range wrong(r, check(t, r, r.Whole)) {
				t.Errorf("%s, %s: %s is off by %v, allowed %v", d, precision, s.Layer(), s.Off, s.Allowed)
			}
			for _, n := range r.Whole.Nodes {
				for i, v := range n.In {
					if v != nil && v.Const != nil && v.Type.Elems() >= 4*3*3*3 {
						w := v.Const.Clone()
						for k := range w.Len() {
							w.SetFloat(k, 1.25*w.Float(k))
						}
						r.Whole.SetInput(n, i, r.Whole.AddConst("other", w))
					}
				}
			}
			testenv.Check(t, len(wrong(r, check(t, r, r.Whole))) != 0, "%s, %s: other weights give the same", d,
				precision)
		}
	}
}
