// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"testing"

	"github.com/nncc/nncc/schedule"
)

// TestStates: the input that holds state keeps its place to the end, so that
// the new state can be copied there without touching an output; without the
// tie others use its bytes.
func TestStates(t *testing.T) {
	g, low := lowered(t, `
  in %x : f32[1,64]
  in %h : f32[1,64]
  %a = Add(%x, %h)
  %n = Tanh(%a)
  %b = Sigmoid(%n)
  %c = Exp(%b)
  %y = Mul(%c, %n)
  out "y" = %y
  out "h_out" = %n`)
	free, err := schedule.Build(g, low)
	if err != nil {
		t.Fatal(err)
	}
	r, err := schedule.Build(g, low, schedule.StateBinding{In: g.In[1], Out: g.Out[1]})
	if err != nil {
		t.Fatal(err)
	}
	p := r.Program
	if p.ArenaBytes <= free.Program.ArenaBytes {
		t.Errorf("the arena has %d bytes with state, %d without: the state has no place of its own", p.ArenaBytes,
			free.Program.ArenaBytes)
	}
	if len(p.States) != 1 || p.Inputs[p.States[0].In].Name != "h" || p.Outputs[p.States[0].Out].Name != "h_out" {
		t.Fatalf("states are %+v", p.States)
	}
	in, out := p.Visible()
	if len(in) != 1 || in[0].Name != "x" || len(out) != 1 || out[0].Name != "y" {
		t.Errorf("the caller sees %v and %v, want x and y", in, out)
	}
	h := r.Buffer(g.In[1]).Offset
	for _, b := range p.Buffers {
		if b.Name != "h" && b.Offset < h+256 && h < b.Offset+b.Bytes {
			t.Errorf("%s lies in the place of the state", b.Name)
		}
	}
	// Verify sees a program that puts something there: every storage, in turn.
	for i, b := range p.Buffers {
		if b.AliasOf >= 0 || b.Name == "h" {
			continue
		}
		at := b.Offset
		p.Buffers[i].Offset = h
		if p.Verify() == nil {
			t.Errorf("nobody objects to %s in the place of the state", b.Name)
		}
		p.Buffers[i].Offset = at
	}
}
