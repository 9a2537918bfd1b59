// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/verify"
)

// shared is the folder of reference models beside the repository; tests of it
// are skipped where it is absent.
func shared(t *testing.T) string {
	t.Helper()
	return filepath.Dir(sharedata.Need(t, "models"))
}

func config(model, board string) *driver.Config {
	c := driver.Defaults()
	c.Model, c.Board = model, board
	return &c
}

func compileShared(t *testing.T, dir, name, board string, change func(*driver.Config)) *driver.Compiled {
	t.Helper()
	c := config(filepath.Join(dir, "models", name+".onnx"), board)
	if p := filepath.Join(dir, "calib", name+".npz"); fileExists(p) {
		c.Calib = []string{p}
	}
	if change != nil {
		change(c)
	}
	o, err := c.Compile()
	testenv.Require(t, err == nil, "%s for %s: %v", name, board, err)
	return o
}

// require ends the test: it is skipped where a tool is missing, and fails where
// one says no.
func require(t testing.TB, err error) {
	t.Helper()
	if e, ok := err.(*run.ToolError); ok && e.Output == "" && !testenv.Required("cc") {
		t.Skip(err)
	}
	testenv.OK(t, err)
}

// mustCompile compiles a model.
func mustCompile(t testing.TB, c *driver.Config) *driver.Compiled {
	t.Helper()
	o := testenv.Must(c.Compile())(t)
	return o
}

// mustVerify is what verify says of a program, or of the one of a configuration.
func mustVerify(t testing.TB, o interface {
	Verify(ctx context.Context) (*report.Verdict, error)
}) *report.Verdict {
	t.Helper()
	v := testenv.Must(o.Verify(context.Background()))(t)
	return v
}

// mustProfile is what profile says of a program.
func mustProfile(t testing.TB, o *driver.Compiled) *report.Verdict {
	t.Helper()
	v := testenv.Must(o.Profile(context.Background()))(t)
	return v
}

// mustLoad is a board by its name or file.
func mustLoad(t testing.TB, name string) *boards.Spec {
	t.Helper()
	spec := testenv.Must(boards.Load(name))(t)
	return spec
}

// mustCases are the inferences that verify runs.
func mustCases(t testing.TB, c *driver.Config, o *driver.Compiled) []verify.Case {
	t.Helper()
	cases := testenv.Must(c.CasesOf(o))(t)
	return cases
}

// folder writes emitted files into a folder that goes at once with the test.
func folder(t testing.TB, list []codegen.File) string {
	t.Helper()
	dir := t.TempDir()
	require(t, files.WriteTree(dir, files.Of(list)))
	return dir
}

// mustBuild builds the program of an emitted folder.
func mustBuild(t testing.TB, spec *boards.Spec, dir string, opt run.BuildOptions) *run.Image {
	t.Helper()
	im := testenv.Must(run.Build(context.Background(), spec, dir, opt))(t)
	t.Cleanup(func() { im.Close() })
	return im
}

// build compiles the emitted folder for its board.
func build(t *testing.T, o *driver.Compiled, sanitize bool) *run.Image {
	t.Helper()
	return mustBuild(t, o.Board, folder(t, o.Files), run.BuildOptions{Sanitize: sanitize, Opt: "speed"})
}

// memory are the inputs of cases as the harness of a program takes them.
func memory(o *driver.Compiled, cases []verify.Case) (in []run.Case) {
	ports := o.Lowered.Ports().Inputs()
	for _, k := range cases {
		in = append(in, run.Case{Inputs: verify.Memory(lower.Widened(k.Inputs, ports), ports)})
	}
	return in
}

// host is the board of this machine with a compiler.
func host(t testing.TB, cc string) *boards.Spec {
	t.Helper()
	spec := *mustLoad(t, "host")
	spec.Toolchain.CC = cc
	return &spec
}

// onHost builds the program for the host, whatever board it is for, runs it on cases and compares its outputs with the
// interpreter's.
func onHost(t *testing.T, o *driver.Compiled, cases []verify.Case, cc string, opt run.BuildOptions) {
	t.Helper()
	spec := host(t, cc)
	opt.Model = &o.Harness
	res, err := run.Run(context.Background(), spec, mustBuild(t, spec, folder(t, o.Files), opt), memory(o, cases))
	require(t, err)
	asInterpreted(t, o, cases, res)
}

// asInterpreted compares the outputs of a run with the interpreter's.
func asInterpreted(t *testing.T, o *driver.Compiled, cases []verify.Case, res *run.Result) {
	t.Helper()
	v := &report.Verdict{}
	require(t, o.Compare(v, cases, res))
	testenv.Check(t, v.Mismatches == 0 && v.Failure == "", "%s: the emitted C differs: %s\n%s\n%s", o.Info.Prefix,
		v.Failure, v.Text(), o.Float)
}

// sanitized is how programs of drawn networks are built.
var sanitized = run.BuildOptions{Sanitize: true, Opt: "-O0", Jobs: 1}

// TestEqualsTFLM: the interpreter and the emitted C, built with sanitizers,
// give TensorFlow Lite Micro's bytes, for every style of the int8 models.
func TestEqualsTFLM(t *testing.T) {
	dir := shared(t)
	golden, err := filepath.Glob(filepath.Join(dir, "golden", "*", "tflm.npz"))
	if err != nil || len(golden) == 0 {
		t.Skip("no tflm.npz")
	}
	for _, path := range golden {
		base := filepath.Base(filepath.Dir(path))
		styles := testenv.Must(filepath.Glob(filepath.Join(dir, "models", base+"*.onnx")))(t)
		es := testenv.Must(npz.ReadNpzFile(path, npz.Limits{}))(t)
		var in, out *tensor.Dense
		for _, e := range es {
			d := testenv.Must(npz.ToTensor(e.Array))(t)
			if e.Name == "input" {
				in = d
			} else if e.Name == "output" {
				out = d
			}
		}
		for _, s := range styles {
			name := strings.TrimSuffix(filepath.Base(s), ".onnx")
			t.Run(name, func(t *testing.T) {
				o := compileShared(t, dir, name, "host", nil)
				x, y := o.Lowered.Graph.In[0], o.Lowered.Graph.Out[0]
				var cases []run.Case
				var want [][]byte
				for k := 0; k < min(in.Shape[0], 6); k++ {
					d := row(in, k)
					if len(d.Shape) == 4 {
						d = d.Transpose([]int{0, 3, 1, 2})
					}
					d = border(d.Reshaped(x.Type.Shape), x.Type.DType)
					w := border(row(out, k).Reshaped(y.Type.Shape), y.Type.DType)
					got := testenv.Must(interp.Run(o.Lowered.Graph, []*tensor.Dense{d}, nil))(t)
					testenv.Check(t, tensor.Equal(got[0], w), "sample %d: the interpreter differs", k)
					cases = append(cases, run.Case{Inputs: [][]byte{d.Bytes()}})
					want = append(want, w.Bytes())
				}
				res := testenv.Must(run.Run(context.Background(), o.Board, build(t, o, true), cases))(t)
				for k, r := range res.Cases {
					testenv.Check(t, r.Status == 0 && string(r.Outputs[0]) == string(want[k]),
						"sample %d: the emitted C differs (status %d)", k, r.Status)
				}
			})
		}
	}
}

// row is element k along the first axis.
func row(d *tensor.Dense, k int) *tensor.Dense {
	shape := d.Shape[1:]
	out := tensor.New(d.DType, shape)
	st := tensor.Strides(d.Shape)
	tensor.Gather(out, d, shape, st[1:], k*st[0])
	return out
}

// border moves int8 to the firmware's type: uint8 is 128 more.
func border(d *tensor.Dense, dt tensor.DType) *tensor.Dense {
	if dt != tensor.U8 {
		return d
	}
	out := tensor.New(dt, d.Shape)
	for i := 0; i < d.Len(); i++ {
		out.SetInt(i, d.Int(i)+128)
	}
	return out
}

// TestSharedModelsOnHost compiles every reference model, quantised and in
// float, builds it with the address and undefined-behaviour sanitizers and
// compares it with the interpreter.
func TestSharedModelsOnHost(t *testing.T) {
	testenv.SkipIf(t, testing.Short(), "a minute of compiling")
	dir := shared(t)
	models := testenv.Must(filepath.Glob(filepath.Join(dir, "models", "*.onnx")))(t)
	for _, m := range models {
		name := strings.TrimSuffix(filepath.Base(m), ".onnx")
		if st, err := os.Stat(m); err != nil || st.Size() > 2<<20 {
			continue // minutes under the sanitizers
		}
		for _, precision := range []option.Precision{option.Auto, option.Float32} {
			t.Run(name+"/"+precision.String(), func(t *testing.T) {
				if why := unsupported[name]; why != "" {
					c := config(m, "host")
					c.Precision = precision
					_, err := c.Compile()
					testenv.Require(t, err != nil, "compiles now: take it from the list (%s)", why)
					t.Skip(why)
				}
				o := compileShared(t, dir, name, "host", func(c *driver.Config) { c.Precision, c.Cases = precision, 2 })
				onHost(t, o, mustCases(t, o.Config, o), "gcc", run.BuildOptions{Sanitize: true, Opt: "speed"})
				if a, lb := o.Lowered.Program.ArenaBytes, o.Lowered.Program.LowerBound; float64(a) > 1.02*float64(lb) {
					t.Errorf("arena %d is above 1.02 x the lower bound %d", a, lb)
				}
			})
		}
	}
}

// unsupported are reference models that do not compile yet, with the reason.
// One that does fails the test until its line goes.
var unsupported = map[string]string{}

// BenchmarkCompile is the time and memory of a whole compilation.
func BenchmarkCompile(b *testing.B) {
	dir := filepath.Dir(sharedata.Need(b, "models"))
	for _, name := range []string{"kws_int8", "ic_int8", "vww_int8", "kws_f32", "ic_f32", "vww_f32"} {
		model := filepath.Join(dir, "models", name+".onnx")
		testenv.SkipIf(b, !fileExists(model), "no reference models")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := config(model, "cortex-m55")
				if p := filepath.Join(dir, "calib", name+".npz"); fileExists(p) {
					c.Calib = []string{p}
				}
				o := testenv.Must(c.Compile())(b)
				b.ReportMetric(float64(o.Lowered.Program.ArenaBytes), "arena-bytes")
			}
		})
	}
}

// fileExists reports a file or folder.
func fileExists(path string) bool { _, err := os.Stat(path); return err == nil }

// figures are what a program costs; smaller is better.
type figures struct {
	Arena        int    `json:"arena_bytes"`
	Flash        uint64 `json:"flash_bytes,omitempty"` // code, constants, weights
	Instructions uint64 `json:"instructions,omitempty"`
}

// TestRatchet holds arena, flash and instructions of the shipped model (and of
// the reference models where they are) at what was reached before: a figure may
// only fall, and -update writes the smaller one down. Compilers differ between
// Debian releases, so flash and instructions have 2 % of room. Where
// a kernel buys instructions with flash on purpose, the figure is raised by hand
// and the commit says so.
func TestRatchet(t *testing.T) {
	path := filepath.Join("testdata", "ratchet.json")
	want := map[string]figures{}
	if b, err := os.ReadFile(path); err == nil {
		require(t, json.Unmarshal(b, &want))
	}
	got := map[string]figures{}
	for _, board := range []string{"cortex-m0plus", "cortex-m4", "cortex-m55"} {
		c := digitsConfig(board)
		measure(t, got, "digits@"+board, c, true)
		c.Weights = option.Int4Weights
		measure(t, got, "digits int4@"+board, c, true)
		c.Weights, c.Precision = option.Int8Weights, option.Int16x8
		measure(t, got, "digits int16x8@"+board, c, true)
	}
	for _, name := range []string{"kws_int8", "ic_int8", "vww_int8", "hello_world_int8"} {
		if m := sharedata.Find("models", name+".onnx"); m != "" {
			measure(t, got, name+"@cortex-m55", config(m, "cortex-m55"), name != "vww_int8")
			measure(t, got, name+"@cortex-m0plus", config(m, "cortex-m0plus"), false)
		}
	}
	var names []string
	for n := range got {
		names = append(names, n)
	}
	sort.Strings(names)
	tighter := false
	for _, n := range names {
		g, w := got[n], want[n]
		if w == (figures{}) {
			testenv.Check(t, irtest.Update(), "%s is not in the ratchet: run with -update", n)
			want[n], tighter = g, true
			continue
		}
		testenv.Check(t, g.Arena <= w.Arena, "%s: arena %d bytes, was %d", n, g.Arena, w.Arena)
		testenv.Check(t, w.Flash <= 0 || g.Flash <= w.Flash+w.Flash/50, "%s: flash %d bytes, was %d", n, g.Flash,
			w.Flash)
		testenv.Check(t, g.Instructions <= w.Instructions+w.Instructions/50, "%s: %d instructions, were %d", n,
			g.Instructions, w.Instructions)
		m := figures{min(g.Arena, w.Arena), w.Flash, w.Instructions}
		if g.Flash > 0 && (w.Flash == 0 || g.Flash < w.Flash) {
			m.Flash = g.Flash
		}
		if g.Instructions > 0 {
			m.Instructions = min(g.Instructions, w.Instructions)
		}
		if m != w {
			want[n], tighter = m, true
		}
	}
	if irtest.Update() && tighter && !t.Failed() {
		require(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require(t, os.WriteFile(path, report.JSON(want), 0o666))
	}
}

func measure(t testing.TB, got map[string]figures, key string, c *driver.Config, execute bool) {
	t.Helper()
	o, err := c.Compile()
	testenv.Require(t, err == nil, "%s: %v", key, err)
	f := figures{Arena: o.Lowered.Program.ArenaBytes}
	if execute {
		im := buildSize(t, o)
		f.Flash = im.Sizes.Flash()
		c.Cases = 1
		cases := mustCases(t, c, o)
		res := testenv.Must(run.Run(context.Background(), o.Board, im,
			[]run.Case{{Inputs: verify.Memory(cases[0].Inputs, o.Lowered.Graph.In)}}))(t)
		f.Instructions = res.Cases[0].Instructions
	}
	got[key] = f
}

// buildSize builds for size, as code bytes are compared.
func buildSize(t testing.TB, o *driver.Compiled) *run.Image {
	t.Helper()
	dir := folder(t, o.Files)
	im := mustBuild(t, o.Board, dir, run.BuildOptions{Opt: "size"})
	return im
}
