// SPDX-License-Identifier: Apache-2.0

// Package draw makes the images of the digits example: numerals drawn as pen
// strokes and then warped, thickened, blurred and covered with noise, 28x28
// grey, one byte a pixel.
//
// An image depends on its seed and its number only, so that a set can be drawn
// again instead of being stored: the test images of a model are a seed in a
// source file.
package draw

import (
	"math"
	"math/rand/v2"
)

// Size is the width and the height of an image in pixels.
const Size = 28

// Classes is the number of different numerals.
const Classes = 10

// Pixels is the number of bytes of an image, rows from the top.
const Pixels = Size * Size

// Image is one drawing, row by row; 0 is the dark ground.
type Image [Pixels]uint8

// Float32s are the pixels as the network takes them, p/255 in [0, 1].
func (m *Image) Float32s() []float32 {
	x := make([]float32, Pixels)
	for i, p := range m {
		x[i] = float32(p) / 255
	}
	return x
}

// Set draws n images of a seed. Numerals follow one another in a fixed turn, so
// that every ten images hold each of them once.
func Set(seed uint64, n int) (images []Image, labels []int) {
	images, labels = make([]Image, n), make([]int, n)
	for i := range images {
		images[i], labels[i] = Nth(seed, i)
	}
	return images, labels
}

// Nth draws image i of a seed.
func Nth(seed uint64, i int) (Image, int) {
	p := pen{rand.New(rand.NewPCG(seed, uint64(i)))}
	label := i % Classes
	return p.image(label), label
}

// pen draws one image out of a stream of random numbers.
//
// Only arithmetic, square roots and sines are used, which Go computes alike on
// all amd64 machines, and numbers in between are rounded to bytes at the end.
type pen struct{ *rand.Rand }

// in is uniform in [lo, hi).
func (p pen) in(lo, hi float64) float64 { return lo + (hi-lo)*p.Float64() }

// bell is near to normal with the given deviation, within 3.5 of them.
func (p pen) bell(dev float64) float64 {
	return dev * (p.Float64() + p.Float64() + p.Float64() + p.Float64() - 2) * math.Sqrt(3)
}

// image draws a numeral with everything that happens to it on the way.
func (p pen) image(label int) Image {
	strokes := p.numeral(label)
	if p.Float64() < 0.5 {
		strokes = append(strokes, p.scribble()...)
	}
	strokes = p.warp(strokes)
	half := p.in(0.55, 1.7) // half the width of the pen, pixels
	ink := rasterise(strokes, half, p.in(0.6, 1.1))
	for n := p.IntN(3); n > 0; n-- {
		ink = blur(ink, p.in(0.2, 1))
	}
	return p.expose(ink)
}

// scribble is a short line somewhere near the edge that belongs to no numeral.
func (p pen) scribble() []stroke {
	angle, r := p.in(0, 2*math.Pi), p.in(0.55, 0.75)
	at := point{0.5 + r*math.Cos(angle), 0.5 + r*math.Sin(angle)}
	turn, l := p.in(0, math.Pi), p.in(0.05, 0.2)
	dx, dy := l*math.Cos(turn), l*math.Sin(turn)
	return []stroke{line(point{at.x - dx, at.y - dy}, point{at.x + dx, at.y + dy})}
}

// warp takes strokes from the unit square to pixels: rotated, sheared, scaled
// differently in both directions, shifted and bent along waves.
func (p pen) warp(strokes []stroke) []stroke {
	rot, shear := p.bell(0.16), p.bell(0.18)
	sx, sy := p.in(8.5, 17), p.in(13, 21)
	cx, cy := Size/2+p.bell(1.5), Size/2+p.bell(1.3)
	sin, cos := math.Sin(rot), math.Cos(rot)
	type wave struct{ ax, ay, fx, fy, phase float64 }
	waves := make([]wave, 2)
	for i := range waves {
		waves[i] = wave{p.bell(0.035), p.bell(0.035), p.in(-5, 5), p.in(-5, 5), p.in(0, 2*math.Pi)}
	}
	out := make([]stroke, len(strokes))
	for i, s := range strokes {
		for _, q := range s {
			x, y := q.x-0.5, q.y-0.5
			for _, w := range waves {
				s := math.Sin(w.fx*q.x + w.fy*q.y + w.phase)
				x, y = x+w.ax*s, y+w.ay*s
			}
			x, y = (x-shear*y)*sx, y*sy
			out[i] = append(out[i], point{cx + cos*x - sin*y, cy + sin*x + cos*y})
		}
	}
	return out
}

// expose turns ink in [0, 1] into bytes: contrast, a ground that is lighter to
// one side, gaps, and noise.
func (p pen) expose(ink [Pixels]float64) Image {
	contrast, ground := p.in(0.5, 1), p.in(0, 0.2)
	gx, gy := p.bell(0.05), p.bell(0.05)
	noise := p.in(0.01, 0.13)
	// A gap: a band in which the pen gave little ink.
	gap, gapAngle, gapAt, gapHalf := p.Float64() < 0.25, p.in(0, math.Pi), p.bell(5), p.in(0.3, 1.1)
	gs, gc := math.Sin(gapAngle), math.Cos(gapAngle)
	var out Image
	for i := range ink {
		x, y := float64(i%Size)-Size/2, float64(i/Size)-Size/2
		v := ink[i]
		if gap && math.Abs(gc*x+gs*y-gapAt) < gapHalf {
			v *= 0.25
		}
		base := ground + (gx*x+gy*y)/Size*2
		v = base + v*(contrast-base) + p.bell(noise)
		out[i] = uint8(math.Round(255 * min(max(v, 0), 1)))
	}
	return out
}
