// SPDX-License-Identifier: Apache-2.0

package mla

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
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
func Compile(g *ir.Graph, lim Limits) (*lm.Segment, error) {
	r, low, err := plan(g)
	if err != nil {
		return nil, err
	}
	p := r.Program
	w := &writer{seg: &lm.Segment{Name: g.Name, Memory: (p.ArenaBytes + lm.Align - 1) &^ (lm.Align - 1)}, plan: r,
		low:    low,
		values: map[*ir.Value]int{}, consts: map[string]int{}, temps: map[[2]int]int{}}
	for _, v := range r.Graph.In {
		if _, err := w.value(v, lm.Input); err != nil {
			return nil, err
		}
	}
	for k, v := range r.Graph.Out {
		i, err := w.value(v, lm.Output)
		if err != nil {
			return nil, err
		}
		w.seg.Tensors[i].Name = p.Outputs[k].Name
	}
	for k := range p.Steps {
		if err := w.step(k); err != nil {
			return nil, err
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
func plan(g *ir.Graph) (*schedule.Result, map[*ir.Node]*call.Lowered, error) {
	g = g.Clone()
	logicalOrders(g)
	if err := op.OwnOutputs(g); err != nil {
		return nil, nil, err
	}
	plans := lowerTable.Plans(plainOptions)
	for _, n := range g.Nodes {
		if _, err := plans.Of(n); err != nil {
			return nil, nil, err
		}
	}
	demand := func(n *ir.Node) kernel.Layout { return preferChannelsLast(n, plans.Layout(n)) }
	if err := layout.Assign(g, demand, layout.Options{NativeIO: true}); err != nil {
		return nil, nil, err
	}
	if err := channelsLast(g); err != nil {
		return nil, nil, err
	}
	low, err := plans.Lowered(g.Nodes)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range low {
		// A tensor of a segment file is one run of bytes: nothing lies in rows.
		l.Rows, l.RowCalls = nil, nil
		if len(l.Parts) > 0 && l.Parts[0].Row > 0 {
			l.Parts = nil
		}
	}
	r, err := schedule.Build(g, low)
	return r, low, err
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
func channelsLast(g *ir.Graph) error {
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
		n, err := g.InsertBefore(first, op.Relayout, v.Name+".logical", nil, 1, v)
		if err != nil {
			return err
		}
		n.Out[0].Type = v.Type.WithOrder(had)
		for _, u := range readers {
			if u.Node.Op == op.Relayout && u.Node.Out[0].Type.SameMemory(order) {
				continue // it had turned the logical order into this one: now a view
			}
			g.SetInput(u.Node, u.Index, n.Out[0])
		}
	}
	for i, v := range g.Out {
		if v.Type.Rank() != 4 || v.Type.SameMemory(order) {
			continue
		}
		n, err := g.InsertBefore(nil, op.Relayout, g.OutNames[i]+".nhwc", nil, 1, v)
		if err != nil {
			return err
		}
		n.Out[0].Type = v.Type.WithOrder(order)
		g.SetOutput(i, n.Out[0])
	}
	return nil
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

func dtypeOf(t ir.Type) (lm.DType, error) {
	d, ok := dtypes[t.DType]
	if !ok {
		return 0, fmt.Errorf("tensors of %s have no form in a segment file", t.DType.ONNXName())
	}
	return d, nil
}

// value is the table entry of a run-time value.
func (w *writer) value(v *ir.Value, role lm.Role) (int, error) {
	if i, ok := w.values[v]; ok {
		return i, nil
	}
	dt, err := dtypeOf(v.Type)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", v, err)
	}
	t := lm.Tensor{Name: v.Name, DType: dt, Role: role, Shape: v.Type.Phys(), Order: v.Type.OrderOrIdentity(),
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
	return w.values[v], nil
}

// scratch is the table entry of a step's scratch memory.
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
