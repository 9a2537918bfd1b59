// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/verify"
)

// shared is the folder of reference models beside the repository; tests of it
// are skipped where it is absent.
func shared(t *testing.T) string {
	t.Helper()
	return filepath.Dir(sharedata.Need(t, "models"))
}

func config(model, board string) *Config {
	c := Defaults()
	c.Model, c.Board = model, board
	return &c
}

func compileShared(t *testing.T, dir, name, board string, change func(*Config)) *Compiled {
	t.Helper()
	c := config(filepath.Join(dir, "models", name+".onnx"), board)
	if p := filepath.Join(dir, "calib", name+".npz"); fileExists(p) {
		c.Calib = []string{p}
	}
	if change != nil {
		change(c)
	}
	o, err := c.Compile()
	if err != nil {
		t.Fatalf("%s for %s: %v", name, board, err)
	}
	return o
}

// require ends the test: it is skipped where a tool is missing, and fails where
// one says no.
func require(t testing.TB, err error) {
	t.Helper()
	if e, ok := err.(*run.ToolError); ok && e.Output == "" && !testenv.Required("cc") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// build compiles the emitted folder for its board.
func build(t *testing.T, o *Compiled, sanitize bool) *run.Image {
	t.Helper()
	dir := t.TempDir()
	if err := writeFiles(dir, o.Files); err != nil {
		t.Fatal(err)
	}
	im, err := run.Build(context.Background(), o.Board, dir, run.BuildOptions{Sanitize: sanitize, Opt: "speed"})
	require(t, err)
	t.Cleanup(func() { im.Close() })
	return im
}

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
		styles, err := filepath.Glob(filepath.Join(dir, "models", base+"*.onnx"))
		if err != nil {
			t.Fatal(err)
		}
		es, err := npz.ReadNpzFile(path, npz.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var in, out *tensor.Dense
		for _, e := range es {
			d, err := npz.ToTensor(e.Array)
			if err != nil {
				t.Fatal(err)
			}
			if e.Name == "input" {
				in = d
			} else if e.Name == "output" {
				out = d
			}
		}
		for _, s := range styles {
			name := modelName(s)
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
					got, err := interp.Run(o.Lowered.Graph, []*tensor.Dense{d}, nil)
					if err != nil {
						t.Fatal(err)
					}
					if !tensor.Equal(got[0], w) {
						t.Errorf("sample %d: the interpreter differs", k)
					}
					cases = append(cases, run.Case{Inputs: [][]byte{d.Bytes()}})
					want = append(want, w.Bytes())
				}
				res, err := run.Run(context.Background(), o.Board, build(t, o, true), cases)
				require(t, err)
				for k, r := range res.Cases {
					if r.Status != 0 || string(r.Outputs[0]) != string(want[k]) {
						t.Errorf("sample %d: the emitted C differs (status %d)", k, r.Status)
					}
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
	if testing.Short() {
		t.Skip("a minute of compiling")
	}
	dir := shared(t)
	models, err := filepath.Glob(filepath.Join(dir, "models", "*.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models {
		name := modelName(m)
		if st, err := os.Stat(m); err != nil || st.Size() > 2<<20 {
			continue // minutes under the sanitizers
		}
		for _, precision := range []option.Precision{option.Auto, option.Float32} {
			t.Run(name+"/"+precision.String(), func(t *testing.T) {
				if why := unsupported[name]; why != "" {
					c := config(m, "host")
					c.Precision = precision
					if _, err := c.Compile(); err == nil {
						t.Fatalf("compiles now: take it from the list (%s)", why)
					}
					t.Skip(why)
				}
				o := compileShared(t, dir, name, "host", func(c *Config) { c.Precision, c.Cases = precision, 2 })
				cases, err := o.Config.cases(o)
				if err != nil {
					t.Fatal(err)
				}
				var in []run.Case
				for _, k := range cases {
					in = append(in, run.Case{Inputs: verify.Memory(k.Inputs, o.Lowered.Graph.In)})
				}
				res, err := run.Run(context.Background(), o.Board, build(t, o, true), in)
				require(t, err)
				v := &report.Verdict{}
				if err := o.compare(v, cases, res); err != nil {
					t.Fatal(err)
				}
				if v.Mismatches > 0 {
					t.Errorf("%s", v.Text())
				}
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
		if !fileExists(model) {
			b.Skip("no reference models")
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := config(model, "cortex-m55")
				if p := filepath.Join(dir, "calib", name+".npz"); fileExists(p) {
					c.Calib = []string{p}
				}
				o, err := c.Compile()
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(o.Lowered.Program.ArenaBytes), "arena-bytes")
			}
		})
	}
}

// fileExists reports a file or folder.
func fileExists(path string) bool { _, err := os.Stat(path); return err == nil }
