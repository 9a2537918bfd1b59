// SPDX-License-Identifier: Apache-2.0

package data

import (
	"math"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/postprocess"
)

// stride is that of a map: declared, or the input's side over the cells.
func (d *detector) stride(i int, g *grid) (x, y float32) {
	if i < len(d.Strides) {
		return float32(d.Strides[i]), float32(d.Strides[i])
	}
	return float32(d.Width) / float32(g.cols), float32(d.Height) / float32(g.rows)
}

// needs refuses outputs of a key that are fewer or more than those with boxes.
func (d *detector) needs(key string, names []string, n int) {
	switch {
	case len(names) == 0:
		fail.Errorf("%s is missing: the %d outputs with %s; the model has %s", key, n, key, d.m.list())
	case len(names) != n:
		fail.Errorf("%s: %d outputs, and boxes has %d", key, len(names), n)
	}
}

// maps finds the predictions.
func (d *detector) maps() {
	if len(d.Boxes.Boxes) > 0 {
		fail.If(len(d.From) > 0, "from and boxes are both there; want one of them")
		d.apart()
		return
	}
	names := d.From
	if len(names) == 0 && len(d.m.names) == 1 {
		names = d.m.names
	}
	switch {
	case d.h.coding == postprocess.Points || d.h.coding == postprocess.Offsets:
		fail.Errorf("boxes is missing: which outputs have them, and which the scores? The model has %s", d.m.list())
	case len(names) == 0:
		fail.Errorf("from is missing: which outputs have the boxes (all of a prediction in one), or boxes and "+
			"scores where they are apart? The model has %s", d.m.list())
	case len(d.Boxes.Scores)+len(d.Objects)+len(d.Sizes)+len(d.Classes) > 0:
		fail.Errorf("scores and the like stand beside boxes, where outputs have a part each; with from they " +
			"have everything")
	}
	d.together(names)
}

// together reads outputs that have everything of a prediction.
func (d *detector) together(names []string) {
	head := d.box
	if d.h.object {
		head++
	}
	depth := 0
	switch {
	case d.h.name == "rows":
		head, depth = d.box+1, d.box+2
	case d.Count > 0:
		d.depth = head + d.Count
	}
	anchors := d.anchorCount(len(names))
	for i, n := range names {
		g := d.view("from", n, depth, anchors)
		d.classes(n, g, head)
		if depth = g.depth; i == 0 {
			d.background()
		}
		part := func(from int) postprocess.Field {
			f := g.f
			f.Base += from * f.Channel
			return f
		}
		m := postprocess.Map{Box: g.f, Score: part(head), Size: none, Object: none, Label: none}
		switch {
		case d.h.name == "rows":
			m.Score, m.Label = part(d.box), part(d.box+1)
		case d.h.object:
			m.Object = part(d.box)
		}
		d.add(i, len(names), g, m, anchors)
	}
	d.tables(anchors)
}

// classes counts what is behind the first values of a prediction.
func (d *detector) classes(name string, g *grid, head int) {
	shape := shapeText(d.m.types[g.f.Output].Shape)
	switch d.out.Classes = g.depth - head; {
	case d.h.name == "rows":
		d.out.Classes = 1
	case g.depth <= head:
		fail.Errorf("from: output %s of shape %s has %d values for a prediction; %d are of the box, and none is "+
			"left for classes%s", name, shape, g.depth, head, d.other())
	case g.depth < d.depth:
		fail.Errorf("from: output %s of shape %s has %d values for a prediction; want %d%s", name, shape, g.depth,
			d.depth, d.other())
	case d.Count > 0:
		d.out.Classes = d.Count // behind them are the numbers of masks, say
	}
}

var none = postprocess.Field{Output: -1}

// apart reads outputs that have a part of a prediction each.
func (d *detector) apart() {
	boxes := d.Boxes.Boxes
	d.needs("scores", d.Scores, len(boxes))
	fail.If(d.out.Coding == postprocess.Points && len(d.Sizes) == 0,
		"sizes is missing: the outputs with width and height; the model has %s", d.m.list())
	anchors := d.anchorCount(len(boxes))
	for i, n := range boxes {
		g := d.boxGrid(n, anchors)
		m := postprocess.Map{Box: g.f, Size: none, Object: none, Label: none}
		d.parts(i, g, &m)
		d.add(i, len(boxes), g, m, g.anchors)
	}
	d.tables(max(anchors, 1))
}

// boxGrid is an output of boxes alone; prior boxes are counted by its channels.
func (d *detector) boxGrid(name string, anchors int) *grid {
	g := d.view("boxes", name, 0, anchors)
	if d.out.Coding == postprocess.Offsets && g.anchors == 1 && g.depth > 4 && g.depth%4 == 0 {
		g.anchors, g.depth = g.depth/4, 4
		g.f.Anchor = 4 * g.f.Channel
	}
	if g.depth != d.box {
		return d.view("boxes", name, d.box, g.anchors)
	}
	return g
}

// parts finds map i of the outputs beside the boxes.
func (d *detector) parts(i int, g *grid, m *postprocess.Map) {
	depth := d.Count
	if d.h.name == "rows" {
		depth = 1
	}
	n := len(d.Boxes.Boxes)
	for _, p := range []struct {
		key   string
		names []string
		depth int
		to    *postprocess.Field
	}{
		{"scores", d.Scores, depth, &m.Score},
		{"objects", d.Objects, 1, &m.Object},
		{"sizes", d.Sizes, 2, &m.Size},
		{"classes-from", d.Classes, 1, &m.Label},
	} {
		if len(p.names) == 0 {
			continue
		}
		d.needs(p.key, p.names, n)
		depth := p.depth
		if p.key == "scores" && i > 0 { // every map has the classes of the first
			depth = d.out.Classes
		}
		x := d.same(p.key, p.names[i], depth, g)
		*p.to = x.f
		if p.key == "scores" {
			d.out.Classes = x.depth
		}
	}
	if i == 0 {
		d.background()
	}
}

// same is an output that has as many predictions as another.
func (d *detector) same(key, name string, depth int, g *grid) *grid {
	d.like = g
	x := d.view(key, name, depth, g.anchors)
	d.like = nil
	if x.rows*x.cols*x.anchors == g.rows*g.cols*g.anchors && x.rows == 1 && g.rows == 1 {
		return x
	}
	fail.If(x.rows != g.rows || x.cols != g.cols || x.anchors != g.anchors,
		"%s: output %s has %d x %d cells of %d, and %s has %d x %d of %d%s", key, name, x.cols, x.rows, x.anchors,
		g.name, g.cols, g.rows, g.anchors, d.other())
	return x
}

// background is the class that is none.
func (d *detector) background() {
	switch d.out.Background = d.Background; {
	case d.Background == -2 && d.h.coding == postprocess.Offsets && d.out.Scores == postprocess.SoftmaxOf:
		d.out.Background = 0
	case d.Background == -2 || d.Background >= d.out.Classes:
		d.out.Background = -1
	}
}

// anchorCount is how many anchors a cell has, of so many maps.
func (d *detector) anchorCount(maps int) int {
	if d.out.Coding != postprocess.Anchored && d.out.Coding != postprocess.Exponents {
		return 1
	}
	if len(d.Strides) > maps {
		maps = len(d.Strides)
	}
	n := len(d.Anchors)
	fail.If(n == 0 || n%(2*maps) != 0,
		"anchors: %d numbers for %d maps; want width and height in pixels of each anchor, as "+
			"many for each map, in the order of the maps", n, maps)
	return n / (2 * maps)
}

// add appends what a grid has: one map, or several that lie in it one behind the other.
func (d *detector) add(i, of int, g *grid, m postprocess.Map, anchors int) {
	m.Rows, m.Cols, m.Anchors = g.rows, g.cols, g.anchors
	fixed := d.out.Coding == postprocess.Corners || d.out.Coding == postprocess.Centre ||
		d.out.Coding == postprocess.Offsets
	if fixed || g.rows > 1 || of > 1 || len(d.Strides) < 2 {
		if !fixed {
			m.StrideX, m.StrideY = d.stride(i, g)
		}
		d.out.Maps = append(d.out.Maps, m)
		return
	}
	cells, from := g.rows*g.cols*g.anchors, 0
	for _, s := range d.Strides {
		part := m
		part.Anchors, part.StrideX, part.StrideY = anchors, float32(s), float32(s)
		part.Rows, part.Cols = int(math.Ceil(float64(d.Height)/s)), int(math.Ceil(float64(d.Width)/s))
		for _, f := range []*postprocess.Field{&part.Box, &part.Score, &part.Object} {
			step := f.Col
			f.Base += from * step
			f.Row, f.Anchor = part.Cols*step, part.Rows*part.Cols*step
		}
		from += part.Rows * part.Cols * anchors
		d.out.Maps = append(d.out.Maps, part)
	}
	fail.If(from != cells, "strides: %v make %d predictions of an input of %d x %d, and output %s has %d", d.Strides,
		from, d.Width, d.Height, g.name, cells)
}

// tables gives maps their anchors or prior boxes.
func (d *detector) tables(anchors int) {
	switch d.out.Coding {
	case postprocess.Anchored, postprocess.Exponents:
		per := 2 * anchors
		for i := range d.out.Maps {
			m := &d.out.Maps[i]
			fail.If(m.Anchors != anchors || (i+1)*per > len(d.Anchors),
				"anchors: %d for each map, and a cell of map %d has %d", anchors, i, m.Anchors)
			m.Table = singles(d.Anchors[i*per : (i+1)*per])
		}
	case postprocess.Offsets:
		d.priors()
	}
}
