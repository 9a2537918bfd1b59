package quant_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/quant"
)

// legalised imports a model and brings it to the form that Insert expects.
func legalised(t testing.TB, path string) *ir.Graph {
	t.Helper()
	m, err := onnx.Load(path, onnx.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := onnx.Import(m, onnx.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	man := pass.Manager{Passes: legal.Passes}
	if err := man.Run(&pass.Ctx{}, g); err != nil {
		t.Fatal(err)
	}
	return g
}

// quantised runs Insert and Integer on a copy of g.
func quantised(t testing.TB, g *ir.Graph, c quant.Options) (*ir.Graph, *quant.Report) {
	t.Helper()
	q := g.Clone()
	r, err := quant.Insert(q, c)
	if err != nil {
		t.Fatal(err)
	}
	irtest.Verify(t, q)
	if os.Getenv("QDUMP") != "" {
		os.WriteFile(os.Getenv("QDUMP"), []byte(q.String()), 0o644)
	}
	if err := quant.Integer(q, quant.IntegerOptions{}); err != nil {
		t.Fatal(err)
	}
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
	out, err := interp.Run(g, q, nil)
	if err != nil {
		t.Fatal(err)
	}
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
	e, err := npz.ReadNpzFile(path, npz.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range e {
		if x.Name == name {
			return x.Array
		}
	}
	t.Fatalf("%s has no array %s", path, name)
	return nil
}

func floats(t testing.TB, a *npz.Array) []float64 {
	f, err := a.Float64s()
	if err != nil {
		t.Fatal(err)
	}
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

// TestOfficial compares quantisation on half of the samples with the official
// integer model on the other half.
func TestOfficial(t *testing.T) {
	for _, name := range []string{"kws_f32", "ic_f32", "vww_f32"} {
		g := legalised(t, irtest.Shared(t, "models", name+".onnx"))
		data := irtest.Shared(t, "ptq", name+".npz")
		var samples []quant.Sample
		for _, d := range slabs(t, array(t, data, "calib"), g.In[0]) {
			samples = append(samples, quant.Sample{d})
		}
		xs := slabs(t, array(t, data, "x"), g.In[0])
		ref := floats(t, array(t, data, "ref"))
		official := ratio(ref, floats(t, array(t, data, "official")))
		for _, o := range variants(samples) {
			start := time.Now()
			q, r := quantised(t, g, o.c)
			took := time.Since(start)
			var got []float64
			for _, x := range xs {
				got = append(got, runInteger(t, q, []*tensor.Dense{x})[0].Floats()...)
			}
			db := ratio(ref, got)
			t.Logf("%-8s %-14s %.2f dB, official %.2f (calibration %.1f dB, %v)", name, o.name, db, official, r.SQNR, took.Round(time.Millisecond))
		}
	}
}

type variant struct {
	name string
	c    quant.Options
}

func variants(s []quant.Sample) []variant {
	var out []variant
	if v := os.Getenv("QVAR"); v != "" {
		p, _ := strconv.ParseFloat(os.Getenv("QPCT"), 64)
		return []variant{{v, quant.Options{Method: v, Samples: s, BiasCorrection: os.Getenv("QBC") != "", Percentile: p}}}
	}
	for _, m := range quant.Methods {
		out = append(out, variant{m, quant.Options{Method: m, Samples: s}})
	}
	out = append(out, variant{"mse+bias", quant.Options{Samples: s, BiasCorrection: true}})
	out = append(out, variant{"mse+equalize", quant.Options{Samples: s, Equalize: true}})
	return out
}

// TestSharedModels measures every float model with calibration data.
func TestSharedModels(t *testing.T) {
	dir := irtest.Shared(t, "calib")
	files, _ := filepath.Glob(filepath.Join(dir, "*.npz"))
	only := os.Getenv("QONLY")
	for _, f := range files {
		name := filepath.Base(f[:len(f)-4])
		if only != "" && !slices.Contains(filepath.SplitList(only), name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			g := legalised(t, irtest.Shared(t, "models", name+".onnx"))
			samples, err := quant.ReadSamples([]string{f}, g.In, npz.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range variants(samples) {
				if only == "" && o.c.Method == quant.Entropy {
					continue
				}
				start := time.Now()
				q, rep := quantised(t, g, o.c)
				if only != "" && o.name == os.Getenv("QREP") {
					for _, l := range rep.Layers {
						t.Logf("%-46.46s %-10s [%9.4g %9.4g] %.4g %d  %.1f dB", l.Name, l.Op, l.Range[0], l.Range[1], l.Scale, l.Zero, l.SQNR)
					}
				}
				took := time.Since(start)
				refs, gots := make([][]float64, len(g.Out)), make([][]float64, len(g.Out))
				for k := 0; ; k++ {
					dir := irtest.Shared(t, "golden", name)
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
				s := ""
				for i := range refs {
					s += fmt.Sprintf(" %.1f", ratio(refs[i], gots[i]))
				}
				fl := 0
				for _, n := range q.Nodes {
					if !n.Quantised() {
						fl++
					}
				}
				t.Logf("%-10.10s %-14s%s dB; float nodes %d of %d (%v)", name, o.name, s, fl, len(q.Nodes), took.Round(time.Millisecond))
			}
		})
	}
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
