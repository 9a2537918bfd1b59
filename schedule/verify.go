package schedule

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
)

// Verify checks a program by itself, however it was planned: everything lies
// in the arena and is aligned, views lie where their operands are, inputs and
// outputs are where the program says, no step writes bytes that are still
// needed, and operands are overwritten in place only where the kernel allows
// it. The first fault found is returned.
func (p *Program) Verify() error {
	if p.ArenaBytes%Align != 0 || p.ArenaBytes < p.LowerBound {
		return bug("arena of %d bytes, lower bound %d", p.ArenaBytes, p.LowerBound)
	}
	for i, b := range p.Buffers {
		end := extent{b.Offset, b.Bytes, b.Row, b.Pitch}.end()
		if b.Offset < 0 || end > p.ArenaBytes {
			return bug("buffer %s, %d bytes at %d, leaves the arena of %d bytes", b.Name, b.Bytes, b.Offset, p.ArenaBytes)
		}
		if b.AliasOf < 0 && b.Offset%Align != 0 {
			return bug("buffer %s at %d is not aligned to %d", b.Name, b.Offset, Align)
		}
		if v := b.Value; v != nil && b.Offset%v.Type.DType.Size() != 0 {
			return bug("%s at %d: its elements are of %d bytes", v, b.Offset, v.Type.DType.Size())
		}
		if b.AliasOf >= 0 && b.Bytes > 0 {
			r := i
			for p.Buffers[r].AliasOf >= 0 {
				r = p.Buffers[r].AliasOf
			}
			if o := p.Buffers[r]; b.Offset < o.Offset || end > o.Offset+o.Bytes {
				return bug("%s, %d bytes at %d, is not inside %s, %d bytes at %d", b.Name, b.Bytes, b.Offset, o.Name, o.Bytes, o.Offset)
			}
		}
	}
	for _, x := range slices.Concat(p.Inputs, p.Outputs) {
		if o, ok := p.Offset(x.Value); !ok || o != x.Offset {
			return bug("%s is at %d, the program says %d", x.Name, o, x.Offset)
		}
	}
	if err := p.verifyViews(); err != nil {
		return err
	}
	live := p.liveness()
	if err := p.verifySteps(live); err != nil {
		return err
	}
	return p.verifyShared(live)
}

func (p *Program) at(v *ir.Value) int {
	o, _ := p.Offset(v)
	return o
}

// verifyViews: nodes without code have their results where their operands are.
func (p *Program) verifyViews() error {
	for _, s := range p.Silent {
		n := s.Node
		if s.Low.View {
			if p.extent(n.Out[0]) != p.extent(n.In[0]) {
				return bug("view %s: %s at %d, %s at %d", n, n.In[0], p.at(n.In[0]), n.Out[0], p.at(n.Out[0]))
			}
			continue
		}
		parts, bytes := 0, 0
		for _, x := range s.Low.Parts {
			var part, whole *ir.Value
			if x.Input {
				part, whole = n.In[x.I], n.Out[0]
				parts += part.Type.Bytes()
				bytes = whole.Type.Bytes()
			} else {
				part, whole = n.Out[x.I], n.In[0]
			}
			if err := p.verifyPart(x, part, whole); err != nil {
				return fmt.Errorf("%w: %s without code", err, n)
			}
		}
		if parts != bytes {
			return bug("%s without code: its parts have %d bytes of %d", n, parts, bytes)
		}
	}
	return nil
}

// verifyPart: a part lies inside the whole where its node says.
func (p *Program) verifyPart(x call.Part, part, whole *ir.Value) error {
	at, in := p.extent(part), p.extent(whole)
	want := extent{in.at + x.Off, part.Type.Bytes(), x.Row, x.Pitch}
	switch {
	case in.pitch == 0:
	case in.row != x.Pitch:
		return bug("%s in rows of %d bytes, want %d", whole, in.row, x.Pitch)
	default:
		want.pitch = in.pitch
	}
	if at != want || at.end() > in.end() {
		return bug("%s is at %+v, want %+v in %s at %+v", part, at, want, whole, in)
	}
	return nil
}

// verifySteps: a step runs after what it reads was written, its scratch is
// nobody's, and its results touch none of its operands without leave.
func (p *Program) verifySteps(live map[*ir.Value]*lifetime) error {
	for k, s := range p.Steps {
		n := s.Node
		for _, v := range s.operands() {
			l := live[v]
			if l == nil {
				return bug("%s reads %s, which nobody writes", n, v)
			}
			for _, w := range l.own {
				if live[w].first >= k {
					return bug("step %d, %s, reads %s, which step %d writes", k, n, w, live[w].first)
				}
			}
		}
		for i, v := range n.In {
			if v != nil && v.Const == nil && !slices.Contains(s.Low.Unused, i) {
				if e := p.extent(v); e.pitch > 0 && !takesRows(s.Low, false, i, e.row) {
					return bug("%s reads %s, which lies in rows of %d bytes", n, v, e.row)
				}
			}
		}
		for i, y := range n.Out {
			if e := p.extent(y); e.pitch > 0 && !takesRows(s.Low, true, i, e.row) {
				return bug("%s writes %s, which lies in rows of %d bytes", n, y, e.row)
			}
			for j, w := range n.Out[:i] {
				if p.extent(y).meets(p.extent(w)) {
					return bug("%s: outputs %d and %d overlap", n, j, i)
				}
			}
			if s.Low.Scratch > 0 && p.extent(y).meets(extent{at: s.Scratch, bytes: s.Low.Scratch}) {
				return bug("%s: output %s overlaps the scratch memory", n, y)
			}
			over := p.overwritten(s, i)
			for _, v := range s.operands() {
				if v != over && p.extent(y).meets(p.extent(v)) {
					return bug("%s: output %s at %d overlaps operand %s at %d", n, y, p.at(y), v, p.at(v))
				}
			}
		}
		if s.Low.Scratch == 0 {
			continue
		}
		if s.Scratch%Align != 0 || s.Scratch+s.Low.Scratch > p.ArenaBytes {
			return bug("%s: %d bytes of scratch at %d", n, s.Low.Scratch, s.Scratch)
		}
		for v, l := range live {
			if len(l.own) == 1 && l.own[0] == v && l.first <= k && k <= l.last && p.extent(v).meets(extent{at: s.Scratch, bytes: s.Low.Scratch}) {
				return bug("%s: the scratch memory at %d overlaps %s at %d", n, s.Scratch, v, p.at(v))
			}
		}
	}
	return nil
}

// overwritten is the operand whose place output i of a step takes with the
// kernel's leave, nil when it takes none.
func (p *Program) overwritten(s *Step, i int) *ir.Value {
	if i > 0 {
		return nil
	}
	y := s.Node.Out[0]
	for _, j := range s.Low.InPlace {
		if v := s.Node.Input(j); v != nil && v.Const == nil && p.extent(v) == p.extent(y) {
			return v
		}
	}
	return nil
}
