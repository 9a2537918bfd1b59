// SPDX-License-Identifier: Apache-2.0

package acceltest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// Program is a segment for the CRU. Its file is the header of cru_driver.h, the
// transfers, the commands and the constants, in little-endian words.
type Program struct {
	Memory   int        `json:"memory_bytes"` // inputs, outputs and what lies between
	In       []Transfer `json:"inputs"`
	Out      []Transfer `json:"outputs"`
	Commands []Command  `json:"commands"`
	data     []byte     // constants; offsets count from the beginning of the file
}

// Transfer is a value that the driver copies into the memory or out of it.
type Transfer struct{ Offset, Bytes int32 }

// Command is one operation; the fields are those of cru_command in C. Of
// opReLU, InC is the number of elements and Weights the table of results.
type Command struct {
	Op, In, Out                          int32
	InC, InH, InW, OutC, OutH, OutW      int32
	KernelH, KernelW, StrideH, StrideW   int32
	PadTop, PadLeft, InOffset, OutOffset int32
	ActMin, ActMax                       int32
	Weights, Bias, Multiplier, Shift     int32
}

const (
	opConv = 1
	opReLU = 2
)

// header begins a file.
type header struct {
	Magic, Bytes, Memory, In, Out, Commands uint32
}

const magic = 'C' | 'R'<<8 | 'U'<<16 | '1'<<24

func up(n int) int { return (n + 15) &^ 15 }

// compile gives every value a place of its own and every node a command.
func compile(g *ir.Graph) (*Program, error) {
	p := &Program{}
	at := map[*ir.Value]int32{}
	place := func(v *ir.Value) Transfer {
		if _, ok := at[v]; !ok {
			at[v] = int32(p.Memory)
			p.Memory += up(v.Type.Bytes())
		}
		return Transfer{at[v], int32(v.Type.Bytes())}
	}
	for _, v := range g.In {
		p.In = append(p.In, place(v))
	}
	p.Commands = make([]Command, 0, len(g.Nodes))
	base := binary.Size(header{}) + (len(g.In)+len(g.Out))*binary.Size(Transfer{}) + len(g.Nodes)*binary.Size(Command{})
	constant := func(b []byte) int32 {
		for (base+len(p.data))%4 != 0 {
			p.data = append(p.data, 0)
		}
		from := base + len(p.data)
		p.data = append(p.data, b...)
		return int32(from)
	}
	for _, n := range g.Nodes {
		c := Command{In: place(n.In[0]).Offset, Out: place(n.Out[0]).Offset}
		if err := c.fill(n, constant); err != nil {
			return nil, err
		}
		p.Commands = append(p.Commands, c)
	}
	for _, v := range g.Out {
		p.Out = append(p.Out, place(v))
	}
	return p, nil
}

// fill makes the command of a node; constant stores bytes and says where.
func (c *Command) fill(n *ir.Node, constant func(b []byte) int32) error {
	if n.Op == op.Relu {
		table, why := kernel.Table256(n)
		if why != "" {
			return ir.Errf(n, "cru", "%s", why)
		}
		c.Op, c.InC, c.Weights = opReLU, int32(n.Out[0].Type.Elems()), constant(table)
		return nil
	}
	g, err := op.ConvGeometry(n)
	if err != nil {
		return err
	}
	q, why := op.MAC8Params(n)
	if why != "" {
		return ir.Errf(n, "cru", "%s", why)
	}
	bias := kernel.Bias(n, g.COut)
	if bias == nil {
		bias = make([]int32, g.COut)
	}
	word := func(v int) int32 { return int32(v) }
	c.Op = opConv
	c.InC, c.InH, c.InW = word(g.CIn), word(g.In[0]), word(g.In[1])
	c.OutC, c.OutH, c.OutW = word(g.COut), word(g.Out[0]), word(g.Out[1])
	c.KernelH, c.KernelW = word(g.Kernel[0]), word(g.Kernel[1])
	c.StrideH, c.StrideW = word(g.Strides[0]), word(g.Strides[1])
	c.PadTop, c.PadLeft = word(g.PadBegin[0]), word(g.PadBegin[1])
	c.InOffset, c.OutOffset, c.ActMin, c.ActMax = q.InOff, q.OutOff, q.ActMin, q.ActMax
	c.Weights, c.Bias = constant(n.In[1].Const.Bytes()), constant(words(bias))
	c.Multiplier, c.Shift = constant(words(q.Mult)), constant(words(q.Shift))
	return nil
}

func words(v []int32) []byte { return tensor.Of([]int{len(v)}, v).Bytes() }

func (p *Program) encode() []byte {
	var b bytes.Buffer
	h := header{magic, 0, uint32(p.Memory), uint32(len(p.In)), uint32(len(p.Out)), uint32(len(p.Commands))}
	parts := []any{&h, p.In, p.Out, p.Commands, p.data}
	for _, x := range parts {
		h.Bytes += uint32(binary.Size(x))
	}
	for _, x := range parts {
		err := binary.Write(&b, binary.LittleEndian, x)
		bug.If(err != nil, "CRU program: %w", err)
	}
	return b.Bytes()
}

// decode checks a file as far as it is printed.
func decode(file []byte) (*Program, error) {
	var h header
	r := bytes.NewReader(file)
	if err := binary.Read(r, binary.LittleEndian, &h); err != nil || h.Magic != magic {
		return nil, fmt.Errorf("CRU program: does not begin with CRU1")
	}
	tables := (uint64(h.In)+uint64(h.Out))*uint64(binary.Size(Transfer{})) +
		uint64(h.Commands)*uint64(binary.Size(Command{}))
	if int(h.Bytes) != len(file) || tables > uint64(r.Len()) {
		return nil, fmt.Errorf("CRU program: %d bytes, the header speaks of %d and of %d commands",
			len(file), h.Bytes, h.Commands)
	}
	p := &Program{Memory: int(h.Memory)}
	p.In, p.Out, p.Commands = make([]Transfer, h.In), make([]Transfer, h.Out), make([]Command, h.Commands)
	for _, x := range []any{p.In, p.Out, p.Commands} {
		if err := binary.Read(r, binary.LittleEndian, x); err != nil {
			return nil, fmt.Errorf("CRU program: %w", err)
		}
	}
	p.data = file[len(file)-r.Len():]
	return p, nil
}

// String is the program for people: a line for each command.
func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "CRU program: memory %d bytes, inputs %v, outputs %v\n", p.Memory, p.In, p.Out)
	for _, c := range p.Commands {
		switch c.Op {
		case opConv:
			fmt.Fprintf(&b, "CONV %d -> %d: [%d,%d,%d] -> [%d,%d,%d], kernel %dx%d\n", c.In, c.Out,
				c.InC, c.InH, c.InW, c.OutC, c.OutH, c.OutW, c.KernelH, c.KernelW)
		case opReLU:
			fmt.Fprintf(&b, "RELU %d -> %d: %d elements\n", c.In, c.Out, c.InC)
		default:
			fmt.Fprintf(&b, "operation %d\n", c.Op)
		}
	}
	return b.String()
}
