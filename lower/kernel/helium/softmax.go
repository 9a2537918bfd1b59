package helium

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// Of fewer values a softmax is not worth its table of 1 KiB; a longer row
// could make a sum of more than 31 bits.
const (
	leastSoftmax = 256
	longestRow   = 2048
)

// softmax has the exponentials of all 256 differences in a table.
var softmax = &kernel.Kernel{
	Name: "nncc_helium_softmax_s8", Library: Library,
	Doc: "int8 softmax over the innermost axis, exponentials by a table",
	Ops: []*ir.OpDef{op.Softmax}, Layout: quantised.Innermost, Lower: lowerSoftmax,
	Rules: join(onHelium("HELIUM-SMAX-00"), quantised.SoftmaxRules("HELIUM-SMAX"), kernel.Rule{
		Code: "HELIUM-SMAX-03", Doc: fmt.Sprintf("at least %d values, for which a table pays, in rows of at most %d",
			leastSoftmax, longestRow),
		Check: func(n *kernel.Node) string {
			r, why := quantised.SoftmaxRows.Of(n)
			if why != "" || r.Size <= longestRow && r.Count*r.Size >= leastSoftmax {
				return ""
			}
			return fmt.Sprintf("%d rows of %d values, want at least %d values in rows of at most %d", r.Count, r.Size,
				leastSoftmax, longestRow)
		}}),
}

func lowerSoftmax(n *kernel.Node) *call.Lowered {
	r := quantised.SoftmaxRows.Must(n)
	mult, shift, diffMin, _ := op.SoftmaxKernel(n.Node)
	terms := qref.SoftmaxTerms(mult, shift, diffMin)
	table := &call.Blob{Hint: "exponentials", CType: "int32_t", Data: words(nil, terms[:]...), Align: 4}
	return own(&call.Lowered{Scratch: 4 * r.Size, InPlace: []int{0}}, call.Call{Func: "nncc_helium_softmax_s8",
		Args: []call.Arg{
			&call.Struct{Type: "nncc_helium_softmax_params", Fields: []call.Field{call.FI("rows", r.Count),
				call.FI("size", r.Size)}},
			i8In(0), table, call.Scratch{CType: "int32_t"}, i8Out(0)}})
}
