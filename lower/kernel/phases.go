// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"math"
	"slices"
)

// TransposedAxis is one dimension of a transposed convolution: input i meets tap k at
// result i*Stride + k*Dilation - Pad.
type TransposedAxis struct {
	Out, Taps, Stride, Pad, Dilation int
}

// Line is one dimension of a phase: its taps in the order of the inputs that
// they meet, -1 alone where no tap meets any, the first of these inputs for the
// first result, the distance between them, and the number of results.
type Line struct {
	Taps               []int
	First, Step, Count int
}

// sameInputs: the results of both lines meet the same inputs.
func (l Line) sameInputs(m Line) bool {
	return l.First == m.First && l.Step == m.Step && l.Count == m.Count && len(l.Taps) == len(m.Taps)
}

// line is the line of results first, first+Stride, ...
func (a TransposedAxis) line(first int) Line {
	l := Line{Step: 1, Count: (a.Out - first + a.Stride - 1) / a.Stride}
	at := 0
	for k := a.Taps - 1; k >= 0; k-- {
		in := first + a.Pad - k*a.Dilation
		if in%a.Stride != 0 {
			continue
		}
		switch in /= a.Stride; len(l.Taps) {
		case 0:
			l.First = in
		case 1:
			l.Step = in - at
		}
		l.Taps, at = append(l.Taps, k), in
	}
	if l.Taps == nil {
		l.Taps = []int{-1}
	}
	return l
}

// Phase is what a transposed convolution computes for every stride-th row and
// column of its result, from Y and X on: a convolution of stride 1 with the taps
// that meet them. Of several lines of rows or of columns, neighbours in the result, all meet the same inputs.
type Phase struct {
	Y, X          int
	Rows, Columns []Line
}

// Count is how many windows the phase has: lines of its results may be one shorter.
func (p *Phase) Count() (rows, columns int) { return most(p.Rows), most(p.Columns) }

func most(lines []Line) int {
	n := 0
	for _, l := range lines {
		n = max(n, l.Count)
	}
	return n
}

// Phases are those of a transposed convolution, row by row; with together,
// neighbouring columns that meet the same inputs are in one.
func Phases(h, w TransposedAxis, together bool) []Phase {
	if together {
		return phasesOf(h.apart(), w.sameInputs())
	}
	return phasesOf(h.apart(), w.apart())
}

// CheapestPhases are phases of neighbouring rows and columns that take least: those
// that do not meet the same inputs have taps of -1 in a window over all of them.
func CheapestPhases(h, w TransposedAxis, cost func(p *Phase) int) []Phase {
	var best []Phase
	least := 0
	for _, rows := range h.cuts() {
		for _, columns := range append([][][]Line{w.sameInputs()}, w.cuts()...) {
			list, sum := phasesOf(rows, columns), 0
			for i := range list {
				sum += cost(&list[i])
			}
			if best == nil || sum < least {
				best, least = list, sum
			}
		}
	}
	return best
}

func phasesOf(rows, columns [][]Line) []Phase {
	var list []Phase
	y := 0
	for _, r := range rows {
		x := 0
		for _, c := range columns {
			list = append(list, Phase{y, x, r, c})
			x += len(c)
		}
		y += len(r)
	}
	return list
}

// apart has each line by itself.
func (a TransposedAxis) apart() [][]Line {
	var cut [][]Line
	for x := range min(a.Stride, a.Out) {
		cut = append(cut, []Line{a.line(x)})
	}
	return cut
}

// sameInputs has neighbours that meet the same inputs together.
func (a TransposedAxis) sameInputs() [][]Line {
	var cut [][]Line
	for _, l := range a.apart() {
		if n := len(cut); n > 0 && l[0].sameInputs(cut[n-1][0]) {
			cut[n-1] = append(cut[n-1], l[0])
		} else {
			cut = append(cut, l)
		}
	}
	return cut
}

// cuts are ways to cut the lines into neighbours: each by itself, two together, four, ..., all.
func (a TransposedAxis) cuts() [][][]Line {
	all := slices.Concat(a.apart()...)
	ways := [][][]Line{a.apart()}
	for _, l := range all {
		if l.Step != 1 {
			return ways
		}
	}
	for n := 2; n < 2*len(all); n *= 2 {
		var cut [][]Line
		for some := range slices.Chunk(all, n) {
			cut = append(cut, oneWindow(some))
		}
		ways = append(ways, cut)
	}
	return ways
}

// oneWindow gives lines of adjacent inputs the taps of a window over all that they meet, -1 for none.
func oneWindow(lines []Line) []Line {
	first, end := math.MaxInt, math.MinInt
	for _, l := range lines {
		if l.Taps[0] >= 0 {
			first, end = min(first, l.First), max(end, l.First+len(l.Taps))
		}
	}
	if first > end {
		return lines
	}
	var wide []Line
	for _, l := range lines {
		taps := slices.Repeat([]int{-1}, end-first)
		if l.Taps[0] >= 0 {
			copy(taps[l.First-first:], l.Taps)
		}
		wide = append(wide, Line{taps, first, 1, l.Count})
	}
	return wide
}
