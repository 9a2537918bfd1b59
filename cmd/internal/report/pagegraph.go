// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nncc/nncc/cmd/internal/layered"
	"github.com/nncc/nncc/ir/lists"
)

// drawing is the graph as boxes and lines.
type drawing struct {
	Width, Height float64
	Boxes         []box
	Wires         []wire
	Left          int // connections too long to be drawn
	Missing       int // nodes beyond mostRows
	Unmarked      int // outputs beyond mostOutputs
	Legend        []legendRow
}

// legendRow explains a colour.
type legendRow struct {
	Class, Text string
	Nodes       int
}

// box is a node, a chain of them, an input or an output.
type box struct {
	ID         string // n12 of node 12 and of a chain that begins with it, i0 of an input, o0 of an output
	X, Y, W, H float64
	Class      string
	Op, Tag    string  // the first line, left and right
	Name, Type string  // the second and the third
	Title      string  // everything, for the pointer
	Share      float64 // width of the bar: of the node with most instructions or MACs
	Refused    bool    // it runs in portable C though better kernels exist
	Inside     []inner // layers of a chain
}

// inner is a line within a box.
type inner struct {
	Y    float64
	Text string
}

// wire is a value on its way.
type wire struct {
	Path     string
	From, To string // boxes
	Skip     bool   // passes other layers
}

// Size of boxes, in pixels, and of their texts.
const (
	boxWidth, boxHeight  = 208.0, 58.0
	thinHeight           = 24.0 // of inputs, outputs and nodes without code
	opFont, smallFont    = 13.0, 11.0
	lineHeight           = 15.0
	stripe, textInset    = 6.0, 14.0
	drawingEdge          = 12.0 // around the whole
	textWidth            = boxWidth - textInset - 8
	mostOutputs          = 64 // outputs drawn with a box of their own
	roundness, halfArrow = 0.5, 6.0
	longestTag           = 0.38 // of the first line
	bold                 = 1.1  // wider than other letters
)

// plan is what the drawing is made of, before it has places.
type plan struct {
	boxes []box
	edges []layered.Edge
	maker map[int]int // box of a tensor
	// unmarked are outputs without a box.
	unmarked int
}

func newDrawing(r *Report, nodes []*nodeView) *drawing {
	if r.Graph == nil || len(nodes) == 0 {
		return nil
	}
	p := &plan{maker: map[int]int{}}
	p.fill(r, nodes)
	shapes := lists.Map(p.boxes, func(b box) layered.Node { return layered.Node{W: b.W, H: b.H} })
	l := layered.Place(shapes, p.edges)
	d := &drawing{Width: l.W + 2*drawingEdge, Height: l.H + 2*drawingEdge, Boxes: p.boxes,
		Missing: len(r.Graph.Nodes) - len(nodes), Unmarked: p.unmarked}
	for i := range d.Boxes {
		d.Boxes[i].X, d.Boxes[i].Y = l.At[i].X+drawingEdge, l.At[i].Y+drawingEdge
	}
	for i, e := range p.edges {
		if l.Paths[i] == nil {
			d.Left++
			continue
		}
		d.Wires = append(d.Wires, wire{Path: curve(l.Paths[i]), From: p.boxes[e.From].ID, To: p.boxes[e.To].ID,
			Skip: len(l.Paths[i]) > 3})
	}
	for _, c := range classes {
		n := 0
		for i := range d.Boxes {
			if d.Boxes[i].Class == c.Class {
				n++
			}
		}
		if n > 0 {
			d.Legend = append(d.Legend, legendRow{c.Class, c.Text, n})
		}
	}
	return d
}

// together are the nodes of a box: those of a chain are one.
func together(nodes []*nodeView) (list [][]*nodeView) {
	chains := map[string]int{}
	for _, n := range nodes {
		at, ok := chains[n.chain]
		if n.chain == "" || !ok {
			at, list = len(list), append(list, nil)
			chains[n.chain] = at
		}
		list[at] = append(list[at], n)
	}
	return list
}

// fill makes the boxes and the edges: inputs where they are first read, outputs last.
func (p *plan) fill(r *Report, nodes []*nodeView) {
	groups := together(nodes)
	cost := costs(groups)
	most := max(slices.Max(cost), 1)
	made := map[int]bool{}
	for _, n := range nodes {
		for _, t := range n.out {
			made[t] = true
		}
	}
	for i, g := range groups {
		in := slices.Concat(lists.Map(g, func(n *nodeView) []int { return n.in })...)
		for _, t := range in {
			if x := r.Graph.tensor(t); x != nil && !made[t] {
				made[t] = true
				p.maker[t] = len(p.boxes)
				p.boxes = append(p.boxes, endBox(fmt.Sprintf("i%d", t), "input", x))
			}
		}
		at := len(p.boxes)
		p.boxes = append(p.boxes, nodeBox(g, cost[i]/most))
		for _, t := range in {
			from, ok := p.maker[t]
			if e := (layered.Edge{From: from, To: at}); ok && !slices.Contains(p.edges, e) {
				p.edges = append(p.edges, e)
			}
		}
		for _, n := range g {
			for _, t := range n.out {
				p.maker[t] = at
			}
		}
	}
	p.outputs(r, nodes)
}

// outputs adds boxes for what nothing reads, nodes that are not drawn included.
func (p *plan) outputs(r *Report, nodes []*nodeView) {
	read := map[int]bool{}
	for _, n := range r.Graph.Nodes {
		for _, t := range n.In {
			read[t] = true
		}
	}
	drawn := 0
	for _, n := range nodes {
		for _, t := range n.out {
			x := r.Graph.tensor(t)
			if x == nil || read[t] {
				continue
			}
			if drawn == mostOutputs {
				p.unmarked++
				continue
			}
			drawn++
			p.edges = append(p.edges, layered.Edge{From: p.maker[t], To: len(p.boxes)})
			p.boxes = append(p.boxes, endBox(fmt.Sprintf("o%d", t), "output", x))
		}
	}
}

// costs are the instructions of boxes, or MACs where these are not known.
func costs(groups [][]*nodeView) []float64 {
	known, macs := make([]float64, len(groups)), make([]float64, len(groups))
	for i, g := range groups {
		seen := map[int]bool{}
		for _, n := range g {
			macs[i] += float64(n.MACs)
			if n.Layer != nil && (n.Alone || n.chain != "") && n.Layer.Instructions != nil && !seen[n.LayerIndex] {
				seen[n.LayerIndex] = true
				known[i] += float64(*n.Layer.Instructions)
			}
		}
	}
	if slices.Max(known) > 0 {
		return known
	}
	return macs
}

func endBox(id, what string, t *Tensor) box {
	b := box{ID: id, W: boxWidth, H: boxHeight - 16, Class: "io", Op: what, Type: fit(t.text(), smallFont, textWidth),
		Title: what + " " + t.Name + ", " + t.text()}
	b.Tag = fitTail(t.Name, smallFont*bold, textWidth-textSpan(what, opFont*bold)-10)
	return b
}

func nodeBox(g []*nodeView, share float64) box {
	n, last := g[max(0, slices.IndexFunc(g, func(x *nodeView) bool { return x.Layer != nil }))], g[len(g)-1]
	b := box{ID: fmt.Sprintf("n%d", n.Index), W: boxWidth, H: boxHeight, Class: n.Class,
		Share: share * (boxWidth - stripe), Refused: n.Class == "portable" && n.Refused}
	tag := n.Runs
	if n.Class == "portable" {
		tag = "C"
	}
	if n.Segment != nil {
		tag = fmt.Sprintf("%s %d", n.Runs, *n.Segment)
	}
	b.Tag = fit(tag, smallFont*bold, textWidth*longestTag)
	full := []string{n.Op, n.Name, ""}
	if len(g) > 1 {
		full[0], full[1] = "chain", n.chain
	}
	b.Op = fit(full[0], opFont*bold, textWidth-textSpan(b.Tag, smallFont*bold)-10)
	b.Name = fitTail(full[1], smallFont, textWidth)
	if len(last.Out) > 0 {
		full[2] = last.Out[0].text()
		b.Type = fit(full[2], smallFont, textWidth)
	}
	if b.Op != full[0] || b.Name != full[1] || b.Type != full[2] || n.Class == "view" {
		b.Title = strings.Join(full, " ")
	}
	if n.Class == "view" {
		b.H = thinHeight
	}
	seen := map[int]bool{}
	for _, x := range g {
		if len(g) > 1 && x.Layer != nil && !seen[x.LayerIndex] {
			seen[x.LayerIndex] = true
			b.H = boxHeight + lineHeight*float64(len(seen))
			b.Inside = append(b.Inside, inner{b.H - 10, fitTail(x.Layer.Name, smallFont, textWidth)})
		}
	}
	return b
}

// text is the type of a tensor: int8 1×64×25×5.
func (t *Tensor) text() string { return t.DType + " " + dims(t.Shape) }

// curve is a path through points: straight where they lie below each other, bent in between.
func curve(p []layered.Point) string {
	var b strings.Builder
	at := func(q layered.Point) string { return short(q.X+drawingEdge) + " " + short(q.Y+drawingEdge) }
	b.WriteString("M" + at(p[0]))
	for i := 1; i < len(p); i++ {
		from, to := p[i-1], p[i]
		if i == len(p)-1 {
			to.Y -= halfArrow
		}
		if from.X == to.X {
			fmt.Fprintf(&b, "V%s", short(to.Y+drawingEdge))
			continue
		}
		middle := from.Y + (to.Y-from.Y)*roundness
		fmt.Fprintf(&b, "C%s %s %s", at(layered.Point{X: from.X, Y: middle}), at(layered.Point{X: to.X, Y: middle}),
			at(to))
	}
	return b.String()
}

// textSpan is about how wide a text is: of letters without knowing the font, rather
// too wide than too narrow.
func textSpan(s string, font float64) float64 {
	w := 0.0
	for _, c := range s {
		w += letter(c)
	}
	return w * font
}

// letter is the width of a letter, in heights of the font.
func letter(c rune) float64 {
	switch {
	case c >= 0x1100: // ideographs and symbols
		return 1.05
	case strings.ContainsRune("ijlI.,:;'|!/()[] ft", c):
		return 0.36
	case strings.ContainsRune("mwMW@%\u2026", c):
		return 0.98
	case c >= 'A' && c <= 'Z' || c > 0x7f:
		return 0.72
	}
	return 0.6
}

// fit shortens a text at its end, so that it is no wider than that.
func fit(s string, font, width float64) string {
	if textSpan(s, font) <= width {
		return s
	}
	w := textSpan("\u2026", font)
	for i, c := range s {
		if w += letter(c) * font; w > width {
			return s[:i] + "\u2026"
		}
	}
	return s
}

// fitTail shortens a text at its start: the ends of names tell layers apart.
func fitTail(s string, font, width float64) string {
	if textSpan(s, font) <= width {
		return s
	}
	w := textSpan("\u2026", font)
	for i := len(s); i > 0; {
		c, n := utf8.DecodeLastRuneInString(s[:i])
		if w += letter(c) * font; w > width {
			return "\u2026" + s[i:]
		}
		i -= n
	}
	return s
}
