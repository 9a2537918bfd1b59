// SPDX-License-Identifier: Apache-2.0

package data

import (
	"errors"
	"math"
	"strings"

	"github.com/nncc/nncc/ir/postprocess"
)

// Classes says how the best classes are read.
type Classes struct {
	From       string // an output; "": the only one
	Activation string
	Top        int
	Threshold  []float64
	Emit       bool
}

// NewClasses are classes of which nothing is declared.
func NewClasses() *Classes { return &Classes{Activation: "none", Top: 5, Threshold: []float64{0}} }

var classKeys = []key[Classes]{
	{"from", "the name of an output", "the scores", func(x *Classes, v []string) error {
		x.From = strings.Join(v, ",")
		return nil
	}},
	{"activation", "none, sigmoid, softmax", "what makes scores of values", func(x *Classes, v []string) error {
		return oneOf(&x.Activation, v, postprocess.Activations()...)
	}},
	{"top", "1 to 1000", "classes that are given", func(x *Classes, v []string) error {
		return wholeTo(&x.Top, v, 1, 1000)
	}},
	{"threshold", "0 to 1, or one for each class", "the least score", func(x *Classes, v []string) error {
		return shares(&x.Threshold, v)
	}},
	{"emit", "true, false", "write C that reads the classes", func(x *Classes, v []string) error {
		return truth(&x.Emit, v)
	}},
}

// Keywords says how keywords are heard.
type Keywords struct {
	From       string
	Activation string
	Window     int
	Threshold  []float64
	Quiet      int
	Ignore     []int
	Emit       bool
}

// NewKeywords are keywords of which nothing is declared.
func NewKeywords() *Keywords {
	return &Keywords{Activation: "none", Window: 5, Threshold: []float64{0.5}, Quiet: 10}
}

var keywordKeys = []key[Keywords]{
	{"from", "the name of an output", "the scores", func(x *Keywords, v []string) error {
		x.From = strings.Join(v, ",")
		return nil
	}},
	{"activation", "none, sigmoid, softmax", "what makes scores of values", func(x *Keywords, v []string) error {
		return oneOf(&x.Activation, v, postprocess.Activations()...)
	}},
	{"window", "1 to 1000", "runs of which the mean is taken", func(x *Keywords, v []string) error {
		return wholeTo(&x.Window, v, 1, 1000)
	}},
	{"threshold", "0 to 1, or one for each class", "the least mean", func(x *Keywords, v []string) error {
		return shares(&x.Threshold, v)
	}},
	{"quiet", "0 to 1000000", "runs after a keyword in which none is heard", func(x *Keywords, v []string) error {
		return wholeTo(&x.Quiet, v, 0, 1000000)
	}},
	{"ignore", "numbers of classes", "classes that are no keywords", func(x *Keywords, v []string) error {
		x.Ignore = nil
		for _, s := range v {
			n, err := whole([]string{s}, 0, math.MaxInt32)
			if err != nil {
				return errors.New("want numbers of classes, from 0")
			}
			x.Ignore = append(x.Ignore, n)
		}
		return nil
	}},
	{"emit", "true, false", "write C that hears keywords", func(x *Keywords, v []string) error {
		return truth(&x.Emit, v)
	}},
}
