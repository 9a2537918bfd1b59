package lower

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/accel/mla"
	"github.com/nncc/nncc/lower/accel/mla/lm"
	"github.com/nncc/nncc/lower/kernel"
)

// segmentKernel runs a Segment on the MLA: its body is compiled to a segment
// file, which the firmware links and hands to the driver with the places of
// inputs and outputs. The driver's working memory is the step's scratch.
func segmentKernel(lim mla.Limits) *kernel.Kernel {
	return &kernel.Kernel{
		Name: "mla_run_segment", Library: mla.Kind, Doc: "a segment file on the accelerator", Ops: []*ir.OpDef{op.Segment},
		Layout: func(n *ir.Node) kernel.Layout {
			l := kernel.Layout{Kind: kernel.Fixed, In: make([][]int, len(n.In)), Out: make([][]int, len(n.Out))}
			for i, v := range n.In {
				if v.Type.Rank() == 4 {
					l.In[i] = ir.NHWC(4)
				}
			}
			for i, v := range n.Out {
				if v.Type.Rank() == 4 {
					l.Out[i] = ir.NHWC(4)
				}
			}
			return l
		},
		Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
			seg, err := mla.Compile(n.Body[0], lim)
			if err != nil {
				return nil, err
			}
			file, err := lm.Encode(seg)
			if err != nil {
				return nil, fmt.Errorf("BUG: segment %s: %w", n.Name, err)
			}
			in, out := &call.Array{Type: "mla_input"}, &call.Array{Type: "mla_output"}
			for i, v := range n.In {
				in.Elems = append(in.Elems, place(call.In{I: i, CType: "void"}, v))
			}
			for i, v := range n.Out {
				out.Elems = append(out.Elems, place(call.Out{I: i, CType: "void"}, v))
			}
			count := func(k int) call.Lit { return call.Lit(fmt.Sprintf("%du", k)) }
			return &call.Lowered{Kernel: "mla_run_segment", Route: "segment file", Library: mla.Kind, Scratch: seg.Memory, Headers: []string{"mla/mla_driver.h"},
				Calls: []call.Call{{Func: "mla_run_segment", Status: call.MLAStatus, Args: []call.Arg{
					&call.Image{Ext: "lm", Data: file}, count(len(file)), call.Scratch{CType: "void"}, count(seg.Memory),
					in, count(len(n.In)), out, count(len(n.Out)), call.Null{}}}}}, nil
		},
	}
}

// place is the entry of a value in the driver's lists.
func place(at call.Arg, v *ir.Value) call.Nested {
	return call.Nested{Fields: []call.Field{call.F("data", at), call.F("bytes", call.Lit(fmt.Sprintf("%du", v.Type.Bytes())))}}
}
