package cmsisnn

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/target"
)

func same(*ir.Node) target.Layout { return target.Layout{Kind: target.Same} }

// sameShapes: the vector kernels do not broadcast. A constant operand is
// expanded at compile time.
func sameShapes(code string) target.Rule {
	return target.Rule{Code: code, Doc: "operands of the output's shape (constants are expanded)", Check: func(n *ir.Node, _ *target.Options) string {
		for _, v := range n.In {
			if v.Const == nil && !slices.Equal(v.Type.Shape, n.Out[0].Type.Shape) {
				return fmt.Sprintf("%s has shape %v and is broadcast to %v at run time", v, v.Type.Shape, n.Out[0].Type.Shape)
			}
		}
		return ""
	}}
}

func binaryRule(code string) target.Rule {
	return target.Rule{Code: code, Doc: "both operands and the result int8, per tensor", Check: func(n *ir.Node, _ *target.Options) string {
		for _, v := range []*ir.Value{n.In[0], n.In[1], n.Out[0]} {
			if s := int8PerTensor(v); s != "" {
				return s
			}
		}
		return ""
	}}
}

// vector is operand i in the memory order of the output; constants become
// arrays of the output's size.
func vector(n *ir.Node, i int) target.Arg {
	v := n.In[i]
	if v.Const == nil {
		return i8In(i)
	}
	t := n.Out[0].Type
	d := tensor.New(tensor.I8, t.Shape)
	st := make([]int, len(t.Shape))
	cs := tensor.Strides(v.Const.Shape)
	for k, dim := range v.Const.Shape {
		if dim != 1 {
			st[len(st)-len(cs)+k] = cs[k]
		}
	}
	tensor.Gather(d, v.Const, t.Shape, st, 0)
	return &target.Blob{Hint: "operand", CType: "int8_t", Data: d.Transpose(t.OrderOrIdentity()).Bytes(), Align: 4, NoCast: true}
}

func inPlace(n *ir.Node) []int {
	var p []int
	for i, v := range n.In {
		if v.Const == nil {
			p = append(p, i)
		}
	}
	return p
}

func constants(n *ir.Node) []int {
	var p []int
	for i, v := range n.In {
		if v != nil && v.Const != nil {
			p = append(p, i)
		}
	}
	return p
}

// add is arm_elementwise_add_s8.
var add = &target.Kernel{
	Name: "arm_elementwise_add_s8", Library: Library, Doc: "int8 addition", Ops: []*ir.OpDef{op.Add}, Layout: same,
	Rules: []target.Rule{binaryRule("CMSIS-ADD-01"), sameShapes("CMSIS-ADD-02")},
	Lower: func(n *ir.Node, _ *target.Options) (*target.Lowered, error) {
		p := op.AddParamsS8(n)
		s := p.Scales
		a := func(v int32) target.Arg { return target.I32(int(v)) }
		return calls(&target.Lowered{InPlace: inPlace(n), Unused: constants(n)}, target.Call{Func: "arm_elementwise_add_s8", Status: target.CMSISStatus,
			Args: []target.Arg{vector(n, 0), vector(n, 1), a(p.Offset1), a(s.Mult1), a(s.Shift1), a(p.Offset2), a(s.Mult2), a(s.Shift2), a(s.LeftShift),
				i8Out(0), a(p.OutputOffset), a(s.OutMult), a(s.OutShift), a(p.ActMin), a(p.ActMax), target.I32(n.Out[0].Type.Elems())}})
	},
}

// mul is arm_elementwise_mul_s8.
var mul = &target.Kernel{
	Name: "arm_elementwise_mul_s8", Library: Library, Doc: "int8 multiplication", Ops: []*ir.OpDef{op.Mul}, Layout: same,
	Rules: []target.Rule{binaryRule("CMSIS-MUL-01"), sameShapes("CMSIS-MUL-02")},
	Lower: func(n *ir.Node, _ *target.Options) (*target.Lowered, error) {
		p := op.MulParamsS8(n)
		a := func(v int32) target.Arg { return target.I32(int(v)) }
		return calls(&target.Lowered{InPlace: inPlace(n), Unused: constants(n)}, target.Call{Func: "arm_elementwise_mul_s8", Status: target.CMSISStatus,
			Args: []target.Arg{vector(n, 0), vector(n, 1), a(p.Offset1), a(p.Offset2), i8Out(0), a(p.OutputOffset), a(p.Mult), a(p.Shift),
				a(p.ActMin), a(p.ActMax), target.I32(n.Out[0].Type.Elems())}})
	},
}

func minMax(name, code, doc string, o *ir.OpDef) *target.Kernel {
	return &target.Kernel{
		Name: name, Library: Library, Doc: doc, Ops: []*ir.OpDef{o}, Layout: same,
		Rules: []target.Rule{
			{Code: code + "-01", Doc: "two operands", Check: func(n *ir.Node, _ *target.Options) string {
				if len(n.In) != 2 {
					return fmt.Sprintf("%d operands, want 2", len(n.In))
				}
				return ""
			}},
			{Code: code + "-02", Doc: "int8 with one quantisation for operands and result", Check: func(n *ir.Node, _ *target.Options) string {
				if s := int8PerTensor(n.Out[0]); s != "" {
					return s
				}
				if !op.MinMaxKernel(n) {
					return "operands and result differ in scale or zero point"
				}
				return ""
			}},
			sameShapes(code + "-03"),
		},
		Lower: func(n *ir.Node, _ *target.Options) (*target.Lowered, error) {
			d := Dims{1, 1, 1, n.Out[0].Type.Elems()}
			return calls(&target.Lowered{InPlace: inPlace(n), Unused: constants(n)}, target.Call{Func: name, Status: target.CMSISStatus,
				Args: []target.Arg{context(0, 0), vector(n, 0), d.arg(), vector(n, 1), d.arg(), i8Out(0), d.arg()}})
		},
	}
}

var (
	minimum = minMax("arm_minimum_s8", "CMSIS-MIN", "int8 minimum", op.Min)
	maximum = minMax("arm_maximum_s8", "CMSIS-MAX", "int8 maximum", op.Max)
)

// softmax is arm_softmax_s8 on rows: the axis must be innermost in memory.
var softmax = &target.Kernel{
	Name: "arm_softmax_s8", Library: Library, Doc: "int8 softmax over the innermost axis", Ops: []*ir.OpDef{op.Softmax},
	Layout: func(n *ir.Node) target.Layout {
		rank := n.Out[0].Type.Rank()
		axis, err := op.Axis(n, n.Int("axis"), rank)
		if err != nil || axis == rank-1 {
			return target.Layout{Kind: target.Natural}
		}
		var order []int
		for d := 0; d < rank; d++ {
			if d != axis {
				order = append(order, d)
			}
		}
		order = append(order, axis)
		return target.Layout{Kind: target.Fixed, In: [][]int{order}, Out: [][]int{order}}
	},
	Rules: []target.Rule{
		needsInt8("CMSIS-SMAX-01", []int{0}),
		{Code: "CMSIS-SMAX-02", Doc: "output scale 1/256, zero point -128; a representable input scale", Check: func(n *ir.Node, _ *target.Options) string {
			if n.In[0].Type.Quant == nil || n.Out[0].Type.Quant == nil {
				return ""
			}
			if _, _, _, ok := op.SoftmaxKernel(n); !ok {
				return fmt.Sprintf("the output is %s, want scale 1/256 and zero point -128", n.Out[0].Type)
			}
			return ""
		}},
	},
	Lower: func(n *ir.Node, _ *target.Options) (*target.Lowered, error) {
		t := n.Out[0].Type
		axis, err := op.Axis(n, n.Int("axis"), t.Rank())
		if err != nil {
			return nil, err
		}
		size := t.Shape[axis]
		mult, shift, diffMin, _ := op.SoftmaxKernel(n)
		return calls(&target.Lowered{}, target.Call{Func: "arm_softmax_s8", Args: []target.Arg{
			i8In(0), target.I32(t.Elems() / max(size, 1)), target.I32(size), target.I32(int(mult)), target.I32(int(shift)), target.I32(int(diffMin)), i8Out(0)}})
	},
}

func poolRules(code string) []target.Rule {
	return []target.Rule{
		needsInt8(code+"-01", []int{0}),
		{Code: code + "-02", Doc: "one quantisation, padding that does not count", Check: func(n *ir.Node, _ *target.Options) string {
			if n.In[0].Type.Quant == nil || n.Out[0].Type.Quant == nil {
				return ""
			}
			_, _, why := op.PoolQuantClamp(n)
			return why
		}},
		spatialRule(code+"-03", func(n *ir.Node) ([]int, error) {
			g, err := op.PoolGeometry(n)
			if err != nil {
				return nil, err
			}
			return g.In, nil
		}),
		{Code: code + "-04", Doc: "no dilation, no indices", Check: func(n *ir.Node, _ *target.Options) string {
			g, err := op.PoolGeometry(n)
			switch {
			case err != nil:
			case len(n.Out) > 1:
				return "the indices of the maxima are wanted"
			case geom2(g.Dilations, 1) != Tile{1, 1}:
				return fmt.Sprintf("dilations are %v, want 1", g.Dilations)
			}
			return ""
		}},
		{Code: code + "-05", Doc: "every window touches the input", Check: func(n *ir.Node, _ *target.Options) string {
			g, err := op.PoolGeometry(n)
			if err != nil || len(g.In) > 2 {
				return ""
			}
			return poolRef(g).MaxPoolLibraryLimit()
		}},
	}
}

func poolRef(g *op.PoolGeom) *qref.PoolParams {
	return &qref.PoolParams{In: qref.Dims(feature(g.N, g.C, g.In)), Out: qref.Dims(feature(g.N, g.C, g.Out)), Kernel: qref.Tile(geom2(g.Kernel, 1)),
		Stride: qref.Tile(geom2(g.Strides, 1)), Pad: qref.Tile(geom2(g.PadBegin, 0))}
}

func pool(name, code, doc string, scratch func(isa ISA, c int) int, ops ...*ir.OpDef) *target.Kernel {
	return &target.Kernel{
		Name: name, Library: Library, Doc: doc, Ops: ops, Layout: target.SpatialLayout, Rules: poolRules(code),
		Lower: func(n *ir.Node, o *target.Options) (*target.Lowered, error) {
			g, err := op.PoolGeometry(n)
			if err != nil {
				return nil, err
			}
			lo, hi, _ := op.PoolQuantClamp(n)
			size := scratch(CoreISA(o.Core), g.C)
			kernel := geom2(g.Kernel, 1)
			params := &target.Struct{Type: "cmsis_nn_pool_params", Fields: []target.Field{
				target.F("stride", geom2(g.Strides, 1).arg()), target.F("padding", geom2(g.PadBegin, 0).arg()), target.F("activation", activation(lo, hi))}}
			return calls(&target.Lowered{Scratch: size}, target.Call{Func: name, Status: target.CMSISStatus, Args: []target.Arg{
				context(0, size), params, feature(g.N, g.C, g.In).arg(), i8In(0), Dims{1, kernel.H, kernel.W, 1}.arg(), feature(g.N, g.C, g.Out).arg(), i8Out(0)}})
		},
	}
}

var (
	avgPool = pool("arm_avgpool_s8", "CMSIS-AVG", "int8 average pooling", AvgPoolScratch, op.AveragePool, op.GlobalAveragePool)
	maxPool = pool("arm_max_pool_s8", "CMSIS-MAXP", "int8 max pooling", func(ISA, int) int { return 0 }, op.MaxPool, op.GlobalMaxPool)
)
