// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// castTypes are nncc_cast's names of the element types that it converts.
var castTypes = map[tensor.DType]call.Lit{
	tensor.F32: "NNCC_TYPE_F32", tensor.Bool: "NNCC_TYPE_BOOL", tensor.I8: "NNCC_TYPE_S8", tensor.U8: "NNCC_TYPE_U8",
	tensor.I16: "NNCC_TYPE_S16",
	tensor.U16: "NNCC_TYPE_U16", tensor.I32: "NNCC_TYPE_S32", tensor.U32: "NNCC_TYPE_U32", tensor.I64: "NNCC_TYPE_S64",
}

// castRow converts plain element types; quantised 8-bit values go by a table.
var castRow = row("nncc_cast", "NNCC-CAST", "conversion between float32, bool and integers of 8 to 64 bits",
	func(n *kernel.Node) kernel.Layout {
		if len(n.In) > 1 && n.In[1].Const == nil {
			return natural(n) // CastLike: the other input has any shape
		}
		return same(n)
	}, kernel.Rules{cond.NotEmpty, cond.New("PLAIN-TYPES", "plain float32, bool or integers",
		func(n *kernel.Node) string {
			for _, x := range []struct {
				what string
				t    ir.Type
			}{{"the input", n.In[0].Type}, {"the output", n.Out[0].Type}} {
				if _, ok := castTypes[x.t.DType]; !ok || x.t.Quant != nil {
					return fmt.Sprintf("%s is %s, want plain float32, bool or an integer type but uint64", x.what,
						cond.Short(x.t))
				}
			}
			return ""
		}), cond.New("BOOL", "a BitCast only of bytes to bool, of which all but 0 are true",
		func(n *kernel.Node) string {
			if n.Op == op.BitCast && n.Out[0].Type.DType != tensor.Bool {
				return fmt.Sprintf("BitCast to %s reads the same bytes anew", n.Out[0].Type.DType.ONNXName())
			}
			return ""
		})}, func(l *lowering, n *kernel.Node) {
		x, y := n.In[0].Type, n.Out[0].Type
		l.low.Unused = unusedTail(n.Node)
		f := append(ints("count", y.Elems()), call.F("from", castTypes[x.DType]), call.F("to", castTypes[y.DType]))
		l.call("nncc_cast", params("nncc_cast_params", f...), bytesOf(l.in(0)), bytesOf(l.out(0)))
	}, op.Cast, op.CastLike, op.BitCast)
