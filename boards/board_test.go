// SPDX-License-Identifier: Apache-2.0

package boards_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestShippedBoardsLoad(t *testing.T) {
	want := []string{"alif-e3", "alif-e8", "apollo510", "cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m33",
		"cortex-m4", "cortex-m55", "cortex-m7", "cortex-m85", "ethos-u55-128", "ethos-u55-256", "ethos-u55-32",
		"ethos-u55-64", "ethos-u65-256", "ethos-u65-512", "gd32f450", "himax-we2", "host", "m55m1", "max32690",
		"microbit", "mla-host", "mla-m55", "nrf52840", "nrf5340", "pse84", "ra6m4", "ra8d1", "ra8p1", "rp2040",
		"rp2350", "samd51", "stm32f411", "stm32f746", "stm32g0b1", "stm32h743", "stm32h7a3", "stm32l4r5zi",
		"stm32n657", "stm32u575"}
	if got := boards.List(); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("List() = %v, want %v: a new board has its name in this test", got, want)
	}
	for _, name := range boards.List() {
		s, err := boards.Load(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s.Name != name || s.Doc == "" || len(s.Toolchain.Speed) == 0 || len(s.Toolchain.Size) == 0 ||
			s.Toolchain.Install == "" {
			t.Errorf("%s: name %q, doc %q, toolchain %+v", name, s.Name, s.Doc, s.Toolchain)
		}
		testenv.Check(t, s.Core == "host" || len(s.Memory) != 0 && s.HasMachine(), "%s: memory %v, runner %+v", name,
			s.Memory, s.Runner)
		if len(s.Why()) < 10 {
			t.Errorf("%s: only %d origins", name, len(s.Why()))
		}
		data, err := json.Marshal(s)
		testenv.Check(t, err == nil && strings.Contains(string(data), `"isa":{"dsp":`), "%s: json %s, %v", name, data,
			err)
	}
}

// What a chip's figures are from can be opened, a repository's file or a page, or
// it is said that they were not compared with anything.
func TestChipSources(t *testing.T) {
	opens := regexp.MustCompile(`^(https?://\S+|[\w-]+/[\w.-]+[ ,].+|unverified, from memory): \S`)
	for _, name := range boards.List() {
		s := testenv.Must(boards.Load(name))(t)
		testenv.Check(t, s.ClockHz <= 0 || len(s.Sources) != 0, "%s: a chip without sources", name)
		for _, from := range s.Sources {
			if !opens.MatchString(from) {
				t.Errorf("%s: source %q: want owner/repository path: what, address of a page: what, or "+
					"unverified, from memory: what", name, from)
			}
		}
	}
}

// The compiler's own macros have to agree with what the board says it has.
func TestFlagsAgreeWithISA(t *testing.T) {
	src := filepath.Join(t.TempDir(), "trivial.c")
	testenv.OK(t, os.WriteFile(src, []byte("int nncc_answer(void);\nint nncc_answer(void) { return 42; }\n"),
		0o644))
	for _, name := range boards.List() {
		t.Run(name, func(t *testing.T) {
			s := testenv.Must(boards.Load(name))(t)
			tool := "arm-gcc"
			if s.Core == "host" {
				tool = "cc"
			}
			cc := s.Toolchain.Prefix + s.Toolchain.CC
			testenv.Tool(t, tool, cc)
			args := append(append(append([]string{}, s.Toolchain.CPU...), s.Toolchain.CFlags...), s.Toolchain.Speed...)
			if out, err := exec.Command(cc, append(append([]string{}, args...), "-Werror", "-c", src, "-o",
				src+".o")...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if s.Core == "host" {
				return
			}
			out := testenv.Must(exec.Command(cc, append(args, "-dM", "-E", src)...).Output())(t)
			macros := map[string]string{}
			for _, l := range strings.Split(string(out), "\n") {
				if f := strings.SplitN(l, " ", 3); len(f) == 3 {
					macros[f[1]] = f[2]
				}
			}
			testenv.Equal(t, macros["__ARM_FEATURE_DSP"] == "1", s.ISA.DSP, "compiler: dsp, board")
			mve := map[string]string{"": "none", "1": "int", "3": "float"}[macros["__ARM_FEATURE_MVE"]]
			testenv.Check(t, mve == s.ISA.MVE, "compiler: mve %s, board: %s", mve, s.ISA.MVE)
			fpu := "none"
			switch macros["__ARM_FP"] {
			case "4", "6":
				fpu = "sp"
			case "12", "14", "0xe", "0xc":
				fpu = "dp"
			}
			testenv.Check(t, fpu == s.ISA.FPU, "compiler: fpu %s (__ARM_FP=%s), board: %s", fpu, macros["__ARM_FP"],
				s.ISA.FPU)
		})
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	testenv.OK(t, os.WriteFile(p, []byte(text), 0o644))
	return p
}

func TestMergeRules(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "chip.yaml", "abstract: true\ninherits: [cortex-m4]\nkernels+: [mine]\naccelerators:\n- {name: "+
		"npu0, kind: npu, params: {macs: 64, rate: 0.5, wide: true, modes: [a, b], id: x1}}\n")
	p := write(t, dir, "my.yaml", `
doc: mine
inherits: [./chip.yaml]
stack: 8K                       # scalar: child wins
toolchain:
  cflags: [-std=c99]            # list: replaced
  speed+: [-funroll-loops]      # appended
  install: null                 # removed
memory:                         # map: merged; here nothing is inherited
  flash: {origin: 0x08000000, size: 512K, holds: [vectors, code, rodata]}
  ram: {origin: 0x20000000, size: 128K, holds: [stack, data, arena]}
runner: {timeout: 90s}
`)
	s := testenv.Must(boards.Load(p))(t)
	testenv.Check(t, s.Name == "my" && s.Doc == "mine" && s.Stack == 8192 && s.Core == "cortex-m4", "%+v", s)
	testenv.Equal(t, strings.Join(s.Toolchain.CFlags, " "), "-std=c99", "cflags")
	testenv.Equal(t, strings.Join(s.Toolchain.Speed, " "), "-O2 -funroll-loops", "speed")
	testenv.Equal(t, s.Toolchain.Install, "", "install")
	testenv.Equal(t, strings.Join(s.Kernels, " "), "dsp cmsisnn refc mine", "kernels")
	if len(s.Memory) != 2 || s.Memory[0].Name != "flash" || s.Memory.Capacity("code", "rodata") != 512<<10 {
		t.Errorf("memory %+v", s.Memory)
	}
	testenv.Check(t, s.Runner.Machine == "mps2-an386" && len(s.Runner.Memory) == 3 && s.Runner.Timeout != 0,
		"runner %+v", s.Runner)
	a := s.Accelerators[0].Params
	testenv.Check(t, a["macs"] == int64(64) && a["rate"] == 0.5 && a["wide"] == true && a["id"] == "x1", "params %#v",
		a)
	at := map[string]boards.Origin{}
	for _, o := range s.Why() {
		at[o.Key] = o
	}
	o := at["stack"]
	testenv.Check(t, o.Line == 4 && o.File == p, "origin of stack %+v", o)
	if o := at["runner.machine"]; o.File != "defs/machine-mps2-an386.yaml" {
		t.Errorf("origin of runner.machine %+v", o)
	}
	if o := at["kernels[3]"]; !strings.HasSuffix(o.File, "chip.yaml") {
		t.Errorf("origin of kernels[3] %+v", o)
	}
}

func TestParentsThatDisagree(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", "abstract: true\nstack: 4K\n")
	write(t, dir, "b.yaml", "abstract: true\nstack: 8K\n")
	p := write(t, dir, "c.yaml", "doc: x\ninherits: [cortex-m4, ./a.yaml]\n")
	testenv.Refused(t, testenv.Err(boards.Load(p)),
		"a.yaml:2: stack: the parents disagree, 4K here and 32K in defs/family-cortex-m.yaml")
	p = write(t, dir, "d.yaml", "doc: x\ninherits: [cortex-m4, ./a.yaml, ./b.yaml]\nstack: 16K\n")
	s, err := boards.Load(p)
	testenv.Check(t, err == nil && s.Stack == 16<<10, "child decides: %v %v", s, err)
	// The same ancestor twice is no disagreement.
	p = write(t, dir, "e.yaml", "doc: x\ninherits: [cortex-m4, core-m4, family-cortex-m]\n")
	if _, err := boards.Load(p); err != nil {
		t.Errorf("diamond: %v", err)
	}
}

func TestBadDefinitions(t *testing.T) {
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	nested := "x:\n"
	for i := 1; i < 80; i++ {
		nested += strings.Repeat(" ", i) + "x:\n"
	}
	type definition struct{ name, text, want string }
	all := []definition{
		{"binary", "\x00\x01\x02", "board.yaml"},
		{"deep flow", "a: " + deep, "board.yaml"},
		{"deep block", nested, "nested deeper"},
		{"huge", "inherits: [cortex-m4]\ndoc: " + strings.Repeat("x", 300<<10), "at most 262144"},
	}
	for _, f := range testenv.Must(txtar.ParseFile("testdata/bad.txtar"))(t).Files {
		text, want, _ := strings.Cut(string(f.Data), "# want ")
		all = append(all, definition{f.Name, text, strings.TrimSpace(want)})
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			p := write(t, t.TempDir(), "board.yaml", c.text)
			s, err := boards.Load(p)
			testenv.Require(t, err != nil, "accepted: %+v", s)
			testenv.Check(t, strings.Contains(err.Error(), c.want), "got  %v\nwant %s", err, c.want)
			_, ok := err.(*boards.Error)
			testenv.Check(t, ok, "error of type %T", err)
		})
	}
}

// TestAllMistakes: every mistake of a file is named, in the order of its lines, and none
// that is only a consequence of another.
func TestAllMistakes(t *testing.T) {
	p := write(t, t.TempDir(), "board.yaml", `doc: 12
inherits: [cortex-m4]
stak: 8K
clock_hz: fast
isa: {fpu: dp, mve: int}
memory:
  flash: {origin: 0x08000000, sise: 256K, holds: [vectors, code, rodata]}
  ram: {origin: 0x20000000, size: 128KB, holds: [stack, data, arene]}
  more: {origin: 0x20010000, size: lots, holds: [arena]}
  again: {size: 1K, holds: [arena]}
  top: {origin: 0x2001fff0, size: 0x20, holds: [arena], wait: {states: 3}}
`)
	_, err := boards.Load(p)
	testenv.Require(t, err != nil, "accepted")
	got := strings.Split(strings.ReplaceAll(err.Error(), p, "board.yaml"), "\n")
	want := []string{"11 mistakes:",
		"  board.yaml:1: doc: want text, found 12 (put it in quotes)",
		"  board.yaml:3: unknown key \"stak\" (did you mean stack?); known: ",
		"  board.yaml:4: clock_hz: want a whole number",
		"  board.yaml:5: isa.mve: \"int\" is impossible on cortex-m4",
		"  board.yaml:5: isa.fpu: \"dp\" is impossible on cortex-m4",
		"  board.yaml:7: unknown key \"sise\" in memory.flash (did you mean size?); known: holds, origin, size, wait",
		"  board.yaml:8: memory.ram.holds: \"arene\" (did you mean arena?)",
		"  board.yaml:9: memory.more.size: \"lots\" is not a size such as 0x20000, 512K or 4M",
		"  board.yaml:10: memory.again.origin: missing",
		"  board.yaml:11: memory.top.wait.source: missing",
		"  board.yaml:11: memory.top: overlaps region ram: 0x2001fff0 to 0x20020010, and 0x20000000 to 0x20020000",
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("missing: %s", want[i])
		case i >= len(want) || !strings.HasPrefix(got[i], want[i]):
			t.Errorf("got %s", got[i])
		}
	}
	e, ok := err.(*boards.Error)
	testenv.Check(t, ok && len(e.More) == 10, "%T", err)
}

// TestSizes: as people write them.
func TestSizes(t *testing.T) {
	for in, want := range map[string]boards.Size{"131072": 131072, "0x20000": 131072, "128K": 131072, "128KB": 131072,
		"128KiB": 131072, "128k": 131072, "1M": 1 << 20, "1MB": 1 << 20, "0x2B": 0, "128B": 0, "KB": 0, "1T": 0} {
		p := write(t, t.TempDir(), "board.yaml", "inherits: [cortex-m4]\nmemory:\n"+
			"  flash: {origin: 0, size: 1M, holds: [vectors, code, rodata]}\n"+
			"  ram: {origin: 0x20000000, size: "+in+", holds: [stack, data, arena]}\n")
		s, err := boards.Load(p)
		switch {
		case in == "0x2B":
			testenv.Check(t, err == nil && s.Memory[1].Size == 0x2b, "%s: %v", in, err)
		case want == 0 && err == nil, want > 0 && (err != nil || s.Memory[1].Size != want):
			t.Errorf("%s: %v", in, err)
		}
	}
}

// TestOneParent: a single parent may stand without brackets.
func TestOneParent(t *testing.T) {
	p := write(t, t.TempDir(), "one.yaml", "name: mine\ninherits: cortex-m4\n")
	s := testenv.Must(boards.Load(p))(t)
	testenv.Check(t, s.Name == "mine" && s.Core == "cortex-m4", "name %s, core %s", s.Name, s.Core)
}

func TestUnknownBoard(t *testing.T) {
	for in, want := range map[string]string{
		"cortex-m5":                "unknown board \"cortex-m5\"; did you mean cortex-m55? boards: alif-e3,",
		"cortexm4":                 "did you mean cortex-m4?",
		"M0+":                      "did you mean cortex-m0plus?",
		"core-m4":                  "is abstract",
		"zzz":                      "unknown board \"zzz\"; boards:",
		"../x":                     "no such file",
		"none.yaml":                "none.yaml: no such file",
		".":                        "unknown board",
		strings.Repeat("y\n", 999): "unknown board",
	} {
		testenv.Refused(t, testenv.Err(boards.Load(in)), want)
	}
	testenv.Refused(t, testenv.Err(boards.Load(t.TempDir()+"/")), "not a regular file")
}

func FuzzLoad(f *testing.F) {
	f.Add("inherits: [cortex-m4]\nstack: 4K\n")
	f.Add("a: &a [*a]\n")
	f.Add("runner: {memory: {a: null}}\nkernels+: []\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		p := filepath.Join(dir, "f.yaml")
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Skip()
		}
		if _, err := boards.Load(p); err != nil {
			_, ok := err.(*boards.Error)
			testenv.Check(t, ok, "error of type %T: %v", err, err)
		}
	})
}

// TestFind: part numbers, boards' usual names, families and slips lead to the board that
// describes the chip, or to its core; what is no Cortex-M is said to be none.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		query string
		want  string // the first boards
		exact bool
	}{
		{"stm32f411", "stm32f411", true},
		{"STM32F411CEU6", "stm32f411", true},
		{"Nucleo-F411RE", "stm32f411", true},
		{"NUCLEO F411RE", "stm32f411", true},
		{"black pill", "stm32f411", true},
		{"STM32F411CCU6", "cortex-m4 stm32f411", false}, // half of the flash
		{"STM32F407VG", "cortex-m4 stm32f411", false},
		{"STM32F103C8T6", "cortex-m3", false},
		{"STM32H750VB", "cortex-m7 stm32h743 stm32h7a3", false},
		{"stm32l4r5", "stm32l4r5zi", true},
		{"nRF52840-DK", "nrf52840", true},
		{"nrf52840_qiaa", "nrf52840", true},
		{"Arduino Nano 33 BLE", "nrf52840", true},
		{"nano 33 ble sense", "nrf52840", true},
		{"nRF52832", "cortex-m4", false},
		{"Raspberry Pi Pico", "rp2040", true},
		{"Raspberry Pi Pico 2", "rp2350", true},
		{"pico 2 w", "rp2350", true},
		{"R7FA8D1BHECBD", "ra8d1", true},
		{"teensy 4.1", "cortex-m7", false},
		{"M0+", "cortex-m0plus", true},
		{"stm32", "stm32f411 stm32f746", false},
		{"renesas", "ra6m4 ra8d1", false},
	} {
		f := boards.Find(c.query)
		var got []string
		for _, m := range f.Matches {
			got = append(got, m.Board)
			testenv.Check(t, m.Why != "", "%s: %s without a reason", c.query, m.Board)
		}
		if !strings.HasPrefix(strings.Join(got, " ")+" ", c.want+" ") || f.Not != "" {
			t.Errorf("%s: %v %q, want %s", c.query, got, f.Not, c.want)
		} else if f.Matches[0].Exact != c.exact || c.exact && len(got) > 1 {
			t.Errorf("%s: %+v", c.query, f.Matches)
		}
	}
	for query, want := range map[string]string{"esp32": "RISC-V", "ESP32-S3-WROOM": "Espressif", "Arduino Uno": "AVR",
		"raspberry pi 4": "Cortex-A", "GD32VF103": "RISC-V", "Cortex-M23": "take cortex-m0plus", "nRF52810": "no FPU",
		"xyzzy": "", "": "", "*": "", strings.Repeat("stm32f411", 50): ""} {
		if f := boards.Find(query); len(f.Matches) > 0 || !strings.Contains(f.Not, want) || want == "" && f.Not != "" {
			t.Errorf("%.20s: %+v, want no board, and %q", query, f, want)
		}
	}
}

// TestPatterns: what a board is known by can be matched, and belongs to one board.
func TestPatterns(t *testing.T) {
	first := map[string]string{}
	for _, name := range boards.List() {
		s := testenv.Must(boards.Load(name))(t)
		for _, a := range s.Aliases {
			o, err := boards.Load(a)
			testenv.Check(t, err == nil && o.Name == name, "alias %s of %s: %v %v", a, name, o, err)
		}
		for _, list := range [][]string{s.Aliases, s.Parts, s.Kits, s.Families} {
			for _, p := range list {
				_, err := path.Match(p, "")
				testenv.Check(t, err == nil, "%s: %s: %v", name, p, err)
				other, ok := first[strings.ToLower(p)]
				testenv.Check(t, !ok, "%s and %s: both have %s", other, name, p)
				first[strings.ToLower(p)] = name
			}
		}
		// The name of the chip, and what its kits are called, find it.
		for _, k := range append([]string{name}, s.Kits...) {
			f := boards.Find(strings.NewReplacer("*", "", "?", "").Replace(k))
			testenv.Check(t, len(f.Matches) != 0 && f.Matches[0].Board == name, "%s: found %+v for %s", name, f, k)
		}
	}
}
