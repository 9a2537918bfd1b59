package onnx

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// foldBudget bounds what an import computes, so that a small file cannot keep
// it busy for long or fill memory with constants.
type foldBudget struct {
	work  int64 // elements touched and multiplications, roughly
	bytes int64 // of results
}

// smallFold are shapes, axes and the like: what other nodes need to know at
// compile time is folded whatever else there was.
const smallFold = 4096

// foldNode evaluates a node whose inputs are all constants, and Shape and Size
// of any value: shapes are static here. What would cost too much is an error.
// A DequantizeLinear stays, too: it says how its constant is quantised.
func (im *importer) foldNode(n *ir.Node, names []string) ([]*ir.Value, bool, error) {
	if n.Op.Impure || n.Op.Eval == nil || len(n.Body) > 0 || n.Op == op.DequantizeLinear {
		return nil, false, nil
	}
	in := make([]*tensor.Dense, len(n.In))
	shapeOnly := n.Op == op.Shape || n.Op == op.Size
	work := int64(0)
	for i, v := range n.In {
		switch {
		case v == nil:
		case shapeOnly:
			in[i] = &tensor.Dense{DType: v.Type.DType, Shape: v.Type.Shape}
		case v.Const != nil:
			in[i] = v.Const
			work += int64(v.Type.Elems())
		default:
			return nil, false, nil
		}
	}
	types, err := ir.InferNode(n)
	if err != nil {
		return nil, false, err
	}
	bytes := int64(0)
	for i := range n.Out {
		k := int64(tensor.Count(types[i].Shape))
		work += k
		bytes += k * int64(types[i].DType.Size())
	}
	for i := range n.Out { // operators may ask for the types of their outputs
		n.Out[i] = &ir.Value{Name: names[i], Type: types[i], Def: n, Index: i}
	}
	if n.Op.MACs != nil {
		work += n.Op.MACs(n) / 4
	}
	if work > smallFold && (work > im.fold.work || bytes > im.fold.bytes) {
		which := "fold-work"
		if bytes > im.fold.bytes {
			which = "fold-bytes"
		}
		return nil, false, &ir.Diag{Code: "too-large", Node: n.String(), Hint: raise(which),
			Msg: fmt.Sprintf("too large to be computed at compile time: all its inputs are constants, and its result takes %d bytes of memory and %d elements and multiplications, where %d and %d are left", bytes, work, im.fold.bytes, im.fold.work)}
	}
	im.fold.work -= work
	im.fold.bytes -= bytes
	out, err := ir.EvalNode(n, in)
	if err != nil {
		return nil, false, err
	}
	vs := make([]*ir.Value, len(n.Out))
	for i := range vs {
		if i < len(out) && out[i] != nil {
			vs[i] = im.g.AddConst(names[i], out[i])
		}
	}
	return vs, true, nil
}
