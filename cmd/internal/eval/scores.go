// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Output is an output of the model that the caller sees.
type Output struct {
	Name  string
	Shape []int
}

// Task is what labels say of samples.
type Task string

// The tasks.
const (
	Classify Task = "classify" // the class with the highest score
	Binary   Task = "binary"   // one score: is it above a threshold?
	Regress  Task = "regress"  // values
	Compare  Task = "compare"  // there are no labels
	Detect   Task = "detect"   // boxes
)

// Scores are the output that labels speak of, and how.
type Scores struct {
	Output string `json:"output"`
	// Axis of the classes; -1: the output holds no classes.
	Axis    int `json:"axis"`
	Classes int `json:"classes,omitempty"`
	// Guessed: nobody said which output and axis; Why is the reason.
	Guessed bool   `json:"guessed"`
	Why     string `json:"why,omitempty"`

	index        int // of the output
	outer, inner int // elements before and behind the axis
	labels       int // of a sample
}

// Choose finds the output and axis that labels of so many for each sample speak of.
// given is what the user says: "" to guess, OUTPUT, or OUTPUT:AXIS. The classes are at
// least those of the labels.
func Choose(outs []Output, l *Labels, perSample int, given string) (*Scores, Task, error) {
	if l == nil {
		return nil, Compare, nil
	}
	if l.Class == nil {
		s, err := chooseValues(outs, perSample, given)
		return s, Regress, err
	}
	least := 1
	for _, c := range l.Class {
		least = max(least, c+1)
	}
	least = max(least, len(l.Classes))
	var all []*Scores
	for i, o := range outs {
		all = append(all, classAxes(o, i, perSample, least)...)
	}
	if given != "" {
		s, err := chosen(outs, all, given)
		return s, task(s), err
	}
	switch len(all) {
	case 0:
		return nil, "", text.Errorf("no output has scores of %d classes for %d labels of a sample; outputs: %s; "+
			"--scores OUTPUT[:AXIS] says where they are", least, perSample, shapes(outs))
	case 1:
		s := all[0]
		s.Guessed, s.Why = true, "the only output and axis that fit"
		return s, task(s), nil
	}
	best := all[0]
	for _, s := range all[1:] {
		if better(s, best, least) {
			best = s
		}
	}
	best.Guessed = true
	best.Why = fmt.Sprintf("%d places fit; this one has the nearest number of classes", len(all))
	return best, task(best), nil
}

// better prefers scores with the number of classes that labels have, then the first.
func better(a, b *Scores, least int) bool { return a.Classes-least < b.Classes-least }

// task tells scores of several classes from a single one.
func task(s *Scores) Task {
	if s != nil && s.Axis < 0 {
		return Binary
	}
	return Classify
}

// classAxes are the axes of an output along which classes may lie: without it there is
// an element for each label. An output with one element for each label tells two
// classes apart.
func classAxes(o Output, index, labels, least int) []*Scores {
	var out []*Scores
	n := tensor.Count(o.Shape)
	for axis, d := range o.Shape {
		if d > 1 && d >= least && n == d*labels {
			out = append(out, &Scores{Output: o.Name, Axis: axis, Classes: d, index: index, labels: labels,
				outer: tensor.Count(o.Shape[:axis]), inner: tensor.Count(o.Shape[axis+1:])})
		}
	}
	if n == labels && least <= 2 {
		out = append(out, &Scores{Output: o.Name, Axis: -1, Classes: 2, index: index, labels: labels})
	}
	return out
}

// chosen is what the user said among what fits.
func chosen(outs []Output, all []*Scores, given string) (*Scores, error) {
	name, axis := given, -2
	if i := strings.LastIndex(given, ":"); i >= 0 && !has(outs, given) {
		n, err := strconv.Atoi(given[i+1:])
		if err != nil {
			return nil, text.Errorf("--scores %s: %q is no axis; want OUTPUT[:AXIS]", given, given[i+1:])
		}
		name, axis = given[:i], n
	}
	if !has(outs, name) {
		names := lists.Map(outs, func(o Output) string { return o.Name })
		hint := ""
		if n := text.Nearest(name, names); n != "" {
			hint = "; did you mean " + n + "?"
		}
		return nil, text.Errorf("--scores %s: the model has no output %q; outputs: %s%s", given, name, shapes(outs),
			hint)
	}
	for _, s := range all {
		rank := len(outs[s.index].Shape)
		if s.Output == name && (axis == -2 || axis == s.Axis || axis < 0 && axis+rank == s.Axis) {
			return s, nil
		}
	}
	return nil, text.Errorf("--scores %s: the labels do not fit there; outputs: %s", given, shapes(outs))
}

// chooseValues finds the output with a value for each label.
func chooseValues(outs []Output, labels int, given string) (*Scores, error) {
	var all []*Scores
	for i, o := range outs {
		if tensor.Count(o.Shape) == labels {
			all = append(all, &Scores{Output: o.Name, Axis: -1, index: i, labels: labels})
		}
	}
	if given != "" {
		return chosen(outs, all, given)
	}
	if len(all) == 0 {
		return nil, text.Errorf("no output has %d values of a sample as the labels do; outputs: %s (whole numbers are "+
			"classes, numbers with a point are values)", labels, shapes(outs))
	}
	all[0].Guessed, all[0].Why = true, "the first output with as many values as a sample has labels"
	return all[0], nil
}

func has(outs []Output, name string) bool {
	return slices.ContainsFunc(outs, func(o Output) bool { return o.Name == name })
}

func shapes(outs []Output) string {
	s := lists.Map(outs, func(o Output) string { return fmt.Sprintf("%s %v", o.Name, o.Shape) })
	return strings.Join(s, ", ")
}

// of are the scores of label k of a sample.
func (s *Scores) of(d *tensor.Dense, k int) []float64 {
	if s.Axis < 0 {
		return []float64{d.Float(k)}
	}
	out := make([]float64, s.Classes)
	at := k/s.inner*s.Classes*s.inner + k%s.inner
	for c := range out {
		out[c] = d.Float(at + c*s.inner)
	}
	return out
}

// best is the first class with the highest score; NaN is none.
func best(v []float64) int {
	at := 0
	for i, x := range v {
		if x > v[at] || v[at] != v[at] && x == x {
			at = i
		}
	}
	return at
}

// rank is how many classes stand before class c: those with a higher score, and of
// those with the same one the earlier ones.
func rank(v []float64, c int) int {
	n := 0
	for i, x := range v {
		if x > v[c] || x == v[c] && i < c || v[c] != v[c] && x == x {
			n++
		}
	}
	return n
}
