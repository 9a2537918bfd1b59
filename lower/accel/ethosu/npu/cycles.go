// SPDX-License-Identifier: Apache-2.0

package npu

import "math"

// area is a memory as estimates see it.
type area struct {
	bytes       float64 // of a cycle
	read, write float64 // cycles until the first byte
	burst       float64 // bytes
}

// The systems that Vela assumes by itself: SRAM, and DRAM with the constants, of a U65 with all but fast memory.
var (
	sram55 = area{8, 32, 32, 32}
	dram55 = area{1.875, 500, 250, 128}
	sram65 = area{16, 32, 32, 32}
	dram65 = area{3.75, 500, 250, 128}
)

// memory is where a region lies: constants, memory, fast memory.
func (c *Config) memory(region int) *area {
	fast, slow := &sram55, &dram55
	if c.U65 {
		fast, slow = &sram65, &dram65
	}
	if c.Mode == SRAMOnly || region == 2 || region != 0 && !c.Dedicated() {
		return fast
	}
	return slow
}

// Estimate is the cycles that an operation takes, and what bounds it: "MACs", or a memory.
type Estimate struct {
	Op     *Op
	Cycles float64
	Bound  string
}

// group is one operation of a network: its parts of the channels, and the transfers for them.
type group struct {
	*Op
	parts         int
	weightBytes   float64 // of the parts, with scales
	first, behind float64 // cycles of transfers in front of the first part, and between the parts
	table         float64
	tail          float64 // cycles of the last part
}

// Estimates are the cycles of a stream's operations.
func (s *Stream) Estimates() ([]Estimate, error) {
	all := grouping{c: s.Config}
	if err := s.Ops(func(o *Op) error { all.add(o); return nil }); err != nil {
		return nil, err
	}
	return all.estimates(), nil
}

// Cycles is what operations take one behind the other.
func (c *Config) Cycles(ops []*Op) (sum float64) {
	all := grouping{c: c}
	for _, o := range ops {
		all.add(o)
	}
	for _, e := range all.estimates() {
		sum += e.Cycles
	}
	return sum
}

// grouping joins parts of operations.
type grouping struct {
	c             *Config
	list          []*group
	first, tables float64 // cycles of transfers since the last operation
}

func (s *grouping) add(o *Op) {
	if o.Kind == Transfer {
		if n := s.c.transferCycles(o); o.To.Region == shram {
			s.tables += n
		} else {
			s.first += n
		}
		return
	}
	if k := len(s.list) - 1; k >= 0 && s.list[k].joins(o) {
		g := s.list[k]
		g.OFM.C += o.OFM.C
		g.parts++
		g.behind += max(0, s.first-s.c.memory(0).read) // Vela waits for the first byte once
		g.weightBytes += o.weightBytes()
		g.tail = s.c.cycles(o)
	} else {
		whole := *o
		s.list = append(s.list, &group{Op: &whole, parts: 1, first: s.first, table: s.tables,
			weightBytes: o.weightBytes()})
	}
	s.first, s.tables = 0, 0
}

func (s *grouping) estimates() (out []Estimate) {
	slack := 0.0
	for _, g := range s.list {
		var e Estimate
		e, slack = s.c.estimate(g, slack)
		out = append(out, e)
	}
	return out
}

// joins says that an operation is another part of the channels of a group's.
func (g *group) joins(o *Op) bool {
	a, b := &g.OFM, &o.OFM
	same := g.Kind == o.Kind && g.IFM.Region == o.IFM.Region && a.Region == b.Region &&
		(g.Kind == Depthwise || g.IFM.C == o.IFM.C) && g.weighted() && g.Window == o.Window &&
		[5]int{g.IFM.H, g.IFM.W, a.H, a.W, int(a.StrideY)} == [5]int{o.IFM.H, o.IFM.W, b.H, b.W, int(b.StrideY)}
	out, in := b.Base[0]-a.Base[0], o.IFM.Base[0]-g.IFM.Base[0]
	return same && out != 0 && (in == 0 || g.Kind == Depthwise && in == out)
}

func (o *Op) weightBytes() float64 {
	n := int64(0)
	for i := range o.Cores {
		n += o.Weights[i].Bytes + o.Scales[i].Bytes
	}
	return float64(n)
}

func (c *Config) transferCycles(o *Op) float64 {
	from := c.memory(o.From.Region)
	n := math.Floor(float64(o.From.Bytes)/from.bytes) + from.read
	if o.To.Region == shram {
		return n
	}
	return max(n, math.Floor(float64(o.To.Bytes)/c.memory(o.To.Region).bytes))
}

// estimate is a group's cycles, with transfers that the one before does not hide, and what it hides itself.
func (c *Config) estimate(g *group, slack float64) (e Estimate, hides float64) {
	own := c.cycles(g.Op)
	npu, tail := own, own
	switch {
	case g.behind > 0:
		tail = g.tail
		npu = max(g.first+g.behind-slack+tail, own+max(g.first-slack, 0)) + g.table
	case g.first > 0:
		npu += g.first - min(g.first, slack) + g.table
	default:
		npu += max(g.table-slack, 0)
	}
	e = Estimate{g.Op, npu, "MACs"}
	access := c.access(g)
	for _, m := range []struct {
		name string
		*area
	}{{"SRAM", &sram55}, {"DRAM", &dram55}, {"SRAM", &sram65}, {"DRAM", &dram65}} {
		if n := access[m.area] / m.bytes; n > e.Cycles {
			e.Cycles, e.Bound = n, m.name
		}
	}
	return e, tail
}

// fit is the part of a block that a feature map has.
func fit(b Block, f *FeatureMap) Block { return Block{min(b.H, f.H), min(b.W, f.W), min(b.C, f.C)} }

func (b Block) count(f *FeatureMap) int { return cut(f.H, b.H) * cut(f.W, b.W) * cut(f.C, b.C) }

// stored is the elements of a map with those that fill up its bricks.
func (f *FeatureMap) stored() int {
	if f.Brick {
		return f.H * f.W * up(f.C, 16)
	}
	return f.elems()
}

// transferred is bytes that bursts carry for what is needed.
func (c *Config) transferred(f *FeatureMap, b Block, read bool, n float64) float64 {
	m, bits := c.memory(f.Region), f.Bits
	var burst int
	switch {
	case f.Brick && 2*bits*f.W == b.C:
		burst = bits * b.C * b.W
	case f.Brick && read:
		burst = 16 * bits * b.W
	case f.Brick:
		burst = 16 * bits * b.W * c.Cores
	case read && bits/8 == b.C, !read && b.C <= 16 && bits/8 == b.C:
		burst = bits * b.C * b.W
	case read:
		burst = bits * b.C
	default:
		burst = min(64*8, 16*bits*c.Cores, b.C*bits)
	}
	return n * m.burst / min(m.burst, float64(burst/8))
}

// access is the bytes that each memory moves.
func (c *Config) access(g *group) map[*area]float64 {
	in, out := map[*area]float64{}, &g.OFM
	l := g.layout(c)
	into := func(f *FeatureMap, b Block, read bool, elems int) {
		in[c.memory(f.Region)] += c.transferred(f, b, read, float64(elems)*float64(f.bytes()))
	}
	block, ifm := fit(g.Block, out), fit(l.ifm, &g.IFM)
	into(out, g.Block, false, out.stored())
	if g.Kind == Elementwise {
		n := out.elems()
		if g.IFM.Brick {
			n = out.H * out.W * up(out.C, 16)
		}
		into(&g.IFM, l.ifm, true, n)
		if g.TwoMaps() && g.IFM2.elems() > 1 {
			into(&g.IFM2, l.ifm, true, n)
		}
		return in
	}
	blocks := block.count(out)
	spatial := cut(out.H, block.H) * cut(out.W, block.W)
	if g.Kind == Depthwise || g.Kind == Max || g.Kind == Average {
		blocks = spatial
	}
	deep := g.IFM.C
	if g.IFM.Brick {
		deep = up(deep, 16)
	}
	parts := cut(g.Window.W, 8) * cut(g.Window.H, 8)
	if g.Kind == Sum {
		parts = 1
	}
	into(&g.IFM, l.ifm, true, ifm.H*ifm.W*deep*parts*blocks)
	if g.weighted() && g.first+g.behind == 0 {
		again := float64(spatial)
		if g.Kind != Depthwise {
			again *= float64(cut(out.C, block.C)*block.C) / float64(out.C)
		}
		scales := 10 * float64(out.C)
		in[c.memory(g.Weights[0].Region)] += (g.weightBytes-scales)*again + scales
	}
	return in
}

// cycles are those of an operation's computation.
func (c *Config) cycles(o *Op) float64 {
	if o.Kind == Elementwise {
		return math.Ceil(c.element(o) * float64(o.OFM.stored()))
	}
	return math.Floor(c.blocks(o))
}

// element is cycles for an element of a result.
func (c *Config) element(o *Op) float64 {
	n := max(c.Output[o.output()], c.Activation[o.activation()])
	if o.Kind == Elementwise {
		elems := float64(o.Block.Elems())
		in, out := c.blockMemory(o)
		n = max(n, (in+out+n*elems)/4/elems)
	}
	return n
}

// output is which of Config.Output it has.
func (o *Op) output() int {
	switch {
	case o.Kind == Max:
		return 6
	case o.Kind != Elementwise && o.AccFormat == 1:
		return 3
	case o.Kind != Elementwise:
		return 7
	case o.IFM.Bits == 32 && unary(o.Mode):
		return 1
	case o.IFM.Bits == 32:
		return 0
	case o.Mode == Mul && o.OFM.Bits == 32:
		return 2
	case o.Mode == Mul:
		return 3
	case o.Mode == Add, o.Mode == Sub:
		return 5
	}
	return 7
}

// activation is which of Config.Activation it has.
func (o *Op) activation() int {
	low, high := int64(-1)<<(min(o.OFM.Bits, 16)-1), int64(1)<<(min(o.OFM.Bits, 16)-1)-1
	if !o.OFM.Signed {
		low, high = 0, 2*high+1
	}
	switch {
	case o.Function != noFunction:
		return 0
	case o.Low > low || o.High < high:
		return 1
	}
	return 2
}

// blockMemory is cycles to read the input of a block, and to write its result.
func (c *Config) blockMemory(o *Op) (in, out float64) {
	l := o.layout(c)
	a, b := c.memory(o.IFM.Region), c.memory(o.OFM.Region)
	in = a.read + c.transferred(&o.IFM, l.ifm, true, float64(fit(l.ifm, &o.IFM).Elems()))/a.bytes
	out = b.write + c.transferred(&o.OFM, o.Block, false, float64(fit(o.Block, &o.OFM).Elems()))/b.bytes
	return in, out
}

// blocks are the cycles of an operation with windows: block by block, computing beside writing.
func (c *Config) blocks(o *Op) float64 {
	l, unit := o.layout(c), c.Unit
	ifm, b := fit(l.ifm, &o.IFM), fit(o.Block, &o.OFM)
	if unit.H == 2 && o.weighted() && o.OFM.H == 1 && o.OFM.W%2 == 0 && o.Window.H == 1 {
		unit, b.H = Block{1, 4, unit.C}, 1
	}
	compute := c.dpu(o, ifm, b, unit)
	if o.Kind == Conv || o.Kind == Sum {
		compute *= float64(cut(o.IFM.C, ifm.C))
	}
	compute /= float64(c.Cores)
	n := float64(b.count(&o.OFM))
	write := math.Ceil(c.element(o) * float64(b.Elems()))
	if o.weighted() {
		write = max(write, 10*float64(b.C)*c.memory(o.Scales[0].Region).read/256)
	}
	in, out := c.blockMemory(o)
	least := (in + out + write + compute) / 4
	compute, write = max(compute, least), max(write, least)
	return max(compute, write)*n + min(compute, write)
}

// dpu is cycles of the products of a block.
func (c *Config) dpu(o *Op, ifm, b, unit Block) float64 {
	x, y, z := cut(b.W, unit.W), cut(b.H, unit.H), cut(b.C, unit.C)
	k := &o.Window
	if o.Kind == Sum {
		k = &Window{H: 1, W: 1}
	}
	sum := 0
	for ky := 0; ky < k.H; ky += 8 {
		for kx := 0; kx < k.W; kx += 8 {
			sum += c.subkernel(o, min(8, k.H-ky)*min(8, k.W-kx), x, y, z, ifm.C, 4*unit.C)
		}
	}
	return float64(sum)
}

func (c *Config) subkernel(o *Op, taps, x, y, z, deep, weights int) int {
	steps, n := taps, 0
	part := o.Kind == Conv && o.Window.PartFirst
	double := 1
	if o.IFM.Bits == 16 {
		double = 2
	}
	switch {
	case o.Kind == Max || o.Kind == Average:
		steps, n = 1, max(4, taps)*x*y*z
		if c.MACs > 32 {
			n *= double
		}
	case o.Kind == Depthwise:
		steps = cut(taps, 4)
		n = max(weights, 4*x*y*double) * steps * z
	case part:
		steps = cut(taps, 4/double)
		n = max(weights, 4*x*y) * steps * cut(deep, 8) * z
	default:
		n = max(weights, 4*x*y) * steps * z
	}
	delay := c.delay(o, steps, x, y, z)
	if part {
		delay *= cut(deep, 8)
	}
	return n + delay
}

// delay is cycles in which a sum waits for itself.
func (c *Config) delay(o *Op, steps, x, y, z int) int {
	delay, late := 0, 2
	wide := o.AccFormat == 1
	switch {
	case c.MACs == 32 && wide:
		late = 7
	case c.MACs == 32, wide && c.MACs < 256:
		late = 3
	}
	if x == 1 && y == 1 {
		if z == 1 {
			delay = late * steps
		} else if steps > 1 {
			delay = late * (steps - 1) * z
		}
	}
	if c.MACs == 32 && wide && (x == 1 || y == 1) && z > 1 {
		delay += late * z
	}
	return delay
}
