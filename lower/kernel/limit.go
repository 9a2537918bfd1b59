// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
)

// checkLimits puts the check of inputs that are computed at run time and have limits in front of the
// calls of a node. Constants are within (ir.InferNode).
func checkLimits(n *ir.Node, low *call.Lowered) {
	var checks []call.Call
	for _, l := range ir.LimitsOf(n) {
		t := n.In[l.Input].Type
		if n.In[l.Input].Const != nil || t.Elems() == 0 {
			continue
		}
		limits := &call.Array{Type: "nncc_limit", Bytes: 8}
		for k := range l.Least {
			limits.Elems = append(limits.Elems,
				call.Nested{Fields: []call.Field{call.FI("least", l.Least[k]), call.FI("most", l.Most[k])}})
		}
		checks = append(checks, call.Call{Func: "nncc_check_indices", Status: call.NNCCStatus, Args: []call.Arg{
			call.In{I: l.Input, CType: "uint8_t"}, call.I32(t.DType.Size()), call.I32(t.Elems()), limits,
			call.I32(len(l.Least))}})
		low.Unused = slices.DeleteFunc(low.Unused, func(i int) bool { return i == l.Input })
	}
	if checks == nil {
		return
	}
	low.Headers = append(low.Headers, "nncc_limit.h")
	if low.Calls = slices.Concat(checks, low.Calls); low.RowCalls != nil {
		low.RowCalls = slices.Concat(checks, low.RowCalls)
	}
}
