// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
)

var (
	imagesMu sync.Mutex
	images   = map[string]func() (*run.Image, error){}
)

func TestMain(m *testing.M) {
	code := m.Run()
	for _, image := range images {
		if im, err := image(); err == nil {
			im.Close()
		}
	}
	os.Exit(code)
}

// mini builds the mini model once a board, with the traced program; on the
// host with sanitisers.
func mini(t testing.TB, spec *boards.Spec) *run.Image {
	t.Helper()
	imagesMu.Lock()
	image := images[spec.Name]
	if image == nil {
		dir, spec := writeMini(t), *spec
		image = sync.OnceValues(func() (*run.Image, error) {
			return run.Build(context.Background(), &spec, dir, run.BuildOptions{Model: &miniModel, Trace: true,
				Sanitize: spec.Core == "host"})
		})
		images[spec.Name] = image
	}
	imagesMu.Unlock()
	im := testenv.Must(image())(t)
	return im
}

func checkSizes(t *testing.T, im *run.Image) {
	t.Helper()
	testenv.Check(t, im.Sizes.Arena == 1088, "arena %d bytes, want 1088", im.Sizes.Arena)
	w := im.Sizes.Weights()
	testenv.Check(t, w == 16, "weights %d bytes, want 16: %+v", w, im.Sizes)
	c := im.Sizes.Code()
	testenv.Check(t, c >= 100 && c <= 3000, "code %d bytes: %+v", c, im.Sizes)
}

// Every board with a machine computes the right bytes, counts the same
// instructions twice, and reports its steps. Boards for which the image and the machine
// would be the same are run once.
func TestMiniModelOnEveryBoard(t *testing.T) {
	ran := map[string]bool{}
	for _, name := range boards.List() {
		spec := load(t, name)
		same := fmt.Sprint(spec.Toolchain, spec.RunCPU(), spec.Runner.Machine, spec.Runner.Memory)
		if ran[same] {
			continue
		}
		ran[same] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			im := mini(t, spec)
			cases := []run.Case{miniCase(0, 1), miniCase(0, 2), miniCase(0, 3), miniCase(8, 3)}
			cases[2].KeepState = true
			dumps := []run.Dump{{Step: 1, Offset: 1040, Bytes: 4}, {Step: -1, Offset: 16, Bytes: 512},
				{Step: 0, Offset: 528, Bytes: 512}}
			opt := run.Options{Trace: []int{0, 2}, Dumps: dumps}
			res := testenv.Must(run.RunWith(context.Background(), spec, im, cases, opt))(t)
			var state int32
			for i, c := range cases {
				if !c.KeepState {
					state = 0
				}
				var want [][]byte
				want, state = miniOutputs(c, state)
				got := res.Cases[i]
				if got.Status != 0 || len(got.Outputs) != 2 || !bytes.Equal(got.Outputs[0], want[0]) ||
					!bytes.Equal(got.Outputs[1], want[1]) {
					t.Errorf("case %d: status %d, outputs differ", i, got.Status)
				}
				if i == 0 || i == 2 {
					if len(got.Layers) != 3 || !bytes.Equal(got.Dumps[0], want[1]) ||
						!bytes.Equal(got.Dumps[1], c.Inputs[1]) || !bytes.Equal(got.Dumps[2], want[0]) {
						t.Errorf("case %d: layers %v or dumps differ", i, got.Layers)
					}
				} else if got.Layers != nil {
					t.Errorf("case %d was not to be traced", i)
				}
			}
			testenv.Equal(t, res.ArenaBytes, 1088, "arena")
			if load(t, name).Core == "host" {
				return
			}
			checkSizes(t, im)
			t.Logf("instructions %d %d, layers %v, stack %d, code %d", res.Cases[0].Instructions,
				res.Cases[3].Instructions, res.Layers, res.StackBytes, im.Sizes.Code())
			n := res.Cases[0].Instructions
			testenv.Check(t, n >= 3000 && n <= 40000, "%d instructions", n)
			var sum uint64
			for _, l := range res.Layers {
				sum += l
			}
			if n := res.Cases[0].Instructions; sum > n || sum+100 < n {
				t.Errorf("layers %v sum up to %d, total is %d", res.Layers, sum, n)
			}
			testenv.Check(t, res.StackBytes >= 8 && res.StackBytes <= 400 && res.StackExact,
				"stack %d bytes, exact %t", res.StackBytes, res.StackExact)
			again := testenv.Must(run.RunWith(context.Background(), spec, im, cases, opt))(t)
			for i := range cases {
				if again.Cases[i].Instructions != res.Cases[i].Instructions || !slices.Equal(again.Cases[i].Layers,
					res.Cases[i].Layers) {
					t.Errorf("case %d: %d instructions, then %d", i, res.Cases[i].Instructions,
						again.Cases[i].Instructions)
				}
			}
		})
	}
}

// A loop of known length is counted to the instruction, also where the
// counter wraps several times, and its interrupts do not show in the stack, nor those
// during a case that cannot be repeated without them.
func TestCalibration(t *testing.T) {
	for _, name := range []string{"cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55",
		"microbit"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := load(t, name)
			res := testenv.Must(run.RunWith(context.Background(), spec, mini(t, spec),
				[]run.Case{miniCase(8, 1), miniCase(9, 1), kept(miniCase(10, 1))},
				run.Options{Trace: []int{0, 1, 2}}))(t)
			a := res.Cases[0]
			for i, turns := range []int64{250, 2500000, 7500000} {
				c := res.Cases[i]
				// The switch before the loop may take a branch more or less.
				d := int64(c.Instructions) - int64(a.Instructions) - 4*(turns-250)
				testenv.Check(t, d >= -2 && d <= 2, "inference: %d turns are off by %d instructions", turns, d)
				if d := int64(c.Layers[2]) - int64(a.Layers[2]) - 4*(turns-250); d < -2 || d > 2 {
					t.Errorf("step: %d turns are off by %d instructions", turns, d)
				}
			}
			n := a.Layers[2]
			testenv.Check(t, n >= 1002 && n <= 1035, "a step of 1002 instructions and a switch counts %d", n)
			quiet, err := run.RunWith(context.Background(), spec, mini(t, spec), []run.Case{miniCase(8, 1)},
				run.Options{Trace: []int{}})
			testenv.OK(t, err)
			testenv.Check(t, res.StackBytes == quiet.StackBytes && res.StackExact,
				"stack %d with interrupts (exact: %t), %d without", res.StackBytes, res.StackExact, quiet.StackBytes)
			res, err = run.Run(context.Background(), spec, mini(t, spec), []run.Case{miniCase(11, 1)})
			testenv.OK(t, err)
			testenv.Check(t, res.StackBytes >= 1200 && res.StackBytes <= 1300,
				"a function with 1200 bytes of locals uses %d of stack", res.StackBytes)
		})
	}
}

// kept is a case that finds the state of the one before.
func kept(c run.Case) run.Case {
	c.KeepState = true
	return c
}

func TestFailures(t *testing.T) {
	for _, name := range []string{"host", "cortex-m0plus", "cortex-m3", "cortex-m33", "cortex-m55", "microbit"} {
		t.Run(name, func(t *testing.T) {
			spec := load(t, name)
			im := mini(t, spec)
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			host, v6 := name == "host", strings.HasPrefix(spec.Core, "cortex-m0")
			for _, c := range []struct {
				name string
				mode int8
				kind run.Kind
				says string
				on   bool
			}{
				{"null call", 1, run.Fault, "return address in mini_", true},
				{"unaligned", 2, run.Fault, "in mini_kernel_mode", v6 || host},
				{"stack overflow", 3, run.Fault, "it overflowed", true},
				{"beyond arena", 4, run.Guard, "beyond the end", !host},
				{"before arena", 5, run.Guard, "before the start", !host},
				{"beyond arena", 4, run.Fault, "AddressSanitizer", host},
				{"read beyond arena", 13, run.Fault, "AddressSanitizer", host},
				{"endless", 6, run.Timeout, "no end after", host || name == "cortex-m3"},
				{"early exit", 7, run.Broken, "without an end record", true},
				{"bad address", 12, run.Fault, "BFAR=0xf0000000", !host && !v6},
				{"null write", 14, run.Guard, "null pointer", name == "cortex-m3" || name == "cortex-m55"},
			} {
				if !c.on {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					opt := run.Options{}
					if c.kind == run.Timeout {
						opt.Timeout = 300 * time.Millisecond
					}
					_, err := run.RunWith(context.Background(), spec, im,
						[]run.Case{miniCase(0, 7), miniCase(c.mode, 7)}, opt)
					var e *run.Error
					testenv.Require(t, errors.As(err, &e), "got %v", err)
					testenv.Check(t, e.Kind == c.kind, "kind %q, want %q: %v", e.Kind, c.kind, err)
					testenv.Check(t, strings.Contains(err.Error(), c.says) || host && c.kind == run.Fault,
						"no %q in: %v", c.says, err)
				})
			}
			left, _ := os.ReadDir(temp)
			testenv.Check(t, len(left) <= 0, "left behind: %v", left)
			res, err := run.Run(context.Background(), spec, im, []run.Case{miniCase(100, 1), miniCase(0, 1)})
			testenv.OK(t, err)
			if res.Cases[0].Status != -3 || res.Cases[0].Outputs != nil || res.Cases[1].Status != 0 ||
				res.Cases[1].Outputs == nil {
				t.Errorf("a model that reports an error: %+v", res.Cases)
			}
			wrong := miniCase(0, 1)
			wrong.Inputs[1] = wrong.Inputs[1][:511]
			var e *run.Error
			if _, err := run.Run(context.Background(), spec, im, []run.Case{wrong}); !errors.As(err, &e) ||
				e.Kind != run.Usage {
				t.Errorf("an input cut short: %v", err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := run.Run(ctx, spec, im, []run.Case{miniCase(0, 1)}); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
	}
}

func TestBadRequests(t *testing.T) {
	spec := load(t, "host")
	im := mini(t, spec)
	ctx := context.Background()
	one := miniCase(0, 1)
	for _, c := range []struct {
		name  string
		cases []run.Case
		opt   run.Options
		want  string
	}{
		{"no cases", nil, run.Options{}, "no cases"},
		{"unequal cases", []run.Case{one, {Inputs: one.Inputs[:1]}}, run.Options{}, "case 1 has 1 inputs"},
		{"unequal bytes", []run.Case{one, {Inputs: [][]byte{one.Inputs[0], nil}}}, run.Options{},
			"input 1 has 0 bytes"},
		{"trace nothing", []run.Case{one}, run.Options{Trace: []int{3}}, "case 3 is to be traced"},
		{"dump outside", []run.Case{one}, run.Options{Dumps: []run.Dump{{Step: 0, Offset: 1000, Bytes: 100}}},
			"outside of the arena"},
		{"dump of no step", []run.Case{one}, run.Options{Dumps: []run.Dump{{Step: 9, Offset: 0, Bytes: 1}}},
			"0 dumps came, 1 were asked for"},
	} {
		testenv.Refused(t, testenv.Err(run.RunWith(ctx, spec, im, c.cases, c.opt)), c.want)
	}
	if res, err := run.RunWith(ctx, spec, im, []run.Case{one}, run.Options{Trace: []int{}}); err != nil ||
		res.Layers != nil {
		t.Errorf("nothing to trace: %v", err)
	}
	none := *spec
	none.Runner.Kind = "none"
	testenv.Refused(t, testenv.Err(run.Run(ctx, &none, im, []run.Case{one})), "no machine to run on")
}

func TestMissingAndFailingTools(t *testing.T) {
	spec := load(t, "host")
	ctx := context.Background()
	dir := writeMini(t)
	var e *run.ToolError

	bad := *spec
	bad.Toolchain.CC = "no-such-compiler"
	if _, err := run.Build(ctx, &bad, dir, run.BuildOptions{Model: &miniModel}); !errors.As(err, &e) ||
		!strings.Contains(err.Error(), "apt-get install -y gcc") {
		t.Errorf("missing compiler: %v", err)
	}
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "broken.c"), []byte("int f(void) { return nope; }\n"),
		0o644))
	if _, err := run.Build(ctx, spec, dir, run.BuildOptions{Model: &miniModel}); !errors.As(err, &e) ||
		e.Install != "" || !strings.Contains(err.Error(), "broken.c:1") {
		t.Errorf("broken source: %v", err)
	}
	testenv.Refused(t, testenv.Err(run.Build(ctx, spec, dir, run.BuildOptions{})), "has no harness folder")
	testenv.Refused(t, testenv.Err(run.Build(ctx, spec, dir, run.BuildOptions{Model: &miniModel, CMSISLib: "gone.a"})),
		"gone.a")
	arm := load(t, "cortex-m4")
	im := mini(t, arm)
	t.Setenv("PATH", t.TempDir())
	if _, err := run.Run(ctx, arm, im, []run.Case{miniCase(0, 1)}); !errors.As(err, &e) ||
		!strings.Contains(err.Error(), "apt-get install -y qemu-system-arm") {
		t.Errorf("missing QEMU: %v", err)
	}
}

// TestBrokenQEMU: whatever the emulator does instead of its work is a fault of
// the tool, with the command that installs one.
func TestBrokenQEMU(t *testing.T) {
	spec := *load(t, "cortex-m4")
	im := mini(t, &spec)
	says := "if [ \"$1\" = --version ]; then echo QEMU emulator version 9.0.0; exit 0; fi\n"
	defer run.SetStartPatience(3 * time.Second)()
	for name, c := range map[string]struct{ script, want string }{
		"no program":         {"", "not in PATH"},
		"of another machine": {"\x7fELF\x01\x01\x01 no program", "format"},
		"fails at once": {"#!/bin/sh\necho error while loading shared libraries: libx.so >&2\nexit 127\n",
			"libx.so"},
		"is something else": {"#!/bin/sh\necho hello\n", "does not say that it is QEMU"},
		"hangs at once":     {"#!/bin/sh\nexec sleep 1000\n", "does not end within"},
		"fails with a program": {"#!/bin/sh\n" + says +
			"echo qemu-system-arm: cannot set up guest memory >&2\nexit 1\n", "cannot set up guest memory"},
		"an odd exit status": {"#!/bin/sh\n" + says + "exit 77\n", "exit status 77"},
		"crashes":            {"#!/bin/sh\n" + says + "kill -SEGV $$\n", "ended by signal"},
		"is killed":          {"#!/bin/sh\n" + says + "kill -KILL $$\n", "ended by signal"},
		"does nothing":       {"#!/bin/sh\n" + says + "exit 0\n", "there are no results"},
		"prints garbage": {"#!/bin/sh\n" + says + "head -c 300000 /dev/urandom\nexit 0\n",
			"there are no results"},
		"an unknown machine": {"#!/bin/sh\n" + says +
			"echo \"qemu-system-arm: unsupported machine type\" >&2\nexit 1\n", "does not know the machine"},
		"an interpreter is not": {"#!/no/such/interpreter\n", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.script != "" {
				testenv.OK(t, os.WriteFile(filepath.Join(dir, "qemu-system-arm"), []byte(c.script), 0o755))
				t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
			} else {
				t.Setenv("PATH", dir)
			}
			var e *run.ToolError
			_, err := run.Run(context.Background(), &spec, im, []run.Case{miniCase(0, 1)})
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(),
				"apt-get install") {
				t.Errorf("got %T %.300v", err, err)
			}
		})
	}
}

// TestInstallAdvice: what a user's board says is told apart from nncc's advice.
func TestInstallAdvice(t *testing.T) {
	p := filepath.Join(t.TempDir(), "b.yaml")
	if err := os.WriteFile(p, []byte("inherits: [host]\ntoolchain: {cc: no-such-compiler, install: \"curl http://x "+
		"| sh\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec, err := boards.Load(p)
	testenv.OK(t, err)
	_, err = run.Build(context.Background(), spec, writeMini(t), run.BuildOptions{Model: &miniModel})
	testenv.Refused(t, err, `what the board's file says, which nncc does not know: "curl http://x | sh"`)
}

func TestUnknownMachine(t *testing.T) {
	spec := *load(t, "cortex-m4")
	im := mini(t, &spec)
	spec.Runner.Machine = "mps9-an999"
	var e *run.ToolError
	if _, err := run.Run(context.Background(), &spec, im, []run.Case{miniCase(0, 1)}); !errors.As(err, &e) ||
		!strings.Contains(err.Error(), "does not know the machine mps9-an999") {
		t.Errorf("got %v", err)
	}
}
