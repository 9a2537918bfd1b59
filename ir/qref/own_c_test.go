// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// The nncc_* kernels are tested through one host program that is generated
// from the public headers: it reads calls from stdin (function number, the
// bytes of every argument), makes each in buffers of exactly the given size
// under the address and undefined-behaviour sanitizers, and writes back the
// arguments that are not const.

var ownInclude, ownSource string // folders with the C, of TestMain

// TestMain writes the runtime's C, prototypes and all, into a folder.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "nncc-runtime")
	if err == nil {
		err = runtimec.WriteTree(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ownInclude, ownSource = filepath.Join(dir, "include", "nncc"), filepath.Join(dir, "src", "nncc")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// ownWarnings are the flags under which all C of the project is free of warnings.
var ownWarnings = strings.Fields("-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes " +
	"-Wmissing-prototypes -Werror")

// proto is one C prototype of the public headers.
type proto struct {
	status bool // returns nncc_status
	name   string
	header string   // file that declares it
	args   []string // C types, in order
}

var protoPattern = regexp.MustCompile(`(?m)^(void|nncc_status) (nncc_\w+)\(([^)]*)\);`)

// ownProtos reads the prototypes of all kernels, in a fixed order.
func ownProtos(t testing.TB) []proto {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(ownInclude, "*.h"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no headers below %s (%v)", ownInclude, err)
	}
	var out []proto
	for _, f := range files {
		if filepath.Base(f) == "nncc_model.h" { // of models: the hook between steps is the user's
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range protoPattern.FindAllStringSubmatch(string(text), -1) {
			p := proto{status: m[1] == "nncc_status", name: m[2], header: f}
			for a := range strings.SplitSeq(m[3], ",") {
				a = strings.TrimSpace(a)
				typ := strings.TrimSpace(a[:strings.LastIndex(a, "*")+1])
				p.args = append(p.args, cmp.Or(typ, "int32_t)*(const int32_t *")) // what is no pointer is a number
			}
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b proto) int { return strings.Compare(a.name, b.name) })
	return out
}

// ownFamilies are the other families of which the public headers declare kernels.
var ownFamilies = []string{"dsp", "helium"}

// ownSources lists the C files of the kernels: those of the portable family,
// and of other families what the public headers declare.
func ownSources(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(ownSource, "*.c"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources below %s (%v)", ownSource, err)
	}
	for _, p := range ownProtos(t) {
		for _, family := range ownFamilies {
			f := filepath.Join(ownSource, "..", family, p.name+".c")
			if _, err := os.Stat(f); err == nil {
				files = append(files, f)
			}
		}
	}
	return files
}

// ownFolders are the arguments by which compilers find headers and sources of
// all families.
func ownFolders() []string {
	args := []string{"-I", ownInclude, "-I", ownSource}
	for _, family := range ownFamilies {
		args = append(args, "-I", filepath.Join(ownInclude, "..", family), "-I", filepath.Join(ownSource, "..", family))
	}
	return args
}

// driver is the running test program.
type driver struct {
	in     *bufio.Writer
	out    *bufio.Reader
	stderr *bytes.Buffer
	protos map[string]proto
	index  map[string]int
}

var (
	driverOnce sync.Once
	theDriver  *driver
	driverErr  error
)

// ownDriver builds and starts the test program once per test run.
func ownDriver(t testing.TB) *driver {
	t.Helper()
	cc := testenv.Tool(t, "cc", "gcc")
	driverOnce.Do(func() { theDriver, driverErr = startDriver(t, cc) })
	if driverErr != nil {
		t.Fatal(driverErr)
	}
	return theDriver
}

const driverHead = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void get(void *p, size_t n) { if (n && fread(p, 1, n, stdin) != n) exit(0); }
`

const driverMain = `
int main(void) {
    for (;;) {
        unsigned id, n, i; int size[16]; void *a[16]; int status;
        get(&id, 4); get(&n, 4);
        for (i = 0; i < n; i++) {
            get(&size[i], 4);
            a[i] = NULL;
            if (size[i] >= 0) {
                a[i] = malloc(size[i] ? (size_t)size[i] : 1u);
                get(a[i], (size_t)size[i]);
            }
        }
        status = calls[id].fn(a);
        fwrite(&status, 4, 1, stdout);
        for (i = 0; i < n; i++) {
            if (a[i] && (calls[id].outs >> i & 1u)) fwrite(a[i], 1, (size_t)size[i], stdout);
            free(a[i]);
        }
        fflush(stdout);
    }
}
`

func startDriver(t testing.TB, cc string) (*driver, error) {
	protos := ownProtos(t)
	d := &driver{stderr: &bytes.Buffer{}, protos: map[string]proto{}, index: map[string]int{}}
	var b strings.Builder
	b.WriteString(driverHead)
	for _, f := range ownSources(t) {
		fmt.Fprintf(&b, "#include %q\n", filepath.Base(f))
	}
	for _, h := range []string{"nncc_f32.h", "nncc_s8.h", "nncc_s16.h", "nncc_move.h", "nncc_recurrent.h",
		"nncc_limit.h"} {
		fmt.Fprintf(&b, "#include %q\n", h)
	}
	var table strings.Builder
	for i, p := range protos {
		d.protos[p.name], d.index[p.name] = p, i
		outs := 0
		fmt.Fprintf(&b, "static int call_%s(void **a) { ", p.name)
		if p.status {
			b.WriteString("return (int)")
		}
		fmt.Fprintf(&b, "%s(", p.name)
		for k, typ := range p.args {
			if k > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "(%s)a[%d]", typ, k)
			if !strings.HasPrefix(typ, "const") {
				outs |= 1 << k
			}
		}
		b.WriteString(");")
		if !p.status {
			b.WriteString(" return 0;")
		}
		b.WriteString(" }\n")
		fmt.Fprintf(&table, "  {call_%s, %du},\n", p.name, outs)
	}
	fmt.Fprintf(&b, "static const struct { int (*fn)(void **); unsigned outs; } calls[] = {\n%s};\n%s", table.String(),
		driverMain)

	// NNCC_OWN_DRIVER_SOURCE names a file to which the program is written, and
	// NNCC_OWN_DRIVER a command that runs it elsewhere (QEMU, a board): to test
	// the kernels as compiled for a core.
	if to := testenv.Get("NNCC_OWN_DRIVER_SOURCE"); to != "" {
		if err := os.WriteFile(to, []byte(b.String()), 0o644); err != nil {
			return nil, err
		}
	}
	if run := strings.Fields(testenv.Get("NNCC_OWN_DRIVER")); len(run) > 0 {
		return d, d.start(exec.Command(run[0], run[1:]...))
	}
	dir, err := os.MkdirTemp("", "nncc-own")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // a running program does not need its file
	src, bin := filepath.Join(dir, "driver.c"), filepath.Join(dir, "driver")
	if err := os.WriteFile(src, []byte(b.String()), 0o644); err != nil {
		return nil, err
	}
	args := append([]string{"-std=c99", "-O1", "-fsanitize=address,undefined,float-cast-overflow",
		"-fno-sanitize-recover=all", src, "-lm", "-o", bin}, ownFolders()...)
	if msg, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s %s: %v\n%s", cc, strings.Join(args, " "), err, msg)
	}
	cmd := exec.Command(bin)
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
	return d, d.start(cmd)
}

// start runs the program and connects its input and output.
func (d *driver) start(cmd *exec.Cmd) error {
	cmd.Stderr = d.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	d.in, d.out = bufio.NewWriter(in), bufio.NewReader(out)
	return cmd.Start()
}

// call runs kernel name. args are in the kernel's order: nil for NULL, a
// struct of fixed-size fields for parameters, slices for tensors; slices of
// arguments that are not const receive the kernel's output. The result is the
// kernel's status, 0 for void kernels.
func (d *driver) call(t testing.TB, name string, args ...any) int32 {
	t.Helper()
	p, ok := d.protos[name]
	if !ok {
		t.Fatalf("%s: no such kernel in the headers", name)
	}
	if len(args) != len(p.args) {
		t.Fatalf("%s takes %d arguments, got %d", name, len(p.args), len(args))
	}
	le := binary.LittleEndian
	head := le.AppendUint32(le.AppendUint32(nil, uint32(d.index[name])), uint32(len(args)))
	d.in.Write(head)
	sizes := make([]int, len(args))
	for i, a := range args {
		if a == nil || reflect.ValueOf(a).Kind() == reflect.Slice && reflect.ValueOf(a).IsNil() {
			d.in.Write(le.AppendUint32(nil, math.MaxUint32))
			sizes[i] = -1
			continue
		}
		raw, err := binary.Append(nil, le, a)
		if err != nil {
			t.Fatalf("%s: argument %d: %v", name, i, err)
		}
		sizes[i] = len(raw)
		d.in.Write(le.AppendUint32(nil, uint32(len(raw))))
		d.in.Write(raw)
	}
	if err := d.in.Flush(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, d.stderr)
	}
	var status int32
	if err := binary.Read(d.out, le, &status); err != nil {
		t.Fatalf("%s: the driver died: %v\nparameters %+v\n%s", name, err, args[0], d.stderr)
	}
	for i, a := range args {
		if sizes[i] < 0 || strings.HasPrefix(p.args[i], "const") {
			continue
		}
		raw := make([]byte, sizes[i])
		if _, err := io.ReadFull(d.out, raw); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, d.stderr)
		}
		if _, err := binary.Decode(raw, le, a); err != nil {
			t.Fatalf("%s: argument %d: %v", name, i, err)
		}
	}
	return status
}

// TestOwnHeaderNames checks that every kernel lives in the file of its name,
// that the runtime finds it there, and that <math.h> is left to float kernels.
func TestOwnHeaderNames(t *testing.T) {
	for _, p := range ownProtos(t) {
		files, err := runtimec.Files(p.name)
		if err != nil {
			t.Errorf("kernel %s: %v", p.name, err)
			continue
		}
		for _, f := range files {
			if strings.Contains(string(f.Data), "<math.h>") && !strings.HasSuffix(p.header, "_f32.h") {
				t.Errorf("kernel %s needs %s, which includes <math.h>", p.name, f.Path)
			}
		}
		if !slices.ContainsFunc(files, func(f runtimec.File) bool { return path.Base(f.Path) == p.name+".c" }) {
			t.Errorf("kernel %s is not in a file of its name", p.name)
		}
	}
}

// ownUnit is one translation unit of all kernels: their static names do not
// collide, so projects may build them that way.
func ownUnit(t testing.TB) string {
	var unit strings.Builder
	for _, f := range ownSources(t) {
		fmt.Fprintf(&unit, "#include %q\n", filepath.Base(f))
	}
	return unit.String()
}

// TestOwnCompiles compiles the kernels on the host without warnings: every
// file alone with GCC, all as one unit with clang.
func TestOwnCompiles(t *testing.T) {
	flags := slices.Concat(ownWarnings, []string{"-fsyntax-only"}, ownFolders())
	t.Run("gcc", func(t *testing.T) {
		t.Parallel()
		cc := testenv.Tool(t, "cc", "gcc")
		if msg, err := exec.Command(cc, append(slices.Clone(flags), ownSources(t)...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, msg)
		}
	})
	t.Run("clang", func(t *testing.T) {
		t.Parallel()
		cc := testenv.Tool(t, "clang", "clang")
		cmd := exec.Command(cc, append(slices.Clone(flags), "-x", "c", "-")...)
		cmd.Stdin = strings.NewReader(ownUnit(t))
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, msg)
		}
	})
}

// ownCores are the cores whose code is checked, with their float ABI, and whether
// they can multiply and add in an instruction.
var ownCores = []struct {
	name, abi string
	fused     bool
}{
	{"cortex-m0plus", "soft", false}, {"cortex-m4", "hard", true}, {"cortex-m7", "hard", true},
	{"cortex-m55", "hard", true},
}

// fusedFunctions is how the functions are called whose products are fused by
// definition.
var fusedFunctions = regexp.MustCompile(`^nncc_f32_|_packed_f32$|^nncc_(dot|batch_matmul|resize)_f32$`)

// TestOwnCrossCompiles compiles all kernels for the cores as one unit, without
// warnings, and checks that no fused multiply-add is emitted where none is meant:
// it would round once where the reference rounds twice. GNU mode is used because
// only there GCC contracts by default.
func TestOwnCrossCompiles(t *testing.T) {
	cc := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	unit := ownUnit(t)
	fused, label := regexp.MustCompile(`\bvfn?m[as]`), regexp.MustCompile(`^([A-Za-z_]\w*):`)
	for _, core := range ownCores {
		t.Run(core.name, func(t *testing.T) {
			t.Parallel()
			args := slices.Concat(ownWarnings, ownFolders(), []string{"-std=gnu11", "-Os", "-mthumb",
				"-mcpu=" + core.name, "-mfloat-abi=" + core.abi, "-x", "c", "-", "-S", "-o", "-"})
			cmd := exec.Command(cc, args...)
			cmd.Stdin = strings.NewReader(unit)
			var out, msg bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &msg
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, msg.Bytes())
			}
			in, meant := "", 0
			for line := range strings.Lines(out.String()) {
				if m := label.FindStringSubmatch(line); m != nil {
					in = m[1]
				}
				switch m := fused.FindString(line); {
				case m != "" && fusedFunctions.MatchString(in):
					meant++
				case m != "":
					t.Errorf("instruction %s in %s: contraction is on", m, in)
				}
			}
			if meant == 0 && core.fused {
				t.Error("no function has a fused multiply-add")
			}
		})
	}
}
