// SPDX-License-Identifier: Apache-2.0

package data

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// maxTableBytes bounds a file, maxTableNumbers what is kept of it.
const maxTableBytes, maxTableNumbers = 64 << 20, 1 << 22

// Table says how tables become an input: (number * scale - mean) / std.
type Table struct {
	Columns   []string // names or numbers from 0; nil: all but the label's
	Label     string   // the column of labels; "": one that is called so; none
	Samples   string   // "": by the counts; rows, files
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
		{"samples", oneOf(&t.Samples, "rows", "files")},
		{"transpose", yes(&t.Transpose)},
		{"scale", scale(&t.Scale)},
		{"mean", numbers(&t.Mean)},
		{"std", numbers(&t.Std)},
	}
}

// labelColumns are names of columns that hold labels.
var labelColumns = []string{"label", "class", "target"}

// rows are the numbers of a file, with the labels beside them.
type rows struct {
	numbers [][]float64
	labels  []string // nil: none
	columns []string // their names; nil: the file has none
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
	what := t.samples(v, r)
	elems := v.Type.Elems()
	if what == "files" {
		r = &rows{numbers: [][]float64{t.whole(r.numbers)}}
	}
	if s.bytes += int64(len(r.numbers)) * int64(elems) * 4; s.bytes > s.limit() {
		s.tooMuch(f.path, s.bytes)
	}
	for i, x := range r.numbers {
		it := item{name: f.rel, path: f.path, class: f.class}
		if what == "rows" {
			it.name = fmt.Sprintf("%s#%d", f.rel, i)
		}
		if r.labels != nil {
			it.class = r.labels[i]
		}
		d := []*tensor.Dense{toType(tensor.Of(v.Type.Shape, x).Cast(tensor.F32), v)}
		it.read = func() ([]*tensor.Dense, error) { return d, nil }
		s.add(it)
	}
}

// samples says what a sample is, a row or the file, by what is declared or the counts.
func (t *Table) samples(v *ir.Value, r *rows) string {
	n, columns, elems := len(r.numbers), len(r.numbers[0]), v.Type.Elems()
	what := t.Samples
	if what == "" {
		what = "files"
		if columns == elems {
			what = "rows"
		}
	}
	switch {
	case what == "rows" && columns != elems || what == "files" && n*columns != elems:
		fail.Errorf("%d rows of %d columns%s; input %s has %d values (%s): want %d columns, a row for each "+
			"sample, or as many numbers in a file; csv.columns picks columns", n, columns, named(r.columns), v.Name,
			elems, shapeText(v.Type.Shape), elems)
	case what == "files":
		along(v.Type.Shape, n, columns, t.Transpose)
	}
	return what
}

// whole are the numbers of a file in the input's order.
func (t *Table) whole(rows [][]float64) []float64 {
	if !t.Transpose {
		return slices.Concat(rows...)
	}
	var all []float64
	for c := range rows[0] {
		for _, r := range rows {
			all = append(all, r[c])
		}
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
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	}
	out := &rows{}
	if err == nil && isNames(words) {
		for _, c := range words {
			out.columns = append(out.columns, strings.TrimSpace(c))
		}
		if words, err = r.Read(); errors.Is(err, io.EOF) {
			return nil, errors.New("there are names of columns and no rows")
		}
	}
	if err != nil {
		return nil, err
	}
	take, label := t.pick(out.columns, len(words))
	for ; err == nil; words, err = r.Read() {
		if len(out.numbers) >= maxTableNumbers/max(1, len(take)) {
			return nil, fmt.Errorf("more than %d numbers in %d columns; want several files, or fewer rows "+
				"(csv.columns picks columns)", maxTableNumbers, len(take))
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

// pick finds the columns of the numbers, and that of the label, -1 for none.
func (t *Table) pick(names []string, n int) (take []int, label int) {
	label = -1
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
		if i != label {
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
	return take, label
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
