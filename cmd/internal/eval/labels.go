// SPDX-License-Identifier: Apache-2.0

// Package eval measures how accurate a model and its program are on labelled data:
// labels, the choice of the class scores, rates of right answers, confusion,
// signal-to-noise ratios. It is given tensors and runs nothing.
package eval

import (
	"bytes"
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/text"
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

// readText reads a file of lines.
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
			var names []string
			for _, e := range es {
				names = append(names, e.Name)
			}
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

// parse makes labels of cells.
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
		for _, v := range l.Value {
			l.Class = append(l.Class, int(v))
		}
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

// ReadClasses reads the names of classes, one a line in their order.
func ReadClasses(path string) ([]string, error) {
	b, err := readText(path)
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
