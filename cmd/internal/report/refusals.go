// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/surgery"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower"
)

// Refusals is what explain prints for a model that does not compile because of
// some of its nodes: every node as far as it got, and all reasons. Its keys are
// those of report.json.
type Refusals struct {
	Model      Model          `json:"model"`
	Board      string         `json:"board"`
	Precision  string         `json:"precision,omitempty"`
	Layers     []RefusedLayer `json:"layers"`
	Rejections []Rejection    `json:"rejections"`
}

// RefusedLayer is a node and where it would run; kernel "none" where nothing
// takes it, "" where the model could not be imported and that is not known.
type RefusedLayer struct {
	Name   string   `json:"name"`
	Op     string   `json:"op"`
	Out    []string `json:"out"`
	MACs   *int64   `json:"macs,omitempty"` // absent where the model could not be imported
	Target string   `json:"target"`
	Kernel string   `json:"kernel"`
}

// NewRefusals explains an error of a compilation; nil where it is not about nodes.
// load gives the model, whose file has this name.
func NewRefusals(name, board string, load func() (*onnx.Model, error), err error) *Refusals {
	r := &Refusals{Model: Model{Name: name}, Board: board, Layers: []RefusedLayer{}, Rejections: []Rejection{}}
	var un *lower.Unplaced
	var im onnx.ImportErrors
	switch {
	case errors.As(err, &un):
		r.unplaced(un)
	case errors.As(err, &im):
		m, err := load()
		if err != nil || m.Source == nil && len(m.Proto.GetGraph().GetNode()) == 0 {
			return nil
		}
		r.unread(m, im)
	default:
		return nil
	}
	return r
}

// unplaced takes the rows from the graph in which some nodes have no kernel.
func (r *Refusals) unplaced(un *lower.Unplaced) {
	r.Precision = un.Precision
	row := func(n *ir.Node, where, kernel string) {
		k := macs(n)
		r.Layers = append(r.Layers, RefusedLayer{nodeName(n), n.Op.Name, outTypes(n), &k, where, kernel})
	}
	for _, n := range un.Graph.Nodes {
		ch := un.Choices[n]
		switch {
		case n.Op == op.Segment:
			for _, m := range n.Body[0].Nodes {
				row(m, ir.AttrsOf[op.SegmentAttrs](n).Accelerator,
					fmt.Sprintf("segment %d", ir.AttrsOf[op.SegmentAttrs](n).Id))
			}
		case lower.Placed(ch):
			row(n, library(ch.Kernel.Library), ch.Kernel.Name)
		default:
			row(n, "nowhere", "none")
			for _, x := range ch.Nearest() {
				r.Rejections = append(r.Rejections, rejection(nodeName(n), n, x))
			}
			if len(ch.Rejected) == 0 {
				r.Rejections = append(r.Rejections, Rejection{nodeName(n), n.Op.Name, r.Board,
					[]Reason{{Code: "no-kernel", Text: "no kernel implements this operator"}}})
			}
		}
	}
	for _, x := range un.Refused {
		r.Rejections = append(r.Rejections, refusal(x))
	}
}

// unread takes the rows from the file: nodes whose operator or shapes nncc does
// not accept have no place in a graph, and those behind them no known shape.
func (r *Refusals) unread(m *onnx.Model, im onnx.ImportErrors) {
	about := map[string]*pb.NodeProto{} // by what the errors call the place
	for _, n := range m.Proto.Graph.Node {
		for _, name := range append([]string{n.GetName()}, n.Output...) { // nodes without a name go by an output
			if name != "" {
				about[n.GetOpType()+" "+strconv.Quote(name)] = n
				about[n.GetDomain()+"."+n.GetOpType()+" "+strconv.Quote(name)] = n
			}
		}
	}
	said := map[string][]Reason{}
	bad := map[*pb.NodeProto]bool{}
	var order []string
	for _, e := range im {
		where, x := "", Reason{Code: "import", Text: e.Error()}
		if d := new(diag.Diag); errors.As(e, &d) {
			where, x = d.Node, Reason{Code: d.Code, Text: d.Reason()}
		}
		if said[where] == nil {
			order = append(order, where)
		}
		bad[about[where]] = true
		said[where] = append(said[where], x)
	}
	r.fileRows(m, bad)
	for _, w := range order {
		x := Rejection{Node: w, Target: "nncc", Reasons: said[w]}
		if n := about[w]; n != nil {
			x.Node, x.Op = n.GetName(), n.GetOpType()
		}
		r.Rejections = append(r.Rejections, x)
	}
}

// fileRows adds a row for every node of a file, with the shapes that are known.
func (r *Refusals) fileRows(m *onnx.Model, bad map[*pb.NodeProto]bool) {
	var shapes *surgery.Shapes
	if s, err := surgery.New(m); err == nil {
		shapes = s.Shapes()
	}
	typeOf := func(tensor string) string {
		if shapes != nil {
			if v, ok := shapes.Type(tensor); ok {
				return v.String()
			}
		}
		return "?"
	}
	for _, n := range m.Proto.Graph.Node {
		l := RefusedLayer{Name: n.GetName(), Op: n.GetOpType(), Target: "not imported"}
		if bad[n] {
			l.Target, l.Kernel = "nowhere", "none"
		}
		for _, o := range n.Output {
			if o != "" {
				l.Out = append(l.Out, typeOf(o))
			}
		}
		r.Layers = append(r.Layers, l)
	}
}

// Text is the table with the reasons behind it.
func (r *Refusals) Text() string {
	r = text.Lines(r)
	var b strings.Builder
	fmt.Fprintf(&b, "%s for %s: does not compile\n", r.Model.Name, r.Board)
	rows := [][]string{{"#", "node", "op", "output", "MACs", "runs on", "kernel"}}
	for i, l := range r.Layers {
		macs := "?"
		if l.MACs != nil {
			macs = fmt.Sprint(*l.MACs)
		}
		rows = append(rows, []string{fmt.Sprint(i), l.Name, l.Op, strings.Join(l.Out, " "), macs, l.Target, l.Kernel})
	}
	b.WriteString(text.Table(rows))
	for _, x := range r.Rejections {
		for _, y := range x.Reasons {
			fmt.Fprintf(&b, "Cannot assign node %s to %s: %s [%s]\n", x.Node, x.Target, y.Text, y.Code)
		}
	}
	return b.String()
}

// HTML is the page of the report for a model that does not compile: its nodes with
// where they would run, and the reasons.
func (r *Refusals) HTML() []byte {
	x := &Report{Model: r.Model, Board: r.Board, Precision: r.Precision, Rejections: r.Rejections,
		Warnings: []string{"This model does not compile: see the nodes that run nowhere."}}
	for _, l := range r.Layers {
		n := Layer{Name: l.Name, Op: l.Op, Kernel: l.Kernel, Library: l.Target, Out: l.Out}
		if l.Target == library(portable) {
			n.Library = portable
		}
		if l.MACs != nil {
			n.MACs = *l.MACs
		}
		x.Layers = append(x.Layers, n)
	}
	return x.HTML()
}
