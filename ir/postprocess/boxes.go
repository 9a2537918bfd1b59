// SPDX-License-Identifier: Apache-2.0

// Package postprocess defines what becomes of a network's outputs: boxes of detectors,
// classes by their scores, keywords averaged over time. Evaluation and runs go through
// this Go code, firmware through C that codegen prints of the same numbers (runtime_c,
// nncc_postprocess.h).
//
// A value is a float32: of quantised outputs (q - zero point) * scale. Everything behind
// it is + - * / on float32, each rounded, in an order that is part of the definition; so
// C gives the same bits. Comparisons on the way there, which C makes on integers, decide
// the same.
package postprocess

import (
	"cmp"
	"math"
	"slices"
)

// Coding says what the numbers of a box are.
type Coding int

// The ways in which networks give boxes. Cells are counted from 0; sigma is the sigmoid,
// unless the model has it (Activation None).
const (
	Corners   Coding = iota // x0, y0, x1, y1, times Unit
	Centre                  // centre, width, height, times Unit
	Anchored                // (2 sigma(t) - 1/2 + cell) * stride, (2 sigma(t))^2 * anchor: YOLOv5, v7
	Exponents               // (sigma(t) + cell) * stride, e^t * anchor: YOLOv2, v3
	Grid                    // (t + cell) * stride, e^t * stride: YOLOX
	Distances               // left, top, right, bottom of the cell's middle, in strides: YOLOv8
	Offsets                 // prior centre + t * variance * prior size, e^(t * variance) * prior size: SSD
	Points                  // (t + cell) * stride, size * stride; cells are peaks: CenterNet
)

// Activation is what makes scores of values.
type Activation int

// None: the model has it.
const (
	None Activation = iota
	SigmoidOf
	SoftmaxOf
)

// Activations are their names, in order.
func Activations() []string { return []string{"none", "sigmoid", "softmax"} }

// Field says where values lie in an output: element Base + row*Row + col*Col +
// anchor*Anchor + channel*Channel, in its logical order. Output is -1 for none.
type Field struct{ Output, Base, Row, Col, Anchor, Channel int }

// At is the element of a channel.
func (f Field) At(row, col, anchor, channel int) int {
	return f.Base + row*f.Row + col*f.Col + anchor*f.Anchor + channel*f.Channel
}

// Map is a grid of predictions, Anchors in each cell.
type Map struct {
	Rows, Cols, Anchors int
	StrideX, StrideY    float32 // pixels of the input from cell to cell
	Box                 Field   // four values, or four times Bins
	Size                Field   // of Points: width and height
	Score               Field   // a channel for each class
	Object              Field   // one value; Output -1: there is none
	Label               Field   // the class as a number, beside one score; Output -1: there is none
	// Table has, of Anchored and Exponents, width and height of each anchor; of Offsets centre
	// and size of each prediction; in pixels.
	Table []float32
}

// Boxes is how boxes are read of outputs.
type Boxes struct {
	Coding       Coding
	YFirst       bool // y stands before x in the values of a box
	Bins         int  // of Distances: 1, or values over which a softmax's mean is taken
	UnitX, UnitY float32
	Variance     [4]float32 // of Offsets: x, y, width, height
	Maps         []Map
	Scores       Activation
	Classes      int // channels of Score
	Background   int // a class that is none; -1: there is none
	AllLabels    bool
	Threshold    []float32 // least score, of all labels or of each
	IoU          float32   // boxes that overlap more are one; 1: none are
	Agnostic     bool      // also of different labels
	Candidates   int       // at most so many are compared
	Most         int       // are given
	Width        float32   // of the input in pixels: boxes are cut off there
	Height       float32
}

// Box is a result. Coordinates are pixels of the input.
type Box struct {
	Label int     `json:"label"` // without the background
	Score float32 `json:"score"`
	X0    float32 `json:"x0"`
	Y0    float32 `json:"y0"`
	X1    float32 `json:"x1"`
	Y1    float32 `json:"y1"`
	Cell  int     `json:"-"` // number of the prediction: map, row, column, anchor
}

// Labels is how many there are.
func (b *Boxes) Labels() int {
	if b.Background >= 0 {
		return b.Classes - 1
	}
	return b.Classes
}

// Used are the outputs that are read, each once.
func (b *Boxes) Used() []int {
	var out []int
	for _, m := range b.Maps {
		for _, f := range []Field{m.Box, m.Size, m.Score, m.Object, m.Label} {
			if f.Output >= 0 && !slices.Contains(out, f.Output) {
				out = append(out, f.Output)
			}
		}
	}
	return out
}

// Least is the lowest score that label l needs.
func (b *Boxes) Least(l int) float32 { return least(b.Threshold, l) }

func least(list []float32, l int) float32 {
	if l < 0 || l >= len(list) {
		return list[0]
	}
	return list[l]
}

// far bounds coordinates: a box with a corner beyond it, or without a number, is none.
const far = 1e6

// before orders candidates: higher scores first, then lower cells, then lower labels.
func before(a, b Box) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Label, b.Label))
}

// Of gives the boxes of outputs, values in their logical order, best first. Predictions
// with a score of at least the threshold and a finite box are candidates; the best of them,
// at most Candidates, are compared (Suppress).
func (b *Boxes) Of(outputs [][]float32) []Box {
	var list []Box
	cell := 0
	for i := range b.Maps {
		m := &b.Maps[i]
		for row := range m.Rows {
			for col := range m.Cols {
				for anchor := range m.Anchors {
					p := prediction{b, m, outputs, row, col, anchor, cell}
					list = p.candidates(list)
					cell++
				}
			}
		}
	}
	slices.SortFunc(list, before)
	list = Suppress(list[:min(len(list), b.Candidates)], b.IoU, b.Agnostic, b.Most)
	for i := range list {
		x := &list[i]
		x.X0, x.X1 = clip(x.X0, b.Width), clip(x.X1, b.Width)
		x.Y0, x.Y1 = clip(x.Y0, b.Height), clip(x.Y1, b.Height)
	}
	return list
}

func clip(x, most float32) float32 { return min(max(x, 0), most) }

// prediction is one anchor of one cell.
type prediction struct {
	b                *Boxes
	m                *Map
	outputs          [][]float32
	row, col, anchor int
	cell             int
}

func (p *prediction) value(f Field, channel int) float32 {
	return p.outputs[f.Output][f.At(p.row, p.col, p.anchor, channel)]
}

// candidates appends what is said with enough certainty.
func (p *prediction) candidates(list []Box) []Box {
	b := p.b
	best, at := float32(0), -1
	for c := range b.Classes {
		if c == b.Background {
			continue
		}
		v := p.value(p.m.Score, c)
		if !(v >= -math.MaxFloat32) || b.Coding == Points && !p.peak(c, v) {
			continue
		}
		switch {
		case b.AllLabels:
			list = p.add(list, c, v)
		case at < 0 || v > best:
			best, at = v, c
		}
	}
	if at >= 0 {
		list = p.add(list, at, best)
	}
	return list
}

// peak reports that no neighbour has more of a class.
func (p *prediction) peak(c int, v float32) bool {
	for y := max(p.row-1, 0); y <= min(p.row+1, p.m.Rows-1); y++ {
		for x := max(p.col-1, 0); x <= min(p.col+1, p.m.Cols-1); x++ {
			if p.outputs[p.m.Score.Output][p.m.Score.At(y, x, p.anchor, c)] > v {
				return false
			}
		}
	}
	return true
}

// add appends class c of value v if its score is enough and its box is one.
func (p *prediction) add(list []Box, c int, v float32) []Box {
	b := p.b
	x := Box{Label: c, Cell: p.cell, Score: p.score(v)}
	if b.Background >= 0 && c > b.Background {
		x.Label--
	}
	if p.m.Label.Output >= 0 {
		l := p.value(p.m.Label, 0)
		if !(l > -0.5 && l < 1<<20) {
			return list
		}
		x.Label = int(l + 0.5)
	}
	if !(x.Score >= b.Least(x.Label)) || !p.box(&x) {
		return list
	}
	return append(list, x)
}

// score is what a class's value is worth.
func (p *prediction) score(v float32) float32 {
	switch p.b.Scores {
	case SigmoidOf:
		v = Sigmoid(v)
	case SoftmaxOf:
		v = softmax(v, p.b.Classes, func(c int) float32 { return p.value(p.m.Score, c) })
	}
	if p.m.Object.Output < 0 {
		return v
	}
	o := p.value(p.m.Object, 0)
	if p.b.Scores == SigmoidOf {
		o = Sigmoid(o)
	}
	return float32(o * v)
}

// softmax is e^v in proportion to that of all n values, added up in order.
func softmax(v float32, n int, value func(int) float32) float32 {
	most := float32(-math.MaxFloat32)
	for c := range n {
		if x := value(c); x > most {
			most = x
		}
	}
	sum := float32(0)
	for c := range n {
		sum += Exp(value(c) - most)
	}
	return Exp(v-most) / sum
}

// distance is number i of a box in Distances.
func (p *prediction) distance(i int) float32 {
	n := p.b.Bins
	if n == 1 {
		return p.value(p.m.Box, i)
	}
	most := float32(-math.MaxFloat32)
	for k := range n {
		if x := p.value(p.m.Box, i*n+k); x > most {
			most = x
		}
	}
	sum, mean := float32(0), float32(0)
	for k := range n {
		e := Exp(p.value(p.m.Box, i*n+k) - most)
		sum += e
		mean += float32(e * float32(k))
	}
	return mean / sum
}

// box sets the corners and reports that they are those of a box.
func (p *prediction) box(x *Box) bool {
	var t [4]float32
	for i := range t {
		switch {
		case p.b.Coding == Distances:
			t[i] = p.distance(i)
		case p.b.Coding == Points && i >= 2:
			t[i] = p.value(p.m.Size, i-2)
		default:
			t[i] = p.value(p.m.Box, i)
		}
		if !(t[i] >= -math.MaxFloat32 && t[i] <= math.MaxFloat32) {
			return false
		}
	}
	if p.b.YFirst {
		t = [4]float32{t[1], t[0], t[3], t[2]}
	}
	across := p.b.side(p.m, 0, p.col, p.place(), t[0], t[2])
	down := p.b.side(p.m, 1, p.row, p.place(), t[1], t[3])
	x.X0, x.X1, x.Y0, x.Y1 = across[0], across[1], down[0], down[1]
	return !slices.ContainsFunc([]float32{x.X0, x.X1, x.Y0, x.Y1}, func(v float32) bool {
		return !(v >= -far && v <= far)
	})
}

// place is the number of the table's entry.
func (p *prediction) place() int {
	if p.b.Coding == Offsets {
		return (p.row*p.m.Cols+p.col)*p.m.Anchors + p.anchor
	}
	return p.anchor
}

// side is where a box begins and ends across (axis 0) or down (1). t and size are its
// numbers, cell is the column or row.
func (b *Boxes) side(m *Map, axis, cell, place int, t, size float32) [2]float32 {
	stride, unit := m.StrideX, b.UnitX
	if axis == 1 {
		stride, unit = m.StrideY, b.UnitY
	}
	at := float32(cell)
	switch b.Coding {
	case Corners:
		return [2]float32{t * unit, size * unit}
	case Centre:
		t, size = t*unit, size*unit
	case Anchored:
		if b.Scores == SigmoidOf {
			t, size = Sigmoid(t), Sigmoid(size)
		}
		size = 2 * size
		t = (2*t - 0.5 + at) * stride
		size = float32(size*size) * m.Table[2*place+axis]
	case Exponents:
		if b.Scores == SigmoidOf {
			t = Sigmoid(t)
		}
		t = (t + at) * stride
		size = Exp(size) * m.Table[2*place+axis]
	case Grid:
		t = (t + at) * stride
		size = Exp(size) * stride
	case Distances:
		at += 0.5
		return [2]float32{(at - t) * stride, (at + size) * stride}
	case Offsets:
		of := m.Table[4*place+2+axis]
		t = float32(float32(t*b.Variance[axis])*of) + m.Table[4*place+axis]
		size = Exp(size*b.Variance[2+axis]) * of
	case Points:
		t, size = (t+at)*stride, size*stride
	}
	half := float32(size * 0.5)
	return [2]float32{t - half, t + half}
}

// Suppress goes through a list, best first, and keeps what overlaps none that was kept by
// more than iou; at most so many. Agnostic compares boxes of different labels, too. It
// works in the list's memory.
func Suppress(list []Box, iou float32, agnostic bool, most int) []Box {
	kept := list[:0]
	for _, x := range list {
		if len(kept) == most {
			break
		}
		free := true
		for _, k := range kept {
			if (agnostic || k.Label == x.Label) && IoU(k, x) > iou {
				free = false
				break
			}
		}
		if free {
			kept = append(kept, x)
		}
	}
	return kept
}

// IoU is the area that two boxes share, in proportion to what they cover together; 0 where
// one has no area.
func IoU(a, b Box) float32 {
	one := float32((a.Y1 - a.Y0) * (a.X1 - a.X0))
	two := float32((b.Y1 - b.Y0) * (b.X1 - b.X0))
	if !(one > 0 && two > 0) {
		return 0
	}
	h := max(min(a.Y1, b.Y1)-max(a.Y0, b.Y0), 0)
	w := max(min(a.X1, b.X1)-max(a.X0, b.X0), 0)
	both := float32(h * w)
	return both / (one + two - both)
}

// Priors are boxes of a shape, of sizes that grow from map to map: sides scale *
// sqrt(aspect) and scale / sqrt(aspect) of the input at the middle of each cell.
type Priors struct {
	Grids   [][2]int  // columns, rows of each map
	Scales  []float64 // of each map
	Aspects []float64
	// Between adds a square of the mean of a map's scale and the next one's, behind
	// the last one of scale 1.
	Between bool
}

// Anchors is how many boxes lie in a cell.
func (p *Priors) Anchors() int {
	if p.Between {
		return len(p.Aspects) + 1
	}
	return len(p.Aspects)
}

// Table has centre x, y, width and height of every box as parts of the input: map, row,
// column, aspect.
func (p *Priors) Table() []float64 {
	var out []float64
	for i, g := range p.Grids {
		var sizes [][2]float64
		for _, a := range p.Aspects {
			sizes = append(sizes, [2]float64{p.Scales[i] * math.Sqrt(a), p.Scales[i] / math.Sqrt(a)})
		}
		if p.Between {
			next := 1.
			if i+1 < len(p.Scales) {
				next = p.Scales[i+1]
			}
			s := math.Sqrt(p.Scales[i] * next)
			sizes = append(sizes, [2]float64{s, s})
		}
		for row := range g[1] {
			for col := range g[0] {
				for _, s := range sizes {
					out = append(out, (float64(col)+0.5)/float64(g[0]), (float64(row)+0.5)/float64(g[1]), s[0], s[1])
				}
			}
		}
	}
	return out
}
