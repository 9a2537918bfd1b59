// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// drawnDetections are boxes of which many overlap, with few different scores or many.
func drawnDetections(r *rand.Rand) (p *DetectionsParams, boxes, scores, anchors []float32) {
	p = &DetectionsParams{Boxes: between(r, 1, 40), Coords: between(r, 4, 6), Classes: between(r, 1, 5),
		Most: between(r, 1, 12), Rows: between(r, 1, 4), Score: float32(r.NormFloat64()), IoU: r.Float32(),
		Scale: [4]float32{10, 10, 5, 5}}
	p.Columns = p.Classes + between(r, 0, 1)
	p.Labels = min(p.Rows, p.Classes)
	if r.IntN(2) == 0 {
		p.PerClass = between(r, 1, int(p.Most))
	}
	boxes, scores = randF32(r, p.Boxes*p.Coords, 3), randF32(r, p.Boxes*p.Columns, 2)
	anchors = make([]float32, 4*p.Boxes)
	for i := range anchors {
		anchors[i] = 0.05 + r.Float32()
	}
	if r.IntN(2) == 0 { // equal scores
		for i := range scores {
			scores[i] = float32(r.IntN(4)) / 2
		}
	}
	return p, boxes, scores, anchors
}

// defined is TensorFlow Lite's algorithm as it is stated: all boxes decoded, all scores
// sorted, every pair compared.
type defined struct {
	*DetectionsParams
	corners [][4]float32
	scores  []float32
	y       *Detections
}

func definedDetections(p *DetectionsParams, boxes, scores, anchors []float32) *Detections {
	d := &defined{p, make([][4]float32, p.Boxes), scores, &Detections{Boxes: make([]float32, 4*p.ResultRows()),
		Classes: make([]float32, p.ResultRows()), Scores: make([]float32, p.ResultRows())}}
	for i := range d.corners {
		v := func(k int) float64 { return float64(boxes[i*int(p.Coords)+k]) / float64(p.Scale[k]) }
		for k := range 2 {
			c := float32(v(k)*float64(anchors[4*i+2+k]) + float64(anchors[4*i+k]))
			h := float32(0.5 * math.Exp(v(2+k)) * float64(anchors[4*i+2+k]))
			d.corners[i][k], d.corners[i][2+k] = c-h, c+h
		}
	}
	if p.PerClass > 0 {
		d.regular()
		return d.y
	}
	labels := func(i int) []int { return sorted(int(p.Classes), func(c int) float32 { return d.score(i, c) }) }
	for k, i := range d.selected(func(i int) float32 { return d.score(i, labels(i)[0]) }, p.Most) {
		for l, c := range labels(i)[:p.Labels] {
			d.put(k*int(p.Rows)+l, i, c)
		}
		d.y.Count++
	}
	return d.y
}

func (d *defined) regular() {
	var rows [][2]int
	for c := range int(d.Classes) {
		for _, i := range d.selected(func(i int) float32 { return d.score(i, c) }, d.PerClass) {
			rows = append(rows, [2]int{i, c})
		}
	}
	for at, k := range sorted(len(rows), func(k int) float32 { return d.score(rows[k][0], rows[k][1]) }) {
		if at < int(d.Most) {
			d.put(at, rows[k][0], rows[k][1])
			d.y.Count++
		}
	}
}

func (d *defined) score(i, c int) float32 {
	return d.scores[i*int(d.Columns)+int(d.Columns-d.Classes)+c]
}

func (d *defined) put(at, box, class int) {
	copy(d.y.Boxes[4*at:], d.corners[box][:])
	d.y.Classes[at], d.y.Scores[at] = float32(class), d.score(box, class)
}

// selected are the boxes that stay, by their values.
func (d *defined) selected(v func(i int) float32, most int32) (list []int) {
	for _, i := range sorted(int(d.Boxes), v) {
		free := v(i) >= d.DetectionsParams.Score && len(list) < int(most)
		for _, k := range list {
			free = free && !(boxIoU(&d.corners[i], &d.corners[k]) > d.IoU)
		}
		if free {
			list = append(list, i)
		}
	}
	return list
}

// sorted are n indices, those of the highest values first.
func sorted(n int, v func(i int) float32) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(v(b), v(a)) })
	return list
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
	})
}

func (d *Detections) same(e *Detections) bool {
	return sameBits(d.Boxes, e.Boxes) && sameBits(d.Classes, e.Classes) && sameBits(d.Scores, e.Scores) &&
		d.Count == e.Count
}

// TestDetect: the selection is that of TensorFlow Lite's algorithm.
func TestDetect(t *testing.T) {
	r := ownRand(61)
	found := 0
	for range testenv.Count(t, 3000) {
		p, boxes, scores, anchors := drawnDetections(r)
		have, want := Detect(p, boxes, scores, anchors), definedDetections(p, boxes, scores, anchors)
		testenv.Require(t, have.same(want), "%+v\n%v\nwant\n%v", p, have, want)
		found += int(have.Count)
	}
	testenv.Check(t, found != 0, "nothing was detected")
}

// TestExp64: at most two units in the last place off.
func TestExp64(t *testing.T) {
	r := ownRand(63)
	worst := 0.0
	for i := range 200000 {
		x := r.NormFloat64() * []float64{0.5, 5, 300}[i%3]
		if x < -708 || x > 709 {
			continue
		}
		have, want := Exp64(x), math.Exp(x)
		worst = max(worst, math.Abs(have-want)/(math.Nextafter(want, math.Inf(1))-want))
	}
	testenv.Check(t, !(worst > 2), "off by %g units", worst)
	for x, want := range map[float64]float64{math.Inf(1): math.Inf(1), math.Inf(-1): 0, -800: 0, 709.9: math.Inf(1),
		0: 1} {
		testenv.Equal(t, Exp64(x), want, "of %g it", x)
	}
	testenv.Check(t, math.IsNaN(Exp64(math.NaN())), "of NaN it is a number")
}
