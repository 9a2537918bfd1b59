// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

func TestOutputs(t *testing.T) {
	m := parse(t, chain)
	m.AddOutput("c", 0, nil)
	dt, shape := m.IOShape("c")
	if dt != 1 || ShapeText(shape) != "[1,4]" {
		t.Errorf("output c is %s%s", model.ElemTypeName(dt), ShapeText(shape))
	}
	refused(t, func() { m.AddOutput("c", 0, nil) }, "is an output already")
	refused(t, func() { m.AddOutput("nix", 0, nil) }, `no value "nix"`)
	refused(t, func() { m.RemoveOutputs(in("y", "w")) }, `no output "w"`, `"y", "z", "c"`)
	m.RemoveOutputs(in("y"))
	m.KeepOutputs(in("c", "z"))
	testenv.Same(t, m.OutputNames(), in("c", "z"), "outputs")
	refused(t, func() { m.KeepOutputs(in("c", "c")) }, "listed twice")
	refused(t, func() { m.KeepOutputs(nil) }, "at least one")
	nodes, _ := m.Prune()
	testenv.Equal(t, len(nodes), 1, "pruned %v", nodes)
	same(t, m, parse(t, chain), 0, func(o *CompareOptions) {
		o.Partial = true
		o.Outputs = map[string]string{"c": "y"}
		o.Equal = false
		o.ATol = 100
	})
}

func TestInputs(t *testing.T) {
	m := parse(t, chain)
	refused(t, func() { m.RemoveInputs(in("x"), false) }, `input "x" is read by`, "Relu")
	refused(t, func() { m.RemoveInputs(in("q"), false) }, `no input "q"`)
	refused(t, func() { m.AddInput("a", 1, Fixed(1)) }, "is taken")
	refused(t, func() { m.AddInput("q", 0, Fixed(1)) }, "element type")
	m.AddInput("q", 10, []Dim{{Size: -1, Symbol: "N"}})
	m.RemoveInputs(in("q"), false)
	// A constant takes the place of an input.
	m.RemoveInputs(in("x"), true)
	m.AddInitializer(model.TensorProto("x", tensor.Of([]int{1, 4}, []float32{1, -2, 3, 4})))
	valid(t, m)
	out := m.Run(nil)
	testenv.Same(t, out["y"].Floats(), []float64{0, 0, 0, 0}, "y")
}

// IR version 3 lists initializers among the inputs.
func TestInitializersAsInputs(t *testing.T) {
	b := build(t, 8)
	b.m.Proto.IrVersion = proto.Int64(3)
	x := b.input("x", 1, 4)
	b.weights("w", 1, 4)
	b.m.graph().Input = append(b.m.graph().Input, b.m.graph().Input[0])
	b.m.graph().Input[1] = proto.CloneOf(b.m.graph().Input[0])
	b.m.graph().Input[1].Name = proto.String("w")
	m := b.output(b.node("Add", "/add", in(x, "w"), nil))
	testenv.Same(t, m.InputNames(), in("x"), "inputs")
	m.ConvertInitializer("w", "", func(d *tensor.Dense) *tensor.Dense {
		return TransposeReshape(d, nil, []int{4})
	})
	valid(t, m)
	part := m.Extract(in("x"), in("/add_output_0"))
	same(t, part, m, 0)
	m.Connect("x", node(t, m, "/add"), 1)
	if gone := m.RemoveUnusedInitializers(); len(gone) != 1 || len(m.graph().Input) != 1 {
		t.Errorf("removed %v, inputs %v", gone, names(m.graph().Input))
	}
	valid(t, m)
}

func TestIOShape(t *testing.T) {
	m := parse(t, "g (float[N,4] x) => (float[N,4] y) { y = Relu (x) }")
	m.SetIOShape("x", 0, Fixed(2, 2))
	_, s := m.IOShape("x")
	testenv.Equal(t, ShapeText(s), "[2,2]")
	err := fail.Caught(func() { m.IOShape("q") })
	wantErr(t, err, `no input or output "q"`, `inputs: "x"`)
	refused(t, func() { m.SetIOShape("q", 0, nil) }, "no input or output")
	changed := m.InferShapes()
	testenv.Equal(t, len(changed), 1, "changed %v", changed)
}

func TestPinDims(t *testing.T) {
	m := parse(t, "g (float[N,H,4] x) => (float[N,H,4] y) { y = Relu (x) }")
	refused(t, func() { m.Clone().PinDims(map[string]int64{"M": 1}) }, `no symbolic dimension "M"`, `"H", "N"`)
	m.PinDims(map[string]int64{"N": 1, "x.1": 7})
	_, s := m.IOShape("x")
	_, u := m.IOShape("y")
	testenv.Check(t, ShapeText(s) == "[1,7,4]" && ShapeText(u) == "[1,H,4]", "x %s, y %s", ShapeText(s), ShapeText(u))
	valid(t, m)
}
