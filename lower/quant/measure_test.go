// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// legalised imports a model and brings it to the form that Insert expects.
func legalised(t testing.TB, path string) *ir.Graph {
	t.Helper()
	m := testenv.Must(onnx.Load(path, onnx.Limits{}))(t)
	g := testenv.Must(onnx.Import(m, onnx.ImportOptions{}))(t)
	man := pass.Manager{Passes: legal.Passes}
	testenv.OK(t, man.Run(&pass.Ctx{}, g))
	return g
}

// quantised runs Insert and Integer on a copy of g.
func quantised(t testing.TB, g *ir.Graph, c quant.Options) (*ir.Graph, *quant.Report) {
	t.Helper()
	q := g.Clone()
	r := testenv.Must(quant.Insert(q, c))(t)
	irtest.Verify(t, q)
	testenv.OK(t, quant.Integer(q, quant.IntegerOptions{}))
	irtest.Verify(t, q)
	return q, r
}

// runInteger runs an integer program on float inputs: quantised half to even,
// outputs as reals.
func runInteger(t testing.TB, g *ir.Graph, in []*tensor.Dense) []*tensor.Dense {
	t.Helper()
	q := make([]*tensor.Dense, len(in))
	for i, v := range g.In {
		q[i] = in[i]
		if v.Type.Quant != nil {
			q[i] = ir.QuantiseEven(in[i], v.Type)
		}
	}
	out := testenv.Must(interp.Run(g, q, nil))(t)
	for i, v := range g.Out {
		if v.Type.Quant != nil {
			out[i] = ir.Dequantise(out[i], v.Type.Quant)
		}
	}
	return out
}

func ratio(ref, got []float64) float64 {
	var s, e float64
	for i := range ref {
		s += ref[i] * ref[i]
		e += (ref[i] - got[i]) * (ref[i] - got[i])
	}
	if e == 0 {
		return 99
	}
	return 10 * math.Log10(s/e)
}

func array(t testing.TB, path, name string) *npz.Array {
	t.Helper()
	e := testenv.Must(npz.ReadNpzFile(path, npz.Limits{}))(t)
	for _, x := range e {
		if x.Name == name {
			return x.Array
		}
	}
	t.Fatalf("%s has no array %s", path, name)
	return nil
}

func floats(t testing.TB, a *npz.Array) []float64 {
	f := testenv.Must(a.Float64s())(t)
	return f
}

// slabs cuts an array along its first axis into tensors of v's type.
func slabs(t testing.TB, a *npz.Array, v *ir.Value) []*tensor.Dense {
	f := floats(t, a)
	k := v.Type.Elems()
	var out []*tensor.Dense
	for ; len(f) >= k; f = f[k:] {
		out = append(out, tensor.FromFloats(v.Type.DType, v.Type.Shape, f[:k]))
	}
	return out
}

// variants are the ways of calibration that are measured; the default alone in
// short tests.
func variants(s []quant.Sample) map[string]quant.Options {
	out := map[string]quant.Options{"mse": {Samples: s}}
	if !testenv.Long() {
		return out
	}
	for _, m := range []option.Method{option.MSE, option.MinMax, option.Percentile, option.Entropy} {
		out[m.String()] = quant.Options{Method: m, Samples: s}
	}
	out["mse, biases corrected"] = quant.Options{Samples: s, BiasCorrection: true}
	out["mse, equalised"] = quant.Options{Samples: s, Equalize: true}
	out["mse, both"] = quant.Options{Samples: s, BiasCorrection: true, Equalize: true}
	return out
}

func sortedKeys(m map[string]quant.Options) []string { return slices.Sorted(maps.Keys(m)) }

// TestOfficial compares quantisation on half of the samples with the official
// integer model on the other half. NNCC_LONG=1 prints all ways.
func TestOfficial(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(irtest.Shared(t, "ptq"), "*.npz"))
	for _, data := range files {
		name := strings.TrimSuffix(filepath.Base(data), ".npz")
		g := legalised(t, irtest.Shared(t, "models", name+".onnx"))
		s := lists.Map(slabs(t, array(t, data, "calib"), g.In[0]), func(d *tensor.Dense) quant.Sample {
			return quant.Sample{d}
		})
		xs := slabs(t, array(t, data, "x"), g.In[0])
		ref := floats(t, array(t, data, "ref"))
		official := ratio(ref, floats(t, array(t, data, "official")))
		all := variants(s)
		for _, what := range sortedKeys(all) {
			q, r := quantised(t, g, all[what])
			var got []float64
			for _, x := range xs {
				got = append(got, runInteger(t, q, []*tensor.Dense{x})[0].Floats()...)
			}
			db := ratio(ref, got)
			t.Logf("%-24s %-22s %5.1f dB, official %5.1f; on calibration data %5.1f", name, what, db, official, r.SQNR)
			testenv.Check(t, what != "mse" || !(db < official-0.5), "%s: %.1f dB, the official model has %.1f", name,
				db, official)
		}
	}
}

// TestSharedModels measures every float model with calibration data on its
// golden cases.
func TestSharedModels(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(irtest.Shared(t, "calib"), "*.npz"))
	var weak []string
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".npz")
		dir := irtest.Shared(t, "golden", name)
		g := legalised(t, irtest.Shared(t, "models", name+".onnx"))
		s := testenv.Must(readSamples([]string{f}, g.In, npz.Limits{}))(t)
		all := variants(s)
		for _, what := range sortedKeys(all) {
			q, _ := quantised(t, g, all[what])
			refs, gots := make([][]float64, len(g.Out)), make([][]float64, len(g.Out))
			for k := 0; ; k++ {
				in, want := golden(t, dir, k, g)
				if in == nil {
					break
				}
				got := runInteger(t, q, in)
				for i := range want {
					refs[i] = append(refs[i], want[i]...)
					gots[i] = append(gots[i], got[i].Floats()...)
				}
			}
			worst, list := math.Inf(1), ""
			for i := range refs {
				db := ratio(refs[i], gots[i])
				worst = min(worst, db)
				list += fmt.Sprintf(" %5.1f", db)
			}
			float := 0
			for _, n := range q.Nodes {
				if !n.Quantised() {
					float++
				}
			}
			t.Logf("%-28s %-22s%s dB; %d of %d nodes in float", name, what, list, float, len(q.Nodes))
			if what == "mse" && worst < 15 {
				weak = append(weak, name)
			}
		}
	}
	// A classifier that is unsure of a noise image, and a detector of 60 layers
	// with random weights, whose int8 weights alone cost more than that.
	testenv.Check(t, len(weak) <= 2, "below 15 dB: %v", weak)
}

// golden reads case k: inputs and outputs in graph order.
func golden(t *testing.T, dir string, k int, g *ir.Graph) ([]*tensor.Dense, [][]float64) {
	get := func(kind string, i int) *npz.Array {
		d := filepath.Join(dir, fmt.Sprintf("case_%d", k))
		if e, err := npz.ReadNpzFile(d+".npz", npz.Limits{}); err == nil {
			for _, x := range e {
				if x.Name == fmt.Sprintf("%s_%d", kind, i) {
					return x.Array
				}
			}
			return nil
		}
		a, err := npz.ReadNpyFile(filepath.Join(d, fmt.Sprintf("%s_%d.npy", kind, i)), npz.Limits{})
		if err != nil {
			return nil
		}
		return a
	}
	var in []*tensor.Dense
	for i, v := range g.In {
		a := get("input", i)
		if a == nil {
			return nil, nil
		}
		in = append(in, tensor.FromFloats(v.Type.DType, v.Type.Shape, floats(t, a)))
	}
	var out [][]float64
	for i := range g.Out {
		out = append(out, floats(t, get("output", i)))
	}
	return in, out
}
