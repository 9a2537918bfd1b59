// SPDX-License-Identifier: Apache-2.0

package data

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/text"
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

// Image says how pictures become an input.
type Image struct {
	Resize  preprocess.Resize
	Nearest bool
	Colour  string // "": by the number of channels; rgb, bgr, grey
	Scale   float64
	Mean    []float64 // one number, or one for each channel
	Std     []float64
	Pad     uint8
	Layout  string // "": by the shape; nchw, nhwc
	Width   int    // of the input; 0: by its shape
	Height  int
	Format  preprocess.Format // of the device's frames
	Full    bool              // YUV of full range
	// Emit asks for C that makes the input of the device's frames, which are of this size.
	Emit                    bool
	FrameWidth, FrameHeight int // 0: not said
	told
}

// NewImage is an image of which nothing is declared.
func NewImage() *Image {
	return &Image{Scale: 1. / 255, Mean: []float64{0}, Std: []float64{1}}
}

// key is a word of the specification: what it does, and the values it takes.
type key[T any] struct {
	name, want, doc string
	set             func(x *T, v []string) error
}

// inputKeys are those of an input.
var inputKeys = []key[Input]{
	{"layout", "nchw, nhwc", "the order of the axes of arrays", func(x *Input, v []string) error {
		return oneOf(&x.Layout, v, "nchw", "nhwc")
	}},
}

// imageKeys are those of "image".
var imageKeys = []key[Image]{
	{
		"resize",
		"stretch, fit, fill",
		"stretch both sides; fit the whole picture, with bars; fill the input with the " +
			"middle",
		func(x *Image, v []string) error {
			var s string
			err := oneOf(&s, v, preprocess.Resizes()...)
			x.Resize = preprocess.Resize(max(slices.Index(preprocess.Resizes(), s), 0))
			return err
		},
	},
	{"interpolation", "bilinear, nearest", "how pixels between pixels are made", func(x *Image, v []string) error {
		var s string
		err := oneOf(&s, v, "bilinear", "nearest")
		x.Nearest = s == "nearest"
		return err
	}},
	{"colour", "rgb, bgr, grey", "what the channels are", func(x *Image, v []string) error {
		if len(v) == 1 && v[0] == "gray" {
			v = []string{"grey"}
		}
		return oneOf(&x.Colour, v, "rgb", "bgr", "grey")
	}},
	{"scale", "a number or 1/255", "(pixel * scale - mean) / std is the value", func(x *Image, v []string) error {
		return scale(&x.Scale, v)
	}},
	{"mean", "a number, or one for each channel", "in units of pixel * scale", func(x *Image, v []string) error {
		return numbers(&x.Mean, v)
	}},
	{"std", "a number, or one for each channel", "in units of pixel * scale", func(x *Image, v []string) error {
		return numbers(&x.Std, v)
	}},
	{"pad", "0 to 255", "the pixel of the bars of fit", func(x *Image, v []string) error {
		n, err := whole(v, 0, 255)
		x.Pad = uint8(n)
		return err
	}},
	{"layout", "nchw, nhwc", "the order of the input's axes, where its shape does not say", func(x *Image,
		v []string) error {
		return oneOf(&x.Layout, v, "nchw", "nhwc")
	}},
	{
		"size",
		"WIDTHxHEIGHT",
		"the input's pixels, where its shape does not say",
		func(x *Image, v []string) (err error) {
			x.Width, x.Height, err = preprocess.Size(strings.Join(v, ","))
			return err
		},
	},
	{"format", strings.Join(preprocess.Formats(), ", "), "pixels of the device's frames: pictures go through it",
		func(x *Image, v []string) error {
			f, ok := preprocess.ParseFormat(strings.Join(v, ","))
			x.Format = f
			if !ok {
				return fmt.Errorf("want one of %s", strings.Join(preprocess.Formats(), ", "))
			}
			return nil
		}},
	{"frame", "WIDTHxHEIGHT", "the device's frames", func(x *Image, v []string) (err error) {
		x.FrameWidth, x.FrameHeight, err = preprocess.Size(strings.Join(v, ","))
		return err
	}},
	{"emit", "true, false", "write C that makes the input of such frames", func(x *Image, v []string) error {
		return truth(&x.Emit, v)
	}},
	{"range", "limited, full", "of YUV: Y from 16 to 235, or from 0 to 255", func(x *Image, v []string) error {
		var s string
		err := oneOf(&s, v, "limited", "full")
		x.Full = s == "full"
		return err
	}},
}

// Kinds are the keys of an input that have keys of their own.
func Kinds() []string { return []string{"image", "audio", "csv"} }

// declare makes an input one of a kind, whose keys the function sets.
func (in *Input) declare(kind string) func(name string, v []string) error {
	switch kind {
	case "image":
		in.Image = cmp.Or(in.Image, NewImage())
		return func(name string, v []string) error {
			in.Image.tell(name)
			return setKey(in.Image, imageKeys, name, v)
		}
	case "audio":
		in.Sound = cmp.Or(in.Sound, NewSound())
		return func(name string, v []string) error { return setKey(in.Sound, soundKeys, name, v) }
	case "csv":
		in.Table = cmp.Or(in.Table, NewTable())
		return func(name string, v []string) error { return setKey(in.Table, tableKeys, name, v) }
	}
	return nil
}

// set sets the key of an input, "layout" or "image.resize"; more are other keys
// that an error should name.
func (in *Input) set(name string, v []string, more ...string) error {
	kind, k, _ := strings.Cut(name, ".")
	if slices.Contains(Kinds(), kind) {
		return in.declare(kind)(k, v)
	}
	err := setKey(in, inputKeys, name, v, append(Kinds(), more...)...)
	if n := nearQualified(name); err != nil && n != "" {
		return text.Errorf("unknown key %s (did you mean %s?)", name, n)
	}
	return err
}

// nearQualified is the key of a kind that was meant by a name without it or with a
// wrong one; "" for none.
func nearQualified(name string) string {
	if slices.ContainsFunc(inputKeys, func(k key[Input]) bool { return k.name == name }) {
		return ""
	}
	kind, last, dot := strings.Cut(name, ".")
	if !dot {
		kind, last = "", name
	}
	var plain, qualified []string
	add := func(k, n string) { plain, qualified = append(plain, n), append(qualified, k+"."+n) }
	for _, k := range imageKeys {
		add("image", k.name)
	}
	for _, k := range soundKeys {
		add("audio", k.name)
	}
	for _, k := range tableKeys {
		add("csv", k.name)
	}
	if n := text.Nearest(kind, Kinds()) + "." + last; slices.Contains(qualified, n) {
		return n
	}
	if n := text.Nearest(last, plain); n != "" {
		return qualified[slices.Index(plain, n)]
	}
	return ""
}

// setKey sets a key of a table; more are names that are none of the table's.
func setKey[T any](x *T, keys []key[T], name string, v []string, more ...string) error {
	all := slices.Clone(more)
	for _, k := range keys {
		if k.name == name {
			if err := k.set(x, v); err != nil {
				return text.Errorf("%s: %s: %w", name, strings.Join(v, ", "), err)
			}
			return nil
		}
		all = append(all, k.name)
	}
	return text.Errorf("unknown key %s%s; want one of %s", name, near(name, all), strings.Join(all, ", "))
}

func near(s string, all []string) string {
	if n := text.Nearest(s, all); n != "" {
		return fmt.Sprintf(" (did you mean %s?)", n)
	}
	return ""
}

func oneOf(to *string, v []string, all ...string) error {
	s := strings.ToLower(strings.Join(v, ","))
	if !slices.Contains(all, s) {
		return fmt.Errorf("want one of %s", strings.Join(all, ", "))
	}
	*to = s
	return nil
}

func truth(to *bool, v []string) error {
	var s string
	err := oneOf(&s, v, "true", "false")
	*to = s == "true"
	return err
}

// whole reads a whole number within bounds.
func whole(v []string, lo, hi int) (int, error) {
	n, err := strconv.Atoi(strings.Join(v, ","))
	if err != nil || n < lo || n > hi {
		return 0, fmt.Errorf("want a whole number from %d to %d", lo, hi)
	}
	return n, nil
}

// number reads 0.5 or 1/255.
func number(to *float64, v []string) error {
	s := strings.Join(v, ",")
	a, b, fraction := strings.Cut(s, "/")
	x, err := strconv.ParseFloat(strings.TrimSpace(a), 64)
	if err == nil && fraction {
		var y float64
		y, err = strconv.ParseFloat(strings.TrimSpace(b), 64)
		x /= y
	}
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("want a number, such as 0.5 or 1/255")
	}
	*to = x
	return nil
}

// scale reads a number by which values are multiplied: with 0 all would be the same.
func scale(to *float64, v []string) error {
	if err := number(to, v); err != nil {
		return err
	}
	if *to == 0 {
		return errors.New("want a number other than 0, such as 1/255: every value would be the same")
	}
	return nil
}

func numbers(to *[]float64, v []string) error {
	out := make([]float64, len(v))
	for i, s := range v {
		if err := number(&out[i], []string{s}); err != nil {
			return err
		}
	}
	if len(out) == 0 {
		return fmt.Errorf("want a number")
	}
	*to = out
	return nil
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
