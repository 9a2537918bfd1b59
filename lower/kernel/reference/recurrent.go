// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// integerRecurrent are LSTM and GRU of nncc_recurrent.h in C.
func integerRecurrent() []*kernel.Kernel {
	var rows []*kernel.Kernel
	for _, k := range quantised.RecurrentKinds {
		fn := "nncc_" + k.Suffix()
		rows = append(rows, &kernel.Kernel{Name: fn, Library: "nncc", Doc: k.Doc(), Ops: []*ir.OpDef{k.Op},
			Was: "NNCC-" + k.Was() + "-Q", Rules: k.Rules(), Layout: natural,
			Lower: func(n *kernel.Node) *call.Lowered { return quantised.CallRecurrent(n, fn, "nncc", 0) }})
	}
	return rows
}
