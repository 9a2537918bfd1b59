package schedule

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// Replay runs the program in Go on the bytes of one arena, as the emitted C
// does: operands are read from their offsets in their memory order, results
// written to theirs, and nodes without code do not exist. inputs are in graph
// order, in logical order; so are the outputs.
//
// Every byte that holds nothing is poison: the whole arena at the start; the
// place of a result just before its step reads operands (unless the kernel may
// write over one); scratch memory before and after its step; what is not
// needed any more after every step. So a plan that puts two things into one
// place gives other results than the interpreter.
func (p *Program) Replay(inputs []*tensor.Dense) ([]*tensor.Dense, error) {
	if len(inputs) != len(p.Inputs) {
		return nil, fmt.Errorf("program %s has %d inputs, got %d", p.Name, len(p.Inputs), len(inputs))
	}
	r := &replay{p: p, live: p.liveness(), arena: make([]byte, p.ArenaBytes)}
	r.poison(0, len(r.arena))
	for i, x := range p.Inputs {
		d, t := inputs[i], x.Value.Type
		if d.DType != t.DType || d.Len() != t.Elems() {
			return nil, fmt.Errorf("input %s: got %s, want %s", x.Name, d, t)
		}
		r.write(x.Value, d.Reshaped(t.Shape))
	}
	for k, s := range p.Steps {
		if err := r.step(k, s); err != nil {
			return nil, err
		}
	}
	var out []*tensor.Dense
	for _, x := range p.Outputs {
		d, err := r.read(x.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

type replay struct {
	p     *Program
	live  map[*ir.Value]*lifetime
	arena []byte
	seed  uint64
}

// poison fills bytes with noise that differs every time: a constant could by
// chance be the right value.
func (r *replay) poison(at, n int) {
	for i := range n {
		r.seed = r.seed*6364136223846793005 + 1442695040888963407
		r.arena[at+i] = byte(r.seed >> 56)
	}
}

func (r *replay) write(v *ir.Value, d *tensor.Dense) {
	b := memory(d, v.Type)
	r.p.extent(v).runs(func(at, n int) {
		copy(r.arena[at:at+n], b)
		b = b[n:]
	})
}

// memory is the image of a tensor in the memory order of its type.
func memory(d *tensor.Dense, t ir.Type) []byte {
	if t.Order != nil {
		d = d.Transpose(t.Order)
	}
	return d.Bytes()
}

// read is the tensor at the place of a value, brought to logical order.
func (r *replay) read(v *ir.Value) (*tensor.Dense, error) {
	t := v.Type
	d, err := tensor.FromBytes(t.DType, t.Phys(), r.p.extent(v).gather(r.arena))
	if err != nil || t.Order == nil {
		return d, err
	}
	back := make([]int, len(t.Order))
	for i, dim := range t.Order {
		back[dim] = i
	}
	return d.Transpose(back), nil
}

func (r *replay) step(k int, s *Step) error {
	n := s.Node
	over := r.p.overwritten(s, 0)
	in := make([]*tensor.Dense, len(n.In))
	fetch := func(only func(v *ir.Value) bool) error {
		for i, v := range n.In {
			if v == nil || !only(v) {
				continue
			}
			if in[i] = v.Const; v.Const != nil {
				continue
			}
			if _, ok := r.p.Offset(v); !ok {
				return bug("%s: operand %s has no place", n, v)
			}
			var err error
			if in[i], err = r.read(v); err != nil {
				return fmt.Errorf("%s: %s: %w", n, v, err)
			}
		}
		return nil
	}
	if s.Low.Scratch > 0 {
		r.poison(s.Scratch, s.Low.Scratch)
	}
	// A kernel that works in place reads an element before it writes it; any
	// other may write its results before it has read anything.
	if err := fetch(func(v *ir.Value) bool { return v == over }); err != nil {
		return err
	}
	for _, v := range n.Out {
		r.p.extent(v).runs(r.poison)
	}
	if err := fetch(func(v *ir.Value) bool { return v != over }); err != nil {
		return err
	}
	out, err := ir.EvalNode(n, in)
	if err != nil {
		return err
	}
	for i, v := range n.Out {
		r.write(v, out[i])
	}
	if s.Low.Scratch > 0 {
		r.poison(s.Scratch, s.Low.Scratch)
	}
	r.clean(k)
	return nil
}

// clean poisons all bytes that nobody needs after step k.
func (r *replay) clean(k int) {
	needed := make([]bool, len(r.arena))
	for v, l := range r.live {
		if len(l.own) == 1 && l.own[0] == v && l.first <= k && k < l.last {
			r.p.extent(v).runs(func(at, n int) {
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
