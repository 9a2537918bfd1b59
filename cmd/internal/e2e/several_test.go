// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/zip"
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/verify"
)

// products are networks of three kinds that a product has in one firmware: a keyword
// in a spectrogram, an anomaly of a machine, a person in a picture.
var products = networks("keyword", "anomaly", "person")

//go:embed testdata/*.ir
var networkFiles embed.FS

// networks are the texts of networks in testdata, by name.
func networks(names ...string) map[string]string {
	m := map[string]string{}
	for _, name := range names {
		b := bug.Must(networkFiles.ReadFile("testdata/" + name + ".ir"))
		m[name] = string(b)
	}
	return m
}

// severalConfigs are the three products for a board, under their names.
func severalConfigs(t *testing.T, board string) []*driver.Config {
	t.Helper()
	var list []*driver.Config
	for _, name := range []string{"keyword", "anomaly", "person"} {
		c := config(modelFile(t, products[name]), board)
		c.Name, c.Cases = name, 2
		list = append(list, c)
	}
	return list
}

// product is a program of a user's own that runs the models of a firmware in turn, with
// known inputs, and says where an output is not what it has to be.
type product struct {
	Models []appModel
	Rounds int
	Target appTarget
}

type appModel struct {
	Prefix  string
	Inputs  []appArray // for all rounds
	Outputs []appArray
}

type appArray struct {
	CName string
	Bytes int    // of one round
	Text  string // of all rounds
}

// appTarget is a machine with two regions of flash.
type appTarget struct {
	machine, cpu             string
	Vectors, Code, QSPI, RAM string // origin, length
}

var appTargets = map[string]appTarget{
	"cortex-m4": {"mps2-an386", "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16",
		"0x00000000, LENGTH = 4K", "0x00001000, LENGTH = 1M", "0x21000000, LENGTH = 4M", "0x20000000, LENGTH = 1M"},
	"cortex-m55": {"mps3-an547", "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -mfpu=auto",
		"0x00000000, LENGTH = 4K", "0x60000000, LENGTH = 1M", "0x61000000, LENGTH = 8M", "0x21000000, LENGTH = 1M"},
}

//
//go:embed testdata/appMain.c
var appMainText string

var appMain = template.Must(template.New("main.c").Parse(appMainText))

//
//go:embed testdata/appLink.ld
var appLinkText string

var appLink = template.Must(template.New("app.ld").Parse(appLinkText))

// newProduct draws inputs, and has the interpreter say what must come out.
func newProduct(t *testing.T, f *driver.Firmware, rounds int) *product {
	t.Helper()
	a := &product{Rounds: rounds, Target: appTargets[f.Models[0].Board.Name]}
	for _, o := range f.Models {
		m := appModel{Prefix: o.Info.Prefix}
		r := o.Lowered.Ports()
		ports := r.Inputs()
		in, out := make([][]byte, len(o.Info.Inputs)), make([][]byte, len(o.Info.Outputs))
		for k := range rounds {
			args := verify.Seeded(r, k, 7)
			got := testenv.Must(interp.Run(o.Lowered.Graph, args, nil))(t)
			for i, b := range verify.Memory(args, ports) {
				in[i] = append(in[i], b...)
			}
			for i, b := range verify.Memory(got, o.Lowered.Graph.Out) {
				out[i] = append(out[i], b...)
			}
		}
		for i, x := range o.Info.Inputs {
			m.Inputs = append(m.Inputs, appArray{x.CName, x.Bytes, byteList(in[i])})
		}
		for i, x := range o.Info.Outputs {
			m.Outputs = append(m.Outputs, appArray{x.CName, x.Bytes, byteList(out[i])})
		}
		a.Models = append(a.Models, m)
	}
	return a
}

func byteList(b []byte) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(b)), ","), "[]")
}

// build compiles everything as a user's own build does, and gives program and map file.
func (a *product) build(t *testing.T, f *driver.Firmware, flags string) (elf string, mapFile []byte) {
	t.Helper()
	dir := folder(t, f.Files)
	for name, tmpl := range map[string]*template.Template{"main.c": appMain, "app.ld": appLink} {
		var b bytes.Buffer
		view := any(a)
		if name == "app.ld" {
			view = a.Target
		}
		require(t, tmpl.Execute(&b, view))
		require(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o666))
	}
	var sources []string
	for _, x := range f.Files {
		if strings.HasSuffix(x.Path, ".c") && !strings.HasPrefix(x.Path, "harness/") {
			sources = append(sources, x.Path)
		}
	}
	args := strings.Fields(a.Target.cpu + " -std=c99 -O2 -Wall -Wextra -Werror -ffunction-sections -fdata-sections " +
		"-I. -Inncc -Inncc/cmsis_nn " + flags)
	cc := func(more ...string) {
		t.Helper()
		cmd := exec.Command("arm-none-eabi-gcc", append(append([]string{}, args...), more...)...)
		cmd.Dir = dir
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, b)
		}
	}
	var objects []string
	for _, s := range append(sources, "main.c") {
		o := strings.ReplaceAll(s, "/", "_") + ".o"
		more := []string{"-c", s, "-o", o}
		if strings.HasSuffix(s, "_weights.c") { // what the assembler includes: the folder's README says so
			more = append(more, "-fno-lto")
		}
		if s == "main.c" {
			more = append(more, "-std=gnu99") // registers by name
		}
		cc(more...)
		objects = append(objects, o)
	}
	cc(append(objects, "-nostartfiles", "-T", "app.ld", "-Wl,--gc-sections,-Map=app.map", "-lm", "-o", "app.elf")...)
	b := testenv.Must(os.ReadFile(filepath.Join(dir, "app.map")))(t)
	return filepath.Join(dir, "app.elf"), b
}

// Upper is the prefix in macros.
func (m appModel) Upper() string { return strings.ToUpper(m.Prefix) }

// run executes the program.
func (a *product) run(t *testing.T, elf string) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	b, err := exec.CommandContext(ctx, "qemu-system-arm", "-M", a.Target.machine, "-display", "none", "-monitor",
		"none", "-serial", "none", "-semihosting-config", "enable=on,target=native", "-kernel", elf).CombinedOutput()
	testenv.Require(t, err == nil && strings.Contains(string(b), "all right"), "%v\n%s", err, b)
}

// TestSeveralApplication: a product with a main and a linker script of its own: three
// models, weights in a second flash, one arena, with and without link time optimisation.
// All outputs are right, and each kernel is there once.
func TestSeveralApplication(t *testing.T) {
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	for board, flags := range map[string]string{"cortex-m4": "", "cortex-m55": "-flto"} {
		t.Run(board, func(t *testing.T) {
			f := testenv.Must(driver.Compile(severalConfigs(t, board)...))(t)
			a := newProduct(t, f, 3)
			elf, mapFile := a.build(t, f, flags)
			a.run(t, elf)
			linkedOnce(t, elf, mapFile)
		})
	}
}

var kernelSymbol = regexp.MustCompile(`(?m)^[0-9a-f]+ +[0-9a-f]+ +([TtWw]) +((?:nncc|arm)_\w+_r[0-9a-f]{8})`)

// linkedOnce: no kernel is in the program twice, and the second flash has the weights.
func linkedOnce(t *testing.T, elf string, mapFile []byte) {
	t.Helper()
	out := testenv.Must(exec.Command("arm-none-eabi-nm", "-S", elf).Output())(t)
	seen := map[string]int{}
	for _, m := range kernelSymbol.FindAllSubmatch(out, -1) {
		seen[string(m[2])]++
	}
	for s, n := range seen {
		testenv.Check(t, n <= 1, "%s is linked %d times", s, n)
	}
	testenv.Check(t, len(seen) != 0, "no kernels in\n%s", out)
	qspi := regexp.MustCompile(`(?m)^\.qspi +0x[0-9a-f]+ +0x([0-9a-f]+)`).FindSubmatch(mapFile)
	testenv.Check(t, qspi != nil && string(qspi[1]) != "0", "no weights in the second flash")
}

// TestSeveralShared is TestSeveralApplication with the networks beside the repository.
func TestSeveralShared(t *testing.T) {
	dir := sharedata.Need(t)
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	testenv.SkipIf(t, !testenv.Long(), "only with NNCC_LONG")
	for board := range appTargets {
		list := lists.Map([]string{"kws_int8", "ic_int8", "vww_int8"}, func(name string) *driver.Config {
			return config(filepath.Join(dir, "models", name+".onnx"), board)
		})
		f := testenv.Must(driver.Compile(list...))(t)
		a := newProduct(t, f, 2)
		elf, mapFile := a.build(t, f, "-flto")
		a.run(t, elf)
		linkedOnce(t, elf, mapFile)
	}
}

//
//go:embed testdata/threadsMain.c
var threadsMainText string

var threadsMain = template.Must(template.New("threads.c").Parse(threadsMainText))

// TestSeveralThreads: eight threads and one that runs the models in slices, each with an
// arena of its own, compute what the interpreter does, and the thread sanitizer finds nothing
// that they share.
func TestSeveralThreads(t *testing.T) {
	testenv.Tool(t, "cc", "gcc")
	f := testenv.Must(driver.Compile(severalConfigs(t, "host")...))(t)
	a := newProduct(t, f, 3)
	dir := folder(t, f.Files)
	var b bytes.Buffer
	require(t, threadsMain.Execute(&b, a))
	require(t, os.WriteFile(filepath.Join(dir, "threads.c"), b.Bytes(), 0o666))
	args := strings.Fields("-std=gnu99 -O1 -g -fsanitize=thread -I. -Inncc -Inncc/cmsis_nn threads.c")
	for _, x := range f.Files {
		if strings.HasSuffix(x.Path, ".c") && !strings.HasPrefix(x.Path, "harness/") {
			args = append(args, x.Path)
		}
	}
	cmd := exec.Command("gcc", append(args, "-lm", "-lpthread", "-o", "threads")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(dir, "threads")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "0 wrong") || strings.Contains(string(out), "ThreadSanitizer") {
		t.Fatalf("%v\n%s", err, out)
	}
}

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
		testenv.Equal(t, o.Placement.At(what), region, "%s is placed in", what)
	}
	v := mustVerify(t, o)
	testenv.Check(t, !v.Differs(), "%+v", v.Outputs)
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
		testenv.Require(t, o.Info.WeightBinary == binary, "%d bytes of constants: %v", o.Info.WeightBytes,
			o.Info.WeightBinary)
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
			out := testenv.Must(x.Output())(t)
			found := 0
			for _, line := range strings.Split(string(out), "\n") {
				f := strings.Fields(line)
				if len(f) != 3 || !strings.Contains(f[2], "weights") {
					continue
				}
				at := testenv.Must(strconv.ParseUint(f[0], 16, 64))(t)
				if found++; at < k.low || at >= k.low+1<<20 {
					t.Errorf("%s is at %#x, want the memory at %#x", f[2], at, k.low)
				}
			}
			testenv.Check(t, found != 0, "no constants in\n%s", out)
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
	together := testenv.Must(driver.Compile(severalConfigs(t, board)...))(t)
	dir := folder(t, together.Files)
	fragments, err := filepath.Glob(filepath.Join(dir, "*_sections.ld"))
	testenv.Require(t, err == nil && len(fragments) == 1 && filepath.Base(fragments[0]) == "models_sections.ld",
		"%q, %v", fragments, err)
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
				found := testenv.Must(filepath.Glob(filepath.Join(d, "*_sections.ld")))(t)
				for _, f := range found {
					script += "  INCLUDE \"" + filepath.Base(f) + "\"\n"
				}
				sources := testenv.Must(filepath.Glob(filepath.Join(d, "*_weights.c")))(t)
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
			out := testenv.Must(x.Output())(t)
			for _, model := range []string{"keyword_weights", "anomaly_weights", "person_weights"} {
				testenv.Check(t, strings.Contains(string(out), " R "+model), "no constants of %s in\n%s", model, out)
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
	z := testenv.Must(zip.NewReader(bytes.NewReader(pack), int64(len(pack))))(t)
	for _, f := range z.File {
		if b, err := fs.ReadFile(z, f.Name); err != nil || !bytes.Equal(b, files[f.Name]) {
			t.Errorf("%s of the pack is not the folder's (%v)", f.Name, err)
		}
	}
	testenv.Equal(t, len(z.File), len(files)-1, "%d files in the pack, %d in the folder", len(z.File), len(files))
}
