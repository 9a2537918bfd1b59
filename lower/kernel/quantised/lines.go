// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/pack"
)

// Lines are a layer that is one line per channel: a depthwise convolution of
// single elements, which is what a constant factor and summand become. Twice: it
// is rounded twice (pack.Scales). Strides of the convolution leave elements out.
type Lines struct {
	Lines   []pack.Line
	Shift   int32
	Twice   bool
	Strides []int
}

// ChannelLines are the Lines of a node, which give what the interpreter computes
// for all values of all channels.
var ChannelLines = kernel.NewFact(func(n *kernel.Node) (*Lines, string) {
	if why := single(n); why != "" {
		return nil, why
	}
	w, in, out := n.In[1], n.In[0].Type, n.Out[0].Type
	channels := in.Shape[1]
	strides := kernel.Known(op.ConvGeometry(n.Node)).Strides // of the dimensions as they are, not turned to the width
	// A value an image, for any strides.
	shape := append([]int{256, channels}, slices.Repeat([]int{1}, in.Rank()-2)...)
	x := lists.Make(256*channels, func(i int) int8 { return int8(i/channels - 128) })
	args := []*tensor.Dense{tensor.Of(shape, x), w.Const}
	if len(n.In) > 2 {
		args = append(args, nil)
		if n.In[2] != nil {
			args[2] = n.In[2].Const
		}
	}
	y, err := kernel.Probe(n.Node, args, shape)
	if err != nil {
		return nil, err.Error()
	}
	results := y.Bytes()
	targets := make([]pack.Target, channels)
	for c := range targets {
		slope := float64(in.Quant.Scale[0]) * float64(w.Type.Quant.ScaleAt(c)) * float64(w.Const.Int(c)) /
			float64(out.Quant.Scale[0])
		targets[c] = pack.Target{Slope: slope, From: -128, To: 127,
			Of: func(q int32) int32 { return int32(int8(results[int(q+128)*channels+c])) }}
	}
	lo, hi := op.ActRange(n.Node, out)
	if lines, shift, ok := pack.Lines(targets, lo, hi); ok {
		return &Lines{lines, shift, false, strides}, ""
	}
	lines, shift, ok := pack.Scales(targets, out.Quant.Zero[0], lo, hi)
	if !ok {
		return nil, "no lines of 32 bits with one shift give the results of all values"
	}
	return &Lines{lines, shift, true, strides}, ""
})

// single says what a layer has that a line per channel has not.
func single(n *kernel.Node) string {
	for _, v := range []*ir.Value{n.In[0], n.Out[0]} {
		if why := NotInt8(v); why != "" {
			return why
		}
	}
	if b := n.Input(2); n.In[1].Const == nil || b != nil && b.Const == nil {
		return "weights or bias are computed at run time, want constants"
	}
	if q := n.In[1].Type.Quant; q.PerAxis() && q.Axis != 0 {
		return fmt.Sprintf("weights have a scale for each element along axis %d, want one, or one for each channel",
			q.Axis)
	}
	if n.In[1].Type.Quant == nil {
		return fmt.Sprintf("the weights %s are not quantised", n.In[1])
	}
	g, err := op.ConvGeometry(n.Node)
	if err != nil {
		return err.Error()
	}
	if g.Group != g.CIn || g.COut != g.CIn || g.Taps() != 1 || !inside(g) {
		return fmt.Sprintf("kernel %v from %v to %v with %d groups of %d channels, want a single weight for each "+
			"channel, and no padding", g.Kernel, g.In, g.Out, g.Group, g.CIn)
	}
	return ""
}

// inside says that no single element that a convolution reads is padding.
func inside(g *op.ConvGeom) bool {
	for d, size := range g.In {
		if g.PadBegin[d] != 0 || (g.Out[d]-1)*g.Strides[d] >= size {
			return false
		}
	}
	return true
}

// LineRules are the conditions on a layer that is one line per channel.
func LineRules() kernel.Rules {
	return kernel.Rules{
		cond.New("CHANNEL-WEIGHTS", "int8, a constant weight for each channel, no padding", single),
		cond.Trained("PROVEN-LINES", "lines with one shift give the results of all values", ChannelLines.Why),
	}
}

// LowerLines computes Lines of the channels, dimension 1, wherever these lie in
// memory. What strides leave over takes the place of the results first.
func LowerLines(n *kernel.Node, l *Lines) *call.Lowered {
	out := n.Out[0].Type
	phys, at := out.Phys(), slices.Index(out.OrderOrIdentity(), 1)
	f := call.Ints("outer", tensor.Count(phys[:at]), "channels", phys[at], "inner", tensor.Count(phys[at+1:]),
		"shift", call.T(l.Shift))
	words := func(hint string, v []int32) *call.Blob {
		return &call.Blob{Hint: hint, CType: "int32_t", Data: pack.Words(v), Align: 4, NoCast: true}
	}
	name, constants := "nncc_channel_lines_s8", []call.Arg(nil)
	if l.Twice {
		name = "nncc_channel_scales_s8"
		var lines []int32
		for _, x := range l.Lines {
			lines = append(lines, x.Mult, x.Bias, -x.Above, x.Above+out.Quant.Zero[0]<<uint(l.Shift))
		}
		constants = append(constants, words("lines", lines))
	} else {
		var mult, bias []int32
		for _, x := range l.Lines {
			mult, bias = append(mult, x.Mult), append(bias, x.Bias)
		}
		constants = append(constants, words("mult", mult), words("bias", bias))
	}
	lo, hi := op.ActRange(n.Node, out)
	f = append(f, call.Ints("act_min", call.T(lo), "act_max", call.T(hi))...)
	low := &call.Lowered{Kernel: name, Unused: Constants(n.Node)}
	from := call.Arg(call.In{CType: "int8_t"})
	if slices.Equal(n.In[0].Type.Shape, out.Shape) {
		low.Overlap = call.InOrder(0)
	} else {
		low.Calls, from = []call.Call{l.pick(n)}, call.Out{CType: "int8_t"}
	}
	args := append([]call.Arg{&call.Struct{Type: name + "_params", Fields: f}, from}, constants...)
	low.Calls = append(low.Calls, call.Call{Func: name, Args: append(args, call.Out{CType: "int8_t"})})
	return low
}

// pick copies the elements that the layer reads.
func (l *Lines) pick(n *kernel.Node) call.Call {
	x, y := kernel.Strides(n.In[0].Type), n.Out[0].Type
	for d, s := range l.Strides {
		x[2+d] *= s
	}
	phys := y.Phys()
	return copyDims(n, phys, kernel.Permuted(x, y.OrderOrIdentity()), tensor.Strides(phys))
}
