// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// Recurrent operators step by step. The input's share of all gates and steps is
// one 1x1 convolution a gate; a step adds that of the state, another one, and
// combines gates element by element. Steps lie on H, the batch on W, units on C:
//
//	p = Conv(x [1, I, T, B], W, b) [1, H, T, B]          for every gate
//	gate = f(p[:, :, t] + Conv(h [1, H, 1, B], R))       for every step

// maxSteps is the number of steps up to which a sequence is unrolled.
const maxSteps = 128

// cells by operator: the state behind a step.
var cells = map[*ir.OpDef]func(r *recurrence, t int, h, c *ir.Value) (nh, nc *ir.Value){
	op.LSTM: (*recurrence).lstm, op.GRU: (*recurrence).gru, op.RNN: (*recurrence).rnn,
}

// recurrence unrolls one direction of a recurrent node.
type recurrence struct {
	*sub
	geom   *op.RNNGeom
	dir    int
	joint  int         // gates in front that are computed as one, [1, joint*H, 1, B]
	gates  []*ir.Value // the input's share of every gate, [1, H, T, B]; of the joint ones in one
	rec    []*ir.Value // recurrence weights alike, [H, H, 1, 1]
	after  *ir.Value   // bias [H] of the last gate's recurrent product (GRU, linear_before_reset)
	peep   []*ir.Value // [1, H, 1, 1] each; nil for none
	linear bool
}

// unrollable says why a recurrent node keeps its form.
func unrollable(n *ir.Node) (*op.RNNGeom, error) {
	g, err := op.RNNGeometry(n)
	if err != nil {
		return nil, err
	}
	for _, i := range []int{1, 2, 3, 7} {
		if v := n.Input(i); v != nil && v.Const == nil {
			return nil, no("input %d (%s) of the %s is computed at run time: weights have to be constants", i, v.Name,
				n.Op.Name)
		}
	}
	if v := n.Input(4); v != nil && (v.Const == nil || slices.ContainsFunc(v.Const.Floats(),
		func(k float64) bool { return int(k) < g.Seq })) {
		return nil, no("the lengths of the sequences (%s) are not all %d: leave sequence_lens out", v.Name, g.Seq)
	}
	switch {
	case g.Seq == 0 || g.Batch == 0 || g.Input == 0:
		return nil, no("the %s has nothing to do", n.Op.Name)
	case g.Seq > maxSteps:
		return nil, no("the %s has %d steps, at most %d are unrolled: give it fewer (--dim), or export the network "+
			"for one step, with its state as inputs and outputs", n.Op.Name, g.Seq, maxSteps)
	}
	return g, nil
}

// keepsRecurrent refuses what unrollRecurrent left.
func keepsRecurrent(_ *builder, n *ir.Node) []*rep {
	refuseIf(n.Quantised(), "it is a quantised operator of the model: only float ones become steps")
	_, err := unrollable(n)
	fail.Check(err)
	refuse("it computes on %s", n.In[0].Type.DType)
	return nil
}

func unrollRecurrent(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if cells[n.Op] == nil || n.Quantised() {
		return
	}
	geom, err := unrollable(n)
	if err != nil {
		return
	}
	outs := (&sub{g: g, n: n}).unroll(geom)
	for i, v := range n.Out {
		if outs[i] != nil {
			g.ReplaceUses(v, outs[i])
		}
	}
	c.Did(n, "%d steps of %s one after another", geom.Seq*geom.Dirs(), n)
	g.Remove(n)
}

func (s *sub) unroll(g *op.RNNGeom) []*ir.Value {
	x := s.n.In[0] // [T, B, I], or [B, T, I]
	perm := []int{2, 0, 1}
	if g.BatchFirst {
		perm = []int{2, 1, 0}
	}
	x = s.reshape(s.transpose(x, perm), []int{1, g.Input, g.Seq, g.Batch})
	var all, last, cell []*ir.Value // by direction
	for d := range g.Dirs() {
		r := &recurrence{sub: s, geom: g, dir: d}
		r.prepare(x)
		h, c := s.state(5, g, d), (*ir.Value)(nil)
		if s.n.Op == op.LSTM {
			c = s.state(6, g, d)
		}
		steps := make([]*ir.Value, g.Seq)
		for i := range steps {
			t := i
			if g.Reverse[d] {
				t = g.Seq - 1 - i
			}
			h, c = cells[s.n.Op](r, t, h, c)
			steps[t] = h
		}
		s.series = ""
		all, last, cell = append(all, s.joined(2, steps)), append(last, h), append(cell, c)
	}
	outs := make([]*ir.Value, len(s.n.Out))
	for i, v := range s.n.Out {
		if len(v.Uses()) == 0 && !s.g.IsOutput(v) {
			continue
		}
		per := [][]*ir.Value{all, last, cell}[i]
		parts := lists.Map(per, func(p *ir.Value) *ir.Value { return s.sequence(p, i == 0, g) })
		axis := g.Dirs() // unused where there is one direction
		switch {
		case i == 0 && g.BatchFirst:
			axis = 2
		case i == 0 || g.BatchFirst:
			axis = 1
		default:
			axis = 0
		}
		outs[i] = s.joined(axis, parts)
	}
	return outs
}

// joined is Concat of several values, or the one.
func (s *sub) joined(axis int, vs []*ir.Value) *ir.Value {
	if len(vs) == 1 {
		return vs[0]
	}
	return s.op(op.Concat, ir.Attrs{"axis": ir.Int(axis)}, vs...)
}

// sequence brings [1, H, T, B] to what ONNX has for one direction: Y [T, 1, B,
// H] or [B, T, 1, H], a state [1, B, H] or [B, 1, H].
func (s *sub) sequence(v *ir.Value, y bool, g *op.RNNGeom) *ir.Value {
	switch {
	case y && g.BatchFirst:
		return s.transpose(v, []int{3, 2, 0, 1})
	case y:
		return s.transpose(v, []int{2, 0, 3, 1})
	case g.BatchFirst:
		return s.reshape(s.transpose(v, []int{3, 0, 2, 1}), []int{g.Batch, 1, g.Hidden})
	}
	return s.reshape(s.transpose(v, []int{0, 2, 3, 1}), []int{1, g.Batch, g.Hidden})
}

// state is an initial state [1, H, 1, B] of a direction; nil for zeros.
func (s *sub) state(i int, g *op.RNNGeom, d int) *ir.Value {
	v := s.n.Input(i)
	if v == nil {
		return nil
	}
	axis := 0
	if g.BatchFirst {
		axis = 1
	}
	shape := []int{1, g.Hidden, 1, g.Batch}
	if v.Const != nil {
		if !slices.ContainsFunc(v.Const.Floats(), func(x float64) bool { return x != 0 }) {
			return nil
		}
		st := tensor.Strides(v.Const.Shape)
		out := tensor.New(v.Const.DType, []int{g.Hidden, g.Batch})
		tensor.Gather(out, v.Const, out.Shape, []int{st[2], st[1-axis]}, d*st[axis])
		return s.g.AddConst(v.Name, out.Reshaped(shape))
	}
	if g.Dirs() > 1 {
		v = s.sliceAt(v, axis, d)
	}
	v = s.reshape(v, []int{g.Batch, g.Hidden})
	return s.reshape(s.transpose(v, []int{1, 0}), shape)
}

// sliceAt is one index of a dimension, which stays.
func (s *sub) sliceAt(v *ir.Value, axis, at int) *ir.Value {
	if v.Type.Shape[axis] == 1 {
		return v
	}
	return s.slice(v, axis, at, at+1)
}

func (s *sub) slice(v *ir.Value, axis, lo, hi int) *ir.Value {
	k := func(x int) *ir.Value { return s.g.AddConst(s.n.Name+"/at", tensor.Ints(x)) }
	return s.op(op.Slice, nil, v, k(lo), k(hi), k(axis))
}

// prepare makes the weights of the gates and the input's share of them.
func (r *recurrence) prepare(x *ir.Value) {
	n, g := r.n, r.geom
	w, rec, bias, peep := n.In[1].Const, n.In[2].Const, n.ConstIn(3), n.ConstIn(7)
	H, rows := g.Hidden, g.Gates*g.Hidden
	if n.Op == op.GRU {
		r.linear = ir.AttrsOf[op.GRUAttrs](n).LinearBeforeReset != 0
	}
	if peep == nil { // all but the last have one function
		r.joint = g.Gates - 1
	}
	kernel := ir.Attrs{"kernel_shape": ir.Ints(1, 1)}
	for k := 0; k < g.Gates; {
		units := H
		if k < r.joint {
			units = r.joint * H
		}
		at := r.dir*rows + k*H
		in := []*ir.Value{x, r.rows(w, at, units, g.Input)}
		if bias != nil {
			input := bias.Floats()[r.dir*2*rows+k*H:][:units]
			state := bias.Floats()[r.dir*2*rows+rows+k*H:][:units]
			sum := slices.Clone(input)
			if r.linear && k == g.Gates-1 {
				r.after = r.vector(state, H)
			} else {
				for i := range sum {
					sum[i] += state[i]
				}
			}
			in = append(in, r.vector(sum, units))
		}
		r.gates = append(r.gates, r.op(op.Conv, kernel.Clone(), in...))
		r.rec = append(r.rec, r.rows(rec, at, units, H))
		k += units / H
	}
	if peep != nil {
		for k := range 3 {
			r.peep = append(r.peep, r.vector(peep.Floats()[(r.dir*3+k)*H:][:H], 1, H, 1, 1))
		}
	}
}

// rows are weights of a 1x1 convolution: rows of a matrix with k columns.
func (r *recurrence) rows(w *tensor.Dense, at, rows, k int) *ir.Value {
	all := w.Reshaped([]int{w.Len() / k, k})
	return r.g.AddConst(r.n.Name+"/weight", all.Slice(0, at, at+rows).Reshaped([]int{rows, k, 1, 1}))
}

func (r *recurrence) vector(x []float64, shape ...int) *ir.Value {
	return r.g.AddConst(r.n.Name+"/vector", tensor.FromFloats(r.n.In[0].Type.DType, shape, x))
}

// as says which part of a step the nodes are that follow.
func (r *recurrence) as(role string) *recurrence {
	r.series = fmt.Sprintf("%s.%d.%d %s", r.n.Name, r.n.ID, r.dir, role)
	return r
}

// share is the input's share of a gate at a step.
func (r *recurrence) share(k, t int) *ir.Value {
	return r.as(fmt.Sprint("share ", k)).sliceAt(r.gates[k], 2, t)
}

// gate is the input's share of a gate with that of the state.
func (r *recurrence) gate(k, t int, h *ir.Value) *ir.Value {
	share := r.share(k, t)
	return r.as(fmt.Sprint("gate ", k)).sum(share, r.product(k, h, nil))
}

// open gives the joint gates of a step.
func (r *recurrence) open(t int, h *ir.Value) []*ir.Value {
	all := r.act(0, r.gate(0, t, h))
	r.as("gates")
	out := make([]*ir.Value, r.joint)
	for k := range out {
		if out[k] = all; r.joint > 1 {
			out[k] = r.slice(all, 1, k*r.geom.Hidden, (k+1)*r.geom.Hidden)
		}
	}
	return out
}

// product is the state's share of a gate; nil for a state of zeros.
func (r *recurrence) product(k int, h, bias *ir.Value) *ir.Value {
	if h == nil {
		return nil
	}
	return r.op(op.Conv, ir.Attrs{"kernel_shape": ir.Ints(1, 1)}, h, r.rec[k], bias)
}

func (r *recurrence) sum(x, y *ir.Value) *ir.Value {
	if y == nil {
		return x
	}
	return r.op(op.Add, nil, x, y)
}

// mul is a product; nil for one with zeros.
func (r *recurrence) mul(x, y *ir.Value) *ir.Value {
	if y == nil {
		return nil
	}
	return r.op(op.Mul, nil, x, y)
}

// look adds peephole k's share of the cell state to a gate.
func (r *recurrence) look(k int, z, c *ir.Value) *ir.Value {
	if r.peep == nil || c == nil {
		return z
	}
	r.as(fmt.Sprint("peephole ", k))
	return r.op(op.Add, nil, z, r.op(op.Mul, nil, c, r.peep[k]))
}

// act is activation k of the direction, for gates on a clipped value.
func (r *recurrence) act(k int, x *ir.Value) *ir.Value {
	if c := r.geom.Clip; k < 2 && !math.IsInf(c, 1) {
		x = r.op(op.Clip, nil, x, r.k(-c), r.k(c))
	}
	alpha, beta := r.geom.ActParams(r.dir, k)
	name := r.geom.ActName(r.dir, k)
	switch name { // those that are no operators
	case "affine":
		return r.op(op.Add, nil, r.op(op.Mul, nil, x, r.k(alpha)), r.k(beta))
	case "scaledtanh":
		th := r.op(op.Tanh, nil, r.op(op.Mul, nil, x, r.k(beta)))
		return r.as("scaled").op(op.Mul, nil, th, r.k(alpha))
	}
	i := slices.IndexFunc(op.All(), func(d *ir.OpDef) bool { return d.Domain == "" && strings.ToLower(d.Name) == name })
	d := op.All()[i]
	attrs := ir.Attrs{}
	for key, v := range map[string]float64{"alpha": alpha, "beta": beta} {
		if slices.ContainsFunc(d.Attrs, func(a ir.AttrSpec) bool { return a.Name == key }) {
			attrs[key] = ir.Float(float32(v))
		}
	}
	return r.op(d, attrs, x)
}

// lstm is a step with the gates i, o, f, c:
//
//	c' = f * c + i * g(z_c), h' = o * act(c')
func (r *recurrence) lstm(t int, h, c *ir.Value) (nh, nc *ir.Value) {
	if r.peep == nil {
		g := r.open(t, h)
		nc = r.cell(g[0], g[2], r.act(1, r.gate(1, t, h)), c)
		return r.as("state").mul(g[1], r.act(2, nc)), nc
	}
	i := r.act(0, r.look(0, r.gate(0, t, h), c))
	nc = r.cell(i, r.act(0, r.look(2, r.gate(2, t, h), c)), r.act(1, r.gate(3, t, h)), c)
	o := r.act(0, r.look(1, r.gate(1, t, h), nc))
	return r.as("state").mul(o, r.act(2, nc)), nc
}

// cell is the cell state behind a step, of its gates and the value g.
func (r *recurrence) cell(i, f, g, c *ir.Value) *ir.Value {
	r.as("keep")
	if ir.AttrsOf[op.LSTMAttrs](r.n).InputForget != 0 {
		f = r.op(op.Sub, nil, r.k(1), i)
	}
	keep := r.mul(f, c)
	return r.as("cell").sum(r.mul(i, g), keep)
}

// gru is a step with the gates z, r, h; n is the new state's share:
//
//	h' = (1 - z) * n + z * h
func (r *recurrence) gru(t int, h, _ *ir.Value) (nh, nc *ir.Value) {
	gates := r.open(t, h)
	z, reset := gates[0], gates[1]
	x := r.share(1, t)
	switch {
	case r.linear && (h != nil || r.after != nil):
		share := r.as("new").product(1, h, r.after)
		if share == nil {
			share = r.g.AddConst(r.n.Name+"/bias", r.after.Const.Reshaped([]int{1, r.geom.Hidden, 1, 1}))
		}
		x = r.sum(x, r.mul(reset, share))
	case !r.linear && h != nil:
		x = r.as("new").sum(x, r.product(1, r.mul(reset, h), nil))
	}
	n := r.act(1, x)
	n = r.as("update").mul(r.op(op.Sub, nil, r.k(1), z), n)
	keep := r.as("keep").mul(z, h)
	return r.as("state").sum(n, keep), nil
}

func (r *recurrence) rnn(t int, h, _ *ir.Value) (nh, nc *ir.Value) {
	return r.act(0, r.gate(0, t, h)), nil
}
