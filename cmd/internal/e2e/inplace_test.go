// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// TestInPlace: a pointwise convolution with as many outputs as inputs is written over its
// input, which its kernel reads two pixels at a time: odd numbers of them, channels that fill no
// word, one chain for each, and a sum with its own input.
func TestInPlace(t *testing.T) {
	d := &drawnNetwork{t: t, g: ir.New("chains")}
	want := map[string]bool{}
	for i, s := range []struct {
		c, h, w int
		sum     bool
	}{{16, 7, 9, false}, {5, 3, 3, false}, {33, 4, 5, false}, {8, 1, 3, true}, {12, 5, 5, true}} {
		x := d.g.AddInput(fmt.Sprintf("x%d", i), ir.T(tensor.F32, 1, s.c, s.h, s.w))
		pool := ir.Attrs{"kernel_shape": ir.Ints(1, 3), "pads": ir.Ints(0, 1, 0, 1)}
		x = d.add(op.MaxPool, fmt.Sprintf("pool%d", i), pool, x)
		for k := range 3 {
			name := fmt.Sprintf("conv%d_%d", i, k)
			y := d.conv(name, x, s.c, 1)
			if k == 1 && s.sum {
				y = d.add(op.Add, name+"_sum", nil, y, x)
			} else {
				want[name] = true
			}
			x = y
		}
		d.g.AddOutput(fmt.Sprintf("y%d", i), d.add(op.MaxPool, fmt.Sprintf("last%d", i), pool, x))
	}
	model := graphFile(t, d.g)
	for _, board := range []string{"cortex-m4", "cortex-m33", "cortex-m0plus"} {
		t.Run(board, func(t *testing.T) {
			c := config(model, board)
			v := mustVerify(t, c)
			if v.Mismatches > 0 {
				t.Fatalf("%d mismatches: %s", v.Mismatches, v.Failure)
			}
			o := mustCompile(t, c)
			p, over := o.Lowered.Program, 0
			for _, s := range p.Steps {
				if !want[s.Name] {
					continue
				}
				if p.Buffers[s.Out[0]].Offset != p.Buffers[s.In[0].Buffer].Offset {
					t.Errorf("%s is at %d, its input at %d", s.Name, p.Buffers[s.Out[0]].Offset,
						p.Buffers[s.In[0].Buffer].Offset)
				}
				over++
			}
			if over != len(want) {
				t.Errorf("%d of %d convolutions are steps of their own", over, len(want))
			}
		})
	}
}
