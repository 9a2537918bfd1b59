// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/junit/junittest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"go.yaml.in/yaml/v3"
)

// action is what is run of action.yml.
type action struct {
	Inputs map[string]struct {
		Default  string
		Required bool
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Steps []struct {
			ID, Shell, Run string
			Env            map[string]string
		}
	}
}

var expression = regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`)

// run runs the steps as a runner does, each in bash with -eo pipefail, and gives the
// exit statuses by step and the outputs.
func (a *action) run(t *testing.T, dir string, inputs map[string]string) (codes []int, outputs string, log string) {
	t.Helper()
	temp := t.TempDir()
	file := func(name string) string {
		p := filepath.Join(temp, name)
		must(t, os.WriteFile(p, nil, 0o666))
		return p
	}
	path, out, summary := file("path"), file("out"), file("summary")
	for _, s := range a.Runs.Steps {
		more := testenv.Must(os.ReadFile(path))(t)
		bin := strings.ReplaceAll(strings.TrimSpace(string(more)), "\n", ":")
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_PATH="+path, "GITHUB_OUTPUT="+out,
			"GITHUB_STEP_SUMMARY="+summary, "PATH="+bin+":"+os.Getenv("PATH"))
		for name, value := range s.Env {
			m := expression.FindStringSubmatch(value)
			testenv.Require(t, m != nil, "%s: %s is no input", name, value)
			in, ok := a.Inputs[m[1]]
			testenv.Require(t, ok, "%s: there is no input %s", name, m[1])
			value = in.Default
			if v, ok := inputs[m[1]]; ok {
				value = v
			}
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		b, err := cmd.CombinedOutput()
		_, ok := err.(*exec.ExitError)
		testenv.Require(t, err == nil || ok, "%v", err)
		codes, log = append(codes, cmd.ProcessState.ExitCode()), log+string(b)
	}
	b := testenv.Must(os.ReadFile(out))(t)
	b2 := testenv.Must(os.ReadFile(summary))(t)
	return codes, string(b) + string(b2), log
}

func readAction(t *testing.T) *action {
	t.Helper()
	b := testenv.Must(os.ReadFile(filepath.Join("..", "..", ".github", "actions", "nncc", "action.yml")))(t)
	a := &action{}
	must(t, yaml.Unmarshal(b, a))
	return a
}

// TestActionRunsNoInput: flags are words, whatever a shell would make of them; quotes keep
// words together, and one that is not closed is an error.
func TestActionRunsNoInput(t *testing.T) {
	a := readAction(t)
	a.Runs.Steps = a.Runs.Steps[2:3]
	dir := t.TempDir()
	program := filepath.Join(dir, "nncc")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\nfor a; do echo \"<$a>\"; done\n"), 0o777))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for flags, want := range map[string]string{
		"$(touch made) `touch made`; touch made": "<$(touch>\n<made)>\n<`touch>\n<made`;>\n<touch>\n<made>\n",
		"--name 'a b' \"c  d\"\n--cases 1":       "<--name>\n<a b>\n<c  d>\n<--cases>\n<1>\n",
		"* $HOME ~ a\\ b ) && false":             "<*>\n<$HOME>\n<~>\n<a b>\n<)>\n<&&>\n<false>\n",
		" ":                                      "",
	} {
		codes, _, log := a.run(t, dir, map[string]string{"model": "m", "board": "b", "flags": flags})
		want = "<verify>\n<--board>\n<b>\n<--out>\n<nncc-out>\n<--junit>\n<nncc-junit.xml>\n" + want + "<-->\n<m>\n"
		testenv.Check(t, equalInts(codes, 0) && log == want, "%q: %v\n%s\nwant\n%s", flags, codes, log, want)
	}
	_, err := os.Stat(filepath.Join(dir, "made"))
	testenv.Check(t, err != nil, "flags are run")
	if codes, _, log := a.run(t, dir, map[string]string{"flags": "--name 'a"}); !equalInts(codes, 2) ||
		!strings.Contains(log, "a quote is not closed") {
		t.Errorf("%v\n%s", codes, log)
	}
}

// packRelease adds the archive of a version to a folder of releases.
func packRelease(t *testing.T, at, version string) {
	t.Helper()
	cmd := exec.Command("bash", "-ec", `arch=amd64; [ "$(uname -m)" = x86_64 ] || arch=arm64
		n="nncc-$1-$(uname -s | tr '[:upper:]' '[:lower:]')-$arch"; mkdir -p $n
		printf '#!/bin/sh\necho "this is %s"\n' "$1" >$n/nncc; chmod 755 $n/nncc
		tar czf $n.tar.gz $n; rm -r $n; sha256sum $n.tar.gz >>SHA256SUMS`, "pack", version)
	cmd.Dir = at
	b, err := cmd.CombinedOutput()
	testenv.Require(t, err == nil, "%v\n%s", err, b)
}

// TestActionLatest: the newest release is none of its candidates, which are installed by
// their version, or where there is nothing else.
func TestActionLatest(t *testing.T) {
	testenv.Tool(t, "curl", "curl")
	a := readAction(t)
	a.Runs.Steps = a.Runs.Steps[:1]
	for _, c := range []struct{ have, version, want string }{
		{"1.2.0 1.3.0-rc1", "latest", "1.2.0"},
		{"1.2.0-rc2 1.2.0 1.2.0-rc1", "latest", "1.2.0"},
		{"1.2.0 1.3.0-alpha1 1.3.0-beta2", "latest", "1.2.0"},
		{"1.2.0 1.10.0 1.9.0", "latest", "1.10.0"},
		{"1.2.0 1.3.0-rc1", "v1.3.0-rc1", "1.3.0-rc1"},
		{"1.3.0-rc1 1.3.0-rc10 1.3.0-rc2", "latest", "1.3.0-rc10"},
	} {
		at := t.TempDir()
		for _, v := range strings.Fields(c.have) {
			packRelease(t, at, v)
		}
		codes, _, log := a.run(t, t.TempDir(), map[string]string{"version": c.version, "archive-url": "file://" + at})
		testenv.Check(t, equalInts(codes, 0) && strings.Contains(log, "this is "+c.want+"\n"),
			"%s of %s: %v, want %s\n%s", c.version, c.have, codes, c.want, log)
	}
}

// TestActionInstalls: the newest release of a folder, or one by its version, is checked
// against its sum before it is used.
func TestActionInstalls(t *testing.T) {
	testenv.Tool(t, "curl", "curl")
	a := readAction(t)
	a.Runs.Steps = a.Runs.Steps[:1]
	dir, at := t.TempDir(), t.TempDir()
	packRelease(t, at, "0.9.0")
	packRelease(t, at, "0.10.0")
	packRelease(t, at, "0.11.0-rc1") // newer, and no release
	url := "file://" + at
	for version, want := range map[string]string{"latest": "this is 0.10.0", "0.9.0": "this is 0.9.0",
		"v0.9.0": "this is 0.9.0"} {
		codes, _, log := a.run(t, dir, map[string]string{"version": version, "archive-url": url})
		testenv.Check(t, equalInts(codes, 0) && strings.Contains(log, want), "%s: %v\n%s", version, codes, log)
	}
	codes, _, log := a.run(t, dir, map[string]string{"version": "0.8.0", "archive-url": url})
	testenv.Check(t, equalInts(codes, 1) && strings.Contains(log, "has no nncc-0.8.0-"), "%v\n%s", codes, log)
	b := testenv.Must(os.ReadFile(filepath.Join(at, "SHA256SUMS")))(t)
	b[0] ^= 1
	must(t, os.WriteFile(filepath.Join(at, "SHA256SUMS"), b, 0o666))
	if codes, _, log = a.run(t, dir, map[string]string{"version": "0.9.0", "archive-url": url}); equalInts(codes, 0) {
		t.Errorf("a wrong sum: %s", log)
	}
}

// TestAction runs the steps of the composite action in a clean folder: good, then
// grown beyond its limits, then without a base.
func TestAction(t *testing.T) {
	testenv.Tool(t, "cc", "gcc")
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	a := readAction(t)
	testenv.Require(t, len(a.Runs.Steps) == 4 && len(a.Outputs) == 3, "%d steps, %d outputs", len(a.Runs.Steps),
		len(a.Outputs))
	self := testenv.Must(os.Executable())(t)
	dir := t.TempDir()
	// the test's program is nncc under that name (TestMain)
	program := filepath.Join(t.TempDir(), "nncc")
	must(t, os.Symlink(self, program))
	tinyModel(t, dir)
	inputs := map[string]string{"model": "tiny.onnx", "board": "host", "flags": "--cases 1 --name 'net'",
		"version": "path:" + program, "base": "base"}
	codes, out, log := a.run(t, dir, inputs)
	if !equalInts(codes, 0, 0, 0, 0) || !strings.Contains(out, "report=nncc-out/report.json") ||
		!strings.Contains(log, "there is no base") {
		t.Fatalf("%v: %s\n%s", codes, out, log)
	}
	_, err := os.Stat(filepath.Join(dir, "nncc-out", "net.h"))
	testenv.Check(t, err == nil, "%v", err)
	must(t, os.Rename(filepath.Join(dir, "nncc-out"), filepath.Join(dir, "base")))
	writeModel(t, filepath.Join(dir, "tiny.onnx"), `(float[1, 4] x) => (float[1, 4] y) <float[4, 4] w = {1, 2, 3, 4,
		5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}> { a = MatMul (x, w) b = MatMul (a, w) y = MatMul (b, w) }`)
	inputs["max-growth"] = "weights=0,ram=1M"
	codes, out, log = a.run(t, dir, inputs)
	if !equalInts(codes, 0, 0, 0, 3) || !strings.Contains(out, "comment=nncc-out-diff.md") ||
		!strings.Contains(out, "### nncc: 1 gate exceeded") || !strings.Contains(log, "--max-growth weights=0") {
		t.Errorf("%v: %s\n%s", codes, out, log)
	}
	inputs["flags"], inputs["max-growth"] = "--cases 1 --name net --max-ram 1", ""
	codes, _, log = a.run(t, dir, inputs)
	testenv.Check(t, equalInts(codes, 0, 0, 3, 0), "%v\n%s", codes, log)
	b := testenv.Must(os.ReadFile(filepath.Join(dir, "nncc-junit.xml")))(t)
	if cases, err := junittest.Parse(b); err != nil || !strings.Contains(string(b), "--max-ram 1") || len(cases) < 3 {
		t.Errorf("%v: %s", err, b)
	}
}

func equalInts(a []int, b ...int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestBisectStatus: a stage that does more than it may is exit status 1 and
// named; without one it is 0.
func TestBisectStatus(t *testing.T) {
	m := tinyModel(t, t.TempDir())
	if code, out, msg := call("bisect", "-board", "cortex-m4", m); code != exitOK ||
		!strings.Contains(out, "no stage does more") {
		t.Errorf("exit status %d: %s%s", code, out, msg)
	}
	row := testenv.Must(lower.Find("decompose"))(t)
	right := row.Run
	defer func() { row.Run = right }()
	row.Run = func(s *lower.State) { // a wrong rewrite: constants are zeros
		for _, n := range s.Graph.Nodes {
			if v := n.Input(1); v != nil && v.Const != nil {
				v.Const = tensor.New(v.Type.DType, v.Type.Shape)
			}
		}
		right(s)
	}
	code, out, msg := call("bisect", "-board", "cortex-m4", m)
	if code != exitDiffer || !strings.Contains(out, "-decompose is the first stage that does more than it may") {
		t.Errorf("exit status %d: %s%s", code, out, msg)
	}
}

// TestJUnit: the file is there on every exit status behind the flags, says what
// the status says, and names what failed.
func TestJUnit(t *testing.T) {
	testenv.Tool(t, "cc", "gcc")
	dir := t.TempDir()
	t.Chdir(dir)
	m := tinyModel(t, dir)
	x := writeNpyOf(t, "x.npy", []int{1, 4}, 1)
	must(t, os.Mkdir("golden", 0o777))
	writeNpy(t, "golden/input_0.npy")
	must(t, os.WriteFile("bad.onnx", []byte("noise"), 0o666))
	writeNpyOf(t, "golden/output_0.npy", []int{1, 2}, 7)
	for _, k := range []struct {
		args   string
		code   int
		failed string // CLASS/NAME of the one case that did not pass; "": none
		cases  int    // at least
	}{
		{"verify --board host --cases 1 --layers tiny.onnx", exitOK, "", 4},
		{"verify --board host --cases 1 --max-ram 1M --max-fallback 9 tiny.onnx", exitOK, "", 5},
		{"verify --board host --golden golden --precision float32 tiny.onnx", exitDiffer,
			"failure tiny.onnx.golden/y", 4},
		{"verify --board host --cases 1 --max-ram 1 tiny.onnx", exitGate, "failure tiny.onnx.gate/--max-ram 1", 4},
		{"compile --board host --max-ram 1 --out o tiny.onnx", exitGate, "failure tiny.onnx.gate/--max-ram 1", 2},
		{"compile --board host --max-ram 1M --out o tiny.onnx", exitOK, "", 2},
		{"explain --board host --max-ram 1 tiny.onnx", exitGate, "failure tiny.onnx.gate/--max-ram 1", 2},
		{"run --board host --max-ram 1 --input x.npy tiny.onnx", exitGate, "failure tiny.onnx.gate/--max-ram 1", 2},
		{"profile --board host --cases 1 --max-ram 1 tiny.onnx", exitGate, "failure tiny.onnx.gate/--max-ram 1", 3},
		{"eval --data x.npy --board host --min-sqnr -100 tiny.onnx", exitOK, "", 2},
		{"eval --data x.npy --board host --min-sqnr 200 tiny.onnx", exitGate, "failure tiny.onnx.gate/--min-sqnr 200",
			2},
		{"compile --board host --min-sqnr -100 --out o tiny.onnx", exitOK, "", 2},
		{"verify --board host --cases 1 --min-sqnr 200 tiny.onnx", exitGate, "failure tiny.onnx.gate/--min-sqnr 200",
			4},
		{"verify --board host bad.onnx", exitUsage, "error nncc/verify bad.onnx", 1},
		{"verify --board nothere tiny.onnx", exitUsage, "error nncc/verify tiny.onnx", 1},
		{"compile --board host --strict --out o2 tiny.onnx", exitUsage, "error nncc/compile tiny.onnx", 1},
	} {
		file := filepath.Join("results", "j.xml")
		os.Remove(file)
		code, _, msg := call(append(strings.Fields(k.args), "--junit", file)...)
		testenv.Check(t, code == k.code, "%s: exit status %d, want %d: %s", k.args, code, k.code, msg)
		b := testenv.Must(os.ReadFile(file))(t)
		cases, err := junittest.Parse(b)
		if err != nil {
			t.Errorf("%s: %v\n%s", k.args, err, b)
			continue
		}
		var failed []string
		for _, c := range cases {
			if c.Problem == "" {
				continue
			}
			failed = append(failed, c.Problem+" "+c.Class+"/"+c.Name)
			if first, _, _ := strings.Cut(c.Message, ":"); !strings.Contains(msg, first) && code != exitDiffer {
				t.Errorf("%s: %q is not what stderr says: %s", k.args, c.Message, msg)
			}
		}
		if got := strings.Join(failed, " "); got != k.failed || len(cases) < k.cases {
			t.Errorf("%s: failed %q of %d cases, want %q of %d\n%s", k.args, got, len(cases), k.failed, k.cases, b)
		}
	}
	// Where no file can be, and what is read: nothing runs, nothing is lost.
	for _, to := range []string{".", m, "x.npy"} {
		before, _ := os.ReadFile(to)
		code, _, msg := call("run", "--input", x, "--out", "r", "--junit", to, m)
		after, _ := os.ReadFile(to)
		testenv.Check(t, code == exitUsage && strings.Contains(msg, "--junit") && string(before) == string(after),
			"--junit %s: exit status %d: %s", to, code, msg)
	}
}
