// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"archive/zip"
	_ "embed"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// csolution is what is needed of the sample's three descriptions.
type csolution struct {
	Solution struct {
		TargetTypes []struct{ Device string }  `yaml:"target-types"`
		Projects    []struct{ Project string } `yaml:"projects"`
	}
	Project struct {
		Components []struct{ Component string }
		Misc       []struct {
			Link []string `yaml:"Link"`
		}
		Groups []struct{ Files []struct{ File string } }
	}
}

// csolutionStart stands for the pack of the device: vectors, memories, reset.
//
//go:embed testdata/csolutionStart.c
var csolutionStart string

//
//go:embed testdata/csolutionLink.ld
var csolutionLink string

// TestCsolutionLinks: the sample links with the files of the zipped pack's component, as the
// descriptions name them, and prints what that of CMake does. The packs of Arm that they
// name, CMSIS core and start-up of the device, and csolution itself are stood in for.
func TestCsolutionLinks(t *testing.T) {
	gcc := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	qemu := testenv.Tool(t, "qemu", "qemu-system-arm")
	for name, x := range sampleFolders(t, "cmsis-pack", "cmake-package") {
		t.Run(name, func(t *testing.T) {
			want := x.printed(t, "samples/cmake/main.c")
			pack := unpacked(t, x.dir)
			sample := filepath.Join(pack, "samples", "csolution")
			var s csolution
			readYAML(t, filepath.Join(sample, x.name+".csolution.yml"), &s)
			testenv.Require(t, len(s.Solution.TargetTypes) == 1 && len(s.Solution.Projects) == 1, "%+v", s.Solution)
			readYAML(t, filepath.Join(sample, s.Solution.Projects[0].Project), &s)
			args := []string{"-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-O2"}
			args = slices.Concat(args, x.flags, x.sources, componentArgs(t, pack, x.name, s))
			for _, g := range s.Project.Groups {
				for _, f := range g.Files {
					args = append(args, filepath.Join(sample, f.File))
				}
			}
			for file, text := range map[string]string{"start.c": csolutionStart, "link.ld": csolutionLink} {
				testenv.OK(t, os.WriteFile(filepath.Join(sample, file), []byte(text), 0o666))
			}
			args = append(args, filepath.Join(sample, "start.c"), "-T", filepath.Join(sample, "link.ld"), "-o",
				"infer.elf")
			for _, m := range s.Project.Misc {
				args = append(args, m.Link...)
			}
			run(t, sample, gcc, args...)
			got := run(t, sample, qemu, "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "none",
				"-semihosting-config", "enable=on,target=native", "-kernel", "infer.elf")
			testenv.Equal(t, got, want, "the sample prints")
		})
	}
}

// unpacked is the folder of the only pack in a folder.
func unpacked(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.pack"))
	testenv.Require(t, err == nil && len(found) == 1, "packs: %q, %v", found, err)
	z := testenv.Must(zip.OpenReader(found[0]))(t)
	defer z.Close()
	out := t.TempDir()
	testenv.OK(t, os.CopyFS(out, z))
	return out
}

func readYAML(t *testing.T, path string, to any) {
	t.Helper()
	b := testenv.Must(os.ReadFile(path))(t)
	testenv.OK(t, yaml.Unmarshal(b, to))
}

// componentArgs are the sources and include paths of the project's component in a pack.
func componentArgs(t *testing.T, pack, name string, s csolution) []string {
	t.Helper()
	f := testenv.Must(os.Open(filepath.Join(pack, "nncc."+name+".pdsc")))(t)
	defer f.Close()
	b := testenv.Must(io.ReadAll(f))(t)
	var p pdsc
	testenv.OK(t, xml.Unmarshal(b, &p))
	var args []string
	for _, c := range p.Components {
		id := "nncc::Machine Learning:Neural Network:" + name
		if !slices.ContainsFunc(s.Project.Components, func(x struct{ Component string }) bool {
			return x.Component == id+"&"+c.Variant || x.Component == id && c.Default
		}) {
			continue
		}
		for _, f := range c.Files {
			switch path := filepath.Join(pack, f.Name); {
			case f.Category == "source":
				args = append(args, path)
			case f.Category == "include":
				args = append(args, "-I"+path)
			case f.Category == "header":
				args = append(args, "-I"+filepath.Dir(path))
			}
		}
	}
	testenv.Require(t, slices.ContainsFunc(args, func(a string) bool { return strings.HasSuffix(a, ".c") }),
		"no component of %+v is in the pack", s.Project.Components)
	return args
}
