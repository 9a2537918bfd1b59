// SPDX-License-Identifier: Apache-2.0

package data_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestTables: rows or files as samples, with and without names, labels and separators.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text, spec string
		shape      []int
		want       []float64 // of the last sample
		samples    int
		label      int
	}{
		"rows":      {"1,2,3\n4,5,6\n", "", []int{1, 3}, []float64{4, 5, 6}, 2, -1},
		"header":    {"a, b, c\n1,2,3\n4,5,6\n", "", []int{1, 3}, []float64{4, 5, 6}, 2, -1},
		"label":     {"a,label,c\n1,wave,3\n4,rest,6\n", "", []int{2}, []float64{4, 6}, 2, 0},
		"semicolon": {"# measured\n1;2;3\n4;5;6\n", "", []int{1, 3}, []float64{4, 5, 6}, 2, -1},
		"tabs":      {"\ufeff1\t2\n4\t5\n", "", []int{1, 2}, []float64{4, 5}, 2, -1},
		"file":      {"x,y\n1,2\n3,4\n5,6\n", "", []int{1, 3, 2}, []float64{1, 2, 3, 4, 5, 6}, 1, -1},
		"flat file": {"1,2\n3,4\n5,6\n", "", []int{6}, []float64{1, 2, 3, 4, 5, 6}, 1, -1},
		"transpose": {"1,2\n3,4\n5,6\n", "csv.transpose=true", []int{1, 2, 3}, []float64{1, 3, 5, 2, 4, 6}, 1, -1},
		"columns":   {"x,y,z\n1,2,3\n4,5,6\n", "csv.columns=z,0", []int{2}, []float64{6, 4}, 2, -1},
		"last word": {"1,2,ape\n3,4,bee\n", "csv.label=2", []int{2}, []float64{3, 4}, 2, 1},
		"values": {"1,2\n3,4\n", "csv.scale=1/2 csv.mean=1,2 csv.std=0.5", []int{2}, []float64{1, 0},
			2, -1},
		"windows": {"x\n1\n2\n3\n4\n5\n", "csv.window=2 csv.hop=1", []int{1, 2}, []float64{4, 5}, 4, -1},
		"apart":   {"x,y\n1,2\n3,4\n5,6\n", "csv.window=2", []int{2, 2}, []float64{1, 2, 3, 4}, 1, -1},
		"window transposed": {"1,2\n3,4\n5,6\n7,8\n", "csv.window=2 csv.transpose=true", []int{1, 2, 2},
			[]float64{5, 7, 6, 8}, 2, -1},
		// the window over the change of the label is no sample
		"labelled": {"x,label\n1,a\n2,a\n3,a\n4,b\n5,b\n", "csv.window=2 csv.hop=1", []int{2}, []float64{4, 5},
			3, 1},
		// nor is one over a gap in the time, or over its beginning anew
		"gap": {"t,x\n0,1\n10,2\n20,3\n90,4\n100,5\n5,6\n15,7\n", "csv.time=t csv.window=2 csv.hop=1", []int{2},
			[]float64{6, 7}, 4, -1},
		"dates": {"x,t\n1,2026-01-02T03:04:05Z\n2,2026-01-02T03:04:06Z\n3,2026-01-02T03:04:07Z\n" +
			"4,2026-01-02T03:05:07Z\n5,2026-01-02T03:05:08Z\n", "csv.time=t csv.window=2", []int{2}, []float64{4, 5},
			2, -1},
		"one column": {"1\n2\n3\n", "csv.samples=files", []int{3, 1}, []float64{1, 2, 3}, 1, -1},
	} {
		s := open(t, input(c.shape...), strings.Fields(c.spec), write(t, []byte(c.text), dir, "t.csv"))
		last := sample(t, s, s.Len()-1)
		if got := last.Inputs[0].Floats(); !slices.Equal(got, c.want) || s.Len() != c.samples ||
			last.Label != c.label {
			t.Errorf("%s: %d samples, the last %v, label %d of %v; want %d, %v, %d", name, s.Len(), got, last.Label,
				s.Classes, c.samples, c.want, c.label)
		}
	}
}

// TestTablesRefused: files that do not fit, with what was found.
func TestTablesRefused(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text, spec string
		shape      []int
		want       string
	}{
		"counts":    {"a,b\n1,2\n3,4\n", "", []int{5}, "2 rows of 2 columns ([\"a\" \"b\"]); input x has 5 values"},
		"transpose": {"1,2\n3,4\n5,6\n", "", []int{1, 2, 3}, "say --preprocess csv.transpose=true"},
		"word":      {"1,2\n3,x\n", "", []int{2}, "row 2, column 1, \"x\": want a number"},
		"nan":       {"1,NaN\n", "", []int{2}, "want a number"},
		"ragged":    {"1,2\n3\n", "", []int{2}, "wrong number of fields"},
		"empty":     {"", "", []int{2}, "the file is empty"},
		"names":     {"a,b\n", "", []int{2}, "names of columns and no rows"},
		"column":    {"ax,ay\n1,2\n", "csv.columns=az", []int{1}, "there is no column az"},
		"number":    {"1,2\n", "csv.columns=2", []int{1}, "want a number from 0 to 1"},
		"std":       {"1,2\n", "csv.std=1,0", []int{2}, "csv.std: 0"},
		"window":    {"1,2\n3,4\n", "csv.window=2", []int{3}, "windows of 2 rows of 2 columns; input x has 3 values"},
		"short":     {"1\n2\n", "csv.window=3", []int{3}, "no window of 3 rows"},
		"hop":       {"1\n2\n", "csv.hop=1", []int{2}, "csv.hop wants csv.window"},
		"time":      {"t,x\nnoon,1\n", "csv.time=t", []int{1}, "row 1, column 0, \"noon\": want a time"},
		"means":     {"1,2\n", "csv.mean=1,2,3", []int{2}, "3 numbers; want one, or 2"},
	} {
		t.Run(name, func(t *testing.T) {
			sp, err := data.Parse(strings.Fields(c.spec))
			if err == nil {
				_, err = data.Open([]string{write(t, []byte(c.text), dir, "t.csv")}, input(c.shape...),
					data.Options{Spec: sp})
			}
			testenv.Refused(t, err, c.want)
		})
	}
}
