// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// recurrentRows compute four units of a gate at a time.
func recurrentRows() []*kernel.Kernel {
	var rows []*kernel.Kernel
	for _, k := range quantised.RecurrentKinds {
		fn := "nncc_helium_" + k.Suffix()
		rows = append(rows, &kernel.Kernel{Name: fn, Library: Library, Doc: k.Doc(), Ops: []*ir.OpDef{k.Op},
			Was: "HELIUM-" + k.Was(), Rules: kernel.All(cond.Helium, k.Rules()),
			Lower: func(n *kernel.Node) *call.Lowered {
				return quantised.CallRecurrent(n, fn, Library, vector/k.Elem.Size())
			}})
	}
	return rows
}
