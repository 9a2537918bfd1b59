package lower

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/target"
	"github.com/nncc/nncc/lower/target/mla"
	"github.com/nncc/nncc/lower/target/mla/lm"
)

// segmentKernel runs a Segment on the MLA: its body is compiled to a segment
// file, which the firmware links and hands to the driver with the places of
// inputs and outputs. The driver's working memory is the step's scratch.
func segmentKernel(lim mla.Limits) *target.Kernel {
	return &target.Kernel{
		Name: "mla_run_segment", Library: mla.Kind, Doc: "a segment file on the accelerator", Ops: []*ir.OpDef{op.Segment},
		Layout: func(n *ir.Node) target.Layout {
			l := target.Layout{Kind: target.Fixed, In: make([][]int, len(n.In)), Out: make([][]int, len(n.Out))}
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
		Lower: func(n *ir.Node, _ *target.Options) (*target.Lowered, error) {
			seg, err := mla.Compile(n.Body[0], lim)
			if err != nil {
				return nil, err
			}
			file, err := lm.Encode(seg)
			if err != nil {
				return nil, fmt.Errorf("BUG: segment %s: %w", n.Name, err)
			}
			in, out := &target.Array{Type: "mla_input"}, &target.Array{Type: "mla_output"}
			for i, v := range n.In {
				in.Elems = append(in.Elems, place(target.In{I: i, CType: "void"}, v))
			}
			for i, v := range n.Out {
				out.Elems = append(out.Elems, place(target.Out{I: i, CType: "void"}, v))
			}
			count := func(k int) target.Lit { return target.Lit(fmt.Sprintf("%du", k)) }
			return &target.Lowered{Kernel: "mla_run_segment", Route: "segment file", Library: mla.Kind, Scratch: seg.Memory, Headers: []string{"mla/mla_driver.h"},
				Calls: []target.Call{{Func: "mla_run_segment", Status: target.MLAStatus, Args: []target.Arg{
					&target.Image{Ext: "lm", Data: file}, count(len(file)), target.Scratch{CType: "void"}, count(seg.Memory),
					in, count(len(n.In)), out, count(len(n.Out)), target.Null{}}}}}, nil
		},
	}
}

// place is the entry of a value in the driver's lists.
func place(at target.Arg, v *ir.Value) target.Nested {
	return target.Nested{Fields: []target.Field{target.F("data", at), target.F("bytes", target.Lit(fmt.Sprintf("%du", v.Type.Bytes())))}}
}
