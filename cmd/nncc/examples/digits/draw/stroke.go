// SPDX-License-Identifier: Apache-2.0

package draw

import "math"

// point is a place in the unit square (y downwards), later in pixels.
type point struct{ x, y float64 }

// stroke is a chain of short straight pieces.
type stroke []point

// line joins points with straight pieces.
func line(pts ...point) stroke {
	var s stroke
	for i := 0; i+1 < len(pts); i++ {
		a, b := pts[i], pts[i+1]
		// Enough pieces for warp to bend the line.
		n := 1 + int(6*math.Hypot(b.x-a.x, b.y-a.y))
		for k := range n {
			t := float64(k) / float64(n)
			s = append(s, point{a.x + t*(b.x-a.x), a.y + t*(b.y-a.y)})
		}
	}
	return append(s, pts[len(pts)-1])
}

// curve goes smoothly through all points (a Catmull-Rom spline).
func curve(pts ...point) stroke {
	at := func(i int) point { return pts[min(max(i, 0), len(pts)-1)] }
	var s stroke
	for i := range len(pts) - 1 {
		a, b, c, d := at(i-1), at(i), at(i+1), at(i+2)
		const n = 6
		for k := range n {
			t := float64(k) / n
			f := func(a, b, c, d float64) float64 {
				return b + t/2*(c-a+t*(2*a-5*b+4*c-d+t*(3*(b-c)+d-a)))
			}
			s = append(s, point{f(a.x, b.x, c.x, d.x), f(a.y, b.y, c.y, d.y)})
		}
	}
	return append(s, pts[len(pts)-1])
}

// arc is a part of an ellipse; angles in degrees, clockwise from the right.
func arc(cx, cy, rx, ry, from, to float64) stroke {
	n := 2 + int(math.Abs(to-from)/20)
	s := make(stroke, n+1)
	for k := range s {
		a := (from + (to-from)*float64(k)/float64(n)) * math.Pi / 180
		s[k] = point{cx + rx*math.Cos(a), cy + ry*math.Sin(a)}
	}
	return s
}

// rasterise paints strokes with a round pen of the given half width (pixels):
// full inside, fading over the width of the edge.
func rasterise(strokes []stroke, half, edge float64) [Pixels]float64 {
	var ink [Pixels]float64
	for _, s := range strokes {
		for i := 0; i+1 < len(s); i++ {
			a, b := s[i], s[i+1]
			r := half + edge
			x0, x1 := clampPix(min(a.x, b.x)-r), clampPix(max(a.x, b.x)+r)
			y0, y1 := clampPix(min(a.y, b.y)-r), clampPix(max(a.y, b.y)+r)
			for y := y0; y <= y1; y++ {
				for x := x0; x <= x1; x++ {
					d := distance(point{float64(x) + 0.5, float64(y) + 0.5}, a, b)
					v := min(max(0.5+(half-d)/edge, 0), 1)
					ink[y*Size+x] = max(ink[y*Size+x], v)
				}
			}
		}
	}
	return ink
}

// clampPix is the pixel that holds a coordinate, kept inside the image.
func clampPix(v float64) int { return int(min(max(v, 0), Size-1)) }

// distance from p to the straight piece a-b.
func distance(p, a, b point) float64 {
	dx, dy := b.x-a.x, b.y-a.y
	t := 0.0
	if l := dx*dx + dy*dy; l > 0 {
		t = min(max(((p.x-a.x)*dx+(p.y-a.y)*dy)/l, 0), 1)
	}
	ex, ey := p.x-a.x-t*dx, p.y-a.y-t*dy
	return math.Sqrt(ex*ex + ey*ey)
}

// blur mixes every pixel with its 3x3 surroundings (weights 1 2 1); strength 1
// replaces it.
func blur(in [Pixels]float64, strength float64) [Pixels]float64 {
	var out [Pixels]float64
	for y := range Size {
		for x := range Size {
			sum := 0.0
			for dy := -1; dy <= 1; dy++ {
				for dx := -1; dx <= 1; dx++ {
					u, v := min(max(x+dx, 0), Size-1), min(max(y+dy, 0), Size-1)
					sum += in[v*Size+u] * float64((2-dx*dx)*(2-dy*dy)) / 16
				}
			}
			i := y*Size + x
			out[i] = in[i] + strength*(sum-in[i])
		}
	}
	return out
}
