// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"reflect"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/postprocess"
)

// one are scores of three classes of which one is certain.
func one(class int) [][]float32 {
	s := make([]float32, 3)
	s[class] = 1
	return [][]float32{s}
}

// TestClassAnswers: a class is given, is the right one, is among those given.
func TestClassAnswers(t *testing.T) {
	c := &postprocess.Classes{Count: 3, Top: 2, Threshold: []float32{0.3}}
	a := NewAnswers(c, nil, []int{0, 1, 2})
	a.Look(0, [][]float32{{0.5, 0.4, 0.1}}, [][]float32{{0.2, 0.2, 0.2}})
	a.Look(1, [][]float32{{0.5, 0.4, 0.1}}, [][]float32{{0.1, 0.9, 0}})
	a.Look(2, [][]float32{{0.5, 0.4, 0.1}}, [][]float32{{0.6, 0.1, 0.2}})
	got := a.Result(true, 0).Classes
	if want := (&ClassAnswers{&Given{3, 1, 2}, &Given{2, 1, 1}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %+v, want %+v %+v", got.Float, got.Program, want.Float, want.Program)
	}
	if a.Result(false, 0).Classes.Program != nil {
		t.Error("a program, and there is none")
	}
}

// TestKeywordAnswers: what is heard in samples one after the other, beside what was spoken.
func TestKeywordAnswers(t *testing.T) {
	k := &postprocess.Keywords{Count: 3, Window: 2, Threshold: []float32{0.9}, Ignore: []int{0}}
	for _, c := range []struct {
		what, labels, says string
		quiet, sequence    int
		spoken             int
		want               Heard
	}{
		{"one, at its second sample", "0110", "0110", 5, 0, 1, Heard{1, 0, 0}},
		{"again in the same stretch", "0111110", "0111110", 1, 0, 1, Heard{1, 1, 0}},
		{"late, within the window", "0100", "0011", 5, 0, 1, Heard{0, 0, 1}},
		{"late by one sample", "0110", "0011", 5, 0, 1, Heard{1, 0, 0}},
		{"another one", "0110", "0220", 5, 0, 1, Heard{0, 0, 1}},
		{"where nothing was spoken", "0000", "0110", 5, 0, 0, Heard{0, 0, 1}},
		{"two of the same", "110011", "110011", 0, 0, 2, Heard{2, 0, 0}},
		{"two that touch", "1122", "1122", 0, 0, 2, Heard{2, 0, 0}},
		{"a stretch over two sequences", "1111", "1111", 1, 2, 2, Heard{2, 0, 0}},
		{"not over the end of a sequence", "0110", "0110", 0, 2, 2, Heard{0, 0, 0}},
	} {
		k.Quiet = c.quiet
		var labels []int
		for _, r := range c.labels {
			labels = append(labels, int(r-'0'))
		}
		a := NewAnswers(nil, k, labels)
		for i, r := range c.says {
			a.Look(i, one(int(r-'0')), nil)
		}
		got := a.Result(false, c.sequence).Keywords
		if got.Spoken != c.spoken || *got.Float != c.want || got.Program != nil {
			t.Errorf("%s: %d spoken, %+v; want %d, %+v", c.what, got.Spoken, *got.Float, c.spoken, c.want)
		}
	}
}

// TestAnswersText: both stand beside each other, and one alone.
func TestAnswersText(t *testing.T) {
	r := &Result{Board: "host", Answers: &Answered{Classes: &ClassAnswers{&Given{9, 8, 7}, &Given{6, 5, 4}},
		Keywords: &KeywordAnswers{3, &Heard{2, 1, 0}, &Heard{1, 0, 5}}}}
	for _, want := range []string{"samples that get a class  9      6", "keywords heard, of 3      2      1",
		"heard wrongly             0      5"} {
		if s := r.Text(); !strings.Contains(s, want) {
			t.Errorf("%s\nwant %q", s, want)
		}
	}
	r.Board, r.Answers.Classes.Program, r.Answers.Keywords.Program = "", nil, nil
	if s := r.Text(); !strings.Contains(s, "heard again               1\n") {
		t.Error(s)
	}
}
