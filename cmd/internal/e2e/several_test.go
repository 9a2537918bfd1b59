// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
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
		b, err := networkFiles.ReadFile("testdata/" + name + ".ir")
		if err != nil {
			panic(err)
		}
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
		ports := o.Lowered.Ports().Inputs()
		in, out := make([][]byte, len(o.Info.Inputs)), make([][]byte, len(o.Info.Outputs))
		for k := range rounds {
			args := verify.Seeded(ports, k, 7)
			got, err := interp.Run(o.Lowered.Graph, args, nil)
			require(t, err)
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
	b, err := os.ReadFile(filepath.Join(dir, "app.map"))
	require(t, err)
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
	if err != nil || !strings.Contains(string(b), "all right") {
		t.Fatalf("%v\n%s", err, b)
	}
}

// TestSeveralApplication: a product with a main and a linker script of its own: three
// models, weights in a second flash, one arena, with and without link time optimisation.
// All outputs are right, and each kernel is there once.
func TestSeveralApplication(t *testing.T) {
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	for board, flags := range map[string]string{"cortex-m4": "", "cortex-m55": "-flto"} {
		t.Run(board, func(t *testing.T) {
			f, err := driver.Compile(severalConfigs(t, board)...)
			require(t, err)
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
	out, err := exec.Command("arm-none-eabi-nm", "-S", elf).Output()
	require(t, err)
	seen := map[string]int{}
	for _, m := range kernelSymbol.FindAllSubmatch(out, -1) {
		seen[string(m[2])]++
	}
	for s, n := range seen {
		if n > 1 {
			t.Errorf("%s is linked %d times", s, n)
		}
	}
	if len(seen) == 0 {
		t.Errorf("no kernels in\n%s", out)
	}
	qspi := regexp.MustCompile(`(?m)^\.qspi +0x[0-9a-f]+ +0x([0-9a-f]+)`).FindSubmatch(mapFile)
	if qspi == nil || string(qspi[1]) == "0" {
		t.Error("no weights in the second flash")
	}
}

// TestSeveralShared is TestSeveralApplication with the networks beside the repository.
func TestSeveralShared(t *testing.T) {
	dir := sharedata.Need(t)
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	if !testenv.Long() {
		t.Skip("only with NNCC_LONG")
	}
	for board := range appTargets {
		var list []*driver.Config
		for _, name := range []string{"kws_int8", "ic_int8", "vww_int8"} {
			list = append(list, config(filepath.Join(dir, "models", name+".onnx"), board))
		}
		f, err := driver.Compile(list...)
		require(t, err)
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
	f, err := driver.Compile(severalConfigs(t, "host")...)
	require(t, err)
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
