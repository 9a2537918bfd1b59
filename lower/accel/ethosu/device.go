// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/accel/ethosu/npu"
)

// regions of a stream: of our own working memory is the one that is always fast.
const (
	constants = iota
	memory
	fast
	working = fast
)

// program is a stream with its memory.
type program struct {
	*npu.Stream
	regions map[int]*npu.Memory
	op.DeviceAttrs
}

// mostMemory of such a device.
const mostMemory = 1 << 28

func load(n *ir.Node, data [][]byte) (*program, error) {
	s, err := npu.Parse(n.In[0].Const.Bytes())
	if err != nil {
		return nil, ir.Errf(n, "stream", "%v", err)
	}
	a := ir.AttrsOf[op.DeviceAttrs](n)
	if len(a.Memory) != 2 || min(a.Memory[0], a.Memory[1]) < 0 || max(a.Memory[0], a.Memory[1]) > mostMemory {
		return nil, ir.Errf(n, "stream", "memories of %v bytes, want two of at most %d", a.Memory, mostMemory)
	}
	p := &program{s, map[int]*npu.Memory{constants: npu.Constant(n.In[1].Const.Bytes()),
		memory: npu.Scratch(a.Memory[0]), fast: npu.Scratch(a.Memory[1])}, *a}
	for i, b := range data {
		if err := p.regions[memory].Put(a.In[i], b); err != nil {
			return nil, ir.Errf(n, "stream", "input %d: %v", i+2, err)
		}
	}
	return p, nil
}

func (p *program) results(n *ir.Node, types []ir.Type) ([][]byte, error) {
	out := make([][]byte, len(types))
	for i, t := range types {
		out[i] = make([]byte, t.Bytes())
		if err := p.regions[memory].Get(p.Out[i], out[i]); err != nil {
			return nil, ir.Errf(n, "stream", "result %d: %v", i, err)
		}
	}
	return out, nil
}

func check(n *ir.Node, out []ir.Type) error {
	data := make([][]byte, len(n.In)-2)
	for i, v := range n.In[2:] {
		data[i] = make([]byte, v.Type.Bytes())
	}
	p, err := load(n, data)
	if err != nil {
		return err
	}
	if err := p.Check(p.regions, nil); err != nil {
		return ir.Errf(n, "stream", "%v", err)
	}
	_, err = p.results(n, out)
	return err
}

func run(n *ir.Node, data [][]byte) ([][]byte, error) {
	p, err := load(n, data)
	if err != nil {
		return nil, err
	}
	if err := p.Run(p.regions); err != nil {
		return nil, ir.Errf(n, "stream", "%v", err)
	}
	types := lists.Each(n.Out, func(v *ir.Value) ir.Type { return v.Type })
	return p.results(n, types)
}

func macs(n *ir.Node) (sum int64) {
	s, err := npu.Parse(n.In[0].Const.Bytes())
	if err == nil {
		err = s.Ops(func(o *npu.Op) error {
			if o.Kind != npu.Elementwise && o.Kind != npu.Transfer {
				sum += o.Work()
			}
			return nil
		})
	}
	if err != nil {
		panic(bug.Errorf("a checked stream: %w", err))
	}
	return sum
}

// estimate is what a stream takes.
func estimate(s *npu.Stream) (*call.Estimate, error) {
	all, err := s.Estimates()
	if err != nil {
		return nil, err
	}
	e, by, work := &call.Estimate{}, map[string]float64{}, 0.0
	for _, x := range all {
		e.Cycles += x.Cycles
		if by[x.Bound] += x.Cycles; by[x.Bound] > by[e.Bound] {
			e.Bound = x.Bound
		}
		if x.Op.Kind != npu.Elementwise {
			work += float64(x.Op.Work())
		}
	}
	e.Device, e.MACs = s.Config.Name, int64(work)
	e.Utilisation = work / max(1, e.Cycles) / float64(s.Config.MACs*s.Config.Cores)
	return e, nil
}

// compile makes the call of the driver: program and constants linked, both memories as scratch.
func (u *Unit) compile(n *ir.Node) (*call.Lowered, error) {
	a := ir.AttrsOf[op.DeviceAttrs](n)
	if a.Kind != Model {
		return nil, ir.Errf(n, "device", "it is for %s, want %s", a.Kind, Model)
	}
	s, err := npu.Parse(n.In[0].Const.Bytes())
	if err != nil {
		return nil, ir.Errf(n, "stream", "%v", err)
	}
	if u.board && s.Config.Name != u.cfg.Name {
		return nil, ir.Errf(n, "device", "the stream is for %s, the board has %s", s.Config.Name, u.name())
	} else if u.board {
		s.Config = u.cfg
	}
	takes, err := estimate(s)
	if err != nil {
		return nil, ir.Errf(n, "stream", "%v", err)
	}
	second, behind := (a.Memory[0]+align-1)&^(align-1), a.Memory[1]
	if !uses(s, fast) { // Vela gives it the size of the other memory
		second, behind = 0, 0
	}
	c := &invocation{program: blob("program", n.In[0].Const.Bytes()), bytes: len(n.In[0].Const.Bytes()),
		scratch: max(a.Memory[0], second+behind), takes: takes}
	c.region(constants, blob("weights", n.In[1].Const.Bytes()), call.Null{}, len(n.In[1].Const.Bytes()))
	c.region(memory, call.Scratch{CType: "uint8_t"}, call.Scratch{CType: "uint8_t"}, a.Memory[0])
	c.region(fast, call.Scratch{CType: "uint8_t", Off: second}, call.Scratch{CType: "uint8_t", Off: second}, behind)
	for i, v := range n.In[2:] {
		c.in = append(c.in, part(call.In{I: i + 2, CType: "void"}, v.Type, memory, a.In[i]))
	}
	for i, v := range n.Out {
		c.out = append(c.out, part(call.Out{I: i, CType: "void"}, v.Type, memory, a.Out[i]))
	}
	l := c.lowered()
	l.Unused = []int{0, 1}
	return l, nil
}

func blob(hint string, data []byte) *call.Blob {
	return &call.Blob{Hint: hint, CType: "uint8_t", Data: data, Align: align, NoCast: true}
}

func part(data call.Arg, t ir.Type, region, at int) call.Nested {
	return call.Nested{Fields: []call.Field{call.F("data", data), call.F("bytes", count(t.Bytes())),
		call.F("region", count(region)), call.F("at", count(at))}}
}

// invocation is what the driver gets.
type invocation struct {
	program        call.Arg
	bytes, scratch int
	regions        []call.Nested
	in, out        []call.Nested // copied into a region, or out of it
	takes          *call.Estimate
}

// region is one by its number.
func (c *invocation) region(i int, read, write call.Arg, bytes int) {
	for len(c.regions) < i {
		c.region(len(c.regions), call.Null{}, call.Null{}, 0)
	}
	x := call.Nested{Fields: []call.Field{call.F("read", read), call.F("write", write),
		call.F("bytes", count(bytes))}}
	if i < len(c.regions) {
		c.regions[i] = x
	} else {
		c.regions = append(c.regions, x)
	}
}

func (c *invocation) lowered() *call.Lowered {
	list := func(kind string, elems []call.Nested) call.Arg {
		if len(elems) == 0 {
			return call.Null{}
		}
		return &call.Array{Type: kind, Elems: elems}
	}
	run := call.Call{Func: "ethosu_run", Status: "ETHOSU_OK", Args: []call.Arg{c.program, count(c.bytes),
		list("ethosu_region", c.regions), count(len(c.regions)), list("ethosu_input", c.in), count(len(c.in)),
		list("ethosu_output", c.out), count(len(c.out))}}
	return &call.Lowered{Kernel: run.Func, Route: "command stream", Scratch: c.scratch, Elsewhere: c.takes,
		Headers: []string{"ethosu/ethosu_driver.h"}, Calls: []call.Call{run}}
}

const align = 16

// uses says whether a stream reads or writes a region.
func uses(s *npu.Stream, region int) bool {
	found := false
	err := s.Ops(func(o *npu.Op) error {
		found = found || slices.Contains([]int{o.IFM.Region, o.IFM2.Region, o.OFM.Region, o.From.Region,
			o.To.Region, o.Weights[0].Region, o.Scales[0].Region}, region)
		return nil
	})
	return found || err != nil
}

func count(n int) call.Lit { return call.Lit(fmt.Sprintf("%du", n)) }
