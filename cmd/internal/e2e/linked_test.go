// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/verify"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// otherVersion is the library of another version of nncc, one that would not
// work with the code that this version emits: every parameter struct of nncc's
// own kernels ends with a field more, which moves what comes behind a struct in
// another one. Files of CMSIS-NN's family differ where cmsis says so.
func otherVersion(t testing.TB, cmsis bool) *runtimec.Library {
	t.Helper()
	other := fstest.MapFS{}
	tree := testenv.Must(runtimec.Tree())(t)
	structs := regexp.MustCompile(`(?m)^\} (nncc_\w+_params|nncc_(?:helium|dsp)_\w+);$`)
	for p, b := range tree {
		if strings.HasPrefix(p, "include/") && !strings.Contains(p, "cmsis_nn") && !strings.Contains(p, "mla") {
			b = structs.ReplaceAll(b, []byte("    int32_t of_another_version;\n$0"))
		}
		if cmsis && strings.HasSuffix(p, "arm_nnfunctions.h") {
			b = slices.Concat(b, []byte("/* of another version */\n"))
		}
		other[p] = &fstest.MapFile{Data: b}
	}
	lib := testenv.Must(runtimec.NewLibrary(other))(t)
	return lib
}

// Two networks that share kernels; the second has more than 64 KiB of weights.
const (
	smallNet = `graph "small" {
  in %x : f32[1,4,8,8]
  const %w : f32[8,4,3,3] = rand 1
  const %b : f32[8] = rand 2
  const %v : f32[128,10] = rand 3
  const %s : i64[2] = {1, 128}
  %c = Conv(%x, %w, %b) {pads=[1,1,1,1]}
  %r = Relu(%c)
  %p = MaxPool(%r) {kernel_shape=[2,2], strides=[2,2]}
  %f = Reshape(%p, %s)
  %g = MatMul(%f, %v)
  %y = Softmax(%g) {axis=1}
  out "y" = %y
}`
	largeNet = `graph "large" {
  in %x : f32[1,4,8,8]
  const %w : f32[16,4,3,3] = rand 11
  const %b : f32[16] = rand 12
  const %v : f32[1024,80] = rand 13
  const %s : i64[2] = {1, 1024}
  %c = Conv(%x, %w, %b) {pads=[1,1,1,1]}
  %r = Relu(%c)
  %f = Reshape(%r, %s)
  %g = MatMul(%f, %v)
  %y = Softmax(%g) {axis=1}
  out "y" = %y
}`
)

// linkable is an emitted folder that is linked with others.
type linkable struct {
	*driver.Compiled
	in, want [][]byte
	dir      string            // for builds by make
	libs     map[string]string // what it built, by flags
}

// compilePart compiles a network; the interpreter says what it computes.
func compilePart(t *testing.T, board, name, net string, lib *runtimec.Library) *linkable {
	t.Helper()
	c := config(name+".onnx", board)
	c.Name, c.Project, c.Cases, c.Emit.Library = name, "make,cmake,arduino", 1, lib
	p := &linkable{Compiled: compileNet(t, irtest.Parse(t, net), c), dir: t.TempDir(), libs: map[string]string{}}
	cases := testenv.Must(c.CasesOf(p.Compiled))(t)
	out := testenv.Must(interp.Run(p.Lowered.Graph, cases[0].Inputs, nil))(t)
	p.in = verify.Memory(cases[0].Inputs, p.Lowered.Ports().Inputs())
	for i, k := range p.Lowered.Ports().Outputs() {
		p.want = append(p.want, verify.Memory([]*tensor.Dense{out[i]}, []*ir.Value{p.Lowered.Graph.Out[k]})[0])
	}
	return p
}

// write puts the folder below dir, in a folder of its name: headers only, or all
// of it but the harness.
func (p *linkable) write(t *testing.T, dir string, headers bool) string {
	t.Helper()
	dir = filepath.Join(dir, p.Info.Prefix)
	for _, f := range p.Files {
		if strings.HasPrefix(f.Path, "harness/") || headers && path.Ext(f.Path) != ".h" {
			continue
		}
		putText(t, filepath.Join(dir, filepath.FromSlash(f.Path)), string(f.Data))
	}
	return dir
}

func putText(t *testing.T, path, text string) {
	t.Helper()
	require(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require(t, os.WriteFile(path, []byte(text), 0o666))
}

// tool runs a program of the build.
func runTool(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	testenv.Require(t, err == nil, "%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
}

// ways are how the files of several folders get into one image: each writes
// the folders below dir and gives what the linker is told.
var ways = map[string]func(t *testing.T, dir string, parts []*linkable) []string{
	// One include path for everything, and every file compiled.
	"files": func(t *testing.T, dir string, parts []*linkable) []string {
		for _, p := range parts {
			os.RemoveAll(filepath.Join(p.write(t, dir, false), "src"))
		}
		return nil
	},
	"archives": func(t *testing.T, dir string, parts []*linkable) []string { return archives(t, dir, parts, "") },
	"lto": func(t *testing.T, dir string, parts []*linkable) []string {
		return append(archives(t, dir, parts, "-flto"), "-flto", "-O2")
	},
	"whole": func(t *testing.T, dir string, parts []*linkable) []string {
		return slices.Concat([]string{"-Wl,--whole-archive"}, archives(t, dir, parts, ""),
			[]string{"-Wl,--no-whole-archive"})
	},
	// Two libraries of the Arduino IDE: what is below src/, with src/ of all
	// libraries as the include path.
	"arduino": func(t *testing.T, dir string, parts []*linkable) []string {
		var include, objects []string
		folders := map[*linkable]string{}
		for _, p := range parts {
			p.write(t, dir, true)
			folders[p] = p.write(t, t.TempDir(), false)
			include = append(include, "-I"+filepath.Join(folders[p], "src"))
		}
		for _, p := range parts {
			sources := testenv.Must(filepath.Glob(filepath.Join(folders[p], "src", "*.c")))(t)
			out := t.TempDir()
			runTool(t, out, p.Board.Toolchain.Prefix+p.Board.Toolchain.CC, slices.Concat(p.Board.RunCPU(),
				[]string{"-Os", "-ffunction-sections", "-fdata-sections", "-c"}, include, sources)...)
			made := testenv.Must(filepath.Glob(filepath.Join(out, "*.o")))(t)
			objects = append(objects, made...)
		}
		return objects
	},
}

// archives makes a library of each folder by its Makefile.
func archives(t *testing.T, dir string, parts []*linkable, flags string) []string {
	var libs []string
	for _, p := range parts {
		p.write(t, dir, true)
		if p.libs[flags] == "" {
			root := p.write(t, p.dir, false)
			runTool(t, root, "make", "-s", "CPUFLAGS="+strings.Join(p.Board.RunCPU(), " "), "CFLAGS=-O2 "+flags)
			p.libs[flags] = filepath.Join(root, "linked-"+p.Info.Prefix+flags+".a")
			require(t, os.Rename(filepath.Join(root, "lib"+p.Info.Prefix+".a"), p.libs[flags]))
		}
		libs = append(libs, p.libs[flags])
	}
	return libs
}

// together links folders in one way, runs the program and holds what each
// computes against the interpreter. It gives the program, or why it does not
// link.
func together(t *testing.T, way string, parts []*linkable) (*run.Image, error) {
	t.Helper()
	dir := t.TempDir()
	spec := *parts[0].Board
	models := lists.Map(parts, func(p *linkable) run.Model { return p.Harness })
	for _, f := range run.HarnessFiles(&spec, models...) {
		putText(t, filepath.Join(dir, f.Path), string(f.Data))
	}
	told := ways[way](t, dir, parts)
	for _, p := range parts { // archives stand in front of what wants their members
		for _, f := range slices.Concat(p.Harness.Inputs, p.Harness.Outputs, []run.IO{{CFunc: p.Harness.RunFunc}}) {
			told = append([]string{"-Wl,-u," + f.CFunc}, told...)
		}
	}
	spec.Toolchain.LDFlags = append(slices.Clone(spec.Toolchain.LDFlags), told...)
	im, err := run.Build(context.Background(), &spec, dir, run.BuildOptions{Opt: "speed"})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { im.Close() })
	res, err := run.All(context.Background(), &spec, im, lists.Map(parts, func(p *linkable) run.Job {
		return run.Job{Cases: []run.Case{{Inputs: p.in}}}
	}))
	testenv.Require(t, err == nil, "%s: %v", way, err)
	for k, p := range parts {
		r := res[k].Cases[0]
		testenv.Check(t, r.Status == 0 && slices.EqualFunc(r.Outputs, p.want, bytes.Equal),
			"%s: status %d, or outputs are not what the interpreter gives", way, r.Status)
	}
	return im, nil
}

var kernelSection = regexp.MustCompile(
	`(?m)^ \.text\.((?:nncc|arm)_\w+_r[0-9a-f]{8}s?)\n? +0x0*([1-9a-f][0-9a-f]*) +0x`)

// kernels counts how often the code of each kernel is in a linked program. Helpers that a file has for itself are none:
// each file that includes them has its own.
func kernels(t *testing.T, im *run.Image) map[string]int {
	t.Helper()
	file := testenv.Must(elf.Open(im.ELF))(t)
	defer file.Close()
	symbols := testenv.Must(file.Symbols())(t)
	ofFile := map[string]bool{}
	for _, s := range symbols {
		if elf.ST_BIND(s.Info) == elf.STB_LOCAL && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			ofFile[s.Name] = true
		}
	}
	b := testenv.Must(os.ReadFile(im.ELF + ".map"))(t)
	_, linked, _ := strings.Cut(string(b), "Linker script and memory map")
	n := map[string]int{}
	for _, m := range kernelSection.FindAllStringSubmatch(linked, -1) {
		if !ofFile[m[1]] {
			n[m[1]]++
		}
	}
	return n
}

// TestLinkedTogether: folders that were written one by one run in one image,
// whatever way they get there. Of the same version, kernels are there once; of
// different ones, each has its own.
func TestLinkedTogether(t *testing.T) {
	testenv.Tool(t, "make", "cc")
	const board = "cortex-m55"
	small, large := compilePart(t, board, "small", smallNet, nil), compilePart(t, board, "large", largeNet, nil)
	testenv.Require(t, large.Info.WeightBinary, "%d bytes of weights are not included by the assembler",
		large.Info.WeightBytes)
	order := []string{"files", "archives", "whole", "arduino", "lto"}
	shared := 0
	for _, way := range order {
		t.Run("one version/"+way, func(t *testing.T) {
			im := testenv.Must(together(t, way, []*linkable{small, large}))(t)
			if way == "lto" {
				return // functions lose their sections
			}
			for k, n := range kernels(t, im) {
				testenv.Check(t, n == 1, "%s is %d times in the image", k, n)
				shared++
			}
		})
	}
	testenv.Check(t, shared != 0, "no kernels are seen in the map file")
	old := compilePart(t, board, "old", smallNet, otherVersion(t, false))
	for _, way := range []string{"files", "archives", "whole"} {
		t.Run("two versions/"+way, func(t *testing.T) {
			im := testenv.Must(together(t, way, []*linkable{old, large}))(t)
			versions := map[string]int{}
			for k := range kernels(t, im) {
				versions[runtimec.Plain(k)]++
			}
			twice := 0
			for _, n := range versions {
				if n == 2 {
					twice++
				}
			}
			testenv.Check(t, twice != 0, "no kernel is there in two versions: %v", versions)
		})
	}
}

// TestLinkedCMSIS: where the include path may give the arm_nnfunctions.h of the
// folder of another version, the compiler says so; libraries that were compiled
// on their own work.
func TestLinkedCMSIS(t *testing.T) {
	testenv.Tool(t, "make", "cc")
	compile := func(name string, lib *runtimec.Library) *linkable {
		p := compilePart(t, "cortex-m4", name, smallNet, lib)
		if !slices.ContainsFunc(p.Info.Functions, func(f string) bool { return strings.HasPrefix(f, "arm_") }) {
			t.Fatalf("no function of CMSIS-NN among %v", p.Info.Functions)
		}
		return p
	}
	parts := []*linkable{compile("old", otherVersion(t, true)), compile("small", nil)}
	_, err := together(t, "archives", parts)
	require(t, err)
	_, err = together(t, "files", parts)
	testenv.Refused(t, err, "of another version of nncc")
}

// TestSymbolsCarryVersions: every function of the runtime that a program has
// been linked with has a digest in its name, and reports do not show it.
func TestSymbolsCarryVersions(t *testing.T) {
	p := compilePart(t, "cortex-m4", "small", smallNet, nil)
	im := build(t, p.Compiled, false)
	e := testenv.Must(elf.Open(im.ELF))(t)
	defer e.Close()
	syms := testenv.Must(e.Symbols())(t)
	kernel := map[string]bool{}
	for _, f := range runtimec.Functions() {
		kernel[f] = true
	}
	seen := 0
	for _, s := range syms {
		switch {
		case kernel[s.Name] && elf.ST_BIND(s.Info) != elf.STB_LOCAL:
			t.Errorf("%s has no digest", s.Name)
		case kernel[runtimec.Plain(s.Name)]:
			seen++
		}
	}
	testenv.Check(t, seen != 0, "no kernels")
	bound := testenv.Must(im.Stack(p.Harness.RunFunc))(t)
	for _, f := range bound.Functions {
		testenv.Check(t, runtimec.Plain(f.Name) == f.Name, "the report shows %s", f.Name)
	}
}
