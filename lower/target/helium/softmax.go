package helium

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/lower/target"
	"github.com/nncc/nncc/lower/target/cmsisnn"
)

// Of fewer values a softmax is not worth its table of 1 KiB; a longer row
// could make a sum of more than 31 bits.
const (
	leastSoftmax = 256
	longestRow   = 2048
)

// softmax has the exponentials of all 256 differences in a table.
var softmax = &target.Kernel{
	Name: "nncc_helium_softmax_s8", Library: Library, Doc: "int8 softmax over the innermost axis, exponentials by a table",
	Ops: []*ir.OpDef{op.Softmax}, Layout: cmsisnn.Innermost, Lower: lowerSoftmax,
	Rules: join(onHelium("HELIUM-SMAX-00"), cmsisnn.SoftmaxRules("HELIUM-SMAX"), target.Rule{
		Code: "HELIUM-SMAX-03", Doc: fmt.Sprintf("at least %d values, for which a table pays, in rows of at most %d", leastSoftmax, longestRow),
		Check: func(n *ir.Node, _ *target.Options) string {
			rows, size, err := cmsisnn.SoftmaxRows(n)
			if err != nil || size <= longestRow && rows*size >= leastSoftmax {
				return ""
			}
			return fmt.Sprintf("%d rows of %d values, want at least %d values in rows of at most %d", rows, size, leastSoftmax, longestRow)
		}}),
}

func lowerSoftmax(n *ir.Node, _ *target.Options) (*target.Lowered, error) {
	rows, size, err := cmsisnn.SoftmaxRows(n)
	if err != nil {
		return nil, err
	}
	mult, shift, diffMin, _ := op.SoftmaxKernel(n)
	terms := qref.SoftmaxTerms(mult, shift, diffMin)
	table := &target.Blob{Hint: "exponentials", CType: "int32_t", Data: words(nil, terms[:]...), Align: 4}
	return own(&target.Lowered{Scratch: 4 * size, InPlace: []int{0}}, target.Call{Func: "nncc_helium_softmax_s8", Args: []target.Arg{
		&target.Struct{Type: "nncc_helium_softmax", Fields: []target.Field{target.FI("rows", rows), target.FI("size", size)}},
		i8In(0), table, target.Scratch{CType: "int32_t"}, i8Out(0)}})
}
