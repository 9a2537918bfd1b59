// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
)

// accelerated fills segments, fallback and rejections of a board with an
// accelerator. Fallback counts nodes, also those without code of their own.
func (r *Report) accelerated(o *Subject) {
	kind := o.Board.Accelerators[0].Kind
	for k, n := range o.Lowered.Segments {
		s := Segment{ID: ir.AttrsOf[op.SegmentAttrs](n).Id, Accelerator: kind, Nodes: []string{}, MACs: macs(n)}
		if k < len(o.Info.Images) {
			s.File = o.Info.Images[k]
			s.FileBytes = o.FileBytes(s.File)
		}
		s.InBytes, s.OutBytes = valueBytes(n.In), valueBytes(n.Out)
		for _, m := range n.Body[0].Nodes {
			s.Nodes = append(s.Nodes, nodeName(m))
		}
		r.Segments = append(r.Segments, s)
	}
	refused := map[*ir.Node][]kernel.Reason{}
	for _, x := range o.Lowered.Refused {
		refused[x.Node] = x.Reasons
		r.Rejections = append(r.Rejections, refusal(x))
	}
	for _, n := range o.Lowered.Graph.Nodes {
		if n.Op == op.Segment {
			continue
		}
		f := Fallback{Node: nodeName(n), Op: n.Op.Name, MACs: macs(n), Role: "compute", Reasons: []string{}}
		why, no := refused[n]
		switch {
		case no:
			for _, y := range why {
				f.Reasons = append(f.Reasons, y.Text)
			}
		case o.Lowered.IsBoundaryOp(n):
			f.Role = "restore"
			f.Reasons = append(f.Reasons, "rebuilds original inputs and outputs around the accelerator")
		case n.Op == op.Relayout:
			f.Reasons = append(f.Reasons, "brings a value into the memory order that the next layer reads")
		default:
			f.Reasons = append(f.Reasons, "a segment for it would cost more in transfers than it saves")
		}
		r.Fallback = append(r.Fallback, f)
	}
}

func valueBytes(vs []*ir.Value) int {
	n := 0
	for _, v := range vs {
		n += v.Type.Bytes()
	}
	return n
}

// transferText says what goes to an accelerator and back.
func (r *Report) transferText() string {
	var b strings.Builder
	for _, s := range r.Segments {
		if s.InBytes+s.OutBytes > 0 {
			fmt.Fprintf(&b, "segment %d on %s: %d bytes in, %d bytes out at each run, program of %d bytes\n", s.ID,
				s.Accelerator, s.InBytes, s.OutBytes, s.FileBytes)
		}
	}
	return b.String()
}

// refusal is a node that the accelerator does not compute.
func refusal(x lower.Refusal) Rejection {
	j := Rejection{Node: nodeName(x.Node), Op: x.Node.Op.Name, Target: x.Accelerator, Reasons: []Reason{}}
	for _, y := range x.Reasons {
		j.Reasons = append(j.Reasons, Reason(y))
	}
	return j
}

func nodeName(n *ir.Node) string {
	if len(n.Origin) > 0 && n.Origin[0] != "" {
		return n.Origin[0]
	}
	return n.Name
}
