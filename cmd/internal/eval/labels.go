// SPDX-License-Identifier: Apache-2.0

// Package eval measures how accurate a model and its program are on labelled data:
// labels, the choice of the class scores, rates of right answers, confusion,
// signal-to-noise ratios. It is given tensors and runs nothing.
package eval

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// Labels are what a model should say of samples, in their order: numbers of classes
// or values. Each sample has the same number of them.
type Labels struct {
	Source string
	Names  []string // of the samples; nil: the labels stand in their order
	Class  []int    // nil: values
	Value  []float64
	// Classes are the names of classes, where the labels say them; Sorted that they
	// are numbered in alphabetical order, since nothing says otherwise.
	Classes []string
	Sorted  bool
	// Guessed says that Names are a first column which nothing calls so.
	Guessed bool
	// OneHot says that rows with a single 1 were read as classes.
	OneHot bool
}

// Len is how many labels there are.
func (l *Labels) Len() int { return max(len(l.Class), len(l.Value)) }

// maxLabelBytes bounds a text file of labels.
const maxLabelBytes = 256 << 20

func readText(path string) ([]byte, error) {
	b, err := files.Read(path, maxLabelBytes)
	if err != nil {
		return nil, err
	}
	i := bytes.IndexFunc(b, func(r rune) bool {
		return r == utf8.RuneError || r < ' ' && !strings.ContainsRune("\t\r\n", r)
	})
	if i >= 0 {
		return nil, text.Errorf("%s: byte %d is no text in UTF-8; want lines, or a .npy or .npz file", path, i)
	}
	return b, nil
}

// LabelNames are the arrays of a .npz file that hold labels, the first that there is.
var LabelNames = []string{"labels", "label", "y", "y_test", "y_true", "targets", "target"}

// ReadLabels reads a file of labels: .npy; .npz with an array called as one of
// LabelNames, or a single one; .csv or .txt with a label a line (ParseLabels). classes
// are the names of classes that text may have; nil: as they come. An array of integers
// holds classes, one of floats values, one of rows with a single 1 classes as well.
func ReadLabels(path string, classes []string, lim npz.Limits) (*Labels, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".npy", ".npz":
		es, err := npz.ReadFile(path, lim)
		if err != nil {
			return nil, text.Errorf("labels %w", err)
		}
		a := LabelArray(es)
		if a == nil && len(es) == 1 {
			a = es[0].Array
		}
		if a == nil {
			names := lists.Map(es, func(e npz.Entry) string { return e.Name })
			return nil, text.Errorf("labels %s: want an array called %s; found %.200q", path,
				strings.Join(LabelNames, ", "), names)
		}
		return FromArray(path, a)
	}
	b, err := readText(path)
	if err != nil {
		return nil, text.Errorf("labels %w", err)
	}
	return ParseLabels(path, b, classes)
}

// IsLabelName reports the name of an array that holds labels.
func IsLabelName(name string) bool { return slices.Contains(LabelNames, name) }

// LabelArray is the array of labels among those of a .npz file; nil: none.
func LabelArray(es []npz.Entry) *npz.Array {
	for _, name := range LabelNames {
		for _, e := range es {
			if e.Name == name {
				return e.Array
			}
		}
	}
	return nil
}

// FromArray are the labels of an array.
func FromArray(path string, a *npz.Array) (*Labels, error) {
	l := &Labels{Source: path}
	f, err := a.Float64s()
	if err != nil {
		return nil, text.Errorf("labels %s: %w", path, err)
	}
	for i, v := range f {
		if v-v != 0 {
			return nil, text.Errorf("labels %s: element %d is %v; want finite numbers", path, i, v)
		}
	}
	if c := oneHot(a.Shape, f); c != nil {
		l.Class, l.OneHot = c, true
		return l, nil
	}
	if strings.HasPrefix(a.DType, "float") {
		l.Value = f
		return l, nil
	}
	for i, v := range f {
		if v < 0 || v > math.MaxInt32 {
			return nil, text.Errorf("labels %s: element %d is %v; want numbers of classes, from 0", path, i, v)
		}
		l.Class = append(l.Class, int(v))
	}
	return l, nil
}

// oneHot are the classes of rows of which each has one 1 and else zeros; nil: they are
// others.
func oneHot(shape []int, f []float64) []int {
	if len(shape) < 2 || shape[len(shape)-1] < 2 {
		return nil
	}
	n := shape[len(shape)-1]
	var out []int
	for row := range slices.Chunk(f, n) {
		at := -1
		for i, v := range row {
			switch {
			case v == 1 && at < 0:
				at = i
			case v != 0:
				return nil
			}
		}
		if at < 0 {
			return nil
		}
		out = append(out, at)
	}
	return out
}

func allNumbers(row []string) bool {
	return !slices.ContainsFunc(row, func(s string) bool {
		_, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		return err != nil
	})
}

func (l *Labels) parse(cells, classes []string) error {
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	named := len(classes) > 0 && slices.Contains(classes, cells[0])
	if named || !allNumbers(cells) {
		return l.named(cells, classes)
	}
	whole := true
	for i, s := range cells {
		v, _ := strconv.ParseFloat(s, 64)
		if v-v != 0 {
			return text.Errorf("labels %s: label %d is %s; want finite numbers", l.Source, i, s)
		}
		n, err := strconv.Atoi(s)
		whole = whole && err == nil && n >= 0
		l.Value = append(l.Value, v)
	}
	if whole {
		l.Class = lists.Map(l.Value, func(v float64) int { return int(v) })
		l.Value = nil
	}
	return nil
}

// named finds the classes of names.
func (l *Labels) named(cells, classes []string) error {
	if l.Classes = classes; len(classes) == 0 {
		l.Classes, l.Sorted = slices.Compact(slices.Sorted(slices.Values(cells))), true
	}
	at := map[string]int{}
	for i, c := range l.Classes {
		at[c] = i
	}
	for i, s := range cells {
		k, ok := at[s]
		if !ok {
			hint := ""
			if n := text.Nearest(s, classes); n != "" {
				hint = "; did you mean " + n + "?"
			}
			return text.Errorf("labels %s: label %d is %q, which is no class%s", l.Source, i, text.Short(s, 80), hint)
		}
		l.Class = append(l.Class, k)
	}
	return nil
}

// ReadClasses reads the names of classes, one a line of a file in their order, or a,b,c.
func ReadClasses(path string) ([]string, error) {
	b, err := readText(path)
	if names := strings.Split(path, ","); err != nil && len(names) > 1 {
		b, err = []byte(strings.Join(names, "\n")), nil
	}
	if err != nil {
		return nil, text.Errorf("--classes: %w", err)
	}
	var out []string
	seen := map[string]bool{}
	for i, s := range strings.Split(strings.TrimRight(string(b), "\r\n"), "\n") {
		s = strings.TrimSpace(s)
		if s == "" || seen[s] {
			return nil, text.Errorf("--classes %s, line %d: %q is empty or there twice; want a name a line", path, i+1,
				text.Short(s, 80))
		}
		seen[s] = true
		out = append(out, s)
	}
	return out, nil
}

// For gives the labels in the order of samples with these names. Labels without names
// stand in the order of the samples: as many for each.
func (l *Labels) For(names []string) (*Labels, error) {
	n := len(names)
	if l.Names == nil {
		if n == 0 || l.Len()%n != 0 {
			return nil, text.Errorf("labels %s: %d labels for %d samples; want one for each, or as many for each",
				l.Source, l.Len(), n)
		}
		return l, nil
	}
	at, err := l.places()
	if err != nil {
		return nil, err
	}
	found := func(s string) bool { return at[s] > 0 || at[filepath.Base(s)] > 0 }
	if l.Guessed && l.Len() == n && !slices.ContainsFunc(names, found) {
		return l, nil // what looked like names is something else
	}
	out := &Labels{Source: l.Source, Classes: l.Classes, Sorted: l.Sorted}
	for _, s := range names {
		i := cmp.Or(at[s], at[filepath.Base(s)]) - 1
		switch {
		case i < -1:
			return nil, text.Errorf("labels %s: several samples are called %s; want their folders in the names, too",
				l.Source, text.Short(filepath.Base(s), 200))
		case i < 0:
			return nil, text.Errorf("labels %s: none for sample %s (it names %s, ...)", l.Source, text.Short(s, 200),
				text.Short(l.Names[0], 200))
		}
		if l.Class != nil {
			out.Class = append(out.Class, l.Class[i])
		} else {
			out.Value = append(out.Value, l.Value[i])
		}
	}
	return out, nil
}

// places are the indices of labels by name and by the name's last part, from 1; -1: of
// several.
func (l *Labels) places() (map[string]int, error) {
	at := make(map[string]int, 2*len(l.Names))
	for i, s := range l.Names {
		s = filepath.ToSlash(s)
		if k := at[s]; k > 0 && s != filepath.Base(s) || k > 0 && l.Names[k-1] == s {
			if l.Class != nil && l.Class[k-1] != l.Class[i] || l.Value != nil && l.Value[k-1] != l.Value[i] {
				return nil, text.Errorf("labels %s: %s has two labels, in rows %d and %d", l.Source, text.Short(s, 200),
					k, i+1)
			}
			continue
		}
		at[s] = i + 1
	}
	for i, s := range l.Names {
		base := filepath.Base(filepath.ToSlash(s))
		switch k := at[base]; {
		case base == filepath.ToSlash(s):
		case k == 0:
			at[base] = i + 1
		case k != i+1:
			at[base] = -1
		}
	}
	return at, nil
}

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
	order := slices.Repeat([]int{-1}, len(t.rows))
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

func title(row, titles []string) int {
	return slices.IndexFunc(row, func(s string) bool {
		return slices.Contains(titles, strings.ToLower(strings.TrimSpace(s)))
	})
}
