// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// mostPhases is how many calls a transposed convolution may be.
const mostPhases = 64

// fewPhases: each phase is a call with parameters of its own.
var fewPhases = cond.New("PHASES", fmt.Sprintf("strides give at most %d phases", mostPhases),
	func(n *kernel.Node) string {
		g, err := op.ConvGeometry(n.Node)
		if err != nil {
			return err.Error()
		}
		if p := product(g.Strides); p > mostPhases {
			return fmt.Sprintf("strides %v give %d phases, want at most %d", g.Strides, p, mostPhases)
		}
		return ""
	})

// phases are those of a transposed convolution in one or two dimensions.
func phases(g *op.ConvGeom, together bool) []kernel.Phase {
	var h, w kernel.TransposedAxis
	h.Out, w.Out = pair(g.Out, 1)
	h.Taps, w.Taps = pair(g.Kernel, 1)
	h.Stride, w.Stride = pair(g.Strides, 1)
	h.Pad, w.Pad = pair(g.PadBegin, 0)
	h.Dilation, w.Dilation = pair(g.Dilations, 1)
	return kernel.Phases(h, w, together)
}

// phaseCall is the convolution that a phase is, with some channels and packed weights.
func (l *lowering) phaseCall(family string, g *op.ConvGeom, p *kernel.Phase, channels []call.Field, packed *call.Blob) {
	h, w := pair(g.Out, 1)
	sh, sw := pair(g.Strides, 1)
	ih, iw := pair(g.In, 1)
	rows, columns := outside(p.Rows[0], ih), outside(p.Columns[0], iw)
	f := windowFields(g.N, []int{ih, iw}, []int{len(rows.Taps), len(columns.Taps)}, []int{1, 1},
		[]int{rows.Step, columns.Step}, []int{-rows.First, -columns.First})
	f = append(append(f, outFields([]int{rows.Count, columns.Count})...), channels...)
	f = append(f, ints("out_pitch", sw*g.COut, "out_row", sh*w*g.COut, "out_image", h*w*g.COut)...)
	y := l.outAt(0, l.n.Out[0].Type.DType.Size()*(p.Y*w+p.X)*g.COut)
	l.call(l.low.Kernel, params(family, append(f, actFields(l.n)...)...), l.in(0), packed, y)
}

// outside has the window of a line without taps lie behind an input of so many: nothing is added up.
func outside(l kernel.Line, in int) kernel.Line {
	if l.Taps[0] < 0 {
		l.First = in
	}
	return l
}

// tap is the place of a phase's tap i in the kernel: the phase's are row by row.
func tap(rows, columns kernel.Line, kernelWidth, i int) int {
	return rows.Taps[i/len(columns.Taps)]*kernelWidth + columns.Taps[i%len(columns.Taps)]
}

// weightless: no tap of the phase meets an input, its weights are not read.
func weightless(rows, columns kernel.Line) bool { return rows.Taps[0] < 0 || columns.Taps[0] < 0 }

// depthwisePhases lowers a transposed convolution of one output for every input channel.
func depthwisePhases(l *lowering, g *op.ConvGeom) {
	_, kw := pair(g.Kernel, 1)
	weights, all := l.n.In[1].Const, g.Taps()
	for _, p := range phases(g, false) {
		rows, columns := p.Rows[0], p.Columns[0]
		packed := packDepthwise(l.n, g.COut, len(rows.Taps)*len(columns.Taps), func(c, i int) float32 {
			if weightless(rows, columns) {
				return 0
			}
			return float32(weights.Float(c*all + tap(rows, columns, kw, i)))
		})
		l.phaseCall(depthwisePacked, g, &p, ints("in_c", g.CIn), packed)
	}
}

// convPhases lowers any other transposed convolution. Neighbouring columns that meet the same
// inputs are channels behind each other.
func convPhases(l *lowering, g *op.ConvGeom) {
	_, kw := pair(g.Kernel, 1)
	weights, all := l.n.In[1].Const, g.Taps()
	bias := biasOf(l.n)
	cin, per := g.CIn/g.Group, g.COut/g.Group
	for _, p := range phases(g, g.Group == 1) {
		n := len(p.Columns)
		var v []float32
		for k := range g.Group {
			v = records(v, n*per, len(p.Rows[0].Taps)*len(p.Columns[0].Taps)*cin,
				func(c int) float32 { return bias(k*per + c%per) },
				func(c, i int) float32 {
					columns := p.Columns[c/per]
					if weightless(p.Rows[0], columns) {
						return 0
					}
					return float32(weights.Float(((k*cin+i%cin)*per+c%per)*all + tap(p.Rows[0], columns, kw, i/cin)))
				})
		}
		channels := ints("in_c", g.CIn, "out_c", n*g.COut, "groups", g.Group)
		l.phaseCall(convPacked, g, &p, channels, packedBlob(v))
	}
}
