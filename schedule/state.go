// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"bytes"

	"github.com/nncc/nncc/ir/bug"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
)

// StateBinding is recurrent state: what one run leaves in the graph output Out
// is what the next one finds in the graph input In. Both have one type. The
// place of In belongs to it for ever; after the last step Out is copied there.
type StateBinding struct {
	In, Out *ir.Value
	Init    *tensor.Dense // what In holds before the first run; nil: zero
}

// state is a binding as the program has it.
func (a *arrangement) state(p *program.Program, x StateBinding, c *constants) (program.State, error) {
	s := program.State{In: -1, Out: -1, Init: -1}
	for i, v := range a.g.In {
		if v == x.In {
			s.In = i
		}
	}
	for i, v := range a.g.Out {
		if v == x.Out && s.Out < 0 {
			s.Out = i
		}
	}
	if s.In < 0 || s.Out < 0 {
		return s, bug.Errorf("schedule: state %s = %s is not between an output and an input", x.In, x.Out)
	}
	t := x.In.Type
	if q := t.Quant; q != nil && t.DType.Size() == 1 {
		s.Fill = int(q.Zero[0])
	}
	if x.Init == nil {
		return s, nil
	}
	switch b := program.Memory(x.Init, t); {
	case len(b) == 0:
	case bytes.Count(b, b[:1]) == len(b):
		s.Fill = int(b[0])
	default:
		s.Init = c.add(program.Const{Hint: "state", CType: "uint8_t", Data: b})
	}
	return s, nil
}
