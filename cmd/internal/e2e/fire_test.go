// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/verify"
)

// extremes are inputs at the edges of their types, random ones first.
func extremes(ins []*ir.Value) []verify.Case {
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
		list = append(list, verify.Case{Source: fmt.Sprintf("random %d", seed), Inputs: verify.Seeded(ins, seed, 21)})
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
	cases := extremes(o.Lowered.Interface().Inputs())
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
			if s := res.Cases[0].Status; s != 0 {
				t.Errorf("call %d of the probe is not as it should be", s)
			}
		})
	}
}
