// SPDX-License-Identifier: Apache-2.0

package mla

import (
	"math"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// TestTables: a function is tabulated once, however many nodes compute it; with
// another attribute, constant or sign of a zero it is another function.
func TestTables(t *testing.T) {
	g := ir.New("g")
	x := g.AddInput("x", ir.T(tensor.BF16, 4))
	add := func(o *ir.OpDef, attrs ir.Attrs, in ...*ir.Value) *ir.Node {
		n := testenv.Must(g.Add(o, "n", attrs, 1, append([]*ir.Value{x}, in...)...))(t)
		return n
	}
	limit := func(v float64) *ir.Value {
		c := tensor.New(tensor.BF16, nil)
		c.SetFloat(0, v)
		return g.AddConst("c", c)
	}
	elu := func(alpha float32) *ir.Node { return add(op.Elu, ir.Attrs{"alpha": ir.Float(alpha)}) }
	clip := func(v float64) *ir.Node { return add(op.Clip, nil, limit(v)) }
	minus := math.Copysign(0, -1)
	var known tables
	for i, c := range []struct {
		a, b *ir.Node
		same bool
	}{
		{add(op.Sigmoid, nil), add(op.Sigmoid, nil), true}, {add(op.Sigmoid, nil), add(op.Tanh, nil), false},
		{elu(1), elu(1), true}, {elu(1), elu(2), false}, {elu(0), elu(float32(minus)), false},
		{clip(1), clip(1), true}, {clip(1), clip(2), false}, {clip(0), clip(minus), false},
	} {
		a, b := known.of(c.a), known.of(c.b)
		testenv.Check(t, (a == b) == c.same, "pair %d: one table: %v, want %v", i, a == b, c.same)
		testenv.Check(t, tensor.Equal(a, tabulate(c.a)) && tensor.Equal(b, tabulate(c.b)),
			"pair %d: not the table of its function", i)
	}
}
