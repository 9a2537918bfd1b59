// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// view is a node without code: output 0 is input 0 under another type. A
// constant has no place in the arena, so its view is a copy.
func view(l *lowering, n *kernel.Node) {
	if n.In[0].Const != nil {
		copied(l, n)
		return
	}
	*l.low = call.Lowered{Kernel: "view", Library: "view", View: true, Unused: unusedTail(n.Node)}
}

// unusedTail are all inputs but the first: shapes and axes, which are part of
// the types by now.
func unusedTail(n *ir.Node) []int {
	if len(n.In) < 2 {
		return nil
	}
	return ir.Identity(len(n.In))[1:]
}

// copied writes the bytes of input 0, in the order of the output, to output 0.
func copied(l *lowering, n *kernel.Node) {
	l.low.Kernel = "nncc_copy_rows"
	l.low.Unused = unusedTail(n.Node)
	size := n.Out[0].Type.Bytes()
	var x call.Arg = l.in(0)
	if c := n.In[0].Const; c != nil {
		x = blob("const", arrange(c, n.In[0].Type.Shape, n.In[0].Type.OrderOrIdentity()))
	}
	l.rows(1, size, size, size, x, l.out(0))
}

func transposeLayout(n *kernel.Node) kernel.Layout {
	p := bug.Must(op.Perm(n.Node))
	return kernel.Layout{Kind: kernel.ViewTranspose, Perm: p}
}

// runsUpTo: dimensions that stay together are copied as one.
var runsUpTo = cond.New("RUNS", fmt.Sprintf("at most %d runs of dimensions move apart", kernel.MaxDims),
	func(n *kernel.Node) string {
		return tooManyRuns(n.Node)
	})

// transposable: a Transpose is a view, but a reader may want its result in another order.
var transposable = cond.New("RUNS", runsUpTo.Doc, func(n *kernel.Node) string {
	p, err := op.Perm(n.Node)
	if err != nil {
		return err.Error()
	}
	from, to := n.In[0].Type, n.In[0].Type
	from.Order, to.Order = nil, p
	return tooManyRuns(&ir.Node{In: []*ir.Value{{Type: from}}, Out: []*ir.Value{{Type: to}}})
})

func tooManyRuns(n *ir.Node) string {
	if size, _ := quantised.Permutation(n); len(size) > kernel.MaxDims {
		return fmt.Sprintf("%d runs of dimensions move apart, want at most %d", len(size), kernel.MaxDims)
	}
	return ""
}

// relayout copies between two memory orders of one shape.
func relayout(l *lowering, n *kernel.Node) {
	x, y := n.In[0].Type, n.Out[0].Type
	if n.In[0].Const == nil && x.SameMemory(y.Order) {
		view(l, n)
		return
	}
	l.low.Route = "nncc_run"
	order := y.OrderOrIdentity()
	var from call.Arg = l.in(0)
	st := strides(x)
	if c := n.In[0].Const; c != nil {
		from, st = l.constant(0), tensor.Strides(c.Shape)
	}
	dims := y.Phys()
	l.move(move{elem: y.DType.Size(), dims: dims, x: permuted(st, order), y: tensor.Strides(dims)}, from, l.out(0))
	l.low.Kernel = l.low.Calls[0].Func
}

// dropout copies, and fills the mask with true where it is asked for.
func dropout(l *lowering, n *kernel.Node) {
	copied(l, n)
	if len(n.Out) > 1 {
		l.fill(tensor.Of([]int{1}, []bool{true}), n.Out[1].Type.Elems(), l.out(1))
	}
}

func viewKernels() []*kernel.Kernel {
	reshaped := func(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.ViewReshape} }
	whole := kernel.Rules{cond.SameType, cond.NotEmpty}
	return []*kernel.Kernel{
		row("view", "NNCC-RESHAPE", "other shape of the same bytes: no code", reshaped,
			kernel.Rules{cond.SameType, cond.Constant(1)}, view,
			kernel.Where(func(d *ir.OpDef) bool { return d.View == ir.Reshaped })...),
		row("view-transpose", "NNCC-TRANSPOSE", "other order of dimensions over the same bytes: no code",
			transposeLayout, kernel.Rules{cond.SameType, transposable}, view, op.Transpose),
		row("nncc_copy_nd", "NNCC-RELAYOUT", "conversion between memory orders", anyToAny,
			append(whole[:2:2], runsUpTo), relayout, op.Relayout),
		row("nncc_copy_rows", "NNCC-IDENTITY", "copy", same, whole, copied, op.Identity, op.Within),
		row("view-bits", "NNCC-BITCAST", "the same bytes as another element type: no code", same,
			kernel.Rules{wholeBytes, canonical}, view, op.BitCast),
		row("nncc_copy_rows", "NNCC-DROPOUT", "copy; a mask of true", same, whole, dropout, op.Dropout),
	}
}

// canonical: bytes of another type may be more than the 0 and 1 of a bool.
var canonical = cond.New("BOOL", "a bool comes from a bool", func(n *kernel.Node) string {
	if x, y := n.In[0].Type.DType, n.Out[0].Type.DType; y == tensor.Bool && x != y {
		return fmt.Sprintf("from %s to bool: bytes become 0 and 1", x.ONNXName())
	}
	return ""
})

// wholeBytes: elements are not smaller than a byte.
var wholeBytes = cond.New("WHOLE-BYTES", "elements are whole bytes", func(n *kernel.Node) string {
	for _, t := range []ir.Type{n.In[0].Type, n.Out[0].Type} {
		if t.DType.Bits() < 8 {
			return fmt.Sprintf("elements are %s, want at least 8 bits", t.DType.ONNXName())
		}
	}
	return ""
})
