// SPDX-License-Identifier: Apache-2.0

package align

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref/cmsis"
)

// need is a multiple that a kernel library asks of an axis: a row of the table
// where the axis does not have it.
type need struct {
	n          *ir.Node
	op         string // Conv, DepthwiseConv
	constraint string // input_channels, output_channels, channels
	multiple   int
	source     string
	x          axis
	blocked    *Lock // reaching the multiple would do harm
	exactly    int   // the size that was chosen elsewhere; 0: any multiple
}

func (d *need) violated() bool { return d.x.size()%d.multiple != 0 }

// met reports an axis that the plan gives what is asked.
func (d *need) met() bool {
	if d.exactly > 0 {
		return d.x.padded() == d.exactly
	}
	return d.x.padded()%d.multiple == 0
}

// unmet is met without padding, denied.
func (d *need) unmet() bool {
	if d.exactly > 0 {
		return d.x.size() != d.exactly
	}
	return d.violated()
}

func (d *need) key() string { return d.n.Label() + " " + d.constraint }

func (d *need) target() int { return (d.x.size() + d.multiple - 1) / d.multiple * d.multiple }

// channelMultiple is the rule of thumb that the channels of int8 convolutions
// come in fours.
const channelMultiple = 4

// Where the rule comes from: revision 99f736a6 of CMSIS-NN.
const (
	srcConv = "arm_convolve_wrapper_s8.c: 1xN route where (stride.w * input.c) % 4 == 0; arm_convolve_s8 " +
		"header: channels in multiples of 4"
	srcDepthwise = "arm_depthwise_conv_s8_opt.c: four channels at a time"
)

// needs are the demands on the convolutions of the graph, by the rule of
// multiples of four, in the order of the nodes.
func (a *analysis) needs() []*need {
	var out []*need
	for _, n := range a.g.Nodes {
		if n.Op != op.Conv {
			continue
		}
		g := bug.Must(op.ConvGeometry(n))
		x, y := a.in(n, 0)[1], a.out(n, 0)[1]
		if op.IsDepthwise(g) {
			out = append(out, &need{n: n, op: "DepthwiseConv", constraint: "channels", multiple: channelMultiple,
				source: srcDepthwise, x: x})
			if g.COut != g.CIn {
				out = append(out, &need{n: n, op: "DepthwiseConv", constraint: "output_channels",
					multiple: channelMultiple, source: srcDepthwise, x: y})
			}
			continue
		}
		in := &need{n: n, op: "Conv", constraint: "input_channels", multiple: channelMultiple, source: srcConv, x: x}
		if s := opensDefect(g, in.target()); s != "" && in.violated() && opensDefect(g, g.CIn) == "" {
			l := lockAt(n, "hazard", "with %d input channels arm_convolve_1_x_n_s8 would run on cores with Helium: %s",
				in.target(), s)
			in.blocked = &l
		}
		out = append(out, in, &need{n: n, op: "Conv", constraint: "output_channels", multiple: channelMultiple,
			source: srcConv, x: y})
	}
	return out
}

// opensDefect says how CMSIS-NN's 1xN kernel would get the convolution wrong if
// it had cin input channels; "" when it would not be called, or works.
func opensDefect(g *op.ConvGeom, cin int) string {
	if g.Group != 1 || g.Transposed || len(g.In) > 2 {
		return ""
	}
	two := func(s []int, one int) (h, w int) {
		if len(s) == 1 {
			return one, s[0]
		}
		return s[0], s[1]
	}
	q := cmsis.Query{Build: cmsis.MVE, HasBias: true}
	q.In.N, q.In.C, q.Filter.N, q.Filter.C, q.Out.N, q.Out.C = g.N, cin, g.COut, cin, g.N, g.COut
	q.In.H, q.In.W = two(g.In, 1)
	q.Out.H, q.Out.W = two(g.Out, 1)
	q.Filter.H, q.Filter.W = two(g.Kernel, 1)
	q.Stride.H, q.Stride.W = two(g.Strides, 1)
	q.Pad.H, q.Pad.W = two(g.PadBegin, 0)
	q.Dilation.H, q.Dilation.W = two(g.Dilations, 1)
	for _, d := range cmsis.Defects("arm_convolve_wrapper_s8", &q) {
		return d.Says
	}
	return ""
}

// Row is one line of the table: an axis that is not the multiple that its
// kernel likes.
type Row struct {
	Node       string  `json:"node"`
	Op         string  `json:"op"`
	Constraint string  `json:"constraint"`
	Current    int     `json:"current"`
	Target     int     `json:"target"`
	Class      string  `json:"class"`  // FREE, COUPLED, LOCKED
	Status     string  `json:"status"` // PATCHED, KEPT (it would not pay), LOCKED
	Reason     string  `json:"reason"`
	Code       string  `json:"code,omitempty"`
	Gain       float64 `json:"gain"` // instructions that padding its group saves an inference; negative: that it costs
	Source     string  `json:"source"`
}

// key is the need that the row is of.
func (r *Row) key() string { return r.Node + " " + r.Constraint }

// Classes and statuses of rows.
const (
	Free, Coupled, Locked = "FREE", "COUPLED", "LOCKED"
	Patched, Kept         = "PATCHED", "KEPT"
)

func (r *Row) String() string {
	return fmt.Sprintf("%s %s %s %d -> %d %s %s: %s", r.Node, r.Op, r.Constraint, r.Current, r.Target, r.Class,
		r.Status, r.Reason)
}
