// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/postprocess"
	"github.com/nncc/nncc/ir/preprocess"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

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
