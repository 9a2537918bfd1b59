// SPDX-License-Identifier: Apache-2.0

// Package stagepage draws the graph after every stage on one HTML page, side by side,
// with what changed marked: index.html of --dump-ir.
package stagepage

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
)

//go:embed stages.html
var pageText string

var pageTemplate = template.Must(template.New("stages").Parse(pageText))

// mostDrawn bounds the nodes that a column draws; the text has all.
const mostDrawn = 1500

// Geometry of a column, in pixels.
const (
	rowHeight = 38
	laneWidth = 9
	mostLanes = 14 // further ones are drawn on the last
)

// column is the graph after one stage.
type column struct {
	Name, Doc, Numerics string
	Took                string // in ms
	Facts               string // nodes, bytes
	Changed             bool
	New, Altered, Gone  int
	Rows                []row
	Hidden              int // nodes beyond mostDrawn
	Width, Height       int // of the drawing
	Edges               []edge
}

// row is a node, an input or an output in a column.
type row struct {
	Key   string // what the node is known by in all columns
	Op    string
	Name  string
	Type  string // of the result
	Extra string // kernel, constants
	Title string // attributes and origin
	Kind  string // colour: io, mac, move, convert, segment, other
	Mark  string // new, altered, gone: beside the stage before and the one behind
	What  string // changed since the stage before
	X, Y  int    // of its point in the drawing
	parts map[string]string
	from  []int // rows that it reads
}

// edge is a value from the row that makes it to one that reads it.
type edge struct {
	Path  string
	Class int // colour
}

// Page collects columns while stages run.
type Page struct {
	columns []*column
	consts  map[*tensor.Dense]uint64 // sums of their elements, so that equal ones are known again
}

// New is a page without columns.
func New() *Page { return &Page{consts: map[*tensor.Dense]uint64{}} }

// Add draws the graph after a stage.
func (p *Page) Add(s lower.Step) {
	g := s.State.Graph
	c := &column{Name: s.Name(), Doc: s.Stage.Doc, Numerics: s.Stage.Numerics.String(),
		Took: fmt.Sprintf("%.1f ms", float64(s.Took.Microseconds())/1000)}
	c.Facts = fmt.Sprintf("%d nodes", len(g.Nodes))
	if s.State.Program != nil {
		c.Facts += fmt.Sprintf(", arena %d bytes", s.State.Program.ArenaBytes)
	}
	p.rows(c, g, s.State)
	if n := len(p.columns); n > 0 {
		c.compare(p.columns[n-1])
		for k := n - 1; c.Gone > 0 && k > 0 && !p.columns[k].Changed; k-- { // the one that is drawn widely
			p.columns[k-1].goes(p.columns[k])
		}
	} else {
		c.Changed = true
	}
	p.columns = append(p.columns, c)
}

// rows fills the rows of a column: inputs, nodes in their order, outputs.
func (p *Page) rows(c *column, g *ir.Graph, s *lower.State) {
	at := map[*ir.Value]int{}
	for _, v := range g.In {
		at[v] = len(c.Rows)
		c.Rows = append(c.Rows, row{Key: "in " + v.Name, Op: "input", Name: v.Name, Type: v.Type.String(),
			Kind: "io"})
	}
	for i, n := range g.Nodes {
		if i == mostDrawn {
			c.Hidden = len(g.Nodes) - mostDrawn
			break
		}
		r := p.node(n)
		if k, ok := s.Choices[n]; ok && k.Kernel != nil {
			r.Extra, r.parts["kernel"] = k.Kernel.Name, k.Kernel.Name
		}
		if l := s.Low[n]; l != nil {
			r.Extra, r.parts["kernel"] = l.Kernel, l.Kernel
		}
		for _, v := range n.In {
			if k, ok := at[v]; ok && !slices.Contains(r.from, k) {
				r.from = append(r.from, k)
			}
		}
		for _, v := range n.Out {
			at[v] = len(c.Rows)
		}
		c.Rows = append(c.Rows, r)
	}
	for i, v := range g.Out {
		r := row{Key: "out " + g.OutNames[i], Op: "output", Name: g.OutNames[i], Type: v.Type.String(),
			Kind: "io"}
		if k, ok := at[v]; ok {
			r.from = []int{k}
		}
		c.Rows = append(c.Rows, r)
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.parts == nil {
			r.parts = map[string]string{}
		}
		r.parts["type"] = r.Type
	}
	c.draw()
}

func (p *Page) node(n *ir.Node) row {
	r := row{Key: n.Name, Op: opText(n), Name: n.Name, Kind: kindOf(n)}
	var in, types []string
	for _, v := range n.In {
		switch {
		case v == nil:
			in = append(in, "-")
		case v.Const != nil:
			in = append(in, fmt.Sprintf("%s %x", v.Type, p.sum(v.Const)))
			if len(v.Type.Shape) > 1 {
				r.Extra = "constant " + v.Type.String()
			}
		case v.Def != nil: // by the node, whose name stays where another one takes its place
			in = append(in, fmt.Sprintf("%s:%d", v.Def.Name, v.Index))
		default:
			in = append(in, v.Name)
		}
	}
	for _, v := range n.Out {
		types = append(types, v.Type.String())
	}
	r.Type = strings.Join(types, " ")
	attrs := lists.Map(n.Attrs.Names(), func(k string) string {
		return fmt.Sprintf("%s=%s", k, text.Short(attrText(n.Attrs[k]), 60))
	})
	a := strings.Join(attrs, " ")
	r.parts = map[string]string{"operator": r.Op, "attributes": a, "inputs": strings.Join(in, ", ")}
	r.Title = fmt.Sprintf("%s(%s) %s", n.Op.Name, strings.Join(in, ", "), a)
	if len(n.Origin) > 0 {
		r.Title += " from " + strings.Join(n.Origin, ", ")
	}
	return r
}

func (p *Page) sum(d *tensor.Dense) uint64 {
	s, ok := p.consts[d]
	if !ok {
		h := fnv.New64a()
		var b [8]byte
		for i, n := 0, d.Len(); i < n; i++ {
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(d.Float(i)))
			h.Write(b[:])
		}
		s = h.Sum64()
		p.consts[d] = s
	}
	return s
}

func opText(n *ir.Node) string {
	if len(n.Body) != 1 || len(n.Body[0].Nodes) == 0 {
		return n.Op.Name
	}
	var names []string
	for i, m := range n.Body[0].Nodes {
		if i == 4 {
			names = append(names, "...")
			break
		}
		names = append(names, m.Op.Name)
	}
	return n.Op.Name + " " + strings.Join(names, "+")
}

func attrText(a ir.Attr) string {
	switch a.Kind {
	case ir.AttrInt:
		return fmt.Sprint(a.Int)
	case ir.AttrFloat:
		return fmt.Sprint(a.Float)
	case ir.AttrString:
		return a.String
	case ir.AttrInts:
		return fmt.Sprint(a.Ints)
	case ir.AttrFloats:
		return fmt.Sprint(a.Floats)
	case ir.AttrStrings:
		return fmt.Sprint(a.Strings)
	}
	if a.Tensor == nil {
		return "none"
	}
	return fmt.Sprintf("%s%v", a.Tensor.DType, a.Tensor.Shape)
}

// kindOf is the colour of a node.
func kindOf(n *ir.Node) string {
	switch {
	case n.Op == op.Segment:
		return "segment"
	case n.Op.MACs != nil:
		return "mac"
	case n.Op == op.QuantizeLinear || n.Op == op.DequantizeLinear || n.Op == op.Requantize:
		return "convert"
	case n.Op.Quant == ir.QMove:
		return "move"
	}
	return "other"
}

// compare marks what changed since the stage before, and there what goes.
func (c *column) compare(before *column) {
	was := map[string]*row{}
	for i := range before.Rows {
		was[before.Rows[i].Key] = &before.Rows[i]
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		old := was[r.Key]
		delete(was, r.Key)
		if old == nil {
			r.Mark = "new"
			c.New++
			continue
		}
		what := lists.Filter([]string{"operator", "attributes", "inputs", "type", "kernel"}, func(k string) bool {
			return old.parts[k] != r.parts[k]
		})
		if len(what) > 0 {
			r.Mark, r.What = "altered", strings.Join(what, ", ")
			c.Altered++
		}
	}
	for _, r := range was {
		r.Mark = strings.TrimSpace(r.Mark + " gone")
		c.Gone++
	}
	c.Changed = c.New+c.Altered+c.Gone > 0
}

// goes marks the nodes that are gone behind the next column, which has the same.
func (c *column) goes(next *column) {
	gone := map[string]bool{}
	for _, r := range next.Rows {
		gone[r.Key] = strings.HasSuffix(r.Mark, "gone")
	}
	for i := range c.Rows {
		if r := &c.Rows[i]; gone[r.Key] {
			r.Mark = strings.TrimSpace(r.Mark + " gone")
		}
	}
}

// draw places the points and the lanes of the edges: a value has a lane from the
// row that makes it to the last one that reads it.
func (c *column) draw() {
	last := make([]int, len(c.Rows))
	for i, r := range c.Rows {
		for _, k := range r.from {
			last[k] = i
		}
	}
	var busy []int // by lane: the row up to which it is taken
	lane := make([]int, len(c.Rows))
	most := 0
	for i := range c.Rows {
		k := slices.IndexFunc(busy, func(until int) bool { return until <= i })
		if k < 0 {
			k = len(busy)
			busy = append(busy, 0)
		}
		busy[k] = max(last[i], i)
		lane[i] = min(k, mostLanes-1)
		most = max(most, lane[i])
	}
	x := func(k int) int { return laneWidth/2 + 2 + laneWidth*lane[k] }
	y := func(k int) int { return rowHeight*k + rowHeight/2 }
	for i := range c.Rows {
		r := &c.Rows[i]
		r.X, r.Y = x(i), y(i)
		for _, k := range r.from {
			// down the lane of the value, and over in front of the reader
			bend := y(i) - rowHeight/2
			path := fmt.Sprintf("M%d %dV%dC%d %d %d %d %d %d", x(k), y(k), bend, x(k), y(i)-4, x(i), bend+4, x(i), y(i))
			c.Edges = append(c.Edges, edge{path, lane[k] % 6})
		}
	}
	c.Width, c.Height = laneWidth*(most+1)+6, rowHeight*len(c.Rows)
}

// HTML is the page.
func (p *Page) HTML(title string) ([]byte, error) {
	v := struct {
		Title   string
		Columns []*column
		Row     int
	}{title, p.columns, rowHeight}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, text.Lines(v))
	return b.Bytes(), err
}
