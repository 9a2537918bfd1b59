// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/rogpeppe/go-internal/txtar"
)

// windowModel writes the network over a window of the script about --stream.
func windowModel(t *testing.T, path string) {
	t.Helper()
	a := testenv.Must(txtar.ParseFile(filepath.Join("testdata", "script", "stream.txtar")))(t)
	for _, f := range a.Files {
		if f.Name == "wake.ir" {
			m := testenv.Must(parseModel(f.Name, string(f.Data)))(t)
			b := testenv.Must(onnx.Marshal(m))(t)
			must(t, os.WriteFile(path, b, 0o666))
			return
		}
	}
	t.Fatal("stream.txtar has no wake.ir")
}

// liteModel is an int8 model of one layer.
func liteModel() []byte {
	const int8s, relu = 9, 19 // numbers of the format
	t := func(name string) tflitetest.Tensor {
		return tflitetest.Tensor{Name: name, Type: int8s, Shape: []int32{1, 8}, Scale: []float32{0.5}, Zero: []int64{0}}
	}
	return tflitetest.Graph{Tensors: []tflitetest.Tensor{t("x"), t("y")}, Ops: []tflitetest.Op{{Code: relu,
		In: []int32{0}, Out: []int32{1}}}, Inputs: []int32{0}, Outputs: []int32{1}}.Bytes()
}

// detector writes a network that looks for boxes of two classes, and where they are in pictures.
func detector(t *testing.T, dir string) {
	t.Helper()
	text := `<ir_version: 8, opset_import: ["" : 17]> g (float[1, 1, 28, 28] x) => (float[1, 6, 16] y)
		<int64[3] shape = {1, 6, 16}, float[6, 1, 7, 7] w = {` + strings.Repeat("0.5,", 6*7*7-1) + `0.5}>
		{ m = Conv <kernel_shape = [7, 7], strides = [7, 7]> (x, w) s = Sigmoid (m) y = Reshape (s, shape) }`
	m := testenv.Must(parseModel("detector.txt", text))(t)
	b := testenv.Must(onnx.Marshal(m))(t)
	must(t, os.WriteFile(filepath.Join(dir, "detector.onnx"), b, 0o666))
	pictures := testenv.Must(filepath.Glob(filepath.Join(dir, "pictures", "*", "*.png")))(t)
	for _, p := range pictures {
		name := filepath.Join(dir, "boxes", strings.TrimSuffix(filepath.Base(p), ".png")+".txt")
		must(t, os.MkdirAll(filepath.Dir(name), 0o777))
		must(t, os.WriteFile(name, []byte("1 0.5 0.5 0.4 0.6\n"), 0o666))
	}
}

// TestTopics runs the commands that the topics of help show, with the shipped
// model in place of model.onnx: they end with status 0, and say something.
func TestTopics(t *testing.T) {
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	digits := testenv.Must(filepath.Abs(filepath.Join("examples", "digits")))(t)
	dir := t.TempDir()
	for from, to := range map[string]string{"digits.onnx": "model.onnx", "digits_calib.npz": "samples.npz"} {
		b := testenv.Must(os.ReadFile(filepath.Join(digits, from)))(t)
		must(t, os.WriteFile(filepath.Join(dir, to), b, 0o666))
	}
	golden := testenv.Must(os.ReadFile(filepath.Join(digits, "golden", "case_0", "input_0.npy")))(t)
	must(t, os.WriteFile(filepath.Join(dir, "image.npy"), golden, 0o666))
	must(t, testImages("examples", filepath.Join(dir, "test.npz"), 100))
	must(t, testImages("examples", filepath.Join(dir, "pictures"), 20))
	detector(t, dir)
	for name, text := range map[string]string{
		"camera.yaml": "image:\n  resize: fill\n  format: rgb565\n  frame: 160x120\n  emit: true\n",
		"mix.yaml":    "default: int8\n", // what --propose writes
		"sound.yaml":  "audio:\n  rate: 16000\n  window: 28\n  hop: 14\n",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	writeSounds(t, filepath.Join(dir, "sounds"))
	windowModel(t, filepath.Join(dir, "window.onnx"))
	must(t, os.WriteFile(filepath.Join(dir, "model.tflite"), liteModel(), 0o666))
	testenv.OK(t, testenv.Err(npz.ReadFile(filepath.Join(dir, "image.npy"), npz.Limits{})))
	t.Chdir(dir)
	ran := map[string]bool{}
	for name, text := range topics {
		t.Run(name, func(t *testing.T) { runTopic(t, name, text, ran) })
	}
}

// unmarked is a command that a topic shows as an example, and that is not run.
var unmarked = regexp.MustCompile(`(?m)^ {4,}nncc .*$`)

// TestReadme runs the commands of README.md's way from the clone to QEMU.
func TestReadme(t *testing.T) {
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	readme := testenv.Must(os.ReadFile(filepath.Join("..", "..", "README.md")))(t)
	dir := t.TempDir()
	for _, name := range []string{"digits.onnx", "digits_calib.npz"} {
		b := testenv.Must(os.ReadFile(filepath.Join("examples", "digits", name)))(t)
		must(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
	}
	t.Chdir(dir)
	commands := 0
	for _, line := range strings.Split(string(readme), "\n") {
		if command, ok := strings.CutPrefix(line, "    nncc "); ok {
			commands++
			var out, errw bytes.Buffer
			code := Main(context.Background(), strings.Fields(command), &out, &errw)
			if code != exitOK || out.Len() == 0 {
				t.Errorf("nncc %s: status %d\n%s%s", command, code, out.String(), errw.String())
			}
		}
	}
	testenv.Check(t, commands >= 3, "README.md shows %d commands", commands)
	_, err := os.Stat(filepath.Join("product", "README.md"))
	testenv.Check(t, err == nil, "%v", err)
}

// runTopic runs the commands of a topic that no other has had.
func runTopic(t *testing.T, name, text string, ran map[string]bool) {
	writeBlocks(t, text)
	commands := 0
	if unmarked.MatchString(text) {
		t.Errorf("%s.txt: %q stands without a dollar, so it does not run here", name, unmarked.FindString(text))
	}
	for i, line := range strings.Split(text, "\n") {
		testenv.Check(t, len(line) <= 120, "%s.txt:%d: %d columns, want at most 120", name, i+1, len(line))
	}
	text = strings.ReplaceAll(text, " \\\n        ", " ") // one command on two lines
	for _, line := range strings.Split(text, "\n") {
		if tool, ok := strings.CutPrefix(line, "    $ "); ok && !strings.HasPrefix(tool, "nncc ") {
			runTool(t, tool)
			continue
		}
		command, ok := strings.CutPrefix(line, "    $ nncc ")
		if !ok {
			continue
		}
		commands++
		if ran[command] || strings.Contains(command, "--propose") && !testenv.Long() { // propose.txtar has the same
			continue
		}
		ran[command] = true
		var out, errw bytes.Buffer
		if code := Main(context.Background(), strings.Fields(command), &out, &errw); code != exitOK || out.Len()+
			errw.Len() == 0 {
			t.Errorf("nncc %s: status %d\n%s%s", command, code, out.String(), errw.String())
		}
	}
	testenv.Check(t, commands != 0, "%s.txt has no command: has the form of examples changed?", name)
}

// writeBlocks writes the files that a topic shows: indented text under a line
// "# FILE".
func writeBlocks(t *testing.T, text string) {
	var name string
	var lines []string
	for _, line := range append(strings.Split(text, "\n"), "") {
		body, inside := strings.CutPrefix(line, "    ")
		file, begins := strings.CutPrefix(body, "# ")
		switch {
		case name == "" && inside && begins && filepath.Ext(file) != "" && !strings.Contains(file, " "):
			name, lines = file, nil
		case name != "" && inside:
			lines = append(lines, body)
		case name != "":
			must(t, os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o666))
			name = ""
		}
	}
}

// runTool runs another program that a topic shows, without a shell; quotes keep words
// together.
func runTool(t *testing.T, command string) {
	quoted := false
	words := strings.FieldsFunc(command, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
			return true
		}
		return r == ' ' && !quoted
	})
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	testenv.Check(t, err == nil, "%s: %v\n%s", command, err, out)
}

// TestGuides: help without an argument lists every topic and verb.
func TestGuides(t *testing.T) {
	code, out, msg := call("help")
	testenv.Require(t, code == exitOK, "%v", msg)
	for n, text := range topics {
		testenv.Check(t, strings.Contains(out, "  "+n+" ") && strings.Contains(out, title(text)),
			"the topic %s is not listed", n)
	}
	for n := range verbs {
		testenv.Check(t, strings.Contains(out, "  "+n+" "), "the verb %s is not listed", n)
	}
}

// writeSounds writes two recordings of 16 bits, 8000 samples a second.
func writeSounds(t *testing.T, dir string) {
	must(t, os.MkdirAll(dir, 0o777))
	for _, name := range []string{"a.wav", "b.wav"} {
		b := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00"),
			"\x02\x00\x10\x00data\x00\x10\x00\x00"...)
		for i := range 2048 {
			b = binary.LittleEndian.AppendUint16(b, uint16(int16(9000*math.Sin(float64(i*int(name[0]))/700))))
		}
		must(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
	}
}

// TestVersion: commit and date come from the linker, from what go build saw, or from the
// version that go install was asked for.
func TestVersion(t *testing.T) {
	built := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
		{Key: "vcs.modified", Value: "true"}}
	for _, k := range []struct {
		info         *debug.BuildInfo
		commit, date string
		modified     bool
	}{
		{nil, "", "", false},
		{built("(devel)"), "", "", false},
		{built("v1.2.3"), "", "", false},
		{built("(devel)", vcs...), "abc", "2026-01-02T03:04:05Z", true},
		{built("v0.0.0-20260102030405-0123456789ab"), "0123456789ab", "2026-01-02T03:04:05Z", false},
		{built("v0.1.1-0.20260102030405-0123456789ab+dirty"), "0123456789ab", "2026-01-02T03:04:05Z", false},
	} {
		b := buildOf(k.info)
		testenv.Check(t, b.Commit == k.commit && b.Date == k.date && b.Modified == k.modified, "%+v: %+v", k.info, b)
	}
	defer func(c, d string) { commit, date = c, d }(commit, date)
	commit, date = "def", "2026-05-05T00:00:00Z"
	b := buildOf(built("(devel)", vcs...))
	testenv.Check(t, b.Commit == "def" && b.Date == date && !b.Modified, "the linker's values are lost: %+v", b)
}
