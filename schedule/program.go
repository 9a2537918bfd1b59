// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
)

// Result is a program and what its steps and buffers were in the graph.
type Result struct {
	Program *program.Program
	Graph   *ir.Graph
	Nodes   []*ir.Node // of Program.Steps
	Views   []*ir.Node // of Program.Views
	index   map[*ir.Value]int
	known   map[string]*arrangement // that were looked at
}

// Buffer is the place of a run-time value.
func (r *Result) Buffer(v *ir.Value) *program.Buffer {
	i, ok := r.index[v]
	bug.If(!ok, "no place for %s", v)
	return &r.Program.Buffers[i]
}

// Replay runs the program on inputs in logical order, each step by the
// definition of its operator: see program.Program.Replay.
func (r *Result) Replay(inputs []*tensor.Dense) ([]*tensor.Dense, error) {
	return r.Program.Replay(inputs, func(k int, in []*tensor.Dense) ([]*tensor.Dense, error) {
		n := r.Nodes[k]
		for i, v := range n.In {
			if v != nil && v.Const != nil {
				in[i] = v.Const
			}
		}
		return ir.EvalNode(n, in)
	})
}

func (a *arrangement) result(states []StateBinding) (*Result, error) {
	p := &program.Program{Name: a.g.Name,
		ArenaBytes: a.bytes(), LowerBound: int(a.plan.LowerBound),
		OverlapBound: int(a.plan.OverlapBound), PeakOptimal: a.optimal, StateBytes: a.stateBytes}
	if a.parts != nil {
		a.inParts(p)
	}
	r := &Result{Program: p, Graph: a.g, index: a.index}
	for i, x := range a.buffers {
		b := program.Buffer{Name: x.Name, Offset: int(a.plan.Offsets[i]), Bytes: int(x.Bytes),
			First: x.First, Last: x.Last, AliasOf: x.AliasOf}
		if i < len(a.values) {
			b.Type, b.Row, b.Pitch = a.of[i].Type, a.place[i].row, a.place[i].pitch
			b.Bytes = min(b.Bytes, b.Type.Bytes())
			if at, ok := a.kept[a.place[i].root]; ok {
				b.Kept, b.Offset, b.Bytes = true, at+a.place[i].delta, int(a.values[i].Bytes)
			}
		}
		p.Buffers = append(p.Buffers, b)
	}
	for _, v := range a.g.In {
		p.Inputs = append(p.Inputs, program.IO{Name: v.Name, Buffer: a.index[v]})
	}
	for i, v := range a.g.Out {
		k, ok := a.index[v]
		if !ok {
			return nil, bug.Errorf("schedule: output %s has no place", a.g.OutNames[i])
		}
		p.Outputs = append(p.Outputs, program.IO{Name: a.g.OutNames[i], Buffer: k})
	}
	c := newConstants(p)
	for _, x := range states {
		s, err := a.state(x, c)
		if err != nil {
			return nil, err
		}
		p.States = append(p.States, s)
	}
	scratch := len(a.values)
	for _, k := range a.order {
		n := a.nodes[k]
		s := a.step(n)
		if a.low[n].Scratch > 0 {
			s.Scratch = scratch
			scratch++
		}
		c.calls(s, n, a.low[n])
		p.Steps, r.Nodes = append(p.Steps, s), append(r.Nodes, n)
	}
	joinChains(p.Steps)
	for _, n := range a.g.Nodes {
		if a.silent[n] {
			p.Views, r.Views = append(p.Views, a.step(n)), append(r.Views, n)
		}
	}
	a.ranges(p)
	return r, nil
}

// step is a node without its calls.
func (b *builder) step(n *ir.Node) *program.Step {
	l := b.low[n]
	s := &program.Step{Name: n.Label(), Op: n.Op.Name, Origin: n.Origin, Chain: n.Chain, Scratch: -1}
	if b.silent[n] {
		s.Whole, s.Parts = l.View, l.Parts
	} else {
		s.Kernel, s.Route = l.Kernel, l.Route
		s.Overlap, s.Rows, s.Headers = l.Overlap, l.Rows, l.Headers
	}
	for i, v := range n.In {
		x := program.Operand{Buffer: -1}
		if v != nil && v.Const == nil {
			x = program.Operand{Buffer: b.index[v], Unread: slices.Contains(l.Unused, i)}
		}
		s.In = append(s.In, x)
	}
	for _, v := range n.Out {
		s.Out = append(s.Out, b.index[v])
	}
	return s
}

// joinChains counts what runs between two calls of a chain to it.
func joinChains(steps []*program.Step) {
	for i, s := range steps {
		for k := len(steps) - 1; k > i && s.Chain != ""; k-- {
			if steps[k].Chain == s.Chain {
				for _, x := range steps[i:k] {
					x.Chain = s.Chain
				}
				break
			}
		}
	}
}

// ranges sets the steps between which buffers are needed: for one with storage
// of its own those of the storage, as planned; for the others their own.
func (a *arrangement) ranges(p *program.Program) {
	first, last := p.Live()
	for i, x := range a.buffers {
		b := &p.Buffers[i]
		switch {
		case b.Kept && x.AliasOf < 0:
			b.First, b.Last = 0, max(len(p.Steps)-1, 0)
		case b.Kept:
			b.First, b.Last = first[i], last[i]
		case x.Bytes == 0:
		case x.AliasOf < 0:
			st := a.plan.Storages[a.plan.StorageOf[i]]
			b.Bytes, b.First, b.Last = max(b.Bytes, int(st.Bytes)), st.First, st.Last
		default:
			b.First, b.Last = first[i], last[i]
		}
	}
}

// calls fills the calls of a step: those for operands in rows where one lies so.
func (c *constants) calls(s *program.Step, n *ir.Node, l *call.Lowered) {
	calls := l.Calls
	c.apart = l.Apart
	pitch := func(r call.Rows) int { return c.pitch(s, r.Output, r.I) }
	if l.RowCalls != nil && slices.ContainsFunc(l.Rows, func(r call.Rows) bool { return pitch(r) > 0 }) {
		calls = l.RowCalls
		s.Kernel = calls[len(calls)-1].Func
	}
	for _, x := range calls {
		args := lists.Each(x.Args, func(a call.Arg) call.Arg { return c.resolve(a, s, n) })
		x.Args = args
		s.Calls = append(s.Calls, x)
	}
}

// pitch is the distance between the rows of an operand, 0 where it is one run.
func (c *constants) pitch(s *program.Step, output bool, i int) int {
	b := -1
	if output {
		b = s.Out[i]
	} else {
		b = s.In[i].Buffer
	}
	if b < 0 {
		return 0
	}
	return c.p.Buffers[b].Pitch
}

// resolve puts what the program knows into an argument: constants are entries
// of its table, distances of rows numbers.
func (c *constants) resolve(a call.Arg, s *program.Step, n *ir.Node) call.Arg {
	switch a := a.(type) {
	case call.In:
		if v := n.In[a.I]; v.Const != nil {
			bug.If(a.Off != 0, "offset into a constant operand")
			x := program.Const{Hint: "const", CType: call.CType(v.Type.DType), Data: program.Memory(v.Const, v.Type),
				Align: 4}
			return call.Const{NoCast: true, I: c.add(x)}
		}
	case call.Pitch:
		return call.I32(cmp.Or(c.pitch(s, a.Output, a.I), a.Row) * max(1, a.Times))
	case *call.Blob:
		return call.Const{NoCast: a.NoCast, I: c.add(constantOf(a))}
	case *call.Image:
		return call.Const{NoCast: true, I: c.file(a)}
	case *call.Struct:
		x := *a
		x.Fields = c.fields(a.Fields, s, n)
		return &x
	case call.Nested:
		return call.Nested{Fields: c.fields(a.Fields, s, n)}
	case *call.Array:
		x := *a
		x.Elems = make([]call.Nested, len(a.Elems))
		for i, e := range a.Elems {
			x.Elems[i].Fields = c.fields(e.Fields, s, n)
		}
		return &x
	}
	return a
}

func (c *constants) fields(f []call.Field, s *program.Step, n *ir.Node) []call.Field {
	return lists.Each(f, func(x call.Field) call.Field {
		return call.Field{Name: x.Name, Value: c.resolve(x.Value, s, n)}
	})
}

// constants fills a program's table, in the order of first use; equal arrays
// are one.
type constants struct {
	p    *program.Program
	hash maphash.Seed
	seen map[uint64][]int // entries by the hash of their data
	// apart: arrays are one only where they are the same in memory (call.Lowered.Apart).
	apart bool
}

func newConstants(p *program.Program) *constants {
	c := &constants{p: p, hash: maphash.MakeSeed(), seen: map[uint64][]int{}}
	for i := range p.Consts {
		if x := &p.Consts[i]; x.Ext == "" {
			key := maphash.Bytes(c.hash, x.Data)
			c.seen[key] = append(c.seen[key], i)
		}
	}
	return c
}

// add is the entry of an array, a new one where there is none with its elements.
func (c *constants) add(x program.Const) int {
	key := maphash.Bytes(c.hash, x.Data)
	for _, i := range c.seen[key] {
		if y := &c.p.Consts[i]; y.CType == x.CType && bytes.Equal(y.Data, x.Data) &&
			(!c.apart || len(x.Data) > 0 && &y.Data[0] == &x.Data[0]) {
			y.Align, y.Pad = max(y.Align, x.Align), max(y.Pad, x.Pad)
			return i
		}
	}
	c.seen[key] = append(c.seen[key], len(c.p.Consts))
	return c.append(x)
}

func (c *constants) file(x *call.Image) int {
	return c.append(program.Const{Hint: "image", CType: "uint8_t", Ext: x.Ext, Data: x.Data})
}

func (c *constants) append(x program.Const) int {
	c.p.Consts = append(c.p.Consts, x)
	return len(c.p.Consts) - 1
}

// constantOf is the entry that an array becomes.
func constantOf(b *call.Blob) program.Const {
	return program.Const{Hint: b.Hint, CType: b.CType, Data: b.Data, Align: b.Align, Pad: b.Pad}
}
