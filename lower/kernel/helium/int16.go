// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// int16 data with int8 weights: the kernels and windows of int8, in bytes, and
// products of their own.

// convOf16 is a convolution on int16 data.
var convOf16 = kernel.NewFact(func(n *kernel.Node) (*convolution, string) {
	c, why := quantised.ConvOf16.Of(n)
	if why != "" {
		return nil, why
	}
	return &convolution{Convolution: c, l: layerOf(n, c.Layer, c.G.Group)}, ""
})

// sums16 says that sums stay in 32 bits.
const sums16 = "sums that 32 bits hold, whatever the input"

var conv16 = &kernel.Kernel{
	Name: "nncc_helium_convolve_s16", Library: Library,
	Doc: "int16 convolution with groups and dilation, packed int8 weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout,
	Lower: func(n *kernel.Node) *call.Lowered { return lowerConvolution(convOf16.Must(n), n.Generic) },
	Rules: join(onHelium("HELIUM-CONV16-00"), quantised.Rules16("HELIUM-CONV16",
		quantised.Conv16Params.Exists("HELIUM-CONV16-03", "scales have a fixed-point form, the int64 bias counts "+
			"their product"), convOf16.Exists("HELIUM-CONV16-04", sums16)),
		quantised.ConvSpatialRule("HELIUM-CONV16-05"),
		quantised.DepthwiseRule("HELIUM-CONV16-06", false),
		convOf16.Rule("HELIUM-CONV16-07", "requantisation shifts to the right",
			func(_ *kernel.Node, c *convolution) string { return c.l.Shifts16(0) })),
}

var fullyConnected16 = &kernel.Kernel{
	Name: "nncc_helium_matmul_1row_s16", Library: Library,
	Doc: "int16 fully connected layer, per tensor or per channel, packed int8 weights",
	Ops: []*ir.OpDef{op.Gemm, op.MatMul},
	Lower: func(n *kernel.Node) *call.Lowered {
		return lowerProduct(quantised.Products16.Must(n), layerOf(n, *quantised.ProductLayers16.Must(n), 1), n.Generic)
	},
	Rules: join(onHelium("HELIUM-FC16-00"), quantised.Rules16("HELIUM-FC16",
		quantised.Products16.Exists("HELIUM-FC16-03", "a plain product with fixed-point scales and an int64 bias"),
		quantised.ProductLayers16.Exists("HELIUM-FC16-04", sums16)),
		quantised.ProductLayers16.Rule("HELIUM-FC16-05", "requantisation shifts to the right",
			func(_ *kernel.Node, l *quantised.Layer) string { return l.Shifts16(0) })),
}

var depthwise16 = &kernel.Kernel{
	Name: "nncc_helium_depthwise_s16", Library: Library,
	Doc: "int16 depthwise convolution with any window and a channel multiplier, packed int8 weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout, Lower: lowerDepthwise16,
	Rules: join(onHelium("HELIUM-DW16-00"), quantised.Rules16("HELIUM-DW16",
		quantised.Conv16Params.Exists("HELIUM-DW16-03", "scales have a fixed-point form, the int64 bias counts "+
			"their product"), convOf16.Exists("HELIUM-DW16-04", sums16)),
		quantised.ConvSpatialRule("HELIUM-DW16-05"), quantised.DepthwiseRule("HELIUM-DW16-06", true),
		convOf16.Rule("HELIUM-DW16-07", "requantisation shifts to the right",
			func(_ *kernel.Node, c *convolution) string { return c.l.Shifts16(0) })),
}

// by4 names the kernel that takes two channels of four rows of so many vectors at
// a time, or fn where none does: longer rows, few rows or channels, scales that
// shift further, and clamps other than int16's and Relu's.
func (l *layer) by4(fn string, vectors, channels, rows int, generic bool) string {
	more := ""
	if len(l.Rows[0])%lanes == 1 && vectors > 1 {
		vectors, more = vectors-1, "p1"
	}
	p := l.Params
	if l.form != sixteen || vectors > 3 || generic || channels < fewest || rows < 12 || p.ActMax != math.MaxInt16 ||
		p.ActMin != math.MinInt16 && p.ActMin != 0 {
		return fn
	}
	for c := range l.Rows {
		if mult, shift := l.Shifted16(c, 0); mult != 0 && shift > 16 {
			return fn
		}
	}
	relu := ""
	if p.ActMin == 0 {
		relu = "_relu"
	}
	return fmt.Sprintf("nncc_helium_matmul_by4_k%d%s%s_s16", vectors, more, relu)
}

// blocks16 packs the rows in records of eight channels, even ones before odd ones.
// Where inputs are no neighbours each begins with their places.
func (l *layer) blocks16(multiplier int) []byte {
	var b []byte
	n := len(l.Rows)
	for at := 0; at < n; at += lanes {
		first := max(min(at, n-lanes), 0)
		if multiplier > 1 || n < lanes {
			for i := range lanes {
				place := 0
				if first+i < n {
					place = (first+i)/multiplier - first/multiplier
				}
				b = binary.LittleEndian.AppendUint16(b, uint16(place))
			}
			b = words(b, int32(2*(first/multiplier)), 0, 0, 0)
		}
		var head [3 * lanes]int32
		taps := make([]byte, lanes*len(l.Rows[0]))
		for i := 0; i < lanes && first+i < n; i++ {
			k := i/2 + i%2*lanes/2
			head[k] = l.Bias[first+i]
			head[lanes+k], head[2*lanes+k] = l.shifted(first + i)
			for tap, w := range l.Rows[first+i] {
				taps[lanes*tap+i] = byte(w)
			}
		}
		b = append(words(b, head[:]...), taps...)
		b = append(b, make([]byte, roundUp(len(b), vector)-len(b))...)
	}
	return b
}

func lowerDepthwise16(n *kernel.Node) *call.Lowered {
	c := convOf16.Must(n)
	return own(&call.Lowered{Unused: []int{1, 2}}, c.blocks(c.Whole16()))
}

// blocks is the call for a phase of a depthwise convolution on int16 data.
func (c *convolution) blocks(to *quantised.Phase) call.Call {
	b := c.l.blocks16(c.G.COut / c.G.CIn)
	p := c.l.Params
	f := call.Ints("batch", c.G.N, "in_h", c.In.H, "in_w", c.In.W, "in_c", c.G.CIn, "out_h", c.Out.H, "out_w", c.Out.W,
		"channels", c.G.COut, "multiplier", c.G.COut/c.G.CIn, "kernel_h", c.Kernel.H, "kernel_w", c.Kernel.W,
		"stride_h", c.Stride.H, "stride_w", c.Stride.W, "dilation_h", c.Dilation.H, "dilation_w", c.Dilation.W,
		"pad_top", c.Pad.H, "pad_left", c.Pad.W, "record", len(b)/((c.G.COut+lanes-1)/lanes),
		"act_min", call.T(p.ActMin), "act_max", call.T(p.ActMax))
	return call.Call{Func: "nncc_helium_depthwise_s16", Args: []call.Arg{
		&call.Struct{Type: "nncc_helium_depthwise16_params", Fields: append(f, to.Steps()...)}, i8In(0), packed(b),
		call.Out{I: 0, Off: to.Offset, CType: "int8_t"}}}
}
