// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// unique of a constant has the size that the constant asks for; of anything
// else it has room for all.
func unique(e *build.Node) []*ir.Value {
	x := e.Need(0, -1)
	n := &ir.Node{Name: e.Name, Op: op.Get("", "Unique"), Attrs: e.Attrs, In: []*ir.Value{x}}
	if x.Const != nil {
		_, err := ir.InferNode(n)
		e.Fail(err)
		e.Want(x.Const.Len() <= 1<<13, "shape", "the constant has %d elements, at most %d are compared at compile time",
			x.Const.Len(), 1<<13)
		out, err := op.UniqueOf(n, x.Const)
		e.Fail(err)
		var vs []*ir.Value
		for _, d := range out {
			vs = append(vs, e.Data(d))
		}
		return vs
	}
	return e.Results(n.Op, e.Attrs, max(len(e.Out), 1), x)
}
