// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// BenchmarkElementwise measures float32 operators on [1, 64, 56, 56], with a
// bias per channel as second operand where there is one.
func BenchmarkElementwise(b *testing.B) {
	x := tensor.New(tensor.F32, []int{1, 64, 56, 56})
	for i := range x.Len() {
		x.SetFloat(i, float64(i%17)-8)
	}
	c := tensor.New(tensor.F32, []int{1, 64, 1, 1})
	v := tensor.New(tensor.F32, []int{64})
	s := tensor.Scalar(float32(1))
	for _, k := range []struct {
		name string
		in   []*tensor.Dense
	}{
		{"Relu", []*tensor.Dense{x}}, {"Clip", []*tensor.Dense{x, s, s}}, {"Add", []*tensor.Dense{x, x}},
		{"Mul", []*tensor.Dense{x, c}},
		{"Sigmoid", []*tensor.Dense{x}}, {"HardSwish", []*tensor.Dense{x}}, {"Softmax", []*tensor.Dense{x}},
		{"ReduceMean", []*tensor.Dense{x, tensor.Ints(2, 3)}},
		{"BatchNormalization", []*tensor.Dense{x, v, v, v, v}},
	} {
		b.Run(k.name, func(b *testing.B) {
			g := ir.New("b")
			var in []*ir.Value
			for i, d := range k.in {
				if i == 0 {
					in = append(in, g.AddInput("x", ir.T(d.DType, d.Shape...)))
				} else {
					in = append(in, g.AddConst("c", d))
				}
			}
			n, err := g.Add(op.Get("", k.name), "n", nil, 1, in...)
			testenv.OK(b, err)
			b.SetBytes(int64(4 * x.Len()))
			for b.Loop() {
				if _, err := ir.EvalNode(n, k.in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
