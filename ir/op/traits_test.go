// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestTraits compares the traits of functions of one number with the functions.
func TestTraits(t *testing.T) {
	x := []float64{0, 1e-30, -1e-30, 1e4, -1e4, math.MaxFloat32, -math.MaxFloat32}
	for v := -20.0; v <= 20; v += 0.125 {
		x = append(x, v)
	}
	for _, d := range op.All() {
		if d.Scalar == nil || d.MaxIn != 1 {
			continue
		}
		n, other := &ir.Node{Op: d}, &ir.Node{Op: d}
		for _, a := range d.Attrs {
			if a.Kind == ir.AttrFloat {
				other.SetAttr(a.Name, ir.Float(-0.75))
			}
		}
		negative := false
		for _, v := range x {
			y := d.Scalar(n, v)
			negative = negative || y < 0 || d.Scalar(other, v) < 0
			if d.Finite && (math.IsInf(y, 0) || y != y) {
				t.Errorf("%s is marked Finite, and %g at %g", d.Name, y, v)
			}
		}
		testenv.Check(t, d.NonNegative != negative || d.Quant != ir.QFloat,
			"%s: NonNegative is %v, and the function has negative results: %v", d.Name, d.NonNegative, negative)
		if d.Quant != ir.QInt {
			compare(t, d, "Homogeneous", d.Homogeneous, homogeneous(n, x) && homogeneous(other, x))
		}
		checkOutQuant(t, n)
		for _, side := range []float64{-1, 1} { // on a line, the middle is the mean of the ends
			if a, m, b := d.Scalar(n, side), d.Scalar(n, 1.5*side), d.Scalar(n, 2*side); d.Straight &&
				math.Abs(m-(a+b)/2) > 1e-12 {
				t.Errorf("%s is marked Straight, and is %g, %g, %g at %g and on", d.Name, a, m, b, side)
			}
		}
	}
}

// constNode is a node of constants.
func constNode(t *testing.T, d *ir.OpDef, attrs ir.Attrs, in ...*tensor.Dense) *ir.Node {
	t.Helper()
	g := ir.New("test")
	var vs []*ir.Value
	for i, x := range in {
		vs = append(vs, g.AddConst(string(rune('a'+i)), x))
	}
	n := testenv.Must(g.Add(d, d.Name, attrs, 1, vs...))(t)
	return n
}

func same(a, b float64) bool { return a == b || a != a && b != b }

func homogeneous(n *ir.Node, x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return !same(n.Op.Scalar(n, 4*v), 4*n.Op.Scalar(n, v)) })
}

// checkOutQuant: all results are within what the quantisation holds, and come near
// its end.
func checkOutQuant(t *testing.T, n *ir.Node) {
	t.Helper()
	d := n.Op
	for dt, q := range d.OutQuant {
		lo, hi := dt.IntRange()
		first, last := stands(q, lo)-float64(q.Scale[0]), stands(q, hi)+float64(q.Scale[0])
		least, most := d.Scalar(n, -1e4), d.Scalar(n, 1e4)
		testenv.Check(t, !(least < first) && !(most > last) && !(most < 0.99*last),
			"%s gives %g to %g, its %s holds %g to %g", d.Name, least, most, dt, first, last)
	}
}

func stands(q *ir.Quant, v int64) float64 { return float64(v-int64(q.Zero[0])) * float64(q.Scale[0]) }

// TestPairTraits compares the traits of operators with two operands with what
// these compute: both are true, or neither is.
func TestPairTraits(t *testing.T) {
	seen := 0
	for _, d := range op.All() {
		if d.Pattern != ir.Broadcast || d.MinIn > 2 || d.MaxIn >= 0 && d.MaxIn != 2 || d.Quant == ir.QNone {
			continue
		}
		seen++
		attrs := ir.Attrs{}
		if d.Declares("fmod") {
			attrs["fmod"] = ir.Int(1)
		}
		at := func(a, b float64) float64 {
			n := constNode(t, d, attrs, tensor.Of([]int{1}, []float64{a}), tensor.Of([]int{1}, []float64{b}))
			y := testenv.Must(d.Eval(n, []*tensor.Dense{n.In[0].Const, n.In[1].Const}))(t)
			return y[0].Float(0)
		}
		for _, a := range operands {
			if d.Neutral != nil && !same(at(a, *d.Neutral), a) {
				t.Errorf("%s: %g is not neutral for %g", d.Name, *d.Neutral, a)
			}
		}
		if !isBool(t, d, attrs) {
			m := measurePair(at)
			compare(t, d, "Commutes", d.Commutes, m.commutes)
			compare(t, d, "Monotone", d.Monotone, m.monotone)
			compare(t, d, "Spread", d.Spread, m.spread)
		}
	}
	testenv.Check(t, seen >= 10, "%d operators of two operands", seen)
}

// operands are numbers that a function of two is measured on.
var operands = []float64{-2.5, -1, -0.25, 0, 0.5, 1, 2, 3}

// measured is what operators were seen to do.
type measured struct {
	commutes, monotone, homogeneous, zeros, finite bool
	spread                                         ir.Spread
}

func measurePair(at func(a, b float64) float64) measured {
	m := measured{commutes: true, monotone: true}
	selects, averages := true, true
	for _, a := range operands {
		for _, b := range operands {
			y := at(a, b)
			m.commutes = m.commutes && same(y, at(b, a))
			selects = selects && (y == a || y == b)
			averages = averages && between(a, y, b)
		}
		for i := 1; i < len(operands)-1; i++ { // between its neighbours, whatever the other operand is
			lo, v, hi := operands[i-1], operands[i], operands[i+1]
			m.monotone = m.monotone && between(at(lo, a), at(v, a), at(hi, a)) &&
				between(at(a, lo), at(a, v), at(a, hi))
		}
	}
	m.spread = spread(selects, averages)
	return m
}

func between(a, y, b float64) bool { return min(a, b) <= y && y <= max(a, b) }

// isBool reports comparisons: their results are no numbers.
func isBool(t *testing.T, d *ir.OpDef, attrs ir.Attrs) bool {
	t.Helper()
	x := tensor.Of([]int{1}, []float64{0})
	return constNode(t, d, attrs, x, x).Out[0].Type.DType == tensor.Bool
}

func spread(selects, averages bool) ir.Spread {
	switch {
	case selects:
		return ir.Selects
	case averages:
		return ir.Averages
	}
	return ir.AnySpread
}

// TestManyTraits compares the traits of pools and reductions with what they compute
// of a few numbers.
func TestManyTraits(t *testing.T) {
	seen := 0
	for _, d := range op.All() {
		pools := d.Window.Pools()
		if !pools && d.Pattern != ir.Reduce {
			continue
		}
		seen++
		m := measureMany(func(v ...float64) float64 { return evalRow(t, d, v) })
		compare(t, d, "Homogeneous", d.Homogeneous, m.homogeneous && pools)
		compare(t, d, "Monotone", d.Monotone, m.monotone && pools)
		compare(t, d, "ZerosNeutral", d.ZerosNeutral, m.zeros && !pools)
		compare(t, d, "Finite", d.Finite, m.finite && !pools)
		compare(t, d, "Spread", d.Spread, m.spread)
	}
	testenv.Check(t, seen >= 16, "%d pools and reductions", seen)
}

// compare reports a trait that says something else than what the operator does.
func compare[T comparable](t *testing.T, d *ir.OpDef, trait string, says, does T) {
	t.Helper()
	testenv.Check(t, says == does, "%s: %s is %v, and what it computes: %v", d.Name, trait, says, does)
}

func measureMany(at func(v ...float64) float64) measured {
	m := measured{homogeneous: true, monotone: true, zeros: true, finite: true}
	selects, averages := true, true
	for _, v := range [][]float64{{1, 2, 4.5}, {-1, -2.5, 3}, {-3, -4, -5}, {0.25, 0, 7}, {0, 0, 0}, {6, 1, 1}} {
		y := at(v...)
		m.homogeneous = m.homogeneous && same(at(4*v[0], 4*v[1], 4*v[2]), 4*y)
		m.zeros = m.zeros && same(at(append(slices.Clone(v), 0)...), y)
		m.finite = m.finite && !math.IsInf(y, 0) && y == y
		selects = selects && slices.Contains(v, y)
		averages = averages && between(slices.Min(v), y, slices.Max(v))
		for s := -8.6; s < 8; s++ {
			m.monotone = m.monotone && between(at(v[0], v[1], s), at(v[0], v[1], s+0.5), at(v[0], v[1], s+1))
		}
	}
	m.spread = spread(selects, averages)
	return m
}

// evalRow is what an operator makes of one window of numbers.
func evalRow(t *testing.T, d *ir.OpDef, v []float64) float64 {
	t.Helper()
	attrs := ir.Attrs{}
	if d.Declares("kernel_shape") {
		attrs["kernel_shape"] = ir.Ints(len(v))
	}
	n := constNode(t, d, attrs, tensor.Of([]int{1, 1, len(v)}, v))
	y, err := d.Eval(n, []*tensor.Dense{n.In[0].Const})
	testenv.Require(t, err == nil && y[0].Len() == 1, "%s gives %v, %v", d.Name, y, err)
	return y[0].Float(0)
}

// TestLanes: what is marked computes every line along its axis by itself.
func TestLanes(t *testing.T) {
	lines := [][]float64{{1, -2, 3.5, 0.5}, {0, 4, 4, -1}}
	for _, d := range op.All() {
		if !d.Lanes {
			continue
		}
		eval := func(axis int, x *tensor.Dense) *tensor.Dense {
			n := constNode(t, d, ir.Attrs{"axis": ir.Int(axis)}, x)
			y, err := d.Eval(n, []*tensor.Dense{x})
			testenv.Require(t, err == nil && slices.Equal(y[0].Shape, x.Shape), "%s: %v, %v", d.Name, y, err)
			return y[0]
		}
		both := tensor.New(tensor.F64, []int{4, 2})
		for k, line := range lines {
			for i, v := range line {
				both.SetFloat(2*i+k, v)
			}
		}
		y := eval(0, both)
		for k, line := range lines {
			alone := eval(1, tensor.Of([]int{1, 4}, line))
			for i := range line {
				if got, want := y.Float(2*i+k), alone.Float(i); got != want {
					t.Errorf("%s: element %d of line %d is %g beside others, %g alone", d.Name, i, k, got, want)
				}
			}
		}
	}
}

// TestWeightAxis: weights that are 0 for one index of the axis give zeros in one
// output channel and nowhere else.
func TestWeightAxis(t *testing.T) {
	one := func(shape ...int) *tensor.Dense {
		d := tensor.New(tensor.F64, shape)
		for i := range d.Len() {
			d.SetFloat(i, 1)
		}
		return d
	}
	cases := map[string][]*tensor.Dense{
		"Conv": {one(1, 2, 4), one(3, 2, 1)}, "ConvTranspose": {one(1, 2, 4), one(2, 3, 1)},
		"Gemm": {one(5, 2), one(2, 3)}, "MatMul": {one(5, 2), one(2, 3)},
	}
	for _, d := range op.All() {
		if d.WeightAxis == nil {
			continue
		}
		c, ok := cases[d.Name]
		if !ok {
			t.Errorf("%s has a WeightAxis and no case here", d.Name)
			continue
		}
		x, w := c[0], c[1]
		n := constNode(t, d, nil, x, w)
		axis := d.WeightAxis(n)
		inner := tensor.Strides(w.Shape)[axis]
		for i := range w.Len() {
			if i/inner%w.Shape[axis] == 1 {
				w.SetFloat(i, 0)
			}
		}
		y := testenv.Must(d.Eval(n, []*tensor.Dense{x, w}))(t)
		channels := 1 // [N, C, L] and [M, N]
		step := tensor.Strides(y[0].Shape)[channels]
		for i := range y[0].Len() {
			if zero := i/step%y[0].Shape[channels] == 1; zero != (y[0].Float(i) == 0) {
				t.Errorf("%s: element %d is %g", d.Name, i, y[0].Float(i))
			}
		}
	}
}

// rare are operators that random networks lack.
const rare = `graph "rare" {
  in %x : f32[2,4,6,6]
  const %s : f32[6,6] = rand 1
  %h = Hardmax(%x) {axis=1}
  %l = LpNormalization(%h) {axis=2}
  %r = RMSNormalization(%x, %s) {axis=2}
  %t = Transpose(%r) {perm=[0,1,3,2]}
  %y = MatMul(%x, %t)
  out "y" = %y
  out "l" = %l
}`

// TestAlong: parts of a result that are computed from parts of the inputs are the same bits as in the whole, along
// every axis of every node of random networks.
func TestAlong(t *testing.T) {
	seen := map[*ir.OpDef]int{}
	for seed := range uint64(400) {
		g := irtest.GenFloat(seed)
		if seed == 0 {
			g = irtest.Parse(t, rare)
		}
		values := map[*ir.Value]*tensor.Dense{}
		for i, d := range irtest.Inputs(g, seed) {
			values[g.In[i]] = d
		}
		for _, n := range g.Nodes {
			in := make([]*tensor.Dense, len(n.In))
			for i, v := range n.In {
				if v != nil {
					in[i] = cmp.Or(v.Const, values[v])
				}
			}
			out := testenv.Must(ir.EvalNode(n, in))(t)
			for i, v := range n.Out {
				values[v] = out[i]
			}
			seen[n.Op] += partwise(t, n, seed, in, out[0])
		}
	}
	for _, d := range op.All() {
		if (d.Along != nil || d.View == ir.Reshaped || d.Lanes) && seen[d] == 0 {
			t.Errorf("%s computes in parts, and no network has it", d.Name)
		}
	}
}

// partwise computes n along every axis that falls into parts, and says along how many.
func partwise(t *testing.T, n *ir.Node, seed uint64, in []*tensor.Dense, out *tensor.Dense) (axes int) {
	t.Helper()
	for axis := range n.Out[0].Type.Rank() {
		a := n.Along(axis)
		if a.Parts < 2 {
			continue
		}
		axes++
		parts := a.Parts
		if parts%2 == 0 && seed%2 == 0 {
			parts /= 2
		}
		for k := range parts {
			part(t, n, a, axis, span{k, parts}, in, out)
		}
	}
	return axes
}

// span is part k of so many.
type span struct{ k, parts int }

func (s span) of(d *tensor.Dense, axis int) *tensor.Dense {
	size := d.Shape[axis] / s.parts
	return d.Slice(axis, s.k*size, (s.k+1)*size)
}

// part computes part of n, and compares.
func part(t *testing.T, n *ir.Node, a ir.Along, axis int, s span, in []*tensor.Dense, whole *tensor.Dense) {
	t.Helper()
	g, d, attrs, want := ir.New("part"), n.Op, n.Attrs, s.of(whole, axis)
	var vs []*ir.Value
	var ins []*tensor.Dense
	for i, x := range in {
		if x == nil {
			vs, ins = append(vs, nil), append(ins, nil)
			continue
		}
		if a.In[i] != ir.Whole {
			x = s.of(x, a.In[i])
		}
		vs, ins = append(vs, g.AddConst("x", x)), append(ins, x)
	}
	if d.View == ir.Reshaped {
		shape := tensor.Ints(want.Shape...)
		d, attrs, vs, ins = op.Reshape, nil, append(vs[:1], g.AddConst("shape", shape)), append(ins[:1], shape)
	}
	m := testenv.Must(g.Add(d, "y", attrs, 1, vs...))(t)
	got := testenv.Must(ir.EvalNode(m, ins))(t)
	testenv.Require(t, tensor.Equal(got[0], want), "%s, part %v along %d: %v, want %v", n, s, axis, got[0], want)
}
