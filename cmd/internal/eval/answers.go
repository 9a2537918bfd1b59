// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/postprocess"
)

// Answers are what --postprocess makes of samples that have a class each: the classes that
// reach their thresholds, and the keywords that are heard in samples one after the other.
type Answers struct {
	Classes  *postprocess.Classes // nil: not declared
	Keywords *postprocess.Keywords
	Labels   []int // by sample

	given  [variants][][]postprocess.Class
	scores [variants][][]float32 // of keywords
}

// NewAnswers begins.
func NewAnswers(c *postprocess.Classes, k *postprocess.Keywords, labels []int) *Answers {
	a := &Answers{Classes: c, Keywords: k, Labels: labels}
	for v := range variants {
		a.given[v] = make([][]postprocess.Class, len(labels))
		a.scores[v] = make([][]float32, len(labels))
	}
	return a
}

// Look takes the outputs of the float model and of the program for sample i; those of the
// program may be nil. It may be called for several samples at once.
func (a *Answers) Look(i int, floats, programs [][]float32) {
	for v, outs := range [variants][][]float32{floats, programs} {
		if outs == nil {
			continue
		}
		if c := a.Classes; c != nil {
			a.given[v][i] = c.Of(outs[c.Output])
		}
		if k := a.Keywords; k != nil {
			a.scores[v][i] = slices.Clone(outs[k.Output])
		}
	}
}

// Answered is what was found of samples with labels.
type Answered struct {
	Classes  *ClassAnswers   `json:"classes,omitempty"`
	Keywords *KeywordAnswers `json:"keywords,omitempty"`
}

// ClassAnswers are those of the classes that are given, of both; Program is null without a board.
type ClassAnswers struct {
	Float   *Given `json:"float"`
	Program *Given `json:"program"`
}

// Given counts samples.
type Given struct {
	Answered int `json:"answered"` // a class reaches its threshold
	Right    int `json:"right"`    // the first class is the label
	Among    int `json:"among"`    // the label is one of those given
}

// KeywordAnswers are those of keywords; Program is null without a board.
type KeywordAnswers struct {
	// Spoken are stretches of samples with the same label, one that is a keyword.
	Spoken  int    `json:"spoken"`
	Float   *Heard `json:"float"`
	Program *Heard `json:"program"`
}

// Heard counts keywords.
type Heard struct {
	Heard int `json:"heard"` // stretches of which the keyword was said
	Again int `json:"again"` // times that it was said once more
	False int `json:"false"` // times that another one was said, or one where nothing was spoken
}

// Result is what was found; both says that there is a program, sequence after how many
// samples hearing begins anew (0: never).
func (a *Answers) Result(both bool, sequence int) *Answered {
	r := &Answered{}
	if a.Classes != nil {
		r.Classes = &ClassAnswers{Float: a.classes(float)}
		if both {
			r.Classes.Program = a.classes(program)
		}
	}
	if a.Keywords != nil {
		spoken := a.spoken(sequence)
		r.Keywords = &KeywordAnswers{Spoken: len(spoken), Float: a.heard(float, spoken, sequence)}
		if both {
			r.Keywords.Program = a.heard(program, spoken, sequence)
		}
	}
	return r
}

func (a *Answers) classes(v int) *Given {
	g := &Given{}
	for i, list := range a.given[v] {
		if len(list) == 0 {
			continue
		}
		g.Answered++
		if list[0].Label == a.Labels[i] {
			g.Right++
		}
		if slices.ContainsFunc(list, func(x postprocess.Class) bool { return x.Label == a.Labels[i] }) {
			g.Among++
		}
	}
	return g
}

// stretch is a label of samples one after the other.
type stretch struct{ from, to, label int }

// begins reports the samples at which hearing begins anew.
func begins(i, sequence int) bool { return i == 0 || sequence > 0 && i%sequence == 0 }

// spoken are the stretches of keywords.
func (a *Answers) spoken(sequence int) []stretch {
	var out []stretch
	for i, l := range a.Labels {
		switch n := len(out); {
		case slices.Contains(a.Keywords.Ignore, l):
		case n > 0 && out[n-1].to == i && out[n-1].label == l && !begins(i, sequence):
			out[n-1].to++
		default:
			out = append(out, stretch{i, i + 1, l})
		}
	}
	return out
}

// heard hears samples one after the other. A keyword is right where one of the samples that
// were averaged has its label.
func (a *Answers) heard(v int, spoken []stretch, sequence int) *Heard {
	h, done := &Heard{}, make([]bool, len(spoken))
	var ear *postprocess.Heard
	first := 0 // sample that the ear has heard
	for i, scores := range a.scores[v] {
		if begins(i, sequence) {
			ear, first = a.Keywords.NewHeard(), i
		}
		x := ear.Add(scores)
		if x.Label < 0 {
			continue
		}
		from := max(first, i-a.Keywords.Window+1)
		k := slices.IndexFunc(spoken, func(s stretch) bool { return s.label == x.Label && s.from <= i && s.to > from })
		switch {
		case k < 0:
			h.False++
		case done[k]:
			h.Again++
		default:
			h.Heard++
			done[k] = true
		}
	}
	return h
}

func (r *Result) answersText(b *strings.Builder) {
	a := r.Answers
	if a == nil {
		return
	}
	head := []string{"--postprocess", "float"}
	if r.Board != "" {
		head = append(head, "program")
	}
	rows := [][]string{head}
	add := func(name string, list ...int) {
		cells := append([]string{name}, lists.Map(list[:len(head)-1], strconv.Itoa)...)
		rows = append(rows, cells)
	}
	if c := a.Classes; c != nil {
		p := c.Program
		if p == nil {
			p = &Given{}
		}
		add("samples that get a class", c.Float.Answered, p.Answered)
		add("the right one first", c.Float.Right, p.Right)
		add("the right one among them", c.Float.Among, p.Among)
	}
	if k := a.Keywords; k != nil {
		p := k.Program
		if p == nil {
			p = &Heard{}
		}
		add(fmt.Sprintf("keywords heard, of %d", k.Spoken), k.Float.Heard, p.Heard)
		add("heard again", k.Float.Again, p.Again)
		add("heard wrongly", k.Float.False, p.False)
	}
	b.WriteString("\n" + text.Table(rows))
}
