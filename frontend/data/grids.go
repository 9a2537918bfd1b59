// SPDX-License-Identifier: Apache-2.0

package data

import (
	"slices"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/postprocess"
)

// grid is an output, or a part of it, as predictions.
type grid struct {
	name                       string
	rows, cols, anchors, depth int
	f                          postprocess.Field // of the first value
}

// newGrid reads a shape: cells; rows of cells; anchors in front of them.
func newGrid(name string, output int, shape []int, channelsFirst bool) *grid {
	g := &grid{name: name, rows: 1, cols: 1, anchors: 1, depth: 1}
	f := &g.f
	f.Output = output
	place, at := []*int{&g.anchors, &g.rows, &g.cols, &g.depth}, []*int{&f.Anchor, &f.Row, &f.Col, &f.Channel}
	switch n := len(shape); {
	case n == 1:
		place, at = place[:3], at[:3]
	case n == 2:
		place, at = place[2:], at[2:]
		if channelsFirst {
			place, at = []*int{&g.depth, &g.cols}, []*int{&f.Channel, &f.Col}
		}
	case channelsFirst:
		place, at = []*int{&g.anchors, &g.depth, &g.rows, &g.cols}, []*int{&f.Anchor, &f.Channel, &f.Row, &f.Col}
	}
	place, at = place[len(place)-len(shape):], at[len(at)-len(shape):]
	stride := 1
	for k := len(shape) - 1; k >= 0; k-- {
		*place[k] = shape[k]
		if shape[k] > 1 {
			*at[k] = stride
		}
		stride *= shape[k]
	}
	return g
}

// view is an output as a grid; depth is how many channels a prediction has, 0: not known.
func (d *detector) view(key, name string, depth, anchors int) *grid {
	i := d.m.find(key, name)
	t := d.m.types[i]
	shape := trim(t.Shape)
	fail.If(t.Elems() == 0 || len(shape) > 4 || !t.DType.IsFloat() && t.Quant == nil,
		"%s: output %s is %s of shape %s; want reals or quantised numbers of cells and channels", key, name, t.DType,
		shapeText(t.Shape))
	shape, first := d.axes(shape, depth, anchors)
	g := newGrid(name, i, shape, first)
	if g.anchors == 1 && anchors > 1 && g.depth%anchors == 0 { // in the channels
		g.anchors, g.depth = anchors, g.depth/anchors
		g.f.Anchor = g.depth * g.f.Channel
	}
	fail.If(depth > 0 && g.depth != depth, "%s: output %s of shape %s has %d values for a prediction; want %d%s", key,
		name, shapeText(t.Shape), g.depth, depth, d.other())
	return g
}

// axes puts an axis of 1 back into a shape that lost it, and says whether channels stand before the cells.
func (d *detector) axes(shape []int, depth, anchors int) ([]int, bool) {
	if len(shape) == 1 && depth > 1 { // one prediction
		shape = []int{1, shape[0]}
	}
	if l := d.like; l != nil && l.rows > 1 && slices.Equal(shape, []int{l.rows, l.cols}) { // a map of one channel
		return append(slices.Clone(shape), 1), false
	}
	return shape, d.channelsFirst(shape, depth, anchors)
}

// other is a hint for a wrong number of channels.
func (d *detector) other() string {
	if d.Layout == "" {
		return " (layout says whether channels are in front of cells, classes how many there are)"
	}
	return ""
}

// channelsFirst reports that channels stand before the cells in a shape.
func (d *detector) channelsFirst(shape []int, depth, anchors int) bool {
	if d.Layout != "" {
		return d.Layout == "nchw"
	}
	n := len(shape)
	if n < 2 {
		return false
	}
	front, last := shape[max(n-3, 0)], shape[n-1]
	if n == 4 {
		anchors = 1 // have an axis of their own
	}
	if depth == 0 {
		depth = d.depth
	}
	if want := depth * max(anchors, 1); depth > 0 && (front == want) != (last == want) {
		return front == want
	}
	if l := d.like; n == 2 && l != nil {
		if cells := l.rows * l.cols * l.anchors; (front == cells) != (last == cells) {
			return last == cells
		}
	}
	if n == 2 {
		return front < last
	}
	fits := func(h, w int) bool {
		return d.Height%h == 0 && d.Width%w == 0 && d.Height/h*w == d.Width
	}
	a, b := fits(shape[n-2], last), fits(shape[n-3], shape[n-2])
	if a != b {
		return a
	}
	return !d.m.nhwc
}
