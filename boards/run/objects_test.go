// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// Objects of one build serve another one of the same files in another folder,
// until one of the files, headers too, or a flag changes.
func TestKeptObjects(t *testing.T) {
	for _, name := range []string{"host", "cortex-m3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, objects := load(t, name), t.TempDir()
			build := func(dir, objects, opt string) ([]byte, error) {
				im, err := run.Build(context.Background(), spec, dir, run.BuildOptions{Model: &miniModel,
					Objects: objects, Opt: opt})
				if err != nil {
					return nil, err
				}
				defer im.Close()
				return os.ReadFile(im.ELF)
			}
			must := func(dir, objects, opt string) []byte {
				t.Helper()
				elf := testenv.Must(build(dir, objects, opt))(t)
				return elf
			}
			kept := func() []string {
				t.Helper()
				files := testenv.Must(filepath.Glob(filepath.Join(objects, "*")))(t)
				return files
			}
			plain := must(writeMini(t), t.TempDir(), "")
			first := must(writeMini(t), objects, "")
			n := len(kept())
			again := must(writeMini(t), objects, "")
			if n == 0 || len(kept()) != n || !bytes.Equal(first, again) || !bytes.Equal(first, plain) {
				t.Errorf("%d objects kept, %d after the second build, programs equal: %v, %v", n, len(kept()),
					bytes.Equal(first, again), bytes.Equal(first, plain))
			}

			changed := writeMini(t)
			header := filepath.Join(changed, "nncc", "kernel.h")
			text := testenv.Must(os.ReadFile(header))(t)
			testenv.OK(t, os.WriteFile(header, append(text, "/* changed */\n"...), 0o644))
			must(changed, objects, "")
			if got := len(kept()); got != n+2 { // mini.c and kernel.c include it
				t.Errorf("%d objects after a header of two sources changed, want %d", got, n+2)
			}
			must(writeMini(t), objects, "-O1")
			testenv.Equal(t, len(kept()), 2*n+2, "objects after a build with another flag")

			for _, f := range kept() {
				testenv.OK(t, os.WriteFile(f, []byte("no object"), 0o644))
			}
			_, err := build(writeMini(t), objects, "")
			testenv.Check(t, err != nil, "kept objects were not linked")
		})
	}
}

// A source whose object holds more than files can tell is compiled every time.
func TestNotKept(t *testing.T) {
	spec := testenv.Must(boards.Load("host"))(t)
	testenv.Tool(t, "cc", spec.Toolchain.CC)
	count := func(o run.BuildOptions, text string) int {
		t.Helper()
		dir := writeMini(t)
		testenv.OK(t, os.WriteFile(filepath.Join(dir, "more.c"), []byte(text), 0o644))
		o.Model, o.Objects = &miniModel, t.TempDir()
		im := testenv.Must(run.Build(context.Background(), spec, dir, o))(t)
		im.Close()
		files, _ := filepath.Glob(filepath.Join(o.Objects, "*"))
		return len(files)
	}
	all := count(run.BuildOptions{}, "extern const char more[];\nconst char more[] = \"\";\n")
	for _, text := range []string{
		"extern const char more[];\nconst char more[] = __FILE__;\n",
		"extern const char more[];\nconst char more[] = __DATE__;\n",
		"#define WHAT \"mini.h\"\n#include WHAT\n",
		"__asm__(\".incbin \\\"mini.h\\\"\");\n",
	} {
		testenv.Equal(t, count(run.BuildOptions{}, text), all-1, "objects kept with %q", text)
	}
	testenv.Equal(t, count(run.BuildOptions{ExtraCFlags: []string{"-I/usr/include"}}, ""), 0,
		"objects kept with a folder of headers among the flags")
}

// A loop of two NOP, a SUBS and a BNE, counted by hand: cycles a turn with the
// branch taken. The instructions of every step are those that the counter of
// the machine finds.
func TestCyclesOfALoop(t *testing.T) {
	for name, turn := range map[string]int{
		"cortex-m0plus": 1 + 1 + 1 + 2, "microbit": 1 + 1 + 1 + 3, "cortex-m3": 1 + 1 + 1 + 3, "cortex-m4": 1 + 1 + 1 +
			3, "cortex-m55": 1 + 1 + 1 + 2, "cortex-m7": 1 + 1 + 1,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := load(t, name)
			im, ctx := mini(t, spec), context.Background()
			cases := []run.Case{miniCase(8, 1), miniCase(15, 1)}
			cases[1].KeepState = true // so that the second execution follows both
			res := testenv.Must(run.RunWith(ctx, spec, im, cases, run.Options{Trace: []int{0, 1}}))(t)
			short := testenv.Must(run.Cycles(ctx, spec, im, []run.Job{{Cases: cases}}, 0, 0))(t)
			long := testenv.Must(run.Cycles(ctx, spec, im, []run.Job{{Cases: cases}}, 0, 1))(t)
			for i, c := range long.Cycles {
				if d := c.Instructions - int(res.Cases[1].Layers[i]); d < -6 || d > 6 {
					t.Errorf("step %d: %d instructions were followed, %d counted", i, c.Instructions,
						res.Cases[1].Layers[i])
				}
			}
			d := long.Cycles[2].Instructions - short.Cycles[2].Instructions
			testenv.Check(t, d >= 3998 && d <= 4002, "1000 turns are %d instructions, want 4000", d)
			// The switch before the loop may take a branch more or less.
			if d := long.Cycles[2].Cycles - short.Cycles[2].Cycles - 1000*turn; d < -6 || d > 6 {
				t.Errorf("1000 turns take %d cycles, want %d", long.Cycles[2].Cycles-short.Cycles[2].Cycles, 1000*turn)
			}
			n := long.Cycles[1].Loaded
			testenv.Check(t, n >= 512 && n <= 600, "a sum of 512 bytes loads %d bytes", n)
		})
	}
}

// TestNoCycles: where there is no estimate, the error says why.
func TestNoCycles(t *testing.T) {
	for name, want := range map[string]string{"host": "no table of cycles for host"} {
		spec := load(t, name)
		testenv.Refused(t, testenv.Err(run.Cycles(context.Background(), spec, mini(t, spec),
			[]run.Job{{Cases: []run.Case{miniCase(8, 1)}}}, 0, 0)), want)
	}
}
