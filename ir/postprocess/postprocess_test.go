// SPDX-License-Identifier: Apache-2.0

package postprocess_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/postprocess"
	"github.com/nncc/nncc/ir/postprocess/posttest"
)

// found is a box of the plain model.
type found struct {
	at          [4]float64 // x0, y0, x1, y1
	score       float64
	label, cell int
}

// plain reads boxes in float64, straight from the formulas; ok is false where something
// lies so near an edge that float32 may decide otherwise.
func plain(b *postprocess.Boxes, outs [][]float32) (list []found, ok bool) {
	ok = true
	cell := 0
	for _, m := range b.Maps {
		for i := range m.Rows * m.Cols * m.Anchors {
			a, x, y := i%m.Anchors, i/m.Anchors%m.Cols, i/m.Anchors/m.Cols
			get := func(f postprocess.Field, c int) float64 { return float64(outs[f.Output][f.At(y, x, a, c)]) }
			best, bestScore := -1, math.Inf(-1)
			for c := range b.Classes {
				if c == b.Background || b.Coding == postprocess.Points && lower(&m, outs, y, x, c) {
					continue
				}
				v := get(m.Score, c)
				if b.AllLabels {
					ok = consider(b, &m, get, c, x, y, i, a, cell, &list) && ok
				} else if v > bestScore {
					best, bestScore = c, v
				}
			}
			if best >= 0 {
				ok = consider(b, &m, get, best, x, y, i, a, cell, &list) && ok
			}
			cell++
		}
	}
	return list, ok
}

// lower reports a neighbour that is higher.
func lower(m *postprocess.Map, outs [][]float32, y, x, c int) bool {
	v := outs[m.Score.Output]
	for dy := -1; dy <= 1; dy++ {
		for dx := -1; dx <= 1; dx++ {
			if y+dy >= 0 && y+dy < m.Rows && x+dx >= 0 && x+dx < m.Cols &&
				v[m.Score.At(y+dy, x+dx, 0, c)] > v[m.Score.At(y, x, 0, c)] {
				return true
			}
		}
	}
	return false
}

func sigma(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// consider appends a class of a prediction whose score is enough.
func consider(b *postprocess.Boxes, m *postprocess.Map, get func(postprocess.Field, int) float64, c, x, y, i, a,
	cell int, list *[]found) bool {
	act := func(v float64) float64 { return v }
	if b.Scores == postprocess.SigmoidOf {
		act = sigma
	}
	score := act(get(m.Score, c))
	if b.Scores == postprocess.SoftmaxOf {
		sum := 0.
		for k := range b.Classes {
			sum += math.Exp(get(m.Score, k))
		}
		score = math.Exp(get(m.Score, c)) / sum
	}
	if m.Object.Output >= 0 {
		score *= act(get(m.Object, 0))
	}
	label := c
	if b.Background >= 0 && c > b.Background {
		label--
	}
	limit := float64(b.Least(label))
	if score >= limit {
		*list = append(*list, found{corners(b, m, get, act, x, y, i, a), score, label, cell})
	}
	return math.Abs(score-limit) > 1e-5
}

// numbers are the four of a box.
func numbers(b *postprocess.Boxes, m *postprocess.Map, get func(postprocess.Field, int) float64) (t [4]float64) {
	for k := range t {
		switch {
		case b.Coding == postprocess.Points && k > 1:
			t[k] = get(m.Size, k-2)
		case b.Coding == postprocess.Distances && b.Bins > 1:
			sum := 0.
			for j := range b.Bins {
				e := math.Exp(get(m.Box, k*b.Bins+j))
				sum += e
				t[k] += e * float64(j)
			}
			t[k] /= sum
		default:
			t[k] = get(m.Box, k)
		}
	}
	return t
}

// corners decodes a box.
func corners(b *postprocess.Boxes, m *postprocess.Map, get func(postprocess.Field, int) float64,
	act func(float64) float64, x, y, i, a int) [4]float64 {
	t := numbers(b, m, get)
	if b.YFirst {
		t[0], t[1], t[2], t[3] = t[1], t[0], t[3], t[2]
	}
	sx, sy, cx, cy := float64(m.StrideX), float64(m.StrideY), float64(x), float64(y)
	middle := func(x, y, w, h float64) [4]float64 { return [4]float64{x - w/2, y - h/2, x + w/2, y + h/2} }
	tab := func(k int) float64 { return float64(m.Table[k]) }
	v := b.Variance
	switch b.Coding {
	case postprocess.Corners:
		return [4]float64{t[0] * float64(b.UnitX), t[1] * float64(b.UnitY), t[2] * float64(b.UnitX), t[3] *
			float64(b.UnitY)}
	case postprocess.Centre:
		return middle(t[0]*float64(b.UnitX), t[1]*float64(b.UnitY), t[2]*float64(b.UnitX), t[3]*float64(b.UnitY))
	case postprocess.Anchored:
		return middle((2*act(t[0])-0.5+cx)*sx, (2*act(t[1])-0.5+cy)*sy, math.Pow(2*act(t[2]), 2)*tab(2*a),
			math.Pow(2*act(t[3]), 2)*tab(2*a+1))
	case postprocess.Exponents:
		return middle((act(t[0])+cx)*sx, (act(t[1])+cy)*sy, math.Exp(t[2])*tab(2*a), math.Exp(t[3])*tab(2*a+1))
	case postprocess.Grid:
		return middle((t[0]+cx)*sx, (t[1]+cy)*sy, math.Exp(t[2])*sx, math.Exp(t[3])*sy)
	case postprocess.Distances:
		cx, cy = cx+0.5, cy+0.5
		return [4]float64{(cx - t[0]) * sx, (cy - t[1]) * sy, (cx + t[2]) * sx, (cy + t[3]) * sy}
	case postprocess.Offsets:
		return middle(tab(4*i)+t[0]*float64(v[0])*tab(4*i+2), tab(4*i+1)+t[1]*float64(v[1])*tab(4*i+3),
			tab(4*i+2)*math.Exp(t[2]*float64(v[2])), tab(4*i+3)*math.Exp(t[3]*float64(v[3])))
	}
	return middle((t[0]+cx)*sx, (t[1]+cy)*sy, t[2]*sx, t[3]*sy)
}

// suppressed leaves out what overlaps; ok is false near an edge.
func suppressed(b *postprocess.Boxes, list []found) (out []found, ok bool) {
	ok = true
	slices.SortStableFunc(list, func(a, b found) int {
		switch {
		case math.Abs(a.score-b.score) < 1e-6 && a != b:
			ok = false
		case a.score > b.score:
			return -1
		}
		return 1
	})
	if len(list) > b.Candidates {
		list = list[:b.Candidates]
	}
next:
	for _, x := range list {
		for _, k := range out {
			u := overlap(x.at, k.at)
			same := b.Agnostic || x.label == k.label
			ok = ok && !(same && math.Abs(u-float64(b.IoU)) < 1e-4)
			if same && u > float64(b.IoU) {
				continue next
			}
		}
		out = append(out, x)
	}
	return out[:min(len(out), b.Most)], ok
}

func overlap(a, b [4]float64) float64 {
	area := func(a [4]float64) float64 { return max(a[2]-a[0], 0) * max(a[3]-a[1], 0) }
	both := area([4]float64{max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])})
	if area(a) == 0 || area(b) == 0 || a[2] < a[0] || b[2] < b[0] {
		return 0
	}
	return both / (area(a) + area(b) - both)
}

// drawn are values for outputs, most of them low.
func drawn(r *rand.Rand, b *postprocess.Boxes, shapes [][]int) [][]float32 {
	var out [][]float32
	for _, s := range shapes {
		v := make([]float32, s[0]*s[1]*s[2]*s[3])
		for i := range v {
			v[i] = float32(r.NormFloat64())
			if b.Scores == postprocess.None {
				v[i] = float32(math.Abs(float64(v[i]))) / 3
			}
		}
		out = append(out, v)
	}
	return out
}

// TestPlain: boxes are those of the formulas in float64, within 1e-4 of a pixel's or a
// side's size, scores within 1e-6.
func TestPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n, compared, boxes := 2000, 0, 0
	if testenv.Long() {
		n = 50000
	}
	for range n {
		b, shapes := posttest.Boxes(r)
		outs := drawn(r, b, shapes)
		list, ok := plain(b, outs)
		want, ok2 := suppressed(b, list)
		if !ok || !ok2 {
			continue
		}
		got := b.Of(outs)
		testenv.Require(t, len(got) == len(want), "coding %d: %d boxes, want %d\n%+v\n%+v", b.Coding, len(got),
			len(want), got, want)
		compared++
		for i, w := range want {
			g := got[i]
			boxes++
			testenv.Require(t, g.Label == w.label && g.Cell == w.cell && !(math.Abs(float64(g.Score)-w.score) > 1e-6),
				"coding %d, box %d: %+v, want %+v", b.Coding, i, g, w)
			for k, x := range []float32{g.X0, g.Y0, g.X1, g.Y1} {
				most := []float64{64, 48}[k%2]
				y := min(max(w.at[k], 0), most)
				if math.Abs(float64(x)-y) > 1e-4*(1+math.Abs(w.at[2]-w.at[0])+math.Abs(w.at[3]-w.at[1])) {
					t.Fatalf("coding %d, box %d: corner %d is %v, want %v", b.Coding, i, k, x, y)
				}
			}
		}
	}
	testenv.Check(t, compared >= n/2 && boxes >= n, "%d of %d draws compared, with %d boxes: too few to say anything",
		compared, n, boxes)
}

// TestOdd: numbers that are none never become boxes, whatever the coding; nothing gives
// nothing; lists are full at their capacity and no fuller.
func TestOdd(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32,
		-math.MaxFloat32, 0}
	for range 3000 {
		b, shapes := posttest.Boxes(r)
		outs := drawn(r, b, shapes)
		for _, o := range outs {
			for i := range o {
				if r.IntN(4) == 0 {
					o[i] = odd[r.IntN(len(odd))]
				}
			}
		}
		sound(t, b, b.Of(outs))
		for _, o := range outs {
			for i := range o {
				o[i] = odd[0]
			}
		}
		got := b.Of(outs)
		testenv.Require(t, len(got) == 0, "coding %d: %d boxes of NaN", b.Coding, len(got))
	}
}

// sound fails unless boxes are within their bounds, the best first.
func sound(t *testing.T, b *postprocess.Boxes, got []postprocess.Box) {
	t.Helper()
	testenv.Require(t, len(got) <= b.Most, "%d boxes, at most %d", len(got), b.Most)
	for i, x := range got {
		if !(x.Score >= b.Least(x.Label)) || !(x.X0 >= 0 && x.X1 <= 64 && x.Y0 >= 0 && x.Y1 <= 48) || x.Label < 0 ||
			x.Label >= b.Labels() || i > 0 && x.Score > got[i-1].Score {
			t.Fatalf("coding %d: %+v", b.Coding, got)
		}
	}
}

// TestTies: of equal scores the lower cell is first; a list that is full keeps these.
func TestTies(t *testing.T) {
	b := &postprocess.Boxes{Coding: postprocess.Corners, Bins: 1, UnitX: 1, UnitY: 1, Classes: 1, Background: -1,
		Threshold: []float32{0.5}, IoU: 0.5, Candidates: 3, Most: 2, Width: 100, Height: 100,
		Maps: []postprocess.Map{{Rows: 1, Cols: 5, Anchors: 1, Box: postprocess.Field{Col: 5, Channel: 1},
			Score: postprocess.Field{Base: 4, Col: 5, Channel: 1}, Object: postprocess.Field{Output: -1},
			Label: postprocess.Field{Output: -1}}}}
	var out []float32
	for i := range 5 {
		x := float32(20 * (i / 2)) // pairs lie on top of each other
		out = append(out, x, 0, x+10, 10, 0.75)
	}
	got := b.Of([][]float32{out})
	testenv.Check(t, len(got) == 2 && got[0].Cell == 0 && got[1].Cell == 2, "%+v", got)
	out[24] = 0.875 // the last one is the best
	if got := b.Of([][]float32{out}); len(got) != 2 || got[0].Cell != 4 || got[1].Cell != 0 {
		t.Errorf("%+v", got)
	}
}

// TestExp: within 3 units in the last place of e^x over all of its range.
func TestExp(t *testing.T) {
	worst := 0.
	for x := -87.; x < 88; x += 0.00037 {
		want := math.Exp(float64(float32(x)))
		ulp := math.Exp2(math.Floor(math.Log2(want)) - 23)
		worst = max(worst, math.Abs(float64(postprocess.Exp(float32(x)))-want)/ulp)
	}
	testenv.Check(t, !(worst > 3), "%.2f units in the last place", worst)
	for _, x := range []float64{math.NaN(), math.Inf(-1), -1e9} {
		testenv.Equal(t, postprocess.Exp(float32(x)), postprocess.Exp(-87), "e^%v", x)
	}
	testenv.Check(t, postprocess.Sigmoid(float32(math.NaN())) == 0 && postprocess.Sigmoid(float32(math.Inf(1))) == 1,
		"sigmoid of what is no number")
}

// TestClasses: the best first, ties by number, thresholds by class, NaN never.
func TestClasses(t *testing.T) {
	nan := float32(math.NaN())
	c := postprocess.Classes{Count: 5, Top: 3, Threshold: []float32{0, 0, 0.9, 0, 0}}
	got := c.Of([]float32{0.5, 0.7, 0.7, nan, 0.5})
	testenv.Same(t, got, []postprocess.Class{{Label: 1, Score: 0.7}, {Label: 0, Score: 0.5}})
	c = postprocess.Classes{Count: 3, Top: 3, Scores: postprocess.SoftmaxOf, Threshold: []float32{0.2}}
	got = c.Of([]float32{1, 2, -3})
	sum := math.Exp(1) + math.Exp(2) + math.Exp(-3)
	testenv.Check(t, len(got) == 2 && !(math.Abs(float64(got[0].Score)-math.Exp(2)/sum) > 1e-6) && got[1].Label == 0,
		"%v", got)
}

// TestKeywords: what is heard is what means over the window say, worked out anew each
// run; nothing before the window is full, and nothing while it is quiet.
func TestKeywords(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	heard := 0
	for range 200 {
		k := &postprocess.Keywords{Count: 1 + r.IntN(5), Window: 1 + r.IntN(6), Quiet: r.IntN(5),
			Threshold: []float32{0.2 + 0.4*r.Float32()}, Ignore: []int{0}}
		h := k.NewHeard()
		var runs [][]float32
		quiet := 0
		for range 40 {
			v := make([]float32, k.Count)
			for i := range v {
				v[i] = r.Float32()
			}
			runs = append(runs, v)
			got, want := h.Add(v), -1
			mean := 0.
			for i := 1; i < k.Count && len(runs) >= k.Window; i++ {
				m := 0.
				for _, x := range runs[len(runs)-k.Window:] {
					m += math.Floor(float64(x[i])*32768+0.5) / 32768 / float64(k.Window)
				}
				if m > mean+1e-12 {
					mean, want = m, i
				}
			}
			if mean < float64(k.Threshold[0]) || quiet > 0 {
				want = -1
			}
			quiet = max(quiet-1, 0)
			testenv.Require(t, got.Label == want && (want < 0 || !(math.Abs(float64(got.Score)-mean) > 1e-6)),
				"%+v: run %d: %v, want %d (%v)", k, len(runs), got, want, mean)
			if want >= 0 {
				heard++
				quiet = k.Quiet
			}
		}
	}
	testenv.Check(t, heard >= 100, "heard %d: too few to say anything", heard)
}

// TestPriors: sizes and middles of generated prior boxes.
func TestPriors(t *testing.T) {
	p := postprocess.Priors{Grids: [][2]int{{2, 1}}, Scales: []float64{0.25}, Aspects: []float64{1, 4}, Between: true}
	want := []float64{0.25, 0.5, 0.25, 0.25, 0.25, 0.5, 0.5, 0.125, 0.25, 0.5, 0.5, 0.5,
		0.75, 0.5, 0.25, 0.25, 0.75, 0.5, 0.5, 0.125, 0.75, 0.5, 0.5, 0.5}
	testenv.Same(t, p.Table(), want)
}
