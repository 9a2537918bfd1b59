// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
)

// Segment is a run of layers on an accelerator or accelerated library.
type Segment struct {
	ID          int      `json:"id"`
	Accelerator string   `json:"accelerator"`
	File        string   `json:"file,omitempty"`
	Nodes       []string `json:"nodes"`
	MACs        int64    `json:"macs"`
	// What an accelerator costs beside its work: bytes that are handed over and
	// back at each run, and those of its program with weights.
	InBytes   int `json:"in_bytes,omitempty"`
	OutBytes  int `json:"out_bytes,omitempty"`
	FileBytes int `json:"file_bytes,omitempty"`
	// What it takes there; 0 where the kind does not know.
	WeightBytes int     `json:"weight_bytes"`
	SRAMBytes   int     `json:"sram_bytes,omitempty"`
	Cycles      int     `json:"estimated_cycles"`
	Utilisation float64 `json:"utilisation,omitempty"`
}

// takes fills in what the accelerator says of its program.
func (s *Segment) takes(l *call.Lowered) {
	e := l.Elsewhere
	if e == nil {
		return
	}
	s.Accelerator, s.MACs, s.WeightBytes, s.Utilisation = e.Device, e.MACs, e.WeightBytes, e.Utilisation
	s.Cycles, s.SRAMBytes = int(math.Round(e.Cycles)), l.Scratch+s.InBytes+s.OutBytes
}

// Fallback is a node outside the segments.
type Fallback struct {
	Node    string   `json:"node"`
	Op      string   `json:"op"`
	MACs    int64    `json:"macs"`
	Role    string   `json:"role"` // compute or restore
	Reasons []string `json:"reasons"`
}

// ComputeFallback counts the nodes outside the segments, but for those that restore
// outputs.
func (r *Report) ComputeFallback() int {
	return len(lists.Filter(r.Fallback, func(f Fallback) bool { return f.Role == "compute" }))
}

// SegmentsText counts the segments and names what cuts them.
func (r *Report) SegmentsText() string {
	s := fmt.Sprintf("the program has %d segments", len(r.Segments))
	if len(r.Segments) == 1 {
		s = "the program has 1 segment"
	}
	if c := r.Cuts(); c != "" {
		s += ", cut by " + c
	}
	return s
}

// namedCuts bounds the nodes that a gate names.
const namedCuts = 8

// Cuts are the nodes that compute outside the segments, each with its reasons.
func (r *Report) Cuts() string {
	var s []string
	for _, f := range r.Fallback {
		if f.Role != "compute" {
			continue
		}
		if len(s) == namedCuts {
			s = append(s, fmt.Sprintf("and %d more", r.ComputeFallback()-namedCuts))
			break
		}
		why := ""
		if len(f.Reasons) > 0 {
			why = " (" + strings.Join(f.Reasons, ", ") + ")"
		}
		s = append(s, f.Op+" "+f.Node+why)
	}
	return strings.Join(s, "; ")
}

// accelerated fills segments, fallback and rejections of a board with an
// accelerator. Fallback counts nodes of the model, also those without code of their own.
func (r *Report) accelerated(o *Subject) {
	kind := o.Board.Accelerators[0].Kind
	for k, n := range o.Lowered.Segments {
		s := Segment{ID: ir.AttrsOf[op.SegmentAttrs](n).Id, Accelerator: kind, Nodes: []string{}, MACs: macs(n)}
		if k < len(o.Info.Images) {
			s.File = o.Info.Images[k]
			s.FileBytes = o.FileBytes(s.File)
		}
		s.InBytes, s.OutBytes = valueBytes(n.In), valueBytes(n.Out)
		s.takes(o.Lowered.Low[n])
		s.Nodes = append(s.Nodes, lists.Map(n.Body[0].Nodes, (*ir.Node).Label)...)
		r.Segments = append(r.Segments, s)
	}
	refused := map[string][]kernel.Reason{}
	for _, x := range o.Lowered.Refused {
		refused[x.Node.Name] = x.Reasons
		r.Rejections = append(r.Rejections, refusal(x))
	}
	at := map[[2]string]int{} // parts of the same node of the model are one
	for _, n := range o.Lowered.Graph.Nodes {
		if n.Op == op.Segment {
			continue
		}
		f := o.fallback(n, refused)
		k, ok := at[[2]string{f.Node, f.Role}]
		if !ok {
			at[[2]string{f.Node, f.Role}] = len(r.Fallback)
			r.Fallback = append(r.Fallback, f)
			continue
		}
		x := &r.Fallback[k]
		x.MACs, x.Op = x.MACs+f.MACs, x.Op+"+"+f.Op
		x.Reasons = append(x.Reasons, slices.DeleteFunc(f.Reasons, func(y string) bool {
			return slices.Contains(x.Reasons, y)
		})...)
	}
}

// fallback is a node outside the segments, with what the accelerator says of it or of its parts.
func (o *Subject) fallback(n *ir.Node, refused map[string][]kernel.Reason) Fallback {
	f := Fallback{Node: n.Label(), Op: opName(n), MACs: macs(n), Role: "compute"}
	parts := []*ir.Node{n}
	if n.Op == op.Fused {
		parts = n.Body[0].Nodes
	}
	for _, m := range parts {
		f.Reasons = append(f.Reasons, lists.Map(refused[m.Name], func(y kernel.Reason) string { return y.Text })...)
	}
	switch {
	case o.Lowered.Low[n].View && (n.In[0].IsInput() || o.Lowered.Graph.IsOutput(n.Out[0])):
		f.Role, f.Reasons = "restore", []string{"another name for an input or an output, which takes no work"}
	case f.Reasons != nil:
	case o.Lowered.IsBoundaryOp(n):
		f.Role, f.Reasons = "restore", []string{"rebuilds original inputs and outputs around the accelerator"}
	case n.Op == op.Relayout:
		f.Reasons = []string{"brings a value into the memory order that the next layer reads"}
	default:
		f.Reasons = []string{"a segment for it would cost more in transfers than it saves"}
	}
	return f
}

func valueBytes(vs []*ir.Value) int {
	return lists.Sum(vs, func(v *ir.Value) int { return v.Type.Bytes() })
}

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

func refusal(x lower.Refusal) Rejection {
	return Rejection{Node: x.Node.Label(), Op: x.Node.Op.Name, Target: x.Accelerator,
		Reasons: lists.Each(x.Reasons, func(y kernel.Reason) Reason { return Reason(y) })}
}
