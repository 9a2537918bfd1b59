// SPDX-License-Identifier: Apache-2.0

package preprocess_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/preprocess"
)

// TestBilinear: the integers are those of reals, rounded: within a step of what
// interpolation between the four neighbours gives at positions of 1/256 of a pixel.
func TestBilinear(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		m := &preprocess.Image{Width: 1 + r.IntN(40), Height: 1 + r.IntN(40), OutWidth: 1 + r.IntN(40),
			OutHeight: 1 + r.IntN(40), Channels: 3}
		m.Place(preprocess.Resize(r.IntN(3)))
		frame := make([]byte, 3*m.Width*m.Height)
		for i := range frame { // smooth, so that 1/256 of a pixel is less than a step
			x, y := i/3%m.Width, i/3/m.Width
			frame[i] = uint8(40 + 2*x + 3*y + 5*(i%3))
		}
		got := m.Pixels(frame)
		for i, g := range got {
			x, y := i/3%m.OutWidth-m.At.X, i/3/m.OutWidth-m.At.Y
			want := 0.
			if x >= 0 && y >= 0 && x < m.At.Width && y < m.At.Height {
				px := position(x, m.Crop.Width, m.At.Width) + float64(m.Crop.X)
				py := position(y, m.Crop.Height, m.At.Height) + float64(m.Crop.Y)
				want = 40 + 2*px + 3*py + float64(5*(i%3))
			}
			testenv.Require(t, !(math.Abs(float64(g)-want) > 0.55), "%+v: pixel %d,%d is %d, want %g", m, x, y, g,
				want)
		}
	}
}

// position is the middle of output i of n, in pixels of in.
func position(i, in, n int) float64 {
	p := (float64(i)+0.5)*float64(in)/float64(n) - 0.5
	return min(max(p, 0), float64(in-1))
}

// TestSameSize: a frame of the input's size stays as it is, in both interpolations.
func TestSameSize(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		w, h := 1+r.IntN(60), 1+r.IntN(60)
		frame := make([]byte, 3*w*h)
		for i := range frame {
			frame[i] = uint8(r.IntN(256))
		}
		for mode := range preprocess.Resizes() {
			m := &preprocess.Image{
				Width:     w,
				Height:    h,
				OutWidth:  w,
				OutHeight: h,
				Channels:  3,
				Nearest:   r.IntN(2) == 0,
			}
			m.Place(preprocess.Resize(mode))
			testenv.Require(t, slices.Equal(m.Pixels(frame), frame), "%+v changes pixels", m)
		}
	}
}

// TestPlace: what is read and where it goes lies inside, keeps its shape, and one
// side of it is whole.
func TestPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		m := &preprocess.Image{Width: 1 + r.IntN(500), Height: 1 + r.IntN(500), OutWidth: 1 + r.IntN(300),
			OutHeight: 1 + r.IntN(300), Channels: 1}
		for mode := range preprocess.Resizes() {
			m.Place(preprocess.Resize(mode))
			for _, x := range [][3]int{{m.Crop.X, m.Crop.Width, m.Width}, {m.Crop.Y, m.Crop.Height, m.Height},
				{m.At.X, m.At.Width, m.OutWidth}, {m.At.Y, m.At.Height, m.OutHeight}} {
				testenv.Require(t, x[0] >= 0 && x[1] >= 1 && x[0]+x[1] <= x[2], "%+v: %v is outside", m, x)
			}
		}
		m.Place(preprocess.Fit)
		testenv.Require(t, m.At.Width == m.OutWidth || m.At.Height == m.OutHeight, "%+v: bars on all sides", m)
	}
}

// TestFormats: a frame of each format gives back what was put in, as well as its bits can.
func TestFormats(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	slack := map[preprocess.Format]int{preprocess.RGB565: 7, preprocess.RGB565BE: 7, preprocess.YUYV: 4,
		preprocess.UYVY: 4}
	for range 200 {
		w, h := 1+r.IntN(9), 1+r.IntN(5)
		rgb := make([]byte, 3*w*h)
		for y := range h { // pairs of pixels of one colour: 4:2:2 has one for both
			for x := range w {
				for c := range 3 {
					v := uint8(r.IntN(256))
					if x&1 == 1 {
						v = rgb[3*(y*w+x-1)+c]
					}
					rgb[3*(y*w+x)+c] = v
				}
			}
		}
		for i, name := range preprocess.Formats() {
			f, full := preprocess.Format(i), r.IntN(2) == 0
			frame := preprocess.Encode(rgb, w, h, f, full)
			testenv.Require(t, len(frame) == h*f.RowBytes(w), "%s: %d bytes for %d x %d", name, len(frame), w, h)
			m := &preprocess.Image{
				Format:    f,
				FullRange: full,
				Width:     w,
				Height:    h,
				OutWidth:  w,
				OutHeight: h,
				Channels:  3,
			}
			m.Place(preprocess.Stretch)
			got := m.Pixels(frame)
			for k := range got {
				want := int(rgb[k])
				if f == preprocess.Grey8 {
					p := rgb[k/3*3:]
					want = int(math.Round(0.299*float64(p[0]) + 0.587*float64(p[1]) + 0.114*float64(p[2])))
				}
				if d := int(got[k]) - want; d > slack[f]+1 || d < -slack[f]-1 {
					t.Fatalf("%s (full %v): %d, want %d", name, full, got[k], want)
				}
			}
		}
	}
}
