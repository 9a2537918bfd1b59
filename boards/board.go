// SPDX-License-Identifier: Apache-2.0

// Package boards describes the targets nncc compiles for: one YAML file a
// board, with inheritance (board -> chip -> core -> family). See README.md for
// the file format and the merge rules.
package boards

import (
	"fmt"
	"slices"
	"strings"
	"time"

	runtimec "github.com/nncc/nncc/runtime_c"
)

// Spec is one board after inheritance: everything the compiler and the test
// machine need to know about a target. It marshals to JSON as it stands.
type Spec struct {
	// Name is the file's stem, or the `name:` a user's file gives.
	Name string `yaml:"name" json:"name"`
	// Doc says in one or two sentences what the board is.
	Doc string `yaml:"doc" json:"doc"`
	Known
	// Core is the processor: a key of the core table (`cortex-m4`), or `host`.
	Core string `yaml:"core" json:"core"`
	// ISA holds the optional parts of the instruction set that are present.
	ISA ISA `yaml:"isa" json:"isa"`
	// Pipeline is what instructions cost in cycles.
	Pipeline Pipeline `yaml:"pipeline" json:"pipeline,omitzero"`
	// ClockHz is the clock of the core that wait states are for.
	ClockHz int `yaml:"clock_hz" json:"clock_hz,omitempty"`
	// Sources are the documents that memory, clock and core are from.
	Sources []string `yaml:"sources" json:"sources,omitempty"`
	// Toolchain says how C becomes object code.
	Toolchain Toolchain `yaml:"toolchain" json:"toolchain"`
	// Memory is the memory of the chip, in the order of the file; where the
	// file has none it is the memory of the machine that runs the board.
	Memory Regions `yaml:"memory" json:"memory,omitempty"`
	// Kernels lists kernel libraries by preference, the best first.
	Kernels []string `yaml:"kernels" json:"kernels"`
	// Accelerators are processors beside the core.
	Accelerators []Accelerator `yaml:"accelerators" json:"accelerators,omitempty"`
	// Runner is the machine that executes firmware for this board.
	Runner Runner `yaml:"runner" json:"runner"`
	// Stack is the size of the stack in bytes.
	Stack Size `yaml:"stack" json:"stack_bytes"`

	why  []Origin
	own  bool // from a user's file
	chip bool // has memories of its own
}

// InstallAdvice is how a message tells what to do about a missing tool. What a
// file of the user's says is anybody's text, and told apart from nncc's advice.
func (s *Spec) InstallAdvice(install string) string {
	switch {
	case install == "":
		return "(the board names no command)"
	case s.own:
		return fmt.Sprintf("what the board's file says, which nncc does not know: %q", install)
	}
	return install
}

// ISA is the part of the instruction set that differs between chips with the
// same core. Load checks it against what the core can have.
type ISA struct {
	// DSP: the SIMD instructions on packed 8 and 16 bit values (SMLAD, ...).
	DSP bool `yaml:"dsp" json:"dsp"`
	// MVE is the vector extension (Helium): none, int, or float.
	MVE string `yaml:"mve" json:"mve"`
	// FPU is the scalar floating point unit: none, sp (single), or dp (double).
	FPU string `yaml:"fpu" json:"fpu"`
}

// HasMVE reports whether integer vector instructions are present.
func (i ISA) HasMVE() bool { return i.MVE == "int" || i.MVE == "float" }

// HasFPU reports whether single precision arithmetic is done in hardware.
func (i ISA) HasFPU() bool { return i.FPU == "sp" || i.FPU == "dp" }

// Features are those on which kernels are fixed that depend on data elsewhere (the column
// instructions of runtime_c/kernels.csv). Without assembly, the compiler decides for DSP.
func (s *Spec) Features() []string {
	var out []string
	if s.ISA.HasMVE() {
		out = append(out, runtimec.FeatureMVE)
	}
	noAsm := slices.ContainsFunc(s.Toolchain.CFlags, func(f string) bool { return strings.Contains(f, "NNCC_NO_ASM") })
	if s.ISA.DSP && !noAsm {
		out = append(out, runtimec.FeatureDSP)
	}
	if s.ISA.HasFPU() {
		out = append(out, runtimec.FeatureFPU)
	}
	if slices.ContainsFunc(s.Toolchain.CPU, func(f string) bool { return strings.HasPrefix(f, "-mcpu=cortex-m0") }) {
		out = append(out, runtimec.FeatureAligned) // Armv6-M
	}
	return out
}

// Toolchain names a compiler and its flags.
type Toolchain struct {
	// Prefix of every tool, `arm-none-eabi-`, empty for the host.
	Prefix string `yaml:"prefix" json:"prefix"`
	// CC is the compiler without the prefix.
	CC string `yaml:"cc" json:"cc"`
	// CPU flags choose the instruction set and the float ABI; everything that
	// is linked together must be compiled with the same ones.
	CPU []string `yaml:"cpu" json:"cpu"`
	// CFlags are used for every file, after the CPU flags.
	CFlags []string `yaml:"cflags" json:"cflags"`
	// Speed and Size are the optimisation flags of `--optimize speed|size`.
	Speed []string `yaml:"speed" json:"speed"`
	Size  []string `yaml:"size" json:"size"`
	// LDFlags are used when linking.
	LDFlags []string `yaml:"ldflags" json:"ldflags,omitempty"`
	// Install is the command that installs the toolchain on Debian.
	Install string `yaml:"install" json:"install"`
}

// Region is one memory of the board.
type Region struct {
	Name   string `yaml:"-" json:"name"`
	Origin Addr   `yaml:"origin" json:"origin"`
	Size   Size   `yaml:"size" json:"size"`
	// Holds says what may be placed here: vectors, code, rodata, weights,
	// data, arena, stack. The first region that holds a thing and has room
	// for it gets it.
	Holds []string `yaml:"holds" json:"holds"`
	// Wait is how long reads take.
	Wait Wait `yaml:"wait" json:"wait,omitzero"`
}

// Can reports whether the region may hold that kind of content.
func (r Region) Can(what string) bool {
	return slices.Contains(r.Holds, what)
}

// Regions keeps the order in which a file declares its regions.
type Regions []Region

// Capacity is the number of bytes in the regions that may hold any of what.
func (rs Regions) Capacity(what ...string) uint64 {
	var sum uint64
	for _, r := range rs {
		for _, w := range what {
			if r.Can(w) {
				sum += uint64(r.Size)
				break
			}
		}
	}
	return sum
}

// Only is the number of bytes in the regions that hold nothing but some of what, or
// the vectors.
func (rs Regions) Only(what ...string) uint64 {
	var sum uint64
	for _, r := range rs {
		if !slices.ContainsFunc(r.Holds, func(h string) bool { return h != "vectors" && !slices.Contains(what, h) }) {
			sum += uint64(r.Size)
		}
	}
	return sum
}

// Accelerator is a processor beside the core. The compiler gives Params to the
// package of that Kind (lower/accel/kinds), which documents them.
type Accelerator struct {
	Name   string         `yaml:"name" json:"name"`
	Kind   string         `yaml:"kind" json:"kind"`
	Params map[string]any `yaml:"params" json:"params,omitempty"`
}

// Runner is the machine that executes firmware.
type Runner struct {
	// Kind is qemu, host, or none.
	Kind string `yaml:"kind" json:"kind"`
	// Machine is QEMU's name for the machine.
	Machine string `yaml:"machine" json:"machine,omitempty"`
	// CPU replaces Toolchain.CPU where the machine that stands in has another
	// core. Empty: the board's own flags.
	CPU []string `yaml:"cpu" json:"cpu,omitempty"`
	// IcountShift: one instruction advances virtual time by 2^shift ns.
	IcountShift int `yaml:"icount_shift" json:"icount_shift,omitempty"`
	// SysTickHz is the rate of the machine's SysTick on the processor clock.
	SysTickHz int `yaml:"systick_hz" json:"systick_hz,omitempty"`
	// StandsIn is set where the machine is not this board's: what runs
	// instead, and what that cannot show.
	StandsIn string `yaml:"stands_in" json:"stands_in,omitempty"`
	// Memory is what the machine has, whatever the chip has.
	Memory Regions `yaml:"memory" json:"memory,omitempty"`
	// Timeout ends a run that hangs; 0 means the runner's default.
	Timeout Duration `yaml:"timeout" json:"timeout,omitempty"`
	// Install is the command that installs the machine on Debian.
	Install string `yaml:"install" json:"install,omitempty"`
}

// Size is a number of bytes, written 512K, 4M, 1G or plain.
type Size uint64

// Addr is an address, written in hexadecimal.
type Addr uint64

// MarshalText writes an address as 0x%08x.
func (a Addr) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0x%08x", uint64(a)), nil }

// Duration is a time.Duration, written 90s or 5m.
type Duration time.Duration

// MarshalText writes a duration as time.Duration prints it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Origin says where one value of a Spec comes from.
type Origin struct {
	// Key is the path of the value, `toolchain.cpu[1]`.
	Key string `json:"key"`
	// Value as the file wrote it.
	Value string `json:"value"`
	// File and Line of the definition that won. A definition shipped with
	// nncc is named defs/NAME.yaml.
	File string `json:"file"`
	Line int    `json:"line"`
}

// Why lists every value with the file and line that set it, in the order of
// the merged definition.
func (s *Spec) Why() []Origin { return append([]Origin(nil), s.why...) }

// IsChip reports a board whose memories are a chip's, and not those of the machine that
// runs its code.
func (s *Spec) IsChip() bool { return s.chip }

// HasMachine reports whether firmware for the board can be executed.
func (s *Spec) HasMachine() bool { return s.Runner.Kind == "qemu" || s.Runner.Kind == "host" }

// RunCPU gives the CPU flags for firmware that Runner executes.
func (s *Spec) RunCPU() []string {
	if len(s.Runner.CPU) > 0 {
		return s.Runner.CPU
	}
	return s.Toolchain.CPU
}

// Error is a mistake in a board definition or in a board's name, or several.
type Error struct {
	File string // empty when no file is to blame
	Line int
	Msg  string
	// More are the other mistakes that were found.
	More []*Error
}

func (e *Error) Error() string {
	if len(e.More) == 0 {
		return e.one()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d mistakes:", 1+len(e.More))
	for _, m := range append([]*Error{e}, e.More...) {
		b.WriteString("\n  " + m.one())
	}
	return b.String()
}

func (e *Error) one() string {
	switch {
	case e.File == "":
		return e.Msg
	case e.Line == 0:
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}
