// SPDX-License-Identifier: Apache-2.0

package data

import (
	"encoding/csv"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
)

// maxLabelBytes bounds a file of labels, maxClasses how many classes there are.
const (
	maxLabelBytes = 16 << 20
	maxClasses    = 1 << 16
)

// labelFile is what a file of labels says: which class a file is of, or what the
// classes are called.
type labelFile struct {
	path    string
	of      map[string]string // by the file's path below the labels' folder
	classes []string          // in the order of their numbers
	known   map[string]bool   // the classes of of
	order   []string          // without file names: the label of every sample, in order
}

// label gives every sample its label: by --labels, or a file of labels in a folder
// of data, or the folders of classes.
func (s *Set) label(paths []string) {
	list := []string{}
	for _, p := range paths {
		list = append(list, s.labelFiles(p)...)
	}
	if s.opt.Labels != "" {
		list = []string{s.opt.Labels}
	}
	names := s.opt.Classes
	for _, p := range list {
		l, err := readLabels(p)
		s.refuse(err != nil, p, "%w", err)
		if l.classes != nil && s.opt.Classes == nil {
			names = l.classes
		}
		s.apply(l)
	}
	s.number(names)
}

// labelFiles are those of a folder.
func (s *Set) labelFiles(path string) []string {
	var out []string
	for _, n := range labelFiles {
		p := filepath.Join(path, n)
		if f, _, err := files.Open(p); err == nil {
			f.Close()
			out = append(out, p)
		}
	}
	return out
}

// apply takes the classes of samples from a file.
func (s *Set) apply(l *labelFile) {
	if l.order != nil {
		s.refuse(len(l.order) != len(s.items), l.path, "%d labels for %d samples", len(l.order), len(s.items))
		for i, c := range l.order {
			s.items[i].class = c
		}
		return
	}
	if l.of == nil {
		return
	}
	used := map[string]bool{}
	lacks := ""
	for i := range s.items {
		it := &s.items[i]
		name, ok := l.find(it.path)
		switch {
		case ok:
			s.contradicts(it, l.of[name], l)
			it.class = l.of[name]
			used[name] = true
		case lacks == "":
			lacks = it.name
		}
	}
	for name := range l.of {
		s.refuse(!used[name] && len(used) == 0,
			l.path, "names %s, which is none of the samples (%s, ...)", name, s.items[0].name)
	}
	s.refuse(lacks != "", l.path, "has no label for %s", lacks)
}

// contradicts warns once where a file of labels says of a sample another class than the
// folder in which it lies, which is one of the file's classes.
func (s *Set) contradicts(it *item, class string, l *labelFile) {
	if it.class == "" || it.class == class || s.said[l.path] {
		return
	}
	if l.known == nil {
		l.known = map[string]bool{}
		for _, c := range l.of {
			l.known[c] = true
		}
	}
	if l.known[it.class] {
		s.said[l.path] = true
		s.Diags.Add(diag.Warnf("labels-contradict", l.path, "%s says that %s is of class %s, and it lies in the "+
			"folder %s; the file is believed", l.path, it.name, class, it.class))
	}
}

// find is the name under which a file stands in the list: its path, a part of it, or
// its last part.
func (l *labelFile) find(file string) (string, bool) {
	for rest := filepath.ToSlash(file); ; {
		if _, ok := l.of[rest]; ok {
			return rest, true
		}
		_, after, more := strings.Cut(rest, "/")
		if !more {
			return "", false
		}
		rest = after
	}
}

// number turns names of classes into labels: numbers by their value, names in the
// order of the list or else sorted.
func (s *Set) number(names []string) {
	of, numbers := s.classes()
	if of == nil {
		s.unlabelled(names)
		return
	}
	classes := slices.Sorted(maps.Keys(of))
	switch {
	case numbers && !slices.Contains(names, classes[0]):
		classes = s.byValue(of, names)
	case names != nil:
		for _, c := range classes {
			if !slices.Contains(names, c) {
				s.refuse(true, s.items[0].name, "class %s is none of the list's%s: %s", c, near(c, names),
					quoted(names))
			}
		}
		classes = names
		index(of, classes)
	default:
		index(of, classes)
		s.Sorted = true
	}
	s.Classes = classes
	for i := range s.items {
		s.items[i].label = of[s.items[i].class]
	}
}

// index numbers classes by their places in a list.
func index(of map[string]int, list []string) {
	for i, c := range list {
		of[c] = i
	}
}

// classes are the samples' classes, with their values where all are numbers; nil: not
// every sample has one.
func (s *Set) classes() (of map[string]int, numbers bool) {
	of, numbers = map[string]int{}, true
	for _, it := range s.items {
		if it.class == "" {
			return nil, false
		}
		if _, ok := of[it.class]; ok {
			continue
		}
		s.refuse(len(of) == maxClasses, it.name, "more than %d classes", maxClasses)
		n, err := strconv.Atoi(it.class)
		numbers = numbers && err == nil && n >= 0 && n < maxClasses
		of[it.class] = n
	}
	return of, numbers
}

// byValue are the names of classes that are numbers: those of a list, or the numbers.
func (s *Set) byValue(of map[string]int, names []string) []string {
	most := slices.Max(slices.Collect(maps.Values(of)))
	s.refuse(names != nil && most >= len(names),
		s.items[0].name, "label %d, and the list has %d classes", most, len(names))
	for i := len(names); i <= most; i++ {
		names = append(names, strconv.Itoa(i))
	}
	return names
}

// unlabelled is for sets of which a sample has no class: none has a label. Where
// labels were asked for, that is an error.
func (s *Set) unlabelled(names []string) {
	if s.opt.Labels == "" {
		return
	}
	s.refuse(names != nil, s.opt.Labels, "names classes, and nothing says which samples are of them: want lines of "+
		"file,label, or a folder for each class")
	s.refuse(true, s.opt.Labels, "not every sample has a label")
}

// readLabels reads a file of labels:
//
//   - .npy: a whole number for every sample, in their order
//   - lines of file and label, with a comma, a tab or blanks between them; a first
//     line "file,label" is a header
//   - lines of one word: the names of the classes, in the order of their numbers, or,
//     if all are numbers, the label of every sample
func readLabels(path string) (_ *labelFile, err error) {
	defer fail.Catch(&err)
	l := &labelFile{path: path}
	if strings.EqualFold(filepath.Ext(path), ".npy") {
		a := fail.Must(npz.ReadNpyFile(path, npz.Limits{Bytes: maxLabelBytes}))
		v := fail.Must(a.Int64s())
		l.order = make([]string, len(v))
		for i, x := range v {
			l.order[i] = strconv.FormatInt(x, 10)
		}
		return l, nil
	}
	b := fail.Must(files.Read(path, maxLabelBytes))
	l.parse(string(b), strings.EqualFold(filepath.Base(path), "classes.txt"))
	return l, nil
}

// isHeader: file,label and the like.
func isHeader(f []string) bool {
	return filepath.Ext(f[0]) == "" && slices.Contains([]string{"label", "class", "labels"}, strings.ToLower(f[1]))
}

// lines are those of a text that say something.
func lines(text string) []string {
	var out []string
	for s := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		if s = strings.TrimSpace(s); s != "" && !strings.HasPrefix(s, "#") {
			out = append(out, s)
		}
	}
	return out
}

// parse reads the lines; onlyNames: they are names of classes, whatever they look like.
func (l *labelFile) parse(text string, onlyNames bool) {
	lines := lines(text)
	fail.If(len(lines) == 0, "there are no labels; want lines of file,label")
	first, _ := fields(lines[0])
	if onlyNames || len(first) == 1 {
		l.words(lines, onlyNames)
		return
	}
	l.of = map[string]string{}
	for i, s := range lines {
		f, err := fields(s)
		fail.If(err != nil || len(f) != 2 || f[0] == "" || f[1] == "",
			"line %d, %.60q: want a file and its label", i+1, s)
		if i == 0 && isHeader(f) {
			continue
		}
		name := strings.TrimPrefix(filepath.ToSlash(f[0]), "./")
		old, ok := l.of[name]
		fail.If(ok && old != f[1], "%s has two labels, %s and %s", name, old, f[1])
		l.of[name] = f[1]
	}
}

// words reads lines that name no file.
func (l *labelFile) words(lines []string, names bool) {
	numbers := !names
	for _, s := range lines {
		_, err := strconv.Atoi(s)
		numbers = numbers && err == nil
	}
	if numbers {
		l.order = lines
		return
	}
	fail.If(len(lines) > maxClasses, "%d classes; at most %d are possible", len(lines), maxClasses)
	seen := make(map[string]bool, len(lines))
	for _, s := range lines {
		fail.If(seen[s], "class %s is there twice", s)
		seen[s] = true
	}
	l.classes = lines
}

// fields are the words of a line: split at commas, else at tabs, else at the last
// blank behind a file's extension.
func fields(line string) ([]string, error) {
	switch {
	case strings.Contains(line, ","):
		f, err := csv.NewReader(strings.NewReader(line)).Read()
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		return f, err
	case strings.Contains(line, "\t"):
		a, b, _ := strings.Cut(line, "\t")
		return []string{strings.TrimSpace(a), strings.TrimSpace(b)}, nil
	}
	if i := strings.LastIndexByte(line, ' '); i > 0 && kindOf(line[:i]) != unknown && kindOf(line[:i]) != labels {
		return []string{strings.TrimSpace(line[:i]), line[i+1:]}, nil
	}
	return []string{line}, nil
}
