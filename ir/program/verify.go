// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
)

// fault ends the check of a program: a mistake of whoever made it.
func fault(format string, args ...any) { fail.Check(bug.Errorf("schedule: "+format, args...)) }

// refuse is fault where something is so.
func refuse(is bool, format string, args ...any) {
	if is {
		fault(format, args...)
	}
}

// Verify checks a program by itself, however it was made: references lead
// somewhere, everything lies in the arena and is aligned, views lie where their
// operands are, no step writes bytes that are still needed, and operands are
// overwritten only where the kernel allows it. The first fault found is
// returned.
func (p *Program) Verify() (err error) {
	defer fail.Catch(&err)
	p.verifyReferences()
	p.verifyBuffers()
	p.verifyParts()
	p.verifyStaged()
	p.verifyViews()
	live := p.liveness()
	stays := p.stays(live)
	for k, s := range p.Steps {
		p.verifyReads(k, s, live)
		fail.Check(p.VerifyWrites(s))
		p.verifyScratch(k, s, stays)
	}
	p.verifyShared(stays)
	return nil
}

// verifyBuffers: everything is aligned, in its memory, and in its storage.
func (p *Program) verifyBuffers() {
	refuse(p.ArenaBytes%Align != 0 || p.ArenaBytes < p.OverlapBound || p.LowerBound < p.OverlapBound,
		"arena of %d bytes, lower bounds %d and %d", p.ArenaBytes, p.LowerBound, p.OverlapBound)
	for i := range p.Buffers {
		b := &p.Buffers[i]
		p.verifyMemory(b)
		end := extent{b.Offset, b.Bytes, b.Row, b.Pitch}.end()
		refuse(b.AliasOf < 0 && b.Offset%Align != 0, "buffer %s at %d is not aligned to %d", b.Name, b.Offset, Align)
		size := b.Type.DType.Size()
		refuse(!b.IsScratch() && b.Offset%size != 0, "%s at %d: its elements are of %d bytes", b, b.Offset, size)
		if b.AliasOf < 0 || b.Bytes == 0 {
			continue
		}
		o := p.storage(b)
		refuse(b.Kept != o.Kept || b.Offset < o.Offset || end > o.Offset+o.Bytes,
			"%s, %d bytes at %d, is not inside %s, %d bytes at %d", b.Name, b.Bytes, b.Offset, o.Name, o.Bytes,
			o.Offset)
	}
}

// verifyMemory: a buffer lies in the arena or in the state.
func (p *Program) verifyMemory(b *Buffer) {
	memory, bytes := "arena", p.ArenaBytes
	if b.Kept {
		memory, bytes = "state", p.StateBytes
	}
	end := (extent{b.Offset, b.Bytes, b.Row, b.Pitch}).end()
	refuse(b.Offset < 0 || end > bytes, "buffer %s, %d bytes at %d, leaves the %s of %d bytes", b.Name, b.Bytes,
		b.Offset, memory, bytes)
}

// storage is the buffer in whose storage another one lies, or that one.
func (p *Program) storage(b *Buffer) *Buffer {
	for b.AliasOf >= 0 {
		b = &p.Buffers[b.AliasOf]
	}
	return b
}

func (b *Buffer) String() string { return "%" + b.Name }

// name is a buffer in messages.
func (p *Program) name(buffer int) fmt.Stringer { return &p.Buffers[buffer] }

// verifyViews: nodes without code have their results where their operands are.
func (p *Program) verifyViews() {
	for _, s := range p.Views {
		if s.Whole {
			x, y := s.In[0].Buffer, s.Out[0]
			refuse(p.extent(x) != p.extent(y), "view %s: %s at %d, %s at %d", s, p.name(x), p.Buffers[x].Offset,
				p.name(y), p.Buffers[y].Offset)
			continue
		}
		parts, bytes := 0, 0
		for _, x := range s.Parts {
			part, whole := s.pair(x)
			if x.Input {
				parts += p.extent(part).bytes
				bytes = p.extent(whole).bytes
			}
			if err := fail.Caught(func() { p.verifyPart(x, part, whole) }); err != nil {
				fail.Errorf("%w: %s without code", err, s)
			}
		}
		refuse(parts != bytes, "%s without code: its parts have %d bytes of %d", s, parts, bytes)
	}
}

// pair are the buffers of a part and of what it lies in.
func (s *Step) pair(x call.Part) (part, whole int) {
	if x.Input {
		return s.In[x.I].Buffer, s.Out[0]
	}
	return s.Out[x.I], s.In[0].Buffer
}

// verifyPart: a part lies inside the whole where its node says.
func (p *Program) verifyPart(x call.Part, part, whole int) {
	at, in := p.extent(part), p.extent(whole)
	want := extent{in.at + x.Off, at.bytes, x.Row, x.Pitch}
	switch {
	case in.pitch == 0:
	case in.row != x.Pitch:
		fault("%s in rows of %d bytes, want %d", p.name(whole), in.row, x.Pitch)
	default:
		want.pitch = in.pitch
	}
	refuse(at != want || at.end() > in.end(), "%s is at %+v, want %+v in %s at %+v", p.name(part), at, want,
		p.name(whole), in)
}

// verifyReads: operands were written before, and lie as the calls take them.
func (p *Program) verifyReads(k int, s *Step, live []lifetime) {
	for i, x := range s.In {
		if x.Buffer < 0 || x.Unread {
			continue
		}
		own := live[x.Buffer].own
		refuse(len(own) == 0, "%s reads %s, which no step writes", s, p.name(x.Buffer))
		for _, w := range own {
			refuse(live[w].first >= k, "step %d, %s, reads %s, which step %d writes", k, s, p.name(w), live[w].first)
		}
		e := p.extent(x.Buffer)
		refuse(e.pitch > 0 && !s.takesRows(false, i, e.row), "%s reads %s, which lies in rows of %d bytes", s,
			p.name(x.Buffer), e.row)
	}
}

// VerifyWrites checks that results of a step lie as the calls write them, apart from each other and from
// operands, but where the kernel may write over them.
func (p *Program) VerifyWrites(s *Step) (err error) {
	defer fail.Catch(&err)
	for i, y := range s.Out {
		e := p.extent(y)
		refuse(e.pitch > 0 && !s.takesRows(true, i, e.row), "%s writes %s, which lies in rows of %d bytes", s,
			p.name(y), e.row)
		for j, w := range s.Out[:i] {
			refuse(e.meets(p.extent(w)), "%s: outputs %d and %d overlap", s, j, i)
		}
		for j := range s.In {
			if p.shares(s, i, j) && !p.mayShare(s, i, j) {
				x := s.In[j].Buffer
				fault("%s: output %s at %d overlaps operand %s at %d", s, p.name(y), e.at, p.name(x),
					p.Buffers[x].Offset)
			}
		}
	}
	return nil
}

// shares reports that output i of a step has a byte in common with operand j, which it reads.
func (p *Program) shares(s *Step, i, j int) bool {
	x := s.In[j]
	return i < len(s.Out) && x.Buffer >= 0 && !x.Unread && p.extent(s.Out[i]).meets(p.extent(x.Buffer))
}

// overwritten reports that a step may write a result over operand j, and does.
func (p *Program) overwritten(s *Step, j int) bool {
	for i := range s.Out {
		if p.shares(s, i, j) && p.mayShare(s, i, j) {
			return true
		}
	}
	return false
}

// mayShare reports that output i of a step may lie over operand j as it does.
func (p *Program) mayShare(s *Step, i, j int) bool {
	in, out := p.extent(s.In[j].Buffer), p.extent(s.Out[i])
	return slices.ContainsFunc(s.Overlap, func(o call.Overlap) bool {
		return o.I == j && o.Out == i && !o.Scratch && mayLie(o, in, out)
	})
}

// mayLie reports that one may lie over the other as they do.
func mayLie(o call.Overlap, in, out extent) bool {
	if o.Exact {
		return in == out
	}
	return in.pitch == 0 && out.pitch == 0 && (out.at+o.Ahead <= in.at || o.Behind > 0 && in.at+o.Behind <= out.at)
}

// mayUse reports that scratch memory of a step may have the bytes of what is needed up to this step.
func (p *Program) mayUse(s *Step, e extent, x *stay) bool {
	return slices.ContainsFunc(s.Overlap, func(o call.Overlap) bool {
		if !o.Scratch || !s.isInput(o.I) {
			return false
		}
		in := p.extent(s.In[o.I].Buffer)
		return in.at <= x.at && x.end() <= in.end() && mayLie(o, in, e)
	})
}

// verifyScratch: nothing that is needed lies in the scratch memory of a step.
func (p *Program) verifyScratch(k int, s *Step, stays []*stay) {
	for i, own := range s.Own() {
		e := p.extent(own)
		for _, x := range stays {
			if x.first <= k && k <= x.last && x.meets(e) && !(x.last == k && p.mayUse(s, e, x)) {
				fault("%s: the scratch memory at %d overlaps %s at %d", s, e.at, p.name(x.buffer), x.at)
			}
		}
		for _, o := range s.Own()[:i] {
			refuse(p.extent(o).meets(e), "%s: the scratch memory at %d overlaps other memory of its own", s, e.at)
		}
	}
}

// verifyReferences: names are unique and indices lead somewhere, so that what
// comes after needs not ask.
func (p *Program) verifyReferences() {
	p.verifyForms()
	for _, x := range slices.Concat(p.Inputs, p.Outputs) {
		refuse(!p.isValue(x.Buffer), "%s has no place", x.Name)
	}
	p.verifyStates()
	for _, s := range slices.Concat(p.Steps, p.Views) {
		p.verifyOperands(s)
		p.verifyFacts(s)
		p.verifyFetches(s)
	}
}

// verifyForms: buffers by themselves.
func (p *Program) verifyForms() {
	names := map[string]bool{}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		refuse(b.Bytes < 0 || b.Row < 0 || b.Pitch < 0 || (b.Pitch > 0) != (b.Row > 0) || b.Row > b.Pitch,
			"buffer %s has %d bytes in rows of %d, %d apart", b.Name, b.Bytes, b.Row, b.Pitch)
		refuse(b.Pitch > 0 && (b.IsScratch() || b.Type.Bytes()%b.Row != 0),
			"buffer %s does not consist of rows of %d bytes", b.Name, b.Row)
		refuse(b.AliasOf >= len(p.Buffers), "buffer %s lies in buffer %d, there are %d", b.Name, b.AliasOf,
			len(p.Buffers))
		refuse(!b.IsScratch() && names[b.Name], "two values are called %s", b.Name)
		names[b.Name] = true
		for o, n := b, 0; o.AliasOf >= 0 && o.AliasOf < len(p.Buffers); o, n = &p.Buffers[o.AliasOf], n+1 {
			refuse(n > len(p.Buffers), "buffer %s lies in itself", b.Name)
		}
	}
}

// isValue reports the index of a buffer that is no scratch memory.
func (p *Program) isValue(b int) bool {
	return b >= 0 && b < len(p.Buffers) && !p.Buffers[b].IsScratch()
}

// verifyState: what is handed on has one type and one memory order.
func (p *Program) verifyState(x State) {
	refuse(x.In < 0 || x.In >= len(p.Inputs) || x.Out < 0 || x.Out >= len(p.Outputs) || x.Init >= len(p.Consts),
		"state is not between an output and an input: %+v", x)
	in, out := &p.Buffers[p.Inputs[x.In].Buffer], &p.Buffers[p.Outputs[x.Out].Buffer]
	a, b := in.Type, out.Type
	refuse(a.Bytes() != b.Bytes() || a.DType != b.DType || b.Order != nil && a.Rank() != b.Rank() ||
		!a.SameMemory(b.Order), "state %s is %s, %s is %s", in, a, out, b)
	if x.Init >= 0 {
		n := len(p.Consts[x.Init].Data)
		refuse(n != in.Type.Bytes(), "state %s is %s, it begins with %d bytes", in, in.Type, n)
	}
}

// verifyStates: state is handed on whole, in memory of its own, which nothing
// else is in that the caller sees.
func (p *Program) verifyStates() {
	refuse(p.StateBytes%Align != 0 || (p.StateBytes > 0) != (len(p.States) > 0), "%d bytes of memory for %d states",
		p.StateBytes, len(p.States))
	for _, x := range p.States {
		p.verifyState(x)
	}
	held := map[int]bool{}
	for _, x := range p.States {
		held[p.Inputs[x.In].Buffer] = true
	}
	for _, x := range p.Inputs {
		refuse(p.Buffers[x.Buffer].Kept != held[x.Buffer],
			"input %s: state and nothing else of the model's inputs is kept", x.Name)
	}
	_, out := p.Visible()
	for _, x := range out {
		refuse(p.Buffers[x.Buffer].Kept, "output %s lies in the state", x.Name)
	}
	p.verifyCopies()
}

// verifyCopies: what is copied behind the last step is still there when its turn
// comes.
func (p *Program) verifyCopies() {
	for i, x := range p.States {
		if p.InPlace(x) {
			continue
		}
		to := p.extent(p.Inputs[x.In].Buffer)
		for k, y := range p.States {
			from := p.extent(p.Outputs[y.Out].Buffer)
			refuse(from.meets(to) && (k >= i || p.InPlace(y)), "the new %s is copied over the new %s",
				p.Inputs[x.In].Name, p.Inputs[y.In].Name)
		}
	}
}

// verifyOperands: operands of a step and its scratch memory are there.
func (p *Program) verifyOperands(s *Step) {
	for i, x := range s.In {
		refuse(x.Buffer >= 0 && !p.isValue(x.Buffer), "%s: input %d has no place", s, i)
	}
	for i, b := range s.Out {
		refuse(!p.isValue(b), "%s: output %d has no place", s, i)
	}
	b := s.Scratch
	refuse(b >= 0 && (b >= len(p.Buffers) || !p.Buffers[b].IsScratch()), "%s: its scratch memory has no place", s)
}

func (s *Step) isInput(i int) bool  { return i >= 0 && i < len(s.In) && s.In[i].Buffer >= 0 }
func (s *Step) isOutput(i int) bool { return i >= 0 && i < len(s.Out) }

// verifyFacts: operands that a step speaks of, and arguments of its calls, are
// there.
func (p *Program) verifyFacts(s *Step) {
	refuse(s.Whole && (!s.isInput(0) || !s.isOutput(0)), "view %s has no operand", s)
	for _, x := range s.Parts {
		refuse(x.Input && !(s.isInput(x.I) && s.isOutput(0)) || !x.Input && !(s.isOutput(x.I) && s.isInput(0)),
			"%s without code: part %d is not there", s, x.I)
	}
	refuse(slices.ContainsFunc(s.Overlap, func(o call.Overlap) bool { return !s.isOutput(o.Out) }),
		"%s works in place and has no output", s)
	for _, c := range s.Calls {
		for _, a := range c.Args {
			p.verifyArg(s, a)
		}
	}
}

// verifyArg: what an argument points to is there.
func (p *Program) verifyArg(s *Step, a call.Arg) {
	switch a := a.(type) {
	case call.In:
		refuse(!s.isInput(a.I), "%s: an argument points to input %d, which has no place", s, a.I)
	case call.Out:
		refuse(!s.isOutput(a.I), "%s: an argument points to output %d of %d", s, a.I, len(s.Out))
	case call.Scratch:
		refuse(s.Scratch < 0, "%s: an argument points to scratch memory, which it has not", s)
	case call.Const:
		refuse(a.I < 0 || a.I >= len(p.Consts), "%s: an argument is constant %d of %d", s, a.I, len(p.Consts))
	case *call.Blob, *call.Image, call.Pitch:
		fault("%s: the argument %T is not resolved", s, a)
	}
	for _, x := range call.Inner(a) {
		p.verifyArg(s, x)
	}
}
