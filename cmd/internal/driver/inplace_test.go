// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// TestInPlace: a pointwise convolution without more outputs than inputs is written over its
// input, which its kernel reads two pixels at a time: odd numbers of them, channels that fill no
// word, one chain for each, and a sum with its own input.
func TestInPlace(t *testing.T) {
	g := ir.New("chains")
	add := func(d *ir.OpDef, name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
		t.Helper()
		n, err := g.Add(d, name, attrs, 1, in...)
		if err != nil {
			t.Fatal(err)
		}
		n.Origin = []string{name}
		return n.Out[0]
	}
	want := map[string]bool{}
	for i, s := range []struct {
		c, h, w int
		sum     bool
	}{{16, 7, 9, false}, {5, 3, 3, false}, {33, 4, 5, false}, {8, 1, 3, true}, {12, 5, 5, true}} {
		x := g.AddInput(fmt.Sprintf("x%d", i), ir.T(tensor.F32, 1, s.c, s.h, s.w))
		pool := ir.Attrs{"kernel_shape": ir.Ints(1, 3), "pads": ir.Ints(0, 1, 0, 1)}
		x = add(op.MaxPool, fmt.Sprintf("pool%d", i), pool, x)
		for k := range 3 {
			name := fmt.Sprintf("conv%d_%d", i, k)
			w := g.AddConst("w_"+name, ir.Rand(uint64(9*i+k), tensor.F32, []int{s.c, s.c, 1, 1}))
			b := g.AddConst("b_"+name, ir.Rand(uint64(9*i+k+100), tensor.F32, []int{s.c}))
			y := add(op.Conv, name, nil, x, w, b)
			if k == 1 && s.sum {
				y = add(op.Add, name+"_sum", nil, y, x)
			} else {
				want[name] = true
			}
			x = y
		}
		g.AddOutput(fmt.Sprintf("y%d", i), add(op.MaxPool, fmt.Sprintf("last%d", i), pool, x))
	}
	m, err := onnx.Export(g, onnx.ExportOptions{Producer: "test"})
	require(t, err)
	b, err := onnx.Marshal(m)
	require(t, err)
	model := filepath.Join(t.TempDir(), "chains.onnx")
	require(t, os.WriteFile(model, b, 0o644))
	for _, board := range []string{"cortex-m4", "cortex-m33", "cortex-m0plus"} {
		t.Run(board, func(t *testing.T) {
			c := config(model, board)
			v, err := c.Verify(context.Background())
			require(t, err)
			if v.Mismatches > 0 {
				t.Fatalf("%d mismatches: %s", v.Mismatches, v.Failure)
			}
			o, err := c.Compile()
			require(t, err)
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
