// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestInferErrors: what is wrong is named with what was found and what is wanted.
func TestInferErrors(t *testing.T) {
	f := func(shape ...int) ir.Type { return ir.T(tensor.F32, shape...) }
	i64 := ir.T(tensor.I64, 2)
	for _, c := range []struct {
		op    string
		attrs ir.Attrs
		in    []ir.Type
		want  string
	}{
		{"Add", nil, []ir.Type{f(2, 3), f(4, 3)},
			`Add "n": shapes [[2 3] [4 3]] do not broadcast: dimension 0 is 2 and 4`},
		{"Add", nil, []ir.Type{f(2), i64}, "input 0 (%in0) is of type f32, input 1 (%in1) of type i64; want the " +
			"same type"},
		{"Sigmoid", nil, []ir.Type{i64}, "input 0 (%in0) is of type i64, want a floating-point type"},
		{"Softmax", ir.Attrs{"axis": ir.Int(3)}, []ir.Type{f(2, 2)}, "axis 3 is out of range for rank 2"},
		{"Gelu", ir.Attrs{"approximate": ir.Str("fast")}, []ir.Type{f(2)}, `approximate is "fast", want none or tanh`},
		{"Clip", nil, []ir.Type{f(2), f(2)}, "min (input 1, %in1) has shape [2], want a scalar"},
		{"ReduceSum", nil, []ir.Type{f(2, 2), i64},
			"the axes (input 1, %in1) must be known at compile time, but is computed at run time"},
		{"BatchNormalization", nil, []ir.Type{f(1, 3, 2), f(3), f(3), f(4), f(3)},
			"mean (input 3, %in3) has shape [4], want [3], the channels of [1 3 2]"},
		{"BatchNormalization", ir.Attrs{"training_mode": ir.Int(1)}, []ir.Type{f(1, 3), f(3), f(3), f(3), f(3)},
			"training_mode is 1; export the model for inference"},
		{"QuantizeLinear", nil, []ir.Type{f(2, 3), f(2), ir.T(tensor.I8, 2)},
			"scale has shape [2], want a scalar or [3], the size of dimension 1 of [2 3]"},
		{"DequantizeLinear", nil, []ir.Type{ir.T(tensor.I8, 4), f(), ir.T(tensor.U8)},
			"zero point (%in2) is of type u8, input 0 (%in0) of type i8; want the same"},
		{"Cast", ir.Attrs{"to": ir.Int(17)}, []ir.Type{f(2)},
			"attribute to names data type 17, which is not among those supported"},
		{"Cast", nil, []ir.Type{f(2)}, "attribute to is required"},
		{"Mod", nil, []ir.Type{f(2), f(2)}, "fmod is 0 on inputs of type f32; floats want fmod 1"},
		{"GroupNormalization", ir.Attrs{"num_groups": ir.Int(2)}, []ir.Type{f(1, 3), f(3), f(3)},
			"num_groups is 2, which does not divide the 3 channels"},
		{"BitShift", ir.Attrs{"direction": ir.Str("UP")}, []ir.Type{ir.T(tensor.U8, 1), ir.T(tensor.U8, 1)},
			`direction is "UP", want LEFT or RIGHT`},
	} {
		g := ir.New("t")
		var in []*ir.Value
		for i, ty := range c.in {
			in = append(in, g.AddInput("in"+string(rune('0'+i)), ty))
		}
		_, err := g.Add(op.Get("", c.op), "n", c.attrs, 1, in...)
		testenv.Refused(t, err, c.want)
	}
	div := ir.New("t")
	a, b := tensor.Of([]int{2}, []int32{1, 2}), tensor.Of([]int{2}, []int32{1, 0})
	n := testenv.Must(div.Add(op.Div, "n", nil, 1, div.AddConst("a", a), div.AddConst("b", b)))(t)
	testenv.Refused(t, testenv.Err(ir.EvalNode(n, []*tensor.Dense{a, b})),
		"division by zero (element 1 of the divisor)")
}
