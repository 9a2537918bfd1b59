package cmsisnn

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/target"
)

// transposeConv is arm_transpose_conv_wrapper_s8.
var transposeConv = &target.Kernel{
	Name: "arm_transpose_conv_wrapper_s8", Library: Library, Doc: "int8 transposed convolution",
	Ops: []*ir.OpDef{op.ConvTranspose}, Layout: target.SpatialLayout, Lower: lowerTransposeConv,
	Rules: append(macRules("CMSIS-TCONV", op.ConvQuantParams), spatialRule("CMSIS-TCONV-05", convSpatial),
		target.Rule{Code: "CMSIS-TCONV-06", Doc: "one group, no dilation", Check: func(n *ir.Node, _ *target.Options) string {
			g, err := op.ConvGeometry(n)
			switch {
			case err != nil:
			case g.Group != 1:
				return fmt.Sprintf("group is %d, want 1", g.Group)
			case geom2(g.Dilations, 1) != Tile{1, 1}:
				return fmt.Sprintf("dilations are %v, want 1", g.Dilations)
			}
			return ""
		}},
		target.Rule{Code: "CMSIS-TCONV-07", Doc: "a geometry that the library computes rightly", Check: func(n *ir.Node, _ *target.Options) string {
			g, err := op.ConvGeometry(n)
			if err != nil || len(g.In) > 2 || g.Group != 1 {
				return ""
			}
			return transposeParams(g).LibraryLimit()
		}}),
}

func transposeParams(g *op.ConvGeom) *qref.TransposeConvParams {
	in, out, filter := feature(g.N, g.CIn, g.In), feature(g.N, g.COut, g.Out), feature(g.COut, g.CIn, g.Kernel)
	return &qref.TransposeConvParams{In: qref.Dims(in), Filter: qref.Dims(filter), Out: qref.Dims(out),
		Stride: qref.Tile(geom2(g.Strides, 1)), Pad: qref.Tile(geom2(g.PadBegin, 0))}
}

func lowerTransposeConv(n *ir.Node, o *target.Options) (*target.Lowered, error) {
	g, err := op.ConvGeometry(n)
	if err != nil {
		return nil, err
	}
	p, why := op.ConvQuantParams(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	isa := CoreISA(o.Core)
	in, out, filter := feature(g.N, g.CIn, g.In), feature(g.N, g.COut, g.Out), feature(g.COut, g.CIn, g.Kernel)
	stride, pad := geom2(g.Strides, 1), geom2(g.PadBegin, 0)
	size, reversed := TransposeConvScratch(isa, in, filter, out, stride)
	off := roundUp(size, 16)
	params := &target.Struct{Type: "cmsis_nn_transpose_conv_params", Fields: []target.Field{
		target.FI("input_offset", int(p.InOff)), target.FI("output_offset", int(p.OutOff)),
		target.F("stride", stride.arg()), target.F("padding", pad.arg()), target.F("padding_offsets", Tile{}.arg()),
		target.F("dilation", Tile{1, 1}.arg()), target.F("activation", activation(p.ActMin, p.ActMax))}}
	bias, biasDims := biasArg(n, g.COut)
	perm := []int{1} // IO(H)W -> O(H)WI
	for d := range g.In {
		perm = append(perm, 2+d)
	}
	weights := &target.Blob{Hint: "weights", CType: "int8_t", Data: constBytes(n.In[1], append(perm, 0)), Align: 4, Pad: 16, NoCast: true}
	route := "arm_transpose_conv_s8"
	if reversed > 0 {
		route = "arm_convolve_s8" // of the upscaled input, with the filter reversed
	}
	return calls(&target.Lowered{Route: route, Scratch: off + reversed, Unused: []int{1, 2}},
		target.Call{Func: "arm_transpose_conv_wrapper_s8", Status: target.CMSISStatus,
			Args: []target.Arg{context(0, size), context(off, reversed), params, perChannel(p), in.arg(), i8In(0), filter.arg(), weights, biasDims, bias, out.arg(), i8Out(0)}})
}

// upscaledConv is ConvTranspose by its definition, for what the library's own
// kernel does not take or gets wrong: groups, dilation, output padding beyond
// the last window, padding of the kernel's size and above. The input is spread
// over scratch memory full of its zero point, strides apart, and convolved by
// arm_convolve_s8 with the filter turned round at compile time.
var upscaledConv = &target.Kernel{
	Name: "arm_convolve_s8", Library: Library, Doc: "int8 transposed convolution with groups and dilation, as a convolution of the spread input",
	Ops: []*ir.OpDef{op.ConvTranspose}, Layout: target.SpatialLayout, Lower: lowerUpscaledConv,
	Rules: append(macRules("CMSIS-UPCONV", op.ConvQuantParams), spatialRule("CMSIS-UPCONV-05", convSpatial)),
}

func lowerUpscaledConv(n *ir.Node, o *target.Options) (*target.Lowered, error) {
	g, err := op.ConvGeometry(n)
	if err != nil {
		return nil, err
	}
	p, why := op.ConvQuantParams(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	in, out, filter := feature(g.N, g.CIn, g.In), feature(g.N, g.COut, g.Out), feature(g.COut, g.CIn/g.Group, g.Kernel)
	stride, pad, dil := geom2(g.Strides, 1), geom2(g.PadBegin, 0), geom2(g.Dilations, 1)
	// Output o reads spread positions o, o+d, ... o+d*(k-1); input element i
	// lies at i*s + d*(k-1) - pad.
	spread := Dims{in.N, out.H + dil.H*(filter.H-1), out.W + dil.W*(filter.W-1), in.C}
	y0, rows := placed(in.H, stride.H, dil.H*(filter.H-1)-pad.H, spread.H)
	x0, cols := placed(in.W, stride.W, dil.W*(filter.W-1)-pad.W, spread.W)
	size := ConvGenericScratch(CoreISA(o.Core), spread, filter)
	off := roundUp(size, 16)
	image := target.Scratch{Off: off, CType: "int8_t"}
	area := spread.N * spread.H * spread.W * spread.C
	list := []target.Call{{Func: "nncc_fill", Args: []target.Arg{
		&target.Struct{Type: "nncc_fill_params", Fields: []target.Field{target.FI("elem", 1), target.FI("count", area)}},
		&target.Blob{Hint: "zero", CType: "int8_t", Data: []byte{byte(-p.InOff)}, NoCast: true}, image}}}
	if rows > 0 && cols > 0 {
		at := func(d Dims, y, x int) int { return (y*d.W + x) * d.C }
		list = append(list, target.Call{Func: "nncc_copy_nd", Args: []target.Arg{
			&target.Struct{Type: "nncc_copy_nd_params", Fields: []target.Field{target.FI("elem", 1), target.FI("rank", 4),
				target.FI("x_offset", at(in, y0, x0)), target.FI("y_offset", at(spread, y0*stride.H+dil.H*(filter.H-1)-pad.H, x0*stride.W+dil.W*(filter.W-1)-pad.W)),
				target.F("dims", target.IntArray([]int{in.N, rows, cols, in.C})),
				target.F("x_stride", target.IntArray([]int{in.H * in.W * in.C, in.W * in.C, in.C, 1})),
				target.F("y_stride", target.IntArray([]int{spread.H * spread.W * spread.C, stride.H * spread.W * spread.C, stride.W * spread.C, 1}))}},
			i8In(0), image}})
	}
	bias, biasDims := biasArg(n, g.COut)
	params := &target.Struct{Type: "cmsis_nn_conv_params", Fields: []target.Field{
		target.FI("input_offset", int(p.InOff)), target.FI("output_offset", int(p.OutOff)),
		target.F("stride", Tile{1, 1}.arg()), target.F("padding", Tile{}.arg()), target.F("dilation", dil.arg()), target.F("activation", activation(p.ActMin, p.ActMax))}}
	weights := &target.Blob{Hint: "weights", CType: "int8_t", Data: turnedFilter(n.In[1].Const, g), Align: 4, Pad: 16, NoCast: true}
	list = append(list, target.Call{Func: "arm_convolve_s8", Status: target.CMSISStatus,
		Args: []target.Arg{context(0, size), params, perChannel(p), spread.arg(), image, filter.arg(), weights, biasDims, bias, target.Null{}, out.arg(), i8Out(0)}})
	return calls(&target.Lowered{Kernel: "arm_convolve_s8", Scratch: off + area, Unused: []int{1, 2}}, list...)
}

// placed are the first input element and the number of elements that lie
// within size positions, where element i lies at i*stride + lead.
func placed(in, stride, lead, size int) (first, count int) {
	for first < in && first*stride+lead < 0 {
		first++
	}
	for first+count < in && (first+count)*stride+lead < size {
		count++
	}
	return first, count
}

// turnedFilter is the weights [I][O/groups][taps] of a ConvTranspose as those
// of a convolution, [O][taps in opposite order][I/groups].
func turnedFilter(w *tensor.Dense, g *op.ConvGeom) []byte {
	src := tensor.As[int8](w)
	ci, co, taps := g.CIn/g.Group, g.COut/g.Group, g.Taps()
	out := make([]byte, 0, len(src))
	for o := range g.COut {
		for t := taps - 1; t >= 0; t-- {
			for i := range ci {
				out = append(out, byte(src[((o/co*ci+i)*co+o%co)*taps+t]))
			}
		}
	}
	return out
}
