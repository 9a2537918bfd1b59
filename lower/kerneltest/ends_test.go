// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kerneltest"
)

// TestEnds: at the ends of the range results saturate, they do not wrap. Every
// operator, in every quantised precision, on inputs that are often the least
// and the greatest number, with scales by which 1 is just beyond the greatest,
// sizes of 0 and 1 among others: the interpreter is within half the range of
// the operator's meaning in float64, which a wrapped result is not.
func TestEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 4))
	draws := testenv.Count(t, 20)
	ops := slices.Clone(op.All())
	slices.SortFunc(ops, func(a, b *ir.OpDef) int { return cmp.Compare(a.Domain+a.Name, b.Domain+b.Name) })
	count := 0
	for _, d := range ops {
		for _, p := range []kerneltest.Precision{kerneltest.Int8, kerneltest.Int16x8, kerneltest.Uint8} {
			for k := range draws {
				g, valid := kerneltest.Draw(r, d, p, fmt.Sprintf("l%d", k))
				// tables of integers mean nothing in float
				if g == nil || !valid || d.Eval == nil || d.Domain == "nncc" && d.Quant == ir.QInt {
					continue
				}
				n := g.Nodes[0]
				for _, v := range n.Out {
					if q := v.Type.Quant; q != nil && d.Quant != ir.QMove && v.Type.DType == tensor.I16 &&
						r.IntN(2) == 0 {
						v.Type.Quant = ir.PerTensor(1.0/32768, 0)
					}
				}
				in := make([]*tensor.Dense, len(g.In))
				for i, v := range g.In {
					in[i] = ir.Rand(r.Uint64N(1<<20), v.Type.DType, v.Type.Shape)
					atEnds(r, in[i], v.Type)
				}
				if compareEnds(t, g, n, in) {
					count++
				}
			}
		}
	}
	t.Logf("%d quantised nodes", count)
}

// atEnds makes quantised numbers the ends of their range; indices stay 0 and 1.
func atEnds(r *rand.Rand, d *tensor.Dense, t ir.Type) {
	lo, hi := int64(0), int64(1)
	if t.Quant != nil {
		lo, hi = t.DType.IntRange()
	} else if t.DType.IsFloat() {
		return
	}
	share := r.IntN(4)
	for i, n := 0, d.Len(); i < n; i++ {
		if t.Quant == nil {
			d.SetInt(i, d.Int(i)&1)
		} else if r.IntN(4) < share {
			d.SetInt(i, []int64{lo, hi, lo + 1, hi - 1, 0}[r.IntN(5)])
		}
	}
}

func compareEnds(t *testing.T, g *ir.Graph, n *ir.Node, in []*tensor.Dense) bool {
	got, err := interp.Run(g, in, nil)
	if err != nil {
		testenv.Check(t, !bug.Is(err), "%v\n%s", err, g)
		return false // data that the operator does not take
	}
	if !n.Quantised() || n.Op.Quant == ir.QMove || n.Op.Quant == ir.QNone { // of which the last computes on numbers
		return false
	}
	at := map[*ir.Value]*tensor.Dense{}
	for i, v := range g.In {
		at[v] = in[i]
	}
	args := make([]*tensor.Dense, len(n.In))
	for i, v := range n.In {
		if v != nil {
			if args[i] = at[v]; v.Const != nil {
				args[i] = v.Const
			}
		}
	}
	if b := n.Input(2); n.Op.MACs != nil && b != nil && b.Type.Quant == nil && b.Type.DType.IsInt() {
		return false // a bias in the products' units has no meaning by itself
	}
	if n.Op.MACs != nil && len(n.In) > 1 && n.In[0].Type.DType == tensor.I16 && far(n) {
		return false
	}
	want, err := ir.EvalDequantised(n, args)
	if err != nil {
		return false
	}
	_, curved := ir.InterpolatedLUT(n)
	for i, v := range n.Out {
		if v.Type.Quant == nil || i >= len(want) {
			continue
		}
		lo, hi := v.Type.DType.IntRange()
		for e := range want[i].Len() {
			a, least, most := got[i].Int(e), want[i].Int(e), want[i].Int(e)
			if curved { // between points that may be far apart beside a pole or a step
				l, m := around(n, args[0].Int(e))
				least, most = min(least, l), max(most, m)
			}
			if a < least-(hi-lo)/2 || a > most+(hi-lo)/2 {
				t.Errorf("element %d of output %d is %d, its meaning in float64 between %d and %d\n%s", e, i, a, least,
					most, g)
				return true
			}
		}
	}
	return true
}

// around is the range of a function of one int16 value near x.
func around(n *ir.Node, x int64) (least, most int64) {
	least, most = math.MaxInt16, math.MinInt16
	q, y := n.In[0].Type.Quant, n.Out[0].Type
	for d := int64(-128); d <= 128; d += 4 {
		v := n.Op.Scalar(n, float64(x+d)*float64(q.Scale[0]))
		r := ir.QuantiseAway(tensor.Of([]int{1}, []float64{v}), y).Int(0)
		least, most = min(least, r), max(most, r)
	}
	return least, most
}

// far: sums may leave the range of the result 65536-fold, where CMSIS-NN's
// requantisation of 64-bit sums, which defines the product, wraps. No scale that
// was calibrated on data is that small.
func far(n *ir.Node) bool {
	x, w, y := n.In[0].Type, n.In[1].Type, n.Out[0].Type
	if w.Quant == nil {
		return true
	}
	depth := float64(n.Op.MACs(n)) / float64(max(y.Elems(), 1))
	_, top := w.DType.IntRange()
	return depth*32768*float64(top)*float64(x.Quant.Scale[0])*float64(slices.Max(w.Quant.Scale))/float64(
		y.Quant.Scale[0]) > 1<<30
}
