package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
)

// String is the program as text, for dumps and bug reports: what it needs, then
// inputs, steps with the places of their operands, nodes without code, outputs
// and buffers.
//
//	program "net": arena 1040, lower bound 1040 (optimal order), inputs and outputs 212, largest scratch 0
//	input "x" %x f32[1,1,6,6] at 0, 144 bytes
//	step 0 "conv": Conv by nncc_conv2d_f32
//	  in %x at 0
//	  out %c f32[1,4,4,4]@0.2.3.1 at 144, 256 bytes
//	step 1 "relu": Relu by nncc_element_f32
//	  in %c at 144
//	  out %r f32[1,4,4,4]@0.2.3.1 at 144, 256 bytes, over %c
//	...
//	buffer %c at 144, 256 bytes, steps 0 to 1
func (p *Program) String() string {
	var b strings.Builder
	optimal := ""
	if p.PeakOptimal {
		optimal = " (optimal order)"
	}
	fmt.Fprintf(&b, "program %q: arena %d, lower bound %d%s, inputs and outputs %d, largest scratch %d\n",
		p.Name, p.ArenaBytes, p.LowerBound, optimal, p.IOBytes, p.ScratchBytes)
	place := func(v *ir.Value) string {
		return fmt.Sprintf("%s %s at %d, %d bytes", v, v.Type, p.at(v), v.Type.Bytes())
	}
	for _, x := range p.Inputs {
		fmt.Fprintf(&b, "input %q %s\n", x.Name, place(x.Value))
	}
	operands := func(s *Step) {
		for i, v := range s.Node.In {
			switch {
			case v == nil:
			case v.Const != nil:
				fmt.Fprintf(&b, "  const %s %s\n", v, v.Type)
			case slices.Contains(s.Low.Unused, i):
				fmt.Fprintf(&b, "  unread %s\n", v)
			default:
				fmt.Fprintf(&b, "  in %s at %d\n", v, p.at(v))
			}
		}
		for i, v := range s.Node.Out {
			over := ""
			if w := p.overwritten(s, i); w != nil && !s.Low.View {
				over = fmt.Sprintf(", over %s", w)
			}
			fmt.Fprintf(&b, "  out %s%s\n", place(v), over)
		}
	}
	for k, s := range p.Steps {
		by := s.Low.Kernel
		if s.Low.Route != "" && s.Low.Route != by {
			by += " (" + s.Low.Route + ")"
		}
		fmt.Fprintf(&b, "step %d %q: %s by %s", k, s.Name, s.Node.Op.Name, by)
		if s.Low.Scratch > 0 {
			fmt.Fprintf(&b, ", scratch at %d, %d bytes", s.Scratch, s.Low.Scratch)
		}
		b.WriteByte('\n')
		operands(s)
	}
	for _, s := range p.Silent {
		fmt.Fprintf(&b, "no code %q: %s\n", s.Name, s.Node.Op.Name)
		operands(s)
	}
	for _, x := range p.Outputs {
		fmt.Fprintf(&b, "output %q %s\n", x.Name, place(x.Value))
	}
	for _, x := range p.Buffers {
		name := x.Name
		if x.Value != nil {
			name = x.Value.String()
		}
		fmt.Fprintf(&b, "buffer %s at %d, %d bytes, steps %d to %d", name, x.Offset, x.Bytes, x.First, x.Last)
		if x.AliasOf >= 0 {
			fmt.Fprintf(&b, ", in %s", p.Buffers[x.AliasOf].Value)
		}
		if x.Pitch > 0 {
			fmt.Fprintf(&b, ", rows of %d bytes, %d apart", x.Row, x.Pitch)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
