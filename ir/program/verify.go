// SPDX-License-Identifier: Apache-2.0

package program

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
)

// fault is a mistake of whoever made the program.
func fault(format string, args ...any) error { return bug.Errorf("schedule: "+format, args...) }

// Verify checks a program by itself, however it was made: references lead
// somewhere, everything lies in the arena and is aligned, views lie where their
// operands are, no step writes bytes that are still needed, and operands are
// overwritten only where the kernel allows it. The first fault found is
// returned.
func (p *Program) Verify() (err error) {
	defer fail.Catch(&err)
	for _, check := range []func() error{p.verifyReferences, p.verifyBuffers, p.verifyParts, p.verifyStaged,
		p.verifyViews} {
		fail.Check(check())
	}
	live := p.liveness()
	stays := p.stays(live)
	for k, s := range p.Steps {
		fail.Check(cmp.Or(p.verifyReads(k, s, live), p.VerifyWrites(s), p.verifyScratch(k, s, stays)))
	}
	return p.verifyShared(stays)
}

// verifyBuffers: everything is aligned, in its memory, and in its storage.
func (p *Program) verifyBuffers() error {
	if p.ArenaBytes%Align != 0 || p.ArenaBytes < p.OverlapBound || p.LowerBound < p.OverlapBound {
		return fault("arena of %d bytes, lower bounds %d and %d", p.ArenaBytes, p.LowerBound, p.OverlapBound)
	}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if err := p.verifyMemory(b); err != nil {
			return err
		}
		end := extent{b.Offset, b.Bytes, b.Row, b.Pitch}.end()
		if b.AliasOf < 0 && b.Offset%Align != 0 {
			return fault("buffer %s at %d is not aligned to %d", b.Name, b.Offset, Align)
		}
		if size := b.Type.DType.Size(); !b.IsScratch() && b.Offset%size != 0 {
			return fault("%s at %d: its elements are of %d bytes", b, b.Offset, size)
		}
		if b.AliasOf < 0 || b.Bytes == 0 {
			continue
		}
		if o := p.storage(b); b.Kept != o.Kept || b.Offset < o.Offset || end > o.Offset+o.Bytes {
			return fault("%s, %d bytes at %d, is not inside %s, %d bytes at %d",
				b.Name, b.Bytes, b.Offset, o.Name, o.Bytes, o.Offset)
		}
	}
	return nil
}

// verifyMemory: a buffer lies in the arena or in the state.
func (p *Program) verifyMemory(b *Buffer) error {
	memory, bytes := "arena", p.ArenaBytes
	if b.Kept {
		memory, bytes = "state", p.StateBytes
	}
	if end := (extent{b.Offset, b.Bytes, b.Row, b.Pitch}).end(); b.Offset < 0 || end > bytes {
		return fault("buffer %s, %d bytes at %d, leaves the %s of %d bytes", b.Name, b.Bytes, b.Offset, memory, bytes)
	}
	return nil
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
func (p *Program) name(buffer int) string { return p.Buffers[buffer].String() }

// verifyViews: nodes without code have their results where their operands are.
func (p *Program) verifyViews() error {
	for _, s := range p.Views {
		if s.Whole {
			if x, y := s.In[0].Buffer, s.Out[0]; p.extent(x) != p.extent(y) {
				return fault("view %s: %s at %d, %s at %d", s, p.name(x), p.Buffers[x].Offset, p.name(y),
					p.Buffers[y].Offset)
			}
			continue
		}
		parts, bytes := 0, 0
		for _, x := range s.Parts {
			part, whole := s.pair(x)
			if x.Input {
				parts += p.extent(part).bytes
				bytes = p.extent(whole).bytes
			}
			if err := p.verifyPart(x, part, whole); err != nil {
				return fmt.Errorf("%w: %s without code", err, s)
			}
		}
		if parts != bytes {
			return fault("%s without code: its parts have %d bytes of %d", s, parts, bytes)
		}
	}
	return nil
}

// pair are the buffers of a part and of what it lies in.
func (s *Step) pair(x call.Part) (part, whole int) {
	if x.Input {
		return s.In[x.I].Buffer, s.Out[0]
	}
	return s.Out[x.I], s.In[0].Buffer
}

// verifyPart: a part lies inside the whole where its node says.
func (p *Program) verifyPart(x call.Part, part, whole int) error {
	at, in := p.extent(part), p.extent(whole)
	want := extent{in.at + x.Off, at.bytes, x.Row, x.Pitch}
	switch {
	case in.pitch == 0:
	case in.row != x.Pitch:
		return fault("%s in rows of %d bytes, want %d", p.name(whole), in.row, x.Pitch)
	default:
		want.pitch = in.pitch
	}
	if at != want || at.end() > in.end() {
		return fault("%s is at %+v, want %+v in %s at %+v", p.name(part), at, want, p.name(whole), in)
	}
	return nil
}

// verifyReads: operands were written before, and lie as the calls take them.
func (p *Program) verifyReads(k int, s *Step, live []lifetime) error {
	for i, x := range s.In {
		if x.Buffer < 0 || x.Unread {
			continue
		}
		own := live[x.Buffer].own
		if len(own) == 0 {
			return fault("%s reads %s, which no step writes", s, p.name(x.Buffer))
		}
		for _, w := range own {
			if live[w].first >= k {
				return fault("step %d, %s, reads %s, which step %d writes", k, s, p.name(w), live[w].first)
			}
		}
		if e := p.extent(x.Buffer); e.pitch > 0 && !s.takesRows(false, i, e.row) {
			return fault("%s reads %s, which lies in rows of %d bytes", s, p.name(x.Buffer), e.row)
		}
	}
	return nil
}

// VerifyWrites checks that results of a step lie as the calls write them, apart from each other and from
// operands, but where the kernel may write over them.
func (p *Program) VerifyWrites(s *Step) error {
	for i, y := range s.Out {
		e := p.extent(y)
		if e.pitch > 0 && !s.takesRows(true, i, e.row) {
			return fault("%s writes %s, which lies in rows of %d bytes", s, p.name(y), e.row)
		}
		for j, w := range s.Out[:i] {
			if e.meets(p.extent(w)) {
				return fault("%s: outputs %d and %d overlap", s, j, i)
			}
		}
		for j := range s.In {
			if p.shares(s, i, j) && !p.mayShare(s, i, j) {
				x := s.In[j].Buffer
				return fault("%s: output %s at %d overlaps operand %s at %d", s, p.name(y), e.at, p.name(x),
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
func (p *Program) verifyScratch(k int, s *Step, stays []*stay) error {
	for i, own := range s.Own() {
		e := p.extent(own)
		for _, x := range stays {
			if x.first <= k && k <= x.last && x.meets(e) && !(x.last == k && p.mayUse(s, e, x)) {
				return fault("%s: the scratch memory at %d overlaps %s at %d", s, e.at, p.name(x.buffer), x.at)
			}
		}
		for _, o := range s.Own()[:i] {
			if p.extent(o).meets(e) {
				return fault("%s: the scratch memory at %d overlaps other memory of its own", s, e.at)
			}
		}
	}
	return nil
}

// verifyReferences: names are unique and indices lead somewhere, so that what
// comes after needs not ask.
func (p *Program) verifyReferences() (err error) {
	defer fail.Catch(&err)
	fail.Check(p.verifyForms())
	for _, x := range slices.Concat(p.Inputs, p.Outputs) {
		if !p.isValue(x.Buffer) {
			return fault("%s has no place", x.Name)
		}
	}
	fail.Check(p.verifyStates())
	for _, s := range slices.Concat(p.Steps, p.Views) {
		fail.Check(p.verifyOperands(s))
		fail.Check(p.verifyFacts(s))
		fail.Check(p.verifyFetches(s))
	}
	return nil
}

// verifyForms: buffers by themselves.
func (p *Program) verifyForms() error {
	names := map[string]bool{}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		switch {
		case b.Bytes < 0 || b.Row < 0 || b.Pitch < 0 || (b.Pitch > 0) != (b.Row > 0) || b.Row > b.Pitch:
			return fault("buffer %s has %d bytes in rows of %d, %d apart", b.Name, b.Bytes, b.Row, b.Pitch)
		case b.Pitch > 0 && (b.IsScratch() || b.Type.Bytes()%b.Row != 0):
			return fault("buffer %s does not consist of rows of %d bytes", b.Name, b.Row)
		case b.AliasOf >= len(p.Buffers):
			return fault("buffer %s lies in buffer %d, there are %d", b.Name, b.AliasOf, len(p.Buffers))
		case !b.IsScratch() && names[b.Name]:
			return fault("two values are called %s", b.Name)
		}
		names[b.Name] = true
		for o, n := b, 0; o.AliasOf >= 0 && o.AliasOf < len(p.Buffers); o, n = &p.Buffers[o.AliasOf], n+1 {
			if n > len(p.Buffers) {
				return fault("buffer %s lies in itself", b.Name)
			}
		}
	}
	return nil
}

// isValue reports the index of a buffer that is no scratch memory.
func (p *Program) isValue(b int) bool {
	return b >= 0 && b < len(p.Buffers) && !p.Buffers[b].IsScratch()
}

// verifyState: what is handed on has one type and one memory order.
func (p *Program) verifyState(x State) error {
	if x.In < 0 || x.In >= len(p.Inputs) || x.Out < 0 || x.Out >= len(p.Outputs) || x.Init >= len(p.Consts) {
		return fault("state is not between an output and an input: %+v", x)
	}
	in, out := &p.Buffers[p.Inputs[x.In].Buffer], &p.Buffers[p.Outputs[x.Out].Buffer]
	a, b := in.Type, out.Type
	if a.Bytes() != b.Bytes() || a.DType != b.DType || b.Order != nil && a.Rank() != b.Rank() ||
		!a.SameMemory(b.Order) {
		return fault("state %s is %s, %s is %s", in, a, out, b)
	}
	if x.Init >= 0 && len(p.Consts[x.Init].Data) != in.Type.Bytes() {
		return fault("state %s is %s, it begins with %d bytes", in, in.Type, len(p.Consts[x.Init].Data))
	}
	return nil
}

// verifyStates: state is handed on whole, in memory of its own, which nothing
// else is in that the caller sees.
func (p *Program) verifyStates() error {
	if p.StateBytes%Align != 0 || (p.StateBytes > 0) != (len(p.States) > 0) {
		return fault("%d bytes of memory for %d states", p.StateBytes, len(p.States))
	}
	for _, x := range p.States {
		if err := p.verifyState(x); err != nil {
			return err
		}
	}
	held := map[int]bool{}
	for _, x := range p.States {
		held[p.Inputs[x.In].Buffer] = true
	}
	for _, x := range p.Inputs {
		if p.Buffers[x.Buffer].Kept != held[x.Buffer] {
			return fault("input %s: state and nothing else of the model's inputs is kept", x.Name)
		}
	}
	_, out := p.Visible()
	for _, x := range out {
		if p.Buffers[x.Buffer].Kept {
			return fault("output %s lies in the state", x.Name)
		}
	}
	return p.verifyCopies()
}

// verifyCopies: what is copied behind the last step is still there when its turn
// comes.
func (p *Program) verifyCopies() error {
	for i, x := range p.States {
		if p.InPlace(x) {
			continue
		}
		to := p.extent(p.Inputs[x.In].Buffer)
		for k, y := range p.States {
			if from := p.extent(p.Outputs[y.Out].Buffer); from.meets(to) && (k >= i || p.InPlace(y)) {
				return fault("the new %s is copied over the new %s", p.Inputs[x.In].Name, p.Inputs[y.In].Name)
			}
		}
	}
	return nil
}

// verifyOperands: operands of a step and its scratch memory are there.
func (p *Program) verifyOperands(s *Step) error {
	for i, x := range s.In {
		if x.Buffer >= 0 && !p.isValue(x.Buffer) {
			return fault("%s: input %d has no place", s, i)
		}
	}
	for i, b := range s.Out {
		if !p.isValue(b) {
			return fault("%s: output %d has no place", s, i)
		}
	}
	if b := s.Scratch; b >= 0 && (b >= len(p.Buffers) || !p.Buffers[b].IsScratch()) {
		return fault("%s: its scratch memory has no place", s)
	}
	return nil
}

func (s *Step) isInput(i int) bool  { return i >= 0 && i < len(s.In) && s.In[i].Buffer >= 0 }
func (s *Step) isOutput(i int) bool { return i >= 0 && i < len(s.Out) }

// verifyFacts: operands that a step speaks of, and arguments of its calls, are
// there.
func (p *Program) verifyFacts(s *Step) error {
	if s.Whole && (!s.isInput(0) || !s.isOutput(0)) {
		return fault("view %s has no operand", s)
	}
	for _, x := range s.Parts {
		if x.Input && !(s.isInput(x.I) && s.isOutput(0)) || !x.Input && !(s.isOutput(x.I) && s.isInput(0)) {
			return fault("%s without code: part %d is not there", s, x.I)
		}
	}
	if slices.ContainsFunc(s.Overlap, func(o call.Overlap) bool { return !s.isOutput(o.Out) }) {
		return fault("%s works in place and has no output", s)
	}
	for _, c := range s.Calls {
		for _, a := range c.Args {
			if err := p.verifyArg(s, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// verifyArg: what an argument points to is there.
func (p *Program) verifyArg(s *Step, a call.Arg) error {
	switch a := a.(type) {
	case call.In:
		if !s.isInput(a.I) {
			return fault("%s: an argument points to input %d, which has no place", s, a.I)
		}
	case call.Out:
		if !s.isOutput(a.I) {
			return fault("%s: an argument points to output %d of %d", s, a.I, len(s.Out))
		}
	case call.Scratch:
		if s.Scratch < 0 {
			return fault("%s: an argument points to scratch memory, which it has not", s)
		}
	case call.Const:
		if a.I < 0 || a.I >= len(p.Consts) {
			return fault("%s: an argument is constant %d of %d", s, a.I, len(p.Consts))
		}
	case *call.Blob, *call.Image, call.Pitch:
		return fault("%s: the argument %T is not resolved", s, a)
	}
	for _, x := range call.Inner(a) {
		if err := p.verifyArg(s, x); err != nil {
			return err
		}
	}
	return nil
}
