// SPDX-License-Identifier: Apache-2.0

package data

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/postprocess"
)

// Outputs says what becomes of a model's outputs: what --postprocess declares, and "outputs"
// of a specification. The zero value declares nothing.
type Outputs struct {
	Boxes    *Boxes // nil: not declared
	Classes  *Classes
	Keywords *Keywords
	// From is the file that it was declared in, if any: other files are named from there.
	From string
}

func (o *Outputs) sections() []section {
	return []section{
		{"boxes", func() []key { return opened(&o.Boxes, NewBoxes).keys() }},
		{"classes", func() []key { return opened(&o.Classes, NewClasses).keys() }},
		{"keywords", func() []key { return opened(&o.Keywords, NewKeywords).keys() }},
	}
}

// Empty reports that nothing is declared.
func (o *Outputs) Empty() bool { return o.Boxes == nil && o.Classes == nil && o.Keywords == nil }

// Emits reports whether code is wanted for any of it.
func (o *Outputs) Emits() bool {
	return o.Boxes != nil && o.Boxes.Emit || o.Classes != nil && o.Classes.Emit ||
		o.Keywords != nil && o.Keywords.Emit
}

// ParseOutputs reads the values of --postprocess into a specification: a YAML file as
// --preprocess takes, or KIND.KEY=VALUE such as boxes.threshold=0.3. What comes later wins.
func (s *Spec) ParseOutputs(values []string) error {
	for _, v := range values {
		if err := s.value(v, "KIND.KEY=VALUE, such as boxes.threshold=0.3", s.Outputs.set); err != nil {
			return text.Errorf("--postprocess %s: %w", v, err)
		}
	}
	return nil
}

// set sets a key, "boxes.threshold".
func (o *Outputs) set(name string, v []string) error {
	kind, k, dot := strings.Cut(name, ".")
	if s := sectionOf(o.sections(), kind); s != nil && dot {
		return setKey(s.open(), k, v)
	}
	if n := nearOutput(kind, k, dot); n != "" {
		return text.Errorf("unknown key %s (did you mean %s?)", name, n)
	}
	return text.Errorf("unknown key %s; want KIND.KEY with one of the kinds %s", name,
		strings.Join(sectionNames(o.sections()), ", "))
}

// nearOutput is the key that was meant by a kind and the rest of a name; "" for none.
func nearOutput(kind, rest string, dot bool) string {
	list := new(Outputs).sections()
	if dot {
		if n := text.Nearest(kind, sectionNames(list)); n != "" {
			return n + "." + rest
		}
		return ""
	}
	for _, s := range list {
		if slices.ContainsFunc(s.open(), func(k key) bool { return k.name == kind }) {
			return s.name + "." + kind
		}
	}
	return ""
}

// Emitted is what of p code is wanted for; the others are nil.
func (o *Outputs) Emitted(p *Post) (b *postprocess.Boxes, c *postprocess.Classes, k *postprocess.Keywords) {
	if o.Boxes != nil && o.Boxes.Emit {
		b = p.Boxes
	}
	if o.Classes != nil && o.Classes.Emit {
		c = p.Classes
	}
	if o.Keywords != nil && o.Keywords.Emit {
		k = p.Keywords
	}
	return b, c, k
}

// Classes says how the best classes are read.
type Classes struct {
	From       string // an output; "": the only one
	Activation string
	Top        int       // classes that are given
	Threshold  []float64 // the least score, or one for each class
	Emit       bool      // C is wanted
}

// NewClasses are classes of which nothing is declared.
func NewClasses() *Classes { return &Classes{Activation: "none", Top: 5, Threshold: []float64{0}} }

func (x *Classes) keys() []key {
	return []key{
		{"from", word(&x.From)},
		{"activation", oneOf(&x.Activation, postprocess.Activations()...)},
		{"top", whole(&x.Top, 1, 1000)},
		{"threshold", shares(&x.Threshold)},
		{"emit", yes(&x.Emit)},
	}
}

// Keywords says how keywords are heard.
type Keywords struct {
	From       string
	Activation string
	Window     int       // runs of which the mean is taken
	Threshold  []float64 // the least mean, or one for each class
	Quiet      int       // runs after a keyword in which none is heard
	Ignore     []int     // classes that are no keywords
	Emit       bool      // C is wanted
}

// NewKeywords are keywords of which nothing is declared.
func NewKeywords() *Keywords {
	return &Keywords{Activation: "none", Window: 5, Threshold: []float64{0.5}, Quiet: 10}
}

func (x *Keywords) keys() []key {
	return []key{
		{"from", word(&x.From)},
		{"activation", oneOf(&x.Activation, postprocess.Activations()...)},
		{"window", whole(&x.Window, 1, 1000)},
		{"threshold", shares(&x.Threshold)},
		{"quiet", whole(&x.Quiet, 0, 1000000)},
		{"ignore", x.ignore},
		{"emit", yes(&x.Emit)},
	}
}

func (x *Keywords) ignore(v []string) error {
	x.Ignore = make([]int, len(v))
	for i, s := range v {
		if whole(&x.Ignore[i], 0, math.MaxInt32)([]string{s}) != nil {
			return errors.New("want numbers of classes, from 0")
		}
	}
	return nil
}
