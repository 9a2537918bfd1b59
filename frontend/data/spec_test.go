// SPDX-License-Identifier: Apache-2.0

package data_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/frontend/data"
)

// TestPictureKinds: every kind of PNG and JPEG gives its colours.
func TestPictureKinds(t *testing.T) {
	dir := t.TempDir()
	r := image.Rect(0, 0, 8, 8)
	c := color.NRGBA{R: 200, G: 100, B: 50, A: 255}
	fill := func(m interface {
		image.Image
		Set(x, y int, c color.Color)
	}) image.Image {
		for y := range 8 {
			for x := range 8 {
				m.Set(x, y, c)
			}
		}
		return m
	}
	var jpg bytes.Buffer
	testenv.OK(t, jpeg.Encode(&jpg, fill(image.NewRGBA(r)), &jpeg.Options{Quality: 100}))
	glass := image.NewNRGBA(r)
	for i := range glass.Pix {
		glass.Pix[i] = []uint8{200, 100, 50, 10}[i%4] // transparent: the colour is there all the same
	}
	for name, k := range map[string]struct {
		b     []byte
		slack float64
	}{
		"rgb.png":     {encodePNG(t, fill(image.NewRGBA(r))), 0},
		"alpha.png":   {encodePNG(t, glass), 0},
		"deep.png":    {encodePNG(t, fill(image.NewNRGBA64(r))), 0},
		"palette.png": {encodePNG(t, fill(image.NewPaletted(r, color.Palette{color.Black, c}))), 0},
		"photo.jpg":   {jpg.Bytes(), 2},
		"renamed.png": {jpg.Bytes(), 2},
	} {
		s := open(t, input(1, 4, 4, 3), []string{"image.scale=1"}, write(t, k.b, dir, name))
		x := sample(t, s, 0).Inputs[0]
		for i, want := range []float64{200, 100, 50} {
			if got := x.Float(21 + i); got < want-k.slack || got > want+k.slack {
				t.Errorf("%s: channel %d is %g, want %g", name, i, got, want)
			}
		}
	}
	grey := image.NewGray16(r)
	for i := range grey.Pix {
		grey.Pix[i] = 0x4d
	}
	x := sample(t, open(t, input(1, 1, 8, 8), []string{"image.scale=1"}, write(t, encodePNG(t, grey), dir, "grey.png")),
		0).Inputs[0]
	testenv.Equal(t, x.Float(9), 0x4d, "16 bits of grey")
}

// TestDeclared: every key does what it says.
func TestDeclared(t *testing.T) {
	dir := t.TempDir()
	m := image.NewNRGBA(image.Rect(0, 0, 4, 2)) // left half red, right half blue
	for y := range 2 {
		for x := range 4 {
			m.Set(x, y, color.NRGBA{R: 255 * uint8(1-x/2), B: 255 * uint8(x/2), A: 255})
		}
	}
	p := write(t, encodePNG(t, m), dir, "m.png")
	for _, c := range []struct {
		spec  string
		shape []int
		want  []float64
	}{
		{"image.layout=nhwc image.interpolation=nearest", []int{1, 1, 2, 3}, []float64{255, 0, 0, 0, 0, 255}},
		{"image.layout=nhwc image.colour=bgr image.interpolation=nearest", []int{1, 1, 2, 3},
			[]float64{0, 0, 255, 255, 0, 0}},
		{"image.interpolation=nearest", []int{1, 3, 1, 2}, []float64{255, 0, 0, 0, 0, 255}},
		{"image.colour=grey image.interpolation=nearest", []int{1, 1, 1, 2}, []float64{76, 29}},

		{"image.layout=nhwc image.scale=1/255 image.mean=0.5 image.std=0.25,0.5,1 image.interpolation=nearest",
			[]int{1, 1, 2, 3},
			[]float64{2, -1, -.5, -2, -1, .5}},
		{"image.resize=fill image.layout=nhwc", []int{1, 1, 1, 3}, []float64{128, 0, 128}},
		{"image.pad=9 image.resize=fit",
			[]int{1, 4, 4, 1},
			[]float64{9, 9, 9, 9, 76, 76, 29, 29, 76, 76, 29, 29, 9, 9, 9, 9}},
		{"image.size=2x1 image.interpolation=nearest", []int{1, 6}, []float64{255, 0, 0, 0, 0, 255}},
		{"image.size=2x1 image.layout=nchw image.interpolation=nearest", []int{6}, []float64{255, 0, 0, 0, 0, 255}},
		{"image.layout=nhwc image.format=rgb565 image.mean=1 image.interpolation=nearest", []int{1, 1, 2, 3},
			[]float64{254, -1, -1, -1, -1, 254}},
		{"image.format=yuyv image.range=full image.interpolation=nearest", []int{1, 1, 1, 2}, []float64{77, 29}},
	} {
		spec := strings.Fields(c.spec)
		if !strings.Contains(c.spec, "scale") {
			spec = append(spec, "image.scale=1")
		}
		x := sample(t, open(t, input(c.shape...), spec, p), 0).Inputs[0]
		if got := x.Floats(); !slices.Equal(got, c.want) || !slices.Equal(x.Shape, c.shape) {
			t.Errorf("%s: %v %v, want %v", c.spec, x.Shape, got, c.want)
		}
	}
}

// TestSpecErrors: what a specification says wrong is named with what is near.
func TestSpecErrors(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ spec, want string }{
		{"image.resise=fit", "unknown key resise (did you mean resize?)"},
		{"imag.resize=fit", "unknown key imag.resize (did you mean image.resize?)"},
		{"resize=fit", "unknown key resize (did you mean image.resize?)"},
		{"layout=nwhc", "want one of nchw, nhwc"},
		{"image.scale=big", "want a number, such as 0.5 or 1/255"},
		{"image.scale=1/0", "want a number"},
		{"image.pad=300", "want a whole number from 0 to 255"},
		{"image.size=0x4", "want WIDTHxHEIGHT"},
		{"image.format=rgb555", "want one of rgb888"},
		{"pictures", "want FILE.yaml or [INPUT:]KEY=VALUE"},
		{write(t, []byte("image:\n  resize: fit\n  colur: rgb\n"), dir, "a.yaml"),
			"line 3: unknown key colur (did you mean colour?)"},
		{write(t, []byte("imag:\n  resize: fit\n"), dir, "b.yaml"), "line 1: unknown key imag (did you mean image?)"},
		{write(t, []byte("inputs:\n  x:\n    image: fit\n"), dir, "c.yaml"),
			"line 3: image: want keys with values below it"},
		{write(t, []byte("image:\n  mean: [1, [2]]\n"), dir, "d.yaml"), "line 2: mean: want numbers or words"},
		{write(t, []byte("image:\n  mean: 1\n  mean: 2\n"), dir, "e.yaml"), "line 3: mean is there twice"},
		{write(t, nil, dir, "f.yaml"), "the file is empty"},
		{filepath.Join(dir, "none.yaml"), "no such file"},
	} {
		testenv.Refused(t, testenv.Err(data.Parse([]string{c.spec})), c.want)
	}
	p := write(t, encodePNG(t, flat(2, 2, color.Gray{255})), dir, "m.png")
	for _, c := range []struct {
		spec  string
		shape []int
		want  string
	}{
		{"y:image.scale=1", []int{1, 1, 2, 2}, "the model has no input y"},
		{"image.colour=rgb", []int{1, 1, 2, 2}, "has 1 channels"},
		{"image.mean=1,2", []int{1, 3, 2, 2}, "2 numbers; want one, or 3"},
		{"image.std=0", []int{1, 3, 2, 2}, "std 0"},
		{"image.pad=0", []int{1, 12}, "image.size says what a flat input is"},
		{"image.size=4x4", []int{1, 12}, "neither 1 nor 3 times image.size"},
		{"image.size=4x4", []int{1, 3, 2, 2}, "image.size is 4 x 4"},
		{"image.pad=0", []int{2, 3, 2, 2}, "a batch of 2"},
		{"image.pad=0", []int{1, 5, 4, 4}, "5 channels as nchw"},
	} {
		sp, err := data.Parse([]string{c.spec})
		if err == nil {
			_, err = data.Open([]string{p}, input(c.shape...), data.Options{Spec: sp})
		}
		testenv.Refused(t, err, c.want)
	}
}

// TestFile: a YAML file says the same as flags; an input's own keys win over those of all.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	f := write(t,
		[]byte("image:\n  scale: 1\n  mean: [1, 2, 3]\ninputs:\n  x:\n    image:\n      pad: 4\noutputs: {}\n"), dir,
		"s.yaml")
	s := testenv.Must(data.Parse([]string{f, "x:image.resize=fit"}))(t)
	x, y := s.Of("x").Image, s.Of("y").Image
	if x.Scale != 1 || !slices.Equal(x.Mean, []float64{1, 2, 3}) || x.Pad != 4 || x.Resize.String() != "fit" ||
		y.Pad != 0 || y.Scale != 1 {
		t.Errorf("x %+v, y %+v", x, y)
	}
}
