package onnx

import (
	"strings"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Element types that the standard permits and that the operators of ir/op
// leave out, since others say the same.

// asBytes computes on bools as on the bytes 0 and 1; what is not 0 then is true.
func asBytes(up upgrader) upgrader {
	return func(c *nodeCtx) ([]*ir.Value, error) {
		if len(c.in) == 0 || c.in[0] == nil || c.in[0].Type.DType != tensor.Bool {
			return up(c)
		}
		cast := op.Get("", "Cast")
		x, err := c.sub(cast, ".bytes", ir.Attrs{"to": ir.Int(tensor.U8.ONNXCode())}, c.in[0])
		if err != nil {
			return nil, err
		}
		inner := *c
		inner.in = append([]*ir.Value{x}, c.in[1:]...)
		inner.p = &pb.NodeProto{Name: c.p.Name, OpType: c.p.OpType, Domain: c.p.Domain, Input: c.p.Input, Output: []string{c.p.GetOutput()[0] + ".bytes"}, Attribute: c.p.Attribute}
		y, err := up(&inner)
		if err != nil {
			return nil, err
		}
		return c.build(cast, ir.Attrs{"to": ir.Int(tensor.Bool.ONNXCode())}, 1, y[0])
	}
}

// unsignedPRelu: no unsigned integer is below zero.
func unsignedPRelu(c *nodeCtx) ([]*ir.Value, error) {
	if len(c.in) == 2 && c.in[0] != nil && strings.HasPrefix(c.in[0].Type.DType.ONNXName(), "uint") {
		return c.build(op.Identity, nil, 1, c.in[0])
	}
	return c.plain()
}

// reduceLogSumExp of integers is the integer part of the result in float64.
func reduceLogSumExp(e *composer) []*ir.Value {
	d := e.need(0, -1).Type.DType
	if d.IsInt() {
		e.in[0] = e.cast(e.in[0], tensor.F64)
	}
	out, err := axesToInput(18, "axes")(e.nodeCtx)
	e.fail(err)
	return []*ir.Value{e.cast(out[0], d)}
}
