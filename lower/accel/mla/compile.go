// SPDX-License-Identifier: Apache-2.0

package mla

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/mla/lm"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/layout"
	"github.com/nncc/nncc/schedule"
)

// Compile turns a closed integer graph, a segment, into the commands of the
// MLA. g stays as it is; memory orders that its values have are not looked at.
//
// Inputs and outputs of the segment are the graph's, in its order: those of
// rank 4 lie channels last (NHWC) in memory, others in logical order. An output
// under several names, or one that is an input or a constant, is copied.
// Segment.Memory is the working memory, inputs and outputs included.
func Compile(g *ir.Graph, lim Limits) (_ *lm.Segment, err error) {
	defer fail.Catch(&err)
	r, low := plan(g)
	p := r.Program
	w := &writer{seg: &lm.Segment{Name: g.Name, Memory: (p.ArenaBytes + lm.Align - 1) &^ (lm.Align - 1)}, plan: r,
		low:    low,
		values: map[*ir.Value]int{}, consts: map[string]int{}, temps: map[[2]int]int{}}
	for _, v := range r.Graph.In {
		w.value(v, lm.Input)
	}
	for k, v := range r.Graph.Out {
		w.seg.Tensors[w.value(v, lm.Output)].Name = p.Outputs[k].Name
	}
	for k := range p.Steps {
		if err := w.step(k); err != nil {
			return nil, ir.Errf(r.Nodes[k], "mla", "%v", err)
		}
	}
	w.seg.Place()
	if err := w.seg.Count(); err != nil {
		return nil, bug.Errorf("segment %s: %w", g.Name, err)
	}
	if err := w.seg.Validate(); err != nil {
		return nil, bug.Errorf("segment %s: %w", g.Name, err)
	}
	if lim.MemoryBytes > 0 && w.seg.Memory > lim.MemoryBytes {
		return nil, &ir.Diag{Code: "mla-memory", Node: "segment " + g.Name,
			Msg: fmt.Sprintf("needs %d bytes of working memory, the accelerator has %d", w.seg.Memory, lim.MemoryBytes)}
	}
	return w.seg, nil
}

// plan chooses operations, memory orders and offsets for everything.
func plan(g *ir.Graph) (*schedule.Result, map[*ir.Node]*call.Lowered) {
	g = g.Clone()
	logicalOrders(g)
	fail.Check(op.OwnOutputs(g))
	plans := lowerTable.Plans(plainOptions)
	for _, n := range g.Nodes {
		fail.Must(plans.Of(n))
	}
	demand := func(n *ir.Node) kernel.Layout { return preferChannelsLast(n, plans.Layout(n)) }
	fail.Check(layout.Assign(g, demand, layout.Options{NativeIO: true}))
	channelsLast(g)
	low := fail.Must(plans.Lowered(g.Nodes))
	for _, l := range low {
		// A tensor of a segment file is one run of bytes: nothing lies in rows, results at most where operands do.
		l.Rows, l.RowCalls = nil, nil
		l.Overlap = slices.DeleteFunc(slices.Clone(l.Overlap), func(o call.Overlap) bool { return !o.Exact })
		if len(l.Parts) > 0 && l.Parts[0].Row > 0 {
			l.Parts = nil
		}
	}
	r, err := schedule.Build(g, low)
	fail.Check(err)
	return r, low
}

func logicalOrders(g *ir.Graph) {
	for _, v := range g.In {
		v.Type.Order = nil
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			v.Type.Order = nil
		}
	}
}

// preferChannelsLast gives a kernel that accepts any order the preference for
// that of the segment's inputs and outputs.
func preferChannelsLast(n *ir.Node, l kernel.Layout) kernel.Layout {
	anyOrder := l.Kind == kernel.Same && l.Prefer == nil && n.Op != op.MatMul
	if anyOrder && len(n.Out) > 0 && n.Out[0].Type.Rank() == 4 {
		l.Prefer = ir.NHWC(4)
	}
	return l
}

// channelsLast brings inputs and outputs of rank 4 that the layout left in
// logical order into NHWC, by a copy.
func channelsLast(g *ir.Graph) {
	order := ir.NHWC(4)
	for _, v := range g.In {
		if v.Type.Rank() != 4 || v.Type.SameMemory(order) {
			v.Type = canonical(v.Type)
			continue
		}
		had := v.Type.Order
		var first *ir.Node
		if len(g.Nodes) > 0 {
			first = g.Nodes[0]
		}
		readers := slices.Clone(v.Uses())
		v.Type = v.Type.WithOrder(order)
		w := g.Insert(first, nil, op.Relayout, v.Name+".logical", nil, v)
		w.Type = v.Type.WithOrder(had)
		for _, u := range readers {
			if u.Node.Op == op.Relayout && u.Node.Out[0].Type.SameMemory(order) {
				continue // it had turned the logical order into this one: now a view
			}
			g.SetInput(u.Node, u.Index, w)
		}
	}
	for i, v := range g.Out {
		if v.Type.Rank() != 4 || v.Type.SameMemory(order) {
			continue
		}
		w := g.Insert(nil, nil, op.Relayout, g.OutNames[i]+".nhwc", nil, v)
		w.Type = v.Type.WithOrder(order)
		g.SetOutput(i, w)
	}
}

// canonical spells NHWC out where the memory is both orders at once.
func canonical(t ir.Type) ir.Type {
	if t.Rank() == 4 {
		return t.WithOrder(ir.NHWC(4))
	}
	return t
}

var dtypes = map[tensor.DType]lm.DType{tensor.I8: lm.I8, tensor.U8: lm.U8, tensor.Bool: lm.U8, tensor.I16: lm.I16,
	tensor.I32: lm.I32, tensor.U32: lm.U32,
	tensor.I64: lm.I64, tensor.F64: lm.F64, tensor.BF16: lm.BF16, tensor.F32: lm.F32}

func dtypeOf(t ir.Type) lm.DType {
	d, ok := dtypes[t.DType]
	if !ok {
		fail.Check(fmt.Errorf("tensors of %s have no form in a segment file", t.DType.ONNXName()))
	}
	return d
}

// value is the table entry of a run-time value.
func (w *writer) value(v *ir.Value, role lm.Role) int {
	if i, ok := w.values[v]; ok {
		return i
	}
	t := lm.Tensor{Name: v.Name, DType: dtypeOf(v.Type), Role: role, Shape: v.Type.Phys(),
		Order:  v.Type.OrderOrIdentity(),
		Offset: w.plan.Buffer(v).Offset}
	if t.Role != lm.Temp && v.Type.Rank() == 4 {
		t.Order = ir.NHWC(4)
		t.Shape = v.Type.WithOrder(t.Order).Phys()
	}
	if len(t.Shape) == 0 {
		t.Shape, t.Order = []int{1}, []int{0}
	}
	if q := v.Type.Quant; q != nil && !q.PerAxis() {
		t.Scale, t.Zero = q.Scale[0], q.Zero[0]
	}
	w.values[v] = len(w.seg.Tensors)
	w.seg.Tensors = append(w.seg.Tensors, t)
	return w.values[v]
}

func (w *writer) scratch(s *program.Step) int {
	b := &w.plan.Program.Buffers[s.Scratch]
	key := [2]int{b.Offset, b.Bytes}
	i, ok := w.temps[key]
	if !ok {
		i = len(w.seg.Tensors)
		w.temps[key] = i
		w.seg.Tensors = append(w.seg.Tensors, lm.Tensor{Name: "scratch", DType: lm.U8, Role: lm.Temp,
			Shape: []int{b.Bytes}, Order: []int{0}, Offset: b.Offset})
	}
	return i
}

// constant is the table entry of a constant; equal ones are stored once.
func (w *writer) constant(name string, dt lm.DType, data []byte) int {
	key := string(append([]byte{byte(dt)}, data...))
	i, ok := w.consts[key]
	if !ok {
		i = len(w.seg.Tensors)
		w.consts[key] = i
		n := len(data) / dt.Size()
		w.seg.Tensors = append(w.seg.Tensors, lm.Tensor{Name: name, DType: dt, Role: lm.Const, Shape: []int{n},
			Order: []int{0}, Data: data})
	}
	return i
}
