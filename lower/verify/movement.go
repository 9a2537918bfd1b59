// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/fidelity"
)

// movement compares float results of one case, which may also be farther off
// where the network amplifies roundings.
type movement struct {
	g      *ir.Graph
	in     []*tensor.Dense
	of     map[*ir.Value]*tensor.Dense // what the interpreter gave
	spread map[*ir.Value][]float64     // made when it is asked for
	// whole allows every element of a value what one of them moves: where values
	// jump on the way, it is chance which ones do in a draw.
	whole bool
}

// differ is differ for a value of the graph; more is the most that was allowed
// beyond the bound.
func (m *movement) differ(got *tensor.Dense, v *ir.Value, steps int) (n int, diff, more float64) {
	want := m.of[v]
	if n, diff = Differ(got, want, steps, nil); n == 0 || steps == 0 && !want.DType.IsFloat() {
		return n, diff, 0
	}
	if m.spread == nil {
		m.spread = fail.Must(fidelity.Spread(m.g, m.in, m.of, nil))
	}
	more = lists.Max(m.spread[v], func(s float64) float64 { return 2 * s })
	if m.whole {
		for i := range m.spread[v] {
			m.spread[v][i] = more / 2
		}
	}
	n, diff = Differ(got, want, steps, m.spread[v])
	return n, diff, Finite(more)
}

// Differ counts elements that differ: all bits for integers, beyond fidelity.Ulps
// for floats, and beyond twice the spread where there is one.
func Differ(got, want *tensor.Dense, steps int, spread []float64) (n int, diff float64) {
	limit := float64(steps)
	if want.DType.IsFloat() {
		limit = fidelity.Limit(want)
	}
	for i := 0; i < want.Len(); i++ {
		a, b := got.Float(i), want.Float(i)
		if !want.DType.IsFloat() {
			if got.Int(i) == want.Int(i) {
				continue
			}
		} else if a == b || a != a && b != b {
			continue
		}
		d, allowed := math.Abs(a-b), limit
		if spread != nil {
			allowed += 2 * spread[i]
		}
		if !(d <= allowed) {
			n++
		}
		if d > diff || d != d {
			diff = d
		}
	}
	return n, diff
}

// FromFloat reports an integer value that depends on arithmetic in float: all
// else is compared bit for bit.
func FromFloat(v *ir.Value) bool {
	seen := map[*ir.Value]bool{}
	var walk func(v *ir.Value) bool
	walk = func(v *ir.Value) bool {
		if v == nil || v.Def == nil || seen[v] {
			return false
		}
		seen[v] = true
		if computesFloat(v.Def) {
			return true
		}
		return slices.ContainsFunc(v.Def.In, func(x *ir.Value) bool { return walk(x) })
	}
	return v.Type.DType.IsInt() && walk(v)
}

// computesFloat reports a node that computes float numbers, itself or in what is fused
// into it.
func computesFloat(n *ir.Node) bool {
	return slices.ContainsFunc(n.Out, func(o *ir.Value) bool {
		return o.Type.DType.IsFloat() && n.Op != op.DequantizeLinear && n.Op.Quant != ir.QMove
	}) || slices.ContainsFunc(n.Body, func(g *ir.Graph) bool { return slices.ContainsFunc(g.Nodes, computesFloat) })
}
