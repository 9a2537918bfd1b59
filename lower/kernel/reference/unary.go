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

// clip adds a call that limits x to output 0.
func (l *lowering) clip(lo, hi float32, x call.Arg) {
	p := params("nncc_clip_f32_params", call.FI("count", l.n.Out[0].Type.Elems()), call.F("lo", f32(lo)),
		call.F("hi", f32(hi)))
	l.call("nncc_clip_f32", p, x, l.out(0))
}

// clipRow limits to constant bounds.
var clipRow = row("nncc_clip_f32", "NNCC-CLIP-F32", "x limited to constant bounds", same,
	kernel.Rules{cond.Float32(0), cond.NotEmpty, cond.Constant(1, 2), orderedBounds},
	func(l *lowering, n *kernel.Node) {
		lo, hi := clipBounds(n.Node)
		l.clip(lo, hi, l.in(0))
		l.inPlace(0)
	}, op.Clip)

// clipBounds are Clip's constant bounds, infinite where absent.
func clipBounds(n *ir.Node) (lo, hi float32) {
	l, h, _ := op.ClipBounds(n)
	return float32(l), float32(h)
}

// orderedBounds: nncc_clip_f32 compares with numbers, the lower one first.
var orderedBounds = cond.New("BOUNDS", "bounds are constant numbers", func(n *kernel.Node) string {
	_, _, ok := op.ClipBounds(n.Node)
	return cond.If(!ok, "a bound is computed at run time or is not a number, want constant numbers")
})

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
			return cond.If(n.Op == op.BitCast && n.Out[0].Type.DType != tensor.Bool,
				"BitCast to %s reads the same bytes anew", n.Out[0].Type.DType.ONNXName())
		})}, func(l *lowering, n *kernel.Node) {
		x, y := n.In[0].Type, n.Out[0].Type
		l.low.Unused = unusedTail(n.Node)
		f := append(ints("count", y.Elems()), call.F("from", castTypes[x.DType]), call.F("to", castTypes[y.DType]))
		l.call("nncc_cast", params("nncc_cast_params", f...), bytesOf(l.in(0)), bytesOf(l.out(0)))
	}, op.Cast, op.CastLike, op.BitCast)

// Operators on one 8-bit value become tables: the node itself is evaluated on
// all 256 inputs, so that emitted code and interpreter cannot differ.

var tableRow = row("nncc_lut_s8", "NNCC-TABLE", "any function of one 8-bit tensor, by a table of 256 results", same,
	kernel.Rules{cond.NotEmpty, cond.FirstOutput,
		cond.New("BYTE-FUNCTION", "a function of one 8-bit value", func(n *kernel.Node) string {
			if why := kernel.TableOf.Why(n); why != "" {
				return why
			}
			k, _ := kernel.RunInput(n.Node)
			return cond.If(n.In[k].Type.Elems() != n.Out[0].Type.Elems(),
				"input %d of shape %v is broadcast to %v, want the shape of the output", k, n.In[k].Type.Shape,
				n.Out[0].Type.Shape)
		})}, func(l *lowering, n *kernel.Node) {
		k, _ := kernel.RunInput(n.Node)
		b := call.Lookup(kernel.TableOf.Must(n))
		l.call("nncc_lut_s8", params("nncc_count_params", call.FI("count", n.Out[0].Type.Elems())), bytesOf(l.in(k)), b,
			bytesOf(l.out(0)))
		l.inPlace(k)
		l.tableRows(k, b)
	}, kernel.TableOps()...)

// tableRows is the look-up row by row for operands whose channels lie apart.
func (l *lowering) tableRows(k int, table *call.Blob) {
	x, y := l.n.In[k].Type, l.n.Out[0].Type
	if y.Rank() < 2 || x.Rank() != y.Rank() {
		return
	}
	row := y.Phys()[y.Rank()-1]
	if row == y.Elems() || x.Phys()[x.Rank()-1] != row {
		return
	}
	f := append(ints("rows", y.Elems()/row, "count", row), call.F("x_pitch", l.pitch(false, k, row)),
		call.F("y_pitch", l.pitch(true, 0, row)))
	l.low.RowCalls = []call.Call{{Func: "nncc_lut_rows_s8", Args: []call.Arg{
		params("nncc_table_rows_params", f...), bytesOf(l.in(k)), table, bytesOf(l.out(0))}}}
}
