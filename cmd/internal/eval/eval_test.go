// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestParseLabels(t *testing.T) {
	for _, c := range []struct {
		name, file string
		classes    []string
		want       Labels
	}{
		{"a class a line", "3\n1\n\n2\n", nil, Labels{Class: []int{3, 1, 2}}},
		{"a value a line", "3\n1.5\n", nil, Labels{Value: []float64{3, 1.5}}},
		{"negative numbers are values", "3\n-1\n", nil, Labels{Value: []float64{3, -1}}},
		{"words", "cat\ndog\ncat\n", nil, Labels{Class: []int{0, 1, 0}, Classes: []string{"cat", "dog"}, Sorted: true}},
		{"words in the model's order", "cat\ndog\ncat\n", []string{"dog", "cat"}, Labels{Class: []int{1, 0, 1},
			Classes: []string{"dog", "cat"}}},
		{"numbers that are names", "10\n20\n", []string{"20", "10"}, Labels{Class: []int{1, 0},
			Classes: []string{"20", "10"}}},
		{"a title", "id,label,more\n7,2,x\n8,0,y\n", nil, Labels{Class: []int{2, 0}}},
		{"names", "file,class\nb.png,2\na.png,0\n", nil, Labels{Class: []int{2, 0}, Names: []string{"b.png", "a.png"}}},
		{"several values", "1.5,2\n3,4\n", nil, Labels{Value: []float64{1.5, 2, 3, 4}}},
		{"a mark of byte order", "\ufeff3\n1\n", nil, Labels{Class: []int{3, 1}}},
	} {
		l, err := ParseLabels("l.csv", []byte(c.file), c.classes)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !slices.Equal(l.Class, c.want.Class) || !slices.Equal(l.Value, c.want.Value) || l.Sorted != c.want.Sorted ||
			!slices.Equal(l.Classes, c.want.Classes) || !slices.Equal(l.Names, c.want.Names) {
			t.Errorf("%s: %+v, want %+v", c.name, l, c.want)
		}
	}
	for _, c := range []struct{ file, want string }{
		{"", "no lines"}, {"label\n", "no labels"}, {"nan\n1\n", "label 0 is nan"}, {"1,2\n3\n", "number of fields"},
		{"a\n\"b\n", "l.csv"},
	} {
		testenv.Refused(t, testenv.Err(ParseLabels("l.csv", []byte(c.file), nil)), c.want)
	}
	testenv.Refused(t, testenv.Err(ParseLabels("l.csv", []byte("cat\nhorze\n"), []string{"cat", "horse"})),
		`"horze", which is no class; did you mean horse?`)
}

func TestLabelArrays(t *testing.T) {
	for _, c := range []struct {
		shape  []int
		data   any
		class  []int
		values int
		bad    string
	}{
		{[]int{3}, []int64{2, 0, 1}, []int{2, 0, 1}, 0, ""},
		{[]int{2}, []float32{2, 0}, nil, 2, ""},
		{[]int{2, 3}, []float32{0, 1, 0, 1, 0, 0}, []int{1, 0}, 0, ""},
		{[]int{2, 3}, []float32{0, 1, 0, 1, 1, 0}, nil, 6, ""},
		{[]int{2, 2}, []uint8{3, 1, 1, 2}, []int{3, 1, 1, 2}, 0, ""},
		{[]int{1}, []int8{-1}, nil, 0, "element 0 is -1"},
		{[]int{1}, []float64{math.NaN()}, nil, 0, "element 0 is NaN"},
	} {
		a := testenv.Must(npz.New(c.shape, c.data))(t)
		l, err := FromArray("y.npy", a)
		if c.bad != "" {
			testenv.Refused(t, err, c.bad)
			continue
		}
		testenv.Check(t, err == nil && slices.Equal(l.Class, c.class) && len(l.Value) == c.values, "%v: %+v, %v",
			c.data, l, err)
	}
}

func TestLabelsByName(t *testing.T) {
	l := &Labels{Source: "l.csv", Names: []string{"x/b.png", "a.png"}, Class: []int{2, 1}}
	got, err := l.For([]string{"a.png", "b.png", "a.png"})
	testenv.Check(t, err == nil && slices.Equal(got.Class, []int{1, 2, 1}), "%v, %v", got, err)
	testenv.Refused(t, testenv.Err(l.For([]string{"c.png"})), "none for sample c.png")
	testenv.Refused(t, testenv.Err((&Labels{Class: []int{1, 2, 3}}).For(make([]string, 2))), "3 labels for 2 samples")
}

// TestChoose: the output and axis that labels fit are found, and said to be guessed.
func TestChoose(t *testing.T) {
	scores, boxes := Output{"scores", []int{1, 10}}, Output{"boxes", []int{1, 4}}
	mask := Output{"mask", []int{1, 3, 4, 5}}
	one := Output{"p", []int{1, 1}}
	for _, c := range []struct {
		outs      []Output
		l         *Labels
		perSample int
		given     string
		output    string
		axis      int
		task      Task
		err       string
	}{
		{[]Output{boxes, scores}, &Labels{Class: []int{7}}, 1, "", "scores", 1, Classify, ""},
		{[]Output{boxes, scores}, &Labels{Class: []int{2}}, 1, "", "boxes", 1, Classify, ""},
		{[]Output{boxes, scores}, &Labels{Class: []int{2}}, 1, "scores", "scores", 1, Classify, ""},
		{[]Output{boxes, scores}, &Labels{Class: []int{2}}, 1, "scores:-1", "scores", 1, Classify, ""},
		{[]Output{boxes, scores}, &Labels{Class: []int{2}}, 1, "scores:0", "", 0, "", "do not fit there"},
		{[]Output{boxes, scores}, &Labels{Class: []int{2}}, 1, "score", "", 0, "", "did you mean scores?"},
		{[]Output{scores}, &Labels{Class: []int{10}}, 1, "", "", 0, "", "scores of 11 classes"},
		{[]Output{mask}, &Labels{Class: []int{2}}, 20, "", "mask", 1, Classify, ""},
		{[]Output{mask}, &Labels{Class: []int{2}}, 15, "", "mask", 2, Classify, ""},
		{[]Output{one}, &Labels{Class: []int{1}}, 1, "", "p", -1, Binary, ""},
		{[]Output{one}, &Labels{Class: []int{2}}, 1, "", "", 0, "", "scores of 3 classes"},
		{[]Output{scores, one}, &Labels{Value: []float64{1}}, 1, "", "p", -1, Regress, ""},
		{[]Output{scores}, &Labels{Value: []float64{1}}, 1, "", "", 0, "", "has 1 values"},
	} {
		s, task, err := Choose(c.outs, c.l, c.perSample, c.given)
		if c.err != "" {
			testenv.Refused(t, err, c.err)
			continue
		}
		if err != nil || s.Output != c.output || s.Axis != c.axis || task != c.task || s.Guessed != (c.given == "") {
			t.Errorf("%v %q: %+v, %s, %v", c.l, c.given, s, task, err)
		}
	}
	if s, task, err := Choose([]Output{scores}, nil, 0, ""); s != nil || task != Compare || err != nil {
		t.Errorf("without labels: %v, %s, %v", s, task, err)
	}
}

func row(v ...float32) []*tensor.Dense { return []*tensor.Dense{tensor.Of([]int{1, len(v)}, v)} }

// measured runs samples through a meter.
func measured(t *testing.T, outs []Output, l *Labels, topK int, samples ...[2][]*tensor.Dense) *Result {
	t.Helper()
	each := 0
	if l != nil {
		each = l.Len() / len(samples)
	}
	s, task, err := Choose(outs, l, each, "")
	testenv.OK(t, err)
	m := NewMeter(outs, l, s, task, each, topK)
	for i, x := range samples {
		m.Add(m.Measure(i, x[0], x[1]))
	}
	return m.Result(nil)
}

func TestClasses(t *testing.T) {
	outs := []Output{{"y", []int{1, 3}}}
	r := measured(t, outs, &Labels{Class: []int{0, 1, 2, 1}, Classes: []string{"a", "b", "c"}}, 2,
		[2][]*tensor.Dense{row(3, 1, 2), row(3, 1, 2)},   // both right
		[2][]*tensor.Dense{row(1, 3, 2), row(2, 1, 3)},   // lost, and third
		[2][]*tensor.Dense{row(3, 1, 2), row(1, 2, 3)},   // only the program right
		[2][]*tensor.Dense{row(2, 2, 2), row(nan, 1, 0)}) // a tie goes to the first; NaN is last
	if *r.Float.Top1 != 0.5 || *r.Program.Top1 != 0.75 || *r.Float.TopK != 1 || *r.Program.TopK != 0.75 ||
		*r.Agreement != 0.25 {
		t.Errorf("%v %v %v %v %v", *r.Float.Top1, *r.Program.Top1, *r.Float.TopK, *r.Program.TopK, *r.Agreement)
	}
	if want := [][]int{{1, 0, 0}, {0, 1, 1}, {0, 0, 1}}; !slices.EqualFunc(r.Confusion.Program, want, slices.Equal) {
		t.Errorf("confusion %v, want %v", r.Confusion.Program, want)
	}
	testenv.Check(t, len(r.Lost) == 1 && r.Lost[0] == (Lost{Sample: 1, Label: 1, Program: 2}), "lost: %+v", r.Lost)
	for _, want := range []string{"top-1  50.00 %   75.00 %", "top-2  100.00 %  75.00 %", "both say the same: 25.00 %",
		"b  .  1  1", "sample 1 (b, taken for c)"} {
		testenv.Check(t, strings.Contains(r.Text(), want), "%q is not in\n%s", want, r.Text())
	}
}

var nan = float32(math.NaN())

func TestBinary(t *testing.T) {
	outs := []Output{{"p", []int{1, 1}}}
	l := &Labels{Class: []int{0, 1, 1}}
	r := measured(t, outs, l, 5, [2][]*tensor.Dense{row(0.2), row(0.6)}, [2][]*tensor.Dense{row(0.7), row(0.9)},
		[2][]*tensor.Dense{row(0.4), row(0.6)})
	if *r.Threshold != 0.5 || *r.Float.Correct != 2 || *r.Program.Correct != 2 || r.Confusion.Float[1][0] != 1 {
		t.Errorf("%+v", r)
	}
	r = measured(t, outs, l, 5, [2][]*tensor.Dense{row(-2), nil}, [2][]*tensor.Dense{row(0.1), nil},
		[2][]*tensor.Dense{row(3), nil})
	testenv.Check(t, *r.Threshold == 0 && *r.Float.Correct == 3 && r.Program == nil && r.Confusion.Program == nil,
		"logits: %+v", r)
}

func TestValues(t *testing.T) {
	r := measured(t, []Output{{"v", []int{1, 1}}}, &Labels{Value: []float64{1, 2.5}}, 5,
		[2][]*tensor.Dense{row(1), row(2)}, [2][]*tensor.Dense{row(2), row(2.5)})
	if *r.Float.MAE != 0.25 || *r.Program.MAE != 0.5 || *r.Float.Max != 0.5 || *r.Program.RMSE != math.Sqrt(0.5) {
		t.Errorf("%+v %+v", r.Float, r.Program)
	}
	o := r.Outputs[0]
	if want := 10 * math.Log10(5/1.25); math.Abs(*o.SQNR-want) > 1e-9 || o.MaxAbs != 1 || o.MeanAbs != 0.75 {
		t.Errorf("%+v, want %g dB", o, want)
	}
}

// TestManyLabels: labels of every element, as of a segmentation.
func TestManyLabels(t *testing.T) {
	x := tensor.Of([]int{1, 2, 1, 3}, []float32{1, 0, 5, 0, 1, 4}) // classes 0, 1, 0
	r := measured(t, []Output{{"mask", []int{1, 2, 1, 3}}}, &Labels{Class: []int{0, 1, 1}}, 1,
		[2][]*tensor.Dense{{x}, {x}})
	testenv.Check(t, r.Labels == 3 && *r.Float.Correct == 2 && r.Confusion.Float[1][0] == 1, "%+v %+v", r.Float,
		r.Confusion)
}

// TestNoSignal: what has no ratio says so, and is JSON.
func TestNoSignal(t *testing.T) {
	inf := float32(math.Inf(1))
	r := measured(t, []Output{{"v", []int{1, 1}}}, nil, 5, [2][]*tensor.Dense{row(0), row(inf)})
	if o := r.Outputs[0]; o.SQNR != nil || o.MaxAbs != math.MaxFloat64 || !strings.Contains(r.Text(), "no signal") {
		t.Errorf("%+v\n%s", o, r.Text())
	}
	r = measured(t, []Output{{"v", []int{1, 1}}}, nil, 5, [2][]*tensor.Dense{row(1), row(nan)})
	o := r.Outputs[0]
	testenv.Check(t, o.SQNR != nil && *o.SQNR == -maxDB, "a program that gives NaN: %+v", o)
}

// TestUncounted: a machine that counts no instructions is said to have none counted, not to take 0.
func TestUncounted(t *testing.T) {
	r := Result{Qemu: &Qemu{Samples: 2}}
	s := r.Text()
	testenv.Check(t, !strings.Contains(s, "instructions"), "%v", s)
	r.Qemu.Instructions = 7
	if s := r.Text(); !strings.Contains(s, ", at most 7 instructions an inference\n") {
		t.Error(s)
	}
}
