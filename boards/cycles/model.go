package cycles

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Model is what instructions of a core cost in cycles with memory that never
// makes it wait.
type Model struct {
	Core  string
	Basis string // where the prices come from
	price [classes]int
	// A block of n registers takes first + n*each/2 cycles, at least 1.
	first, each int
	// What refilling the pipeline adds to a branch that is taken: to an address
	// in the instruction, of a BL, to one from a register or from memory.
	refill, call, jump, pop int
	// pair is what next costs more right behind prev than alone.
	pair func(prev, next *Insn) int
}

// base are prices that most cores share.
func base(change map[Class]int) [classes]int {
	var p [classes]int
	for c := range p {
		p[c] = 1
	}
	p[Div], p[FloatMac], p[FloatDiv] = 7, 3, 14
	p[Load], p[LoadPair], p[StorePair] = 2, 3, 3
	p[Loop] = 0
	for c, v := range change {
		p[c] = v
	}
	return p
}

var models = []*Model{
	{Core: "cortex-m0", Basis: "its technical reference manual, with the one-cycle multiplier",
		price: base(map[Class]int{Store: 2, System: 3}), first: 1, each: 2, refill: 2, call: 3, jump: 2, pop: 3,
		pair: alone},
	{Core: "cortex-m0plus", Basis: "its technical reference manual, with the one-cycle multiplier",
		price: base(map[Class]int{Store: 2, System: 3}), first: 1, each: 2, refill: 1, call: 2, jump: 1, pop: 2,
		pair: alone},
	{Core: "cortex-m3", Basis: "its technical reference manual; refilling the pipeline 2 of 1 to 3, long products 4 " +
		"of 3 to 5, divisions 7 of 2 to 12",
		price: base(map[Class]int{MulAdd: 2, LongMul: 4}), first: 1, each: 2, refill: 2, call: 2, jump: 2, pop: 2,
		pair: pipelinedLoads},
	{Core: "cortex-m4", Basis: "its technical reference manual; refilling the pipeline 2 of 1 to 3, divisions 7 of " +
		"2 to 12",
		price: base(nil), first: 1, each: 2, refill: 2, call: 2, jump: 2, pop: 2, pair: pipelinedLoads},
	{Core: "cortex-m55", Basis: "two beats a cycle, vector instructions of different pipes overlap; partly unverified",
		price: base(map[Class]int{Load: 1, LoadPair: 1, StorePair: 1, FloatMac: 1}), first: 0, each: 1, refill: 1,
		call: 1, jump: 2, pop: 2, pair: helium},
}

// For is the model of a core; the error says why there is none.
func For(core string) (*Model, error) {
	if i := slices.IndexFunc(models, func(m *Model) bool { return m.Core == core }); i >= 0 {
		return models[i], nil
	}
	var known []string
	for _, m := range models {
		known = append(known, m.Core)
	}
	return nil, fmt.Errorf("there is no table of cycles for %s, only for %s", core, strings.Join(known, ", "))
}

// alone: no instruction depends on the one before.
func alone(_, _ *Insn) int { return 0 }

// pipelinedLoads: a load right behind another one takes a cycle less, unless
// its address waits for it.
func pipelinedLoads(prev, next *Insn) int {
	if prev.Class == Load && next.Class == Load && prev.dst&next.src == 0 {
		return -1
	}
	return 0
}

// helium: a vector instruction occupies its pipe for two cycles, and what a
// load brings is there a cycle late.
func helium(prev, next *Insn) int {
	if p := prev.Class.pipe(); p != 0 && p == next.Class.pipe() && prev.Class != Gather {
		return 1
	}
	if prev.dst&next.src != 0 {
		return 1
	}
	return 0
}

// cost is an instruction alone, a branch not taken.
func (m *Model) cost(i *Insn) int {
	switch i.Class {
	case LoadMany, StoreMany:
		return max(1, m.first+(i.Regs*m.each+1)/2)
	case Gather:
		return max(4, min(i.Lanes, 8))
	case Jump:
		if i.Bytes > 0 { // its address comes from a table
			return m.price[Jump] + m.price[Load]
		}
	}
	return m.price[i.Class]
}

// taken is what it adds that an instruction goes elsewhere.
func (m *Model) taken(i *Insn) int {
	switch {
	case i.Class == Branch || i.Class == LoopStart:
		return m.refill
	case i.Class == Call:
		return m.call
	case i.Class == Jump:
		return m.jump
	case i.PC:
		return m.pop
	}
	return 0
}

// Block is a run of instructions that are executed one after the other.
type Block struct {
	PC, End     uint32
	first, last Insn // last without the end of a loop, which takes no time
	branch      Insn // the very last one
	sum         Count
}

// Block decodes the instructions of text, which lie from pc on.
func (m *Model) Block(pc uint32, text []byte) *Block {
	b := &Block{PC: pc, End: pc + uint32(len(text))}
	var prev *Insn
	for len(text) >= 2 {
		first, second := binary.LittleEndian.Uint16(text), uint16(0)
		if len(text) >= 4 {
			second = binary.LittleEndian.Uint16(text[2:])
		}
		i := Decode(first, second)
		text = text[min(i.Size, len(text)):]
		b.sum.add(&i, m.cost(&i))
		if prev == nil {
			b.first = i
		} else {
			b.sum.Cycles += m.pair(prev, &i)
		}
		b.branch = i
		if i.Class != Loop {
			b.last = i
			prev = &b.last
		}
	}
	return b
}

// Count is what was executed.
type Count struct {
	Instructions, Cycles int
	Classes              [classes]int
	Loaded, Stored       int // bytes, with all lanes of vectors active
}

func (c *Count) add(i *Insn, cycles int) {
	c.Instructions++
	c.Cycles += cycles
	c.Classes[i.Class]++
	switch i.Class {
	case Load, LoadPair, LoadMany, VecLoad, Jump:
		c.Loaded += i.Bytes
	case Store, StorePair, StoreMany, VecStore:
		c.Stored += i.Bytes
	case Gather:
		if i.Loads {
			c.Loaded += i.Bytes
		} else {
			c.Stored += i.Bytes
		}
	}
}

// Add adds another count.
func (c *Count) Add(x *Count) {
	c.Instructions += x.Instructions
	c.Cycles += x.Cycles
	c.Loaded += x.Loaded
	c.Stored += x.Stored
	for k, n := range x.Classes {
		c.Classes[k] += n
	}
}

// ByClass are the counts of the classes that occurred, by name.
func (c *Count) ByClass() map[string]int {
	m := map[string]int{}
	for k, n := range c.Classes {
		if n > 0 {
			m[Class(k).String()] = n
		}
	}
	return m
}

// Counter adds up blocks in the order of their execution.
type Counter struct {
	Count
	m    *Model
	prev *Block
}

// Counter of a model, with nothing counted.
func (m *Model) Counter() *Counter { return &Counter{m: m} }

// Enter counts one execution of a block.
func (c *Counter) Enter(b *Block) {
	if p := c.prev; p != nil {
		if p.End != b.PC {
			c.Cycles += c.m.taken(&p.branch)
		}
		c.Cycles += c.m.pair(&p.last, &b.first)
	}
	c.Count.Add(&b.sum)
	c.prev = b
}

// Leave forgets the last block: what comes next does not follow it.
func (c *Counter) Leave() { c.prev = nil }
