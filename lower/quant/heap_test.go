// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"runtime"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// heapWatch looks at the bytes that are live: the same on every run, as long as nothing
// else runs meanwhile.
type heapWatch struct {
	before uint64
	most   int64 // bytes, beyond those at the start
}

// NewHeap begins.
func newHeap() *heapWatch { return &heapWatch{before: liveBytes()} }

// look takes what is live now into account.
func (h *heapWatch) look() { h.most = max(h.most, int64(liveBytes())-int64(h.before)) }

// probe is an operator that looks at the heap whenever it is evaluated, and hands its
// input on.
func (h *heapWatch) probe() *ir.OpDef {
	return &ir.OpDef{Name: "HeapProbe", MinIn: 1, MaxIn: 1, MinOut: 1, MaxOut: 1, Pattern: ir.Elementwise,
		Infer: func(n *ir.Node) ([]ir.Type, error) { return []ir.Type{n.In[0].Type}, nil },
		Eval: func(_ *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
			h.look()
			return in, nil
		}}
}

// liveBytes is the heap without garbage, and without what pools hold.
func liveBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// allocated is how many bytes f allocates, live or not.
func allocated(f func()) int64 {
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	f()
	runtime.ReadMemStats(&b)
	return int64(b.TotalAlloc - a.TotalAlloc)
}

// footprint is the bytes of the constants of g, of all its values, and of the
// largest set of values that are live together when nodes run in order.
func footprint(g *ir.Graph) (constants, values, live int64) {
	size := func(v *ir.Value) int64 { return int64(v.Type.Elems() * v.Type.DType.Size()) }
	seen := map[*ir.Value]bool{}
	left := map[*ir.Value]int{}
	now := lists.Sum(g.In, func(v *ir.Value) int64 { return size(v) })
	values = now
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			now += size(v)
			values += size(v)
			left[v] = len(v.Uses())
		}
		live = max(live, now)
		for _, v := range n.In {
			switch {
			case v == nil:
			case v.Const != nil:
				if !seen[v] {
					seen[v] = true
					constants += size(v)
				}
			case v.Def != nil && !g.IsOutput(v):
				if left[v]--; left[v] == 0 {
					now -= size(v)
				}
			}
		}
	}
	return constants, values, live
}

// separableNet is a network of depthwise and pointwise convolutions on [1, width, side,
// side], with seeded weights and limits as activations; probe, unless it is nil, is put
// behind three quarters of it.
func separableNet(depth, width, side int, seed uint64, probe *ir.OpDef) *ir.Graph {
	g := ir.New("separable")
	x := g.AddInput("x", ir.T(tensor.F32, 1, width, side, side))
	for i := range 2 * depth {
		shape, group, pad := []int{width, width, 1, 1}, 1, 0
		if i%2 == 0 {
			shape, group, pad = []int{width, 1, 3, 3}, width, 1
		}
		w := ir.Rand(seed+uint64(i), tensor.F32, shape)
		n := bug.Must(g.Add(op.Conv, "", ir.Attrs{"group": ir.Int(group), "pads": ir.Ints(pad, pad, pad, pad),
			"act_min": ir.Float(-2), "act_max": ir.Float(2)}, 1, x, g.AddConst("w", w)))
		x = n.Out[0]
		if probe != nil && i == depth*3/2 {
			n = bug.Must(g.Add(probe, "", nil, 1, x))
			x = n.Out[0]
		}
	}
	g.AddOutput("y", x)
	return g
}
