// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"encoding/binary"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// int16 data with int8 weights: the kernels and windows of int8, in bytes, and
// products of their own.

// shiftsRule16 is shiftsRule for int16.
var shiftsRule16 = convOf16.Rule("RIGHT-SHIFT", "requantisation shifts to the right",
	func(_ *kernel.Node, c *convolution) string { return c.l.Shifts16(0) })

var conv16 = &kernel.Kernel{
	Name: "nncc_helium_convolve_s16", Library: Library,
	Doc: "int16 convolution with groups and dilation, packed int8 weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout,
	Lower: lowerConv16,
	Was:   "HELIUM-CONV16", Rules: kernel.All(cond.Helium, quantised.ConvRules16(convOf16),
		quantised.DepthwiseRule(false), shiftsRule16),
}

func lowerConv16(n *kernel.Node) *call.Lowered {
	c := convOf16.Must(n)
	if !c.pointwise() {
		if l := c.lowerLines(n.Generic); l != nil {
			return l
		}
	}
	return c.l.over(c.lowerTiled(n.Generic, true, call.Null{}))
}

var fullyConnected16 = &kernel.Kernel{
	Name: "nncc_helium_matmul_1row_s16", Library: Library,
	Doc:   "int16 fully connected layer, per tensor or per channel, packed int8 weights",
	Ops:   []*ir.OpDef{op.Gemm, op.MatMul},
	Lower: func(n *kernel.Node) *call.Lowered { return convOf16.Must(n).lowerProduct(n.Generic) },
	Was:   "HELIUM-FC16", Rules: kernel.All(cond.Helium, quantised.ProductRules16(), shiftsRule16),
}

var depthwise16 = &kernel.Kernel{
	Name: "nncc_helium_depthwise_s16", Library: Library,
	Doc: "int16 depthwise convolution with any window and a channel multiplier, packed int8 weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout, Lower: lowerDepthwise16,
	Was: "HELIUM-DW16", Rules: kernel.All(cond.Helium, quantised.ConvRules16(convOf16), quantised.DepthwiseRule(true),
		shiftsRule16),
}

// residentShape is how resident tiles have rows of so many inputs: vectors of eight, the
// last of which may have fewer, or vectors and one or two inputs behind them.
func residentShape(inputs int) (vectors, more int) {
	if vectors, more = inputs/lanes, inputs%lanes; vectors == 0 || more > 2 {
		return vectors + 1, 0
	}
	return vectors, more
}

// endless is a line of rows that has no end.
const endless = math.MaxInt32

// residentRecords packs the rows for resident tiles, which skip so many bytes behind every line of rows.
func (l *layer) residentRecords(line, skip int) []byte {
	b := words(nil, int32(line), int32(skip))
	n := len(l.Rows)
	for at := 0; at < n; at += 4 {
		if n-at > 2 {
			b = l.residentRecord(b, min(at, n-4), 4)
			continue
		}
		for c := at; c < n; c++ {
			b = l.residentRecord(b, c, 1)
		}
	}
	return b
}

// residentRecord packs four channels, with bias and multipliers behind, or one, with both in front.
func (l *layer) residentRecord(b []byte, first, channels int) []byte {
	vectors, more := residentShape(len(l.Rows[0]))
	var w []byte
	for k := range vectors {
		for c := range channels {
			for i := range lanes {
				w = append(w, byte(l.weight(first+c, lanes*k+i)))
			}
		}
	}
	for i := range more {
		for c := range channels {
			w = append(w, byte(l.weight(first+c, lanes*vectors+i)))
		}
	}
	w = append(w, make([]byte, roundUp(len(w), 4)-len(w))...)
	bias, mult := make([]int32, channels), make([]int32, channels)
	for c := range channels {
		m, shift := l.Shifted16(first+c, 0)
		bias[c] = l.Bias[first+c]
		if channels == 1 {
			shift-- // twice the multiplier
		}
		if m != 0 { // of 15 bits, shifted by 16: nothing is lost
			mult[c] = m >> shift
		}
	}
	if channels == 1 {
		return append(words(words(b, bias...), mult...), w...)
	}
	return words(words(append(b, w...), bias...), mult...)
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

// lowerLines multiplies the pixels of a convolution of 1x1 with a stride where they lie; nil: it is another layer.
func (c *convolution) lowerLines(generic bool) *call.Lowered {
	t := c.l.resident(tile{}, c.G.COut, generic)
	if t.body != resident || c.phase || c.Kernel != (quantised.Tile{H: 1,
		W: 1}) || c.Padded() || c.G.Group > 1 || c.G.N > 1 {
		return nil
	}
	depth := c.depth()
	step := c.Stride.W * depth
	out, outR := outRows(c.G.COut * c.l.bytes())
	return own(&call.Lowered{Unused: []int{1, 2}, Rows: []call.Rows{outR}}, c.l.rowsBy(t, depth, step,
		roundUp(depth, vector)/vector, c.pixels(), out, call.I32(step),
		c.l.residentRecords(c.Out.W, c.Stride.H*c.In.W*depth-c.Out.W*step)))
}

func lowerDepthwise16(n *kernel.Node) *call.Lowered {
	c := convOf16.Must(n)
	return own(&call.Lowered{Unused: []int{1, 2}}, c.blocks(c.Whole16()))
}

// blocks is the call for a phase of a depthwise convolution on int16 data.
func (c *convolution) blocks(to *quantised.Phase) call.Call {
	b := c.l.blocks16(c.G.COut / c.G.CIn)
	p := c.l.Params
	params := param.Struct(&param.HeliumDepthwise16{Batch: c.G.N, InC: c.G.CIn, Channels: c.G.COut,
		Multiplier: c.G.COut / c.G.CIn, Record: len(b) / ((c.G.COut + lanes - 1) / lanes), ActMin: call.T(p.ActMin),
		ActMax: call.T(p.ActMax), OutPitch: to.Pitch, OutRow: to.Row, OutImage: to.Image}, &c.Window)
	return call.Call{Func: "nncc_helium_depthwise_s16", Args: []call.Arg{params, i8In(0), packed(b),
		call.Out{I: 0, Off: to.Offset, CType: "int8_t"}}}
}
