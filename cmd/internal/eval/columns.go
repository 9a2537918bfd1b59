// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/text"
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
func ParseLabels(path string, b []byte, classes []string) (*Labels, error) {
	t, err := readLabelTable(path, b)
	if err != nil {
		return nil, err
	}
	l := &Labels{Source: path}
	if done, err := l.oneHot(t, classes); done || err != nil {
		return l, err
	}
	column, name := title(t.titles, labelTitles), title(t.titles, nameTitles)
	if t.titles == nil && len(t.rows[0]) == 2 && !t.numbers(0) {
		column, name, l.Guessed = 1, 0, true
	}
	order, index := t.index(column, name)
	left := len(t.rows[0])
	for _, c := range []int{name, index} {
		if c >= 0 {
			left--
		}
	}
	switch {
	case column >= 0:
	case left == 1:
		for c := range t.rows[0] {
			if c != name && c != index {
				column = c
			}
		}
	case t.titles != nil:
		return nil, text.Errorf("labels %s: columns %.200q: which holds the labels? want one called %s", path, t.titles,
			strings.Join(labelTitles, ", "))
	case !slices.ContainsFunc(t.rows, func(r []string) bool { return !allNumbers(r) }):
	default:
		return nil, text.Errorf("labels %s: %d columns without titles, words among them: which holds the labels? want a "+
			"first row with titles, of which one is %s", path, len(t.rows[0]), strings.Join(labelTitles, ", "))
	}
	var cells []string
	for i := range t.rows {
		row := t.rows[i]
		if order != nil {
			row = t.rows[order[i]]
		}
		if name >= 0 {
			l.Names = append(l.Names, row[name])
		}
		if column >= 0 {
			cells = append(cells, row[column])
		} else {
			cells = append(cells, row...)
		}
	}
	return l, l.parse(cells, classes)
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
	var f []float64
	var names []string
	n := len(t.rows[0])
	if name >= 0 {
		n--
	}
	for _, r := range t.rows {
		if name >= 0 {
			names = append(names, r[name])
			r = slices.Delete(slices.Clone(r), name, name+1)
		}
		if !allNumbers(r) {
			return false, nil
		}
		for _, s := range r {
			v, _ := strconv.ParseFloat(s, 64)
			f = append(f, v)
		}
	}
	c := oneHot([]int{len(t.rows), n}, f)
	if c == nil || n == 2 && t.titles == nil && name < 0 && len(t.rows) <= 2 {
		return false, nil // two rows 0,1 and 1,0 may be numbers and their labels
	}
	l.Class, l.OneHot, l.Names, l.Guessed = c, true, names, t.titles == nil && name >= 0
	if t.titles == nil {
		return true, nil
	}
	if l.Classes = t.titles; name >= 0 {
		l.Classes = slices.Delete(slices.Clone(t.titles), name, name+1)
	}
	if classes == nil {
		return true, nil
	}
	for i, k := range l.Class { // in the order of the model's scores
		if l.Class[i] = slices.Index(classes, l.Classes[k]); l.Class[i] < 0 {
			return true, text.Errorf("labels %s: column %q is no class%s", t.path, text.Short(l.Classes[k], 80),
				text.Meant(l.Classes[k], classes))
		}
	}
	l.Classes = classes
	return true, nil
}

// title is the column with one of the titles; -1: none.
func title(row, titles []string) int {
	return slices.IndexFunc(row, func(s string) bool {
		return slices.Contains(titles, strings.ToLower(strings.TrimSpace(s)))
	})
}
