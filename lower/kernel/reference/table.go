// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// Operators on one 8-bit value become tables: the node itself is evaluated on
// all 256 inputs, so that emitted code and interpreter cannot differ.

var tableRow = row("nncc_lut_s8", "NNCC-TABLE", "any function of one 8-bit tensor, by a table of 256 results", same,
	kernel.Rules{cond.NotEmpty, cond.FirstOutput,
		cond.New("BYTE-FUNCTION", "a function of one 8-bit value", func(n *kernel.Node) string {
			if why := kernel.TableOf.Why(n); why != "" {
				return why
			}
			if k, _ := kernel.RunInput(n.Node); n.In[k].Type.Elems() != n.Out[0].Type.Elems() {
				return fmt.Sprintf("input %d of shape %v is broadcast to %v, want the shape of the output", k,
					n.In[k].Type.Shape, n.Out[0].Type.Shape)
			}
			return ""
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
