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
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/functions"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	_ "github.com/nncc/nncc/lower/accel/acceltest"
	"github.com/rogpeppe/go-internal/testscript"
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
	examples := testenv.Must(filepath.Abs("examples"))(t)
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

// completed are the candidates that end a command line.
func completed(t *testing.T, line ...string) []string {
	t.Helper()
	code, out, msg := call(append([]string{completer}, line...)...)
	testenv.Require(t, code == exitOK && msg == "", "%q: exit status %d: %s", line, code, msg)
	var got []string
	for _, l := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		w, _, _ := strings.Cut(l, "\t")
		got = append(got, w)
	}
	return got
}

// TestCandidates: verbs, flags, values and topics, as far as they are known; files
// are left to the shell.
func TestCandidates(t *testing.T) {
	for _, k := range []struct{ line, want, never string }{
		{"", "compile verify diff help", "--board"},
		{"ver", "verify version", "compile"},
		{"-q ver", "verify version", "compile"},
		{"-board cortex-m4 legalize --on", "--only", "--cases"},
		{"--board = cortex-m4 ver", "verify version", "compile"}, // as bash splits it
		{"--bo", "--board", "--out"},
		{"verify --c", "--cases --calib --calib-method", "--only"},
		{"legalize --on", "--only", "--cases"},
		{"--board cortex-m5", "cortex-m55", "cortex-m4"},
		{"verify -board=cortex-m5", "-board=cortex-m55", "cortex-m55"},
		{"verify --board =", "cortex-m55 host", "="}, // as bash splits it
		{"verify --board = cortex-m5", "cortex-m55", "cortex-m4"},
		{"--calib-method m", "minmax mse", "entropy"},
		{"--fuse ", "on off", ""},
		{"--precision=int", "--precision=int8 --precision=int16x8", "--precision=float32"},
		{"--project m", "make", "cmake"},
		{"--pass bn", "bn-fold=off", "bn-fold"},
		{"--stop-after bn", "bn-fold", "bn-fold=off"},
		{"help deb", "debugging", "verify"},
		{"help ver", "verify", ""},
		{"completion ", "bash zsh fish", ""},
		{"boards stm", "stm32u575", "host"},
		{"verify --layers ", "", "cortex-m55"}, // a model
		{"verify --calib ", "", "--board"},     // a file
		{"nothere --nothere x", "", ""},
	} {
		got := completed(t, strings.Split(k.line, " ")...)
		for _, w := range strings.Fields(k.want) {
			testenv.Check(t, slices.Contains(got, w), "%q: %q, want %s among them", k.line, got, w)
		}
		if k.want == "" && strings.Join(got, "") != "" || k.never != "" && slices.Contains(got, k.never) {
			t.Errorf("%q: %q", k.line, got)
		}
	}
}

// TestShells runs the scripts in the shells that are installed.
func TestShells(t *testing.T) {
	self := testenv.Must(os.Executable())(t)
	dir := t.TempDir()
	must(t, os.Symlink(self, filepath.Join(dir, "nncc")))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("HOME", dir)
	must(t, os.WriteFile(filepath.Join(dir, "model.onnx"), nil, 0o666))
	programs := map[string]string{
		"bash": `source "$1"; for line in 'nncc ver' 'nncc verify --board cortex-m5' 'nncc verify --calib-me' 'nncc x'
			do COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _nncc
			printf '%s ' "${COMPREPLY[@]}"; echo; done
			complete -p nncc`,
		"zsh": `compdef() { :; }; _describe() { print -r -- "$1:" ${(P)2%%:*} }; _files() { print files }; source "$1"
			for line in 'nncc ver' 'nncc verify --board cortex-m5' 'nncc verify --calib-me' 'nncc x'
			do words=(${=line}); CURRENT=$#words; _nncc; done`,
		"fish": `source $argv[1]
			for line in 'nncc ver' 'nncc verify --board cortex-m5' 'nncc verify --calib-me' 'nncc mod'
			complete -C $line | string replace -r '\t.*' '' | string join ' '; end; true`,
	}
	for _, shell := range shells {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				testenv.Lacks(t, shell, shell+" is not installed")
			}
			code, script, msg := call("completion", shell)
			testenv.Require(t, code == exitOK && script != "", "%v", msg)
			file := filepath.Join(dir, "nncc."+shell)
			must(t, os.WriteFile(file, []byte(script), 0o666))
			cmd := exec.Command(path, map[string][]string{"bash": {"-c", programs[shell], shell, file},
				"zsh": {"-f", "-c", programs[shell], shell, file}, "fish": {"--no-config", "-c", programs[shell],
					file}}[shell]...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			lines := strings.Split(string(out), "\n")
			testenv.Require(t, err == nil && len(lines) >= 4, "%v: %s", err, out)
			for i, want := range []string{"verify version", "cortex-m55", "--calib-method"} {
				for _, w := range strings.Fields(want) {
					testenv.Check(t, strings.Contains(lines[i], w) && !strings.Contains(lines[i], "compile"),
						"%q, want %s", lines[i], want)
				}
			}
			files := map[string]string{"bash": "", "zsh": "files", "fish": "model.onnx"}[shell]
			testenv.Equal(t, strings.TrimSpace(lines[3]), files)
		})
	}
	if code, _, msg := call("completion", "bsh"); code != exitUsage || !strings.Contains(msg, "did you mean bash?") {
		t.Errorf("exit status %d: %s", code, msg)
	}
}

// TestManPage: the page has every verb, flag and topic, and mandoc finds no fault.
func TestManPage(t *testing.T) {
	code, page, msg := call("man")
	testenv.Require(t, code == exitOK, "%v", msg)
	for n := range verbs {
		testenv.Check(t, strings.Contains(page, `\fBnncc `+roff(n)+`\fR`), "the verb %s is missing", n)
	}
	for n := range flagRules {
		testenv.Check(t, n == "help" || strings.Contains(page, `\fB\-\-`+roff(n)+`\fR`), "the flag --%s is missing",
			n)
	}
	mandoc := testenv.Tool(t, "mandoc", "mandoc")
	cmd := exec.Command(mandoc, "-Tlint", "-Wwarning")
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil {
		for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			if !strings.Contains(l, "missing date") { // the same version gives the same page
				t.Error(l)
			}
		}
	}
}

// TestFlagGroups: help shows every flag of a verb once, in its group; groups name
// flags that exist.
func TestFlagGroups(t *testing.T) {
	for _, g := range flagGroups {
		for _, n := range strings.Fields(g.names) {
			_, ok := flagRules[n]
			testenv.Check(t, ok, "group %s: there is no flag --%s", g.title, n)
		}
	}
	for verb := range verbs {
		_, help, _ := call(verb, "-h")
		titles, _ := grouped(verbFlags(&cli{}, verb))
		for _, g := range titles {
			testenv.Check(t, len(titles) <= 1 || strings.Contains(help, "Flags, "+g+":\n"), "%s -h: no group %s",
				verb, g)
		}
		for _, want := range []string{"common", "quantisation", "memory", "gates", "debugging"} {
			testenv.Check(t, verb != "verify" || slices.Contains(titles, want), "verify has no group %s", want)
		}
		for name, r := range flagRules {
			testenv.Check(t, !r.applies(verb) || strings.Count(help, "--"+name+" ") != 0, "%s -h: no --%s", verb,
				name)
		}
	}
}
