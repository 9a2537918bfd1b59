// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

// memoriesApart is a board with the memories of an MPS3 with image AN547, each with
// contents of its own; the machine has the same regions.
func memoriesApart(t *testing.T) string {
	t.Helper()
	regions := `
    itcm: {origin: 0x00000000, size: 512K, holds: [vectors, code]}
    dtcm: {origin: 0x20000000, size: 512K, holds: [stack, data]}
    sram: {origin: 0x21000000, size: 4M, holds: [arena]}
    ddr_code: {origin: 0x60000000, size: 1M, holds: [rodata]}
    ddr_weights: {origin: 0x61000000, size: 16M, holds: [weights]}
    ddr_data: null
`
	text := "doc: every kind of content in a memory of its own\ninherits: [cortex-m55]\nstack: 4K\nmemory:" +
		strings.ReplaceAll(regions, "    ddr_data: null\n", "") + "runner:\n  memory:" + regions
	path := filepath.Join(t.TempDir(), "apart.yaml")
	require(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// TestMemoriesApart runs a program of which code, stack, arena, constants and weights
// are in five memories.
func TestMemoriesApart(t *testing.T) {
	c := digitsConfig(memoriesApart(t))
	c.Cases = 2
	o := mustCompile(t, c)
	for what, region := range map[string]string{"code": "itcm", "stack": "dtcm", "arena": "sram",
		"weights": "ddr_weights"} {
		if got := o.Placement.At(what); got != region {
			t.Errorf("%s is placed in %s, want %s", what, got, region)
		}
	}
	v := mustVerify(t, o)
	if v.Differs() {
		t.Errorf("%+v", v.Outputs)
	}
}

// TestSections links constants by the part of a linker script that comes with the
// folder, into the region that was chosen for them, and into another one that the user
// names.
func TestSections(t *testing.T) {
	t.Run("pack", testSectionsInPack)
	cc := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	nm := testenv.Tool(t, "arm-gcc", "arm-none-eabi-nm")
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	rom := []string{"vectors", "code", "rodata"}
	ram := []string{"stack", "data", "arena"}
	board := boardFile(t, "cortex-m4", 4096, boards.Regions{
		{Name: "flash", Origin: 0x08000000, Size: 1 << 20, Holds: rom},
		{Name: "qspi", Origin: 0x90000000, Size: 1 << 20, Holds: []string{"weights"}},
		{Name: "ram", Origin: 0x20000000, Size: 1 << 20, Holds: ram}})
	for _, binary := range []bool{false, true} { // C text, and what the assembler includes
		c := config(filepath.Join(digits, "digits.onnx"), board)
		c.Name = "dig"
		c.Calib = []string{filepath.Join(digits, "digits_calib.npz")}
		if binary {
			c.Calib, c.Precision = nil, option.Float32
		}
		o := mustCompile(t, c)
		if o.Info.WeightBinary != binary {
			t.Fatalf("%d bytes of constants: %v", o.Info.WeightBytes, o.Info.WeightBinary)
		}
		dir := folder(t, o.Files)
		script := "MEMORY { FLASH : ORIGIN = 0x08000000, LENGTH = 1M\n qspi : ORIGIN = 0x90000000, LENGTH = 1M }\n" +
			"SECTIONS {\n  .text : { *(.text .text.*) } > FLASH\n  INCLUDE \"dig_sections.ld\"\n" +
			"  .rodata : { *(.rodata .rodata.*) } > FLASH\n}\n"
		require(t, os.WriteFile(filepath.Join(dir, "my.ld"), []byte(script), 0o666))
		for _, k := range []struct {
			flags []string
			low   uint64
		}{{nil, 0x90000000}, {[]string{`-DDIG_WEIGHTS_SECTION=".rodata.mine"`}, 0x08000000}} {
			args := append([]string{"-mcpu=cortex-m4", "-mthumb", "-nostdlib", "-I.", "-Inncc", "-T", "my.ld", "-L.",
				"-Wl,-e,0", "dig_weights.c", "-o", "out.elf"}, k.flags...)
			x := exec.Command(cc, args...)
			x.Dir = dir
			if out, err := x.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			x = exec.Command(nm, "out.elf")
			x.Dir = dir
			out, err := x.Output()
			require(t, err)
			found := 0
			for _, line := range strings.Split(string(out), "\n") {
				f := strings.Fields(line)
				if len(f) != 3 || !strings.Contains(f[2], "weights") {
					continue
				}
				at, err := strconv.ParseUint(f[0], 16, 64)
				require(t, err)
				if found++; at < k.low || at >= k.low+1<<20 {
					t.Errorf("%s is at %#x, want the memory at %#x", f[2], at, k.low)
				}
			}
			if found == 0 {
				t.Errorf("no constants in\n%s", out)
			}
		}
	}
}

// TestSectionsOfSeveral: the part of a linker script that comes with a folder of several models
// places the constants of all; those of folders that were written apart stand beside each
// other in one script.
func TestSectionsOfSeveral(t *testing.T) {
	cc := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	nm := testenv.Tool(t, "arm-gcc", "arm-none-eabi-nm")
	board := boardFile(t, "cortex-m4", 4096, boards.Regions{
		{Name: "flash", Origin: 0x08000000, Size: 1 << 20, Holds: []string{"vectors", "code", "rodata"}},
		{Name: "qspi", Origin: 0x90000000, Size: 1 << 20, Holds: []string{"weights"}},
		{Name: "ram", Origin: 0x20000000, Size: 1 << 20, Holds: []string{"stack", "data", "arena"}}})
	together, err := driver.Compile(severalConfigs(t, board)...)
	require(t, err)
	dir := folder(t, together.Files)
	fragments, err := filepath.Glob(filepath.Join(dir, "*_sections.ld"))
	if err != nil || len(fragments) != 1 || filepath.Base(fragments[0]) != "models_sections.ld" {
		t.Fatalf("%q, %v", fragments, err)
	}
	folders := map[string][]string{"together": {dir}}
	for _, c := range severalConfigs(t, board) {
		o := mustCompile(t, c)
		dir := folder(t, o.Files)
		folders["apart"] = append(folders["apart"], dir)
	}
	for name, dirs := range folders {
		t.Run(name, func(t *testing.T) {
			at := t.TempDir()
			script := "MEMORY { FLASH : ORIGIN = 0x08000000, LENGTH = 1M\n qspi : ORIGIN = 0x90000000, LENGTH = 1M\n" +
				" RAM : ORIGIN = 0x20000000, LENGTH = 1M }\nSECTIONS {\n" +
				"  .text : { *(.text .text.* .glue_7 .glue_7t .vfp11_veneer .v4_bx) } > FLASH\n"
			args := strings.Fields("-mcpu=cortex-m4 -mthumb -nostdlib -T my.ld -Wl,-e,0,--orphan-handling=error")
			for _, d := range dirs {
				found, err := filepath.Glob(filepath.Join(d, "*_sections.ld"))
				require(t, err)
				for _, f := range found {
					script += "  INCLUDE \"" + filepath.Base(f) + "\"\n"
				}
				sources, err := filepath.Glob(filepath.Join(d, "*_weights.c"))
				require(t, err)
				args = append(append(args, "-L"+d, "-I"+d, "-I"+filepath.Join(d, "nncc")), sources...)
			}
			script += "  .rodata : { *(.rodata .rodata.*) } > FLASH\n  .bss : { *(.bss .data) } > RAM\n" +
				"  /DISCARD/ : { *(.ARM.attributes .comment) }\n}\n"
			putText(t, filepath.Join(at, "my.ld"), script)
			x := exec.Command(cc, append(args, "-o", "out.elf")...)
			x.Dir = at
			if out, err := x.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s\n%s", err, out, script)
			}
			x = exec.Command(nm, "out.elf")
			x.Dir = at
			out, err := x.Output()
			require(t, err)
			for _, model := range []string{"keyword_weights", "anomaly_weights", "person_weights"} {
				if !strings.Contains(string(out), " R "+model) {
					t.Errorf("no constants of %s in\n%s", model, out)
				}
			}
			for _, line := range strings.Split(string(out), "\n") {
				if f := strings.Fields(line); len(f) == 3 && strings.Contains(f[2], "weights") && f[0][0] != '9' {
					t.Errorf("%s is not in the second flash", line)
				}
			}
		})
	}
}

// testSectionsInPack: the zipped pack has the folder's files as they are in the end.
func testSectionsInPack(t *testing.T) {
	c := config(filepath.Join("..", "..", "nncc", "examples", "digits", "digits.onnx"), "stm32h743")
	c.Name, c.Project = "dig", "cmsis-pack"
	o := mustCompile(t, c)
	files := map[string][]byte{}
	var pack []byte
	for _, f := range o.Files {
		files[f.Path] = f.Data
		if strings.HasSuffix(f.Path, ".pack") {
			pack = f.Data
		}
	}
	z, err := zip.NewReader(bytes.NewReader(pack), int64(len(pack)))
	require(t, err)
	for _, f := range z.File {
		if b, err := fs.ReadFile(z, f.Name); err != nil || !bytes.Equal(b, files[f.Name]) {
			t.Errorf("%s of the pack is not the folder's (%v)", f.Name, err)
		}
	}
	if len(z.File) != len(files)-1 {
		t.Errorf("%d files in the pack, %d in the folder", len(z.File), len(files))
	}
}
