// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// power rewrites a node that adds up the squares of real and imaginary parts.
func (f *finder) power(n *ir.Node) {
	if n.Removed() || len(n.Out) != 1 || op.HasAct(n) {
		return
	}
	switch n.Op {
	case op.Mul:
		f.unrooted(n)
	case op.Add:
		a, b := squared(n.In[0]), squared(n.In[1])
		if a == nil || b == nil || !slices.Equal(a.Type.Shape, b.Type.Shape) {
			return
		}
		f.replace(n, a, b)
	case op.Get("", "ReduceSumSquare"), op.Get("", "ReduceL2"), op.Get("", "ReduceSum"):
		f.reduced(n)
	}
}

// squared is v in v*v; nil for anything else.
func squared(v *ir.Value) *ir.Value {
	if v.Def == nil || v.Def.Op != op.Mul || v.Def.In[0] != v.Def.In[1] || op.HasAct(v.Def) {
		return nil
	}
	return v.Def.In[0]
}

// unrooted rewrites the square of the root of a power.
func (f *finder) unrooted(n *ir.Node) {
	v := squared(n.Out[0])
	if v == nil || v.Def == nil || v.Def.Op != op.Sqrt || op.HasAct(v.Def) {
		return
	}
	s := spectrumOf(v.Def.In[0])
	if s == nil || ir.AttrsOf[op.SpectrumAttrs](s.Def).Power == 0 {
		return
	}
	f.g.ReplaceUses(n.Out[0], v.Def.In[0])
	f.c.Did(s.Def, "the square of its root")
	f.g.Remove(n)
}

// reduced is the same along the dimension of the parts.
func (f *finder) reduced(n *ir.Node) {
	x := n.In[0]
	if n.Op == op.Get("", "ReduceSum") {
		if x = squared(x); x == nil {
			return
		}
	}
	axes, err := op.ReduceAxes(n)
	if err != nil || len(axes) != 1 || x.Type.Shape[axes[0]] != 2 || spectrumOf(x) == nil {
		return
	}
	f.replaceAt(n, x, func(d *tensor.Dense) (re, im *tensor.Dense) {
		others := lists.Where(x.Type.Rank(), func(i int) bool { return i != axes[0] })
		d = d.Transpose(append([]int{axes[0]}, others...))
		half := d.Len() / 2
		flat := d.Reshaped([]int{d.Len()})
		return flat.Slice(0, 0, half), flat.Slice(0, half, d.Len())
	})
}

// replace puts powers in the place of a node that adds squares of a and b.
func (f *finder) replace(n *ir.Node, a, b *ir.Value) {
	s := spectrumOf(a)
	if s == nil || spectrumOf(b) != s {
		return
	}
	t := &tracer{source: s}
	re, ok1 := t.trace(a)
	im, ok2 := t.trace(b)
	if ok1 && ok2 {
		f.powers(n, s, re, im)
	}
}

func (f *finder) replaceAt(n *ir.Node, x *ir.Value, split func(d *tensor.Dense) (re, im *tensor.Dense)) {
	t := &tracer{source: spectrumOf(x)}
	o, ok := t.trace(x)
	if !ok {
		return
	}
	var re, im origin
	re.at, im.at = split(o.at)
	re.factor, im.factor = split(o.factor)
	f.powers(n, t.source, re, im)
}

// powers rewrites n, whose element i is the sum of the squares of re[i] and im[i].
func (f *finder) powers(n *ir.Node, s *ir.Value, re, im origin) {
	a := ir.AttrsOf[op.SpectrumAttrs](s.Def)
	shape := s.Type.Shape[:len(s.Type.Shape)-1]
	if a.Power != 0 || re.at.Len() != tensor.Count(shape) {
		return
	}
	x, y := tensor.As[int64](re.at), tensor.As[int64](im.at)
	bin := make([]int64, len(x))
	for i := range x {
		lo, hi := min(x[i], y[i]), max(x[i], y[i])
		if lo < 1 || lo%2 != 1 || hi != lo+1 || abs(re.factor.Float(i)) != 1 || abs(im.factor.Float(i)) != 1 {
			return
		}
		bin[i] = lo / 2
	}
	perm, ok := order(bin, shape)
	if !ok {
		return
	}
	attrs := s.Def.Attrs.Clone()
	attrs["power"] = ir.Int(1)
	v := f.insert(s.Def, op.Spectrum, "power", attrs, s.Def.In...)
	if op.Reorders(shape, perm) {
		v = f.insert(n, op.Transpose, "order", ir.Attrs{"perm": ir.Ints(perm...)}, v)
	}
	if n.Op == op.Get("", "ReduceL2") {
		v = f.insert(n, op.Sqrt, "root", nil, v)
	}
	v = f.reshape(n, v, n.Out[0].Type.Shape)
	f.c.Replace(f.g, n, v, "powers of a spectrum")
}

func abs(x float64) float64 { return max(x, -x) }

// order is the permutation of [batch, frames, bins] that a list of places is.
func order(at []int64, shape []int) ([]int, bool) {
	places := tensor.New(tensor.I64, shape)
	for i := range places.Len() {
		places.SetInt(i, int64(i))
	}
	for _, perm := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		if slices.Equal(at, tensor.As[int64](places.Transpose(perm))) {
			return perm, true
		}
	}
	return nil, false
}
