// SPDX-License-Identifier: Apache-2.0

package data

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/preprocess"
)

// Spec says how files become the inputs of a model: what --preprocess declares. The
// zero value declares nothing.
type Spec struct {
	All    Input             // what is said of no input in particular
	Inputs map[string]*Input // by name
	// Outputs is what becomes of the model's outputs.
	Outputs Outputs
}

// Input is what is declared for an input.
type Input struct {
	Layout string // of arrays: "", "nchw", "nhwc"
	Image  *Image // nil: not declared
	Sound  *Sound
	Table  *Table
}

func (in *Input) keys() []key { return []key{{"layout", oneOf(&in.Layout, "nchw", "nhwc")}} }

func (in *Input) sections() []section {
	return []section{
		{"image", func() []key { return opened(&in.Image, NewImage).keys() }},
		{"audio", func() []key { return opened(&in.Sound, NewSound).keys() }},
		{"csv", func() []key { return opened(&in.Table, NewTable).keys() }},
	}
}

// Image says how pictures become an input: (pixel * scale - mean) / std.
type Image struct {
	Resize  preprocess.Resize
	Nearest bool
	Colour  string // "": by the number of channels; rgb, bgr, grey
	Scale   float64
	Mean    []float64 // one number, or one for each channel, in units of pixel * scale
	Std     []float64
	Pad     uint8  // the pixel of the bars of fit
	Layout  string // "": by the shape; nchw, nhwc
	Width   int    // of the input; 0: by its shape
	Height  int
	Format  preprocess.Format // of the device's frames: pictures go through it
	Full    bool              // YUV of full range: Y from 0 to 255, not from 16 to 235
	// Emit asks for C that makes the input of the device's frames, which are of this size.
	Emit                    bool
	FrameWidth, FrameHeight int // 0: not said
	told
}

// NewImage is an image of which nothing is declared.
func NewImage() *Image {
	return &Image{Scale: 1. / 255, Mean: []float64{0}, Std: []float64{1}}
}

func (x *Image) keys() []key {
	return noting(&x.said, []key{
		{"resize", choice(&x.Resize, preprocess.Resizes()...)},
		{"interpolation", truth(&x.Nearest, "nearest", "bilinear", "nearest")},
		{"colour", british(oneOf(&x.Colour, "rgb", "bgr", "grey"))},
		{"scale", scale(&x.Scale)},
		{"mean", numbers(&x.Mean)},
		{"std", numbers(&x.Std)},
		{"pad", whole(&x.Pad, 0, 255)},
		{"layout", oneOf(&x.Layout, "nchw", "nhwc")},
		{"size", size(&x.Width, &x.Height)},
		{"format", choice(&x.Format, preprocess.Formats()...)},
		{"frame", size(&x.FrameWidth, &x.FrameHeight)},
		{"emit", yes(&x.Emit)},
		{"range", truth(&x.Full, "full", "limited", "full")},
	})
}

// set sets the key of an input, "layout" or "image.resize"; more are other keys
// that an error should name.
func (in *Input) set(name string, v []string, more ...string) error {
	kind, k, _ := strings.Cut(name, ".")
	if s := sectionOf(in.sections(), kind); s != nil {
		return setKey(s.open(), k, v)
	}
	err := setKey(in.keys(), name, v, append(sectionNames(in.sections()), more...)...)
	if n := nearQualified(name); err != nil && n != "" {
		return text.Errorf("unknown key %s (did you mean %s?)", name, n)
	}
	return err
}

// nearQualified is the key of a section that was meant by a name without it or with a
// wrong one; "" for none.
func nearQualified(name string) string {
	var in Input
	if slices.ContainsFunc(in.keys(), func(k key) bool { return k.name == name }) {
		return ""
	}
	kind, last, dot := strings.Cut(name, ".")
	if !dot {
		kind, last = "", name
	}
	var plain, qualified []string
	for _, s := range in.sections() {
		for _, k := range s.open() {
			plain, qualified = append(plain, k.name), append(qualified, s.name+"."+k.name)
		}
	}
	if n := text.Nearest(kind, sectionNames(in.sections())) + "." + last; slices.Contains(qualified, n) {
		return n
	}
	if n := text.Nearest(last, plain); n != "" {
		return qualified[slices.Index(plain, n)]
	}
	return ""
}

// Empty reports a specification that declares nothing.
func (s *Spec) Empty() bool {
	return s == nil || s.All == (Input{}) && len(s.Inputs) == 0
}

// Of is what is declared for an input.
func (s *Spec) Of(name string) *Input {
	switch {
	case s == nil:
		return &Input{}
	case s.Inputs[name] != nil:
		return s.Inputs[name]
	}
	return &s.All
}

// Check refuses names that the model's inputs do not have.
func (s *Spec) Check(inputs []string) error {
	if s == nil {
		return nil
	}
	var wrong []string
	for n := range s.Inputs {
		if !slices.Contains(inputs, n) {
			wrong = append(wrong, n)
		}
	}
	slices.Sort(wrong)
	for _, n := range wrong {
		return text.Errorf("--preprocess: the model has no input %s%s; inputs: %s", n, near(n, inputs),
			strings.Join(inputs, ", "))
	}
	return nil
}

// maxSpecBytes bounds a specification file.
const maxSpecBytes = 1 << 20

// Parse reads the values of --preprocess: a YAML file, or [INPUT:]KEY=VALUE such as
// image.resize=fit. What comes later wins.
//
// A file has the keys of an input (image, audio, csv, layout) for all inputs, and, below
// "inputs", for each by name; "outputs" says what follows the model (ParseOutputs).
func Parse(values []string) (*Spec, error) {
	s := &Spec{Inputs: map[string]*Input{}}
	for _, v := range values {
		err := s.value(v, "[INPUT:]KEY=VALUE, such as image.resize=fit", func(name string, words []string) error {
			in := &s.All
			if i := strings.LastIndex(name, ":"); i >= 0 {
				in, name = s.input(name[:i]), name[i+1:]
			}
			return in.set(name, words)
		})
		if err != nil {
			return nil, text.Errorf("--preprocess %s: %w", v, err)
		}
	}
	return s, nil
}

// value reads a file, or hands KEY=VALUE to set; form is what the latter looks like.
func (s *Spec) value(v, form string, set func(name string, words []string) error) error {
	name, value, ok := strings.Cut(v, "=")
	if ext := filepath.Ext(v); ext == ".yaml" || ext == ".yml" || !ok {
		if _, err := os.Stat(v); err != nil && ext == "" {
			return errors.New("want FILE.yaml or " + form)
		}
		return s.file(v)
	}
	return set(name, strings.Split(value, ","))
}

// input is what is declared for an input: all that is said of every input, at
// first.
func (s *Spec) input(name string) *Input {
	if s.Inputs[name] == nil {
		s.Inputs[name] = s.All.clone()
	}
	return s.Inputs[name]
}

func (in *Input) clone() *Input {
	return &Input{in.Layout, copied(in.Image), copied(in.Sound), copied(in.Table)}
}

func copied[T any](x *T) *T {
	if x == nil {
		return nil
	}
	c := *x
	return &c
}

func (s *Spec) file(path string) (err error) {
	defer fail.Catch(&err)
	b, err := files.Read(path, maxSpecBytes)
	if err != nil {
		return files.Reason(err)
	}
	root := fail.Must(files.YAML(b, "write the value out"))
	fail.If(root == nil, "the file is empty; want keys such as image or inputs")
	r := &specReader{}
	var byName *yaml.Node // read when all is known that is said of every input
	r.mapping(root, "the file", func(k, v *yaml.Node) {
		switch k.Value {
		case "inputs":
			byName = v
		case "outputs":
			r.outputs(&s.Outputs, path, v)
		default:
			r.input(&s.All, k, v, "inputs", "outputs")
		}
	})
	if byName != nil {
		r.mapping(byName, "inputs", func(name, v *yaml.Node) {
			in := s.input(name.Value)
			r.mapping(v, name.Value, func(k, v *yaml.Node) { r.input(in, k, v) })
		})
	}
	return errors.Join(r.errs...)
}

// specReader collects what is wrong with a file, by line.
type specReader struct{ errs []error }

func (r *specReader) fail(n *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, text.Errorf("line %d: %w", n.Line, text.Errorf(format, args...)))
}

// mapping calls do for every key, none of which may come twice.
func (r *specReader) mapping(n *yaml.Node, what string, do func(k, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fail(n, "%s: want keys with values", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if seen[k.Value] {
			r.fail(k, "%s is there twice", k.Value)
			continue
		}
		seen[k.Value] = true
		do(k, n.Content[i+1])
	}
}

// input reads a key of an input; more are other keys that may stand there.
func (r *specReader) input(in *Input, k, v *yaml.Node, more ...string) {
	s := sectionOf(in.sections(), k.Value)
	switch {
	case s == nil:
		r.set(k, v, false, "", func(words []string) error { return in.set(k.Value, words, more...) })
	case isNull(v):
		s.open()
	case v.Kind != yaml.MappingNode:
		r.fail(v, "%s: want keys with values below it", k.Value)
	default:
		s.open()
		r.mapping(v, k.Value, func(k2, v2 *yaml.Node) {
			r.set(k2, v2, false, "", func(words []string) error { return in.set(k.Value+"."+k2.Value, words) })
		})
	}
}

// outputs reads what stands below "outputs" in a file.
func (r *specReader) outputs(o *Outputs, path string, n *yaml.Node) {
	o.From = path
	r.mapping(n, "outputs", func(k, v *yaml.Node) {
		names, s := sectionNames(o.sections()), sectionOf(o.sections(), k.Value)
		if s == nil {
			r.fail(k, "unknown key %s%s; want one of %s", k.Value, near(k.Value, names), strings.Join(names, ", "))
			return
		}
		keys := s.open()
		if isNull(v) {
			return
		}
		r.mapping(v, k.Value, func(k2, v2 *yaml.Node) {
			r.set(k2, v2, true, k.Value+": ", func(words []string) error { return setKey(keys, k2.Value, words) })
		})
	})
}

func isNull(v *yaml.Node) bool { return v.Kind == yaml.ScalarNode && v.Tag == "!!null" }

// set hands the words of a value to a key: one, or a list; nested: lists in it one behind the other.
// What is wrong is said with what stands in front.
func (r *specReader) set(k, v *yaml.Node, nested bool, front string, set func(words []string) error) {
	words := []string{v.Value}
	if v.Kind == yaml.SequenceNode {
		words = nil
		for _, c := range v.Content {
			list := []*yaml.Node{c}
			if nested && c.Kind == yaml.SequenceNode {
				list = c.Content
			}
			for _, x := range list {
				if x.Kind != yaml.ScalarNode {
					r.fail(c, "%s: want numbers or words in the list", k.Value)
					return
				}
				words = append(words, x.Value)
			}
		}
	} else if nested && v.Kind != yaml.ScalarNode {
		r.fail(v, "%s: want a word, a number or a list of them", k.Value)
		return
	}
	if err := set(words); err != nil {
		r.fail(k, "%s%w", front, err)
	}
}
