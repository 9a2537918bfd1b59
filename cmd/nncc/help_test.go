package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	examples "github.com/nncc/nncc/cmd/nncc/examples/digits"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestTopics runs the commands that the topics of help show, with the shipped
// model in place of model.onnx: they end with status 0, and say something.
func TestTopics(t *testing.T) {
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	digits, err := filepath.Abs(filepath.Join("examples", "digits"))
	must(t, err)
	dir := t.TempDir()
	for from, to := range map[string]string{"digits.onnx": "model.onnx", "digits_calib.npz": "samples.npz"} {
		b, err := os.ReadFile(filepath.Join(digits, from))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, to), b, 0o666))
	}
	golden, err := os.ReadFile(filepath.Join(digits, "golden", "case_0", "input_0.npy"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "image.npy"), golden, 0o666))
	must(t, examples.WriteArrays(filepath.Join(dir, "test.npz"), 100))
	if _, err := npz.ReadFile(filepath.Join(dir, "image.npy"), npz.Limits{}); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	ran := map[string]bool{}
	for name, text := range topics {
		for _, line := range strings.Split(text, "\n") {
			command, ok := strings.CutPrefix(line, "    $ nncc ")
			if !ok || ran[command] {
				continue
			}
			ran[command] = true
			var out, errw bytes.Buffer
			if code := Main(context.Background(), strings.Fields(command), &out, &errw); code != exitOK || out.Len()+
				errw.Len() == 0 {
				t.Errorf("%s: nncc %s: status %d\n%s%s", name, command, code, out.String(), errw.String())
			}
		}
		for i, line := range strings.Split(text, "\n") {
			if len(line) > 120 {
				t.Errorf("%s.txt:%d: %d columns, want at most 120", name, i+1, len(line))
			}
		}
	}
	if len(ran) < 10 {
		t.Errorf("%d commands were run, want at least 10: has the form of examples changed?", len(ran))
	}
}
