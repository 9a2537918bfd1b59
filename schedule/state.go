package schedule

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// Tie is recurrent state: what one run leaves in the graph output Out is what
// the next one finds in the graph input In. Both have one type. The place of
// In belongs to it for ever; after the last step Out is copied there.
type Tie struct {
	In, Out *ir.Value
	Init    *tensor.Dense // what In holds before the first run; nil: zero
}

// State is a Tie with its places.
type State struct {
	In, Out IO
	Init    []byte // in memory order; nil: zero
}

// states fills Program.States.
func (p *Program) states(ties []Tie) error {
	find := func(list []IO, v *ir.Value) (IO, bool) {
		for _, x := range list {
			if x.Value == v {
				return x, true
			}
		}
		return IO{}, false
	}
	for _, t := range ties {
		in, a := find(p.Inputs, t.In)
		out, b := find(p.Outputs, t.Out)
		if !a || !b {
			return bug("state %s = %s is not between an output and an input", t.In, t.Out)
		}
		if t.In.Type.Bytes() != t.Out.Type.Bytes() || t.In.Type.DType != t.Out.Type.DType || !t.In.Type.SameMemory(t.Out.Type.Order) {
			return bug("state %s is %s, %s is %s", t.In, t.In.Type, t.Out, t.Out.Type)
		}
		s := State{In: in, Out: out}
		if t.Init != nil {
			s.Init = memory(t.Init, t.In.Type)
		}
		p.States = append(p.States, s)
	}
	return nil
}

// Visible are the inputs and outputs that the caller writes and reads.
func (p *Program) Visible() (in, out []IO) {
	hidden := map[*ir.Value]bool{}
	for _, s := range p.States {
		hidden[s.In.Value] = true
	}
	for _, x := range p.Inputs {
		if !hidden[x.Value] {
			in = append(in, x)
		}
	}
	for _, x := range p.Outputs {
		if !p.handedOn(x) {
			out = append(out, x)
		}
	}
	return in, out
}

func (p *Program) handedOn(x IO) bool {
	for _, s := range p.States {
		if s.Out.Name == x.Name {
			return true
		}
	}
	return false
}
