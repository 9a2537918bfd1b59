// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/schedule"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestStates: state lies in memory of its own, in place where everything that
// reads the old one can run before the step that makes the new one.
func TestStates(t *testing.T) {
	const head = `
  in %x : f32[1,64]
  in %h : f32[1,64]
  in %k : f32[1,64]`
	for _, c := range []struct {
		name, src string
		states    []string // out=in
		inPlace   string   // for each state, y or n
	}{
		{"read once, first", `
  %a = Add(%x, %h)
  %n = Tanh(%a)
  %b = Sigmoid(%n)
  %y = Mul(%b, %k)`, []string{"h_out=h"}, "y"},
		{"read behind in the model's order only", `
  %n = Tanh(%x)
  %a = Add(%x, %h)
  %y = Mul(%a, %k)`, []string{"h_out=h"}, "y"},
		{"its step may overwrite it", `
  %n = Add(%h, %x)
  %y = Mul(%n, %k)`, []string{"h_out=h"}, "y"},
		{"the old one and the new one together", `
  %n = Tanh(%x)
  %a = Add(%n, %h)
  %y = Mul(%a, %k)`, []string{"h_out=h"}, "n"},
		{"each is made of the other", `
  %n = Tanh(%k)
  %m = Tanh(%h)
  %y = Add(%x, %x)
  out "k_out" = %m`, []string{"h_out=h", "k_out=k"}, "yn"},
		{"a step that reads it while it writes", `
  const %w : f32[64,64] = rand 1
  %n = MatMul(%h, %w)
  %y = Mul(%x, %k)`, []string{"h_out=h"}, "n"},
		{"a part of the old one is an output; in place costs more", `
  const %z : i64[1] = {0}
  const %e : i64[1] = {32}
  const %o : i64[1] = {1}
  %y = Slice(%h, %z, %e, %o)
  %n = Add(%x, %k)`, []string{"h_out=h"}, "n"},
		{"a part of the new one is an output", `
  const %z : i64[1] = {0}
  const %e : i64[1] = {32}
  const %o : i64[1] = {1}
  %n = Add(%x, %h)
  %y = Slice(%n, %z, %e, %o)`, []string{"h_out=h"}, "n"},
		{"the second output of its step, and names of both", `
  in %q : i8[1,8] q(0.1:0)
  in %o : i8[1,256] q(0.1:3)
  const %f : i8[16,8] q(0.01:0) = rand 1
  const %t : i8[16,16] q(0.01:0) = rand 2
  const %b : i32[16] = rand 3
  const %s : i64[3] = {1,16,16}
  const %l : i64[2] = {1,256}
  %r : i8[1,16,16] q(0.1:3) = Reshape(%o, %s)
  %y : i8[1,16] q(0.5:-7), %m : i8[1,16,16] q(0.1:3) = nncc.SVDF(%q, %f, %t, %b, %r) {rank=1}
  %n : i8[1,256] q(0.1:3) = Reshape(%m, %l)`, []string{"h_out=o"}, "y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, low := lowered(t, head+c.src+"\nout \"y\" = %y\nout \"h_out\" = %n")
			var states []schedule.StateBinding
			for _, s := range c.states {
				out, in, _ := strings.Cut(s, "=")
				states = append(states, schedule.StateBinding{Out: g.Out[slices.Index(g.OutNames, out)],
					In: g.In[slices.IndexFunc(g.In, func(v *ir.Value) bool { return v.Name == in })]})
			}
			p := built(t, g, low, states...).Program
			testenv.Check(t, p.StateBytes == 256*len(states) && p.RAMBytes() == p.ArenaBytes+p.StateBytes,
				"%d bytes of state, %d in all\n%s", p.StateBytes, p.RAMBytes(), p)
			got := ""
			for _, x := range p.States {
				got += map[bool]string{true: "y", false: "n"}[p.InPlace(x)]
			}
			testenv.Check(t, got == c.inPlace, "in place: %s, want %s\n%s", got, c.inPlace, p)
			in, out := p.Visible()
			testenv.Check(t, len(in)+len(states) == len(g.In) && len(out)+len(states) == len(g.Out),
				"the caller sees %v and %v", in, out)
			free := built(t, g, low).Program
			testenv.Check(t, p.ArenaBytes <= free.ArenaBytes, "arena of %d bytes, %d where the state lies in it",
				p.ArenaBytes, free.ArenaBytes)
		})
	}
}

// TestStateFaults: Verify sees whatever is moved into the state's memory, and
// state that is not there.
func TestStateFaults(t *testing.T) {
	g, low := lowered(t, `
  in %x : f32[1,64]
  in %h : f32[1,64]
  %a = Add(%x, %h)
  %n = Tanh(%a)
  %b = Add(%n, %h)
  %y = Mul(%b, %n)
  out "y" = %y
  out "h_out" = %n`)
	p := built(t, g, low, schedule.StateBinding{In: g.In[1], Out: g.Out[1]}).Program
	for i := range p.Buffers {
		b := &p.Buffers[i]
		was := *b
		b.Kept, b.Offset = !b.Kept, 0
		testenv.Check(t, p.Verify() != nil, "nobody objects to %s in the other memory", b.Name)
		*b = was
	}
	was := p.StateBytes
	for _, n := range []int{0, 16, 255} {
		p.StateBytes = n
		testenv.Check(t, p.Verify() != nil, "nobody objects to %d bytes of state", n)
	}
	p.StateBytes = was
}

// TestStateTangles replays random graphs of views some inputs of which are state.
func TestStateTangles(t *testing.T) {
	n := uint64(400)
	if testing.Short() {
		n = 100
	}
	var inPlace, copied int
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 5))
		g := tangle(r)
		var pairs [][2]int
		taken := map[int]bool{}
		for i, v := range g.In {
			o := r.IntN(len(g.Out))
			if slices.Equal(g.Out[o].Type.Shape, v.Type.Shape) && !taken[o] {
				taken[o] = true
				pairs = append(pairs, [2]int{i, o})
			}
		}
		testenv.OK(t, op.OwnOutputs(g))
		src := g.String()
		g, low := lowered(t, src[strings.Index(src, "{")+1:strings.LastIndex(src, "}")])
		states := lists.Map(pairs, func(x [2]int) schedule.StateBinding {
			return schedule.StateBinding{In: g.In[x[0]], Out: g.Out[x[1]]}
		})
		p := built(t, g, low, states...).Program
		arena(t, p)
		for _, x := range p.States {
			if p.InPlace(x) {
				inPlace++
			} else {
				copied++
			}
		}
		testenv.Require(t, !t.Failed(), "seed %d", seed)
	}
	testenv.Check(t, inPlace >= 10 && copied >= 10, "%d states in place, %d copied: the graphs show too little",
		inPlace, copied)
	t.Logf("%d states in place, %d copied", inPlace, copied)
}
