// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
)

// badCase is one entry of the manifest of malformed and unusual models.
type badCase struct {
	File, Expect, Golden string
	Mention              []string
}

// mentioned is the rule for messages: one of the words, in any case; words of
// one or two letters stand alone.
func mentioned(msg string, words []string) bool {
	for _, w := range words {
		if len(w) < 3 {
			if regexp.MustCompile(`(?i)(^|[^A-Za-z0-9_])` + regexp.QuoteMeta(w) + `($|[^A-Za-z0-9_])`).MatchString(
				msg) {
				return true
			}
		} else if strings.Contains(strings.ToLower(msg), strings.ToLower(w)) {
			return true
		}
	}
	return len(words) == 0
}

// TestSharedOpenBad opens malformed, hostile and unusual models: an error must
// name the fault, what must compile must compute the stored outputs, and none
// may take much memory.
func TestSharedOpenBad(t *testing.T) {
	dir := shared(t, "bad")
	b := testenv.Must(os.ReadFile(filepath.Join(dir, "manifest.json")))(t)
	var manifest struct{ Cases []badCase }
	testenv.OK(t, json.Unmarshal(b, &manifest))
	count := map[string]int{}
	for _, c := range manifest.Cases {
		t.Run(c.File, func(t *testing.T) {
			path := filepath.Join(dir, c.File)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, g, err := Open(path, Limits{}, ImportOptions{})
			runtime.ReadMemStats(&after)
			n := after.TotalAlloc - before.TotalAlloc
			testenv.Check(t, n <= 500<<20, "%d bytes were allocated", n)
			switch {
			case err != nil && c.Expect == "compile":
				t.Fatalf("must compile: %v", err)
			case err != nil:
				msg := err.Error()
				for _, s := range []string{path, c.File, strings.TrimSuffix(c.File, ".onnx")} {
					msg = strings.ReplaceAll(msg, s, "")
				}
				testenv.Check(t, mentioned(msg, c.Mention), "%s: %q names none of %q", c.Expect, msg, c.Mention)
				count["error"]++
			case c.Expect == "error":
				t.Errorf("no error; want one about %q", c.Mention)
			default:
				errs := g.Verify()
				testenv.Check(t, len(errs) <= 0, "%v", errs)
				count["graph"]++
				if c.Golden != "" {
					tol := 1e-4
					if c.Expect != "compile" {
						tol = 1e-2 // a quantised sum halfway between two steps may round either way
					}
					compareGolden(t, g, filepath.Join(dir, c.Golden), tol)
				}
			}
		})
	}
	t.Logf("%v", count)
}

// arrays reads input_0, input_1, ... (or in_0, ...) of an archive.
func arrays(t *testing.T, entries []npz.Entry, prefix string) []*tensor.Dense {
	t.Helper()
	var out []*tensor.Dense
	for i := 0; ; i++ {
		var found *tensor.Dense
		for _, e := range entries {
			if e.Name == fmt.Sprintf("%s_%d", prefix, i) {
				d := testenv.Must(npz.ToTensor(e.Array))(t)
				found = d
			}
		}
		if found == nil {
			return out
		}
		out = append(out, found)
	}
}

// conform gives an input the graph's type.
func conform(t *testing.T, v *ir.Value, d *tensor.Dense) *tensor.Dense {
	t.Helper()
	testenv.Require(t, d.Len() == v.Type.Elems(), "input %s has %d elements, the graph wants %v", v, d.Len(), v.Type)
	return d.Cast(v.Type.DType).Reshaped(v.Type.Shape)
}

func compareGolden(t *testing.T, g *ir.Graph, file string, tol float64) {
	t.Helper()
	entries := testenv.Must(npz.ReadNpzFile(file, npz.Limits{}))(t)
	in, want := arrays(t, entries, "in"), arrays(t, entries, "out")
	if len(in) != len(g.In) || len(want) != len(g.Out) {
		t.Fatalf("the graph has %d inputs and %d outputs, the golden data %d and %d", len(g.In), len(g.Out), len(in),
			len(want))
	}
	for i := range in {
		in[i] = conform(t, g.In[i], in[i])
	}
	got := testenv.Must(interp.Run(g, in, nil))(t)
	for i := range want {
		for k := range want[i].Len() {
			// Where float32 sums overflow, ours, which are wider, may not.
			if x := want[i].Float(k); x != x || math.IsInf(x, 0) {
				got[i].SetFloat(k, x)
			}
		}
		d := worst(got[i], want[i])
		testenv.Check(t, !(d > tol), "output %d differs by %.3g", i, d)
	}
}

// worst is max|a-b| / max|b|.
func worst(a, b *tensor.Dense) float64 {
	if a.Len() != b.Len() {
		return math.Inf(1)
	}
	num, den := 0.0, 1e-6
	for i := range a.Len() {
		x, y := a.Float(i), b.Float(i)
		if x == y || x != x && y != y {
			if !math.IsInf(y, 0) {
				den = max(den, math.Abs(y))
			}
			continue
		}
		d := math.Abs(x - y)
		if d != d || math.IsInf(d, 0) {
			return math.Inf(1)
		}
		num, den = max(num, d), max(den, math.Abs(y))
	}
	return num / den
}

// goldenCases reads the stored inputs and outputs of a shared model.
func goldenCases(t *testing.T, name string) (cases [][2][]*tensor.Dense) {
	t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(shared(t, "golden"), name, "case_*"))
	sort.Strings(dirs)
	for _, d := range dirs {
		var entries []npz.Entry
		if strings.HasSuffix(d, ".npz") {
			e := testenv.Must(npz.ReadNpzFile(d, npz.Limits{}))(t)
			entries = e
		} else {
			files, _ := filepath.Glob(filepath.Join(d, "*.npy"))
			for _, f := range files {
				a := testenv.Must(npz.ReadNpyFile(f, npz.Limits{}))(t)
				entries = append(entries, npz.Entry{Name: strings.TrimSuffix(filepath.Base(f), ".npy"), Array: a})
			}
		}
		cases = append(cases, [2][]*tensor.Dense{arrays(t, entries, "input"), arrays(t, entries, "output")})
	}
	return cases
}

// TestSharedGolden imports real models and compares the float interpreter with
// stored outputs of ONNX Runtime. Quantised models run as they are written:
// dequantise, compute in float, quantise; a value between two steps may round
// either way, and differences add up.
func TestSharedGolden(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(shared(t, "models"), "*.onnx"))
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".onnx")
		t.Run(name, func(t *testing.T) {
			tol := 1e-4
			switch {
			case strings.Contains(name, "int8"), strings.Contains(name, "_q"), strings.Contains(name, "dynquant"):
				tol = 0.1
			}
			testenv.SkipIf(t, testing.Short() && strings.HasSuffix(name, "_full"), "large")
			for k, c := range goldenCases(t, name) {
				if len(c[1]) == 0 {
					continue
				}
				opt := ImportOptions{Shapes: map[string][]int{}}
				m := testenv.Must(Load(f, Limits{}))(t)
				if len(c[0]) == len(m.Proto.GetGraph().GetInput()) {
					for i, vi := range m.Proto.GetGraph().GetInput() {
						opt.Shapes[vi.GetName()] = c[0][i].Shape
					}
				}
				g := testenv.Must(OpenModel(m, opt))(t)
				if errs := g.Verify(); len(errs) > 0 {
					t.Fatal(errors.Join(errs...))
				}
				var in []*tensor.Dense
				for i, d := range c[0] {
					in = append(in, conform(t, g.In[i], d))
				}
				got := testenv.Must(interp.Run(g, in, nil))(t)
				testenv.Require(t, len(got) == len(c[1]), "%d outputs, want %d", len(got), len(c[1]))
				for i, want := range c[1] {
					if d := worst(got[i], want); d > tol {
						t.Errorf("case %d, output %d (%s): differs by %.3g", k, i, g.OutNames[i], d)
					} else if k == 0 {
						t.Logf("output %d: %.2g", i, d)
					}
				}
				if k >= 0 && strings.HasSuffix(name, "_full") {
					break
				}
			}
		})
	}
}
