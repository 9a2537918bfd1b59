// SPDX-License-Identifier: Apache-2.0

package eval

import (
	"slices"
	"strings"
	"testing"
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
			if err == nil || !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%q: %v, want %s", c.file, err, c.bad)
			}
		case err != nil || !slices.Equal(l.Class, c.want):
			t.Errorf("%q: %+v %v", c.file, l, err)
		}
	}
}
