// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/postprocess"
	"github.com/nncc/nncc/ir/preprocess"
)

// TestColumns: tables of labels as people have them are read as they are meant, or
// refused; none is read as something else.
func TestColumns(t *testing.T) {
	for _, c := range []struct {
		name, file string
		classes    []string
		class      []int
		names      []string // of classes
		samples    []string
	}{
		{"one-hot", "0,0,1\n1,0,0\n0,1,0\n", nil, []int{2, 0, 1}, nil, nil},
		{"one-hot, titled", "cat,dog,cow\n0,0,1\n1,0,0\n", nil, []int{2, 0}, []string{"cat", "dog", "cow"}, nil},
		{"one-hot in the model's order", "cat,dog,cow\n0,0,1\n1,0,0\n", []string{"cow", "dog", "cat"}, []int{0, 2},
			[]string{"cow", "dog", "cat"}, nil},
		{"one-hot with names", "file,cat,dog\na.png,0,1\nb.png,1,0\n", nil, []int{1, 0}, []string{"cat", "dog"},
			[]string{"a.png", "b.png"}},
		{"index and class", "0,7\n1,3\n2,7\n", nil, []int{7, 3, 7}, nil, nil},
		{"index from 1, shuffled", "2,7\n1,3\n3,5\n", nil, []int{3, 7, 5}, nil, nil},
		{"of pandas", ",label\n0,4\n1,5\n", nil, []int{4, 5}, nil, nil},
		{"index and an unknown title", "id,digit\n1,4\n0,5\n", nil, []int{5, 4}, nil, nil},
		{"one unknown title", "digit\n4\n5\n", nil, []int{4, 5}, nil, nil},
		{"names without titles", "a.png,4\nb.png,5\n", nil, []int{4, 5}, nil, []string{"a.png", "b.png"}},
		{"semicolons", "file;label\na.png;4\nb.png;5\n", nil, []int{4, 5}, nil, []string{"a.png", "b.png"}},
		{"tabs", "a.png\t4\nb.png\t5\n", nil, []int{4, 5}, nil, []string{"a.png", "b.png"}},
	} {
		l, err := ParseLabels("l.csv", []byte(c.file), c.classes)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !slices.Equal(l.Class, c.class) || !slices.Equal(l.Classes, c.names) || !slices.Equal(l.Names, c.samples) {
			t.Errorf("%s: %+v", c.name, l)
		}
	}
	for _, c := range []struct{ file, want string }{
		{"width,height\n7,2\n8,0\n", "which holds the labels"},
		{"a.png,4,x\nb.png,5,y\n", "want a first row with titles"},
	} {
		if l, err := ParseLabels("l.csv", []byte(c.file), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %+v, %v, want %s", c.file, l, err, c.want)
		}
	}
}

// TestNamesOfLabels: one name with two labels, and a last part that several share, are
// refused; what only looked like names does not count.
func TestNamesOfLabels(t *testing.T) {
	for _, c := range []struct {
		file    string
		samples []string
		want    []int
		bad     string
	}{
		{"file,label\na.png,1\na.png,2\n", []string{"a.png"}, nil, "two labels"},
		{"file,label\na.png,1\na.png,1\nb.png,0\n", []string{"b.png", "a.png"}, []int{0, 1}, ""},
		{"file,label\nx/1.png,1\ny/1.png,2\n", []string{"y/1.png", "x/1.png"}, []int{2, 1}, ""},
		{"file,label\nx/1.png,1\ny/1.png,2\n", []string{"1.png"}, nil, "several samples"},
		{"file,label\nx/1.png,1\n", []string{"1.png"}, []int{1}, ""},
		{"file,label\na.png,1\n", []string{"b.png"}, nil, "it names a.png"},
		{"s1,1\ns2,2\n", []string{"t.npz#0", "t.npz#1"}, []int{1, 2}, ""},
		{"s1,1\ns2,2\n", []string{"s2", "t"}, nil, "none for sample t"},
	} {
		l, err := ParseLabels("l.csv", []byte(c.file), nil)
		if err == nil {
			l, err = l.For(c.samples)
		}
		switch {
		case c.bad != "":
			testenv.Refused(t, err, c.bad)
		case err != nil || !slices.Equal(l.Class, c.want):
			t.Errorf("%q: %+v %v", c.file, l, err)
		}
	}
}

// square is a box of 10 x 10 pixels.
func square(x, score float32, label int) postprocess.Box {
	return postprocess.Box{X0: x, Y0: 0, X1: x + 10, Y1: 10, Score: score, Label: label}
}

// TestDetection: precisions of lists that can be worked out by hand.
func TestDetection(t *testing.T) {
	type boxes = []postprocess.Box
	for _, c := range []struct {
		name   string
		truths [][]Truth
		found  []boxes
		map50  float64
		all    float64
	}{
		{"all of them", [][]Truth{{square(0, 0, 1)}, {square(5, 0, 2)}},
			[]boxes{{square(0, 0.9, 1)}, {square(5, 0.3, 2)}}, 1, 1},
		{"none", [][]Truth{{square(0, 0, 1)}}, []boxes{nil}, 0, 0},
		{"the wrong class", [][]Truth{{square(0, 0, 1)}}, []boxes{{square(0, 0.9, 2)}}, 0, 0},
		{"a wrong one first", [][]Truth{{square(0, 0, 0)}}, []boxes{{square(50, 0.9, 0), square(0, 0.8, 0)}}, 0.5, 0.5},
		{"a wrong one last", [][]Truth{{square(0, 0, 0)}}, []boxes{{square(0, 0.9, 0), square(50, 0.8, 0)}}, 1, 1},
		{"twice the same", [][]Truth{{square(0, 0, 0), square(30, 0, 0)}},
			[]boxes{{square(0, 0.9, 0), square(1, 0.8, 0)}}, 51. / 101, 51. / 101},
		{"a third apart", [][]Truth{{square(0, 0, 0)}}, []boxes{{square(2, 0.9, 0)}}, 1, 0.4}, // 80 / 120
		{"no boxes there", [][]Truth{nil}, []boxes{{square(0, 0.9, 0)}}, 0, 0},
	} {
		d := NewDetector(c.truths)
		for i, x := range c.found {
			d.Found(i, x, x)
		}
		r := d.Result(true)
		if math.Abs(r.Float.MAP50-c.map50) > 1e-9 || math.Abs(r.Float.MAP-c.all) > 1e-9 || *r.Program != *r.Float {
			t.Errorf("%s: %+v, want %g and %g", c.name, *r.Float, c.map50, c.all)
		}
	}
}

// TestReadBoxes: boxes of a picture lie in the input as the picture does.
func TestReadBoxes(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		testenv.OK(t, os.WriteFile(filepath.Join(dir, "p.txt"), []byte(text), 0o666))
	}
	write("3 0.5 0.5 0.5 1\n\n0 0.25 0.5 0.5 0.5\n")
	list, found, err := ReadBoxes(dir, "c/p.png", nil, 64, 32)
	if err != nil || !found || len(list) != 2 || list[0] != (Truth{X0: 16, X1: 48, Y0: 0, Y1: 32, Label: 3}) {
		t.Errorf("%+v, %v, %v", list, found, err)
	}
	m := &preprocess.Image{Width: 100, Height: 100, OutWidth: 64, OutHeight: 32}
	m.Place(preprocess.Fit) // bars left and right
	if list, _, err = ReadBoxes(dir, "p.jpg", m, 64, 32); err != nil || list[0] != (Truth{X0: 24, X1: 40, Y0: 0, Y1: 32,
		Label: 3}) {
		t.Errorf("%+v, %v", list, err)
	}
	m.Place(preprocess.Fill) // the upper and lower quarter is cut off
	if list, _, err = ReadBoxes(dir, "p.jpg", m, 64, 32); err != nil ||
		list[1] != (Truth{X0: 0, X1: 32, Y0: 0, Y1: 32}) {
		t.Errorf("%+v, %v", list, err)
	}
	if _, found, err := ReadBoxes(dir, "q.png", nil, 1, 1); found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// TestReadBoxesRefused: broken lines are named.
func TestReadBoxesRefused(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{"1 2 3": "3 words; want a class", "x 0 0 0 0": `class "x"`,
		"-1 0 0 0 0": `class "-1"`, "1 0 0 nan 0": `number "nan"`, "1 0 0 7 0": `number "7"`} {
		testenv.OK(t, os.WriteFile(filepath.Join(dir, "p.txt"), []byte(text), 0o666))
		if _, _, err := ReadBoxes(dir, "p.png", nil, 1, 1); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

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
	testenv.Check(t, a.Result(false, 0).Classes.Program == nil, "a program, and there is none")
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
		s := r.Text()
		testenv.Check(t, strings.Contains(s, want), "%s\nwant %q", s, want)
	}
	r.Board, r.Answers.Classes.Program, r.Answers.Keywords.Program = "", nil, nil
	s := r.Text()
	testenv.Check(t, strings.Contains(s, "heard again               1\n"), "%v", s)
}
