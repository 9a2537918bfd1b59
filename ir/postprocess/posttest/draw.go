// SPDX-License-Identifier: Apache-2.0

// Package posttest draws detectors for tests.
package posttest

import (
	"math/rand/v2"

	"github.com/nncc/nncc/ir/postprocess"
)

// none is a field that is not there.
var none = postprocess.Field{Output: -1}

// Boxes draws a detector and the shapes of its outputs: one for each map, or boxes and
// scores apart, channels in front or behind.
func Boxes(r *rand.Rand) (*postprocess.Boxes, [][]int) {
	b := &postprocess.Boxes{Coding: postprocess.Coding(r.IntN(8)), YFirst: r.IntN(3) == 0, Bins: 1, UnitX: 64,
		UnitY: 48, Classes: 1 + r.IntN(5), Background: -1, AllLabels: r.IntN(3) == 0, Threshold: []float32{0.3},
		IoU: 0.1 + 0.6*r.Float32(), Agnostic: r.IntN(2) == 0, Candidates: 1 + r.IntN(40), Width: 64, Height: 48,
		Scores: postprocess.Activation(r.IntN(3)), Variance: [4]float32{0.1, 0.2, 0.3, 0.4}}
	b.Most = 1 + r.IntN(b.Candidates)
	switch b.Coding {
	case postprocess.Distances:
		b.Bins = []int{1, 4, 7}[r.IntN(3)]
	case postprocess.Points:
		b.AllLabels = r.IntN(4) > 0
	}
	if r.IntN(2) == 0 && b.Classes > 1 {
		b.Background = r.IntN(b.Classes)
	}
	if r.IntN(2) == 0 {
		b.Threshold = nil
		for range b.Labels() {
			b.Threshold = append(b.Threshold, 0.1+0.5*r.Float32())
		}
	}
	d := &drawing{r: r, b: b, object: b.Coding != postprocess.Offsets && b.Coding != postprocess.Points &&
		r.IntN(3) == 0}
	for range 1 + r.IntN(3) {
		d.grid()
	}
	return b, d.shapes
}

// drawing is a detector that is being drawn.
type drawing struct {
	r      *rand.Rand
	b      *postprocess.Boxes
	object bool // there is objectness
	shapes [][]int
}

// place adds an output with so many values for each prediction.
func (d *drawing) place(m *postprocess.Map, depth int) postprocess.Field {
	f := postprocess.Field{Output: len(d.shapes), Row: m.Cols, Col: 1, Channel: m.Rows * m.Cols}
	n := m.Anchors * depth
	shape := []int{1, n, m.Rows, m.Cols}
	if d.r.IntN(2) == 0 {
		f.Row, f.Col, f.Channel = m.Cols*n, n, 1
		shape = []int{1, m.Rows, m.Cols, n}
	}
	f.Anchor = depth * f.Channel
	d.shapes = append(d.shapes, shape)
	return f
}

// grid adds a map.
func (d *drawing) grid() {
	r, b := d.r, d.b
	m := postprocess.Map{Rows: 1 + r.IntN(5), Cols: 1 + r.IntN(5), Anchors: 1 + r.IntN(3), Size: none, Object: none,
		Label: none}
	if b.Coding == postprocess.Points {
		m.Anchors = 1
	}
	m.StrideX, m.StrideY = 64/float32(m.Cols), 48/float32(m.Rows)
	values, depth := 4*b.Bins, 4*b.Bins+b.Classes
	switch {
	case b.Coding == postprocess.Points:
		m.Box, m.Size, m.Score = d.place(&m, 2), d.place(&m, 2), d.place(&m, b.Classes)
	case r.IntN(2) == 0:
		m.Box, m.Score = d.place(&m, values), d.place(&m, b.Classes)
		if d.object {
			m.Object = d.place(&m, 1)
		}
	case d.object:
		m.Box = d.place(&m, depth+1)
		m.Object, m.Score = m.Box, m.Box
		m.Object.Base, m.Score.Base = values*m.Box.Channel, (values+1)*m.Box.Channel
	default:
		m.Box = d.place(&m, depth)
		m.Score = m.Box
		m.Score.Base = values * m.Box.Channel
	}
	n := 0
	switch b.Coding {
	case postprocess.Anchored, postprocess.Exponents:
		n = 2 * m.Anchors
	case postprocess.Offsets:
		n = 4 * m.Rows * m.Cols * m.Anchors
	}
	for range n {
		m.Table = append(m.Table, 4+30*r.Float32())
	}
	b.Maps = append(b.Maps, m)
}
