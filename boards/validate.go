// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
)

// coreISA says which ISA values a core can have (Arm's technical reference
// manuals of the cores: chapters on configurable options).
type coreISA struct {
	dsp []bool
	mve []string
	fpu []string
	// armv6m: only 16-bit Thumb instructions and few others.
	armv6m bool
}

var (
	never  = []bool{false}
	always = []bool{true}
	option = []bool{false, true}
	none   = []string{"none"}
)

var cores = map[string]coreISA{
	"cortex-m0":     {dsp: never, mve: none, fpu: none, armv6m: true},
	"cortex-m0plus": {dsp: never, mve: none, fpu: none, armv6m: true},
	"cortex-m3":     {dsp: never, mve: none, fpu: none},
	"cortex-m4":     {dsp: always, mve: none, fpu: []string{"none", "sp"}},
	"cortex-m7":     {dsp: always, mve: none, fpu: []string{"none", "sp", "dp"}},
	"cortex-m33":    {dsp: option, mve: none, fpu: []string{"none", "sp"}},
	"cortex-m55":    {dsp: always, mve: []string{"none", "int", "float"}, fpu: []string{"none", "dp"}},
	"cortex-m85":    {dsp: always, mve: []string{"none", "int", "float"}, fpu: []string{"none", "dp"}},
	"host":          {dsp: never, mve: none, fpu: []string{"dp"}},
}

// Armv6M reports a core of the oldest architecture, which has 16-bit Thumb
// instructions only.
func (s *Spec) Armv6M() bool { return cores[s.Core].armv6m }

// IsHost reports the machine that nncc runs on.
func (s *Spec) IsHost() bool { return s.Core == "host" }

// Content is everything a region can hold; `weights` falls back to rodata.
var Content = []string{"vectors", "code", "rodata", "weights", "data", "arena", "stack"}

// invalid is an error at a key of the merged definition.
type invalid struct {
	key string
	msg string
}

func (e *invalid) Error() string { return e.key + ": " + e.msg }

func badf(key, format string, args ...any) *invalid {
	return &invalid{key, fmt.Sprintf(format, args...)}
}

// locate gives a validation error the position of its key, or of the nearest
// key above that some file sets.
func locate(iv *invalid, t *tree, file string) error {
	at := pos{file: file}
	for _, part := range strings.Split(iv.key, ".") {
		v, ok := t.m[part]
		if !ok {
			break
		}
		t, at = v, v.pos
	}
	return at.errorf("%s", iv.Error())
}

// near is the word that was probably meant, in brackets; "" where there is none.
func near(s string, known []string) string {
	if n := text.Nearest(s, known); n != "" {
		return " (did you mean " + n + "?)"
	}
	return ""
}

var (
	nameRE    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	regionRE  = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	machineRE = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
)

func (s *Spec) finish() []*invalid {
	if s.ISA.MVE == "" {
		s.ISA.MVE = "none"
	}
	if s.ISA.FPU == "" {
		s.ISA.FPU = "none"
	}
	if s.chip = len(s.Memory) > 0; !s.chip {
		s.Memory = s.Runner.Memory
	}
	if len(s.Runner.Memory) == 0 && s.Runner.Kind == "qemu" {
		s.Runner.Memory = s.Memory
	}
	all := slices.Concat(s.checkHead(), s.checkISA(), s.Toolchain.check(), s.checkRunner(), s.checkKernels())
	if err := s.Pipeline.check(); err != nil {
		all = append(all, err)
	}
	if s.Core == "host" {
		return all
	}
	if s.Stack < 512 || s.Stack > 64<<20 || s.Stack%8 != 0 {
		all = append(all, badf("stack", "%d bytes: want a multiple of 8 from 512 to 64M", s.Stack))
	}
	all = append(all, checkRegions("memory", s.Memory)...)
	if s.Runner.Kind == "qemu" && s.chip {
		all = append(all, checkRegions("runner.memory", s.Runner.Memory)...)
	}
	return all
}

func (s *Spec) checkHead() (all []*invalid) {
	if !nameRE.MatchString(s.Name) || len(s.Name) > 60 {
		all = append(all, badf("name", "%s is not a board name (letters, digits, . _ -)", quote(s.Name)))
	}
	if s.ClockHz < 0 || s.ClockHz > 10e9 {
		all = append(all, badf("clock_hz", "%d: want 0 to 10000000000", s.ClockHz))
	}
	return all
}

func (s *Spec) checkKernels() (all []*invalid) {
	if len(s.Kernels) == 0 {
		all = append(all, badf("kernels", "missing: at least [refc]"))
	}
	for i, k := range s.Kernels {
		if !regionRE.MatchString(k) || slices.Contains(s.Kernels[:i], k) {
			all = append(all, badf("kernels", "%s: want distinct names of kernel libraries such as cmsisnn, refc",
				quote(k)))
		}
	}
	if n := len(s.Accelerators); n > 1 {
		all = append(all, badf("accelerators", "%d entries, want one: nncc plans segments for one accelerator; "+
			"write a board file for each", n))
	}
	for i, a := range s.Accelerators {
		if !nameRE.MatchString(a.Name) || !nameRE.MatchString(a.Kind) {
			all = append(all, badf("accelerators", "entry %d: name and kind are needed", i))
		}
	}
	return all
}

// check refuses what no command line has. Whatever else stands there is run, or
// given to the compiler: a board file is code.
func (t *Toolchain) check() (all []*invalid) {
	bad := func(key, format string, args ...any) { all = append(all, badf("toolchain."+key, format, args...)) }
	if t.CC == "" {
		bad("cc", "missing: the compiler, for instance gcc")
	}
	for _, f := range []struct {
		key  string
		list []string
	}{{"prefix", []string{t.Prefix}}, {"cc", []string{t.CC}}, {"install", []string{t.Install}}, {"cpu", t.CPU},
		{"cflags", t.CFlags}, {"speed", t.Speed}, {"size", t.Size}, {"ldflags", t.LDFlags}} {
		for _, s := range f.list {
			switch {
			case text.Line(s) != s:
				bad(f.key, "%q: want printable text on one line", text.Short(s, 60))
			case len(s) > maxFlag:
				bad(f.key, "%d bytes; want at most %d", len(s), maxFlag)
			case strings.TrimSpace(s) == "" && f.key != "prefix" && f.key != "install" && f.key != "cc":
				bad(f.key, "an empty text is no flag")
			}
		}
	}
	if c := t.Prefix + t.CC; strings.HasPrefix(c, "-") {
		bad("cc", "%s begins like a flag", quote(c))
	}
	return all
}

// maxFlag bounds one flag, in bytes.
const maxFlag = 4096

func (s *Spec) checkISA() (all []*invalid) {
	bad := func(key, format string, args ...any) { all = append(all, badf(key, format, args...)) }
	c, ok := cores[s.Core]
	if !ok {
		known := slices.Sorted(maps.Keys(cores))
		if s.Core == "" {
			bad("core", "missing: inherit one, such as [cortex-m4]; known: %s", strings.Join(known, ", "))
		} else {
			bad("core", "%s is unknown%s; known: %s", quote(s.Core), near(s.Core, known), strings.Join(known, ", "))
		}
		return all
	}
	if !slices.Contains(c.dsp, s.ISA.DSP) {
		bad("isa.dsp", "%t is impossible on %s", s.ISA.DSP, s.Core)
	}
	if !slices.Contains(c.mve, s.ISA.MVE) {
		bad("isa.mve", "%s is impossible on %s (possible: %s)", quote(s.ISA.MVE), s.Core, strings.Join(c.mve, ", "))
	}
	if !slices.Contains(c.fpu, s.ISA.FPU) {
		bad("isa.fpu", "%s is impossible on %s (possible: %s)", quote(s.ISA.FPU), s.Core, strings.Join(c.fpu, ", "))
	}
	if s.ISA.MVE == "float" && s.ISA.FPU == "none" {
		bad("isa.mve", "float vectors need an fpu")
	}
	return all
}

func (s *Spec) checkRunner() (all []*invalid) {
	bad := func(key, format string, args ...any) { all = append(all, badf("runner."+key, format, args...)) }
	r := s.Runner
	switch {
	case r.Kind == "none":
		return nil
	case r.Kind != "qemu" && r.Kind != "host":
		bad("kind", "%s: want qemu, host or none", quote(r.Kind))
		return all
	case r.Kind == "host":
		if s.Core != "host" {
			bad("kind", "host runs code for core host only, this is %s", s.Core)
		}
		return all
	case s.Core == "host":
		bad("kind", "qemu does not run core host")
	}
	if !machineRE.MatchString(r.Machine) {
		bad("machine", "%s is not a machine of QEMU", quote(r.Machine))
	}
	if r.IcountShift < 1 || r.IcountShift > 10 {
		bad("icount_shift", "%d: QEMU takes 1 to 10", r.IcountShift)
	}
	if r.SysTickHz < 1000 || r.SysTickHz > 1e9 {
		bad("systick_hz", "%d: want 1000 to 1000000000", r.SysTickHz)
	}
	return all
}

func checkRegions(key string, rs Regions) (all []*invalid) {
	held := map[string]bool{}
	for i, r := range rs {
		k := key + "." + r.Name
		all = append(all, r.check(k)...)
		for _, h := range r.Holds {
			held[h] = true
		}
		end := uint64(r.Origin) + uint64(r.Size)
		for _, o := range rs[:i] {
			if uint64(r.Origin) < uint64(o.Origin)+uint64(o.Size) && uint64(o.Origin) < end {
				all = append(all, badf(k, "overlaps region %s: 0x%08x to 0x%08x, and 0x%08x to 0x%08x", o.Name,
					uint64(r.Origin), end, uint64(o.Origin), uint64(o.Origin)+uint64(o.Size)))
			}
		}
	}
	nowhere := lists.Filter(Content, func(c string) bool { return !held[c] && c != "weights" })
	if len(nowhere) > 0 {
		all = append(all, badf(key, "no region holds %s", strings.Join(nowhere, ", ")))
	}
	return all
}

func (r *Region) check(k string) (all []*invalid) {
	bad := func(key, format string, args ...any) { all = append(all, badf(key, format, args...)) }
	if !regionRE.MatchString(r.Name) {
		bad(k, "a region's name has lower-case letters, digits and _")
	}
	if end := uint64(r.Origin) + uint64(r.Size); r.Size == 0 || end > 1<<32 || end < uint64(r.Origin) {
		bad(k, "origin 0x%x and size %d do not describe memory below 4 GiB", uint64(r.Origin), uint64(r.Size))
	}
	if len(r.Holds) == 0 {
		bad(k, "holds nothing; want some of %s", strings.Join(Content, ", "))
	}
	if err := r.Wait.check(k + ".wait"); err != nil {
		all = append(all, err)
	}
	for _, h := range r.Holds {
		if !slices.Contains(Content, h) {
			bad(k+".holds", "%s%s: want some of %s", quote(h), near(h, Content), strings.Join(Content, ", "))
		}
	}
	return all
}

// Pipeline is what instructions of a core cost, for estimates of cycles
// (boards/cycles). A core without a table has none: Source is empty.
type Pipeline struct {
	// Source of the prices, and what is unknown about them.
	Source string `yaml:"source" json:"source,omitempty"`
	// Error is how far estimates on this core are off, relative; Basis says how
	// that was found.
	Error Ratio  `yaml:"error" json:"error,omitempty"`
	Basis string `yaml:"basis" json:"basis,omitempty"`
	// Issue is how many instructions start in one cycle, 1 or 2.
	Issue int `yaml:"issue" json:"issue,omitempty"`
	// Prices are cycles of a class of instructions (boards/cycles, Class), where
	// they are not one.
	Prices map[string]any `yaml:"prices" json:"prices,omitempty"`
	// A block of n registers takes BlockFirst + n*BlockEach/2 cycles.
	BlockFirst int `yaml:"block_first" json:"block_first,omitempty"`
	BlockEach  int `yaml:"block_each" json:"block_each,omitempty"`
	// Taken is what a taken branch adds: to an address in the instruction (branch),
	// of BL (call), to one in a register (jump), to one from memory (pop).
	Taken map[string]any `yaml:"taken" json:"taken,omitempty"`
	// Stalls is what instructions cost each other: none, StallsLoads or StallsLate.
	Stalls string `yaml:"stalls" json:"stalls,omitempty"`
	// Units are how many instructions of a kind start in one cycle, where Issue
	// is 2: alu, load, store, mac, branch, vector.
	Units map[string]any `yaml:"units" json:"units,omitempty"`
}

// Stalls of a Pipeline: a load behind a load overlaps with it; what a load brings is late, and vector pipes are busy
// for two cycles.
const (
	StallsLoads = "loads"
	StallsLate  = "helium"
)

// Wait is how long a core waits for what it reads from a region. The zero value
// is memory that never makes it wait.
type Wait struct {
	// States are the cycles that a read takes besides the first.
	States int `yaml:"states" json:"states,omitempty"`
	// Line is what one read brings, in bytes.
	Line Size `yaml:"line" json:"line_bytes,omitempty"`
	// Cache holds so many bytes of instructions, in lines; Ways of it are
	// candidates for an address, 0: all.
	Cache Size `yaml:"cache" json:"cache_bytes,omitempty"`
	Ways  int  `yaml:"ways" json:"ways,omitempty"`
	// Prefetch: the next line is read while one is executed.
	Prefetch bool `yaml:"prefetch" json:"prefetch,omitempty"`
	// PerByte are the cycles that a byte of constants takes besides the load
	// instruction, where they are read once, one behind the other.
	PerByte Ratio `yaml:"cycles_per_byte" json:"cycles_per_byte,omitempty"`
	// Error is what the region adds to the error of an estimate, relative.
	Error Ratio `yaml:"error" json:"error,omitempty"`
	// Source of all of them, and what is unknown.
	Source string `yaml:"source" json:"source,omitempty"`
}

// Ratio is a fraction, written as a decimal number.
type Ratio float64

// Timed reports a core with a table of cycles.
func (p *Pipeline) Timed() bool { return p.Source != "" }

func (p *Pipeline) check() *invalid {
	switch {
	case p.Source == "":
		return nil
	case p.Issue != 1 && p.Issue != 2:
		return badf("pipeline.issue", "%d: want 1 or 2", p.Issue)
	case p.Error <= 0 || p.Error > 1:
		return badf("pipeline.error", "%g: want more than 0, at most 1", float64(p.Error))
	case p.Basis == "":
		return badf("pipeline.basis", "missing: how the error was found")
	case p.BlockFirst < 0 || p.BlockFirst > MaxPrice:
		return badf("pipeline.block_first", "%d: want 0 to %d", p.BlockFirst, MaxPrice)
	case p.BlockEach < 0 || p.BlockEach > MaxPrice:
		return badf("pipeline.block_each", "%d: want 0 to %d", p.BlockEach, MaxPrice)
	}
	return nil
}

// MaxPrice bounds the cycles of an instruction.
const MaxPrice = 1000

// maxStates bounds wait states: more is no memory to run from.
const maxStates = 1000

func (w *Wait) check(key string) *invalid {
	if *w == (Wait{}) {
		return nil
	}
	switch line := int(w.Line); {
	case w.Source == "":
		return badf(key+".source", "missing: where wait states and lines are from")
	case w.States < 0 || w.States > maxStates:
		return badf(key+".states", "%d: want 0 to %d", w.States, maxStates)
	case line < 4 || line > 256 || line&(line-1) != 0:
		return badf(key+".line", "%d bytes: want a power of two from 4 to 256", line)
	case w.PerByte < 0 || w.PerByte > 100 || math.IsNaN(float64(w.PerByte)):
		return badf(key+".cycles_per_byte", "%g: want 0 to 100", float64(w.PerByte))
	case w.Error < 0 || w.Error > 1:
		return badf(key+".error", "%g: want 0 to 1", float64(w.Error))
	}
	return w.checkCache(key)
}

// checkCache looks at the cache of a memory whose lines are right.
func (w *Wait) checkCache(key string) *invalid {
	switch line := int(w.Line); {
	case int(w.Cache)%line != 0 || w.Cache > 1<<20:
		return badf(key+".cache", "%d bytes: want whole lines, at most 1M", w.Cache)
	case w.Ways < 0 || w.Ways > 0 && int(w.Cache)/line%w.Ways != 0:
		return badf(key+".ways", "%d: %d lines cannot be split so", w.Ways, int(w.Cache)/line)
	}
	return nil
}

// CyclesError is what the files state of estimates of cycles, relative: the core's error
// and the memory's.
func (s *Spec) CyclesError() float64 {
	return float64(s.Pipeline.Error + max(s.Memory.Wait("code").Error, s.Memory.Wait("weights").Error))
}
