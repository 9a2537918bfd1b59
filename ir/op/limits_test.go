// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// limited are nodes of the operators whose inputs have limits, %i being the input.
var limited = []string{
	"in %i : i64[2]\n%y = nncc.Within(%i) {least=-2, most=5}",
	"in %x : f32[3,2]\nin %i : i64[2]\n%y = Gather(%x, %i) {axis=1}",
	"in %x : f32[3,2]\nin %i : i32[1,2]\n%y = GatherElements(%x, %i)",
	"in %x : f32[2,3,4]\nin %i : i64[2,1]\n%y = GatherND(%x, %i) {batch_dims=1}",
	"in %x : f32[3,2]\nin %i : i64[1,2]\nin %u : f32[1,2]\n%y = ScatterElements(%x, %i, %u)",
	"in %x : f32[3,2]\nin %i : i64[4,2]\nin %u : f32[4]\n%y = ScatterND(%x, %i, %u)",
	"in %x : f32[3,2]\nin %i : i64[2]\n%y = ReverseSequence(%x, %i)",
	"in %x : f32[1,1,2,2]\nin %i : i64[1,1,2,2]\n%y = MaxUnpool(%x, %i) {kernel_shape=[2,2], strides=[2,2]}",
	"in %x : f32[2,1,4,4]\nin %r : f32[3,4]\nin %i : i64[3]\n%y = RoiAlign(%x, %r, %i)",
	"in %x : f32[3,2,4]\nin %w : f32[1,8,4]\nin %r : f32[1,8,2]\nin %i : i32[2]\n" +
		"%y = LSTM(%x, %w, %r, -, %i) {direction=\"reverse\"}",
	"in %x : f32[3,2,4]\nin %w : f32[2,6,4]\nin %r : f32[2,6,2]\nin %i : i32[2]\n" +
		"%y = GRU(%x, %w, %r, -, %i) {direction=\"bidirectional\"}",
	"in %x : f32[3,2,4]\nin %w : f32[1,2,4]\nin %r : f32[1,2,2]\nin %i : i32[2]\n%y = RNN(%x, %w, %r, -, %i)",
}

// TestLimits: each element of an input with limits is taken at both ends, refused beyond, at run time and as a
// constant, with node, tensor, what was found and what is wanted. Every operator with limits is tried.
func TestLimits(t *testing.T) {
	tried := map[*ir.OpDef]bool{}
	for _, text := range limited {
		g, err := ir.Parse("graph \"g\" {\n"+text+"\nout \"y\" = %y\n}\n", op.Get)
		testenv.Require(t, err == nil, "%v\n%s", err, text)
		n := g.Nodes[0]
		tried[n.Op] = true
		for _, l := range ir.LimitsOf(n) {
			for k := range n.In[l.Input].Type.Elems() {
				least, most := int64(l.Least[k%len(l.Least)]), int64(l.Most[k%len(l.Most)])
				for v, good := range map[int64]bool{least: true, most: true, least - 1: false, most + 1: false,
					math.MaxInt32: false, math.MinInt32: false} {
					in := make([]*tensor.Dense, len(n.In))
					for i, v := range n.In {
						if v != nil {
							in[i] = tensor.New(v.Type.DType, v.Type.Shape)
						}
					}
					in[l.Input].SetInt(k, v)
					_, atRunTime := ir.EvalNode(n, in)
					fixed := n.Bare()
					fixed.In = slices.Clone(n.In)
					fixed.In[l.Input] = &ir.Value{Name: "i", Type: n.In[l.Input].Type, Const: in[l.Input]}
					_, constant := ir.InferNode(fixed)
					for _, err := range []error{atRunTime, constant} {
						testenv.Check(t, good == (err == nil) && (good || names(err, n, "%i")),
							"%s: element %d is %d: %v", n, k, v, err)
					}
				}
			}
		}
	}
	for _, d := range op.All() {
		testenv.Check(t, d.Limits == nil || tried[d], "%s has limits and is not tried", d.Name)
	}
}

// names reports a diagnosis that names node and tensor, and says what is wanted.
func names(err error, n *ir.Node, tensor string) bool {
	var d *ir.Diag
	return errors.As(err, &d) && d.Code == "index" && d.Node == n.String() && d.Want != "" &&
		strings.Contains(d.Msg, tensor)
}

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
