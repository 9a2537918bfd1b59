// SPDX-License-Identifier: Apache-2.0

package signal

import "math"

// Tolerance is how far an element of a matrix may be from that of a Fourier transform,
// as a part of the largest: more than rounding to float32, less than what 256 ulp of a
// sum allow.
const Tolerance = 0x1p-18

// A part of a complex number in the columns of a basis.
type part struct {
	imaginary bool
	sign      float64 // of the part that a forward transform has
}

// basis is what a matrix [k, columns] is: the transform of frames of length samples, of
// which the k that the matrix sees begin at lead, times window.
type basis struct {
	length, lead, bins int
	window             []float64
	// parts of every bin, in columns that follow one another (interleaved) or in blocks.
	parts       []part
	interleaved bool
	worst       float64 // largest deviation
}

// matrix reads element j of column c.
type matrix struct {
	k, columns int
	at         func(j, c int) float64
}

// column is where part i of a bin stands.
func (b *basis) column(bin, i int) int {
	if b.interleaved {
		return bin*len(b.parts) + i
	}
	return i*b.bins + bin
}

// recognise finds the transform that a matrix is: real and imaginary parts of every bin
// from 0 on, side by side or in two blocks, or one of the two. The window is the column
// of bin 0, or, for imaginary parts alone, that of other.
func recognise(m matrix, other *basis) (*basis, bool) {
	if m.k < 2 || m.columns < 2 {
		return nil, false
	}
	window, peak := make([]float64, m.k), 0.0
	for j := range window {
		window[j] = m.at(j, 0)
		peak = max(peak, math.Abs(window[j]))
	}
	if !(peak > 0) || math.IsInf(peak, 0) {
		if other == nil || m.columns != other.bins || m.k != len(other.window) || peak != 0 {
			return nil, false
		}
		b := *other
		b.parts, b.interleaved = []part{{imaginary: true}}, false
		return &b, b.explains(m)
	}
	if !bounded(m, window, peak) {
		return nil, false
	}
	return fit(m, window)
}

// fit tries the layouts and lengths that a transform with this window may have.
func fit(m matrix, window []float64) (*basis, bool) {
	for _, form := range []struct{ parts, interleaved int }{{2, 1}, {2, 0}, {1, 0}} {
		if m.columns%form.parts != 0 {
			continue
		}
		bins := m.columns / form.parts
		for _, length := range lengths(m.k, bins) {
			for _, lead := range []int{0, (length - m.k) / 2} {
				b := &basis{length: length, lead: lead, bins: bins, window: window, interleaved: form.interleaved == 1,
					parts: []part{{sign: 1}, {imaginary: true}}[:form.parts]}
				if b.explains(m) {
					return b, true
				}
			}
		}
	}
	return nil, false
}

// bounded reports that the next columns are nowhere larger than the window: other
// matrices end here, after a few elements.
func bounded(m matrix, window []float64, peak float64) bool {
	for c := 1; c < min(m.columns, 3); c++ {
		for j, w := range window {
			if !(math.Abs(m.at(j, c)) <= math.Abs(w)+Tolerance*peak) {
				return false
			}
		}
	}
	return true
}

// lengths are those that a transform of k samples to so many bins may have.
func lengths(k, bins int) []int {
	var out []int
	for _, n := range []int{k, 2 * (bins - 1), 2 * bins, 2*bins - 1} {
		if n >= k && bins <= n {
			out = append(out, n)
		}
	}
	for n := 1; n < 4*k; n *= 2 {
		if n > k && bins <= n {
			out = append(out, n)
		}
	}
	return out
}

// explains reports whether all elements are those of the transform. It finds the sign of
// imaginary parts.
func (b *basis) explains(m matrix) bool {
	peak := 0.0
	for _, w := range b.window {
		peak = max(peak, math.Abs(w))
	}
	b.worst = 0
	cos, sin := make([]float64, b.length), make([]float64, b.length)
	for i := range cos {
		sin[i], cos[i] = math.Sincos(2 * math.Pi * float64(i) / float64(b.length))
	}
	for i := range b.parts {
		p := &b.parts[i]
		if p.imaginary {
			p.sign = b.signOf(i, m, sin, peak)
		}
		if p.sign == 0 {
			return false
		}
		for bin := b.bins - 1; bin >= 0; bin-- {
			c := b.column(bin, i)
			for j, w := range b.window {
				v := w * cos[bin*(b.lead+j)%b.length]
				if p.imaginary {
					v = -w * sin[bin*(b.lead+j)%b.length]
				}
				d := math.Abs(p.sign*v-m.at(j, c)) / peak
				if !(d <= Tolerance) {
					return false
				}
				b.worst = max(b.worst, d)
			}
		}
	}
	return true
}

// signOf is the sign of imaginary part i, where that is clear; 0 where it is nowhere.
func (b *basis) signOf(i int, m matrix, sin []float64, peak float64) float64 {
	for bin := 1; bin < b.bins; bin++ {
		for j, w := range b.window {
			v, have := -w*sin[bin*(b.lead+j)%b.length], m.at(j, b.column(bin, i))
			if math.Abs(v) > peak/4 {
				return math.Copysign(1, v*have)
			}
		}
	}
	return 0
}
