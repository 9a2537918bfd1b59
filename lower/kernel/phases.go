// SPDX-License-Identifier: Apache-2.0

package kernel

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
// that meet them. Of several lines of columns, neighbours in the result, all meet the same inputs.
type Phase struct {
	Y, X    int
	Rows    Line
	Columns []Line
}

// Phases are those of a transposed convolution, row by row; with together,
// neighbouring columns that meet the same inputs are in one.
func Phases(h, w TransposedAxis, together bool) []Phase {
	var columns [][]Line
	for x := range min(w.Stride, w.Out) {
		l := w.line(x)
		if n := len(columns); n > 0 && together && l.sameInputs(columns[n-1][0]) {
			columns[n-1] = append(columns[n-1], l)
		} else {
			columns = append(columns, []Line{l})
		}
	}
	var list []Phase
	for y := range min(h.Stride, h.Out) {
		rows, x := h.line(y), 0
		for _, c := range columns {
			list = append(list, Phase{y, x, rows, c})
			x += len(c)
		}
	}
	return list
}
