// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// maxTraced bounds the elements of a value whose sources are traced.
const maxTraced = 1 << 22

// origin says what every element of a value is: the element at of a source (counted
// from 1; 0 is the number zero) times factor.
type origin struct {
	at     *tensor.Dense // int64
	factor *tensor.Dense // float32
}

// tracer follows values back through nodes that move data, or multiply it by
// constants, to the one value that they come from.
type tracer struct {
	source *ir.Value
	known  map[*ir.Value]origin
}

// source is the one value from which v is made by moves and constant factors.
func source(v *ir.Value) *ir.Value {
	for v.Def != nil && follows(v.Def) {
		var next *ir.Value
		for _, i := range carriers(v.Def) {
			x := v.Def.In[i]
			if x == nil || x.Const != nil {
				continue
			}
			s := source(x)
			if next != nil && s != next {
				return v
			}
			next = s
		}
		if next == nil {
			return v
		}
		v = next
	}
	return v
}

// carriers are the inputs of a node whose elements its result has.
func carriers(n *ir.Node) []int {
	if n.Op == op.Mul {
		return []int{0, 1}
	}
	return n.Op.DataInputs(n)
}

// follows reports a node whose result is elements of its operand, zeros, or products
// with constants.
func follows(n *ir.Node) bool {
	if len(n.Out) != 1 || n.Out[0].Type.Elems() > maxTraced || n.Out[0].Type.DType != tensor.F32 || n.Op.Impure ||
		op.HasAct(n) {
		return false
	}
	if n.Op == op.Mul {
		return (n.In[0].Const == nil) != (n.In[1].Const == nil)
	}
	return n.Op.Quant == ir.QMove && !n.Op.Converts && movesAsKnown(n)
}

// movesAsKnown reports a node that moves data to places that are known, with zeros
// between them.
func movesAsKnown(n *ir.Node) bool {
	data := n.Op.DataInputs(n)
	for i, v := range n.In {
		switch {
		case v == nil:
		case i == n.Op.Fill && i > 0:
			if v.Const == nil || v.Const.Len() != 1 || v.Const.Float(0) != 0 {
				return false
			}
		case v.Const == nil && !slices.Contains(data, i):
			return false
		}
	}
	return true
}

// trace is the origin of every element of v; false where v is not made of the source
// alone.
func (t *tracer) trace(v *ir.Value) (origin, bool) {
	if o, ok := t.known[v]; ok {
		return o, true
	}
	o, ok := t.derive(v)
	if ok {
		if t.known == nil {
			t.known = map[*ir.Value]origin{}
		}
		t.known[v] = o
	}
	return o, ok
}

func (t *tracer) derive(v *ir.Value) (origin, bool) {
	k := v.Type.Elems()
	switch {
	case v == t.source:
		at, factor := make([]int64, k), make([]float32, k)
		for i := range at {
			at[i], factor[i] = int64(i)+1, 1
		}
		return origin{tensor.Of(v.Type.Shape, at), tensor.Of(v.Type.Shape, factor)}, true
	case v.Const != nil: // the zeros in front of a signal
		u, ok := v.Const.Uniform()
		return origin{tensor.New(tensor.I64, v.Type.Shape), tensor.New(tensor.F32, v.Type.Shape)},
			ok && u.Float(0) == 0
	case v.Def == nil || !follows(v.Def):
		return origin{}, false
	case v.Def.Op == op.Mul:
		return t.scaled(v.Def)
	}
	return t.moved(v.Def)
}

// scaled is the origin of a product with a constant.
func (t *tracer) scaled(n *ir.Node) (origin, bool) {
	x, c := n.In[0], n.In[1]
	if x.Const != nil {
		x, c = c, x
	}
	o, ok := t.trace(x)
	if !ok || x.Type.Elems() != n.Out[0].Type.Elems() {
		return origin{}, false
	}
	y, err := op.Mul.Eval(n, []*tensor.Dense{o.factor, c.Const})
	if err != nil {
		return origin{}, false
	}
	return origin{o.at.Reshaped(n.Out[0].Type.Shape), y[0]}, true
}

// moved is the origin of what a node moves.
func (t *tracer) moved(n *ir.Node) (origin, bool) {
	inputs := max(len(n.In), n.Op.Fill+1)
	at, factor := make([]*tensor.Dense, inputs), make([]*tensor.Dense, inputs)
	if f := n.Op.Fill; f > 0 { // a zero; one that is absent would have the type of n's data
		at[f], factor[f] = tensor.New(tensor.I64, []int{1}), tensor.New(tensor.F32, []int{1})
	}
	data := n.Op.DataInputs(n)
	for i, v := range n.In {
		switch {
		case v == nil || i == n.Op.Fill && i > 0:
		case slices.Contains(data, i):
			o, ok := t.trace(v)
			if !ok {
				return origin{}, false
			}
			at[i], factor[i] = o.at, o.factor
		default:
			at[i], factor[i] = v.Const, v.Const
		}
	}
	a, err := n.Op.Eval(n, at)
	if err != nil {
		return origin{}, false
	}
	f, err := n.Op.Eval(n, factor)
	if err != nil {
		return origin{}, false
	}
	return origin{a[0], f[0]}, true
}
