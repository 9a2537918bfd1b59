// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	_ "embed"
	"encoding/hex"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/verify"
)

// rtosBoard is a machine that the FreeRTOS example runs on.
type rtosBoard struct {
	machine, cpu string
	second       option.Precision // of the second model
	defines      []string         // where the example's own do not fit
	light        float64          // white in the second model's input
}

var rtosBoards = map[string]rtosBoard{
	"cortex-m3": {"mps2-an385", "-mcpu=cortex-m3 -mthumb", option.Int16x8,
		[]string{"LISTEN_PERIOD=500u", "LOOK_LIGHT=INT16_MAX"}, math.MaxInt16},
	"cortex-m4": {"mps2-an386", "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16", option.Float32, nil, 1},
	"cortex-m55": {"mps3-an547", "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -mfpu=auto", option.Float32,
		[]string{"configCPU_CLOCK_HZ=32000000u"}, 1},
}

// rtosModels are the two models of the example in one firmware, in a folder.
func rtosModels(t *testing.T, board string) (*driver.Firmware, string) {
	t.Helper()
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	var list []*driver.Config
	for _, name := range []string{"listen", "look"} {
		c := config(filepath.Join(digits, "digits.onnx"), board)
		c.Name, c.Cases = name, 1
		if name == "look" {
			c.Precision = rtosBoards[board].second
		}
		if c.Precision != option.Float32 {
			c.Calib = []string{filepath.Join(digits, "digits_calib.npz")}
		}
		list = append(list, c)
	}
	f, err := driver.Compile(list...)
	require(t, err)
	dir := folder(t, f.Files)
	return f, dir
}

// rtosExample runs the example's Makefile. The kernel is an installed one.
func rtosExample(t *testing.T, board, models, kernel string, defines ...string) (map[string]string, error) {
	t.Helper()
	b := rtosBoards[board]
	defs := ""
	for _, d := range append(b.defines, defines...) {
		defs += " -D" + d
	}
	makefile := filepath.Join("..", "..", "nncc", "examples", "freertos", "Makefile")
	cmd := exec.CommandContext(t.Context(), "make", "-s", "-f", makefile, "MODELS="+models, "MACHINE="+b.machine,
		"CPU="+b.cpu, "OUT="+t.TempDir(), "DEFINES="+defs,
		"FREERTOS_INCLUDE="+filepath.Join(kernel, "include")+" "+filepath.Join(kernel, board),
		"FREERTOS_LIB="+filepath.Join(kernel, board, "libfreertos.a"))
	text, err := cmd.CombinedOutput()
	said := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, ok := strings.Cut(line, " "); ok {
			said[name] = value
		}
	}
	if said["tick"] == "" {
		t.Fatalf("%v\n%s", err, text)
	}
	t.Logf("%s", text)
	return said, err
}

// TestFreeRTOS: two models on one arena and a task with a deadline, under the kernel that
// the environment names: no deadline is missed, no result differs from the
// interpreter's, the stacks are those that verify says; and a deadline that has not the
// highest priority is missed.
func TestFreeRTOS(t *testing.T) {
	kernel := testenv.Get("NNCC_FREERTOS")
	if kernel == "" {
		t.Skip("no FreeRTOS kernel in NNCC_FREERTOS")
	}
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	for board := range rtosBoards {
		t.Run(board, func(t *testing.T) {
			f, dir := rtosModels(t, board)
			verdicts, err := f.Verify(context.Background())
			require(t, err)
			said, err := rtosExample(t, board, dir, kernel, "LISTEN_STACK_BYTES="+strconv.Itoa(verdicts[0].AtMost()),
				"LOOK_STACK_BYTES="+strconv.Itoa(verdicts[1].AtMost()))
			if err != nil || said["missed"] != "0" || said["wrong"] != "0" || said["control"] != "999" ||
				said["given_up"] == "0" || said["look"] == "0" {
				t.Errorf("%v: %v", err, said)
			}
			for i, o := range f.Models {
				light := []float64{math.MaxInt8, rtosBoards[board].light}[i]
				sameAsInterpreted(t, o, said[o.Info.Prefix+"_output"], light)
			}
			latest, err := strconv.Atoi(said["latest"])
			require(t, err)
			if tick, err := strconv.Atoi(said["tick"]); err != nil || latest*20 > tick {
				t.Errorf("control is done %d of %d clocks after its tick", latest, tick)
			}
		})
	}
	t.Run("wrong priority", func(t *testing.T) {
		_, dir := rtosModels(t, "cortex-m4")
		said, err := rtosExample(t, "cortex-m4", dir, kernel, "CONTROL_PRIORITY=1u")
		if err == nil || said["missed"] == "0" {
			t.Errorf("nothing is missed: %v", said)
		}
	})
}

// rtosDeclared are declarations of what the example takes of the kernel.
//
//go:embed testdata/rtosDeclared.c
var rtosDeclared string

// TestFreeRTOSCompiles: the example compiles with the emitted headers, without warnings,
// where no kernel is at hand.
func TestFreeRTOSCompiles(t *testing.T) {
	gcc := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	_, dir := rtosModels(t, "cortex-m4")
	for _, name := range []string{"FreeRTOS.h", "task.h", "semphr.h"} {
		putText(t, filepath.Join(dir, name), rtosDeclared)
	}
	example := filepath.Join("..", "..", "nncc", "examples", "freertos")
	args := append(strings.Fields(rtosBoards["cortex-m4"].cpu), "-std=gnu99", "-O2", "-Wall", "-Wextra",
		"-Werror", "-I"+dir, "-I"+example, "-fsyntax-only", filepath.Join(example, "app.c"),
		filepath.Join(example, "board_qemu.c"))
	if b, err := exec.CommandContext(t.Context(), gcc, args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, b)
	}
}

// sameAsInterpreted holds an output in hexadecimal bytes against the interpreter's for the
// example's picture.
func sameAsInterpreted(t *testing.T, o *driver.Compiled, text string, light float64) {
	t.Helper()
	got, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	require(t, err)
	ports := o.Lowered.Ports()
	in := ports.Inputs()[0].Type
	x := tensor.New(in.DType, in.Shape)
	for i := range x.Len() {
		v := 0.0
		if in.DType == tensor.I8 {
			v = math.MinInt8
		}
		if i%27 < 4 {
			v = light
		}
		x.SetFloat(i, v)
	}
	y, err := ports.Step([]*tensor.Dense{x})
	require(t, err)
	z, err := verify.FromMemory(got, o.Lowered.Graph.Out[0].Type)
	require(t, err)
	for i := range y[0].Len() {
		if d := math.Abs(z.Float(i) - y[0].Float(i)); d > 0 && (in.DType.IsInt() || d > 1e-6) {
			t.Errorf("%s: output %d is %g, want %g", o.Info.Prefix, i, z.Float(i), y[0].Float(i))
		}
	}
}
