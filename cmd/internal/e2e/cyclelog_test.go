// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/verify"
)

// logging runs the model with the port for silicon between its steps. QEMU has no
// cycle counter: the harness's SysTick, which counts instructions there, stands in.
//
//go:embed testdata/logging.c
var logging string

// digitsOn is the shipped example for a board.
func digitsOn(t *testing.T, board string) *driver.Compiled {
	t.Helper()
	c := digitsConfig(board)
	c.Cases = 1
	o := mustCompile(t, c)
	return o
}

// TestCycleLog: what the port prints of a run is what profile --measured lays
// beside the estimate, layer by layer; logs of something else are refused.
func TestCycleLog(t *testing.T) {
	o := digitsOn(t, "cortex-m4")
	dir := folder(t, o.Files)
	require(t, os.Rename(filepath.Join(dir, "digits.c"), filepath.Join(dir, "digits.inc")))
	putText(t, filepath.Join(dir, "logging.c"), logging)
	putText(t, filepath.Join(dir, "logging.h"), "#include \"digits.h\"\nint32_t logging_run(void *arena);\n"+
		"uint32_t logging_clock(void);\n")
	m := o.Harness
	m.Header, m.RunFunc = "logging.h", "logging_run"
	im := mustBuild(t, o.Board, dir, run.BuildOptions{Model: &m})
	in := o.Lowered.Ports().Inputs()
	res, err := run.Run(context.Background(), o.Board, im, []run.Case{{Inputs: verify.Memory([]*tensor.Dense{
		tensor.New(in[0].Type.DType, in[0].Type.Shape)}, in)}})
	require(t, err)
	log := filepath.Join(t.TempDir(), "console.log")
	putText(t, log, "boot\r\n"+res.Console+"done\n")

	o.Config.Measured = log
	v := mustProfile(t, o)
	var sum uint64
	for _, l := range v.Layers {
		if l.MeasuredCycles == nil || *l.MeasuredCycles == 0 || l.MeasuredRatio <= 0 {
			t.Fatalf("%s: nothing was measured: %+v", l.Name, l)
		}
		sum += *l.MeasuredCycles
	}
	text := report.ProfileText([]*report.Verdict{v})
	if v.MeasuredCycles == nil || *v.MeasuredCycles != sum || v.MeasuredClock != "own" ||
		!strings.Contains(text, "measured") || !strings.Contains(text, "of the estimate") {
		t.Errorf("the layers took %d cycles\n%s", sum, text)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"no log", "{\"model\":", "{\"m\":", "no line begins with"},
		{"cut short", "\n]}", "\n", "cut short or damaged"},
		{"another model", "\"sha256\": \"", "\"sha256\": \"0", "another model"},
		{"another board", "\"board\": \"cortex-m4\"", "\"board\": \"cortex-m7\"", "profile with --board cortex-m7"},
		{"other flags", o.Lowered.Program.Steps[1].Name, "other", "compiled with the same flags"},
		{"a step more", "\n]}", ",\n{\"name\": \"\", \"cycles\": 1}\n]}", "NNCC_TRACE_STEPS"},
		{"no cycles", "\"cycles\":", "\"ticks\":", "step 0 has no cycles"},
	} {
		putText(t, log, strings.Replace(res.Console, c.old, c.new, 1))
		if _, err := o.Profile(context.Background()); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "console.log") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	still, err := report.ParseCycleLog([]byte(res.Console))
	require(t, err)
	for i := range still.Steps {
		still.Steps[i].Cycles = new(uint64)
	}
	if err := still.Fits(&o.Subject); err == nil || !strings.Contains(err.Error(), "stands still") {
		t.Errorf("a counter that stands still: %v", err)
	}
}

// TestDWTPort: the port compiles without warnings where there is a cycle counter,
// and says what to do where there is none.
func TestDWTPort(t *testing.T) {
	gcc := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	dir := folder(t, digitsOn(t, "cortex-m4").Files)
	for _, c := range []struct{ flags, want string }{
		{"-mcpu=cortex-m4", ""}, {"-mcpu=cortex-m7", ""}, {"-mcpu=cortex-m55 -mfloat-abi=hard", ""},
		{"-mcpu=cortex-m0plus -DNNCC_TRACE_CLOCK=own", ""}, {"-mcpu=cortex-m0plus", "-DNNCC_TRACE_CLOCK=name"},
		{"-mcpu=cortex-m23", "-DNNCC_TRACE_CLOCK=name"},
	} {
		args := strings.Fields("-fsyntax-only -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow " +
			"-Wstrict-prototypes -Wmissing-prototypes -Werror -mthumb -DNNCC_TRACE -DNNCC_TRACE_DWT -I. " + c.flags +
			" harness/nncc_trace_dwt.c")
		cmd := exec.Command(gcc, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if (err != nil) != (c.want != "") || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, want %q\n%s", c.flags, err, c.want, out)
		}
	}
}
