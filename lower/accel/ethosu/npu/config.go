// SPDX-License-Identifier: Apache-2.0

// Package npu is Arm's Ethos-U55 and U65 in Go: it reads command streams, executes them and
// refuses what silicon would punish in silence. Facts are those of Vela 3.10's sources.
package npu

import (
	"fmt"
	"sync"
)

// Block is a size in elements.
type Block struct{ H, W, C int }

// Elems is the number of elements.
func (b Block) Elems() int { return b.H * b.W * b.C }

// Mode is where things lie: 0 is what Vela assumes by itself, a U55's SharedSRAM or a U65's DedicatedSRAM.
type Mode int

// Modes of memory, by Vela's names.
const (
	SRAMOnly      Mode = 1 + iota // all in the SRAM
	SharedSRAM                    // constants in a slower memory
	DedicatedSRAM                 // all but the working memory in a slower one
)

// Modes are their names in board files.
var Modes = []string{SRAMOnly: "sram-only", SharedSRAM: "shared-sram", DedicatedSRAM: "dedicated-sram"}

// Config is one configuration with what surrounds it.
type Config struct {
	Hardware
	Mode    Mode
	Cache   int       // bytes of a dedicated memory
	encoded *sync.Map // weights that were encoded before
}

// With is a configuration in a mode of memory, that keeps what it encodes.
func (c *Config) With(m Mode, cache int) *Config { return &Config{c.Hardware, m, cache, &sync.Map{}} }

// CacheKiB is Vela's dedicated memory.
const CacheKiB = 384

// Dedicated says that there is a fast memory beside that with inputs and results.
func (c *Config) Dedicated() bool { return c.Mode == DedicatedSRAM || c.Mode == 0 && c.U65 }

// Hardware is what a configuration is made of.
type Hardware struct {
	Name  string
	U65   bool
	MACs  int   // of a cycle, of a core
	Cores int   // that share the channels of a result
	Unit  Block // of the result, that one core computes at once
	Banks int   // of 1024 bytes in a core's shared memory
	// Granules are those of the buffers in banks: of 8, 16 and 32 bits, of accumulators of 32 and 40.
	Granules [5]int
	// Output is cycles for an element: binary and unary of 32 bits, product of 32, product of 8 or 16 and
	// whatever has accumulators of 40, sum with one scale, sum with two, greatest, any other.
	Output [8]float64
	// Activation is cycles for an element: table, clamp, none.
	Activation [3]float64
}

// Configs are all there are.
var Configs = []Config{
	{Hardware: Hardware{"ethos-u55-32", false, 32, 1, Block{1, 1, 4}, 16, [5]int{2, 2, 4, 4, 4},
		[8]float64{2, 3, 3, 3, 4, 6, 1, 2}, [3]float64{1, 1, 0}}},
	{Hardware: Hardware{"ethos-u55-64", false, 64, 1, Block{1, 1, 8}, 16, [5]int{2, 2, 4, 4, 8},
		[8]float64{1, 1.5, 1.5, 1.5, 2, 3, 0.5, 1}, [3]float64{1, 1, 0}}},
	{Hardware: Hardware{"ethos-u55-128", false, 128, 1, Block{1, 2, 8}, 24, [5]int{4, 4, 8, 8, 12},
		[8]float64{0.75, 1.25, 0.75, 0.75, 1, 1.5, 0.25, 0.5}, [3]float64{1, 0.5, 0}}},
	{Hardware: Hardware{"ethos-u55-256", false, 256, 1, Block{2, 2, 8}, 48, [5]int{8, 8, 16, 16, 20},
		[8]float64{0.625, 1.125, 0.5, 0.375, 0.5, 0.75, 0.125, 0.25}, [3]float64{1, 0.25, 0}}},
	{Hardware: Hardware{"ethos-u65-256", true, 256, 1, Block{2, 2, 8}, 48, [5]int{8, 8, 16, 16, 20},
		[8]float64{0.625, 1.125, 0.5, 0.375, 0.5, 0.75, 0.125, 0.25}, [3]float64{1, 0.25, 0}}},
	{Hardware: Hardware{"ethos-u65-512", true, 256, 2, Block{2, 2, 8}, 48, [5]int{8, 8, 16, 16, 20},
		[8]float64{0.3125, 0.5625, 0.25, 0.1875, 0.25, 0.375, 0.0625, 0.125}, [3]float64{0.5, 0.125, 0}}},
}

// Find is the configuration of a name; nil: there is none.
func Find(name string) *Config {
	for i := range Configs {
		if Configs[i].Name == name {
			return &Configs[i]
		}
	}
	return nil
}

// configOf is the configuration that a stream's header names.
func configOf(word uint32) (*Config, error) {
	macs, shram, u65 := 1<<(word&15), int(word>>8&0xFF), word>>28 == 1
	for i := range Configs {
		c := &Configs[i]
		if c.MACs*c.Cores == macs && c.U65 == u65 && c.Banks*c.Cores == shram && word>>28 < 2 {
			return c, nil
		}
	}
	return nil, fmt.Errorf("the stream is for product %d with %d MACs and %d KiB of shared memory, want an Ethos-U55 "+
		"or U65", word>>28, macs, shram)
}

const (
	bankBytes = 1024
	outBanks  = 2 // that results leave through
	lutBytes  = 2048
	maxDepend = 3 // of BLOCKDEP
)

// MostDeep is the most channels of a block.
const MostDeep = 128

var blockMost = Block{32, 64, MostDeep}

// lutAt is where the tables of activations lie in the shared memory.
func (c *Config) lutAt() int { return (c.Banks - 2) * bankBytes }

// SharesTables says that operations without a table may use its banks.
func (c *Config) SharesTables() bool { return c.Banks <= 16 }

// transfers is how many are in flight at most.
func (c *Config) transfers() int {
	if c.U65 {
		return 2
	}
	return 1
}

// addressBits are those of an offset in a region.
func (c *Config) addressBits() int {
	if c.U65 {
		return 40
	}
	return 32
}
