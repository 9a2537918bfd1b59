// SPDX-License-Identifier: Apache-2.0

package data

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// maxTableBytes bounds a file, maxTableNumbers what is kept of it.
const maxTableBytes, maxTableNumbers = 64 << 20, 1 << 22

// Table says how tables become an input: (number * scale - mean) / std.
type Table struct {
	Columns   []string // names or numbers from 0; nil: all but the label's
	Label     string   // the column of labels; "": one that is called so; none
	Time      string   // the column of times, whose gaps end a stretch of rows; "": there is none
	Samples   string   // "": by the counts; rows, files
	Window    int      // rows of a sample, cut from stretches of one label; 0: a sample is a row or a file
	Hop       int      // rows from one window to the next; 0: Window
	Transpose bool     // rows are the input's last axis
	Scale     float64
	Mean, Std []float64 // one number, or one for each column
	told
}

// NewTable is a table of which nothing is declared.
func NewTable() *Table { return &Table{Scale: 1, Mean: []float64{0}, Std: []float64{1}} }

func (t *Table) keys() []key {
	return []key{
		{"columns", list(&t.Columns)},
		{"label", word(&t.Label)},
		{"time", word(&t.Time)},
		{"window", whole(&t.Window, 1, maxTableNumbers)},
		{"hop", whole(&t.Hop, 1, maxTableNumbers)},
		{"samples", oneOf(&t.Samples, "rows", "files")},
		{"transpose", yes(&t.Transpose)},
		{"scale", scale(&t.Scale)},
		{"mean", numbers(&t.Mean)},
		{"std", numbers(&t.Std)},
	}
}

// labelColumns are names of columns that hold labels.
var labelColumns = []string{"label", "class", "target"}

// rows are the numbers of a file, with labels and times beside them.
type rows struct {
	numbers [][]float64
	labels  []string  // nil: none
	times   []float64 // nil: none
	columns []string  // their names; nil: the file has none
}

// tables adds files of numbers.
func (s *Set) tables(list []file) {
	v := s.only(list[0].path, "a table")
	t := s.opt.Spec.Of(v.Name).Table
	if t == nil {
		t = NewTable()
	}
	t.used = true
	for _, f := range list {
		if err := fail.Caught(func() { s.table(f, v, t, fail.Must(readTable(f.path, t))) }); err != nil {
			s.refuse(true, f.path, "%w", err)
		}
	}
}

// table adds the samples of one file.
func (s *Set) table(f file, v *ir.Value, t *Table, r *rows) {
	elems := v.Type.Elems()
	starts, n := t.samples(v, r)
	if s.bytes += int64(len(starts)) * int64(elems) * 4; s.bytes > s.limit() {
		s.tooMuch(f.path, s.bytes)
	}
	for _, at := range starts {
		it := item{name: f.rel, path: f.path, class: f.class}
		if n == 1 || t.Window > 0 { // not the whole file
			it.name = fmt.Sprintf("%s#%d", f.rel, at)
			if r.labels != nil {
				it.class = r.labels[at]
			}
		}
		x := t.whole(r.numbers[at : at+n])
		d := []*tensor.Dense{toType(tensor.Of(v.Type.Shape, x).Cast(tensor.F32), v)}
		it.read = func() ([]*tensor.Dense, error) { return d, nil }
		s.add(it)
	}
}

// samples says where samples begin and of how many rows they are: windows, the file or single rows, by what is
// declared or the counts.
func (t *Table) samples(v *ir.Value, r *rows) (starts []int, n int) {
	all, columns, elems := len(r.numbers), len(r.numbers[0]), v.Type.Elems()
	fail.If(t.Hop > 0 && t.Window == 0, "csv.hop wants csv.window, the rows of a sample")
	switch {
	case t.Window > 0:
		n, starts = t.Window, t.windows(r)
		fail.If(n*columns != elems, "windows of %d rows of %d columns%s; input %s has %d values (%s)", n, columns,
			named(r.columns), v.Name, elems, shapeText(v.Type.Shape))
		fail.If(len(starts) == 0, "no window of %d rows: of one label and without a gap there are fewer of %d", n, all)
	case t.Samples == "rows" || t.Samples == "" && columns == elems:
		n, starts = 1, ir.Identity(all)
	default:
		n, starts = all, []int{0}
	}
	fail.If(n*columns != elems, "%d rows of %d columns%s; input %s has %d values (%s): want %d columns, a row for "+
		"each sample, or as many numbers in a file; csv.columns picks columns, csv.window=N cuts samples of N rows",
		all, columns, named(r.columns), v.Name, elems, shapeText(v.Type.Shape), elems)
	if n > 1 {
		along(v.Type.Shape, n, columns, t.Transpose)
	}
	return starts, n
}

// windows are the rows at which one begins: none goes over a change of the label, a gap in the times, or a time
// that begins anew.
func (t *Table) windows(r *rows) (starts []int) {
	steps := make([]float64, 0, len(r.numbers))
	for i := 1; i < len(r.times); i++ {
		steps = append(steps, r.times[i]-r.times[i-1])
	}
	usual := slices.Sorted(slices.Values(steps))
	breaks := func(i int) bool {
		return i == len(r.numbers) || r.labels != nil && r.labels[i] != r.labels[i-1] ||
			r.times != nil && (steps[i-1] < 0 || steps[i-1] > 2*usual[len(usual)/2])
	}
	from := 0
	for i := 1; i <= len(r.numbers); i++ {
		if breaks(i) {
			for ; from+t.Window <= i; from += cmp.Or(t.Hop, t.Window) {
				starts = append(starts, from)
			}
			from = i
		}
	}
	return starts
}

// whole are the numbers of a file in the input's order.
func (t *Table) whole(rows [][]float64) []float64 {
	if !t.Transpose {
		return slices.Concat(rows...)
	}
	var all []float64
	for c := range rows[0] {
		all = append(all, lists.Map(rows, func(r []float64) float64 { return r[c] })...)
	}
	return all
}

// along refuses a file of rows for an input of a shape whose axes are not its rows and columns;
// flat ones take any.
func along(shape []int, rows, columns int, transposed bool) {
	axes := slices.DeleteFunc(slices.Clone(shape), func(d int) bool { return d < 2 })
	first, second := rows, columns
	if transposed {
		first, second = columns, rows
	}
	if slices.Equal(axes, []int{second, first}) && first != second {
		fail.Errorf("%d rows of %d columns, and the input's axes are %d and %d: say --preprocess csv.transpose=%v",
			rows,
			columns, axes[0], axes[1], !transposed)
	}
}

func named(columns []string) string {
	if columns == nil {
		return ""
	}
	return fmt.Sprintf(" (%s)", quoted(columns))
}

// readTable reads a file of numbers between commas, semicolons or tabs. A first row with
// a word in it has the columns' names.
func readTable(path string, t *Table) (_ *rows, err error) {
	defer fail.Catch(&err)
	b := fail.Must(files.Read(path, maxTableBytes))
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	r := csv.NewReader(bytes.NewReader(b))
	r.Comma, r.TrimLeadingSpace, r.Comment = separator(b), true, '#'
	r.ReuseRecord = true
	words, err := r.Read()
	fail.If(errors.Is(err, io.EOF), "the file is empty")
	out := &rows{}
	if err == nil && isNames(words) {
		out.columns = lists.Map(words, strings.TrimSpace)
		if words, err = r.Read(); errors.Is(err, io.EOF) {
			return nil, errors.New("there are names of columns and no rows")
		}
	}
	if err != nil {
		return nil, err
	}
	take, label, clock := t.pick(out.columns, len(words))
	for ; err == nil; words, err = r.Read() {
		fail.If(len(out.numbers) >= maxTableNumbers/max(1, len(take)),
			"more than %d numbers in %d columns; want several files, or fewer rows (csv.columns picks columns)",
			maxTableNumbers, len(take))
		if clock >= 0 {
			out.times = append(out.times, timeOf(words[clock], len(out.numbers)+1, clock))
		}
		x := t.row(words, take, len(out.numbers)+1)
		out.numbers = append(out.numbers, x)
		if label >= 0 {
			out.labels = append(out.labels, strings.Clone(strings.TrimSpace(words[label])))
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return out, nil
}

// row are the numbers of the columns that are taken.
func (t *Table) row(words []string, take []int, at int) []float64 {
	x := make([]float64, len(take))
	for k, c := range take {
		v, err := strconv.ParseFloat(strings.TrimSpace(words[c]), 64)
		if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			err = errors.New("want finite numbers")
		}
		if err != nil {
			fail.Errorf("row %d, column %d, %.40q: want a number (csv.columns picks columns)", at, c,
				words[c])
		}
		scaled := float64(v * t.Scale)
		x[k] = (scaled - t.Mean[min(k, len(t.Mean)-1)]) / t.Std[min(k, len(t.Std)-1)]
	}
	return x
}

// timeOf are the seconds of a date, or a number of any unit.
func timeOf(word string, row, column int) float64 {
	word = strings.TrimSpace(word)
	if x, err := strconv.ParseFloat(word, 64); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
		return x
	}
	for _, form := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05"} {
		if d, err := time.Parse(form, word); err == nil {
			return float64(d.UnixNano()) / 1e9
		}
	}
	fail.Errorf("row %d, column %d, %.40q: want a time, as a number or 2026-01-02T03:04:05.678Z", row, column, word)
	return 0
}

// separator is what stands between the numbers of the first line that is no comment.
func separator(b []byte) rune {
	line, rest, more := bytes.Cut(b, []byte("\n"))
	for more && (len(bytes.TrimSpace(line)) == 0 || line[0] == '#') {
		line, rest, more = bytes.Cut(rest, []byte("\n"))
	}
	switch {
	case bytes.ContainsRune(line, '\t'):
		return '\t'
	case bytes.ContainsRune(line, ';'):
		return ';'
	}
	return ','
}

// isNames: a row of which the first word, or more than one, is no number. (A row of
// numbers may end in the name of a class.)
func isNames(row []string) bool {
	words := 0
	for _, w := range row {
		if _, err := strconv.ParseFloat(strings.TrimSpace(w), 64); err != nil {
			words++
		}
	}
	return words > 1 || words == 1 && len(row) == 1
}

// pick finds the columns of the numbers, and those of the label and the time, -1 for none.
func (t *Table) pick(names []string, n int) (take []int, label, clock int) {
	label, clock = -1, -1
	if t.Time != "" {
		fail.Under("csv.time", func() { clock = column(t.Time, names, n) })
	}
	switch t.Label {
	case "none":
	case "":
		label = slices.IndexFunc(
			names,
			func(s string) bool { return slices.Contains(labelColumns, strings.ToLower(s)) },
		)
	default:
		fail.Under("csv.label", func() { label = column(t.Label, names, n) })
	}
	for _, c := range t.Columns {
		fail.Under("csv.columns", func() { take = append(take, column(c, names, n)) })
	}
	for i := 0; i < n && t.Columns == nil; i++ {
		if i != label && i != clock {
			take = append(take, i)
		}
	}
	for _, x := range []struct {
		key string
		v   []float64
	}{{"mean", t.Mean}, {"std", t.Std}} {
		fail.If(len(x.v) != 1 && len(x.v) != len(take),
			"csv.%s: %d numbers; want one, or %d for the columns", x.key, len(x.v), len(take))
	}
	fail.If(slices.Contains(t.Std, 0), "csv.std: 0; want numbers that can be divided by")
	fail.If(len(take) == 0, "no column of numbers is left")
	return take, label, clock
}

// column finds a column by name or number.
func column(s string, names []string, n int) int {
	s = strings.TrimSpace(s)
	if i := slices.Index(names, s); i >= 0 {
		return i
	}
	if i, err := strconv.Atoi(s); err == nil && i >= 0 && i < n {
		return i
	}
	fail.If(names == nil, "%s: want a number from 0 to %d; the file has no names", s, n-1)
	fail.Errorf("there is no column %s%s; columns: %s", s, near(s, names), quoted(names))
	return 0
}
