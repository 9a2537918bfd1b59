// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/surgery"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/fuse"
	"github.com/nncc/nncc/lower/kernel"
)

// Explain prints a row for every node: shape, MACs, where it runs, and why
// better kernels refused it. Rows of one step of the program have its number;
// nodes without code of their own have none. all: also kernels that cost more.
func (r *Report) Explain(o *Subject, all bool) string {
	r = text.Lines(r)
	var b strings.Builder
	fmt.Fprintf(&b, "%s for %s, %s\n", r.Model.Name, r.Board, r.PrecisionLayers.Text(r.Precision))
	views := o.viewRows()
	if n := len(views); n > mostViews && !all {
		views = [][]string{{"-", fmt.Sprintf("%d nodes (-v lists them)", n), "", "", "0", "nothing",
			"other views of the same memory"}}
	}
	b.WriteString(text.Table(append(o.stepRows(r), views...)))
	b.WriteString(r.transferText())
	b.WriteString(o.memoryText(r))
	b.WriteString(fusionText(text.Lines(o.Lowered.Fusions)))
	for i, c := range text.Lines(o.Lowered.Pruned) {
		if i == 0 {
			b.WriteString("\nDead channels (the same for every input, or read by nobody):\n")
		}
		fmt.Fprintf(&b, "  %s\n", c)
	}
	if rows := r.Alignment; len(rows) > 0 {
		b.WriteString("\nChannel counts that are no multiples of four (--align " + o.Align.String() + "):\n" +
			AlignmentText(shortNames(rows)))
	}
	b.WriteString(r.dependenceText())
	b.WriteString(r.choices(o, all))
	b.WriteString(o.routeText(r))
	b.WriteString(o.refusalText())
	b.WriteString(o.rejectionText())
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func (o *Subject) stepRows(r *Report) [][]string {
	rows := [][]string{{"#", "node", "op", "output", "MACs", "runs on", "kernel"}}
	for i, s := range r.Steps {
		if !s.chain() {
			rows = o.layerRows(rows, r, fmt.Sprint(i), s.Layers[0])
			continue
		}
		rows = append(rows, []string{fmt.Sprint(i), s.Name, "", "", fmt.Sprint(r.macs(s.Calls)), "", s.text()})
		for _, l := range s.Layers {
			l.Name = "  " + l.Name
			rows = o.layerRows(rows, r, "", l)
		}
	}
	return rows
}

// macs are those of some calls.
func (r *Report) macs(calls []int) int64 {
	return lists.Sum(calls, func(i int) int64 { return r.Layers[i].MACs })
}

// layerRows has a row for a layer more; of an accelerator's segment one for every node.
func (o *Subject) layerRows(rows [][]string, r *Report, number string, x StepLayer) [][]string {
	i := x.Calls[0]
	l, step := r.Layers[i], o.Lowered.Schedule.Nodes[i]
	where := library(o.low(i).Library)
	if l.planned {
		where = runsOn(l)
	}
	row := func(name string, n *ir.Node, macs int64, kernel string) {
		rows = append(rows, []string{number, name, n.Op.Name, strings.Join(outTypes(n), " "), fmt.Sprint(macs), where,
			kernel})
	}
	if step.Op == op.Segment {
		for _, n := range step.Body[0].Nodes {
			row(n.Label(), n, macs(n), fmt.Sprintf("segment %d", ir.AttrsOf[op.SegmentAttrs](step).Id))
		}
		return rows
	}
	kernel := l.Kernel
	if l.Route != "" && l.Route != l.Kernel {
		kernel += " -> " + l.Route
	}
	row(x.Name, step, r.macs(x.Calls), kernel)
	return rows
}

// mostViews are listed one by one.
const mostViews = 4

func (o *Subject) viewRows() [][]string {
	steps := lists.Set(o.Lowered.Schedule.Nodes)
	var rows [][]string
	for _, n := range o.Lowered.Graph.Nodes {
		if isView(n) && !steps[n] {
			rows = append(rows, []string{"-", n.Label(), n.Op.Name, strings.Join(outTypes(n), " "), "0", "nothing",
				"another view of the same memory"})
		}
	}
	return rows
}

// memoryText is the sum of the table, and how the arena came about.
func (o *Subject) memoryText(r *Report) string {
	total := lists.Sum(r.Layers, func(l Layer) int64 { return l.MACs })
	m := r.Memory
	s := fmt.Sprintf("%d steps, %d MACs, %s, weights %d bytes\n", len(r.Steps), total, m.RAMText(), m.WeightsBytes)
	if m.OrderOptimal {
		s += "order of the steps: searched exactly, no other one has a smaller lower bound\n"
	} else {
		s += "order of the steps: the best that a heuristic search found, there are too many to try all\n"
	}
	if m.Copies != nil {
		s += m.Copies.Text() + "\n"
	}
	if o.Lowered.Tiled == nil {
		return s
	}
	x := text.Lines(o.Lowered.Tiled)
	for _, name := range x.Turned {
		s += name + " becomes channels last over its own bytes\n"
	}
	return s + fmt.Sprintf("so the arena is %d bytes instead of %d; calls %d, %d bytes of rows copied\n",
		m.ArenaBytes, x.WholeBytes, x.Calls, x.Copied)
}

// routeText says where the library has a better function that does not run.
func (o *Subject) routeText(r *Report) string {
	var b strings.Builder
	for i := range o.Lowered.Program.Steps {
		if why := o.low(i).RouteReason; why != "" {
			fmt.Fprintf(&b, "  %s: %s\n", r.Layers[i].Name, text.Line(why))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nWhy no better function of the library runs:\n" + b.String()
}

func (o *Subject) refusalText() string {
	var b strings.Builder
	for _, x := range o.Lowered.Refused {
		for _, y := range x.Reasons {
			fmt.Fprintf(&b, "Cannot assign node %s to %s: %s [%s]\n",
				text.Line(x.Node.Label()), strings.ToUpper(x.Accelerator), text.Line(y.Text), y.Code)
		}
	}
	return b.String()
}

// rejectionText are the reasons of kernels for the instruction set against the
// layers that portable C computes.
func (o *Subject) rejectionText() string {
	var b strings.Builder
	for i, s := range o.Lowered.Program.Steps {
		chosen := o.low(i).Library
		if kernel.IsOptimized(chosen) {
			continue
		}
		for _, x := range o.Lowered.Choices[o.Lowered.Schedule.Nodes[i]].Rejected {
			if x.Library == chosen {
				continue
			}
			for _, y := range x.Reasons {
				fmt.Fprintf(&b, "  %s (%s): %s [%s]: %s\n", text.Line(s.Name), s.Op, x.Kernel, y.Code,
					text.Line(y.Text))
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nRefused by a better kernel:\n" + b.String()
}

// isView reports operators that may be no code at all.
func isView(n *ir.Node) bool { return n.Op.View != ir.NoView }

// portable is the library of kernels in portable C.
const portable = "nncc"

// library is how tables call a kernel library.
func library(name string) string {
	if name == portable {
		return "portable C"
	}
	return name
}

// outTypes are element types and shapes of the outputs of a node.
func outTypes(n *ir.Node) []string {
	return lists.Map(n.Out, func(v *ir.Value) string { return fmt.Sprintf("%s%v", v.Type.DType, v.Type.Shape) })
}

// fusionText lists the groups that became one, and those that could have.
func fusionText(fs []fuse.Fusion) string {
	var together, apart strings.Builder
	for _, f := range fs {
		nodes := strings.Join(f.Nodes, " + ")
		switch f.Kind {
		case "none":
			fmt.Fprintf(&apart, "  %s: %s\n", nodes, f.Why)
		case "curve":
			fmt.Fprintf(&together, "  %s by one curve of 513 points, at most %.2f steps from the exact function "+
				"(separately %.2f)\n", nodes, f.Error, f.Apart)
		case "table":
			fmt.Fprintf(&together, "  %s by one table\n", nodes)
		default:
			fmt.Fprintf(&together, "  %s by %s\n", nodes, f.Kernel)
		}
	}
	s := ""
	if together.Len() > 0 {
		s += "\nComputed together:\n" + together.String()
	}
	if apart.Len() > 0 {
		s += "\nCould be computed together, and are not:\n" + apart.String()
	}
	return s
}

// shortNames are rows with names that are shortened as in tables; JSON and legalize have them whole.
func shortNames(rows []align.Row) []align.Row {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Node, rows[i].Reason = text.Names(rows[i].Node), text.Names(rows[i].Reason)
	}
	return rows
}

// AlignmentText is the table of the alignment repair with the reasons below.
func AlignmentText(rows []align.Row) string {
	var b strings.Builder
	b.WriteString(align.Table(rows))
	for i, w := range rows {
		if w.Status == align.Patched {
			continue
		}
		if i == 0 || rows[i-1].Reason != w.Reason {
			fmt.Fprintf(&b, "%s, %s:\n", w.Status, w.Reason)
		}
		fmt.Fprintf(&b, "    %s %s\n", w.Node, w.Constraint)
	}
	return b.String()
}

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
		r.Layers = append(r.Layers, RefusedLayer{n.Label(), n.Op.Name, outTypes(n), &k, where, kernel})
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
				r.Rejections = append(r.Rejections, rejection(n.Label(), n, x))
			}
			if len(ch.Rejected) == 0 {
				r.Rejections = append(r.Rejections, Rejection{n.Label(), n.Op.Name, r.Board,
					[]Reason{{Code: "no-kernel", Text: "no kernel implements this operator"}}})
			}
		}
	}
	r.Rejections = append(r.Rejections, lists.Map(un.Refused, refusal)...)
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
