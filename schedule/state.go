// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"bytes"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/schedule/plan"
)

// StateBinding is recurrent state: what one run leaves in the graph output Out
// is what the next one finds in the graph input In. Both have one type. In lies
// in the state's memory; Out is written there where all who read In run before,
// else copied after the last step.
type StateBinding struct {
	In, Out *ir.Value
	Init    *tensor.Dense // what In holds before the first run; nil: zero
}

func (a *arrangement) state(x StateBinding, c *constants) (program.State, error) {
	s := program.State{In: slices.Index(a.g.In, x.In), Out: slices.Index(a.g.Out, x.Out), Init: -1}
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

// keep gives every state a place in the state's memory.
func (b *builder) keep(states []StateBinding) {
	for _, x := range states {
		i := b.index[x.In]
		b.kept[i] = b.stateBytes
		b.stateBytes += aligned(max(x.In.Type.Bytes(), 1))
	}
}

// inArena are the values as the planner of the arena sees them: those that lie
// in the state's memory need no bytes.
func (b *builder) inArena() []plan.Value {
	values := slices.Clone(b.values)
	for i := range values {
		values[i].Bytes = int64(b.bytes(i))
		if _, ok := b.kept[b.place[i].root]; ok {
			values[i].Bytes, values[i].Delta = 0, 0
		}
	}
	return values
}

// showsState reports a node by whose parts an output of the graph would lie in
// the memory of state: a caller could not find it there.
func (b *builder) showsState(n *ir.Node) bool {
	if v := n.In[0]; v == nil || v.Const != nil || len(b.kept) == 0 {
		return false
	}
	if _, ok := b.kept[b.place[b.index[n.In[0]]].root]; !ok {
		return false
	}
	var shown func(v *ir.Value) bool
	shown = func(v *ir.Value) bool {
		return slices.Contains(b.g.Out, v) || slices.ContainsFunc(v.Uses(), func(u ir.Use) bool {
			l := b.low[u.Node]
			return (l.View || len(l.Parts) > 0) && slices.ContainsFunc(u.Node.Out, shown)
		})
	}
	return slices.ContainsFunc(n.Out, shown)
}

// writeInPlace lets the steps that make new state write it where the old one is,
// wherever all who read that can run before them, and gives the steps in an order
// in which they can run.
func (b *builder) writeInPlace(steps []plan.Node, states []StateBinding) []plan.Node {
	for _, x := range states {
		waits, ok := b.waits(steps, x)
		if !ok {
			continue
		}
		trial := slices.Clone(steps)
		for _, w := range waits {
			trial[w[1]].After = append(slices.Clone(trial[w[1]].After), w[0])
		}
		order, ok := runnable(trial)
		if !ok {
			continue
		}
		b.inPlace[x.In] = true
		b.move(b.place[b.index[x.Out]].root, b.index[x.In], 0)
		steps = b.reordered(trial, order)
	}
	return steps
}

// waits are pairs of steps: the first reads the old state and has to run before
// the second, which writes some of the new one. None where the new state cannot
// lie where the old one is.
func (b *builder) waits(steps []plan.Node, x StateBinding) (pairs [][2]int, ok bool) {
	in, out := b.index[x.In], b.index[x.Out]
	root := b.place[out].root
	if b.place[out] != (place{root: root}) || b.values[root].Bytes != b.values[in].Bytes {
		return nil, false
	}
	if slices.ContainsFunc(b.within[root], func(w int) bool {
		return b.values[w].Input || b.values[w].Output && w != out
	}) || slices.ContainsFunc(b.within[in], func(w int) bool { return b.values[w].Output }) {
		return nil, false
	}
	inside := func(root int) func(int) bool { return func(v int) bool { return b.place[v].root == root } }
	for k, s := range steps {
		if !slices.ContainsFunc(s.Out, inside(root)) {
			continue
		}
		for r, t := range steps {
			switch {
			case !slices.ContainsFunc(t.In, inside(in)):
			case r != k:
				pairs = append(pairs, [2]int{r, k})
			case !slices.ContainsFunc(s.Overlap, func(p plan.Overlap) bool {
				return b.place[p.In] == b.place[in] && b.place[p.Out] == b.place[root] && p.Ahead == 0
			}):
				return nil, false
			}
		}
	}
	return pairs, true
}

// runnable is an order of steps in which each comes after what it needs, the
// given one as far as possible; there may be none.
func runnable(steps []plan.Node) ([]int, bool) {
	writer := map[int]int{}
	for k, s := range steps {
		for _, v := range s.Out {
			writer[v] = k
		}
	}
	var order []int
	state := make([]int, len(steps)) // 1: being looked at, 2: in the order
	var visit func(k int) bool
	visit = func(k int) bool {
		if state[k] > 0 {
			return state[k] == 2
		}
		state[k] = 1
		for _, v := range steps[k].In {
			if w, ok := writer[v]; ok && !visit(w) {
				return false
			}
		}
		for _, w := range steps[k].After {
			if !visit(w) {
				return false
			}
		}
		state[k] = 2
		order = append(order, k)
		return true
	}
	for k := range steps {
		if !visit(k) {
			return nil, false
		}
	}
	return order, true
}

// reordered are steps in another order, and the builder's nodes with them.
func (b *builder) reordered(steps []plan.Node, order []int) []plan.Node {
	at := make([]int, len(order))
	for i, k := range order {
		at[k] = i
	}
	out, nodes := make([]plan.Node, len(order)), make([]*ir.Node, len(order))
	for i, k := range order {
		out[i], nodes[i] = steps[k], b.nodes[k]
		out[i].After = slices.Clone(steps[k].After)
		for j, w := range out[i].After {
			out[i].After[j] = at[w]
		}
	}
	b.nodes = nodes
	return out
}
