// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// budget bounds what an import computes, so that a small file cannot keep it
// busy for long or fill memory with constants. Everything that does work on
// behalf of a node takes it from here before: folding, iterations that are
// unrolled, calls that are expanded.
type budget struct {
	work  int64 // in the units of ir.Work
	bytes int64 // of results
}

// spend takes work and bytes from the budget; what asks for more than is left
// gets an error that says so. node and what are for the message: what would
// be done.
func (b *Builder) spend(node, what string, work, bytes int64) error {
	left := &b.budget
	if work <= left.work && bytes <= left.bytes {
		left.work -= work
		left.bytes -= bytes
		return nil
	}
	which := "fold-work"
	if work <= left.work {
		which = "fold-bytes"
	}
	return &ir.Diag{Code: "too-large", Node: node, Hint: model.Raise(which),
		Msg: fmt.Sprintf("too large to be computed at compile time: %s takes %d bytes of memory and %d elements and "+
			"multiplications, where %d and %d are left", what, bytes, work, left.bytes, left.work)}
}

// smallFold are shapes, axes and the like: what other nodes need to know at
// compile time is folded whatever else there was.
const smallFold = 4096

// fold evaluates a node whose inputs are all constants, and Shape and Size
// of any value: shapes are static here. What would cost too much is an error.
// A DequantizeLinear stays, too: it says how its constant is quantised.
func (b *Builder) fold(n *ir.Node, names []string) (_ []*ir.Value, _ bool, err error) {
	defer fail.Catch(&err)
	if n.Op.Impure || n.Op.Eval == nil || len(n.Body) > 0 || n.Op == op.DequantizeLinear {
		return nil, false, nil
	}
	in := make([]*tensor.Dense, len(n.In))
	shapeOnly := n.Op == op.Shape || n.Op == op.Size
	for i, v := range n.In {
		switch {
		case v == nil:
		case shapeOnly:
			in[i] = &tensor.Dense{DType: v.Type.DType, Shape: v.Type.Shape}
		case v.Const != nil:
			in[i] = v.Const
		default:
			return nil, false, nil
		}
	}
	types := fail.Must(ir.InferNode(n))
	bytes := int64(0)
	for i := range n.Out { // operators may ask for the types of their outputs
		n.Out[i] = &ir.Value{Name: names[i], Type: types[i], Def: n, Index: i}
		bytes += int64(tensor.Count(types[i].Shape)) * int64(types[i].DType.Size())
	}
	work := ir.Work(n)
	if shapeOnly {
		work = bytes
	}
	if work <= smallFold {
		b.budget.work -= min(work, b.budget.work)
	} else if err := b.spend(n.String(), "all its inputs are constants, and its result", work, bytes); err != nil {
		return nil, false, err
	}
	out := fail.Must(ir.EvalNode(n, in))
	vs := make([]*ir.Value, len(n.Out))
	for i := range vs {
		if i < len(out) && out[i] != nil {
			vs[i] = b.Graph.AddConst(names[i], out[i])
		}
	}
	return vs, true, nil
}
