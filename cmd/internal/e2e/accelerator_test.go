// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/acceltest"
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/verify"
	"github.com/rogpeppe/go-internal/txtar"
)

// cruBoard is a board file with the accelerator of the tests.
func cruBoard(t *testing.T, params string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cru.yaml")
	text := "inherits: [host]\naccelerators:\n- {name: cru0, kind: " + acceltest.Kind + ", params: {" + params + "}}\n"
	require(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// convNet is the text of a random network of convolutions and ReLU, one after
// another or beside each other, with operators between them that the accelerator
// lacks.
func convNet(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	type value struct {
		name    string
		c, h, w int
	}
	values := []value{{"x", 1 + r.IntN(4), 7 + r.IntN(6), 7 + r.IntN(6)}}
	decl := fmt.Sprintf("in %%x : f32[1,%d,%d,%d]\n", values[0].c, values[0].h, values[0].w)
	body := ""
	for i := range 9 {
		x := values[max(0, len(values)-1-r.IntN(2))]
		y := x
		y.name = fmt.Sprintf("v%d", i)
		switch op := r.IntN(8); {
		case op < 4:
			y.c = 1 + r.IntN(7)
			kh, kw, s, pad := 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(2), r.IntN(2)
			y.h, y.w = (x.h+pad-kh)/s+1, (x.w+pad-kw)/s+1
			if y.h < 3 || y.w < 3 {
				continue
			}
			decl += fmt.Sprintf("const %%w%d : f32[%d,%d,%d,%d] = rand %d\n", i, y.c, x.c, kh, kw, seed*100+uint64(i))
			body += fmt.Sprintf("%%%s = Conv(%%%s, %%w%d) {kernel_shape=[%d,%d], strides=[%d,%d], pads=[%d,0,0,%d]}\n",
				y.name, x.name, i, kh, kw, s, s, pad, pad)
		case op < 7:
			body += fmt.Sprintf("%%%s = Relu(%%%s)\n", y.name, x.name)
		default:
			body += fmt.Sprintf("%%%s = Sigmoid(%%%s)\n", y.name, x.name)
		}
		values = append(values, y)
	}
	for i, v := range values[len(values)-2:] {
		body += fmt.Sprintf("out \"y%d\" = %%%s\n", i, v.name)
	}
	return "graph \"net\" {\n" + decl + body + "}"
}

// TestPlugInNetworks: random networks on an accelerator that the compiler knows by
// one line of a table compute what the interpreter does, whatever part of them it
// computes; a simulator that is wrong by one is noticed.
func TestPlugInNetworks(t *testing.T) {
	const right, off = "c->out_offset, c->act_min", "c->out_offset + 1, c->act_min"
	segments, outside, broken := 0, 0, 0
	for seed := uint64(1); seed <= 5; seed++ {
		c := driver.Defaults()
		c.Board = cruBoard(t, "kernel: 15, min_work: "+[]string{"0", "5000"}[seed%2])
		c.Name, c.Cases, c.Layers = "net", 2, true
		if seed%3 == 0 {
			c.IO = option.FloatIO
		}
		o := compileNet(t, irtest.Parse(t, convNet(seed)), &c)
		segments += len(o.Report.Segments)
		outside += len(o.Report.Fallback)
		v := mustVerify(t, o)
		if v.Differs() {
			t.Errorf("seed %d\n%s", seed, v.Text())
		}
		if broken > 0 || !convolves(o) {
			continue
		}
		i := slices.IndexFunc(o.Files, func(f codegen.File) bool { return bytes.Contains(f.Data, []byte(right)) })
		testenv.Require(t, i >= 0, "seed %d: a segment, but no simulator", seed)
		o.Files[i].Data = bytes.Replace(o.Files[i].Data, []byte(right), []byte(off), 1)
		broken++
		if v, err := o.Verify(t.Context()); err != nil || !v.Differs() {
			t.Errorf("seed %d: a wrong simulator passes (%v)", seed, err)
		}
	}
	testenv.Check(t, segments >= 5 && broken != 0 && outside != 0,
		"%d segments, %d nodes outside, %d wrong simulators: the networks show nothing", segments, outside, broken)
}

// convolves reports a program in which the accelerator has a convolution.
func convolves(o *driver.Compiled) bool {
	for _, s := range o.Lowered.Segments {
		for _, n := range s.Body[0].Nodes {
			if n.Op == op.Conv {
				return true
			}
		}
	}
	return false
}

// TestBoardsNameAccelerators: no shipped board has the accelerator of the tests,
// and every shipped board's is known and has valid parameters.
func TestBoardsNameAccelerators(t *testing.T) {
	with := 0
	for _, name := range boards.List() {
		s := mustLoad(t, name)
		a, err := board.Accelerator(s)
		testenv.Check(t, err == nil && (a == nil || a.Kind() != acceltest.Kind), "%s: %v, %v", name, a, err)
		if a != nil {
			with++
		}
	}
	testenv.Check(t, with != 0, "no shipped board has an accelerator")
}

//go:embed testdata/hostile.txtar
var hostileText []byte

// hostileModel has a name, what the message about it has to name, and a text: header and body of a graph.
type hostileModel struct{ name, want, text string }

// hostile are models whose tensors, shapes and attributes lie in the ways that crash or exhaust importers.
func hostile() []hostileModel {
	const double = `%[2]s = Concat <axis = 0> (%[1]s, %[1]s)`
	list := []hostileModel{
		{"every concatenation doubles", `Concat "`,
			`(float[1, 4] x) => (float y) { ` + chain("x", "y", 60, double) + ` }`},
		{"constant doubled 60 times", `Concat "`,
			`(float[4] x) => (float y) { k = Constant <value_floats = [1.0]> () ` +
				chain("k", "d", 60, double) + ` r = ReduceSum <keepdims = 0> (d) y = Add (x, r) }`},
	}
	for _, f := range txtar.Parse(hostileText).Files {
		want, text, _ := strings.Cut(string(f.Data), "\n")
		list = append(list, hostileModel{f.Name, want, text})
	}
	return list
}

// chain writes n nodes, each made by a format of its input and output.
func chain(from, to string, n int, format string) string {
	var b strings.Builder
	for i := range n {
		out := fmt.Sprintf("%s_%d", to, i)
		if i == n-1 {
			out = to
		}
		fmt.Fprintf(&b, format+" ", from, out)
		from = out
	}
	return b.String()
}

// TestHostile: models that lie end in an error about the fault that names node
// or tensor; they leave nothing behind and take little memory.
func TestHostile(t *testing.T) {
	for _, c := range hostile() {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cfg := config(writeText(t, dir, 17, c.text), "cortex-m55")
			cfg.Out = filepath.Join(dir, "out")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := cfg.Compile()
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 512<<20 {
				t.Errorf("it took %d MiB", n>>20)
			}
			testenv.Require(t, err != nil, "no error")
			var tool *run.ToolError
			if msg := err.Error(); errors.As(err, &tool) || bug.Is(err) ||
				!strings.Contains(strings.ReplaceAll(msg, dir, ""), c.want) || len(msg) > 4000 {
				t.Errorf("error %.2000q, want one that names %s", msg, c.want)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
		})
	}
}

// writeText writes a model in ONNX's text syntax: the graph and functions behind it.
func writeText(t *testing.T, dir string, opset int, text string) string {
	t.Helper()
	p := filepath.Join(dir, "model.onnx")
	require(t, os.WriteFile(p, fmt.Appendf(nil, `<ir_version: 8, opset_import: ["" : %d, "local" : 1]> g %s`, opset,
		text), 0o666))
	return p
}

// extremes are inputs at the edges of their types, random ones first.
func extremes(r *state.Runner) []verify.Case {
	ins := r.Inputs()
	fill := func(name string, integer func(lo, hi int64, k int) int64, float func(k int) float64) verify.Case {
		c := verify.Case{Source: name}
		for _, v := range ins {
			d := tensor.New(v.Type.DType, v.Type.Shape)
			for k := range d.Len() {
				if d.DType.IsFloat() {
					d.SetFloat(k, float(k))
				} else {
					lo, hi := d.DType.IntRange()
					d.SetInt(k, integer(lo, hi, k))
				}
			}
			c.Inputs = append(c.Inputs, d)
		}
		return c
	}
	low := func(lo, _ int64, _ int) int64 { return lo }
	high := func(_, hi int64, _ int) int64 { return hi }
	both := func(lo, hi int64, k int) int64 { return []int64{lo, hi, 0}[k%3] }
	always := func(f float64) func(int) float64 { return func(int) float64 { return f } }
	mixed := []float64{math.NaN(), 1, math.Inf(1), -1, math.Inf(-1), 0, 0x1p-149, math.Copysign(0, -1), 3}
	var list []verify.Case
	for seed := range 2 {
		list = append(list, verify.Case{Source: fmt.Sprintf("random %d", seed), Inputs: verify.Seeded(r, seed, 21)})
	}
	return append(list,
		fill("lowest, NaN", low, always(math.NaN())),
		fill("highest, +Inf", high, always(math.Inf(1))),
		fill("both, -Inf", both, always(math.Inf(-1))),
		fill("both, smallest denormal", both, always(0x1p-149)),
		fill("both, mixed", both, func(k int) float64 { return mixed[k%len(mixed)] }),
		fill("one NaN", low, func(k int) float64 { return []float64{math.NaN(), 0.5}[min(k, 1)] }),
	)
}

// underFire builds a program for the host with the sanitizers and a compiler,
// runs it on extreme inputs and compares with the interpreter: the same
// integers, floats within the bound of verify, NaN and infinities in the same
// places, and an error where the interpreter has one.
func underFire(t *testing.T, o *driver.Compiled, cc string) {
	t.Helper()
	spec := host(t, cc)
	im := mustBuild(t, spec, folder(t, o.Files), run.BuildOptions{Sanitize: true, Opt: "-O1", Model: &o.Harness})
	cases := extremes(o.Lowered.Interface())
	for i, c := range cases {
		res, err := run.Run(context.Background(), spec, im, memory(o, cases[i:i+1]))
		if err != nil {
			t.Errorf("%s: %v", c.Source, err)
			continue
		}
		if res.Cases[0].Status != 0 {
			if _, err := o.Lowered.Windows(o.Lowered.Reference).Step(c.Inputs); err == nil {
				t.Errorf("%s: status %d, the interpreter has a result", c.Source, res.Cases[0].Status)
			}
			continue
		}
		v := &report.Verdict{}
		if err := o.Compare(v, cases[i:i+1], res); err != nil {
			t.Errorf("%s: the interpreter says %v, the program has a result", c.Source, err)
		} else if v.Mismatches > 0 || v.Failure != "" {
			t.Errorf("%s: the emitted C differs: %s\n%s", c.Source, v.Failure, v.Text())
		}
	}
}

// TestUnderFire: emitted C has no undefined behaviour and the interpreter's
// results on inputs at the edges of their types, by two compilers. Some programs
// by default; NNCC_LONG=1 takes every reference model for every kind of
// core, quantised and in float, with quantised and with float interfaces.
func TestUnderFire(t *testing.T) {
	type program struct {
		model, board string
		precision    option.Precision
		io           option.IO
	}
	list := []program{
		{"digits", "cortex-m55", option.Auto, option.FloatIO},
		{"digits", "cortex-m4", option.Int16x8, option.QuantizedIO},
		{"digits", "cortex-m0plus", option.Float32, option.QuantizedIO},
	}
	compilers := []string{"gcc", "clang"}
	for i, p := range list {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			cc := compilers[i%2]
			testenv.Tool(t, cc, cc)
			c := config(filepath.Join("..", "..", "nncc", "examples", "digits", "digits.onnx"), p.board)
			c.Precision, c.IO = p.precision, p.io
			o := mustCompile(t, c)
			underFire(t, o, cc)
		})
	}
	if !testenv.Long() {
		return
	}
	var all []program
	for _, m := range sharedModels(t) {
		// Quantised models keep their precision: another one is refused.
		quantised := compileShared(t, shared(t), m, "host", nil).Report.Calibration == nil
		for _, b := range []string{"host", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m55", "mla-host"} {
			for _, p := range []option.Precision{option.Auto, option.Int16x8, option.Float32} {
				if p == option.Auto || b != "mla-host" && !quantised {
					all = append(all, program{m, b, p, option.QuantizedIO})
				}
			}
			all = append(all, program{m, b, option.Auto, option.FloatIO})
		}
	}
	for _, p := range all {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			o := compileShared(t, shared(t), p.model, p.board, func(c *driver.Config) {
				c.Precision, c.IO = p.precision, p.io
			})
			for _, cc := range compilers {
				if _, err := exec.LookPath(cc); err == nil {
					t.Run(cc, func(t *testing.T) { underFire(t, o, cc) })
				}
			}
		})
	}
}

// probe calls every function of the emitted interface with arenas and values
// that are to be refused; its status is the number of the first one that did not.
//
//go:embed testdata/probe.c
var probe string

// TestArena: no arena and misaligned ones are error codes of every function,
// on the host and on cores that trap on addresses that are not aligned.
func TestArena(t *testing.T) {
	for _, board := range []string{"host", "cortex-m0plus", "cortex-m55"} {
		t.Run(board, func(t *testing.T) {
			c := digitsConfig(board)
			o := mustCompile(t, c)
			dir := folder(t, o.Files)
			for name, text := range map[string]string{
				"probe.c": probe,
				"probe.h": "#include <stdint.h>\n#include \"digits.h\"\nint32_t probe_run(void *arena);\n",
			} {
				require(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
			}
			m := o.Harness
			m.Header, m.RunFunc = "probe.h", "probe_run"
			im := mustBuild(t, o.Board, dir, run.BuildOptions{Model: &m, Sanitize: board == "host"})
			in := o.Lowered.Ports().Inputs()
			res, err := run.Run(context.Background(), o.Board, im, []run.Case{{Inputs: verify.Memory([]*tensor.Dense{
				tensor.New(in[0].Type.DType, in[0].Type.Shape)}, in)}})
			require(t, err)
			testenv.Equal(t, res.Cases[0].Status, 0, "call of the probe is not as it should be")
		})
	}
}
