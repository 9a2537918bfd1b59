// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
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
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
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

// TestBudgets: --max-ram is met exactly where the budget is at least the smallest
// arena there is, which the refusal of a smaller one names; what some budget
// leads to is found again when it is the budget; with one goal, more memory never means more
// work. Each program of the frontier is what its flags give.
func TestBudgets(t *testing.T) {
	type subject struct {
		name    string
		compile func(budget int) (*driver.Compiled, error)
	}
	var subjects []subject
	for seed := range uint64(2) {
		text := cnn(seed)
		subjects = append(subjects, subject{fmt.Sprint("network ", seed), func(budget int) (*driver.Compiled, error) {
			c := config("cnn.onnx", "cortex-m4")
			c.Precision, c.MaxRAM, c.Tries, c.Kernels = option.Float32, fmt.Sprint(budget), 8, option.OwnKernels
			spec := mustLoad(t, c.Board)
			return c.CompileGraph(&onnx.Model{Proto: &pb.ModelProto{}}, irtest.Parse(t, text), spec)
		}})
	}
	if m := sharedata.Find("models", "kws_int8.onnx"); m != "" && testenv.Long() {
		subjects = append(subjects, subject{"kws_int8", func(budget int) (*driver.Compiled, error) {
			c := config(m, "cortex-m55")
			c.MaxRAM = fmt.Sprint(budget)
			return c.Compile()
		}})
	}
	striped := 0
	for i, s := range subjects {
		whole := testenv.Must(s.compile(1 << 28))(t)
		least := testenv.Must(s.compile(1))(t)
		best := least.Lowered.Program.ArenaBytes
		var gate *driver.GateError
		if err := least.Gates(); !errors.As(err, &gate) || !strings.Contains(gate.Error(),
			fmt.Sprintf("the arena needs %d bytes", best)) || !strings.Contains(gate.Error(),
			fmt.Sprintf("of %d programs that were tried this is the smallest", least.Lowered.Tried)) {
			t.Errorf("%s: the refusal of 1 byte is %v, want it to name %d bytes", s.name, err, best)
		}
		r := rand.New(rand.NewPCG(uint64(i), 1))
		budgets := []int{0, best - 1, best}
		points := map[int]int{}
		for _, p := range least.Lowered.Frontier {
			if p.Optimize == whole.Optimize {
				points[p.RAMBytes] = p.ArenaBytes
			}
		}
		for n := range points {
			budgets = append(budgets, n)
		}
		for range 2 {
			budgets = append(budgets, best+r.IntN(max(whole.Lowered.Program.ArenaBytes-best, 1)))
		}
		work, goal := map[int]float64{}, map[int]option.Optimize{}
		for len(budgets) > 0 {
			b := budgets[0]
			budgets = budgets[1:]
			if _, ok := work[b]; ok {
				continue
			}
			o := testenv.Must(s.compile(b))(t)
			got := o.Lowered.Program.ArenaBytes
			testenv.Check(t, (got <= b) == (b >= best) && got >= best && (b >= best || got <= best),
				"%s: --max-ram %d gives %d bytes; %d are reachable", s.name, b, got, best)
			if want, ok := points[b]; ok && got != want {
				t.Errorf("%s: --max-ram %d gives %d bytes, the frontier has %d", s.name, b, got, want)
			}
			work[b], goal[b] = 0, o.Optimize
			if p := o.Lowered.Tiled; p != nil {
				work[b] = p.Work
				striped++
			}
			if b >= best && o.Lowered.Program.ArenaBytes < b {
				budgets = append(budgets, o.Lowered.Program.ArenaBytes)
			}
		}
		for b, w := range work {
			for c, v := range work {
				if best <= b && b < c && v > w && goal[b] == goal[c] {
					t.Errorf("%s: with %d bytes %.0f instructions are expected, with %d bytes %.0f", s.name, b, w, c, v)
				}
			}
		}
	}
	testenv.Check(t, striped >= 3, "only %d programs in stripes", striped)
}

// TestGoals: drawn networks meet a budget of RAM or flash exactly where the program of some goal and some kernels does,
// and the memory of a board, too; the refusal names the least.
func TestGoals(t *testing.T) {
	for seed := range uint64(testenv.Count(t, 3)) {
		r := rand.New(rand.NewPCG(seed, 3))
		n, m := 1024<<r.IntN(3)+r.IntN(40), 8+r.IntN(24)
		text := fmt.Sprintf("graph \"fc\" {\n  in %%x : f32[1,%d]\n  const %%w : f32[%d,%d] = rand 1\n  const %%v : "+
			"f32[%d,5] = rand 2\n  %%h = MatMul(%%x, %%w)\n  %%r = Relu(%%h)\n  %%y = MatMul(%%r, %%v)\n"+
			"  out \"y\" = %%y\n}\n", n, n, m, m)
		core := []string{"cortex-m4", "cortex-m7", "cortex-m33"}[seed%3]
		compile := func(board string, set func(c *driver.Config)) *driver.Compiled {
			c := config("fc.onnx", board)
			c.Strict = false
			set(c)
			return testenv.Must(c.CompileGraph(&onnx.Model{Proto: &pb.ModelProto{}}, irtest.Parse(t, text),
				mustLoad(t, board)))(t)
		}
		over := func(o *driver.Compiled) string {
			var gate *driver.GateError
			if err := o.Gates(); err != nil && !errors.As(err, &gate) {
				t.Fatal(err)
			} else if err != nil {
				return err.Error()
			}
			return ""
		}
		ram, flash := 1<<30, 1<<30
		for k := range option.ReferenceKernels + 1 {
			for _, g := range []option.Optimize{option.Speed, option.Balanced, option.Size} {
				o := compile(core, func(c *driver.Config) { c.Kernels, c.Optimize = k, g })
				ram = min(ram, o.Lowered.Program.RAMBytes())
				flash = min(flash, o.Report.Memory.WeightsBytes)
			}
		}
		for _, less := range []int{0, 1} {
			o := compile(core, func(c *driver.Config) { c.MaxRAM = fmt.Sprint(ram - less) })
			if got := o.Lowered.Program.RAMBytes(); got != ram || (over(o) == "") != (less == 0) {
				t.Errorf("seed %d: --max-ram %d, %d are reachable: %d bytes, %q", seed, ram-less, ram, got, over(o))
			}
		}
		// Code and constants beside the weights are less than the second program's weights.
		o := compile(core, func(c *driver.Config) { c.MaxFlash = fmt.Sprint(flash + 12<<10) })
		if over(o) != "" || o.Report.Memory.WeightsBytes >= 2*flash-64 {
			t.Errorf("seed %d: --max-flash %d: %d bytes of weights, %q", seed, flash+12<<10,
				o.Report.Memory.WeightsBytes, over(o))
		}
		o = compile(core, func(c *driver.Config) { c.MaxFlash = "1" })
		if !strings.Contains(over(o), "--optimize size") ||
			!strings.Contains(over(o), "the least of all goals and kernels") {
			t.Errorf("seed %d: the refusal is %q", seed, over(o))
		}
		small := boardFile(t, core, 4096, boards.Regions{{Name: "rom", Origin: 0x08000000,
			Size: boards.Size(flash + 20<<10), Holds: []string{"vectors", "code", "rodata", "weights"}},
			{Name: "ram", Origin: 0x20000000, Size: 1 << 20, Holds: []string{"stack", "data", "arena"}}})
		if o = compile(small, func(*driver.Config) {}); !o.Placement.Fits() {
			t.Errorf("seed %d: a board with room for %d bytes of weights: %q", seed, flash, o.Report.Warnings)
		}
	}
}

// cnn is a small network: separable layers as in mobile networks, or residual
// blocks.
func cnn(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 2))
	var b strings.Builder
	c, h := 4+r.IntN(5), 24+8*r.IntN(3)
	fmt.Fprintf(&b, "graph \"cnn\" {\n  in %%x : f32[1,3,%d,%d]\n", h, h)
	n := 0
	conv := func(from string, in, out, k, stride, group int) string {
		n++
		fmt.Fprintf(&b, "  const %%w%d : f32[%d,%d,%d,%d] = rand %d\n", n, out, in/group, k, k, n)
		fmt.Fprintf(&b, "  %%c%d = Conv(%%%s, %%w%d) {group=%d, pads=[%d,%d,%d,%d], strides=[%d,%d]}\n  %%r%d = "+
			"Relu(%%c%d)\n", n, from, n, group, k/2, k/2, k/2, k/2, stride, stride, n, n)
		return fmt.Sprintf("r%d", n)
	}
	x := conv("x", 3, c, 3, 1+r.IntN(2), 1)
	for i := range 3 {
		if seed%2 == 0 {
			x = conv(x, c, c, 3, 1+i%2, c)
			x = conv(x, c, 2*c, 1, 1, 1)
			c *= 2
			continue
		}
		y := conv(conv(x, c, c, 3, 1, 1), c, c, 3, 1, 1)
		fmt.Fprintf(&b, "  %%a%d = Add(%%%s, %%%s)\n", n, x, y)
		x = conv(fmt.Sprintf("a%d", n), c, 2*c, 3, 2, 1)
		c *= 2
	}
	fmt.Fprintf(&b, "  %%p = GlobalAveragePool(%%%s)\n  out \"y\" = %%p\n}\n", x)
	return b.String()
}
