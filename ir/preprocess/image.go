// SPDX-License-Identifier: Apache-2.0

// Package preprocess defines, in integers, how what a camera or a microphone gives
// becomes the input of a network. Training data, calibration and evaluation go
// through this Go code, firmware through the C that codegen prints of the same
// numbers (runtime_c, nncc_preprocess.h): both give the same tensor, bit for bit.
//
// A pixel is 8 bits until it has its place in the input. What it is worth, (pixel *
// scale - mean) / std, is a table of 256 entries for each channel, made once: of
// reals here, of the input's own type in firmware.
package preprocess

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir/tensor"
)

// MaxSide bounds width and height of pictures, frames and inputs: positions in them
// are 32-bit integers with 16 fractional bits.
const MaxSide = 1 << 14

// Resize says what becomes of a frame whose shape is not the input's.
type Resize int

// The ways to resize.
const (
	Stretch Resize = iota // both sides by their own factor
	Fit                   // the whole frame, with bars (Pad) at two sides
	Fill                  // the middle of the frame, as much as has the input's shape
)

var resizeNames = []string{"stretch", "fit", "fill"}

// Resizes are the names of all ways to resize.
func Resizes() []string { return resizeNames }

func (r Resize) String() string { return resizeNames[r] }

// Rect is a part of a picture.
type Rect struct{ X, Y, Width, Height int }

// Image is how frames of one size become one input.
type Image struct {
	Format        Format
	FullRange     bool // of YUV
	Width, Height int  // of the frame
	Crop          Rect // what is read of the frame
	OutWidth      int
	OutHeight     int
	At            Rect // where it goes; the rest of the input is Pad
	Channels      int  // 1: grey, 3: colour
	BGR           bool // the input's first channel is blue
	Nearest       bool // pixels are taken, not mixed
	Pad           uint8
}

// Place sets Crop and At for the frame's and the input's size.
func (m *Image) Place(mode Resize) {
	w, h, ow, oh := m.Width, m.Height, m.OutWidth, m.OutHeight
	m.Crop, m.At = Rect{0, 0, w, h}, Rect{0, 0, ow, oh}
	wide := w*oh >= h*ow
	switch {
	case mode == Fit && wide:
		m.At.Height = rounded(h*ow, w)
	case mode == Fit:
		m.At.Width = rounded(w*oh, h)
	case mode == Fill && wide:
		m.Crop.Width = min(rounded(h*ow, oh), w)
	case mode == Fill:
		m.Crop.Height = min(rounded(w*oh, ow), h)
	}
	m.Crop.X, m.Crop.Y = (w-m.Crop.Width)/2, (h-m.Crop.Height)/2
	m.At.X, m.At.Y = (ow-m.At.Width)/2, (oh-m.At.Height)/2
}

// rounded is a/b to the nearest integer, at least 1.
func rounded(a, b int) int { return max((2*a+b)/(2*b), 1) }

// Axis is how one side of a frame is sampled: output i lies at Start + i*Step in
// 1/65536 of a pixel, from 0 to Last.
type Axis struct{ Start, Step, Last int32 }

// NewAxis samples n pixels at the middles of out equal parts. Positions to the
// nearest pixel are those of the middle, without the half that interpolation takes
// off.
func NewAxis(n, out int, nearest bool) Axis {
	step := int32((n<<16 + out/2) / out)
	a := Axis{step >> 1, step, int32(n-1) << 16}
	if !nearest {
		a.Start -= 1 << 15
	}
	return a
}

// at is the position of output i: the pixel and how much of the next one, in 1/256.
func (a Axis) at(i int) (pixel, next int, part uint32) {
	p := min(max(a.Start+int32(i)*a.Step, 0), a.Last)
	pixel = int(p >> 16)
	return pixel, min(pixel+1, int(a.Last>>16)), uint32(p>>8) & 255
}

// Axes are how a frame is sampled across and down.
func (m *Image) Axes() (x, y Axis) {
	return NewAxis(m.Crop.Width, m.At.Width, m.Nearest), NewAxis(m.Crop.Height, m.At.Height, m.Nearest)
}

// Check says what is wrong with a frame's size.
func (m *Image) Check() error {
	switch {
	case m.Width < 1 || m.Height < 1 || m.Width > MaxSide || m.Height > MaxSide:
		return fmt.Errorf("%d x %d pixels; want 1 to %d each way", m.Width, m.Height, MaxSide)
	case m.OutWidth < 1 || m.OutHeight < 1 || m.OutWidth > MaxSide || m.OutHeight > MaxSide:
		return fmt.Errorf("an input of %d x %d pixels; want 1 to %d each way", m.OutWidth, m.OutHeight, MaxSide)
	}
	return nil
}

// Pixels gives the input's pixels, [OutHeight, OutWidth, Channels], before they get
// their values.
func (m *Image) Pixels(frame []byte) []uint8 {
	out := slices.Repeat([]uint8{m.Pad}, m.OutHeight*m.OutWidth*m.Channels)
	ax, ay := m.Axes()
	for y := range m.At.Height {
		y0, y1, fy := ay.at(y)
		o := ((m.At.Y+y)*m.OutWidth + m.At.X) * m.Channels
		for x := range m.At.Width {
			x0, x1, fx := ax.at(x)
			p := m.at(frame, m.Crop.X+x0, m.Crop.Y+y0)
			if !m.Nearest && fx|fy != 0 {
				p = mix(p, m.at(frame, m.Crop.X+x1, m.Crop.Y+y0), m.at(frame, m.Crop.X+x0, m.Crop.Y+y1),
					m.at(frame, m.Crop.X+x1, m.Crop.Y+y1), fx, fy)
			}
			for c := range m.Channels {
				k := c
				if m.BGR {
					k = m.Channels - 1 - c
				}
				out[o] = p[k]
				o++
			}
		}
	}
	return out
}

// mix is the value between four pixels, parts in 1/256, rounded to nearest.
func mix(a, b, c, d [3]uint8, fx, fy uint32) (p [3]uint8) {
	for i := range p {
		top := uint32(a[i])*(256-fx) + uint32(b[i])*fx
		low := uint32(c[i])*(256-fx) + uint32(d[i])*fx
		p[i] = uint8((top*(256-fy) + low*fy + 1<<15) >> 16)
	}
	return p
}

// Values is what the 256 pixels are worth: (pixel * scale - mean) / std in float32.
type Values struct{ Scale, Mean, Std float64 }

// Of gives the value of one pixel.
func (v Values) Of(pixel uint8) float32 {
	scaled := float64(float64(pixel) * v.Scale) // the conversion keeps it from being fused with the difference
	return float32((scaled - v.Mean) / v.Std)
}

// Check says what is wrong with the numbers.
func (v Values) Check() error {
	for _, p := range []uint8{0, 255} {
		if x := float64(v.Of(p)); math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("scale %v, mean %v and std %v make %v of pixel %d", v.Scale, v.Mean, v.Std, x, p)
		}
	}
	return nil
}

// Strides are the distances, in elements, between neighbours of an input.
type Strides struct{ Row, Column, Channel int }

// Tensor gives the input of a shape: pixels at their strides, with their values by
// channel.
func (m *Image) Tensor(frame []byte, shape []int, s Strides, values []Values) *tensor.Dense {
	d := tensor.New(tensor.F32, shape)
	out := tensor.As[float32](d)
	px := m.Pixels(frame)
	for c := range m.Channels {
		var table [256]float32
		for p := range table {
			table[p] = values[c].Of(uint8(p))
		}
		for y := range m.OutHeight {
			for x := range m.OutWidth {
				out[y*s.Row+x*s.Column+c*s.Channel] = table[px[(y*m.OutWidth+x)*m.Channels+c]]
			}
		}
	}
	return d
}
