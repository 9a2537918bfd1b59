// SPDX-License-Identifier: Apache-2.0

package postprocess

import (
	"math"
	"slices"
)

// Classes is how the best classes are read of an output with a value for each.
type Classes struct {
	Output    int
	Count     int
	Scores    Activation
	Top       int // are given at most
	Threshold []float32
}

// Class is a result.
type Class struct {
	Label int     `json:"label"`
	Score float32 `json:"score"`
}

// Of gives the classes with the highest values, best first, of the same value the lower
// ones, that reach their threshold. NaN is below every value and never given.
func (c *Classes) Of(values []float32) []Class {
	var list []Class
	for i, v := range values {
		if v == v {
			list = append(list, Class{i, v})
		}
	}
	slices.SortStableFunc(list, func(a, b Class) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	var out []Class
	for _, x := range list[:min(len(list), c.Top)] {
		x.Score = activated(c.Scores, x.Score, values)
		if x.Score >= least(c.Threshold, x.Label) {
			out = append(out, x)
		}
	}
	return out
}

// activated is what a value among others is worth.
func activated(a Activation, v float32, values []float32) float32 {
	switch a {
	case SigmoidOf:
		return Sigmoid(v)
	case SoftmaxOf:
		return softmax(v, len(values), func(i int) float32 { return values[i] })
	}
	return v
}

// Keywords is how a keyword is heard in the scores of runs that follow each other.
type Keywords struct {
	Output    int
	Count     int
	Scores    Activation
	Window    int // runs over which scores are averaged
	Threshold []float32
	Quiet     int   // runs after one was heard in which none is
	Ignore    []int // classes that are no keywords
}

// One is a score of 1 in the integers that are averaged.
const One = 1 << 15

// MaxWindow bounds Window: sums stay below 2^31.
const MaxWindow = 65535

// Fixed is a score in 1/One, to the nearest, from 0 to 1; NaN is 0.
func Fixed(score float32) int32 {
	switch {
	case !(score > 0):
		return 0
	case score >= 1:
		return One
	}
	return int32(float32(score*One) + 0.5)
}

// LeastSum is the lowest sum over a window that class i needs.
func (k *Keywords) LeastSum(i int) int64 {
	return int64(math.Ceil(float64(least(k.Threshold, i)) * One * float64(k.Window)))
}

// Heard is what was said last.
type Heard struct {
	k      *Keywords
	scores []int32 // of the last runs, a ring of Window rows
	sum    []int64
	at     int
	runs   int // rows that are filled
	quiet  int // runs to come in which nothing is heard
}

// NewHeard begins: nothing was said.
func (k *Keywords) NewHeard() *Heard {
	return &Heard{k: k, scores: make([]int32, k.Window*k.Count), sum: make([]int64, k.Count)}
}

// Add takes the values of one run, and gives the keyword with the highest average over
// the window, of the same average the lower one, if it reaches its threshold; Label -1:
// none. None is heard before the window is full.
func (h *Heard) Add(values []float32) Class {
	row := h.scores[h.at*h.k.Count:][:h.k.Count]
	for i, v := range values {
		s := Fixed(activated(h.k.Scores, v, values))
		h.sum[i] += int64(s - row[i])
		row[i] = s
	}
	h.at = (h.at + 1) % h.k.Window
	h.runs = min(h.runs+1, h.k.Window)
	if h.quiet > 0 {
		h.quiet--
		return Class{Label: -1}
	}
	best := -1
	for i, s := range h.sum {
		if !slices.Contains(h.k.Ignore, i) && (best < 0 || s > h.sum[best]) {
			best = i
		}
	}
	if h.runs < h.k.Window || best < 0 || h.sum[best] < h.k.LeastSum(best) {
		return Class{Label: -1}
	}
	h.quiet = h.k.Quiet
	return Class{best, float32(h.sum[best]) / float32(One*h.k.Window)}
}

// Exp is e^x for x from -87 to 88, limits beyond them and for NaN the lower one, within 3
// units in the last place: a Taylor polynomial on [-ln 2 / 2, ln 2 / 2] and a power of two, in
// float32, each operation rounded. C has the same operations in the same order, which is why
// no library is asked.
func Exp(x float32) float32 {
	if !(x > -87) {
		x = -87
	}
	if x > 88 {
		x = 88
	}
	half := float32(0.5)
	if x < 0 {
		half = -0.5
	}
	k := int32(float32(x*1.44269504) + half)
	n := float32(k)
	r := x - float32(n*0.693359375) // 9 bits: the product is exact
	r += float32(n * 2.12194440e-4)
	y := float32(1. / 5040)
	for _, c := range [7]float32{1. / 720, 1. / 120, 1. / 24, 1. / 6, 0.5, 1, 1} {
		y = float32(y*r) + c
	}
	return y * math.Float32frombits(uint32(k+127)<<23)
}

// Sigmoid is 1 / (1 + e^-x), of NaN 0.
func Sigmoid(x float32) float32 {
	if !(x >= -math.MaxFloat32) {
		return 0
	}
	return 1 / (1 + Exp(-x))
}
