// SPDX-License-Identifier: Apache-2.0

// Package layers holds the test of which folder may import which.
package layers_test

import (
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/sources"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

const module = "github.com/nncc/nncc/"

// imports are the module's packages and what their files (tests left out)
// import, by path: of the module below it, of others whole. The files are read here, and
// not by the go command, so that go test knows when its cached result is stale.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	root, out := sharedata.Root(), map[string][]string{}
	err := sources.Walk(root, func(file string) error {
		if !compiled(file) {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		from := path.Dir(file)
		if out[from] == nil {
			out[from] = []string{}
		}
		for _, i := range f.Imports {
			if to := strings.TrimPrefix(strings.Trim(i.Path.Value, `"`), module); !slices.Contains(out[from], to) {
				out[from] = append(out[from], to)
			}
		}
		return nil
	})
	testenv.OK(t, err)
	for from := range out {
		slices.Sort(out[from])
	}
	return out
}

// compiled reports a file of Go that is no test.
func compiled(file string) bool {
	return path.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "/testdata/")
}

// ours are the imports that are packages of the module.
func ours(t *testing.T) map[string][]string {
	all := imports(t)
	out := map[string][]string{}
	for from, list := range all {
		for _, to := range list {
			if _, ok := all[to]; ok {
				out[from] = append(out[from], to)
			}
		}
	}
	return out
}

// libraries are those that only some folders may import.
var libraries = map[string][]string{
	"github.com/dave/jennifer":      {"cmd/nnccgen"},
	"github.com/spf13/pflag":        {"cmd"},
	"github.com/go-task/slim-sprig": {"codegen"},
	"google.golang.org/protobuf":    {"frontend"},
	"github.com/google/flatbuffers": {"frontend/tflite"},
}

// TestNoWebClient: nncc does not bring a web client along, nor do its libraries.
func TestNoWebClient(t *testing.T) {
	c := exec.Command(cmp.Or(os.Getenv("GO"), "go"), "list", "-deps", "./cmd/nncc")
	c.Dir = sharedata.Root()
	out := testenv.Must(c.Output())(t)
	list := strings.Fields(string(out))
	for _, p := range []string{"net/http", "crypto/tls"} {
		testenv.Check(t, !slices.Contains(list, p), "cmd/nncc depends on %s; go mod why %s says through what", p, p)
	}
}

// TestLibraries: libraries of others stay where they are at home.
func TestLibraries(t *testing.T) {
	seen := map[string]bool{}
	for from, list := range imports(t) {
		for _, to := range list {
			for lib, homes := range libraries {
				if !strings.HasPrefix(to, lib) {
					continue
				}
				seen[lib] = true
				testenv.Check(t, slices.ContainsFunc(homes, func(h string) bool { return in(from, h) }),
					"%s imports %s: only %s may", from, to, strings.Join(homes, ", "))
			}
		}
	}
	for lib := range libraries {
		testenv.Check(t, seen[lib], "nobody imports %s: the row can go", lib)
	}
}

// in reports a package of a folder; DIR/. is the package there alone.
func in(pkg, dir string) bool {
	return pkg == strings.TrimSuffix(dir, "/.") || strings.HasPrefix(pkg, dir+"/")
}

// folder is the folder of a package at a depth: the first components of its
// path. A package that lies less deep is a folder by itself, apart from those in
// it: nothing stops lower from importing lower/kernel.
func folder(pkg string, depth int) string {
	parts := strings.Split(pkg, "/")
	if len(parts) < depth {
		return pkg + "/."
	}
	return path.Join(parts[:depth]...)
}

// TestNoCircles: at no depth do folders import each other in a circle. (Go
// itself forbids circles of packages only.)
func TestNoCircles(t *testing.T) {
	pkgs := ours(t)
	for depth := 1; depth <= 4; depth++ {
		edges := map[string]map[string]string{} // from, to, example
		for from, list := range pkgs {
			a := folder(from, depth)
			if edges[a] == nil {
				edges[a] = map[string]string{}
			}
			for _, to := range list {
				if b := folder(to, depth); a != b {
					edges[a][b] = from + " imports " + to
				}
			}
		}
		for _, c := range circles(edges) {
			t.Errorf("folders import each other in a circle (depth %d):\n\t%s", depth, strings.Join(c, "\n\t"))
		}
	}
}

// circles finds circles, as lists of imports: one for each folder by which a
// walk returns.
func circles(edges map[string]map[string]string) [][]string {
	const (
		open = 1
		done = 2
	)
	state := map[string]int{}
	var out [][]string
	var trail []string
	var walk func(a string)
	walk = func(a string) {
		state[a] = open
		trail = append(trail, a)
		next := make([]string, 0, len(edges[a]))
		for b := range edges[a] {
			next = append(next, b)
		}
		slices.Sort(next)
		for _, b := range next {
			switch state[b] {
			case 0:
				walk(b)
			case open:
				var c []string
				for i := slices.Index(trail, b); i < len(trail); i++ {
					to := b
					if i+1 < len(trail) {
						to = trail[i+1]
					}
					c = append(c, fmt.Sprintf("%s -> %s: %s", trail[i], to, edges[trail[i]][to]))
				}
				out = append(out, c)
			}
		}
		trail = trail[:len(trail)-1]
		state[a] = done
	}
	var all []string
	for a := range edges {
		all = append(all, a)
	}
	slices.Sort(all)
	for _, a := range all {
		if state[a] == 0 {
			walk(a)
		}
	}
	return out
}

// TestCircles: the search finds a circle and takes a diamond for none.
func TestCircles(t *testing.T) {
	diamond := map[string]map[string]string{"a": {"b": "", "c": ""}, "b": {"d": ""}, "c": {"d": ""}}
	c := circles(diamond)
	testenv.Check(t, len(c) == 0, "a diamond has circles: %v", c)
	diamond["d"] = map[string]string{"b": ""}
	if c := circles(diamond); len(c) != 1 || len(c[0]) != 2 {
		t.Errorf("circles %v, want one of two", c)
	}
}

// own are what families of kernels may import: the contract, not each other, and
// of the vendor's nothing.
var own = []string{"ir", "lower/option", "lower/kernel/.", "lower/kernel/cond", "lower/kernel/param",
	"lower/kernel/quantised", "lower/kernel/pack"}

// may are rules beyond circles: what a package may import at all beside itself,
// folders with all that is in them; FOLDER/. is the package there alone.
var may = []struct {
	pkg  string
	only []string
	why  string
}{
	{"ir", []string{"ir"}, "every other folder stands on it"},
	{"ir/bug", nil, "every package may have faults, and import it"},
	{"ir/fail", nil, "every package may fail, and import it"},
	{"ir/lists", nil, "every package may make lists, and import it"},
	{"schedule", []string{"ir", "schedule"}, "a program is made of calls, whoever chose them"},
	{"ir/program", []string{"ir/program", "ir/call", "ir/syntax", "ir/types", "ir/tensor"}, "a program knows no graph"},
	{"codegen", []string{"codegen", "ir/program", "ir/call", "ir/types", "ir/tensor", "ir/postprocess", "ir/preprocess",
		"runtime_c"},
		"its input is a program alone: neither graph, nor target, nor how it was scheduled"},
	{"runtime_c", []string{"runtime_c"}, "C sources, and what they call"},
	{"frontend", []string{"frontend", "ir"}, "models come in the same for every target"},
	{"lower/kernel/cond", []string{"ir", "lower/kernel/."}, "conditions of kernels, whichever families have them"},
	{"lower/kernel/param", []string{"ir"}, "parameters of kernels in C, whichever family calls them"},
	{"lower/kernel/quantised", []string{"ir", "lower/kernel/.", "lower/kernel/cond", "lower/kernel/pack",
		"lower/kernel/param"},
		"families share it, so it knows none of them"},
	{"lower/kernel/pack", []string{"ir"}, "arithmetic of packed weights"},
	{"lower/kernel/helium", own, "own kernels stand without the vendor's"},
	{"lower/kernel/dsp", own, "own kernels stand without the vendor's"},
	{"lower/kernel/loops", own, "own kernels stand without the vendor's"},
	{"lower/kernel/reference", own, "own kernels stand without the vendor's"},
	{"lower/kernel/cmsisnn", own, "families stand beside each other"},
	{"frontend/onnx/model", []string{"frontend/files", "frontend/text", "frontend/onnx/functions",
		"frontend/onnx/model",
		"frontend/onnx/pb",
		"frontend/onnx/schema", "ir/tensor"}, "a file is read before anything is made of it"},
	{"frontend/onnx/upgrade", []string{"frontend/onnx/build", "frontend/onnx/model", "frontend/onnx/schema",
		"frontend/onnx/upgrade", "ir"},
		"the form of a node does not depend on what is around it"},
	{"frontend/onnx/expand", []string{"frontend/onnx/build", "frontend/onnx/expand", "frontend/onnx/model",
		"frontend/onnx/schema", "ir"},
		"nor does what it is written as; old forms are behind it"},
	{"lower/verify", []string{"frontend/npz", "frontend/text", "ir", "lower"}, "it is given what a firmware computed"},
	{"cmd/internal/report", []string{"boards", "codegen", "cmd/internal/layered", "frontend", "ir", "lower",
		"runtime_c"},
		"it reads results and changes none"},
	{"lower/cost", []string{"lower/cost", "runtime_c", "ir/bug"},
		"it knows variants and geometries, no graph and no kernel"},
	{"boards", []string{"boards", "frontend/files", "frontend/text", "runtime_c"}, "boards are data"},
}

func TestMayImport(t *testing.T) {
	for from, list := range ours(t) {
		for _, m := range may {
			if !in(from, m.pkg) {
				continue
			}
			for _, to := range list {
				if !slices.Contains(anyone, to) && !in(to, m.pkg) &&
					!slices.ContainsFunc(m.only, func(d string) bool { return in(to, d) }) {
					t.Errorf("%s imports %s; %s may import %s: %s", from, to, m.pkg, strings.Join(m.only, ", "), m.why)
				}
			}
		}
	}
}

// anyone are the packages of helpers that every package may import.
var anyone = []string{"ir/bug", "ir/fail", "ir/lists"}

// mostOfDriver is how many packages of the module the driver imports beside those.
const mostOfDriver = 23

// TestDriverIsNoMiddleEnd: the driver reads options, calls the middle end, and writes
// files. Whatever it needs another package for belongs below it.
func TestDriverIsNoMiddleEnd(t *testing.T) {
	list := slices.DeleteFunc(ours(t)["cmd/internal/driver"], func(p string) bool { return slices.Contains(anyone, p) })
	switch {
	case len(list) > mostOfDriver:
		t.Errorf("the driver imports %d packages, want at most %d: %s", len(list), mostOfDriver,
			strings.Join(list, ", "))
	case len(list) < mostOfDriver:
		t.Errorf("the driver imports %d packages: lower mostOfDriver to that", len(list))
	}
}

// TestAcceleratorsAreKnownToTheirTable: outside of lower/accel the compiler sees
// the contract and the table of accelerators, and none of them by name.
func TestAcceleratorsAreKnownToTheirTable(t *testing.T) {
	const contract, table = "lower/accel", "lower/accel/kinds"
	seen := false
	for from, list := range ours(t) {
		for _, to := range list {
			if !strings.HasPrefix(to, contract+"/") || to == table {
				continue
			}
			kind, _, _ := strings.Cut(strings.TrimPrefix(to, contract+"/"), "/")
			switch {
			case from == table:
				seen = true
			case from != contract+"/"+kind && !strings.HasPrefix(from, contract+"/"+kind+"/"):
				t.Errorf("%s imports %s: only %s knows accelerators", from, to, table)
			}
		}
	}
	testenv.Check(t, seen, "%s imports no accelerator", table)
}
