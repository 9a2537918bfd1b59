// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/schedule"
)

// randomPools are memories that together have somewhat more than an arena needs, none of
// them all of it.
func randomPools(r *rand.Rand, arena int) schedule.Pools {
	var p schedule.Pools
	n := 2 + r.IntN(2)
	for i := range n {
		p.List = append(p.List, schedule.Pool{Name: fmt.Sprintf("ram%d", i), Bytes: arena/n + r.IntN(arena/2+1),
			Cost: float64(r.IntN(4)) / 4})
	}
	if r.IntN(4) == 0 {
		p.Most = arena + r.IntN(arena)
	}
	return p
}

// divided schedules a graph for pools and puts the program through all checks; nil where
// there is no room.
func divided(t *testing.T, g *ir.Graph, low map[*ir.Node]*call.Lowered, pools schedule.Pools,
	states ...schedule.StateBinding) *schedule.Result {
	t.Helper()
	r, cost, err := schedule.BuildIn(pools, schedule.Medium, g, low, states...)
	if no := new(schedule.NoRoomError); errors.As(err, &no) {
		return nil
	}
	testenv.Require(t, err == nil, "%v\n%s", err, g)
	p := r.Program
	if err := replayed(g, r, 3); err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	room, wait := map[string]schedule.Pool{}, 0.0
	for _, x := range pools.List {
		room[x.Name] = x
	}
	for i, n := range p.PartTraffic() {
		x := p.Parts[i]
		testenv.Require(t, x.Bytes <= room[x.Name].Bytes, "%d bytes in %+v\n%s", x.Bytes, room[x.Name], p)
		wait += float64(n) * room[x.Name].Cost
	}
	if wait != cost.Cost || cost.Bound > cost.Cost || pools.Most > 0 && p.ArenaBytes > pools.Most {
		t.Fatalf("%g cycles, said %+v; %d bytes of %d\n%s", wait, cost, p.ArenaBytes, pools.Most, p)
	}
	return r
}

// TestSplitRandom divides arenas over memories of random sizes and replays the programs:
// random graphs of views, and random networks.
func TestSplitRandom(t *testing.T) {
	graphs, networks, draws := uint64(60), uint64(6), 4
	if testenv.Long() {
		graphs, networks, draws = 200, 40, 8
	}
	done, parts := 0, 0
	check := func(seed uint64, g *ir.Graph, low map[*ir.Node]*call.Lowered) {
		whole := built(t, g, low).Program
		for k := range draws {
			r := divided(t, g, low, randomPools(rand.New(rand.NewPCG(seed, uint64(k))), whole.ArenaBytes))
			testenv.Require(t, !t.Failed(), "seed %d, draw %d", seed, k)
			if r != nil {
				done, parts = done+1, parts+len(r.Program.Parts)
			}
		}
	}
	for seed := range graphs {
		g := tangle(rand.New(rand.NewPCG(seed, 9)))
		src := g.String()
		g, low := lowered(t, src[strings.Index(src, "{")+1:strings.LastIndex(src, "}")])
		check(seed, g, low)
	}
	for seed := range networks {
		o := lower.Options{Precision: []option.Precision{option.Float32, option.Int8}[seed%2]}
		o.Target.Core = kernel.Core{DSP: true, MVE: seed%2 == 0, FPU: true}
		r, err := compile(irtest.Gen(seed, tensor.F32), o)
		if err != nil {
			continue
		}
		check(seed, r.Graph, r.Low)
	}
	all := int(graphs+networks) * draws
	t.Logf("%d of %d fit, %.1f parts", done, all, float64(parts)/float64(max(done, 1)))
	testenv.Check(t, done*2 >= all && parts >= done*3/2, "%d of %d fit, %d parts", done, all, parts)
}

// TestSplit: what is touched most lies in the fast memory, state in its own, and what does
// not fit is said.
func TestSplit(t *testing.T) {
	const src = `
  in %x : f32[1,64]
  in %h : f32[1,64]
  %a = Sigmoid(%x)
  %b = Add(%a, %h)
  %c = Mul(%a, %b)
  %d = Tanh(%a)
  %y = Add(%c, %d)
  out "y" = %y
  out "h_out" = %b`
	g, low := lowered(t, src)
	state := []schedule.StateBinding{{In: g.In[1], Out: g.Out[1]}}
	fast := func(slow, fast int) schedule.Pools {
		return schedule.Pools{List: []schedule.Pool{{Name: "slow", Bytes: slow, Cost: 1}, {Name: "fast", Bytes: fast}}}
	}
	r := divided(t, g, low, fast(512, 256), state...)
	testenv.Require(t, r != nil && len(r.Program.Parts) == 2 && r.Program.StateBytes == 256, "not in two parts: %v",
		r)
	for i, b := range r.Program.Buffers { // %a is read three times
		if k, _ := r.Program.Part(i); b.Name == "a" && r.Program.Parts[k].Name != "fast" {
			t.Errorf("%%a is in %s\n%s", r.Program.Parts[k].Name, r.Program)
		}
	}
	for _, c := range []struct {
		pools schedule.Pools
		want  string
	}{
		{fast(128, 240), "x takes 256 bytes in one piece, and no region has more than 240 free"},
		{fast(256, 240), "512 bytes are needed at one step, and the regions have 496 free together"},
		{schedule.Pools{List: fast(512, 512).List, Most: 496},
			"512 bytes are needed at one step, and --max-ram leaves 496"},
		{fast(400, 240), "no way was found to divide it over the 640 bytes that the regions have free"},
	} {
		_, _, err := schedule.BuildIn(c.pools, schedule.Full, g, low, state...)
		testenv.Check(t, err != nil && err.Error() == c.want, "%+v: %v, want %s", c.pools, err, c.want)
	}
}
