// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// rep is a tensor of the graph being rewritten, as it stands in the new graph.
type rep struct {
	shape []int
	konst *tensor.Dense // a constant
	whole *ir.Value     // the tensor in its logical shape, where that exists
	parts []*part       // nil until somebody wants them
}

// builder makes the new graph.
type builder struct {
	old, g *ir.Graph
	env    map[*ir.Value]*rep
	mixing map[*ir.Value]bool
	// computed are the values that something computes with, behind movements.
	computed map[*ir.Value]bool
	left     []Left
	cur      *ir.Node             // node being rewritten
	memo     map[string]*ir.Value // data movement made so far
	// batches: the first dimension counts samples wherever it is not 1. Otherwise
	// it is a dimension as others are, and lies on C.
	batches bool
	math    bool // sums are taken in another order, or may be
	consts  map[string]*ir.Value
}

// refusal is why an operator keeps its logical form. What cannot be rewritten fails
// with one, wherever in the parts that is found; attempt takes it.
type refusal string

func (r refusal) Error() string { return string(r) }

func no(format string, args ...any) refusal { return refusal(fmt.Sprintf(format, args...)) }

// refuse fails with a refusal, refuseIf where something is so.
func refuse(format string, args ...any) { fail.Check(no(format, args...)) }

func refuseIf(is bool, format string, args ...any) {
	if is {
		refuse(format, args...)
	}
}

// attempt calls f and gives the reason why f refuses, "" where it does not.
func attempt(f func()) (why refusal) {
	if err := fail.Caught(f); !errors.As(err, &why) {
		fail.Check(err)
	}
	return why
}

func (b *builder) name(suffix string) string {
	if b.cur == nil {
		return suffix
	}
	if suffix == "" {
		return b.cur.Name
	}
	return b.cur.Name + "/" + suffix
}

// emit adds a node with one output; on constants it is evaluated at once.
func (b *builder) emit(d *ir.OpDef, suffix string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	return b.emitAs(ir.Type{}, d, suffix, attrs, in...)
}

// emitAs is emit for a result with the quantisation of t, if it has one.
func (b *builder) emitAs(t ir.Type, d *ir.OpDef, suffix string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	n := fail.Must(b.g.Add(d, b.name(suffix), attrs, 1, in...))
	if t.Quant != nil {
		n.Out[0].Type = n.Out[0].Type.WithQuant(t.DType, t.Quant)
	}
	if b.cur != nil {
		n.Origin, n.Series = b.cur.Origin, b.cur.Series
	}
	data := make([]*tensor.Dense, len(n.In))
	for i, v := range n.In {
		if v != nil && v.Const == nil {
			return n.Out[0]
		}
		if v != nil {
			data[i] = v.Const
		}
	}
	out := fail.Must(ir.EvalNode(n, data))
	name := n.Out[0].Name
	b.g.Remove(n)
	return b.g.AddQuantConst(name, out[0], n.Out[0].Type.Quant)
}

// move is emit for data movement by constant ints: the same movement of the
// same value is made once.
func (b *builder) move(d *ir.OpDef, suffix string, attrs ir.Attrs, v *ir.Value, ints ...[]int) *ir.Value {
	key := fmt.Sprint(d.Name, v.ID, ints)
	for _, k := range attrs.Names() {
		key += fmt.Sprint(k, attrs[k].Int, attrs[k].Ints, attrs[k].String)
	}
	if w := b.memo[key]; w != nil {
		return w
	}
	in := []*ir.Value{v}
	for _, x := range ints {
		in = append(in, b.ints(x))
	}
	w := b.emitAs(v.Type, d, suffix, attrs, in...)
	b.memo[key] = w
	return w
}

func (b *builder) ints(x []int) *ir.Value {
	key := fmt.Sprint(x)
	v := b.consts[key]
	if v == nil {
		v = b.g.AddConst(b.name("ints"), tensor.Ints(x...))
		b.consts[key] = v
	}
	return v
}

func (b *builder) reshape(v *ir.Value, shape []int) *ir.Value {
	if slices.Equal(v.Type.Shape, shape) {
		return v
	}
	return b.move(op.Reshape, "reshape", nil, v, shape)
}

func (b *builder) transpose(v *ir.Value, perm []int) *ir.Value {
	if slices.Equal(perm, ir.Identity(len(perm))) {
		return v
	}
	return b.move(op.Transpose, "transpose", ir.Attrs{"perm": ir.Ints(perm...)}, v)
}

// slice reads [lo, hi) in steps along one axis.
func (b *builder) slice(v *ir.Value, axis, lo, hi, step int) *ir.Value {
	if lo == 0 && hi == v.Type.Shape[axis] && step == 1 {
		return v
	}
	return b.move(op.Slice, "slice", nil, v, []int{lo}, []int{hi}, []int{axis}, []int{step})
}

func (b *builder) concat(axis int, vs []*ir.Value) *ir.Value {
	if len(vs) == 1 {
		return vs[0]
	}
	return b.emitAs(vs[0].Type, op.Concat, "concat", ir.Attrs{"axis": ir.Int(axis)}, vs...)
}

// of is the rep of a value of the old graph.
func (b *builder) of(v *ir.Value) *rep {
	r := b.env[v]
	if r == nil {
		bug.If(v.Const == nil, "%s is read before it is rewritten", v)
		r = &rep{shape: v.Type.Shape, konst: v.Const}
		r.whole = b.g.AddConst(v.Name, v.Const)
		r.whole.Type = v.Type
		b.env[v] = r
	}
	return r
}

func (b *builder) get(r *rep) []*part {
	if r.parts == nil {
		refuseIf(tensor.Count(r.shape) == 0, "the tensor %v has no elements", r.shape)
		p := initial(r.shape)
		if !b.batches && r.konst == nil && len(r.shape) != 4 && len(p.axes[axN]) > 0 {
			p = onChannels(r.shape)
		}
		p.val = b.reshape(r.whole, p.axes.shape())
		r.parts = []*part{p}
	}
	return r.parts
}

func (b *builder) logical(r *rep) *ir.Value {
	if r.whole != nil {
		return r.whole
	}
	prefer := func(int) int { return axC }
	if len(r.shape) == 4 {
		prefer = func(d int) int { return d }
	} else if len(r.shape) == 3 {
		prefer = func(d int) int { return []int{axN, axC, axW}[d] }
	}
	parts := b.mergeAll(r.parts, prefer)
	if len(parts) > 1 {
		r.whole = assemble(b, r.parts, r.shape)
		return r.whole
	}
	p := parts[0]
	t := initial(r.shape)
	var want axes
	for x, as := range t.axes {
		for _, a := range as {
			want[x] = append(want[x], p.atomsOf(a.dim)...)
		}
	}
	q := b.relayout(p, want)
	r.whole = b.reshape(q.val, r.shape)
	if len(r.shape) == 4 {
		q.normalise()
		r.parts = []*part{q}
	}
	return r.whole
}

// arranged is the data of arrange.
func arranged(d *tensor.Dense, rank int, p *part) *tensor.Dense {
	if d.Len() == 1 {
		return d.Reshaped([]int{1, 1, 1, 1})
	}
	st := make([]int, rank)
	own := tensor.Strides(d.Shape)
	for i := range own {
		if d.Shape[i] != 1 {
			st[rank-len(own)+i] = own[i]
		}
	}
	base, shape := 0, make([]int, 4)
	for k, i := range p.start {
		base += i * st[k]
	}
	var dims, strides []int
	for x, as := range p.axes {
		shape[x] = 1
		if slices.ContainsFunc(as, func(a atom) bool { return st[a.dim] != 0 }) {
			shape[x] = count(as)
			for _, a := range as {
				dims, strides = append(dims, a.size), append(strides, a.step*st[a.dim])
			}
		}
	}
	// where a dimension is broadcast its offset must not count: strides are 0
	out := tensor.New(d.DType, dims)
	tensor.Gather(out, d, dims, strides, base)
	return out.Reshaped(shape)
}
