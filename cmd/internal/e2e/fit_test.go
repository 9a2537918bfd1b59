// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
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
		c.Precision, c.Strict = option.Float32, strict
		return c.Compile()
	}
	rom := []string{"vectors", "code", "rodata", "weights"}
	ram := []string{"stack", "data", "arena"}
	large := boards.Regions{{Name: "flash", Origin: 0x08000000, Size: 1 << 20, Holds: rom},
		{Name: "ram", Origin: 0x20000000, Size: 1 << 20, Holds: ram}}
	o, err := compile(large, true)
	require(t, err)
	arena := o.Lowered.Program.ArenaBytes
	flash := int(o.Placement.Regions[0].Used())
	if o.Placement.Regions[1].Used() != uint64(stack+arena) || flash < o.Info.WeightBytes+5000 {
		t.Fatalf("%+v", o.Placement)
	}
	// The C library's variables have a place, too, once a build has measured them.
	libc := run.Section{Text: 10, Data: 100, BSS: 200}
	p := o.Firmware.Fit(&run.Sizes{By: map[run.Origin]run.Section{run.Libc: libc}})
	if len(p.Homeless) > 0 || p.Regions[1].Used() < uint64(stack+arena+300) {
		t.Errorf("with variables of the C library: %+v", p)
	}
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
		if (k.want == "") != (got == "") || !strings.Contains(got, k.want) {
			t.Errorf("%s: warnings %q, want %q", k.name, got, k.want)
		}
		_, err = compile(regions, true)
		if (err == nil) != (k.want == "") || err != nil && !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: --strict: %v, want %q", k.name, err, k.want)
		}
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
		if guess < exact || guess > exact+exact/10+4000 {
			t.Errorf("%s: %d bytes estimated, %d measured", board, guess, exact)
		}
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
				if !linked {
					t.Errorf("%s, seed %d: is said to fit, does not link: %s\n%+v", board, seed, text, p.Regions)
				}
			// The sizes of the build have functions of the C library that only the
			// test program calls, and gaps between items.
			case missing > 1<<10:
				not++
				if linked || !strings.Contains(text, "overflowed by") {
					t.Errorf("%s, seed %d: %d bytes are said to be missing, and it links: %s\n%+v", board, seed,
						missing, text, p.Regions)
				}
			}
		}
	}
	if fits < 5 || not < 5 {
		t.Errorf("%d boards fit, %d do not: want more of both", fits, not)
	}
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
	if out, err := exec.Command("make", "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, out)
	}
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
