// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
)

// Eval computes step k from its inputs, which are in logical order; nil stands
// for those that are absent or constant.
type Eval func(k int, in []*tensor.Dense) ([]*tensor.Dense, error)

// Replay runs the program in Go on the bytes of one arena and its state, as the
// emitted C does but for the copies of state at the end: operands are read from
// their offsets in their memory order, results
// written to theirs, and nodes without code do not exist. inputs are in the
// order of Inputs, in logical order; so are the outputs.
//
// Every byte that holds nothing is poison: the whole arena at the start; the
// place of a result just before its step reads operands (unless the kernel may
// write over one); scratch memory before and after its step; what is not
// needed any more after every step. So a plan that puts two things into one
// place gives other results than the interpreter.
func (p *Program) Replay(inputs []*tensor.Dense, eval Eval) (_ []*tensor.Dense, err error) {
	defer fail.Catch(&err)
	fail.If(len(inputs) != len(p.Inputs), "program %s has %d inputs, got %d", p.Name, len(p.Inputs), len(inputs))
	r := &replay{p: p, stays: p.stays(p.liveness()), memory: make([]byte, p.RAMBytes())}
	r.poison(0, len(r.memory))
	for i, x := range p.Inputs {
		d, t := inputs[i], p.Buffers[x.Buffer].Type
		fail.If(d.DType != t.DType || d.Len() != t.Elems(), "input %s: got %s, want %s", x.Name, d, t)
		r.write(x.Buffer, d.Reshaped(t.Shape))
	}
	for k, s := range p.Steps {
		r.step(k, s, eval)
	}
	var out []*tensor.Dense
	for _, x := range p.Outputs {
		d := fail.Must(r.read(x.Buffer))
		out = append(out, d)
	}
	return out, nil
}

type replay struct {
	p      *Program
	stays  []*stay
	memory []byte // the arena, then the state
	seed   uint64
}

// poison fills bytes with noise that differs every time: a constant could by
// chance be the right value.
func (r *replay) poison(at, n int) {
	for i := range n {
		r.seed = r.seed*6364136223846793005 + 1442695040888963407
		r.memory[at+i] = byte(r.seed >> 56)
	}
}

func (r *replay) write(buffer int, d *tensor.Dense) {
	b := Memory(d, r.p.Buffers[buffer].Type)
	r.p.extent(buffer).runs(func(at, n int) {
		copy(r.memory[at:at+n], b)
		b = b[n:]
	})
}

// Memory is the little-endian image of a tensor in the memory order of its type.
func Memory(d *tensor.Dense, t types.Type) []byte {
	if t.Order != nil && !t.SameMemory(nil) {
		d = d.Transpose(t.Order)
	}
	return d.Bytes()
}

// read is the tensor at the place of a value, in logical order.
func (r *replay) read(buffer int) (*tensor.Dense, error) {
	t := r.p.Buffers[buffer].Type
	d, err := tensor.FromBytes(t.DType, t.Phys(), r.p.extent(buffer).gather(r.memory))
	if err != nil || t.Order == nil {
		return d, err
	}
	back := make([]int, len(t.Order))
	for i, dim := range t.Order {
		back[dim] = i
	}
	return d.Transpose(back), nil
}

func (r *replay) step(k int, s *Step, eval Eval) {
	in := make([]*tensor.Dense, len(s.In))
	fetch := func(overwritten bool) error {
		for i, x := range s.In {
			if x.Buffer < 0 || r.p.overwritten(s, i) != overwritten {
				continue
			}
			var err error
			if in[i], err = r.read(x.Buffer); err != nil {
				return fmt.Errorf("%s: %s: %w", s, r.p.name(x.Buffer), err)
			}
		}
		return nil
	}
	scratch := func() {
		for _, b := range s.Own() {
			r.p.extent(b).runs(r.poison)
		}
	}
	scratch()
	// A kernel that may write over an operand reads the bytes before; any other may
	// write its results before it has read anything.
	fail.Check(fetch(true))
	for _, b := range s.Out {
		r.p.extent(b).runs(r.poison)
	}
	fail.Check(fetch(false))
	out := fail.Must(eval(k, in))
	for i, b := range s.Out {
		r.write(b, out[i])
	}
	scratch()
	r.clean(k)
}

// clean poisons all bytes that no step needs after step k.
func (r *replay) clean(k int) {
	needed := make([]bool, len(r.memory))
	for _, x := range r.stays {
		if x.first <= k && k < x.last {
			x.runs(func(at, n int) {
				for i := range n {
					needed[at+i] = true
				}
			})
		}
	}
	for i := range needed {
		if !needed[i] {
			r.poison(i, 1)
		}
	}
}
