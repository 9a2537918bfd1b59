// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// clip is Relu and Clip on integers of one quantisation: arm_maximum_s8 and
// arm_minimum_s8 with a constant. (arm_relu_q7 and arm_relu6_s8 know no zero
// point and no scale.) An activation that its producer absorbs never gets here.
var clip = &kernel.Kernel{
	Name: "arm_maximum_s8", Library: Library, Was: "CMSIS-CLIP",
	Doc: "int8 Relu and Clip: maximum and minimum with constants",
	Ops: []*ir.OpDef{op.Relu, op.Clip}, Layout: kernel.SameLayout,
	Rules: kernel.Rules{
		quantised.Int8(0),
		cond.New("CLAMP", "a clamp of the integers: one quantisation, constant bounds", func(n *kernel.Node) string {
			for i := 1; i < len(n.In); i++ {
				if v := n.In[i]; v != nil && v.Const == nil {
					return fmt.Sprintf("the bound %s is computed at run time, want a constant", v)
				}
			}
			if t, ok := ir.Table(n.Node); ok {
				if _, _, ok := clampOf(t); !ok {
					return fmt.Sprintf("%s is %s, the result %s: more than a clamp of the integers", n.In[0],
						n.In[0].Type, n.Out[0].Type)
				}
			}
			return ""
		}),
	},
	Lower: func(n *kernel.Node) *call.Lowered {
		t, _ := ir.Table(n.Node)
		lo, hi, _ := clampOf(t)
		d, one := Dims{1, 1, 1, n.Out[0].Type.Elems()}, Dims{1, 1, 1, 1}
		var list []call.Call
		var x call.Arg = i8In(0)
		limit := func(fn string, v int8) {
			bound := &call.Blob{Hint: "bound", CType: "int8_t", Data: []byte{byte(v)}, NoCast: true}
			list = append(list, call.Call{Func: fn, Status: call.CMSISStatus, Args: []call.Arg{context(0, 0), x,
				d.arg(), bound, one.arg(), i8Out(0), d.arg()}})
			x = i8Out(0)
		}
		if lo > -128 || hi == 127 {
			limit("arm_maximum_s8", lo)
		}
		if hi < 127 {
			limit("arm_minimum_s8", hi)
		}
		return calls(&call.Lowered{Overlap: call.InPlace(0), Unused: tail(n.Node), Kernel: list[0].Func}, list...)
	},
}

// clampOf are the bounds that a table of 256 results, from the lowest input on,
// clamps its input to; false when it does something else.
func clampOf(t []int64) (lo, hi int8, ok bool) {
	if len(t) != 256 {
		return 0, 0, false
	}
	lo, hi = int8(t[0]), int8(t[255])
	for i, y := range t {
		if y != min(max(int64(i-128), int64(lo)), int64(hi)) {
			return 0, 0, false
		}
	}
	return lo, hi, true
}
