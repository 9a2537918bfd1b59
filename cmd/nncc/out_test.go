// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
)

// TestOutPlaces: no verb replaces what is not a regular file or a folder of its
// own, follows a link in the place of its output, or writes over what it reads.
func TestOutPlaces(t *testing.T) {
	dir := t.TempDir()
	m := tinyModel(t, dir)
	x := writeNpy(t, filepath.Join(dir, "x.npy"))
	script := filepath.Join(dir, "s.yaml")
	must(t, os.WriteFile(script, []byte("steps:\n- simplify:\n"), 0o666))
	victim := filepath.Join(dir, "victim")
	must(t, os.MkdirAll(filepath.Join(dir, "theirs"), 0o777))
	must(t, os.WriteFile(filepath.Join(dir, "theirs", "notes.txt"), []byte("mine"), 0o666))
	must(t, os.MkdirAll(filepath.Join(dir, "empty"), 0o777))
	places := map[string]func(p string) error{
		"a pipe":                func(p string) error { mkfifo(t, p); return nil },
		"a link to a file":      func(p string) error { return os.Symlink(victim, p) },
		"a link to a folder":    func(p string) error { return os.Symlink(filepath.Join(dir, "empty"), p) },
		"a dangling link":       func(p string) error { return os.Symlink(filepath.Join(dir, "nowhere"), p) },
		"a link to a device":    func(p string) error { return os.Symlink(os.DevNull, p) },
		"a folder of others":    func(p string) error { return os.CopyFS(p, os.DirFS(filepath.Join(dir, "theirs"))) },
		"below a file":          nil,
		"a device":              nil,
		"the model":             nil,
		"the script":            nil,
		"the input":             nil,
		"a link to the model":   func(p string) error { return os.Link(m, p) },
		"nothing with a parent": nil,
	}
	folders := map[string][]string{
		"compile": {"compile", "-board", "host", "--out"}, "dump": {"compile", "-board", "host", "--out",
			filepath.Join(dir, "never"), "--dump-ir"},
		"run": {"run", "--input", x, "--out"}, "explain": {"explain", "-board", "host", "--out"},
	}
	singles := map[string][]string{
		"legalize": {"legalize", "--input", x, "--out"}, "quantize": {"quantize", "--calib", x, "--out"},
		"surgery": {"surgery", "-f", script, "--input", x, "--out"},
	}
	n := 0
	for what, make := range places {
		for verb, args := range folders {
			singles[verb] = args // all verbs
		}
		for verb, args := range singles {
			n++
			p := filepath.Join(dir, fmt.Sprintf("place%d", n))
			switch what {
			case "below a file":
				p = filepath.Join(victim, "x")
			case "a device":
				p = os.DevNull
			case "the model":
				p = m
			case "the script":
				p = script
			case "the input":
				p = x
			case "nothing with a parent":
				p = filepath.Join(dir, "theirs", "notes.txt", "out")
			}
			must(t, os.WriteFile(victim, []byte("victim"), 0o666))
			before, _ := os.ReadFile(p)
			if make != nil {
				must(t, make(p))
				if !strings.Contains(what, "pipe") && !strings.Contains(what, "device") {
					before, _ = os.ReadFile(p)
				}
			}
			if what == "the script" && verb != "surgery" {
				continue
			}
			code, _, msg := call(append(slices.Clone(args), p, m)...)
			if code != exitUsage || !strings.Contains(msg, filepath.Base(p)) &&
				!strings.Contains(msg, filepath.Base(filepath.Dir(p))) {
				t.Errorf("%s, %s: exit status %d: %s", verb, what, code, msg)
			}
			if make != nil {
				if st, err := os.Lstat(p); err != nil || strings.Contains(what, "link") &&
					what != "a link to the model" && st.Mode()&os.ModeSymlink == 0 {
					t.Errorf("%s, %s: it was replaced: %v %v", verb, what, st, err)
				}
			}
			if !strings.Contains(what, "pipe") && !strings.Contains(what, "device") {
				after, _ := os.ReadFile(p)
				testenv.Check(t, string(after) == string(before), "%s, %s: it changed", verb, what)
			}
			if b, err := os.ReadFile(victim); err != nil || string(b) != "victim" {
				t.Errorf("%s, %s: a file of the user's changed: %q %v", verb, what, b, err)
			}
		}
	}
	for _, d := range []string{"empty", "nowhere", "never"} {
		es, err := os.ReadDir(filepath.Join(dir, d))
		testenv.Check(t, len(es) <= 0, "%s: %v %v", d, es, err)
	}
}

// TestSavePlaces: a script's save step stays in the folder of the result and
// replaces only what a save step wrote.
func TestSavePlaces(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	m := tinyModel(t, dir)
	victim := filepath.Join(outside, "victim")
	must(t, os.WriteFile(victim, []byte("victim"), 0o666))
	must(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o666))
	must(t, os.Symlink(outside, filepath.Join(dir, "away")))
	must(t, os.Symlink(victim, filepath.Join(dir, "link.onnx")))
	b := testenv.Must(os.ReadFile(m))(t)
	must(t, os.WriteFile(filepath.Join(dir, "other.onnx"), b, 0o666))
	script := filepath.Join(dir, "s.yaml")
	try := func(save string) (int, string) {
		must(t, os.WriteFile(script, []byte("steps:\n- save: {file: "+yamlText(save)+"}\n"), 0o666))
		code, _, msg := call("surgery", "-f", script, "--out", filepath.Join(dir, "result.onnx"), m)
		return code, msg
	}
	for _, save := range []string{"away/victim", "away/new.onnx", "../x.onnx", "/tmp/x.onnx", "link.onnx", "notes.txt",
		"other.onnx", "tiny.onnx", "s.yaml", "./s.yaml", "result.onnx", "./result.onnx", ".", "", "a/../../x.onnx",
		"notes.txt/x.onnx", "a\x00b", "..", "away"} {
		code, msg := try(save)
		testenv.Check(t, code == exitUsage, "%q: exit status %d: %s", save, code, msg)
		_, err := os.Lstat(filepath.Join(dir, "result.onnx"))
		testenv.Require(t, err != nil, "%q: a result was written", save)
	}
	es, err := os.ReadDir(outside)
	testenv.Check(t, err == nil && len(es) == 1, "%v %v", es, err)
	if b, err := os.ReadFile(victim); err != nil || string(b) != "victim" {
		t.Errorf("%q %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "notes.txt")); err != nil || string(b) != "mine" {
		t.Errorf("%q %v", b, err)
	}
	for range 2 { // what a save step wrote, the next one replaces
		code, msg := try("parts/new.onnx")
		testenv.Check(t, code == exitOK, "exit status %d: %s", code, msg)
	}
	code, msg := callAll("check", filepath.Join(dir, "parts", "new.onnx"))
	testenv.Check(t, code == exitOK, "exit status %d: %s", code, msg)
}

func callAll(args ...string) (int, string) {
	code, out, msg := call(args...)
	return code, out + msg
}

// locked is a buffer that a timer may write to.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestPlainProgress: off a terminal a short command says nothing, a long one whole
// lines, counters not each of them; nothing comes after the end.
func TestPlainProgress(t *testing.T) {
	var b locked
	p := plainProgress(&b, time.Hour)
	p.say("reading")
	p.end()
	p.say("more")
	testenv.Equal(t, b.String(), "", "a short command says")
	b = locked{}
	p = plainProgress(&b, time.Hour)
	p.say("reading a\x1b[2J")
	p.wait.Reset(0) // the time has come
	for b.String() == "" {
		time.Sleep(time.Millisecond)
	}
	for i := range 1000 {
		p.say(fmt.Sprintf("sample %d of 1000", i+1))
	}
	p.done()
	p.say("writing")
	p.say("writing")
	p.end()
	testenv.Equal(t, b.String(), "nncc: reading a\\x1b[2J\nnncc: sample 1 of 1000\nnncc: writing\n", "said")
}

// TestQuiet: neither notes nor progress; warnings and results stay.
func TestQuiet(t *testing.T) {
	dir := t.TempDir()
	m := writeModel(t, filepath.Join(dir, "m.onnx"),
		`(float[N, 4] x) => (float[N, 2] y) <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { y = MatMul (x, w) }`)
	args := []string{"compile", "--board", "host", "--out", filepath.Join(dir, "o"), m}
	_, loud, msg := call(args...)
	testenv.Require(t, strings.Contains(msg, "nncc: note: ") && strings.Contains(msg, "nncc: warning: "),
		"this command has no note or no warning: %s", msg)
	for _, flag := range []string{"--quiet", "-q"} {
		must(t, os.RemoveAll(filepath.Join(dir, "o")))
		code, out, msg := call(append(args, flag)...)
		if code != exitOK || out != loud || strings.Contains(msg, "note") || !strings.Contains(msg, "nncc: warning: ") {
			t.Errorf("%s: exit status %d: %s%s", flag, code, out, msg)
		}
	}
}

// TestTFLite: programs of public models give what TensorFlow Lite Micro computes: integers
// bit for bit, floats within 1e-4, runs in order, with the state that they keep. On the host;
// small ones, with NNCC_LONG all, on two cores, too.
func TestTFLite(t *testing.T) {
	sharedata.Need(t, "tflite", "manifest.json")
	testenv.Tool(t, "cc", "cc")
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	for _, p := range sharedata.Glob("tflite", "*.tflite") {
		name := strings.TrimSuffix(filepath.Base(p), ".tflite")
		info := testenv.Must(os.Stat(p))(t)
		boards := []string{"host"}
		if info.Size() < smallFile || testenv.Long() {
			boards = append(boards, "cortex-m4", "cortex-m55")
		}
		for _, board := range boards {
			t.Run(name+"/"+board, func(t *testing.T) {
				golden, tolerance := casesOf(t, strings.TrimSuffix(p, "tflite")+"npz")
				if code, out, msg := call("verify", "-board", board, "--golden", golden, "--tolerance", tolerance,
					p); code != 0 {
					t.Errorf("exit %d\n%s%s", code, out, msg)
				}
			})
		}
	}
}

// smallFile is the size in bytes up to which a model is run on cores by default.
const smallFile = 16 << 10

// TestTFLiteDamaged: damaged models are refused as input, or compile.
func TestTFLiteDamaged(t *testing.T) {
	files := lists.Map(tflitetest.Layers(), func(l *tflitetest.Layer) []byte { return l.Bytes() })
	for _, p := range sharedata.Glob("tflite", "*.tflite") {
		if b, err := os.ReadFile(p); err == nil && len(b) < smallFile {
			files = append(files, b)
		}
	}
	from, count := testenv.Range(t, 40)
	if testenv.Long() {
		count *= 10
	}
	compiled := 0
	path := filepath.Join(t.TempDir(), "net.tflite")
	for seed := from; seed < from+count; seed++ {
		rng := rand.New(rand.NewPCG(uint64(seed), 11))
		must(t, os.WriteFile(path, tflitetest.Damage(rng, files[rng.IntN(len(files))]), 0o666))
		for _, board := range []string{"cortex-m55", "cortex-m0plus"} {
			switch code, out, msg := call("-board", board, "--name", "net", "--out", filepath.Join(t.TempDir(), "net"),
				path); code {
			case 0:
				compiled++
			case 2:
			default:
				t.Errorf("seed %d for %s: exit %d\n%s%s", seed, board, code, out, msg)
			}
		}
	}
	testenv.Check(t, compiled != 0 && compiled != 2*count, "%d of %d damaged files compile", compiled, 2*count)
}

// casesOf writes the runs of an archive, the first axis of each array, as folders of
// arrays, and gives the tolerance that outputs of their type have.
func casesOf(t *testing.T, archive string) (dir, tolerance string) {
	t.Helper()
	entries := testenv.Must(npz.ReadNpzFile(archive, npz.Limits{}))(t)
	dir, tolerance = t.TempDir(), "0"
	for _, e := range entries {
		name, a := e.Name, e.Array
		if strings.HasPrefix(name, "output") && a.DType == "float32" {
			tolerance = "1e-4"
		}
		for run := range a.Shape[0] {
			at := filepath.Join(dir, fmt.Sprintf("case_%03d", run))
			must(t, os.MkdirAll(at, 0o777))
			n := a.Len() / a.Shape[0]
			part := a.Part(run*n, n)
			part.Shape = a.Shape[1:]
			must(t, npz.WriteNpyFile(filepath.Join(at, name+".npy"), part))
		}
	}
	return dir, tolerance
}

// nnccCommand is the command line in a process of its own: this program, which
// TestMain makes nncc by its name.
func nnccCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self := testenv.Must(os.Executable())(t)
	return &exec.Cmd{Path: self, Args: append([]string{"nncc"}, args...)}
}

// tree reads all files below dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			var b []byte
			b, err = os.ReadFile(filepath.Join(dir, p))
			m[p] = string(b)
		}
		return err
	})
	must(t, err)
	return m
}

func writeModel(t *testing.T, path, graph string) string {
	t.Helper()
	must(t, os.WriteFile(path, []byte(`<ir_version: 8, opset_import: ["" : 17]> g `+graph), 0o666))
	return path
}

// TestConcurrentOut: processes that write to one --out, some of which are
// killed at any moment, leave a whole folder of one of them; the user's own file
// in it stays. NNCC_RANDOM is the number of rounds.
func TestConcurrentOut(t *testing.T) {
	rounds := testenv.Count(t, 6)
	dir := t.TempDir()
	models := []string{
		writeModel(t, filepath.Join(dir, "one.onnx"), `(float[1, 4] x) => (float[1, 4] y) { y = Relu (x) }`),
		writeModel(t, filepath.Join(dir, "two.onnx"),
			`(float[1, 8] x) => (float[1, 8] y) { a = Sigmoid (x) y = Neg (a) }`),
	}
	args := func(model, out string) []string {
		return []string{"-board", "host", "--precision", "float32", "--out", out, model}
	}
	whole := map[string]map[string]string{}
	var takes time.Duration
	for _, m := range models {
		ref := filepath.Join(dir, "ref-"+filepath.Base(m))
		start := time.Now()
		if out, err := nnccCommand(t, args(m, ref)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		takes = max(takes, time.Since(start))
		whole[m] = tree(t, ref)
	}
	parent := filepath.Join(dir, "work")
	out := filepath.Join(parent, "out")
	counts := map[string]int{}
	check := func(round int, must bool) {
		t.Helper()
		if _, err := os.Stat(out); err != nil {
			testenv.Require(t, !must, "round %d: %v, though a process ended well", round, err)
			counts["absent"]++
			return
		}
		got := tree(t, out)
		if round > 0 && got["mine/notes.txt"] != "mine" {
			t.Fatalf("round %d: the user's file is lost: %v", round, slices.Sorted(maps.Keys(got)))
		}
		delete(got, "mine/notes.txt")
		for m, want := range whole {
			if maps.Equal(got, want) {
				counts[filepath.Base(m)]++
				return
			}
		}
		var report struct{ Files []string }
		_ = json.Unmarshal([]byte(got["report.json"]), &report)
		t.Fatalf("round %d: a mixture: %v, of which %v are in the report", round, slices.Sorted(maps.Keys(got)),
			report.Files)
	}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(uint64(round), 12))
		n := 2 + rng.IntN(3)
		cmds, errs, says := make([]*exec.Cmd, n), make([]error, n), make([]bytes.Buffer, n)
		killed := make([]bool, n)
		for i := range cmds {
			m := models[rng.IntN(2)]
			if round%3 == 0 {
				m = models[0]
			}
			cmds[i] = nnccCommand(t, args(m, out)...)
			cmds[i].Stderr = &says[i]
			must(t, cmds[i].Start())
			if killed[i] = rng.IntN(3) == 0; killed[i] {
				c, after := cmds[i], time.Duration(rng.Int64N(int64(2*takes)))
				go func() {
					time.Sleep(after)
					_ = c.Process.Kill()
				}()
			}
		}
		well := false
		for i, c := range cmds {
			errs[i] = c.Wait()
			well = well || errs[i] == nil
			switch {
			case errs[i] == nil:
				counts["ended"]++
			case killed[i] && strings.Contains(errs[i].Error(), "killed"):
				counts["killed"]++
			default:
				t.Fatalf("round %d: %v\n%s", round, errs[i], says[i].String())
			}
		}
		check(round, well)
		must(t, os.MkdirAll(filepath.Join(out, "mine"), 0o777))
		if len(tree(t, out)) == 0 { // nobody was here: it would be somebody else's
			os.RemoveAll(out)
			if o, err := nnccCommand(t, args(models[0], out)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, o)
			}
			must(t, os.MkdirAll(filepath.Join(out, "mine"), 0o777))
		}
		must(t, os.WriteFile(filepath.Join(out, "mine", "notes.txt"), []byte("mine"), 0o666))
	}
	// The next one clears away what those that were killed left.
	if o, err := nnccCommand(t, args(models[1], out)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, o)
	}
	check(rounds, true)
	es, err := os.ReadDir(parent)
	testenv.Check(t, err == nil && len(es) == 1, "left behind: %v %v", es, err)
	t.Log(fmt.Sprint(rounds, " rounds: ", counts))
}
