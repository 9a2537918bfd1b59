// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
				if after, _ := os.ReadFile(p); string(after) != string(before) {
					t.Errorf("%s, %s: it changed", verb, what)
				}
			}
			if b, err := os.ReadFile(victim); err != nil || string(b) != "victim" {
				t.Errorf("%s, %s: a file of the user's changed: %q %v", verb, what, b, err)
			}
		}
	}
	for _, d := range []string{"empty", "nowhere", "never"} {
		if es, err := os.ReadDir(filepath.Join(dir, d)); len(es) > 0 {
			t.Errorf("%s: %v %v", d, es, err)
		}
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
	b, err := os.ReadFile(m)
	must(t, err)
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
		if code, msg := try(save); code != exitUsage {
			t.Errorf("%q: exit status %d: %s", save, code, msg)
		}
		if _, err := os.Lstat(filepath.Join(dir, "result.onnx")); err == nil {
			t.Fatalf("%q: a result was written", save)
		}
	}
	if es, err := os.ReadDir(outside); err != nil || len(es) != 1 {
		t.Errorf("%v %v", es, err)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "victim" {
		t.Errorf("%q %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "notes.txt")); err != nil || string(b) != "mine" {
		t.Errorf("%q %v", b, err)
	}
	for range 2 { // what a save step wrote, the next one replaces
		if code, msg := try("parts/new.onnx"); code != exitOK {
			t.Errorf("exit status %d: %s", code, msg)
		}
	}
	if code, msg := callAll("check", filepath.Join(dir, "parts", "new.onnx")); code != exitOK {
		t.Errorf("exit status %d: %s", code, msg)
	}
}

func callAll(args ...string) (int, string) {
	code, out, msg := call(args...)
	return code, out + msg
}
