// SPDX-License-Identifier: Apache-2.0

package data

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // pictures that Decode reads
	_ "image/png"
	"math"
	"strings"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/preprocess"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
)

// maxPictureBytes bounds a file, maxPixels what it may unfold to.
const (
	maxPictureBytes = 64 << 20
	maxPixels       = 1 << 24
)

// unit quantises to whole numbers.
var unit = types.PerTensor(1, 0)

// pictures adds files with a picture each, read when they are asked for.
func (s *Set) pictures(list []file) {
	v := s.only(list[0].path, "a picture")
	declared := s.opt.Spec.Of(v.Name)
	if declared.Image != nil {
		declared.Image.used = true
	}
	p, err := NewPicture(v, declared.Image)
	s.refuse(err != nil, list[0].path, "%w", err)
	if declared.Image == nil {
		s.assume(v.Name, "vision", "pictures are taken as %s", p)
	}
	from := len(s.items)
	s.each(list, p.Read)
	for i := range s.items[from:] {
		s.items[from+i].picture = p
	}
}

// Picture is how pictures become an input.
type Picture struct {
	Spec    Image
	Layout  string // nchw, nhwc
	Width   int    // of the input, in pixels
	Height  int
	Colour  string
	Strides preprocess.Strides // of the input in its logical order
	Values  []preprocess.Values
	input   *ir.Value
}

// NewPicture says how pictures become an input; im is what is declared, nil for
// nothing. An error says why the input takes no pictures.
func NewPicture(v *ir.Value, im *Image) (_ *Picture, err error) {
	defer fail.Catch(&err)
	p := &Picture{input: v}
	if im != nil {
		p.Spec = *im
	} else {
		p.Spec = *guess(v.Type)
	}
	p.geometry()
	channels := p.channels()
	p.Colour = p.Spec.Colour
	switch {
	case p.Colour == "" && channels == 1:
		p.Colour = "grey"
	case p.Colour == "":
		p.Colour = "rgb"
	case (p.Colour == "grey") != (channels == 1):
		return nil, fmt.Errorf("image.colour: %s, and the input %s of shape %s has %d channels", p.Colour, v.Name,
			shapeText(v.Type.Shape), channels)
	}
	for _, x := range []struct {
		key string
		v   []float64
	}{{"mean", p.Spec.Mean}, {"std", p.Spec.Std}} {
		fail.If(len(x.v) != 1 && len(x.v) != channels,
			"image.%s: %d numbers; want one, or %d for the channels of input %s", x.key, len(x.v), channels, v.Name)
	}
	for c := range channels {
		x := preprocess.Values{Scale: p.Spec.Scale, Mean: p.Spec.Mean[min(c, len(p.Spec.Mean)-1)],
			Std: p.Spec.Std[min(c, len(p.Spec.Std)-1)]}
		if err := x.Check(); err != nil {
			return nil, fmt.Errorf("image: %w", err)
		}
		p.Values = append(p.Values, x)
	}
	return p, nil
}

// guess is what pictures most often become: values from 0 to 1; where the input's own
// type says what it can hold, that.
func guess(t ir.Type) *Image {
	im := NewImage()
	lo, hi := t.DType.IntRange()
	switch {
	case t.DType.IsFloat():
	case t.Quant == nil:
		im.Scale = 1
	default:
		zero, s := float64(t.Quant.ZeroAt(0)), float64(t.Quant.ScaleAt(0))
		low, high := (float64(lo)-zero)*s, (float64(hi)-zero)*s
		switch near := high / 32; {
		case math.Abs(low+1) < near && math.Abs(high-1) < near:
			im.Scale, im.Mean = 1/127.5, []float64{1}
		case math.Abs(low) < near && math.Abs(high-255) < near:
			im.Scale = 1
		}
	}
	return im
}

// channels is 1 or 3.
func (p *Picture) channels() int { return p.input.Type.Elems() / (p.Width * p.Height) }

// geometry finds height, width and channels in the input's shape.
func (p *Picture) geometry() {
	shape := p.input.Type.Shape
	why := ""
	rest := shape
	if len(rest) == 4 {
		rest = rest[1:]
	}
	p.Layout = p.Spec.Layout
	switch {
	case p.input.Type.DType == tensor.Bool:
		why = "it is of truth values"
	case len(shape) == 4 && shape[0] != 1:
		why = fmt.Sprintf("a batch of %d; a model for one (--dim) does", shape[0])
	case len(rest) == 3:
		why = p.spatial(rest)
	case p.Spec.Width > 0:
		why = p.flat()
	default:
		why = "want 1x3xHxW, 1xHxWx3, or one channel; image.size says what a flat input is"
	}
	if why == "" && (p.Width < 1 || p.Height < 1 || p.Width > preprocess.MaxSide || p.Height > preprocess.MaxSide) {
		why = fmt.Sprintf("%d x %d pixels; want 1 to %d each way", p.Width, p.Height, preprocess.MaxSide)
	}
	fail.If(why != "", "input %s of shape %s takes no pictures: %s", p.input.Name, shapeText(shape), why)
	p.Strides = preprocess.Strides{Row: p.Width, Column: 1, Channel: p.Width * p.Height}
	if p.Layout == "nhwc" {
		p.Strides = preprocess.Strides{Row: p.Width * p.channels(), Column: p.channels(), Channel: 1}
	}
}

// flat is the geometry of an input that has no axes of a picture; it says what is
// wrong with it.
func (p *Picture) flat() string {
	p.Width, p.Height = p.Spec.Width, p.Spec.Height
	if p.Layout == "" {
		p.Layout = "nhwc"
	}
	if n, e := p.Width*p.Height, p.input.Type.Elems(); e != n && e != 3*n {
		return fmt.Sprintf("it is neither 1 nor 3 times image.size, %d x %d", p.Width, p.Height)
	}
	return ""
}

// spatial is the geometry of an input with three axes; it says what is wrong with it.
func (p *Picture) spatial(axes []int) string {
	colours := func(n int) bool { return n == 1 || n == 3 }
	if p.Layout == "" {
		p.Layout = "nchw"
		if !colours(axes[0]) && colours(axes[2]) {
			p.Layout = "nhwc"
		}
	}
	c := axes[0]
	p.Height, p.Width = axes[1], axes[2]
	if p.Layout == "nhwc" {
		p.Height, p.Width, c = axes[0], axes[1], axes[2]
	}
	switch {
	case !colours(c):
		return fmt.Sprintf("%d channels as %s; want 1 (grey) or 3", c, p.Layout)
	case p.Spec.Width > 0 && (p.Spec.Width != p.Width || p.Spec.Height != p.Height):
		return fmt.Sprintf("image.size is %d x %d", p.Spec.Width, p.Spec.Height)
	}
	return ""
}

// String says what becomes of a picture, for messages.
func (p *Picture) String() string {
	first, last := p.Values[0].Of(0), p.Values[0].Of(255)
	how := "bilinear"
	if p.Spec.Nearest {
		how = "nearest"
	}
	s := fmt.Sprintf(
		"%s, %d x %d pixels (%s), %s, %s, values %.4g to %.4g",
		p.Colour,
		p.Width,
		p.Height,
		strings.ToUpper(p.Layout),
		map[preprocess.Resize]string{preprocess.Stretch: "stretched", preprocess.Fit: "fitted " +
			"in with bars", preprocess.Fill: "the middle that fills it"}[p.Spec.Resize],
		how,
		first,
		last,
	)
	return s
}

// Image is the definition for frames of a size.
func (p *Picture) Image(width, height int) *preprocess.Image {
	m := &preprocess.Image{Format: p.Spec.Format, FullRange: p.Spec.Full, Width: width, Height: height,
		OutWidth: p.Width, OutHeight: p.Height, Channels: p.channels(), BGR: p.Colour == "bgr", Nearest: p.Spec.Nearest,
		Pad: p.Spec.Pad}
	m.Place(p.Spec.Resize)
	return m
}

// Read reads a picture as the input's tensor.
func (p *Picture) Read(path string) (_ *tensor.Dense, err error) {
	defer fail.Catch(&err)
	rgb, w, h := fail.Must3(ReadPicture(path))
	m := p.Image(w, h)
	fail.Check(m.Check())
	frame := preprocess.Encode(rgb, w, h, m.Format, m.FullRange)
	return toType(m.Tensor(frame, p.input.Type.Shape, p.Strides, p.Values), p.input), nil
}

// ReadPicture reads a PNG or JPEG file: red, green, blue of every pixel, 8 bits each.
// What transparency hides is there, too.
func ReadPicture(path string) (rgb []byte, width, height int, err error) {
	defer fail.Catch(&err)
	b := fail.Must(files.Read(path, maxPictureBytes))
	c, kind, err := image.DecodeConfig(bytes.NewReader(b))
	switch {
	case len(b) == 0:
		return nil, 0, 0, errors.New("the file is empty")
	case errors.Is(err, image.ErrFormat):
		return nil, 0, 0, errors.New("neither PNG nor JPEG")
	case err != nil:
		return nil, 0, 0, fmt.Errorf("the picture is broken: %w", err)
	case c.Width < 1 || c.Height < 1 || c.Width > preprocess.MaxSide || c.Height > preprocess.MaxSide ||
		c.Width*c.Height > maxPixels:
		return nil, 0, 0, fmt.Errorf("%d x %d pixels; want 1 to %d each way and at most %d together: make it smaller",
			c.Width, c.Height, preprocess.MaxSide, maxPixels)
	}
	m, _, err := image.Decode(bytes.NewReader(b))
	fail.If(err != nil, "the %s is broken: %w", strings.ToUpper(kind), err)
	return pixels(m), c.Width, c.Height, nil
}

// pixels are red, green, blue of every pixel.
func pixels(m image.Image) []byte {
	r := m.Bounds()
	out := make([]byte, 0, 3*r.Dx()*r.Dy())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			switch p := m.(type) {
			case *image.Gray:
				v := p.GrayAt(x, y).Y
				out = append(out, v, v, v)
			case *image.YCbCr:
				c := p.YCbCrAt(x, y)
				a, b, d := color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
				out = append(out, a, b, d)
			case *image.RGBA: // opaque
				c := p.RGBAAt(x, y)
				out = append(out, c.R, c.G, c.B)
			case *image.NRGBA:
				c := p.NRGBAAt(x, y)
				out = append(out, c.R, c.G, c.B)
			default:
				c, _ := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
				out = append(out, c.R, c.G, c.B)
			}
		}
	}
	return out
}

// Place says where the picture of sample i lies in its input; nil: it is none, or is not
// resized.
func (s *Set) Place(i int) (*preprocess.Image, error) {
	it := &s.items[i]
	if it.picture == nil {
		return nil, nil
	}
	b, err := files.Read(it.path, maxPictureBytes)
	if err == nil {
		var c image.Config
		if c, _, err = image.DecodeConfig(bytes.NewReader(b)); err == nil {
			m := it.picture.Image(c.Width, c.Height)
			if err = m.Check(); err == nil {
				return m, nil
			}
		}
	}
	return nil, s.err(it.path, "%w", fmt.Errorf("the picture's size: %w", err))
}
