// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/ort"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kerneltest"
	"github.com/nncc/nncc/lower/option"
)

// odd1D is a network in one dimension with 3 and 6 channels.
//
//go:embed testdata/odd1D.ir
var odd1D string

// modelFile writes the network of a text as an ONNX file.
func modelFile(t *testing.T, src string) string {
	t.Helper()
	g := testenv.Must(ir.Parse(src, op.Get))(t)
	return graphFile(t, g)
}

// graphFile writes a network as an ONNX file.
func graphFile(t *testing.T, g *ir.Graph) string {
	t.Helper()
	m := testenv.Must(onnx.Export(g, onnx.ExportOptions{Producer: "test"}))(t)
	b := testenv.Must(onnx.Marshal(m))(t)
	path := filepath.Join(t.TempDir(), "model.onnx")
	require(t, os.WriteFile(path, b, 0o644))
	return path
}

// installed links the CMSIS-NN that the environment names for a board, or skips.
func installed(t *testing.T, c *driver.Config, variable string) {
	t.Helper()
	c.CMSISInclude, c.CMSISLib, c.Kernels = testenv.Get("CMSIS_NN_INCLUDE"), testenv.Get(variable), option.CMSISNN
	if c.CMSISInclude == "" || c.CMSISLib == "" {
		t.Skipf("CMSIS_NN_INCLUDE and %s do not name an installed CMSIS-NN", variable)
	}
}

// TestAlignPays: on Helium with an installed CMSIS-NN, auto makes no layer
// slower and the network a fifth faster, with the same results.
func TestAlignPays(t *testing.T) {
	path := modelFile(t, odd1D)
	run := func(mode option.Align) *report.Verdict {
		c := config(path, "cortex-m55")
		installed(t, c, "CMSIS_NN_LIB_M55")
		c.Align, c.Cases = mode, 1
		v := mustVerify(t, c)
		testenv.Require(t, v.Mismatches <= 0, "--align %s: %d mismatches: %s", mode, v.Mismatches, v.Failure)
		return v
	}
	never, auto := run(option.AlignNever), run(option.AlignAuto)
	slower(t, never, auto)
	testenv.Check(t, !(float64(auto.Instructions) > 0.8*float64(never.Instructions)),
		"%d instructions become %d, want a fifth less", never.Instructions, auto.Instructions)
}

// slower fails for layers that take more instructions than before.
func slower(t *testing.T, before, after *report.Verdict) {
	t.Helper()
	was := map[string]uint64{}
	for _, l := range before.Layers {
		was[l.Name] = l.Instructions
	}
	for _, l := range after.Layers {
		// Data may be aligned otherwise, which moves copies by some instructions.
		if b, ok := was[l.Name]; ok && float64(l.Instructions) > 1.003*float64(b)+4 {
			t.Errorf("%s (%s): %d instructions become %d", l.Name, l.Kernel, b, l.Instructions)
		}
	}
	testenv.Check(t, after.Instructions <= before.Instructions, "%d instructions become %d", before.Instructions,
		after.Instructions)
}

// TestAutoNeverSlower measures reference models before and after, with nncc's
// kernels and with an installed CMSIS-NN.
func TestAutoNeverSlower(t *testing.T) {
	if !testenv.Long() {
		t.Skip("NNCC_LONG is not set, to measure reference models on cortex-m55, m4 and m3 before and after --align " +
			"auto")
	}
	dir := shared(t)
	for _, b := range []struct{ board, variable string }{{"cortex-m55", "CMSIS_NN_LIB_M55"},
		{"cortex-m4", "CMSIS_NN_LIB_M4"}, {"cortex-m3", "CMSIS_NN_LIB_M3"}} {
		for _, name := range []string{"oddch_tiny", "kws_int8", "ic_int8"} {
			for _, lib := range []bool{false, true} {
				t.Run(b.board+"/"+name, func(t *testing.T) {
					var vs [2]*report.Verdict
					for i, mode := range []option.Align{option.AlignNever, option.AlignAuto} {
						c := config(filepath.Join(dir, "models", name+".onnx"), b.board)
						if lib {
							installed(t, c, b.variable)
						}
						if p := filepath.Join(dir, "calib", name+".npz"); fileExists(p) {
							c.Calib = []string{p}
						}
						c.Align, c.Cases = mode, 1
						var err error
						vs[i], err = c.Verify(context.Background())
						require(t, err)
						testenv.Require(t, vs[i].Mismatches <= 0, "%d mismatches", vs[i].Mismatches)
					}
					slower(t, vs[0], vs[1])
					t.Logf("%s on %s, installed library: %v: %d instructions become %d", name, b.board, lib,
						vs[0].Instructions, vs[1].Instructions)
				})
			}
		}
	}
}

// TestPadInput: the firmware's input has the added channels, says so, and its
// results do not depend on what they hold.
func TestPadInput(t *testing.T) {
	c := config(modelFile(t, odd1D), "host")
	c.Align, c.PadInput, c.Cases = option.AlignAlways, true, 2
	o := mustCompile(t, c)
	in := o.Report.Inputs[0]
	testenv.Check(t, in.PaddedFrom == 3 && in.Shape[1] == 4, "input %+v", in)
	v := mustVerify(t, o)
	testenv.Check(t, v.Mismatches <= 0, "%d mismatches", v.Mismatches)
}

// mlaModels are the reference models that must become one segment.
var mlaModels = []string{"ufld_tiny", "ufld_full", "yolov8seg_tiny", "vit_tiny_decomp", "vit_tiny_ln17",
	"reorg_tiny_custom"}

// TestLegalizedModels: the 4-D form with the original outputs gives in ONNX
// Runtime what the original model gives there (the golden outputs); the one with
// native outputs has 4-D activations only and compiles to one segment.
func TestLegalizedModels(t *testing.T) {
	dir := shared(t)
	var jobs []ort.Job
	var want [][]*tensor.Dense
	for _, name := range mlaModels {
		model := filepath.Join(dir, "models", name+".onnx")
		for _, outputs := range []option.Outputs{option.NativeOutputs, option.OriginalOutputs} {
			r, err := config(model, "").LegalizeModel(nil, outputs)
			testenv.Require(t, err == nil && r.Differs == nil, "%s: %v, %v", name, err, r.Differs)
			m := testenv.Must(onnx.Parse(r.Model, onnx.Limits{}))(t)
			for _, f := range onnx.Check(m) {
				t.Errorf("%s, %s outputs: %s", name, outputs, f)
			}
			if outputs == option.OriginalOutputs {
				in, out := golden(t, filepath.Join(dir, "golden", name))
				j := ort.Job{Name: name, Model: r.Model}
				for i, vi := range m.Proto.GetGraph().GetInput() {
					j.Inputs = append(j.Inputs, ort.Tensor{Name: vi.GetName(), Data: in[i]})
				}
				jobs, want = append(jobs, j), append(want, out)
				continue
			}
			testenv.Check(t, len(r.Left) <= 0, "%s: without a 4-D form: %v", name, r.Left)
			g := testenv.Must(onnx.OpenModel(m, onnx.ImportOptions{}))(t)
			for _, n := range g.Nodes {
				for _, v := range n.Out {
					testenv.Check(t, v.Const != nil || v.Type.Rank() == 4, "%s: %s gives %s", name, n, v.Type)
				}
			}
			path := filepath.Join(t.TempDir(), name+".onnx")
			require(t, os.WriteFile(path, r.Model, 0o666))
			c := config(path, "mla-m55")
			c.CalibMethod, c.BiasCorrect = option.MinMax, false // quick: numbers do not matter here
			o, err := c.Compile()
			testenv.Require(t, err == nil, "%s: the native form: %v", name, err)
			testenv.Check(t, len(o.Report.Segments) == 1 && o.Report.ComputeFallback() == 0,
				"%s: the native form has %s", name, o.Report.SegmentsText())
		}
	}
	t.Run("onnxruntime", func(t *testing.T) {
		if ort.Modules() == "" {
			t.Skip("ONNX Runtime is not asked: NNCC_ORT does not name a node_modules with onnxruntime-node")
		}
		for i, r := range ort.Run(t, jobs) {
			if r.Err != "" || len(r.Outputs) != len(want[i]) {
				t.Errorf("%s: %d outputs, want %d: %s", jobs[i].Name, len(r.Outputs), len(want[i]), r.Err)
				continue
			}
			for k, o := range r.Outputs {
				if d := relative(o.Data, want[i][k]); !(d <= lower.RoundingOfSums) ||
					fmt.Sprint(o.Data.Shape) != fmt.Sprint(want[i][k].Shape) {
					t.Errorf("%s, output %s %v: %g from the original in ONNX Runtime, want at most %g", jobs[i].Name,
						o.Name, o.Data.Shape, d, lower.RoundingOfSums)
				} else {
					t.Logf("%s, output %s: %.2g of the largest value", jobs[i].Name, o.Name, d)
				}
			}
		}
	})
}

// relative is max|a-b| / max|b|.
func relative(a, b *tensor.Dense) float64 {
	if a.Len() != b.Len() {
		return math.Inf(1)
	}
	worst, top := 0.0, 0.0
	for i := range b.Len() {
		worst, top = max(worst, math.Abs(a.Float(i)-b.Float(i))), max(top, math.Abs(b.Float(i)))
	}
	return worst / max(top, math.SmallestNonzeroFloat32)
}

// golden is the first case of a model: a folder of .npy files or one .npz.
func golden(t *testing.T, dir string) (in, out []*tensor.Dense) {
	t.Helper()
	unit := filepath.Join(dir, "case_0")
	if !fileExists(unit) {
		unit += ".npz"
	}
	get := testenv.Must(npz.ReadNamed(unit, npz.Limits{}))(t)
	read := func(stem string) (ds []*tensor.Dense) {
		for {
			d := testenv.Must(get(fmt.Sprintf("%s_%d", stem, len(ds))))(t)
			if d == nil {
				return ds
			}
			ds = append(ds, d)
		}
	}
	in, out = read("input"), read("output")
	testenv.Require(t, len(in) != 0 && len(out) != 0, "%s: no golden case", dir)
	return in, out
}

// viewPlaces put a node between graph inputs and outputs in every way that
// bears on whose storage is whose; false where the types do not allow it.
var viewPlaces = []struct {
	name string
	put  func(g *ir.Graph, n *ir.Node) bool
}{
	{"alone", func(*ir.Graph, *ir.Node) bool { return true }},
	{"under two names", func(g *ir.Graph, n *ir.Node) bool {
		g.AddOutput("again", n.Out[0])
		return true
	}},
	{"beside its input", func(g *ir.Graph, n *ir.Node) bool {
		g.AddOutput("in", g.In[0])
		return true
	}},
	{"twice", func(g *ir.Graph, n *ir.Node) bool {
		m, err := g.Add(op.Reshape, "flat", nil, 1, n.Out[0], g.AddConst("flat_shape", tensor.Ints(-1)))
		return err == nil && instead(g, n.Out[0], m.Out[0])
	}},
	{"beside its view", func(g *ir.Graph, n *ir.Node) bool {
		m, err := g.Add(op.Reshape, "flat", nil, 1, n.Out[0], g.AddConst("flat_shape", tensor.Ints(-1)))
		if err == nil {
			g.AddOutput("flat", m.Out[0])
		}
		return err == nil
	}},
	{"before another operator", func(g *ir.Graph, n *ir.Node) bool {
		m, err := g.Add(op.Get("", "Neg"), "neg", nil, 1, n.Out[0])
		return err == nil && instead(g, n.Out[0], m.Out[0])
	}},
	{"beside another operator", func(g *ir.Graph, n *ir.Node) bool {
		m, err := g.Add(op.Get("", "Neg"), "neg", nil, 1, n.Out[0])
		if err == nil {
			g.AddOutput("neg", m.Out[0])
		}
		return err == nil
	}},
	{"after another operator", func(g *ir.Graph, n *ir.Node) bool {
		m, err := g.InsertBefore(n, op.Get("", "Neg"), "neg", nil, 1, n.In[0])
		if err == nil {
			g.SetInput(n, 0, m.Out[0])
		}
		return err == nil
	}},
	{"after another operator that is an output", func(g *ir.Graph, n *ir.Node) bool {
		m, err := g.InsertBefore(n, op.Get("", "Neg"), "neg", nil, 1, n.In[0])
		if err == nil {
			g.SetInput(n, 0, m.Out[0])
			g.AddOutput("neg", m.Out[0])
		}
		return err == nil
	}},
}

// instead makes v the output that was old.
func instead(g *ir.Graph, old, v *ir.Value) bool {
	g.ReplaceOutput(old, v)
	return true
}

// TestViews: operators that may be no code at all (ir.View), and those that
// pass values on, between inputs and outputs of the model.
func TestViews(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	all := testenv.Long()
	seen := 0
	for k, d := range op.All() {
		if d.Domain != "" || d.View == ir.NoView && d.Quant != ir.QMove {
			continue
		}
		for i, place := range viewPlaces {
			if !all && d != op.BitCast && (d.View == ir.NoView || i != k%len(viewPlaces)) || !all && d == op.BitCast &&
				i%3 != 0 {
				continue
			}
			for range 50 {
				g, valid := kerneltest.Draw(r, d, kerneltest.Float, "l")
				if g == nil || !valid || len(g.In) == 0 || g.Nodes[0].In[0] != g.In[0] ||
					g.In[0].Type.DType != tensor.F32 || empty(g) || !place.put(g, g.Nodes[0]) || len(g.Verify()) > 0 {
					continue
				}
				seen++
				t.Run(d.Name+"/"+place.name, func(t *testing.T) { runOnHost(t, g) })
				break
			}
		}
	}
	testenv.Check(t, seen >= 10, "%d graphs, want at least 10", seen)
}

func empty(g *ir.Graph) bool {
	for _, v := range append(append([]*ir.Value{}, g.In...), g.Nodes[0].Out...) {
		if v.Type.Elems() == 0 {
			return true
		}
	}
	return false
}

// runOnHost compiles a graph in float32 and runs it on the host. Every output
// has storage of its own, so that who writes the next input or an output in
// place does not change another one.
func runOnHost(t *testing.T, g *ir.Graph) {
	t.Helper()
	c := driver.Defaults()
	c.Board, c.Precision, c.Name, c.Cases = "host", option.Float32, "net", 2
	o := compileNet(t, g, &c)
	whose := map[*ir.Value]string{}
	for i, v := range o.Lowered.Graph.Out {
		for v.Def != nil && o.Lowered.Low[v.Def].View {
			v = v.Def.In[0]
		}
		name := o.Lowered.Graph.OutNames[i]
		if v.Def == nil || whose[v] != "" {
			t.Errorf("output %s has the storage of %s, want its own\n%s", name, cmp.Or(whose[v], v.Name),
				o.Lowered.Graph)
		}
		whose[v] = name
	}
	onHost(t, o, mustCases(t, &c, o), "gcc", sanitized)
}
