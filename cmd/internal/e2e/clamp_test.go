// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// clampNet is a few operators, each with clamps behind it in every form there
// is: Clip with either bound, none, or the lower one above the upper one, Relu,
// Min and Max with a number, now and then one that is infinite or no number.
func clampNet(seed uint64) *ir.Graph {
	r := rand.New(rand.NewPCG(seed, 3))
	g := ir.New("clamps")
	v := g.AddInput("x", ir.T(tensor.F32, 1, 3, 4, 5))
	first := v
	n := 0
	add := func(d *ir.OpDef, a ir.Attrs, in ...*ir.Value) {
		n++
		m, err := g.Add(d, fmt.Sprintf("n%d", n), a, 1, in...)
		if err != nil {
			panic(err)
		}
		m.Origin = []string{m.Name}
		v = m.Out[0]
	}
	number := func() *ir.Value {
		n++
		x := []float64{0, 6, 1, -1, r.NormFloat64(), r.NormFloat64()}[r.IntN(6)]
		switch r.IntN(25) {
		case 0:
			x = math.Inf(1)
		case 1:
			x = math.Inf(-1)
		case 2:
			x = math.NaN()
		}
		return g.AddConst(fmt.Sprintf("k%d", n), tensor.FromFloats(tensor.F32, nil, []float64{x}))
	}
	for range 1 + r.IntN(2) {
		n++
		switch r.IntN(4) {
		case 0:
			add(op.Conv, ir.Attrs{"pads": ir.Ints(1, 1, 1, 1)}, v, g.AddConst(fmt.Sprintf("w%d", n),
				ir.Rand(seed+uint64(n), tensor.F32, []int{3, 3, 3, 3})))
		case 1:
			add(op.Add, nil, v, first)
		case 2:
			add(op.Mul, nil, v, first)
		default:
			add(op.Get("", "Sigmoid"), nil, v)
		}
		for range 1 + r.IntN(3) {
			switch r.IntN(6) {
			case 0:
				add(op.Relu, nil, v)
			case 1:
				add(op.Get("", "Min"), nil, v, number())
			case 2:
				add(op.Get("", "Max"), nil, number(), v)
			case 3:
				add(op.Clip, nil, v, number())
			case 4:
				add(op.Clip, nil, v, nil, number())
			default:
				add(op.Clip, nil, v, number(), number())
			}
		}
	}
	g.AddOutput("y", v)
	return g
}

// TestClamps: clamps give the same whether they are absorbed, fused or alone,
// in every precision, in the interpreter and in C.
func TestClamps(t *testing.T) {
	from, count := testenv.Range(t, 3)
	for seed := uint64(from); seed < uint64(from+count); seed++ {
		for _, precision := range []option.Precision{option.Float32, option.Int8, option.Int16x8} {
			t.Run(fmt.Sprintf("%d/%s", seed, precision), func(t *testing.T) {
				c := driver.Defaults()
				c.Board, c.Precision, c.Name, c.Cases = "host", precision, "net", 1
				net := clampNet(seed)
				o := compileNet(t, net.Clone(), &c)
				cases := mustCases(t, &c, o)
				if precision == option.Float32 {
					want, err := interp.Run(net, cases[0].Inputs, nil)
					require(t, err)
					got, err := interp.Run(o.Lowered.Graph, cases[0].Inputs, nil)
					require(t, err)
					if d := irtest.Diff(got[0], want[0]); !(d <= 1e-5) {
						t.Errorf("the program differs from its model by %v of the largest\n%s", d, net)
					}
				}
				onHost(t, o, cases, "gcc", sanitized)
			})
		}
	}
}
