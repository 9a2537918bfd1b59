// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// LimitRules are the conditions on a Relu or Clip of int8 values by a table.
func LimitRules() kernel.Rules {
	return kernel.Rules{Int8(0), cond.New("BOUNDS", "constant bounds", kernel.TableOf.Why)}
}

// LowerLimit looks every value up.
func LowerLimit(n *kernel.Node) *call.Lowered {
	return &call.Lowered{Kernel: "nncc_lut_s8", InPlace: []int{0}, Unused: ir.Identity(len(n.In))[1:],
		Calls: []call.Call{{Func: "nncc_lut_s8", Args: []call.Arg{
			&call.Struct{Type: "nncc_count_params", Fields: call.Ints("count", n.Out[0].Type.Elems())},
			call.In{CType: "uint8_t"}, call.Lookup(kernel.TableOf.Must(n)), call.Out{CType: "uint8_t"}}}}}
}
