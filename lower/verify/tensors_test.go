// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/verify"
)

// tensors lowers a model and lays its program's values beside its own, over some inputs.
func tensors(t *testing.T, g *ir.Graph, o lower.Options) ([]verify.Tensor, bool) {
	t.Helper()
	model := g.Clone()
	o.Legalize, o.Fuse, o.DeadChannels, o.Align, o.StopAfter = true, true, true, option.AlignAuto, "lowering"
	o.Target, o.Libraries = kernel.Options{Core: kernel.Core{Host: true}}, []string{"refc"}
	if o.Precision != option.Float32 && !lower.Quantised(g) {
		o.Quant = quant.Options{Source: quant.SyntheticSource, Samples: quant.SyntheticSamples(g.In, 4, 1)}
	}
	var legal *ir.Graph
	o.Observe = func(s lower.Step) error {
		if s.Stage.Float() {
			legal = s.State.Graph.Clone()
		}
		return nil
	}
	r, err := lower.Run(g, o)
	if err != nil {
		t.Log(err)
		return nil, false
	}
	mr, pr := r.Windows(model), r.Windows(r.Whole)
	m, p := verify.Record(mr, 0), verify.Record(pr, 0)
	for k := range uint64(2) {
		in := irtest.Inputs(model, k)
		typed := testenv.Must(verify.Inputs(in, pr.Inputs()))(t)
		for i, v := range pr.Inputs() { // the model gets what saturated in the program, too
			if in[i].DType.IsFloat() {
				in[i] = verify.Dequantised(typed[i], v.Type)
			}
		}
		testenv.OK(t, testenv.Err(mr.Step(in)))
		testenv.OK(t, testenv.Err(pr.Step(typed)))
	}
	list := testenv.Must(verify.Tensors(m, p, legal, r))(t)
	return list, true
}

// TestTensors: a convolution into which a batch normalisation and an activation went
// stands for the activation's result, and for no other tensor, whatever it is called.
func TestTensors(t *testing.T) {
	for name, o := range map[string]lower.Options{"int8": {}, "float32": {Precision: option.Float32}} {
		list, ok := tensors(t, irtest.Parse(t, `graph "g" {
  in %x : f32[1,3,8,8]
  const %w : f32[4,3,3,3] = rand 1
  const %b : f32[4] = rand 2
  const %v : f32[4] = {1,2,3,4}
  %c : f32[1,4,8,8] = Conv(%x, %w) {pads=[1,1,1,1]} from "conv"
  %n : f32[1,4,8,8] = BatchNormalization(%c, %v, %b, %b, %v) from "norm"
  %r : f32[1,4,8,8] = Relu(%n) from "relu"
  %m : f32[1,4,4,4] = MaxPool(%r) {kernel_shape=[2,2], strides=[2,2]} from "pool"
  out "y" = %m
}`), o)
		testenv.Require(t, ok, "%v", name)
		held := map[string]int{}
		for _, x := range list {
			if x.Model == nil {
				t.Errorf("%s: %s stands for no tensor", name, x.Program[0].Value)
				continue
			}
			held[x.Model.Name] = len(x.Program)
			for _, h := range x.Program {
				if h.SQNR == nil || *h.SQNR < 25 || h.MaxDiff > 1 {
					t.Errorf("%s: %s for %s: %v dB, off by %g", name, h.Value, x.Model, h.SQNR, h.MaxDiff)
				}
			}
		}
		testenv.Check(t, held["x"] == 1 && held["c"] == 0 && held["n"] == 0 && held["r"] == 1 && held["m"] != 0,
			"%s: values by tensor: %v", name, held)
	}
}

// TestTensorsAreNoOthers: what a float program computes is far from no tensor that it is
// laid beside, and most of its values have one. NNCC_RANDOM=N tries N networks.
func TestTensorsAreNoOthers(t *testing.T) {
	values, alone, networks := 0, 0, 0
	for seed := range uint64(testenv.Count(t, 60)) {
		g := irtest.GenFloat(seed)
		if seed%2 == 1 {
			g = irtest.Gen(seed, tensor.F32)
		}
		list, ok := tensors(t, g, lower.Options{Precision: option.Float32})
		if !ok {
			continue
		}
		networks++
		for _, x := range list {
			for _, h := range x.Program {
				values++
				switch {
				case x.Model == nil:
					alone++
				case h.MaxDiff > 0 && (h.SQNR == nil || *h.SQNR < 60):
					t.Errorf("seed %d: %s for %s: %v dB, off by %g", seed, h.Value, x.Model, h.SQNR, h.MaxDiff)
				}
			}
		}
	}
	t.Logf("%d networks, %d values, %d of them without a tensor", networks, values, alone)
	testenv.Check(t, networks != 0 && alone*4 <= values, "%d of %d values have no tensor", alone, values)
}

// TestTensorsOfQuantisedModels: every quantised tensor that the program says it holds is
// within a few steps of the model's.
func TestTensorsOfQuantisedModels(t *testing.T) {
	values := 0
	for seed := range uint64(testenv.Count(t, 60)) {
		list, ok := tensors(t, irtest.GenQDQ(seed), lower.Options{})
		if !ok {
			continue
		}
		for _, x := range list {
			for _, h := range x.Program {
				if x.Model == nil || h.Value.Type.Quant == nil {
					continue
				}
				values++
				if steps := h.MaxDiff / float64(h.Value.Type.Quant.ScaleAt(0)); steps > 40 {
					t.Errorf("seed %d: %s for %s is off by %g steps", seed, h.Value, x.Model, steps)
				}
			}
		}
	}
	testenv.Check(t, values >= 100, "%d values were compared", values)
}

// TestFromFloat: integers behind arithmetic in float are told from others, also where it
// is fused into one loop with their quantisation.
func TestFromFloat(t *testing.T) {
	const in = "in %x : i16[4] q(0.001:0)\nconst %s : f32[] = {0.001}\nconst %z : i16[] = {0}\n"
	const body = "const %s : f32[] = {0.001}\nconst %z : i16[] = {0}\n" +
		"%d : f32[4] = DequantizeLinear(%i, %s, %z)\n"
	for src, want := range map[string]bool{
		in + "%y : i16[4] q(0.001:0) = Relu(%x)": false,
		in + "%d : f32[4] = DequantizeLinear(%x, %s, %z)\n%y : i16[4] q(0.001:0) = QuantizeLinear(%d, %s, %z)": false,
		in + "%d : f32[4] = DequantizeLinear(%x, %s, %z)\n%e = Exp(%d)\n" +
			"%y : i16[4] q(0.001:0) = QuantizeLinear(%e, %s, %z)": true,
		in + "%y : i16[4] q(0.001:0) = nncc.Fused(%x)\nbody \"b\" {\nin %i : i16[4] q(0.001:0)\n" + body +
			"%e = Exp(%d)\n%q : i16[4] q(0.001:0) = QuantizeLinear(%e, %s, %z)\nout \"q\" = %q\n}": true,
		in + "%y : i16[4] q(0.001:0) = nncc.Fused(%x)\nbody \"b\" {\nin %i : i16[4] q(0.001:0)\n" +
			"%q : i16[4] q(0.001:0) = Relu(%i)\nout \"q\" = %q\n}": false,
	} {
		g, err := ir.Parse("graph \"g\" {\n"+src+"\nout \"y\" = %y\n}", op.Get)
		testenv.Require(t, err == nil, "%v\n%s", err, src)
		have := verify.FromFloat(g.Out[0])
		testenv.Check(t, have == want, "%v, want %v:\n%s", have, want, src)
	}
}

// TestFloatBounds: a result of any float type may be rounded to one side or the other,
// and float32 and float64 carry the sums of many terms; none may be off by a part
// that a user would see.
func TestFloatBounds(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16, tensor.F32, tensor.F64} {
		for _, top := range []float64{0x1p-8, 1, 1024} {
			want := tensor.FromFloats(d, []int{2}, []float64{top, -top / 4})
			off := func(by float64) *tensor.Dense {
				return tensor.FromFloats(d, []int{2}, []float64{top, -top/4 + by})
			}
			n, _ := verify.Differ(off(top*d.Epsilon()), want, 0, nil)
			testenv.Check(t, n == 0, "%s: a rounding of %v is a mismatch", d, top)
			if n, _ := verify.Differ(off(top/16), want, 0, nil); n != 1 {
				t.Errorf("%s: a sixteenth of %v is none", d, top)
			}
		}
	}
}
