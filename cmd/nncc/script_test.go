// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/functions"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	_ "github.com/nncc/nncc/lower/accel/acceltest" // plugin.txtar: an accelerator beside the shipped ones
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"nncc": func() { collect(); os.Exit(Main(onSignals(), os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs testdata/script: what a user types, and what it must print.
// $EXAMPLES is the folder of the shipped models; the conditions [arm-gcc] and
// [qemu] tell whether tools are there (NNCC_REQUIRE makes them a must).
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("examples")
	must(t, err)
	tools := map[string]string{"arm-gcc": "arm-none-eabi-gcc", "qemu": "qemu-system-arm", "cc": "gcc", "clang": "clang",
		"cmake": "cmake"}
	for name, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil && testenv.Required(name) {
			t.Fatalf("NNCC_REQUIRE lists %s, but %s is not installed", name, tool)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("EXAMPLES", examples)
			e.Setenv("TMPDIR", e.WorkDir)
			e.Setenv(run.ObjectsEnv, os.Getenv(run.ObjectsEnv))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if tool, ok := tools[cond]; ok {
				_, err := exec.LookPath(tool)
				return err == nil, nil
			}
			return false, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status,
			"onnx":   writeONNX,
			"digits": writeDigits,
			"npz":    writeNpz,
		},
	})
}

// status N COMMAND... runs a command that must end with exit status N.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := err.(*exec.ExitError); ok {
		got = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if want := args[0]; want != itoa(got) {
		ts.Fatalf("exit status %d, want %s\nstdout: %s\nstderr: %s", got, want, ts.ReadFile("stdout"),
			ts.ReadFile("stderr"))
	}
}

// writeONNX FILE MODEL writes a graph in its text form (ir/README.md), or a model
// in ONNX's where FILE ends in .txt, as ONNX: small models stand in the scripts
// that use them.
func writeONNX(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: onnx graph.ir model.onnx")
	}
	m, err := parseModel(args[0], ts.ReadFile(args[0]))
	ts.Check(err)
	b, err := onnx.Marshal(m)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b, 0o666))
}

// writeDigits: digits N FILE.npz writes the first N test images of the shipped model with
// their labels; digits N DIR as PNG files, a folder for each numeral.
func writeDigits(ts *testscript.TestScript, neg bool, args []string) {
	n := 0
	if len(args) == 2 {
		n, _ = strconv.Atoi(args[0])
	}
	if neg || n < 1 {
		ts.Fatalf("usage: digits N FILE.npz, or digits N DIR")
	}
	ts.Check(testImages(ts.Getenv("EXAMPLES"), ts.MkAbs(args[1]), n))
}

// testImages is writeDigits; DIR/3/0013.png is image 13, which shows a 3.
func testImages(examples, to string, n int) error {
	all, err := npz.ReadNpzFile(filepath.Join(examples, "digits", "digits_test.npz"), npz.Limits{})
	if err != nil {
		return err
	}
	const size = 28
	pixels, labels := all[0].Array.Data.([]float32)[:n*size*size], all[1].Array.Data.([]uint8)[:n]
	if filepath.Ext(to) == ".npz" {
		x, err := npz.New([]int{n, 1, size, size}, pixels)
		if err != nil {
			return err
		}
		y, err := npz.New([]int{n}, labels)
		if err != nil {
			return err
		}
		return npz.WriteNpzFile(to, []npz.Entry{{Name: all[0].Name, Array: x}, {Name: all[1].Name, Array: y}})
	}
	for i, label := range labels {
		m := image.NewGray(image.Rect(0, 0, size, size))
		for k := range m.Pix {
			m.Pix[k] = uint8(math.Round(255 * float64(pixels[i*size*size+k])))
		}
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			return err
		}
		folder := filepath.Join(to, strconv.Itoa(int(label)))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%04d.png", i)), b.Bytes(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// writeNpz: npz FILE.npz NAME=2x3:1,2,3,4,5,6... writes arrays of float32.
func writeNpz(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: npz FILE.npz NAME=SHAPE:NUMBERS...")
	}
	var es []npz.Entry
	for _, a := range args[1:] {
		name, rest, _ := strings.Cut(a, "=")
		dims, numbers, _ := strings.Cut(rest, ":")
		var shape []int
		for _, d := range strings.Split(dims, "x") {
			n, err := strconv.Atoi(d)
			ts.Check(err)
			shape = append(shape, n)
		}
		var data []float32
		for _, s := range strings.Split(numbers, ",") {
			v, err := strconv.ParseFloat(s, 32)
			ts.Check(err)
			data = append(data, float32(v))
		}
		x, err := npz.New(shape, data)
		ts.Check(err)
		es = append(es, npz.Entry{Name: name, Array: x})
	}
	ts.Check(npz.WriteNpzFile(ts.MkAbs(args[0]), es))
}

func parseModel(name, text string) (*pb.ModelProto, error) {
	if strings.HasSuffix(name, ".txt") {
		return functions.ParseModel(text)
	}
	g, err := ir.Parse(text, op.Get)
	if err != nil {
		return nil, err
	}
	return onnx.Export(g, onnx.ExportOptions{})
}

func itoa(n int) string {
	if n >= 10 {
		return itoa(n/10) + string(rune('0'+n%10))
	}
	return string(rune('0' + n))
}
