// SPDX-License-Identifier: Apache-2.0

package qref

import "math"

// DetectionsParams are those of TensorFlow Lite's DetectionPostprocess, as
// nncc_detections_params has them.
type DetectionsParams struct {
	Boxes   int32 // how many there are
	Coords  int32 // numbers of a box, the first four y, x, height, width
	Columns int32 // scores of a box: Classes, or one more, the background's, in front
	Classes int32
	Most    int32 // detections
	// PerClass is how many boxes each class keeps, at most Most; 0: boxes of all classes
	// compete, each by its best score.
	PerClass int32
	// Labels are the classes that a detection is given for where all compete, best ones
	// first, Rows the rows that the results have for each detection.
	Labels, Rows int32
	Score, IoU   float32    // a box has at least that score, and overlaps no better one more
	Scale        [4]float32 // of y, x, height, width
}

// Detections are the results: boxes [rows, 4] of two corners (y, x), classes and scores
// [rows], and how many there are; zeros behind them.
type Detections struct {
	Boxes, Classes, Scores []float32
	Count                  float32
}

// ResultRows is the number of rows of the results.
func (p *DetectionsParams) ResultRows() int { return int(p.Most * p.Rows) }

// Detect decodes boxes (centre and size in proportion to anchors) and selects those with
// the highest scores that overlap no better one too much. Equal scores: the lower index.
func Detect(p *DetectionsParams, boxes, scores, anchors []float32) *Detections {
	d := &detector{p: p, boxes: boxes, scores: scores[p.Columns-p.Classes:], anchors: anchors,
		value: make([]float32, p.Boxes)}
	n := p.ResultRows()
	d.out.Boxes, d.out.Classes, d.out.Scores = make([]float32, 4*n), make([]float32, n), make([]float32, n)
	if p.PerClass == 0 {
		d.fast()
		return &d.out
	}
	size := int32(0)
	for c := range p.Classes {
		size = d.class(c, size)
	}
	d.out.Count = float32(size)
	return &d.out
}

// detector is one run.
type detector struct {
	p                      *DetectionsParams
	boxes, scores, anchors []float32
	value                  []float32    // of each box, by which it competes
	list                   []int32      // a heap of those that are left, the best in front
	kept                   [][4]float32 // boxes that stay
	out                    Detections
}

func (d *detector) row(at int32, box [4]float32, class int32, score float32) {
	copy(d.out.Boxes[4*at:], box[:])
	d.out.Classes[at], d.out.Scores[at] = float32(class), score
}

// class puts the boxes of a class among the rows that there are, which are in order.
func (d *detector) class(c, size int32) int32 {
	p, y := d.p, &d.out
	for i := range p.Boxes {
		d.value[i] = d.scores[i*p.Columns+c]
	}
	d.begin()
	for range p.PerClass {
		i, box := d.next()
		if i < 0 {
			break
		}
		at, v := size, d.value[i]
		switch {
		case size < p.Most:
			size++
		case !(v > y.Scores[size-1]):
			return size // nor are the others of this class
		default:
			at--
		}
		for ; at > 0 && v > y.Scores[at-1]; at-- {
			copy(y.Boxes[4*at:4*at+4], y.Boxes[4*at-4:])
			y.Classes[at], y.Scores[at] = y.Classes[at-1], y.Scores[at-1]
		}
		d.row(at, box, c, v)
	}
	return size
}

// fast lets boxes compete by their best scores.
func (d *detector) fast() {
	p := d.p
	for i := range p.Boxes {
		s := d.scores[i*p.Columns:][:p.Classes]
		d.value[i] = s[0]
		for _, v := range s {
			if v > d.value[i] {
				d.value[i] = v
			}
		}
	}
	d.begin()
	for k := range p.Most {
		i, box := d.next()
		if i < 0 {
			break
		}
		s, last := d.scores[i*p.Columns:][:p.Classes], int32(-1)
		for l := range p.Labels {
			if last = nextBest(s, last); last < 0 {
				break // scores that are no numbers
			}
			d.row(k*p.Rows+l, box, last, s[last])
		}
		d.out.Count++
	}
}

// nextBest is the class with the highest score behind a class, -1 for the first one.
func nextBest(s []float32, last int32) int32 {
	best := int32(-1)
	for c := range int32(len(s)) {
		behind := last < 0 || s[c] < s[last] || !(s[c] > s[last]) && c > last
		if behind && (best < 0 || s[c] > s[best]) {
			best = c
		}
	}
	return best
}

// begin lists the boxes whose values are high enough.
func (d *detector) begin() {
	d.list, d.kept = d.list[:0], d.kept[:0]
	for i, v := range d.value {
		if v >= d.p.Score {
			d.list = append(d.list, int32(i))
		}
	}
	for k := len(d.list)/2 - 1; k >= 0; k-- {
		d.sift(k)
	}
}

// next is the best box left that those that stay do not cover; it stays. -1: there is none.
func (d *detector) next() (int32, [4]float32) {
	for len(d.list) > 0 {
		i, last := d.list[0], len(d.list)-1
		d.list[0] = d.list[last]
		d.list = d.list[:last]
		d.sift(0)
		if box := d.decode(i); !d.covered(&box) {
			d.kept = append(d.kept, box)
			return i, box
		}
	}
	return -1, [4]float32{}
}

func (d *detector) covered(box *[4]float32) bool {
	for i := range d.kept {
		if boxIoU(&d.kept[i], box) > d.p.IoU {
			return true
		}
	}
	return false
}

func (d *detector) before(a, b int32) bool {
	return d.value[a] > d.value[b] || !(d.value[a] < d.value[b]) && a < b
}

func (d *detector) sift(at int) {
	for {
		next := 2*at + 1
		if next+1 < len(d.list) && d.before(d.list[next+1], d.list[next]) {
			next++
		}
		if next >= len(d.list) || d.before(d.list[at], d.list[next]) {
			return
		}
		d.list[at], d.list[next] = d.list[next], d.list[at]
		at = next
	}
}

// decode is a box as two corners, in double, rounded where TensorFlow Lite does.
func (d *detector) decode(i int32) (box [4]float32) {
	for axis := range 2 {
		t, size := float64(d.boxes[i*d.p.Coords+int32(axis)]), float64(d.boxes[i*d.p.Coords+2+int32(axis)])
		at, of := float64(d.anchors[4*i+int32(axis)]), float64(d.anchors[4*i+2+int32(axis)])
		centre := float32(float64(t/float64(d.p.Scale[axis])*of) + at)
		half := float32(float64(0.5*Exp64(size/float64(d.p.Scale[2+axis]))) * of)
		box[axis], box[2+axis] = centre-half, centre+half
	}
	return box
}

// boxIoU is nncc_box_iou.
func boxIoU(a, b *[4]float32) float32 {
	one := float32((a[2] - a[0]) * (a[3] - a[1]))
	two := float32((b[2] - b[0]) * (b[3] - b[1]))
	if !(one > 0 && two > 0) {
		return 0
	}
	both := float32(overlap32(a[0], a[2], b[0], b[2]) * overlap32(a[1], a[3], b[1], b[3]))
	return both / (one + two - both)
}

func overlap32(a0, a1, b0, b1 float32) float32 {
	from, to := b0, b1
	if a0 > b0 {
		from = a0
	}
	if a1 < b1 {
		to = a1
	}
	if to > from {
		return to - from
	}
	return 0
}

// Exp64 is e^x within two units in the last place, in basic operations of doubles: the
// same bits on every core. Below -708 it is 0.
func Exp64(x float64) float64 {
	switch {
	case x < -708:
		return 0
	case x > 710:
		return math.Inf(1)
	case math.IsNaN(x):
		return x
	}
	const high, low = 0.6931471804855391, 7.440617110012397e-11 // ln 2: 33 bits, and the rest
	half := 0.5
	if x < 0 {
		half = -0.5
	}
	k := int32(float64(x*1.44269504088896340736) + half)
	r := x - float64(float64(k)*high)
	r -= float64(float64(k) * low)
	y := 1.0 / 6227020800
	for _, c := range [13]float64{1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040,
		1. / 720, 1. / 120, 1. / 24, 1. / 6, 0.5, 1, 1} {
		y = float64(y*r) + c
	}
	return y * math.Float64frombits(uint64(k+1022)<<52) * 2
}
