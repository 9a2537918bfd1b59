// SPDX-License-Identifier: Apache-2.0

package boards

import "math"

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
	// Stalls is what instructions cost each other: none, loads (a load behind a
	// load overlaps with it), helium (vector pipes are busy for two cycles, what a
	// load brings is late).
	Stalls string `yaml:"stalls" json:"stalls,omitempty"`
	// Units are how many instructions of a kind start in one cycle, where Issue
	// is 2: alu, load, store, mac, branch, vector.
	Units map[string]any `yaml:"units" json:"units,omitempty"`
}

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
