// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	_ "embed"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/postprocess"
	"github.com/nncc/nncc/ir/postprocess/posttest"
)

// detector is a model that finds boxes, and listener one that hears keywords in samples.
func detector(t *testing.T, projects ...string) *model {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	b, shapes := posttest.Boxes(r)
	m := outputs(t, r, "detector", shapes, b.Scores == postprocess.None, &codegen.Postprocess{Boxes: b}).model
	m.opt.Projects = projects
	return m.emit(t)
}

func listener(t *testing.T, projects ...string) *model {
	t.Helper()
	m := &model{prefix: "listener", opt: codegen.Options{Projects: projects}, src: `
		in %z : f32[2,30]
		in %s : f32[1,4]
		%w = Relu(%z)
		%y = Relu(%s)
		out "w" = %w
		out "y" = %y`,
		unit: codegen.Model{Preprocess: []codegen.Preprocess{soundOf("z")}, Postprocess: &codegen.Postprocess{
			Outputs:  []string{"y"},
			Classes:  &postprocess.Classes{Count: 4, Top: 3, Threshold: []float32{0.1}},
			Keywords: &postprocess.Keywords{Count: 4, Window: 2, Threshold: []float32{0.3}}}}}
	return m.generate(t)
}

//
//go:embed testdata/listenerClass.cpp
var listenerClass string

//
//go:embed testdata/detectorClass.cpp
var detectorClass string

//
//go:embed testdata/listenerCrate.rs
var listenerCrate string

// TestProcessingInClass: what surrounds a model is there in its class, and does what the
// functions do.
func TestProcessingInClass(t *testing.T) {
	for main, m := range map[string]*model{listenerClass: listener(t), detectorClass: detector(t)} {
		t.Run(m.prefix, func(t *testing.T) {
			dir := t.TempDir()
			m.write(t, dir)
			testenv.OK(t, os.WriteFile(filepath.Join(dir, "main.cpp"), []byte(main), 0o644))
			objects := hostObjects(t, dir, m)
			for _, std := range []string{"-std=c++11", "-std=c++20"} {
				run(t, dir, testenv.Tool(t, "cc", "g++"), slices.Concat(cppWarnings, includes, []string{std, "-o",
					"main", "main.cpp"}, objects, []string{"-lm"})...)
				run(t, dir, filepath.Join(dir, "main"))
			}
		})
	}
}

// TestProcessingInCrate is the same for the crate, whose own tests run, too.
func TestProcessingInCrate(t *testing.T) {
	testenv.Tool(t, "cargo", "cargo")
	home := t.TempDir()
	for _, m := range []*model{listener(t, "rust"), detector(t, "rust")} {
		t.Run(m.prefix, func(t *testing.T) {
			dir := t.TempDir()
			m.write(t, dir)
			if m.prefix == "listener" {
				path := filepath.Join(dir, "rust", "tests", "runs.rs")
				testenv.OK(t, os.WriteFile(path, []byte(m.file("rust/tests/runs.rs")+listenerCrate), 0o644))
			}
			cargo(t, dir, home, "test", "--offline", "--quiet", "--test", "runs")
		})
	}
}
