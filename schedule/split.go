// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/schedule/plan"
)

// Pool is a memory that can hold a part of the arena.
type Pool struct {
	Name  string
	Bytes int     // that are free
	Cost  float64 // cycles that the core waits for a byte
}

// Pools are the memories of an arena in parts.
type Pools struct {
	List []Pool
	Most int // bytes of all parts together; 0: as many as there are
}

// Split is what dividing the arena came to, in cycles that a run waits for it. No way to
// divide it is below Bound: the same as Cost where all ways were looked at, for the order
// of the steps that the program has.
type Split struct{ Cost, Bound float64 }

// NoRoomError says why an arena cannot be divided.
type NoRoomError struct{ Why string }

func (e *NoRoomError) Error() string { return e.Why }

// BuildIn is Build, with some effort, for an arena that no single memory holds: it is divided over pools,
// each storage whole in one, so that a run waits fewest cycles for what it reads and
// writes. Views that keep a storage too large for every pool become copies.
func BuildIn(pools Pools, effort Effort, g *ir.Graph, low map[*ir.Node]*call.Lowered,
	states ...StateBinding) (*Result, Split, error) {
	s := &search{g: g, low: low, states: states, effort: effort, copied: map[*ir.Node]bool{}, pools: &pools,
		known: map[string]*arrangement{}}
	best := s.run()
	if !best.parts.Fits {
		return nil, Split{}, best.noRoom()
	}
	r, err := best.result(states)
	if err != nil {
		return nil, Split{}, err
	}
	return r, Split{best.parts.Cost, best.parts.Bound}, r.Program.Verify()
}

// divide places the buffers of an order into the pools. Where that fails, and the nodes
// as they are given need no more, their order is tried.
func (a *arrangement) divide(nodes []plan.Node, values []plan.Value, budget int64) {
	order, stats := plan.Order(nodes, values, budget)
	a.optimal = stats.Optimal
	if a.divideIn(order, nodes, values, budget); a.parts.Fits {
		return
	}
	was := *a
	a.optimal = stats.Optimal && stats.Peak == stats.GivenPeak
	if a.divideIn(ir.Identity(len(nodes)), nodes, values, budget); !a.parts.Fits {
		*a = was
	}
}

func (a *arrangement) divideIn(order []int, nodes []plan.Node, values []plan.Value, budget int64) {
	a.order, a.buffers = order, plan.Buffers(nodes, values, order)
	pools := lists.Map(a.pools.List, func(x Pool) plan.Pool { return plan.Pool{Bytes: int64(x.Bytes), Cost: x.Cost} })
	p := plan.Split(a.buffers, a.traffic(), pools, int64(a.pools.Most), budget)
	a.parts, a.plan = &p, p.Result
}

// traffic are the bytes of each buffer that a run reads and writes.
func (a *arrangement) traffic() []float64 {
	n := make([]float64, len(a.buffers))
	scratch := len(a.values)
	for _, k := range a.order {
		x := a.nodes[k]
		for _, v := range x.In {
			if v != nil && v.Const == nil {
				n[a.index[v]] += float64(v.Type.Bytes())
			}
		}
		for _, v := range x.Out {
			n[a.index[v]] += float64(v.Type.Bytes())
		}
		if b := a.low[x].Scratch; b > 0 {
			n[scratch] += float64(2 * b)
			scratch++
		}
	}
	for i := range a.values {
		if _, ok := a.kept[a.place[i].root]; ok {
			n[i] = 0
		}
	}
	return n
}

// better compares arrangements: the smaller arena, or with pools the one that fits and
// costs less.
func (a *arrangement) better(b *arrangement) bool {
	if a.parts == nil {
		return a.bytes() < b.bytes()
	}
	switch x, y := a.parts, b.parts; {
	case x.Fits != y.Fits:
		return x.Fits
	case x.Cost != y.Cost:
		return x.Cost < y.Cost
	case !x.Fits:
		return a.need() < b.need()
	}
	return a.bytes() < b.bytes()
}

// need is what the largest storage or the busiest step takes.
func (a *arrangement) need() int {
	_, storage, peak := a.needs()
	return max(storage, peak)
}

// needs are the largest storage, by the buffer that it is named after, and the bytes that
// are live at the busiest step.
func (a *arrangement) needs() (name string, storage, peak int) {
	res := plan.Place(a.buffers, 1)
	for _, s := range res.Storages {
		if int(s.Bytes) > storage {
			name, storage = a.buffers[s.Root].Name, int(s.Bytes)
		}
	}
	return name, storage, int(res.OverlapBound)
}

func (a *arrangement) noRoom() *NoRoomError {
	room, sum := 0, 0
	for _, x := range a.pools.List {
		room, sum = max(room, x.Bytes), sum+x.Bytes
	}
	name, bytes, peak := a.needs()
	switch {
	case bytes > room:
		return &NoRoomError{fmt.Sprintf("%s takes %d bytes in one piece, and no region has more than %d free",
			name, bytes, room)}
	case peak > sum:
		return &NoRoomError{fmt.Sprintf("%d bytes are needed at one step, and the regions have %d free together",
			peak, sum)}
	case a.pools.Most > 0 && peak > a.pools.Most:
		return &NoRoomError{fmt.Sprintf("%d bytes are needed at one step, and --max-ram leaves %d", peak,
			a.pools.Most)}
	}
	return &NoRoomError{fmt.Sprintf("no way was found to divide it over the %d bytes that the regions have free", sum)}
}

// inParts writes the parts of the arena that hold something into a program.
func (a *arrangement) inParts(p *program.Program) {
	for i, n := range a.parts.Totals {
		if n > 0 {
			p.Parts = append(p.Parts, program.Part{Name: a.pools.List[i].Name, Bytes: int(n)})
		}
	}
	if len(p.Parts) == 0 { // an arena is never empty
		p.Parts = []program.Part{{Name: a.pools.List[0].Name, Bytes: p.ArenaBytes}}
	}
}
