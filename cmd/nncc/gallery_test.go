// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/debian"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// gallery are the examples whose README goes from data to verified firmware.
var gallery = []string{"detector", "gesture", "keyword", "machine", "picture", "sensor"}

// TestGallery runs the commands of their READMEs, with the models that lie there.
func TestGallery(t *testing.T) {
	testenv.Slow(t)
	walk(t, nil, func(command string) string { return command })
}

// TestTraining trains the networks of the gallery in a clean Debian, as their READMEs say, and runs the commands with
// these.
func TestTraining(t *testing.T) {
	s := debian.New(t)
	trained := func(dir, command string) {
		work := s.Path("tmp/gallery")
		copied := exec.Command("sh", "-ec", `rm -rf "$1"; mkdir -p "$1/cmd/nncc/examples"
cp -r cmd/nncc/examples/gallery "$1/cmd/nncc/examples"; cp -r "$2" "$1/out"`, "sh", work, filepath.Join(dir, "out"))
		out, err := copied.CombinedOutput()
		testenv.Require(t, err == nil, "%v\n%s", err, out)
		s.Run(t, "/tmp/gallery", command)
		out, err = exec.Command("cp", "-r", filepath.Join(work, "out"), dir).CombinedOutput()
		testenv.Require(t, err == nil, "%v\n%s", err, out)
	}
	models := regexp.MustCompile(`cmd/nncc/examples/(\w+)/(\w+\.(onnx|tflite))`)
	walk(t, trained, func(command string) string { return models.ReplaceAllString(command, "out/$1/$2") })
}

// figures are what a README promises.
var figures = regexp.MustCompile("`([0-9.]+)`")

// walk runs the commands of the gallery in the tree, with out below a folder of their own: python trains, where it is
// not nil, and nncc changes commands of nncc before.
func walk(t *testing.T, python func(dir, command string), nncc func(command string) string) {
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	t.Chdir(filepath.Join("..", ".."))
	for _, name := range gallery {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			readme := string(testenv.Must(os.ReadFile("cmd/nncc/examples/" + name + "/README.md"))(t))
			testenv.Check(t, strings.Count(readme, "\n") < 30, "README.md has 30 lines or more")
			var said bytes.Buffer
			verbs := map[string]int{}
			for line := range strings.Lines(strings.ReplaceAll(readme, " \\\n        ", " ")) {
				command, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
				words := strings.Fields(command)
				if !ok || len(words) < 2 {
					continue
				}
				verbs[words[0]+" "+words[1]]++
				at := func(s string) string { return strings.ReplaceAll(s, " out/", " "+dir+"/out/") }
				switch {
				case python == nil && (words[0] == "python3" || strings.Contains(command, ".npz")):
				case words[0] == "python3":
					python(dir, command)
				case words[0] == "go":
					out, err := exec.Command("sh", "-c", at(command)).CombinedOutput()
					testenv.Require(t, err == nil, "%s: %v\n%s", command, err, out)
				default:
					code := Main(context.Background(), strings.Fields(at(nncc(command)))[1:], &said, &said)
					testenv.Require(t, code == exitOK, "%s: status %d\n%s", command, code, said.String())
				}
			}
			testenv.Check(t, verbs["./nncc eval"] == 1 && verbs["./nncc verify"] == 1, "commands %v", verbs)
			for _, figure := range figures.FindAllStringSubmatch(readme, -1) {
				testenv.Check(t, strings.Contains(said.String(), figure[1]), "README.md says %s, and nncc\n%s",
					figure[1], said.String())
			}
			t.Log(said.String())
		})
	}
}
