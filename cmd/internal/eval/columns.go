// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
)

// Columns of a table of labels by their titles.
var (
	labelTitles = []string{"label", "labels", "class", "target", "value", "y"}
	nameTitles  = []string{"name", "file", "filename", "path", "sample", "image"}
	indexTitles = []string{"", "index", "idx", "id", "no", "number", "row"}
)

// labelTable is a table of labels: titles, nil without, and rows of as many cells.
type labelTable struct {
	path   string
	titles []string
	rows   [][]string
}

// ParseLabels reads lines of a label each, or of columns with commas, semicolons or tabs
// between them. Of columns,
//
//   - the one called label (class, target, value, y) holds labels, one called name (file,
//     path, sample) says whose they are, one that counts the rows from 0 or 1 in which
//     order they stand;
//   - rows of numbers with a single 1 are classes, which a first row of words names;
//   - without titles, two columns are a name or number and its label, more columns of
//     numbers as many labels for each sample.
//
// Whole numbers are classes, others values, words names of classes.
func ParseLabels(path string, b []byte, classes []string) (_ *Labels, err error) {
	defer fail.Catch(&err)
	t := fail.Must(readLabelTable(path, b))
	l := &Labels{Source: path}
	if done, err := l.oneHot(t, classes); done || err != nil {
		return l, err
	}
	c := fail.Must(t.columns())
	l.Guessed = c.guessed
	var cells []string
	for i, row := range t.rows {
		if c.order != nil {
			row = t.rows[c.order[i]]
		}
		if c.name >= 0 {
			l.Names = append(l.Names, row[c.name])
		}
		if c.label >= 0 {
			cells = append(cells, row[c.label])
		} else {
			cells = append(cells, row...)
		}
	}
	return l, l.parse(cells, classes)
}

// columns says what the columns of a table hold.
type columns struct {
	label, name int   // -1: none; without a label every column is one
	order       []int // of the rows; nil: as they are
	guessed     bool  // nothing says that name is one
}

// columns finds the labels.
func (t *labelTable) columns() (columns, error) {
	c := columns{label: title(t.titles, labelTitles), name: title(t.titles, nameTitles)}
	width := len(t.rows[0])
	if t.titles == nil && width == 2 && !t.numbers(0) {
		c = columns{label: 1, name: 0, guessed: true}
	}
	index := -1
	c.order, index = t.index(c.label, c.name)
	if c.label >= 0 {
		return c, nil
	}
	var left []int
	for k := range width {
		if k != c.name && k != index {
			left = append(left, k)
		}
	}
	switch {
	case len(left) == 1:
		c.label = left[0]
	case t.titles != nil:
		return c, text.Errorf("labels %s: columns %.200q: which holds the labels? want one called %s", t.path, t.titles,
			strings.Join(labelTitles, ", "))
	case slices.ContainsFunc(t.rows, func(r []string) bool { return !allNumbers(r) }):
		return c, text.Errorf("labels %s: %d columns without titles, words among them: which holds the labels? want "+
			"a first row with titles, of which one is %s", t.path, width, strings.Join(labelTitles, ", "))
	}
	return c, nil
}

// readLabelTable reads the rows. The first has titles where it has words and the column
// of one of them only numbers below it, or where one of them is a title of labels.
func readLabelTable(path string, b []byte) (*labelTable, error) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	r := csv.NewReader(bytes.NewReader(b))
	r.Comma, r.TrimLeadingSpace, r.Comment = ',', true, '#'
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	for _, c := range ";\t" {
		if !bytes.ContainsRune(line, ',') && bytes.ContainsRune(line, c) {
			r.Comma = c
			r.TrimLeadingSpace = c != '\t'
			break
		}
	}
	rows, err := r.ReadAll()
	if err != nil {
		return nil, text.Errorf("labels %s: %w", path, err)
	}
	for _, row := range rows {
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
	}
	t := &labelTable{path: path, rows: rows}
	if len(rows) == 0 {
		return nil, text.Errorf("labels %s: the file has no lines", path)
	}
	below := &labelTable{rows: rows[1:]}
	titled := title(rows[0], labelTitles) >= 0 || title(rows[0], nameTitles) >= 0
	for c, s := range rows[0] {
		titled = titled || len(rows) > 1 && !allNumbers([]string{s}) && below.numbers(c)
	}
	if titled {
		t.titles, t.rows = rows[0], rows[1:]
	}
	if len(t.rows) == 0 {
		return nil, text.Errorf("labels %s: the file has no labels", path)
	}
	return t, nil
}

// numbers reports a column of numbers.
func (t *labelTable) numbers(c int) bool {
	return !slices.ContainsFunc(t.rows, func(r []string) bool { return !allNumbers(r[c : c+1]) })
}

// index is the column that numbers the rows, from 0 or from 1, and the rows in its order:
// one of its title, or the first of two without. -1: none.
func (t *labelTable) index(column, name int) (order []int, at int) {
	for c := range t.rows[0] {
		wanted := t.titles == nil && c == 0 && len(t.rows[0]) == 2 ||
			t.titles != nil && slices.Contains(indexTitles, strings.ToLower(t.titles[c]))
		if c == column || c == name || !wanted {
			continue
		}
		if order := t.order(c); order != nil {
			if name >= 0 {
				order = nil // names say more
			}
			return order, c
		}
	}
	return nil, -1
}

// order are the rows in the order of a column that counts them; nil: it does not.
func (t *labelTable) order(c int) []int {
	order := make([]int, len(t.rows))
	for i := range order {
		order[i] = -1
	}
	from := 1
	for _, r := range t.rows {
		if v, err := strconv.Atoi(r[c]); err == nil && v == 0 {
			from = 0
		}
	}
	for i, r := range t.rows {
		v, err := strconv.Atoi(r[c])
		if v -= from; err != nil || v < 0 || v >= len(order) || order[v] >= 0 {
			return nil
		}
		order[v] = i
	}
	return order
}

// oneHot takes rows with a single 1, beside a name perhaps, for classes. done: it did.
func (l *Labels) oneHot(t *labelTable, classes []string) (done bool, err error) {
	name := title(t.titles, nameTitles)
	if t.titles == nil && !t.numbers(0) {
		name = 0
	}
	without := func(r []string) []string {
		if name < 0 || r == nil {
			return r
		}
		return slices.Delete(slices.Clone(r), name, name+1)
	}
	var f []float64
	var names []string
	for _, r := range t.rows {
		if name >= 0 {
			names = append(names, r[name])
		}
		if r = without(r); !allNumbers(r) {
			return false, nil
		}
		for _, s := range r {
			v, _ := strconv.ParseFloat(s, 64)
			f = append(f, v)
		}
	}
	width := len(without(t.rows[0]))
	c := oneHot([]int{len(t.rows), width}, f)
	if c == nil || width == 2 && t.titles == nil && name < 0 && len(t.rows) <= 2 {
		return false, nil // two rows 0,1 and 1,0 may be numbers and their labels
	}
	l.Class, l.OneHot, l.Names, l.Guessed = c, true, names, t.titles == nil && name >= 0
	l.Classes = without(t.titles)
	return true, l.renumber(classes)
}

// renumber gives classes with names the numbers of a list; nil: they keep theirs.
func (l *Labels) renumber(classes []string) error {
	if classes == nil || l.Classes == nil {
		return nil
	}
	for i, k := range l.Class {
		if l.Class[i] = slices.Index(classes, l.Classes[k]); l.Class[i] < 0 {
			return text.Errorf("labels %s: column %q is no class%s", l.Source, text.Short(l.Classes[k], 80),
				text.Meant(l.Classes[k], classes))
		}
	}
	l.Classes = classes
	return nil
}

// title is the column with one of the titles; -1: none.
func title(row, titles []string) int {
	return slices.IndexFunc(row, func(s string) bool {
		return slices.Contains(titles, strings.ToLower(strings.TrimSpace(s)))
	})
}
