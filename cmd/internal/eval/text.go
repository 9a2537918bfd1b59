// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
)

// mostColumns bounds a matrix of confusion on the terminal, mostMistakes the list of
// classes taken for each other.
const mostColumns, mostMistakes = 24, 10

// Text is the result for people.
func (r *Result) Text() string {
	r = text.Lines(r)
	var b strings.Builder
	on := ""
	if r.Board != "" {
		on = fmt.Sprintf(" on %s (%s)", r.Board, r.Precision)
	}
	labels := "no labels"
	if r.Labels > 0 {
		labels = fmt.Sprintf("%d labels", r.Labels)
	}
	fmt.Fprintf(&b, "%s%s: %d samples of %s, %s\n", r.Model, on, r.Samples, filepath.Base(r.Data), labels)
	r.scoresText(&b)
	r.accuracyText(&b)
	r.detectionText(&b)
	r.answersText(&b)
	r.outputsText(&b)
	if c := r.Confusion; c != nil {
		which, counts := "program", c.Program
		if counts == nil {
			which, counts = "float model", c.Float
		}
		c.text(&b, which, counts)
	}
	r.lostText(&b)
	if q := r.Qemu; q != nil {
		fmt.Fprintf(&b, "\non the board's machine: %d samples, %d elements differ from the interpreter", q.Samples,
			q.Mismatches)
		if q.Instructions > 0 { // a host does not count them
			fmt.Fprintf(&b, ", at most %d instructions an inference", q.Instructions)
		}
		if q.Firmware != nil && q.Firmware.Top1 != nil {
			fmt.Fprintf(&b, ", top-1 %s", percent(q.Firmware.Top1))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r *Result) scoresText(b *strings.Builder) {
	s := r.Scores
	if s == nil {
		return
	}
	switch r.Task {
	case Regress:
		fmt.Fprintf(b, "values: output %s", s.Output)
	case Binary:
		fmt.Fprintf(b, "scores: output %s, class 1 above %g", s.Output, *r.Threshold)
	default:
		fmt.Fprintf(b, "scores: output %s, axis %d, %d classes", s.Output, s.Axis, s.Classes)
	}
	if s.Guessed {
		fmt.Fprintf(b, " (%s; --scores OUTPUT[:AXIS] says otherwise)", s.Why)
	}
	b.WriteString("\n")
}

func (r *Result) accuracyText(b *strings.Builder) {
	if r.Float == nil {
		return
	}
	b.WriteString("\n")
	rows := [][]string{{"", "float"}}
	if r.Program != nil {
		rows[0] = append(rows[0], "program")
	}
	row := func(name string, cell func(a *Accuracy) string) {
		if cell(r.Float) == "" {
			return
		}
		cells := []string{name, cell(r.Float)}
		if r.Program != nil {
			cells = append(cells, cell(r.Program))
		}
		rows = append(rows, cells)
	}
	row("top-1", func(a *Accuracy) string { return percent(a.Top1) })
	row(fmt.Sprintf("top-%d", r.TopK), func(a *Accuracy) string { return percent(a.TopK) })
	row("mean absolute error", func(a *Accuracy) string { return number(a.MAE) })
	row("root mean squared error", func(a *Accuracy) string { return number(a.RMSE) })
	row("largest error", func(a *Accuracy) string { return number(a.Max) })
	b.WriteString(text.Table(rows))
	if r.Agreement != nil {
		fmt.Fprintf(b, "both say the same: %s\n", percent(r.Agreement))
	}
}

func percent(x *float64) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf("%.2f %%", 100**x)
}

func number(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', 6, 64)
}

func (r *Result) outputsText(b *strings.Builder) {
	if len(r.Outputs) == 0 {
		return
	}
	rows := [][]string{{"output", "SQNR dB", "cosine", "mean |diff|", "max |diff|"}}
	for _, o := range r.Outputs {
		db, cosine := "no signal", ""
		if o.SQNR != nil {
			db = fmt.Sprintf("%.1f", *o.SQNR)
		}
		if o.Cosine != nil {
			cosine = fmt.Sprintf("%.6f", *o.Cosine)
		}
		rows = append(rows, []string{o.Name, db, cosine, number(&o.MeanAbs), number(&o.MaxAbs)})
	}
	b.WriteString("\n" + text.Table(rows))
}

// text is the matrix, or where there are many classes the most frequent mistakes.
func (c *Confusion) text(b *strings.Builder, which string, counts [][]int) {
	if len(c.Classes) <= mostColumns {
		fmt.Fprintf(b, "\nwhat the %s says (columns) of labels (rows)\n", which)
		head := append([]string{""}, lists.Map(c.Classes, func(n string) string { return text.Short(n, 12) })...)
		rows := [][]string{head}
		for i, row := range counts {
			cells := append([]string{c.Classes[i]}, lists.Map(row, cell)...)
			rows = append(rows, cells)
		}
		b.WriteString(text.Table(rows))
		return
	}
	rows := [][]string{{"label", "taken for", "times"}}
	for i, m := range mistakes(counts) {
		if i == mostMistakes {
			break
		}
		rows = append(rows, []string{c.Classes[m.label], c.Classes[m.said], strconv.Itoa(m.n)})
	}
	if len(rows) > 1 {
		fmt.Fprintf(b, "\nmost frequent mistakes of the %s\n%s", which, text.Table(rows))
	}
}

func cell(n int) string {
	if n == 0 {
		return "."
	}
	return strconv.Itoa(n)
}

// lostText names samples that quantisation costs.
func (r *Result) lostText(b *strings.Builder) {
	if len(r.Lost) == 0 {
		return
	}
	var s []string
	for i, l := range r.Lost {
		if i == mostMistakes {
			s = append(s, "...")
			break
		}
		name := l.Name
		if name == "" {
			name = "sample " + strconv.Itoa(l.Sample)
		}
		s = append(s, fmt.Sprintf("%s (%s, taken for %s)", name, r.class(l.Label), r.class(l.Program)))
	}
	fmt.Fprintf(b, "\nright in float, wrong in the program: %s\n", strings.Join(s, ", "))
}

func (r *Result) class(k int) string {
	if r.Confusion != nil && k < len(r.Confusion.Classes) {
		return r.Confusion.Classes[k]
	}
	return strconv.Itoa(k)
}
