// SPDX-License-Identifier: Apache-2.0

package align

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// fill is what the new elements of a tensor hold: one known real, some finite
// reals, or anything (infinities and NaN included, which zero weights would
// not silence).
type fill struct {
	kind  fillKind
	value float64
}

type fillKind uint8

const (
	wild fillKind = iota
	finite
	known
)

var zeros = fill{known, 0}

func (f fill) zero() bool { return f.kind == known && f.value == 0 }

// want is a condition under which axis x may grow at node n: the new elements
// of the operands zero hold 0; or those of one of a pair hold 0 while those of
// the other are finite.
type want struct {
	n    *ir.Node
	x    axis
	zero []int
	pair [2]int
}

// contract couples a dimension that n sums over, x of its first operand: products of new elements must
// vanish.
func (a *analysis) contract(n *ir.Node, x axis) {
	a.wants = append(a.wants, want{n: n, x: x, pair: [2]int{0, 1}})
}

func (a *analysis) checkFills() {
	for _, w := range a.wants {
		if !w.x.free() {
			continue
		}
		ok := true
		if w.zero != nil {
			for _, i := range w.zero {
				ok = ok && a.fillIn(w.n, i).zero()
			}
		} else {
			p, q := a.fillIn(w.n, w.pair[0]), a.fillIn(w.n, w.pair[1])
			ok = p.zero() && q.kind != wild || q.zero() && p.kind != wild
		}
		if !ok {
			w.x.lock(lockAt(w.n, "content", "%s would add up new elements that are not zero", w.n.Op.Name))
		}
	}
}

// fillIn is what new elements of an operand hold. New elements of constants are
// 0 but for the roles in constFill.
func (a *analysis) fillIn(n *ir.Node, i int) fill {
	v := n.Input(i)
	switch {
	case v == nil:
		return zeros
	case v.Const != nil:
		switch r := constFill(n, i); r {
		case fillZero:
			return zeros
		case fillOne:
			return fill{known, 1}
		}
		return fill{finite, 0}
	}
	if f, ok := a.fills[v]; ok {
		return f
	}
	return fill{finite, 0} // a padded graph input: whatever the user writes there
}

func (a *analysis) fillOf(n *ir.Node) {
	act := ir.AttrsOf[op.Act](n)
	f := a.outFill(n)
	for _, v := range n.Out {
		g := f
		if g.kind == known && act.ActMin != nil {
			g.value = math.Max(g.value, float64(*act.ActMin))
		}
		if g.kind == known && act.ActMax != nil {
			g.value = math.Min(g.value, float64(*act.ActMax))
		}
		if g.kind == known && (math.IsNaN(g.value) || math.IsInf(g.value, 0)) {
			g = fill{}
		}
		if v.Type.Quant != nil {
			switch {
			case g.kind == wild:
				g = fill{finite, 0}
			case g.kind == known && g.value != 0:
				g = fill{finite, 0} // rounded
			}
		}
		a.fills[v] = g
	}
}

func (a *analysis) outFill(n *ir.Node) fill {
	x := a.fillIn(n, 0)
	switch {
	case n.Op.WeightAxis != nil:
		return a.productFill(n, x)
	case n.Op == op.BatchNormalization, n.Op == op.InstanceNormalization:
		if n.Input(1).Const != nil && x.kind != wild {
			return zeros // scale and bias are 0
		}
		return fill{finite, 0}
	case n.Op == op.Pad:
		if n.Input(2) == nil {
			return x // channels that are padded at their border get zeros there, too
		}
		return x.join(fill{finite, 0})
	case n.Op == op.Concat:
		for i := 1; i < len(n.In); i++ {
			x = x.join(a.fillIn(n, i))
		}
		return x
	case n.Op.Copies(), n.Op.Converts, moves(n), selects(n):
		return x
	case n.Op.Window.Pools(), vanishes(n.Op):
		if x.zero() {
			return zeros
		}
		return x.join(fill{finite, 1})
	case n.Op == op.Clip:
		return clipFill(n, x)
	case n.Op.Pattern == ir.Elementwise && x.kind == known && n.Op.Scalar != nil:
		return fill{known, n.Op.Scalar(n, x.value)}
	case n.Op.Pattern == ir.Broadcast:
		return a.broadcastFill(n)
	case n.Op.Finite && x.kind != wild:
		return fill{finite, 0}
	}
	return fill{}
}

// productFill: products with zeros and no bias beside them are zeros.
func (a *analysis) productFill(n *ir.Node, x fill) fill {
	b := n.Input(2)
	if !a.fillIn(n, 1).zero() && !x.zero() ||
		b != nil && (b.Const == nil || b.Type.Elems() == 1 && n.Out[0].Type.Shape[1] > 1) {
		return fill{finite, 0}
	}
	return zeros
}

// clipFill is a known value within constant bounds.
func clipFill(n *ir.Node, x fill) fill {
	lo, hi, ok := op.ClipBounds(n)
	if !ok || x.kind != known {
		return x.join(fill{finite, 0}) // the bounds may be anything
	}
	x.value = math.Min(math.Max(x.value, lo), hi)
	return x
}

// moves reports operators whose results are elements of input 0 alone, in other
// places: not those that put zeros beside them.
func moves(n *ir.Node) bool {
	d := n.Op
	return d.Pattern == ir.Injective && d.DataIn == nil && d.Fill == 0 && !d.DataSized && d != op.Trilu &&
		d != op.CenterCropPad
}

// vanishes reports the other operators that give zeros for zeros.
func vanishes(d *ir.OpDef) bool {
	return d.Pattern == ir.Reduce && d.Finite && d != op.ReduceLogSumExp || d == op.Resize || d == op.CumSum
}

// selects reports operators whose result is the number that all elements are of
// which they compute it; padding may add zeros to an average.
func selects(n *ir.Node) bool {
	return n.Op.Spread != ir.AnySpread && n.Op.Pattern != ir.Broadcast && n.Op != op.AveragePool
}

// join is what holds for either.
func (f fill) join(g fill) fill {
	switch {
	case f == g:
		return f
	case f.kind == wild || g.kind == wild:
		return fill{}
	}
	return fill{finite, 0}
}

// broadcastFill: what becomes of known elements is computed; of others a product with
// zero is zero, and all but powers, remainders and quotients are finite.
func (a *analysis) broadcastFill(n *ir.Node) fill {
	var fs []fill
	for i, v := range n.In {
		if v != nil {
			fs = append(fs, a.operandFill(n, i))
		}
	}
	is := func(kind fillKind) func(f fill) bool { return func(f fill) bool { return f.kind == kind } }
	switch {
	case slices.ContainsFunc(fs, is(wild)), n.Op == op.Div && (fs[1].kind != known || fs[1].value == 0):
		return fill{}
	case n.Op == op.Mul && slices.ContainsFunc(fs, fill.zero), n.Op == op.PRelu && fs[0].zero():
		return zeros
	case !slices.ContainsFunc(fs, is(finite)) && reals(n):
		in := lists.Map(fs, func(f fill) *tensor.Dense { return tensor.Scalar(f.value) })
		if y, err := n.Op.Eval(n, in); err == nil {
			return fill{known, y[0].Float(0)}
		}
	}
	if n.Op == op.Div || n.Op == op.PRelu || n.Op.Monotone || n.Op.Finite {
		return fill{finite, 0}
	}
	return fill{}
}

// reals reports a node whose operands and result all stand for reals.
func reals(n *ir.Node) bool {
	return !slices.ContainsFunc(slices.Concat(n.In, n.Out), func(v *ir.Value) bool {
		return v != nil && !v.Type.DType.IsFloat() && v.Type.Quant == nil
	})
}

// operandFill is fillIn of an operand that is broadcast: where it is stretched along a growing axis,
// new elements meet its own data.
func (a *analysis) operandFill(n *ir.Node, i int) fill {
	v := n.In[i]
	switch {
	case !a.stretched(n, i):
		return a.fillIn(n, i)
	case v.Const != nil && v.Const.Len() == 1 && v.Type.Quant == nil:
		return fill{known, v.Const.Float(0)}
	}
	return fill{finite, 0}
}

// stretched reports an operand of size 1 along an axis of the result that may
// grow.
func (a *analysis) stretched(n *ir.Node, i int) bool {
	x, y := n.In[i].Type.Shape, a.out(n, 0)
	for d := range y {
		k := d - len(y) + len(x)
		if y[d].size() > 1 && y[d].free() && (k < 0 || x[k] == 1) {
			return true
		}
	}
	return false
}

// How new elements of a constant operand are filled.
type constRole uint8

const (
	fillZero constRole = iota // real 0: the zero point where quantised
	fillOne                   // real 1
	fillLast                  // the element before: scales, zero points, exponents
)

// constFill is the role of operand i of n.
func constFill(n *ir.Node, i int) constRole {
	quant := n.Input(i) != nil && n.Input(i).Type.Quant != nil
	switch n.Op.Name {
	case "QuantizeLinear", "DequantizeLinear":
		if i > 0 {
			return fillLast
		}
	case "BatchNormalization":
		if i == 4 { // variance
			return fillOne
		}
	case "Div":
		if i == 1 && !quant {
			return fillOne
		}
		if i == 1 {
			return fillLast
		}
	case "Pow", "Mod", "Where":
		return fillLast
	}
	return fillZero
}
