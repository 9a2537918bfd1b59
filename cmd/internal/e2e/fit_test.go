// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// boardFile writes a board with the memory regions given.
func boardFile(t *testing.T, parent string, stack int, regions boards.Regions) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "doc: A board of the tests.\ninherits: [%s]\nstack: %d\nmemory:\n", parent, stack)
	for _, r := range regions {
		fmt.Fprintf(&b, "  %s: {origin: 0x%08x, size: %d, holds: [%s]}\n", r.Name, uint64(r.Origin), uint64(r.Size),
			strings.Join(r.Holds, ", "))
	}
	// What the parent has is removed, unless the board has a region of that name.
	p := mustLoad(t, parent)
	for _, r := range p.Memory {
		if !strings.Contains(b.String(), "  "+r.Name+": ") {
			fmt.Fprintf(&b, "  %s: null\n", r.Name)
		}
	}
	path := filepath.Join(t.TempDir(), "board.yaml")
	require(t, os.WriteFile(path, []byte(b.String()), 0o666))
	return path
}

// TestMemoryVerdict: with what is too small by a few bytes, nncc warns with the
// bytes that are missing, and --strict refuses; with room for it there is no
// word. The declared stack counts, and regions are not added up.
func TestMemoryVerdict(t *testing.T) {
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	const stack = 4 << 10
	compile := func(regions boards.Regions, strict bool) (*driver.Compiled, error) {
		c := config(filepath.Join(digits, "digits.onnx"), boardFile(t, "cortex-m4", stack, regions))
		c.Precision, c.Strict, c.Kernels, c.Optimize = option.Float32, strict, option.ReferenceKernels, option.Size
		return c.Compile()
	}
	rom := []string{"vectors", "code", "rodata", "weights"}
	ram := []string{"stack", "data", "arena"}
	large := boards.Regions{{Name: "flash", Origin: 0x08000000, Size: 1 << 20, Holds: rom},
		{Name: "ram", Origin: 0x20000000, Size: 1 << 20, Holds: ram}}
	o := testenv.Must(compile(large, true))(t)
	arena := o.Lowered.Program.ArenaBytes
	flash := int(o.Placement.Regions[0].Used())
	testenv.Require(t, o.Placement.Regions[1].Used() == uint64(stack+arena) && flash >= o.Info.WeightBytes+5000,
		"%+v", o.Placement)
	// The C library's variables have a place, too, once a build has measured them.
	libc := run.Section{Text: 10, Data: 100, BSS: 200}
	p := o.Firmware.Fit(&run.Sizes{By: map[run.Origin]run.Section{run.Libc: libc}})
	testenv.Check(t, len(p.Homeless) <= 0 && p.Regions[1].Used() >= uint64(stack+arena+300),
		"with variables of the C library: %+v", p)
	for _, k := range []struct {
		name string
		ram  []int // sizes of the regions that hold arena and stack
		rom  int
		want string // "": it fits
	}{
		{"exact", []int{arena + stack}, flash, ""},
		{"stack taken off", []int{arena + stack - 16}, flash,
			fmt.Sprintf("region ram0 has %d bytes for stack 4096 + arena %d: 16 bytes are missing", arena+stack-16,
				arena)},
		{"too small for any part", []int{arena / 8, arena / 8}, flash, "and it is not split: "},
		{"stack in the other", []int{stack, arena}, flash, ""},
		{"stack in the second", []int{arena, stack}, flash, ""},
		{"flash", []int{arena + stack}, flash - 1000, "about 1000 bytes are missing"},
	} {
		regions := boards.Regions{{Name: "flash", Origin: 0x08000000, Size: boards.Size(k.rom), Holds: rom}}
		for i, n := range k.ram {
			regions = append(regions, boards.Region{Name: fmt.Sprintf("ram%d", i),
				Origin: boards.Addr(0x20000000 + i<<24), Size: boards.Size(n), Holds: ram})
		}
		o, err := compile(regions, false)
		require(t, err)
		got := strings.Join(o.Report.Warnings, "\n")
		testenv.Check(t, (k.want == "") == (got == "") && strings.Contains(got, k.want), "%s: warnings %q, want %q",
			k.name, got, k.want)
		_, err = compile(regions, true)
		testenv.Check(t, (err == nil) == (k.want == "") && (err == nil || strings.Contains(err.Error(), k.want)),
			"%s: --strict: %v, want %q", k.name, err, k.want)
	}
}

// TestFitsLinks: what is said to fit a board's memories links into them, and what
// is not does not, over random boards whose regions have about the size that is
// needed. Sizes are of a build; the estimates without one are near them.
func TestFitsLinks(t *testing.T) {
	fits, not := 0, 0
	for _, board := range []string{"cortex-m55", "cortex-m0"} {
		c := digitsConfig(board)
		o := mustCompile(t, c)
		dir := folder(t, o.Files)
		im := mustBuild(t, o.Board, dir, run.BuildOptions{Opt: "speed"})
		before, after := o.Firmware.Fit(nil).Regions, o.Firmware.Fit(&im.Sizes).Regions
		var guess, exact uint64
		for i := range before {
			guess, exact = guess+before[i].Used(), exact+after[i].Used()
		}
		testenv.Check(t, guess >= exact && guess <= exact+exact/10+4500, "%s: %d bytes estimated, %d measured", board,
			guess, exact)
		l := newLinker(t, o, dir)
		for seed := range uint64(24) {
			r := rand.New(rand.NewPCG(seed, 7))
			o.Board.Memory = randomRegions(r, o.Firmware.Fit(&im.Sizes))
			p := o.Firmware.Fit(&im.Sizes)
			if !p.Fits() && p.At("arena") == "" {
				continue
			}
			missing := uint64(0)
			for _, x := range p.Regions {
				missing = max(missing, x.Missing())
			}
			text, linked := l.link(p)
			switch {
			case p.Fits():
				fits++
				testenv.Check(t, linked, "%s, seed %d: is said to fit, does not link: %s\n%+v", board, seed, text,
					p.Regions)
			// The sizes of the build have gaps between items.
			case missing > 1<<10:
				not++
				if linked || !strings.Contains(text, "overflowed by") {
					t.Errorf("%s, seed %d: %d bytes are said to be missing, and it links: %s\n%+v", board, seed,
						missing, text, p.Regions)
				}
			}
		}
	}
	testenv.Check(t, fits >= 5 && not >= 5, "%d boards fit, %d do not: want more of both", fits, not)
}

// randomRegions are memories about as large as what has to lie there.
func randomRegions(r *rand.Rand, p boards.Placement) boards.Regions {
	need := func(what ...string) int {
		n := 0
		for _, x := range p.Regions {
			for _, i := range x.Items {
				for _, w := range what {
					if i.What == w {
						n += int(i.Bytes+15) &^ 15
					}
				}
			}
		}
		return n
	}
	var rs boards.Regions
	add := func(origin int, size int, holds ...string) {
		rs = append(rs, boards.Region{Name: fmt.Sprintf("m%d", len(rs)), Origin: boards.Addr(origin),
			Size: boards.Size(size), Holds: holds})
	}
	near := func(n int) int { return n + r.IntN(6000) - 2200 }
	switch r.IntN(3) {
	case 0:
		add(0x08000000, near(need("code", "rodata", "weights")), "code", "rodata", "weights")
	case 1:
		add(0x08000000, near(need("code", "rodata")), "code", "rodata", "weights")
		add(0x0c000000, near(need("weights")), "weights")
	default:
		add(0x00000000, near(need("code")), "code")
		add(0x08000000, near(need("rodata", "weights")), "code", "rodata")
	}
	switch r.IntN(3) {
	case 0:
		add(0x20000000, near(need("arena", "stack", "data")), "arena", "stack", "data")
	case 1:
		add(0x20000000, near(need("arena")), "arena", "stack", "data")
		add(0x24000000, near(need("stack", "data")+2000), "arena", "stack", "data")
	default:
		add(0x20000000, max(need("stack", "data"), 1024), "stack", "data")
		add(0x24000000, near(need("arena")), "arena")
	}
	return rs
}

// linker links a model's library, and nothing else, into given memories.
type linker struct {
	t        *testing.T
	o        *driver.Compiled
	dir      string
	archive  string
	arena    string
	compiler string
}

func newLinker(t *testing.T, o *driver.Compiled, dir string) *linker {
	t.Helper()
	l := &linker{t: t, o: o, dir: dir, archive: filepath.Join(dir, "lib"+o.Info.Prefix+".a"),
		arena:    filepath.Join(dir, "arena.o"),
		compiler: o.Board.Toolchain.Prefix + o.Board.Toolchain.CC}
	out, err := exec.Command("make", "-C", dir).CombinedOutput()
	testenv.Require(t, err == nil, "make: %v\n%s", err, out)
	source := filepath.Join(dir, "arena.c")
	text := fmt.Sprintf("#include \"%s.h\"\nunsigned char arena[%s] __attribute__((aligned(16), "+
		"section(\".the_arena\")));\n", o.Info.Prefix, o.Info.ArenaMacro)
	require(t, os.WriteFile(source, []byte(text), 0o666))
	args := append(append([]string{}, o.Board.Toolchain.CPU...), "-I"+dir, "-I"+filepath.Join(dir, "nncc"), "-c",
		source, "-o", l.arena)
	if out, err := exec.Command(l.compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return l
}

// link puts everything where p has it.
func (l *linker) link(p boards.Placement) (string, bool) {
	var b strings.Builder
	b.WriteString("MEMORY\n{\n")
	for _, r := range p.Regions {
		fmt.Fprintf(&b, "  %s : ORIGIN = 0x%08x, LENGTH = %d\n", r.Name, uint64(r.Origin), uint64(r.Size))
	}
	data := p.At("data")
	if data == "" {
		data = p.At("stack")
	}
	fmt.Fprintf(&b, "}\nSECTIONS\n{\n  .stack (NOLOAD) : ALIGN(16) { . += %d; } > %s\n", uint64(l.o.Board.Stack),
		p.At("stack"))
	fmt.Fprintf(&b, "  .weights : ALIGN(16) { *(.weights .weights.* .nncc.weights.* .rodata.*weights* "+
		".rodata.*WEIGHTS*) *weights*.o(.rodata .rodata.*) } > %s\n", p.At("weights"))
	fmt.Fprintf(&b, "  .text : ALIGN(16) { *(.text .text.*) *(.glue_7 .glue_7t) } > %s\n", p.At("code"))
	fmt.Fprintf(&b, "  .rodata : ALIGN(16) { *(.rodata .rodata.*) } > %s\n", p.At("rodata"))
	fmt.Fprintf(&b, "  .data : ALIGN(16) { *(.data .data.*) } > %s AT> %s\n", data, p.At("rodata"))
	fmt.Fprintf(&b, "  .arena (NOLOAD) : ALIGN(16) { KEEP(*(.the_arena)) } > %s\n", p.At("arena"))
	fmt.Fprintf(&b, "  .bss (NOLOAD) : ALIGN(16) { *(.bss .bss.* COMMON) } > %s\n  /DISCARD/ : { *(.ARM.exidx* "+
		".ARM.extab* .comment .note .note.*) }\n}\n", data)
	script := filepath.Join(l.dir, "test.ld")
	require(l.t, os.WriteFile(script, []byte(b.String()), 0o666))
	args := append([]string{}, l.o.Board.Toolchain.CPU...)
	args = append(args, "-nostartfiles", "-Wl,--gc-sections", "-Wl,-e,"+l.o.Info.Prefix+"_run", "-T", script, "-o",
		filepath.Join(l.dir, "test.elf"), l.arena)
	for _, x := range l.o.Info.Inputs {
		args = append(args, "-Wl,-u,"+l.o.Info.Prefix+"_"+x.CName)
	}
	for _, x := range l.o.Info.Outputs {
		args = append(args, "-Wl,-u,"+l.o.Info.Prefix+"_"+x.CName)
	}
	out, err := exec.Command(l.compiler, append(args, l.archive, "-lm")...).CombinedOutput()
	return string(out), err == nil
}

// twoRAMs is a board whose memories for the arena are a small fast one and a larger slow one.
func twoRAMs(t *testing.T, parent, fast, slow string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "two.yaml")
	require(t, os.WriteFile(path, []byte("doc: two memories\ninherits: ["+parent+"]\nstack: 4K\nmemory:\n"+
		"  rom: {origin: 0x08000000, size: 1M, holds: [vectors, code, rodata, weights]}\n"+
		"  fast: {"+fast+", holds: [arena]}\n"+
		"  slow: {"+slow+", holds: [stack, data, arena], wait: {states: 4, line: 8, source: made up}}\n"), 0o666))
	return path
}

// splitDigits compiles the shipped model for a board.
func splitDigits(t *testing.T, board string, change func(c *driver.Config)) (*driver.Compiled, error) {
	t.Helper()
	c := digitsConfig(board)
	c.Cases, c.Layers = 2, true
	if change != nil {
		change(c)
	}
	return c.Compile()
}

// TestSplitArena: an arena that fits none of a board's memories but two of them is divided,
// verified in those of the machine, and what writes beyond a part is found.
func TestSplitArena(t *testing.T) {
	for _, k := range []struct{ name, parent, fast, slow string }{
		{"two memories", "cortex-m55", "origin: 0x20000000, size: 5K", "origin: 0x21000000, size: 17K"},
		{"halves of one", "cortex-m4", "origin: 0x20000000, size: 7K", "origin: 0x20002000, size: 13K"},
	} {
		t.Run(k.name, func(t *testing.T) {
			board := twoRAMs(t, k.parent, k.fast, k.slow)
			o := testenv.Must(splitDigits(t, board, func(c *driver.Config) { c.Strict = true }))(t)
			p, m := o.Lowered.Program, o.Report.Memory
			if len(p.Parts) != 2 || len(m.ArenaParts) != 2 || !o.Placement.Fits() || m.WaitCycles < m.WaitCyclesBound ||
				m.WaitCyclesBound == 0 || p.Parts[0].Bytes > 7<<10 || p.Parts[1].Bytes > 14<<10 {
				t.Fatalf("parts %+v, %+v", p.Parts, m)
			}
			v := mustVerify(t, o)
			testenv.Check(t, !v.Differs() && strings.Join(v.Guards, " ") == "fast slow" && v.Instructions != 0, "%+v",
				v)
			if k.parent == "cortex-m55" {
				brokenGuards(t, o)
			}
		})
	}
}

// brokenGuards runs programs that write a byte before or behind a part.
func brokenGuards(t *testing.T, o *driver.Compiled) {
	for _, write := range []string{"a->fast[DIGITS_ARENA_FAST_BYTES] = 1;", "a->slow[-1] = 1;"} {
		dir := folder(t, o.Files)
		path := filepath.Join(dir, "digits.c")
		src, err := os.ReadFile(path)
		require(t, err)
		const trace = "    DIGITS_TRACE(-1);\n"
		require(t, os.WriteFile(path, bytes.Replace(src, []byte(trace), []byte(trace+"    "+write+"\n"), 1), 0o666))
		im := mustBuild(t, o.Board, dir, run.BuildOptions{Opt: "speed"})
		_, err = run.Run(context.Background(), o.Board, im, []run.Case{{Inputs: [][]byte{make([]byte, 784)}}})
		testenv.Refused(t, err, "memory that does not belong to the model was written")
	}
}

// TestNotSplit: what stands against parts is said beside the bytes that are missing.
func TestNotSplit(t *testing.T) {
	small := twoRAMs(t, "cortex-m4", "origin: 0x20000000, size: 5K", "origin: 0x20002000, size: 8K")
	o := testenv.Must(splitDigits(t, small, nil))(t)
	said := strings.Join(o.Report.Warnings, "\n")
	if len(o.Lowered.Program.Parts) > 0 || !strings.Contains(said, "in one piece, and no region has more than") ||
		!strings.Contains(said, "are missing") {
		t.Errorf("%+v\n%s", o.Lowered.Program.Parts, said)
	}
}

// keeper is a network with state that is as large as some of its values.
//
//go:embed testdata/keeper.ir
var keeper string

// TestSplitWithAll: an arena in parts beside state, copies of constants in what room the
// memories leave, and constants that are bound: every layer is right, the guards around the
// parts hold, and the dump says which part a value lies in.
func TestSplitWithAll(t *testing.T) {
	model := modelFile(t, keeper)
	for i, core := range testenv.Boards("cortex-m4", "cortex-m55") {
		for k, bound := range []bool{false, true} {
			if i != k && !testenv.Long() {
				continue
			}
			t.Run(fmt.Sprintf("%s bound %v", core, bound), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "all.yaml")
				slow := map[string]string{"cortex-m4": "0x20002000", "cortex-m55": "0x21000000"}[core]
				require(t, os.WriteFile(path, []byte("doc: all\ninherits: ["+core+"]\nstack: 4K\nmemory:\n"+
					"  rom: {origin: 0x08000000, size: 1M, holds: [vectors, code, rodata, weights], "+
					"wait: {states: 60, line: 8, source: made up}}\n"+
					"  fast: {origin: 0x20000000, size: 5K, holds: [arena]}\n"+
					"  slow: {origin: "+slow+", size: 10K, holds: [stack, data, arena], "+
					"wait: {states: 4, line: 8, source: made up}}\n"), 0o666))
				c := config(model, path)
				c.States, c.StageWeights, c.WeightsFile, c.Cases, c.Layers = []string{"n=h"}, true, bound, 3, true
				c.DumpIR = filepath.Join(t.TempDir(), "dump")
				c.Strict = false
				o := mustCompile(t, c)
				p, m := o.Lowered.Program, o.Report.Memory
				if len(p.Parts) != 2 || p.StateBytes == 0 || m.Copies == nil || m.Copies.StagedBytes == 0 ||
					m.Copies.FetchedBytes != 0 || !o.Placement.Fits() || (o.Info.WeightsFile != "") != bound {
					t.Fatalf("parts %+v, copies %+v\n%s\n%+v", p.Parts, m.Copies,
						strings.Join(o.Report.Notes, "\n"), o.Placement)
				}
				text := testenv.Must(os.ReadFile(filepath.Join(c.DumpIR, "program.txt")))(t)
				for _, want := range []string{"\n  in \"fast\", ", "\n  in \"slow\", ", " # in \"fast\" at ",
					" # in \"slow\" at ", ", staged "} {
					testenv.Check(t, strings.Contains(string(text), want), "no %q in\n%.2000s", want, text)
				}
				v := mustVerify(t, o)
				testenv.Check(t, !v.Differs() && strings.Join(v.Guards, " ") == "fast slow", "%+v", v)
			})
		}
	}
}

// tightBoard is a board with two memories of which neither holds an arena of so many bytes.
func tightBoard(t *testing.T, core string, arena int) *boards.Spec {
	t.Helper()
	slow := map[string]string{"cortex-m4": "0x20100000", "cortex-m55": "0x21000000"}[core]
	path := filepath.Join(t.TempDir(), "tight.yaml")
	require(t, os.WriteFile(path, fmt.Appendf(nil, "doc: tight\ninherits: [%s]\nstack: 4K\nmemory:\n"+
		"  rom: {origin: 0x08000000, size: 1M, holds: [vectors, code, rodata, weights], "+
		"wait: {states: 60, line: 8, source: made up}}\n"+
		"  fast: {origin: 0x20000000, size: %d, holds: [arena]}\n"+
		"  slow: {origin: %s, size: %d, holds: [stack, data, arena], "+
		"wait: {states: 4, line: 8, source: made up}}\n", core, arena*7/10/16*16, slow, 4096+arena*8/10/16*16), 0o666))
	spec := mustLoad(t, path)
	return spec
}

// TestSplitDrawn: drawn networks in parts, with constants that are bound or linked, with and
// without copies: every layer of every one is right on two cores, the guards hold.
func TestSplitDrawn(t *testing.T) {
	from, count := testenv.Range(t, 6)
	if testenv.Long() {
		count = max(count, 60)
	}
	split, staged := 0, 0
	for seed := from; seed < from+count; seed++ {
		core := []string{"cortex-m4", "cortex-m55"}[seed%2]
		set := func(c *driver.Config) {
			c.WeightsFile, c.StageWeights, c.Layers, c.Cases = seed/2%2 == 0, seed/4%2 == 0, true, 2
		}
		spec := mustLoad(t, core)
		net := irtest.Gen(uint64(seed), tensor.F32)
		whole := compileFor(t, net, "net", spec, set)
		if whole == nil || whole.Lowered.Program.ArenaBytes < 1024 {
			continue
		}
		o := compileFor(t, net, "net", tightBoard(t, core, whole.Lowered.Program.ArenaBytes), set)
		if o == nil || len(o.Lowered.Program.Parts) == 0 {
			continue
		}
		split++
		if o.Lowered.Program.StagedBytes > 0 {
			staged++
		}
		v := mustVerify(t, o)
		testenv.Check(t, !v.Differs() && len(v.Guards) == len(o.Lowered.Program.Parts), "network %d on %s: %+v", seed,
			core, v)
	}
	if t.Logf("%d of %d in parts, %d with copies", split, count, staged); split == 0 {
		t.Error("no arena is in parts")
	}
}
