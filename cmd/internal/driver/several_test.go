// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/verify"
)

// products are networks of three kinds that a product has in one firmware: a keyword
// in a spectrogram, an anomaly of a machine, a person in a picture.
var products = map[string]string{
	"keyword": `graph "keyword" {
  in %x : f32[1,1,25,10]
  const %w0 : f32[24,1,5,4] = rand 1
  const %w1 : f32[24,1,3,3] = rand 2
  const %w2 : f32[24,24,1,1] = rand 3
  const %w3 : f32[24,5] = rand 4
  %a = Conv(%x, %w0) {pads=[2,1,2,2], strides=[2,2]}
  %ar = Relu(%a)
  %b = Conv(%ar, %w1) {pads=[1,1,1,1], group=24}
  %br = Relu(%b)
  %c = Conv(%br, %w2)
  %cr = Relu(%c)
  %p = GlobalAveragePool(%cr)
  %f = Flatten(%p)
  %d = MatMul(%f, %w3)
  %y = Softmax(%d)
  out "scores" = %y
}`,
	"anomaly": `graph "anomaly" {
  in %x : f32[1,200]
  const %w0 : f32[200,256] = rand 5
  const %w1 : f32[256,64] = rand 6
  const %w2 : f32[64,200] = rand 7
  %a = MatMul(%x, %w0)
  %ar = Relu(%a)
  %b = MatMul(%ar, %w1)
  %br = Relu(%b)
  %y = MatMul(%br, %w2)
  out "again" = %y
}`,
	"person": `graph "person" {
  in %x : f32[1,3,32,32]
  const %w0 : f32[8,3,3,3] = rand 8
  const %w1 : f32[8,1,3,3] = rand 9
  const %w2 : f32[16,8,1,1] = rand 10
  const %w3 : f32[16,2] = rand 11
  %a = Conv(%x, %w0) {pads=[1,1,1,1], strides=[2,2]}
  %ar = Relu(%a)
  %b = Conv(%ar, %w1) {pads=[1,1,1,1], strides=[2,2], group=8}
  %br = Relu(%b)
  %c = Conv(%br, %w2)
  %cr = Relu(%c)
  %p = GlobalAveragePool(%cr)
  %f = Flatten(%p)
  %y = MatMul(%f, %w3)
  out "scores" = %y
}`,
}

// severalConfigs are the three products for a board, under their names.
func severalConfigs(t *testing.T, board string) []*Config {
	t.Helper()
	var list []*Config
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

var appMain = template.Must(template.New("main.c").Parse(`
#include "models.h"
#include <string.h>

extern uint32_t stack_top, data_start, data_end, data_load, bss_start, bss_end;
void start(void);
void fault(void);
static void quit(uint32_t why)
{
    register uint32_t op __asm("r0") = 0x18u;
    register uint32_t arg __asm("r1") = why;
    __asm volatile("bkpt 0xAB" : : "r"(op), "r"(arg) : "memory");
    for (;;) {
    }
}
static void say(const char *text)
{
    register uint32_t op __asm("r0") = 0x04u;
    register const char *arg __asm("r1") = text;
    __asm volatile("bkpt 0xAB" : "+r"(op) : "r"(arg) : "memory");
}
void fault(void)
{
    say("fault\n");
    quit(0x20023u);
}
typedef union
{
    const uint32_t *stack;
    void (*handler)(void);
} vector;
__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    {.stack = &stack_top}, {.handler = start}, {.handler = fault}, {.handler = fault}, {.handler = fault},
    {.handler = fault}, {.handler = fault}};

static uint8_t before[64];
static uint8_t arena[NNCC_MODELS_ARENA_BYTES + 64] __attribute__((aligned(NNCC_MODELS_ARENA_ALIGN)));
{{range $m, $x := .Models}}{{range .Inputs}}
static const uint8_t {{$x.Prefix}}_in_{{.CName}}[] = { {{- .Text -}} };
{{- end}}{{range .Outputs}}
static const uint8_t {{$x.Prefix}}_out_{{.CName}}[] = { {{- .Text -}} };
{{- end}}{{end}}

int main(void);
int main(void)
{
    uint32_t round, i, wrong = 0u;
    memset(before, 0x5A, sizeof before);
    memset(arena + NNCC_MODELS_ARENA_BYTES, 0x5A, 64);
    for (round = 0; round < {{.Rounds}}u; round++) {
{{- range $m, $x := .Models}}
{{- range .Inputs}}
        memcpy({{$x.Prefix}}_{{.CName}}(arena), {{$x.Prefix}}_in_{{.CName}} + round * {{.Bytes}}u, {{.Bytes}}u);
{{- end}}
        if ({{.Prefix}}_run(arena) != NNCC_OK) {
            say("{{.Prefix}} failed\n");
            wrong++;
        }
{{- range .Outputs}}
        if (memcmp({{$x.Prefix}}_{{.CName}}(arena), {{$x.Prefix}}_out_{{.CName}} + round * {{.Bytes}}u,
                   {{.Bytes}}u) != 0) {
            say("{{$x.Prefix}} {{.CName}} differs\n");
            wrong++;
        }
{{- end}}
{{- end}}
    }
    for (i = 0; i < 64u; i++) {
        wrong += (uint32_t)(before[i] != 0x5Au) + (uint32_t)(arena[NNCC_MODELS_ARENA_BYTES + i] != 0x5Au);
    }
    say((wrong == 0u) ? "all right\n" : "not right\n");
    quit((wrong == 0u) ? 0x20026u : 0x20023u);
    return 0;
}

void start(void)
{
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* FPU and Helium */
    __asm volatile("dsb\n isb");
    memcpy(&data_start, &data_load, (size_t)((uint8_t *)&data_end - (uint8_t *)&data_start));
    memset(&bss_start, 0, (size_t)((uint8_t *)&bss_end - (uint8_t *)&bss_start));
    (void)main();
}
`))

var appLink = template.Must(template.New("app.ld").Parse(`
ENTRY(start)
MEMORY
{
  VEC  : ORIGIN = {{.Vectors}}
  CODE : ORIGIN = {{.Code}}
  QSPI : ORIGIN = {{.QSPI}}
  RAM  : ORIGIN = {{.RAM}}
}
SECTIONS
{
  .vectors : { KEEP(*(.vectors)) } > VEC
  .qspi : { *(.nncc.weights .nncc.weights.*) } > QSPI
  .text : { *(.text .text.* .rodata .rodata.*) . = ALIGN(8); } > CODE
  .ARM.exidx : { *(.ARM.exidx*) } > CODE
  .data : { data_start = .; *(.data .data.*) . = ALIGN(4); data_end = .; } > RAM AT> CODE
  data_load = LOADADDR(.data);
  .bss (NOLOAD) : { bss_start = .; *(.bss .bss.* COMMON) . = ALIGN(8); bss_end = .; . += 16K; stack_top = .; } > RAM
}
`))

// newProduct draws inputs, and has the interpreter say what must come out.
func newProduct(t *testing.T, f *Firmware, rounds int) *product {
	t.Helper()
	a := &product{Rounds: rounds, Target: appTargets[f.board().Name]}
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
func (a *product) build(t *testing.T, f *Firmware, flags string) (elf string, mapFile []byte) {
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
	for board := range appTargets {
		t.Run(board, func(t *testing.T) {
			f, err := Compile(severalConfigs(t, board)...)
			require(t, err)
			a := newProduct(t, f, 3)
			for _, flags := range []string{"", "-flto"} {
				elf, mapFile := a.build(t, f, flags)
				a.run(t, elf)
				linkedOnce(t, elf, mapFile)
			}
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
		var list []*Config
		for _, name := range []string{"kws_int8", "ic_int8", "vww_int8"} {
			list = append(list, config(filepath.Join(dir, "models", name+".onnx"), board))
		}
		f, err := Compile(list...)
		require(t, err)
		a := newProduct(t, f, 2)
		elf, mapFile := a.build(t, f, "-flto")
		a.run(t, elf)
		linkedOnce(t, elf, mapFile)
	}
}

var threadsMain = template.Must(template.New("threads.c").Parse(`
#include "models.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
{{range $m, $x := .Models}}{{range .Inputs}}
static const uint8_t {{$x.Prefix}}_in_{{.CName}}[] = { {{- .Text -}} };
{{- end}}{{range .Outputs}}
static const uint8_t {{$x.Prefix}}_out_{{.CName}}[] = { {{- .Text -}} };
{{- end}}
/* The model in slices: other work between its steps. */
static nncc_status {{.Prefix}}_sliced(void *arena, volatile uint32_t *work)
{
#ifdef {{.Upper}}_STEPS
    int32_t step;
    for (step = 0; step < {{.Upper}}_STEPS; step++) {
        const nncc_status status = {{.Prefix}}_step(arena, step);
        if (status != NNCC_OK) {
            return status;
        }
        *work += (uint32_t)step;
    }
    return NNCC_OK;
#else
    *work += 1u;
    return {{.Prefix}}_run(arena);
#endif
}
{{- end}}

#define THREADS 9
typedef struct
{
    uint8_t arena[NNCC_MODELS_ARENA_BYTES] __attribute__((aligned(NNCC_MODELS_ARENA_ALIGN)));
    int number, wrong;
    volatile uint32_t work;
} thread;
static thread threads[THREADS];

static void *work(void *p)
{
    thread *const t = (thread *)p;
    uint32_t k;
    for (k = 0; k < 4u * {{.Rounds}}u; k++) {
        const uint32_t round = (k + (uint32_t)t->number) % {{.Rounds}}u;
{{- range $m, $x := .Models}}
{{- range .Inputs}}
        memcpy({{$x.Prefix}}_{{.CName}}(t->arena), {{$x.Prefix}}_in_{{.CName}} + round * {{.Bytes}}u, {{.Bytes}}u);
{{- end}}
        t->wrong += ((t->number == 0) ? {{.Prefix}}_sliced(t->arena, &t->work) : {{.Prefix}}_run(t->arena)) != NNCC_OK;
{{- range .Outputs}}
        t->wrong += memcmp({{$x.Prefix}}_{{.CName}}(t->arena), {{$x.Prefix}}_out_{{.CName}} + round * {{.Bytes}}u,
                           {{.Bytes}}u) != 0;
{{- end}}
{{- end}}
    }
    return NULL;
}

int main(void)
{
    pthread_t id[THREADS];
    int i, wrong = 0;
    for (i = 0; i < THREADS; i++) {
        threads[i].number = i;
        if (pthread_create(&id[i], NULL, work, &threads[i]) != 0) {
            return 2;
        }
    }
    for (i = 0; i < THREADS; i++) {
        (void)pthread_join(id[i], NULL);
        wrong += threads[i].wrong;
    }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
`))

// TestSeveralThreads: eight threads and one that runs the models in slices, each with an
// arena of its own, compute what the interpreter does, and the thread sanitizer finds nothing
// that they share.
func TestSeveralThreads(t *testing.T) {
	testenv.Tool(t, "cc", "gcc")
	f, err := Compile(severalConfigs(t, "host")...)
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
